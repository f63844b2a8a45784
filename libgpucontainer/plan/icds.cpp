// SPDX-License-Identifier: MIT
#include "plan/icds.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace gpucontainer::plan {
namespace {

using model::DriverFile;
using model::Manner;
using model::Registration;
using rootfs::EntryType;

std::string library_manifest(const DriverFile& library)
{
    return base::format("{{\n"
                        "    \"file_format_version\": \"1.0.0\",\n"
                        "    \"ICD\": {{\n"
                        "        \"library_path\": \"{}\"\n"
                        "    }}\n"
                        "}}\n",
                        library.soname);
}

/// Loaders only distinguish 1.0 from later versions.
std::string vulkan_manifest(const DriverFile& library)
{
    return base::format("{{\n"
                        "    \"file_format_version\": \"1.0.0\",\n"
                        "    \"ICD\": {{\n"
                        "        \"library_path\": \"{}\",\n"
                        "        \"api_version\": \"1.2.0\"\n"
                        "    }}\n"
                        "}}\n",
                        library.soname);
}

/// A loader of ICDs: the directories in which it looks, and the content of files there. It looks
/// in the first one before the other, and new files are made there. All of these are below /etc,
/// so that one overlay serves them.
struct IcdLoader {
    Manner manner;
    std::array<std::string_view, 2> directories;       ///< The second may be "".
    std::string (*content)(const DriverFile& library); ///< Null: only the host has one.
    std::string_view reason;
};

constexpr std::array loaders = {
    IcdLoader{Manner::opencl_icd,
              {"/etc/OpenCL/vendors"}, // by the loader's own interface
              [](const DriverFile& library) { return library.soname + "\n"; },
              "OpenCL finds the driver by it"},
    IcdLoader{Manner::egl_vendor,
              {"/etc/glvnd/egl_vendor.d", "/usr/share/glvnd/egl_vendor.d"},
              library_manifest,
              "EGL finds the driver by it"},
    IcdLoader{Manner::egl_platform,
              {"/etc/egl/egl_external_platform.d", "/usr/share/egl/egl_external_platform.d"},
              library_manifest,
              "the EGL driver finds the platform by it"},
    IcdLoader{Manner::vulkan_icd,
              {"/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d"},
              vulkan_manifest,
              "Vulkan finds the driver by it"},
    IcdLoader{Manner::vulkan_layer,
              {"/etc/vulkan/implicit_layer.d", "/usr/share/vulkan/implicit_layer.d"},
              nullptr,
              "Vulkan finds the driver's layer by it"},
    IcdLoader{Manner::vulkansc_icd,
              {"/etc/vulkansc/icd.d", "/usr/share/vulkansc/icd.d"},
              vulkan_manifest,
              "Vulkan SC finds the driver by it"},
};

/// A small file by which programs find a library.
struct Icd {
    const DriverFile* library;
    std::vector<std::string>
        places; ///< Where it may be. If it is nowhere, it is made at the first.
    std::string content;
    std::string_view reason;

