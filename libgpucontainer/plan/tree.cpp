// SPDX-License-Identifier: MIT
#include "plan/tree.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <set>

namespace gpucontainer::plan {
namespace {

using model::DriverFile;
using rootfs::EntryType;

Error unusable(const std::string& path, const std::string& why)
{
    return Error(Errc::usage, "tree path " + path + ": " + why)
        .with_object(path)
        .with_argument("tree_path")
        .with_hint("name a directory of its own in the container, such as "
                   + std::string(usual_tree));
}

/// The path is written into the loader's configuration and cache, and into lists with colons
/// between their entries.
bool is_plain(std::string_view path)
{
    return std::all_of(path.begin(), path.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
               || std::string_view("/._+-@").find(c) != std::string_view::npos;
    });
}

Result<void> check_path(const std::string& path)
{
    if (!path.starts_with('/'))
        return unusable(path, "not absolute");
    if (!is_plain(path))
        return unusable(path, "has a character other than letters, digits and /._+-@");
    for (const std::string_view part : base::split(std::string_view(path).substr(1), '/'))
        if (part.empty() || part == "." || part == "..")
            return unusable(path, "has an empty name, . or ..");
    for (const char* kernels : {"/dev", "/proc", "/sys"})
        if (base::is_below(path, kernels))
            return unusable(path, std::string("below ") + kernels);
    return {};
}

/// Whether a tree of ours is mounted there already.
bool is_tree(const Draft& draft, const std::string& path)
{
    return draft.view.link_target(path + "/lib") == "lib64";
}

/// Another set-up, or its undo, may mount, unmount or remove it meanwhile.
bool may_be_hidden(const Draft& draft, const std::string& path)
{
    return is_tree(draft, path) || draft.view.is_empty_directory(path) || is_tree(draft, path)
           || draft.view
                  .present(std::string(base::directory_of(path)),
                           {std::string(base::name_of(path))})
                  .empty();
}

Result<void> place_tree(Draft& draft)
{
    const std::string& path = draft.plan.tree_path;
    const rootfs::Entry entry = draft.view.look(path);
    if (entry && entry.type != EntryType::directory)
        return Error(Errc::rootfs, path + " is in the way: not a directory").with_object(path);
    if (entry && !may_be_hidden(draft, path))
        return Error(Errc::rootfs, path + " is in the way: not empty")
            .with_object(path)
            .with_hint("the tree would hide what is in it; name another directory with "
                       "--tree-path");
    if (draft.is_missing(path))
        draft.add_name({Directory(), path, "where the tree is mounted"});
    draft.add({Tree(), path, "the driver's files, in one mount"});
    draft.identify(path);
    return {};
}

void add_to_tree(Draft& draft, Item item)
{
    item.place = Place::tree;
    draft.add(std::move(item));
}

/// Adds a link to the script in its directory, where it finds its modules.
void add_script(Draft& draft, const DriverFile& script)
{
    const DriverFile& data = *draft.data_with(script);
    const std::string inside = draft.path_of(data) + script.path.substr(data.path.size());
    add_to_tree(draft, {Symlink{base::format("..{}", inside.substr(draft.plan.tree_path.size()))},
                        draft.path_of(script), script.reason, draft.owner_of(script)});
    draft.identify(script.path);
}

void add_file(Draft& draft, const DriverFile& file)
{
    if (file.registered(model::Manner::script) != nullptr) {
        add_script(draft, file);
        return;
    }
    const Owner owner = draft.owner_of(file);
    draft.identify(file.path);
    draft.identify(file.id);
    add_to_tree(
        draft, {Bind{file.path, file.id, file.directory}, draft.path_of(file), file.reason, owner});
    for (const std::string& link : file.links)
        add_to_tree(draft, {Symlink{file.name}, draft.library_path(link, &file),
                            link == file.soname     ? "the name programs are linked to"
                            : link.ends_with(".so") ? "the name a linker looks for"
                                                    : "another name of it",
                            owner});
}

/// Distributions' scripts look for libraries in ../../lib/ARCH beside themselves.
void add_library_directories_of_scripts(Draft& draft)
{
    std::set<std::string> names;
    for (const DriverFile* file : draft.files)
        if (const std::string_view name = base::name_of(base::directory_of(file->path));
            file->kind == model::FileKind::library && name.ends_with("-linux-gnu"))
            names.emplace(name);
    for (const std::string& name : names)
        add_to_tree(draft, {Symlink{"."}, draft.library_path(name),
                            "where scripts of the driver look for its libraries"});
}

} // namespace

Result<void> choose_tree_path(Draft& draft)
{
    const auto& wanted = draft.request.tree_path;
    if (wanted && draft.request.layout != Layout::tree)
        return unusable(*wanted, "the layout has no tree");
    if (wanted && draft.request.vendor_libs == VendorLibs::none)
        return unusable(*wanted, "without the driver's files there is no tree");
    if (wanted)
        GPUCTR_CHECK(check_path(*wanted));
    if (draft.request.layout == Layout::tree && !draft.files.empty())
        draft.plan.tree_path = wanted.value_or(usual_tree);
    return {};
}

Result<void> add_tree(Draft& draft)
{
    GPUCTR_CHECK(place_tree(draft));
    add_to_tree(draft, {Symlink{"lib64"}, draft.plan.tree_path + "/lib",
                        "another directory that images search"});
    for (const DriverFile* file : draft.files)
        add_file(draft, *file);
    if (std::ranges::any_of(draft.files, [](const DriverFile* file) {
            return file->registered(model::Manner::script) != nullptr;
        }))
        add_library_directories_of_scripts(draft);
    return {};
}

} // namespace gpucontainer::plan
