// SPDX-License-Identifier: MIT
#include "image/file_system.hpp"

#include "image/refusal.hpp"

#include <cerrno>

namespace gpucontainer::image {

Error error_of(int os_error, std::string_view detail)
{
    if (is_refusal(os_error))
        return refusal_error(os_error, detail);
    switch (os_error) {
    case EOPNOTSUPP:
        return Error(Errc::requirement, "it is compressed by a method that libsquashfs lacks")
            .with_hint("make it again with mksquashfs -comp gzip or zstd, or name a directory");
    case EFBIG:
    case EIO:
        return Error::from_errno(os_error, "read", Errc::rootfs);
    default:
        return Error(Errc::rootfs, "it is damaged, or takes too much time or memory to be read")
            .with_hint(
                "copy it once more; `unsquashfs -s`, or `tar -t` for an archive, may say more");
    }
}

int os_error_of(const Error& error) noexcept
{
    if (is_refusal(error.os_error()))
        return error.os_error();
    if (error.code() == Errc::requirement)
        return EOPNOTSUPP;
    return error.os_error() != 0 ? error.os_error() : EBADMSG;
}

} // namespace gpucontainer::image
