// SPDX-License-Identifier: MIT
#include "apply/status.hpp"

#include "apply/device_access.hpp"
#include "apply/journal_items.hpp"
#include "apply/reach.hpp"
#include "base/format.hpp"
#include "base/in_root.hpp"
#include "base/try.hpp"
#include "drivers/registry.hpp"
#include "journal/renumbered.hpp"
#include "journal/seen_root.hpp"
#include "mount/namespace.hpp"
#include "program/executor.hpp"

#include <algorithm>
#include <iterator>

namespace gpucontainer::apply {

using journal::Journal;
using journal::JournalStore;
using journal::Origin;
using journal::Progress;
using journal::RootName;
using journal::SeenRoot;
using journal::SetUpKey;
using journal::Viewpoint;
using model::FindingCode;
namespace {

/// Version of the loaded kernel module for a vendor's GPUs; none if it is not loaded.
std::optional<std::string> loaded_version(const std::string& vendor_name)
{
    for (const drivers::Vendor& vendor : drivers::vendors())
        if (vendor.name == vendor_name)
            if (auto version = vendor.loaded_version(""))
                return *std::move(version);
    return std::nullopt;
}

class Inspection {
public:
    /// For all roots, which are looked for at their recorded paths.
    Inspection(const JournalStore& store, const Viewpoint& here) : store_(store), here_(here) {}

    /// For one root. `table` is the mount table of this namespace; `pidfd` is the process that the
    /// root is of, or -1.
    Inspection(const JournalStore& store, const Viewpoint& here, const SeenRoot& root, int table,
               int pidfd)
        : store_(store), here_(here), given_(&root), table_(table), pidfd_(pidfd)
    {
        hidden_.emplace(root, here);
    }

    /// All set-ups of a root.
    Result<void> look_at(RootName name, journal::RootJournals& journals)
    {
        GPUCTR_TRY(const auto keys, journals.keys());
        for (const SetUpKey& key : keys) {
            auto journal = journals.read(key);
            if (given_ != nullptr && !may_be(*given_, key, journal))
                continue;
            if (given_ != nullptr && journal)
                renumber(*journal, given_->id(), given_->fd(), here_);
            found_.push_back(look(name, key, std::move(journal)));
        }
        // A process was interrupted before it had a journal.
        if (keys.empty() && journals.has_scratch())
            name_interrupted(name);
        return {};
    }

    /// Set-ups of a root that are kept under an old device number.
    void look_at_strays(std::vector<journal::Stray> strays)
    {
        for (journal::Stray& stray : strays) {
            const SetUpKey key = stray.journal.key;
            found_.push_back(look(stray.name, key, std::move(stray.journal)));
        }
    }

    /// Findings for a root that somebody else keeps locked.
    Result<void> name_locked(RootName name, journal::RootJournals& journals,
                             const std::string& reason)
    {
        GPUCTR_TRY(const auto keys, journals.keys());
        const auto locked = [&] {
            SetUp set_up = unknown(name);
            add(set_up, {FindingCode::locked, "", reason, "",
                         "wait for the other process, or look whether it hangs"});
            return set_up;
        };
        if (keys.empty())
            found_.push_back(locked());
        for (const SetUpKey& key : keys) {
            SetUp set_up = locked();
            set_up.key = key;
            set_origin(set_up, -1);
            if (const auto journal = journals.read(key))
                describe(*journal, set_up);
            found_.push_back(std::move(set_up));
        }
        return {};
    }

    /// A root whose journals cannot be read does not stop the others.
    void name_unreadable(RootName name, const Error& error)
    {
        SetUp set_up = unknown(name);
        add_damage(set_up, error);
        found_.push_back(std::move(set_up));
    }

    std::vector<SetUp> take() && { return std::move(found_); }

private:
    bool may_be(const SeenRoot& root, const SetUpKey& key, const Result<Journal>& journal) const
    {
        if (journal)
            return is_of(*journal, root.id(), root.fd(), here_);
        journal::RootId there = root.id();
        there.birth_ns = key.root_birth_ns;
        return root.id().may_be(there);
    }

    /// When listing all roots: the root of one journal.
    Result<Reached> find(Journal& journal) const
    {
        auto reached = reach(journal, here_);
        Reached found = reached ? *std::move(reached) : Reached();
        GPUCTR_CHECK(store_.check_outside(found.fd.get()));
        if (found.fd)
            renumber(journal, found.root, found.fd.get(), here_);
        return found;
    }

