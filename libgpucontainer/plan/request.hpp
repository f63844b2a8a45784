// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/toolkit.hpp"
#include "plan/named_directories.hpp"
#include "plan/plan.hpp"
#include "plan/visible_devices.hpp"
#include "requirement/expression.hpp"
#include "rootfs/root.hpp"
#include "search/host_runtime.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gpucontainer::plan {

enum class VendorLibs : std::uint8_t {
    automatic, ///< The host's, unless they are optional and the image has its own or is too old.
    host,
    none, ///< Device nodes only.
};

/// Whether programs use the image's own user space of a newer driver.
enum class Compat : std::uint8_t {
    automatic, ///< If it works with the host's driver and GPUs.
    never,
    always,
};

/// Whether a container without a toolkit for building programs gets the host's.
struct ToolkitChoice {
    std::string wanted;                  ///< "": none; "auto"; or a directory of the host.
    std::vector<drivers::Toolkit> found; ///< By find_toolkits(), the preferred one first.
    model::Findings findings;            ///< About those that cannot be used.
};

/// Whether the host's C library takes the place of an older one of the image.
struct GlibcChoice {
    bool wanted = false;                          ///< If the driver's files need it.
    std::string program;                          ///< That will be run, if that is known; else "".
    std::optional<search::HostRuntime> host = {}; ///< By make_plan(), if it is wanted.
};

/// What a caller asks for.
struct Request {
    std::string devices = "auto";
    std::string devices_name = "device"; ///< Their name in messages: "--device".
    std::string capabilities = "compute,utility";
    std::set<std::string> required; ///< Vendors that were asked for by name.
    Environment environment;        ///< Scheduler variables.
    Write write = Write::automatic;
    Layout layout = Layout::tree;
    std::string allowed_devices;          ///< Policy: the GPUs that may be chosen; "": all.
    std::optional<std::string> tree_path; ///< None: the usual one.
    VendorLibs vendor_libs = VendorLibs::automatic;
    Compat compat = Compat::automatic;
    ToolkitChoice toolkit;
    GlibcChoice glibc;
    std::vector<NamedPath> directories;                ///< From named_directories().
    std::string mount_label;                           ///< As in Plan.
    std::vector<requirement::Expression> requirements; ///< All must be met.
    std::set<std::string> extras;                      ///< From parse_extras().
    Environment container; ///< The container's own variables, which are not trusted.
    bool lock = false;     ///< As in Plan.
    /// The caller chose the devices, or the capabilities: the container's variables do not.
    bool names_devices = false;
    bool names_capabilities = false;
};

/// The root file system that a plan is for. A plan that is only shown may have none.
struct Target {
    const rootfs::View& view;
    rootfs::RootFacts facts;
    /// Whether processes of the container may be able to make device nodes. In a user namespace
    /// they are not.
    bool may_make_nodes = true;
};

} // namespace gpucontainer::plan
