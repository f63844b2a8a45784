// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cdi/hook_task.hpp"
#include "config/maker.hpp"
#include "drivers/diagnosis.hpp"
#include "drivers/toolkit.hpp"
#include "host/driver_root.hpp"
#include "host/enumerator.hpp"
#include "model/driver.hpp"
#include "requirement/evaluation.hpp"
#include "search/nodes.hpp"
#include "search/site_catalogue.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers {

/// What a vendor may look at to find its GPUs and files.
struct Sources {
    host::Enumerator& pci;
    const host::DriverRoot& driver_root;
    std::string system_root;    ///< Prefix of /proc, /sys and /dev; "" on a real host.
    std::string driver_version; ///< Of a versioned driver; "": as the kernel says.
    search::SiteCatalogue site; ///< Overrides the built-in catalogues.
    std::string dev_root;       ///< Prefix of /dev for device nodes; "" for the usual ones.
    std::string mig_map = {};   ///< What `nvidia-smi -L` printed; "": none.
    /// Whether to look at all PCI functions for GPUs without a driver beside others.
    bool whole_bus = false;
};

/// A file of the kernel that shows whether a driver's module and GPUs still are those that were
/// detected.
struct KernelPlace {
    enum class How : std::uint8_t { content, names, tree, inode };

    std::string_view path;
    How how; ///< What is compared. Times are not, because they change there.
};

/// Names by which a container asks for parts of a vendor's driver.
struct ContainerNames {
    std::string_view devices;         ///< The variable that names GPUs: "NVIDIA_VISIBLE_DEVICES".
    std::string_view volumes;         ///< A directory; what is mounted below it names GPUs instead.
    std::string_view capabilities;    ///< The variable that names parts of the driver.
    std::string_view requirements;    ///< Prefix of variables with requirements.
    std::string_view no_requirements; ///< Prefix of some of them that have none.
    std::string_view no_check;        ///< The variable by which they do not count.
    std::string_view channels;        ///< The variable that names channels to other hosts.
    /// A variable of older images, which name no GPUs: they mean all of them, unless they have a
    /// variable with the prefix.
    std::string_view legacy;
    std::string_view prefix; ///< Of the maker's variables: "NVIDIA_".

    /// Whether a variable is one of these.
    constexpr bool has(std::string_view variable) const noexcept
    {
        const auto is = [&](std::string_view one) { return !one.empty() && variable == one; };
        return is(devices) || is(capabilities) || is(no_check) || is(channels) || is(legacy)
               || (!requirements.empty() && variable.starts_with(requirements));
    }
};

/// The library that decides about an image's newer user space of a driver.
struct CompatLibrary {
    std::string directory;          ///< In the image: "/usr/local/cuda/compat".
    std::string version;            ///< Of its file's name; "" if that has none.
    std::vector<std::string> notes; ///< What the vendor wrote into it.
};

/// Whether such a library works with a driver and GPUs of the host.
struct CompatVerdict {
    std::string title;     ///< "CUDA 12.9, driver 575.57.08"; maybe "".
    std::string objection; ///< Why it does not; "" if it does.
};

/// User space of newer drivers, which an image has for hosts with an older kernel module. It works
/// with some drivers and GPUs only.
struct Compat {
    std::string_view library;                    ///< The soname of the one that decides.
    std::string_view note_owner;                 ///< In its notes.
    std::span<const std::string_view> libraries; ///< Others beside it; "{version}" is its version.
    /// Directories of an image that may have it, in the order of preference.
    std::vector<std::string> (*directories)(const model::DriverStack&);
    CompatVerdict (*judge)(const model::DriverStack&, std::span<const model::Gpu> chosen,
                           const CompatLibrary&);
    /// The same for a hook, which knows the host's driver and the toolkit that this supports, or ""
    /// for either, and no GPU.
    CompatVerdict (*judge_for_hook)(const cdi::CompatTask&, const CompatLibrary&);
};

/// Hooks of the vendor's programs in specifications of CDI.
struct CdiHooks {
    /// What a hook is for; none if it is no hook of the vendor's. Errors: usage.
    Result<std::optional<cdi::HookTask>> (*task_of)(const cdi::Hook&);
    /// Adds what keeps programs from making nodes, if anything does.
    Result<void> (*mask_against_nodes)(const std::string& system_root, std::vector<model::Mask>&);
    std::string_view gpu_node; ///< A GPU's node without its number: "/dev/nvidia".
    /// The file by which programs that draw know which GPUs there are, and its content, in which
    /// "{gpus}" stands for a number as in model::Registration.
    std::string_view profile_path;
    std::string_view profile;
};

