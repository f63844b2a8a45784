// SPDX-License-Identifier: MIT
#pragma once

#include "base/open_file.hpp"
#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::elf {

/// What `owner` wrote into the notes of the regular file `file`, which is borrowed: one text
/// for each note, without NULs at its end. None without section headers. Errors: driver, if the
/// file is damaged, of another byte order, or has too many notes.
Result<std::vector<std::string>> read_notes(base::FileRef file, std::string_view owner);

} // namespace gpucontainer::elf
