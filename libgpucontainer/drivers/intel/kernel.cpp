// SPDX-License-Identifier: MIT
#include "drivers/intel/kernel.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "host/kernel_files.hpp"

#include <algorithm>
#include <fcntl.h>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace gpucontainer::drivers::intel {

using model::Gpu;

namespace {

using host::ClassDevice;

bool is_kernel_driver(std::string_view name) { return name == "i915" || name == "xe"; }

/// Integrated GPUs always have this device number; their virtual functions too.
bool is_integrated(std::string_view address) { return address.starts_with("0000:00:02."); }

bool is_render_node(const ClassDevice& device) { return device.name.starts_with("renderD"); }
bool is_card(const ClassDevice& device) { return device.name.starts_with("card"); }

/// A PCI function that drives displays or computes. It has at least one of both nodes.
struct Function {
    std::string address;
    std::string driver;
    std::optional<ClassDevice> render; ///< None if it drives displays only, or is wedged.
    std::optional<ClassDevice> card;
};

/// The number of names in a directory that are `stem` and a number.
Result<unsigned> count_numbered(const std::string& directory, std::string_view stem)
{
    constexpr std::size_t most_names = 4096;
    const auto names = base::list_directory(AT_FDCWD, directory, most_names);
    if (!names && base::leaves_open(names.error().os_error()))
        return Error::from_errno(names.error().os_error(), directory, Errc::driver)
            .with_object(directory);
    if (!names)
        return 0U;
    return static_cast<unsigned>(std::ranges::count_if(*names, [&](const std::string& name) {
        return name.starts_with(stem) && base::to_number(name.substr(stem.size()));
    }));
}

class Search {
public:
    Search(std::string system_root, std::string dev_root, host::Enumerator& enumerator)
        : system_root_(std::move(system_root)), dev_root_(std::move(dev_root)),
          enumerator_(enumerator)
    {
    }

    Result<Gpus> run()
    {
        GPUCTR_TRY(const auto devices, enumerator_.class_devices("drm"), "find Intel GPUs");
        for (const ClassDevice& device : devices)
            if (is_kernel_driver(device.driver) && !device.pci_address.empty()
                && (is_render_node(device) || is_card(device)))
                sort_in(device);
        if (functions_.empty())
            return std::move(gathered_);
        GPUCTR_CHECK(hide_physical_functions());
        GPUCTR_TRY(links_, search::links_by_path(system_root_, dev_root_));
        for (const Function& function : ordered())
            GPUCTR_CHECK(add(function));
        GPUCTR_CHECK(report_firmware_interfaces());
        return std::move(gathered_);
    }

private:
    void sort_in(const ClassDevice& device)
    {
        Function& function = functions_[device.pci_address];
        function.address = device.pci_address;
        function.driver = device.driver;
        if (is_render_node(device))
            function.render = device;
        else
            function.card = device;
    }

    Result<void> hide_physical_functions()
    {
        std::set<std::string> physical;
        for (const auto& [address, function] : functions_) {
            GPUCTR_TRY(std::string of, host::read_link_name(pci_directory(address) + "/physfn"));
            physical.insert(std::move(of));
        }
        for (const std::string& address : physical)
            if (functions_.erase(address) != 0)
                gathered_.findings.push_back({model::FindingCode::gpu_unusable, "GPU " + address,
                                              "its virtual functions are used in its place",
                                              "/sys/bus/pci/devices/" + address});
        return {};
    }

    std::vector<Function> ordered() const
    {
        std::vector<Function> all;
        for (const auto& [address, function] : functions_)
            all.push_back(function);
        // A domain with more digits is a higher one.
        std::ranges::sort(all, {}, [](const Function& function) {
            return std::tuple(is_integrated(function.address), function.address.size(),
                              function.address);
        });
        return all;
    }

