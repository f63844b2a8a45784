// SPDX-License-Identifier: MIT
#pragma once

namespace gpuctr_cli {

/// Headings of groups of options in --help, in its order.
inline constexpr const char* which_gpus = "Which GPUs";
inline constexpr const char* which_files = "Which driver files";
inline constexpr const char* where = "Where";
inline constexpr const char* how = "How it is set up";
inline constexpr const char* for_command = "With -- CMD";
inline constexpr const char* what_is_printed = "Output";
inline constexpr const char* of_every_command = "Options of every command";

} // namespace gpuctr_cli
