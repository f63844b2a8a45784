// SPDX-License-Identifier: MIT
#include "drivers/nvidia/fabric_manager.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/nvidia/kernel.hpp"
#include "drivers/nvidia/libraries.hpp"

#include <algorithm>
#include <fcntl.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace gpucontainer::drivers::nvidia {

using model::DriverStack;
using model::FindingCode;
using model::Stage;

namespace {

constexpr const char* run_directory = "/run/nvidia-fabricmanager";
constexpr const char* program = "/usr/bin/nv-fabricmanager";
constexpr std::string_view process_name = "nv-fabricmanage"; // the kernel keeps 15 characters

/// By what the switches are seen; "" if there are none. Those that a virtual machine has only the
/// GPUs of are another machine's.
Result<std::string> place_of_switches(const DriverStack& driver, host::Enumerator& pci)
{
    const auto node = std::ranges::find_if(driver.nodes, [](const model::DeviceNode& one) {
        return one.path.starts_with("/dev/nvidia-nvswitch");
    });
    if (node != driver.nodes.end())
        return node->host_path;
    GPUCTR_TRY(const auto switches, pci.functions_of_driver("nvidia-nvswitch", pci_vendor),
               "find NVSwitches");
    return switches.empty()
               ? std::string()
               : base::format("/sys/bus/pci/devices/{}/class", switches.front().address);
}

bool is_manager(const std::string& system_root, std::string_view process)
{
    const auto name = base::read_file(base::format("{}/proc/{}/comm", system_root, process));
    return name && base::trim(*name).starts_with(process_name);
}

bool is_process_number(std::string_view name)
{
    return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Its socket is there only with some settings, its process always.
bool runs(const std::string& system_root)
{
    struct stat status = {};
    const std::string socket = base::format("{}{}/socket", system_root, run_directory);
    if (::stat(socket.c_str(), &status) == 0 && S_ISSOCK(status.st_mode))
        return true;
    const auto number =
        base::read_file(base::format("{}{}/nv-fabricmanager.pid", system_root, run_directory));
    if (number && is_process_number(base::trim(*number))
        && is_manager(system_root, base::trim(*number)))
        return true;
    constexpr std::size_t most_processes = 1U << 17U;
    bool found = false;
    const auto all = base::visit_directory(
        AT_FDCWD, system_root + "/proc", most_processes, [&](std::string_view name) {
            found = found || (is_process_number(name) && is_manager(system_root, name));
        });
    return found || !all; // of more processes, nobody knows
}

/// Whether this process sees those of the whole machine: it is in the first namespace, and procfs
/// hides nothing from it.
bool sees_all_processes(const std::string& system_root)
{
    constexpr std::string_view first_namespace = "pid:[4026531836]"; // the kernel's constant
    const auto own = base::read_link(AT_FDCWD, system_root + "/proc/self/ns/pid");
    return (!own || *own == first_namespace) && base::read_file(system_root + "/proc/1/comm");
}

/// It ends at once with a driver of another version, which it has in its text. None if that is not
/// known.
std::optional<bool> has_version(const host::DriverRoot& root, const std::string& version)
{
    constexpr std::size_t largest = 64U << 20U;
    const auto file = root.open_file(program);
    if (!file || !is_driver_version(version))
        return std::nullopt;
    const auto text = base::read_all(file->fd.get(), largest);
    if (!text)
        return std::nullopt;
    return text->find(version) != std::string::npos;
}

} // namespace

Result<void> add_fabric_manager(const Sources& sources, const DriverStack& driver,
                                model::Causes& causes)
{
    GPUCTR_TRY(std::string place, place_of_switches(driver, sources.pci));
    if (place.empty() || runs(sources.system_root))
        return {};
    const auto fits = has_version(sources.driver_root, driver.version);
    const bool is_other = fits.has_value() && !*fits;
    model::Finding finding = {
        FindingCode::service_not_running,
        "fabric manager",
        base::format("does not run, and the NVSwitches of this machine need it: CUDA programs fail "
                     "with CUDA_ERROR_SYSTEM_NOT_READY (802){}",
                     is_other ? base::format("; {} is not of the driver's version {}, with which "
                                             "alone it starts",
                                             program, driver.version)
                              : ""),
        std::move(place),
        is_other ? "install the fabric manager of the driver's version, then `systemctl enable "
                   "--now nvidia-fabricmanager`"
                 : "`systemctl enable --now nvidia-fabricmanager`; its version must be the "
                   "driver's",
        model::Capability::compute};
    const bool is_certain = sees_all_processes(sources.system_root);
    if (!is_certain)
        finding.text = "is not seen from here, and the NVSwitches of this machine need it: without "
                       "it, CUDA programs fail with CUDA_ERROR_SYSTEM_NOT_READY (802)";
    causes.push_back({std::move(finding), Stage::init, model::Blocks::all, is_certain});
    return {};
}

} // namespace gpucontainer::drivers::nvidia
