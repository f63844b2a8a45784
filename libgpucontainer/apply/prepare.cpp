// SPDX-License-Identifier: MIT
#include "apply/prepare.hpp"

#include "apply/layer.hpp"
#include "apply/sources.hpp"
#include "apply/tree.hpp"
#include "base/own_proc.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "mount/assemble.hpp"
#include "mount/lock.hpp"
#include "privilege/capabilities.hpp"
#include "privilege/label.hpp"
#include "program/builder.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sys/stat.h>
#include <variant>

namespace gpucontainer::apply {

using program::Block;
using program::Operation;
using program::Step;
namespace {

using base::UniqueFd;
using plan::Item;
using plan::Place;

/// The plan is inconsistent, because the host changed while it was made.
Error changed_meanwhile()
{
    return Error(Errc::rootfs, "the root file system changed while it was looked at")
        .with_hint("try again");
}

program::FileMark root_mark(int fd)
{
    struct stat status = {};
    if (::fstat(fd, &status) != 0)
        return {};
    return {status.st_dev, status.st_ino, 0, 0};
}

class Preparation {
public:
    Preparation(const plan::Plan& plan, const mount::Bench& bench, const std::string& staged_tree)
        : plan_(plan), bench_(bench), staged_tree_(staged_tree)
    {
    }

    Result<Block> run()
    {
        if (!plan_.tree_path.empty()) {
            GPUCTR_TRY(tree_, make_tree(bench_, plan_, staged_tree_));
        }
        for (const Item& item : plan_.items)
            GPUCTR_CHECK(add(item), "prepare {}", item.target);
        if (layer_)
            GPUCTR_CHECK(take_parts());
        if (plan_.lock)
            GPUCTR_CHECK(lock_mounts());
        Block block = std::move(builder_).build(bench_);
        if (!block)
            return Error::from_errno(errno, "keep the place that mounts are made at", Errc::apply);
        return block;
    }

private:
    /// A name in the layer that an operation mounts.
    struct Part {
        std::string name;
        std::size_t operation;
        std::uint64_t attributes;
    };
    struct Overlay {
        std::string target;
        std::string name; ///< Of a directory in the layer.
    };

    Result<void> add(const Item& item)
    {
        if (item.place == Place::tree || item.place == Place::cover)
            return {};
        if (item.place == Place::overlay)
            GPUCTR_CHECK(add_overlay_name(item));
        return std::visit([&](const auto& what) { return add(item, what); }, item.what);
    }

