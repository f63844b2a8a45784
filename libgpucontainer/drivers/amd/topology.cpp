// SPDX-License-Identifier: MIT
#include "drivers/amd/topology.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <limits>

namespace gpucontainer::drivers::amd {

Error unreadable(const Error& error, const std::string& path)
{
    return Error::from_errno(error.os_error(), path, Errc::driver).with_object(path);
}

namespace {

constexpr const char* nodes = "/sys/class/kfd/kfd/topology/nodes";
constexpr std::size_t most_nodes = 4096;

constexpr std::uint64_t most_minors = 1U << 20U; // the kernel's limit

std::uint32_t narrow(std::uint64_t number,
                     std::uint64_t most = std::numeric_limits<std::uint32_t>::max())
{
    return number <= most ? static_cast<std::uint32_t>(number) : 0;
}

} // namespace

TopologyNode parse_properties(std::string_view text)
{
    TopologyNode node;
    for (const std::string_view line : base::split(text, '\n')) {
        const auto space = line.find(' ');
        const std::string_view name = line.substr(0, space);
        const auto number = space == std::string_view::npos
                                ? std::nullopt
                                : base::to_number(base::trim(line.substr(space)));
        if (!number)
            continue;
        if (name == "simd_count")
            node.has_simd = *number != 0;
        else if (name == "drm_render_minor")
            node.render_minor = narrow(*number, most_minors - 1);
        else if (name == "unique_id")
            node.unique_id = *number;
        else if (name == "domain")
            node.domain = narrow(*number);
        else if (name == "location_id")
            node.location = narrow(*number);
        else if (name == "gfx_target_version")
            node.target = narrow(*number);
    }
    return node;
}

namespace {

Result<void> read_node(const std::string& system_root, const std::string& name, Topology& found)
{
    const std::string place = base::format("{}/{}/properties", nodes, name);
    const auto skip = [&](std::string reason) {
        found.findings.push_back(
            {model::FindingCode::gpu_unusable, "KFD node " + name, std::move(reason), place});
        return Result<void>();
    };
    const auto number = base::to_number(name);
    const auto text = base::read_file(system_root + place);
    // The kernel driver checks the device cgroup of the reader.
    if (!text && text.error().os_error() == EPERM)
        return skip("the device cgroup forbids its GPU");
    if (!text && base::leaves_open(text.error().os_error()))
        return unreadable(text.error(), place);
    if (!text || !number)
        return skip(text ? "has no number" : text.error().message());
    TopologyNode node = parse_properties(*text);
    node.number = narrow(*number);
    if (node.render_minor == 0)
        return node.has_simd ? skip("a GPU without a render node") : Result<void>();
    if (std::ranges::find(found.gpus, node.render_minor, &TopologyNode::render_minor)
        != found.gpus.end())
        return skip("its render node is that of another GPU");
    found.gpus.push_back(node);
    return {};
}

} // namespace

Result<Topology> read_topology(const std::string& system_root)
{
    const auto names = base::list_directory(AT_FDCWD, system_root + nodes, most_nodes);
    if (!names && base::leaves_open(names.error().os_error()))
        return unreadable(names.error(), nodes);
    Topology found;
    found.present = names.has_value();
    for (const std::string& name : names ? *names : std::vector<std::string>())
        GPUCTR_CHECK(read_node(system_root, name, found));
    std::ranges::sort(found.gpus, {}, &TopologyNode::number);
    return found;
}

std::string architecture_of(std::uint32_t target)
{
    constexpr std::uint32_t hundred = 100;
    if (target == 0)
        return "";
    return base::format("gfx{}{}{:x}", target / hundred / hundred, target / hundred % hundred,
                        target % hundred);
}

} // namespace gpucontainer::drivers::amd
