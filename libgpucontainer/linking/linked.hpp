// SPDX-License-Identifier: MIT
#pragma once

#include "linking/loader.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::linking {

/// How a loader came to a file.
enum class Way : std::uint8_t {
    program,
    loader, ///< It is the loader itself.
    preload,
    path, ///< Its path is named.
    rpath,
    variable, ///< LD_LIBRARY_PATH
    runpath,
    cache,
    default_directory,
};

/// A file that a program consists of when it starts.
struct Object {
    std::string path; ///< Its directory has no links in it.
    std::string name; ///< By which it is needed first.
    Way way = Way::program;
    std::size_t loaded_by = 0;
    /// What it needs, as positions in Linked::objects; those that were not found are left out.
    std::vector<std::size_t> needs = {};
    bool lacks_library = false; ///< Something that it needs was not found.
};

/// Of those that need the same, so many are named.
inline constexpr std::size_t most_needers = 8;

/// What a program, or a library of one, lacks to be loaded.
struct Lack {
    enum class Kind : std::uint8_t {
        interpreter,
        library,
        machine, ///< A library is there for other programs only.
        damaged, ///< A library is found that cannot be loaded.
        version, ///< A library lacks a symbol version.
        symbol,
    };

    Kind kind = Kind::library;
    std::string name; ///< Of the library, version, symbol or interpreter.
    /// Paths of files that need it, the program first; at most some.
    std::vector<std::string> needed_by;
    std::string file = {};      ///< The library that has another machine, is damaged or lacks it.
    std::string problem = {};   ///< What is damaged.
    std::string elsewhere = {}; ///< A file of the container that offers it; "" if none is known.
};

/// What happens when a program is started, or a library is loaded.
struct Linked {
    Rules rules = Rules::none;
    std::string interpreter;     ///< "" if it is static.
    std::vector<Object> objects; ///< In the order of the loader, the program first.
    std::vector<Lack> lacks;     ///< In the order in which the loader notices.
    /// False: some file could not be read, or there is more than is looked at.
    bool is_complete = true;
};

} // namespace gpucontainer::linking
