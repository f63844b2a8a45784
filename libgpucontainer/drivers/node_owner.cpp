// SPDX-License-Identifier: MIT
#include "drivers/node_owner.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace gpucontainer::drivers {
namespace {

/// The numbers that find_dynamic_major() of Linux hands out. All others are registered for a
/// driver, or shared by many, as 1, 4 and 10 are.
bool is_of_one_driver(unsigned major)
{
    return (major >= 234 && major <= 254) || (major >= 384 && major <= 511);
}

/// "acme" of "acme_npu0".
std::string first_word(std::string_view name)
{
    const std::string lower = base::to_lower(name);
    return lower.substr(0, lower.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
}

bool is_like(std::string_view name, std::string_view driver)
{
    const std::string word = first_word(name);
    return word.size() > 1 && word == first_word(driver);
}

} // namespace

std::string obstacle_to_node(const config::Maker& maker, const std::vector<model::Gpu>& gpus,
                             const NodeFacts& node)
{
    if (node.device != nullptr && !node.device->pci_address.empty()) {
        const std::string& address = node.device->pci_address;
        const bool is_of_gpu =
            std::ranges::find(gpus, address, &model::Gpu::pci_address) != gpus.end();
        if (is_of_gpu && node.is_for_all)
            return base::format("of the GPU {} only, but described as one for all", address);
        if (is_of_gpu || node.device->driver == maker.driver)
            return "";
        return base::format("of the PCI function {}, which is not one of these GPUs", address);
    }
    if (node.device != nullptr && !node.device->driver.empty())
        return node.device->driver == maker.driver ? ""
                                                   : "of the kernel driver " + node.device->driver;
    const std::string_view name = node.device != nullptr ? node.device->name : node.driver_name;
    if (is_of_one_driver(node.major) || is_like(name, maker.driver))
        return "";
    return base::format("many drivers have nodes with major number {}, and nothing shows that this "
                        "one belongs to {}",
                        node.major, maker.driver);
}

} // namespace gpucontainer::drivers
