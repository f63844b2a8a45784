// SPDX-License-Identifier: MIT
#include "settings/known_keys.hpp"

namespace gpuctr_cli {

bool KnownKeys::add_next()
{
    auto more = others_(next_++);
    if (more)
        keys_.merge(*more);
    return more.has_value();
}

std::optional<bool> KnownKeys::takes_list(const std::string& key)
{
    do {
        if (const auto found = keys_.find(key); found != keys_.end())
            return found->second;
    } while (add_next());
    return std::nullopt;
}

std::vector<std::string> KnownKeys::names()
{
    while (add_next()) {
    }
    std::vector<std::string> names;
    for (const auto& [name, takes_list] : keys_)
        names.push_back(name);
    return names;
}

} // namespace gpuctr_cli
