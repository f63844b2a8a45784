// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// C++20 over the C interface: values, owners, ranges, and one exception type. Header-only, so
/// that no C++ type crosses the library's border. gpucontainer.h is the reference: it says what
/// each function does, needs and promises.

#include <gpucontainer/detail.hpp>
#include <gpucontainer/gpucontainer.h>

#if __cplusplus >= 202002L // else detail.hpp has said so

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gpucontainer {

/// Drops the privileges that this thread no longer needs; see gpuctr_process_harden().
inline void harden(std::uint32_t phases, std::uint32_t flags = 0, std::uint64_t capabilities = 0)
{
    gpuctr_harden_options options = GPUCTR_HARDEN_OPTIONS_INIT;
    options.phases = phases;
    options.flags = flags;
    options.capabilities = capabilities;
    gpuctr_error* error = nullptr;
    detail::check(gpuctr_process_harden(&options, &error), error);
}

/// One GPU; a view into its Host.
class Gpu {
public:
    explicit Gpu(const gpuctr_gpu* gpu) noexcept : gpu_(gpu) {}
    std::uint32_t index() const noexcept { return gpuctr_gpu_index(gpu_); }
    std::string_view uuid() const noexcept { return gpuctr_gpu_uuid(gpu_); }
    std::string_view pci_address() const noexcept { return gpuctr_gpu_pci_address(gpu_); }
    std::string_view model() const noexcept { return gpuctr_gpu_model(gpu_); }
    /// "gfx942"; "" if the kernel does not report it.
    std::string_view architecture() const noexcept { return gpuctr_gpu_architecture(gpu_); }
    std::optional<unsigned> minor_number() const noexcept
    {
        return positive(gpuctr_gpu_minor(gpu_));
    }
    std::optional<unsigned> numa_node() const noexcept
    {
        return positive(gpuctr_gpu_numa_node(gpu_));
    }
    /// Further words that choose it.
    auto names() const noexcept
    {
        return detail::List<std::string_view, gpuctr_gpu_name_count, gpuctr_gpu_name_at,
                            gpuctr_gpu>(gpu_);
    }
    /// How many parts (tiles) programs may count as GPUs.
    std::uint32_t parts() const noexcept { return gpuctr_gpu_parts(gpu_); }
    /// Of an instance of a GPU (MIG): the index of that GPU.
    std::optional<unsigned> parent() const noexcept { return positive(gpuctr_gpu_parent(gpu_)); }

private:
    static std::optional<unsigned> positive(std::int32_t number) noexcept
    {
        return number < 0 ? std::nullopt : std::optional(static_cast<unsigned>(number));
    }
    const gpuctr_gpu* gpu_;
};

/// A symbol version that a file needs of the image's libraries; a view into its Host.
class VersionNeed {
public:
    explicit VersionNeed(const gpuctr_version_need* need) noexcept : need_(need) {}
    std::string_view library() const noexcept { return gpuctr_version_need_library(need_); }
    std::string_view version() const noexcept { return gpuctr_version_need_version(need_); }

private:
    const gpuctr_version_need* need_;
};

/// One way in which programs of a container find a file; a view into its Host.
class Registration {
public:
    explicit Registration(const gpuctr_registration* registration) noexcept
        : registration_(registration)
    {
    }
    /// "loader", "command" ...; see gpuctr_registration_manner().
    std::string_view manner() const noexcept { return gpuctr_registration_manner(registration_); }
    std::string_view name() const noexcept { return gpuctr_registration_name(registration_); }
    /// Of the file that is made for it; may be "".
    std::string_view content() const noexcept { return gpuctr_registration_content(registration_); }

private:
    const gpuctr_registration* registration_;
};

/// A library or tool of a driver; a view into its Host.
class File {
public:
    explicit File(const gpuctr_file* file) noexcept : file_(file) {}
    std::string_view kind() const noexcept { return gpuctr_file_kind(file_); }
    std::string_view name() const noexcept { return gpuctr_file_name(file_); }
    std::string_view soname() const noexcept { return gpuctr_file_soname(file_); }
    std::string_view path() const noexcept { return gpuctr_file_path(file_); }
    std::string_view capability() const noexcept { return gpuctr_file_capability(file_); }
    /// A second capability that does not work without it, or "none".
    std::string_view also() const noexcept { return gpuctr_file_also(file_); }
    std::string_view reason() const noexcept { return gpuctr_file_reason(file_); }
    bool is_directory() const noexcept { return gpuctr_file_is_directory(file_) != 0; }
    /// Only 32-bit programs load it.
    bool is_compat32() const noexcept { return gpuctr_file_is_compat32(file_) != 0; }
    /// "driver", "runtime", "always" or "image"; see gpuctr_file_precedence().
    std::string_view precedence() const noexcept { return gpuctr_file_precedence(file_); }
    /// Further names in its directory that lead to it.
    auto links() const noexcept
    {
        return detail::List<std::string_view, gpuctr_file_link_count, gpuctr_file_link_at,
                            gpuctr_file>(file_);
    }
    /// Its names that programs load without being linked to it.
    auto entry_names() const noexcept
    {
        return detail::List<std::string_view, gpuctr_file_entry_name_count,
                            gpuctr_file_entry_name_at, gpuctr_file>(file_);
    }
    /// Sonames that it cannot be loaded without: the driver's; if of no vendor, any.
    auto needed() const noexcept
    {
        return detail::List<std::string_view, gpuctr_file_needed_count, gpuctr_file_needed_at,
                            gpuctr_file>(file_);
    }
    auto version_needs() const noexcept
    {
        return detail::List<VersionNeed, gpuctr_file_version_need_count,
                            gpuctr_file_version_need_at, gpuctr_file>(file_);
    }
    auto registrations() const noexcept
    {
        return detail::List<Registration, gpuctr_file_registration_count,
                            gpuctr_file_registration_at, gpuctr_file>(file_);
    }
    /// The file as it was when the host was recorded.
    gpuctr_file_id identity() const noexcept { return gpuctr_file_identity(file_); }

private:
    const gpuctr_file* file_;
};

/// A device node; a view into its Host.
class Node {
public:
    explicit Node(const gpuctr_node* node) noexcept : node_(node) {}
    std::string_view path() const noexcept { return gpuctr_node_path(node_); }
    std::uint32_t major_number() const noexcept { return gpuctr_node_major(node_); }
    std::uint32_t minor_number() const noexcept { return gpuctr_node_minor(node_); }
    /// Index of its GPU; none for a node that serves all.
    std::optional<unsigned> gpu() const noexcept
    {
        const std::int32_t gpu = gpuctr_node_gpu(node_);
        return gpu < 0 ? std::nullopt : std::optional(static_cast<unsigned>(gpu));
    }
    bool accessible() const noexcept { return gpuctr_node_accessible(node_) != 0; }
    /// Its path in a container.
    std::string_view container_path() const noexcept { return gpuctr_node_container_path(node_); }
    /// Permission bits.
    std::uint32_t mode() const noexcept { return gpuctr_node_mode(node_); }
    std::uint32_t uid() const noexcept { return gpuctr_node_uid(node_); }
    std::uint32_t gid() const noexcept { return gpuctr_node_gid(node_); }
    /// Capability that needs it; "none": each.
    std::string_view capability() const noexcept { return gpuctr_node_capability(node_); }
    bool required() const noexcept { return gpuctr_node_required(node_) != 0; }
    bool cgroup_forbids() const noexcept { return gpuctr_node_cgroup_forbids(node_) != 0; }
    /// Symbolic links to it in a container.
    auto links() const noexcept
    {
        return detail::List<std::string_view, gpuctr_node_link_count, gpuctr_node_link_at,
                            gpuctr_node>(node_);
    }
    /// The extra that it is part of, as in Request::extras; "": none.
    std::string_view extra() const noexcept { return gpuctr_node_extra(node_); }
    /// For a missing node: its driver is loaded and lets it be made.
    bool is_makeable() const noexcept { return gpuctr_node_is_makeable(node_) != 0; }
    /// For a missing node: what is there in its place; maybe "".
    std::string_view problem() const noexcept { return gpuctr_node_problem(node_); }

private:
    const gpuctr_node* node_;
};

/// A socket, file or directory that a container shares with the host; a view into its Host.
class SharedPath {
public:
    explicit SharedPath(const gpuctr_shared_path* shared) noexcept : shared_(shared) {}
    std::string_view path() const noexcept { return gpuctr_shared_path_path(shared_); }
    /// "socket", "file" or "directory".
    std::string_view kind() const noexcept { return gpuctr_shared_path_kind(shared_); }
    /// Capability that brings it; "none": only its extra does.
    std::string_view capability() const noexcept { return gpuctr_shared_path_capability(shared_); }
    /// Its name in Request::extras.
    std::string_view extra() const noexcept { return gpuctr_shared_path_extra(shared_); }
    std::uint32_t uid() const noexcept { return gpuctr_shared_path_uid(shared_); }
    bool accessible() const noexcept { return gpuctr_shared_path_accessible(shared_) != 0; }
    std::string_view reason() const noexcept { return gpuctr_shared_path_reason(shared_); }

private:
    const gpuctr_shared_path* shared_;
};

/// An entry of a masked directory that a container with its GPU sees; a view into its Host.
class Shown {
public:
    explicit Shown(const gpuctr_shown* shown) noexcept : shown_(shown) {}
    /// Path below the directory.
    std::string_view name() const noexcept { return gpuctr_shown_name(shown_); }
    /// Index of the GPU that it is of; none: all of the vendor.
    std::optional<unsigned> gpu() const noexcept
    {
        const std::int32_t gpu = gpuctr_shown_gpu(shown_);
        return gpu < 0 ? std::nullopt : std::optional(static_cast<unsigned>(gpu));
    }
    bool is_directory() const noexcept { return gpuctr_shown_is_directory(shown_) != 0; }
    /// The extra that shows it, as in Request::extras; "": none.
    std::string_view extra() const noexcept { return gpuctr_shown_extra(shown_); }

private:
    const gpuctr_shown* shown_;
};

/// A file of the kernel that a container has to see with other content, or a directory of which it
/// sees certain entries only; a view into its Host.
class Mask {
public:
    explicit Mask(const gpuctr_mask* mask) noexcept : mask_(mask) {}
    std::string_view path() const noexcept { return gpuctr_mask_path(mask_); }
    std::string_view content() const noexcept { return gpuctr_mask_content(mask_); }
    std::string_view reason() const noexcept { return gpuctr_mask_reason(mask_); }
    bool is_directory() const noexcept { return gpuctr_mask_is_directory(mask_) != 0; }
    /// It only keeps programs from making device nodes.
    bool is_against_nodes() const noexcept { return gpuctr_mask_is_against_nodes(mask_) != 0; }
    auto shown() const noexcept
    {
        return detail::List<Shown, gpuctr_mask_shown_count, gpuctr_mask_shown_at, gpuctr_mask>(
            mask_);
    }

private:
    const gpuctr_mask* mask_;
};

/// How much a finding matters; a later one matters more.
enum class Severity : std::uint32_t {
    note = GPUCTR_SEVERITY_NOTE,       ///< Something was left out.
    need = GPUCTR_SEVERITY_NEED,       ///< The plan does not do it; the caller must.
    warning = GPUCTR_SEVERITY_WARNING, ///< Something will not work, or is not known.
    error = GPUCTR_SEVERITY_ERROR,     ///< A set-up no longer works as it was made.
};

/// Something that was left out, is needed, or does not work. A view into its Host, Plan or
/// SetupList; in a Report it is valid until that returns.
class Finding {
public:
    explicit Finding(const gpuctr_finding* finding) noexcept : finding_(finding) {}
    /// "not_installed", "driver_version" ...; see gpuctr_finding_code().
    std::string_view code() const noexcept { return gpuctr_finding_code(finding_); }
    Severity severity() const noexcept
    {
        return static_cast<Severity>(gpuctr_finding_severity(finding_));
    }
    std::string_view object() const noexcept { return gpuctr_finding_object(finding_); }
    std::string_view text() const noexcept { return gpuctr_finding_text(finding_); }
    std::string_view evidence() const noexcept { return gpuctr_finding_evidence(finding_); }
    std::string_view hint() const noexcept { return gpuctr_finding_hint(finding_); }
    /// Programs that use it are concerned; "none": all programs.
    std::string_view capability() const noexcept { return gpuctr_finding_capability(finding_); }

    /// "OBJECT: TEXT"
    std::string message() const
    {
        std::string message(object());
        if (!message.empty())
            message += ": ";
        return message.append(text());
    }

private:
    const gpuctr_finding* finding_;
};

/// The driver of one vendor; a view into its Host.
class Driver {
public:
    explicit Driver(const gpuctr_driver* driver) noexcept : driver_(driver) {}
    std::string_view vendor() const noexcept { return gpuctr_driver_vendor(driver_); }
    /// "NVIDIA", for people.
    std::string_view vendor_name() const noexcept { return gpuctr_driver_vendor_name(driver_); }
    std::string_view version() const noexcept { return gpuctr_driver_version(driver_); }
    /// "module", "option" or "files".
    std::string_view version_source() const noexcept
    {
        return gpuctr_driver_version_source(driver_);
    }
    std::string_view root() const noexcept { return gpuctr_driver_root(driver_); }
    auto gpus() const noexcept
    {
        return detail::List<Gpu, gpuctr_driver_gpu_count, gpuctr_driver_gpu_at, gpuctr_driver>(
            driver_);
    }
    auto files() const noexcept
    {
        return detail::List<File, gpuctr_driver_file_count, gpuctr_driver_file_at, gpuctr_driver>(
            driver_);
    }
    auto nodes() const noexcept
    {
        return detail::List<Node, gpuctr_driver_node_count, gpuctr_driver_node_at, gpuctr_driver>(
            driver_);
    }
    /// What CDI calls its devices, "nvidia.com/gpu".
    std::string_view cdi_kind() const noexcept { return gpuctr_driver_cdi_kind(driver_); }
    std::string_view library_directory() const noexcept
    {
        return gpuctr_driver_library_directory(driver_);
    }
    /// What its libraries are for, "aarch64"; "" in records of earlier versions.
    std::string_view machine() const noexcept { return gpuctr_driver_machine(driver_); }
    /// An image may bring its own files instead.
    bool has_optional_files() const noexcept
    {
        return gpuctr_driver_has_optional_files(driver_) != 0;
    }
    std::string_view tree_link() const noexcept { return gpuctr_driver_tree_link(driver_); }
    /// What a container must have besides.
    auto needs() const noexcept
    {
        return detail::List<std::string_view, gpuctr_driver_need_count, gpuctr_driver_need_at,
                            gpuctr_driver>(driver_);
    }
    auto image_directories() const noexcept
    {
        return detail::List<std::string_view, gpuctr_driver_image_directory_count,
                            gpuctr_driver_image_directory_at, gpuctr_driver>(driver_);
    }
    /// Device nodes that are required and not there.
    auto missing_nodes() const noexcept
    {
        return detail::List<Node, gpuctr_driver_missing_node_count, gpuctr_driver_missing_node_at,
                            gpuctr_driver>(driver_);
    }
    auto shared_paths() const noexcept
    {
        return detail::List<SharedPath, gpuctr_driver_shared_path_count,
                            gpuctr_driver_shared_path_at, gpuctr_driver>(driver_);
    }
    auto masks() const noexcept
    {
        return detail::List<Mask, gpuctr_driver_mask_count, gpuctr_driver_mask_at, gpuctr_driver>(
            driver_);
    }
    /// What was left out, and what will not work.
    auto findings() const noexcept
    {
        return detail::List<Finding, gpuctr_driver_finding_count, gpuctr_driver_finding_at,
                            gpuctr_driver>(driver_);
    }

private:
    const gpuctr_driver* driver_;
};

/// What to look for on a host.
struct HostOptions {
    /// Names of the vendors that must be there. With GPUCTR_VENDOR_ANY, or if empty: others too.
    std::vector<std::string> vendors = {};
    std::string driver_root = "/"; ///< Where the driver's files are.
    std::string driver_version;    ///< Empty: ask the kernel.
    /// Files with further rules for which files belong to a driver.
    std::vector<std::string> catalogues = {};
    std::string catalogue_dir = {}; ///< A directory of such files; empty: none.
    std::string dev_root = "/";     ///< The directory whose dev/ has the driver's device nodes.
    std::string mig_map = {};       ///< What `nvidia-smi -L` printed; empty: none.
    bool files_alone = false;       ///< A vendor needs no GPU; see GPUCTR_HOST_FILES_ALONE.
    bool whole_bus = false;         ///< Names GPUs without a driver; see GPUCTR_HOST_WHOLE_BUS.
};

namespace detail {

/// Borrows from the options that it was made from.
struct NativeHostOptions {
    explicit NativeHostOptions(const HostOptions& from)
    {
        for (const std::string& vendor : from.vendors)
            vendors.push_back(vendor.c_str());
        vendors.push_back(nullptr);
        options.vendors = vendors.data();
        if (from.files_alone)
            options.flags |= GPUCTR_HOST_FILES_ALONE;
        if (from.whole_bus)
            options.flags |= GPUCTR_HOST_WHOLE_BUS;
        options.driver_root = from.driver_root.c_str();
        if (!from.driver_version.empty())
            options.driver_version = from.driver_version.c_str();
        for (const std::string& catalogue : from.catalogues)
            catalogues.push_back(catalogue.c_str());
        catalogues.push_back(nullptr);
        options.catalogues = catalogues.data();
        if (!from.catalogue_dir.empty())
            options.catalogue_dir = from.catalogue_dir.c_str();
        options.dev_root = from.dev_root.c_str();
        if (!from.mig_map.empty())
            options.mig_map = from.mig_map.c_str();
    }

    gpuctr_host_options options = GPUCTR_HOST_OPTIONS_INIT;
    std::vector<const char*> vendors;
    std::vector<const char*> catalogues;
};

} // namespace detail

/// The GPUs of this host and their drivers. Immutable.
class Host {
public:
    /// Throws Error: no_device, driver, permission, usage.
    explicit Host(const HostOptions& options = {})
    {
        const detail::NativeHostOptions native(options);
        gpuctr_host* host = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_host_open(&native.options, &host, &error), error);
        handle_.reset(host);
    }

    /// Reads what to_json() wrote. The record is not trusted: before a plan made from it is
    /// applied, this host is detected again with `options`; see gpuctr_host_from_json().
    /// Throws Error: usage, no_device.
    static Host from_json(std::string_view json, const HostOptions& options = {})
    {
        const detail::NativeHostOptions native(options);
        gpuctr_host* host = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(
            gpuctr_host_from_json(json.data(), json.size(), &native.options, &host, &error), error);
        return Host(host);
    }

    /// Whether the host still is as it was recorded. Costs far less than to open it again.
    bool is_current() const noexcept { return gpuctr_host_is_current(handle_.get()) != 0; }

    auto drivers() const noexcept
    {
        return detail::List<Driver, gpuctr_host_driver_count, gpuctr_host_driver_at, gpuctr_host>(
            handle_.get());
    }

    /// One for each vendor that was not asked for and whose driver is broken.
    auto findings() const noexcept
    {
        return detail::List<Finding, gpuctr_host_finding_count, gpuctr_host_finding_at,
                            gpuctr_host>(handle_.get());
    }

    /// Schema "gpucontainer/list/1".
    std::string to_json() const
    {
        char* text = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_host_to_json(handle_.get(), &text, &error), error);
        return detail::take_string(text);
    }

    /// What is known about a driver, or one of its GPUs, by a name of requirements: "cuda"; see
    /// gpuctr_host_fact(). Throws Error: no_device, usage.
    std::string fact(const std::string& vendor, const std::string& name, int gpu = -1) const
    {
        char* text = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(
            gpuctr_host_fact(handle_.get(), vendor.c_str(), gpu, name.c_str(), &text, &error),
            error);
        return detail::take_string(text);
    }

    /// Writes a report of this host to a descriptor; see gpuctr_host_capture(). `report` is called
    /// with what was replaced or not recorded. Throws Error: usage, permission, requirement.
    static void capture(const HostOptions& options, int fd, bool with_identities = false,
                        const char* const* environment = nullptr,
                        const std::function<void(Finding)>& report = {})
    {
        const detail::NativeHostOptions native(options);
        const auto call = [](void* data, const gpuctr_finding* finding) noexcept {
            try {
                (*static_cast<const std::function<void(Finding)>*>(data))(Finding(finding));
            } catch (...) { // NOLINT(bugprone-empty-catch): no exception passes through C
            }
        };
        gpuctr_error* error = nullptr;
        detail::check(
            gpuctr_host_capture(&native.options, environment,
                                with_identities ? GPUCTR_CAPTURE_WITH_IDENTITIES : 0, fd,
                                report ? +call : nullptr,
                                const_cast<std::function<void(Finding)>*>(&report), // NOLINT
                                &error),
            error);
    }

    const gpuctr_host* get() const noexcept { return handle_.get(); }

