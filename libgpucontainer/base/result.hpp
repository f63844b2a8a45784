// SPDX-License-Identifier: MIT
#pragma once

#include <cassert>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

namespace gpucontainer {

/// Class of a failure. Values never change: they are the exit codes of the command, and negated
/// the gpuctr_status of the C interface.
enum class Errc : std::int32_t {
    internal = 1,    ///< A bug in this library.
    usage = 2,       ///< The caller broke a documented precondition.
    no_device = 3,   ///< No such GPU, or its kernel driver is not loaded.
    driver = 4,      ///< The driver's user space is missing or does not fit.
    rootfs = 5,      ///< The root file system cannot be used.
    permission = 6,  ///< A capability, namespace or file permission is missing.
    requirement = 7, ///< A stated requirement is not met.
    apply = 8,       ///< The commit failed and was rolled back.
    // 9 is only an exit code: `status` found something wrong.
    exists = 10, ///< Another set-up is there and may not be replaced.
};

/// A failure, and the steps that led to it.
class Error {
public:
    Error(Errc code, std::string cause);

    /// A failed system call. EPERM, EACCES and EROFS become Errc::permission, all others
    /// `otherwise`.
    static Error from_errno(int os_error, std::string what, Errc otherwise = Errc::internal);

    Error(Error&&) noexcept;
    Error& operator=(Error&&) noexcept;
    ~Error();

    Errc code() const noexcept;

    /// The errno value behind this error, or 0.
    int os_error() const noexcept;

    /// All steps and the cause, outermost step first: "a: b: No such file".
    std::string message() const;

    /// The outermost step; empty if there is none.
    const std::string& step() const noexcept;
    /// What the failing operation worked on: a path, a GPU; may be empty.
    const std::string& object() const noexcept;
    /// The cause, without the steps around it.
    const std::string& cause() const noexcept;
    /// What the user can do about it; may be empty.
    const std::string& hint() const noexcept;
    /// The caller's argument that it is about: a field of the options, such as "staged_tree", or
    /// a parameter. "" if it is about none.
    const char* argument() const noexcept;

    /// Adds the step that failed because of this error.
    Error&& context(std::string step) &&;
    Error&& with_object(std::string object) &&;
    Error&& with_hint(std::string hint) &&;
    /// Changes the class, if the caller knows better what the failure means.
    Error&& with_code(Errc code) &&;
    /// `argument` is a literal. One that is there stays: it is closer to the cause.
    Error&& with_argument(const char* argument) &&;

private:
    struct Impl;
    Impl* impl_; // not a unique_ptr: <memory> takes longer to compile than the rest of this header
};

/// A value, or the Error that prevented it. Member names follow
/// std::expected, which replaces this class once the baseline is C++23.
/// Not a std::variant, which makes each Result take a third longer to compile.
template <typename T>
class [[nodiscard]] Result {
public:
    // NOLINTBEGIN(google-explicit-constructor): `return value;` and `return error;` convert.
    Result(T value) : has_value_(true), value_(std::move(value)) {}
    Result(Error error) : has_value_(false), error_(std::move(error)) {}
    // NOLINTEND(google-explicit-constructor)

    Result(Result&& other) noexcept : has_value_(other.has_value_) { take(std::move(other)); }
    Result& operator=(Result&& other) noexcept
    {
        if (this == &other)
            return *this;
        destroy();
        has_value_ = other.has_value_;
        take(std::move(other));
        return *this;
    }
    ~Result() { destroy(); }

    bool has_value() const noexcept { return has_value_; }
    explicit operator bool() const noexcept { return has_value(); }

    // Test with has_value() first.
    T& operator*() & noexcept { return assert(has_value_), value_; }
    const T& operator*() const& noexcept { return assert(has_value_), value_; }
    T&& operator*() && noexcept { return assert(has_value_), std::move(value_); }
    T* operator->() noexcept { return assert(has_value_), &value_; }
    const T* operator->() const noexcept { return assert(has_value_), &value_; }

    const Error& error() const& noexcept { return assert(!has_value_), error_; }
    Error&& error() && noexcept { return assert(!has_value_), std::move(error_); }

private:
    void take(Result&& other) noexcept
    {
        if (has_value_)
            new (&value_) T(std::move(other.value_));
        else
            new (&error_) Error(std::move(other.error_));
    }

    void destroy() noexcept
    {
        if (has_value_)
            value_.~T();
        else
            error_.~Error();
    }

    bool has_value_;
    union {
        T value_;
        Error error_;
    };
};

/// Success without a value: `return {};`.
struct Success {};

template <>
class [[nodiscard]] Result<void> : public Result<Success> {
public:
    using Result<Success>::Result;
    Result() : Result<Success>(Success{}) {}
};

/// The result, whose error is about an argument of the caller's.
template <typename T>
Result<T> about(const char* argument, Result<T> result)
{
    if (!result)
        return std::move(result).error().with_argument(argument);
    return result;
}

} // namespace gpucontainer
