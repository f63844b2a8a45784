// SPDX-License-Identifier: MIT
#include "base/trusted_way.hpp"

#include "base/backing_files.hpp"
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/in_root.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "syscall/id_map.hpp"
#include "syscall/mount_number.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <linux/magic.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::base {
namespace {

/// File systems on which the owner of a file can be trusted: the kernel, or a server that root
/// chose, sets it, and only root can change it. Not here: FUSE, 9p and virtiofs, where a process
/// reports the owner; vfat, NTFS and CIFS, where a mount option sets it; procfs, where files of
/// root have text that a user's process chose.
constexpr std::array<std::uint32_t, 23> true_owners = {
    EXT4_SUPER_MAGIC, // ext2 and ext3 too
    XFS_SUPER_MAGIC,      BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,     NILFS_SUPER_MAGIC,
    REISERFS_SUPER_MAGIC, TMPFS_MAGIC,       RAMFS_MAGIC,          OVERLAYFS_SUPER_MAGIC,
    ECRYPTFS_SUPER_MAGIC, SQUASHFS_MAGIC,    EROFS_SUPER_MAGIC_V1, NFS_SUPER_MAGIC,
    AUTOFS_SUPER_MAGIC, // only the kernel's directories; mounts there have their own type
    0x3153464a,         // JFS
    0x2fc12fc1,         // ZFS
    0xca451a4e,         // bcachefs
    0x7461636f,         // OCFS2
    0x01161970,         // GFS2
    0x0bd00bd0,         // Lustre
    0x47504653,         // GPFS
    0x00c36400,         // Ceph
    0x19830326,         // BeeGFS
};

/// Trusts the file system of "/", such as virtiofs in a container: this program comes from it too.
bool is_of_own_root(const struct stat& status)
{
    struct stat root = {};
    return ::stat("/", &root) == 0 && root.st_dev == status.st_dev;
}

bool has_true_owner(int fd, const struct stat& status)
{
    struct statfs system = {};
    if (::fstatfs(fd, &system) != 0)
        return false;
    const auto type = static_cast<std::uint32_t>(system.f_type);
    return std::ranges::find(true_owners, type) != true_owners.end() || is_of_own_root(status);
}

/// The kernel shows the overflow id for an owner that the user namespace does not map: root of the
/// host cannot be told from others. Such files are trusted, because only the caller's own
/// privileges are at stake in a user namespace.
bool may_be_root_outside(uid_t owner)
{
    const auto overflow = read_file("/proc/sys/kernel/overflowuid");
    return overflow && to_number(trim(*overflow)) == owner
           && !syscall::is_in_initial_user_namespace().value_or(true);
}

Error refused(const std::string& path, std::string_view why, std::string hint)
{
    return Error(Errc::permission, base::format("{}: {}", path, why))
        .with_object(path)
        .with_hint(std::move(hint));
}

/// A file or directory that is checked. Its path is found out only for messages.
struct Found {
    int fd;
    struct stat status = {};
    std::string given; ///< Its path, if known.

    std::string path() const
    {
        if (!given.empty())
            return given;
        const auto path = path_of(fd);
        return path ? *path : "a directory on the way";
    }
};

constexpr const char* on_a_disk = "have it on a disk of this host, such as below /etc";

/// Whoever may write the file in which a file system is decides who owns files there.
Result<void> check_backing(const Found& found, int depth);

/// Checks owner and file system. For links these count too. `depth`: of file systems in files.
Result<void> check_owner(const Found& found, int depth)
{
    if (!has_true_owner(found.fd, found.status))
        return refused(found.path(), "on a file system that proves no owner, as FUSE and procfs",
                       on_a_disk);
    GPUCTR_CHECK(check_backing(found, depth));
    const uid_t owner = found.status.st_uid;
    if (owner == 0 || owner == ::geteuid() || may_be_root_outside(owner))
        return {};
    return refused(found.path(), base::format("belongs to user {}", owner),
                   "what is said there is followed only when it belongs to root or to the caller");
}

/// `instead`: a bit of the mode that excuses write access of others, such as the sticky bit.
Result<void> check_access(const Found& found, mode_t instead, int depth)
{
    GPUCTR_CHECK(check_owner(found, depth));
    const mode_t mode = found.status.st_mode;
    // The group's bits are also the mask of an access control list.
    if ((mode & (S_IWGRP | S_IWOTH)) == 0 || (mode & instead) != 0)
        return {};
    const std::string path = found.path();
    return refused(path,
                   (mode & S_IWOTH) != 0 ? "everybody may write it" : "its group may write it",
                   "take the permission away: chmod go-w " + path);
}

class TrustedWalk {
public:
    TrustedWalk(const std::string& path, int flags, int depth)
        : path_(path), flags_(flags), depth_(depth), rest_(path)
    {
    }

