// SPDX-License-Identifier: MIT
#pragma once

#include "output/messages.hpp"

#include <csignal>
#include <string>

namespace gpuctr_cli {

/// Tells a person at a terminal what goes on, if it takes longer than a second. One at a time.
class Progress {
public:
    /// `what` is said then: "still looking at /srv/image".
    Progress(const Streams& streams, Verbosity verbosity, const std::string& what);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();

private:
    bool is_on_ = false;
    struct sigaction before_ = {};
};

} // namespace gpuctr_cli
