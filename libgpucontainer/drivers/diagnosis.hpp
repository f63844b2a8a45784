// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/cause.hpp"
#include "model/driver.hpp"
#include "rootfs/view.hpp"

#include <map>
#include <optional>
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
    /// An image's own user space of a newer driver may be used (see Compat).
    bool may_use_own_driver = true;
};

/// What a maker knows about why programs do not work, beyond what detection and planning find.
/// Each may be null.
struct Diagnosis {
    /// Looks at the host. `driver` is null if detection failed. The caller reports that, unless a
    /// cause that is added here says why: see explains_failure().
    Result<void> (*of_host)(const Sources& sources, const model::DriverStack* driver,
                            model::Causes& causes);
    /// Looks at a container that gets the `chosen` GPUs.
    Result<void> (*of_container)(const ContainerToCheck& container,
                                 const model::DriverStack& driver,
                                 std::span<const model::Gpu> chosen, model::Causes& causes);
    /// If detection failed because of the driver's files: the driver without them, as the kernel
    /// tells it. None if the kernel has none.
    Result<std::optional<model::DriverStack>> (*without_files)(const Sources& sources) = nullptr;
    /// What a recorded driver tells about its GPUs, of which nothing else is known.
    void (*of_record)(const model::DriverStack& driver, model::Causes& causes) = nullptr;
};

/// Whether a cause says why a driver cannot be used at all.
inline bool explains_failure(const model::Cause& cause)
{
    using enum model::FindingCode;
    const model::FindingCode code = cause.finding.code;
    return cause.blocks == model::Blocks::all && cause.stage <= model::Stage::host
           && (code == driver_unusable || code == driver_not_loaded || code == driver_version
               || code == gpu_without_driver || code == gpu_off_bus || code == gpu_excluded
               || code == node_missing);
}

} // namespace gpucontainer::drivers
