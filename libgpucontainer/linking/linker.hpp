// SPDX-License-Identifier: MIT
#pragma once

#include "linking/linked.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::linking {

/// Links programs of a container as its own loader does, without executing anything. The container
/// may be hostile: what is read is limited. For one thread.
class Linker {
public:
    /// `view` must outlive this object. `environment` is that of the programs, and `levels` are
    /// those of the processor that runs them.
    Linker(const rootfs::View& view, std::map<std::string, std::string> environment,
           std::vector<std::string> levels);

    /// What the program at `path` consists of when it starts, and what it lacks.
    Linked program(const std::string& path);

    /// The same for a library that a program loads by its path, with the container's own loader at
    /// `interpreter`. Symbols that it wants are not looked for: the program may have them.
    Linked library(const std::string& path, const std::string& interpreter);

    /// A library that is found by its name.
    struct Found {
        std::string path;
        Way way;
        File::State state;
    };

    /// What a program finds if it loads a library by its name. `program` is its path; "": any that
    /// the loader at `interpreter` loads, for the machine with these facts.
    std::optional<Found> find(const std::string& name, const std::string& program,
                              const std::string& interpreter, const elf::Facts& machine);

    Files& files() noexcept { return files_; }

    /// A file of the container that is such a library, for programs of this machine, in a directory
    /// where programs may have libraries, and that defines the version. "" for any; "" if none is
    /// known.
    std::string find_anywhere(const std::string& name, const elf::Facts& machine,
                              const std::string& version = "");

private:
    bool is_library(const std::string& path, const elf::Facts& machine, const std::string& version);
    const Loader* loader_of(const std::string& interpreter, const elf::Facts& program);

    Files files_;
    std::map<std::string, std::string> environment_;
    std::vector<std::string> levels_;
    std::map<std::string, std::optional<Loader>> loaders_;
    std::optional<std::vector<std::string>> known_places_;
};

} // namespace gpucontainer::linking
