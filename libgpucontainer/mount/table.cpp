// SPDX-License-Identifier: MIT
#include "mount/table.hpp"

#include "base/unique_fd.hpp"
#include "mount/fd_path.hpp"
#include "mount/kernel.hpp"
#include "mount/links.hpp"
#include "mount/statmount.hpp"
#include "mount/table_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <limits>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace gpucontainer::mount {
namespace {

bool is_octal(char c) noexcept { return c >= '0' && c <= '7'; }

struct TableLine {
    std::uint64_t id;
    std::uint64_t parent;
    bool shared;
    bool ours;
    const char* path; ///< Null if it is too long.
};

/// Parses mountinfo, character by character: "ID PARENT DEVICE ROOT PATH OPTIONS [shared:N] ... -
/// TYPE SOURCE ...". Space, tab, newline and backslash in a path are written in octal. A line that
/// the kernel would not write, or that has no end, is an error.
class TableReader {
public:
    /// False if `visit` returned false for a line, and, with EBADMSG, for a broken line.
    template <typename Visit>
    bool feed(std::string_view text, Visit& visit) noexcept
    {
        return std::all_of(text.begin(), text.end(), [&](char c) {
            if (c != '\n') {
                feed(c);
                return true;
            }
            return end_line(visit);
        });
    }

    /// False with EBADMSG if the last line has no end.
    bool finish() const noexcept { return (field_ == 0 && first_) || fail(); }

private:
    static constexpr int path_field = 4;
    static constexpr int options_field = 5;
    static constexpr int no_field = -1; // after the separator, only the source counts
    static constexpr int source_field = 2;
    static constexpr std::string_view our_source = mount_source;
    static constexpr std::size_t others_source = ~std::size_t{0};

    static bool fail() noexcept
    {
        errno = EBADMSG;
        return false;
    }

    template <typename Visit>
    bool end_line(Visit& visit) noexcept
    {
        if (broken_ || field_ != no_field)
            return fail();
        const bool fits = length_ < path_.size();
        if (fits)
            path_[length_] = '\0';
        const bool go_on = visit(TableLine{id_, parent_, shared_, source_ == our_source.size(),
                                           fits ? path_.data() : nullptr});
        start_line();
        return go_on;
    }

    void start_line() noexcept
    {
        id_ = 0;
        parent_ = 0;
        shared_ = false;
        field_ = 0;
        behind_ = 0;
        source_ = 0;
        first_ = true;
        length_ = 0;
        decoded_ = 0;
    }

    void feed(char c) noexcept
    {
        if (field_ == no_field) {
            feed_behind(c);
            return;
        }
        if (c == ' ') {
            broken_ = broken_ || first_; // an empty field
            ++field_;
            first_ = true;
            return;
        }
        if (field_ == 0)
            append(id_, c);
        else if (field_ == 1)
            append(parent_, c);
        else if (field_ == path_field)
            append(c);
        else if (field_ > options_field && first_)
            feed_optional(c);
        first_ = false;
    }

    void feed_optional(char c) noexcept
    {
        if (c == 's') // of shared, master, propagate_from and unbindable
            shared_ = true;
        else if (c == '-')
            field_ = no_field;
    }

    void feed_behind(char c) noexcept
    {
        if (c == ' ')
            behind_ += behind_ <= source_field ? 1 : 0;
        else if (behind_ == source_field)
            source_ = source_ < our_source.size() && our_source[source_] == c ? source_ + 1
                                                                              : others_source;
    }

    void append(std::uint64_t& number, char c) noexcept
    {
        constexpr std::uint64_t ten = 10;
        constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
        const auto digit = static_cast<std::uint64_t>(c) - '0';
        broken_ = broken_ || c < '0' || c > '9' || number > (most - digit) / ten;
        number = number * ten + digit;
    }

    void append(char c) noexcept
    {
        broken_ = broken_ || c == '\0' || (first_ && c != '/');
        if (length_ < path_.size())
            path_[length_++] = c;
        constexpr std::size_t escape = 4; // "\040"
        if (length_ - decoded_ < escape)
            return;
        char* const last = &path_[length_ - escape];
        if (last[0] != '\\' || !is_octal(last[1]) || !is_octal(last[2]) || !is_octal(last[3]))
            return;
        constexpr int most = 0377;
        const int byte = (last[1] - '0') * 64 + (last[2] - '0') * 8 + (last[3] - '0');
        broken_ = broken_ || byte == 0 || byte > most;
        last[0] = static_cast<char>(byte);
        length_ -= escape - 1;
        decoded_ = length_; // a backslash that was written in octal does not begin an escape
    }

