// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::cdi {

/// A fact about the host that a specification was made from: "driver" is "nvidia 580.159.04".
struct Mark {
    std::string object;
    std::string state;

    bool operator==(const Mark&) const = default;
};

/// What was installed, from what: one for each kind.
struct Record {
    std::string path;
    std::vector<Mark> marks;
};

std::string record_path(const std::string& files_directory, const std::string& kind);
/// Where the text of the specification is, as it was installed: another one is not ours.
std::string installed_path(const std::string& files_directory, const std::string& kind);
std::string to_text(const Record& record);
/// None for anything else.
std::optional<Record> parse_record(std::string_view text);

/// The state of a file that containers get: it differs once the file is replaced.
std::string state_of_file(const std::string& path);

} // namespace gpucontainer::cdi
