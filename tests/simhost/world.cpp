// SPDX-License-Identifier: MIT
#include "world.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "mounts.hpp"
#include "tree.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::simhost {
namespace {

constexpr std::array nodes = {"null", "zero", "full", "random", "urandom", "tty"};
constexpr std::array device_links = {
    std::pair{"fd", "/proc/self/fd"},       std::pair{"stdin", "/proc/self/fd/0"},
    std::pair{"stdout", "/proc/self/fd/1"}, std::pair{"stderr", "/proc/self/fd/2"},
    std::pair{"ptmx", "pts/ptmx"},
};

struct Directory {
    const char* path;
    mode_t mode;
};
/// Besides those of the machine.
constexpr std::array own_directories = {
    Directory{"/home", 0755},    Directory{"/media", 0755},     Directory{"/mnt", 0755},
    Directory{"/opt", 0755},     Directory{"/root", 0700},      Directory{"/run", 0755},
    Directory{"/srv", 0755},     Directory{"/tmp", 01777},      Directory{"/var", 0755},
    Directory{"/var/lib", 0755}, Directory{"/var/cache", 0755}, Directory{"/var/log", 0755},
    Directory{"/var/tmp", 01777}};

Error world_error(std::string_view what, const std::string& object)
{
    return Error::from_errno(errno, base::format("{} {}", what, object), Errc::apply);
}

/// Whether it is one of the directories of the machine that the world has.
bool is_machine_directory(std::string_view name)
{
    return name == "usr" || name == "etc" || name == "bin" || name == "sbin"
           || name.starts_with("lib");
}

/// A copy of a mount without those below it. An ordinary user gets no copy that shows what a mount
/// hides, so it has all of them.
Result<base::UniqueFd> copy_of(const std::string& path)
{
    auto single = clone_mount(AT_FDCWD, path);
    if (single || single.error().os_error() != EINVAL)
        return single;
    return clone_mount(AT_FDCWD, path, BindKind::recursive);
}

/// A mount that is attached: no setuid programs, nor nodes, and no writing.
Result<void> protect(const Shown& shown, int mount)
{
    if (shown.has_nodes)
        return {};
    return restrict_mount(mount, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV
                                     | (shown.writable ? 0 : MOUNT_ATTR_RDONLY));
}

Result<Tree> open_tree_at(const std::string& path, uid_t first_id)
{
    base::UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd)
        return world_error("open", path);
    return Tree(std::move(fd), first_id);
}

/// A directory of the machine that can be covered while nothing of it is looked up any more.
Result<std::string> place_for_root()
{
    for (const std::string directory : {"/mnt", "/media", "/srv", "/tmp"}) {
        struct stat status = {};
        if (::lstat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
            return directory;
    }
    return Error(Errc::requirement, "no directory to mount the root directory on");
}

} // namespace

Result<void> World::copy_machine()
{
    GPUCTR_TRY(const auto names, base::list_directory(AT_FDCWD, "/"));
    for (const std::string& name : names) {
        if (!is_machine_directory(name))
            continue;
        const std::string path = "/" + name;
        struct stat status = {};
        if (::lstat(path.c_str(), &status) != 0)
            return world_error("look at", path);
        if (S_ISLNK(status.st_mode)) {
            GPUCTR_TRY(auto target, base::read_link(AT_FDCWD, path), "{}", path);
            links_.emplace_back(path, std::move(target));
        } else if (S_ISDIR(status.st_mode)) {
            GPUCTR_TRY(auto mount, copy_of(path));
            machine_.push_back({{path}, std::move(mount), true});
        }
    }
    GPUCTR_TRY(auto sys, copy_of("/sys"));
    machine_.push_back({{"/sys"}, std::move(sys), true});
    for (const char* name : nodes) {
        const std::string path = base::format("/dev/{}", name);
        if (first_id_ != 0) // root makes nodes that belong to the world's root
            continue;
        if (auto mount = clone_mount(AT_FDCWD, path))
            machine_.push_back({{path, true, true}, *std::move(mount), false});
    }
    return {};
}

Result<void> World::make_nodes(Tree& tree) const
{
    constexpr mode_t mode = 0666;
    for (const char* name : nodes) {
        const std::string path = base::format("/dev/{}", name);
        struct stat status = {};
        if (::lstat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode))
            continue;
        GPUCTR_CHECK(tree.node(path, S_IFCHR | mode, status.st_rdev));
        if (::fchmodat(tree.fd(), path.c_str() + 1, mode, 0) != 0) // the umask has no say
            return world_error("set the mode of", path);
    }
    return {};
}