private:
    explicit Host(gpuctr_host* handle) noexcept : handle_(handle) {}

    detail::Handle<gpuctr_host, gpuctr_host_free> handle_;
};

namespace detail {

/// The same texts for C, which end with a null.
inline std::vector<const char*> texts_of(const std::vector<std::string>& texts)
{
    std::vector<const char*> all;
    all.reserve(texts.size() + 1);
    for (const std::string& text : texts)
        all.push_back(text.c_str());
    all.push_back(nullptr);
    return all;
}

} // namespace detail

/// What a container asks for; gpuctr_request describes each field.
struct Request {
    std::string devices = "auto";
    std::string driver_capabilities = "compute,utility";
    const char* const* environment = nullptr; ///< Where "auto" finds the scheduler's variables.
    std::uint32_t write = GPUCTR_WRITE_AUTO;
    std::string allowed_devices = {}; ///< Policy: the GPUs that may be chosen; empty: all.
    std::string tree_path;            ///< Empty: "/usr/lib/gpuctr".
    std::uint32_t layout = GPUCTR_LAYOUT_TREE;
    std::uint32_t vendor_libs = GPUCTR_VENDOR_LIBS_AUTO;
    std::string mount_label;             ///< SELinux label of tmpfs and overlays; empty: none.
    bool lock = false;                   ///< Nobody in the container can make our mounts writable.
    std::string devices_name = "device"; ///< Name of `devices` in messages.
    std::vector<std::string> requirements = {}; ///< Such as "cuda>=12.4"; all have to be met.
    std::string extras = {};                    ///< Comma-separated: "gds,imex-channel:0,no-mps".
    /// NAME=VALUE each: what the container itself asks for, such as ContainerEnvironment has it.
    std::vector<std::string> container_environment = {};
    bool names_devices = false;                ///< It does not change `devices`,
    bool names_capabilities = false;           ///< nor `driver_capabilities`.
    std::uint32_t compat = GPUCTR_COMPAT_AUTO; ///< The image's own user space of a newer driver.
    std::string toolkit = {};     ///< The host's toolkit: "auto", a directory, or "" for none.
    std::uint32_t kept_hooks = 0; ///< GPUCTR_REQUEST_KEEP_*, for devices of CDI.
    std::uint32_t glibc = GPUCTR_GLIBC_NEVER; ///< The host's C library for an older image.
    std::string program = {};                 ///< That will be run; "": it is not known.
};

