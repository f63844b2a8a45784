// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/cause.hpp"
#include "model/driver.hpp"
#include "rootfs/view.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace gpucontainer::drivers {

struct Sources;

/// A container in which a program will use GPUs. What it has may be hostile.
struct ContainerToCheck {
    /// As it is once the GPUs are set up in it; the image itself if that is impossible.
    const rootfs::View& view;
    /// Variables of the program.
    std::map<std::string, std::string> environment;
    /// Libraries that the program loads when it starts, itself included: paths in the container.
    std::vector<std::string> loaded;
};

/// What a maker knows about why programs do not work, beyond what detection and planning find.
/// Either may be null.
struct Diagnosis {
    /// Looks at the host. `driver` is null if detection failed, as the caller reports.
    Result<void> (*of_host)(const Sources& sources, const model::DriverStack* driver,
                            model::Causes& causes);
    /// Looks at a container that gets the `chosen` GPUs.
    Result<void> (*of_container)(const ContainerToCheck& container,
                                 const model::DriverStack& driver,
                                 std::span<const model::Gpu> chosen, model::Causes& causes);
};

} // namespace gpucontainer::drivers
