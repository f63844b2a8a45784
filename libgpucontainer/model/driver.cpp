// SPDX-License-Identifier: MIT
#include "model/driver.hpp"

#include "base/file_time.hpp"
#include "base/text.hpp"
#include "model/parse.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace gpucontainer::model {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 5> reader_names = {"library", "runtime", "filter", "process",
                                                          "toolkit"};
constexpr std::array<std::string_view, 4> inside_names = {"uuid", "position", "name", "nothing"};
constexpr std::array<std::string_view, 14> manner_names = {
    "loader",       "module_directory", "module_name",  "opencl_icd",      "egl_vendor",
    "egl_platform", "vulkan_icd",       "vulkan_layer", "vulkansc_icd",    "gpu_mask",
    "command",      "script",           "fixed_path",   "beside_libraries"};
constexpr std::array<std::string_view, 3> shared_kind_names = {"socket", "file", "directory"};
constexpr std::array<std::string_view, 4> precedence_names = {"driver", "runtime", "always",
                                                              "image"};

std::vector<Registration> registrations_of(const CatalogueRule& rule)
{
    switch (rule.kind) {
    case FileKind::library:
        break;
    case FileKind::tool:
        return {{Manner::command}};
    case FileKind::data:
        return {rule.module.empty()
                    ? Registration{Manner::fixed_path, std::string(rule.name)}
                    : Registration{Manner::beside_libraries, std::string(rule.module)}};
    }
    std::vector<Registration> all;
    const bool is_directory = !rule.module.empty() && !rule.module.ends_with(".so");
    if (!is_directory)
        all.push_back({Manner::loader});
    if (!rule.module.empty())
        all.push_back({is_directory ? Manner::module_directory : Manner::module_name,
                       std::string(rule.module)});
    if (!rule.icd.empty())
        all.push_back({Manner::opencl_icd, std::string(rule.icd)});
    for (const std::string_view manifest : base::split(rule.manifests, ',')) {
        const std::size_t slash = manifest.find('/');
        if (slash != std::string_view::npos)
            if (const auto manner = parse_manner(manifest.substr(0, slash)))
                all.push_back({*manner, std::string(manifest.substr(slash + 1))});
    }
    return all;
}

} // namespace

std::string_view name(Manner manner) { return manner_names.at(static_cast<std::size_t>(manner)); }

std::optional<Manner> parse_manner(std::string_view text)
{
    return parse<Manner>(manner_names, text);
}

std::string_view name(SharedPath::Kind kind)
{
    return shared_kind_names.at(static_cast<std::size_t>(kind));
}

std::optional<SharedPath::Kind> parse_shared_kind(std::string_view text)
{
    return parse<SharedPath::Kind>(shared_kind_names, text);
}

std::string_view name(Precedence precedence)
{
    return precedence_names.at(static_cast<std::size_t>(precedence));
}

std::optional<Precedence> parse_precedence(std::string_view text)
{
    return parse<Precedence>(precedence_names, text);
}

const std::string* DriverFile::registered(Manner manner) const
{
    const auto found = std::ranges::find(registrations, manner, &Registration::manner);
    return found == registrations.end() ? nullptr : &found->name;
}

void DriverFile::classify(const CatalogueRule& rule)
{
    capability = rule.capability;
    also = rule.also;
    reason = rule.reason;
    registrations = registrations_of(rule);
    precedence = rule.neutral ? Precedence::image
                 : rule.own   ? Precedence::runtime
                              : Precedence::driver;
}

FileId FileId::of(const struct stat& status)
{
    return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
            base::to_nanoseconds(status.st_mtim)};
}

std::string_view name(VisibleDevices::Reader reader)
{
    return reader_names.at(static_cast<std::size_t>(reader));
}

std::string_view name(VisibleDevices::Inside inside)
{
    return inside_names.at(static_cast<std::size_t>(inside));
}

std::optional<VisibleDevices::Reader> parse_reader(std::string_view text)
{
    return parse<VisibleDevices::Reader>(reader_names, text);
}

std::optional<VisibleDevices::Inside> parse_inside(std::string_view text)
{
    return parse<VisibleDevices::Inside>(inside_names, text);
}

std::string_view name(VersionSource source)
{
    switch (source) {
    case VersionSource::module:
        return "module";
    case VersionSource::option:
        return "option";
    case VersionSource::files:
        return "files";
    }
    return "";
}

std::optional<VersionSource> parse_version_source(std::string_view text)
{
    for (const auto source : {VersionSource::module, VersionSource::option, VersionSource::files})
        if (name(source) == text)
            return source;
    return std::nullopt;
}

std::string Gpu::label() const
{
    return is_instance() && !names.empty() ? names.front() : std::to_string(index);
}

std::string DriverStack::remedy_for(const DeviceNode& node) const
{
    const auto said = std::ranges::find(findings, node.host_path, &Finding::evidence);
    return said != findings.end() ? said->hint : "";
}

std::vector<unsigned> DriverStack::instances_of(unsigned gpu) const
{
    std::vector<unsigned> instances;
    for (const Gpu& one : gpus)
        if (one.parent == static_cast<int>(gpu))
            instances.push_back(one.index);
    return instances;
}

std::size_t DriverStack::whole_gpus() const
{
    return gpus.size() - static_cast<std::size_t>(std::ranges::count_if(gpus, &Gpu::is_instance));
}

std::string DriverStack::obstacle_to(const DeviceNode& node) const
{
    const auto said = std::ranges::find(findings, node.host_path, &Finding::evidence);
    return said != findings.end() ? said->text : "its permissions or the device cgroup forbid it";
}

} // namespace gpucontainer::model