/// Where a file with an image has its root file system; see gpuctr_image_find().
struct ImagePlace {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    bool is_signed = false;
    bool has_overlay = false;
};

/// `fd` is borrowed. Throws Error: rootfs, requirement.
inline ImagePlace find_image(int fd)
{
    ImagePlace place;
    std::uint32_t flags = 0;
    gpuctr_error* error = nullptr;
    detail::check(gpuctr_image_find(fd, &place.offset, &place.size, &flags, &error), error);
    place.is_signed = (flags & GPUCTR_IMAGE_SIGNED) != 0;
    place.has_overlay = (flags & GPUCTR_IMAGE_OVERLAY) != 0;
    return place;
}

/// The variables that an image or a runtime gives to a container; gpuctr_environment_read()
/// describes where they are found.
class ContainerEnvironment {
public:
    /// `rootfs_fd` is borrowed, and may be -1. Throws Error: usage, rootfs.
    explicit ContainerEnvironment(int rootfs_fd, const char* text = nullptr,
                                  const char* const* environment = nullptr)
    {
        gpuctr_environment* read = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_environment_read(rootfs_fd, text, environment, &read, &error), error);
        handle_.reset(read);
    }

    /// NAME=VALUE each, sorted by name: those that count for a plan.
    std::vector<std::string> variables() const
    {
        std::vector<std::string> all;
        for (std::size_t i = 0; i < gpuctr_environment_count(handle_.get()); ++i)
            all.emplace_back(gpuctr_environment_at(handle_.get(), i));
        return all;
    }

    /// What is not known; views into this object.
    auto findings() const noexcept
    {
        return detail::List<Finding, gpuctr_environment_finding_count,
                            gpuctr_environment_finding_at, gpuctr_environment>(handle_.get());
    }

