// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"
#include "plan/extras.hpp"
#include "plan/request.hpp"
#include "plan/selection.hpp"
#include "requirement/expression.hpp"

#include <span>
#include <string>
#include <vector>

/// What a container asks for by its own environment, which its image or its user made: it can get
/// less than it would without, and parts of the driver, but no other GPU.
namespace gpucontainer::plan {

/// Narrows selections, one for each driver, to the GPUs that the container's variables name, unless
/// the caller named some. "all" leaves what is selected, "none" the files of a driver without a
/// GPU. A GPU that is named and not selected is a finding. A driver of which nothing is left is not
/// wanted; if the request requires it, or nothing else is left, that is an error. Errors:
/// no_device.
Result<std::vector<Selection>> narrow_to_asked(std::span<const model::DriverStack> drivers,
                                               const Request& request,
                                               std::vector<Selection> selections,
                                               model::Findings& findings);

/// The capabilities that the container asks for, if the caller named none, and the request's
/// otherwise. `vendors` are those of the plan. Words that are not known are a finding.
std::string asked_capabilities(std::span<const UsedDriver> vendors, const Request& request,
                               model::Findings& findings);

/// The request's extras, and the channels to other hosts that the container asks for. One that is
/// not on this host is a finding.
Extras asked_extras(std::span<const model::DriverStack* const> drivers, const Request& request,
                    model::Findings& findings);

/// A requirement, and the variable that has it.
struct AskedRequirement {
    std::string variable;
    requirement::Expression expression;
};

/// The requirements of the container on the drivers of a plan. Errors: usage.
Result<std::vector<AskedRequirement>> asked_requirements(std::span<const UsedDriver> vendors,
                                                         const Request& request);

} // namespace gpucontainer::plan
