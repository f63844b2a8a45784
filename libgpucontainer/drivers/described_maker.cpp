// SPDX-License-Identifier: MIT
#include "drivers/described_maker.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/trusted_way.hpp"
#include "base/try.hpp"
#include "drivers/described_gpus.hpp"
#include "drivers/node_owner.hpp"
#include "drivers/optional_files.hpp"
#include "host/kernel_files.hpp"
#include "search/nodes.hpp"

#include <algorithm>
#include <fcntl.h>
#include <iterator>
#include <map>
#include <utility>

namespace gpucontainer::drivers {

using config::Maker;
using host::ClassDevice;
using model::DriverStack;
using model::VisibleDevices;

namespace {

constexpr std::size_t most_nodes = 4096; // a record has no more
constexpr std::string_view character_drivers = "/proc/devices";

std::string does_not_fit(const Maker& maker)
{
    return base::format("the description of {} does not fit its kernel driver", maker.name);
}

/// Version of the module; none if it is not among the loaded ones.
Result<std::optional<std::string>> loaded_version(const Maker& maker,
                                                  const std::string& system_root)
{
    return host::loaded_module_version(system_root, std::string(maker.module));
}

/// Finds the nodes that a description names, as the kernel has them.
class NodeSearch {
public:
    NodeSearch(const Maker& maker, const Sources& sources, const std::vector<model::Gpu>& gpus)
        : maker_(maker), sources_(sources), gpus_(gpus)
    {
    }

    Result<void> run(DriverStack& stack)
    {
        for (const Maker::Node& node : maker_.nodes)
            GPUCTR_CHECK(add(node, stack));
        stack.nodes = std::move(found_.nodes);
        stack.missing_nodes = std::move(found_.missing);
        return {};
    }

private:
    Result<void> add(const Maker::Node& node, DriverStack& stack)
    {
        if (node.path.find('*') != std::string_view::npos)
            return add_paired(node, stack);
        if (node.path.find(config::number_placeholder) == std::string_view::npos)
            return add_one(node, std::string(node.path), node.minor.value_or(0), nullptr, stack);
        for (const model::Gpu& gpu : gpus_) {
            const auto number = static_cast<unsigned>(gpu.minor);
            GPUCTR_CHECK(add_one(node, with_number(node.path, number), node.minor.value_or(number),
                                 &gpu, stack));
        }
        return {};
    }

    /// Adds the nodes of each GPU's PCI function.
    Result<void> add_paired(const Maker::Node& node, DriverStack& stack)
    {
        GPUCTR_TRY(const auto* const devices, devices_of(node.in_class));
        for (const model::Gpu& gpu : gpus_) {
            bool has_one = false;
            for (const ClassDevice& device : *devices) {
                if (gpu.pci_address.empty() || device.pci_address != gpu.pci_address
                    || !number_in(node.path, "*", device.node))
                    continue;
                has_one = true;
                GPUCTR_CHECK(
                    take(node, wanted(node, device.node, device.major, device.minor, &gpu), stack));
            }
            if (!has_one)
                GPUCTR_CHECK(
                    take(node, wanted(node, std::string(node.path), std::nullopt, 0, &gpu), stack));
        }
        return {};
    }

    /// Adds a node of one GPU, or of all GPUs if that is null.
    Result<void> add_one(const Maker::Node& node, const std::string& path, unsigned minor,
                         const model::Gpu* gpu, DriverStack& stack)
    {
        if (!node.major.empty()) {
            const auto major = search::character_major(proc_devices(), node.major);
            if (!major)
                return take(node, wanted(node, path, std::nullopt, minor, gpu), stack);
            GPUCTR_TRY(const auto device, sources_.pci.character_device(*major, minor),
                       "find nodes");
            return take_proven(node, wanted(node, path, *major, minor, gpu),
                               device ? &*device : nullptr, gpu, stack);
        }
        GPUCTR_TRY(const auto* const devices, devices_of(node.in_class));
        const auto device = std::ranges::find(*devices, path, &ClassDevice::node);
        if (device == devices->end())
            return take(node, wanted(node, path, std::nullopt, 0, gpu), stack);
        return take_proven(node, wanted(node, path, device->major, device->minor, gpu), &*device,
                           gpu, stack);
    }

