// SPDX-License-Identifier: MIT
#include "options/accepted_wishes.hpp"

#include "options/values.hpp"
#include "output/format.hpp"

#include <gpucontainer/gpucontainer.hpp>
#include <sstream>
#include <string_view>

namespace gpuctr_cli {
namespace {

/// The wishes of a container that may count.
const NamedValues<std::uint32_t>& wishes()
{
    static const NamedValues<std::uint32_t> names = {{"environment", GPUCTR_WISH_ENVIRONMENT},
                                                     {"privileged", GPUCTR_WISH_PRIVILEGED},
                                                     {"mounts", GPUCTR_WISH_MOUNTS},
                                                     {"legacy", GPUCTR_WISH_LEGACY}};
    return names;
}

/// The flag of a word; 0 if it is none.
std::uint32_t wish_of(std::string_view word)
{
    for (const auto& [name, wish] : wishes())
        if (word == name)
            return wish;
    return 0;
}

/// Those of a list with commas.
std::uint32_t flags_in(const std::string& list)
{
    std::uint32_t accepted = 0;
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');)
        accepted |= wish_of(word);
    return accepted;
}

std::string check_wishes(const std::string& list)
{
    std::istringstream words(list + ",");
    for (std::string word; std::getline(words, word, ',');)
        if (wish_of(word) == 0)
            return formatted("'{}' is none of environment, privileged, mounts and legacy", word);
    if ((flags_in(list) & GPUCTR_WISH_LEGACY) != 0
        && (flags_in(list) & (GPUCTR_WISH_ENVIRONMENT | GPUCTR_WISH_PRIVILEGED)) == 0)
        return "legacy is about the environment, and goes with environment or privileged";
    return "";
}

} // namespace

void AcceptedWishes::add_to(CLI::App& command)
{
    command
        .add_option("--accept", list,
                    "whose wish for GPUs counts, separated by commas: environment, privileged (the "
                    "environment of privileged containers alone), mounts, and legacy (older images "
                    "that name no GPUs)")
        ->type_name("LIST")
        ->check(check_wishes)
        ->capture_default_str();
}

std::uint32_t AcceptedWishes::flags() const { return flags_in(list); }

} // namespace gpuctr_cli
