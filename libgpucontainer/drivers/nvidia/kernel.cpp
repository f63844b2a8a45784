// SPDX-License-Identifier: MIT
#include "drivers/nvidia/kernel.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/nvidia/extras.hpp"
#include "drivers/nvidia/facts.hpp"
#include "drivers/nvidia/lost.hpp"
#include "drivers/nvidia/mig.hpp"
#include "drivers/nvidia/proc_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <sys/stat.h>

namespace gpucontainer::drivers::nvidia {

using model::Capability;
using model::Gpu;
using model::Mask;

namespace {

constexpr const char* own_driver = "nvidia";
constexpr unsigned node_major = 195; // reserved for NVIDIA in the kernel
constexpr unsigned control_minor = 255;
constexpr unsigned modeset_minor = 254;
constexpr std::size_t most_gpus = 256;
constexpr const char* uvm_path = "/dev/nvidia-uvm";
constexpr const char* parameters_path = "/proc/driver/nvidia/params";
constexpr const char* information_directory = "/proc/driver/nvidia/gpus";

bool is_version(std::string_view text)
{
    return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos
           && text.find('.') != std::string_view::npos;
}

/// The first word that is a version in "NVRM version: NVIDIA UNIX Open Kernel
/// Module for x86_64  580.159.04  Release Build".
std::optional<std::string> version_in(std::string_view text)
{
    for (std::string_view word : base::split(text.substr(0, text.find('\n')), ' '))
        if (is_version(word))
            return std::string(word);
    return std::nullopt;
}

/// For a file that cannot be read although it may exist. It must not count as missing.
Error unreadable(const Error& error, const std::string& path)
{
    return Error::from_errno(error.os_error(), path, Errc::driver).with_object(path);
}

Result<std::optional<Gpu>> read_information(const std::string& path, const std::string& address,
                                            model::Findings& findings)
{
    const std::optional<Gpu> none;
    const auto text = base::read_file(path);
    if (!text && base::leaves_open(text.error().os_error()))
        return unreadable(text.error(), path);
    if (!text) {
        findings.push_back(
            {model::FindingCode::gpu_unusable, "GPU " + address, text.error().message(), path});
        return none;
    }
    auto field = fields(*text);
    Gpu gpu;
    gpu.pci_address = base::to_lower(address);
    // The driver writes "GPU-????????-..." until something has used the GPU.
    if (const std::string& uuid = field["GPU UUID"]; uuid.find('?') == std::string::npos)
        gpu.uuid = uuid;
    gpu.model = field["Model"];
    const auto minor = base::to_number(field["Device Minor"]);
    if (minor && *minor < control_minor)
        gpu.minor = static_cast<int>(*minor);
    if (field["GPU Excluded"] == "Yes") {
        findings.push_back({model::FindingCode::gpu_unusable, "GPU " + address,
                            "the driver was told to exclude it", path});
        return none;
    }
    if (gpu.minor < 0)
        findings.push_back({model::FindingCode::gpu_unusable, "GPU " + address,
                            "the driver does not tell its device node: no Device Minor in its "
                            "information",
                            path});
    return std::optional(std::move(gpu));
}

void number(std::vector<Gpu>& gpus)
{
    std::sort(gpus.begin(), gpus.end(),
              [](const Gpu& a, const Gpu& b) { return a.pci_address < b.pci_address; });
    for (unsigned index = 0; index < gpus.size(); ++index)
        gpus[index].index = index;
}

/// How a GPU gets NVIDIA's driver that another one has; "" if none has it.
std::string advice_for(const std::string& driver)
{
    if (driver.empty() || driver == own_driver)
        return "";
    if (driver.find("vfio") != std::string::npos)
        return base::format("{} keeps a GPU for virtual machines; bind it to nvidia instead",
                            driver);
    return base::format("a GPU has one driver: install NVIDIA's, keep {} from loading "
                        "(`blacklist {}` in /etc/modprobe.d), and reboot",
                        driver, driver);
}

model::Finding bound(const host::PciDevice& device)
{
    return {model::FindingCode::gpu_unusable, "GPU " + device.address,
            device.driver.empty() ? "no kernel driver is bound to it"
                                  : "bound to the kernel driver " + device.driver,
            "/sys/bus/pci/devices/" + device.address};
}

bool is_driven(const std::vector<Gpu>& gpus)
{
    return std::any_of(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.minor >= 0; });
}

} // namespace

Result<std::optional<std::string>> module_version(const std::string& system_root)
{
    const auto sysfs = base::read_file(system_root + "/sys/module/nvidia/version");
    if (sysfs && is_version(base::trim(*sysfs)))
        return std::optional(std::string(base::trim(*sysfs)));

    const std::string path = system_root + "/proc/driver/nvidia/version";
    const auto procfs = base::read_file(path);
    if (!procfs && procfs.error().os_error() == ENOENT)
        return std::optional<std::string>();
    if (!procfs)
        return Error::from_errno(procfs.error().os_error(), path, Errc::driver).with_object(path);
    auto version = version_in(*procfs);
    if (!version)
        return Error(Errc::driver, path + ": no version in it").with_object(path);
    return version;
}

