// SPDX-License-Identifier: MIT
#include "apply/in_place.hpp"

#include "base/in_root.hpp"
#include "base/unique_fd.hpp"
#include "elf/ld_cache.hpp"
#include "mount/facts.hpp"
#include "syscall/mount_flags.hpp"

#include <algorithm>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <variant>

namespace gpucontainer::apply {

using base::UniqueFd;
using plan::Item;
using rootfs::EntryType;

bool is_mounted_node(const std::string& target, std::uint32_t major, std::uint32_t minor,
                     int rootfs_fd)
{
    constexpr std::uint64_t flags_of_ours = ST_RDONLY | ST_NOSUID | ST_NOEXEC;
    const UniqueFd there(base::open_in_root(rootfs_fd, target.c_str(), O_PATH | O_NOFOLLOW));
    struct stat status = {};
    std::uint64_t flags = 0;
    return there && ::fstat(there.get(), &status) == 0 && S_ISCHR(status.st_mode)
           && status.st_rdev == ::makedev(major, minor) && mount::is_mount_root(there.get())
           && syscall::read_mount_flags(there.get(), flags)
           && (flags & flags_of_ours) == flags_of_ours;
}

namespace {

/// One item after the other, by what is at its target.
class Comparison {
public:
    explicit Comparison(const rootfs::Root& root) : root_(root) {}

    bool is_there(const Item& item) const
    {
        return std::visit([&](const auto& what) { return is_at(item.target, what); }, item.what);
    }

private:
    bool is_mount(const std::string& path) const
    {
        const UniqueFd fd(base::open_in_root(root_.fd(), path.c_str(), O_PATH));
        return fd && mount::is_mount_root(fd.get());
    }
    bool is_file(const std::string& path, std::uint64_t device, std::uint64_t inode) const
    {
        const rootfs::Entry there = root_.resolve(path);
        return there && there.device == device && there.inode == inode && is_mount(path);
    }
    bool is_files(const std::string& path, const std::string& source) const
    {
        struct stat status = {};
        return ::stat(source.c_str(), &status) == 0 && is_file(path, status.st_dev, status.st_ino);
    }
    bool has(const std::string& path, const std::string& content) const
    {
        const auto text = root_.read(path, content.size());
        return text && *text == content;
    }

    bool is_at(const std::string& path, const plan::Directory& /*what*/) const
    {
        return root_.resolve(path).type == EntryType::directory;
    }
    bool is_at(const std::string& path, const plan::Tree& /*what*/) const { return is_mount(path); }
    /// Only its names count.
    bool is_at(const std::string& path, const plan::Overlay& /*what*/) const
    {
        return root_.resolve(path).type == EntryType::directory;
    }
    bool is_at(const std::string& path, const plan::Bind& what) const
    {
        return is_file(path, what.id.device, what.id.inode);
    }
    bool is_at(const std::string& path, const plan::KernelEntry& what) const
    {
        return is_files(path, what.source);
    }
    bool is_at(const std::string& path, const plan::Symlink& what) const
    {
        return root_.look(path).type == EntryType::link && root_.link_target(path) == what.to;
    }
    bool is_at(const std::string& path, const plan::GeneratedFile& what) const
    {
        return has(path, what.content);
    }
    bool is_at(const std::string& path, const plan::Cover& what) const
    {
        return is_file(path, what.id.device, what.id.inode);
    }
    bool is_at(const std::string& path, const plan::GeneratedCover& what) const
    {
        return is_mount(path) && (what.is_directory || has(path, what.content));
    }
    bool is_at(const std::string& path, const plan::Shared& what) const
    {
        return is_files(path, what.source);
    }
    bool is_at(const std::string& path, const plan::Device& what) const
    {
        return is_mounted_node(path, what.major, what.minor, root_.fd());
    }
    /// Names that are no longer used stay in a cache, so texts differ where programs find the same.
    bool is_at(const std::string& path, const plan::LoaderCache& what) const
    {
        constexpr std::size_t largest_cache = 64U << 20U;
        const auto text = root_.read(path, largest_cache);
        return text && elf::are_alike(*text, what.content);
    }
    static bool is_at(const std::string& /*path*/, const plan::Variable& /*what*/) { return true; }

    const rootfs::Root& root_;
};

/// A GPU more than the plan has is another set-up.
bool has_other_nodes(const plan::Plan& plan, const model::DriverStack& driver, int rootfs_fd)
{
    return std::ranges::any_of(driver.nodes, [&](const model::DeviceNode& node) {
        const bool is_planned = std::ranges::any_of(plan.items, [&](const Item& item) {
            return item.as<plan::Device>() != nullptr && item.target == node.path;
        });
        return !is_planned && is_mounted_node(node.path, node.major, node.minor, rootfs_fd);
    });
}

} // namespace

bool is_in_place(const plan::Plan& plan, std::span<const model::DriverStack> drivers,
                 const rootfs::Root& root)
{
    const Comparison comparison(root);
    return std::ranges::all_of(plan.items,
                               [&](const Item& item) { return comparison.is_there(item); })
           && std::ranges::none_of(drivers, [&](const model::DriverStack& driver) {
                  return has_other_nodes(plan, driver, root.fd());
              });
}

} // namespace gpucontainer::apply
