// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"
#include "plan/visible_devices.hpp"

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

/// Which GPUs of one driver a container gets.
struct Selection {
    std::vector<unsigned> gpus;       ///< Indexes, ascending, each once.
    bool explicitly = false;          ///< Named by the caller, not chosen by "auto".
    bool wanted = true;               ///< False: of several drivers, only others were chosen.
    std::vector<VisibleLayer> layers; ///< What variables left; empty for named GPUs.
    model::Findings passed_over;      ///< Variables that are ignored, and why.
};

/// Which GPUs to use, and which vendors must have some.
struct DeviceChoice {
    std::string_view list;
    const Environment& environment;
    const std::set<std::string>& required; ///< Vendors that were asked for by name.
    std::string_view name = "device";      ///< Name of the list in messages.
};

/// The GPUs of each driver that a list names: "auto", "all", "none", or words of find_gpus(),
/// separated by commas. A word may have the vendor's CDI kind in front: "nvidia.com/gpu=0". A
/// driver that no word names is not wanted.
///
/// "auto" stands for the GPUs that may be used and that the environment leaves. If there are
/// several drivers, one without such a GPU is not wanted, unless it was asked for by name;
/// `left_out` says why. Errors: usage, naming what exists; for "auto", no_device or permission.
Result<std::vector<Selection>> select_devices(std::span<const model::DriverStack> drivers,
                                              const DeviceChoice& choice,
                                              model::Findings& left_out);

/// The same for a list without "auto", which messages call `name`. `ignore_others`: it may name
/// GPUs of vendors that have no driver here.
Result<std::vector<Selection>> parse_devices(std::span<const model::DriverStack> drivers,
                                             std::string_view list, bool ignore_others = false,
                                             std::string_view name = "device");

/// "compute,utility" or "all", which is all but firmware. Errors: usage, naming what exists.
Result<std::set<model::Capability>> parse_capabilities(std::string_view list);

} // namespace gpucontainer::plan
