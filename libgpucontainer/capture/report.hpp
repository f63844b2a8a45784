// SPDX-License-Identifier: MIT
#pragma once

#include "capture/replacements.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::capture {

/// What a report is made of, before it is written: members of the archive by their names, and what
/// could not be read.
struct Report {
    explicit Report(bool with_identities) : replacements(with_identities) {}

    Replacements replacements;
    std::map<std::string, std::string> members;
    /// Paths, and why they are not in the report.
    std::vector<std::pair<std::string, std::string>> unread;

    /// Adds a text, without what identifies.
    void add(std::string name, std::string_view text)
    {
        members.insert_or_assign(std::move(name), replacements.in(text));
    }
};

} // namespace gpucontainer::capture