private:
    detail::Handle<gpuctr_environment, gpuctr_environment_free> handle_;
};

/// What an OCI runtime tells a hook; gpuctr_hook_state_read() describes it.
class HookState {
public:
    /// What counts unless somebody says otherwise.
    static constexpr std::uint32_t usual_wishes = GPUCTR_WISH_ENVIRONMENT | GPUCTR_WISH_MOUNTS;

    /// `accepted` is GPUCTR_WISH_*. Throws Error: usage.
    explicit HookState(const std::string& text, std::uint32_t accepted = usual_wishes)
    {
        gpuctr_hook_state* read = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_hook_state_read(text.c_str(), accepted, &read, &error), error);
        handle_.reset(read);
    }

    /// From config.json alone; see gpuctr_hook_state_read_config(). Throws Error: usage.
    static HookState of_config(const std::string& config, std::uint32_t accepted = usual_wishes)
    {
        gpuctr_hook_state* read = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_hook_state_read_config(config.c_str(), accepted, &read, &error),
                      error);
        return HookState(read);
    }

    /// Why the configuration is not understood; "" if it is.
    std::string_view fault() const noexcept { return gpuctr_hook_state_fault(handle_.get()); }
    std::int32_t pid() const noexcept { return gpuctr_hook_state_pid(handle_.get()); }
    std::string_view bundle() const noexcept { return gpuctr_hook_state_bundle(handle_.get()); }
    std::string_view rootfs() const noexcept { return gpuctr_hook_state_rootfs(handle_.get()); }
    /// Whether a user wants GPUs: they are named, or asked for by mounts.
    bool names_gpus() const noexcept { return gpuctr_hook_state_names_gpus(handle_.get()) != 0; }
    /// Wishes that are not accepted, for people.
    std::vector<std::string> refused() const
    {
        std::vector<std::string> all;
        for (std::size_t i = 0; i < gpuctr_hook_state_refused_count(handle_.get()); ++i)
            all.emplace_back(gpuctr_hook_state_refused_at(handle_.get(), i));
        return all;
    }
    /// NAME=VALUE each, sorted by name.
    std::vector<std::string> variables() const
    {
        std::vector<std::string> all;
        for (std::size_t i = 0; i < gpuctr_hook_state_variable_count(handle_.get()); ++i)
            all.emplace_back(gpuctr_hook_state_variable_at(handle_.get(), i));
        return all;
    }
    /// Those of which it asks for GPUs or files.
    std::vector<std::string> vendors() const
    {
        std::vector<std::string> all;
        for (std::size_t i = 0; i < gpuctr_hook_state_vendor_count(handle_.get()); ++i)
            all.emplace_back(gpuctr_hook_state_vendor_at(handle_.get(), i));
        return all;
    }

private:
    explicit HookState(gpuctr_hook_state* state) : handle_(state) {}

    detail::Handle<gpuctr_hook_state, gpuctr_hook_state_free> handle_;
};

/// A driver that a plan or set-up was made from, and the GPUs that were chosen; a view into its
/// Plan or SetupList.
class UsedDriver {
public:
    explicit UsedDriver(const gpuctr_used_driver* driver) noexcept : driver_(driver) {}
    std::string_view vendor() const noexcept { return gpuctr_used_driver_vendor(driver_); }
    std::string_view version() const noexcept { return gpuctr_used_driver_version(driver_); }
    /// As Driver::version_source(); "" for that of a set-up.
    std::string_view version_source() const noexcept
    {
        return gpuctr_used_driver_version_source(driver_);
    }
    auto gpus() const noexcept
    {
        return detail::List<Gpu, gpuctr_used_driver_gpu_count, gpuctr_used_driver_gpu_at,
                            gpuctr_used_driver>(driver_);
    }

private:
    const gpuctr_used_driver* driver_;
};

/// One thing that a plan puts into the container; a view into its Plan.
class Item {
public:
    explicit Item(const gpuctr_item* item) noexcept : item_(item) {}
    std::string_view kind() const noexcept { return gpuctr_item_kind(item_); }
    std::string_view source() const noexcept { return gpuctr_item_source(item_); }
    std::string_view target() const noexcept { return gpuctr_item_target(item_); }
    std::string_view options() const noexcept { return gpuctr_item_options(item_); }
    std::string_view reason() const noexcept { return gpuctr_item_reason(item_); }
    /// "nvidia"; "" if it serves all.
    std::string_view vendor() const noexcept { return gpuctr_item_vendor(item_); }
    /// Index of the GPU that it is for; -1: all of the vendor.
    int gpu() const noexcept { return gpuctr_item_gpu(item_); }
    /// "there", "created", "tree", "overlay" or "cover"; see gpuctr_item_place().
    std::string_view place() const noexcept { return gpuctr_item_place(item_); }
    bool is_directory() const noexcept { return gpuctr_item_is_directory(item_) != 0; }
    /// Permission bits of what is made; 0 for all else.
    std::uint32_t mode() const noexcept { return gpuctr_item_mode(item_); }
    /// The bytes of what is generated; none for all else.
    std::optional<std::string_view> content() const noexcept
    {
        const auto* const bytes = static_cast<const char*>(gpuctr_item_content(item_));
        if (bytes == nullptr)
            return std::nullopt;
        return std::string_view(bytes, gpuctr_item_content_size(item_));
    }
    /// Of a "device"; 0 for others.
    std::uint32_t major_number() const noexcept { return gpuctr_item_major(item_); }
    std::uint32_t minor_number() const noexcept { return gpuctr_item_minor(item_); }
    bool required() const noexcept { return gpuctr_item_required(item_) != 0; }
    /// Which file the source was when the host was recorded.
    gpuctr_file_id identity() const noexcept { return gpuctr_item_identity(item_); }

private:
    const gpuctr_item* item_;
};