    std::string_view name() const { return base::name_of(places.front()); }
};

/// The chosen ones of the GPUs as a number, with a bit for each minor number. None if they are all
/// GPUs, or have larger numbers.
std::optional<std::string> mask_of(const Share& share)
{
    constexpr int bits = 64;
    std::uint64_t mask = 0;
    for (const unsigned gpu : share.selection.gpus) {
        const int minor = share.driver.gpus[gpu].minor;
        if (minor < 0 || minor >= bits)
            return std::nullopt;
        mask |= std::uint64_t(1) << static_cast<unsigned>(minor);
    }
    if (share.selection.gpus.size() == share.driver.gpus.size())
        return std::nullopt;
    return base::format("{:#x}", mask);
}

std::optional<Icd> icd_of(const DriverFile& file, const Registration& one, const Share& share)
{
    if (one.manner == Manner::gpu_mask) {
        constexpr std::string_view placeholder = "{gpus}";
        const auto mask = mask_of(share);
        const std::size_t at = one.content.find(placeholder);
        if (!mask || at == std::string::npos)
            return std::nullopt;
        std::string content = one.content;
        content.replace(at, placeholder.size(), *mask);
        return Icd{&file, {one.name}, std::move(content), "the driver shows only these GPUs by it"};
    }
    const auto loader = std::ranges::find(loaders, one.manner, &IcdLoader::manner);
    if (loader == loaders.end() || (loader->content == nullptr && one.content.empty()))
        return std::nullopt;
    Icd icd = {
        &file, {}, one.content.empty() ? loader->content(file) : one.content, loader->reason};
    for (const std::string_view directory : loader->directories)
        if (!directory.empty())
            icd.places.push_back(base::format("{}/{}", directory, one.name));
    return icd;
}

/// Whether a 64-bit library that comes along has the same file made: by the library's name, it
/// leads to both.
bool comes_with_other(const Draft& draft, const DriverFile& file, const Registration& one)
{
    return file.compat32 && std::ranges::any_of(draft.files, [&](const DriverFile* other) {
               const std::string* const name = other->registered(one.manner);
               return !other->compat32 && name != nullptr && *name == one.name;
           });
}

/// Whether the host's own file comes to one of these places.
bool comes_as_data(const Draft& draft, const std::vector<std::string>& places)
{
    return std::ranges::any_of(draft.files, [&](const DriverFile* file) {
        const std::string* const path = Draft::data_path(*file);
        return path != nullptr && std::ranges::find(places, *path) != places.end();
    });
}

std::vector<Icd> icds_of(const Draft& draft)
{
    std::vector<Icd> icds;
    for (const Share& share : draft.shares)
        for (const DriverFile& file : share.driver.files) {
            if (std::ranges::find(draft.files, &file) == draft.files.end())
                continue;
            for (const Registration& one : file.registrations)
                if (one.manner == Manner::gpu_mask && draft.is_for_any_image())
                    continue; // each container gets other GPUs of the plan
                else if (auto icd = icd_of(file, one, share);
                         icd && !comes_as_data(draft, icd->places)
                         && !comes_with_other(draft, file, one))
                    icds.push_back(*std::move(icd));
        }
    return icds;
}

/// Without white space, which no reader of such files minds.
std::string squeezed(std::string_view text)
{
    std::string all;
    std::ranges::copy_if(text, std::back_inserter(all),
                         [](char c) { return c != ' ' && c != '\n' && c != '\t' && c != '\r'; });
    return all;
}

bool says_the_same(const Draft& draft, const Icd& icd, const std::string& path)
{
    constexpr std::size_t longest = 64U << 10U;
    const auto content = draft.view.read(path, longest);
    return content && squeezed(*content) == squeezed(icd.content);
}

/// Where the image has such a file; where it is made if there is none.
std::vector<std::string> targets_of(Draft& draft, const Icd& icd)
{
    std::vector<std::string> targets = icd.places;
    std::erase_if(targets, [&](const std::string& path) { return draft.is_missing(path); });
    if (targets.empty())
        targets.push_back(icd.places.front());
    return targets;
}

/// Why the file cannot be made; "" if it can.
std::string objection(Draft& draft, const std::string& path)
{
    const bool is_missing = draft.is_missing(path);
    if (is_missing ? !draft.can_have(path) : draft.view.resolve(path).type != EntryType::regular)
        return "the image has something else in its place";
    return "";
}

void add_icd(Draft& draft, const Icd& icd, const std::string& path)
{
    if (std::string reason = objection(draft, path); !reason.empty()) {
        draft.skip(model::FindingCode::file_left_out, std::string(icd.name()), std::move(reason),
                   path);
        return;
    }
    const bool is_missing = draft.is_missing(path);
    draft.identify(base::format("{} {}", path, icd.content));
    if (!is_missing && says_the_same(draft, icd, path))
        return;
    const std::string reason(icd.reason);
    const Owner owner = draft.owner_of(*icd.library);
    if (is_missing)
        draft.add_name({GeneratedFile{icd.content}, path, reason, owner});
    else
        draft.add({GeneratedCover{icd.content}, path, reason, owner});
}

} // namespace

void add_icds(Draft& draft)
{
    std::set<std::string> known;
    for (const Icd& icd : icds_of(draft))
        if (!known.insert(icd.places.front()).second)
            draft.skip(model::FindingCode::file_left_out, std::string(icd.name()),
                       "another library has that name", icd.places.front());
        else
            for (const std::string& path : targets_of(draft, icd))
                add_icd(draft, icd, path);
}

std::vector<std::string> icd_paths(Draft& draft)
{
    std::vector<std::string> paths;
    for (const Icd& icd : icds_of(draft))
        for (std::string& path : targets_of(draft, icd))
            if (objection(draft, path).empty())
                paths.push_back(std::move(path));
    return paths;
}

} // namespace gpucontainer::plan
