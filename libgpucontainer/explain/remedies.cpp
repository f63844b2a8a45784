// SPDX-License-Identifier: MIT
#include "explain/remedies.hpp"

#include "base/format.hpp"
#include "plan/container_request.hpp"
#include "plan/selection.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace gpucontainer::explain {

using model::Capability;
using model::DeviceNode;
using model::DriverFile;
using model::DriverStack;
using model::FindingCode;
using model::Gpu;

namespace {

using Remedies = std::vector<std::string>;

void add(std::string remedy, Remedies& remedies)
{
    if (!remedy.empty() && std::ranges::find(remedies, remedy) == remedies.end())
        remedies.push_back(std::move(remedy));
}

/// What the plan was asked for.
std::set<Capability> capabilities_of(const plan::Planned& planned)
{
    model::Findings ignored;
    const auto asked = plan::parse_capabilities(
        plan::asked_capabilities(planned.plan.drivers, planned.request, ignored));
    return asked ? *asked : std::set<Capability>();
}

std::string asking_for(Capability capability)
{
    return base::format("ask for it: --driver-capabilities {}", model::name(capability));
}

bool is_used(const plan::Planned& planned, const DriverStack& driver)
{
    const auto& used = planned.plan.drivers;
    return std::ranges::find(used, driver.vendor, &plan::UsedDriver::vendor) != used.end();
}

bool is_chosen(const plan::Planned& planned, const DriverStack& driver, int gpu)
{
    for (const plan::UsedDriver& used : planned.plan.drivers)
        if (used.vendor == driver.vendor)
            return std::ranges::any_of(
                used.gpus, [&](const Gpu& one) { return static_cast<int>(one.index) == gpu; });
    return false;
}

/// The hints of what stands in the way.
void add_hints(const Answer& answer, Remedies& remedies)
{
    for (const model::Finding& finding : answer.others)
        add(finding.hint, remedies);
}

} // namespace

Remedies remedies_for(const plan::Planned& planned, const DriverStack& driver,
                      const DriverFile& file, const Answer& answer)
{
    Remedies remedies;
    if (answer.given) {
        const auto is_choice = [](const model::Finding& other) {
            return other.code == FindingCode::version_differs
                   || other.code == FindingCode::file_left_out;
        };
        if (file.kind != model::FileKind::data && std::ranges::any_of(answer.others, is_choice))
            add("for the files of another installation: --driver-root DIR", remedies);
        return remedies;
    }
    if (!is_used(planned, driver)) {
        add("choose a GPU of this vendor: --device", remedies);
        return remedies;
    }
    if (planned.request.vendor_libs == plan::VendorLibs::none) {
        add("leave out --vendor-libs none", remedies);
        return remedies;
    }
    const std::set<Capability> asked = capabilities_of(planned);
    if (file.compat32 && !asked.contains(Capability::compat32))
        add(asking_for(Capability::compat32), remedies);
    if (file.capability == Capability::none)
        add("a catalogue can say that containers need it: --catalogue FILE", remedies);
    else if (!asked.contains(file.capability) && !asked.contains(file.also))
        add(asking_for(file.capability), remedies);
    if (remedies.empty() && driver.optional_files
        && planned.request.vendor_libs != plan::VendorLibs::host)
        add("take the host's in any case: --vendor-libs host", remedies);
    return remedies;
}

Remedies remedies_for(const plan::Planned& planned, const DriverStack& driver,
                      const DeviceNode& node, const Answer& answer)
{
    Remedies remedies;
    if (answer.given)
        return remedies;
    add(driver.remedy_for(node), remedies);
    add_hints(answer, remedies);
    if (!remedies.empty())
        return remedies;
    if (node.gpu >= 0 && !is_chosen(planned, driver, node.gpu))
        add(base::format("choose its GPU: --device {}",
                         driver.gpus[static_cast<std::size_t>(node.gpu)].label()),
            remedies);
    else if (!node.extra.empty())
        add(base::format("ask for it: --extras {}", node.extra), remedies);
    else if (node.capability != Capability::none
             && !capabilities_of(planned).contains(node.capability))
        add(asking_for(node.capability), remedies);
    return remedies;
}

Remedies remedies_for(const plan::Planned& planned, const DriverStack& /*driver*/, const Gpu& gpu,
                      const Answer& answer)
{
    Remedies remedies;
    if (answer.given)
        return remedies;
    add_hints(answer, remedies);
    if (!planned.request.allowed_devices.empty())
        add("the administrator allows certain GPUs only: --allowed-devices", remedies);
    else if (remedies.empty())
        add(base::format("choose it: --device {}", gpu.label()), remedies);
    return remedies;
}

Remedies remedies_for(const plan::Planned& planned, const DriverStack& /*driver*/,
                      const model::SharedPath& shared, const Answer& answer)
{
    Remedies remedies;
    if (answer.given) {
        if (!shared.extra.empty())
            add(base::format("keep it out: --extras no-{}", shared.extra), remedies);
        return remedies;
    }
    if (!shared.extra.empty())
        add(base::format("ask for it: --extras {}", shared.extra), remedies);
    if (shared.capability != Capability::none
        && !capabilities_of(planned).contains(shared.capability))
        add(asking_for(shared.capability), remedies);
    return remedies;
}

Remedies remedies_for(const model::Finding& finding)
{
    Remedies remedies;
    add(finding.hint, remedies);
    if (finding.code == FindingCode::not_installed)
        add("install the package of the driver that has it, of the same version", remedies);
    if (finding.code == FindingCode::version_differs)
        add("install it in the version of the driver, or reboot after a driver update", remedies);
    return remedies;
}

} // namespace gpucontainer::explain
