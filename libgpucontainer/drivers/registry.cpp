// SPDX-License-Identifier: MIT
#include "drivers/registry.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/amd/amd.hpp"
#include "drivers/amd/diagnosis.hpp"
#include "drivers/amd/kernel.hpp"
#include "drivers/built_in_makers.hpp"
#include "drivers/described_maker.hpp"
#include "drivers/habana/diagnosis.hpp"
#include "drivers/habana/habana.hpp"
#include "drivers/intel/diagnosis.hpp"
#include "drivers/intel/intel.hpp"
#include "drivers/nvidia/cdi_hooks.hpp"
#include "drivers/nvidia/compat.hpp"
#include "drivers/nvidia/diagnosis.hpp"
#include "drivers/nvidia/directories.hpp"
#include "drivers/nvidia/extras.hpp"
#include "drivers/nvidia/facts.hpp"
#include "drivers/nvidia/loading.hpp"
#include "drivers/nvidia/nvidia.hpp"
#include "drivers/nvidia/toolkit.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::drivers {

namespace {

/// The methods of a maker in C++, which ignore their argument: they know their vendor.
template <auto detect, auto files_alone, auto loaded_version>
constexpr Vendor::Methods methods()
{
    return {[](const Vendor&, const Sources& sources) { return detect(sources); },
            [](const Vendor&, const Sources& sources) { return files_alone(sources); },
            [](const Vendor&, const std::string& root) { return loaded_version(root); }};
}

/// With facts for requirements, the names by which containers ask for it, what images have for
/// older drivers, and what hosts have to build programs.
constexpr Vendor of_nvidia = [] {
    Vendor vendor{"nvidia",
                  "NVIDIA",
                  "nvidia.com/gpu",
                  true,
                  true,
                  nvidia::kernel_places,
                  nvidia::variable_names,
                  methods<nvidia::detect, nvidia::files_alone, nvidia::loaded_version>(),
                  nvidia::root_places,
                  nvidia::node_directories,
                  "nvidia",
                  "nvliblist.conf"};
    vendor.compat = &nvidia::compat;
    vendor.cdi_hooks = &nvidia::cdi_hooks;
    vendor.toolkits = &nvidia::toolkits;
    vendor.named_directory = &nvidia::mps_directory;
    vendor.loading = &nvidia::loading;
    vendor.diagnosis = &nvidia::diagnosis;
    vendor.container = nvidia::container_names;
    vendor.counting_variables = nvidia::counting_variables;
    vendor.fact_names = nvidia::fact_names;
    vendor.facts = nvidia::facts_of;
    vendor.directories = nvidia::odd_directories;
    return vendor;
}();

/// A vendor whose GPUs containers name by a variable.
constexpr Vendor named_by(std::string_view variable, Vendor vendor)
{
    vendor.container.devices = variable;
    return vendor;
}

/// A vendor whose programs count GPUs as variables say.
constexpr Vendor counted_by(std::span<const std::string_view> variables, Vendor vendor)
{
    vendor.counting_variables = variables;
    return vendor;
}

/// A vendor that adds to what is found out about programs.
constexpr Vendor diagnosed_by(const Diagnosis& diagnosis, Vendor vendor)
{
    vendor.diagnosis = &diagnosis;
    return vendor;
}

/// The makers in C++, which a description could not express. All others are in built_in_makers.
constexpr std::array in_code = {
    of_nvidia,
    diagnosed_by(amd::diagnosis,
                 named_by("AMD_VISIBLE_DEVICES",
                          {"amd", "AMD", "amd.com/gpu", false, false, amd::kernel_places,
                           amd::variable_names,
                           methods<amd::detect, amd::files_alone, amd::loaded_version>()})),
    diagnosed_by(intel::diagnosis,
                 counted_by(intel::counting_variables,
                            {"intel", "Intel", "intel.com/gpu", false, false, intel::kernel_places,
                             intel::variable_names,
                             methods<intel::detect, intel::files_alone, intel::loaded_version>()})),
    diagnosed_by(
        habana::diagnosis,
        named_by("HABANA_VISIBLE_DEVICES",
                 {"habana", "Intel Gaudi", "intel.com/gaudi", false, false, habana::kernel_places,
                  habana::variable_names,
                  methods<habana::detect, habana::files_alone, habana::loaded_version>()})),
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

std::string place_of(const search::NamedVendor& named)
{
    return base::format("catalogue: {}: line {}", named.path, named.line);
}

bool has_variable(const Vendor& vendor, std::string_view name)
{
    const auto in_description = [&] {
        return std::ranges::find(vendor.maker->variables, name, &config::Maker::Variable::name)
               != vendor.maker->variables.end();
    };
    return std::ranges::find(vendor.variables, name) != vendor.variables.end()
           || (vendor.maker != nullptr && in_description());
}

/// The part of a name that distinguishes it: "nvidia" of "NVIDIA ".
std::string letters_of(std::string_view name)
{
    std::string letters = base::to_lower(name);
    std::erase_if(letters, [](char c) { return (c < 'a' || c > 'z') && (c < '0' || c > '9'); });
    return letters;
}

/// What a description has in common with another vendor; "" if nothing.
std::string likeness_to(const Vendor& other, const config::Maker& maker)
{
    if (letters_of(maker.title) == letters_of(other.title))
        return base::format("title {}", maker.title);
    if (base::to_lower(maker.kind) == base::to_lower(other.cdi_kind))
        return base::format("kind {}", maker.kind);
    for (const config::Maker::Variable& variable : maker.variables)
        if (has_variable(other, variable.name))
            return base::format("variable {}", variable.name);
    for (const config::Maker::Node& node : maker.nodes)
        for (const std::string_view name : {node.in_class, node.major})
            if (!other.node_drivers.empty() && name.starts_with(other.node_drivers))
                return base::format("node {} of {}", node.path, name);
    return "";
}

std::string likeness_to(std::span<const Vendor> others, const config::Maker& maker)
{
    for (const Vendor& other : others)
        if (const std::string what = likeness_to(other, maker); !what.empty())
            return base::format("{} is that of {}", what, other.name);
    return "";
}

Error unknown_vendor(const search::NamedVendor& named, std::span<const Vendor> known)
{
    return Error(Errc::usage, base::format("{}: unknown vendor {}", place_of(named), named.vendor))
        .with_object(named.path)
        .with_hint(base::format("known vendors are {}; a section `maker` describes another one",
                                names_of(known)));
}

} // namespace

std::span<const Vendor> vendors() { return built_in; }

Result<std::optional<cdi::HookTask>> task_of(const cdi::Hook& hook)
{
    for (const Vendor& vendor : vendors())
        if (vendor.cdi_hooks != nullptr) {
            GPUCTR_TRY(auto task, vendor.cdi_hooks->task_of(hook));
            if (task)
                return task;
        }
    return std::optional<cdi::HookTask>();
}

const Vendor* find_vendor(std::string_view name) { return find_in(vendors(), name); }

Result<Site> Site::read(const std::string& directory, const std::vector<std::string>& files)
{
    Site site;
    GPUCTR_TRY(site.catalogue, search::read_site_catalogue(directory, files, lists()));
    site.vendors.assign(built_in.begin(), built_in.end());
    GPUCTR_TRY(const auto described, site.descriptions());
    for (const search::NamedVendor& named : described) {
        const std::string reason = likeness_to(site.vendors, *named.maker);
        if (reason.empty())
            site.vendors.push_back(described_vendor(*named.maker, {}));
        else
            site.left_out.push_back({named.vendor, std::string(named.maker->title), named.path,
                                     base::format("{}: {}", place_of(named), reason)});
    }
    for (const search::NamedVendor& named : site.catalogue.vendors)
        if (site.find(named.vendor) == nullptr && site.find_left_out(named.vendor) == nullptr)
            return unknown_vendor(named, site.vendors);
    return site;
}

/// The last description of each maker. A file that describes a built-in maker only adds its rules,
/// because the built-in description is tested.
Result<std::vector<search::NamedVendor>> Site::descriptions()
{
    std::vector<search::NamedVendor> last;
    for (const search::NamedVendor& named : catalogue.vendors) {
        if (!named.maker)
            continue;
        if (find_vendor(named.vendor) != nullptr) {
            catalogue.findings.push_back({model::FindingCode::rule_ignored, named.vendor,
                                          "this description of a built-in maker is ignored",
                                          named.path});
            continue;
        }
        const auto earlier = std::ranges::find(last, named.vendor, &search::NamedVendor::vendor);
        if (earlier != last.end())
            *earlier = named;
        else if (last.size() < most_described)
            last.push_back(named);
        else
            return Error(Errc::usage,
                         base::format("{}: more than {} makers", place_of(named), most_described))
                .with_object(named.path);
    }
    return last;
}

const Vendor* Site::find(std::string_view name) const { return find_in(vendors, name); }

const LeftOut* Site::find_left_out(std::string_view name) const
{
    const auto found = std::ranges::find(left_out, name, &LeftOut::vendor);
    return found == left_out.end() ? nullptr : &*found;
}

std::string names_of(std::span<const Vendor> vendors)
{
    std::vector<std::string_view> names;
    names.reserve(vendors.size());
    for (const Vendor& vendor : vendors)
        names.push_back(vendor.name);
    return base::joined(names, ", ");
}

} // namespace gpucontainer::drivers
