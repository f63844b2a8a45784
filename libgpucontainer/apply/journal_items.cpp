// SPDX-License-Identifier: MIT
#include "apply/journal_items.hpp"

#include <string>
#include <utility>

namespace gpucontainer::apply {

using program::Operation;
using program::Program;
using program::Step;
namespace {

constexpr const char* loader_cache = "/etc/ld.so.cache";

/// In a journal before 0.2, only mounts below it tell the tree from others.
plan::Item item_of_mount(const Operation& operation, std::string path)
{
    if ((operation.flags & program::device_node) != 0)
        return {plan::Device{}, std::move(path), {}};
    const bool covers = (operation.flags & program::follow_target) != 0;
    if (covers && path == loader_cache)
        return {plan::LoaderCache{}, std::move(path), {}, {}, plan::Place::there};
    if (covers)
        return {plan::Cover{}, std::move(path), {}};
    const bool is_tree = (operation.flags & program::holds_mounts) != 0
                         && (operation.flags & program::host_file) == 0;
    if (is_tree)
        return {plan::Tree{}, std::move(path), {}};
    return {plan::Bind{}, std::move(path), {}};
}

plan::Item item_of(const Operation& operation, const Program& program)
{
    std::string path = program.text(operation.path);
    switch (operation.step) {
    case Step::make_directory:
        return {plan::Directory{}, std::move(path), {}};
    case Step::make_link:
        return {plan::Symlink{program.text(operation.data)}, std::move(path), {}};
    case Step::overlay:
        return {plan::Overlay{}, std::move(path), {}};
    case Step::mount:
        return item_of_mount(operation, std::move(path));
    case Step::replace_file:
    case Step::make_file:
        break;
    }
    if (path == loader_cache)
        return {plan::LoaderCache{}, std::move(path), {}, {}, plan::Place::created};
    return {plan::GeneratedFile{}, std::move(path), {}};
}

} // namespace

std::vector<plan::Item> items_of(const journal::Journal& journal)
{
    // What an interrupted apply() has done is not known.
    const bool may_be_any = journal.progress == journal::Progress::begun;
    const Program program(journal.program.get());
    std::vector<plan::Item> items;
    for (const Operation& operation : program.operations())
        if (may_be_any || operation.done != 0)
            items.push_back(item_of(operation, program));
    return items;
}

} // namespace gpucontainer::apply
