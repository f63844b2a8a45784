// SPDX-License-Identifier: MIT
#include "program/directory_times.hpp"

#include "base/file_time.hpp"
#include "base/in_root.hpp"
#include "program/parent.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace gpucontainer::program {
namespace {

bool in_same_directory(const char* left, const char* right) noexcept
{
    const auto length = std::strrchr(left, '/') - left;
    return std::strrchr(right, '/') - right == length
           && std::strncmp(left, right, static_cast<std::size_t>(length)) == 0;
}

/// Notes the directory of each operation that has none yet. It stays unknown if it is missing. If a
/// directory cannot be looked at, `failed` is called, and decides whether to go on.
template <typename Failed>
bool identify(const Program& program, int rootfs_fd, int table, Failed failed) noexcept
{
    const Operation* last = nullptr; // names in one directory usually follow each other
    for (Operation& operation : program.operations()) {
        operation.flags &= ~not_settled;
        if (is_mount(operation) || operation.parent_inode != 0)
            continue;
        if (last != nullptr
            && in_same_directory(program.text(last->path), program.text(operation.path))) {
            operation.parent_device = last->parent_device;
            operation.parent_inode = last->parent_inode;
            operation.parent_mount = last->parent_mount;
            continue;
        }
        const Parent parent = Parent::known(program, operation, rootfs_fd, table);
        const bool looked = parent ? parent.note(operation) : Parent::is_gone(errno);
        if (!looked && !failed(operation))
            return false;
        last = operation.parent_inode != 0 ? &operation : nullptr;
    }
    return true;
}

/// All operations that make names in one directory.
class Siblings {
public:
    Siblings(const Program& program, const Operation& first) noexcept
        : program_(program), first_(first)
    {
    }

    /// False if an earlier operation has the same directory.
    bool begin_here() const noexcept
    {
        for (const Operation& operation : program_.operations()) {
            if (&operation == &first_)
                return true;
            if (contain(operation))
                return false;
        }
        return true;
    }

    bool contain(const Operation& operation) const noexcept
    {
        return !is_mount(operation) && operation.parent_inode == first_.parent_inode
               && operation.parent_device == first_.parent_device;
    }

    /// Whether something of ours is still in the directory, and will be removed.
    bool any_left(const Parent& parent) const noexcept
    {
        for (const Operation& operation : program_.operations())
            if (operation.done != 0 && contain(operation) && is_left(operation, parent))
                return true;
        return false;
    }

    /// The time before our changes. Changes of others, and ours before them, are not undone.
    std::int64_t time_before(std::int64_t now) const noexcept
    {
        const auto operations = program_.operations();
        for (auto operation = operations.rbegin(); operation != operations.rend(); ++operation)
            if (operation->done != 0 && contain(*operation) && operation->parent_after == now)
                now = operation->parent_before;
        return now;
    }

    template <typename Visit>
    bool all(Visit visit) const noexcept
    {
        return std::ranges::all_of(program_.operations(), [&](Operation& operation) {
            return !contain(operation) || visit(operation);
        });
    }

    void settle(std::int64_t wanted, std::int64_t now) const noexcept
    {
        for (Operation& operation : program_.operations())
            if (contain(operation)) {
                operation.parent_before = wanted;
                operation.parent_after = now;
            }
    }

private:
    bool is_left(const Operation& operation, const Parent& parent) const noexcept
    {
        const char* const path = program_.text(operation.path);
        const char* const name = std::strrchr(path, '/') + 1;
        FileMark mark;
        if (look_at(parent.fd(), name, mark) && is_ours(operation, mark))
            return true;
        return operation.step == Step::replace_file
               && look_at(parent.fd(), KeptName(name).name(), mark) && mark.inode != 0;
    }

    const Program& program_;
    const Operation& first_;
};

/// Calls `visit` with each existing directory, its operations and its time. `failed` is as for
/// identify().
template <typename Visit, typename Failed>
bool for_each_directory(const Program& program, int rootfs_fd, int table, Visit visit,
                        Failed failed) noexcept
{
    if (!identify(program, rootfs_fd, table, failed))
        return false;
    for (Operation& operation : program.operations()) {
        const Siblings siblings(program, operation);
        if (is_mount(operation) || operation.parent_inode == 0 || !siblings.begin_here())
            continue;
        const Parent parent = Parent::known(program, operation, rootfs_fd, table);
        if (!parent && Parent::is_gone(errno))
            continue;
        FileMark directory;
        const bool looked = parent && parent.look(directory);
        if (!(looked ? visit(parent, siblings, operation, directory.mtime_ns)
                     : siblings.all([&](Operation& other) { return failed(other); })))
            return false;
    }
    return true;
}

bool end_there(const Operation&) noexcept { return false; }

} // namespace

std::int64_t file_clock() noexcept
{
    timespec now = {};
    (void)::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return base::to_nanoseconds(now);
}

bool note_directories(const Program& program, int rootfs_fd) noexcept
{
    return for_each_directory(
        program, rootfs_fd, mount::own_table,
        [](const Parent&, const Siblings& siblings, const Operation&, std::int64_t now) {
            siblings.settle(now, 0);
            return true;
        },
        end_there);
}

bool settle_times(const Program& program, int rootfs_fd, std::int64_t changing_since,
                  Failure& failure, int table) noexcept
{
    bool complete = true;
    // A file system with times in whole seconds rounds them down, to before that moment.
    const std::int64_t since = changing_since - changing_since % base::nanoseconds_per_second;
    const auto visit = [&](const Parent& parent, const Siblings& siblings, const Operation& first,
                           std::int64_t now) {
        const bool cut_off = changing_since > 0 && first.parent_before != 0 && now >= since
                             && now - changing_since <= longest_change;
        if (cut_off)
            siblings.settle(first.parent_before, now);
        else if (siblings.any_left(parent))
            siblings.settle(siblings.time_before(now), now);
        return true;
    };
    // A directory out of reach does not stop the others.
    const auto failed = [&](Operation& operation) {
        operation.flags |= not_settled;
        if (complete)
            failure = {Errc::apply, errno, errno == EBUSY ? hidden_step : "open the directory of",
                       program.text(operation.path)};
        complete = false;
        return true;
    };
    return for_each_directory(program, rootfs_fd, table, visit, failed) && complete;
}

bool restore_times(const Program& program, int rootfs_fd, int table) noexcept
{
    return for_each_directory(
        program, rootfs_fd, table,
        [](const Parent& parent, const Siblings&, const Operation& first, std::int64_t now) {
            return now != first.parent_after || now == first.parent_before
                   || parent.give_mtime(first.parent_before);
        },
        end_there);
}

void synchronize_directories(const Program& program, int rootfs_fd, int table) noexcept
{
    for (const Operation& operation : program.operations()) {
        if (is_mount(operation))
            continue;
        const Parent parent = Parent::known(program, operation, rootfs_fd, table);
        const base::UniqueFd directory(
            parent ? base::open_in_root(parent.fd(), ".", O_RDONLY | O_DIRECTORY) : -1);
        if (directory)
            (void)::fsync(directory.get());
    }
}

} // namespace gpucontainer::program
