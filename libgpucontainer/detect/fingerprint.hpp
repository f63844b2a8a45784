// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"
#include "model/driver.hpp"

#include <ctime>
#include <span>
#include <string>
#include <vector>

namespace gpucontainer::detect {

/// A place that detection read, and a text that differs after a change.
struct Mark {
    std::string path;
    std::string state;

    bool operator==(const Mark&) const = default;
};

/// State that is noted before detection. If it were read afterwards, it could differ from what
/// detection read.
struct Beginning {
    std::vector<Mark> kernel;
    std::vector<Mark> described; ///< Of vendors that a site's files describe.
    timespec time = {};
};
Beginning begin_fingerprint(const std::string& system_root);

/// Adds the places of `vendors` that a site's files describe, once they are read.
void note_described(Beginning& beginning, const std::string& system_root,
                    std::span<const drivers::Vendor> vendors);

/// Marks for what was detected since `beginning`: the boot, the kernel modules and their GPUs, the
/// directories with the drivers' files, the loader cache, each node and whether this process may
/// use it, and `site_places`, the files and directories of a site's catalogues. A place that
/// changed during detection gets a mark that is never current. Opens no device node.
std::vector<Mark> fingerprint(const std::string& system_root,
                              std::span<const model::DriverStack> drivers,
                              std::span<const std::string> site_places, Beginning beginning);

/// Whether the marks still hold. Also false if detection could not know everything yet.
bool is_current(const std::string& system_root, std::span<const model::DriverStack> drivers,
                std::span<const Mark> marks);

} // namespace gpucontainer::detect
