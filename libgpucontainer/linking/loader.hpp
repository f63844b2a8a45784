// SPDX-License-Identifier: MIT
#pragma once

#include "elf/facts.hpp"
#include "elf/ld_cache.hpp"
#include "elf/machine.hpp"
#include "linking/files.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpucontainer::linking {

/// The rules by which a loader finds libraries.
enum class Rules : std::uint8_t {
    none, ///< There is no loader: the program is static.
    glibc,
    musl,
    unknown, ///< Another C library's.
};

/// The dynamic loader of programs in a container, as far as its file tells how it was built.
struct Loader {
    Rules rules = Rules::unknown;
    std::string path; ///< As programs name it: "/lib64/ld-linux-x86-64.so.2".
    elf::Facts facts; ///< Of the programs that it loads: class, byte order, machine.
    const elf::Machine* machine = nullptr; ///< Null if it is none of those that are known.
    /// Searched last, in this order: "/lib/x86_64-linux-gnu".
    std::vector<std::string> directories;
    /// Searched in each directory before it: "glibc-hwcaps/x86-64-v3".
    std::vector<std::string> levels;
    std::vector<std::string> library_words;    ///< For $LIB; several if it is not known.
    std::string cache_path;                    ///< "" if it reads none.
    std::shared_ptr<const elf::LdCache> cache; ///< Null if there is none that it can use.
};

/// The loader at `path`, for programs like the one with these facts. `levels` are those of the
/// processor. None if it is not there.
std::optional<Loader> find_loader(Files& files, const std::string& path, const elf::Facts& program,
                                  std::span<const std::string> levels);

/// Null if it is none of the known ones.
const elf::Machine* machine_of(const elf::Facts& facts);

} // namespace gpucontainer::linking
