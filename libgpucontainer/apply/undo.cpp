// SPDX-License-Identifier: MIT
#include "apply/undo.hpp"

#include "apply/attach.hpp"
#include "apply/directory_times.hpp"
#include "apply/recovery.hpp"
#include "base/own_proc.hpp"
#include "base/try.hpp"
#include "mount/calls.hpp"
#include "mount/namespace.hpp"
#include "privilege/capabilities.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace gpucontainer::apply {
namespace {

using base::UniqueFd;

/// Nothing of the set-up can be left in a root that is not at its path.
bool may_be_forgotten(const Journal& journal)
{
    if (!journal.persistent)
        return true;
    if (journal.root_path.empty())
        return false;
    // What another file system hides, or is not mounted at the moment, is not gone.
    struct stat status = {};
    return ::stat(journal.root_path.c_str(), &status) != 0 || status.st_dev == journal.root.device;
}

/// What is left of a namespace that ended are names, which their owner may remove.
bool has_mounts(const Journal& journal, const Program& program)
{
    return journal.bound_on_itself || journal.progress == Progress::begun
           || std::ranges::any_of(program.operations(), [](const Operation& operation) {
                  return is_mount(operation) && operation.done != 0;
              });
}

} // namespace

bool is_bound_by(const Journal& journal, int rootfs_fd)
{
    return journal.bound_on_itself && mount::is_on(rootfs_fd, journal.key.mount_id);
}

void unbind(int rootfs_fd, int mounts_below)
{
    const int count = mount::count_below(rootfs_fd);
    if (count >= 0 && count <= mounts_below)
        (void)mount::detach(rootfs_fd);
}

void forget_lost_mounts(Journal& journal, Origin origin)
{
    if (origin == Origin::here)
        return;
    journal.bound_on_itself = false;
    for (Operation& operation : Program(journal.program.get()).operations())
        if (is_mount(operation))
            operation.done = 0;
}

Result<void> undo_journal(Journal& journal, int rootfs_fd, RootJournals& journals, Bind bind,
                          int table)
{
    const Program program(journal.program.get());
    if (has_mounts(journal, program)) {
        GPUCTR_CHECK(privilege::require_mounting());
        GPUCTR_CHECK(base::open_own_descriptors());
    }
    Failure failure;
    bool complete = true;
    if (journal.progress == Progress::begun) {
        // Names show only once nothing lies over them any more.
        adopt_mounts(program, rootfs_fd);
        complete = apply::undo(program, rootfs_fd, failure, table);
        adopt_names(program, rootfs_fd, journal.tree_path);
    }
    if (!apply::undo(program, rootfs_fd, failure, table) || !complete) {
        journal.progress = Progress::partly_undone;
        GPUCTR_CHECK(journals.write(journal, program));
        return to_error(failure);
    }
    if (journal.writes_root)
        clean_loader_cache(program, rootfs_fd, journal.tree_path);
    // The names have to be gone for good before their journal is.
    if (journal.persistent)
        synchronize_directories(program, rootfs_fd);
    if (bind == Bind::undo && is_bound_by(journal, rootfs_fd))
        unbind(rootfs_fd, journal.mounts_below);
    return journals.remove(journal.key);
}

Result<std::vector<SetUpKey>> keys_of(const RootId& root, RootJournals& journals)
{
    GPUCTR_TRY(const auto keys, journals.keys());
    std::vector<SetUpKey> found;
    for (const SetUpKey& key : keys) {
        if (root.may_be({root.device, root.inode, key.root_birth_ns}))
            found.push_back(key);
        else
            GPUCTR_CHECK(journals.remove(key));
    }
    return found;
}

Result<bool> undo(const Target& target)
{
    GPUCTR_TRY(auto visit, mount::NamespaceVisit::enter(target.pidfd));
    GPUCTR_TRY(const RootId root, RootId::of(target.rootfs_fd));
    GPUCTR_TRY(const Viewpoint here, Viewpoint::current());
    GPUCTR_TRY(const auto store, JournalStore::open(target.state_directory));
    if (!store)
        return false;
    GPUCTR_TRY(auto journals,
               store->open_root({root.device, root.inode}, JournalStore::Lock::exclusive));
    if (!journals)
        return false;
    GPUCTR_TRY(const auto keys, keys_of(root, *journals));
    mount::LivingNamespaces living;
    bool found = false;
    for (const SetUpKey& key : keys) {
        const Origin origin = origin_of(key, here, living, target.rootfs_fd, visit.table());
        if (!is_ours(origin))
            continue;
        GPUCTR_TRY(Journal journal, journals->read(key));
        forget_lost_mounts(journal, origin);
        GPUCTR_CHECK(undo_journal(journal, target.rootfs_fd, *journals, Bind::undo, visit.table()),
                     "undo");
        found = true;
    }
    GPUCTR_CHECK(visit.leave());
    return found;
}

Result<UniqueFd> reach(const Journal& journal)
{
    if (journal.root_path.empty())
        return UniqueFd();
    UniqueFd root(::open(journal.root_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return UniqueFd();
    if (!root)
        return Error::from_errno(errno, journal.root_path, Errc::rootfs)
            .with_object(journal.root_path);
    GPUCTR_TRY(const RootId found, RootId::of(root.get()));
    return found.may_be(journal.root) ? std::move(root) : UniqueFd();
}

Result<Undone> undo_set_up(RootName root, const SetUpKey& key, const std::string& state_directory)
{
    GPUCTR_TRY(const auto store, JournalStore::open(state_directory));
    if (!store)
        return Undone::undone;
    GPUCTR_TRY(auto journals, store->open_root(root, JournalStore::Lock::exclusive));
    if (!journals || !journals->has(key))
        return Undone::undone;
    GPUCTR_TRY(Journal journal, journals->read(key));
    GPUCTR_TRY(const UniqueFd directory, reach(journal));
    GPUCTR_TRY(const Viewpoint here, Viewpoint::current());
    mount::LivingNamespaces living;
    const Origin origin = origin_of(key, here, living, directory.get());
    if (!is_ours(origin))
        return Undone::left;
    if (directory) {
        forget_lost_mounts(journal, origin);
        GPUCTR_CHECK(undo_journal(journal, directory.get(), *journals, Bind::undo), "undo {}",
                     journal.root_path);
        return Undone::undone;
    }
    if (!may_be_forgotten(journal))
        return Undone::left;
    GPUCTR_CHECK(journals->remove(key));
    return Undone::forgotten;
}

} // namespace gpucontainer::apply
