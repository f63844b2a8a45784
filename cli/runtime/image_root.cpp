// SPDX-License-Identifier: MIT
#include "runtime/image_root.hpp"

#include "image/loop_device.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "syscall/fd_path.hpp"

#include <cerrno>
#include <fcntl.h>
#include <gpucontainer/gpucontainer.hpp>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

unsigned long flags_of(const ImageOptions& options)
{
    unsigned long flags = MS_RDONLY | MS_NODEV;
    if (!options.allow_setuid)
        flags |= MS_NOSUID;
    return flags;
}

std::string context_of(const ImageOptions& options)
{
    return options.label.empty() ? "" : formatted("context=\"{}\"", options.label);
}

/// The kernel reads an image of root's as it reads a disk, so only root may change it.
void check_trust(const ImageFile& image)
try {
    gpucontainer::check_image_trust(image.file.get(), image.name);
} catch (const gpucontainer::Error& error) {
    throw gpucontainer::Error(
        error.status(), formatted("mount image {}: {}", image.name, error.what()),
        "copy it to where root alone may write, or start this as an ordinary user, for whom "
        "squashfuse reads it",
        error.os_error(), {}, "rootfs");
}

} // namespace

ImageRoot::ImageRoot(const ImageFile& image, bool writable) : image_(image)
{
    if (may_use_loop_devices()) {
        check_trust(image);
        return;
    }
    // An overlay copies a directory with its owner, before something is written into it.
    if (writable)
        throw gpucontainer::Error(
            GPUCTR_E_REQUIREMENT,
            "--writable-tmpfs: the files of an image belong to root, who is nobody in the user "
            "namespace of an ordinary user",
            "give CMD a directory to write into, with --bind SRC:DST; or unpack the image", 0, {},
            "writable-tmpfs");
    squashfuse_ = Squashfuse::start(image);
}

Fd ImageRoot::mount(const PrivateMounts& mounts, const ImageOptions& options)
{
    return squashfuse_ ? mount_by_squashfuse(mounts, options) : mount_by_kernel(mounts, options);
}

Fd ImageRoot::mount_by_kernel(const PrivateMounts& mounts, const ImageOptions& options) const
{
    const Fd device = attach_to_loop_device(image_);
    Fd root = mounts.mount(gpucontainer::syscall::FdPath(device.get()), "squashfs",
                           flags_of(options), context_of(options));
    if (!root)
        fail("mount image " + image_.name, GPUCTR_E_ROOTFS,
             errno == ENODEV   ? "this kernel has no squashfs: modprobe squashfs"
             : errno == EINVAL ? "it is damaged, or compressed in a way that this kernel does not "
                                 "know; its log says more"
                               : "",
             "rootfs");
    return root;
}

Fd ImageRoot::mount_by_squashfuse(const PrivateMounts& mounts, const ImageOptions& options)
{
    // Opened in the user namespace that mounts it, or the kernel refuses it.
    Fd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (!device)
        fail(
            "/dev/fuse", GPUCTR_E_REQUIREMENT,
            "squashfuse reads images for ordinary users by it: load the module fuse, and let users "
            "open the node (mode 0666)");
    std::string words = formatted("fd={},rootmode=40000,user_id={},group_id={}", device.get(),
                                  ::geteuid(), ::getegid());
    if (!options.label.empty())
        words += "," + context_of(options);
    Fd root = mounts.mount("squashfuse", "fuse", flags_of(options), words);
    if (!root)
        fail("mount image " + image_.name, GPUCTR_E_ROOTFS, "", "rootfs");
    squashfuse_->serve(std::move(device));
    // It answers, or has ended.
    struct stat status = {};
    if (::fstatat(root.get(), "usr", &status, AT_SYMLINK_NOFOLLOW) != 0 && errno != ENOENT)
        throw gpucontainer::Error(GPUCTR_E_ROOTFS,
                                  formatted("mount image {}: squashfuse ended", image_.name),
                                  "see what it says: squashfuse IMAGE DIR; versions that use "
                                  "libfuse 2 cannot serve this mount",
                                  errno, {}, "rootfs");
    return root;
}

} // namespace gpuctr_cli