    SetUp look(RootName name, const SetUpKey& key, Result<Journal> journal)
    {
        int root = given_ != nullptr ? given_->fd() : -1;
        SetUp set_up;
        set_up.root = name;
        set_up.key = key;
        if (!journal) {
            set_origin(set_up, root);
            add_damage(set_up, journal.error());
            return set_up;
        }
        describe(*journal, set_up);
        Reached found;
        if (root < 0) {
            auto reached = find(*journal);
            if (!reached) {
                add_damage(set_up, reached.error());
                return set_up;
            }
            found = *std::move(reached);
            root = found.fd.get();
        }
        set_origin(set_up, root);
        if (found.fd && is_ours(set_up.origin))
            set_up.root_path = path_of(*journal, found);
        if (const auto hidden = hidden_at(*journal, set_up.origin))
            add(set_up, {FindingCode::part_missing, *hidden,
                         "another mount lies over what is set up", "", "unmount that first"});
        else
            check_origin(set_up, root >= 0);
        check_progress(*journal, set_up);
        for (const plan::UsedDriver& driver : journal->drivers)
            check_driver(driver, set_up);
        if (set_up.origin == Origin::here && root >= 0 && journal->progress == Progress::complete) {
            check_parts(*journal, root, set_up);
            check_devices(*journal, root, set_up);
        }
        forget_lost_mounts(*journal, set_up.origin);
        set_up.items = items_of(*journal);
        if (set_up.origin == Origin::here)
            leave_out_missing_parts(set_up);
        return set_up;
    }

    SetUp unknown(RootName name) const
    {
        SetUp set_up;
        set_up.root = name;
        set_up.key.from = here_;
        return set_up;
    }

    void name_interrupted(RootName name)
    {
        SetUp set_up = unknown(name);
        add(set_up, {FindingCode::interrupted, "", "was cut off before it changed anything", "",
                     "undo takes away what it had mounted"});
        found_.push_back(std::move(set_up));
    }

    static void describe(const Journal& journal, SetUp& set_up)
    {
        set_up.root_path = journal.root_path;
        set_up.drivers = journal.drivers;
        set_up.tree_path = journal.tree_path;
        set_up.since = journal.since;
        set_up.writes_root = journal.writes_root;
    }

    static void add(SetUp& set_up, model::Finding finding)
    {
        set_up.findings.push_back(std::move(finding));
    }

    static void add_damage(SetUp& set_up, const Error& error)
    {
        add(set_up,
            {FindingCode::journal_damaged, "", error.message(), error.object(), error.hint()});
    }

    std::optional<std::string> hidden_at(const Journal& journal, Origin origin)
    {
        if (origin != Origin::another_mount)
            return std::nullopt;
        if (given_ == nullptr)
            return journal::HiddenSetUps::path_of(journal, here_);
        return hidden_->contain(journal.key) ? std::optional(given_->path()) : std::nullopt;
    }

    static void check_origin(SetUp& set_up, bool reached)
    {
        if (set_up.origin == Origin::earlier_boot)
            add(set_up,
                {FindingCode::earlier_boot, "", "made before this boot: its mounts are gone", "",
                 "apply it again, or undo it"});
        if (set_up.origin == Origin::namespace_end)
            add(set_up, {FindingCode::namespace_gone, "",
                         "its mount namespace is gone, and its mounts with it", "",
                         "undo removes the rest"});
        if (!reached && set_up.origin != Origin::elsewhere)
            add(set_up, {FindingCode::root_gone, set_up.root_path,
                         "the root file system is no longer there, or was moved"});
    }

    /// If that cannot be found out, the set-up cannot be checked either.
    void set_origin(SetUp& set_up, int root)
    {
        const auto found = origin_of(set_up.key, here_, living_, root, table_);
        set_up.origin = found ? *found : Origin::another_mount;
        if (set_up.origin == Origin::elsewhere)
            set_up.process = living_.process_in(set_up.key.from.mount_namespace);
    }

    static void check_progress(const Journal& journal, SetUp& set_up)
    {
        if (journal.progress == Progress::begun)
            add(set_up, {FindingCode::interrupted, "", "was cut off while it was made", "",
                         "undo it, or apply it again"});
        if (journal.progress == Progress::partly_undone)
            add(set_up, {FindingCode::partly_undone, "", "could not be undone completely", "",
                         "undo tries again"});
    }

    static void check_driver(const plan::UsedDriver& driver, SetUp& set_up)
    {
        if (drivers::find_vendor(driver.vendor) == nullptr)
            return; // a site's file describes the vendor, and status reads none
        const auto loaded = loaded_version(driver.vendor);
        if (!loaded)
            add(set_up, {FindingCode::driver_not_loaded, driver.vendor,
                         "the kernel module is not loaded", "", "load it with modprobe"});
        else if (*loaded != driver.version)
            add(set_up, {FindingCode::driver_version, driver.vendor,
                         base::format("made with driver {}, and the kernel module is of version {}",
                                      driver.version, *loaded),
                         "", "apply it again"});
    }

