// SPDX-License-Identifier: MIT
#include "plan/entry_names.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <iterator>

namespace gpucontainer::plan {
namespace {

using vendor::DriverFile;
using vendor::FileKind;

constexpr const char* cuda_directory = "/usr/local/nvidia";

std::string entry_path(const Draft& draft, const DriverFile& file, const std::string& name)
{
    return (file.kind == FileKind::tool ? tool_directory : draft.image.library_directory) + "/"
           + name;
}

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

/// The tree itself is there, or below.
bool has_cuda_directory(const Draft& draft)
{
    return base::is_below(draft.plan.tree_path, cuda_directory);
}

} // namespace

void add_entry_names(Draft& draft)
{
    for (const DriverFile* file : draft.files)
        for (const std::string& name : well_known_names(*file))
            add_link(draft,
                     file->kind == FileKind::tool ? draft.tool_path(name)
                                                  : draft.library_path(name),
                     entry_path(draft, *file, name), "programs look for it here");
    if (!has_cuda_directory(draft))
        add_link(draft, draft.plan.tree_path, cuda_directory,
                 "CUDA images name it in LD_LIBRARY_PATH");
}

std::vector<std::string> entry_paths(const Draft& draft)
{
    std::vector<std::string> paths;
    if (!has_cuda_directory(draft))
        paths.emplace_back(cuda_directory);
    for (const DriverFile* file : draft.files)
        for (const std::string& name : well_known_names(*file))
            paths.push_back(entry_path(draft, *file, name));
    return paths;
}

} // namespace gpucontainer::plan
