// SPDX-License-Identifier: MIT
#include "drivers/amd/kernel.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/amd/topology.hpp"
#include "host/kernel_files.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace gpucontainer::drivers::amd {

using search::WantedNode;

namespace {

using host::ClassDevice;

constexpr const char* kernel_driver = "amdgpu";
constexpr unsigned drm_major = 226;

bool is_render_node(const ClassDevice& part) { return part.name.starts_with("renderD"); }

/// All partitions of a GPU except the first have no PCI function, but a parent "amdgpu_xcp_3", or
/// "amdgpu_xcp.3" on older kernels.
bool is_of_partition(const ClassDevice& part) { return part.parent.starts_with("amdgpu_xcp"); }

bool is_amds(const ClassDevice& part)
{
    return part.driver == kernel_driver || is_of_partition(part);
}

/// A GPU or partition, joined from what KFD and DRM tell.
struct Found {
    TopologyNode node;
    const ClassDevice* render = nullptr;
    const ClassDevice* card = nullptr;
    std::string address;
};

/// The address without its function. In the topology, that is the number of a partition.
std::string slot_of(const TopologyNode& node)
{
    constexpr unsigned byte = 0xff;
    constexpr unsigned five_bits = 0x1f;
    return base::format("{:04x}:{:02x}:{:02x}.", node.domain, node.location >> 8U & byte,
                        node.location >> 3U & five_bits);
}

/// The address comes from the PCI function if there is one: the topology of old kernels lacks the
/// domain, and has another number for a virtual function.
void add_addresses(std::vector<Found>& all)
{
    for (Found& one : all)
        if (one.render != nullptr)
            one.address = one.render->pci_address;
    for (Found& one : all) {
        if (!one.address.empty())
            continue;
        const std::string slot = slot_of(one.node);
        const auto same = std::ranges::find_if(
            all, [&](const Found& other) { return other.address.starts_with(slot); });
        one.address = same != all.end() ? same->address : slot + "0";
    }
}

/// Without a compute driver, it is unknown which partitions are in use. Those with a PCI function
/// are assumed.
std::vector<TopologyNode> assumed_nodes(const std::vector<ClassDevice>& parts)
{
    std::vector<TopologyNode> nodes;
    for (const ClassDevice& part : parts)
        if (is_render_node(part) && part.driver == kernel_driver && !part.pci_address.empty()
            && std::ranges::find(nodes, part.minor, &TopologyNode::render_minor) == nodes.end()) {
            nodes.emplace_back().render_minor = part.minor;
            nodes.back().number = static_cast<unsigned>(nodes.size());
        }
    return nodes;
}

std::vector<Found> join(const std::vector<TopologyNode>& nodes,
                        const std::vector<ClassDevice>& parts)
{
    std::vector<Found> all;
    for (const TopologyNode& node : nodes) {
        Found one = {node, nullptr, nullptr, ""};
        for (const ClassDevice& part : parts)
            if (is_render_node(part) && is_amds(part) && part.minor == node.render_minor)
                one.render = &part;
        for (const ClassDevice& part : parts)
            if (one.render != nullptr && !is_render_node(part) && part.parent == one.render->parent)
                one.card = &part;
        all.push_back(std::move(one));
    }
    add_addresses(all);
    std::ranges::sort(
        all, {}, [](const Found& one) { return std::tie(one.address, one.node.render_minor); });
    return all;
}

void skip_unused(const std::vector<ClassDevice>& parts, const std::vector<Found>& used,
                 model::Findings& findings)
{
    for (const ClassDevice& part : parts)
        if (is_render_node(part) && is_amds(part)
            && std::ranges::find(used, &part, &Found::render) == used.end())
            findings.push_back({model::FindingCode::node_left_out, part.name,
                                is_of_partition(part)
                                    ? "no partition in use has it: it is not in KFD's topology"
                                    : "its GPU is not in KFD's topology: ROCm cannot use it",
                                part.node});
}

/// A UUID as ROCr writes it.
std::string uuid_of(std::uint64_t unique_id)
{
    return unique_id != 0 ? base::format("GPU-{:016x}", unique_id) : std::string();
}

/// What the PCI function of a GPU tells about all its partitions.
struct Card {
    unsigned index = 0;
    unsigned partitions = 0; ///< Number of those found so far.
    std::string uuid;
    std::string model;
    int numa_node = -1;
};

std::string attribute(const std::string& system_root, const std::string& address, const char* name)
{
    const auto text =
        host::read_line(base::format("{}/sys/bus/pci/devices/{}/{}", system_root, address, name));
    return text && *text ? **text : std::string();
}

Card read_card(const std::string& system_root, host::Enumerator& devices,
               const std::string& address)
{
    Card card;
    card.uuid =
        uuid_of(base::to_number(attribute(system_root, address, "unique_id"), 16).value_or(0));
    card.model = attribute(system_root, address, "product_name");
    if (card.model.empty())
        card.model = "AMD device " + attribute(system_root, address, "device");
    card.numa_node = devices.numa_node(address);
    return card;
}

model::Gpu describe(const Found& one, unsigned index, Card& card)
{
    model::Gpu gpu;
    gpu.index = index;
    gpu.uuid = one.node.unique_id != 0 ? uuid_of(one.node.unique_id) : card.uuid;
    gpu.pci_address = one.address;
    gpu.model = card.model;
    gpu.minor = static_cast<int>(one.node.render_minor);
    gpu.numa_node = card.numa_node;
    gpu.architecture = architecture_of(one.node.target);
    gpu.names.push_back(base::format("{}/{}", card.index, card.partitions++));
    // Newer kernels give each partition its own identity.
    if (!card.uuid.empty() && card.uuid != gpu.uuid)
        gpu.names.push_back(card.uuid);
    return gpu;
}

void want_nodes(const Found& one, unsigned gpu, std::vector<WantedNode>& nodes)
{
    WantedNode render;
    render.path = base::format("/dev/dri/renderD{}", one.node.render_minor);
    render.major = drm_major;
    render.minor = one.node.render_minor;
    render.gpu = static_cast<int>(gpu);
    nodes.push_back(render);
    if (one.card == nullptr)
        return;
    WantedNode card = render;
    card.path = "/dev/dri/" + one.card->name;
    card.minor = one.card->minor;
    card.required = false;
    nodes.push_back(std::move(card));
}

/// Positions of the GPUs in the order of KFD's nodes.
std::vector<unsigned> order_of(const std::vector<Found>& all)
{
    std::vector<unsigned> order(all.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](unsigned index) { return all[index].node.number; });
    return order;
}

} // namespace

