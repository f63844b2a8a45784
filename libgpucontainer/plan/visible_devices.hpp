// SPDX-License-Identifier: MIT
#pragma once

#include "plan/plan.hpp"
#include "vendor/driver.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::plan {

using Environment = std::map<std::string, std::string>;

/// What a program counts as one: a GPU, or one of its parts.
struct Counted {
    unsigned gpu = 0;
    std::optional<unsigned> part; ///< None: the whole.

    bool operator==(const Counted&) const = default;
};

/// What one of a vendor's variables leaves, in its order.
struct VisibleLayer {
    vendor::VisibleDevices variable;
    std::string value; ///< As it was set.
    std::vector<Counted> left;
};

/// The GPUs among them, ascending, each once.
std::vector<unsigned> gpus_of(const std::vector<Counted>& counted);

/// Narrows GPUs by each of the driver's variables that is set, in turn. Ends with the
/// first that leaves nothing.
std::vector<VisibleLayer> narrow(const vendor::DriverStack& driver, const Environment& environment,
                                 const std::vector<unsigned>& granted);

/// Null where no variable that decides was obeyed.
const VisibleLayer* deciding(const std::vector<VisibleLayer>& layers);

/// What those variables become in a container that sees `chosen` alone, ascending.
/// Those that were set and not obeyed are unset. One that is among `others`, of another
/// vendor's driver, is left to that.
std::vector<Variable> visible_inside(const vendor::DriverStack& driver,
                                     const Environment& environment,
                                     const std::vector<VisibleLayer>& layers,
                                     const std::vector<unsigned>& chosen,
                                     const std::vector<Variable>& others = {});

} // namespace gpucontainer::plan
