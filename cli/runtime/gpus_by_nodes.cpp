// SPDX-License-Identifier: MIT
#include "runtime/gpus_by_nodes.hpp"

#include "output/format.hpp"
#include "process/descriptor.hpp"
#include "syscall/mount_number.hpp"

#include <cstdint>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <utility>
#include <vector>

namespace gpuctr_cli {
namespace {

/// Whether it is on another mount than the root, where an image may have nodes of its own.
bool is_mounted(int rootfs_fd, int node)
{
    std::uint64_t of_root = 0;
    std::uint64_t of_node = 0;
    return gpucontainer::syscall::mount_number(rootfs_fd, of_root)
           && gpucontainer::syscall::mount_number(node, of_node) && of_root != of_node;
}

/// Whether an engine gave the very node to the root. Its paths are looked up within it.
bool has_node(int rootfs_fd, const gpucontainer::Item& item)
{
    try {
        const Fd node(gpucontainer::open_in_root(rootfs_fd, std::string(item.target()), O_PATH));
        struct stat status = {};
        return ::fstat(node.get(), &status) == 0 && S_ISCHR(status.st_mode)
               && major(status.st_rdev) == item.major_number()
               && minor(status.st_rdev) == item.minor_number() && is_mounted(rootfs_fd, node.get());
    } catch (const gpucontainer::Error&) {
        return false;
    }
}

/// A word that chooses the GPU.
std::string word_of(const gpucontainer::Gpu& gpu)
{
    // An instance has no number of its own that a user would choose it by.
    if (gpu.parent() && !gpu.names().empty())
        return std::string(*gpu.names().begin());
    return formatted("{}", gpu.index());
}

/// Which nodes of a driver's GPUs the root has.
struct Nodes {
    std::map<unsigned, bool> own; ///< By the GPU's index: whether all are there.
    bool shared = false;          ///< Whether there is one of those that all GPUs use.
};

std::map<std::string, Nodes> nodes_in(int rootfs_fd, const gpucontainer::Plan& plan)
{
    std::map<std::string, Nodes> nodes;
    for (const auto item : plan.items()) {
        if (item.kind() != "device")
            continue;
        const bool there = has_node(rootfs_fd, item);
        Nodes& of = nodes[std::string(item.vendor())];
        if (item.gpu() < 0)
            of.shared = of.shared || there;
        else if (bool& all =
                     of.own.try_emplace(static_cast<unsigned>(item.gpu()), true).first->second;
                 !there)
            all = false;
    }
    return nodes;
}

std::string_view kind_of(const gpucontainer::Host& host, std::string_view vendor)
{
    for (const auto driver : host.drivers())
        if (driver.vendor() == vendor)
            return driver.cdi_kind();
    return "";
}

} // namespace

std::string gpus_by_nodes(const gpucontainer::Host& host, gpucontainer::Request request,
                          int rootfs_fd)
{
    request.devices = "all";
    request.environment = nullptr;
    request.container_environment.clear();
    request.layout = GPUCTR_LAYOUT_BINDS;
    request.vendor_libs = GPUCTR_VENDOR_LIBS_NONE;
    const gpucontainer::Plan plan(host, request, -1);
    std::map<std::string, Nodes> nodes = nodes_in(rootfs_fd, plan);
    std::vector<std::string> words;
    for (const auto driver : plan.drivers()) {
        std::set<unsigned> divided;
        for (const auto gpu : driver.gpus())
            if (gpu.parent())
                divided.insert(*gpu.parent());
        const Nodes& found = nodes[std::string(driver.vendor())];
        const std::string_view kind = kind_of(host, driver.vendor());
        if (found.own.empty() && found.shared)
            words.push_back(formatted("{}=all", kind));
        for (const auto gpu : driver.gpus())
            if (const auto own = found.own.find(gpu.index());
                own != found.own.end() && own->second && !divided.contains(gpu.index()))
                words.push_back(formatted("{}={}", kind, word_of(gpu)));
    }
    return formatted("{}", fmt::join(words, ","));
}

void require_nodes_of_engine(const gpucontainer::Plan& plan, int rootfs_fd)
{
    for (const auto item : plan.items())
        if (item.kind() == "device" && !has_node(rootfs_fd, item))
            throw gpucontainer::Error(
                GPUCTR_E_PERMISSION,
                formatted("{}: the engine did not give it to the container", item.target()),
                "write the specification again: gpuctr-setup cdi generate", 0,
                std::string(item.target()));
}

} // namespace gpuctr_cli
