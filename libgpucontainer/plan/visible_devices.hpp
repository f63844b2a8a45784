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

/// The GPUs that a variable leaves of those that earlier ones left, in its order.
struct VisibleLayer {
    model::VisibleDevices variable;
    std::string value; ///< As it was set.
    std::vector<Counted> left;
};

/// Indexes of the GPUs, ascending, each once.
std::vector<unsigned> gpus_of(const std::vector<Counted>& counted);

/// What variables leave, and those that are ignored.
struct Narrowed {
    std::vector<VisibleLayer> layers;
    model::Findings passed_over;
};

/// These GPUs without those whose instances are among them: what programs count. Or with the GPUs
/// of those that are instances: what a container needs.
std::vector<unsigned> without_parents(const model::DriverStack& driver, std::vector<unsigned> gpus);
std::vector<unsigned> with_parents(const model::DriverStack& driver, std::vector<unsigned> gpus);
/// These GPUs without those that have instances, and none of them here: they would compute nothing.
std::vector<unsigned> without_lone_parents(const model::DriverStack& driver,
                                           std::vector<unsigned> gpus);

/// Applies each of the driver's variables that is set, in turn. `granted` are the GPUs that may be
/// used, and that programs count; the scheduler may have left only some of them. A list of numbers
/// is ignored if one of them counts a GPU of the host that the device cgroup keeps from this
/// process. Errors: no_device, if a variable leaves nothing, or the one of NVIDIA's toolkit has a
/// word that names no GPU of this host.
Result<Narrowed> narrow(const model::DriverStack& driver, const Environment& environment,
                        const std::vector<unsigned>& granted,
                        const std::optional<VisibleLayer>& scheduler);

/// The last layer of a variable that decides; null if there is none.
const VisibleLayer* deciding(const std::vector<VisibleLayer>& layers);

/// The values of those variables in a container that sees only `chosen`, which is ascending.
/// Variables that were set, but not obeyed, are unset. `others` are those of another vendor's
/// driver, which decides about them.
std::vector<Variable> visible_inside(const model::DriverStack& driver,
                                     const Environment& environment,
                                     const std::vector<VisibleLayer>& layers,
                                     const std::vector<unsigned>& chosen,
                                     const std::vector<Variable>& others = {});

} // namespace gpucontainer::plan
