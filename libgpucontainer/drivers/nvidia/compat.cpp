// SPDX-License-Identifier: MIT
#include "drivers/nvidia/compat.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "drivers/nvidia/facts.hpp"
#include "drivers/nvidia/libraries.hpp"
#include "requirement/expression.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace gpucontainer::drivers::nvidia {
namespace {

using model::DriverStack;
using model::Gpu;
using requirement::compare;
using NoteJson = nlohmann::json;

constexpr const char* toolkit_home = "/usr/local/cuda";
constexpr std::string_view of_orin = "compat_orin";
constexpr std::string_view architecture_of_orin = "8.7";
constexpr std::size_t most_listed = 256;
constexpr std::size_t largest_note = 8U << 10U; // of many in an image, each takes time
constexpr std::size_t deepest_note = 4;

/// None if it is not a list of small numbers; empty if it is missing.
std::optional<std::vector<unsigned>> numbers_of(const NoteJson& note, const char* key)
{
    constexpr unsigned most = 100'000;
    std::vector<unsigned> numbers;
    const auto found = note.find(key);
    if (found == note.end())
        return numbers;
    if (!found->is_array() || found->size() > most_listed)
        return {};
    for (const NoteJson& one : *found) {
        if (!one.is_number_unsigned() || one.get<std::uint64_t>() > most)
            return {};
        numbers.push_back(one.get<unsigned>());
    }
    return numbers;
}

bool has_orin(const DriverStack& driver)
{
    return std::ranges::find(driver.gpus, architecture_of_orin, &Gpu::architecture)
           != driver.gpus.end();
}

/// Branches that a libcuda without a note supports.
std::vector<unsigned> branches_of(std::string_view version)
{
    std::vector<unsigned> branches;
    for (const CompatRelease& release : compat_releases())
        if (std::is_lteq(compare(release.version, version))) {
            branches.clear();
            for (const std::string_view driver : release.drivers)
                branches.push_back(static_cast<unsigned>(base::to_number(driver).value_or(0)));
        }
    return branches;
}

std::vector<unsigned> usual_brands()
{
    std::vector<unsigned> brands;
    for (const BrandNumber& one : brand_numbers())
        if (one.compat)
            brands.push_back(one.number);
    return brands;
}

bool is_of(const Gpu& gpu, std::span<const unsigned> numbers)
{
    const auto brands = brands_of(gpu);
    return std::ranges::any_of(brand_numbers(), [&](const BrandNumber& one) {
        return std::ranges::find(numbers, one.number) != numbers.end()
               && std::ranges::find(brands, one.brand) != brands.end();
    });
}

/// Why it is not newer than the host's driver, or that is not known; "" if it is newer.
std::string objection_to_age(const DriverStack& driver, const CompatLibrary& library,
                             const std::optional<CompatNote>& note)
{
    if (is_driver_version(driver.version) && is_driver_version(library.version)
        && std::is_lteq(compare(library.version, driver.version)))
        return base::format("it is not newer than the host's driver {}", driver.version);
    if (!note)
        return "";
    const SupportedCuda host = supported_cuda(driver.version);
    if (host.version.empty())
        return base::format("it is not known which CUDA the host's driver {} supports",
                            driver.version);
    return std::is_lteq(compare(note->cuda, host.version)) ? base::format(
               "the host's driver {} supports CUDA {} itself", driver.version, host.version)
                                                           : "";
}

std::string objection_to_branch(const DriverStack& driver, const CompatLibrary& library,
                                const std::optional<CompatNote>& note)
{
    if (!is_driver_version(driver.version)) {
        if (!note)
            return "nothing tells which hosts it is for";
        return note->drivers.empty() ? "" : "it is for other hosts than a Tegra";
    }
    if (!note && !is_driver_version(library.version))
        return "neither its file's name nor a note in it tells its version";
    const std::vector<unsigned> branches = note ? note->drivers : branches_of(library.version);
    if (branches.empty())
        return note ? "it is for Tegras" : "it supports no other branch of the driver";
    const auto branch = base::to_number(branch_of(driver.version));
    if (branch && std::ranges::find(branches, *branch) != branches.end())
        return "";
    std::vector<std::string> names;
    names.reserve(branches.size());
    for (const unsigned one : branches)
        names.push_back(std::to_string(one));
    return base::format("it supports the driver's branches {}, and the host's driver is {}",
                        base::joined(names, ", "), driver.version);
}

std::string objection_to_gpus(const DriverStack& driver, std::span<const Gpu> chosen,
                              const std::optional<CompatNote>& note)
{
    if (chosen.empty())
        return "the container gets no GPU";
    if (!is_driver_version(driver.version))
        return "";
    const std::vector<unsigned> numbers = note ? note->brands : usual_brands();
    for (const Gpu& one : chosen) {
        // An instance has its GPU's brand.
        const bool is_instance =
            one.parent >= 0 && static_cast<std::size_t>(one.parent) < driver.gpus.size();
        const Gpu& gpu = is_instance ? driver.gpus[static_cast<std::size_t>(one.parent)] : one;
        if (!is_of(gpu, numbers))
            return base::format("it supports data-centre GPUs and the like, not GPU {} ({})",
                                gpu.index, gpu.model.empty() ? "unknown model" : gpu.model);
    }
    return "";
}

} // namespace