    static void check_parts(const Journal& journal, int root, SetUp& set_up)
    {
        const program::Program program(journal.program.get());
        std::string last; // a name and the mount on it are one part
        for (const program::Operation& operation : program.operations()) {
            const std::string path = program.text(operation.path);
            if (path == last || is_intact(program, operation, root))
                continue;
            add(set_up,
                {FindingCode::part_missing, path,
                 "is not as it was left: removed, covered or changed", "", "apply it again"});
            last = path;
        }
    }

    /// Undo leaves what is not as it was left, or cannot reach it.
    static void leave_out_missing_parts(SetUp& set_up)
    {
        std::erase_if(set_up.items, [&](const plan::Item& item) {
            return std::ranges::any_of(set_up.findings, [&](const model::Finding& finding) {
                return finding.code == FindingCode::part_missing && finding.object == item.target;
            });
        });
    }

    /// Only for a process.
    void check_devices(const Journal& journal, int root, SetUp& set_up) const
    {
        if (pidfd_ < 0)
            return;
        auto findings = ask_about_nodes(program::Program(journal.program.get()), root, pidfd_);
        std::ranges::move(findings, std::back_inserter(set_up.findings));
    }

    const JournalStore& store_;
    const Viewpoint& here_;
    const SeenRoot* given_ = nullptr;
    std::optional<journal::HiddenSetUps> hidden_; ///< Of the one root.
    int table_ = mount::own_table;
    int pidfd_ = -1;
    mount::LivingNamespaces living_;
    std::vector<SetUp> found_;
};

/// Oldest first. Roots with a path come before those without.
std::vector<SetUp> sorted(std::vector<SetUp> found)
{
    const auto order = [](const SetUp& set_up) {
        return std::tuple(set_up.root_path.empty(), set_up.root_path, set_up.since,
                          file_name(set_up.key));
    };
    std::sort(found.begin(), found.end(),
              [&](const SetUp& left, const SetUp& right) { return order(left) < order(right); });
    return found;
}

} // namespace

std::string_view name(Origin origin)
{
    switch (origin) {
    case Origin::here:
        return "here";
    case Origin::earlier_boot:
        return "earlier_boot";
    case Origin::namespace_end:
        return "namespace_gone";
    case Origin::another_mount:
        return "another_mount";
    case Origin::elsewhere:
        return "another_namespace";
    }
    return "";
}

Result<std::vector<SetUp>> look_at_root(const Target& target)
{
    GPUCTR_TRY(auto visit, mount::NamespaceVisit::enter(target.pidfd));
    GPUCTR_TRY(SeenRoot root, SeenRoot::of(target.rootfs_fd, target.pidfd >= 0));
    GPUCTR_TRY(const Viewpoint here, Viewpoint::current());
    GPUCTR_TRY(const auto store, JournalStore::open(target.state_directory, target.rootfs_fd));
    if (!store)
        return std::vector<SetUp>();
    const RootName name(root.id().device, root.id().inode);
    GPUCTR_TRY(auto journals, store->open_root(name, JournalStore::Lock::shared));
    root.look(); // again, after waiting for the lock
    GPUCTR_TRY(auto strays, find_strays(*store, root.id(), root.fd(), here, visit.table()));
    Inspection inspection(*store, here, root, visit.table(), target.pidfd);
    if (journals)
        GPUCTR_CHECK(inspection.look_at(name, *journals));
    inspection.look_at_strays(std::move(strays));
    GPUCTR_CHECK(visit.leave());
    return sorted(std::move(inspection).take());
}

Result<std::vector<SetUp>> look_at_all(const std::string& state_directory,
                                       std::chrono::milliseconds limit)
{
    GPUCTR_TRY(const Viewpoint here, Viewpoint::current());
    GPUCTR_TRY(const auto store, JournalStore::open(state_directory, -1));
    if (!store)
        return std::vector<SetUp>();
    Inspection inspection(*store, here);
    GPUCTR_TRY(const auto roots, store->roots());
    for (const RootName& name : roots) {
        auto journals = store->open_root(name, JournalStore::Lock::shared, limit);
        if (!journals) {
            auto unlocked = store->open_root(name, JournalStore::Lock::none);
            if (!unlocked)
                inspection.name_unreadable(name, unlocked.error());
            else if (*unlocked)
                GPUCTR_CHECK(inspection.name_locked(name, **unlocked, journals.error().message()));
        } else if (*journals) {
            GPUCTR_CHECK(inspection.look_at(name, **journals));
        }
    }
    return sorted(std::move(inspection).take());
}

} // namespace gpucontainer::apply
