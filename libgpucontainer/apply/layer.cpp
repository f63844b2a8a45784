// SPDX-License-Identifier: MIT
#include "apply/layer.hpp"

#include "base/format.hpp"
#include "base/write_all.hpp"
#include "mount/calls.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
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
    constexpr mode_t permissions = 0777;
    if (::mknodat(fd_.get(), path.c_str(), S_IFCHR, ::makedev(device.major, device.minor)) != 0)
        return Error::from_errno(
                   errno, base::format("make a device node {}:{}", device.major, device.minor))
            .with_hint("the host lacks this node; make it there with the driver's own tools");
    if (::fchownat(fd_.get(), path.c_str(), device.uid, device.gid, AT_SYMLINK_NOFOLLOW) != 0
        || ::fchmodat(fd_.get(), path.c_str(), device.mode & permissions, 0) != 0)
        return failed(path);
    return {};
}

Result<void> Layer::link(const std::string& path, const std::string& target)
{
    if (::symlinkat(target.c_str(), fd_.get(), path.c_str()) != 0)
        return failed(path);
    return {};
}

} // namespace gpucontainer::apply
