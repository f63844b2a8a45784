// SPDX-License-Identifier: MIT
#include "plan/builder.hpp"

#include "base/text.hpp"
#include "base/try.hpp"
#include "elf/ld_cache_writer.hpp"
#include "plan/names.hpp"
#include "plan/policy.hpp"
#include "plan/selection.hpp"
#include "plan/typical_root.hpp"
#include "rootfs/layout.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace gpucontainer::plan {
namespace {

using rootfs::EntryType;
using vendor::Capability;
using vendor::DriverFile;
using vendor::FileKind;

constexpr std::string_view usual_tree = "/usr/lib/gpuctr";
constexpr std::string_view cache_path = "/etc/ld.so.cache";

Item make_item(ItemKind kind, std::string source, std::string target, std::string reason)
{
    Item item;
    item.kind = kind;
    item.source = std::move(source);
    item.target = std::move(target);
    item.reason = std::move(reason);
    return item;
}

class Builder {
public:
    Builder(const vendor::DriverStack& driver, const Request& request, const Target* target,
            mount::Backend backend)
        : driver_(driver), request_(request), target_(target),
          view_(target != nullptr ? target->view : typical_root()), way_(way(request, target)),
          names_(view_, way_)
    {
        plan_.vendor = driver.vendor;
        plan_.driver_version = driver.version;
        plan_.version_source = driver.version_source;
        plan_.needs = driver.needs;
        plan_.backend = backend;
        plan_.staged_tree = request.staged_tree;
        plan_.has_root = target != nullptr;
        plan_.writes_root = way_ == Names::Way::write;
    }

    Result<Plan> build()
    {
        GPUCTR_CHECK(choose_gpus());
        GPUCTR_TRY(capabilities_, parse_capabilities(request_.capabilities));
        choose_files();
        GPUCTR_TRY(layout_, rootfs::find_layout(view_));
        if (!files_.empty())
            plan_.tree_path = usual_tree;
        GPUCTR_CHECK(read_loader_cache());
        GPUCTR_CHECK(names_.expect(missing_names()));
        if (!files_.empty()) {
            GPUCTR_CHECK(place_tree());
            fill_tree();
            add_entry_names();
            cover_stale_copies();
            GPUCTR_CHECK(add_loader_cache());
        }
        GPUCTR_CHECK(add_nodes());
        add_warnings();
        add_masks();
        add_variables();
        return std::move(plan_);
    }

private:
    static Names::Way way(const Request& request, const Target* target)
    {
        if (request.write == Write::always || (target == nullptr && request.write != Write::never))
            return Names::Way::write;
        if (request.write == Write::never)
            return Names::Way::overlay;
        const rootfs::RootFacts& facts = target->facts;
        return facts.writable && facts.own && !facts.read_only && !facts.network
                   ? Names::Way::write
                   : Names::Way::overlay;
    }

    void identify(std::string_view text)
    {
        plan_.identity += text;
        plan_.identity += '\n';
    }

    void identify(const vendor::FileId& id)
    {
        identify(fmt::format("{}:{}:{}:{}", id.device, id.inode, id.size, id.mtime_ns));
    }

    Result<void> choose_gpus()
    {
        std::optional<std::string_view> scheduler;
        const auto variable = request_.environment.find(driver_.visible_devices);
        if (variable != request_.environment.end())
            scheduler = variable->second;
        GPUCTR_TRY(selection_, select_gpus(driver_, request_.devices, scheduler));
        GPUCTR_TRY(selection_, restrict_to(request_.allowed_devices, driver_, selection_));
        for (const unsigned gpu : selection_.gpus)
            plan_.gpus.push_back(driver_.gpus[gpu]);
        if (selection_.visible)
            plan_.variables.push_back({"set", driver_.visible_devices, *selection_.visible});
        else if (scheduler)
            plan_.variables.push_back({"unset", driver_.visible_devices, ""});
        return {};
    }

    void choose_files()
    {
        for (const DriverFile& file : driver_.files) {
            if (capabilities_.contains(file.capability) || capabilities_.contains(file.also))
                files_.push_back(&file);
            else
                skip(file.name, file.path,
                     file.capability == Capability::none
                         ? fmt::format("of no use in a container: {}", file.reason)
                         : fmt::format("belongs to {}, which was not asked for",
                                       vendor::name(file.capability)));
        }
    }

