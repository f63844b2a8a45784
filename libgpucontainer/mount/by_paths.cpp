// SPDX-License-Identifier: MIT
#include "mount/by_paths.hpp"

#include "base/unique_fd.hpp"
#include "mount/facts.hpp"
#include "mount/fd_path.hpp"
#include "mount/table.hpp"
#include "syscall/mount_flags.hpp"

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

using base::UniqueFd;

constexpr unsigned long none = 0;
constexpr unsigned long with_those_below = MS_REC;

/// A number for a new name. Benches are copied, so they cannot count names.
std::uint64_t moment() noexcept
{
    constexpr std::uint64_t second = 1'000'000'000;
    timespec now = {};
    (void)::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * second
           + static_cast<std::uint64_t>(now.tv_nsec);
}

/// A name in the scratch directory to mount at. open() then opens what is mounted there.
class Place {
public:
    Place(const Bench& bench, bool directory) noexcept : scratch_(bench.scratch)
    {
        int made = -1;
        errno = EEXIST;
        for (std::uint64_t number = moment(); made != 0 && errno == EEXIST; ++number) {
            (void)std::snprintf(name_.data(), name_.size(), "%" PRIx64, number);
            made = make(directory);
        }
        if (made == 0)
            fd_ = open();
    }

    explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
    FdPath path() const noexcept { return FdPath(fd_.get()); }
    UniqueFd open() const noexcept
    {
        return UniqueFd(::openat(scratch_, name_.data(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    }

private:
    int make(bool directory) const noexcept
    {
        constexpr mode_t file_mode = S_IFREG | 0400U;
        constexpr mode_t directory_mode = 0700;
        return directory ? ::mkdirat(scratch_, name_.data(), directory_mode)
                         : ::mknodat(scratch_, name_.data(), file_mode, 0);
    }

    int scratch_;
    std::array<char, 24> name_ = {};
    UniqueFd fd_;
};

/// Options of a file system, with an SELinux label for all files in it unless that is empty or
/// null.
class Options {
public:
    Options(const char* options, const char* label) noexcept
    {
        const bool labelled = label != nullptr && *label != '\0';
        // Within quotes, commas belong to the label.
        const int length = std::snprintf(text_.data(), text_.size(), "%s%s%s%s", options,
                                         labelled ? ",context=\"" : "", labelled ? label : "",
                                         labelled ? "\"" : "");
        fits_ = length >= 0 && static_cast<std::size_t>(length) < text_.size();
    }

    /// Null with errno if they are too long: the kernel would ignore the end.
    const char* text() const noexcept
    {
        if (fits_)
            return text_.data();
        errno = ENAMETOOLONG;
        return nullptr;
    }

private:
    static constexpr std::size_t kernel_limit = 4096;
    std::array<char, kernel_limit> text_; // terminated
    bool fits_ = false;
};

int clone_tree(const Bench& bench, int dir_fd, const char* path, bool recursive) noexcept
{
    const UniqueFd opened(*path != '\0' ? ::openat(dir_fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC)
                                        : -1);
    const int source = *path != '\0' ? opened.get() : dir_fd;
    struct stat status = {};
    if (source < 0 || ::fstat(source, &status) != 0)
        return -1;
    const Place place(bench, S_ISDIR(status.st_mode));
    const unsigned long flags = MS_BIND | (recursive ? with_those_below : none);
    if (!place || ::mount(FdPath(source), place.path(), nullptr, flags, nullptr) != 0)
        return -1;
    return place.open().release();
}

int bind_below(int source_fd, int base_fd, const char* path) noexcept
{
    constexpr int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    const UniqueFd place(::openat(base_fd, path, flags));
    if (!place
        || ::mount(FdPath(source_fd), FdPath(place.get()), nullptr, MS_BIND | MS_REC, nullptr) != 0)
        return -1;
    return base::above_standard(::openat(base_fd, path, flags));
}

int new_mount(const Bench& bench, const char* type, unsigned long flags, const char* options,
              const char* label) noexcept
{
    const Options all(options, label);
    const Place place(bench, true);
    if (!place || all.text() == nullptr
        || ::mount(mount_source, place.path(), type, flags, all.text()) != 0)
        return -1;
    return place.open().release();
}

int new_tmpfs(const Bench& bench, const char* label) noexcept
{
    return new_mount(bench, "tmpfs", 0, "mode=0755", label);
}

int new_overlay(const Bench& bench, int upper_fd, int lower_fd, std::uint64_t attributes,
                const char* label) noexcept
{
    // Attributes trusted.overlay.* could only come from an image. They are ignored or, before Linux
    // 5.11, at least not followed to another directory.
    constexpr unsigned userxattr_major = 5;
    constexpr unsigned userxattr_minor = 11;
    const char* const careful = is_kernel_at_least(userxattr_major, userxattr_minor)
                                    ? "userxattr"
                                    : "redirect_dir=nofollow";
    std::array<char, 160> options = {};
    (void)std::snprintf(options.data(), options.size(), "lowerdir=%s:%s,%s",
                        static_cast<const char*>(FdPath(upper_fd)),
                        static_cast<const char*>(FdPath(lower_fd)), careful);
    return new_mount(bench, "overlay", attributes | MS_RDONLY, options.data(), label);
}

int attach(int tree_fd, int target_fd) noexcept
{
    return ::mount(FdPath(tree_fd), FdPath(target_fd), nullptr, MS_MOVE, nullptr);
}

int attach_below(int tree_fd, int base_fd, const char* path) noexcept
{
    const UniqueFd target(::openat(base_fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    return target ? attach(tree_fd, target.get()) : -1;
}

int set_attributes(int tree_fd, std::uint64_t attributes, std::uint64_t propagation,
                   bool recursive) noexcept
{
    if (attributes != 0 && syscall::add_mount_flags(tree_fd, attributes) != 0)
        return -1;
    if (propagation == 0)
        return 0;
    return ::mount(nullptr, FdPath(tree_fd), nullptr,
                   propagation | (recursive ? with_those_below : none), nullptr);
}

int clone_private(const Bench& bench, int fd) noexcept
{
    UniqueFd clone(clone_tree(bench, fd, "", true));
    return clone && set_attributes(clone.get(), 0, MS_PRIVATE, true) == 0 ? clone.release() : -1;
}

} // namespace

constexpr Way legacy_way = {
    .detached = false,
    .takes_mounts = true,
    .sets_below = false,
    .locks = false,
    .from_copy = false,
    .clone_tree = clone_tree,
    .clone_private = clone_private,
    .attach = attach,
    .attach_below = attach_below,
    .bind_below = bind_below,
    .set_attributes = set_attributes,
    .new_tmpfs = new_tmpfs,
    .new_overlay = new_overlay,
};

} // namespace gpucontainer::mount
