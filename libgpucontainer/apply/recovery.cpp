// SPDX-License-Identifier: MIT
#include "apply/recovery.hpp"

#include "apply/cache_cleaning.hpp"
#include "base/file.hpp"
#include "base/file_time.hpp"
#include "base/in_root.hpp"
#include "mount/detach.hpp"
#include "mount/facts.hpp"
#include "mount/statmount.hpp"
#include "program/directory_times.hpp"
#include "program/executor.hpp"
#include "program/parent.hpp"
#include "rootfs/root.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::apply {

using journal::Journal;
using program::Failure;
using program::FileMark;
using program::Operation;
using program::Parent;
using program::Program;
using program::Step;
namespace {

using mount::Found;

/// Whether an apply that began at that second can have made a name. False, with errno, if that
/// cannot be found out.
bool look_at_time(const Parent& parent, const char* name, std::int64_t since,
                  bool& made_then) noexcept
{
    made_then = false;
    struct statx status = {};
    if (::statx(parent.fd(), name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
                STATX_BASIC_STATS | STATX_BTIME, &status)
        != 0)
        return Parent::is_gone(errno);
    // The clock of file times may be behind.
    const std::int64_t begin = base::to_nanoseconds(since, -base::nanoseconds_per_second);
    const auto age = [&](const statx_timestamp& time) {
        const auto made = base::to_nanoseconds(time.tv_sec, time.tv_nsec);
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(made)
                                         - static_cast<std::uint64_t>(begin));
    };
    const bool is_ours_alone = S_ISDIR(status.stx_mode) || status.stx_nlink == 1;
    const unsigned allowed =
        S_ISDIR(status.stx_mode) ? program::directory_mode | S_ISGID : program::file_mode;
    const bool has_our_mode =
        S_ISLNK(status.stx_mode) || (status.stx_mode & 07777U & ~allowed) == 0;
    // Nobody can set back the birth time. The change time may be from somebody else's change.
    const bool has_birth = (status.stx_mask & STATX_BTIME) != 0;
    const std::int64_t passed = age(has_birth ? status.stx_btime : status.stx_ctime);
    constexpr std::int64_t most = program::longest_change + 2 * base::nanoseconds_per_second;
    const bool in_time = passed >= 0 && (!has_birth || passed <= most);
    made_then = is_ours_alone && has_our_mode && in_time;
    return true;
}

/// Finds what there is of an interrupted set-up. Each function is false, with errno, if that
/// cannot be found out.
class Leftovers {
public:
    Leftovers(const rootfs::Root& root, const Journal& journal, int table)
        : root_(root), program_(journal.program.get()), journal_(journal), table_(table)
    {
    }

    bool adopt_mount(Operation& operation) const
    {
        const char* const path = program_.text(operation.path);
        const std::uint64_t follow =
            (operation.flags & program::follow_target) != 0 ? 0 : O_NOFOLLOW;
        while (true) {
            const base::UniqueFd target(base::open_in_root(root_.fd(), path, O_PATH | follow));
            if (!target)
                return Parent::is_gone(errno);
            const Found mounted = mount::find_mount_root(target.get());
            if (mounted != Found::yes)
                return mounted == Found::no;
            bool uncovered = false;
            if (!adopt_mounted(operation, target.get(), uncovered))
                return false;
            if (!uncovered)
                return true;
        }
    }

    bool adopt_name(Operation& operation) const
    {
        const Parent parent = Parent::known(program_, operation, root_.fd(), table_);
        if (!parent)
            return Parent::is_gone(errno);
        if (operation.step == Step::replace_file)
            return adopt_replaced(operation, parent);
        struct stat status = {};
        bool made_then = false;
        if (::fstatat(parent.fd(), parent.name(), &status, AT_SYMLINK_NOFOLLOW) != 0
            || !look_at_time(parent, parent.name(), journal_.since, made_then))
            return Parent::is_gone(errno);
        if (parent.is_covered()) {
            errno = EBUSY;
            return false;
        }
        if (!made_then)
            return true; // it existed before, or was made later
        const Found ours = is_as_made(operation, parent, status.st_mode);
        if (ours == Found::yes) {
            if (!look_at(parent.fd(), parent.name(), operation.made) || !parent.note(operation))
                return false;
            operation.done = 1;
        }
        return ours != Found::unknown;
    }

private:
    Found is_as_made(const Operation& operation, const Parent& parent, mode_t mode) const
    {
        if (operation.step == Step::make_directory && S_ISDIR(mode))
            return holds_ours_alone(parent, operation);
        if (operation.step == Step::make_link && S_ISLNK(mode))
            return leads(parent, operation);
        if (operation.step == Step::make_file && S_ISREG(mode))
            return begins(operation);
        return Found::no;
    }

