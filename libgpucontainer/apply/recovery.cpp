// SPDX-License-Identifier: MIT
#include "apply/recovery.hpp"

#include "apply/attach.hpp"
#include "base/in_root.hpp"
#include "base/text.hpp"
#include "elf/ld_cache_writer.hpp"
#include "mount/calls.hpp"
#include "rootfs/root.hpp"

#include <algorithm>
#include <fcntl.h>
#include <optional>
#include <set>
#include <unistd.h>

namespace gpucontainer::apply {
namespace {

using rootfs::Entry;
using rootfs::EntryType;

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

class Leftovers {
public:
    Leftovers(const rootfs::Root& root, const Program& program, std::string tree_path)
        : root_(root), program_(program), tree_path_(std::move(tree_path))
    {
    }

    void adopt_mount(Operation& operation) const
    {
        const std::string path = program_.text(operation.path);
        const std::uint64_t follow = (operation.flags & follow_target) != 0 ? 0 : O_NOFOLLOW;
        while (true) {
            const base::UniqueFd target(
                base::open_in_root(root_.fd(), path.c_str(), O_PATH | follow));
            if (!target || !mount::is_mount_root(target.get()))
                return;
            // The root of a mount of ours is a file that the journal names; an
            // overlay is known by lying where one was planned.
            const Entry entry = follow != 0 ? root_.look(path) : root_.resolve(path);
            const bool named =
                entry.device == operation.made.device && entry.inode == operation.made.inode;
            const bool overlay = operation.step == Step::overlay && mount::is_overlay(target.get());
            if (!named && !overlay)
                return;
            operation.mount_id = mount::mount_id(target.get());
            operation.done = 1;
            // The names of an overlay that was not made yet, or lie below it still.
            if (operation.step != Step::overlay || overlay || mount::detach(target.get()) != 0)
                return;
            operation.done = 0;
        }
    }

    void adopt_name(Operation& operation) const
    {
        const std::string path = program_.text(operation.path);
        const std::string_view data(program_.text(operation.data), operation.data_size);
        const Entry entry = root_.look(path);
        switch (operation.step) {
        case Step::make_directory:
            claim(operation, entry, root_.is_empty_directory(path));
            break;
        case Step::make_link:
            claim(operation, entry,
                  entry.type == EntryType::link && root_.link_target(path) == data);
            break;
        case Step::make_file:
            claim(operation, entry, entry.type == EntryType::regular && begins(path, data));
            break;
        case Step::replace_file:
            adopt_replaced(operation, path);
            break;
        case Step::mount:
        case Step::overlay:
            break;
        }
    }

private:
    static void claim(Operation& operation, const Entry& entry, bool ours)
    {
        if (!ours)
            return;
        operation.made = mark_of(entry);
        operation.done = 1;
    }

    /// The file holds what it was to hold, or as much as was written of it.
    bool begins(const std::string& path, std::string_view content) const
    {
        const auto found = root_.read(path, content.size());
        return found && content.starts_with(*found);
    }

    void adopt_replaced(Operation& operation, const std::string& path) const
    {
        const Entry now = root_.look(path);
        const auto cache = read_cache(root_, path);
        // A loss of power may leave the successor without its content.
        const Entry kept = root_.look(kept_path(path));
        const bool lost = now && now.size == 0 && kept.inode == operation.expected.inode;
        operation.done = 1;
        // Cut off before the exchange, what lies beside it is all of ours.
        operation.made = (cache && OurPaths(program_, tree_path_).are_in(*cache)) || lost
                             ? mark_of(now)
                             : FileMark();
    }

    const rootfs::Root& root_;
    const Program& program_;
    std::string tree_path_;
};

} // namespace

void adopt_mounts(const Program& program, int rootfs_fd)
{
    const auto root = rootfs::Root::open(rootfs_fd);
    if (!root)
        return;
    const Leftovers leftovers(*root, program, "");
    for (Operation& operation : program.operations())
        if (is_mount(operation) && operation.done == 0)
            leftovers.adopt_mount(operation);
}

void adopt_names(const Program& program, int rootfs_fd, const std::string& tree_path)
{
    const auto root = rootfs::Root::open(rootfs_fd);
    if (!root)
        return;
    const Leftovers leftovers(*root, program, tree_path);
    for (Operation& operation : program.operations())
        if (!is_mount(operation) && operation.done == 0)
            leftovers.adopt_name(operation);
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
