// SPDX-License-Identifier: MIT
#pragma once

#include "apply/status.hpp"
#include "cdi/directories.hpp"
#include "check/check.hpp"
#include "detect/fingerprint.hpp"
#include "explain/answer.hpp"
#include "model/driver.hpp"
#include "plan/plan.hpp"

#include <span>
#include <string>

namespace gpucontainer::exports {

/// Schema "gpucontainer/list/1": the host, with all that plans are made from; see read_host.hpp.
std::string host_to_json(std::span<const model::DriverStack> drivers,
                         std::span<const model::Finding> findings,
                         std::span<const detect::Mark> fingerprint);

/// Schema "gpucontainer/plan/1": what a container is given, and why.
std::string plan_to_json(const plan::Plan& plan);

/// Schema "gpucontainer/why/1": what a plan does with what a name stands for, and why.
std::string answers_to_json(std::span<const explain::Answer> answers);

/// Schema "gpucontainer/status/1": what is set up, and whether it still fits.
std::string set_ups_to_json(std::span<const apply::SetUp> set_ups);

/// Schema "gpucontainer/check/1": why GPU programs will not work.
std::string diagnosis_to_json(const check::Diagnosis& diagnosis);

/// Schema "gpucontainer/cdi/1": devices of CDI specifications, and what is wrong with these.
std::string cdi_listing_to_json(const cdi::Listing& listing);

} // namespace gpucontainer::exports