    /// `uncovered`: the topmost mount there was removed.
    bool adopt_mounted(Operation& operation, int target, bool& uncovered) const
    {
        // The root of our mount over a file is a file that the journal names. A mount over a
        // directory is recognised by its source and its planned place.
        FileMark mark = {};
        if (!look_at(target, mark))
            return false;
        const Found overlay = operation.step == Step::overlay && !same_file(mark, operation.made)
                                  ? find_our_overlay(target)
                                  : Found::no;
        if (overlay == Found::unknown)
            return false;
        if (!is_our_mount(operation, target, mark) && overlay == Found::no)
            return true;
        operation.mount_id = mount::mount_id(target);
        if (operation.mount_id == 0)
            return false;
        // The names of an overlay: it was not made yet, or they are still below it.
        const bool names = operation.step == Step::overlay && overlay == Found::no;
        uncovered = names && mount::detach(target) == 0;
        operation.done = uncovered ? 0 : 1;
        return true;
    }

    /// By its mount id, if the kernel never reuses those.
    static bool is_our_mount(const Operation& operation, int target, const FileMark& mark)
    {
        if (operation.step == Step::mount && mount::is_unique(operation.mount_id))
            return mount::is_on(target, operation.mount_id);
        return same_file(mark, operation.made);
    }

    Found find_our_overlay(int target) const
    {
        // Where the kernel refuses an overlay, a tmpfs has the names.
        Found overlay = mount::find_overlay(target);
        if (overlay == Found::no)
            overlay = mount::find_tmpfs(target);
        std::uint64_t id = 0;
        if (overlay != Found::yes)
            return overlay;
        if (!mount::table_id(target, id))
            return Found::unknown;
        const mount::Lookup mounted = mount::look_up(id, table_);
        return mounted.found == Found::yes && !mounted.ours ? Found::no : mounted.found;
    }

    std::string_view data(const Operation& operation) const
    {
        return {program_.text(operation.data), operation.data_size};
    }

