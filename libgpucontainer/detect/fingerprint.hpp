// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"
#include "model/driver.hpp"

#include <ctime>
#include <span>
#include <string>
#include <vector>

namespace gpucontainer::detect {

/// One place that detection read, and a text that is another one after a change.
struct Mark {
    std::string path;
    std::string state;

    bool operator==(const Mark&) const = default;
};

/// What is noted before detection: afterwards nobody could tell whether it is what
/// detection read.
struct Beginning {
    std::vector<Mark> kernel;
    std::vector<Mark> described; ///< Of vendors that are a site's.
    timespec time = {};
};
Beginning begin_fingerprint(const std::string& system_root);

/// Adds what a site's files describe, once they are read: the kernel's places of `vendors`.
void note_described(Beginning& beginning, const std::string& system_root,
                    std::span<const drivers::Vendor> vendors);

/// Ties what was detected since `beginning` to the host: the boot, the kernel
/// modules and their GPUs, the directories with the drivers' files, the loader
/// cache, each node with what this process may do with it, and `site_places`, the
/// files and directories with a site's catalogues. A place that changed meanwhile
/// gets a mark that is never current. Opens no device node.
std::vector<Mark> fingerprint(const std::string& system_root,
                              std::span<const model::DriverStack> drivers,
                              std::span<const std::string> site_places, Beginning beginning);

/// False also where detection could not know everything yet.
bool is_current(const std::string& system_root, std::span<const model::DriverStack> drivers,
                std::span<const Mark> marks);

} // namespace gpucontainer::detect
