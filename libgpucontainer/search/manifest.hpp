// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "elf/machine.hpp"
#include "host/driver_root.hpp"
#include "model/driver.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::search {

/// A manifest of a host: the JSON document by which a loader finds a driver's library.
struct Manifest {
    std::string library; ///< The first name of a library in it, without directory.
    std::string content; ///< The document, with names of libraries instead of paths.
};

/// Reads a manifest: an object with "ICD", "layer" or "layers", each with a "library_path". Layers
/// of libraries that are not known are left out. It has at most 64 KiB and 16 levels. Errors:
/// driver; also if nothing is left.
Result<Manifest> read_manifest(std::string_view json,
                               const std::function<bool(const std::string& library)>& is_known);

/// The libraries that such a document names, as it does; none if it is damaged.
std::vector<std::string> libraries_of_manifest(std::string_view json);

/// A directory, in the driver root, in which the loaders of these files look for manifests, and the
/// names there that could be of a driver for this machine.
struct ManifestPlace {
    std::string directory;
    std::vector<std::string> names;
};
std::vector<ManifestPlace> manifest_places(std::span<const model::DriverFile> files,
                                           std::span<const std::string> prefixes,
                                           const elf::Machine& machine);

/// Gives the libraries' registrations as manifests the content of the host's. A manifest is looked
/// for in the directories of its loader in /etc, /usr/local/share and /usr/share, and in those
/// below `prefixes`, where else the driver is installed. One that names another library of the
/// driver becomes that library's. A layer without a manifest is none.
void add_manifests(const host::DriverRoot& root, std::span<const std::string> prefixes,
                   std::vector<model::DriverFile>& files, model::Findings& findings);

} // namespace gpucontainer::search
