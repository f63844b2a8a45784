// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

namespace gpuctr_cli {

/// Whose wishes for GPUs an administrator lets count.
struct AcceptedWishes {
    std::string list = "environment,mounts";

    /// Adds --accept.
    void add_to(CLI::App& command);
    /// GPUCTR_WISH_*
    std::uint32_t flags() const;
};

} // namespace gpuctr_cli
