// SPDX-License-Identifier: MIT
#pragma once

#include "rootfs/view.hpp"

#include <string>
#include <vector>

namespace gpucontainer::linking {

/// Directories of a container in which libraries may be, whether a loader searches them or not:
/// those of /etc/ld.so.conf, and those that packages use. glibc's loader does not read that file;
/// ldconfig does, which makes the cache.
std::vector<std::string> known_places(const rootfs::View& view);

} // namespace gpucontainer::linking
