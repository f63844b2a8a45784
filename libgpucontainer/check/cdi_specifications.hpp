// SPDX-License-Identifier: MIT
#pragma once

#include "cdi/directories.hpp"
#include "model/cause.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::check {

/// Whose specifications of CDI are looked at.
struct CdiVendor {
    std::string_view kind;     ///< "vendor.com/gpu"
    std::string_view variable; ///< By which containers name GPUs; "" if there is none.
};

/// Adds what is wrong with the specifications from which engines make containers with GPUs of these
/// vendors: they name what this host does not have, or engines do not take them.
void add_cdi_causes(const cdi::Listing& listing, std::span<const CdiVendor> vendors,
                    model::Causes& causes);

/// Adds which devices of CDI a container's variables name that no specification has.
void add_missing_devices(const cdi::Listing& listing, std::span<const CdiVendor> vendors,
                         const std::map<std::string, std::string>& container,
                         model::Causes& causes);

/// What engines read.
cdi::Listing engines_specifications();

} // namespace gpucontainer::check
