// SPDX-License-Identifier: MIT
#include "drivers/amd/kernel.hpp"
#include "drivers/intel/kernel.hpp"
#include "fuzz/facts.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/tree.hpp"
#include "host/enumerator.hpp"
#include "search/nodes.hpp"

#include <algorithm>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <utility>
#include <vector>

namespace gpucontainer::fuzz {
namespace {

/// A node that was found is the character device with that number and nothing else.
void check_found(const std::string& root, const search::Nodes& found,
                 const std::vector<model::Gpu>& gpus)
{
    for (const model::DeviceNode& node : found.nodes) {
        struct stat status = {};
        demand(is_node_path(node.path), "a node is below /dev");
        demand(::lstat((root + node.host_path).c_str(), &status) == 0 && S_ISCHR(status.st_mode)
                   && status.st_rdev == makedev(node.major, node.minor),
               "a node is the device that it was looked for as");
        demand(std::ranges::all_of(node.links, is_node_path), "its links are below /dev");
        demand(node.gpu < static_cast<int>(gpus.size()), "it is of a GPU");
    }
    for (const model::DeviceNode& node : found.missing)
        demand(is_node_path(node.path) && node.required, "a missing node is required");
}

/// A name that leads to nodes of two GPUs leads to neither.
void check_links(const std::string& root)
{
    const auto links = search::links_by_path(root, "/dev-root");
    if (!links)
        return;
    for (const auto& [node, names] : *links) {
        demand(is_file_name(node), "links lead to a node of the directory above");
        demand(std::ranges::all_of(names, is_node_path), "links are below /dev");
    }
}

void check_amd(const std::string& root, host::Enumerator& devices)
{
    auto found = drivers::amd::driven_gpus(root, devices);
    if (!found)
        return;
    check_gpus(found->gpus);
    check_wanted(found->nodes, found->gpus);
    model::Findings skipped;
    if (const auto nodes =
            drivers::amd::device_nodes(root, "/dev-root", std::move(found->nodes), skipped))
        check_found(root, *nodes, found->gpus);
}

void check_intel(const std::string& root, host::Enumerator& devices)
{
    const auto found = drivers::intel::find_gpus(root, "/dev-root", devices);
    if (!found)
        return;
    check_gpus(found->gpus);
    check_wanted(found->wanted, found->gpus);
    search::Nodes nodes;
    model::Findings skipped;
    for (const search::WantedNode& wanted : found->wanted)
        if (!search::add_node(root, "/dev-root", wanted, nodes, skipped))
            return;
    check_found(root, nodes, found->gpus);
    if (const auto others = drivers::intel::undriven(devices, *found))
        for (const model::Finding& other : *others)
            demand(std::ranges::none_of(found->gpus,
                                        [&](const model::Gpu& gpu) {
                                            return other.object == "GPU " + gpu.pci_address;
                                        }),
                   "a GPU is driven or not");
}

} // namespace

/// Cards and render nodes: their class, their PCI functions, their nodes and the links
/// to these, as they are where somebody else may write /sys and the node root.
void run(std::string_view input)
{
    static Tree tree;
    (void)tree.fill(input);
    const auto devices = host::make_enumerator(tree.path() + "/sys");
    check_links(tree.path());
    check_amd(tree.path(), *devices);
    check_intel(tree.path(), *devices);
}

} // namespace gpucontainer::fuzz
