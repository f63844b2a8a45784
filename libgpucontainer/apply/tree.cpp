// SPDX-License-Identifier: MIT
#include "apply/tree.hpp"

#include "apply/layer.hpp"
#include "apply/sources.hpp"
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/own_proc.hpp"
#include "base/text.hpp"
#include "base/trusted_way.hpp"
#include "base/try.hpp"
#include "mount/assemble.hpp"
#include "mount/calls.hpp"
#include "mount/detach.hpp"
#include "mount/facts.hpp"
#include "privilege/capabilities.hpp"
#include "privilege/label.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::apply {
namespace {

using base::UniqueFd;
using plan::Item;

/// A file in a staged tree. It says what the tree contains, and in its last line how many
/// directories were made for the tree: its own and those above.
constexpr const char* inventory_name = ".gpuctr-tree";
constexpr std::size_t largest_inventory = 1U << 20U;
constexpr std::string_view made_line = "made ";

std::string_view below(const std::string& directory, const Item& item)
{
    return std::string_view(item.target).substr(directory.size() + 1);
}

/// Where the libraries are that depend on the image.
std::string place_of_distribution(const plan::Plan& plan)
{
    return base::format("{}/{}", plan.tree_path, plan::distribution_directory);
}

bool is_of_distribution(const plan::Plan& plan, const Item& item)
{
    return item.place == plan::Place::tree
           && base::is_below(item.target, place_of_distribution(plan));
}

/// Equal for plans whose trees have the same names for the same files, and the same label, apart
/// from what depends on the image.
std::string inventory(const plan::Plan& plan)
{
    std::string text = base::format("place {}\n", plan::distribution_directory);
    if (!plan.mount_label.empty())
        text += base::format("label {}\n", plan.mount_label);
    for (const Item& item : plan.items) {
        if (item.place != plan::Place::tree || is_of_distribution(plan, item))
            continue;
        const auto* bind = item.as<plan::Bind>();
        const model::FileId id = bind != nullptr ? bind->id : model::FileId();
        text += base::format("{} {} {} {}:{}:{}:{}\n", plan::name(item.kind()),
                             below(plan.tree_path, item), item.source(), id.device, id.inode,
                             id.size, id.mtime_ns);
    }
    return text;
}

using Directories = std::set<std::string, std::less<>>;

Result<void> make_directories(Layer& layer, std::string_view path, Directories& made)
{
    if (path.empty() || made.contains(path))
        return {};
    GPUCTR_CHECK(make_directories(layer, base::directory_of(path), made));
    made.emplace(path);
    return layer.directory(std::string(path));
}

/// The file that is mounted at an item; none if it has none.
Result<UniqueFd> clone_of(const mount::Bench& bench, const Item& item)
{
    if (const auto* const bind = item.as<plan::Bind>())
        return clone_file(bench, bind->source, bind->id, bind->is_directory);
    if (const auto* const entry = item.as<plan::KernelEntry>())
        return clone_entry(bench, *entry);
    return UniqueFd();
}

using ItemList = std::vector<const Item*>;

ItemList items_below(const plan::Plan& plan, plan::Place place, const std::string& directory)
{
    ItemList items;
    for (const Item& item : plan.items)
        if (item.place == place && base::is_below(item.target, directory))
            items.push_back(&item);
    return items;
}

/// Makes names for items below a directory. Returns what is to be mounted on them.
Result<std::vector<mount::Branch>> fill(const mount::Bench& bench, Layer& layer,
                                        const ItemList& items, const std::string& directory)
{
    std::vector<mount::Branch> branches;
    Directories directories;
    for (const Item* item : items) {
        const std::string path(below(directory, *item));
        GPUCTR_CHECK(make_directories(layer, base::directory_of(path), directories));
        if (const auto* link = item->as<plan::Symlink>())
            GPUCTR_CHECK(layer.link(path, link->to));
        GPUCTR_TRY(UniqueFd clone, clone_of(bench, *item), "prepare {}", item->target);
        if (!clone)
            continue;
        GPUCTR_CHECK(item->is_directory() ? layer.directory(path) : layer.placeholder(path));
        if (!mount::way_of(bench.backend).sets_below)
            GPUCTR_CHECK(guard(bench, clone, file_attributes));
        branches.push_back({std::move(clone), path});
    }
    return branches;
}

/// A file system with names, and what is to be mounted on them.
struct Parts {
    UniqueFd base;
    std::vector<mount::Branch> branches;
};

Result<UniqueFd> join(const mount::Bench& bench, Parts parts)
{
    if (parts.branches.empty())
        return std::move(parts.base);
    GPUCTR_TRY(auto joined, mount::assemble(bench, std::move(parts.base), parts.branches, {}));
    return std::move(joined.tree);
}

/// The part of the tree that is the same for all images, with a place for the other.
Result<Parts> make_common_parts(const mount::Bench& bench, const plan::Plan& plan,
                                const std::string* inventory)
{
    ItemList items = items_below(plan, plan::Place::tree, plan.tree_path);
    std::erase_if(items, [&](const Item* item) { return is_of_distribution(plan, *item); });
    GPUCTR_TRY(Layer layer, Layer::create(bench, plan.mount_label));
    Parts parts;
    GPUCTR_TRY(parts.branches, fill(bench, layer, items, plan.tree_path));
    GPUCTR_CHECK(layer.directory(std::string(plan::distribution_directory)));
    if (inventory != nullptr)
        GPUCTR_CHECK(layer.file(inventory_name, *inventory));
    parts.base = std::move(layer).take();
    return parts;
}

/// Adds what this image lacks, in a file system of its own: the tree may be a staged one.
Result<void> add_distribution(const mount::Bench& bench, const plan::Plan& plan, Parts& tree)
{
    const std::string place = place_of_distribution(plan);
    const ItemList items = items_below(plan, plan::Place::tree, place);
    if (items.empty())
        return {};
    GPUCTR_TRY(Layer layer, Layer::create(bench, plan.mount_label));
    GPUCTR_TRY(auto branches, fill(bench, layer, items, place));
    UniqueFd base = std::move(layer).take();
    if (!mount::way_of(bench.backend).sets_below)
        GPUCTR_CHECK(guard(bench, base, file_attributes));
    const std::string name(plan::distribution_directory);
    tree.branches.push_back({std::move(base), name});
    for (mount::Branch& branch : branches)
        tree.branches.push_back(
            {std::move(branch.mount), base::format("{}/{}", name, branch.path)});
    return {};
}

/// The directory if it may be a staged tree: only root or this user can have written in it.
Result<UniqueFd> keep_staged(UniqueFd fd, const std::string& path)
{
    struct stat status = {};
    // On a tmpfs, owners can be trusted; on other file systems they may be false.
    using mount::Found;
    const bool looked = fd && ::fstat(fd.get(), &status) == 0;
    Found found = looked ? mount::find_mount_root(fd.get()) : Found::unknown;
    if (found == Found::yes)
        found = mount::find_tmpfs(fd.get());
    if (found == Found::unknown)
        return Error::from_errno(errno, path, Errc::apply).with_object(path);
    if (found == Found::no)
        return UniqueFd();
    const bool trusted = status.st_uid == 0 || status.st_uid == ::geteuid();
    if (!trusted || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        fd.reset();
    return fd;
}

/// What is staged at a path, wherever that leads.
Result<UniqueFd> open_staged(const std::string& path)
{
    UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return UniqueFd();
    return keep_staged(std::move(fd), path);
}

/// Where a tree is mounted and unmounted, and directories are made and removed: root would do that
/// in any place that others lead to.
Result<base::TrustedWay> walk(const std::string& directory)
{
    GPUCTR_TRY(auto way, base::TrustedWay::walk(directory, O_PATH | O_DIRECTORY), "staged tree");
    if (way.distrust)
        return std::move(*way.distrust).context("staged tree");
    return way;
}

/// What is staged at a path that nobody else leads elsewhere.
Result<UniqueFd> find_staged(const std::string& directory)
{
    auto way = walk(directory);
    if (!way && way.error().os_error() == ENOTDIR)
        return UniqueFd();
    if (!way)
        return std::move(way).error();
    return way->fd ? keep_staged(std::move(way->fd), directory) : UniqueFd();
}

struct Inventory {
    std::string items;
    std::size_t made = 0;
};

Inventory parse_inventory(const std::string& text)
{
    const std::string_view all = base::trim(text);
    const auto last = all.rfind('\n') + 1; // 0 if there is one line
    if (!all.substr(last).starts_with(made_line))
        return {text, 0};
    const auto made = base::to_number(all.substr(last + made_line.size()));
    return {text.substr(0, last), made ? static_cast<std::size_t>(*made) : 0};
}

Inventory inventory_of(const UniqueFd& staged)
{
    const auto text = base::read_file(staged.get(), inventory_name, largest_inventory);
    return text ? parse_inventory(*text) : Inventory();
}

bool holds(const UniqueFd& staged, const std::string& items)
{
    return inventory_of(staged).items == items;
}

/// Removes the empty directories that were made for a tree: its own, and those above.
void remove_directories(std::string path, std::size_t made)
{
    for (; made > 0 && ::rmdir(path.c_str()) == 0; --made)
        path = base::directory_of(path);
}

/// Creates a directory and the missing ones above. The destructor removes them again unless they
/// are kept.
class MadeDirectories {
public:
    explicit MadeDirectories(std::string path) : path_(std::move(path)) {}
    MadeDirectories(const MadeDirectories&) = delete;
    MadeDirectories& operator=(const MadeDirectories&) = delete;
    ~MadeDirectories() { remove_directories(path_, made_); }

    Result<void> make()
    {
        GPUCTR_TRY(const auto way, walk(path_));
        if (way.fd)
            return {};
        GPUCTR_TRY(const std::size_t made, way.make_missing(program::directory_mode), "{}", path_);
        made_ += made;
        return {};
    }
    std::size_t count() const noexcept { return made_; }
    void keep() noexcept { made_ = 0; }

private:
    std::string path_;
    std::size_t made_ = 0;
};

Result<void> mount_at(const mount::Bench& bench, const UniqueFd& tree, const std::string& directory)
{
    GPUCTR_TRY(const auto way, walk(directory));
    errno = ENOENT;
    const bool attached = way.fd && mount::attach(bench, tree.get(), way.fd.get()) == 0;
    if (attached && mount::set_attributes(bench, tree.get(), 0, MS_PRIVATE, true) == 0)
        return {};
    Error error = Error::from_errno(errno, "mount the driver's tree at " + directory);
    if (attached)
        (void)mount::detach(tree.get());
    return std::move(error).with_object(directory);
}

struct Unmounted {
    bool found = false;
    std::size_t made = 0; ///< Number of directories that were made.
};

Result<Unmounted> unmount_trees(const std::string& directory)
{
    for (Unmounted unmounted;; unmounted.found = true) {
        GPUCTR_TRY(const UniqueFd tree, find_staged(directory));
        if (!tree)
            return unmounted;
        GPUCTR_CHECK(base::open_own_descriptors());
        const auto read = base::read_file(tree.get(), inventory_name, largest_inventory);
        if (!read && base::leaves_open(read.error().os_error()))
            return Error::from_errno(read.error().os_error(), directory, Errc::apply)
                .with_object(directory);
        if (!read)
            return unmounted; // the next mount is somebody else's
        unmounted.made = parse_inventory(*read).made;
        if (mount::detach(tree.get()) != 0)
            return Error::from_errno(errno, "unmount " + directory).with_object(directory);
    }
}

} // namespace

Result<std::string> staged_path(std::string_view given)
{
    if (given.empty())
        return std::string();
    const auto names = base::split(given, '/');
    const bool is_absolute = given.starts_with('/');
    if (!is_absolute || std::ranges::find(names, "..") != names.end())
        return Error(Errc::usage,
                     base::format("staged tree '{}': {}", given,
                                  is_absolute ? "'..' in the path" : "not an absolute path"))
            .with_object(std::string(given))
            .with_hint("name the directory by its path from /, without '..'");
    std::string path;
    for (const std::string_view name : names)
        if (!name.empty() && name != ".")
            path += base::format("/{}", name);
    if (path.empty())
        return Error(Errc::usage,
                     base::format("staged tree '{}': the tree would cover the whole host", given))
            .with_object(std::string(given))
            .with_hint("name a directory of its own, such as /run/gpucontainer/tree");
    return path;
}

Result<UniqueFd> make_tree(const mount::Bench& bench, const plan::Plan& plan,
                           const std::string& staged_tree)
{
    Parts parts;
    if (const auto staged = open_staged(staged_tree); staged && *staged)
        if (holds(*staged, inventory(plan)))
            parts.base.reset(mount::clone_tree(bench, staged->get(), "", true));
    if (!parts.base) {
        GPUCTR_TRY(parts, make_common_parts(bench, plan, nullptr));
    }
    GPUCTR_CHECK(add_distribution(bench, plan, parts));
    GPUCTR_TRY(UniqueFd tree, join(bench, std::move(parts)));
    GPUCTR_CHECK(guard(bench, tree, file_attributes));
    return tree;
}

Result<UniqueFd> make_cover(const mount::Bench& bench, const plan::Plan& plan,
                            const std::string& directory)
{
    GPUCTR_TRY(Layer layer, Layer::create(bench, plan.mount_label));
    Parts parts;
    GPUCTR_TRY(parts.branches,
               fill(bench, layer, items_below(plan, plan::Place::cover, directory), directory));
    parts.base = std::move(layer).take();
    return join(bench, std::move(parts));
}

std::size_t count_mounts(const plan::Plan& plan, const std::string& path)
{
    const auto is_mounted = [&](const Item& item) {
        const bool is_part = item.place == plan::Place::tree || item.place == plan::Place::cover;
        const bool is_mount =
            item.as<plan::Bind>() != nullptr || item.as<plan::KernelEntry>() != nullptr;
        return is_part && is_mount && base::is_below(item.target, path);
    };
    const auto files = static_cast<std::size_t>(std::ranges::count_if(plan.items, is_mounted));
    const bool has_distribution = std::ranges::any_of(plan.items, [&](const Item& item) {
        return is_of_distribution(plan, item) && base::is_below(item.target, path);
    });
    return files + (has_distribution ? 1 : 0);
}

Result<Staged> stage_tree(const plan::Plan& plan, mount::Backend backend,
                          const std::string& directory)
{
    GPUCTR_CHECK(require_driver(plan));
    GPUCTR_CHECK(privilege::require_mounting());
    GPUCTR_CHECK(privilege::require_label(plan.mount_label));
    if (plan.tree_path.empty())
        return Error(Errc::usage, "the plan has no driver files to stage");
    GPUCTR_CHECK(require_detached(backend));
    const mount::Bench bench = {backend};
    const std::string items = inventory(plan);
    GPUCTR_TRY(const UniqueFd present, find_staged(directory));
    if (present && holds(present, items))
        return Staged::unchanged;

    MadeDirectories directories(directory);
    GPUCTR_CHECK(directories.make());
    const std::size_t made = directories.count() + (present ? inventory_of(present).made : 0);
    const std::string wanted = base::format("{}{}{}\n", items, made_line, made);
    GPUCTR_TRY(Parts parts, make_common_parts(bench, plan, &wanted));
    GPUCTR_TRY(const UniqueFd tree, join(bench, std::move(parts)));
    // Clones share the file system, so nobody may write in it through any of them.
    if (mount::set_attributes(bench, tree.get(), file_attributes, MS_PRIVATE, true) != 0
        || mount::make_read_only(tree.get()) != 0)
        return Error::from_errno(errno, "set the flags of a mount", Errc::apply);
    GPUCTR_TRY(const Unmounted older, unmount_trees(directory));
    // In mount namespaces that got copies of the older tree, those go with their directory.
    if (older.made > 0 && ::rmdir(directory.c_str()) == 0)
        GPUCTR_CHECK(directories.make());
    GPUCTR_CHECK(mount_at(bench, tree, directory));
    directories.keep();
    return older.found ? Staged::replaced : Staged::made;
}

Result<bool> unstage_tree(const std::string& directory)
{
    GPUCTR_TRY(const Unmounted unmounted, unmount_trees(directory));
    remove_directories(directory, unmounted.made);
    return unmounted.found;
}

} // namespace gpucontainer::apply
