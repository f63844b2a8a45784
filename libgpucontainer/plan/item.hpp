// SPDX-License-Identifier: MIT
#pragma once

#include "model/driver.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace gpucontainer::plan {

enum class ItemKind : std::uint8_t {
    directory, ///< A directory is made.
    mount,     ///< The tree, or an overlay of names, is mounted.
    bind,      ///< A file of the host is bind mounted, in the tree.
    symlink,
    file,    ///< A small generated file.
    cover,   ///< A file of the host, or content of ours, is mounted over something of the image.
    device,  ///< A device node of the host.
    ldcache, ///< The loader cache, with the tree first.
    env,     ///< A change to the environment of the container's processes.
};
std::string_view name(ItemKind kind);

/// How an item's name gets into the container.
enum class Place : std::uint8_t {
    there,   ///< It exists already.
    created, ///< It is made in the image's directory.
    tree,    ///< It is part of the tree.
    overlay, ///< It is part of an overlay that is mounted over a directory above it.
    cover,   ///< It is part of a directory of ours that covers one above it.
};
std::string_view name(Place place);

/// The device that an item belongs to. It allows giving a container one device only, or taking it
/// away.
struct Owner {
    std::string vendor = {}; ///< "nvidia"; "": the whole plan.
    int gpu = -1;            ///< Index of the GPU; -1: all of the vendor's.

    bool operator==(const Owner&) const = default;
};

/// These types are what an item puts at its target. What is mounted is nosuid and nodev, except
/// device nodes, and read-only, except what a specification of CDI wants writable.
struct Directory {
    /// In an overlay: permission bits of the image's directory below.
    std::uint32_t mode = 0755;
};
/// The file system with the driver's files.
struct Tree {};
/// A file system with our names, over a directory that is not written itself.
struct Overlay {
    std::uint32_t mode = 0755; ///< Permission bits of that directory.
};
/// A file of the host, or a directory with all that is in it.
struct Bind {
    std::string source;
    model::FileId id; ///< As it was seen.
    bool is_directory = false;
};
/// A file or directory of the kernel's, with all that is in it.
struct KernelEntry {
    std::string source;
    bool is_directory = false;
};
struct Symlink {
    std::string to;
};
struct GeneratedFile {
    std::string content;
};
/// A file of the host over one of the image.
struct Cover {
    std::string source;
    model::FileId id; ///< As it was seen.
};
/// Content of ours over an existing file, or a directory of ours over an existing one. What is in
/// the directory are items of their own.
struct GeneratedCover {
    std::string content;
    bool is_directory = false;
};
/// A file or directory of the host that its owner may change, and maybe a socket.
struct Shared {
    std::string source;
    model::SharedPath::Kind kind = model::SharedPath::Kind::socket;
    std::uint32_t uid = 0; ///< Its owner, as it was seen.
    bool writable = false; ///< A site's specification says so, like the next.
    bool executable = false;
};
struct Device {
    std::string source; ///< "": it is made, with these numbers, mode and owner.
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    bool required = true; ///< Its owner, or every GPU, cannot be used without it.
    std::uint32_t mode = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
};
struct LoaderCache {
    std::string content;
};
/// A change to an environment variable. Its name is the target.
struct Variable {
    std::string action; ///< set, unset, prepend, append
    std::string name;
    std::string value;
    std::string vendor = {};
};

/// One thing that the plan puts into the container.
struct Item {
    std::variant<Directory, Tree, Overlay, Bind, KernelEntry, Symlink, GeneratedFile, Cover,
                 GeneratedCover, Shared, Device, LoaderCache, Variable>
        what;
    std::string target; ///< Path in the container; name of a variable.
    std::string reason;
    Owner owner = {};
    Place place = Place::there;
    model::FileId directory = {}; ///< That it is created in, by device and inode; zero: unknown.

    template <typename What>
    const What* as() const noexcept
    {
        return std::get_if<What>(&what);
    }

    ItemKind kind() const;
    /// Path on the host, target of a link, or value of a variable; "" for generated items. A null
    /// character follows, as after the options.
    std::string_view source() const;
    /// Mount options, or the action on a variable.
    std::string_view options() const;
    /// Bytes of what is generated; null for all else.
    const std::string* content() const;
    bool is_directory() const;
    /// Permission bits of what is made, be it in a layer; 0 for all else.
    std::uint32_t mode() const;
};

} // namespace gpucontainer::plan
