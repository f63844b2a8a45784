// SPDX-License-Identifier: MIT
#include "apply/apply.hpp"

#include "apply/attach.hpp"
#include "apply/journal.hpp"
#include "apply/prepare.hpp"
#include "apply/recovery.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "mount/calls.hpp"
#include "privilege/capabilities.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::apply {
namespace {

using base::UniqueFd;

/// Owns a prepared program and its descriptors.
class Prepared {
public:
    explicit Prepared(std::unique_ptr<std::uint64_t[]> block) : block_(std::move(block)) {}
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;
    ~Prepared() { release(block_.release()); }

    Program program() const { return Program(block_.get()); }

private:
    std::unique_ptr<std::uint64_t[]> block_;
};

/// Whether any process is left in a mount namespace; "yes" when in doubt.
bool namespace_lives(std::uint64_t inode)
{
    const auto names = base::list_directory(-1, "/proc");
    if (!names)
        return true;
    return std::any_of(names->begin(), names->end(), [&](const std::string& name) {
        struct stat status = {};
        return base::to_number(name) && ::stat(("/proc/" + name + "/ns/mnt").c_str(), &status) == 0
               && status.st_ino == inode;
    });
}

enum class Whose : std::uint8_t {
    ours,     ///< Of this namespace, or of an earlier boot or a dead namespace.
    anothers, ///< Of a namespace that lives.
};

Whose whose(const Journal& journal, const RootKey& here, int rootfs_fd)
{
    if (journal.key.boot_id != here.boot_id)
        return Whose::ours;
    if (journal.key.mount_namespace != here.mount_namespace)
        return namespace_lives(journal.key.mount_namespace) ? Whose::anothers : Whose::ours;
    // The same directory may be seen on several mounts.
    return journal.mount_id == mount::mount_id(rootfs_fd) || !mount::exists(journal.mount_id)
               ? Whose::ours
               : Whose::anothers;
}

bool is_bound_by(const Journal& journal, int rootfs_fd)
{
    return journal.bound_on_itself && mount::mount_id(rootfs_fd) == journal.mount_id;
}

/// Unmounts a root's bind on itself unless somebody mounted more below it.
void unbind(int rootfs_fd)
{
    if (mount::children(rootfs_fd) <= 0)
        (void)mount::detach(rootfs_fd);
}

/// All but the bind of the root on itself.
Result<void> undo_one(const Journal& journal, int rootfs_fd, const JournalStore& store)
{
    GPUCTR_CHECK(privilege::require_mounting());
    const Program program(journal.program.get());
    if (!journal.committed)
        adopt_leftovers(program, rootfs_fd, journal.tree_path);
    Failure failure;
    if (!apply::undo(program, rootfs_fd, failure)) {
        Journal rest;
        rest.key = journal.key;
        rest.mount_id = journal.mount_id;
        rest.bound_on_itself = journal.bound_on_itself;
        rest.committed = true;
        rest.writes_root = journal.writes_root;
        rest.identity = "partly undone";
        rest.tree_path = journal.tree_path;
        GPUCTR_CHECK(store.write(rest, program));
        return to_error(failure);
    }
    if (journal.writes_root)
        clean_loader_cache(rootfs_fd, journal.tree_path);
    return store.remove(journal);
}

/// The mount that the plan is attached below: the root's own where it shows
/// nowhere else, otherwise a private bind of it on itself.
struct Place {
    UniqueFd bind; ///< Not attached yet; none when the root serves as it is.
    int fd = -1;

    static Result<Place> find(int rootfs_fd)
    {
        Place place;
        place.fd = rootfs_fd;
        if (mount::is_mount_root(rootfs_fd)
            && mount::sharing(rootfs_fd) == mount::Sharing::isolated)
            return place;
        place.bind.reset(mount::clone_tree(rootfs_fd, "", true));
        if (!place.bind)
            return Error::from_errno(errno, "bind the root file system on itself", Errc::apply)
                .with_hint("CAP_SYS_ADMIN is needed in the user namespace that owns the mount "
                           "namespace");
        place.fd = place.bind.get();
        return place;
    }

