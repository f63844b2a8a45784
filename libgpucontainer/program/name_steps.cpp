// SPDX-License-Identifier: MIT
#include "program/name_steps.hpp"

#include "base/in_root.hpp"
#include "base/kernel_file_system.hpp"
#include "base/write_all.hpp"
#include "program/parent.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::program {
namespace {

using base::UniqueFd;

bool fail(Failure& failure, const char* step, const char* object, Errc otherwise,
          Cause cause = Cause::other) noexcept
{
    failure.os_error = errno;
    failure.code =
        errno == EPERM || errno == EACCES || errno == EROFS ? Errc::permission : otherwise;
    failure.step = step;
    failure.object = object;
    failure.cause = cause;
    return false;
}

/// Removes what was just created and cannot be completed. What cannot be removed is remembered.
bool discard(Operation& operation, int directory, const char* name, int flags) noexcept
{
    const int saved = errno;
    if (::unlinkat(directory, name, flags) != 0)
        operation.done = look_at(directory, name, operation.made) ? 1 : 0;
    errno = saved;
    return false;
}

bool create_file(const Program& program, Operation& operation, int directory,
                 const char* name) noexcept
{
    const mode_t mode = mode_of_file(operation.data_size);
    const UniqueFd file(
        base::open_in_root(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
    if (!file)
        return false;
    // The caller's umask limits the mode at creation.
    if (base::write_all(file.get(), {program.text(operation.data), operation.data_size})
        && ::fchmod(file.get(), mode) == 0 && look_at(file.get(), operation.made))
        return true;
    return discard(operation, directory, name, 0);
}

/// False with errno; ESTALE if it has entries.
bool is_empty(int directory) noexcept
{
    // If others put something into it, the first part shows it.
    std::array<char, 1024> entries = {};
    const long got = ::syscall(SYS_getdents64, directory, entries.data(), entries.size());
    for (long at = 0; at < got;) {
        const char* const entry = entries.data() + at;
        const char* const name = entry + offsetof(dirent64, d_name);
        errno = ESTALE;
        if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0)
            return false;
        unsigned short length = 0;
        std::memcpy(&length, entry + offsetof(dirent64, d_reclen), sizeof length);
        at += length;
    }
    return got >= 0;
}

/// Sets the mode of a directory that was just made: the caller's umask may have removed bits, and
/// the directory above may have added the setgid bit. Whoever may write there can have put another
/// directory in its place. One that has entries, or that more users may use, is not opened to
/// everybody.
bool give_mode(int directory) noexcept
{
    struct stat status = {};
    if (::fstat(directory, &status) != 0)
        return false;
    const mode_t mode = status.st_mode & 07777U;
    errno = ESTALE;
    return (mode & ~(directory_mode | S_ISGID)) == 0 && is_empty(directory)
           && (mode == directory_mode || ::fchmod(directory, directory_mode) == 0);
}

bool create_directory(Operation& operation, int directory, const char* name) noexcept
{
    if (::mkdirat(directory, name, directory_mode) != 0)
        return false;
    const UniqueFd made(base::open_in_root(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    if (made && give_mode(made.get()) && look_at(made.get(), operation.made))
        return true;
    if (made && errno == ESTALE)
        return false; // it is not the one that was made
    return discard(operation, directory, name, AT_REMOVEDIR);
}

bool create_link(const Program& program, Operation& operation, int directory,
                 const char* name) noexcept
{
    if (::symlinkat(program.text(operation.data), directory, name) != 0)
        return false;
    return look_at(directory, name, operation.made) || discard(operation, directory, name, 0);
}

bool as_expected(const FileMark& found, const FileMark& expected) noexcept
{
    if (!same_file(found, expected))
        return false;
    return expected.inode == 0
           || (found.size == expected.size && found.mtime_ns == expected.mtime_ns);
}

/// Exchanges the successor, under the kept name, with the file that is replaced. If somebody put
/// another file there at the last moment, it is put back.
bool exchange(Operation& operation, const Parent& parent, const char* kept) noexcept
{
    const bool has_one = operation.expected.inode != 0;
    const unsigned flags = has_one ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    if (::renameat2(parent.fd(), kept, parent.fd(), parent.name(), flags) != 0)
        return false;
    FileMark beside = {};
    const bool looked = !has_one || look_at(parent.fd(), kept, beside);
    if (looked && as_expected(beside, operation.expected))
        return true;
    const int reason = looked ? ESTALE : errno;
    const bool back =
        ::renameat2(parent.fd(), kept, parent.fd(), parent.name(), RENAME_EXCHANGE) == 0;
    operation.done = back ? 0 : 1;
    errno = reason;
    return false;
}

/// Writes the successor under the kept name and exchanges the two. So the name is never missing or
/// half-written.
bool replace_file(const Program& program, Operation& operation, const Parent& parent) noexcept
{
    const KeptName kept(parent.name());
    if (!kept) {
        errno = ENAMETOOLONG;
        return false;
    }
    FileMark found;
    if (!look_at(parent.fd(), parent.name(), found))
        return false;
    if (!as_expected(found, operation.expected)) {
        errno = ESTALE;
        return false;
    }
    if (!create_file(program, operation, parent.fd(), kept.name()))
        return false;
    if (exchange(operation, parent, kept.name()))
        return true;
    // If the exchange could not be reverted, the file under the kept name is not ours.
    return operation.done == 0 && discard(operation, parent.fd(), kept.name(), 0);
}

bool perform(const Program& program, Operation& operation, const Parent& parent) noexcept
{
    switch (operation.step) {
    case Step::make_directory:
        return create_directory(operation, parent.fd(), parent.name());
    case Step::make_file:
        return create_file(program, operation, parent.fd(), parent.name());
    case Step::make_link:
        return create_link(program, operation, parent.fd(), parent.name());
    case Step::replace_file:
        return replace_file(program, operation, parent);
    case Step::mount:
    case Step::overlay:
        break;
    }
    errno = EINVAL;
    return false;
}

Cause cause_of(Step step) noexcept
{
    if (step != Step::replace_file)
        return Cause::cannot_create;
    return errno == EEXIST ? Cause::kept_file_there : Cause::other;
}

const char* describe(Step step) noexcept
{
    switch (step) {
    case Step::make_directory:
        return "create directory";
    case Step::make_file:
        return "create file";
    case Step::make_link:
        return "create link";
    default:
        return "replace file";
    }
}

/// Moves our file to the kept name, and the replaced one, if there was one, back to its name. If
/// somebody put another file there at the last moment, that stays, and the replaced one is lost.
/// `beside` is what the kept name is afterwards.
bool take_aside(const Operation& operation, const Parent& parent, const char* kept,
                FileMark& beside) noexcept
{
    const unsigned flags = operation.expected.inode != 0 ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    const bool moved = ::renameat2(parent.fd(), parent.name(), parent.fd(), kept, flags) == 0;
    // Somebody put a file at the kept name, so ours cannot go there.
    if (!moved && errno == EEXIST)
        return ::unlinkat(parent.fd(), parent.name(), 0) == 0;
    if (!moved || !look_at(parent.fd(), kept, beside))
        return false;
    if (is_ours(operation, beside))
        return true;
    return ::renameat2(parent.fd(), kept, parent.fd(), parent.name(), flags) == 0
           && look_at(parent.fd(), kept, beside);
}

bool put_back(Operation& operation, const FileMark& now, const Parent& parent) noexcept
{
    const KeptName kept(parent.name());
    FileMark beside;
    if (!look_at(parent.fd(), kept.name(), beside))
        return false;
    const bool ours = is_ours(operation, now);
    const bool had_one = operation.expected.inode != 0;
    const bool has_old = had_one && same_file(beside, operation.expected);
    // If somebody wrote another file meanwhile, that stays, and the replaced one is lost.
    if (ours && (has_old || !had_one) && !take_aside(operation, parent, kept.name(), beside))
        return false;
    // The kept name has our file after an interrupted undo, or the successor after an interrupted
    // apply. Anything else is somebody else's.
    const bool successor = is_ours(operation, beside);
    if (ours || has_old || successor)
        operation.done = 0;
    if (!has_old && !successor)
        return true;
    return ::unlinkat(parent.fd(), kept.name(), 0) == 0 || errno == ENOENT;
}

bool take_away(Operation& operation, const FileMark& now, const Parent& parent) noexcept
{
    if (parent.is_covered()) {
        errno = EBUSY;
        return false;
    }
    if (operation.step == Step::replace_file)
        return put_back(operation, now, parent);
    if (!is_ours(operation, now))
        return true;
    const bool directory = operation.step == Step::make_directory;
    if (::unlinkat(parent.fd(), parent.name(), directory ? AT_REMOVEDIR : 0) == 0) {
        operation.done = 0;
        return true;
    }
    // Somebody else put something into it meanwhile.
    return errno == ENOENT || (directory && (errno == ENOTEMPTY || errno == EEXIST));
}

/// Adapts the time that other steps in the same directory expect.
void change_time(const Program& program, const Operation& operation, std::int64_t from,
                 std::int64_t to) noexcept
{
    for (Operation& other : program.operations())
        if (!is_mount(other) && other.parent_inode != 0 && other.parent_after == from
            && other.parent_inode == operation.parent_inode
            && other.parent_device == operation.parent_device)
            other.parent_after = to;
}

/// Removes a name of ours. Its directory gets the time from before the name was made, or keeps the
/// present one if others changed the directory since. Null, or the step that failed.
const char* take_away_in_time(const Program& program, Operation& operation, const FileMark& now,
                              std::int64_t found, const Parent& parent) noexcept
{
    const std::int64_t wanted = found == operation.parent_after ? operation.parent_before : found;
    const bool taken = take_away(operation, now, parent);
    const int reason = errno;
    FileMark directory;
    const bool seen = parent.look(directory);
    const bool same = seen && directory.mtime_ns == wanted;
    if (taken && (same || parent.give_mtime(wanted)))
        return nullptr;
    // For the next attempt, which may not find the name any more.
    operation.done = 1;
    if (seen && directory.mtime_ns != found) {
        change_time(program, operation, found, directory.mtime_ns);
        operation.parent_before = wanted;
        operation.parent_after = directory.mtime_ns;
    }
    if (!taken)
        errno = reason;
    return taken ? "restore the time of the directory of" : "remove";
}

} // namespace

bool make_name(const Program& program, Operation& operation, int rootfs_fd,
               Failure& failure) noexcept
{
    const char* const path = program.text(operation.path);
    const Parent parent = Parent::to_make_in(program, operation, rootfs_fd);
    FileMark directory;
    if (!parent || !parent.look(directory) || !parent.note(operation, directory))
        return fail(failure, "open the directory of", path, Errc::rootfs);
    if (base::is_on_kernel_file_system(parent.fd())) {
        errno = errno != 0 ? errno : ELOOP;
        return fail(failure, "create names in a kernel file system at", path, Errc::rootfs);
    }
    operation.parent_before = directory.mtime_ns;
    operation.made = {};
    operation.done = 0;
    const bool made = perform(program, operation, parent);
    if (made)
        operation.done = 1;
    if (made && parent.look(directory)) {
        operation.parent_after = directory.mtime_ns;
        return true;
    }
    (void)fail(failure, describe(operation.step), path, Errc::rootfs, cause_of(operation.step));
    if (made)
        operation.done = take_away(operation, operation.made, parent) ? 0 : 1;
    // A name that was begun and removed again has changed the directory.
    if (!parent.look(directory) || directory.mtime_ns != operation.parent_before)
        (void)parent.set_mtime(operation.parent_before);
    return false;
}

bool remove_name(const Program& program, Operation& operation, int rootfs_fd, Failure& failure,
                 int table) noexcept
{
    const char* const path = program.text(operation.path);
    const Parent parent = Parent::known(program, operation, rootfs_fd, table);
    const bool gone = !parent && Parent::is_gone(errno);
    if (!parent && !gone)
        return fail(failure, errno == EBUSY ? hidden_step : "open the directory of", path,
                    Errc::apply);
    FileMark now = {};
    FileMark directory = {};
    if (parent && (!look_at(parent.fd(), parent.name(), now) || !parent.look(directory)))
        return fail(failure, "look at", path, Errc::apply);
    if (!is_ours(operation, now) && is_hidden(program, operation, rootfs_fd))
        return fail(failure, hidden_step, path, Errc::apply);
    if (gone)
        return true; // the whole directory is gone
    if (const char* const step =
            take_away_in_time(program, operation, now, directory.mtime_ns, parent))
        return fail(failure, step, path, Errc::apply);
    return true;
}

bool forget_replaced(const Program& program, const Operation& operation, int rootfs_fd) noexcept
{
    const Parent parent = Parent::known(program, operation, rootfs_fd);
    const KeptName kept(parent.name());
    FileMark beside = {};
    return parent && look_at(parent.fd(), kept.name(), beside)
           && as_expected(beside, operation.expected)
           && ::unlinkat(parent.fd(), kept.name(), 0) == 0;
}

bool is_name_intact(const Program& program, const Operation& operation, int rootfs_fd) noexcept
{
    FileMark now;
    const Parent parent = Parent::known(program, operation, rootfs_fd);
    return parent && look_at(parent.fd(), parent.name(), now) && is_ours(operation, now);
}

} // namespace gpucontainer::program
