// SPDX-License-Identifier: MIT
#include "drivers/nvidia/facts.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/nvidia/libraries.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::drivers::nvidia {
namespace {

using requirement::compare;
using requirement::Fact;
using requirement::Subject;

/// Where a version is among releases.
struct Place {
    const Release* release = nullptr; ///< Its own; null if it is before the first one.
    bool is_later = false;            ///< It is of a branch behind the last one.
};

Place place_of(std::string_view version, std::span<const Release> all)
{
    Place place;
    for (const Release& release : all)
        if (std::is_lteq(compare(release.version, version)))
            place.release = &release;
    place.is_later = place.release == &all.back()
                     && std::is_lt(compare(branch_of(all.back().version), branch_of(version)));
    return place;
}

std::vector<requirement::Source> drivers_by_cuda()
{
    std::vector<requirement::Source> sources;
    for (const Release& release : releases())
        sources.push_back({std::string(release.cuda), base::format("driver {}", release.version)});
    return sources;
}

Fact driver_fact(const std::string& version)
{
    if (!is_driver_version(version))
        return {"driver",
                false,
                {},
                false,
                base::format("{} is not a version of NVIDIA's driver package", version)};
    return {"driver", false, {version}, false, base::format("the driver is {}", version)};
}

Fact cuda_fact(const std::string& version)
{
    const bool is_package = is_driver_version(version);
    const std::string name =
        base::format("{} {}", is_package ? "driver" : "Linux for Tegra", version);
    const SupportedCuda cuda = supported_cuda(version);
    Fact fact = {"cuda",
                 false,
                 {},
                 false,
                 base::format("it is not known which CUDA this driver ({}) supports", version)};
    if (is_package)
        fact.sources = drivers_by_cuda();
    if (cuda.version.empty())
        return fact;
    fact.values = {std::string(cuda.version)};
    fact.or_later = cuda.or_later;
    fact.sentence =
        base::format("{} supports CUDA {}{}", name, cuda.version, cuda.or_later ? " or later" : "");
    return fact;
}

std::string name_of(const model::Gpu& gpu)
{
    return base::format("GPU {} ({})", gpu.index, gpu.model.empty() ? "NVIDIA" : gpu.model);
}

/// Whether the driver for GPUs on a bus lists it.
bool is_driven(const model::Gpu& gpu) { return gpu.minor >= 0 || !gpu.uuid.empty(); }

Fact architecture_fact(const model::Gpu& gpu, const std::string& version)
{
    const std::string name = name_of(gpu);
    if (!gpu.architecture.empty())
        return {"arch",
                true,
                {gpu.architecture},
                false,
                base::format("{} has compute capability {}", name, gpu.architecture)};
    // The driver does not list a GPU that it does not support.
    const std::string_view least = is_driven(gpu) && is_driver_version(version)
                                       ? least_capability(version)
                                       : std::string_view();
    if (least.empty())
        return {"arch",
                true,
                {},
                false,
                base::format("the compute capability of {} is not known", name)};
    return {"arch",
            true,
            {std::string(least)},
            true,
            base::format("the compute capability of {} is not known; with this driver it is {} or "
                         "later",
                         name, least)};
}

Fact brand_fact(const model::Gpu& gpu)
{
    const std::string name = name_of(gpu);
    if (!is_driven(gpu)) // nothing tells the model
        return {"brand", true, {}, false, base::format("the brand of {} is not known", name)};
    const auto known = brands_of(gpu);
    if (known.empty())
        return {"brand", true, {"unknown"}, false, base::format("{} is of no known brand", name)};
    return {"brand",
            true,
            {known.begin(), known.end()},
            false,
            base::format("{} is of brand {}", name, base::joined(known, " or "))};
}

void add_obstacle(Subject& subject, const model::Gpu& gpu, const std::string& version)
{
    const std::string_view least = is_driver_version(version) ? least_capability(version) : "";
    if (gpu.architecture.empty() || least.empty() || std::is_gteq(compare(gpu.architecture, least)))
        return;
    subject.obstacle = base::format(
        "driver {} does not support {}, which has compute capability {}; it needs {} or more",
        version, name_of(gpu), gpu.architecture, least);
    subject.hint = base::format("use a driver before {}", branch_without(gpu.architecture));
}

} // namespace

std::string_view least_capability(std::string_view driver_version)
{
    std::string_view least;
    for (const Release& release : releases())
        if (!release.least.empty() && std::is_lteq(compare(release.version, driver_version)))
            least = release.least;
    return least;
}

std::string_view branch_without(std::string_view architecture)
{
    const auto all = releases();
    const auto found = std::ranges::find_if(all, [&](const Release& release) {
        return !release.least.empty() && std::is_lt(compare(architecture, release.least));
    });
    return found == all.end() ? std::string_view() : found->version;
}

std::string_view branch_of(std::string_view version)
{
    return version.substr(0, version.find('.'));
}

SupportedCuda supported_cuda(std::string_view driver_version)
{
    if (!requirement::is_version(driver_version))
        return {};
    const bool is_package = is_driver_version(driver_version);
    const Place place = place_of(driver_version, is_package ? releases() : platform_releases());
    return place.release == nullptr ? SupportedCuda()
                                    : SupportedCuda{place.release->cuda, place.is_later};
}

std::span<const std::string_view> brands_of(const model::Gpu& gpu)
{
    const auto all = brands();
    const auto row = std::ranges::find_if(
        all, [&](const Brand& brand) { return gpu.model.starts_with(brand.model); });
    return row == all.end() ? std::span<const std::string_view>() : row->brands;
}

std::string_view architecture_of_device(std::uint16_t device)
{
    for (const Chip& chip : chips())
        if (chip.first != 0 && device >= chip.first && device <= chip.last)
            return chip.arch;
    return {};
}

std::string_view architecture_of_soc(std::string_view soc)
{
    for (const Chip& chip : chips())
        if (!chip.soc.empty() && chip.soc == soc)
            return chip.arch;
    return {};
}

Subject facts_of(const model::DriverStack& driver, const model::Gpu* gpu)
{
    Subject subject;
    subject.facts = {driver_fact(driver.version), cuda_fact(driver.version)};
    if (gpu == nullptr)
        return subject;
    subject.gpu = std::to_string(gpu->index);
    subject.facts.push_back(architecture_fact(*gpu, driver.version));
    subject.facts.push_back(brand_fact(*gpu));
    add_obstacle(subject, *gpu, driver.version);
    return subject;
}

} // namespace gpucontainer::drivers::nvidia
