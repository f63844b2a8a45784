// SPDX-License-Identifier: MIT
#include "base/walk.hpp"

#include "base/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace gpucontainer::base {
namespace {

constexpr int most_links = 40; // the kernel's limit

/// Ends the walk.
bool fail(int error) noexcept
{
    errno = error;
    return false;
}

/// The part of a path that is not walked yet. A link's target is put in front of it.
class Rest {
public:
    bool prepend(std::string_view text) noexcept
    {
        if (text.size() > begin_)
            return false;
        begin_ -= text.size();
        std::memcpy(&text_[begin_], text.data(), text.size());
        return true;
    }

    bool is_empty() const noexcept { return begin_ == size; }
    void skip_slashes() noexcept
    {
        while (begin_ < size && text_[begin_] == '/')
            ++begin_;
    }

    /// Removes the next component; the slash after it stays. False if it is longer than any name.
    bool take(std::array<char, NAME_MAX + 1>& name) noexcept
    {
        std::size_t length = 0;
        for (; begin_ < size && text_[begin_] != '/'; ++begin_, ++length) {
            if (length == NAME_MAX)
                return false;
            name[length] = text_[begin_];
        }
        name[length] = '\0';
        return true;
    }

private:
    static constexpr std::size_t size = std::size_t{2} * PATH_MAX;
    std::array<char, size> text_; // only from begin_ on
    std::size_t begin_ = size;
};

/// The directories from the root to the current one.
class Way {
public:
    explicit Way(int root) noexcept : root_(root) {}
    Way(const Way&) = delete;
    Way& operator=(const Way&) = delete;
    ~Way() { back_to_root(); }

    int here() const noexcept { return depth_ == 0 ? root_ : fds_[depth_ - 1]; }

    bool go_into(UniqueFd directory) noexcept
    {
        if (depth_ == fds_.size())
            return false;
        fds_[depth_++] = directory.release();
        return true;
    }

    void go_back() noexcept
    {
        if (depth_ > 0)
            (void)::close(fds_[--depth_]);
    }

    void back_to_root() noexcept
    {
        while (depth_ > 0)
            go_back();
    }

private:
    int root_;
    std::array<int, 256> fds_;
    std::size_t depth_ = 0;
};

class Walk {
public:
    Walk(int root, std::uint64_t flags, std::uint32_t mode, Links links) noexcept
        : way_(root), flags_(static_cast<int>(flags) | O_CLOEXEC), mode_(mode), links_(links)
    {
    }

    int run(const char* path) noexcept
    {
        const std::size_t length = std::strlen(path);
        UniqueFd found;
        bool goes_on = length != 0 || fail(ENOENT);
        goes_on =
            goes_on && ((length < PATH_MAX && rest_.prepend({path, length})) || fail(ENAMETOOLONG));
        while (goes_on && !found)
            goes_on = step(found);
        return found.release();
    }

private:
    /// Walks one component; the last one is `found`. False, with errno, on failure.
    bool step(UniqueFd& found) noexcept
    {
        rest_.skip_slashes();
        std::array<char, NAME_MAX + 1> name;
        if (!rest_.take(name))
            return fail(ENAMETOOLONG);
        const std::string_view text = name.data();
        if (text == ".." && links_ == Links::refused)
            return fail(EXDEV);
        if (text == "..")
            way_.go_back();
        const bool is_here = text.empty() || text == "." || text == "..";
        if (is_here && !rest_.is_empty())
            return true;
        if (is_here) {
            found.reset(::openat(way_.here(), ".", flags_, mode_));
            return static_cast<bool>(found);
        }
        return rest_.is_empty() ? finish(name.data(), found) : pass(name.data());
    }

    bool pass(const char* name) noexcept
    {
        constexpr int wanted = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        UniqueFd directory(::openat(way_.here(), name, wanted));
        if (directory)
            return way_.go_into(std::move(directory)) || fail(ENAMETOOLONG);
        return (errno == ENOTDIR || errno == ELOOP) && follow(name, errno);
    }

    bool finish(const char* name, UniqueFd& found) noexcept
    {
        found.reset(::openat(way_.here(), name, flags_ | O_NOFOLLOW, mode_));
        const bool may_follow = (flags_ & O_NOFOLLOW) == 0 && (flags_ & O_EXCL) == 0;
        if (!found)
            return (errno == ENOTDIR || errno == ELOOP) && may_follow && follow(name, errno);
        if ((flags_ & O_PATH) == 0 || (flags_ & O_DIRECTORY) != 0 || !may_follow)
            return true;
        struct stat status = {};
        if (::fstat(found.get(), &status) != 0)
            return false;
        if (!S_ISLNK(status.st_mode))
            return true;
        const UniqueFd link(found.release());
        return expand(link);
    }

    /// Follows a link. `error` is the errno of opening it as something else.
    bool follow(const char* name, int error) noexcept
    {
        const UniqueFd link(::openat(way_.here(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
        struct stat status = {};
        if (!link || ::fstat(link.get(), &status) != 0)
            return false;
        return S_ISLNK(status.st_mode) ? expand(link) : fail(error);
    }

    bool expand(const UniqueFd& link) noexcept
    {
        if (links_ == Links::refused || ++followed_ > most_links || !may_be_followed(link))
            return fail(ELOOP);
        std::array<char, PATH_MAX> target;
        const ssize_t length = ::readlinkat(link.get(), "", target.data(), target.size());
        if (length <= 0)
            return length < 0 ? false : fail(ENOENT);
        const std::string_view text(target.data(), static_cast<std::size_t>(length));
        if (text.size() == target.size() || !rest_.prepend(text))
            return fail(ENAMETOOLONG);
        if (text.front() == '/')
            way_.back_to_root();
        return true;
    }

    /// False for magic links, which may lead elsewhere than their text says: on procfs and on
    /// AppArmor's file system. Others with such links are never mounted.
    static bool may_be_followed(const UniqueFd& link) noexcept
    {
        constexpr long apparmor_magic = 0x5a3c69f0;
        constexpr long no_links = 0x2000; // ST_NOSYMFOLLOW
        struct statfs status = {};
        return ::fstatfs(link.get(), &status) == 0 && status.f_type != PROC_SUPER_MAGIC
               && status.f_type != apparmor_magic && (status.f_flags & no_links) == 0;
    }

    Rest rest_;
    Way way_;
    int flags_;
    std::uint32_t mode_;
    Links links_;
    int followed_ = 0;
};

} // namespace

int walk(int root_fd, const char* path, std::uint64_t flags, std::uint32_t mode,
         Links links) noexcept
{
    return Walk(root_fd, flags, mode, links).run(path);
}

} // namespace gpucontainer::base
