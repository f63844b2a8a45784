// SPDX-License-Identifier: MIT
#include "image/open_root.hpp"

#include "base/try.hpp"
#include "image/archive.hpp"
#include "image/confined.hpp"
#include "image/image_view.hpp"
#include "image/place.hpp"
#include "image/squashfs.hpp"
#include "rootfs/root.hpp"

#include <cerrno>
#include <cstdint>
#include <sys/stat.h>
#include <utility>

namespace gpucontainer::image {
namespace {

Result<std::unique_ptr<ImageView>> open_layers(int fd)
{
    struct stat status = {};
    if (::fstat(fd, &status) != 0)
        return Error::from_errno(errno, "read", Errc::rootfs);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    GPUCTR_TRY(std::shared_ptr<FileSystem> files,
               open_confined(fd, [&](int image) { return open_archive(image, size); }));
    return ImageView::open(std::move(files));
}

Result<std::unique_ptr<ImageView>> open_image(int fd)
{
    auto place = find_root_file_system(fd);
    // A file may begin like several kinds: it is what programs would mount.
    if (!place && place.error().object() == archive_kind)
        return open_layers(fd);
    if (!place)
        return std::move(place).error();
    GPUCTR_TRY(const auto functions, load_squash_functions());
    GPUCTR_TRY(std::shared_ptr<FileSystem> files, open_confined(fd, [&](int image) {
                   return open_squashfs(functions, image, *place);
               }));
    return ImageView::open(std::move(files));
}

/// An image as it is stored, in place of a root file system. One that has such names in it besides
/// is one.
Result<void> check_is_no_layout(const rootfs::Root& root)
{
    using rootfs::EntryType;
    const auto has_file = [&](const char* path) {
        return root.look(path).type == EntryType::regular;
    };
    if (!has_file("/oci-layout") || !has_file("/index.json") || root.look("/etc")
        || root.look("/usr"))
        return {};
    return Error(
               Errc::requirement,
               "the directory is an OCI layout: an image as it is stored, and no root file system")
        .with_hint("unpack it, and name the unpacked directory: umoci unpack, or apptainer build "
                   "--sandbox NEW oci:DIR; check and plan also take what skopeo copy oci:DIR "
                   "docker-archive:FILE writes");
}

} // namespace

bool is_file(int fd)
{
    struct stat status = {};
    return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

Result<std::unique_ptr<rootfs::RootView>> open_root(int fd,
                                                    const std::optional<privilege::Owner>& owner)
{
    if (is_file(fd)) {
        GPUCTR_TRY(auto opened, open_image(fd), "image");
        return std::unique_ptr<rootfs::RootView>(std::move(opened));
    }
    GPUCTR_TRY(rootfs::Root root, rootfs::Root::open(fd, owner));
    GPUCTR_CHECK(check_is_no_layout(root));
    return std::unique_ptr<rootfs::RootView>(std::make_unique<rootfs::Root>(std::move(root)));
}

} // namespace gpucontainer::image
