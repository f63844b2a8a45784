// SPDX-License-Identifier: MIT
#include "journal/ground.hpp"

#include "base/format.hpp"
#include "base/in_root.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "journal/file_system_id.hpp"
#include "mount/facts.hpp"
#include "mount/namespace.hpp"
#include "mount/position.hpp"
#include "mount/statmount.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

namespace gpucontainer::journal {
namespace {

using base::UniqueFd;
using State = Whereabouts::State;

constexpr int as_place = O_PATH | O_DIRECTORY | O_CLOEXEC;

struct Handle {
    unsigned size = MAX_HANDLE_SZ;
    int type = 0;
    std::array<char, MAX_HANDLE_SZ> bytes = {};

    file_handle* get() noexcept { return reinterpret_cast<file_handle*>(this); }
};
static_assert(longest_handle == sizeof(Handle::type) + MAX_HANDLE_SZ);

std::string handle_of(int fd)
{
    Handle handle;
    int mount = 0;
    if (::name_to_handle_at(fd, "", handle.get(), &mount, AT_EMPTY_PATH) != 0)
        return "";
    std::string text(sizeof handle.type, '\0');
    std::memcpy(text.data(), &handle.type, sizeof handle.type);
    return text.append(handle.bytes.data(), handle.size);
}

std::optional<Handle> parse_handle(const std::string& text)
{
    Handle handle;
    if (text.size() <= sizeof handle.type || text.size() > longest_handle)
        return std::nullopt;
    std::memcpy(&handle.type, text.data(), sizeof handle.type);
    handle.size = static_cast<unsigned>(text.size() - sizeof handle.type);
    std::memcpy(handle.bytes.data(), &text[sizeof handle.type], handle.size);
    return handle;
}

Ground ground_at(int fd, const RootId& id, std::uint64_t device)
{
    Ground ground;
    ground.id = id;
    ground.is_lasting = !mount::is_tmpfs(fd);
    ground.file_system = file_system_id(fd, id.subvolume);
    ground.device = device;
    ground.handle = handle_of(fd);
    return ground;
}

bool is_at(const std::string& path, const RootId& id)
{
    const UniqueFd fd(::open(path.c_str(), as_place));
    const auto found = fd ? RootId::of(fd.get()) : Result<RootId>(RootId());
    return fd && found && found->may_be(id);
}

/// Whether it is the same file system, even if its device number changed at a boot or when it was
/// mounted again.
bool is_ground(int fd, const Ground& ground)
{
    const auto found = RootId::of(fd);
    if (!found)
        return false;
    RootId there = ground.id;
    if (ground.file_system != 0 && file_system_id(fd, found->subvolume) == ground.file_system)
        there.device = found->device;
    return found->may_be(there);
}

bool is_ground_at(const std::string& path, const Ground& ground)
{
    const UniqueFd fd(path.empty() ? -1 : ::open(path.c_str(), as_place));
    return fd && is_ground(fd.get(), ground);
}

/// Where this mount namespace shows a directory of a file system that another namespace showed.
std::string path_here(const mount::Position& position, const RootId& id)
{
    const auto mounts = mount::mounts_of(position.device);
    for (const mount::MountPoint& mount : mounts ? *mounts : std::vector<mount::MountPoint>()) {
        if (!base::is_below(position.path, mount.root))
            continue;
        const std::string below =
            mount.root == "/" ? position.path : position.path.substr(mount.root.size());
        std::string path = (mount.path == "/" ? "" : mount.path) + (below == "/" ? "" : below);
        path = path.empty() ? "/" : path;
        if (is_at(path, id))
            return path;
    }
    return "";
}

/// Whether an overlay shows the directory in place of one of its own. The mount options alone
/// prove nothing: their paths may be of another namespace. The times of a directory of an overlay
/// are those of the directory in its upper layer.
bool is_shown_by(int overlay, int layer)
{
    constexpr unsigned wanted = STATX_BTIME | STATX_CTIME | STATX_MTIME | STATX_UID | STATX_GID;
    struct statx shown = {};
    struct statx status = {};
    const auto look = [](int fd, struct statx& found) {
        return ::statx(fd, "", AT_EMPTY_PATH, wanted, &found) == 0;
    };
    const auto same = [](const statx_timestamp& left, const statx_timestamp& right) {
        return left.tv_sec == right.tv_sec && left.tv_nsec == right.tv_nsec;
    };
    return look(overlay, shown) && look(layer, status) && same(shown.stx_btime, status.stx_btime)
           && same(shown.stx_ctime, status.stx_ctime) && same(shown.stx_mtime, status.stx_mtime)
           && shown.stx_uid == status.stx_uid && shown.stx_gid == status.stx_gid;
}

std::optional<Ground> layer_at(const std::string& path, int overlay)
{
    const UniqueFd layer(::open(path.c_str(), as_place | O_NOFOLLOW));
    const auto id = layer ? RootId::of(layer.get()) : Result<RootId>(RootId());
    if (!layer || !id || !is_shown_by(overlay, layer.get()))
        return std::nullopt;
    const auto position = mount::position_of(layer.get());
    Ground ground = ground_at(layer.get(), *id, position ? position->device : id->device);
    ground.is_layer = true;
    ground.path = path;
    return ground;
}

std::optional<Ground> layer_of(int overlay, const RootId& id, const mount::Position& position)
{
    const auto upper = mount::option_of(position, "upperdir");
    if (!upper)
        return std::nullopt;
    const std::string path = *upper + (position.path == "/" ? "" : position.path);
    const std::string shown_at = path_here(position, id);
    std::optional<Ground> ground;
    if (path.starts_with('/'))
        ground = layer_at(path, overlay);
    // With many layers, paths in the options may be relative to a directory above all of them.
    for (std::string above = shown_at; !path.starts_with('/') && !ground && above.size() > 1;) {
        above = base::directory_of(above);
        ground = layer_at(base::format("{}/{}", above, path), overlay);
    }
    if (ground)
        ground->shown_at = shown_at;
    return ground;
}

Result<std::optional<mount::Position>> position_in(int rootfs_fd, int pidfd)
{
    GPUCTR_TRY(auto visit, mount::NamespaceVisit::enter(pidfd));
    auto position = mount::position_of(rootfs_fd, visit.table());
    GPUCTR_CHECK(visit.leave());
    return position;
}

bool is_on_file_system_of(int fd, const Ground& ground)
{
    const auto id = RootId::of(fd);
    const bool same_device = id && (is_anonymous(id->device) || id->device == ground.id.device);
    return same_device && ground.file_system != 0
           && file_system_id(fd, id->subvolume) == ground.file_system;
}

/// Looks for a directory on each mount of its file system.
class HandleSearch {
public:
    HandleSearch(const Ground& ground, bool same_boot)
        : ground_(ground), same_boot_(same_boot), handle_(parse_handle(ground.handle))
    {
    }

