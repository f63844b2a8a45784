// SPDX-License-Identifier: MIT
#include "apply/reach.hpp"

#include "base/in_root.hpp"
#include "base/try.hpp"
#include "journal/renumbered.hpp"
#include "journal/seen_root.hpp"
#include "mount/facts.hpp"

#include <cerrno>
#include <fcntl.h>
#include <utility>

namespace gpucontainer::apply {

using journal::Journal;
using journal::Viewpoint;

using base::UniqueFd;

namespace {

journal::Whereabouts look_for_names(const Journal& journal, const Viewpoint& here)
{
    return journal.ground ? look_for(*journal.ground, journal.key.from.boot_id == here.boot_id)
                          : journal::Whereabouts();
}

Result<Reached> reach_at(const std::string& path, const Journal& journal, const Viewpoint& here)
{
    UniqueFd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return Reached();
    if (!root)
        return Error::from_errno(errno, path, Errc::rootfs).with_object(path);
    GPUCTR_TRY(const journal::RootId found, journal::RootId::of(root.get()));
    return is_of(journal, found, root.get(), here) ? Reached{std::move(root), found} : Reached();
}

Result<Reached> reach_by_path(const Journal& journal, const Viewpoint& here)
{
    if (journal.root_path.empty())
        return Reached();
    GPUCTR_TRY(Reached found, reach_at(journal.root_path, journal, here));
    if (found.fd && mount::is_on(found.fd.get(), journal.key.mount_id))
        return found;
    // The mount may have been moved, or a directory above it renamed.
    const auto path = journal::HiddenSetUps::path_of(journal, here);
    if (!path || *path == journal.root_path)
        return found;
    if (auto moved = reach_at(*path, journal, here); moved && moved->fd)
        return moved;
    return found;
}

/// Where the names of the set-up are, if the root has no path or another one now.
Reached reach_by_ground(const Journal& journal, const Viewpoint& here)
{
    if (!journal.ground)
        return {};
    const std::string path =
        journal.ground->is_layer ? journal.ground->shown_at : look_for_names(journal, here).path;
    auto found = path.empty() ? Reached() : reach_at(path, journal, here);
    return found ? *std::move(found) : Reached();
}

} // namespace

Result<Reached> reach(const Journal& journal, const Viewpoint& here)
{
    GPUCTR_TRY(Reached found, reach_by_path(journal, here));
    return found.fd ? std::move(found) : reach_by_ground(journal, here);
}

bool may_be_forgotten(const Journal& journal, const Viewpoint& here)
{
    return !journal.writes_root
           || look_for_names(journal, here).state == journal::Whereabouts::State::gone;
}

std::string path_of(const Journal& journal, const Reached& reached)
{
    if (!journal.root_path.empty() || !reached.fd)
        return journal.root_path;
    const auto path = base::path_of(reached.fd.get());
    return path ? *path : "";
}

} // namespace gpucontainer::apply