    /// Whether a directory is empty, except for names that are adopted already.
    Found holds_ours_alone(const Parent& parent, const Operation& operation) const
    {
        const base::UniqueFd directory(base::open_in_root(
            parent.fd(), parent.name(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK));
        if (!directory)
            return Parent::is_gone(errno) ? Found::no : Found::unknown;
        const auto names = base::list_directory(directory.get(), ".", program_.operations().size());
        if (!names)
            return answer(names.error());
        const std::string prefix = std::string(program_.text(operation.path)) + "/";
        return std::ranges::all_of(
                   *names, [&](const std::string& name) { return is_adopted(prefix + name); })
                   ? Found::yes
                   : Found::no;
    }

    bool is_adopted(const std::string& path) const
    {
        return std::ranges::any_of(program_.operations(), [&](const Operation& operation) {
            return operation.done != 0 && !is_mount(operation)
                   && path == program_.text(operation.path);
        });
    }

    Found leads(const Parent& parent, const Operation& operation) const
    {
        const auto target = base::read_link(parent.fd(), parent.name());
        if (!target)
            return answer(target.error());
        return *target == data(operation) ? Found::yes : Found::no;
    }

    /// Whether the file has the planned content, or the beginning of it.
    Found begins(const Operation& operation) const
    {
        const auto found = root_.read(program_.text(operation.path), operation.data_size);
        if (!found)
            return answer(found.error());
        return data(operation).starts_with(*found) ? Found::yes : Found::no;
    }

    /// After a failed lookup: whether the name certainly is not ours, or nothing is known.
    static Found answer(const Error& error)
    {
        errno = error.os_error();
        if (error.code() == Errc::requirement) // /proc is needed to open files
            return Found::unknown;
        return errno == 0 || errno == EFBIG || Parent::is_gone(errno) ? Found::no : Found::unknown;
    }

    bool adopt_replaced(Operation& operation, const Parent& parent) const
    {
        const program::KeptName kept(parent.name());
        FileMark now = {};
        FileMark beside = {};
        bool now_ours = false;
        bool beside_ours = false;
        if (!look_at(parent.fd(), parent.name(), now) || !look_at(parent.fd(), kept.name(), beside)
            || !look_at_time(parent, parent.name(), journal_.since, now_ours)
            || !look_at_time(parent, kept.name(), journal_.since, beside_ours))
            return false;
        const bool had_one = operation.expected.inode != 0;
        const bool exchanged = had_one ? same_file(beside, operation.expected) : beside.inode == 0;
        Found ours = Found::no;
        if (exchanged && now_ours)
            ours = is_our_cache(operation, now);
        if (ours == Found::unknown)
            return false;
        if (ours == Found::yes)
            operation.made = now;
        // If it was interrupted before the exchange, the new file is beside the old one.
        else if (beside_ours && same_file(now, operation.expected))
            operation.made = beside;
        operation.done = operation.made.inode != 0 || (exchanged && had_one) ? 1 : 0;
        return parent.note(operation);
    }

    Found is_our_cache(const Operation& operation, const FileMark& now) const
    {
        // After a loss of power, the new file may lack its content.
        if (now.size == 0)
            return Found::yes;
        auto bytes = root_.read(program_.text(operation.path), elf::max_cache_size);
        if (!bytes)
            return answer(bytes.error());
        const auto cache = elf::LdCache::parse(*bytes);
        return cache && OurPaths(program_, journal_.tree_path).are_in(*cache) ? Found::yes
                                                                              : Found::no;
    }

    const rootfs::Root& root_;
    Program program_;
    const Journal& journal_;
    int table_;
};

/// Calls `adopt` with each operation, even after a failure.
template <typename Iterator, typename Adopt>
bool adopt_each(const Program& program, Iterator next, Iterator end, Failure& failure, Adopt adopt)
{
    bool complete = true;
    for (; next != end; ++next) {
        Operation& operation = *next;
        if (operation.done != 0 || adopt(operation))
            continue;
        if (complete)
            failure = {Errc::apply, errno, "look for what was cut off at",
                       program.text(operation.path)};
        complete = false;
    }
    return complete;
}

bool no_root(const Error& error, Failure& failure)
{
    failure = {error.code(), error.os_error(), "look at the root file system", ""};
    return false;
}

} // namespace

bool adopt_mounts(const Journal& journal, int rootfs_fd, Failure& failure, int table)
{
    const auto root = rootfs::Root::open(rootfs_fd);
    if (!root)
        return no_root(root.error(), failure);
    const Leftovers leftovers(*root, journal, table);
    const Program program(journal.program.get());
    const auto operations = program.operations();
    return adopt_each(program, operations.begin(), operations.end(), failure,
                      [&](Operation& operation) {
                          return !is_mount(operation) || leftovers.adopt_mount(operation);
                      });
}

bool adopt_names(const Journal& journal, int rootfs_fd, Failure& failure, int table)
{
    const auto root = rootfs::Root::open(rootfs_fd);
    if (!root)
        return no_root(root.error(), failure);
    const Leftovers leftovers(*root, journal, table);
    const Program program(journal.program.get());
    // First what was made in a directory, then the directory.
    const auto operations = program.operations();
    return adopt_each(program, operations.rbegin(), operations.rend(), failure,
                      [&](Operation& operation) {
                          return is_mount(operation) || leftovers.adopt_name(operation);
                      });
}

} // namespace gpucontainer::apply
