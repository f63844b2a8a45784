// SPDX-License-Identifier: MIT
#pragma once

#include "front/arguments.hpp"

#include <span>
#include <string>
#include <string_view>

namespace gpuctr_cli {

enum class FrontValue { none, optional, required };

/// An option of `nvidia-container-cli`.
struct FrontOption {
    const char* name; ///< Without dashes.
    char letter;      ///< 0: none.
    FrontValue value;
    const char* value_name; ///< For help.
    const char* help;
    /// Throws gpucontainer::Error for a value that cannot be honoured: usage.
    void (*take)(FrontArguments&, const std::string& value);
    /// An empty value is refused. Otherwise the option does not count then: callers write
    /// `--require=$VARIABLE`.
    bool needs_value = false;
};

using FrontOptions = std::span<const FrontOption>;

/// A command of it.
struct FrontCommand {
    std::string_view name;
    FrontArguments::Action action;
    const char* help;
};

std::span<const FrontCommand> front_commands();
/// Those before the command.
FrontOptions front_global_options();
FrontOptions front_options_of(FrontArguments::Action action);

} // namespace gpuctr_cli
