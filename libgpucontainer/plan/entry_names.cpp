// SPDX-License-Identifier: MIT
#include "plan/entry_names.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <iterator>

namespace gpucontainer::plan {
namespace {

using model::DriverFile;
using model::FileKind;

void add_link(Draft& draft, Item link)
{
    // What exists is a link of ours, or the image's own copy, which gets covered.
    if (!draft.is_missing(link.target))
        return;
    if (draft.can_have(link.target) || draft.names.are_overlaid(link.target))
        draft.add_name(std::move(link));
    else
        draft.skip(model::FindingCode::file_left_out, std::string(base::name_of(link.target)),
                   "the image has something else in its place", link.target);
}

/// A well-known path of images that becomes a link to the tree.
struct TreeLink {
    std::string path;
    std::string vendor;
};

/// Those of all drivers, except at or above the tree itself, and where the image has no directory:
/// that of a system that is built from a repository has a link /usr/local that leads nowhere yet.
std::vector<TreeLink> tree_links(const Draft& draft)
{
    std::vector<TreeLink> links;
    for (const Share& share : draft.shares) {
        const std::string& link = share.driver.tree_link;
        // Images have it in LD_LIBRARY_PATH, which counts more than the loader cache.
        if (draft.compat.directory.empty() && !link.empty()
            && !base::is_below(draft.plan.tree_path, link) && draft.can_have(link))
            links.push_back({link, share.driver.vendor});
    }
    return links;
}

} // namespace

std::vector<std::string> well_known_names(const DriverFile& file)
{
    std::vector<std::string> names = file.entry_names;
    if (!names.empty())
        std::copy_if(file.links.begin(), file.links.end(), std::back_inserter(names),
                     [&](const std::string& link) {
                         const auto& entries = file.entry_names;
                         return link.ends_with(".so")
                                && std::find(entries.begin(), entries.end(), link) == entries.end();
                     });
    return names;
}

void add_entry_names(Draft& draft)
{
    for (const DriverFile* file : draft.files)
        for (const std::string& name : well_known_names(*file))
            add_link(draft, {Symlink{file->kind == FileKind::tool ? draft.tool_path(name)
                                                                  : draft.library_path(name, file)},
                             draft.usual_directory(*file) + "/" + name, "programs look for it here",
                             draft.owner_of(*file)});
    for (const DriverFile* file : draft.files)
        if (file->registered(model::Manner::module_name) != nullptr)
            add_link(draft, {Symlink{draft.path_of(*file)}, draft.module_path(*file),
                             "a loader of modules looks for it here", draft.owner_of(*file)});
    for (const TreeLink& link : tree_links(draft))
        add_link(draft, {Symlink{draft.plan.tree_path},
                         link.path,
                         "images have it in LD_LIBRARY_PATH",
                         {link.vendor}});
}

std::vector<std::string> entry_paths(const Draft& draft)
{
    std::vector<std::string> paths;
    for (const TreeLink& link : tree_links(draft))
        paths.push_back(link.path);
    for (const DriverFile* file : draft.files) {
        for (const std::string& name : well_known_names(*file))
            paths.push_back(draft.usual_directory(*file) + "/" + name);
        if (file->registered(model::Manner::module_name) != nullptr)
            paths.push_back(draft.module_path(*file));
    }
    return paths;
}

} // namespace gpucontainer::plan
