// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::simhost {

enum class StubKind {
    library,     ///< The loader opens it; it defines nothing.
    executable,  ///< The loader starts it; it exits with 0.
    header_only, ///< Firmware and such: an ELF header says what it is.
    module,      ///< The same for a relocatable file, as kernel modules are.
};

/// What the outside of an ELF file shows.
struct ElfStub {
    StubKind kind = StubKind::library;
    std::string elf_class; ///< As readelf names it: ELF64 or ELF32.
    std::string machine;   ///< As readelf or this project names it: "AArch64", "aarch64".
    std::string soname;
    std::vector<std::string> needed;
    /// Symbol versions that it needs. They are put down to the C library, libgcc
    /// or libstdc++ where it needs those; the others are left out.
    std::vector<std::string> versions;
    std::string interpreter; ///< Of an executable; empty: the machine's usual one.
    std::string rpath;
    std::string runpath;
    std::vector<std::string> definitions; ///< Symbol versions that it has.
    bool strict = false;                  ///< No version that it needs is marked as weak.
};

/// The bytes of such a file, little endian and a few hundred long; the file may be made longer
/// with zeros. Versions that the C library of this program may lack are marked
/// as weak, so that the loader takes the file all the same.
Result<std::string> make_elf_stub(const ElfStub& stub);

} // namespace gpucontainer::simhost
