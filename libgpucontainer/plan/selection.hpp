// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "vendor/driver.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

/// Which GPUs a container gets.
struct Selection {
    std::vector<unsigned> gpus; ///< Indexes, ascending, each once.
    bool explicitly = false;    ///< Named by the caller, not left to "auto".
    /// UUIDs in the order in which the scheduler's variable named them; none where
    /// a GPU has no UUID, and the variable would not fit in the container.
    std::optional<std::string> visible;
};

/// Understands "auto", "all", "none", indexes, UUIDs or unambiguous prefixes of
/// them and PCI addresses, comma-separated. `scheduler` is the value of the
/// vendor's variable, if it is set. Errors: usage, naming what exists; for
/// "auto" no_device or permission when nothing is left.
Result<Selection> select_gpus(const vendor::DriverStack& driver, std::string_view list,
                              std::optional<std::string_view> scheduler);

/// "compute,utility" or "all". Errors: usage, naming what exists.
Result<std::set<vendor::Capability>> parse_capabilities(std::string_view list);

} // namespace gpucontainer::plan
