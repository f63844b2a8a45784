// SPDX-License-Identifier: MIT
#include "image/image_file.hpp"

#include "fuzz/fuzz.hpp"
#include "fuzz/memory_text.hpp"

#include <gpucontainer/gpucontainer.hpp>
#include <sys/mman.h>

namespace gpucontainer::fuzz {

void run(std::string_view input)
{
    gpuctr_cli::ImageFile image;
    image.name = "image";
    image.file = gpuctr_cli::Fd(::memfd_create("image", MFD_CLOEXEC));
    fill(image.file.get(), input);
    try {
        gpuctr_cli::find_root_file_system(image, input.size());
    } catch (const Error& error) {
        demand(error.status() == GPUCTR_E_ROOTFS || error.status() == GPUCTR_E_REQUIREMENT,
               "an image that is refused is one of the root file system's faults");
        return;
    }
    demand(image.offset <= input.size() && image.size <= input.size() - image.offset,
           "the root file system lies within the file");
    demand(input.substr(image.offset, 4) == "hsqs", "the root file system is squashfs");
}

} // namespace gpucontainer::fuzz
