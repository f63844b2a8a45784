// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::test {

struct CommandResult {
    std::string output;
    int status = -1;
};

/// Runs `line` in a shell that finds the administrator's programs too.
inline CommandResult run_command(const std::string& line)
{
    CommandResult result;
    std::FILE* stream = ::popen(("PATH=$PATH:/usr/sbin:/sbin; " + line + " 2>&1").c_str(), "re");
    if (stream == nullptr)
        return result;
    std::array<char, 4096> buffer;
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), stream))
        result.output.append(buffer.data(), got);
    result.status = ::pclose(stream);
    return result;
}

/// A line of `ldconfig -p`: "\tKEY (DESCRIPTION) => PATH".
struct PrintedEntry {
    std::string key;
    std::string description;
    std::string path;

    bool operator==(const PrintedEntry&) const = default;
};

inline std::vector<PrintedEntry> parse_printed_cache(std::string_view text)
{
    std::vector<PrintedEntry> entries;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const auto open = line.find(" (");
        const auto close = line.find(") => ");
        if (line.empty() || line.front() != '\t' || close == std::string_view::npos)
            continue;
        entries.push_back({std::string(line.substr(1, open - 1)),
                           std::string(line.substr(open + 2, close - open - 2)),
                           std::string(line.substr(close + 5))});
    }
    return entries;
}

} // namespace gpucontainer::test
