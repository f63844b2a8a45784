// SPDX-License-Identifier: MIT
#include "journal/seen_root.hpp"

#include "base/in_root.hpp"
#include "base/try.hpp"
#include "mount/facts.hpp"
#include "mount/position.hpp"
#include "mount/statmount.hpp"
#include "mount/uppermost.hpp"

#include <algorithm>
#include <fcntl.h>

namespace gpucontainer::journal {

using base::UniqueFd;

Result<SeenRoot> SeenRoot::of(int rootfs_fd, bool of_process)
{
    SeenRoot root(rootfs_fd, of_process);
    GPUCTR_TRY(root.id_, RootId::of(rootfs_fd));
    const auto path = root.of_process_ ? std::string() : base::path_of(rootfs_fd);
    root.path_ = path ? *path : "";
    return root;
}

UniqueFd SeenRoot::open_uppermost()
{
    const std::uint64_t mount = mount::mount_id(given_);
    const auto path = base::path_of(given_);
    mounted_ = mount != 0 && mount::exists(mount);
    // A mount that was unmounted meanwhile has no path. One of another namespace has the path from
    // there.
    if (!mounted_ && path && !path_.empty() && *path != path_)
        return UniqueFd(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (mounted_ && path)
        path_ = *path;
    return UniqueFd(mount::open_uppermost(given_));
}

void SeenRoot::look()
{
    if (of_process_)
        return;
    covered_ = false;
    uppermost_ = open_uppermost();
    const std::uint64_t mount = uppermost_ ? mount::mount_id(uppermost_.get()) : 0;
    if (mount == 0 || mount::is_on(given_, mount)) {
        uppermost_.reset();
        return;
    }
    const auto found = RootId::of(uppermost_.get());
    if (found && found->may_be(id_))
        return;
    covered_ = mounted_;
    uppermost_.reset();
}

namespace {

bool is_from(const SetUpKey& key, const Viewpoint& here)
{
    return key.from.boot_id == here.boot_id && key.from.mount_namespace == here.mount_namespace;
}

} // namespace

void HiddenSetUps::look()
{
    if (mounts_)
        return;
    mounts_.emplace();
    if (!root_.is_mounted())
        return;
    *mounts_ = mount::mounts_at(root_.path());
    // A mount that came on top meanwhile counts too.
    const UniqueFd now(mount::open_uppermost(root_.fd()));
    for (const int seen : {root_.fd(), now.get()}) {
        std::uint64_t own = 0;
        if (seen >= 0 && mount::table_id(seen, own))
            std::erase(*mounts_, own);
    }
}

bool HiddenSetUps::contain(const SetUpKey& key)
{
    look();
    if (mounts_->empty() || !is_from(key, here_))
        return false;
    return std::ranges::find(*mounts_, mount::table_number(key.mount_id)) != mounts_->end();
}

Result<bool> HiddenSetUps::are_in(const JournalStore& store)
{
    look();
    if (mounts_->empty()) // the usual case: other roots cost nothing
        return false;
    GPUCTR_TRY(const auto names, store.roots());
    for (const RootName& name : names) {
        // A directory that cannot be opened does not stop the search.
        auto journals = store.open_root(name, JournalStore::Lock::none);
        const auto keys = journals && *journals ? (**journals).keys() : std::vector<SetUpKey>();
        if (keys && std::ranges::any_of(*keys, [&](const auto& key) { return contain(key); }))
            return true;
    }
    return false;
}

std::optional<std::string> HiddenSetUps::path_of(const Journal& journal, const Viewpoint& here)
{
    // The root of a process need not be the root of a mount.
    if (journal.root_path.empty() || !is_from(journal.key, here))
        return std::nullopt;
    const std::uint64_t number = mount::table_number(journal.key.mount_id);
    return number != 0 ? mount::path_of_mount(number) : std::nullopt;
}

Error HiddenSetUps::error(const std::string& path)
{
    return Error(Errc::apply, "another mount lies over what is set up at " + path)
        .with_object(path)
        .with_hint("unmount that first");
}

} // namespace gpucontainer::journal