    /// Not there, or there as the work of another set-up, which may take it away:
    /// an overlay then has a name of its own.
    bool is_missing(const std::string& target) const
    {
        const rootfs::Entry entry = view_.look(target);
        if (!entry)
            return true;
        if (way_ == Names::Way::write)
            return false;
        const bool tree = target == plan_.tree_path && entry.type == EntryType::directory;
        const bool link = base::is_below(view_.link_target(target), plan_.tree_path);
        const bool placeholder = base::is_below(target, "/dev") && entry.type == EntryType::regular
                                 && entry.size == 0 && !view_.resolve("/dev").own_tmpfs;
        return tree || link || placeholder || (target == cache_path && cache_is_ours_);
    }

    std::vector<std::string> missing_names() const
    {
        std::vector<std::string> names;
        if (!files_.empty())
            names = {plan_.tree_path, std::string(cache_path), "/usr/local/nvidia"};
        for (const DriverFile* file : files_)
            for (const std::string& name : file->entry_names)
                names.push_back(entry_path(*file, name));
        for (const vendor::DeviceNode& node : driver_.nodes)
            if (is_wanted(node) && node.accessible)
                names.push_back(node.path);
        std::erase_if(names, [&](const std::string& name) { return !is_missing(name); });
        return names;
    }

    std::string entry_path(const DriverFile& file, const std::string& name) const
    {
        return (file.kind == FileKind::tool ? "/usr/bin" : layout_.library_directory) + "/" + name;
    }

    Result<void> place_tree()
    {
        const rootfs::Entry entry = view_.look(plan_.tree_path);
        if (entry && entry.type != EntryType::directory)
            return Error(Errc::rootfs, plan_.tree_path + " is in the way: not a directory")
                .with_object(plan_.tree_path);
        if (is_missing(plan_.tree_path)) {
            Item directory =
                make_item(ItemKind::directory, "", plan_.tree_path, "where the tree is mounted");
            constexpr std::uint32_t usual_mode = 0755;
            directory.mode = usual_mode;
            names_.add(std::move(directory), plan_.items);
        }
        Item tree = make_item(ItemKind::mount, "tmpfs", plan_.tree_path,
                              "the driver's files, in one mount");
        tree.options = "ro,nosuid,nodev";
        plan_.items.push_back(std::move(tree));
        identify(plan_.tree_path);
        return {};
    }

    std::string library_path(const std::string& name) const
    {
        return plan_.tree_path + "/lib64/" + name;
    }
    std::string tool_path(const std::string& name) const
    {
        return plan_.tree_path + "/bin/" + name;
    }

    void add_to_tree(Item item)
    {
        item.place = Place::tree;
        plan_.items.push_back(std::move(item));
    }

    void fill_tree()
    {
        add_to_tree(make_item(ItemKind::symlink, "lib64", plan_.tree_path + "/lib",
                              "the other place that CUDA images look in"));
        for (const DriverFile* file : files_) {
            Item bind = make_item(ItemKind::bind, file->path,
                                  file->kind == FileKind::tool ? tool_path(file->name)
                                                               : library_path(file->name),
                                  file->reason);
            bind.options = "ro,nosuid,nodev";
            bind.id = file->id;
            identify(file->path);
            identify(file->id);
            add_to_tree(std::move(bind));
            for (const std::string& link : file->links)
                add_to_tree(make_item(ItemKind::symlink, file->name, library_path(link),
                                      link == file->soname ? "the name programs are linked to"
                                                           : "the name a linker looks for"));
        }
    }

    /// Programs with fixed paths find the driver as well: links where nothing is,
    /// our file over the image's own where it has one.
    void add_entry_names()
    {
        for (const DriverFile* file : files_)
            for (const std::string& name : file->entry_names)
                add_link(file->kind == FileKind::tool ? tool_path(name) : library_path(name),
                         entry_path(*file, name), "programs look for it here");
        add_link(plan_.tree_path, "/usr/local/nvidia", "CUDA images name it in LD_LIBRARY_PATH");
    }

    void add_link(const std::string& source, const std::string& target, std::string reason)
    {
        // What is there is a link of ours, or a copy of the image's that gets covered.
        if (is_missing(target))
            names_.add(make_item(ItemKind::symlink, source, target, std::move(reason)),
                       plan_.items);
    }

    void cover_stale_copies()
    {
        for (const DriverFile* file : files_) {
            if (file->kind == FileKind::tool) {
                cover(*file, "/usr/bin/" + file->name);
                continue;
            }
            for (const std::string& directory : layout_.searched_directories)
                cover(*file, directory + "/" + file->soname);
        }
    }

