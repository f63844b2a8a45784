// SPDX-License-Identifier: MIT
#include "apply/forecast.hpp"

#include "apply/device_rules.hpp"
#include "apply/in_use.hpp"
#include "apply/prepare.hpp"
#include "apply/set_ups.hpp"
#include "base/try.hpp"
#include "journal/renumbered.hpp"
#include "journal/store.hpp"
#include "mount/namespace.hpp"
#include "program/executor.hpp"
#include "rootfs/root.hpp"

#include <cerrno>
#include <optional>
#include <utility>

namespace gpucontainer::apply {

using journal::Journal;
using journal::JournalStore;
using journal::Progress;
using program::Program;

Result<void> require_uncovered(const journal::SeenRoot& root)
{
    if (!root.is_covered())
        return {};
    return Error(Errc::rootfs, "another mount lies over the root file system " + root.path())
        .with_object(root.path())
        .with_hint("unmount that first");
}

bool is_current(const Journal& journal, const plan::Plan& plan, const journal::Viewpoint& here,
                const DeviceAccess& devices, int rootfs_fd)
{
    return journal.progress == Progress::complete && journal.key.from.boot_id == here.boot_id
           && journal.key.from.mount_namespace == here.mount_namespace
           && journal.identity == plan.identity && !devices.lacks_rules
           && !has_other_rules(journal, devices)
           && is_intact(Program(journal.program.get()), rootfs_fd);
}

namespace {

/// Looks at the set-ups that the root already has.
class Forecast {
public:
    Forecast(const plan::Plan& plan, const Target& target, const DeviceAccess& devices,
             const journal::SeenRoot& root)
        : plan_(plan), target_(target), devices_(devices), root_(root)
    {
    }

    Result<Outcome> make(const JournalStore& store, std::optional<journal::RootJournals>& journals)
    {
        GPUCTR_TRY(auto visit, mount::NamespaceVisit::enter(target_.pidfd));
        GPUCTR_TRY(here_, journal::Viewpoint::current());
        const SeenFrom seen = {root_.id(), root_.fd(), here_, visit.table(), true};
        GPUCTR_TRY(auto strays, find_strays(store, root_.id(), root_.fd(), here_, visit.table()));
        mount::LivingNamespaces living;
        for (journal::Stray& stray : strays) {
            GPUCTR_TRY(const auto origin,
                       origin_of(stray.journal.key, here_, living, root_.fd(), visit.table()));
            GPUCTR_CHECK(count(stray.journal, origin));
        }
        if (journals) {
            GPUCTR_TRY(const auto set_ups, find_set_ups(seen, *journals));
            for (const auto& [key, origin] : set_ups) {
                if (!is_ours(origin))
                    continue;
                GPUCTR_TRY(const Journal journal, read_for(seen, key, *journals));
                GPUCTR_CHECK(count(journal, origin));
            }
        }
        GPUCTR_CHECK(visit.leave());
        if (current_)
            return Outcome::unchanged;
        if (kept_)
            return *std::move(kept_);
        return replaces_ ? Outcome::replaced : Outcome::applied;
    }

private:
    Result<void> count(const Journal& journal, journal::Origin origin)
    {
        if (is_current(journal, plan_, here_, devices_, root_.fd())) {
            current_ = true;
            return {};
        }
        GPUCTR_TRY(const bool in_use, may_be_in_use(journal, origin, root_.fd()));
        if (target_.no_replace && in_use)
            kept_ = not_to_be_replaced(journal, root_.path());
        replaces_ = true;
        return {};
    }

    const plan::Plan& plan_;
    const Target& target_;
    const DeviceAccess& devices_;
    const journal::SeenRoot& root_;
    journal::Viewpoint here_;
    bool current_ = false;
    bool replaces_ = false;
    std::optional<Error> kept_;
};

/// The image may have something else where a directory is to be made. A directory is that of a
/// set-up which was made since.
Result<void> require_room(const plan::Plan& plan, int rootfs_fd)
{
    GPUCTR_TRY(const auto root, rootfs::Root::open(rootfs_fd));
    const auto has_other = [&](const std::string& path) {
        const rootfs::Entry found = root.look(path);
        return found && found.type != rootfs::EntryType::directory;
    };
    for (const plan::Item& item : plan.items)
        if (item.place == plan::Place::created && item.as<plan::Directory>() != nullptr
            && has_other(item.target))
            return Error::from_errno(EEXIST, "create directory " + item.target, Errc::rootfs)
                .with_object(item.target);
    return {};
}

} // namespace

Result<Outcome> forecast(const plan::Plan& plan, const Target& target, const DeviceAccess& devices,
                         journal::SeenRoot& root)
{
    GPUCTR_TRY(const auto store, JournalStore::foresee(target.state_directory, target.rootfs_fd));
    std::optional<journal::RootJournals> journals;
    if (store) {
        GPUCTR_TRY(auto found, store->open_root({root.id().device, root.id().inode},
                                                JournalStore::Lock::shared));
        if (found)
            journals.emplace(*std::move(found));
    }
    root.look(); // again, after waiting for the lock
    GPUCTR_CHECK(require_uncovered(root));
    Outcome outcome = Outcome::applied;
    if (store) {
        GPUCTR_TRY(outcome, Forecast(plan, target, devices, root).make(*store, journals));
    }
    if (outcome != Outcome::unchanged)
        GPUCTR_CHECK(require_preparable(plan, target.backend));
    if (outcome == Outcome::applied)
        GPUCTR_CHECK(require_room(plan, root.fd()));
    return outcome;
}

} // namespace gpucontainer::apply
