// SPDX-License-Identifier: MIT
#include "image/image_file.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"

#include <fcntl.h>
#include <gpucontainer/gpucontainer.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace gpuctr_cli {
namespace {

constexpr const char* archive = "archive";

void find_root_file_system(ImageFile& image, ImageUse use)
try {
    const auto place = gpucontainer::find_image(image.file.get());
    image.offset = place.offset;
    image.size = place.size;
    image.is_signed = place.is_signed;
    image.has_overlay = place.has_overlay;
} catch (const gpucontainer::Error& error) {
    if (use == ImageUse::looked_at && error.object() == archive)
        return;
    throw gpucontainer::Error(error.status(), formatted("image {}: {}", image.name, error.what()),
                              std::string(error.hint()), error.os_error(), {}, "rootfs");
}

} // namespace

std::optional<ImageFile> open_image_file(const std::string& path, ImageUse use)
{
    // A FIFO would make the caller wait, and a device may do anything when it is opened.
    const Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status = {};
    if (!place || ::fstat(place.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return std::nullopt;
    ImageFile image;
    image.name = path;
    image.file =
        Fd(::open(formatted("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC));
    if (!image.file)
        fail("image " + path, GPUCTR_E_ROOTFS, "this user has to be able to read it", "rootfs");
    find_root_file_system(image, use);
    return image;
}

std::optional<ImageFile> open_image_file(int fd, std::string name, ImageUse use)
{
    struct stat status = {};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return std::nullopt;
    ImageFile image;
    image.name = std::move(name);
    image.file = Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!image.file)
        fail(image.name, GPUCTR_E_ROOTFS, "", "rootfs-fd");
    find_root_file_system(image, use);
    return image;
}

} // namespace gpuctr_cli
