// SPDX-License-Identifier: MIT
#include "mount/listing.hpp"

#include "base/in_root.hpp"
#include "base/unique_fd.hpp"
#include "base/write_all.hpp"
#include "mount/calls.hpp"
#include "mount/statmount.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

using base::UniqueFd;

constexpr mode_t any_directory = 0755;
constexpr mode_t any_file = S_IFREG | 0444U;
constexpr mode_t permissions = 07777;

UniqueFd open_name(int directory, const char* name) noexcept
{
    return UniqueFd(base::open_beneath(directory, name, O_PATH | O_NOFOLLOW));
}

/// Whether something that existed a moment ago is gone, according to errno.
bool is_gone() noexcept { return errno == ENOENT || errno == ENOTDIR || errno == ELOOP; }

/// Opens a directory in another one; none if something else has the name, too.
bool open_directory(int directory, const char* name, UniqueFd& found) noexcept
{
    found.reset(base::open_beneath(directory, name, O_PATH | O_NOFOLLOW | O_DIRECTORY));
    return found || is_gone();
}

/// The names in a directory, as the kernel hands them over.
class Names {
public:
    explicit Names(int directory) noexcept
        : fd_(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    {
    }

    /// The next name. Null at the end, with errno 0, or on failure, with errno.
    const char* next() noexcept
    {
        while (true) {
            if (at_ == end_ && !fill())
                return nullptr;
            std::uint16_t length = 0;
            std::memcpy(&length, &bytes_[at_ + length_offset], sizeof length);
            const char* const name = &bytes_[at_ + name_offset];
            at_ += length;
            if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0)
                return name;
        }
    }

private:
    // struct linux_dirent64: inode, offset, length, type, name.
    static constexpr std::size_t length_offset = 16;
    static constexpr std::size_t name_offset = 19;

    bool fill() noexcept
    {
        const long got =
            fd_ ? ::syscall(SYS_getdents64, fd_.get(), bytes_.data(), bytes_.size()) : -1;
        at_ = 0;
        end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
        if (got == 0)
            errno = 0;
        return got > 0;
    }

    UniqueFd fd_;
    alignas(std::uint64_t) std::array<char, 4096> bytes_; // set by fill()
    std::size_t at_ = 0;
    std::size_t end_ = 0;
};

/// Calls `visit` with each name until it returns false, with errno; then this does too.
template <typename Visit>
bool for_each_name(int directory, Visit visit) noexcept
{
    Names names(directory);
    while (const char* const name = names.next())
        if (!visit(name))
            return false;
    return errno == 0;
}

bool copy_link(int link, int to, const char* name) noexcept
{
    std::array<char, PATH_MAX> target = {};
    const ssize_t length = ::readlinkat(link, "", target.data(), target.size());
    errno = length < 0 ? errno : ENAMETOOLONG;
    return length >= 0 && static_cast<std::size_t>(length) < target.size()
           && ::symlinkat(target.data(), to, name) == 0;
}

