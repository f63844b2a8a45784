// SPDX-License-Identifier: MIT
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "image/place.hpp"

using namespace gpucontainer;

gpuctr_status gpuctr_image_find(int fd, uint64_t* ret_offset, uint64_t* ret_size,
                                uint32_t* ret_flags, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (ret_offset == nullptr || ret_size == nullptr || ret_flags == nullptr || fd < 0)
            return Error(Errc::usage,
                         "gpuctr_image_find: fd, ret_offset, ret_size or ret_flags is missing");
        GPUCTR_TRY(const image::Place place, image::find_root_file_system(fd));
        *ret_offset = place.offset;
        *ret_size = place.size;
        *ret_flags = (place.is_signed ? GPUCTR_IMAGE_SIGNED : 0U)
                     | (place.has_overlay ? GPUCTR_IMAGE_OVERLAY : 0U);
        return {};
    });
}