    Result<void> add(const Item& item, const plan::Directory&)
    {
        if (item.place == Place::created)
            builder_.add(Step::make_directory, item.target);
        return {};
    }
    Result<void> add(const Item& item, const plan::Symlink& link)
    {
        if (item.place == Place::created)
            builder_.add(Step::make_link, item.target, link.to);
        return {};
    }
    Result<void> add(const Item& item, const plan::GeneratedFile& file)
    {
        if (item.place == Place::created)
            builder_.add(Step::make_file, item.target, file.content);
        return {};
    }
    Result<void> add(const Item& item, const plan::LoaderCache& cache)
    {
        if (item.place == Place::there)
            return cover(item, cache.content);
        if (item.place == Place::created) {
            const rootfs::Entry& old = plan_.old_cache;
            builder_.add(Step::replace_file, item.target, cache.content).expected = {
                old.device, old.inode, old.size, old.mtime_ns};
        }
        return {};
    }
    Result<void> add(const Item& item, const plan::Tree&)
    {
        return mount(item, std::move(tree_), file_attributes, program::holds_mounts);
    }
    Result<void> add(const Item& item, const plan::Overlay& overlay)
    {
        // This happens only if a lookup failed temporarily: a mount over the root directory is not
        // reached through its descriptor.
        if (item.target == "/")
            return changed_meanwhile();
        GPUCTR_TRY(std::string name, new_part());
        GPUCTR_CHECK(layer_->directory(name, overlay.mode));
        overlays_.push_back({item.target, name});
        mount_part(Step::overlay, item, std::move(name), 0);
        return {};
    }
    Result<void> add(const Item& item, const plan::Bind& bind)
    {
        add_placeholder(item);
        GPUCTR_TRY(UniqueFd file, clone_file(bench_, bind.source, bind.id, bind.is_directory));
        return mount(item, std::move(file), file_attributes,
                     program::host_file | (bind.is_directory ? program::holds_mounts : 0));
    }
    /// It is a part of what covers a directory.
    static Result<void> add(const Item& /*item*/, const plan::KernelEntry& /*entry*/) { return {}; }
    Result<void> add(const Item& item, const plan::Cover& cover)
    {
        GPUCTR_TRY(UniqueFd file, clone_file(bench_, cover.source, cover.id, false));
        return mount(item, std::move(file), file_attributes, program::follow_target);
    }
    Result<void> add(const Item& item, const plan::GeneratedCover& generated)
    {
        if (!generated.is_directory)
            return cover(item, generated.content);
        const bool has_parts = std::ranges::any_of(plan_.items, [&](const Item& part) {
            return part.place == Place::cover && base::is_below(part.target, item.target);
        });
        if (!has_parts)
            return cover_with_nothing(item);
        GPUCTR_TRY(UniqueFd parts, make_cover(bench_, plan_, item.target));
        return mount(item, std::move(parts), file_attributes,
                     program::follow_target | program::holds_mounts);
    }
    Result<void> add(const Item& item, const plan::Shared& shared)
    {
        add_placeholder(item);
        GPUCTR_TRY(UniqueFd clone, clone_shared(bench_, shared));
        const std::uint64_t without = (shared.writable ? MOUNT_ATTR_RDONLY : 0U)
                                      | (shared.executable ? MOUNT_ATTR_NOEXEC : 0U);
        return mount(item, std::move(clone), shared_attributes & ~without,
                     program::host_file | (item.is_directory() ? program::holds_mounts : 0));
    }
    Result<void> add(const Item& item, const plan::Device& node)
    {
        add_placeholder(item);
        if (node.source.empty()) {
            GPUCTR_TRY(std::string name, new_part());
            GPUCTR_CHECK(layer_->node(name, node));
            mount_part(Step::mount, item, std::move(name), device_attributes, program::device_node);
            return {};
        }
        GPUCTR_TRY(UniqueFd device, clone_device(bench_, node));
        return mount(item, std::move(device), device_attributes, program::device_node);
    }
    /// Variables are for whoever starts a program.
    static Result<void> add(const Item& /*item*/, const plan::Variable& /*variable*/) { return {}; }

    /// A file or directory to mount over.
    void add_placeholder(const Item& item)
    {
        if (item.place == Place::created)
            builder_.add(item.is_directory() ? Step::make_directory : Step::make_file, item.target);
    }

    Result<void> mount(const Item& item, UniqueFd mount, std::uint64_t attributes,
                       std::uint32_t flags = 0)
    {
        GPUCTR_CHECK(guard(bench_, mount, attributes));
        const program::FileMark mark = root_mark(mount.get());
        const std::int32_t fd = builder_.keep(std::move(mount));
        Operation& operation = builder_.add(Step::mount, item.target);
        operation.fd = fd;
        operation.flags = flags;
        operation.attributes = attributes;
        operation.made = mark;
        return {};
    }

    /// An operation that mounts a name of the layer. The name is cloned from the layer once all
    /// names exist.
    void mount_part(Step step, const Item& item, std::string name, std::uint64_t attributes,
                    std::uint32_t flags = program::follow_target)
    {
        const std::int32_t fd = builder_.keep(UniqueFd());
        const bool overlay = step == Step::overlay;
        Operation& operation =
            builder_.add(step, item.target, overlay ? plan_.mount_label : std::string());
        operation.fd = fd;
        operation.flags = flags | (overlay ? program::holds_mounts : 0)
                          | (overlay && plan_.lock ? program::lock_flags : 0);
        operation.attributes = attributes;
        parts_.push_back({std::move(name), builder_.operation_count() - 1, attributes});
    }

    Result<std::string> new_part()
    {
        if (!layer_) {
            GPUCTR_TRY(layer_, Layer::create(bench_, plan_.mount_label));
        }
        return std::to_string(parts_.size());
    }

