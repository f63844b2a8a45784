// SPDX-License-Identifier: MIT
#include "image/place.hpp"

#include "fuzz/fuzz.hpp"
#include "fuzz/memory_file.hpp"

namespace gpucontainer::fuzz {

void run(std::string_view input)
{
    const auto file = memory_file(input);
    const auto place = image::find_root_file_system(file.get());
    if (!place) {
        demand(place.error().code() == Errc::rootfs || place.error().code() == Errc::requirement,
               "an image that is refused is one of the root file system's faults");
        return;
    }
    demand(place->offset <= input.size() && place->size <= input.size() - place->offset,
           "the root file system lies within the file");
    demand(input.substr(place->offset, 4) == "hsqs", "the root file system is squashfs");
}

} // namespace gpucontainer::fuzz
