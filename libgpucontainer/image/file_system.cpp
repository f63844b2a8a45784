// SPDX-License-Identifier: MIT
#include "image/file_system.hpp"

#include <cerrno>

namespace gpucontainer::image {

Error error_of(int os_error)
{
    switch (os_error) {
    case EOPNOTSUPP:
        return Error::from_errno(os_error, "it is compressed by a method that libsquashfs lacks",
                                 Errc::requirement)
            .with_hint("make it again with mksquashfs -comp gzip or zstd, or name a directory");
    case EFBIG:
        return Error::from_errno(os_error, "it is larger than is read of an image", Errc::rootfs);
    case EIO:
        return Error::from_errno(os_error, "read", Errc::rootfs);
    default:
        return Error::from_errno(EBADMSG, "the image is damaged", Errc::rootfs)
            .with_hint("copy it once more; `rdsquashfs` and `unsquashfs` may say more");
    }
}

} // namespace gpucontainer::image