    std::uint64_t id_ = 0;
    std::uint64_t parent_ = 0;
    bool shared_ = false;
    bool broken_ = false; ///< A line is not the kernel's; nothing is read after it.
    int field_ = 0;
    int behind_ = 0;         ///< Number of the field after the separator.
    std::size_t source_ = 0; ///< How many characters of the source are those of ours.
    bool first_ = true;      ///< The next character begins the field.
    std::size_t length_ = 0;
    std::size_t decoded_ = 0; ///< How many characters of the path are decoded.
    std::array<char, PATH_MAX> path_ = {};
};

class TableFile final : public TableSource {
public:
    explicit TableFile(int table) noexcept
        : own_(table == own_table ? ::open("/proc/thread-self/mountinfo", O_RDONLY | O_CLOEXEC)
                                  : -1),
          fd_(table == own_table ? own_.get() : table)
    {
    }
    bool rewind() noexcept override { return fd_ >= 0 && ::lseek(fd_, 0, SEEK_SET) == 0; }
    ssize_t read(char* to, std::size_t size) noexcept override { return ::read(fd_, to, size); }

private:
    base::UniqueFd own_;
    int fd_;
};

/// Calls `visit` with each line until it returns false. False then, and, with errno, if reading
/// fails.
template <typename Visit>
bool for_each_line(int table, Visit visit) noexcept
{
    constexpr unsigned whole_major = 5;
    constexpr unsigned whole_minor = 8;
    TableFile file(table);
    if (!file.rewind())
        return false;
    TableReader reader;
    if (!is_kernel_at_least(whole_major, whole_minor)) {
        TableText text;
        return text.take(file) && reader.feed(text.view(), visit) && reader.finish();
    }
    std::array<char, 4096> part;
    while (true) {
        const ssize_t got = file.read(part.data(), part.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 && reader.finish();
        if (!reader.feed({part.data(), static_cast<std::size_t>(got)}, visit))
            return false;
    }
}

/// A mount is in the table if its root can be reached from the thread's root. If the thread's root
/// is a directory below, the mount is not in the table, but what is mounted below still is.
bool is_mount_of_own_root(std::uint64_t wanted, int table) noexcept
{
    std::uint64_t id = 0;
    const base::UniqueFd root(table == own_table ? ::open("/", O_PATH | O_CLOEXEC) : -1);
    return root && table_id(root.get(), id) && id == wanted;
}

bool is_hidden_call(int os_error) noexcept { return os_error == ENOSYS || os_error == EPERM; }

} // namespace

Listing list_children(int fd, MountVisitor& visitor) noexcept
{
    std::uint64_t parent = 0;
    if (!unique_id(fd, parent))
        return Listing::unavailable;
    bool by_visitor = false;
    const auto visit = [&](std::uint64_t id) {
        MountStatus status;
        // A mount that was unmounted meanwhile is left out.
        if (!statmount(id, statmount_mount_basic | statmount_mount_point, status))
            return errno == ENOENT;
        if (status.parent_id != parent)
            return true;
        const char* const path = status.text(status.mount_point);
        by_visitor = true;
        errno = EXDEV;
        if (*path == '\0' || !visitor.visit(path))
            return false;
        by_visitor = false;
        return true;
    };
    if (for_each_below(parent, visit))
        return Listing::complete;
    return !by_visitor && is_hidden_call(errno) ? Listing::unavailable : Listing::failed;
}

Listing read_children(int fd, MountVisitor& visitor, int table) noexcept
{
    std::uint64_t parent = 0;
    if (!table_id(fd, parent))
        return Listing::failed;
    bool seen = is_mount_of_own_root(parent, table);
    const auto visit = [&](const TableLine& line) {
        seen = seen || line.id == parent;
        errno = ENAMETOOLONG;
        return line.parent != parent || (line.path != nullptr && visitor.visit(line.path));
    };
    if (!for_each_line(table, visit))
        return Listing::failed;
    errno = EXDEV;
    return seen ? Listing::complete : Listing::failed;
}

Below list_below(int fd) noexcept
{
    std::uint64_t id = 0;
    Below below = {0, 0};
    const auto visit = [&](std::uint64_t mount) {
        ++below.count;
        below.newest = std::max(below.newest, mount);
        return true;
    };
    return unique_id(fd, id) && for_each_below(id, visit) ? below : Below();
}

Below look_below(int fd, int table) noexcept
{
    const Below below = list_below(fd);
    return below.count >= 0 ? below : Below{count_below_by_table(fd, table), 0};
}

int count_below_by_table(int fd, int table) noexcept
{
    std::uint64_t id = 0;
    if (!table_id(fd, id))
        return -1;
    bool seen = is_mount_of_own_root(id, table);
    Links links;
    const auto visit = [&](const TableLine& line) {
        seen = seen || line.id == id;
        return links.add(line.parent, line.id);
    };
    if (!for_each_line(table, visit) || !links.find_below(id))
        return -1;
    errno = EXDEV;
    return seen ? static_cast<int>(links.below().size()) : -1;
}

bool list_ours_below(int fd, std::vector<std::string>& paths)
{
    std::uint64_t id = 0;
    if (!table_id(fd, id))
        return false;
    Links links;
    std::vector<std::pair<std::uint64_t, std::string>> ours;
    const auto visit = [&](const TableLine& line) {
        if (line.ours && line.id != id && line.path != nullptr)
            ours.emplace_back(line.id, line.path);
        return links.add(line.parent, line.id);
    };
    if (!for_each_line(own_table, visit) || !links.find_below(id))
        return false;
    for (auto& [mount, path] : ours)
        if (std::ranges::binary_search(links.below(), mount))
            paths.push_back(std::move(path));
    return true;
}

Found find_mount_root_by_table(int fd) noexcept
{
    std::uint64_t id = 0;
    std::array<char, PATH_MAX> path = {};
    if (::readlink(FdPath(fd), path.data(), path.size() - 1) <= 0 || !table_id(fd, id))
        return Found::unknown;
    bool found = false;
    const auto visit = [&](const TableLine& line) {
        found = found
                || (line.id == id && line.path != nullptr
                    && std::string_view(line.path) == path.data());
        return true;
    };
    if (!for_each_line(own_table, visit))
        return Found::unknown;
    return found ? Found::yes : Found::no;
}

Lookup look_up(std::uint64_t table_id, int table) noexcept
{
    Lookup outcome;
    const auto visit = [&](const TableLine& line) {
        if (line.id == table_id)
            outcome = {Found::yes, line.shared, line.ours};
        return true;
    };
    if (!for_each_line(table, visit))
        return {};
    if (outcome.found != Found::yes)
        outcome.found = Found::no;
    return outcome;
}

} // namespace gpucontainer::mount
