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

/// A GPU or accelerator as the kernel's own interfaces describe it, or a partition of one that
/// programs use as a GPU. A GPU that can also have no partition, as with NVIDIA's MIG, is there
/// beside its own, which are called instances here.
struct Gpu {
    unsigned index = 0;      ///< Position in the vendor's order; what a user types. Instances
                             ///< come after all GPUs, and have names for that.
    std::string uuid;        ///< "" if unknown; partitions share their GPU's, instances do not.
    std::string pci_address; ///< "0000:3b:00.0"; partitions share their GPU's.
    std::string model;
    int minor = -1; ///< Number of its node, which may differ from the index.
    int numa_node = -1;
    std::string architecture; ///< "gfx942"; NVIDIA's compute capability, "9.0"; "" if unknown.
    std::vector<std::string> names; ///< Other words that choose it: "0/3", "module-5".
    unsigned parts = 1; ///< Tiles: they share its nodes, and programs may count each as a GPU.
    int parent = -1;    ///< Of an instance: index of its GPU, whose nodes it needs too.

    bool is_instance() const { return parent >= 0; }
    /// What a user types, and messages call it: "0", or "0:gi3:ci0" for an instance.
    std::string label() const;
    bool operator==(const Gpu&) const = default;
};

/// The file that a path led to when it was looked at, so that a replaced file is noticed.
struct FileId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;

    static FileId of(const struct stat& status);
    bool operator==(const FileId&) const = default;
};

/// A symbol version that a file needs from a library, which may be the image's.
struct VersionNeed {
    std::string library; ///< Soname: "libstdc++.so.6"; "libc.so.6" for all of the C library.
    std::string version; ///< "GLIBCXX_3.4.30"

    bool operator==(const VersionNeed&) const = default;
};

/// The X server's own modules are in the same directory for all machines: /usr/lib/xorg/modules.
inline constexpr std::string_view x_server_modules = "xorg/";

/// How programs of a container find a file.
enum class Manner : std::uint8_t {
    loader,           ///< The dynamic loader finds it by its soname.
    module_directory, ///< A loader of modules looks in a directory beside the libraries: "dri".
    module_name,      ///< Such a loader looks for this name there: "gbm/nvidia-drm_gbm.so".
    opencl_icd,       ///< OpenCL's loader finds its name in a file: "nvidia.icd".
    egl_vendor,       ///< libglvnd's EGL finds its name in a JSON manifest: "10_nvidia.json".
    egl_platform,     ///< The same for EGL drivers that load platforms: "15_nvidia_gbm.json".
    vulkan_icd,       ///< The same for Vulkan's loader: "nvidia_icd.json".
    vulkan_layer,     ///< The same for its implicit layers: "nvidia_layers.json".
    vulkansc_icd,     ///< The same for the loader of Vulkan SC.
    gpu_mask,         ///< It reads at this path which GPUs it may show: see Registration::content.
    command,          ///< A shell finds it in PATH.
    script,           ///< The same, but an interpreter runs it: "/usr/bin/python3", or "python3"
                      ///< in PATH. It lies in a directory that is data.
    fixed_path,       ///< Libraries read it at this path, on the host and in a container.
    beside_libraries, ///< Programs look for it in a directory beside the driver's libraries.
};
std::string_view name(Manner manner);
std::optional<Manner> parse_manner(std::string_view text);

/// One way to find a file.
struct Registration {
    Manner manner = Manner::loader;
    std::string name = {}; ///< The directory, file, program or path; "" if it has none.
    /// Of the file that is made for it, if that says more than the library's name: the host's
    /// manifest, fitted to containers. For Manner::gpu_mask "{gpus}" stands for a number with the
    /// bit of each chosen GPU's minor number set.
    std::string content = {};

    bool operator==(const Registration&) const = default;
};

