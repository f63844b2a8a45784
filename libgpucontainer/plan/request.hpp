// SPDX-License-Identifier: MIT
#pragma once

#include "plan/plan.hpp"
#include "plan/visible_devices.hpp"
#include "rootfs/root.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace gpucontainer::plan {

enum class VendorLibs : std::uint8_t {
    automatic, ///< As the vendor's driver wants it.
    host,
    none, ///< Device nodes only.
};

/// What a caller asks for.
struct Request {
    std::string devices = "auto";
    std::string devices_name = "device"; ///< What messages call them: "--device".
    std::string capabilities = "compute,utility";
    std::set<std::string> required; ///< Vendors that were asked for by name.
    Environment environment;        ///< Scheduler variables.
    Write write = Write::automatic;
    std::string allowed_devices; ///< Policy: those that may be chosen; empty: all.
    Layout layout = Layout::tree;
    std::optional<std::string> tree_path; ///< The usual one where it is not given.
    VendorLibs vendor_libs = VendorLibs::automatic;
    bool lock = false;       ///< As in Plan.
    std::string mount_label; ///< As in Plan.
};

/// The root file system that a plan is for; absent for one that only shows.
struct Target {
    const rootfs::View& view;
    rootfs::RootFacts facts;
    /// Processes of the container might make device nodes; none can in a user
    /// namespace.
    bool may_make_nodes = true;
};

} // namespace gpucontainer::plan