/// A change to the environment of the container; a view into its Plan.
class Variable {
public:
    explicit Variable(const gpuctr_variable* variable) noexcept : variable_(variable) {}
    /// "set", "unset", "prepend" or "append".
    std::string_view action() const noexcept { return gpuctr_variable_action(variable_); }
    std::string_view name() const noexcept { return gpuctr_variable_name(variable_); }
    std::string_view value() const noexcept { return gpuctr_variable_value(variable_); }
    /// "nvidia"; "" if it serves all.
    std::string_view vendor() const noexcept { return gpuctr_variable_vendor(variable_); }

private:
    const gpuctr_variable* variable_;
};

/// What Plan::apply() did.
enum class Outcome : std::uint32_t {
    applied = GPUCTR_APPLIED,
    unchanged = GPUCTR_UNCHANGED,
    replaced = GPUCTR_REPLACED,
};

/// What Plan::stage() did.
enum class Staged : std::uint32_t {
    made = GPUCTR_STAGED,
    unchanged = GPUCTR_STAGE_UNCHANGED,
    replaced = GPUCTR_STAGE_REPLACED,
};

/// What Plan::install_cdi() did.
enum class CdiInstalled : std::uint32_t {
    written = GPUCTR_CDI_WRITTEN,
    unchanged = GPUCTR_CDI_UNCHANGED,
};

/// Called with each finding that a person should know, before a call returns or throws.
/// Exceptions that it throws are ignored.
using Report = std::function<void(Finding)>;

namespace detail {

/// A Report as C calls it.
inline void report(void* data, const gpuctr_finding* finding) noexcept
{
    try {
        (*static_cast<const Report*>(data))(Finding(finding));
    } catch (...) { // NOLINT(bugprone-empty-catch): no exception passes through C
    }
}

/// Fills in the fields that the options of apply, undo and status have in common.
template <typename Options, typename Native>
void set_common(const Options& options, Native& native, std::uint32_t in_process) noexcept
{
    if (!options.state_dir.empty())
        native.state_dir = options.state_dir.c_str();
    if (options.pidfd >= 0)
        native.flags |= in_process;
    native.pidfd = options.pidfd;
}

template <typename Native>
void set_report(const Report& report_to, Native& native) noexcept
{
    if (!report_to)
        return;
    native.report = report;
    native.report_data = const_cast<Report*>(&report_to); // NOLINT: only called
}

} // namespace detail

/// How to apply; see gpuctr_apply_options.
struct ApplyOptions {
    std::string state_dir; ///< Directory of the journals; empty: "/var/lib/gpucontainer".
    /// Process in whose mount namespace the plan is applied; -1: in the caller's. The calling
    /// thread must share its working directory with no other.
    int pidfd = -1;
    bool for_setuid = false;      ///< GPUCTR_APPLY_SETUID
    bool without_journal = false; ///< GPUCTR_APPLY_WITHOUT_JOURNAL
    bool over_copies = false;     ///< GPUCTR_APPLY_OVER_COPIES
    bool no_replace = false;      ///< GPUCTR_APPLY_NO_REPLACE
    bool dry_run = false;         ///< GPUCTR_APPLY_DRY_RUN
    Report report;
    std::string staged_tree; ///< Directory given to Plan::stage(); empty: none.
    std::uint32_t backend = GPUCTR_BACKEND_AUTO;

    /// Borrows from this object.
    gpuctr_apply_options native() const noexcept
    {
        gpuctr_apply_options native = GPUCTR_APPLY_OPTIONS_INIT;
        detail::set_common(*this, native, GPUCTR_APPLY_IN_PROCESS);
        if (for_setuid)
            native.flags |= GPUCTR_APPLY_SETUID;
        if (without_journal)
            native.flags |= GPUCTR_APPLY_WITHOUT_JOURNAL;
        if (over_copies)
            native.flags |= GPUCTR_APPLY_OVER_COPIES;
        if (no_replace)
            native.flags |= GPUCTR_APPLY_NO_REPLACE;
        if (dry_run)
            native.flags |= GPUCTR_APPLY_DRY_RUN;
        detail::set_report(report, native);
        if (!staged_tree.empty())
            native.staged_tree = staged_tree.c_str();
        native.backend = backend;
        return native;
    }
};

/// How to undo; see gpuctr_undo_options.
struct UndoOptions {
    std::string state_dir;   ///< Directory of the journals; empty: "/var/lib/gpucontainer".
    int pidfd = -1;          ///< As in ApplyOptions.
    bool for_setuid = false; ///< GPUCTR_UNDO_SETUID
    bool dry_run = false;    ///< GPUCTR_UNDO_DRY_RUN
    Report report;

    /// Borrows from this object.
    gpuctr_undo_options native() const noexcept
    {
        gpuctr_undo_options native = GPUCTR_UNDO_OPTIONS_INIT;
        detail::set_common(*this, native, GPUCTR_UNDO_IN_PROCESS);
        if (for_setuid)
            native.flags |= GPUCTR_UNDO_SETUID;
        if (dry_run)
            native.flags |= GPUCTR_UNDO_DRY_RUN;
        detail::set_report(report, native);
        return native;
    }
};

/// Where to look for set-ups; see gpuctr_setup_list_options.
struct SetupListOptions {
    std::string state_dir; ///< Directory of the journals; empty: "/var/lib/gpucontainer".
    int pidfd = -1;        ///< As in ApplyOptions.

    /// Borrows from this object.
    gpuctr_setup_list_options native() const noexcept
    {
        gpuctr_setup_list_options native = GPUCTR_SETUP_LIST_OPTIONS_INIT;
        detail::set_common(*this, native, GPUCTR_SETUP_LIST_IN_PROCESS);
        return native;
    }
};

/// How to prepare; see gpuctr_prepare_options.
struct PrepareOptions {
    bool for_setuid = false; ///< GPUCTR_PREPARE_SETUID
    std::string staged_tree; ///< Directory given to Plan::stage(); empty: none.
    std::uint32_t backend = GPUCTR_BACKEND_AUTO;

    /// Borrows from this object.
    gpuctr_prepare_options native() const noexcept
    {
        gpuctr_prepare_options native = GPUCTR_PREPARE_OPTIONS_INIT;
        if (for_setuid)
            native.flags |= GPUCTR_PREPARE_SETUID;
        if (!staged_tree.empty())
            native.staged_tree = staged_tree.c_str();
        native.backend = backend;
        return native;
    }
};

/// How to stage and to unstage; see gpuctr_stage_options.
struct StageOptions {
    bool for_setuid = false; ///< GPUCTR_STAGE_SETUID
    std::uint32_t backend = GPUCTR_BACKEND_AUTO;

    gpuctr_stage_options native() const noexcept
    {
        gpuctr_stage_options native = GPUCTR_STAGE_OPTIONS_INIT;
        if (for_setuid)
            native.flags |= GPUCTR_STAGE_SETUID;
        native.backend = backend;
        return native;
    }
};

/// How a CDI specification is written; see gpuctr_cdi_options.
struct CdiOptions {
    std::string version;           ///< "": the lowest that has it all.
    std::string files_dir;         ///< "": the usual one.
    bool yaml = false;             ///< GPUCTR_CDI_YAML
    bool groups = false;           ///< GPUCTR_CDI_GROUPS
    std::string staged_tree;       ///< "": single mounts.
    std::vector<std::string> hook; ///< Path and arguments; none: no hook.

    /// Borrows from this object and from `words`, which it fills.
    gpuctr_cdi_options native(std::vector<const char*>& words) const
    {
        gpuctr_cdi_options native = GPUCTR_CDI_OPTIONS_INIT;
        native.version = version.empty() ? nullptr : version.c_str();
        native.files_dir = files_dir.empty() ? nullptr : files_dir.c_str();
        native.flags = (yaml ? GPUCTR_CDI_YAML : 0) | (groups ? GPUCTR_CDI_GROUPS : 0);
        native.staged_tree = staged_tree.empty() ? nullptr : staged_tree.c_str();
        words = detail::texts_of(hook);
        native.hook = hook.empty() ? nullptr : words.data();
        return native;
    }
};

