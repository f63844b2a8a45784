// SPDX-License-Identifier: MIT
#pragma once

#include "recording.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace gpucontainer::simhost {

enum class SysfsMethod {
    automatic, ///< Carriers where they work for every device, else plain.
    carriers,  ///< Real sysfs directories dressed up: libudev takes them as they are.
    plain,     ///< Ordinary files: libudev wants SYSTEMD_DEVICE_VERIFY_SYSFS=0 for them.
};

struct StandUpOptions {
    SysfsMethod sysfs = SysfsMethod::automatic;
    bool devices = true;         ///< Whether /dev gets the recorded nodes.
    bool map_root = false;       ///< Root in a user namespace of its own.
    std::string nodes_directory; ///< Nodes made beforehand, by their paths below /dev.
    uid_t first_id = 0;          ///< The machine's id of root there.
    bool in_world = false;       ///< The root directory is that of a World, and may be written to.
};

/// What libudev wants in the environment for plain files.
inline std::string sysfs_variable = "SYSTEMD_DEVICE_VERIFY_SYSFS=0";

struct StoodUp {
    bool needs_environment = false;    ///< The command needs `sysfs_variable`.
    std::vector<std::string> left_out; ///< What the kernel refused, with the reason.
};

/// Turns this process into one on the recorded host: in namespaces of its own,
/// for good, and for its children. Nothing of the machine changes.
Result<StoodUp> stand_up(const Recording& host, const StandUpOptions& options);

/// The same in the namespaces that this process has.
Result<StoodUp> stand_up_here(const Recording& host, const StandUpOptions& options);

} // namespace gpucontainer::simhost
