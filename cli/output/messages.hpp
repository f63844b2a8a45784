// SPDX-License-Identifier: MIT
#pragma once

#include "output/format.hpp"
#include "output/output.hpp"
#include "output/table.hpp"

#include <cstdio>
#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_cli {

/// Results go to `out`, messages for people to `err`.
struct Streams {
    std::FILE* out;
    std::FILE* err;
};

enum class Verbosity : int { quiet, normal, verbose };

/// Prints warnings, except with -q.
struct Messages {
    std::FILE* err;
    Verbosity verbosity;

    void warn(std::string_view text) const
    {
        if (verbosity != Verbosity::quiet)
            say(err, "gpuctr-setup: warning: {}\n", printable(text));
    }

    /// `about` is put before the message, if it does not say itself what it is about; or "".
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

/// Prints the warnings among the findings of a host, driver or plan.
template <typename Findings>
void warn_about(const Findings& findings, const Messages& messages)
{
    for (const gpucontainer::Finding finding : findings)
        if (finding.severity() >= gpucontainer::Severity::warning)
            messages.warn(finding);
}

/// Does work that needs a GPU. With `if_present`, a missing GPU is a warning.
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
