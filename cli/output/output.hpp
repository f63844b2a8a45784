// SPDX-License-Identifier: MIT
#pragma once

#include "output/format.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace gpuctr_cli {

/// Writes a part of a result. Throws gpucontainer::Error if it fails, so that half a result is
/// not taken for the whole. If nobody reads the pipe any more, the process ends by SIGPIPE,
/// unless its caller ignored that signal.
void write_result(std::FILE* out, std::string_view text);
/// Flushes what is still buffered, in the same way.
void finish_results(std::FILE* out);

template <typename... Values>
void print(std::FILE* out, fmt::format_string<Values...> format, Values&&... values)
{
    write_result(out, formatted(format, std::forward<Values>(values)...));
}

/// Writes a message for people. It is no error if it cannot be written.
void write_message(std::FILE* err, std::string_view text) noexcept;

template <typename... Values>
void say(std::FILE* err, fmt::format_string<Values...> format, Values&&... values)
{
    write_message(err, formatted(format, std::forward<Values>(values)...));
}

/// Ignores SIGPIPE and SIGXFSZ: a write to a closed pipe, or beyond the limit on file size, then
/// fails instead of ending this process.
void ignore_output_signals() noexcept;
/// Restores these signals for another program.
void restore_output_signals() noexcept;

} // namespace gpuctr_cli
