// SPDX-License-Identifier: MIT
#include "loading/load.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/registry.hpp"
#include "loading/host_nodes.hpp"
#include "privilege/capabilities.hpp"

#include <algorithm>
#include <unistd.h>

namespace gpucontainer::loading {
namespace {

using drivers::KernelModule;
using drivers::Vendor;
using model::FindingCode;

/// sysfs shows a module under its own name, and not that of its file.
bool is_loaded(const std::string& system_root, std::string_view module)
{
    std::string name(module);
    std::ranges::replace(name, '-', '_');
    return ::access(base::format("{}/sys/module/{}", system_root, name).c_str(), F_OK) == 0;
}

std::vector<std::string> modules_to_load(const drivers::Loading& loading, const Wanted& wanted)
{
    std::vector<std::string> names;
    for (const KernelModule& module : loading.modules)
        if ((wanted.display || !module.for_display) && !is_loaded(wanted.system_root, module.name))
            names.emplace_back(module.name);
    return names;
}

Result<bool> has_gpu(const drivers::Loading& loading, host::Enumerator& pci)
{
    GPUCTR_TRY(const auto functions, pci.pci_functions(loading.pci_vendor), "find GPUs");
    return std::ranges::any_of(functions, host::is_display_controller);
}

Result<void> load_for(const Vendor& vendor, const Wanted& wanted, model::Findings& findings)
{
    const auto names = modules_to_load(*vendor.loading, wanted);
    if (names.empty())
        return {};
    GPUCTR_CHECK(privilege::require_loading_modules(base::joined(names, ", ")));
    GPUCTR_CHECK(load_modules(names, wanted.places));
    for (const std::string& name : names)
        findings.push_back({FindingCode::module_loaded, name, "this kernel module was loaded"});
    return {};
}

bool is_wanted(const Vendor& vendor, const Wanted& wanted)
{
    return vendor.loading != nullptr
           && (wanted.vendors.empty()
               || std::ranges::find(wanted.vendors, vendor.name) != wanted.vendors.end());
}

} // namespace

Result<void> load(const Wanted& wanted, host::Enumerator& pci, model::Findings& findings)
{
    for (const Vendor& vendor : drivers::vendors()) {
        if (!is_wanted(vendor, wanted))
            continue;
        GPUCTR_TRY(const bool is_here, has_gpu(*vendor.loading, pci));
        if (!is_here)
            continue;
        GPUCTR_CHECK(load_for(vendor, wanted, findings));
        GPUCTR_TRY(const auto nodes, vendor.loading->nodes(wanted.system_root, pci));
        GPUCTR_CHECK(make_host_nodes(wanted.system_root, nodes, findings));
    }
    return {};
}

} // namespace gpucontainer::loading
