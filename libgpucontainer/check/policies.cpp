// SPDX-License-Identifier: MIT
#include "check/policies.hpp"

#include "base/text.hpp"
#include "base/try.hpp"
#include "host/kernel_files.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace gpucontainer::check {

using model::FindingCode;

namespace {

constexpr const char* directory = "/sys/fs/selinux";
constexpr const char* switch_of_all = "/sys/fs/selinux/booleans/container_use_devices";
constexpr const char* switch_of_dri = "/sys/fs/selinux/booleans/container_use_dri_devices";

/// Whether a switch of SELinux is on; none if this policy does not have it. The file has its value,
/// and the one that it gets when changes are committed.
Result<std::optional<bool>> is_on(const std::string& path)
{
    GPUCTR_TRY(const auto text, host::read_value(path));
    return text && !text->empty() ? std::optional(text->front() != '0') : std::nullopt;
}

/// Policies have a type of its own for nodes of the direct rendering manager.
bool is_of_dri(const model::DeviceNode& node) { return base::is_below(node.path, "/dev/dri"); }

bool needs_other_nodes(const model::DriverStack& driver)
{
    return std::ranges::any_of(driver.nodes, [](const model::DeviceNode& node) {
        return node.required && !is_of_dri(node);
    });
}

} // namespace

Result<void> add_policy_causes(const std::string& system_root,
                               std::span<const model::DriverStack> drivers, model::Causes& causes)
{
    GPUCTR_TRY(const auto enforces,
               host::read_value(system_root + std::string(directory) + "/enforce"));
    if (enforces != "1")
        return {};
    GPUCTR_TRY(const auto all, is_on(system_root + switch_of_all));
    GPUCTR_TRY(const auto dri, is_on(system_root + switch_of_dri));
    const bool only_others = dri.value_or(false);
    const bool concerns =
        only_others ? std::ranges::any_of(drivers, needs_other_nodes) : !drivers.empty();
    if (all != false || !concerns)
        return {};
    causes.push_back(
        {{FindingCode::access_denied, "SELinux",
          "is in force, and its policy keeps containers from devices: programs there may not open "
          "the GPUs' nodes",
          switch_of_all,
          "as root: `setsebool -P container_use_devices on`; or run the container with a label "
          "that may, or without one (--security-opt label=disable)"},
         model::Stage::host,
         model::Blocks::all,
         false});
    return {};
}

} // namespace gpucontainer::check
