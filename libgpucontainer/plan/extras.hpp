// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"

#include <set>
#include <span>
#include <string>
#include <string_view>

/// What a container gets besides the capabilities of the driver, or does not get.
namespace gpucontainer::plan {

using Extras = std::set<std::string>;

/// Reads a comma-separated list such as "gds,imex-channel:0,no-mps". Errors: usage.
Result<Extras> parse_extras(std::string_view list);

/// The word by which a caller does not give a container the channels that it asks for itself.
inline constexpr const char* no_asked_channels = "no-imex-channel";

/// The extra of a channel, by its number or "all". "": the word is neither.
std::string channel_extra(std::string_view word);

/// Whether the host has this extra.
bool offers(const model::DriverStack& driver, std::string_view extra);

/// Whether an extra such as "gds" or "imex-channel:0" is asked for.
bool has_extra(const Extras& extras, const std::string& name);

/// Whether a container with these capabilities gets it.
bool is_shared(const model::SharedPath& shared, const std::set<model::Capability>& capabilities,
               const Extras& extras);

/// An error if the host does not have something that is asked for. Errors: no_device.
Result<void> require_extras(const Extras& extras,
                            std::span<const model::DriverStack* const> drivers);

} // namespace gpucontainer::plan
