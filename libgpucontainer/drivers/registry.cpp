// SPDX-License-Identifier: MIT
#include "drivers/registry.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/amd/amd.hpp"
#include "drivers/amd/kernel.hpp"
#include "drivers/habana/habana.hpp"
#include "drivers/intel/intel.hpp"
#include "drivers/nvidia/nvidia.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::drivers {

namespace {

const Vendor* find_in(std::span<const Vendor> vendors, std::string_view name)
{
    const auto found = std::ranges::find(vendors, name, &Vendor::name);
    return found == vendors.end() ? nullptr : &*found;
}

std::vector<search::ListFile> lists()
{
    std::vector<search::ListFile> lists;
    for (const Vendor& vendor : vendors())
        if (!vendor.list_file.empty())
            lists.push_back({vendor.list_file, vendor.name});
    return lists;
}

Error unknown_vendor(const search::NamedVendor& named, std::span<const Vendor> known)
{
    return Error(Errc::usage, base::format("catalogue: {}: line {}: unknown vendor {}", named.path,
                                           named.line, named.vendor))
        .with_object(named.path)
        .with_hint("vendors are " + names_of(known));
}

} // namespace

std::span<const Vendor> vendors()
{
    static constexpr std::array all = {
        Vendor{"nvidia", "NVIDIA", "nvidia.com/gpu", true, true, nvidia::kernel_places,
               nvidia::detect, nvidia::files_alone, nvidia::loaded_version, nvidia::root_places,
               nvidia::node_directories, "nvidia", "nvliblist.conf"},
        Vendor{"amd", "AMD", "amd.com/gpu", false, false, amd::kernel_places, amd::detect,
               amd::files_alone, amd::loaded_version},
        Vendor{"intel", "Intel", "intel.com/gpu", false, false, intel::kernel_places, intel::detect,
               intel::files_alone, intel::loaded_version},
        Vendor{"habana", "Intel Gaudi", "intel.com/gaudi", false, false, habana::kernel_places,
               habana::detect, habana::files_alone, habana::loaded_version},
    };
    return all;
}

const Vendor* find_vendor(std::string_view name) { return find_in(vendors(), name); }

Result<Site> Site::read(const std::string& directory, const std::vector<std::string>& files)
{
    Site site;
    GPUCTR_TRY(site.catalogue, search::read_site_catalogue(directory, files, lists()));
    const auto built_in = drivers::vendors();
    site.vendors.assign(built_in.begin(), built_in.end());
    for (const search::NamedVendor& named : site.catalogue.vendors)
        if (site.find(named.vendor) == nullptr)
            return unknown_vendor(named, site.vendors);
    return site;
}

const Vendor* Site::find(std::string_view name) const { return find_in(vendors, name); }

std::string names_of(std::span<const Vendor> vendors)
{
    std::vector<std::string_view> names;
    names.reserve(vendors.size());
    for (const Vendor& vendor : vendors)
        names.push_back(vendor.name);
    return base::joined(names, ", ");
}

} // namespace gpucontainer::drivers