    Result<TrustedWay> run() &&
    {
        if (path_.empty() || path_.find('\0') != std::string::npos)
            return failed(ENOENT);
        GPUCTR_CHECK(path_.starts_with('/') ? enter(open("/")) : start_here());
        while (!way_.fd && way_.missing.empty())
            GPUCTR_CHECK(step());
        return std::move(way_);
    }

private:
    Error failed(int os_error) const
    {
        return Error::from_errno(os_error, path_, Errc::usage).with_object(path_);
    }

    static UniqueFd open(const char* path, int directory = AT_FDCWD)
    {
        constexpr int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
        // O_DIRECTORY triggers an automount.
        UniqueFd fd(::openat(directory, path, flags | O_DIRECTORY));
        if (!fd && (errno == ENOTDIR || errno == ELOOP))
            fd.reset(::openat(directory, path, flags));
        return fd;
    }

    /// ".." of the root is the root.
    static Result<bool> is_root(const UniqueFd& directory, const UniqueFd& above)
    {
        struct stat left = {};
        struct stat right = {};
        std::uint64_t mount = 0;
        std::uint64_t mount_above = 0;
        if (!above || ::fstat(directory.get(), &left) != 0 || ::fstat(above.get(), &right) != 0
            || !syscall::mount_number(directory.get(), mount)
            || !syscall::mount_number(above.get(), mount_above))
            return Error::from_errno(errno, "the working directory", Errc::usage);
        return left.st_dev == right.st_dev && left.st_ino == right.st_ino && mount == mount_above;
    }

    Result<void> start_here()
    {
        UniqueFd directory = open(".");
        for (bool at_root = false; !at_root;) {
            UniqueFd above = open("..", directory.get());
            GPUCTR_TRY(at_root, is_root(directory, above));
            GPUCTR_CHECK(enter(std::move(directory)));
            directory = std::move(above);
        }
        way_.directory = open(".");
        return way_.directory ? Result<void>() : failed(errno);
    }

    void note(Result<void> checked)
    {
        if (!checked && !way_.distrust)
            way_.distrust = std::move(checked).error();
    }

    /// Goes into a directory.
    Result<void> enter(UniqueFd directory)
    {
        Found found = {directory.get(), {}, {}};
        if (!directory || ::fstat(directory.get(), &found.status) != 0)
            return failed(errno);
        way_.passed.emplace_back(found.status.st_dev, found.status.st_ino);
        note(check_access(found, S_ISVTX, depth_));
        way_.directory = std::move(directory);
        return {};
    }

    /// Removes the first name from the rest of the path; "." if there is none.
    std::string take_name()
    {
        const auto begin = std::min(rest_.find_first_not_of('/'), rest_.size());
        const auto end = std::min(rest_.find('/', begin), rest_.size());
        std::string name = begin == end ? "." : rest_.substr(begin, end - begin);
        rest_.erase(0, end);
        return name;
    }

    bool at_end() const { return rest_.find_first_not_of('/') == std::string::npos; }

    Result<void> step()
    {
        const std::string name = take_name();
        UniqueFd next = open(name.c_str(), way_.directory.get());
        if (!next && errno == ENOENT) {
            way_.missing = name + rest_;
            return {};
        }
        Found found = {next.get(), {}, {}};
        if (!next || ::fstat(next.get(), &found.status) != 0)
            return failed(errno);
        if (S_ISLNK(found.status.st_mode))
            return follow(found);
        if (S_ISDIR(found.status.st_mode)) {
            if (name != ".")
                GPUCTR_CHECK(enter(std::move(next)));
            return at_end() ? finish(".", found.status) : Result<void>();
        }
        if (!rest_.empty())
            return failed(ENOTDIR);
        if (S_ISREG(found.status.st_mode))
            return finish(name, found.status);
        way_.fd = std::move(next);
        return {};
    }

