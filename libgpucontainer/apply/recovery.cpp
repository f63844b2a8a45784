// SPDX-License-Identifier: MIT
#include "apply/recovery.hpp"

#include "apply/attach.hpp"
#include "apply/parent.hpp"
#include "base/file.hpp"
#include "base/in_root.hpp"
#include "base/text.hpp"
#include "elf/ld_cache_writer.hpp"
#include "mount/calls.hpp"
#include "rootfs/root.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::apply {
namespace {

using mount::Found;
using rootfs::Entry;

FileMark mark_of(const Entry& entry)
{
    return {entry.device, entry.inode, entry.size, entry.mtime_ns};
}

std::optional<elf::LdCache> read_cache(const rootfs::Root& root, const std::string& path)
{
    auto bytes = root.read(path, elf::max_cache_size);
    if (!bytes)
        return std::nullopt;
    auto cache = elf::LdCache::parse(*std::move(bytes));
    return cache ? std::optional(*std::move(cache)) : std::nullopt;
}

/// Which paths in a loader cache are those of a set-up.
class OurPaths {
public:
    OurPaths(const Program& program, const std::string& tree_path) : tree_path_(tree_path)
    {
        for (const Operation& operation : program.operations())
            if (operation.step == Step::mount && (operation.flags & follow_target) == 0)
                mounted_.emplace(program.text(operation.path));
    }

    bool contain(std::string_view path) const
    {
        return (!tree_path_.empty() && base::is_below(path, tree_path_))
               || mounted_.contains(std::string(path));
    }

    bool are_in(const elf::LdCache& cache) const
    {
        const auto entries = cache.entries();
        return std::any_of(entries.begin(), entries.end(),
                           [&](const elf::CacheEntry& entry) { return contain(entry.value); });
    }

private:
    const std::string& tree_path_;
    std::set<std::string> mounted_; ///< Not those that cover the image's own.
};

std::string kept_path(const std::string& path)
{
    return std::string(base::directory_of(path)) + "/" + kept_prefix
           + std::string(base::name_of(path));
}

/// The file of before the set-up is there again.
bool is_put_back(const Program& program, const std::string& path, const Entry& now)
{
    const auto operations = program.operations();
    return std::any_of(operations.begin(), operations.end(), [&](const Operation& operation) {
        return operation.step == Step::replace_file && path == program.text(operation.path)
               && operation.expected.inode == now.inode && operation.expected.device == now.device;
    });
}

/// A path that leads nowhere: an answer. Every other error leaves open what is there.
bool is_absent(int os_error) noexcept
{
    return os_error == ENOENT || os_error == ENOTDIR || os_error == ELOOP;
}

/// What of a set-up that was cut off is there. Each function is false, with errno,
/// where that cannot be told.
class Leftovers {
public:
    Leftovers(const rootfs::Root& root, const Program& program, std::string tree_path)
        : root_(root), program_(program), tree_path_(std::move(tree_path))
    {
    }

    bool adopt_mount(Operation& operation) const
    {
        const char* const path = program_.text(operation.path);
        const std::uint64_t follow = (operation.flags & follow_target) != 0 ? 0 : O_NOFOLLOW;
        while (true) {
            const base::UniqueFd target(base::open_in_root(root_.fd(), path, O_PATH | follow));
            if (!target)
                return is_absent(errno);
            const Found mounted = mount::find_mount_root(target.get());
            if (mounted != Found::yes)
                return mounted == Found::no;
            bool uncovered = false;
            if (!adopt_mounted(operation, target.get(), uncovered))
                return false;
            if (!uncovered)
                return true;
        }
    }

