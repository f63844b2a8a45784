// SPDX-License-Identifier: MIT
#include "rootfs/root.hpp"

#include "base/file.hpp"
#include "base/file_time.hpp"
#include "base/in_root.hpp"
#include "base/kernel_file_system.hpp"
#include "base/own_proc.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "syscall/mount_number.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace gpucontainer::rootfs {
namespace {

constexpr unsigned wanted_facts = STATX_BASIC_STATS | STATX_MNT_ID;

bool stat_fd(int fd, struct statx& facts)
{
    if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, wanted_facts, &facts) != 0)
        return false;
    std::uint64_t number = 0;
    if ((facts.stx_mask & STATX_MNT_ID) == 0 && syscall::mount_number(fd, number))
        facts.stx_mnt_id = number;
    return true;
}

EntryType type_of(std::uint16_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return EntryType::regular;
    case S_IFDIR:
        return EntryType::directory;
    case S_IFLNK:
        return EntryType::link;
    case S_IFCHR:
        return EntryType::character;
    default:
        return EntryType::other;
    }
}

/// File systems that other hosts share, or may share: FUSE does not tell. Numbers that
/// linux/magic.h lacks are published by the file systems.
bool is_network(long type)
{
    constexpr std::array<long, 10> types = {NFS_SUPER_MAGIC,  SMB2_SUPER_MAGIC, CIFS_SUPER_MAGIC,
                                            CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC,  V9FS_MAGIC,
                                            FUSE_SUPER_MAGIC,
                                            0x0bd00bd0,  // Lustre
                                            0x47504653,  // GPFS
                                            0x19830326}; // BeeGFS
    return std::find(types.begin(), types.end(), type) != types.end();
}

std::uint64_t callers_devices()
{
    struct stat root = {};
    struct stat devices = {};
    const bool is_own =
        ::stat("/", &root) == 0 && ::stat("/dev", &devices) == 0 && devices.st_dev != root.st_dev;
    return is_own ? devices.st_dev : 0;
}

bool may_write(int directory, const std::optional<privilege::Owner>& owner)
{
    const privilege::FileOwner as_owner(owner);
    return as_owner && ::faccessat(directory, ".", W_OK, AT_EACCESS) == 0;
}

/// Whether a directory is on a file system of the kernel, or mounted somewhere below one in `root`,
/// like the tmpfs of control groups at /sys/fs/cgroup. Such a mount is the host's.
bool is_below_the_kernels(int directory, const RootFacts& root)
{
    constexpr int deepest = 256;
    base::UniqueFd above;
    for (int depth = 0; depth < deepest; ++depth) {
        struct stat status = {};
        if (base::is_on_kernel_file_system(directory) || ::fstat(directory, &status) != 0)
            return true;
        if (status.st_dev == root.device && status.st_ino == root.inode)
            return false;
        above.reset(::openat(directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!above)
            return true;
        directory = above.get();
    }
    return true;
}

bool is_own(const struct statx& status, const std::optional<privilege::Owner>& owner)
{
    return status.stx_uid == (owner ? owner->uid : ::geteuid());
}

} // namespace

std::string nearest_directory(const View& view, std::string_view path)
{
    while (path.size() > 1) {
        std::string candidate(path);
        if (view.resolve(candidate).type == EntryType::directory)
            return candidate;
        path = base::directory_of(path);
    }
    return "/";
}

Entry entry_of(int fd)
{
    struct statx status = {};
    if (!stat_fd(fd, status))
        return {};
    Entry found;
    found.type = type_of(status.stx_mode);
    found.device = ::makedev(status.stx_dev_major, status.stx_dev_minor);
    found.inode = status.stx_ino;
    found.mount = status.stx_mnt_id;
    found.size = status.stx_size;
    found.mtime_ns = base::to_nanoseconds(status.stx_mtime.tv_sec, status.stx_mtime.tv_nsec);
    found.mode = status.stx_mode & 07777U;
    return found;
}

