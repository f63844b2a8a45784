// SPDX-License-Identifier: MIT
#include "journal/renumbered.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "mount/facts.hpp"
#include "program/parent.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <utility>

namespace gpucontainer::journal {

using program::FileMark;
using program::Operation;
using program::Parent;
using program::Program;
using program::Step;
namespace {

/// Whether it is the file of the mark, even if its device number changed. Files of an overlay's
/// layers have further device numbers.
bool is_same_but_device(const FileMark& mark, const FileMark& now)
{
    return mark.inode != 0 && mark.inode == now.inode && mark.size == now.size
           && mark.mtime_ns == now.mtime_ns && is_anonymous(mark.device)
           && is_anonymous(now.device);
}

/// Whether a name of ours exists, with its time to the nanosecond. No other root has it at the
/// same path with the same inode.
bool has_a_name(const Journal& journal, int rootfs_fd)
{
    const Program program(journal.program.get());
    const auto operations = program.operations();
    return std::any_of(operations.begin(), operations.end(), [&](const Operation& operation) {
        if (is_mount(operation) || operation.done == 0 || operation.step == Step::make_directory)
            return false;
        FileMark now = {};
        const Parent parent = Parent::at_path(program, operation, rootfs_fd);
        return parent && look_at(parent.fd(), parent.name(), now)
               && is_same_but_device(operation.made, now);
    });
}

bool is_on_its_mount(const Journal& journal, const RootId& root, int rootfs_fd,
                     const Viewpoint& here)
{
    return journal.root.device == root.device && journal.key.from.boot_id == here.boot_id
           && mount::is_on(rootfs_fd, journal.key.mount_id);
}

/// An overlay over several file systems also renumbers the inodes of directories. A directory that
/// is not empty is never removed.
void renumber_directory(Operation& operation, const Parent& parent, bool of_overlay)
{
    struct stat status = {};
    if (::fstatat(parent.fd(), parent.name(), &status, AT_SYMLINK_NOFOLLOW) != 0
        || !S_ISDIR(status.st_mode) || !is_anonymous(status.st_dev)
        || (status.st_ino != operation.made.inode && !of_overlay))
        return;
    operation.made.device = status.st_dev;
    operation.made.inode = status.st_ino;
}

void renumber_file(Operation& operation, const Parent& parent, const char* name)
{
    FileMark now = {};
    if (!look_at(parent.fd(), name, now))
        return;
    for (FileMark* const mark : {&operation.made, &operation.expected})
        if (is_same_but_device(*mark, now))
            mark->device = now.device;
}

/// The directory that a name is in, by the same rules.
void renumber_parent(Operation& operation, const Parent& parent, std::uint64_t root_device,
                     bool of_overlay)
{
    FileMark now = {};
    if (operation.parent_inode == 0 || !parent.look(now) || !is_anonymous(now.device))
        return;
    const bool same = now.inode == operation.parent_inode && is_anonymous(operation.parent_device);
    if (!same && !(of_overlay && now.device == root_device))
        return;
    operation.parent_device = now.device;
    operation.parent_inode = now.inode;
}

void renumber_name(const Program& program, Operation& operation, int rootfs_fd, bool of_overlay)
{
    const Parent parent = Parent::at_path(program, operation, rootfs_fd);
    if (!parent || operation.done == 0)
        return;
    if (operation.step == Step::make_directory) {
        renumber_directory(operation, parent, of_overlay);
        return;
    }
    renumber_file(operation, parent, parent.name());
    if (const program::KeptName kept(parent.name()); kept && operation.step == Step::replace_file)
        renumber_file(operation, parent, kept.name());
}

/// The journals of a root, among those that are kept under a device number.
class StraySearch {
public:
    StraySearch(const RootId& root, int rootfs_fd, const Viewpoint& here, int table)
        : root_(root), rootfs_fd_(rootfs_fd), here_(here), table_(table)
    {
    }

    Result<void> look_in(RootName name, RootJournals& journals)
    {
        GPUCTR_TRY(const auto keys, journals.keys());
        for (const SetUpKey& key : keys) {
            // A journal that is damaged, or gone meanwhile, proves nothing.
            auto journal = journals.read(key);
            if (!journal && base::leaves_open(journal.error().os_error()))
                return std::move(journal).error();
            if (!journal || !is_of(*journal, root_, rootfs_fd_, here_))
                continue;
            GPUCTR_TRY(const Origin origin, origin_of(key, here_, living_, rootfs_fd_, table_));
            if (!is_ours(origin))
                continue;
            renumber(*journal, root_, rootfs_fd_, here_);
            found_.push_back({name, *std::move(journal)});
        }
        return {};
    }

