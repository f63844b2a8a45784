// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

#include <string>

namespace gpucontainer::plan {

/// Why a driver's file is not wanted, whatever it needs: it was not asked for, or the image has
/// something of its own at the place where it is read. "" if it is wanted.
std::string objection_of_request(const Draft& draft, const model::DriverStack& driver,
                                 const model::DriverFile& file);

} // namespace gpucontainer::plan