    void cover(const DriverFile& file, const std::string& target)
    {
        const rootfs::Entry name = view_.look(target);
        if (!name || base::is_below(view_.link_target(target), plan_.tree_path))
            return;
        const rootfs::Entry entry = view_.resolve(target);
        if (entry.type != EntryType::regular) {
            skip(std::string(base::name_of(target)), target,
                 "the image has this name, and it leads to no file that could be covered");
            return;
        }
        if (entry.device == file.id.device && entry.inode == file.id.inode)
            return; // ours, in the tree or under a cover of an earlier set-up
        if (!covered_.insert(std::pair(entry.device, entry.inode)).second)
            return;
        Item item = make_item(ItemKind::cover, file.path, target,
                              "the image's own copy would be found instead");
        item.options = "ro,nosuid,nodev";
        item.id = file.id;
        plan_.items.push_back(std::move(item));
    }

    Result<void> read_loader_cache()
    {
        if (files_.empty())
            return {};
        const std::string path(cache_path);
        auto bytes = view_.read(path, elf::max_cache_size);
        if (!bytes && view_.resolve(path).type == EntryType::regular)
            return std::move(bytes).error().context("loader cache");
        if (bytes)
            if (auto cache = elf::LdCache::parse(*std::move(bytes)))
                old_cache_ = *std::move(cache);
        if (old_cache_)
            for (const elf::CacheEntry& entry : old_cache_->lookup(files_.front()->soname))
                cache_is_ours_ = cache_is_ours_ || base::is_below(entry.value, plan_.tree_path);
        return {};
    }

    Result<void> add_loader_cache()
    {
        const std::string path(cache_path);
        GPUCTR_TRY(auto merged, merge_cache(old_cache_ ? &*old_cache_ : nullptr), "loader cache");
        for (const auto& dropped : merged.dropped)
            skip(dropped.key, dropped.path,
                 fmt::format("the image's own copy for {} would be found instead",
                             dropped.hwcaps_name));

        plan_.old_cache = view_.look(path);
        Item item = make_item(ItemKind::ldcache, "", path, "the loader finds the tree first");
        item.content = std::move(merged.bytes);
        constexpr std::uint32_t usual_mode = 0644;
        item.mode = usual_mode;
        if (plan_.writes_root) {
            item.place = Place::created;
            plan_.items.push_back(std::move(item));
            add_loader_configuration();
            return {};
        }
        if (is_missing(path)) {
            names_.add(std::move(item), plan_.items);
            return {};
        }
        if (plan_.old_cache.type != EntryType::regular)
            return Error(Errc::rootfs, path + " is in the way: not a regular file")
                .with_object(path)
                .with_hint("remove it from the image, or allow writing with --write always");
        item.options = "ro,nosuid,nodev";
        plan_.items.push_back(std::move(item));
        return {};
    }

    Result<elf::MergedCache> merge_cache(const elf::LdCache* old) const
    {
        std::vector<std::pair<std::string, std::string>> names;
        for (const DriverFile* file : files_) {
            if (file->kind != FileKind::library)
                continue;
            names.emplace_back(file->name, library_path(file->name));
            for (const std::string& link : file->links)
                names.emplace_back(link, library_path(link));
        }
        std::vector<elf::NewCacheEntry> entries;
        entries.reserve(names.size());
        for (const auto& [name, path] : names)
            entries.push_back({name, path});
        return elf::merge(old, entries);
    }

    /// Keeps a later ldconfig inside the container right.
    void add_loader_configuration()
    {
        const std::string path = "/etc/ld.so.conf.d/00-gpuctr.conf";
        if (view_.look(path))
            return;
        Item item = make_item(ItemKind::file, "", path, "keeps a later ldconfig right");
        item.content = plan_.tree_path + "/lib64\n";
        constexpr std::uint32_t usual_mode = 0644;
        item.mode = usual_mode;
        names_.add(std::move(item), plan_.items);
    }

    Result<void> add_nodes()
    {
        for (const vendor::DeviceNode& node : driver_.missing_nodes)
            if (is_wanted(node) && !selection_.gpus.empty())
                return missing(node);
        for (const vendor::DeviceNode& node : driver_.nodes) {
            if (!is_wanted(node))
                continue;
            if (node.accessible)
                add_node(node);
            else
                GPUCTR_CHECK(leave_out(node));
        }
        return {};
    }