bool is_open_module(const std::string& system_root)
{
    const auto text = base::read_file(system_root + "/proc/driver/nvidia/version");
    return text && text->find("Open Kernel Module") != std::string::npos;
}

Result<Gpus> driven_gpus(const std::string& system_root, host::Enumerator& pci)
{
    const std::string directory = system_root + information_directory;
    auto addresses = base::list_directory(-1, directory, most_gpus);
    if (!addresses && addresses.error().os_error() != ENOENT)
        return std::move(addresses).error().context("find NVIDIA GPUs");

    Gpus found;
    if (addresses)
        for (const std::string& address : *addresses) {
            GPUCTR_TRY(auto gpu,
                       read_information(base::format("{}/{}/information", directory, address),
                                        address, found.findings));
            if (gpu)
                found.gpus.push_back(*std::move(gpu));
        }

    for (Gpu& gpu : found.gpus) {
        gpu.numa_node = pci.numa_node(gpu.pci_address);
        gpu.architecture = architecture_of_device(pci.device_id(gpu.pci_address));
        if (gpu.minor >= 0 && has_fallen_off_bus(system_root, gpu.pci_address)) {
            gpu.minor = -1; // it keeps its place in NVIDIA's order
            found.findings.push_back(
                {model::FindingCode::gpu_unusable, "GPU " + gpu.pci_address,
                 "it has fallen off the bus: nothing answers at its address",
                 "/sys/bus/pci/devices/" + gpu.pci_address,
                 "look for `Xid 79` in the kernel's log; a reset or reboot may bring it back"});
        }
    }
    number(found.gpus);
    GPUCTR_TRY(found.rights.instances, find_instances(system_root, found.gpus, found.findings));
    add_instances(found.rights.instances, found.gpus);
    found.rights.management = find_management(system_root);
    return found;
}

Result<model::Findings> gpus_of_others(host::Enumerator& pci)
{
    // Servers have hundreds of functions, and these drivers a few at most.
    constexpr std::array others = {"nouveau", "nova_core", "vfio-pci", "nvgrace_gpu_vfio_pci",
                                   "pci-stub"};
    model::Findings found;
    for (const char* driver : others) {
        GPUCTR_TRY(const auto devices, pci.functions_of_driver(driver, pci_vendor),
                   "find NVIDIA GPUs");
        for (const host::PciDevice& device : devices)
            if (host::is_display_controller(device))
                found.push_back(bound(device));
    }
    return found;
}

Result<model::Findings> gpus_beside_module(host::Enumerator& pci)
{
    GPUCTR_TRY(const auto devices, pci.pci_functions(pci_vendor), "find NVIDIA GPUs");
    model::Findings found;
    for (const host::PciDevice& device : devices) {
        if (!host::is_display_controller(device) || device.driver == own_driver)
            continue;
        found.push_back(bound(device));
        if (device.driver.empty())
            found.back().hint = "the module may be too new or too old for it: look for NVRM "
                                "messages in the kernel's log";
    }
    return found;
}

Result<Gpus> undriven_gpus(host::Enumerator& pci)
{
    GPUCTR_TRY(const auto devices, pci.pci_functions(pci_vendor), "find NVIDIA GPUs");
    Gpus found;
    for (const host::PciDevice& device : devices) {
        if (!host::is_display_controller(device))
            continue;
        Gpu gpu;
        gpu.pci_address = device.address;
        gpu.model = base::format("NVIDIA device {:04x}", device.device_id);
        gpu.numa_node = device.numa_node;
        gpu.architecture = architecture_of_device(device.device_id);
        found.gpus.push_back(std::move(gpu));
        found.findings.push_back(bound(device));
        if (found.advice.empty())
            found.advice = advice_for(device.driver);
    }
    number(found.gpus);
    return found;
}