/// A plan as detached mounts. If it is dropped without attach(), nothing was changed.
class Prepared {
public:
    explicit Prepared(gpuctr_prepared* handle) noexcept : handle_(handle) {}

    /// Throws Error. Between clone and exec use gpuctr_prepared_attach(), which
    /// allocates nothing.
    void attach(int rootfs_fd) { check(gpuctr_prepared_attach(get(), rootfs_fd, &error_)); }
    void undo(int rootfs_fd) { check(gpuctr_prepared_undo(get(), rootfs_fd, &error_)); }

    gpuctr_prepared* get() const noexcept { return handle_.get(); }

private:
    void check(gpuctr_status status) const
    {
        if (status != GPUCTR_OK)
            throw Error(status,
                        std::string(error_.step) + " " + error_.object + ": "
                            + std::generic_category().message(error_.os_error),
                        "", error_.os_error);
    }

    detail::Handle<gpuctr_prepared, gpuctr_prepared_free> handle_;
    gpuctr_attach_error error_ = GPUCTR_ATTACH_ERROR_INIT;
};

/// What a plan does with one thing of the host, and why; a view into its Explanation.
class Answer {
public:
    explicit Answer(const gpuctr_answer* answer) noexcept : answer_(answer) {}
    /// "library", "tool", "data", "node", "gpu" or "shared".
    std::string_view kind() const noexcept { return gpuctr_answer_kind(answer_); }
    std::string_view name() const noexcept { return gpuctr_answer_name(answer_); }
    std::string_view vendor() const noexcept { return gpuctr_answer_vendor(answer_); }
    bool is_given() const noexcept { return gpuctr_answer_is_given(answer_) != 0; }
    /// On the host; "" if it is not there.
    std::string_view path() const noexcept { return gpuctr_answer_path(answer_); }
    std::string_view reason() const noexcept { return gpuctr_answer_reason(answer_); }
    /// That it is a part of; "none": all.
    std::string_view capability() const noexcept { return gpuctr_answer_capability(answer_); }
    /// By which the container gets it.
    auto items() const noexcept
    {
        return detail::List<Item, gpuctr_answer_item_count, gpuctr_answer_item_at, gpuctr_answer>(
            answer_);
    }
    /// Others of this name, and why they do not count.
    auto findings() const noexcept
    {
        return detail::List<Finding, gpuctr_answer_finding_count, gpuctr_answer_finding_at,
                            gpuctr_answer>(answer_);
    }
    /// What would change it.
    auto remedies() const noexcept
    {
        return detail::List<std::string_view, gpuctr_answer_remedy_count, gpuctr_answer_remedy_at,
                            gpuctr_answer>(answer_);
    }

private:
    const gpuctr_answer* answer_;
};

/// Why a container gets something, or does not; made by Plan::explain().
class Explanation {
public:
    explicit Explanation(gpuctr_explanation* handle) noexcept : handle_(handle) {}

    /// Of each thing that has the name; at least one.
    auto answers() const noexcept
    {
        return detail::List<Answer, gpuctr_explanation_answer_count, gpuctr_explanation_answer_at,
                            gpuctr_explanation>(handle_.get());
    }

    /// Schema "gpucontainer/why/1".
    std::string to_json() const
    {
        char* text = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_explanation_to_json(handle_.get(), &text, &error), error);
        return detail::take_string(text);
    }

private:
    detail::Handle<gpuctr_explanation, gpuctr_explanation_free> handle_;
};

class CdiList;

namespace detail {

/// A request in the form of the C interface. Borrows from the one it is made of.
class NativeRequest {
public:
    explicit NativeRequest(const Request& request)
        : requirements_(texts_of(request.requirements)),
          container_(texts_of(request.container_environment))
    {
        native.devices = request.devices.c_str();
        native.driver_capabilities = request.driver_capabilities.c_str();
        native.environment = request.environment;
        native.write = request.write;
        if (!request.allowed_devices.empty())
            native.allowed_devices = request.allowed_devices.c_str();
        native.tree_path = request.tree_path.empty() ? nullptr : request.tree_path.c_str();
        native.layout = request.layout;
        native.vendor_libs = request.vendor_libs;
        native.mount_label = request.mount_label.empty() ? nullptr : request.mount_label.c_str();
        native.flags = (request.lock ? GPUCTR_REQUEST_LOCK : 0)
                       | (request.names_devices ? GPUCTR_REQUEST_NAMES_DEVICES : 0)
                       | (request.names_capabilities ? GPUCTR_REQUEST_NAMES_CAPABILITIES : 0);
        native.devices_name = request.devices_name.c_str();
        native.requirements = requirements_.data();
        native.extras = request.extras.empty() ? nullptr : request.extras.c_str();
        native.container_environment = container_.data();
        native.compat = request.compat;
        native.toolkit = request.toolkit.empty() ? nullptr : request.toolkit.c_str();
        native.glibc = request.glibc;
        native.program = request.program.empty() ? nullptr : request.program.c_str();
    }

    gpuctr_request native = GPUCTR_REQUEST_INIT;

private:
    std::vector<const char*> requirements_;
    std::vector<const char*> container_;
};

} // namespace detail

