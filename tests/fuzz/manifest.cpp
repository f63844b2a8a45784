// SPDX-License-Identifier: MIT
#include "search/manifest.hpp"

#include "fuzz/fuzz.hpp"

#include <string>

namespace gpucontainer::fuzz {

/// The JSON document by which a loader of EGL or Vulkan finds a driver.
void run(std::string_view input)
{
    for (const std::string& library : search::libraries_of_manifest(input))
        demand(library.size() <= input.size(), "a manifest has its libraries");
    const auto is_known = [](const std::string& library) { return library.starts_with("lib"); };
    const auto manifest = search::read_manifest(input, is_known);
    if (!manifest)
        return;
    demand(is_known(manifest->library), "its library is known");
    demand(manifest->library.find('/') == std::string::npos, "a name has no directory");
    const auto again = search::read_manifest(manifest->content, is_known);
    // It grows by indentation.
    demand(again ? again->content == manifest->content && again->library == manifest->library
                 : again.error().message() == "is larger than a manifest",
           "what was fitted fits");
}

} // namespace gpucontainer::fuzz
