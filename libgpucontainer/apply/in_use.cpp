// SPDX-License-Identifier: MIT
#include "apply/in_use.hpp"

#include "apply/in_place.hpp"
#include "base/format.hpp"
#include "base/in_root.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "journal/seen_root.hpp"
#include "journal/store.hpp"
#include "mount/facts.hpp"
#include "mount/table.hpp"
#include "rootfs/root.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpucontainer::apply {

using journal::Journal;
using journal::JournalStore;
using journal::RootJournals;
using journal::Viewpoint;
namespace {

/// A duration in its largest unit: "5 minutes".
std::string duration(std::int64_t seconds)
{
    constexpr std::array<std::pair<std::int64_t, std::string_view>, 4> units = {
        {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}}};
    const auto* const unit = std::find_if(units.begin(), units.end() - 1,
                                          [&](const auto& u) { return seconds >= u.first; });
    const std::int64_t count = seconds / unit->first;
    return base::format("{} {}{}", count, unit->second, count == 1 ? "" : "s");
}

std::string gpus_of(const plan::UsedDriver& driver)
{
    std::vector<std::string> gpus;
    for (const model::Gpu& gpu : driver.gpus) {
        if (std::ranges::find(driver.gpus, static_cast<int>(gpu.index), &model::Gpu::parent)
            != driver.gpus.end())
            continue; // it comes with its instances
        const std::string& id = gpu.uuid.empty() ? gpu.pci_address : gpu.uuid;
        gpus.push_back(id.empty() ? gpu.label() : base::format("{} ({})", gpu.label(), id));
    }
    return base::format("{} GPU{} {}", driver.vendor, gpus.size() == 1 ? "" : "s",
                        base::joined(gpus, ", "));
}

std::string gpus_of(const Journal& journal)
{
    std::vector<std::string> drivers;
    for (const plan::UsedDriver& driver : journal.drivers)
        if (!driver.gpus.empty())
            drivers.push_back(gpus_of(driver));
    return drivers.empty() ? "no GPU" : base::joined(drivers, ", ");
}

} // namespace

Result<bool> may_be_in_use(const Journal& journal, journal::Origin origin, int rootfs_fd)
{
    // Nobody was told of a set-up that was interrupted, and mounts end with their namespace.
    if (journal.progress != journal::Progress::complete || origin != journal::Origin::here)
        return false;
    return journal::is_seen_on(rootfs_fd, journal.key.mount_id);
}

Error not_to_be_replaced(const Journal& journal, const std::string& path, std::string_view why)
{
    const std::int64_t age = std::max<std::int64_t>(std::time(nullptr) - journal.since, 0);
    return Error(Errc::exists, base::format("another set-up is there, made {} ago with {}{}",
                                            duration(age), gpus_of(journal), why))
        .context(path.empty() ? "the root of the process" : path)
        .with_object(path)
        .with_hint("once nobody uses it any more, `gpuctr-setup undo` takes it away");
}

namespace {

constexpr const char* why_not_replaced = ": without a journal nothing is replaced";

/// Whether there is a set-up, even an interrupted one or one with missing parts.
Result<bool> is_there(const journal::SetUpKey& key, const Viewpoint& here, int rootfs_fd)
{
    if (key.from.boot_id != here.boot_id || key.from.mount_namespace != here.mount_namespace)
        return false;
    return journal::is_seen_on(rootfs_fd, key.mount_id);
}

/// How long to wait for other operations on the root. A runtime considers a hook that waits as
/// failed.
constexpr std::chrono::seconds patience(2);

/// If the journals cannot be used, this caller has no set-ups with a journal.
Result<std::optional<RootJournals>> journals_of(const Target& target, const journal::RootId& root)
{
    const auto store = JournalStore::open(target.state_directory, target.rootfs_fd);
    if (!store || !*store)
        return std::optional<RootJournals>();
    auto journals =
        (*store)->open_root({root.device, root.inode}, JournalStore::Lock::shared, patience);
    if (!journals && !JournalStore::is_locked_out(journals.error()))
        return std::optional<RootJournals>();
    return journals;
}

Result<void> refuse_journalled(const Target& target)
{
    GPUCTR_TRY(journal::SeenRoot root, journal::SeenRoot::of(target.rootfs_fd, target.pidfd >= 0));
    GPUCTR_TRY(auto journals, journals_of(target, root.id()));
    if (!journals)
        return {};
    root.look(); // again, after waiting for the lock
    GPUCTR_TRY(const Viewpoint here, Viewpoint::current());
    GPUCTR_TRY(const auto keys, journals->keys());
    for (const journal::SetUpKey& key : keys) {
        GPUCTR_TRY(const bool there, is_there(key, here, root.fd()));
        if (!there)
            continue;
        GPUCTR_TRY(const Journal journal, journals->read(key));
        return not_to_be_replaced(journal, root.path(), why_not_replaced);
    }
    return {};
}

Error unknown_set_up(const std::string& path)
{
    return Error(Errc::exists,
                 base::format("{}: another set-up is there, of which no journal is found here{}",
                              path, why_not_replaced))
        .with_object(path)
        .with_hint("it goes with its mount namespace; one that has a journal is taken away by "
                   "`gpuctr-setup undo` in the namespace and with the --state-dir that it was "
                   "made with");
}

/// Whether it is the host's staged tree, which a bind mount may show in the root. It is no set-up.
bool is_staged_tree(const plan::Plan& plan, const std::string& staged, const std::string& path)
{
    return !staged.empty() && path.ends_with(staged) && path != plan.tree_path;
}

/// Refuses a root that has a file system of ours, by its name in the mount table.
Result<void> refuse_mounted(const plan::Plan& plan, const Target& target)
{
    const auto root = base::path_of(target.rootfs_fd);
    if (!root) // without /proc, nothing is mounted either
        return {};
    std::vector<std::string> ours;
    if (!mount::list_ours_below(target.rootfs_fd, ours))
        return Error::from_errno(errno, "read the mount table", Errc::apply);
    for (const std::string& path : ours) {
        if (!base::is_below(path, *root))
            continue;
        const std::string inside = path.substr(*root == "/" ? 0 : root->size());
        if (!is_staged_tree(plan, target.staged_tree, inside))
            return unknown_set_up(inside.empty() ? "/" : inside);
    }
    return {};
}

/// A set-up of device nodes only has nothing else.
Result<void> refuse_nodes(const plan::Plan& plan, int rootfs_fd)
{
    for (const plan::Item& item : plan.items)
        if (const auto* device = item.as<plan::Device>();
            device != nullptr
            && is_mounted_node(item.target, device->major, device->minor, rootfs_fd))
            return unknown_set_up(item.target);
    return {};
}

} // namespace

Result<bool> is_there_already(const plan::Planned& planned, const Target& target)
{
    const plan::Plan& plan = planned.plan;
    GPUCTR_CHECK(refuse_journalled(target));
    Result<void> nothing = refuse_mounted(plan, target);
    if (nothing)
        nothing = refuse_nodes(plan, target.rootfs_fd);
    if (nothing)
        return false;
    GPUCTR_TRY(const auto root, rootfs::Root::open(target.rootfs_fd));
    if (is_in_place(plan, *planned.drivers, root))
        return true;
    return std::move(nothing).error();
}

} // namespace gpucontainer::apply