    /// Adds a node with a number. `device` is null if sysfs has no such device.
    Result<void> take_proven(const Maker::Node& node, search::WantedNode wanted,
                             const ClassDevice* device, const model::Gpu* gpu, DriverStack& stack)
    {
        // Otherwise a container would get another GPU than the chosen one.
        if (gpu != nullptr && device != nullptr && device->pci_address != gpu->pci_address)
            return Error(Errc::driver,
                         base::format("{} belongs to the PCI function '{}', but GPU {} is '{}'",
                                      wanted.path, device->pci_address, gpu->index,
                                      gpu->pci_address))
                .with_object(wanted.path)
                .with_hint(does_not_fit(maker_));
        wanted.obstacle = obstacle_to_node(
            maker_, gpus_, {wanted.major.value_or(0), device, node.major, gpu == nullptr});
        return take(node, wanted, stack);
    }

    static search::WantedNode wanted(const Maker::Node& node, const std::string& path,
                                     std::optional<unsigned> major, unsigned minor,
                                     const model::Gpu* gpu)
    {
        return {path,
                major,
                minor,
                gpu != nullptr ? static_cast<int>(gpu->index) : -1,
                model::parse_capability(node.capability).value_or(model::Capability::none),
                !node.optional,
                {}};
    }

    Result<void> take(const Maker::Node& node, const search::WantedNode& wanted, DriverStack& stack)
    {
        if (found_.nodes.size() + found_.missing.size() == most_nodes)
            return Error(Errc::driver, base::format("more than {} device nodes", most_nodes))
                .with_object(std::string(node.path));
        return search::add_node(sources_.system_root, sources_.dev_root, wanted, found_,
                                stack.findings);
    }

    Result<const std::vector<ClassDevice>*> devices_of(std::string_view name)
    {
        auto known = devices_.find(name);
        if (known == devices_.end()) {
            GPUCTR_TRY(auto devices, sources_.pci.class_devices(std::string(name)), "find nodes");
            known = devices_.emplace(name, std::move(devices)).first;
        }
        return &known->second;
    }

    const std::string& proc_devices()
    {
        if (!proc_devices_)
            if (auto text =
                    base::read_file(base::format("{}{}", sources_.system_root, character_drivers)))
                proc_devices_ = *std::move(text);
        return proc_devices_ ? *proc_devices_ : proc_devices_.emplace();
    }

