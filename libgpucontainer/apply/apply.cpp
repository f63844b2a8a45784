// SPDX-License-Identifier: MIT
#include "apply/apply.hpp"

#include "apply/attach.hpp"
#include "apply/journal.hpp"
#include "apply/prepare.hpp"
#include "apply/recovery.hpp"
#include "base/file.hpp"
#include "base/in_root.hpp"
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

/// Unmounts a root's bind on itself unless somebody mounted more below it than
/// it brought along.
void unbind(int rootfs_fd, int mounts_below)
{
    if (mount::children(rootfs_fd) <= mounts_below)
        (void)mount::detach(rootfs_fd);
}

enum class Bind : std::uint8_t { undo, keep };

/// Keeps what could not be undone for the next attempt.
Result<void> write_rest(const Journal& journal, const JournalStore& store, const Program& program)
{
    Journal rest;
    rest.key = journal.key;
    rest.mount_id = journal.mount_id;
    rest.bound_on_itself = journal.bound_on_itself;
    rest.mounts_below = journal.mounts_below;
    rest.committed = true;
    rest.writes_root = journal.writes_root;
    rest.identity = "partly undone";
    rest.tree_path = journal.tree_path;
    return store.write(rest, program);
}

Result<void> undo_one(const Journal& journal, int rootfs_fd, const JournalStore& store, Bind bind)
{
    GPUCTR_CHECK(privilege::require_mounting());
    const Program program(journal.program.get());
    Failure failure;
    bool complete = true;
    if (!journal.committed) {
        // Names show only once nothing lies over them any more.
        adopt_mounts(program, rootfs_fd);
        complete = apply::undo(program, rootfs_fd, failure);
        adopt_names(program, rootfs_fd, journal.tree_path);
    }
    if (!apply::undo(program, rootfs_fd, failure) || !complete) {
        GPUCTR_CHECK(write_rest(journal, store, program));
        return to_error(failure);
    }
    if (journal.writes_root)
        clean_loader_cache(program, rootfs_fd, journal.tree_path);
    if (bind == Bind::undo && is_bound_by(journal, rootfs_fd))
        unbind(rootfs_fd, journal.mounts_below);
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

/// After the steps were taken back: the rest, or a journal of what could not be.
Error roll_back(Error error, const Journal& journal, const Place& place, const JournalStore& store,
                const Program& program)
{
    const auto operations = program.operations();
    const bool complete =
        std::all_of(operations.begin(), operations.end(),
                    [](const Operation& operation) { return operation.done == 0; });
    if (complete) {
        place.leave();
        (void)store.remove(journal);
        return error;
    }
    (void)write_rest(journal, store, program);
    return std::move(error)
        .with_code(Errc::apply)
        .with_hint("not everything could be taken back; `gpuctr-setup undo` tries again");
}

/// `bound`: the root is bound on itself already, by an older set-up.
Result<void> commit(const plan::Plan& plan, int rootfs_fd, const RootKey& key,
                    const JournalStore& store, bool bound, int mounts_below)
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
    journal.mounts_below = mounts_below;
    if (place.bind)
        journal.mounts_below = std::max(0, mount::children(rootfs_fd));
    GPUCTR_CHECK(store.write(journal, prepared.program()));

    if (auto entered = place.enter(rootfs_fd); !entered) {
        (void)store.remove(journal);
        return entered;
    }
    Failure failure;
    if (!attach(prepared.program(), place.fd, failure))
        return roll_back(to_error(failure), journal, place, store, prepared.program());
    journal.committed = true;
    if (auto written = store.write(journal, prepared.program()); !written) {
        (void)apply::undo(prepared.program(), place.fd, failure);
        return roll_back(std::move(written).error(), journal, place, store, prepared.program());
    }
    return {};
}

} // namespace

Result<Outcome> apply(const plan::Plan& plan, const Replan& replan, int rootfs_fd,
                      const std::string& state_directory)
{
    GPUCTR_CHECK(privilege::require_mounting());
    GPUCTR_TRY(const RootKey key, RootKey::of(rootfs_fd));
    GPUCTR_TRY(const std::string root_path, base::path_of(rootfs_fd));
    if (root_path != "/" && base::is_below(state_directory, root_path))
        return Error(Errc::usage, "journal directory " + state_directory
                                      + ": inside the root file system, where it is not safe")
            .with_object(state_directory);
    GPUCTR_TRY(const JournalStore store, JournalStore::open(state_directory));
    GPUCTR_TRY(const auto journals, store.find(key));

    bool replaced = false;
    bool shared = false;
    bool bound = false;
    int mounts_below = 0;
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
        GPUCTR_CHECK(undo_one(journal, rootfs_fd, store, Bind::keep), "undo the older set-up");
        if (is_bound_by(journal, rootfs_fd)) {
            bound = true;
            mounts_below = journal.mounts_below;
        }
        replaced = true;
    }

    // With another set-up alive in the same directory, names must not be
    // written into it: neither would know which are its own.
    if (replaced || (shared && plan.writes_root)) {
        auto anew = replan(shared);
        auto done = anew ? commit(*anew, rootfs_fd, key, store, bound, mounts_below)
                         : Result<void>(std::move(anew).error());
        if (!done && bound)
            unbind(rootfs_fd, mounts_below);
        if (!done)
            return std::move(done).error();
        return replaced ? Outcome::replaced : Outcome::applied;
    }
    GPUCTR_CHECK(commit(plan, rootfs_fd, key, store, false, 0));
    return Outcome::applied;
}

Result<bool> undo(int rootfs_fd, const std::string& state_directory)
{
    GPUCTR_TRY(const RootKey key, RootKey::of(rootfs_fd));
    GPUCTR_TRY(const JournalStore store, JournalStore::open(state_directory));
    GPUCTR_TRY(const auto journals, store.find(key));
    bool found = false;
    for (const Journal& journal : journals) {
        if (whose(journal, key, rootfs_fd) == Whose::anothers)
            continue;
        GPUCTR_CHECK(undo_one(journal, rootfs_fd, store, Bind::undo), "undo");
        found = true;
    }
    return found;
}

} // namespace gpucontainer::apply
