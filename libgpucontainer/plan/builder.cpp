// SPDX-License-Identifier: MIT
#include "plan/builder.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "plan/binds.hpp"
#include "plan/compat.hpp"
#include "plan/compat32.hpp"
#include "plan/container_request.hpp"
#include "plan/covers.hpp"
#include "plan/data.hpp"
#include "plan/draft.hpp"
#include "plan/entry_names.hpp"
#include "plan/extras.hpp"
#include "plan/files.hpp"
#include "plan/host_runtime.hpp"
#include "plan/icds.hpp"
#include "plan/loader_cache.hpp"
#include "plan/merged.hpp"
#include "plan/nodes.hpp"
#include "plan/policy.hpp"
#include "plan/requirements.hpp"
#include "plan/selection.hpp"
#include "plan/toolkit.hpp"
#include "plan/tree.hpp"

#include <algorithm>
#include <optional>

namespace gpucontainer::plan {

using model::DriverStack;

namespace {

/// Of GPUs on the bus that no driver has, a plan can only be shown.
void warn_of_undriven(Draft& draft, const DriverStack& driver)
{
    const auto is_driven = [](const model::Gpu& gpu) { return gpu.minor >= 0; };
    if (driver.version_source == model::VersionSource::module || driver.gpus.empty()
        || !driver.nodes.empty() || std::ranges::any_of(driver.gpus, is_driven))
        return;
    const auto said =
        std::ranges::find(driver.findings, model::FindingCode::gpu_unusable, &model::Finding::code);
    draft.plan.findings.push_back(
        {model::FindingCode::no_gpu, base::format("{} GPUs", driver.vendor_name),
         base::format("their kernel module is not loaded{}{}: there are no device nodes, and the "
                      "plan can only be shown",
                      said != driver.findings.end() ? "; " : "",
                      said != driver.findings.end() ? said->message() : ""),
         base::format("/sys/bus/pci/devices/{}/driver", driver.gpus.front().pci_address)});
}

void add_share(Draft& draft, const DriverStack& driver, Selection selection)
{
    warn_of_undriven(draft, driver);
    UsedDriver used = {
        driver.vendor, driver.version, driver.version_source, {}, !driver.gpus.empty()};
    for (const unsigned gpu : selection.gpus)
        used.gpus.push_back(driver.gpus[gpu]);
    auto& variables = draft.plan.variables;
    for (Variable& variable : visible_inside(driver, draft.request.environment, selection.layers,
                                             selection.gpus, variables)) {
        variable.vendor = driver.vendor;
        variables.push_back(std::move(variable));
    }
    for (const std::string& need : driver.needs)
        draft.need(need);
    draft.plan.findings.insert(draft.plan.findings.end(), selection.passed_over.begin(),
                               selection.passed_over.end());
    draft.plan.drivers.push_back(std::move(used));
    draft.shares.push_back({driver, std::move(selection)});
}

Result<void> choose_gpus(Draft& draft, std::span<const DriverStack> drivers)
{
    const Request& request = draft.request;
    const DeviceChoice choice = {request.devices, request.environment, request.required,
                                 request.devices_name};
    GPUCTR_TRY(auto selections, select_devices(drivers, choice, draft.plan.findings));
    GPUCTR_TRY(selections,
               restrict_to(request.allowed_devices, drivers, std::move(selections),
                           base::format("{} {}", request.devices_name, request.devices)));
    GPUCTR_TRY(selections,
               narrow_to_asked(drivers, request, std::move(selections), draft.plan.findings));
    for (std::size_t i = 0; i < drivers.size(); ++i)
        if (selections[i].wanted)
            add_share(draft, drivers[i], std::move(selections[i]));
    return {};
}

Result<void> check_requirements(const Draft& draft, std::span<const DriverStack> drivers)
{
    const Chosen chosen = {drivers, draft.plan.drivers, draft.request.allowed_devices.empty()};
    for (const requirement::Expression& expression : draft.request.requirements)
        GPUCTR_CHECK(about("requirements", check_requirement(expression, chosen)));
    GPUCTR_TRY(const auto asked, asked_requirements(draft.plan.drivers, draft.request));
    for (const auto& [variable, expression] : asked)
        GPUCTR_CHECK(check_requirement(expression, chosen), "{} of the container", variable);
    return {};
}

Result<void> require_no_root(const Request& request, const Target* target)
{
    if (target == nullptr || request.layout != Layout::binds)
        return {};
    return Error(Errc::usage, "layout binds: it is for images that are not known, and a root file "
                              "system is given")
        .with_argument("layout");
}

/// Tells draft.names which names will be added, before the first one is.
Result<void> expect_names(Draft& draft)
{
    std::vector<std::string> paths;
    if (!draft.files.empty()) {
        const bool merged = draft.plan.layout != Layout::tree;
        paths = merged ? merged_paths(draft) : entry_paths(draft);
        const auto add = [&](const std::vector<std::string>& more) {
            paths.insert(paths.end(), more.begin(), more.end());
        };
        if (draft.has_libraries())
            add(loader_cache_paths(draft));
        if (!merged) {
            paths.push_back(draft.plan.tree_path);
            add(data_paths(draft));
        }
        add(icd_paths(draft));
    }
    for (const Share& share : draft.shares)
        for (const model::DeviceNode& node : share.driver.nodes)
            if (share.needs(node, draft.capabilities, draft.extras) && node.accessible) {
                paths.push_back(node.path);
                paths.insert(paths.end(), node.links.begin(), node.links.end());
            }
    std::erase_if(paths, [&](const std::string& path) { return !draft.is_missing(path); });
    if (draft.toolkit.is_missing)
        paths.emplace_back(draft.toolkit.kind->place);
    return draft.names.expect(paths, draft.plan.items);
}

Result<void> choose_extras(Draft& draft)
{
    std::vector<const DriverStack*> drivers;
    for (const Share& share : draft.shares)
        drivers.push_back(&share.driver);
    draft.extras = asked_extras(drivers, draft.request, draft.plan.findings);
    return require_extras(draft.request.extras, drivers);
}

/// The driver's warnings that concern this container.
void add_warnings(Draft& draft)
{
    const auto concerns = [&](const model::Finding& warning, const Share& share) {
        const bool is_of_use = warning.capability == model::Capability::none
                               || draft.capabilities.contains(warning.capability);
        return share.driver.gpus.empty() || (is_of_use && !share.selection.gpus.empty());
    };
    for (const Share& share : draft.shares)
        for (const model::Finding& finding : share.driver.findings)
            if (finding.severity() == model::Severity::warning && concerns(finding, share))
                draft.plan.findings.push_back(finding);
}

void add_variables(Draft& draft)
{
    for (const Variable& variable : draft.plan.variables)
        draft.add({variable,
                   variable.name,
                   "what the container's processes find in their environment",
                   {variable.vendor}});
}

/// That of the drivers' libraries. All drivers of a host have the same.
Result<const elf::Machine*> machine_of(std::span<const DriverStack> drivers)
{
    const elf::Machine* found = nullptr;
    for (const DriverStack& driver : drivers) {
        const elf::Machine* const machine =
            driver.machine.empty() ? &elf::own_machine() : elf::find_machine(driver.machine);
        if (machine == nullptr || (found != nullptr && machine != found))
            return Error(Errc::driver,
                         base::format("the drivers' libraries are for {} architectures",
                                      machine == nullptr ? "unknown" : "different"))
                .with_object(driver.machine);
        found = machine;
    }
    return found == nullptr ? &elf::own_machine() : found;
}

/// Adds the driver's files, and all names that they are found by.
Result<void> add_files(Draft& draft)
{
    draft.plan.machine = draft.machine;
    GPUCTR_CHECK(draft.look_at_image());
    recognise_loader_cache(draft);
    choose_compat(draft);
    GPUCTR_CHECK(expect_names(draft));
    if (draft.is_for_any_image()) {
        add_binds(draft);
        add_icds(draft);
        return {};
    }
    if (draft.plan.layout == Layout::merged) {
        add_merged(draft);
    } else {
        GPUCTR_CHECK(add_tree(draft));
        add_entry_names(draft);
        add_data_links(draft);
    }
    add_icds(draft);
    add_covers(draft);
    add_host_runtime(draft);
    return draft.has_libraries() ? add_loader_cache(draft) : Result<void>();
}

} // namespace

Error callers_root()
{
    return Error(Errc::rootfs, "the root file system is this process's own root directory")
        .with_object("/")
        .with_hint("name the directory of a container; in a script, a variable of its path may be "
                   "empty");
}

Result<void> require_other_root(const Request& request, const Target* target)
{
    if (target == nullptr || !target->facts.is_callers || request.write == Write::never)
        return {};
    return callers_root();
}

Result<Plan> create_plan(std::span<const DriverStack> drivers, const Request& request,
                         const Target* target)
{
    GPUCTR_CHECK(require_other_root(request, target));
    GPUCTR_CHECK(require_no_root(request, target));
    GPUCTR_TRY(const elf::Machine* const machine, machine_of(drivers));
    Draft draft(request, target, *machine);
    draft.plan.layout = request.layout;
    draft.secure_mounts();
    GPUCTR_CHECK(choose_gpus(draft, drivers));
    GPUCTR_CHECK(check_requirements(draft, drivers));
    const std::string asked = asked_capabilities(draft.plan.drivers, request, draft.plan.findings);
    GPUCTR_TRY(draft.capabilities, about("driver_capabilities", parse_capabilities(asked)));
    GPUCTR_CHECK(choose_extras(draft));
    GPUCTR_CHECK(choose_files(draft));
    GPUCTR_CHECK(choose_host_runtime(draft));
    report_compat32(draft, asked);
    GPUCTR_CHECK(choose_tree_path(draft));
    GPUCTR_CHECK(choose_toolkit(draft));
    GPUCTR_CHECK(draft.files.empty() ? expect_names(draft) : add_files(draft));
    GPUCTR_CHECK(add_nodes(draft));
    add_shared_paths(draft);
    add_toolkit(draft);
    add_masks(draft);
    add_warnings(draft);
    add_variables(draft);
    return std::move(draft.plan);
}

} // namespace gpucontainer::plan
