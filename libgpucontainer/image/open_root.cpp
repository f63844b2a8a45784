// SPDX-License-Identifier: MIT
#include "image/open_root.hpp"

#include "base/try.hpp"
#include "image/confined.hpp"
#include "image/image_view.hpp"
#include "image/place.hpp"
#include "image/squashfs.hpp"
#include "rootfs/root.hpp"

#include <sys/stat.h>
#include <utility>

namespace gpucontainer::image {
namespace {

Result<std::unique_ptr<ImageView>> open_image(int fd)
{
    GPUCTR_TRY(const Place place, find_root_file_system(fd));
    GPUCTR_TRY(const auto functions, load_squash_functions());
    GPUCTR_TRY(std::shared_ptr<FileSystem> files, open_confined(fd, [&](int image) {
                   return open_squashfs(functions, image, place);
               }));
    return ImageView::open(std::move(files));
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
    return std::unique_ptr<rootfs::RootView>(std::make_unique<rootfs::Root>(std::move(root)));
}

} // namespace gpucontainer::image
