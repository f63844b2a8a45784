// SPDX-License-Identifier: MIT
#include "privilege/container_root.hpp"

#include "base/own_proc.hpp"
#include "base/try.hpp"
#include "privilege/process_number.hpp"
#include "syscall/id_map.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace gpucontainer::privilege {
namespace {

constexpr std::uint32_t no_id = ~std::uint32_t{0}; // the kernel's (uid_t)-1

Error without_root()
{
    return Error(Errc::rootfs, "the process's user namespace has no root that is known here")
        .with_hint("names in a container belong to its root: map id 0 in its uid_map and gid_map, "
                   "and call this from the user namespace that it was made in, or from its own");
}

/// Opens the namespace of a process through its magic link.
Result<struct stat> user_namespace(int proc, const std::string& process)
{
    const std::string path = process + "/ns/user";
    struct stat status = {};
    const base::UniqueFd directory =
        base::open_in_proc(proc, (process + "/ns").c_str(), O_PATH | O_DIRECTORY);
    if (!directory || ::fstatat(directory.get(), "user", &status, 0) != 0)
        return cannot_look_at(errno, path);
    return status;
}

/// What id 0 of a map is outside.
Result<std::uint32_t> outside_of_root(std::string_view map)
{
    const auto range = syscall::find_range(map, 0);
    if (!range || range->outside == no_id)
        return without_root();
    return range->outside;
}

/// Whether the thread's own user namespace maps id 0.
Result<bool> knows_root(int proc)
{
    for (const char* const name : {"thread-self/uid_map", "thread-self/gid_map"}) {
        GPUCTR_TRY(const std::string map, read_of_process(proc, name));
        if (!syscall::find_range(map, 0))
            return false;
    }
    return true;
}

} // namespace

Result<std::optional<Owner>> root_of(int pidfd)
{
    GPUCTR_TRY(const base::UniqueFd proc, base::open_proc());
    GPUCTR_TRY(const std::string process, number_of(proc.get(), pidfd));
    GPUCTR_TRY(const struct stat own, user_namespace(proc.get(), "thread-self"));
    GPUCTR_TRY(const struct stat its, user_namespace(proc.get(), process));
    std::optional<Owner> root = Owner();
    if (own.st_ino == its.st_ino && own.st_dev == its.st_dev) {
        // Read from inside a namespace, its map has the ids of the parent namespace.
        GPUCTR_TRY(const bool known, knows_root(proc.get()));
        if (!known)
            return without_root();
        if (file_owner() == *root)
            root.reset();
    } else {
        GPUCTR_TRY(const std::string users, read_of_process(proc.get(), process + "/uid_map"));
        GPUCTR_TRY(const std::string groups, read_of_process(proc.get(), process + "/gid_map"));
        GPUCTR_TRY(root->uid, outside_of_root(users));
        GPUCTR_TRY(root->gid, outside_of_root(groups));
    }
    if (has_ended(pidfd))
        return process_ended();
    return root;
}

} // namespace gpucontainer::privilege
