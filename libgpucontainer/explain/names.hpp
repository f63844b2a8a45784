// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gpucontainer::explain {

/// A thing of a driver that can be asked about.
struct Subject {
    const model::DriverStack* driver;
    /// A finding is about a thing that the driver lacks or cannot use.
    std::variant<const model::DriverFile*, const model::DeviceNode*, const model::Gpu*,
                 const model::SharedPath*, const model::Finding*>
        what;
    std::string label;              ///< What messages call it.
    std::vector<std::string> names; ///< By which it is found.
};

/// Everything that can be asked about, in the order of the drivers.
std::vector<Subject> subjects_of(std::span<const model::DriverStack> drivers);

/// The subjects with a name, or, if none has it, the one whose names begin with it. Errors: usage,
/// if there is none or several begin with it.
Result<std::vector<Subject>> subjects_called(std::string_view name,
                                             std::span<const model::DriverStack> drivers);

/// The names of a file: soname, names of links, its own.
std::vector<std::string> names_of(const model::DriverFile& file);

} // namespace gpucontainer::explain
