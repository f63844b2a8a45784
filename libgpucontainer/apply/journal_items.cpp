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

/// Which device it is, and whether it is required, is not in a journal.
plan::Device unknown_device()
{
    plan::Device device;
    device.required = false;
    return device;
}

/// In a journal before 0.2, only mounts below it tell the tree from others.
plan::Item item_of_mount(const Operation& operation, std::string path)
{
    if ((operation.flags & program::device_node) != 0)
        return {unknown_device(), std::move(path), {}};
    const bool covers = (operation.flags & program::follow_target) != 0;
    if (covers && path == loader_cache)
        return {plan::LoaderCache{}, std::move(path), {}, {}, plan::Place::there};
    if (covers)
        return {plan::Cover{}, std::move(path), {}};
    const bool is_directory = (operation.flags & program::holds_mounts) != 0;
    if (is_directory && (operation.flags & program::host_file) == 0)
        return {plan::Tree{}, std::move(path), {}};
    return {plan::Bind{{}, {}, is_directory}, std::move(path), {}};
}

plan::Item item_of(const Operation& operation, const Program& program)
{
    std::string path = program.text(operation.path);
    std::string data(program.text(operation.data), operation.data_size);
    constexpr plan::Place created = plan::Place::created;
    switch (operation.step) {
    case Step::make_directory:
        return {plan::Directory{}, std::move(path), {}, {}, created};
    case Step::make_link:
        return {plan::Symlink{std::move(data)}, std::move(path), {}, {}, created};
    case Step::overlay:
        return {plan::Overlay{0}, std::move(path), {}}; // its mode is not in a journal
    case Step::mount:
        return item_of_mount(operation, std::move(path));
    case Step::replace_file:
    case Step::make_file:
        break;
    }
    if (path == loader_cache)
        return {plan::LoaderCache{std::move(data)}, std::move(path), {}, {}, created};
    return {plan::GeneratedFile{std::move(data)}, std::move(path), {}, {}, created};
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