    const Maker& maker_;
    const Sources& sources_;
    const std::vector<model::Gpu>& gpus_;
    std::map<std::string_view, std::vector<ClassDevice>> devices_; ///< By class.
    std::optional<std::string> proc_devices_;
    search::Nodes found_;
};

VisibleDevices variable_of(const Maker::Variable& described)
{
    VisibleDevices variable;
    variable.name = described.name;
    variable.reader =
        model::parse_reader(described.reader).value_or(VisibleDevices::Reader::library);
    variable.inside =
        model::parse_inside(described.inside).value_or(VisibleDevices::Inside::position);
    variable.prefix = described.prefix;
    variable.always = described.always;
    variable.empty_is_unset = described.empty_is_unset;
    return variable;
}

/// Checks that only root or the caller can have written into a directory.
Result<void> check_directory(const std::string& path)
{
    GPUCTR_TRY(const auto way, base::TrustedWay::walk(path, O_PATH | O_DIRECTORY));
    if (way.distrust)
        return Error(way.distrust->code(), way.distrust->message());
    return base::check_trust(way.fd.get(), path);
}

/// The existing directories of a description, if only root or the caller can have written them:
/// libraries that another user put there would run in everybody's container. Modes and owners tell
/// it. Links are resolved, because somebody else might change them.
std::vector<std::string> trusted_directories(const Maker& maker, const Sources& sources,
                                             model::Findings& findings)
{
    std::vector<std::string> trusted;
    for (const std::string_view directory : maker.directories) {
        const auto opened = sources.driver_root.open_directory(std::string(directory));
        if (!opened)
            continue;
        const std::string path = sources.driver_root.prefix() + opened->real_path;
        if (const auto checked = check_directory(path))
            trusted.push_back(opened->real_path);
        else
            findings.push_back({model::FindingCode::rule_ignored, std::string(directory),
                                checked.error().message(), path});
    }
    return trusted;
}

/// The parts that do not depend on the kernel driver.
Result<DriverStack> new_stack(const Vendor& vendor, const Sources& sources)
{
    const Maker& maker = *vendor.maker;
    DriverStack stack;
    stack.vendor = maker.name;
    stack.vendor_name = maker.title;
    stack.root = sources.driver_root.prefix().empty() ? "/" : sources.driver_root.prefix();
    stack.image_directories.assign(maker.directories.begin(), maker.directories.end());
    const auto directories = trusted_directories(maker, sources, stack.findings);
    GPUCTR_CHECK(add_optional_files(sources, vendor.files, directories, stack));
    return stack;
}

/// Why there is no GPU; none if nothing shows that there should be one.
std::optional<Error> why_none(const Maker& maker, bool is_loaded, const DescribedGpus& found)
{
    const std::string& undriven = found.undriven;
    if (!is_loaded && undriven.empty())
        return std::nullopt;
    const std::string hint = found.findings.empty()
                                 ? base::format("look for {} in the kernel's log", maker.module)
                                 : found.findings.front().message();
    return Error(Errc::no_device,
                 is_loaded ? base::format("the kernel module {} is loaded but drives no GPU",
                                          maker.module)
                           : base::format("the kernel module {} is not loaded", maker.module))
        .with_hint(undriven.empty() ? hint : undriven);
}

} // namespace

KernelPlace::How how_place_counts(std::string_view path)
{
    if (path == character_drivers)
        return KernelPlace::How::content;
    return path.starts_with("/sys/module/") ? KernelPlace::How::inode : KernelPlace::How::names;
}

bool is_kernel_place(std::string_view path)
{
    return path.starts_with("/sys/") || path == character_drivers;
}

std::vector<DescribedPlace> kernel_places_of(const Maker& maker)
{
    std::vector<DescribedPlace> places;
    const auto add = [&](std::string path) {
        if (std::ranges::find(places, path, &DescribedPlace::path) != places.end())
            return;
        const auto how = how_place_counts(path);
        places.push_back({std::move(path), how});
    };
    if (maker.device_class.empty())
        add(base::format("/sys/bus/pci/drivers/{}", maker.driver));
    else
        add(base::format("/sys/class/{}", maker.device_class));
    add(base::format("/sys/module/{}", maker.module));
    for (const Maker::Node& node : maker.nodes)
        add(node.major.empty() ? base::format("/sys/class/{}", node.in_class)
                               : std::string(character_drivers));
    return places;
}

Result<void> add_described_nodes(const Maker& maker, const Sources& sources, DriverStack& stack)
{
    return NodeSearch(maker, sources, stack.gpus).run(stack);
}

Result<std::optional<std::string>> described_version(const Vendor& vendor,
                                                     const std::string& system_root)
{
    const Maker& maker = *vendor.maker;
    GPUCTR_TRY(const auto module, host::module_of_driver(system_root, std::string(maker.driver)));
    if (module && !module->empty() && *module != maker.module)
        return Error(Errc::driver, base::format("the kernel driver {} belongs to the module {}, "
                                                "not to {}",
                                                maker.driver, *module, maker.module))
            .with_hint(does_not_fit(maker));
    GPUCTR_TRY(auto version, loaded_version(maker, system_root));
    // A driver that is built into the kernel, and has no parameters, is not among the modules.
    if (!version && module && module->empty())
        return host::kernel_release(system_root);
    return version;
}

Result<DriverStack> described_files_alone(const Vendor& vendor, const Sources& sources)
{
    GPUCTR_TRY(DriverStack stack, new_stack(vendor, sources));
    return without_gpus(std::move(stack));
}

Result<std::optional<DriverStack>> detect_described(const Vendor& vendor, const Sources& sources)
{
    const Maker& maker = *vendor.maker;
    GPUCTR_TRY(const auto loaded, described_version(vendor, sources.system_root));
    GPUCTR_TRY(DescribedGpus found, find_described_gpus(maker, sources.system_root, sources.pci));
    if (found.gpus.empty()) {
        GPUCTR_TRY(const auto module, loaded_version(maker, sources.system_root));
        if (auto reason = why_none(maker, module.has_value(), found))
            return *std::move(reason);
        return std::optional<DriverStack>();
    }
    if (!loaded)
        return Error(Errc::driver, base::format("{} drives GPUs, but the module {} is not loaded",
                                                maker.driver, maker.module))
            .with_hint(does_not_fit(maker));

    GPUCTR_TRY(DriverStack stack, new_stack(vendor, sources));
    stack.version = *loaded;
    std::ranges::transform(maker.variables, std::back_inserter(stack.visible_devices), variable_of);
    stack.needs.assign(maker.needs.begin(), maker.needs.end());
    stack.gpus = std::move(found.gpus);
    std::ranges::move(found.findings, std::back_inserter(stack.findings));
    GPUCTR_CHECK(add_described_nodes(maker, sources, stack));
    return std::optional(std::move(stack));
}

} // namespace gpucontainer::drivers
