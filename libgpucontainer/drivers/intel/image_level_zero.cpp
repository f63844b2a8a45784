// SPDX-License-Identifier: MIT
#include "drivers/intel/image_level_zero.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "elf/machine.hpp"
#include "rootfs/layout.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::drivers::intel {
namespace {

using model::Blocks;
using model::Cause;
using model::FindingCode;
using model::Gpu;
using model::Stage;

constexpr std::string_view soname = "libze_intel_gpu.so.1";
constexpr std::string_view loader_stem = "libze_loader.so";
constexpr int most_links = 8;

/// From the release notes of Intel's compute runtime: the first release with production quality.
/// Earlier ones know some of the boards, more or less well. The numbers of PCI devices are from its
/// source. A row for each generation that is younger than the distributions in use.
constexpr std::array generations = {
    Generation{"Lunar Lake", 0x6420, 0x6420, 31907, "24.48"},
    Generation{"Lunar Lake", 0x64a0, 0x64bf, 31907, "24.48"},
    Generation{"Battlemage", 0xe200, 0xe2ff, 31907, "24.48"},
};

/// The number of a GPU's PCI device, which its model has.
std::uint16_t device_of(const Gpu& gpu)
{
    constexpr std::string_view stem = "Intel device ";
    constexpr int hexadecimal = 16;
    if (!gpu.model.starts_with(stem))
        return 0;
    const auto number =
        base::to_number(std::string_view(gpu.model).substr(stem.size()), hexadecimal);
    return static_cast<std::uint16_t>(number.value_or(0));
}

/// The name of the file that a path leads to.
std::string file_behind(const rootfs::View& view, std::string path)
{
    for (int i = 0; i < most_links; ++i) {
        const std::string target = view.link_target(path);
        if (target.empty())
            break;
        path = target.starts_with('/') ? target
                                       : base::format("{}/{}", base::directory_of(path), target);
    }
    return std::string(base::name_of(path));
}

/// The driver that Level Zero's loader finds, a path; none if there is none.
std::optional<std::string> find_driver(const ContainerToCheck& container,
                                       const model::DriverStack& driver)
{
    const elf::Machine* const machine = elf::find_machine(driver.machine);
    std::vector<std::string> directories =
        rootfs::library_directories(machine != nullptr ? *machine : elf::own_machine());
    for (const std::string& path : container.loaded)
        if (base::name_of(path).starts_with(loader_stem))
            directories.insert(directories.begin(), std::string(base::directory_of(path)));
    directories.emplace_back("/usr/local/lib");
    for (const std::string& directory : directories) {
        std::string path = base::format("{}/{}", directory, soname);
        if (container.view.resolve(path).type == rootfs::EntryType::regular)
            return path;
    }
    return std::nullopt;
}

Cause too_new(const Gpu& gpu, const Generation& generation, const std::string& path,
              std::string_view file)
{
    Cause cause = {
        {FindingCode::driver_too_old, base::format("GPU {} ({})", gpu.label(), generation.name),
         base::format("is younger than the container's driver of Level Zero, {}: "
                      "programs may not find it",
                      file),
         path,
         base::format("install the compute runtime {} or later in the image", generation.release),
         model::Capability::compute},
        Stage::code};
    cause.certain = false;
    return cause;
}

} // namespace

const Generation* generation_of(std::uint16_t device)
{
    const auto* const found = std::ranges::find_if(generations, [&](const Generation& one) {
        return device >= one.first && device <= one.last;
    });
    return found == generations.end() ? nullptr : &*found;
}

unsigned build_of(std::string_view name)
{
    constexpr std::uint64_t most = 1'000'000;
    if (!name.starts_with(soname))
        return 0;
    const auto parts = base::split(name.substr(soname.size()), '.');
    if (parts.size() != 3)
        return 0;
    const auto build = base::to_number(parts[2]);
    return build && *build < most ? static_cast<unsigned>(*build) : 0;
}

Result<void> check_container(const ContainerToCheck& container, const model::DriverStack& driver,
                             std::span<const Gpu> chosen, model::Causes& causes)
{
    const auto path = find_driver(container, driver);
    const std::string file = path ? file_behind(container.view, *path) : "";
    const unsigned build = build_of(file);
    if (build == 0)
        return {};
    const auto is_too_new = [&](const Gpu& gpu) {
        const Generation* const generation = generation_of(device_of(gpu));
        return generation != nullptr && build < generation->build;
    };
    const bool all = std::ranges::all_of(chosen, is_too_new);
    for (const Gpu& gpu : chosen)
        if (is_too_new(gpu)) {
            causes.push_back(too_new(gpu, *generation_of(device_of(gpu)), *path, file));
            causes.back().blocks = all ? Blocks::all : Blocks::some;
        }
    return {};
}

} // namespace gpucontainer::drivers::intel