/// A directory of the host that programs find by a variable, else at its usual place. In a
/// container it is at that place.
struct NamedDirectory {
    std::string_view variable;
    std::string_view place;  ///< "/tmp/nvidia-mps"
    std::string_view socket; ///< What it has in it if it is one: "control".
    std::string_view extra;  ///< As in model::SharedPath, like the next.
    model::Capability capability;
    std::string_view reason;
};

/// A kernel module of a driver, by its name for modprobe.
struct KernelModule {
    std::string_view name;
    bool for_display = false; ///< Only mode setting needs it.
};

/// What of a driver neither the kernel nor udev loads and makes by itself. An administrator can
/// have it done (loading/); nothing else does it.
struct Loading {
    std::uint16_t pci_vendor;              ///< Of the GPUs that need it.
    std::span<const KernelModule> modules; ///< In the order in which they are loaded.
    /// The nodes of what is loaded, with the rights that they have on the host.
    Result<std::vector<search::WantedNode>> (*nodes)(const std::string& system_root,
                                                     host::Enumerator&);
};

/// A vendor: a maker in C++, with its own folder, or a described one.
struct Vendor {
    struct Methods {
        Result<std::optional<model::DriverStack>> (*detect)(const Vendor&, const Sources&);
        Result<model::DriverStack> (*files_alone)(const Vendor&, const Sources&);
        Result<std::optional<std::string>> (*loaded_version)(const Vendor&,
                                                             const std::string& system_root);
    };

    std::string_view name;     ///< "nvidia"
    std::string_view title;    ///< "NVIDIA"
    std::string_view cdi_kind; ///< As in DriverStack.
    bool learns_uuids;         ///< The kernel knows a GPU's UUID only after something has used it.
    bool is_versioned;         ///< Its files must have the kernel module's version.
    std::span<const KernelPlace> kernel_places;
    std::span<const std::string_view> variables; ///< Those that choose among its GPUs.
    Methods methods;
    /// Files, and directories of files, in the driver root that list its optional files.
    std::span<const std::string_view> root_places = {};
    /// Directories in which its own programs make device nodes if root runs them, and the beginning
    /// of its character drivers' names in /proc/devices.
    std::span<const std::string_view> node_directories = {};
    std::string_view node_drivers = {};
    /// Name of lists of its files that other programs use: "nvliblist.conf"; maybe "".
    std::string_view list_file = {};
    /// The description, with its catalogue, kernel places and variables; null for a maker in C++.
    const config::Maker* maker = nullptr;
    model::Catalogue files = {};
    /// Names that requirements have for facts of its drivers and GPUs, and these facts: of a GPU,
    /// or of the driver alone if that is null. No function: it has none.
    std::span<const requirement::Name> fact_names = {};
    requirement::Subject (*facts)(const model::DriverStack&, const model::Gpu*) = nullptr;
    ContainerNames container = {};
    /// Variables that change how its programs count GPUs.
    std::span<const std::string_view> counting_variables = {};
    const Compat* compat = nullptr;      ///< Null: images have nothing like that.
    const CdiHooks* cdi_hooks = nullptr; ///< Null: its specifications have none.
    const Toolkits* toolkits = nullptr;  ///< Null: hosts have nothing like that.
    const NamedDirectory* named_directory = nullptr;
    const Loading* loading = nullptr;     ///< Null: all is loaded and made by itself.
    const Diagnosis* diagnosis = nullptr; ///< Null: the maker adds nothing to what is found out.
    /// Directories of its libraries that the loader's configuration may not name, besides those of
    /// a driver's image_directories; "*" stands for any name. Null: there are none.
    const std::vector<std::string>& (*directories)() = nullptr;

    /// None if the host has no GPU of this vendor.
    Result<std::optional<model::DriverStack>> detect(const Sources& sources) const
    {
        return methods.detect(*this, sources);
    }

    /// Only the driver's files, for a host without its GPUs: no GPU, no node, and the files'
    /// version. Errors: no_device, if there are none.
    Result<model::DriverStack> files_alone(const Sources& sources) const
    {
        return methods.files_alone(*this, sources);
    }

    /// Version of the loaded kernel module; none if it is not loaded.
    Result<std::optional<std::string>> loaded_version(const std::string& system_root) const
    {
        return methods.loaded_version(*this, system_root);
    }
};

} // namespace gpucontainer::drivers