    Whereabouts run(const std::vector<mount::MountPoint>& mounts)
    {
        for (const mount::MountPoint& mount : mounts) {
            look_on(mount);
            if (found_.state != State::unknown && !found_.path.empty())
                break;
        }
        // Another mount may show what this one hides.
        if (found_.state == State::unknown && has_answer_)
            found_.state = State::gone;
        return found_;
    }

    /// Whether the file system could not be asked: it has no file handles, or the caller may not
    /// open them.
    bool is_denied() const noexcept { return !handle_ || is_denied_; }

private:
    void look_on(const mount::MountPoint& mount)
    {
        const UniqueFd place(::open(mount.path.c_str(), as_place));
        std::uint64_t number = 0;
        if (!handle_ || !place || !mount::table_id(place.get(), number) || number != mount.number)
            return;
        const UniqueFd any(::openat(place.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!any)
            return;
        const UniqueFd fd(::open_by_handle_at(any.get(), handle_->get(), as_place));
        if (fd)
            note(fd.get());
        else
            note_failure(errno, any.get(), mount);
    }

    void note(int fd)
    {
        if (!is_ground(fd, ground_))
            return;
        found_.state = State::there;
        const auto path = base::path_of(fd);
        if (path && is_ground_at(*path, ground_))
            found_.path = *path;
    }

    void note_failure(int os_error, int fd, const mount::MountPoint& mount)
    {
        const bool same = ground_.is_lasting ? is_on_file_system_of(fd, ground_) : same_boot_;
        if (!same)
            return;
        // A user namespace sees only what is below the root of the mount.
        const bool sees_all = mount.root == "/" || is_in_first_user_namespace();
        has_answer_ = has_answer_ || (os_error == ESTALE && sees_all);
        is_denied_ = is_denied_ || (os_error == ESTALE && !sees_all) || os_error == EPERM
                     || os_error == EOPNOTSUPP;
    }

    static bool is_in_first_user_namespace()
    {
        constexpr ino_t first = 0xEFFFFFFDU; // PROC_USER_INIT_INO
        struct stat status = {};
        return ::stat("/proc/thread-self/ns/user", &status) == 0 && status.st_ino == first;
    }

    const Ground& ground_;
    bool same_boot_;
    std::optional<Handle> handle_;
    bool has_answer_ = false;
    bool is_denied_ = false;
    Whereabouts found_;
};

/// Compares by identity, because the device number changes at a boot or when it is mounted again.
std::optional<std::vector<mount::MountPoint>> mounts_that_may_show(const Ground& ground)
{
    auto mounts = mount::mounts_of(ground.device);
    if (!mounts || !ground.is_lasting || !is_anonymous(ground.device) || ground.file_system == 0)
        return mounts;
    const auto others = mount::local_anonymous_mounts();
    if (!others)
        return std::nullopt;
    for (const mount::MountPoint& mount : *others) {
        const UniqueFd place(::open(mount.path.c_str(), as_place));
        if (place && is_on_file_system_of(place.get(), ground))
            mounts->push_back(mount);
    }
    return mounts;
}

/// Whether what is left of the path is on the same file system.
bool is_gone_from_path(const Ground& ground)
{
    std::string path = ground.path;
    while (!path.empty()) {
        const UniqueFd fd(::open(path.c_str(), as_place));
        if (fd)
            return is_on_file_system_of(fd.get(), ground);
        if ((errno != ENOENT && errno != ENOTDIR) || path == "/")
            return false;
        path = base::directory_of(path);
    }
    return false;
}

} // namespace

Result<std::optional<Ground>> find_ground(int rootfs_fd, int pidfd, const std::string& path)
{
    GPUCTR_TRY(const RootId id, RootId::of(rootfs_fd));
    const bool is_overlay = mount::is_overlay(rootfs_fd);
    // First what needs no mount table.
    if (!path.empty() && !is_overlay && id.subvolume == 0) {
        Ground ground = ground_at(rootfs_fd, id, id.device);
        ground.path = path;
        return std::optional(std::move(ground));
    }
    GPUCTR_TRY(const auto position, position_in(rootfs_fd, pidfd));
    if (is_overlay)
        return position ? layer_of(rootfs_fd, id, *position) : std::nullopt;
    Ground ground = ground_at(rootfs_fd, id, position ? position->device : id.device);
    ground.path = position ? path_here(*position, id) : "";
    return std::optional(std::move(ground));
}

Whereabouts look_for(const Ground& ground, bool same_boot)
{
    if (is_ground_at(ground.path, ground))
        return {State::there, ground.path};
    const auto mounts = mounts_that_may_show(ground);
    if (!mounts)
        return {};
    HandleSearch search(ground, same_boot);
    Whereabouts found = search.run(*mounts);
    if (found.state != State::unknown)
        return found;
    // It was in memory. In the same boot, a mount that is not seen here may be seen elsewhere.
    const bool is_over = !ground.is_lasting && !same_boot;
    if (is_over || (search.is_denied() && is_gone_from_path(ground)))
        found.state = State::gone;
    return found;
}

} // namespace gpucontainer::journal
