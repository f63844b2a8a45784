// SPDX-License-Identifier: MIT
#include "drivers/habana/kernel.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "host/kernel_files.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace gpucontainer::drivers::habana {

using model::Capability;

namespace {

using host::ClassDevice;

constexpr std::string_view kernel_driver = "habanalabs";

/// An accelerator, before it has an index.
struct Found {
    unsigned number = 0; ///< Of its nodes.
    std::string pci_address;
    std::string directory; ///< Of its node in sysfs.
    ClassDevice node;
};

/// The number in "accel12" behind "accel".
std::optional<unsigned> number_behind(std::string_view prefix, std::string_view name)
{
    constexpr std::size_t most_digits = 6;
    if (!name.starts_with(prefix) || name.size() > prefix.size() + most_digits)
        return std::nullopt;
    const auto number = base::to_number(name.substr(prefix.size()));
    return number ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

/// An attribute of the accelerator: a file of its PCI function, or of the device itself with older
/// drivers, whose devices have no PCI function.
Result<std::optional<std::string>> attribute(const std::string& directory, const char* name)
{
    GPUCTR_TRY(auto value, host::read_line(base::format("{}/device/{}", directory, name)));
    if (value)
        return value;
    return host::read_line(base::format("{}/{}", directory, name));
}

/// The class of all kernel drivers' accelerators, and the one that this driver used before. Either
/// may have the control nodes.
constexpr std::array kernel_classes = {"accel", "habanalabs"};
constexpr std::array node_names = {"accel", "hl"};
constexpr std::array control_names = {"accel_controlD", "hl_controlD"};

class Search {
public:
    Search(std::string system_root, host::Enumerator& enumerator)
        : system_root_(std::move(system_root)), enumerator_(enumerator)
    {
    }

    Result<Accelerators> run()
    {
        for (const char* const kernel_class : kernel_classes) {
            GPUCTR_TRY(auto devices, enumerator_.class_devices(kernel_class),
                       "find Gaudi accelerators");
            for (ClassDevice& device : devices)
                GPUCTR_CHECK(sort_in(kernel_class, std::move(device)));
        }
        if (found_.empty())
            return std::move(gathered_);
        GPUCTR_TRY(verbs_, enumerator_.class_devices("infiniband_verbs"),
                   "find Gaudi accelerators");
        for (const auto& [number, one] : found_)
            GPUCTR_CHECK(add(one));
        return std::move(gathered_);
    }

private:
    Result<void> sort_in(std::string_view kernel_class, ClassDevice device)
    {
        // Control nodes have no PCI function; their number tells the accelerator.
        for (const char* const name : control_names)
            if (const auto number = number_behind(name, device.name)) {
                controls_.emplace(*number, std::move(device));
                return {};
            }
        for (const char* const name : node_names)
            if (const auto number = number_behind(name, device.name))
                return consider(kernel_class, name, *number, std::move(device));
        if (device.driver == kernel_driver)
            skip(device, "its name has no number");
        return {};
    }

    Result<void> consider(std::string_view kernel_class, const char* name, unsigned number,
                          ClassDevice device)
    {
        Found one;
        one.number = number;
        one.directory = base::format("{}/sys/class/{}/{}", system_root_, kernel_class, device.name);
        one.pci_address = device.pci_address;
        if (one.pci_address.empty()) {
            GPUCTR_TRY(const auto address, attribute(one.directory, "pci_addr"));
            if (std::string text = base::to_lower(address.value_or("")); host::is_pci_address(text))
                one.pci_address = std::move(text);
        }
        std::string driver = device.driver;
        if (driver.empty() && !one.pci_address.empty()) {
            GPUCTR_TRY(driver, host::read_link_name(pci_directory(one.pci_address) + "/driver"));
        }
        if (driver.empty() && kernel_class == kernel_driver)
            driver = kernel_driver;
        if (driver != kernel_driver)
            skip(device,
                 driver.empty() ? "of an unknown kernel driver" : "of the kernel driver " + driver);
        else if (one.pci_address.empty())
            skip(device, "its kernel driver tells no PCI address");
        else if (one.node = std::move(device); found_.emplace(number, std::move(one)).second)
            gathered_.prefix = name;
        return {};
    }

    Result<void> add(const Found& one)
    {
        model::Gpu gpu;
        gpu.index = static_cast<unsigned>(gathered_.gpus.size());
        gpu.pci_address = one.pci_address;
        gpu.minor = static_cast<int>(one.number);
        gpu.numa_node = enumerator_.numa_node(one.pci_address);
        GPUCTR_TRY(const auto id, host::read_line(pci_directory(one.pci_address) + "/device"));
        gpu.model = model_of(id.value_or(""));
        gpu.names = {one.node.name};
        GPUCTR_TRY(const auto module, attribute(one.directory, "module_id"));
        if (number_behind("", module.value_or("")))
            gpu.names.push_back("module-" + *module);
        else
            skip(one.node, "its kernel driver tells no module_id: programs that get some of the "
                           "accelerators do not know which");
        add_nodes(one, static_cast<int>(gpu.index));
        gathered_.gpus.push_back(std::move(gpu));
        return {};
    }

    void add_nodes(const Found& one, int gpu)
    {
        want(one.node, gpu, Capability::none, true);
        if (const auto control = controls_.find(one.number); control != controls_.end())
            want(control->second, gpu, Capability::none, false);
        // For scale-out, if the machine has it.
        for (const ClassDevice& verbs : verbs_)
            if (verbs.pci_address == one.pci_address)
                want(verbs, gpu, Capability::compute, false);
    }

    void want(const ClassDevice& device, int gpu, Capability capability, bool required)
    {
        gathered_.wanted.push_back(
            {device.node, device.major, device.minor, gpu, capability, required, {}});
    }

    void skip(const ClassDevice& device, std::string reason)
    {
        gathered_.findings.push_back(
            {model::FindingCode::gpu_unusable, device.name, std::move(reason), device.node});
    }

    std::string pci_directory(const std::string& address) const
    {
        return system_root_ + "/sys/bus/pci/devices/" + address;
    }

    static std::string model_of(std::string_view device_id)
    {
        struct Family {
            std::string_view ids;
            std::string_view name;
        };
        constexpr std::array families = {
            Family{"0x1000 0x1001 0x1010 0x1011", "Intel Gaudi"}, Family{"0x1020", "Intel Gaudi 2"},
            Family{"0x1030 0x1060 0x1061 0x1062 0x1063", "Intel Gaudi 3"}};
        const std::string id = base::to_lower(device_id);
        for (const Family& family : families)
            if (!id.empty() && family.ids.find(id) != std::string_view::npos)
                return std::string(family.name);
        return base::format("Intel Gaudi{}{}", id.empty() ? "" : ", device ", id);
    }

    std::string system_root_;
    host::Enumerator& enumerator_;
    std::map<unsigned, Found> found_;
    std::map<unsigned, ClassDevice> controls_;
    std::vector<ClassDevice> verbs_;
    Accelerators gathered_;
};

} // namespace

Result<Accelerators> find_accelerators(const std::string& system_root, host::Enumerator& enumerator)
{
    return Search(system_root, enumerator).run();
}

Result<std::string> undriven(host::Enumerator& enumerator)
{
    GPUCTR_TRY(const auto functions, enumerator.pci_functions(pci_vendor),
               "find Gaudi accelerators");
    std::vector<std::string> words;
    words.reserve(functions.size());
    for (const host::PciDevice& function : functions)
        words.push_back(base::format("{} {}", function.address,
                                     function.driver.empty() ? "has no kernel driver"
                                                             : "is bound to " + function.driver));
    return base::joined(words, ", ");
}

} // namespace gpucontainer::drivers::habana
