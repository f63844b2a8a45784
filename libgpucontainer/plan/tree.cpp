// SPDX-License-Identifier: MIT
#include "plan/tree.hpp"

#include "base/try.hpp"

namespace gpucontainer::plan {
namespace {

using rootfs::EntryType;
using vendor::DriverFile;
using vendor::FileKind;

Result<void> place_tree(Draft& draft)
{
    const std::string& path = draft.plan.tree_path;
    const rootfs::Entry entry = draft.view.look(path);
    if (entry && entry.type != EntryType::directory)
        return Error(Errc::rootfs, path + " is in the way: not a directory").with_object(path);
    if (draft.is_missing(path)) {
        Item directory = make_item(ItemKind::directory, "", path, "where the tree is mounted");
        constexpr std::uint32_t usual_mode = 0755;
        directory.mode = usual_mode;
        draft.add_name(std::move(directory));
    }
    Item tree = make_item(ItemKind::mount, "tmpfs", path, "the driver's files, in one mount");
    tree.options = "ro,nosuid,nodev";
    draft.add(std::move(tree));
    draft.identify(path);
    return {};
}

void add_to_tree(Draft& draft, Item item)
{
    item.place = Place::tree;
    draft.add(std::move(item));
}

void add_file(Draft& draft, const DriverFile& file)
{
    const bool tool = file.kind == FileKind::tool;
    Item bind =
        make_item(ItemKind::bind, file.path,
                  tool ? draft.tool_path(file.name) : draft.library_path(file.name), file.reason);
    bind.options = "ro,nosuid,nodev";
    bind.id = file.id;
    draft.identify(file.path);
    draft.identify(file.id);
    add_to_tree(draft, std::move(bind));
    for (const std::string& link : file.links)
        add_to_tree(draft, make_item(ItemKind::symlink, file.name, draft.library_path(link),
                                     link == file.soname ? "the name programs are linked to"
                                                         : "the name a linker looks for"));
}

} // namespace

Result<void> add_tree(Draft& draft)
{
    GPUCTR_CHECK(place_tree(draft));
    add_to_tree(draft, make_item(ItemKind::symlink, "lib64", draft.plan.tree_path + "/lib",
                                 "the other place that CUDA images look in"));
    for (const DriverFile* file : draft.files)
        add_file(draft, *file);
    return {};
}

} // namespace gpucontainer::plan
