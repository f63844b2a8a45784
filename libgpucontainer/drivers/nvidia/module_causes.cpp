// SPDX-License-Identifier: MIT
#include "drivers/nvidia/module_causes.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/nvidia/extras.hpp"
#include "drivers/nvidia/fabric_manager.hpp"
#include "drivers/nvidia/kernel.hpp"
#include "host/kernel_files.hpp"
#include "search/nodes.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <sys/utsname.h>
#include <utility>

namespace gpucontainer::drivers::nvidia {

using model::Blocks;
using model::Capability;
using model::DeviceNode;
using model::DriverStack;
using model::FindingCode;
using model::Stage;

namespace {

constexpr std::string_view uvm_node = "/dev/nvidia-uvm";
constexpr std::string_view modeset_node = "/dev/nvidia-modeset";

const DeviceNode* find_in(const std::vector<DeviceNode>& nodes, std::string_view path)
{
    const auto found = std::ranges::find(nodes, path, &DeviceNode::path);
    return found == nodes.end() ? nullptr : &*found;
}

model::Cause without_uvm(const DriverStack& driver, bool is_loaded)
{
    const DeviceNode* const node = find_in(driver.nodes, uvm_node);
    const DeviceNode* const missing = find_in(driver.missing_nodes, uvm_node);
    constexpr const char* effect = "nvidia-smi works without it, CUDA programs do not";
    model::Cause cause = {{FindingCode::compute_node_unusable, std::string(uvm_node), "",
                           node != nullptr ? node->host_path : std::string(uvm_node), "",
                           Capability::compute},
                          Stage::init};
    if (node != nullptr) {
        cause.finding.text =
            base::format("may not be used: {}; {}", driver.obstacle_to(*node), effect);
        cause.finding.hint = "ask for access to it, as to the GPUs' own nodes";
    } else if (!is_loaded) {
        cause.finding.text = base::format(
            "is missing, because the kernel module nvidia-uvm is not loaded: {}", effect);
        cause.finding.hint = "as root: `modprobe nvidia-uvm`, then `nvidia-modprobe -u -c 0`";
    } else {
        cause.finding.text = base::format("is missing: {}", effect);
        cause.finding.hint = "`nvidia-modprobe -u -c 0` as root makes it";
        cause.mended = missing != nullptr && missing->makeable;
    }
    return cause;
}

/// A node with a wrong number is a cause of its own.
void add_uvm(const DriverStack& driver, bool is_loaded, model::Causes& causes)
{
    const DeviceNode* const node = find_in(driver.nodes, uvm_node);
    const DeviceNode* const missing = find_in(driver.missing_nodes, uvm_node);
    const DeviceNode* const control = find_in(driver.nodes, "/dev/nvidiactl");
    // What keeps this user from all of the driver's nodes is told once.
    const bool is_told = node != nullptr && control != nullptr && !control->accessible
                         && control->cgroup_forbids == node->cgroup_forbids;
    if ((node == nullptr || !node->accessible) && !is_told
        && (missing == nullptr || missing->problem.empty()))
        causes.push_back(without_uvm(driver, is_loaded));
}

void add_modeset(const DriverStack& driver, model::Causes& causes)
{
    if (find_in(driver.nodes, modeset_node) != nullptr
        || find_in(driver.missing_nodes, modeset_node) != nullptr)
        return;
    causes.push_back({{FindingCode::node_missing, std::string(modeset_node),
                       "is missing, though its kernel module is loaded: Vulkan and EGL show no GPU "
                       "of NVIDIA's on a display",
                       std::string(modeset_node), "`nvidia-modprobe -m -c 0` as root makes it",
                       Capability::graphics},
                      Stage::feature,
                      Blocks::some});
}

/// Major and minor number in a kernel's release: {6, 13} of "6.13.4-generic".
std::pair<unsigned, unsigned> numbers_in(std::string_view release)
{
    const auto parts = base::split(release.substr(0, release.find('-')), '.');
    const auto number = [&](std::size_t place) {
        const auto found = place < parts.size() ? base::to_number(parts[place]) : std::nullopt;
        constexpr std::uint64_t most = 1000;
        return found && *found < most ? static_cast<unsigned>(*found) : 0;
    };
    return {number(0), number(1)};
}

/// Kernels whose random placement of memory leaves too little room for that of GPUs: from the one
/// that told modules where memory may end to the one that keeps room for them, and those of
/// distributions that took over the former alone.
bool has_random_memory(std::string_view release)
{
    utsname kernel = {};
    if (::uname(&kernel) != 0 || std::string_view(kernel.machine) != "x86_64")
        return false; // it is theirs alone
    const auto numbers = numbers_in(release);
    return (numbers >= std::pair(6U, 10U) && numbers < std::pair(6U, 15U))
           || (release.find(".el9") != std::string_view::npos && numbers == std::pair(5U, 14U));
}

Result<void> add_hmm(const std::string& system_root, model::Causes& causes)
{
    const std::string parameter = "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm";
    GPUCTR_TRY(const auto disabled, host::read_value(system_root + parameter));
    if (disabled != "N" || !is_open_module(system_root))
        return {};
    GPUCTR_TRY(const auto release, host::kernel_release(system_root));
    GPUCTR_TRY(const auto words, host::read_value(system_root + "/proc/cmdline"));
    const std::string line = words.value_or("");
    const auto all = base::split(line, ' ');
    if (!has_random_memory(release.value_or(""))
        || std::ranges::find(all, std::string_view("nokaslr")) != all.end())
        return {};
    causes.push_back(
        {{FindingCode::kernel_unready, "HMM",
          base::format("the open module uses it on kernel {}, which places memory at random "
                       "addresses: on some machines cuInit then fails with "
                       "CUDA_ERROR_NOT_INITIALIZED (3), though nvidia-smi works",
                       *release),
          parameter,
          "if it fails: `options nvidia_uvm uvm_disable_hmm=1` in /etc/modprobe.d, or `nokaslr` on "
          "the kernel's command line, and reboot",
          Capability::compute},
         Stage::init,
         Blocks::all,
         false});
    return {};
}

/// CUDA asks a server that it finds, and fails if that is not for it.
void add_mps(const DriverStack& driver, model::Causes& causes)
{
    for (const model::SharedPath& shared : driver.shared_paths)
        if (shared.extra == mps_directory.extra && !shared.accessible)
            causes.push_back(
                {{FindingCode::file_unusable, shared.path,
                  "an MPS server is there that this user may not ask: CUDA programs may fail with "
                  "CUDA_ERROR_MPS_CONNECTION_FAILED",
                  shared.path,
                  base::format("set {} to a directory of the user's own, or have its server ended",
                               mps_directory.variable),
                  Capability::compute},
                 Stage::init,
                 Blocks::all,
                 false});
}

} // namespace

Result<void> add_module_causes(const Sources& sources, const DriverStack& driver,
                               model::Causes& causes)
{
    const auto devices = base::read_file(sources.system_root + "/proc/devices");
    const std::string characters = devices ? *devices : "";
    add_uvm(driver, search::character_major(characters, "nvidia-uvm").has_value(), causes);
    if (search::character_major(characters, "nvidia-modeset"))
        add_modeset(driver, causes);
    add_mps(driver, causes);
    GPUCTR_CHECK(add_hmm(sources.system_root, causes));
    return add_fabric_manager(sources, driver, causes);
}

} // namespace gpucontainer::drivers::nvidia
