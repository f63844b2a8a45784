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
                                            std::span<const std::string> library_directories,
                                            bool compat32)
{
    std::vector<std::string> places;
    const auto add = [&](std::string place) {
        if (std::ranges::find(places, place) == places.end())
            places.push_back(std::move(place));
    };
    for (const model::CatalogueRule& rule : catalogue) {
        const bool is_of_x_server = rule.module.starts_with(model::x_server_modules);
        if (rule.kind != model::FileKind::library || rule.module.empty()
            || rule.module.ends_with(".so") || (is_of_x_server && compat32))
            continue;
        for (const std::string& directory : library_directories)
            add(base::format("{}/{}", directory == "/" ? "" : directory, rule.module));
        if (is_of_x_server)
            for (const char* top : {"/usr/lib", "/usr/lib64"})
                add(base::format("{}/{}", top, rule.module));
    }
    if (compat32)
        return places;
    for (const std::string& directory : library_directories)
        add(base::format("{}/nvidia/xorg", directory == "/" ? "" : directory));  // Ubuntu
    for (const char* directory : {"/usr/lib/nvidia", "/usr/lib/nvidia/current"}) // Debian
        add(directory);
    return places;
}

std::vector<std::string> compat32_directories(std::span<const std::string> library_directories)
{
    std::vector<std::string> places = {
        "/usr/lib/i386-linux-gnu",          // Debian, Ubuntu
        "/usr/lib/i386-linux-gnu/nvidia/*", // Debian: its branches
        "/usr/lib32",                       // Arch
        "/usr/lib",                         // RHEL, Fedora, SUSE
        "/usr/lib/arm-linux-gnueabihf",
        "/usr/lib/arm-linux-gnueabihf/nvidia/*",
        "/usr/local/nvidia/lib32",
        "/run/opengl-driver-32/lib", // NixOS
    };
    for (const std::string& directory : library_directories) {
        const std::string top = directory == "/" ? "" : directory;
        places.push_back(top + "/32"); // as NVIDIA's installer unpacks them
        if (!base::is_below(top, "/usr/lib") && !top.empty())
            places.push_back(base::format("{}/lib32", base::directory_of(top)));
    }
    return places;
}

} // namespace gpucontainer::drivers::nvidia