Result<Gpus> driven_gpus(const std::string& system_root, host::Enumerator& devices)
{
    GPUCTR_TRY(Topology topology, read_topology(system_root));
    GPUCTR_TRY(const auto parts, devices.class_devices("drm"), "find AMD GPUs");
    Gpus found;
    found.findings = std::move(topology.findings);
    const auto all = join(topology.present ? topology.gpus : assumed_nodes(parts), parts);
    skip_unused(parts, all, found.findings);
    std::map<std::string, Card> cards;
    for (const Found& one : all) {
        if (!cards.contains(one.address)) {
            Card card = read_card(system_root, devices, one.address);
            card.index = static_cast<unsigned>(cards.size());
            cards.emplace(one.address, std::move(card));
        }
        const auto index = static_cast<unsigned>(found.gpus.size());
        found.gpus.push_back(describe(one, index, cards.at(one.address)));
        want_nodes(one, index, found.nodes);
    }
    found.library_order = order_of(all);
    return found;
}

Result<std::vector<std::string>> undriven_gpus(host::Enumerator& devices)
{
    constexpr std::uint32_t processing_accelerator = 0x12;
    GPUCTR_TRY(const auto functions, devices.pci_functions(pci_vendor), "find AMD GPUs");
    std::vector<std::string> found;
    for (const host::PciDevice& function : functions)
        if (host::is_display_controller(function)
            || function.class_code >> 16U == processing_accelerator)
            found.push_back(base::format("{} ({})", function.address,
                                         function.driver.empty() ? "no driver" : function.driver));
    return found;
}

Result<search::Nodes> device_nodes(const std::string& system_root, const std::string& dev_root,
                                   std::vector<WantedNode> of_gpus, model::Findings& findings)
{
    const std::string path = "/proc/devices";
    const auto devices = base::read_file(system_root + path);
    if (!devices && base::leaves_open(devices.error().os_error()))
        return unreadable(devices.error(), path);
    GPUCTR_TRY(auto links, search::links_by_path(system_root, dev_root));
    WantedNode kfd;
    kfd.path = "/dev/kfd";
    kfd.major = devices ? search::character_major(*devices, "kfd") : std::nullopt;

    search::Nodes found;
    GPUCTR_CHECK(search::add_node(system_root, dev_root, kfd, found, findings));
    for (WantedNode& node : of_gpus) {
        node.links = std::move(links[std::string(base::name_of(node.path))]);
        GPUCTR_CHECK(search::add_node(system_root, dev_root, node, found, findings));
    }
    return found;
}

} // namespace gpucontainer::drivers::amd
