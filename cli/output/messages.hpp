// SPDX-License-Identifier: MIT
#pragma once

#include "output/format.hpp"
#include "output/output.hpp"
#include "output/table.hpp"

#include <cstdio>
#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_cli {

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

    /// `about` is what the finding is of, where that does not show; or "".
    void warn(const gpucontainer::Finding& finding, std::string_view about = "") const
    {
        if (verbosity == Verbosity::quiet)
            return;
        say(err, "gpuctr-setup: warning: {}{}{}\n", printable(about), about.empty() ? "" : ": ",
            printable(finding.message()));
        if (!finding.hint().empty())
            say(err, "hint: {}\n", printable(finding.hint()));
    }
};

/// Of a host, driver or plan.
template <typename Findings>
void warn_about(const Findings& findings, const Messages& messages)
{
    for (const gpucontainer::Finding finding : findings)
        if (finding.severity() >= gpucontainer::Severity::warning)
            messages.warn(finding);
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

} // namespace gpuctr_cli
