// SPDX-License-Identifier: MIT
#include "apply/layer.hpp"

#include "base/write_all.hpp"
#include "host/made_node.hpp"
#include "mount/calls.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::apply {
namespace {

Error failed(const std::string& path)
{
    return Error::from_errno(errno, "create " + path + " in the tree", Errc::apply);
}

} // namespace

Result<Layer> Layer::create(const mount::Bench& bench, const std::string& label)
{
    base::UniqueFd fd(mount::new_tmpfs(bench, label.c_str()));
    if (!fd && !label.empty() && errno == EINVAL)
        return Error::from_errno(errno, "create a tmpfs with mount label " + label,
                                 Errc::requirement)
            .with_object(label)
            .with_hint("SELinux has to be enabled, and know the label");
    if (!fd)
        return Error::from_errno(errno, "create a tmpfs", Errc::apply)
            .with_hint("CAP_SYS_ADMIN is needed in the user namespace that owns the mount "
                       "namespace");
    return Layer(std::move(fd));
}

Result<void> Layer::directory(const std::string& path, std::uint32_t mode)
{
    const mode_t allowed = mode & program::directory_mode;
    // The umask of the caller changes the mode at creation.
    if (::mkdirat(fd_.get(), path.c_str(), allowed) != 0
        || ::fchmodat(fd_.get(), path.c_str(), allowed, 0) != 0)
        return failed(path);
    return {};
}

Result<void> Layer::file(const std::string& path, std::string_view content)
{
    const mode_t mode = program::mode_of_file(content.size());
    const base::UniqueFd file(
        ::openat(fd_.get(), path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!file || ::fchmod(file.get(), mode) != 0 || !base::write_all(file.get(), content))
        return failed(path);
    return {};
}

Result<void> Layer::placeholder(const std::string& path)
{
    constexpr mode_t mode = S_IFREG | program::placeholder_mode;
    if (::mknodat(fd_.get(), path.c_str(), mode, 0) != 0)
        return failed(path);
    return {};
}

Result<void> Layer::node(const std::string& path, const plan::Device& device)
{
    const host::Obstacle obstacle = host::make_node(
        fd_.get(), path.c_str(), {device.major, device.minor, device.mode, device.uid, device.gid});
    if (obstacle.text.empty())
        return {};
    return Error(Errc::permission,
                 "the host lacks it, and it is not made for a container: " + obstacle.text)
        .with_hint(
            "make it on the host, with the driver's own tools as root, or choose without it");
}

Result<base::UniqueFd> Layer::open(const std::string& path) const
{
    base::UniqueFd fd(::openat(fd_.get(), path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!fd)
        return Error::from_errno(errno, "open " + path + " in the tree", Errc::apply);
    return fd;
}

Result<void> Layer::link(const std::string& path, const std::string& target)
{
    if (::symlinkat(target.c_str(), fd_.get(), path.c_str()) != 0)
        return failed(path);
    return {};
}

} // namespace gpucontainer::apply
