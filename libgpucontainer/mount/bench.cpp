// SPDX-License-Identifier: MIT
#include "mount/bench.hpp"

#include "base/own_proc.hpp"
#include "base/try.hpp"
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
constexpr const char* workplace_name = "mounts";

Error no_stage()
{
    return Error::from_errno(errno, "make a place to stage mounts at", Errc::apply)
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

/// Without the mounts that are shown on it, copies of others: unmounting one that is
/// still of their group would unmount those too.
bool take_away(int mount) noexcept
{
    return ::mount(nullptr, FdPath(mount), nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
           && detach(mount) == 0;
}

/// Where places to mount at are made.
UniqueFd make_workplace(const UniqueFd& tmpfs)
{
    if (!tmpfs || ::mkdirat(tmpfs.get(), workplace_name, private_directory) != 0)
        return {};
    return open_directory(tmpfs.get(), workplace_name);
}

} // namespace

Result<Stage> Stage::in_directory(Backend backend, int directory)
{
    Stage stage(backend);
    if (backend != Backend::legacy)
        return stage;
    GPUCTR_CHECK(base::open_own_descriptors());
    (void)remove_stage(directory);
    // Without it nothing that is made from here on would be taken away again.
    stage.directory_.reset(::fcntl(directory, F_DUPFD_CLOEXEC, 3));
    if (!stage.directory_ || ::mkdirat(directory, stage_name, private_directory) != 0)
        return no_stage();
    // Not seen in other namespaces: first a private mount, then the place on that.
    const UniqueFd place = open_directory(directory, stage_name);
    if (!place || ::mount(FdPath(place.get()), FdPath(place.get()), nullptr, MS_BIND, nullptr) != 0)
        return no_stage();
    const UniqueFd bind = open_directory(directory, stage_name);
    if (!bind || ::mount(nullptr, FdPath(bind.get()), nullptr, MS_PRIVATE, nullptr) != 0
        || !mount_tmpfs(FdPath(bind.get())))
        return no_stage();
    stage.fd_ = make_workplace(open_directory(directory, stage_name));
    if (!stage.fd_)
        return no_stage();
    return stage;
}

Result<Stage> Stage::in_own_namespace(Backend backend)
{
    Stage stage(backend);
    if (backend != Backend::legacy)
        return stage;
    GPUCTR_CHECK(base::open_own_descriptors());
    const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root || sharing(root.get()) != Sharing::isolated)
        return Error(Errc::requirement, "the mount namespace shares its mounts with others")
            .with_hint("on this kernel this call is for a mount namespace of its own, after "
                       "mount --make-rprivate / or --make-rslave /");
    if (!mount_tmpfs("/"))
        return no_stage();
    // Paths begin below what lies over the root directory, but for this one.
    stage.over_root_.reset(::open("/..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!stage.over_root_) {
        Error error = no_stage();
        (void)::umount2("/..", MNT_DETACH); // still empty
        return error;
    }
    stage.fd_ = make_workplace(stage.over_root_);
    if (!stage.fd_)
        return no_stage();
    return stage;
}

Stage::~Stage() { (void)leave(); }

bool Stage::leave() noexcept
{
    const UniqueFd directory = std::move(directory_);
    const UniqueFd over_root = std::move(over_root_);
    if (directory)
        return remove_stage(directory.get());
    return !over_root || take_away(over_root.get());
}

bool remove_stage(int directory) noexcept
{
    constexpr int most = 8; // two are the rule
    for (int i = 0; i < most; ++i) {
        const UniqueFd found = open_directory(directory, stage_name);
        if (!found || !is_mount_root(found.get()) || !take_away(found.get()))
            break;
    }
    return ::unlinkat(directory, stage_name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

} // namespace gpucontainer::mount
