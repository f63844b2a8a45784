// SPDX-License-Identifier: MIT
#include "drivers/habana/diagnosis.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "drivers/bus_causes.hpp"
#include "drivers/habana/habana.hpp"
#include "drivers/habana/kernel.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::drivers::habana {

using model::Blocks;
using model::DriverStack;
using model::Finding;
using model::FindingCode;
using model::Stage;

namespace {

constexpr std::array<std::string_view, 1> own_drivers = {"habanalabs"};
constexpr std::string_view own_module = own_drivers.front();

/// The maker's functions are its accelerators.
bool is_accelerator(const host::PciDevice& /*function*/) { return true; }

/// Nodes without which an accelerator still computes: those of hl-smi, and of the network between
/// machines.
void add_optional_nodes(const DriverStack& driver, model::Causes& causes)
{
    for (const Finding& finding : driver.findings) {
        const bool is_required =
            std::ranges::find(driver.missing_nodes, finding.evidence, &model::DeviceNode::host_path)
            != driver.missing_nodes.end();
        if (finding.code != FindingCode::node_missing || is_required)
            continue;
        const bool is_control = finding.object.find("control") != std::string::npos;
        causes.push_back({{FindingCode::node_missing, finding.evidence,
                           base::format("cannot be used ({}): {}", finding.text,
                                        is_control ? "hl-smi does not show the accelerator"
                                                   : "no network to other machines by it"),
                           finding.evidence,
                           "load habanalabs again, so that udev makes the node; in a container, "
                           "it was not passed in"},
                          Stage::feature,
                          Blocks::some});
    }
}

} // namespace

Result<void> add_host_causes(const Sources& sources, const DriverStack* driver,
                             model::Causes& causes)
{
    GPUCTR_TRY(const auto loaded, loaded_version(sources.system_root));
    GPUCTR_TRY(const auto others, without_own_driver({pci_vendor, own_drivers, is_accelerator},
                                                     sources.system_root, sources.pci));
    if (!loaded && !others.empty())
        causes.push_back(module_not_loaded(others, own_module));
    for (const host::PciDevice& gpu : others)
        if (loaded)
            causes.push_back(
                held_by_other(gpu, own_module, driver == nullptr ? Blocks::all : Blocks::some));
    if (driver != nullptr)
        add_optional_nodes(*driver, causes);
    return {};
}

} // namespace gpucontainer::drivers::habana