/// What becomes of a file if the image has its own driver. Only for drivers whose files are
/// optional.
enum class Precedence : std::uint8_t {
    driver,  ///< It is given, unless the image has a runtime of this vendor.
    runtime, ///< The same. An image that has its soname counts as having such a runtime.
    always,  ///< It is given in any case.
    image,   ///< It is of no vendor, and is given if the image lacks its soname.
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
    std::vector<std::string> links;       ///< Other names: soname, development name.
    std::vector<std::string> entry_names; ///< Those that programs load by name.
    std::string reason;
    FileId id;
    std::vector<Registration> registrations; ///< At most one of each manner.
    Precedence precedence = Precedence::driver;
    bool directory = false; ///< For data: it is a directory, with all that is in it.
    /// What it cannot be loaded without: sonames of this driver; if it is neutral, also others.
    std::vector<std::string> needed;
    std::vector<VersionNeed> versions; ///< The newest of each kind.
    /// A library for the 32-bit programs that this machine runs too. A container gets it if that is
    /// asked for, besides the file's own capability.
    bool compat32 = false;

    /// The name of its registration in this manner; null if it has none.
    const std::string* registered(Manner manner) const;
    /// Sets capabilities, reason, registrations and precedence from a rule.
    void classify(const CatalogueRule& rule);
    bool operator==(const DriverFile&) const = default;
};

/// A device node that belongs to the driver.
struct DeviceNode {
    std::string path;      ///< In a container: "/dev/nvidia0".
    std::string host_path; ///< The same on this host, or below another root of device nodes.
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    std::uint32_t mode = 0;         ///< Permission bits.
    std::uint32_t uid = UINT32_MAX; ///< UINT32_MAX: not known.
    std::uint32_t gid = 0;
    int gpu = -1;                             ///< Index of the GPU it is for; -1: all of them.
    Capability capability = Capability::none; ///< none: every capability needs it.
    /// According to permissions, device cgroup and mount; it is not opened. If it is not
    /// accessible, a finding says why.
    bool accessible = false;
    bool cgroup_forbids = false; ///< It is not accessible because of the device cgroup.
    bool required = true;        ///< Its GPU, or every GPU, cannot be used without it.
    /// Other names, which are links to it: "/dev/dri/by-path/pci-0000:03:00.0-render".
    std::vector<std::string> links;
    /// The extra that it is part of: "gds". A container gets it if that is asked for, whatever the
    /// capabilities are. "": it is part of none.
    std::string extra = {};
    /// For a missing node: it can be made for a container, with these numbers, mode and owner.
    bool makeable = false;
    std::string problem = {}; ///< For a missing node: what is there in its place; maybe "".

    bool operator==(const DeviceNode&) const = default;
};

/// A socket, file or directory of the host that programs of a container share with the host's.
/// They cannot change it: it is mounted read-only.
struct SharedPath {
    enum class Kind : std::uint8_t { socket, file, directory };

    std::string path; ///< On the host and in a container.
    Kind kind = Kind::socket;
    /// A container gets it with this capability, unless it asks for "no-" and the extra. With
    /// none, it gets it if it asks for the extra.
    Capability capability = Capability::none;
    std::string extra;              ///< "mps"
    std::uint32_t uid = UINT32_MAX; ///< Its owner.
    bool accessible = false;        ///< As in DeviceNode.
    std::string reason;             ///< "CUDA programs reach the MPS server by it"

    bool operator==(const SharedPath&) const = default;
};
std::string_view name(SharedPath::Kind kind);
std::optional<SharedPath::Kind> parse_shared_kind(std::string_view text);

/// An entry of a masked directory that stays visible in a container with its GPU.
struct Shown {
    std::string name;       ///< Path below the directory: "0000:3b:00.0".
    int gpu = -1;           ///< As in DeviceNode.
    bool directory = true;  ///< With all that is in it.
    std::string extra = {}; ///< As in DeviceNode.

    bool operator==(const Shown&) const = default;
};

/// A file of the kernel that must have other content in a container, or a directory of the kernel
/// in which a container sees certain entries only.
struct Mask {
    std::string path;
    std::string content; ///< Of a file.
    std::string reason;  ///< "keeps the driver from making nodes of other GPUs"
    bool directory = false;
    std::vector<Shown> shown; ///< Of a directory. None is inside of another.
    /// It only keeps programs from making device nodes. Otherwise it hides entries.
    bool against_nodes = true;

    bool operator==(const Mask&) const = default;
};

