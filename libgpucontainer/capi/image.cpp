// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "base/trusted_way.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "image/place.hpp"

#include <fcntl.h>
#include <sys/stat.h>

using namespace gpucontainer;

gpuctr_status gpuctr_image_check_trust(int fd, const char* path, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (path == nullptr || fd < 0)
            return Error(Errc::usage, "gpuctr_image_check_trust: fd or path is missing");
        GPUCTR_TRY(auto way, base::TrustedWay::walk(path, O_PATH));
        struct stat given = {};
        struct stat found = {};
        if (!way.fd || ::fstat(fd, &given) != 0 || ::fstat(way.fd.get(), &found) != 0
            || given.st_dev != found.st_dev || given.st_ino != found.st_ino)
            return Error(Errc::usage, base::format("{}: it is another file by now", path))
                .with_object(path);
        if (way.distrust)
            return std::move(*way.distrust);
        return base::check_trust(fd, path);
    });
}

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
