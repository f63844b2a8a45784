// SPDX-License-Identifier: MIT
#include "plan/names.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace gpucontainer::plan {

using rootfs::EntryType;

namespace {

bool contains(const std::vector<std::string>& list, const std::string& value)
{
    return std::find(list.begin(), list.end(), value) != list.end();
}

} // namespace

Result<void> Names::expect(const std::vector<std::string>& targets, std::vector<Item>& items)
{
    if (way_ == Way::write)
        return {};
    std::vector<std::string> directories;
    const rootfs::Entry root = view_.resolve("/");
    for (const std::string& target : targets) {
        std::string there = rootfs::nearest_directory(view_, base::directory_of(below_usr(target)));
        if (!needs_overlay(there))
            continue;
        // A mount over the root directory, by any name, is not visible through its descriptor.
        if (there == "/" || view_.resolve(there).same_file(root))
            return Error(Errc::rootfs, target + ": no directory above it exists but the root")
                .with_object(target)
                .with_hint("create " + std::string(base::directory_of(target))
                           + " in the image, or allow writing with --write auto or always");
        directories.push_back(std::move(there));
    }
    std::sort(directories.begin(), directories.end());
    for (const std::string& directory : directories) {
        if (overlay_of(directory) != nullptr)
            continue;
        overlays_.push_back(directory);
        items.push_back(overlay_over(directory));
    }
    return {};
}

std::string Names::below_usr(const std::string& path) const
{
    const std::string top = path.substr(0, path.find('/', 1));
    const bool is_merged = way_ != Way::write && top.size() < path.size()
                           && view_.look(top).type == EntryType::link
                           && view_.look("/usr").type == EntryType::directory
                           && view_.look("/usr" + top).same_file(view_.resolve(top));
    return is_merged ? "/usr" + path : path;
}

const std::string* Names::overlay_of(const std::string& directory) const
{
    const std::uint64_t mount = view_.resolve(directory).mount;
    for (const std::string& overlay : overlays_)
        if (base::is_below(directory, overlay) && view_.resolve(overlay).mount == mount
            && !is_link_between(overlay, directory))
            return &overlay;
    return nullptr;
}

/// Our directory in place of the image's link would hide what the link leads to.
bool Names::is_link_between(const std::string& above, std::string_view directory) const
{
    for (; directory.size() > above.size(); directory = base::directory_of(directory))
        if (view_.look(std::string(directory)).type == EntryType::link)
            return true;
    return false;
}

bool Names::needs_overlay(const std::string& directory) const
{
    switch (way_) {
    case Way::write:
        return false;
    case Way::overlay:
        return !is_on_own_tmpfs(directory) || !view_.is_for_names(directory);
    case Way::layer:
        return !view_.is_for_names(directory)
               || (!is_on_roots_mount(directory) && !is_on_own_tmpfs(directory));
    default:
        return !view_.is_for_names(directory) || is_led_elsewhere(directory);
    }
}

bool Names::is_on_roots_mount(const std::string& directory) const
{
    return view_.resolve(directory).mount == view_.resolve("/").mount;
}

/// Any other tmpfs may be one of the host.
bool Names::is_on_own_tmpfs(const std::string& directory) const
{
    const rootfs::Entry there = view_.resolve(directory);
    const auto is_at = [&](const char* path, const char* usual) {
        const rootfs::Entry place = view_.look(usual);
        return base::is_below(directory, path) && place.type == EntryType::directory
               && place.mount == there.mount;
    };
    return there.own_tmpfs
           && (is_at("/dev", "/dev") || is_at("/run", "/run") || is_at("/var/run", "/run"));
}

/// A link of the image decides nothing about a volume. A container's /run must stay writable.
bool Names::is_led_elsewhere(const std::string& directory) const
{
    return !is_on_roots_mount(directory) && is_link_between("/", directory)
           && !is_on_own_tmpfs(directory);
}

bool Names::are_overlaid(const std::string& target) const
{
    return needs_overlay(rootfs::nearest_directory(view_, base::directory_of(below_usr(target))));
}

Names::Start Names::start_of(const std::string& target) const
{
    const std::string there = rootfs::nearest_directory(view_, base::directory_of(target));
    if (!needs_overlay(there))
        return {there, Place::created};
    const std::string* const overlay = overlay_of(there);
    return {overlay != nullptr ? *overlay : there, Place::overlay};
}

Item Names::overlay_over(const std::string& directory) const
{
    return {Overlay{view_.resolve(directory).mode}, directory,
            "our names over this directory, which itself is not written"};
}

void Names::add_directories(const Start& start, const std::string& to, std::vector<Item>& items)
{
    std::string path = start.directory == "/" ? "" : start.directory;
    for (std::string_view component : base::split(std::string_view(to).substr(path.size()), '/')) {
        if (component.empty())
            continue;
        path += "/" + std::string(component);
        if (contains(directories_, path))
            continue;
        directories_.push_back(path);
        // In an overlay, a directory is merged with the image's own one, and its mode counts.
        const rootfs::Entry there = view_.resolve(path);
        items.push_back({there ? Directory{there.mode} : Directory(),
                         path,
                         "directory that our names are in",
                         {},
                         start.place,
                         directory_of_new(path, start)});
    }
}

/// Unknown for one in a directory that is yet to be made.
model::FileId Names::directory_of_new(std::string_view path, const Start& start) const
{
    if (start.place != Place::created || base::directory_of(path) != start.directory)
        return {};
    const rootfs::Entry there = view_.resolve(start.directory);
    return {there.device, there.inode};
}

void Names::add(Item item, std::vector<Item>& items)
{
    item.target = below_usr(item.target);
    const Start start = start_of(item.target);
    item.place = start.place;
    item.directory = directory_of_new(item.target, start);
    add_directories(start, std::string(base::directory_of(item.target)), items);
    if (item.as<Directory>() != nullptr)
        directories_.push_back(item.target);
    items.push_back(std::move(item));
}

} // namespace gpucontainer::plan
