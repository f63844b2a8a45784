// SPDX-License-Identifier: MIT
#include "drivers/described_gpus.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "host/kernel_files.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace gpucontainer::drivers {

using config::Maker;
using host::ClassDevice;
using host::PciDevice;

namespace {

constexpr std::size_t most_gpus = 256; // a record has no more

/// One GPU, before it has an index.
struct Found {
    unsigned number = 0;
    std::string pci_address; ///< Maybe "".
    std::string directory;   ///< In sysfs, with its attributes.
    std::vector<std::string> names;
};

class Search {
public:
    Search(const Maker& maker, std::string system_root, host::Enumerator& enumerator)
        : maker_(maker), system_root_(std::move(system_root)), enumerator_(enumerator)
    {
    }

    Result<DescribedGpus> run()
    {
        GPUCTR_CHECK(look_at_bus());
        if (maker_.device_class.empty())
            take_functions();
        else
            GPUCTR_CHECK(take_devices());
        if (found_.size() > most_gpus)
            return Error(Errc::driver, base::format("more than {} GPUs", most_gpus));
        std::ranges::stable_sort(found_, {}, [this](const Found& one) {
            return std::tuple(maker_.by_address ? std::string_view(one.pci_address)
                                                : std::string_view(),
                              one.number);
        });
        for (const Found& one : found_)
            add(one);
        return std::move(gathered_);
    }

private:
    /// Finds the PCI functions that may be GPUs, whatever driver they are bound to.
    Result<void> look_at_bus()
    {
        if (maker_.pci_vendor == 0)
            return {};
        GPUCTR_TRY(auto functions, enumerator_.pci_functions(maker_.pci_vendor), "find GPUs");
        std::vector<std::string> undriven;
        for (PciDevice& function : functions) {
            if (!may_be_gpu(function))
                continue;
            if (function.driver != maker_.driver)
                undriven.push_back(base::format("{} {}", function.address,
                                                function.driver.empty()
                                                    ? "has no kernel driver"
                                                    : "is bound to " + function.driver));
            std::string address = function.address;
            functions_.emplace(std::move(address), std::move(function));
        }
        gathered_.undriven = base::joined(undriven, ", ");
        return {};
    }

    bool may_be_gpu(const PciDevice& function) const
    {
        constexpr unsigned interface_bits = 8;
        if (maker_.pci_class && function.class_code >> interface_bits != *maker_.pci_class)
            return false;
        return maker_.models.empty() || find_model(function.device_id) != nullptr;
    }

    const Maker::Model* find_model(std::uint16_t device) const
    {
        const auto found = std::ranges::find(maker_.models, device, &Maker::Model::device);
        return found == maker_.models.end() ? nullptr : &*found;
    }

    void take_functions()
    {
        unsigned number = 0;
        for (const auto& [address, function] : functions_)
            if (function.driver == maker_.driver)
                found_.push_back({number++, address, pci_directory(address), {}});
    }

    Result<void> take_devices()
    {
        GPUCTR_TRY(const auto devices, enumerator_.class_devices(std::string(maker_.device_class)),
                   "find GPUs");
        for (const ClassDevice& device : devices) {
            const auto number =
                number_in(maker_.device_name, config::number_placeholder, device.name);
            if (!number)
                continue;
            if (const std::string obstacle = obstacle_to(device); !obstacle.empty()) {
                gathered_.findings.push_back(
                    {model::FindingCode::gpu_unusable, device.name, obstacle, device.node});
                continue;
            }
            std::string name = device.name;
            std::ranges::replace(name, '!', '/');
            found_.push_back(
                {*number,
                 device.pci_address,
                 base::format("{}/sys/class/{}/{}", system_root_, maker_.device_class, device.name),
                 {std::move(name)}});
        }
        return {};
    }

