// SPDX-License-Identifier: MIT
#pragma once

#include "output/format.hpp"
#include "output/output.hpp"
#include "output/table.hpp"

#include <cstdio>
#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_setup {

/// Results go to `out`, everything said to a person to `err`.
struct Streams {
    std::FILE* out;
    std::FILE* err;
};

enum class Verbosity : int { quiet, normal, verbose };

/// Where the command tells a person what is not as it might be, unless he wants
/// to read errors only.
struct Messages {
    std::FILE* err;
    Verbosity verbosity;

    void warn(std::string_view text) const
    {
        if (verbosity != Verbosity::quiet)
            say(err, "gpuctr-setup: warning: {}\n", printable(text));
    }
};

inline void warn_about(const gpucontainer::Host& host, const Messages& messages)
{
    for (const auto skipped : host.skipped())
        messages.warn(formatted("{}: {}", skipped.name(), skipped.reason()));
}

inline void warn_about(const gpucontainer::Plan& plan, const Messages& messages)
{
    for (const std::string_view warning : plan.warnings())
        messages.warn(warning);
}

/// Does what needs a GPU. Having none is an error, or with `if_present` a warning.
template <typename Work>
void with_gpu(bool if_present, const Messages& messages, Work&& work)
{
    try {
        std::forward<Work>(work)();
    } catch (const gpucontainer::Error& error) {
        if (!if_present || error.status() != GPUCTR_E_NO_DEVICE)
            throw;
        messages.warn(error.what());
    }
}

} // namespace gpuctr_setup
