// SPDX-License-Identifier: MIT
#include "search/installation.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::search {
namespace {

constexpr std::string_view systems_own = "/usr";

/// Each package of Nix and Guix has its own directory, and names the packages that it fits.
bool is_in_store(std::string_view path)
{
    return base::is_below(path, "/nix/store") || base::is_below(path, "/gnu/store");
}

std::string prefix_of(std::string_view path)
{
    constexpr std::array<std::string_view, 8> parts = {"lib", "lib64", "lib32", "libexec",
                                                       "bin", "sbin",  "share", "etc"};
    std::string prefix;
    for (const std::string_view name : base::split(base::directory_of(path), '/')) {
        if (std::ranges::find(parts, name) != parts.end())
            break;
        if (!name.empty())
            prefix += base::format("/{}", name);
    }
    return prefix.empty() ? std::string(systems_own) : prefix;
}

} // namespace

void Installation::choose(std::string_view path)
{
    if (prefix_.empty())
        prefix_ = prefix_of(path);
}

bool Installation::holds(std::string_view path) const
{
    if (prefix_.empty() || is_in_store(path))
        return true;
    const std::string prefix = prefix_of(path);
    return base::is_below(prefix, prefix_) || base::is_below(prefix_, prefix);
}

bool Installation::admits(std::string_view path) const
{
    return holds(path) || prefix_of(path) == systems_own;
}

std::string Installation::objection_to(std::string_view path) const
{
    return base::format("belongs to the installation {}; the one in use is {}", prefix_of(path),
                        prefix_);
}

std::string Installation::own_path(std::string_view path) const
{
    const std::string usual = prefix_of(path);
    const bool is_of_usual = prefix_.starts_with(usual + "/") || prefix_.starts_with(usual + "-");
    return is_of_usual && path.starts_with(usual + "/")
               ? base::format("{}{}", prefix_, path.substr(usual.size()))
               : "";
}

} // namespace gpucontainer::search
