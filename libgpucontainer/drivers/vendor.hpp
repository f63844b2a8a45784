// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "config/maker.hpp"
#include "host/driver_root.hpp"
#include "host/enumerator.hpp"
#include "model/driver.hpp"
#include "search/site_catalogue.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpucontainer::drivers {

/// What a vendor may look at to find its GPUs and files.
struct Sources {
    host::Enumerator& pci;
    const host::DriverRoot& driver_root;
    std::string system_root;    ///< In front of /proc, /sys and /dev; "" on a real host.
    std::string driver_version; ///< Of a versioned driver; empty: ask the kernel.
    search::SiteCatalogue site; ///< Over the built-in catalogues.
    std::string dev_root;       ///< In front of /dev for device nodes; "" for the usual ones.
};

/// A place of the kernel that tells whether a driver's module and GPUs still are
/// those that were detected.
struct KernelPlace {
    enum class How : std::uint8_t { content, names, inode };

    std::string_view path;
    How how; ///< What of it counts: times there do not last.
};

/// One vendor: a maker in C++, with a folder of its own, or one that is data alone.
struct Vendor {
    /// What is asked of each.
    struct Methods {
        Result<std::optional<model::DriverStack>> (*detect)(const Vendor&, const Sources&);
        Result<model::DriverStack> (*files_alone)(const Vendor&, const Sources&);
        Result<std::optional<std::string>> (*loaded_version)(const Vendor&,
                                                             const std::string& system_root);
    };

    std::string_view name;     ///< "nvidia"
    std::string_view title;    ///< "NVIDIA"
    std::string_view cdi_kind; ///< As in DriverStack.
    bool learns_uuids;         ///< The kernel knows a GPU's once something has used it.
    bool is_versioned;         ///< Its files have to be of the kernel module's version.
    std::span<const KernelPlace> kernel_places;
    std::span<const std::string_view> variables; ///< Those that choose among its GPUs.
    Methods methods;
    /// Files, and directories with files, of the driver root that say what its optional
    /// files are.
    std::span<const std::string_view> root_places = {};
    /// Where its own programs make device nodes when root runs them, and what the names of
    /// its character drivers in /proc/devices begin with.
    std::span<const std::string_view> node_directories = {};
    std::string_view node_drivers = {};
    /// Name of the lists of its files that other programs have, "nvliblist.conf"; maybe "".
    std::string_view list_file = {};
    /// Of one that is data, with its catalogue; else null. Its kernel places and variables
    /// are described there.
    const config::Maker* maker = nullptr;
    model::Catalogue files = {};

    /// None when the host has no GPU of this vendor.
    Result<std::optional<model::DriverStack>> detect(const Sources& sources) const
    {
        return methods.detect(*this, sources);
    }

    /// The driver's files alone, for a host without a GPU of it: no GPU, no node, no
    /// version but that of the files. Errors: no_device where there are none.
    Result<model::DriverStack> files_alone(const Sources& sources) const
    {
        return methods.files_alone(*this, sources);
    }

    /// Version of the loaded kernel module; none when it is not loaded.
    Result<std::optional<std::string>> loaded_version(const std::string& system_root) const
    {
        return methods.loaded_version(*this, system_root);
    }
};

} // namespace gpucontainer::drivers