    Result<void> enter(int rootfs_fd) const
    {
        if (!bind)
            return {};
        if (mount::attach(bind.get(), rootfs_fd) != 0)
            return Error::from_errno(errno, "bind the root file system on itself", Errc::rootfs);
        if (mount::set_attributes(bind.get(), 0, MS_PRIVATE, true) == 0)
            return {};
        Error error = Error::from_errno(errno, "make the root file system private", Errc::apply);
        leave();
        return error;
    }

    void leave() const
    {
        if (bind)
            (void)mount::detach(bind.get());
    }
};

/// `bound`: the root is bound on itself already, by an older set-up.
Result<void> commit(const plan::Plan& plan, int rootfs_fd, const RootKey& key,
                    const JournalStore& store, bool bound)
{
    GPUCTR_TRY(auto block, prepare(plan));
    const Prepared prepared(std::move(block));
    GPUCTR_TRY(const Place place, Place::find(rootfs_fd));

    Journal journal;
    journal.key = key;
    journal.mount_id = mount::mount_id(place.fd);
    journal.bound_on_itself = bound || place.bind;
    journal.writes_root = plan.writes_root;
    journal.identity = plan.identity;
    journal.tree_path = plan.tree_path;
    GPUCTR_CHECK(store.write(journal, prepared.program()));

    if (auto entered = place.enter(rootfs_fd); !entered) {
        (void)store.remove(journal);
        return entered;
    }
    Failure failure;
    if (!attach(prepared.program(), place.fd, failure)) {
        place.leave();
        (void)store.remove(journal);
        return to_error(failure);
    }
    journal.committed = true;
    if (auto written = store.write(journal, prepared.program()); !written) {
        (void)apply::undo(prepared.program(), place.fd, failure);
        place.leave();
        (void)store.remove(journal);
        return written;
    }
    return {};
}

} // namespace

Result<Outcome> apply(const plan::Plan& plan, const Replan& replan, int rootfs_fd,
                      const std::string& state_directory)
{
    GPUCTR_CHECK(privilege::require_mounting());
    GPUCTR_TRY(const RootKey key, RootKey::of(rootfs_fd));
    GPUCTR_TRY(const JournalStore store, JournalStore::open(state_directory));
    GPUCTR_TRY(const auto journals, store.find(key));

    bool replaced = false;
    bool shared = false;
    bool bound = false;
    for (const Journal& journal : journals) {
        if (whose(journal, key, rootfs_fd) == Whose::anothers) {
            shared = true;
            continue;
        }
        const bool here = journal.committed && journal.key.boot_id == key.boot_id
                          && journal.key.mount_namespace == key.mount_namespace;
        if (here && journal.identity == plan.identity
            && is_intact(Program(journal.program.get()), rootfs_fd))
            return Outcome::unchanged;
        GPUCTR_CHECK(undo_one(journal, rootfs_fd, store), "undo the older set-up");
        bound = bound || is_bound_by(journal, rootfs_fd);
        replaced = true;
    }

    // With another set-up alive in the same directory, names must not be
    // written into it: neither would know which are its own.
    if (replaced || (shared && plan.writes_root)) {
        auto anew = replan(shared);
        auto done = anew ? commit(*anew, rootfs_fd, key, store, bound)
                         : Result<void>(std::move(anew).error());
        if (!done && bound)
            unbind(rootfs_fd);
        if (!done)
            return std::move(done).error();
        return replaced ? Outcome::replaced : Outcome::applied;
    }
    GPUCTR_CHECK(commit(plan, rootfs_fd, key, store, false));
    return Outcome::applied;
}

Result<bool> undo(int rootfs_fd, const std::string& state_directory)
{
    GPUCTR_TRY(const RootKey key, RootKey::of(rootfs_fd));
    GPUCTR_TRY(const JournalStore store, JournalStore::open(state_directory));
    GPUCTR_TRY(const auto journals, store.find(key));
    bool found = false;
    bool bound = false;
    for (const Journal& journal : journals) {
        if (whose(journal, key, rootfs_fd) == Whose::anothers)
            continue;
        GPUCTR_CHECK(undo_one(journal, rootfs_fd, store), "undo");
        bound = bound || is_bound_by(journal, rootfs_fd);
        found = true;
    }
    if (bound)
        unbind(rootfs_fd);
    return found;
}

} // namespace gpucontainer::apply
