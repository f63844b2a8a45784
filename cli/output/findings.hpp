// SPDX-License-Identifier: MIT
#pragma once

#include "output/output.hpp"
#include "output/paint.hpp"
#include "output/table.hpp"

#include <cstdio>
#include <gpucontainer/gpucontainer.hpp>
#include <string_view>

namespace gpuctr_cli {

inline std::string_view name(gpucontainer::Severity severity)
{
    switch (severity) {
    case gpucontainer::Severity::note:
        return "note";
    case gpucontainer::Severity::need:
        return "need";
    case gpucontainer::Severity::warning:
        return "warning";
    case gpucontainer::Severity::error:
        return "error";
    }
    return "finding";
}

/// Prints what the caller must add to the container, one line each.
template <typename Findings>
void print_needs(const Findings& findings, std::FILE* out, const Paint& paint)
{
    for (const gpucontainer::Finding finding : findings)
        if (finding.severity() == gpucontainer::Severity::need)
            print(out, "\n{} {}\n", paint.heading("need:"), printable(finding.message()));
}

/// Prints what was left out, and why. Prints nothing if there is nothing.
template <typename Findings>
void print_notes(const Findings& findings, std::FILE* out, const Paint& paint)
{
    Table table({"LEFT OUT", "PATH", "REASON"});
    for (const gpucontainer::Finding finding : findings)
        if (finding.severity() == gpucontainer::Severity::note)
            table.add({printable(finding.object()), printable(finding.evidence()),
                       printable(finding.text())});
    if (table.empty())
        return;
    print(out, "\n");
    table.print(out, paint);
}

} // namespace gpuctr_cli
