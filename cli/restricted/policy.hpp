// SPDX-License-Identifier: MIT
#pragma once

#include "output/messages.hpp"
#include "settings/settings.hpp"

#include <CLI/CLI.hpp>

namespace gpuctr_setup {

/// --restricted, for every command: a line of sudoers can fix it.
void add_restricted_option(CLI::App& app);

/// Gives the options of the chosen command the values that a site has for them, and
/// keeps to the site's policy: a call that is `restricted`, by its words or by the
/// policy, is refused when it asks for more than GPUs, and becomes the user whom the
/// policy names. To be called between parsing and reading the options; `with_command`
/// says whether something stands behind "--". Adds where values come from to `origins`. A
/// mistake in the file keeps nobody from taking away or looking, unless it may be one in the
/// policy. Throws gpucontainer::Error: usage, permission.
void settle_options(const CLI::App& app, bool restricted, bool with_command,
                    const Messages& messages, Origins& origins);

} // namespace gpuctr_setup
