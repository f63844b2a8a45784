// SPDX-License-Identifier: MIT
#pragma once

#include "base/open_file.hpp"
#include "base/result.hpp"

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::elf {

/// Facts from the header, program headers and dynamic section of an ELF file. Sections are not
/// used, because a stripped file may have none.
struct Facts {
    enum class Class : std::uint8_t { elf32, elf64 };

    Class elf_class = Class::elf64;
    std::endian byte_order = std::endian::native;
    std::uint16_t machine = 0;           ///< EM_*
    std::uint16_t type = 0;              ///< ET_*
    std::string soname;                  ///< a plain file name; empty if there is none
    std::vector<std::string> needed;     ///< may contain a slash
    std::vector<std::string> runpath;    ///< $ORIGIN is not expanded
    std::vector<std::string> rpath;      ///< the same; empty if there is a DT_RUNPATH
    std::string interpreter;             ///< of a program; empty if there is none
    bool no_default_directories = false; ///< What it needs is not looked for in these.

    bool has_interpreter() const noexcept { return !interpreter.empty(); }
};

/// Reads the regular file `file`, which is borrowed and keeps its offset.
/// Fails with Errc::driver if it is not a well-formed ELF file. No string of the result has
/// control characters, and `soname` is safe as a file name.
Result<Facts> read_facts(base::FileRef file);

/// "x86-64", "aarch64" ...; "unknown machine" for others.
std::string_view machine_name(std::uint16_t machine) noexcept;

} // namespace gpucontainer::elf