    std::vector<Stray> take() && { return std::move(found_); }

private:
    const RootId& root_;
    int rootfs_fd_;
    const Viewpoint& here_;
    int table_;
    mount::LivingNamespaces living_;
    std::vector<Stray> found_;
};

/// Does not wait for the lock, because it is that of the root which now has the number: waiting
/// while holding another root's lock could deadlock. The lock is only needed to leave nothing
/// behind. The journal itself is protected by the lock of its root.
Result<std::optional<RootJournals>> open_without_waiting(const JournalStore& store, RootName name)
{
    using Lock = JournalStore::Lock;
    auto journals = store.open_root(name, Lock::exclusive, std::chrono::milliseconds(0));
    return journals ? std::move(journals) : store.open_root(name, Lock::none);
}

void renumber_devices(Operation& operation, std::uint64_t old, std::uint64_t device)
{
    for (std::uint64_t* const number :
         {&operation.made.device, &operation.expected.device, &operation.parent_device})
        if (*number == old)
            *number = device;
}

} // namespace

bool is_of(const Journal& journal, const RootId& root, int rootfs_fd, const Viewpoint& here)
{
    RootId there = journal.root;
    if (root.renumbered)
        there.device = root.device;
    if (!root.may_be(there))
        return false;
    if (!root.renumbered)
        return true;
    const bool same_device = journal.root.device == root.device;
    const bool same_volume = journal.root.subvolume == root.subvolume || same_device;
    if (root.birth_ns != 0 && journal.root.birth_ns != 0)
        return same_volume;
    // Without names, nothing can be found in another root or lost.
    if (same_device && !journal.persistent)
        return true;
    return is_on_its_mount(journal, root, rootfs_fd, here) || has_a_name(journal, rootfs_fd);
}

void renumber(Journal& journal, const RootId& root, int rootfs_fd, const Viewpoint& here)
{
    if (!root.renumbered || is_on_its_mount(journal, root, rootfs_fd, here))
        return;
    const std::uint64_t old = std::exchange(journal.root.device, root.device);
    journal.root.subvolume = root.subvolume;
    if (old != root.device)
        forget_lost_mounts(journal, journal.key.from.boot_id == here.boot_id
                                        ? Origin::namespace_end
                                        : Origin::earlier_boot);
    const bool of_overlay = mount::is_overlay(rootfs_fd);
    const Program program(journal.program.get());
    for (Operation& operation : program.operations()) {
        if (is_mount(operation))
            continue;
        renumber_devices(operation, old, root.device);
        if (const Parent parent = Parent::at_path(program, operation, rootfs_fd))
            renumber_parent(operation, parent, root.device, of_overlay);
        renumber_name(program, operation, rootfs_fd, of_overlay);
    }
}

Result<std::vector<Stray>> find_strays(const JournalStore& store, const RootId& root, int rootfs_fd,
                                       const Viewpoint& here, int table)
{
    if (!root.renumbered)
        return std::vector<Stray>();
    StraySearch search(root, rootfs_fd, here, table);
    GPUCTR_TRY(const auto names, store.roots());
    for (const RootName& name : names) {
        if (name.second != root.inode || name.first == root.device || !is_anonymous(name.first))
            continue;
        GPUCTR_TRY(auto journals, store.open_root(name, JournalStore::Lock::none));
        if (journals)
            GPUCTR_CHECK(search.look_in(name, *journals));
    }
    return std::move(search).take();
}

Result<void> take_in(const JournalStore& store, const std::vector<Stray>& strays,
                     RootJournals& journals)
{
    const auto has = [](const std::vector<SetUpKey>& keys, const SetUpKey& key) {
        return std::any_of(keys.begin(), keys.end(), [&](const SetUpKey& found) {
            return file_name(found) == file_name(key);
        });
    };
    for (const Stray& stray : strays) {
        const SetUpKey& key = stray.journal.key;
        GPUCTR_TRY(auto there, open_without_waiting(store, stray.name));
        if (!there)
            continue;
        GPUCTR_TRY(const auto keys, there->keys());
        if (!has(keys, key))
            continue; // somebody else moved it
        GPUCTR_TRY(const auto own, journals.keys());
        // Otherwise somebody who looks for rules of others would find it in neither place.
        GPUCTR_TRY(const auto lock, journals.lock_store());
        if (!has(own, key))
            GPUCTR_CHECK(journals.write(stray.journal, Program(stray.journal.program.get())));
        GPUCTR_CHECK(there->remove(key));
    }
    return {};
}

} // namespace gpucontainer::journal
