// SPDX-License-Identifier: MIT
#include "mount/aside.hpp"

#include "mount/calls.hpp"
#include "mount/child.hpp"
#include "mount/facts.hpp"
#include "mount/listing.hpp"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <sched.h>
#include <span>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::mount {
namespace {

using base::UniqueFd;

UniqueFd open_path(int directory, const char* path) noexcept
{
    return UniqueFd(::openat(directory, path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

bool is_same(int one, int other) noexcept
{
    struct stat first = {};
    struct stat second = {};
    return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0
           && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/// The root of the mount that a directory is on. EXDEV if it cannot be reached after a chroot():
/// ".." of the root directory is that directory itself.
UniqueFd root_of_mount(int directory) noexcept
{
    UniqueFd here = open_path(directory, ".");
    while (here) {
        const Found found = find_mount_root(here.get());
        if (found == Found::yes)
            return here;
        UniqueFd above = found == Found::no ? open_path(here.get(), "..") : UniqueFd();
        if (above && is_same(here.get(), above.get())) {
            errno = EXDEV;
            return {};
        }
        here = std::move(above);
    }
    return here;
}

/// Runs in the child. Makes a copy of the mount namespace and enters the directory there. All below
/// the root of its mount can be bind mounted there, and what is mounted on that mount appears
/// nowhere else.
bool enter_copy(const Bench& bench, int directory) noexcept
{
    if (::fchdir(directory) != 0 || ::unshare(CLONE_NEWNS) != 0)
        return false;
    const UniqueFd root = root_of_mount(AT_FDCWD);
    // The mounts below stay in their peer groups. Unbindable ones, which have no peers, become
    // bindable.
    return root && set_attributes(bench, root.get(), 0, MS_SHARED, true) == 0
           && set_attributes(bench, root.get(), 0, MS_PRIVATE, false) == 0;
}

/// A tmpfs with the names, attached nowhere. If `covered` is not -1, it also has places to mount
/// what else that directory has.
UniqueFd new_listing(const Bench& bench, const NamesOver& names, int covered) noexcept
{
    UniqueFd listing(new_tmpfs(bench, names.label));
    if (listing
        && (!list_names(listing.get(), names.names_fd, covered)
            || set_attributes(bench, listing.get(), names.attributes, 0, false) != 0))
        listing.reset();
    return listing;
}

/// Runs in the child.
int overlay_here(const Bench& bench, const NamesOver& names, int here) noexcept
{
    // Layers must be attached.
    const UniqueFd upper = new_listing(bench, names, -1);
    if (!upper || attach(bench, upper.get(), here) != 0)
        return -1;
    return new_overlay(bench, upper.get(), here, names.attributes, names.label);
}

/// Runs in the child.
int list_here(const Bench& bench, const NamesOver& names, int here) noexcept
{
    const UniqueFd listing = new_listing(bench, names, here);
    if (!listing || attach(bench, listing.get(), here) != 0
        || !mount_listed(bench, listing.get(), names.names_fd, here))
        return -1;
    return clone_tree(bench, listing.get(), "", true);
}

constexpr const char* copying = "make a mount namespace for mounts over";
constexpr const char* listing_what_is_there = "list what is in";

/// What the child hands back.
enum Handed : std::size_t { overlay_fd, listing_fd, step_number, handed_count };

/// Runs in the child. Returns what failed.
const char* lay(const Bench& bench, const NamesOver& names, std::span<int> handed) noexcept
{
    const UniqueFd here =
        enter_copy(bench, names.covered_fd) ? open_path(AT_FDCWD, ".") : UniqueFd();
    if (!here) {
        handed[step_number] = static_cast<int>(AsideStep::copy_namespace);
        return copying;
    }
    handed[overlay_fd] = overlay_here(bench, names, here.get());
    if (handed[overlay_fd] < 0)
        handed[listing_fd] = list_here(bench, names, here.get());
    handed[step_number] = static_cast<int>(AsideStep::list);
    return handed[overlay_fd] < 0 && handed[listing_fd] < 0 ? listing_what_is_there : nullptr;
}

Over list_on_scratch(const Bench& bench, const NamesOver& names) noexcept
{
    Over over = {new_listing(bench, names, names.covered_fd), true, listing_what_is_there,
                 AsideStep::list};
    if (over && !mount_listed(bench, over.mount.get(), names.names_fd, names.covered_fd))
        over.mount.reset();
    return over;
}

} // namespace

Over lay_aside(const Bench& bench, const NamesOver& names) noexcept
{
    if (!way_of(bench.backend).from_copy)
        return list_on_scratch(bench, names);
    Child child(handed_count);
    const auto handed = child.numbers();
    const char* const failed = child.run([&] { return lay(bench, names, handed); });
    // Without a child, no step was reached.
    const int step = handed.empty() ? -1 : handed[step_number];
    if (failed != nullptr)
        return {UniqueFd(), false, failed, step < 0 ? AsideStep::other : AsideStep(step)};
    const bool lists = handed[overlay_fd] < 0;
    return {UniqueFd(handed[lists ? listing_fd : overlay_fd]), lists};
}

int clone_private_aside(const Bench& bench, int fd) noexcept
{
    Child child(1);
    const char* const failed = child.run([&] {
        if (enter_copy(bench, fd))
            child.numbers()[0] = clone_tree(bench, AT_FDCWD, ".", true);
        return child.numbers()[0] < 0 ? copying : nullptr;
    });
    if (failed != nullptr)
        return -1;
    UniqueFd clone(child.numbers()[0]);
    return set_attributes(bench, clone.get(), 0, MS_PRIVATE, true) == 0 ? clone.release() : -1;
}

} // namespace gpucontainer::mount
