// SPDX-License-Identifier: MIT
#include "plan/merged.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace gpucontainer::plan {
namespace {

using model::DriverFile;

/// Names other than the file's own, all in the same directory.
std::vector<std::string> further_names(const DriverFile& file)
{
    std::vector<std::string> names = file.links;
    names.insert(names.end(), file.entry_names.begin(), file.entry_names.end());
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::erase(names, file.name);
    return names;
}

std::string beside(const std::string& path, const std::string& name)
{
    return std::string(base::directory_of(path)) + "/" + name;
}

/// Adds a bind mount, and what it is mounted over.
void add_bind(Draft& draft, const DriverFile& file, const std::string& path)
{
    const Owner owner = draft.owner_of(file);
    Item bind = {Bind{file.path, file.id, file.directory}, path, file.reason, owner};
    if (!file.directory) {
        draft.add_name(std::move(bind));
        return;
    }
    draft.add_name({Directory(), path, "where data is mounted", owner});
    draft.add(std::move(bind));
}

void add_merged_file(Draft& draft, const DriverFile& file)
{
    const std::string path = draft.path_of(file);
    draft.identify(path);
    draft.identify(file.path);
    draft.identify(file.id);
    // The image's own files with these names get covered.
    if (draft.is_missing(path))
        add_bind(draft, file, path);
    for (const std::string& name : further_names(file))
        if (const std::string link = beside(path, name); draft.is_missing(link))
            draft.add_name(
                {Symlink{file.name}, link, "programs look for it here", draft.owner_of(file)});
    if (file.registered(model::Manner::module_name) == nullptr)
        return;
    if (const std::string module = draft.module_path(file); draft.is_missing(module))
        draft.add_name(
            {Symlink{path}, module, "a loader of modules looks for it here", draft.owner_of(file)});
}

} // namespace

void add_merged(Draft& draft)
{
    for (const DriverFile* file : draft.files)
        add_merged_file(draft, *file);
}

std::vector<std::string> merged_paths(const Draft& draft)
{
    std::vector<std::string> paths;
    for (const DriverFile* file : draft.files) {
        const std::string path = draft.path_of(*file);
        paths.push_back(path);
        for (const std::string& name : further_names(*file))
            paths.push_back(beside(path, name));
        if (file->registered(model::Manner::module_name) != nullptr)
            paths.push_back(draft.module_path(*file));
    }
    return paths;
}

} // namespace gpucontainer::plan
