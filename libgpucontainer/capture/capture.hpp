// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "capture/report.hpp"
#include "detect/detection.hpp"
#include "model/finding.hpp"
#include "plan/request.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::capture {

/// What a report is about.
struct Subject {
    detect::Detection detection;
    plan::Request request;
    bool with_identities = false;         ///< Nothing is replaced.
    std::vector<std::string> environment; ///< NAME=VALUE of the caller.
    std::string version;                  ///< Of the library.
};

/// Gathers what this host shows of its GPUs: what the kernel says, device nodes, files of drivers
/// without their content, and what detection and a plan make of them. In the form of recorded
/// hosts, which can be simulated. What cannot be read is left out, and said. Nothing is executed,
/// no device is opened or woken.
Report gather(const Subject& subject);

/// Writes it as an archive. Errors: those of writing; requirement, if it is too large.
Result<void> write(const Report& report, int fd);

/// What was replaced, and what could not be read, for people.
model::Findings findings_of(const Report& report);

} // namespace gpucontainer::capture
