// SPDX-License-Identifier: MIT
#pragma once

#include "vendor/catalogue.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace gpucontainer::vendor {

/// One GPU, as the kernel's own interfaces describe it.
struct Gpu {
    unsigned index = 0;      ///< Position in the vendor's order; what a user types.
    std::string uuid;        ///< Empty while the kernel driver is not loaded.
    std::string pci_address; ///< "0000:3b:00.0"
    std::string model;
    int minor = -1; ///< Number of its node, which may differ from the index.
    int numa_node = -1;

    bool operator==(const Gpu&) const = default;
};

/// Which file a path led to when it was looked at; tells a replaced one.
struct FileId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;

    static FileId of(const struct stat& status);
    bool operator==(const FileId&) const = default;
};

/// One library or tool of a driver that a container can be given.
struct DriverFile {
    FileKind kind = FileKind::library;
    Capability capability = Capability::compute;
    Capability also = Capability::none;
    std::string name;                     ///< Of the real file: "libcuda.so.580.159.04".
    std::string soname;                   ///< Empty for a tool.
    std::string path;                     ///< Of the real file, on this host.
    std::vector<std::string> links;       ///< Further names: soname, development name.
    std::vector<std::string> entry_names; ///< Those that programs load by name.
    std::string reason;
    FileId id;

    bool operator==(const DriverFile&) const = default;
};

/// A device node that belongs to the driver.
struct DeviceNode {
    std::string path;      ///< In a container: "/dev/nvidia0".
    std::string host_path; ///< The same on this host, or below another root of device nodes.
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    std::uint32_t mode = 0; ///< Permission bits.
    std::uint32_t gid = 0;
    int gpu = -1;                             ///< Index of the GPU it is for; -1: all of them.
    Capability capability = Capability::none; ///< none: needed by each.
    /// By permissions, device cgroup and mount, unopened; why not stands in `skipped`.
    bool accessible = false;

    bool operator==(const DeviceNode&) const = default;
};

/// A file of the kernel that a container has to see with other content.
struct Mask {
    std::string path;
    std::string content;
    std::string reason;

    bool operator==(const Mask&) const = default;
};

/// Something that was looked at and not taken.
struct Skipped {
    std::string name;
    std::string source;
    std::string reason;
};

/// Something that is wrong with a driver and no reason to fail: what needs the
/// capability will not work.
struct Warning {
    Capability capability = Capability::none;
    std::string text;
};

enum class VersionSource : std::uint8_t { module, option, files };
std::string_view name(VersionSource source);
std::optional<VersionSource> parse_version_source(std::string_view text);

/// Everything that one vendor's driver is on this host.
struct DriverStack {
    std::string vendor;      ///< "nvidia"
    std::string vendor_name; ///< "NVIDIA", for messages.
    std::string version;
    VersionSource version_source = VersionSource::module;
    std::string root;               ///< The driver root.
    std::string library_directory;  ///< Where the main library was found.
    std::string visible_devices;    ///< The scheduler's variable: "CUDA_VISIBLE_DEVICES".
    std::vector<std::string> needs; ///< What a container must have besides.
    std::vector<Gpu> gpus;
    std::vector<DriverFile> files;
    std::vector<DeviceNode> nodes;
    /// Those without which no GPU, or the one they are for, can be used, and
    /// which are not there; why stands in `skipped`.
    std::vector<DeviceNode> missing_nodes;
    std::vector<Warning> warnings;
    /// For containers whose processes may make device nodes.
    std::vector<Mask> masks;
    std::vector<Skipped> skipped;

    /// Why a node that is not accessible is not.
    std::string obstacle_to(const DeviceNode& node) const;
};

} // namespace gpucontainer::vendor
