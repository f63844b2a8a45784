// SPDX-License-Identifier: MIT
#include "capture/command_line.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace gpucontainer::capture {
namespace {

/// Parameters of the kernel itself, beside those of makers of an IOMMU: "NAME_iommu".
constexpr std::array harmless_parameters = {
    "pci",      "pcie_aspm", "iommu",    "mitigations",        "module_blacklist", "lsm",
    "security", "selinux",   "apparmor", "default_hugepagesz", "hugepagesz",       "hugepages"};
/// What is before the '.' of "NAME.PARAMETER": modules of no vendor, parts of the kernel, and
/// modprobe, whose "blacklist" names modules.
constexpr std::array harmless_modules = {
    "arm_smmu",  "arm_smmu_v3", "drm",  "iommu",    "modprobe",      "module",          "nouveau",
    "pcie_aspm", "pciehp",      "vfio", "vfio_pci", "vfio_pci_core", "vfio_iommu_type1"};

bool is_listed(const auto& names, std::string_view name)
{
    return std::ranges::find(names, name) != names.end();
}

/// Up to white space that is not between '"'.
std::string_view first_word(std::string_view text)
{
    bool is_quoted = false;
    std::size_t end = 0;
    for (; end < text.size() && (is_quoted || !std::isspace(static_cast<unsigned char>(text[end])));
         ++end)
        is_quoted = is_quoted != (text[end] == '"');
    return text.substr(0, end);
}

bool has_harmless_value(std::string_view name,
                        const std::function<bool(std::string_view)>& is_of_driver)
{
    const auto point = name.find('.');
    if (point == std::string_view::npos)
        return is_listed(harmless_parameters, name) || name.ends_with("_iommu");
    std::string module(name.substr(0, point));
    std::ranges::replace(module, '-', '_');
    return is_listed(harmless_modules, module) || is_of_driver(module);
}

} // namespace

std::string without_values(std::string_view text,
                           const std::function<bool(std::string_view)>& is_of_driver)
{
    std::string result;
    for (text = base::trim(text); !text.empty();) {
        const std::string_view word = first_word(text);
        if (word == "--")
            break;
        text = base::trim(text.substr(word.size()));
        const std::string_view name = word.substr(0, word.find('='));
        const bool is_kept = name.size() == word.size() || has_harmless_value(name, is_of_driver);
        result += base::format("{}{}{}", result.empty() ? "" : " ", is_kept ? word : name,
                               is_kept ? "" : "=...");
    }
    return result + "\n";
}

} // namespace gpucontainer::capture
