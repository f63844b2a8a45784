// SPDX-License-Identifier: MIT
#include "apply/sources.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "elf/machine.hpp"
#include "mount/calls.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace gpucontainer::apply {
namespace {

using base::UniqueFd;

Error changed(const std::string& path)
{
    return Error(Errc::driver, path + ": no longer the file that was planned with")
        .with_object(path)
        .with_hint("the driver was changed meanwhile; plan again");
}

/// Clones the mount of a source without mounts below. The path may lead anywhere: the caller
/// compares the result with the plan.
Result<UniqueFd> clone_source(const mount::Bench& bench, const std::string& path,
                              struct stat& status)
{
    UniqueFd clone(mount::clone_tree(bench, AT_FDCWD, path.c_str(), false));
    if (!clone || ::fstat(clone.get(), &status) != 0)
        return Error::from_errno(errno, "clone the mount of " + path, Errc::driver)
            .with_object(path);
    return clone;
}

} // namespace

Result<UniqueFd> clone_file(const mount::Bench& bench, const std::string& source,
                            const model::FileId& id, bool is_directory)
{
    struct stat status = {};
    GPUCTR_TRY(UniqueFd clone, clone_source(bench, source, status));
    const bool is_kind = is_directory ? S_ISDIR(status.st_mode) : S_ISREG(status.st_mode);
    if (!is_kind || model::FileId::of(status) != id)
        return changed(source);
    return clone;
}

Result<UniqueFd> clone_entry(const mount::Bench& bench, const plan::KernelEntry& entry)
{
    struct stat status = {};
    GPUCTR_TRY(UniqueFd clone, clone_source(bench, entry.source, status));
    // Its inode number and times may be others at any time.
    if (entry.is_directory ? !S_ISDIR(status.st_mode) : !S_ISREG(status.st_mode))
        return changed(entry.source);
    return clone;
}

Result<UniqueFd> clone_shared(const mount::Bench& bench, const plan::Shared& shared)
{
    // Its last component is no link: whoever owns the directory could have put one there since.
    const UniqueFd file(::open(shared.source.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    UniqueFd clone(file ? mount::clone_tree(bench, file.get(), "", false) : -1);
    struct stat status = {};
    if (!clone || ::fstat(clone.get(), &status) != 0)
        return Error::from_errno(errno, "clone the mount of " + shared.source, Errc::driver)
            .with_object(shared.source);
    using Kind = model::SharedPath::Kind;
    const mode_t type = shared.kind == Kind::socket ? S_IFSOCK
                        : shared.kind == Kind::file ? S_IFREG
                                                    : S_IFDIR;
    if ((status.st_mode & S_IFMT) != type || status.st_uid != shared.uid)
        return changed(shared.source);
    return clone;
}

Result<UniqueFd> clone_device(const mount::Bench& bench, const plan::Device& device)
{
    struct stat status = {};
    GPUCTR_TRY(UniqueFd clone, clone_source(bench, device.source, status));
    if (!S_ISCHR(status.st_mode) || status.st_rdev != ::makedev(device.major, device.minor))
        return changed(device.source);
    return clone;
}

Result<void> require_driver(const plan::Plan& plan)
{
    for (const plan::UsedDriver& driver : plan.drivers) {
        if (!driver.has_gpus)
            return Error(Errc::no_device,
                         base::format("no GPU of {} on this host, only its driver's files",
                                      driver.vendor))
                .with_object(driver.vendor)
                .with_hint("such a plan only shows");
        if (driver.version_source == model::VersionSource::files)
            return Error(Errc::no_device,
                         base::format("the {} kernel module is not loaded", driver.vendor))
                .with_object(driver.vendor)
                .with_hint("load it with modprobe, or give the driver version to set up its files "
                           "all the same");
    }
    if (plan.machine->name != elf::own_machine().name)
        return Error(Errc::driver,
                     base::format("the driver's libraries are for {}, and this machine is {}",
                                  plan.machine->name, elf::own_machine().name))
            .with_object(std::string(plan.machine->name))
            .with_hint("name a driver root whose files are for this machine's architecture; such a "
                       "plan only shows");
    return {};
}

Result<void> require_detached(mount::Backend backend)
{
    if (mount::way_of(backend).detached)
        return {};
    return Error(Errc::requirement, "this kernel has no detached mounts")
        .with_hint("Linux 5.12 or later is needed, without a seccomp filter on mount_setattr and "
                   "open_tree; setting up in one step works without: gpuctr-setup --rootfs, "
                   "gpuctr_plan_apply()");
}

Result<void> require_lockable(const plan::Plan& plan, mount::Backend backend)
{
    if (!plan.lock || mount::way_of(backend).locks)
        return {};
    return Error(Errc::requirement, "the flags of mounts cannot be locked on this kernel")
        .with_hint("Linux 5.12 or later is needed, without a seccomp filter on mount_setattr and "
                   "open_tree; or do without --lock");
}

Result<void> guard(const mount::Bench& bench, const UniqueFd& tree, std::uint64_t attributes)
{
    if (mount::set_attributes(bench, tree.get(), attributes, MS_UNBINDABLE, true) != 0)
        return Error::from_errno(errno, "set the flags of a mount", Errc::apply);
    return {};
}

} // namespace gpucontainer::apply