    /// Mounts a name of the layer over the item's target.
    Result<void> cover(const Item& item, const std::string& content)
    {
        GPUCTR_TRY(std::string name, new_part());
        GPUCTR_CHECK(layer_->file(name, content));
        mount_part(Step::mount, item, std::move(name), file_attributes);
        return {};
    }

    Result<void> cover_with_nothing(const Item& item)
    {
        GPUCTR_TRY(std::string name, new_part());
        GPUCTR_CHECK(layer_->directory(name, program::empty_directory_mode));
        mount_part(Step::mount, item, std::move(name), file_attributes);
        return {};
    }

    Result<void> take_parts()
    {
        std::vector<std::string> names;
        for (const Part& part : parts_)
            names.push_back(part.name);
        GPUCTR_TRY(auto assembled, mount::assemble(bench_, std::move(*layer_).take(), {}, names));
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            GPUCTR_CHECK(guard(bench_, assembled.parts[i], parts_[i].attributes));
            Operation& operation = builder_.operation(parts_[i].operation);
            operation.made = root_mark(assembled.parts[i].get());
            builder_.set(operation.fd, std::move(assembled.parts[i]));
        }
        return {};
    }

    /// Overlays are made, and locked, when they are attached.
    Result<void> lock_mounts()
    {
        std::vector<Operation*> operations;
        std::vector<int> mounts;
        for (std::size_t i = 0; i < builder_.operation_count(); ++i)
            if (Operation& operation = builder_.operation(i); operation.step == Step::mount) {
                operations.push_back(&operation);
                mounts.push_back(builder_.take(operation.fd).release());
            }
        const char* const failed = mount::lock(mounts);
        const int os_error = errno;
        std::vector<UniqueFd> locked;
        locked.reserve(mounts.size());
        for (const int mount : mounts)
            locked.emplace_back(mount);
        if (failed != nullptr)
            return Error::from_errno(os_error, failed, Errc::apply)
                .with_hint("locked mounts need a user namespace of their own: see the sysctl "
                           "user.max_user_namespaces, or do without --lock");
        for (std::size_t i = 0; i < locked.size(); ++i) {
            GPUCTR_CHECK(guard(bench_, locked[i], operations[i]->attributes));
            builder_.set(operations[i]->fd, std::move(locked[i]));
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
            return changed_meanwhile();
        const std::size_t skipped = best->target == "/" ? 0 : best->target.size();
        return best->name + item.target.substr(skipped);
    }

    Result<void> add_overlay_name(const Item& item)
    {
        GPUCTR_TRY(const std::string path, in_overlay(item));
        if (const auto* directory = item.as<plan::Directory>())
            return layer_->directory(path, directory->mode);
        if (const auto* link = item.as<plan::Symlink>())
            return layer_->link(path, link->to);
        if (const auto* file = item.as<plan::GeneratedFile>())
            return layer_->file(path, file->content);
        if (const auto* cache = item.as<plan::LoaderCache>())
            return layer_->file(path, cache->content);
        return item.is_directory() ? layer_->directory(path) : layer_->file(path, "");
    }

    const plan::Plan& plan_;
    const mount::Bench& bench_;
    const std::string& staged_tree_;
    program::ProgramBuilder builder_;
    UniqueFd tree_;
    std::optional<Layer> layer_; ///< Our own files and names outside the tree.
    std::vector<Part> parts_;
    std::vector<Overlay> overlays_;
};

} // namespace

Result<void> require_preparable(const plan::Plan& plan, mount::Backend backend)
{
    if (!plan.has_root)
        return Error(Errc::usage, "the plan was made for no root directory");
    GPUCTR_CHECK(require_driver(plan));
    GPUCTR_CHECK(privilege::require_mounting());
    GPUCTR_CHECK(base::open_own_descriptors());
    GPUCTR_CHECK(privilege::require_label(plan.mount_label));
    return require_lockable(plan, backend);
}

Result<Block> prepare(const plan::Plan& plan, const mount::Bench& bench,
                      const std::string& staged_tree)
{
    GPUCTR_CHECK(require_preparable(plan, bench.backend));
    return Preparation(plan, bench, staged_tree).run();
}

} // namespace gpucontainer::apply