Root::Root(base::UniqueFd fd, RootFacts facts, std::uint64_t mount_id)
    : fd_(std::move(fd)), facts_(facts), mount_id_(mount_id)
{
}

Result<Root> Root::open(int fd, const std::optional<privilege::Owner>& owner)
{
    base::UniqueFd own(::openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!own && errno == ENOTDIR)
        return Error(Errc::rootfs, "the root file system is not a directory");
    if (!own && errno == EBADF)
        return Error(Errc::usage, "the root file system is not an open descriptor");
    if (!own)
        return Error::from_errno(errno, "open the root file system", Errc::rootfs);
    struct statx status = {};
    struct statfs file_system = {};
    if (!stat_fd(own.get(), status) || ::fstatfs(own.get(), &file_system) != 0)
        return Error::from_errno(errno, "look at the root file system", Errc::rootfs);

    RootFacts facts;
    facts.device = ::makedev(status.stx_dev_major, status.stx_dev_minor);
    facts.inode = status.stx_ino;
    facts.read_only = (static_cast<unsigned long>(file_system.f_flags) & ST_RDONLY) != 0;
    facts.network = is_network(file_system.f_type);
    facts.own = is_own(status, owner);
    facts.is_callers = is_callers(facts.device, facts.inode);
    facts.writable = may_write(own.get(), owner);
    facts.callers_devices = callers_devices();
    if (facts.callers_devices == facts.device)
        facts.callers_devices = 0;
    Root root(std::move(own), facts, status.stx_mnt_id);
    root.owner_ = owner;
    return root;
}

