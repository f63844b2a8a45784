// SPDX-License-Identifier: MIT
#include "settings/origins.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace gpuctr_cli {
namespace {

/// How the library and the parts of the command that know no option call its value.
struct Topic {
    std::string_view option;
    std::string_view words;
    bool is_shared = false; ///< Others are called so too: it has to be one of the values.
};
constexpr std::array topics = {
    Topic{"allowed-devices", "allowed devices"},
    Topic{"catalogue", "catalogue", true},
    Topic{"chdir", "working directory"},
    Topic{"dev-root", "device root"},
    Topic{"driver-capabilities", "driver capability"},
    Topic{"driver-capabilities", "unknown driver capability"},
    Topic{"driver-root", "driver root"},
    Topic{"driver-version", "driver version"},
    Topic{"host", "host record"},
    Topic{"mount-label", "mount label"},
    Topic{"restricted-rootfs", "restricted-rootfs"},
    Topic{"restricted-user", "restricted-user"},
    Topic{"rootfs", "root file system"},
    Topic{"staged-tree", "staged tree"},
    Topic{"state-dir", "journal directory"},
    Topic{"tree-path", "tree path"},
    Topic{"vendor", "options of the host: unknown vendor"},
};

/// What follows the words at the beginning of a message; empty where it begins otherwise.
std::string_view rest_behind(std::string_view message, std::string_view words)
{
    if (!message.starts_with(words))
        return {};
    message.remove_prefix(words.size());
    return message.starts_with(": ")  ? message.substr(2)
           : message.starts_with(' ') ? message.substr(1)
                                      : std::string_view();
}

bool is_about(std::string_view message, const std::string& option, const Origin& origin)
{
    if (!rest_behind(message, "--" + option).empty())
        return true;
    const auto names_one = [&] {
        return std::any_of(origin.values.begin(), origin.values.end(),
                           [&](const std::string& value) {
                               return message.find(value) != std::string_view::npos;
                           });
    };
    return std::any_of(topics.begin(), topics.end(), [&](const Topic& topic) {
        return topic.option == option && !rest_behind(message, topic.words).empty()
               && (!topic.is_shared || names_one());
    });
}

} // namespace

std::string attributed(const std::string& message, const std::string& option,
                       const std::string& place)
{
    const bool is_called_so = std::any_of(topics.begin(), topics.end(), [&](const Topic& topic) {
        return topic.option == option && topic.words == option;
    });
    auto rest = rest_behind(message, "--" + option);
    if (rest.empty() && is_called_so)
        rest = rest_behind(message, option);
    return place + ": " + (rest.empty() ? message : std::string(rest));
}

void Origins::add(const std::string& option, Origin origin)
{
    origins_[option] = std::move(origin);
}

std::string Origins::place_of(const std::string& option) const
{
    const auto found = origins_.find(option);
    return found == origins_.end() ? "" : found->second.place;
}

std::string Origins::explain(const std::string& message) const
{
    for (const auto& [option, origin] : origins_)
        if (is_about(message, option, origin))
            return attributed(message, option, origin.place);
    return message;
}

} // namespace gpuctr_cli
