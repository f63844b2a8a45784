// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <gpucontainer/gpucontainer.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace gpuctr_setup {

/// The place of the first word that is not an option of every command.
std::size_t first_own_word(const std::vector<std::string>& words);

/// Finds what the parser would take for something else: an option that ends in "=" would
/// get the next word as its value. `words` begin with the command, behind options of every
/// command. Throws gpucontainer::Error: usage.
void check_words(const CLI::App& app, const std::vector<std::string>& words);

/// What the parser found wrong with the `words`, which are in the order they were typed.
gpucontainer::Error explain(const CLI::App& app, const CLI::ParseError& error,
                            const std::vector<std::string>& words);

} // namespace gpuctr_setup
