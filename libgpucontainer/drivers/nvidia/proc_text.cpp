// SPDX-License-Identifier: MIT
#include "drivers/nvidia/proc_text.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace gpucontainer::drivers::nvidia {

std::map<std::string, std::string> fields(std::string_view text)
{
    std::map<std::string, std::string> found;
    for (const std::string_view line : base::split(text, '\n')) {
        const auto colon = line.find(':');
        if (colon == std::string_view::npos)
            continue;
        const std::string_view value = base::trim(line.substr(colon + 1));
        if (std::ranges::none_of(value, base::is_control))
            found.emplace(base::trim(line.substr(0, colon)), value);
    }
    return found;
}

} // namespace gpucontainer::drivers::nvidia
