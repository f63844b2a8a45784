// SPDX-License-Identifier: MIT
#include "drivers/nvidia/directories.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/driver.hpp"

#include <algorithm>

namespace gpucontainer::drivers::nvidia {

const std::vector<std::string>& odd_directories()
{
    static const std::vector<std::string> places = {
        "/usr/local/nvidia/lib64",       "/usr/local/nvidia/lib",
        "/run/opengl-driver/lib",        // NixOS
        "/usr/lib/*-linux-gnu/nvidia/*", // Debian: branches that its alternatives do not name
        "/opt/nvidia/current/usr/lib64", // Flatcar
        "/usr/lib/nvidia/tesla",         // Bottlerocket
        "/usr/local/glibc/lib",          // Talos
        "/usr/local/glibc/usr/lib",
    };
    return places;
}

std::vector<std::string> prefixes_of(std::span<const std::string> library_directories)
{
    std::vector<std::string> prefixes;
    for (const std::string& directory : library_directories) {
        const std::string prefix(directory == "/" ? "" : base::directory_of(directory));
        const bool is_system = !prefix.empty() && base::is_below("/usr/lib", prefix);
        if (!is_system && std::ranges::find(prefixes, prefix) == prefixes.end())
            prefixes.push_back(prefix);
    }
    return prefixes;
}

std::vector<std::string> module_directories(model::Catalogue catalogue,
                                            std::span<const std::string> library_directories)
{
    std::vector<std::string> places;
    const auto add = [&](std::string place) {
        if (std::ranges::find(places, place) == places.end())
            places.push_back(std::move(place));
    };
    for (const model::CatalogueRule& rule : catalogue) {
        if (rule.module.empty() || rule.module.ends_with(".so"))
            continue;
        for (const std::string& directory : library_directories)
            add(base::format("{}/{}", directory == "/" ? "" : directory, rule.module));
        if (rule.module.starts_with(model::x_server_modules))
            for (const char* top : {"/usr/lib", "/usr/lib64"})
                add(base::format("{}/{}", top, rule.module));
    }
    for (const std::string& directory : library_directories)
        add(base::format("{}/nvidia/xorg", directory == "/" ? "" : directory));  // Ubuntu
    for (const char* directory : {"/usr/lib/nvidia", "/usr/lib/nvidia/current"}) // Debian
        add(directory);
    return places;
}

} // namespace gpucontainer::drivers::nvidia