/// Everything that will change in a container's root file system. Immutable; may be read from
/// several threads.
class Plan {
public:
    /// `rootfs_fd` is borrowed; -1 makes a plan that can only be shown. Throws Error:
    /// usage, no_device, rootfs, permission, requirement.
    Plan(const Host& host, const Request& request, int rootfs_fd)
    {
        const detail::NativeRequest wanted(request);
        gpuctr_plan* plan = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_plan_create(host.get(), &wanted.native, rootfs_fd, &plan, &error),
                      error);
        handle_.reset(plan);
    }

    /// Of devices of CDI, which `request.devices` names in full; see gpuctr_plan_create_from_cdi().
    /// Throws Error: usage, permission, driver, rootfs.
    Plan(const CdiList& list, const Request& request, int rootfs_fd);

    /// Checks that the chosen GPUs meet a requirement such as "cuda>=12.4 driver>=550"; see
    /// gpuctr_plan_check_requirement(). Throws Error: requirement, usage.
    void check_requirement(const std::string& requirement) const
    {
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_plan_check_requirement(handle_.get(), requirement.c_str(), &error),
                      error);
    }

    auto drivers() const noexcept
    {
        return detail::List<UsedDriver, gpuctr_plan_driver_count, gpuctr_plan_driver_at,
                            gpuctr_plan>(handle_.get());
    }
    /// GPUCTR_LAYOUT_*
    std::uint32_t layout() const noexcept { return gpuctr_plan_layout(handle_.get()); }
    /// Directory of the container that has the driver's files; "" if there is none.
    std::string_view tree_path() const noexcept { return gpuctr_plan_tree_path(handle_.get()); }
    bool writes_root() const noexcept { return gpuctr_plan_writes_root(handle_.get()) != 0; }
    bool is_locked() const noexcept { return gpuctr_plan_is_locked(handle_.get()) != 0; }
    std::string_view mount_label() const noexcept { return gpuctr_plan_mount_label(handle_.get()); }
    auto items() const noexcept
    {
        return detail::List<Item, gpuctr_plan_item_count, gpuctr_plan_item_at, gpuctr_plan>(
            handle_.get());
    }
    auto variables() const noexcept
    {
        return detail::List<Variable, gpuctr_plan_variable_count, gpuctr_plan_variable_at,
                            gpuctr_plan>(handle_.get());
    }
    /// What was left out, what the caller must add to the container, and what will not work.
    auto findings() const noexcept
    {
        return detail::List<Finding, gpuctr_plan_finding_count, gpuctr_plan_finding_at,
                            gpuctr_plan>(handle_.get());
    }
    std::vector<gpuctr_device_rule> device_rules() const
    {
        std::vector<gpuctr_device_rule> rules;
        for (std::size_t i = 0; i < gpuctr_plan_device_rule_count(handle_.get()); ++i)
            rules.push_back(*gpuctr_plan_device_rule_at(handle_.get(), i));
        return rules;
    }
    std::vector<std::uint32_t> groups() const
    {
        std::vector<std::uint32_t> groups;
        for (std::size_t i = 0; i < gpuctr_plan_group_count(handle_.get()); ++i)
            groups.push_back(gpuctr_plan_group_at(handle_.get(), i));
        return groups;
    }

    /// What it does with what `name` stands for, and why; see gpuctr_plan_explain(). `rootfs_fd` is
    /// that of the plan; -1: none. Throws Error: usage, rootfs.
    Explanation explain(const std::string& name, int rootfs_fd = -1) const
    {
        gpuctr_explanation* explanation = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(
            gpuctr_plan_explain(handle_.get(), name.c_str(), rootfs_fd, &explanation, &error),
            error);
        return Explanation(explanation);
    }

    /// Schema "gpucontainer/plan/1".
    std::string to_json() const
    {
        char* text = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_plan_to_json(handle_.get(), &text, &error), error);
        return detail::take_string(text);
    }

    /// The plan as a specification of the Container Device Interface; see gpuctr_plan_to_cdi().
    /// Throws Error: usage, no_device.
    std::string to_cdi(const CdiOptions& options = {}) const
    {
        std::vector<const char*> words;
        const gpuctr_cdi_options native = options.native(words);
        char* text = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_plan_to_cdi(handle_.get(), &native, &text, &error), error);
        return detail::take_string(text);
    }

    /// The plan as edits of an OCI runtime's configuration; see gpuctr_plan_to_oci(). Throws
    /// Error: usage.
    std::string to_oci(const std::string& files_dir = {}) const
    {
        char* text = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_plan_to_oci(handle_.get(),
                                         files_dir.empty() ? nullptr : files_dir.c_str(), &text,
                                         &error),
                      error);
        return detail::take_string(text);
    }

    /// A configuration with these edits; see gpuctr_plan_edit_oci(). Throws Error: usage.
    std::string edit_oci(const std::string& config, const std::string& files_dir = {}) const
    {
        char* text = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_plan_edit_oci(handle_.get(), config.c_str(),
                                           files_dir.empty() ? nullptr : files_dir.c_str(), &text,
                                           &error),
                      error);
        return detail::take_string(text);
    }

    /// Writes that specification and the files that it names; see gpuctr_plan_install_cdi().
    /// Throws Error: exists, permission, usage, no_device, driver.
    CdiInstalled install_cdi(const std::string& path, const CdiOptions& options = {}) const
    {
        std::vector<const char*> words;
        const gpuctr_cdi_options native = options.native(words);
        std::uint32_t outcome = GPUCTR_CDI_WRITTEN;
        gpuctr_error* error = nullptr;
        detail::check(
            gpuctr_plan_install_cdi(handle_.get(), path.c_str(), &native, &outcome, &error), error);
        return static_cast<CdiInstalled>(outcome);
    }

    /// Applies the plan to the root file system at `rootfs_fd`, all or nothing; see
    /// gpuctr_plan_apply(). Throws Error: permission, rootfs, no_device, apply, exists.
    Outcome apply(int rootfs_fd, const ApplyOptions& options = {}) const
    {
        const gpuctr_apply_options native = options.native();
        std::uint32_t outcome = GPUCTR_APPLIED;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_plan_apply(handle_.get(), rootfs_fd, &native, &outcome, &error),
                      error);
        return static_cast<Outcome>(outcome);
    }

    /// Lets a container use the plan's nodes by the device cgroups of a process; see
    /// gpuctr_plan_allow_devices(). `bundle` may be "". Throws Error: permission, requirement,
    /// usage, rootfs.
    void allow_devices(int rootfs_fd, int pidfd, const std::string& bundle) const
    {
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_plan_allow_devices(handle_.get(), rootfs_fd, pidfd,
                                                bundle.empty() ? nullptr : bundle.c_str(), &error),
                      error);
    }

    /// Throws Error: permission, driver, no_device, usage, apply.
    Prepared prepare(const PrepareOptions& options = {}) const
    {
        const gpuctr_prepare_options native = options.native();
        gpuctr_prepared* prepared = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_plan_prepare(handle_.get(), &native, &prepared, &error), error);
        return Prepared(prepared);
    }

    /// Mounts the plan's driver tree in a directory of the host, which is the `staged_tree` of
    /// later calls. Throws Error: permission, driver, usage.
    Staged stage(const std::string& directory, const StageOptions& options = {}) const
    {
        const gpuctr_stage_options native = options.native();
        std::uint32_t outcome = GPUCTR_STAGED;
        gpuctr_error* error = nullptr;
        detail::check(
            gpuctr_plan_stage(handle_.get(), directory.c_str(), &native, &outcome, &error), error);
        return static_cast<Staged>(outcome);
    }

private:
    detail::Handle<gpuctr_plan, gpuctr_plan_free> handle_;
};

/// Undoes what Plan::apply() did; false if there was nothing to undo. Throws
/// Error: permission, apply.
inline bool undo(int rootfs_fd, const UndoOptions& options = {})
{
    const gpuctr_undo_options native = options.native();
    int found = 0;
    gpuctr_error* error = nullptr;
    detail::check(gpuctr_rootfs_undo(rootfs_fd, &native, &found, &error), error);
    return found != 0;
}

/// Calls gpuctr_rootfs_open(). The caller closes the descriptor. Throws Error: rootfs,
/// permission, usage.
inline int open_in_root(int rootfs_fd, const std::string& path, int flags)
{
    int fd = -1;
    gpuctr_error* error = nullptr;
    detail::check(gpuctr_rootfs_open(rootfs_fd, path.c_str(), flags, &fd, &error), error);
    return fd;
}

/// Unmounts what Plan::stage() mounted there; false if there was no staged tree. Throws
/// Error: permission, usage.
inline bool unstage(const std::string& directory, const StageOptions& options = {})
{
    const gpuctr_stage_options native = options.native();
    int found = 0;
    gpuctr_error* error = nullptr;
    detail::check(gpuctr_unstage(directory.c_str(), &native, &found, &error), error);
    return found != 0;
}

/// What of this host to load and make; see gpuctr_load_options.
struct LoadOptions {
    std::vector<std::string> vendors = {}; ///< With GPUCTR_VENDOR_ANY, or if empty: all.
    bool display = false;                  ///< GPUCTR_LOAD_DISPLAY
    Report report = {};
};

/// Changes this host: loads kernel modules that its GPUs lack, and makes missing device nodes in
/// /dev; see gpuctr_host_load_kernel_modules(). Throws Error: permission, no_device, requirement,
/// usage.
inline void load_kernel_modules(const LoadOptions& options = {})
{
    gpuctr_load_options native = GPUCTR_LOAD_OPTIONS_INIT;
    std::vector<const char*> vendors;
    for (const std::string& vendor : options.vendors)
        vendors.push_back(vendor.c_str());
    vendors.push_back(nullptr);
    native.vendors = vendors.data();
    if (options.display)
        native.flags |= GPUCTR_LOAD_DISPLAY;
    detail::set_report(options.report, native);
    gpuctr_error* error = nullptr;
    detail::check(gpuctr_host_load_kernel_modules(&native, &error), error);
}

/// What Setup::undo() did.
enum class Undone : std::uint32_t {
    undone = GPUCTR_UNDONE,
    forgotten = GPUCTR_FORGOTTEN,
    left = GPUCTR_LEFT,
};