bool Root::is_callers(std::uint64_t device, std::uint64_t inode)
{
    struct stat status = {};
    return ::stat("/", &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

Entry Root::entry(const std::string& path, std::uint64_t flags) const
{
    const base::UniqueFd fd(base::open_in_root(fd_.get(), path.c_str(), O_PATH | flags));
    if (!fd) {
        note_failure(path);
        return {};
    }
    Entry found = entry_of(fd.get());
    if (!found)
        note_trouble(path);
    struct statfs file_system = {};
    if (found.type != EntryType::directory || found.mount == mount_id_)
        return found;
    if (::fstatfs(fd.get(), &file_system) != 0)
        note_trouble(path);
    else
        found.own_tmpfs = file_system.f_type == TMPFS_MAGIC;
    return found;
}

void Root::note_failure(const std::string& path) const
{
    if (base::leaves_open(errno))
        note_trouble(path);
}

void Root::note_trouble(const std::string& path) const
{
    if (!trouble_)
        trouble_ = {errno, path};
}

Result<void> Root::check() const
{
    if (!trouble_)
        return {};
    return Error::from_errno(trouble_->os_error, trouble_->path, Errc::rootfs)
        .with_object(trouble_->path);
}

std::vector<std::string> View::present(const std::string& directory,
                                       const std::vector<std::string>& names) const
{
    std::vector<std::string> found;
    const std::string prefix = directory + "/";
    for (const std::string& name : names)
        if (look(prefix + name))
            found.push_back(name);
    return found;
}

/// Resolves the directory once for all names.
std::vector<std::string> Root::present(const std::string& directory,
                                       const std::vector<std::string>& names) const
{
    std::vector<std::string> found;
    const base::UniqueFd fd(base::open_in_root(fd_.get(), directory.c_str(), O_PATH | O_DIRECTORY));
    if (!fd) {
        note_failure(directory);
        return found;
    }
    struct stat status = {};
    for (const std::string& name : names) {
        if (::fstatat(fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
            found.push_back(name);
        else
            note_failure(directory);
    }
    return found;
}

Entry Root::look(const std::string& path) const { return entry(path, O_NOFOLLOW); }
Entry Root::resolve(const std::string& path) const { return entry(path, 0); }

std::string Root::link_target(const std::string& path) const
{
    const base::UniqueFd fd(base::open_in_root(fd_.get(), path.c_str(), O_PATH | O_NOFOLLOW));
    std::array<char, PATH_MAX> target = {};
    const ssize_t length = fd ? ::readlinkat(fd.get(), "", target.data(), target.size()) : -1;
    if (length < 0)
        note_failure(path);
    return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : "";
}

Result<base::OpenFile> Root::open(const std::string& path) const
{
    // Opening a device can have side effects, so the type is checked first.
    const base::UniqueFd found(base::open_in_root(fd_.get(), path.c_str(), O_PATH));
    struct stat status = {};
    if (!found || ::fstat(found.get(), &status) != 0)
        return Error::from_errno(errno, path, Errc::rootfs).with_object(path);
    if (!S_ISREG(status.st_mode))
        return Error(Errc::rootfs, path + ": not a regular file").with_object(path);
    // Reading a file of the kernel may block for ever, or consume what others wait for.
    if (base::is_on_kernel_file_system(found.get()))
        return errno != 0 ? Error::from_errno(errno, path, Errc::rootfs).with_object(path)
                          : Error(Errc::rootfs, path + ": a file of the kernel").with_object(path);
    GPUCTR_TRY(const auto descriptors, base::open_own_descriptors());
    const std::string same = std::to_string(found.get());
    // Whoever has a lease on it would have the time of lease-break-time, for each file.
    base::UniqueFd fd(::openat(descriptors.get(), same.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!fd && errno == EWOULDBLOCK)
        return Error::from_errno(errno, path + ": another process has a lease on it", Errc::rootfs)
            .with_object(path);
    if (!fd)
        return Error::from_errno(errno, path, Errc::rootfs).with_object(path);
    return base::OpenFile(std::move(fd));
}

Result<std::string> Root::read(const std::string& path, std::size_t limit) const
{
    GPUCTR_TRY(const base::OpenFile file, open(path));
    auto content = base::read_all(file.get().fd(), limit);
    if (!content)
        return std::move(content).error().with_code(Errc::rootfs).context(path);
    return content;
}

Result<std::vector<std::string>> Root::list(const std::string& path, std::size_t limit) const
{
    const base::UniqueFd fd(
        base::open_in_root(fd_.get(), path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK));
    if (!fd)
        return Error::from_errno(errno, path, Errc::rootfs).with_object(path);
    auto names = base::list_directory(fd.get(), ".", limit);
    if (!names)
        return std::move(names).error().with_code(Errc::rootfs).context(path);
    return names;
}

bool Root::is_for_names(const std::string& path) const
{
    const base::UniqueFd fd(base::open_in_root(fd_.get(), path.c_str(), O_PATH | O_DIRECTORY));
    struct statx status = {};
    struct statfs file_system = {};
    if (!fd) {
        note_failure(path);
        return false;
    }
    if (!stat_fd(fd.get(), status) || ::fstatfs(fd.get(), &file_system) != 0) {
        note_trouble(path);
        return false;
    }
    if ((static_cast<unsigned long>(file_system.f_flags) & ST_RDONLY) != 0)
        return false;
    const bool is_roots = status.stx_mnt_id == mount_id_;
    const bool is_known = is_roots || file_system.f_type == TMPFS_MAGIC
                          || (is_own(status, owner_) && !is_network(file_system.f_type));
    return is_known && may_write(fd.get(), owner_)
           && (is_roots || !is_below_the_kernels(fd.get(), facts_));
}

bool Root::is_empty_directory(const std::string& path) const
{
    const base::UniqueFd fd(
        base::open_in_root(fd_.get(), path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK));
    if (!fd) {
        note_failure(path);
        return false;
    }
    const auto names = base::list_directory(fd.get(), ".", 0);
    if (!names) {
        errno = names.error().os_error();
        note_failure(path);
    }
    return names.has_value();
}

} // namespace gpucontainer::rootfs
