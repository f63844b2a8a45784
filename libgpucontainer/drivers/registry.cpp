// SPDX-License-Identifier: MIT
#include "drivers/registry.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/amd/amd.hpp"
#include "drivers/amd/kernel.hpp"
#include "drivers/built_in_makers.hpp"
#include "drivers/described_maker.hpp"
#include "drivers/habana/habana.hpp"
#include "drivers/intel/intel.hpp"
#include "drivers/nvidia/nvidia.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::drivers {

namespace {

/// Of a maker in C++, which knows which one it is.
template <auto detect, auto files_alone, auto loaded_version>
constexpr Vendor::Methods methods()
{
    return {[](const Vendor&, const Sources& sources) { return detect(sources); },
            [](const Vendor&, const Sources& sources) { return files_alone(sources); },
            [](const Vendor&, const std::string& root) { return loaded_version(root); }};
}

/// The makers in C++: what a description cannot say. All others are in built_in_makers.
constexpr std::array in_code = {
    Vendor{"nvidia", "NVIDIA", "nvidia.com/gpu", true, true, nvidia::kernel_places,
           methods<nvidia::detect, nvidia::files_alone, nvidia::loaded_version>(),
           nvidia::root_places, nvidia::node_directories, "nvidia", "nvliblist.conf"},
    Vendor{"amd", "AMD", "amd.com/gpu", false, false, amd::kernel_places,
           methods<amd::detect, amd::files_alone, amd::loaded_version>()},
    Vendor{"intel", "Intel", "intel.com/gpu", false, false, intel::kernel_places,
           methods<intel::detect, intel::files_alone, intel::loaded_version>()},
    Vendor{"habana", "Intel Gaudi", "intel.com/gaudi", false, false, habana::kernel_places,
           methods<habana::detect, habana::files_alone, habana::loaded_version>()},
};

constexpr auto built_in = [] {
    std::array<Vendor, in_code.size() + built_in_makers.size()> vendors = {};
    std::size_t count = 0;
    for (const Vendor& vendor : in_code)
        vendors[count++] = vendor;
    for (const BuiltInMaker& maker : built_in_makers)
        vendors[count++] = described_vendor(maker.maker, maker.files);
    return vendors;
}();

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
        .with_hint(base::format("vendors are {}; a file with a section `maker` describes another",
                                names_of(known)));
}

} // namespace

std::span<const Vendor> vendors() { return built_in; }

const Vendor* find_vendor(std::string_view name) { return find_in(vendors(), name); }

Result<Site> Site::read(const std::string& directory, const std::vector<std::string>& files)
{
    Site site;
    GPUCTR_TRY(site.catalogue, search::read_site_catalogue(directory, files, lists()));
    site.vendors.assign(built_in.begin(), built_in.end());
    for (const search::NamedVendor& named : site.catalogue.vendors)
        if (named.maker)
            GPUCTR_CHECK(site.describe(named), "catalogue: {}: line {}", named.path, named.line);
    for (const search::NamedVendor& named : site.catalogue.vendors)
        if (site.find(named.vendor) == nullptr)
            return unknown_vendor(named, site.vendors);
    return site;
}

/// What is built in is tested: a file that describes the same adds its rules alone.
Result<void> Site::describe(const search::NamedVendor& named)
{
    constexpr std::size_t most_described = 64;
    if (find_vendor(named.vendor) != nullptr) {
        catalogue.skipped.push_back(
            {named.vendor, named.path, "a description of a built-in maker; it does not count"});
        return {};
    }
    const config::Maker& maker = *named.maker;
    const auto same_kind = std::ranges::find(vendors, maker.kind, &Vendor::cdi_kind);
    if (same_kind != vendors.end() && same_kind->name != maker.name)
        return Error(Errc::usage,
                     base::format("kind {} is that of {}", maker.kind, same_kind->name))
            .with_object(named.path);
    const auto earlier = std::ranges::find(vendors, maker.name, &Vendor::name);
    if (earlier != vendors.end())
        *earlier = described_vendor(maker, {});
    else if (vendors.size() < drivers::vendors().size() + most_described)
        vendors.push_back(described_vendor(maker, {}));
    else
        return Error(Errc::usage, base::format("more than {} makers", most_described))
            .with_object(named.path);
    return {};
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
