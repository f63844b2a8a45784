// SPDX-License-Identifier: MIT
#pragma once

#include "output/format.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace gpuctr_cli {

/// Writes a part of a result. Throws gpucontainer::Error when it cannot: half of
/// a result must not pass for the whole. A process whose reader has gone ends as
/// any other does, by SIGPIPE, unless its caller had that ignored.
void write_result(std::FILE* out, std::string_view text);
/// The same for what is still buffered.
void finish_results(std::FILE* out);

template <typename... Values>
void print(std::FILE* out, fmt::format_string<Values...> format, Values&&... values)
{
    write_result(out, formatted(format, std::forward<Values>(values)...));
}

/// Tells a person something. Whether he can hear it changes nothing: what cannot
/// be written is left out.
void write_message(std::FILE* err, std::string_view text) noexcept;

template <typename... Values>
void say(std::FILE* err, fmt::format_string<Values...> format, Values&&... values)
{
    write_message(err, formatted(format, std::forward<Values>(values)...));
}

/// Has a write to a closed pipe, or beyond the limit on files, fail from here on
/// where it would end this process.
void ignore_output_signals() noexcept;
/// Gives the signals back as they were found, for another program.
void restore_output_signals() noexcept;

} // namespace gpuctr_cli
