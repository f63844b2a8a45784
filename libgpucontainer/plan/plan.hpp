// SPDX-License-Identifier: MIT
#pragma once

#include "elf/machine.hpp"
#include "model/driver.hpp"
#include "plan/item.hpp"
#include "rootfs/view.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

struct DeviceRule {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
};

enum class Write : std::uint8_t { automatic, never, always, layer };

/// Where the driver's files are in the container.
enum class Layout : std::uint8_t {
    tree,   ///< In their own directory, by one mount.
    merged, ///< Among the image's own libraries and tools, each by its own mount.
    /// For images that are not known: each name that programs load by its own mount, wherever an
    /// image may have its libraries. There are no links, and no loader cache.
    binds,
};
std::string_view name(Layout layout);

/// The directory of the tree with libraries that only images without their own get. All else in
/// the tree is the same for all images.
inline constexpr std::string_view distribution_directory = "distribution";

/// One vendor's part of a plan.
struct UsedDriver {
    std::string vendor;
    std::string version;
    std::optional<model::VersionSource> version_source; ///< A journal does not have it.
    std::vector<model::Gpu> gpus;                       ///< Those chosen, in the vendor's order.
    bool has_gpus = true; ///< On this host; without GPUs, a plan can only be shown.
};

/// Everything that will change in a container's root, decided before anything is changed. A plan is
/// a value: made once, never changed.
struct Plan {
    std::vector<UsedDriver> drivers;
    Layout layout = Layout::tree;
    std::string tree_path;    ///< "" if there is no tree.
    bool writes_root = false; ///< Names are created in the root file system itself.
    bool has_root = false;    ///< Made for a root file system; else it can only be shown.
    bool lock = false;        ///< Nobody can remove the mounts' flags.
    std::string mount_label;  ///< SELinux label of file systems that are made; maybe "".
    /// That of the driver's libraries. It may be another than this machine's if they are only
    /// shown.
    const elf::Machine* machine = &elf::own_machine();

    std::vector<Item> items; ///< In the order in which they are applied.
    std::vector<Variable> variables;
    std::vector<std::uint32_t> groups;
    /// What was left out, what else the container must have, and what will not work.
    model::Findings findings;

    rootfs::Entry old_cache; ///< The loader cache that is replaced; maybe none.
    /// Names that existed already, maybe from another set-up.
    std::map<std::string, rootfs::Entry> found;

    /// Equal for plans that put the same things into the container, even if some of them are there
    /// already.
    std::string identity;
};

/// The rules that a device cgroup must have for the plan's nodes.
std::vector<DeviceRule> device_rules(const Plan& plan);

} // namespace gpucontainer::plan
