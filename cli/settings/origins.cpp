// SPDX-License-Identifier: MIT
#include "settings/origins.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace gpuctr_cli {
namespace {

/// An argument of the library's whose option has another name.
struct Renamed {
    std::string_view argument;
    std::string_view option;
};
constexpr std::array renamed = {
    Renamed{"catalogues", "catalogue"},
    Renamed{"compat", "cuda-compat"},
    Renamed{"devices", "device"},
    Renamed{"directory", "staged-tree"}, // of what is staged
    Renamed{"json", "host"},
    Renamed{"requirements", "require"},
    Renamed{"rootfs_fd", "rootfs"},
    Renamed{"toolkit", "cuda-toolkit"},
    Renamed{"vendors", "vendor"},
};

std::string option_of(std::string argument)
{
    const auto* const found = std::find_if(renamed.begin(), renamed.end(), [&](const Renamed& one) {
        return one.argument == argument;
    });
    if (found != renamed.end())
        return std::string(found->option);
    std::replace(argument.begin(), argument.end(), '_', '-');
    return argument;
}

/// What follows the words at the beginning of a message; the whole where it begins otherwise.
std::string_view rest_behind(std::string_view words, std::string_view message)
{
    const std::string_view rest = message.substr(std::min(words.size(), message.size()));
    if (!message.starts_with(words))
        return message;
    return rest.starts_with(": ")  ? rest.substr(2)
           : rest.starts_with(' ') ? rest.substr(1)
                                   : message;
}

} // namespace

std::string attributed(const std::string& message, const std::string& option,
                       const std::string& place)
{
    std::string_view rest = rest_behind("--" + option, message);
    if (option == "catalogue") // the library's word for it, too
        rest = rest_behind(option, rest);
    if (option == "require")
        rest = rest_behind("requirement", rest);
    return place + ": " + std::string(rest);
}

void Origins::add(const std::string& option, const std::string& place) { places_[option] = place; }

std::string Origins::place_of(const std::string& option) const
{
    const auto found = places_.find(option);
    return found == places_.end() ? "" : found->second;
}

std::string Origins::option_of(const gpucontainer::Error& error)
{
    return gpuctr_cli::option_of(error.argument());
}

std::string Origins::option_of(const std::string& argument)
{
    return gpuctr_cli::option_of(argument);
}

std::string Origins::explain(const gpucontainer::Error& error) const
{
    const std::string option = option_of(error);
    const std::string place = place_of(option);
    return place.empty() ? error.what() : attributed(error.what(), option, place);
}

} // namespace gpuctr_cli