    Result<void> finish(const std::string& name, const struct stat& expected)
    {
        constexpr int always = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
        way_.fd.reset(::openat(way_.directory.get(), name.c_str(), flags_ | always));
        struct stat status = {};
        if (!way_.fd || ::fstat(way_.fd.get(), &status) != 0)
            return failed(errno);
        const bool same = status.st_dev == expected.st_dev && status.st_ino == expected.st_ino;
        return same ? Result<void>() : failed(EAGAIN);
    }

    Result<void> follow(const Found& link)
    {
        constexpr int most_links = 40; // the kernel's limit
        if (++links_ > most_links)
            return failed(ELOOP);
        if (!has_true_owner(link.fd, link.status))
            return check_owner(link, depth_);
        note(check_owner(link, depth_));
        GPUCTR_TRY(std::string target, read_link(link.fd, ""), "{}", path_);
        if (target.starts_with('/'))
            GPUCTR_CHECK(enter(open("/")));
        rest_ = target + rest_;
        return rest_.size() < PATH_MAX ? Result<void>() : failed(ENAMETOOLONG);
    }

    const std::string& path_;
    int flags_;
    int depth_;        ///< Of file systems in files.
    std::string rest_; ///< The part of the path that is not walked yet.
    int links_ = 0;
    TrustedWay way_;
};

Result<void> check_backing(const Found& found, int depth)
{
    constexpr int deepest = 4; // an image on an image, which snaps on a live system are
    // The file system of "/" is trusted: this program comes from it too.
    if (::major(found.status.st_dev) == 0 || is_of_own_root(found.status))
        return {};
    const auto untrusted = [&](const std::string& why) {
        return refused(found.path(), "on a file system in a file: " + why, on_a_disk);
    };
    const auto files = backing_files(found.status.st_dev);
    if (!files)
        return untrusted(files.error().message());
    for (const std::string& path : *files) {
        if (depth == deepest)
            return untrusted(path + ", which is on too many others");
        auto way = TrustedWalk(path, O_PATH, depth + 1).run();
        if (!way || !way->fd)
            return untrusted(path + ", which is not found");
        if (way->distrust)
            return untrusted(way->distrust->message());
        Found file = {way->fd.get(), {}, path};
        if (::fstat(file.fd, &file.status) != 0)
            return untrusted(path + ", which is not found");
        if (const auto checked = check_access(file, 0, depth + 1); !checked)
            return untrusted(checked.error().message());
    }
    return {};
}

} // namespace

Result<void> check_trust(int fd, const std::string& path)
{
    Found found = {fd, {}, path};
    if (::fstat(fd, &found.status) != 0)
        return Error::from_errno(errno, path, Errc::usage).with_object(path);
    return check_access(found, 0, 0);
}

Result<TrustedWay> TrustedWay::walk(const std::string& path, int flags)
{
    return TrustedWalk(path, flags, 0).run();
}

Result<std::size_t> TrustedWay::make_missing(mode_t mode) const
{
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const auto failed = [&] { return Error::from_errno(errno, "create " + missing); };
    UniqueFd entered;
    std::size_t count = 0;
    for (const std::string_view part : split(missing, '/')) {
        const int at = entered ? entered.get() : directory.get();
        const std::string name(part.empty() ? "." : part);
        const bool is_made = ::mkdirat(at, name.c_str(), mode) == 0;
        if (!is_made && errno != EEXIST)
            return failed();
        count += is_made ? 1 : 0;
        UniqueFd next(::openat(at, name.c_str(), flags));
        if (!next || (is_made && ::fchmod(next.get(), mode) != 0))
            return failed();
        entered = std::move(next);
    }
    return count;
}

} // namespace gpucontainer::base
