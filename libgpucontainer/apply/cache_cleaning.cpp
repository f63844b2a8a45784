// SPDX-License-Identifier: MIT
#include "apply/cache_cleaning.hpp"

#include "apply/failure.hpp"
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/kernel_file_system.hpp"
#include "base/own_proc.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "elf/ld_cache_writer.hpp"
#include "program/builder.hpp"
#include "program/name_steps.hpp"
#include "program/parent.hpp"
#include "rootfs/root.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace gpucontainer::apply {

using program::Operation;
using program::Program;
using program::Step;
namespace {

using privilege::Owner;

/// The loader cache at the path where the set-up replaced one.
struct ReplacedCache {
    base::UniqueFd file; ///< Opened with O_PATH; none if there is nothing to clean.
    Owner owner;
    program::FileMark mark = {};
};

const Operation* replacement(const Program& program)
{
    const auto operations = program.operations();
    const auto found = std::ranges::find(operations, Step::replace_file, &Operation::step);
    return found == operations.end() ? nullptr : &*found;
}

ReplacedCache find_cache(const Program& program, const Operation& replaced, int rootfs_fd,
                         int table)
{
    ReplacedCache found;
    const program::Parent parent = program::Parent::known(program, replaced, rootfs_fd, table);
    base::UniqueFd file(
        parent ? ::openat(parent.fd(), parent.name(), O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1);
    struct stat status = {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)
        || !look_at(file.get(), found.mark))
        return found;
    found.owner = {status.st_uid, status.st_gid};
    // The cache from before the set-up is not touched.
    if (!base::is_on_kernel_file_system(file.get()) && !same_file(found.mark, replaced.expected))
        found.file = std::move(file);
    return found;
}

Result<elf::LdCache> read_cache(const base::UniqueFd& file)
{
    GPUCTR_TRY(const auto descriptors, base::open_own_descriptors());
    const std::string same = std::to_string(file.get());
    const base::UniqueFd opened(
        ::openat(descriptors.get(), same.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!opened)
        return Error::from_errno(errno, "read");
    GPUCTR_TRY(const std::string bytes, base::read_all(opened.get(), elf::max_cache_size));
    return elf::LdCache::parse(bytes);
}

/// The cache without entries of the set-up; nothing if it has none.
Result<std::string> cleaned(const elf::LdCache& cache, const Program& program,
                            const rootfs::Root& root, const std::string& tree_path)
{
    // ldconfig also found our names in the image's own directories, under any path to them. These
    // names are gone now.
    const OurPaths ours(program, tree_path);
    std::set<std::string> names;
    for (const Operation& operation : program.operations())
        if (operation.step == Step::make_link || operation.step == Step::mount)
            names.emplace(base::name_of(program.text(operation.path)));
    const auto is_left = [&](const elf::CacheEntry& entry) {
        return ours.contain(entry.value)
               || (names.contains(std::string(base::name_of(entry.value)))
                   && !root.resolve(std::string(entry.value)));
    };
    if (std::ranges::none_of(cache.entries(), is_left))
        return std::string();
    return elf::without(cache, is_left);
}

/// A program of one step, in the directory of the set-up's own step.
program::Block replacing_by(const std::string& content, const Program& program,
                            const Operation& replaced, const ReplacedCache& found)
{
    program::ProgramBuilder builder;
    Operation& operation = builder.add(Step::replace_file, program.text(replaced.path), content);
    operation.parent_device = replaced.parent_device;
    operation.parent_inode = replaced.parent_inode;
    operation.parent_mount = replaced.parent_mount;
    operation.expected = found.mark;
    return std::move(builder).build();
}

Error left_behind(const std::string& path, Error cause)
{
    return std::move(cause)
        .with_code(Errc::apply)
        .context("entries of the set-up are left in " + path)
        .with_object(path)
        .with_hint("all else is undone; run ldconfig in the container");
}

} // namespace

OurPaths::OurPaths(const Program& program, const std::string& tree_path) : tree_path_(tree_path)
{
    for (const Operation& operation : program.operations())
        if (operation.step == Step::mount && (operation.flags & program::follow_target) == 0)
            mounted_.emplace(program.text(operation.path));
}

bool OurPaths::contain(std::string_view path) const
{
    return (!tree_path_.empty() && base::is_below(path, tree_path_))
           || mounted_.contains(std::string(path));
}

bool OurPaths::are_in(const elf::LdCache& cache) const
{
    return std::ranges::any_of(cache.entries(),
                               [&](const elf::CacheEntry& entry) { return contain(entry.value); });
}

Result<void> clean_loader_cache(const Program& program, int rootfs_fd, const std::string& tree_path,
                                const std::optional<Owner>& owner, int table)
{
    const Operation* const replaced = replacement(program);
    const auto root = rootfs::Root::open(rootfs_fd);
    if (replaced == nullptr || !root)
        return {};
    const std::string path = program.text(replaced->path);
    const ReplacedCache found = find_cache(program, *replaced, rootfs_fd, table);
    if (!found.file)
        return {};
    std::string content;
    {
        const privilege::FileOwner as_owner(owner);
        // In a file that cannot be read or is not a loader cache, the loader finds no entries.
        const auto cache = as_owner ? read_cache(found.file) : Error::from_errno(errno, "read");
        if (!cache)
            return {};
        GPUCTR_TRY(content, cleaned(*cache, program, *root, tree_path));
    }
    if (content.empty())
        return {};
    // The container's root must not replace a file of somebody else. The caller neither: it works
    // as the file's owner.
    if (owner && owner->uid != found.owner.uid)
        return left_behind(
            path, Error(Errc::apply, base::format("it belongs to user {}", found.owner.uid)));
    const auto keeper = found.owner == privilege::file_owner() ? owner : found.owner;
    const privilege::FileOwner as_owner(owner ? owner : keeper);
    if (!as_owner)
        return left_behind(
            path, Error::from_errno(errno, base::format("work as user {}", found.owner.uid)));
    const program::Block block = replacing_by(content, program, *replaced, found);
    const Program replacing(block.get());
    Operation& operation = replacing.operations().front();
    program::Failure failure;
    if (!make_name(replacing, operation, rootfs_fd, failure))
        return left_behind(path, to_error(failure));
    (void)forget_replaced(replacing, operation, rootfs_fd);
    return {};
}

} // namespace gpucontainer::apply
