// SPDX-License-Identifier: MIT
#include "mount/scratch.hpp"

#include "base/own_proc.hpp"
#include "base/try.hpp"
#include "mount/calls.hpp"
#include "mount/detach.hpp"
#include "mount/facts.hpp"
#include "mount/fd_path.hpp"
#include "mount/table.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::mount {
namespace {

using base::UniqueFd;

constexpr mode_t private_directory = 0700;
constexpr const char* places_name = "mounts";

Error no_scratch()
{
    return Error::from_errno(errno, "make a scratch directory for mounts", Errc::apply)
        .with_hint("CAP_SYS_ADMIN is needed in the user namespace that owns the mount namespace");
}

UniqueFd open_directory(int directory, const char* name)
{
    return UniqueFd(::openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool mount_tmpfs(const char* path)
{
    return ::mount(mount_source, path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700") == 0;
}

/// Unmounts it with all mounts on it. These are made private first: unmounting a mount that is
/// still in a peer group would unmount its peers too.
bool take_away(int mount) noexcept
{
    return ::mount(nullptr, FdPath(mount), nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
           && detach(mount) == 0;
}

/// Makes the directory for places to mount at.
UniqueFd make_places(const UniqueFd& tmpfs)
{
    if (!tmpfs || ::mkdirat(tmpfs.get(), places_name, private_directory) != 0)
        return {};
    return open_directory(tmpfs.get(), places_name);
}

} // namespace

Result<Scratch> Scratch::in_directory(Backend backend, int directory)
{
    Scratch scratch(backend);
    if (way_of(backend).detached)
        return scratch;
    GPUCTR_CHECK(base::open_own_descriptors());
    (void)remove_scratch(directory);
    // Without it, nothing that is made from here on would be removed.
    scratch.directory_.reset(::fcntl(directory, F_DUPFD_CLOEXEC, 3));
    if (!scratch.directory_ || ::mkdirat(directory, scratch_name, private_directory) != 0)
        return no_scratch();
    // First a private mount, then the tmpfs on it, so that other namespaces do not see it.
    const UniqueFd place = open_directory(directory, scratch_name);
    if (!place || ::mount(FdPath(place.get()), FdPath(place.get()), nullptr, MS_BIND, nullptr) != 0)
        return no_scratch();
    const UniqueFd bind = open_directory(directory, scratch_name);
    if (!bind || ::mount(nullptr, FdPath(bind.get()), nullptr, MS_PRIVATE, nullptr) != 0
        || !mount_tmpfs(FdPath(bind.get())))
        return no_scratch();
    scratch.fd_ = make_places(open_directory(directory, scratch_name));
    if (!scratch.fd_)
        return no_scratch();
    return scratch;
}

Result<Scratch> Scratch::in_own_namespace(Backend backend)
{
    Scratch scratch(backend);
    if (way_of(backend).detached)
        return scratch;
    GPUCTR_CHECK(base::open_own_descriptors());
    const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root || sharing(root.get()) != Sharing::isolated)
        return Error(Errc::requirement, "the mount namespace shares its mounts with others")
            .with_hint("on this kernel, do this in a mount namespace of its own, after "
                       "mount --make-rprivate / or --make-rslave /");
    if (!mount_tmpfs("/"))
        return no_scratch();
    // Only this path reaches what is mounted over the root directory.
    scratch.over_root_.reset(::open("/..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!scratch.over_root_) {
        Error error = no_scratch();
        (void)::umount2("/..", MNT_DETACH); // still empty
        return error;
    }
    scratch.fd_ = make_places(scratch.over_root_);
    if (!scratch.fd_)
        return no_scratch();
    return scratch;
}

Scratch::~Scratch() { (void)leave(); }

bool Scratch::leave() noexcept
{
    const UniqueFd directory = std::move(directory_);
    const UniqueFd over_root = std::move(over_root_);
    if (directory)
        return remove_scratch(directory.get());
    return !over_root || take_away(over_root.get());
}

bool remove_scratch(int directory) noexcept
{
    constexpr int most = 8; // usually there are two
    for (int i = 0; i < most; ++i) {
        const UniqueFd found = open_directory(directory, scratch_name);
        if (!found || !is_mount_root(found.get()) || !take_away(found.get()))
            break;
    }
    return ::unlinkat(directory, scratch_name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

} // namespace gpucontainer::mount
