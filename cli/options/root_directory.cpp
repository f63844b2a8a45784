// SPDX-License-Identifier: MIT
#include "options/root_directory.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"
#include "process/standard_descriptors.hpp"
#include "restricted/root.hpp"
#include "runtime/container_process.hpp"

#include <cerrno>
#include <fcntl.h>
#include <utility>

namespace gpuctr_cli {
namespace {

const char* directory_hint()
{
    if (errno == EACCES)
        return "this user may not enter it or a directory above it (mode x); --rootfs-fd takes "
               "a descriptor that somebody else opened";
    if (errno == ENOTDIR)
        return "name a directory; an image file (SIF or squashfs) goes with -- CMD, plan and check";
    return "name the directory that holds the container's /usr and /etc with --rootfs";
}

} // namespace

RootDirectory RootDirectory::at(const std::string& path)
{
    Fd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory)
        fail("root file system " + path, GPUCTR_E_ROOTFS, directory_hint(), "rootfs");
    return {path, std::move(directory)};
}

RootDirectory RootDirectory::below(const std::vector<std::string>& directories,
                                   const std::string& path)
{
    return {path, open_restricted_root(directories, path)};
}

RootDirectory RootDirectory::from_descriptor(int fd)
{
    std::string name = formatted("descriptor {}", fd);
    // The caller's may not be O_PATH.
    Fd directory(::openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory && errno == EBADF)
        throw gpucontainer::Error(GPUCTR_E_USAGE, name + " is not open",
                                  "open the root directory and leave it inheritable, as in "
                                  "`--rootfs-fd 3 3<DIR`",
                                  EBADF);
    if (!directory)
        fail("root file system, " + name, GPUCTR_E_ROOTFS, directory_hint());
    // A command in the container must not inherit it: ".." from there is the host's tree.
    keep_from_command(fd);
    return {std::move(name), std::move(directory)};
}

RootDirectory RootDirectory::of_process(int pid)
{
    ContainerProcess process(pid);
    RootDirectory root(formatted("process {}", pid), process.open_root());
    process.enter_user_namespace();
    root.process_ = std::move(process).take_descriptor();
    return root;
}

RootDirectory RootDirectory::of_image(ImageFile image)
{
    RootDirectory root(std::move(image.name), std::move(image.file));
    root.is_image_ = true;
    return root;
}

} // namespace gpuctr_cli