namespace {

/// The rights with which the driver has its nodes made; none if nobody shall make them.
Result<std::optional<search::NodeRights>> rights_of_nodes(const std::string& system_root)
{
    std::optional<search::NodeRights> none;
    const auto text = base::read_file(system_root + parameters_path);
    if (!text && base::leaves_open(text.error().os_error()))
        return unreadable(text.error(), parameters_path);
    if (!text)
        return none;
    auto field = fields(*text);
    constexpr std::uint64_t permissions = 0777;
    const auto mode = base::to_number(field["DeviceFileMode"]);
    const auto uid = base::to_number(field["DeviceFileUID"]);
    const auto gid = base::to_number(field["DeviceFileGID"]);
    const auto is_id = [](const auto& id) { return id && *id < UINT32_MAX; };
    if (field["ModifyDeviceFiles"] != "1" || !mode || *mode > permissions || !is_id(uid)
        || !is_id(gid))
        return none;
    return std::optional(search::NodeRights{static_cast<std::uint32_t>(*mode),
                                            static_cast<std::uint32_t>(*uid),
                                            static_cast<std::uint32_t>(*gid)});
}

bool is_node_of_right(const search::WantedNode& node)
{
    return node.path.starts_with("/dev/nvidia-caps/");
}

bool is_card_or_render_node(const host::ClassDevice& device)
{
    return device.node.starts_with("/dev/dri/card") || device.node.starts_with("/dev/dri/renderD");
}

/// The nodes that nvidia-drm makes of the GPUs, for X.Org, EGL, GBM and Vulkan.
Result<void> want_drm_nodes(const std::string& system_root, const std::string& dev_root,
                            const std::vector<Gpu>& gpus, host::Enumerator& pci,
                            std::vector<search::WantedNode>& wanted)
{
    GPUCTR_TRY(auto devices, pci.class_devices("drm"), "find DRM nodes");
    std::erase_if(devices, [](const auto& device) { return !is_card_or_render_node(device); });
    if (devices.empty())
        return {};
    GPUCTR_TRY(auto links, search::links_by_path(system_root, dev_root));
    for (const host::ClassDevice& device : devices)
        for (const Gpu& gpu : gpus)
            if (gpu.minor >= 0 && !gpu.is_instance() && gpu.pci_address == device.pci_address)
                wanted.push_back({device.node, device.major, device.minor,
                                  static_cast<int>(gpu.index), Capability::graphics, false,
                                  links[device.name]});
    return {};
}

/// Those of the driver's own modules, whose major numbers are in `devices`.
std::vector<search::WantedNode> own_nodes(const std::string& devices, const std::vector<Gpu>& gpus,
                                          const Rights& rights)
{
    const auto uvm = search::character_major(devices, "nvidia-uvm");
    std::vector<search::WantedNode> wanted = {
        {"/dev/nvidiactl", node_major, control_minor, -1, Capability::none, is_driven(gpus), {}},
        {uvm_path, uvm, 0, -1, Capability::compute, false, {}},
        {"/dev/nvidia-uvm-tools", uvm, 1, -1, Capability::compute, false, {}},
    };
    for (const Gpu& gpu : gpus)
        if (gpu.minor >= 0 && !gpu.is_instance())
            wanted.push_back({base::format("/dev/nvidia{}", gpu.minor),
                              node_major,
                              static_cast<unsigned>(gpu.minor),
                              static_cast<int>(gpu.index),
                              Capability::none,
                              true,
                              {}});
    std::ranges::move(nodes_of(rights, static_cast<unsigned>(gpus.size() - rights.instances.size()),
                               search::character_major(devices, "nvidia-caps")),
                      std::back_inserter(wanted));
    if (const auto modeset = search::character_major(devices, "nvidia-modeset"))
        wanted.push_back(
            {"/dev/nvidia-modeset", modeset, modeset_minor, -1, Capability::graphics, false, {}});
    return wanted;
}

Result<std::string> read_devices(const std::string& system_root)
{
    const std::string path = system_root + "/proc/devices";
    auto devices = base::read_file(path);
    if (!devices && base::leaves_open(devices.error().os_error()))
        return unreadable(devices.error(), path);
    return devices ? *std::move(devices) : std::string();
}

} // namespace

Result<std::vector<search::WantedNode>> host_nodes(const std::string& system_root,
                                                   host::Enumerator& pci)
{
    GPUCTR_TRY(const Gpus found, driven_gpus(system_root, pci));
    GPUCTR_TRY(const auto devices, read_devices(system_root));
    GPUCTR_TRY(const auto of_nodes, rights_of_nodes(system_root));
    auto nodes = own_nodes(devices, found.gpus, found.rights);
    for (search::WantedNode& node : nodes)
        if (!of_nodes || !is_node_of_right(node))
            node.rights = of_nodes;
    return nodes;
}

namespace {

/// Those below a root of nodes, with the rights with which a container can have them made.
Result<std::vector<search::WantedNode>> wanted_nodes(const std::string& system_root,
                                                     const std::string& dev_root,
                                                     const std::vector<Gpu>& gpus,
                                                     host::Enumerator& pci, const Rights& rights)
{
    GPUCTR_TRY(const auto devices, read_devices(system_root));
    GPUCTR_TRY(const auto of_nodes, rights_of_nodes(system_root));
    auto wanted = own_nodes(devices, gpus, rights);
    for (search::WantedNode& node : wanted) // those of rights are made on the host alone
        node.rights = is_node_of_right(node) ? std::nullopt : of_nodes;
    // udev makes these.
    GPUCTR_CHECK(want_drm_nodes(system_root, dev_root, gpus, pci, wanted));
    return wanted;
}

} // namespace

