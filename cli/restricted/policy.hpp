// SPDX-License-Identifier: MIT
#pragma once

#include "output/messages.hpp"
#include "settings/settings.hpp"

#include <CLI/CLI.hpp>

namespace gpuctr_cli {

/// --restricted, for every command: a line of sudoers can fix it.
void add_restricted_option(CLI::App& app);

/// A call's words once they are parsed.
struct TypedCall {
    CLI::App& command;
    bool restricted;   ///< By a word of its own.
    bool with_command; ///< Something stands behind "--".
};

/// Gives the options of the chosen command the values that a site has for them, and
/// keeps to the site's policy: a call that is restricted, by its words or by the
/// policy, is refused when it asks for more than GPUs, and becomes the user whom the
/// policy names. To be called between parsing and reading the options; `keys` are those of
/// all commands. Adds where values come from to `origins`. A
/// mistake in the file keeps nobody from taking away or looking, unless it may be one in the
/// policy. Throws gpucontainer::Error: usage, permission.
void settle_options(const TypedCall& call, KeysOfCommand keys, const Messages& messages,
                    Origins& origins);

} // namespace gpuctr_cli
