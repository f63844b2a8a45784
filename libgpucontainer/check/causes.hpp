// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/cause.hpp"

#include <string_view>

namespace gpucontainer::check {

/// What an error says, as a cause. Its evidence is what the error is about; for a wrong request,
/// the option by the name that it has in the C interface.
model::Cause cause_of(const Error& error, model::FindingCode code, model::Stage stage);

/// What a warning of a driver or a plan means for programs. None for remarks, and for what is the
/// evidence of a cause that is there already.
void add_warnings(const model::Findings& findings, model::Causes& causes);

} // namespace gpucontainer::check
