// SPDX-License-Identifier: MIT
#include "apply/prepare.hpp"

#include "apply/layer.hpp"
#include "apply/program.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "mount/calls.hpp"
#include "mount/staging.hpp"
#include "privilege/capabilities.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/openat2.h>
#include <map>
#include <optional>
#include <set>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace gpucontainer::apply {
namespace {

using base::UniqueFd;
using plan::Item;
using plan::ItemKind;
using plan::Place;

constexpr std::uint64_t file_attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
// Read-only keeps mode, owner and times of the host's node; it does not keep
// anybody from using the device.
constexpr std::uint64_t device_attributes =
    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
constexpr std::uint32_t usual_mode = 0755;
constexpr std::uint32_t placeholder_mode = 0444;

/// A source on the host, without a link anywhere on the way to it.
Result<UniqueFd> open_source(const std::string& path)
{
    open_how how = {};
    how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
    if (!fd)
        return Error::from_errno(errno, path, Errc::driver).with_object(path);
    return fd;
}

Result<struct stat> status_of(const UniqueFd& fd, const std::string& path)
{
    struct stat status = {};
    if (::fstat(fd.get(), &status) != 0)
        return Error::from_errno(errno, path, Errc::driver).with_object(path);
    return status;
}

Error changed(const std::string& path)
{
    return Error(Errc::driver, path + ": no longer the file that was planned with")
        .with_object(path)
        .with_hint("the driver was changed meanwhile; plan again");
}

Result<UniqueFd> clone_source(const UniqueFd& source, const std::string& path)
{
    UniqueFd clone(mount::clone_tree(source.get(), "", false));
    if (!clone)
        return Error::from_errno(errno, "clone the mount of " + path, Errc::apply)
            .with_object(path)
            .with_hint("CAP_SYS_ADMIN is needed in the user namespace that owns the mount "
                       "namespace");
    return clone;
}

Result<UniqueFd> clone_file(const Item& item)
{
    GPUCTR_TRY(const UniqueFd source, open_source(item.source));
    GPUCTR_TRY(const auto status, status_of(source, item.source));
    if (!S_ISREG(status.st_mode) || vendor::FileId::of(status) != item.id)
        return changed(item.source);
    return clone_source(source, item.source);
}

Result<UniqueFd> clone_device(const Item& item)
{
    GPUCTR_TRY(const UniqueFd source, open_source(item.source));
    GPUCTR_TRY(const auto status, status_of(source, item.source));
    if (!S_ISCHR(status.st_mode) || status.st_rdev != ::makedev(item.major, item.minor))
        return changed(item.source);
    return clone_source(source, item.source);
}

Result<void> guard(const UniqueFd& tree, std::uint64_t attributes)
{
    if (mount::set_attributes(tree.get(), attributes, MS_UNBINDABLE, true) != 0)
        return Error::from_errno(errno, "set the flags of a mount", Errc::apply);
    return {};
}

FileMark root_mark(int fd)
{
    struct stat status = {};
    if (::fstat(fd, &status) != 0)
        return {};
    return {status.st_dev, status.st_ino, 0, 0};
}

class Preparation {
public:
    explicit Preparation(const plan::Plan& plan) : plan_(plan) {}

    Result<Block> run()
    {
        if (!plan_.tree_path.empty())
            GPUCTR_CHECK(build_tree());
        for (const Item& item : plan_.items)
            GPUCTR_CHECK(add(item), "prepare {}", item.target);
        if (names_)
            GPUCTR_CHECK(finish_overlays());
        return std::move(builder_).build();
    }

private:
    struct Overlay {
        std::string target;
        std::string name; ///< Of the directory in the layer.
        std::int32_t fd;
        std::size_t operation;
    };

    /// Path below the tree, or "" for what is not in it.
    std::string in_tree(const std::string& target) const
    {
        return target.substr(plan_.tree_path.size() + 1);
    }

    Result<void> build_tree()
    {
        GPUCTR_TRY(Layer layer, Layer::create());
        std::vector<mount::Branch> branches;
        std::set<std::string> directories;
        for (const Item& item : plan_.items) {
            if (item.place != Place::tree)
                continue;
            const std::string path = in_tree(item.target);
            const std::string directory(base::directory_of(path));
            if (!directory.empty() && directories.insert(directory).second)
                GPUCTR_CHECK(layer.directory(directory, usual_mode));
            if (item.kind == ItemKind::symlink) {
                GPUCTR_CHECK(layer.link(path, item.source));
                continue;
            }
            GPUCTR_CHECK(layer.file(path, "", placeholder_mode));
            GPUCTR_TRY(UniqueFd clone, clone_file(item), "prepare {}", item.target);
            branches.push_back({std::move(clone), path});
        }
        std::vector<const Item*> generated;
        std::vector<std::string> names;
        for (const Item& item : plan_.items) {
            if (!is_generated_cover(item))
                continue;
            names.emplace_back(base::name_of(item.target));
            generated.push_back(&item);
            GPUCTR_CHECK(layer.file(names.back(), item.content, item.mode));
        }
        GPUCTR_TRY(auto assembled,
                   mount::assemble(std::move(layer).take(), branches, names, plan_.backend));
        GPUCTR_CHECK(guard(assembled.tree, file_attributes));
        tree_ = std::move(assembled.tree);
        for (std::size_t i = 0; i < generated.size(); ++i)
            generated_[generated[i]] = std::move(assembled.parts[i]);
        return {};
    }

    /// Content of ours over a file that is there; it lies in the tree as well,
    /// as what is mounted has to be a file somewhere.
    static bool is_generated_cover(const Item& item)
    {
        return item.place == Place::there && !item.content.empty();
    }