    /// Why a device of the class is not one of these GPUs; "" if it is.
    std::string obstacle_to(const ClassDevice& device) const
    {
        if (device.driver.empty())
            return "of an unknown kernel driver";
        if (device.driver != maker_.driver)
            return "of the kernel driver " + device.driver;
        if (maker_.pci_vendor != 0 && !functions_.contains(device.pci_address))
            return "of no PCI function that is described";
        return "";
    }

    /// Adds a GPU, or a finding if an attribute cannot be read.
    void add(const Found& one)
    {
        auto uuid = attribute(one, maker_.uuid, is_word);
        const auto detail = attribute(one, maker_.model, is_line);
        if (!uuid || !detail) {
            const Error& error = uuid ? detail.error() : uuid.error();
            gathered_.findings.push_back({model::FindingCode::gpu_unusable,
                                          one.names.empty() ? one.pci_address : one.names.front(),
                                          error.message(), one.directory});
            return;
        }
        model::Gpu gpu;
        gpu.index = static_cast<unsigned>(gathered_.gpus.size());
        gpu.pci_address = one.pci_address;
        gpu.minor = static_cast<int>(one.number);
        if (!one.pci_address.empty())
            gpu.numa_node = enumerator_.numa_node(one.pci_address);
        gpu.names = one.names;
        gpu.uuid = *std::move(uuid);
        const auto function = functions_.find(one.pci_address);
        const Maker::Model* const model =
            function == functions_.end() ? nullptr : find_model(function->second.device_id);
        gpu.model = base::format("{}{}{}", model == nullptr ? maker_.title : model->name,
                                 detail->empty() ? "" : " ", *detail);
        gathered_.gpus.push_back(std::move(gpu));
    }

    /// "" if there is none that can be printed.
    template <typename Fits>
    static Result<std::string> attribute(const Found& one, std::string_view name, Fits fits)
    {
        if (name.empty())
            return std::string();
        GPUCTR_TRY(auto text, host::read_line(base::format("{}/{}", one.directory, name)));
        return text && fits(*text) ? *std::move(text) : std::string();
    }

    static bool is_word(std::string_view text)
    {
        constexpr std::size_t longest = 64;
        return text.size() <= longest
               && base::to_lower(text).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-:.")
                      == std::string::npos;
    }

    static bool is_line(std::string_view text)
    {
        constexpr std::size_t longest = 64;
        return text.size() <= longest
               && std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
    }

    std::string pci_directory(const std::string& address) const
    {
        return base::format("{}/sys/bus/pci/devices/{}", system_root_, address);
    }

    const Maker& maker_;
    std::string system_root_;
    host::Enumerator& enumerator_;
    std::map<std::string, PciDevice> functions_; ///< By address.
    std::vector<Found> found_;
    DescribedGpus gathered_;
};

} // namespace

Result<DescribedGpus> find_described_gpus(const Maker& maker, const std::string& system_root,
                                          host::Enumerator& enumerator)
{
    return Search(maker, system_root, enumerator).run();
}

std::optional<unsigned> number_in(std::string_view pattern, std::string_view placeholder,
                                  std::string_view text)
{
    constexpr std::size_t most_digits = 6;
    const auto at = pattern.find(placeholder);
    if (at == std::string_view::npos)
        return std::nullopt;
    const std::string_view before = pattern.substr(0, at);
    const std::string_view behind = pattern.substr(at + placeholder.size());
    if (text.size() <= before.size() + behind.size() || !text.starts_with(before)
        || !text.ends_with(behind))
        return std::nullopt;
    const std::string_view digits =
        text.substr(before.size(), text.size() - before.size() - behind.size());
    if (digits.size() > most_digits || (digits.size() > 1 && digits.front() == '0'))
        return std::nullopt;
    const auto number = base::to_number(digits);
    return number ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

std::string with_number(std::string_view pattern, unsigned number)
{
    std::string text(pattern);
    if (const auto at = text.find(config::number_placeholder); at != std::string::npos)
        text.replace(at, config::number_placeholder.size(), std::to_string(number));
    return text;
}

} // namespace gpucontainer::drivers