bool copy_file(int from, const char* name, int to, mode_t mode) noexcept
{
    const UniqueFd source(::openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    const UniqueFd copy(::openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!source || !copy || ::fchmod(copy.get(), mode) != 0)
        return false;
    std::array<char, 4096> bytes;
    while (true) {
        const ssize_t got = ::read(source.get(), bytes.data(), bytes.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        if (!base::write_all(copy.get(), {bytes.data(), static_cast<std::size_t>(got)}))
            return false;
    }
}

/// The same directory in the listing, in the names and in the covered directory.
struct Level {
    int listing;
    int names;   ///< -1: the names have no such directory.
    int covered; ///< -1: the covered directory has none.
};

/// The level of a directory in the names. The object keeps its descriptors open.
class Inner {
public:
    Inner(const Level& level, const char* name) noexcept
        : ready_(open_directory(level.listing, name, listing_)
                 && open_directory(level.names, name, names_) && listing_ && names_
                 && (level.covered < 0 || open_directory(level.covered, name, covered_)))
    {
    }
    explicit operator bool() const noexcept { return ready_; }
    Level level() const noexcept { return {listing_.get(), names_.get(), covered_.get()}; }

private:
    UniqueFd listing_;
    UniqueFd names_;
    UniqueFd covered_;
    bool ready_;
};

bool look(int directory, const char* name, struct stat& status) noexcept
{
    return ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

class NameMaker {
public:
    bool make(const Level& level) noexcept
    {
        const auto own = [&](const char* name) { return count() && make_own(level, name); };
        const auto other = [&](const char* name) {
            struct stat status = {};
            return look(level.names, name, status) || (count() && make_other(level, name));
        };
        return for_each_name(level.names, own)
               && (level.covered < 0 || for_each_name(level.covered, other));
    }

private:
    bool count() noexcept
    {
        errno = E2BIG;
        return ++count_ <= most_listed;
    }

    bool make_own(const Level& level, const char* name) noexcept
    {
        struct stat status = {};
        if (!look(level.names, name, status))
            return false;
        if (S_ISREG(status.st_mode))
            return copy_file(level.names, name, level.listing, status.st_mode & permissions);
        if (S_ISLNK(status.st_mode))
            return copy_link(open_name(level.names, name).get(), level.listing, name);
        if (::mkdirat(level.listing, name, any_directory) != 0)
            return false;
        const Inner inner(level, name);
        return inner && make(inner.level())
               && ::fchmodat(level.listing, name, status.st_mode & permissions, 0) == 0;
    }

    static bool make_other(const Level& level, const char* name) noexcept
    {
        struct stat status = {};
        const UniqueFd other = open_name(level.covered, name);
        if (!other)
            return is_gone();
        if (::fstat(other.get(), &status) != 0)
            return false;
        if (S_ISLNK(status.st_mode))
            return copy_link(other.get(), level.listing, name);
        return (S_ISDIR(status.st_mode) ? ::mkdirat(level.listing, name, any_directory)
                                        : ::mknodat(level.listing, name, any_file, 0))
               == 0;
    }

    unsigned count_ = 0;
};

class Mounter {
public:
    explicit Mounter(const Bench& bench) noexcept : bench_(bench) {}

    bool mount(const Level& level) noexcept
    {
        return level.covered < 0 || for_each_name(level.covered, [&](const char* name) {
                   struct stat status = {};
                   if (!look(level.names, name, status))
                       return errno == ENOENT && mount_other(level, name);
                   if (!S_ISDIR(status.st_mode))
                       return true;
                   const Inner inner(level, name);
                   return inner && mount(inner.level());
               });
    }

private:
    bool mount_other(const Level& level, const char* name) noexcept
    {
        struct stat status = {};
        const UniqueFd other = open_name(level.covered, name);
        if (!other || !look(level.listing, name, status))
            return is_gone(); // it was removed or made after the listing
        return S_ISLNK(status.st_mode) || bind(level, other.get(), name);
    }

    bool bind(const Level& level, int other, const char* name) noexcept
    {
        std::uint64_t around = 0;
        std::uint64_t its = 0;
        if (!table_id(level.covered, around) || !table_id(other, its))
            return false;
        const UniqueFd bound(bind_below(bench_, other, level.listing, name));
        return bound
               && (around != its
                   || set_attributes(bench_, bound.get(), MOUNT_ATTR_RDONLY, 0, false) == 0)
               && set_attributes(bench_, bound.get(), 0, MS_SLAVE, true) == 0;
    }

    Bench bench_;
};

} // namespace

bool list_names(int listing_fd, int names_fd, int covered_fd) noexcept
{
    struct stat status = {};
    return ::fstat(names_fd, &status) == 0 && NameMaker().make({listing_fd, names_fd, covered_fd})
           && ::fchmodat(listing_fd, ".", status.st_mode & permissions, 0) == 0;
}

bool mount_listed(const Bench& bench, int listing_fd, int names_fd, int covered_fd) noexcept
{
    return Mounter(bench).mount({listing_fd, names_fd, covered_fd});
}

} // namespace gpucontainer::mount