    Result<void> add(const Item& item)
    {
        if (item.kind == ItemKind::env || item.place == Place::tree)
            return {};
        if (item.kind == ItemKind::mount && item.source == "overlay")
            return add_overlay(item);
        if (item.place == Place::created)
            add_name(item);
        if (item.place == Place::overlay)
            GPUCTR_CHECK(add_overlay_name(item));
        return add_mount(item);
    }

    void add_name(const Item& item)
    {
        switch (item.kind) {
        case ItemKind::directory:
            builder_.add(Step::make_directory, item.target).mode = item.mode;
            break;
        case ItemKind::symlink:
            builder_.add(Step::make_link, item.target, item.source);
            break;
        case ItemKind::ldcache: {
            Operation& operation = builder_.add(Step::replace_file, item.target, item.content);
            operation.mode = item.mode;
            operation.expected = {plan_.old_cache.device, plan_.old_cache.inode,
                                  plan_.old_cache.size, plan_.old_cache.mtime_ns};
            break;
        }
        default:
            builder_.add(Step::make_file, item.target, item.content).mode = item.mode;
        }
    }

    Result<UniqueFd> cover_of(const Item& item)
    {
        if (is_generated_cover(item))
            return std::move(generated_.at(&item));
        return clone_file(item);
    }

    Result<void> add_mount(const Item& item)
    {
        UniqueFd mount;
        std::uint64_t attributes = file_attributes;
        std::uint32_t flags = 0;
        switch (item.kind) {
        case ItemKind::mount:
            mount = std::move(tree_);
            break;
        case ItemKind::cover:
        case ItemKind::ldcache: {
            if (item.place != Place::there)
                return {};
            GPUCTR_TRY(mount, cover_of(item));
            flags = follow_target;
            break;
        }
        case ItemKind::device: {
            GPUCTR_TRY(mount, clone_device(item));
            attributes = device_attributes;
            break;
        }
        default:
            return {};
        }
        GPUCTR_CHECK(guard(mount, attributes));
        const FileMark mark = root_mark(mount.get());
        const std::int32_t fd = builder_.keep(std::move(mount));
        Operation& operation = builder_.add(Step::mount, item.target);
        operation.fd = fd;
        operation.flags = flags;
        operation.attributes = attributes;
        operation.made = mark;
        return {};
    }

    Result<void> add_overlay(const Item& item)
    {
        // Only a lookup that failed for a moment leads here: what lies over the
        // root directory would not be reached through its descriptor.
        if (item.target == "/")
            return Error(Errc::rootfs, "the root file system changed while it was looked at")
                .with_hint("try again");
        if (!names_) {
            GPUCTR_TRY(names_, Layer::create());
        }
        const std::string name = std::to_string(overlays_.size());
        GPUCTR_CHECK(names_->directory(name, item.mode));
        const std::int32_t fd = builder_.keep(UniqueFd());
        Operation& operation = builder_.add(Step::overlay, item.target);
        operation.fd = fd;
        operation.flags = follow_target;
        overlays_.push_back({item.target, name, fd, builder_.operation_count() - 1});
        return {};
    }

    /// Gives each overlay the mount of its names once all of them are there.
    Result<void> finish_overlays()
    {
        std::vector<std::string> names;
        for (const Overlay& overlay : overlays_)
            names.push_back(overlay.name);
        GPUCTR_TRY(auto assembled,
                   mount::assemble(std::move(*names_).take(), {}, names, plan_.backend));
        for (std::size_t i = 0; i < overlays_.size(); ++i) {
            GPUCTR_CHECK(guard(assembled.parts[i], 0));
            builder_.operation(overlays_[i].operation).made = root_mark(assembled.parts[i].get());
            builder_.set(overlays_[i].fd, std::move(assembled.parts[i]));
        }
        return {};
    }

    /// The innermost overlay over a directory above the item's target.
    Result<std::string> in_overlay(const Item& item) const
    {
        const Overlay* best = nullptr;
        for (const Overlay& overlay : overlays_)
            if (base::is_below(item.target, overlay.target)
                && (best == nullptr || overlay.target.size() > best->target.size()))
                best = &overlay;
        if (best == nullptr)
            return Error(Errc::internal, "no overlay for " + item.target);
        const std::size_t skipped = best->target == "/" ? 0 : best->target.size();
        return best->name + item.target.substr(skipped);
    }

    Result<void> add_overlay_name(const Item& item)
    {
        GPUCTR_TRY(const std::string path, in_overlay(item));
        switch (item.kind) {
        case ItemKind::directory:
            return names_->directory(path, item.mode);
        case ItemKind::symlink:
            return names_->link(path, item.source);
        default:
            return names_->file(path, item.content, item.mode);
        }
    }

    const plan::Plan& plan_;
    ProgramBuilder builder_;
    UniqueFd tree_;
    std::map<const Item*, UniqueFd> generated_;
    std::optional<Layer> names_;
    std::vector<Overlay> overlays_;
};

} // namespace

Result<Block> prepare(const plan::Plan& plan)
{
    if (!plan.has_root)
        return Error(Errc::usage, "the plan was made for no root file system");
    if (plan.version_source == vendor::VersionSource::files)
        return Error(Errc::no_device,
                     fmt::format("the {} kernel module is not loaded", plan.vendor))
            .with_object(plan.vendor)
            .with_hint("load it (modprobe nvidia), or give the driver version to set up its "
                       "files all the same");
    GPUCTR_CHECK(privilege::require_mounting());
    return Preparation(plan).run();
}

} // namespace gpucontainer::apply
