// SPDX-License-Identifier: MIT
#include "mount/table.hpp"

#include "base/unique_fd.hpp"
#include "mount/statmount.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <span>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

bool is_octal(char c) noexcept { return c >= '0' && c <= '7'; }

/// Takes /proc/self/mountinfo apart, character by character:
/// "ID PARENT DEVICE ROOT PATH ...". Space, tab, newline and backslash of a path
/// are written in octal.
class TableReader {
public:
    explicit TableReader(std::uint64_t parent) noexcept : wanted_(parent) {}

    /// False when the visitor ends it, or a path is too long.
    bool feed(std::string_view text, MountVisitor& visitor) noexcept
    {
        return std::all_of(text.begin(), text.end(), [&](char c) {
            if (c != '\n') {
                feed(c);
                return true;
            }
            const bool go_on = parent_ != wanted_ || visit(visitor);
            parent_ = 0;
            field_ = 0;
            length_ = 0;
            return go_on;
        });
    }

private:
    static constexpr int parent_field = 1;
    static constexpr int path_field = 4;

    void feed(char c) noexcept
    {
        if (c == ' ')
            ++field_;
        else if (field_ == parent_field && c >= '0' && c <= '9')
            parent_ = parent_ * 10 + static_cast<std::uint64_t>(c - '0');
        else if (field_ == path_field)
            append(c);
    }

    void append(char c) noexcept
    {
        if (length_ < path_.size())
            path_[length_++] = c;
        constexpr std::size_t escape = 4; // "\040"
        if (length_ < escape || length_ > path_.size())
            return;
        char* const last = &path_[length_ - escape];
        if (last[0] != '\\' || !is_octal(last[1]) || !is_octal(last[2]) || !is_octal(last[3]))
            return;
        last[0] = static_cast<char>((last[1] - '0') * 64 + (last[2] - '0') * 8 + (last[3] - '0'));
        length_ -= escape - 1;
    }

    bool visit(MountVisitor& visitor) noexcept
    {
        if (length_ >= path_.size()) {
            errno = ENAMETOOLONG;
            return false;
        }
        path_[length_] = '\0';
        return visitor.visit(path_.data());
    }

    std::uint64_t wanted_;
    std::uint64_t parent_ = 0;
    int field_ = 0;
    std::size_t length_ = 0;
    std::array<char, PATH_MAX> path_ = {};
};

/// Tells one mount if it lies on `parent`. One that was unmounted meanwhile is
/// none that has to be told.
bool visit_child(std::uint64_t id, std::uint64_t parent, MountVisitor& visitor) noexcept
{
    MountStatus status;
    if (!statmount(id, statmount_mount_basic | statmount_mount_point, status))
        return errno == ENOENT;
    return status.parent_id != parent || visitor.visit(status.text(status.mount_point));
}

} // namespace

Listing list_children(int fd, MountVisitor& visitor) noexcept
{
    MountIdRequest request;
    if (!unique_id(fd, request.mount_id))
        return Listing::unavailable;
    std::array<std::uint64_t, 64> found = {};
    while (true) {
        const long got = listmount(request, found.data(), found.size());
        if (got < 0)
            return errno == ENOSYS || errno == EPERM ? Listing::unavailable : Listing::failed;
        const std::span<const std::uint64_t> ids(found.data(), static_cast<std::size_t>(got));
        if (!std::all_of(ids.begin(), ids.end(), [&](std::uint64_t id) {
                return visit_child(id, request.mount_id, visitor);
            }))
            return Listing::failed;
        if (ids.size() < found.size())
            return Listing::complete;
        request.parameter = found.back(); // go on behind this one
    }
}

Listing read_children(int fd, MountVisitor& visitor) noexcept
{
    struct statx status = {};
    if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &status) != 0)
        return Listing::failed;
    const base::UniqueFd table(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    if (!table)
        return Listing::failed;
    TableReader reader(status.stx_mnt_id);
    std::array<char, 4096> part;
    while (true) {
        const ssize_t got = ::read(table.get(), part.data(), part.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? Listing::complete : Listing::failed;
        if (!reader.feed({part.data(), static_cast<std::size_t>(got)}, visitor))
            return Listing::failed;
    }
}

} // namespace gpucontainer::mount
