// SPDX-License-Identifier: MIT
#pragma once

#include "output/messages.hpp"
#include "settings/settings.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace gpuctr_cli {

/// Adds --restricted, which a rule in sudoers can require.
void add_restricted_option(CLI::App& app);

/// A call after parsing.
struct TypedCall {
    CLI::App& command;
    bool restricted;    ///< --restricted was typed.
    bool with_command;  ///< "-- CMD" was typed.
    std::string config; ///< The typed --config; or "".
};

/// Adds a site's values to the options of the chosen command, and enforces the site's policy. A
/// call is restricted by --restricted or by the policy: it is refused if it asks for more than
/// GPUs, and this process becomes the user whom the policy names. Call it after parsing and
/// before the options are used. `keys` returns those of each command. Adds to `origins` where
/// values come from. A file that the call names takes the place of the site's for all but the
/// policy. For a command that only shows or removes, a mistake in the file is a
/// warning, unless it may concern the policy. Throws gpucontainer::Error: usage, permission.
void settle_options(const TypedCall& call, KeysOfCommand keys, const Messages& messages,
                    Origins& origins);

} // namespace gpuctr_cli
