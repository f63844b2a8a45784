// SPDX-License-Identifier: MIT
#pragma once

#include "model/driver.hpp"
#include "mount/kernel.hpp"
#include "rootfs/view.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

enum class ItemKind : std::uint8_t {
    directory, ///< A directory is made.
    mount,     ///< The tree, or an overlay of names, is mounted.
    bind,      ///< A file of the host, in the tree.
    symlink,
    file,    ///< A small generated file.
    cover,   ///< A file of the host over one of the image's own.
    device,  ///< A device node of the host.
    ldcache, ///< The loader cache, with the tree first.
    env,     ///< A change to the environment of the container's processes.
};
std::string_view name(ItemKind kind);

/// How an item's name comes to be in the container.
enum class Place : std::uint8_t {
    there,   ///< It exists already.
    created, ///< It is made in the directory that it belongs to.
    tree,    ///< It is part of the tree.
    overlay, ///< It is part of an overlay that is mounted over a directory above it.
};

/// One thing that the plan puts into the container.
struct Item {
    ItemKind kind = ItemKind::file;
    std::string source;  ///< Path on the host; target of a link; value of a variable.
    std::string target;  ///< Path in the container; name of a variable.
    std::string options; ///< Mount options; action on a variable.
    std::string reason;

    Place place = Place::there;
    /// Permission bits of the image's directory that one of an overlay lies over.
    std::uint32_t mode = 0755;
    std::string content; ///< Of a generated file.
    model::FileId id;    ///< Of the source, as it was seen.
    /// The source is one, with all that is in it; without a source, an empty one.
    bool is_directory = false;
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    bool required = true; ///< Of a device: without it no GPU can be used, or that one.
};

struct Variable {
    std::string action; ///< set, unset, prepend, append
    std::string name;
    std::string value;
};

struct DeviceRule {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
};

enum class Write : std::uint8_t { automatic, never, always };

/// How the driver's files lie in the container.
enum class Layout : std::uint8_t {
    tree,   ///< In one directory of their own, by one mount.
    merged, ///< Among the image's own libraries and tools, each by its own mount.
};
std::string_view name(Layout layout);

/// One vendor's part of a plan.
struct UsedDriver {
    std::string vendor;
    std::string version;
    model::VersionSource version_source = model::VersionSource::module;
    std::vector<model::Gpu> gpus; ///< Those chosen, in the vendor's order.
    bool has_gpus = true;         ///< On this host: without any, a plan only shows.
};

/// Everything that will change in a container root, decided before anything is
/// touched. A value: made once, never changed.
struct Plan {
    std::vector<UsedDriver> drivers;
    Layout layout = Layout::tree;
    std::string tree_path;    ///< Empty where there is no tree.
    std::string staged_tree;  ///< Where on the host one to clone may be; maybe "".
    bool writes_root = false; ///< Names are created in the root file system itself.
    bool has_root = false;    ///< Made for a root file system; else it only shows.
    mount::Backend backend = mount::Backend::detached;
    bool lock = false;       ///< Nobody can take the mounts' flags away.
    std::string mount_label; ///< SELinux's, of what file systems are made; maybe "".

    std::vector<Item> items; ///< In the order of doing it.
    std::vector<Variable> variables;
    std::vector<DeviceRule> device_rules;
    std::vector<std::uint32_t> groups;
    std::vector<std::string> needs;
    std::vector<std::string> warnings; ///< What was asked for and will not work.
    std::vector<model::Skipped> skipped;

    rootfs::Entry old_cache; ///< The loader cache that is replaced; maybe none.
    /// Names that were there already, maybe of another set-up.
    std::map<std::string, rootfs::Entry> found;

    /// Equal for plans that put the same things into the container, whatever of
    /// it is there already.
    std::string identity;
};

} // namespace gpucontainer::plan
