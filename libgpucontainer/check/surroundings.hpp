// SPDX-License-Identifier: MIT
#pragma once

#include "elf/machine.hpp"
#include "model/driver.hpp"
#include "plan/plan.hpp"
#include "plan/request.hpp"
#include "rootfs/view.hpp"

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace gpucontainer::check {

/// A container in which a program will use GPUs, before and after it is set up.
struct Surroundings {
    const rootfs::View& image;     ///< As it is.
    const rootfs::View& container; ///< As it will be; the image if there is no plan.
    const plan::Plan* plan = nullptr;
    const plan::Request& request;
    std::span<const model::DriverStack> drivers; ///< Of the host.
    /// The container runs, and is looked at as it is: the plan says what it should have.
    bool as_is = false;
    const elf::Machine* machine = &elf::own_machine(); ///< Of the host's programs.

    /// The variables of the program: the container's, as the plan changes them.
    std::map<std::string, std::string> environment() const;
    /// The parts of drivers that are asked for; none without a plan.
    std::set<model::Capability> capabilities() const;
    /// Where the parts are asked for: the name of a variable of the container, or of the option in
    /// the C interface.
    std::string place_of_capabilities() const;
};

/// A library or tool of a driver.
struct OfDriver {
    const model::DriverStack* driver = nullptr;
    const model::DriverFile* file = nullptr; ///< Null: no driver has it.

    explicit operator bool() const noexcept { return file != nullptr; }
};

/// The library that programs load by this name, or the tool.
OfDriver library_of_driver(const Surroundings& around, std::string_view soname, bool compat32);
OfDriver tool_of_driver(const Surroundings& around, std::string_view name);

/// The path in the container of a file that the plan gives; "" if it does not.
std::string given_path(const plan::Plan* plan, const model::DriverFile& file);

/// Why a file of the driver is not given, as a text that continues after its name, and what to do.
struct NotGiven {
    std::string reason;
    std::string hint;
    /// The part of the driver was not asked for.
    bool is_part = false;
};
NotGiven why_not_given(const Surroundings& around, const OfDriver& wanted);

} // namespace gpucontainer::check