/// An environment variable that selects which of the GPUs that programs see they use. If there are
/// several, they apply in order, each to the GPUs that the earlier ones left.
struct VisibleDevices {
    /// Who reads the variable.
    enum class Reader : std::uint8_t {
        library, ///< The vendor's libraries, up to the first word that they do not know.
        runtime, ///< A container runtime, which also knows "all", "none" and ranges. It skips
                 ///< words that it does not know.
        filter,  ///< The vendor's libraries, which ignore the order and skip words that they do
                 ///< not know. "1.0" is a part of a GPU. Empty or "default" counts as unset.
        process, ///< One process, which uses the GPU that it names. It does not select GPUs for a
                 ///< container; in one that gets a single GPU, it names that.
        toolkit, ///< NVIDIA's container toolkit. It reads the variable as a runtime does, but
                 ///< programs ignore it, so later variables count as if it were not set. Empty,
                 ///< "void" or a path counts as unset. In a container, it may have the numbers
                 ///< that the GPUs have outside.
    };
    /// Its value in the container, where programs see only the chosen GPUs.
    enum class Inside : std::uint8_t {
        uuid,     ///< UUIDs; unset if a GPU has none.
        position, ///< Positions among the GPUs that earlier variables leave.
        name,     ///< Names of GPUs, as outside.
        nothing,  ///< It is unset, because it has been obeyed.
    };

    std::string name; ///< "CUDA_VISIBLE_DEVICES"
    Reader reader = Reader::library;
    Inside inside = Inside::position;
    /// Its words are names of GPUs without this prefix: with "module-", "5" means "module-5".
    /// "": its words are positions, UUIDs and whatever else names a GPU.
    std::string prefix = {};
    /// Set in each container that gets only some of the GPUs, even if it is unset outside.
    bool always = false;
    /// The setting with which positions count whole GPUs: "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE".
    /// Without it, they count the parts of GPUs. "": they always count whole GPUs.
    std::string whole_if = {};
    /// The setting with which positions are in the order of PCI addresses.
    std::string pci_order_if = {};
    /// An empty value counts as unset.
    bool empty_is_unset = false;
    /// It decides which GPUs a container gets. A variable that only some programs read does not:
    /// it is translated, and unset if it would name no GPU.
    bool decides = true;
    /// A variable that its programs read before it. It is set in a container where another vendor
    /// sets this one, which they would take for theirs.
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

/// One vendor's driver on this host.
struct DriverStack {
    std::string vendor;      ///< "nvidia"
    std::string vendor_name; ///< "NVIDIA", for messages.
    std::string cdi_kind;    ///< Kind of its devices in CDI: "nvidia.com/gpu".
    std::string version;
    VersionSource version_source = VersionSource::module;
    std::string root;    ///< The driver root.
    std::string machine; ///< What its libraries are for: "aarch64"; "" in records of old versions.
    std::string library_directory; ///< Where the main library was found; maybe "".
    /// Its files need no particular version of the kernel module, so an image may use its own.
    bool optional_files = false;
    std::vector<VisibleDevices> visible_devices;
    std::vector<std::string> needs; ///< What else a container must have.
    /// Directories other than the C library's in which programs of images look for the driver. An
    /// image may have its own copy there.
    std::vector<std::string> image_directories;
    std::string tree_link; ///< A link to the tree, for images without this name; maybe "".
    std::vector<Gpu> gpus;
    /// Their indexes in the order in which the vendor's programs count; empty: the same order.
    std::vector<unsigned> library_order;
    std::vector<DriverFile> files;
    std::vector<DeviceNode> nodes;
    /// Nodes that are not there, or another device is, and that are required, can be made, or have
    /// a problem. A finding says why.
    std::vector<DeviceNode> missing_nodes;
    std::vector<SharedPath> shared_paths;
    /// For containers whose processes may make device nodes.
    std::vector<Mask> masks;
    Findings findings; ///< What was left out, and what will not work.

    /// Why a node is not accessible.
    std::string obstacle_to(const DeviceNode& node) const;
    /// What can be done if a node is missing; "" if nothing particular.
    std::string remedy_for(const DeviceNode& node) const;
    /// Indexes of the instances of a GPU.
    std::vector<unsigned> instances_of(unsigned gpu) const;
    /// How many GPUs there are that are no instances; their indexes come first.
    std::size_t whole_gpus() const;
};

} // namespace gpucontainer::model