    void add_node(const vendor::DeviceNode& node)
    {
        Item item = make_item(ItemKind::device, node.host_path, node.path,
                              node.gpu < 0 ? "the driver's programs open it"
                                           : fmt::format("GPU {}", node.gpu));
        item.options = "ro,nosuid,noexec";
        item.major = node.major;
        item.minor = node.minor;
        constexpr std::uint32_t usual_mode = 0666;
        item.mode = usual_mode;
        identify(fmt::format("{} {}:{}", node.path, node.major, node.minor));
        plan_.device_rules.push_back({node.major, node.minor});
        if (is_missing(node.path))
            names_.add(std::move(item), plan_.items);
        else
            plan_.items.push_back(std::move(item));

        constexpr std::uint32_t others = 0006;
        auto& groups = plan_.groups;
        const bool by_group = (node.mode & others) != others && node.gid != 0;
        if (by_group && std::find(groups.begin(), groups.end(), node.gid) == groups.end())
            groups.push_back(node.gid);
    }

    void add_warnings()
    {
        for (const vendor::Warning& warning : driver_.warnings)
            if (capabilities_.contains(warning.capability) && !selection_.gpus.empty())
                plan_.warnings.push_back(warning.text);
    }

    void add_masks()
    {
        if (target_ == nullptr || !target_->may_make_nodes || files_.empty())
            return;
        for (const vendor::Mask& mask : driver_.masks) {
            if (view_.resolve(mask.path).type != EntryType::regular) {
                plan_.needs.push_back("another " + mask.path
                                      + " or a device cgroup, if root runs in it: the driver "
                                        "makes nodes of other GPUs otherwise");
                continue;
            }
            Item item = make_item(ItemKind::cover, "", mask.path, mask.reason);
            item.content = mask.content;
            item.options = "ro,nosuid,nodev";
            constexpr std::uint32_t usual_mode = 0444;
            item.mode = usual_mode;
            identify("mask " + mask.path);
            plan_.items.push_back(std::move(item));
        }
    }

    bool is_wanted(const vendor::DeviceNode& node) const
    {
        if (node.capability != Capability::none && !capabilities_.contains(node.capability))
            return false;
        return node.gpu < 0
               || std::find(selection_.gpus.begin(), selection_.gpus.end(),
                            static_cast<unsigned>(node.gpu))
                      != selection_.gpus.end();
    }

    static Error missing(const vendor::DeviceNode& node)
    {
        return Error(Errc::no_device,
                     node.host_path + ": the device node is missing or another device")
            .with_object(node.host_path)
            .with_hint("the driver's own tools make it when root runs them on the host; "
                       "`gpuctr-setup list` shows what is there instead");
    }

    Result<void> leave_out(const vendor::DeviceNode& node)
    {
        const bool asked_for = node.gpu >= 0 && selection_.explicitly;
        const bool needed = node.gpu < 0 && node.capability == Capability::none;
        if (asked_for || needed)
            return Error(Errc::permission, node.host_path + ": this user may not read and write it")
                .with_object(node.host_path)
                .with_hint("its permissions, its group or the device cgroup forbid it");
        skip(std::string(base::name_of(node.path)), node.host_path,
             "its permissions or the device cgroup forbid using it");
        return {};
    }

    void add_variables()
    {
        for (const Variable& variable : plan_.variables) {
            Item item = make_item(ItemKind::env, variable.value, variable.name,
                                  "what the container's processes find in their environment");
            item.options = variable.action;
            plan_.items.push_back(std::move(item));
        }
    }

    void skip(std::string name, std::string source, std::string reason)
    {
        plan_.skipped.push_back({std::move(name), std::move(source), std::move(reason)});
    }

    const vendor::DriverStack& driver_;
    const Request& request_;
    const Target* target_;
    const rootfs::View& view_;
    Names::Way way_;
    Names names_;
    Plan plan_;
    Selection selection_;
    std::set<Capability> capabilities_;
    std::vector<const DriverFile*> files_;
    rootfs::Layout layout_;
    std::optional<elf::LdCache> old_cache_;
    bool cache_is_ours_ = false; ///< It names the tree already.
    std::set<std::pair<std::uint64_t, std::uint64_t>> covered_;
};

} // namespace

Result<Plan> create_plan(const vendor::DriverStack& driver, const Request& request,
                         const Target* target, mount::Backend backend)
{
    return Builder(driver, request, target, backend).build();
}

} // namespace gpucontainer::plan