std::optional<CompatNote> parse_compat_note(std::string_view text)
{
    if (text.size() > largest_note || base::json_depth(text) > deepest_note)
        return {};
    const NoteJson note = NoteJson::parse(text, nullptr, false);
    if (!note.is_object())
        return {};
    const auto format = note.find("Format");
    const auto cuda = note.find("CUDA Version");
    if (format == note.end() || *format != 1 || cuda == note.end() || !cuda->is_string()
        || !requirement::is_version(cuda->get_ref<const std::string&>()))
        return {};
    auto drivers = numbers_of(note, "Driver");
    auto brands = numbers_of(note, "Device");
    if (!drivers || !brands)
        return {};
    return CompatNote{cuda->get<std::string>(), *std::move(drivers), *std::move(brands)};
}

std::vector<std::string> compat_directories(const DriverStack& driver)
{
    std::vector<std::string> homes = {toolkit_home};
    const auto add = [&](std::span<const Release> all) {
        for (std::size_t i = all.size(); i > 0; --i)
            homes.push_back(base::format("{}-{}", toolkit_home, all[i - 1].cuda));
    };
    add(is_driver_version(driver.version) ? releases() : platform_releases());
    std::vector<std::string> directories;
    for (const std::string& home : homes)
        for (const std::string_view name : {of_orin, std::string_view("compat")})
            directories.push_back(base::format("{}/{}", home, name));
    return directories;
}

CompatVerdict judge_compat(const DriverStack& driver, std::span<const Gpu> chosen,
                           const CompatLibrary& library)
{
    std::optional<CompatNote> note;
    for (const std::string& text : library.notes)
        if (!note)
            note = parse_compat_note(text);
    CompatVerdict verdict;
    if (note)
        verdict.title = base::format("CUDA {}", note->cuda);
    if (is_driver_version(library.version))
        verdict.title += base::format("{}driver {}", note ? ", " : "", library.version);
    const auto object = [&](std::string objection) {
        if (verdict.objection.empty())
            verdict.objection = std::move(objection);
    };
    if (!note && !library.notes.empty())
        object("its note is not of a known form");
    if (base::name_of(library.directory) == of_orin && !has_orin(driver))
        object("it is for a Tegra with the chip Orin");
    object(objection_to_age(driver, library, note));
    object(objection_to_branch(driver, library, note));
    object(objection_to_gpus(driver, chosen, note));
    return verdict;
}

CompatVerdict judge_compat_for_hook(const cdi::CompatTask& task, const CompatLibrary& library)
{
    const auto major_of = [](std::string_view version) {
        return base::to_number(version.substr(0, version.find('.'))).value_or(0);
    };
    std::optional<CompatNote> note;
    for (const std::string& text : library.notes)
        if (!note)
            note = parse_compat_note(text);
    const auto branch = static_cast<unsigned>(major_of(task.driver));
    if (task.driver.empty())
        return {"", "the hook does not tell the host's driver"};
    if (note && !task.toolkit.empty() && std::is_lteq(compare(note->cuda, task.toolkit)))
        return {"", base::format("the host's driver supports CUDA {} itself", task.toolkit)};
    if (note && std::ranges::find(note->drivers, branch) == note->drivers.end())
        return {"", base::format("it is not for the host's driver {}", task.driver)};
    if (!note && library.version.empty())
        return {"", "neither its file's name nor a note in it tells its version"};
    if (!note && major_of(library.version) <= branch)
        return {"",
                base::format("it is not of a newer branch than the host's driver {}", task.driver)};
    return {};
}

} // namespace gpucontainer::drivers::nvidia