Result<void> World::enter(const std::vector<Shown>& shown)
{
    GPUCTR_CHECK(copy_machine());
    for (const Shown& one : shown) {
        struct stat status = {};
        if (::stat(one.path.c_str(), &status) != 0)
            return world_error("show", one.path);
        GPUCTR_TRY(auto mount, copy_of(one.path), "show");
        shown_.push_back({one, std::move(mount), S_ISDIR(status.st_mode)});
    }
    std::ranges::sort(shown_, {}, [](const Copy& copy) { return copy.shown.path; });
    GPUCTR_TRY(const auto place, place_for_root());
    GPUCTR_CHECK(mount_tmpfs(place));
    GPUCTR_CHECK(make_root(place));
    return enter_root(place);
}

Result<void> World::make_root(const std::string& place)
{
    GPUCTR_TRY(Tree tree, open_tree_at(place, first_id_));
    if (first_id_ != 0 && ::fchownat(tree.fd(), "", first_id_, first_id_, AT_EMPTY_PATH) != 0)
        return world_error("give away", place);
    for (const auto& [path, target] : links_)
        GPUCTR_CHECK(tree.link(path, target));
    for (const char* directory : {"/proc", "/mnt", "/media", "/dev/pts", "/dev/shm"})
        GPUCTR_CHECK(tree.directory(directory));
    if (first_id_ != 0)
        GPUCTR_CHECK(make_nodes(tree));
    for (const Copy& copy : machine_) {
        const std::string& path = copy.shown.path;
        GPUCTR_CHECK(copy.is_directory ? tree.directory(path) : tree.file(path, {}));
        GPUCTR_CHECK(attach_mount(copy.mount.get(), tree.fd(), path.substr(1)));
        GPUCTR_CHECK(protect(copy.shown, copy.mount.get()), "{}", path);
    }
    for (const auto& [name, target] : device_links)
        GPUCTR_CHECK(tree.link(base::format("/dev/{}", name), target));
    return make_proc(place);
}

/// What has to be mounted where it is used.
Result<void> World::make_proc(const std::string& place) const
{
    constexpr unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    const std::string proc = place + "/proc";
    if (::mount("proc", proc.c_str(), "proc", flags, nullptr) != 0)
        return world_error("mount", "/proc");
    GPUCTR_TRY(const auto values, clone_mount(AT_FDCWD, proc + "/sys"));
    GPUCTR_CHECK(attach_mount(values.get(), AT_FDCWD, proc + "/sys"));
    GPUCTR_CHECK(make_read_only(values.get()), "/proc/sys");

    const std::string terminals = place + "/dev/pts";
    if (::mount("devpts", terminals.c_str(), "devpts", MS_NOSUID | MS_NOEXEC,
                "newinstance,ptmxmode=0666,mode=0620")
        != 0)
        return world_error("mount", "/dev/pts");
    const std::string shared = place + "/dev/shm";
    constexpr mode_t mode = 01777;
    if (::chmod(shared.c_str(), mode) != 0)
        return world_error("set the mode of", "/dev/shm");
    return {};
}

Result<void> World::complete()
{
    GPUCTR_TRY(Tree tree, open_tree_at("/", first_id_));
    for (const Directory& directory : own_directories) {
        const bool is_there = tree.has(directory.path);
        GPUCTR_CHECK(tree.directory(directory.path));
        if (!is_there && ::chmod(directory.path, directory.mode) != 0)
            return world_error("set the mode of", directory.path);
    }
    if (!tree.has("/var/run"))
        GPUCTR_CHECK(tree.link("/var/run", "/run"));
    for (const Copy& copy : shown_) {
        const std::string& path = copy.shown.path;
        if (copy.shown.has_nodes)
            continue; // mount_at()
        if (!tree.has(path))
            GPUCTR_CHECK(copy.is_directory ? tree.directory(path) : tree.file(path, {}), "show");
        GPUCTR_CHECK(attach_mount(copy.mount.get(), tree.fd(), path.substr(1)), "show");
        GPUCTR_CHECK(protect(copy.shown, copy.mount.get()), "show {}", path);
    }
    return {};
}

Result<void> World::mount_at(const std::string& path, const std::string& target) const
{
    for (const Copy& copy : shown_)
        if (copy.shown.path == path && copy.shown.has_nodes)
            return attach_mount(copy.mount.get(), AT_FDCWD, target);
    return Error(Errc::requirement, base::format("{} is not shown", path));
}

Place place_of(const std::string& path)
{
    const auto parts = base::split(path, '/');
    if (parts.size() < 2 || parts[1].empty() || parts[1] == "proc" || parts[1] == "sys"
        || parts[1] == "dev")
        return Place::kernel;
    return is_machine_directory(parts[1]) ? Place::world : Place::outside;
}

} // namespace gpucontainer::simhost
