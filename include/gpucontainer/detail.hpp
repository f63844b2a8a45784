// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// What the C++ headers share: the exception, and owners and ranges of C handles. Callers
/// include gpucontainer.hpp.

#if __cplusplus < 202002L
#error "gpucontainer.hpp needs C++20 (-std=c++20); gpucontainer.h works with any C and C++"
#else

#include <gpucontainer/gpucontainer.h>

#include <cstddef>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace gpucontainer {

/// Thrown by everything here that can fail. Messages are those of the C library.
class Error : public std::runtime_error {
public:
    Error(gpuctr_status status, const std::string& message, std::string hint, int os_error,
          std::string object = {}, std::string argument = {})
        : std::runtime_error(message), status_(status), hint_(std::move(hint)), os_error_(os_error),
          object_(std::move(object)), argument_(std::move(argument))
    {
    }

    /// GPUCTR_E_*; negated, it is the exit status of the command.
    gpuctr_status status() const noexcept { return status_; }
    /// What can be done about it; may be empty.
    const std::string& hint() const noexcept { return hint_; }
    /// errno behind the failure, or 0.
    int os_error() const noexcept { return os_error_; }
    /// What the failing operation worked on: a path, a GPU; may be empty.
    const std::string& object() const noexcept { return object_; }
    /// The argument that the failure is about, as by gpuctr_error_argument(); may be empty.
    const std::string& argument() const noexcept { return argument_; }

private:
    gpuctr_status status_;
    std::string hint_;
    int os_error_;
    std::string object_;
    std::string argument_;
};

namespace detail {

template <auto Free>
struct Release {
    template <typename T>
    void operator()(T* object) const noexcept
    {
        Free(object);
    }
};

template <typename T, auto Free>
using Handle = std::unique_ptr<T, Release<Free>>;

/// Throws if a call failed. Takes `error` by reference, because the call that sets it may be
/// evaluated after this argument.
inline void check(gpuctr_status status, gpuctr_error* const& error)
{
    if (status == GPUCTR_OK)
        return;
    const Handle<gpuctr_error, gpuctr_error_free> owner(error);
    throw Error(status, gpuctr_error_message(error), gpuctr_error_hint(error),
                gpuctr_error_os_error(error), gpuctr_error_object(error),
                gpuctr_error_argument(error));
}

inline std::string take_string(char* text)
{
    const Handle<char, gpuctr_string_free> owner(text);
    return text;
}

/// A range over the elements of a pair of C functions, `*_count()` and `*_at()`.
template <typename Element, auto Count, auto At, typename Object>
class List {
public:
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Element;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = Element;

        Iterator() = default;
        Iterator(const Object* object, std::size_t index) : object_(object), index_(index) {}
        Element operator*() const { return Element(At(object_, index_)); }
        Iterator& operator++()
        {
            ++index_;
            return *this;
        }
        Iterator operator++(int)
        {
            Iterator before = *this;
            ++index_;
            return before;
        }
        bool operator==(const Iterator&) const = default;

    private:
        const Object* object_ = nullptr;
        std::size_t index_ = 0;
    };

    explicit List(const Object* object) noexcept : object_(object) {}
    std::size_t size() const noexcept { return Count(object_); }
    bool empty() const noexcept { return size() == 0; }
    /// `index` must be below size().
    Element operator[](std::size_t index) const { return Element(At(object_, index)); }
    Iterator begin() const { return {object_, 0}; }
    Iterator end() const { return {object_, size()}; }

private:
    const Object* object_;
};

} // namespace detail

} // namespace gpucontainer

#endif