Result<search::Nodes> device_nodes(const std::string& system_root, const std::string& dev_root,
                                   const std::vector<Gpu>& gpus, host::Enumerator& pci,
                                   const Rights& rights, model::Findings& findings)
{
    GPUCTR_TRY(const auto wanted, wanted_nodes(system_root, dev_root, gpus, pci, rights));
    search::Nodes found;
    for (const search::WantedNode& node : wanted)
        GPUCTR_CHECK(search::add_node(system_root, dev_root, node, found, findings));
    GPUCTR_CHECK(add_extra_nodes(system_root, dev_root, found, findings));
    return found;
}

model::Findings warnings(const std::vector<Gpu>& gpus, const std::vector<model::DeviceNode>& nodes)
{
    const auto uvm = std::find_if(nodes.begin(), nodes.end(), [](const model::DeviceNode& node) {
        return node.path == uvm_path;
    });
    if (!is_driven(gpus) || (uvm != nodes.end() && uvm->accessible))
        return {};
    const bool is_missing = uvm == nodes.end();
    return {{model::FindingCode::compute_node_unusable, uvm_path,
             base::format("{}: nvidia-smi works without it, CUDA programs do not",
                          is_missing ? "is missing" : "may not be used"),
             "", is_missing ? "`nvidia-modprobe -u -c 0` as root makes it" : "",
             Capability::compute}};
}

Result<void> mask_parameters(const std::string& system_root, std::vector<Mask>& masks)
{
    const std::string path = parameters_path;
    constexpr std::string_view on = "ModifyDeviceFiles: 1";
    constexpr std::string_view off = "ModifyDeviceFiles: 0";
    auto parameters = base::read_file(system_root + path);
    if (!parameters && base::leaves_open(parameters.error().os_error()))
        return unreadable(parameters.error(), path);
    const auto at = parameters ? parameters->find(on) : std::string::npos;
    if (at == std::string::npos)
        return {};
    parameters->replace(at, on.size(), off);
    masks.push_back(
        {path, *std::move(parameters), "keeps the driver from making nodes of other GPUs"});
    return {};
}

namespace {

/// Each file below this directory names its node in /dev/nvidia-caps, which the driver's libraries
/// then make, whatever the parameters say. Containers get those of their instances and extras
/// alone.
Result<void> mask_capabilities(const std::string& system_root, const Rights& rights, unsigned first,
                               std::vector<Mask>& masks)
{
    const std::string path = capabilities;
    Mask mask = {path, "", "keeps the driver from making nodes of its capabilities", true, {}};
    for (const Management& management : rights.management)
        mask.shown.push_back({management.right.access, -1, false, management.extra});
    for (const Instance& instance : rights.instances) {
        for (const Instance::Right& right : instance.rights)
            mask.shown.push_back({right.access, static_cast<int>(first), false});
        ++first;
    }
    struct stat status = {};
    if (::stat((system_root + path).c_str(), &status) == 0) {
        if (S_ISDIR(status.st_mode))
            masks.push_back(std::move(mask));
    } else if (base::leaves_open(errno)) {
        return Error::from_errno(errno, path, Errc::driver).with_object(path);
    }
    return {};
}

/// Hides the information of GPUs that a container does not get.
Result<void> mask_gpus(const std::string& system_root, const std::vector<Gpu>& gpus,
                       std::vector<Mask>& masks)
{
    const auto names = base::list_directory(-1, system_root + information_directory, most_gpus);
    if (!names && base::leaves_open(names.error().os_error()))
        return unreadable(names.error(), information_directory);
    Mask mask = {information_directory, "", "shows the chosen GPUs only", true, {}, false};
    for (const std::string& name : names ? *names : std::vector<std::string>())
        for (const Gpu& gpu : gpus)
            if (gpu.pci_address == base::to_lower(name) && !gpu.is_instance())
                mask.shown.push_back({name, static_cast<int>(gpu.index), true});
    if (!mask.shown.empty())
        masks.push_back(std::move(mask));
    return {};
}

} // namespace

Result<std::vector<Mask>> masks(const std::string& system_root, const std::vector<Gpu>& gpus,
                                const Rights& rights)
{
    const auto first = static_cast<unsigned>(gpus.size() - rights.instances.size());
    std::vector<Mask> masks;
    GPUCTR_CHECK(mask_parameters(system_root, masks));
    GPUCTR_CHECK(mask_capabilities(system_root, rights, first, masks));
    GPUCTR_CHECK(mask_gpus(system_root, gpus, masks));
    return masks;
}

} // namespace gpucontainer::drivers::nvidia