    bool adopt_name(Operation& operation) const
    {
        const Parent parent(program_, operation, root_.fd());
        struct stat status = {};
        if (!parent || ::fstatat(parent.fd(), parent.name(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
            // Cut off before the exchange, a loader cache has its successor beside it.
            if (parent && errno == ENOENT && operation.step == Step::replace_file)
                return adopt_replaced(operation, parent);
            return is_absent(errno);
        }
        Found ours = Found::no;
        if (operation.step == Step::make_directory && S_ISDIR(status.st_mode))
            ours = holds_ours_alone(parent, operation);
        else if (operation.step == Step::make_link && S_ISLNK(status.st_mode))
            ours = leads(parent, operation);
        else if (operation.step == Step::make_file && S_ISREG(status.st_mode))
            ours = begins(operation);
        else if (operation.step == Step::replace_file)
            return adopt_replaced(operation, parent);
        if (ours == Found::yes) {
            if (!look_at(parent.fd(), parent.name(), operation.made))
                return false;
            operation.done = 1;
        }
        return ours != Found::unknown;
    }

private:
    /// `uncovered`: what lay uppermost there was taken away.
    static bool adopt_mounted(Operation& operation, int target, bool& uncovered)
    {
        // The root of a mount of ours is a file that the journal names; an overlay is
        // known by lying where one was planned.
        FileMark mark = {};
        const Found overlay =
            operation.step == Step::overlay ? mount::find_overlay(target) : Found::no;
        if (!look_at(target, mark) || overlay == Found::unknown)
            return false;
        if (!same_file(mark, operation.made) && overlay == Found::no)
            return true;
        operation.mount_id = mount::mount_id(target);
        if (operation.mount_id == 0)
            return false;
        // The names of an overlay that was not made yet, or lie below it still.
        const bool names = operation.step == Step::overlay && overlay == Found::no;
        uncovered = names && mount::detach(target) == 0;
        operation.done = uncovered ? 0 : 1;
        return true;
    }

    std::string_view data(const Operation& operation) const
    {
        return {program_.text(operation.data), operation.data_size};
    }

    /// Empty, or but for names that are adopted already.
    Found holds_ours_alone(const Parent& parent, const Operation& operation) const
    {
        const base::UniqueFd directory(base::open_in_root(
            parent.fd(), parent.name(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK));
        if (!directory)
            return is_absent(errno) ? Found::no : Found::unknown;
        const auto names = base::list_directory(directory.get(), ".", program_.operations().size());
        if (!names)
            return answer(names.error());
        const std::string prefix = std::string(program_.text(operation.path)) + "/";
        return std::ranges::all_of(
                   *names, [&](const std::string& name) { return is_adopted(prefix + name); })
                   ? Found::yes
                   : Found::no;
    }

    bool is_adopted(const std::string& path) const
    {
        return std::ranges::any_of(program_.operations(), [&](const Operation& operation) {
            return operation.done != 0 && !is_mount(operation)
                   && path == program_.text(operation.path);
        });
    }

    Found leads(const Parent& parent, const Operation& operation) const
    {
        const auto target = base::read_link(parent.fd(), parent.name());
        if (!target)
            return answer(target.error());
        return *target == data(operation) ? Found::yes : Found::no;
    }

    /// The file holds what it was to hold, or as much as was written of it.
    Found begins(const Operation& operation) const
    {
        const auto found = root_.read(program_.text(operation.path), operation.data_size);
        if (!found)
            return answer(found.error());
        return data(operation).starts_with(*found) ? Found::yes : Found::no;
    }

    /// Of a failed look: not what was looked for, or nothing can be said.
    static Found answer(const Error& error)
    {
        errno = error.os_error();
        if (error.code() == Errc::requirement) // of /proc, by which files are opened
            return Found::unknown;
        return errno == 0 || errno == EFBIG || is_absent(errno) ? Found::no : Found::unknown;
    }

    bool adopt_replaced(Operation& operation, const Parent& parent) const
    {
        const KeptName kept(parent.name());
        FileMark now = {};
        FileMark beside = {};
        if (!look_at(parent.fd(), parent.name(), now) || !look_at(parent.fd(), kept.name(), beside))
            return false;
        auto bytes = root_.read(program_.text(operation.path), elf::max_cache_size);
        if (!bytes && answer(bytes.error()) == Found::unknown)
            return false;
        std::optional<elf::LdCache> cache;
        if (bytes)
            if (auto parsed = elf::LdCache::parse(*std::move(bytes)))
                cache = *std::move(parsed);
        // A loss of power may leave the successor without its content.
        const bool lost =
            now.inode != 0 && now.size == 0 && beside.inode == operation.expected.inode;
        operation.done = 1;
        // Cut off before the exchange, what lies beside it is all of ours.
        operation.made =
            (cache && OurPaths(program_, tree_path_).are_in(*cache)) || lost ? now : FileMark();
        return true;
    }

    const rootfs::Root& root_;
    const Program& program_;
    std::string tree_path_;
};

/// Calls `adopt` with each operation, the rest too after one of which nothing can be told.
template <typename Iterator, typename Adopt>
bool adopt_each(const Program& program, Iterator next, Iterator end, Failure& failure, Adopt adopt)
{
    bool complete = true;
    for (; next != end; ++next) {
        Operation& operation = *next;
        if (operation.done != 0 || adopt(operation))
            continue;
        if (complete)
            failure = {Errc::apply, errno, "look for what was cut off at",
                       program.text(operation.path)};
        complete = false;
    }
    return complete;
}

bool no_root(const Error& error, Failure& failure)
{
    failure = {error.code(), error.os_error(), "look at the root file system", ""};
    return false;
}

} // namespace

bool adopt_mounts(const Program& program, int rootfs_fd, Failure& failure)
{
    const auto root = rootfs::Root::open(rootfs_fd);
    if (!root)
        return no_root(root.error(), failure);
    const Leftovers leftovers(*root, program, "");
    const auto operations = program.operations();
    return adopt_each(program, operations.begin(), operations.end(), failure,
                      [&](Operation& operation) {
                          return !is_mount(operation) || leftovers.adopt_mount(operation);
                      });
}

bool adopt_names(const Program& program, int rootfs_fd, const std::string& tree_path,
                 Failure& failure)
{
    const auto root = rootfs::Root::open(rootfs_fd);
    if (!root)
        return no_root(root.error(), failure);
    const Leftovers leftovers(*root, program, tree_path);
    // What was made in a directory before the directory itself.
    const auto operations = program.operations();
    return adopt_each(program, operations.rbegin(), operations.rend(), failure,
                      [&](Operation& operation) {
                          return is_mount(operation) || leftovers.adopt_name(operation);
                      });
}

void clean_loader_cache(const Program& program, int rootfs_fd, const std::string& tree_path)
{
    const std::string path = "/etc/ld.so.cache";
    const auto root = rootfs::Root::open(rootfs_fd);
    if (!root)
        return;
    const auto cache = read_cache(*root, path);
    if (!cache || is_put_back(program, path, root->look(path)))
        return;
    // ldconfig also found our names in directories of the image's own; by now
    // they are gone, under whichever path it wrote down.
    const OurPaths ours(program, tree_path);
    std::set<std::string> names;
    for (const Operation& operation : program.operations())
        if (operation.step == Step::make_link || operation.step == Step::mount)
            names.emplace(base::name_of(program.text(operation.path)));
    const auto is_left = [&](const elf::CacheEntry& entry) {
        return ours.contain(entry.value)
               || (names.contains(std::string(base::name_of(entry.value)))
                   && !root->resolve(std::string(entry.value)));
    };
    const auto entries = cache->entries();
    if (std::none_of(entries.begin(), entries.end(), is_left))
        return;
    const auto cleaned = elf::without(*cache, is_left);
    if (!cleaned)
        return;

    ProgramBuilder builder;
    Operation& operation = builder.add(Step::replace_file, path, *cleaned);
    const Entry now = root->look(path);
    operation.expected = mark_of(now);
    operation.mode = now.mode;
    const auto block = std::move(builder).build();
    Failure ignored;
    if (!attach(Program(block.get()), rootfs_fd, ignored))
        return;
    const base::UniqueFd etc(base::open_in_root(rootfs_fd, "/etc", O_PATH | O_DIRECTORY));
    if (etc)
        (void)::unlinkat(etc.get(), std::string(base::name_of(kept_path(path))).c_str(), 0);
}

} // namespace gpucontainer::apply
