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
    bool explicitly = false;          ///< Named by the caller, not left to "auto".
    bool wanted = true;               ///< False: others of several drivers were chosen.
    std::vector<VisibleLayer> layers; ///< What variables left; none for GPUs by name.
    model::Findings passed_over;      ///< Variables that do not count, and why.
};

/// Whose GPUs have to be there, and which are to be used.
struct DeviceChoice {
    std::string_view list;
    const Environment& environment;
    const std::set<std::string>& required; ///< Vendors that were asked for by name.
    std::string_view name = "device";      ///< What messages call the list.
};

/// The GPUs of each driver that the list names: "auto", "all", "none", or what
/// find_gpus() understands, comma-separated; with the vendor's CDI kind in front,
/// "nvidia.com/gpu=0", where it says whose they are. A driver that no word names is not
/// wanted. With "auto" it is what may be used and what the environment leaves; of
/// several drivers, one that has nothing left and was not asked for by name is not
/// wanted, and `left_out` says why. Errors: usage, naming what exists; for "auto"
/// no_device or permission.
Result<std::vector<Selection>> select_devices(std::span<const model::DriverStack> drivers,
                                              const DeviceChoice& choice,
                                              model::Findings& left_out);

/// Which GPUs of each driver a list names, without "auto"; `name` is what messages call
/// it. `ignore_others`: it may speak of vendors that are none of these drivers'.
Result<std::vector<Selection>> parse_devices(std::span<const model::DriverStack> drivers,
                                             std::string_view list, bool ignore_others = false,
                                             std::string_view name = "device");

/// "compute,utility" or "all". Errors: usage, naming what exists.
Result<std::set<model::Capability>> parse_capabilities(std::string_view list);

} // namespace gpucontainer::plan