    Result<void> add(const Function& function)
    {
        const std::string directory = pci_directory(function.address);
        const ClassDevice& main = function.render ? *function.render : *function.card;
        Gpu gpu;
        gpu.index = static_cast<unsigned>(gathered_.gpus.size());
        gpu.pci_address = function.address;
        gpu.minor = static_cast<int>(main.minor);
        gpu.numa_node = enumerator_.numa_node(function.address);
        GPUCTR_TRY(const auto id, host::read_line(directory + "/device"));
        gpu.model = model_of(id.value_or(""));
        GPUCTR_TRY(gpu.parts, tiles_of(function));
        const int index = static_cast<int>(gpu.index);
        if (function.render) {
            gpu.names.push_back(function.render->name);
            want(*function.render, index, true);
        } else {
            gathered_.findings.push_back(
                {model::FindingCode::compute_node_unusable, "GPU " + function.address,
                 "has no render node: programs that compute do not find it",
                 pci_directory(function.address), "", model::Capability::compute});
        }
        if (function.card) {
            gpu.names.push_back(function.card->name);
            want(*function.card, index, !function.render);
        }
        gathered_.gpus.push_back(std::move(gpu));
        return {};
    }

    /// i915 shows a graphics unit for each of what xe calls tiles. Integrated GPUs have such units
    /// for other work too.
    Result<unsigned> tiles_of(const Function& function) const
    {
        const std::string directory = pci_directory(function.address);
        unsigned tiles = 1;
        if (function.driver == "xe") {
            GPUCTR_TRY(tiles, count_numbered(directory, "tile"));
        } else if (!is_integrated(function.address) && function.card) {
            GPUCTR_TRY(
                tiles,
                count_numbered(base::format("{}/drm/{}/gt", directory, function.card->name), "gt"));
        }
        return std::max(tiles, 1U);
    }

    void want(const ClassDevice& device, int gpu, bool required)
    {
        gathered_.wanted.push_back({device.node, device.major, device.minor, gpu,
                                    model::Capability::none, required,
                                    std::move(links_[device.name])});
    }

    /// A GPU's firmware can be replaced through these devices.
    Result<void> report_firmware_interfaces()
    {
        GPUCTR_TRY(const auto devices, enumerator_.class_devices("mei"), "find Intel GPUs");
        for (const ClassDevice& device : devices)
            if (functions_.contains(device.pci_address))
                gathered_.findings.push_back(
                    {model::FindingCode::node_left_out, device.name,
                     "the firmware of GPU " + device.pci_address
                         + " is managed through it, which is not for containers",
                     device.node});
        return {};
    }

    std::string pci_directory(const std::string& address) const
    {
        return system_root_ + "/sys/bus/pci/devices/" + address;
    }

    static std::string model_of(std::string_view id)
    {
        return id.starts_with("0x") ? base::format("Intel device {}", id.substr(2)) : "Intel GPU";
    }

    std::string system_root_;
    std::string dev_root_;
    host::Enumerator& enumerator_;
    std::map<std::string, Function> functions_; ///< By address.
    search::NodeLinks links_;
    Gpus gathered_;
};

} // namespace

Result<Gpus> find_gpus(const std::string& system_root, const std::string& dev_root,
                       host::Enumerator& enumerator)
{
    return Search(system_root, dev_root, enumerator).run();
}

namespace {

std::string what_has(const std::string& driver)
{
    if (driver.empty())
        return "no kernel driver is bound to it";
    return base::format("bound to the kernel driver {}{}", driver,
                        is_kernel_driver(driver) ? ", which made no DRM device for it" : "");
}

} // namespace

Result<model::Findings> undriven(host::Enumerator& enumerator, const Gpus& found)
{
    GPUCTR_TRY(const auto functions, enumerator.pci_functions(pci_vendor), "find Intel GPUs");
    model::Findings others;
    for (const host::PciDevice& function : functions) {
        const std::string name = "GPU " + function.address;
        const bool is_known =
            std::ranges::find(found.gpus, function.address, &Gpu::pci_address) != found.gpus.end()
            || std::ranges::find(found.findings, name, &model::Finding::object)
                   != found.findings.end();
        if (host::is_display_controller(function) && !is_known)
            others.push_back({model::FindingCode::gpu_unusable, name, what_has(function.driver),
                              "/sys/bus/pci/devices/" + function.address});
    }
    return others;
}

} // namespace gpucontainer::drivers::intel
