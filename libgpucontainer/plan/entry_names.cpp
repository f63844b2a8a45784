// SPDX-License-Identifier: MIT
#include "plan/entry_names.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <iterator>

namespace gpucontainer::plan {
namespace {

using model::DriverFile;
using model::FileKind;

/// Those that programs load by name, and for linking to these libraries the one
/// that a linker looks for: neither looks beyond the image's own directories.
std::vector<std::string> well_known_names(const DriverFile& file)
{
    std::vector<std::string> names = file.entry_names;
    if (!names.empty())
        std::copy_if(file.links.begin(), file.links.end(), std::back_inserter(names),
                     [](const std::string& link) { return link.ends_with(".so"); });
    return names;
}

void add_link(Draft& draft, const std::string& source, const std::string& target,
              std::string reason)
{
    // What is there is a link of ours, or a copy of the image's that gets covered.
    if (draft.is_missing(target))
        draft.add_name(make_item(ItemKind::symlink, source, target, std::move(reason)));
}

/// Paths of images that lead to the tree, but where it is there itself, or below.
std::vector<std::string> tree_links(const Draft& draft)
{
    std::vector<std::string> links;
    for (const Share& share : draft.shares) {
        const std::string& link = share.driver.tree_link;
        if (!link.empty() && !base::is_below(draft.plan.tree_path, link))
            links.push_back(link);
    }
    return links;
}

} // namespace

void add_entry_names(Draft& draft)
{
    for (const DriverFile* file : draft.files)
        for (const std::string& name : well_known_names(*file))
            add_link(draft,
                     file->kind == FileKind::tool ? draft.tool_path(name)
                                                  : draft.library_path(name),
                     draft.usual_directory(*file) + "/" + name, "programs look for it here");
    for (const std::string& link : tree_links(draft))
        add_link(draft, draft.plan.tree_path, link, "images have it in LD_LIBRARY_PATH");
}

std::vector<std::string> entry_paths(const Draft& draft)
{
    std::vector<std::string> paths = tree_links(draft);
    for (const DriverFile* file : draft.files)
        for (const std::string& name : well_known_names(*file))
            paths.push_back(draft.usual_directory(*file) + "/" + name);
    return paths;
}

} // namespace gpucontainer::plan