/// One set-up that Plan::apply() made; a view into its SetupList.
class Setup {
public:
    explicit Setup(const gpuctr_setup* setup) noexcept : setup_(setup) {}
    std::string_view root() const noexcept { return gpuctr_setup_root(setup_); }
    std::string_view origin() const noexcept { return gpuctr_setup_origin(setup_); }
    std::uint64_t mount_namespace() const noexcept { return gpuctr_setup_mount_namespace(setup_); }
    /// Pid of a process in that namespace, if it is not the caller's; 0: none is known.
    std::int32_t process() const noexcept { return gpuctr_setup_process(setup_); }
    std::string_view tree_path() const noexcept { return gpuctr_setup_tree_path(setup_); }
    /// Seconds since 1970.
    std::int64_t since() const noexcept { return gpuctr_setup_since(setup_); }
    bool writes_root() const noexcept { return gpuctr_setup_writes_root(setup_) != 0; }
    auto drivers() const noexcept
    {
        return detail::List<UsedDriver, gpuctr_setup_driver_count, gpuctr_setup_driver_at,
                            gpuctr_setup>(setup_);
    }
    /// What undo takes away.
    auto items() const noexcept
    {
        return detail::List<Item, gpuctr_setup_item_count, gpuctr_setup_item_at, gpuctr_setup>(
            setup_);
    }
    /// Empty if the set-up is as it was made.
    auto findings() const noexcept
    {
        return detail::List<Finding, gpuctr_setup_finding_count, gpuctr_setup_finding_at,
                            gpuctr_setup>(setup_);
    }

    /// Undoes it at the path in its journal. Throws Error: permission, apply.
    Undone undo(const UndoOptions& options = {}) const
    {
        const gpuctr_undo_options native = options.native();
        std::uint32_t outcome = GPUCTR_UNDONE;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_setup_undo(setup_, &native, &outcome, &error), error);
        return static_cast<Undone>(outcome);
    }

private:
    const gpuctr_setup* setup_;
};

/// The set-ups, and whether they still fit the host. Immutable.
class SetupList {
public:
    /// The set-ups of one root; with -1, all in the journal directory. Throws Error:
    /// permission, usage.
    explicit SetupList(int rootfs_fd, const SetupListOptions& options = {})
    {
        const gpuctr_setup_list_options native = options.native();
        gpuctr_setup_list* list = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_setup_list_open(rootfs_fd, &native, &list, &error), error);
        handle_.reset(list);
    }

    std::size_t size() const noexcept { return gpuctr_setup_list_count(handle_.get()); }
    bool empty() const noexcept { return size() == 0; }
    auto begin() const noexcept { return list().begin(); }
    auto end() const noexcept { return list().end(); }

    /// Schema "gpucontainer/status/1".
    std::string to_json() const
    {
        char* text = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_setup_list_to_json(handle_.get(), &text, &error), error);
        return detail::take_string(text);
    }

private:
    detail::List<Setup, gpuctr_setup_list_count, gpuctr_setup_list_at, gpuctr_setup_list>
    list() const noexcept
    {
        return detail::List<Setup, gpuctr_setup_list_count, gpuctr_setup_list_at,
                            gpuctr_setup_list>(handle_.get());
    }

    detail::Handle<gpuctr_setup_list, gpuctr_setup_list_free> handle_;
};

/// What a diagnosis is about; see gpuctr_check_options.
struct CheckOptions {
    HostOptions host;
    const Host* record = nullptr; ///< Of Host::from_json(), in place of this host.
    Request request;
    std::string program; ///< Empty: none is known.
    int pidfd = -1;      ///< A process, whose container is looked at as it is.
};

/// Reasons why GPU programs will not work, or may not; see gpuctr_check_create(). Immutable.
class Check {
public:
    /// Throws Error: usage, rootfs.
    explicit Check(const CheckOptions& options = {}, int rootfs_fd = -1)
    {
        const detail::NativeHostOptions host(options.host);
        const detail::NativeRequest request(options.request);
        gpuctr_check_options native = GPUCTR_CHECK_OPTIONS_INIT;
        native.host = &host.options;
        native.record = options.record != nullptr ? options.record->get() : nullptr;
        native.request = &request.native;
        native.program = options.program.c_str();
        if (options.pidfd >= 0) {
            native.flags |= GPUCTR_CHECK_IN_PROCESS;
            native.pidfd = options.pidfd;
        }
        gpuctr_check* check = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_check_create(&native, rootfs_fd, &check, &error), error);
        handle_.reset(check);
    }

    /// In the order in which a person should deal with them.
    auto findings() const noexcept
    {
        return detail::List<Finding, gpuctr_check_finding_count, gpuctr_check_finding_at,
                            gpuctr_check>(handle_.get());
    }

    /// Schema "gpucontainer/check/1".
    std::string to_json() const
    {
        char* text = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_check_to_json(handle_.get(), &text, &error), error);
        return detail::take_string(text);
    }

private:
    detail::Handle<gpuctr_check, gpuctr_check_free> handle_;
};

/// A device of a CDI specification. Borrowed from its list.
class CdiDevice {
public:
    explicit CdiDevice(const gpuctr_cdi_device* device) noexcept : device_(device) {}
    /// "nvidia.com/gpu=0"
    std::string_view name() const noexcept { return gpuctr_cdi_device_name(device_); }
    std::string_view path() const noexcept { return gpuctr_cdi_device_path(device_); }
    /// "usable", "overridden" or "conflict".
    std::string_view state() const noexcept { return gpuctr_cdi_device_state(device_); }

private:
    const gpuctr_cdi_device* device_;
};

/// CDI specifications as engines read them; see gpuctr_cdi_list_open(). Immutable.
class CdiList {
public:
    /// `paths`: directories and files; none: those of engines. `host`: what specifications are
    /// compared with, or null. Throws Error: permission, usage.
    explicit CdiList(const std::vector<std::string>& paths = {}, const Host* host = nullptr,
                     const std::string& files_dir = {})
    {
        const std::vector<const char*> texts = detail::texts_of(paths);
        gpuctr_cdi_list* list = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_cdi_list_open(paths.empty() ? nullptr : texts.data(),
                                           host != nullptr ? host->get() : nullptr,
                                           files_dir.empty() ? nullptr : files_dir.c_str(), &list,
                                           &error),
                      error);
        handle_.reset(list);
    }

    auto devices() const noexcept
    {
        return detail::List<CdiDevice, gpuctr_cdi_list_device_count, gpuctr_cdi_list_device_at,
                            gpuctr_cdi_list>(handle_.get());
    }
    /// What is wrong with the specifications.
    auto findings() const noexcept
    {
        return detail::List<Finding, gpuctr_cdi_list_finding_count, gpuctr_cdi_list_finding_at,
                            gpuctr_cdi_list>(handle_.get());
    }
    /// Schema "gpucontainer/cdi/1".
    std::string to_json() const
    {
        char* text = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(gpuctr_cdi_list_to_json(handle_.get(), &text, &error), error);
        return detail::take_string(text);
    }
    const gpuctr_cdi_list* get() const noexcept { return handle_.get(); }

private:
    detail::Handle<gpuctr_cdi_list, gpuctr_cdi_list_free> handle_;
};

inline Plan::Plan(const CdiList& list, const Request& request, int rootfs_fd)
{
    gpuctr_request native = GPUCTR_REQUEST_INIT;
    native.devices = request.devices.c_str();
    native.devices_name = request.devices_name.c_str();
    native.write = request.write;
    native.compat = request.compat;
    native.mount_label = request.mount_label.empty() ? nullptr : request.mount_label.c_str();
    native.flags = (request.lock ? GPUCTR_REQUEST_LOCK : 0) | request.kept_hooks;
    gpuctr_plan* plan = nullptr;
    gpuctr_error* error = nullptr;
    detail::check(gpuctr_plan_create_from_cdi(list.get(), &native, rootfs_fd, &plan, &error),
                  error);
    handle_.reset(plan);
}

/// Version of the library that is loaded.
inline std::string_view version() noexcept { return gpuctr_version(); }

} // namespace gpucontainer

#endif
