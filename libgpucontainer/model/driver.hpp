// SPDX-License-Identifier: MIT
#pragma once

#include "model/catalogue.hpp"
#include "model/finding.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace gpucontainer::model {

/// One GPU or accelerator, or a partition of one that programs use as a GPU, as the
/// kernel's own interfaces describe it.
struct Gpu {
    unsigned index = 0;      ///< Position in the vendor's order; what a user types.
    std::string uuid;        ///< Empty while nothing tells it; partitions share their GPU's.
    std::string pci_address; ///< "0000:3b:00.0"; partitions share their GPU's.
    std::string model;
    int minor = -1; ///< Number of its node, which may differ from the index.
    int numa_node = -1;
    std::string architecture;       ///< "gfx942"; empty where the kernel does not tell.
    std::vector<std::string> names; ///< Further words that choose it: "0/3", "module-5".
    unsigned parts = 1; ///< That share its nodes, and that programs may count as GPUs: tiles.

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

/// A symbol version that a file needs of a library that may be the image's.
struct VersionNeed {
    std::string library; ///< Soname: "libstdc++.so.6"; "libc.so.6" for all of the C library.
    std::string version; ///< "GLIBCXX_3.4.30"

    bool operator==(const VersionNeed&) const = default;
};

/// How programs of a container find a file.
enum class Manner : std::uint8_t {
    loader,           ///< The dynamic loader finds it by its soname.
    module_directory, ///< A loader of its own looks in a directory beside the libraries: "dri".
    opencl_icd,       ///< OpenCL's loader finds its name in a file: "nvidia.icd".
    command,          ///< A shell finds it in PATH.
    script,           ///< The same, and a program runs it: "/usr/bin/python3", or "python3" in
                      ///< PATH. It lies in a directory that is data.
    fixed_path,       ///< Libraries read it at this path, here and in a container.
};
std::string_view name(Manner manner);
std::optional<Manner> parse_manner(std::string_view text);

/// One way to find a file.
struct Registration {
    Manner manner = Manner::loader;
    std::string name = {}; ///< The directory, file, program or path; "" where it has none.

    bool operator==(const Registration&) const = default;
};

/// What becomes of a file if the image has a driver of its own. It counts for drivers whose
/// files are optional.
enum class Precedence : std::uint8_t {
    driver,  ///< It is given, unless the image has a runtime of this vendor.
    runtime, ///< The same; an image with its soname has such a runtime.
    always,  ///< It is given in any case.
    image,   ///< No vendor's own: it is given if the image lacks its soname.
};
std::string_view name(Precedence precedence);
std::optional<Precedence> parse_precedence(std::string_view text);

/// One library, tool or set of data of a driver that a container can be given.
struct DriverFile {
    FileKind kind = FileKind::library;
    Capability capability = Capability::compute;
    Capability also = Capability::none;
    std::string name;                     ///< Of the real file: "libcuda.so.580.159.04".
    std::string soname;                   ///< Of a library, else empty.
    std::string path;                     ///< Of the real file, on this host.
    std::vector<std::string> links;       ///< Further names: soname, development name.
    std::vector<std::string> entry_names; ///< Those that programs load by name.
    std::string reason;
    FileId id;
    std::vector<Registration> registrations; ///< Of each manner one at most.
    Precedence precedence = Precedence::driver;
    bool directory = false; ///< Of data: it is a directory, with all that is in it.
    /// Sonames of files of this driver that it cannot be loaded without.
    std::vector<std::string> needed;
    std::vector<VersionNeed> versions; ///< The newest of each kind.

    /// What it is registered with in this manner; null if it is not.
    const std::string* registered(Manner manner) const;
    /// Capabilities, reason, registrations and precedence as a rule has them.
    void classify(const CatalogueRule& rule);
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
    /// By permissions, device cgroup and mount, unopened; a finding says why not.
    bool accessible = false;
    bool cgroup_forbids = false; ///< It is not accessible, and the device cgroup says so.
    bool required = true;        ///< Without it no GPU, or the one it is for, can be used.
    /// Further names, that are links to it: "/dev/dri/by-path/pci-0000:03:00.0-render".
    std::vector<std::string> links;

    bool operator==(const DeviceNode&) const = default;
};

/// A file of the kernel that a container has to see with other content, or a directory of
/// its that has to be empty there.
struct Mask {
    std::string path;
    std::string content; ///< Of a file.
    std::string reason;  ///< "keeps the driver from making nodes of other GPUs"
    bool directory = false;

