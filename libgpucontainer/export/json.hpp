// SPDX-License-Identifier: MIT
#pragma once

#include "apply/status.hpp"
#include "plan/plan.hpp"
#include "vendor/driver.hpp"
#include "vendor/fingerprint.hpp"

#include <span>
#include <string>

namespace gpucontainer::exports {

/// Schema "gpucontainer/list/1": what this host has, whole enough to make plans
/// from; see read_host.hpp.
std::string host_to_json(std::span<const vendor::DriverStack> drivers,
                         std::span<const vendor::Skipped> skipped,
                         std::span<const vendor::Mark> fingerprint);

/// Schema "gpucontainer/plan/1": what a container is given, and why.
std::string plan_to_json(const plan::Plan& plan);

/// Schema "gpucontainer/status/1": what is set up, and whether it still fits.
std::string set_ups_to_json(std::span<const apply::SetUp> set_ups);

} // namespace gpucontainer::exports
