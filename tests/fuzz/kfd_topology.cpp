// SPDX-License-Identifier: MIT
#include "drivers/amd/topology.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/amd/kernel.hpp"
#include "fuzz/facts.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/tree.hpp"
#include "unit/drivers/fake_enumerator.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace gpucontainer::fuzz {
namespace {

/// The class of the graphics driver: of each line in the head one device,
/// "renderD128 128 0000:03:00.0 amdgpu". No two have a name, and each stands alone.
test::FakeEnumerator devices_of(std::string_view head)
{
    constexpr std::size_t fields = 4;
    constexpr unsigned drm_major = 226;
    test::FakeEnumerator devices;
    std::set<std::string_view> names;
    for (const std::string_view line : base::split(head, '\n')) {
        const auto words = base::split(line, ' ');
        if (words.size() != fields || !is_file_name(words[0]) || !is_file_name(words[2])
            || !names.insert(words[0]).second)
            continue;
        constexpr std::uint64_t minors = 1U << 20U;
        const auto minor = base::to_number(words[1]).value_or(0) % minors;
        devices.parts["drm"].push_back({std::string(words[0]), "/dev/dri/" + std::string(words[0]),
                                        drm_major, static_cast<unsigned>(minor),
                                        std::string(words[2]), std::string(words[3]),
                                        is_pci_address(words[2]) ? std::string(words[2]) : ""});
    }
    return devices;
}

void check_topology(const std::string& root)
{
    const auto topology = drivers::amd::read_topology(root);
    if (!topology)
        return;
    demand(topology->present || topology->gpus.empty(), "GPUs are those of a driver");
    demand(std::ranges::is_sorted(topology->gpus, {}, &drivers::amd::TopologyNode::number),
           "nodes are in order");
    for (const drivers::amd::TopologyNode& node : topology->gpus) {
        demand(node.render_minor != 0, "each has a render node");
        demand(is_plain(drivers::amd::architecture_of(node.target)), "an architecture is a word");
    }
}

template <typename Values>
bool are_different(Values values)
{
    std::ranges::sort(values);
    return std::ranges::adjacent_find(values) == values.end();
}

/// What a user types means one GPU, and what he gets of it is that GPU's.
void check_choice(const drivers::amd::Gpus& found)
{
    std::vector<int> minors;
    std::vector<std::string> names;
    for (const model::Gpu& gpu : found.gpus) {
        demand(gpu.minor >= 0, "a GPU has a render node");
        minors.push_back(gpu.minor);
        demand(!gpu.names.empty(), "a GPU has a name");
        names.push_back(gpu.names.front());
    }
    demand(are_different(minors), "no two GPUs share a render node");
    demand(are_different(names), "a name is that of one GPU");
    std::vector<unsigned> all(found.gpus.size());
    std::iota(all.begin(), all.end(), 0U);
    demand(std::ranges::is_permutation(found.library_order, all), "each counts once");
    for (const search::WantedNode& node : found.nodes)
        demand(!node.required
                   || node.path
                          == base::format("/dev/dri/renderD{}",
                                          found.gpus.at(static_cast<std::size_t>(node.gpu)).minor),
               "the node that a GPU needs is its own");
}

} // namespace

/// The tree of the compute driver with the attributes of the PCI functions, whole, and
/// in the head the devices of the graphics driver.
void run(std::string_view input)
{
    static Tree tree;
    auto devices = devices_of(tree.fill(input));
    check_topology(tree.path());
    const auto found = drivers::amd::driven_gpus(tree.path(), devices);
    if (!found)
        return;
    check_gpus(found->gpus);
    check_wanted(found->nodes, found->gpus);
    check_choice(*found);
}

} // namespace gpucontainer::fuzz
