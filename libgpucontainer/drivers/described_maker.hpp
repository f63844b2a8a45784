// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers {

/// A file of the kernel that a maker's description names.
struct DescribedPlace {
    std::string path;
    KernelPlace::How how;
};

/// Files that change if the module, GPUs or nodes of a described maker do.
std::vector<DescribedPlace> kernel_places_of(const config::Maker& maker);

/// Whether a path is such a file, and how it is compared.
bool is_kernel_place(std::string_view path);
KernelPlace::How how_place_counts(std::string_view path);

/// Adds the nodes of a driver whose GPUs were found. Errors: driver.
Result<void> add_described_nodes(const config::Maker& maker, const Sources& sources,
                                 model::DriverStack& stack);

Result<std::optional<model::DriverStack>> detect_described(const Vendor& vendor,
                                                           const Sources& sources);
Result<model::DriverStack> described_files_alone(const Vendor& vendor, const Sources& sources);
Result<std::optional<std::string>> described_version(const Vendor& vendor,
                                                     const std::string& system_root);

/// The vendor that a description is about. Its GPUs and nodes are found as described, its files in
/// any version. It borrows both arguments.
constexpr Vendor described_vendor(const config::Maker& maker, model::Catalogue files)
{
    Vendor vendor = {maker.name, maker.title,
                     maker.kind, false,
                     false,      {},
                     {},         {detect_described, described_files_alone, described_version}};
    vendor.maker = &maker;
    vendor.files = files;
    return vendor;
}

} // namespace gpucontainer::drivers
