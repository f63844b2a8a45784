// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.h>

#include "base/result.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace gpucontainer::capi {

gpuctr_status publish(Error error, gpuctr_error** ret_error) noexcept;
gpuctr_status publish_current_exception(gpuctr_error** ret_error) noexcept;

/// Runs the body of a C function. No exception leaves it.
template <typename Body>
gpuctr_status boundary(gpuctr_error** ret_error, Body&& body) noexcept
try {
    Result<void> result = std::forward<Body>(body)();
    return result ? GPUCTR_OK : publish(std::move(result).error(), ret_error);
} catch (...) {
    return publish_current_exception(ret_error);
}

/// An optional string of the caller.
inline std::string_view text_of(const char* given) { return given != nullptr ? given : ""; }

/// Where small files that are made for containers are kept, if the caller does not say.
inline constexpr const char* usual_files_directory = "/var/lib/gpucontainer-cdi";

/// A string that the caller frees. Throws std::bad_alloc.
char* to_c_string(const std::string& text);

/// Copies options of callers of any age. With a shorter, older struct, newer fields are zero. In a
/// longer, newer struct, the part that is unknown here must be zero.
template <typename Options>
Result<Options> read_options(const Options* given)
{
    static_assert(std::is_trivially_copyable_v<Options>);
    constexpr std::size_t largest_plausible = 4096;

    Options options = {};
    options.struct_size = sizeof options;
    if (given == nullptr)
        return options;

    const std::size_t size = given->struct_size;
    if (size < sizeof given->struct_size || size > largest_plausible)
        return Error(Errc::usage, "options: struct_size is not set");
    const std::size_t known = std::min(size, sizeof options);
    const auto* bytes = reinterpret_cast<const std::byte*>(given);
    if (std::any_of(bytes + known, bytes + size, [](std::byte b) { return b != std::byte{0}; }))
        return Error(Errc::usage, "options: a field is set that this library does not know");
    std::memcpy(&options, given, known);
    return options;
}

} // namespace gpucontainer::capi
