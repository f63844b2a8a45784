// SPDX-License-Identifier: MIT
#include "plan/entry_names.hpp"

#include "base/text.hpp"

#include <set>
#include <utility>

namespace gpucontainer::plan {
namespace {

using rootfs::EntryType;
using vendor::DriverFile;
using vendor::FileKind;

constexpr const char* cuda_directory = "/usr/local/nvidia";

std::string entry_path(const Draft& draft, const DriverFile& file, const std::string& name)
{
    return (file.kind == FileKind::tool ? "/usr/bin" : draft.layout.library_directory) + "/" + name;
}

void add_link(Draft& draft, const std::string& source, const std::string& target,
              std::string reason)
{
    // What is there is a link of ours, or a copy of the image's that gets covered.
    if (draft.is_missing(target))
        draft.add_name(make_item(ItemKind::symlink, source, target, std::move(reason)));
}

void add_links(Draft& draft)
{
    for (const DriverFile* file : draft.files)
        for (const std::string& name : file->entry_names)
            add_link(draft,
                     file->kind == FileKind::tool ? draft.tool_path(name)
                                                  : draft.library_path(name),
                     entry_path(draft, *file, name), "programs look for it here");
    add_link(draft, draft.plan.tree_path, cuda_directory, "CUDA images name it in LD_LIBRARY_PATH");
}

/// Puts our files over copies of the image's own that would be found instead.
class Covers {
public:
    explicit Covers(Draft& draft) : draft_(draft) {}

    void add(const DriverFile& file)
    {
        if (file.kind == FileKind::tool) {
            add(file, "/usr/bin/" + file.name);
            return;
        }
        for (const std::string& directory : draft_.layout.searched_directories)
            add(file, directory + "/" + file.soname);
    }

private:
    void add(const DriverFile& file, const std::string& target)
    {
        const rootfs::Entry name = draft_.view.look(target);
        if (!name || base::is_below(draft_.view.link_target(target), draft_.plan.tree_path))
            return;
        const rootfs::Entry entry = draft_.view.resolve(target);
        if (entry.type != EntryType::regular) {
            draft_.skip(std::string(base::name_of(target)), target,
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
        draft_.add(std::move(item));
    }

    Draft& draft_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> covered_;
};

} // namespace

void add_entry_names(Draft& draft)
{
    add_links(draft);
    Covers covers(draft);
    for (const DriverFile* file : draft.files)
        covers.add(*file);
}

std::vector<std::string> entry_paths(const Draft& draft)
{
    std::vector<std::string> paths = {cuda_directory};
    for (const DriverFile* file : draft.files)
        for (const std::string& name : file->entry_names)
            paths.push_back(entry_path(draft, *file, name));
    return paths;
}

} // namespace gpucontainer::plan
