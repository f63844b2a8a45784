// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.h>

#include "apply/status.hpp"
#include "cdi/directories.hpp"
#include "check/check.hpp"
#include "config/settings.hpp"
#include "detect/host.hpp"
#include "explain/answer.hpp"
#include "import/hook_state.hpp"
#include "model/driver.hpp"
#include "plan/planned.hpp"

#include <string>
#include <vector>

// The opaque C handles. A handle of an element is the element under another name; a prepared plan
// is the block of its program.
struct gpuctr_error {
    gpucontainer::Error error;
    std::string message; // what gpuctr_error_message() returns
};
struct gpuctr_host {
    gpucontainer::detect::Host host;
};
struct gpuctr_plan {
    gpucontainer::plan::Planned planned;
    std::vector<gpuctr_device_rule> device_rules;
};
struct gpuctr_environment {
    std::vector<std::string> settings; // NAME=VALUE
    gpucontainer::model::Findings findings;
};
struct gpuctr_hook_state : gpucontainer::imports::HookState {};
struct gpuctr_config {
    std::vector<gpucontainer::config::Setting> settings;
};
struct gpuctr_setting : gpucontainer::config::Setting {};
struct gpuctr_setup_list {
    std::vector<gpucontainer::apply::SetUp> set_ups;
};
struct gpuctr_setup : gpucontainer::apply::SetUp {};
struct gpuctr_used_driver : gpucontainer::plan::UsedDriver {};
struct gpuctr_driver : gpucontainer::model::DriverStack {};
struct gpuctr_gpu : gpucontainer::model::Gpu {};
struct gpuctr_file : gpucontainer::model::DriverFile {};
struct gpuctr_node : gpucontainer::model::DeviceNode {};
struct gpuctr_registration : gpucontainer::model::Registration {};
struct gpuctr_version_need : gpucontainer::model::VersionNeed {};
struct gpuctr_mask : gpucontainer::model::Mask {};
struct gpuctr_shown : gpucontainer::model::Shown {};
struct gpuctr_shared_path : gpucontainer::model::SharedPath {};
struct gpuctr_finding : gpucontainer::model::Finding {};
struct gpuctr_cdi_list {
    gpucontainer::cdi::Listing listing;
};
struct gpuctr_cdi_device : gpucontainer::cdi::ListedDevice {};
struct gpuctr_check {
    gpucontainer::check::Diagnosis diagnosis;
};
struct gpuctr_item : gpucontainer::plan::Item {};
struct gpuctr_explanation {
    std::vector<gpucontainer::explain::Answer> answers;
};
struct gpuctr_answer : gpucontainer::explain::Answer {};
struct gpuctr_variable : gpucontainer::plan::Variable {};

namespace gpucontainer::capi {

/// The element at `index` as its C handle; null if out of range.
template <typename Handle, typename Element>
const Handle* element_at(const std::vector<Element>& elements, std::size_t index) noexcept
{
    static_assert(sizeof(Handle) == sizeof(Element));
    return index < elements.size() ? static_cast<const Handle*>(&elements[index]) : nullptr;
}

/// The text at `index`; null if out of range.
inline const char* text_at(const std::vector<std::string>& texts, std::size_t index) noexcept
{
    return index < texts.size() ? texts[index].c_str() : nullptr;
}

/// What device cgroups have to allow for a plan.
inline std::vector<gpuctr_device_rule> rules_of(const plan::Plan& plan)
{
    std::vector<gpuctr_device_rule> rules;
    for (const plan::DeviceRule& rule : plan::device_rules(plan))
        rules.push_back({'c', "rw", rule.major, rule.minor});
    return rules;
}

inline gpuctr_file_id to_c(const model::FileId& id) noexcept
{
    return {id.device, id.inode, id.size, id.mtime_ns};
}

} // namespace gpucontainer::capi