    bool operator==(const Mask&) const = default;
};

/// A variable that narrows which GPUs programs use of those that they see. Several
/// apply in order, each to what those before it left.
struct VisibleDevices {
    /// Whose variable it is.
    enum class Reader : std::uint8_t {
        library, ///< The vendor's: up to the first word that it does not know.
        runtime, ///< A container runtime's: "all", "none" and ranges too; no word ends it.
        filter,  ///< The vendor's, in which order does not count and no word ends it;
                 ///< "1.0" is a part. Empty or "default", it is as if it were not set.
        process, ///< One process's own: it narrows nothing, and names a GPU that is alone.
        toolkit, ///< NVIDIA's container toolkit's: as that of a runtime, but its programs do
                 ///< not heed it, so that those of variables after it count without it.
                 ///< Empty, "void" or a path, it is as if it were not set. In a container it
                 ///< may have the numbers of GPUs outside.
    };
    /// What stands in it inside, where programs see the chosen GPUs alone.
    enum class Inside : std::uint8_t {
        uuid,     ///< UUIDs; unset when a GPU has none.
        position, ///< Positions among what the variables before it leave.
        name,     ///< The same words.
        nothing,  ///< It is unset, for it was obeyed.
    };

    std::string name; ///< "CUDA_VISIBLE_DEVICES"
    Reader reader = Reader::library;
    Inside inside = Inside::position;
    /// Its words are those of a GPU's names that begin so, without this beginning:
    /// "module-" for "5". Empty: they are positions, UUIDs and what else names one.
    std::string prefix = {};
    /// Set where a container gets a part of the GPUs, whoever chose them.
    bool always = false;
    /// A variable and its value: "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE". Positions count
    /// the parts of GPUs without it; empty: they never do.
    std::string whole_if = {};
    /// The same; with it positions are in the order of PCI addresses.
    std::string pci_order_if = {};
    /// Empty, it is as if it were not set.
    bool empty_is_unset = false;
    /// Which GPUs a container gets. One that only some programs heed does not: it is
    /// translated, and unset where nothing of it is left.
    bool decides = true;
    /// What its programs heed first: set where it is another vendor's variable inside.
    std::string preferred = {};

    bool operator==(const VisibleDevices&) const = default;
};
std::string_view name(VisibleDevices::Reader reader);
std::string_view name(VisibleDevices::Inside inside);
std::optional<VisibleDevices::Reader> parse_reader(std::string_view text);
std::optional<VisibleDevices::Inside> parse_inside(std::string_view text);

enum class VersionSource : std::uint8_t { module, option, files };
std::string_view name(VersionSource source);
std::optional<VersionSource> parse_version_source(std::string_view text);

/// Everything that one vendor's driver is on this host.
struct DriverStack {
    std::string vendor;      ///< "nvidia"
    std::string vendor_name; ///< "NVIDIA", for messages.
    std::string cdi_kind;    ///< What its devices are named after elsewhere: "nvidia.com/gpu".
    std::string version;
    VersionSource version_source = VersionSource::module;
    std::string root;              ///< The driver root.
    std::string library_directory; ///< Where the main library was found; maybe "".
    /// Its files are of no particular kernel module: an image may bring its own instead.
    bool optional_files = false;
    std::vector<VisibleDevices> visible_devices;
    std::vector<std::string> needs; ///< What a container must have besides.
    /// Directories beside the C library's that programs of images search for the driver,
    /// and where an image may have a copy of its own.
    std::vector<std::string> image_directories;
    std::string tree_link; ///< Leads to the tree where an image has no such name; maybe "".
    std::vector<Gpu> gpus;
    /// Their indexes as the vendor's own programs count; empty: in the same order.
    std::vector<unsigned> library_order;
    std::vector<DriverFile> files;
    std::vector<DeviceNode> nodes;
    /// Those without which no GPU, or the one they are for, can be used, and
    /// which are not there; a finding says why.
    std::vector<DeviceNode> missing_nodes;
    /// For containers whose processes may make device nodes.
    std::vector<Mask> masks;
    Findings findings; ///< What was left out, and what will not work.

    /// Why a node that is not accessible is not.
    std::string obstacle_to(const DeviceNode& node) const;
};

} // namespace gpucontainer::model
