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
#include <limits>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::apply {
namespace {

using base::UniqueFd;

/// Owns a prepared program and its descriptors.
class Prepared {
public:
    explicit Prepared(Block block) : block_(std::move(block)) {}
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;
    ~Prepared() { release(block_.release()); }

    Program program() const { return Program(block_.get()); }

private:
    Block block_;
};

/// Whether any process that may be asked is left in a mount namespace.
bool namespace_lives(std::uint64_t id)
{
    const auto names = base::list_directory(-1, "/proc");
    if (!names)
        return true;
    return std::any_of(names->begin(), names->end(), [&](const std::string& name) {
        return base::to_number(name) && mount_namespace_of("/proc/" + name + "/ns/mnt") == id;
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

/// A root file system, and what is known of older set-ups in it.
struct Site {
    int rootfs_fd;
    const RootKey& key;
    const JournalStore& store;
    bool bound = false;   ///< Bound on itself already, by an older set-up.
    int mounts_below = 0; ///< How many that bind brought along.
    bool shared = false;  ///< Another namespace that lives has a set-up there.
    bool replaced = false;
};

Journal new_journal(const plan::Plan& plan, const Site& site, const Place& place)
{
    Journal journal;
    journal.key = site.key;
    journal.mount_id = mount::mount_id(place.fd);
    journal.bound_on_itself = site.bound || place.bind;
    // Until it is known better, all that is below the bind came with it.
    journal.mounts_below = place.bind ? std::numeric_limits<int>::max() : site.mounts_below;
    journal.writes_root = plan.writes_root;
    journal.identity = plan.identity;
    journal.tree_path = plan.tree_path;
    return journal;
}

Result<void> commit(const plan::Plan& plan, const Site& site)
{
    GPUCTR_TRY(auto block, prepare(plan));
    const Prepared prepared(std::move(block));
    const Program program = prepared.program();
    GPUCTR_TRY(const Place place, Place::find(site.rootfs_fd));
    Journal journal = new_journal(plan, site, place);
    GPUCTR_CHECK(site.store.write(journal, program));

    if (auto entered = place.enter(site.rootfs_fd); !entered) {
        (void)site.store.remove(journal);
        return entered;
    }
    if (place.bind)
        journal.mounts_below = std::max(0, mount::children(place.fd));
    Failure failure;
    if (!attach(program, place.fd, failure))
        return roll_back(to_error(failure), journal, place, site.store, program);
    journal.committed = true;
    if (auto written = site.store.write(journal, program); !written) {
        (void)apply::undo(program, place.fd, failure);
        return roll_back(std::move(written).error(), journal, place, site.store, program);
    }
    return {};
}

/// True when the journal's set-up is what the plan wants, and all there.
bool is_current(const Journal& journal, const plan::Plan& plan, const Site& site)
{
    return journal.committed && journal.key.boot_id == site.key.boot_id
           && journal.key.mount_namespace == site.key.mount_namespace
           && journal.identity == plan.identity
           && is_intact(Program(journal.program.get()), site.rootfs_fd);
}

Result<void> clear(const Journal& journal, Site& site)
{
    GPUCTR_CHECK(undo_one(journal, site.rootfs_fd, site.store, Bind::keep),
                 "undo the older set-up");
    site.replaced = true;
    if (is_bound_by(journal, site.rootfs_fd)) {
        site.bound = true;
        site.mounts_below = journal.mounts_below;
    }
    return {};
}

Result<void> commit_anew(const Replan& replan, const Site& site)
{
    auto plan = replan(site.shared);
    auto done = plan ? commit(*plan, site) : Result<void>(std::move(plan).error());
    if (!done && site.bound)
        unbind(site.rootfs_fd, site.mounts_below);
    return done;
}

Result<void> check_state_directory(const std::string& directory, int rootfs_fd)
{
    GPUCTR_TRY(const std::string root, base::path_of(rootfs_fd));
    if (root == "/" || !base::is_below(directory, root))
        return {};
    return Error(Errc::usage, "journal directory " + directory
                                  + ": inside the root file system, where it is not safe")
        .with_object(directory);
}

} // namespace

Result<Outcome> apply(const plan::Plan& plan, const Replan& replan, int rootfs_fd,
                      const std::string& state_directory)
{
    GPUCTR_CHECK(privilege::require_mounting());
    GPUCTR_CHECK(check_state_directory(state_directory, rootfs_fd));
    GPUCTR_TRY(const RootKey key, RootKey::of(rootfs_fd));
    GPUCTR_TRY(const JournalStore store, JournalStore::open(state_directory));
    GPUCTR_TRY(const auto journals, store.find(key));

    Site site = {rootfs_fd, key, store};
    for (const Journal& journal : journals) {
        if (whose(journal, key, rootfs_fd) == Whose::anothers)
            site.shared = true;
        else if (is_current(journal, plan, site))
            return Outcome::unchanged;
        else
            GPUCTR_CHECK(clear(journal, site));
    }

    // With another set-up alive in the same directory, names must not be
    // written into it: neither would know which are its own.
    if (site.replaced || (site.shared && plan.writes_root))
        GPUCTR_CHECK(commit_anew(replan, site));
    else
        GPUCTR_CHECK(commit(plan, site));
    return site.replaced ? Outcome::replaced : Outcome::applied;
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
