// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"
#include "plan/plan.hpp"
#include "plan/variable_words.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::plan {

using Environment = std::map<std::string, std::string>;

/// What a variable leaves of the GPUs that those before it left, in its order.
struct VisibleLayer {
    model::VisibleDevices variable;
    std::string value; ///< As it was set.
    std::vector<Counted> left;
};

/// The GPUs among them, ascending, each once.
std::vector<unsigned> gpus_of(const std::vector<Counted>& counted);

/// Narrows GPUs by each of the driver's variables that is set, in turn, to what all of
/// them leave. `granted` are those that may be used, which programs count; of them the
/// scheduler may have left some. Errors: no_device, where a variable leaves nothing, or
/// where NVIDIA's toolkit's has a word that names no GPU of this host.
Result<std::vector<VisibleLayer>> narrow(const model::DriverStack& driver,
                                         const Environment& environment,
                                         const std::vector<unsigned>& granted,
                                         const std::optional<VisibleLayer>& scheduler);

/// Null where no variable that decides was obeyed.
const VisibleLayer* deciding(const std::vector<VisibleLayer>& layers);

/// What those variables become in a container that sees `chosen` alone, ascending.
/// Those that were set and not obeyed are unset. One that is among `others`, of another
/// vendor's driver, is left to that.
std::vector<Variable> visible_inside(const model::DriverStack& driver,
                                     const Environment& environment,
                                     const std::vector<VisibleLayer>& layers,
                                     const std::vector<unsigned>& chosen,
                                     const std::vector<Variable>& others = {});

} // namespace gpucontainer::plan
