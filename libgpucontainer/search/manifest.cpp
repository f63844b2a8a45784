// SPDX-License-Identifier: MIT
#include "search/manifest.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "elf/machine.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

namespace gpucontainer::search {

using model::DriverFile;
using model::Manner;
using model::Registration;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t largest_manifest = 64U << 10U;
constexpr std::size_t most_levels = 16;

/// Where the loaders look, below /etc and /usr/share, or where some packages put a file.
struct Place {
    Manner manner;
    std::string_view directory;
};
constexpr std::array places = {
    Place{Manner::egl_vendor, "glvnd/egl_vendor.d"},
    Place{Manner::egl_platform, "egl/egl_external_platform.d"},
    Place{Manner::vulkan_icd, "vulkan/icd.d"},
    Place{Manner::vulkan_layer, "vulkan/implicit_layer.d"},
    Place{Manner::vulkan_layer, "vulkan/icd.d"},
    Place{Manner::vulkansc_icd, "vulkansc/icd.d"},
};

bool has_place(Manner manner)
{
    return std::ranges::find(places, manner, &Place::manner) != places.end();
}

/// The directories above these places.
std::vector<std::string> tops_of(std::span<const std::string> prefixes)
{
    std::vector<std::string> tops = {"/etc/", "/usr/local/share/", "/usr/share/"};
    for (const std::string& prefix : prefixes)
        for (const char* top : {"/etc/", "/share/"})
            tops.push_back(prefix + top);
    return tops;
}

/// Fedora adds the machine's name: NAME.x86_64.json.
std::array<std::string, 2> names_of(const std::string& name, const elf::Machine& machine)
{
    return {name, base::format("{}.{}.json", name.substr(0, name.rfind('.')), machine.name)};
}

Error bad_manifest(std::string what) { return {Errc::driver, std::move(what)}; }

/// Replaces the path of an object by its library's name, and returns that.
Result<std::string> fit_library(Json& part)
{
    if (!part.is_object() || !part.contains("library_path") || !part["library_path"].is_string())
        return bad_manifest("names no library");
    const auto path = part["library_path"].get<std::string>();
    std::string name(base::name_of(path));
    if (name.empty() || name == "." || name == ".." || std::ranges::any_of(name, base::is_control))
        return bad_manifest("names no library");
    part["library_path"] = name;
    part.erase("library_arch"); // the name leads programs of 32 bits and of 64 to a library
    return name;
}

class ManifestSearch {
public:
    ManifestSearch(const host::DriverRoot& root, std::span<const std::string> prefixes,
                   std::vector<DriverFile>& files, model::Findings& findings)
        : root_(root), files_(files), findings_(findings), tops_(tops_of(prefixes)),
          unpacked_(std::ranges::find(prefixes, "") != prefixes.end())
    {
    }

    void run()
    {
        for (DriverFile& file : files_)
            for (const Registration& one : std::vector(file.registrations))
                if (has_place(one.manner))
                    fill(file, one);
    }

private:
    void fill(DriverFile& file, const Registration& wanted)
    {
        auto found = find(wanted, file.compat32);
        if (!found) {
            if (wanted.manner == Manner::vulkan_layer)
                remove(file, wanted.manner);
            return;
        }
        DriverFile* named = &file;
        if (wanted.manner != Manner::vulkan_layer) // its file may name several
            named = owner_of(found->library, file.compat32);
        if (named != &file) {
            remove(file, wanted.manner);
            if (named->registered(wanted.manner) == nullptr)
                named->registrations.push_back(wanted);
        }
        for (Registration& one : named->registrations)
            if (one.manner == wanted.manner)
                one.content = found->content;
    }

    static void remove(DriverFile& file, Manner manner)
    {
        std::erase_if(file.registrations,
                      [&](const Registration& one) { return one.manner == manner; });
    }

    DriverFile* owner_of(const std::string& library, bool compat32)
    {
        const auto found = std::ranges::find_if(files_, [&](const DriverFile& file) {
            return file.kind == model::FileKind::library && file.compat32 == compat32
                   && (file.soname == library || file.name == library
                       || std::ranges::find(file.links, library) != file.links.end());
        });
        return found == files_.end() ? nullptr : &*found;
    }

    std::optional<Manifest> find(const Registration& wanted, bool compat32)
    {
        for (const std::string& name : names_of(wanted.name, root_.machine())) {
            for (const Place& place : places)
                if (place.manner == wanted.manner)
                    if (auto found = find_in(place, name, compat32))
                        return found;
            if (unpacked_)
                if (auto found = read("/" + name, compat32))
                    return found;
        }
        return std::nullopt;
    }

    std::optional<Manifest> find_in(const Place& place, const std::string& name, bool compat32)
    {
        for (const std::string& top : tops_)
            if (auto found = read(base::format("{}{}/{}", top, place.directory, name), compat32))
                return found;
        return std::nullopt;
    }

    std::optional<Manifest> read(const std::string& path, bool compat32)
    {
        const auto opened = root_.open_file(path);
        if (!opened) {
            if (opened.error().os_error() != ENOENT)
                note(std::string(base::name_of(path)), opened.error().cause(), path);
            return std::nullopt;
        }
        const auto text = root_.noted(base::read_all(opened->fd.get(), largest_manifest), path);
        if (!text) {
            note(std::string(base::name_of(path)), text.error().cause(), path);
            return std::nullopt;
        }
        auto manifest = read_manifest(*text, [&](const std::string& library) {
            return owner_of(library, compat32) != nullptr;
        });
        if (!manifest) {
            note(std::string(base::name_of(path)), manifest.error().message(), path);
            return std::nullopt;
        }
        return *std::move(manifest);
    }

    /// Once for each path: libraries for 32-bit programs have the same manifests.
    void note(std::string name, std::string text, const std::string& path)
    {
        if (std::ranges::find(findings_, root_.prefix() + path, &model::Finding::evidence)
            != findings_.end())
            return;
        findings_.push_back({model::FindingCode::file_unusable, std::move(name), std::move(text),
                             root_.prefix() + path});
    }

    const host::DriverRoot& root_;
    std::vector<DriverFile>& files_;
    model::Findings& findings_;
    std::vector<std::string> tops_;
    bool unpacked_; ///< The driver has all its files in one directory.
};

/// The document. Its "layers" are a list, if it has any.
Result<Json> document_of(std::string_view json)
{
    if (json.size() > largest_manifest)
        return bad_manifest("is larger than a manifest");
    const bool is_shallow = base::json_depth(json) <= most_levels;
    Json document = is_shallow ? Json::parse(json, nullptr, false) : Json();
    if (!document.is_object())
        return bad_manifest("is not the JSON document of a manifest");
    if (document.contains("layers") && !document["layers"].is_array())
        return bad_manifest("names no library");
    return document;
}

Error names_another(const std::string& library)
{
    return bad_manifest(library.empty() ? "names no library"
                                        : base::format("names {}, which is no library of the "
                                                       "driver",
                                                       library));
}

} // namespace

Result<Manifest> read_manifest(std::string_view json,
                               const std::function<bool(const std::string& library)>& is_known)
{
    GPUCTR_TRY(Json document, document_of(json));
    Json layers = document.contains("layers") ? document["layers"] : Json::array();
    Manifest manifest;
    std::string unknown;
    const auto keep = [&](Json& part) -> Result<bool> {
        GPUCTR_TRY(std::string library, fit_library(part));
        const bool is_kept = is_known(library);
        (is_kept ? manifest.library : unknown) = std::move(library);
        return is_kept;
    };
    Json kept = Json::array();
    for (Json& layer : layers) {
        GPUCTR_TRY(const bool is_kept, keep(layer));
        if (is_kept)
            kept.push_back(std::move(layer));
    }
    for (const char* name : {"ICD", "layer"}) {
        if (!document.contains(name))
            continue;
        GPUCTR_TRY(const bool is_kept, keep(document[name]));
        if (!is_kept)
            return names_another(unknown);
    }
    if (manifest.library.empty())
        return names_another(unknown);
    if (!layers.empty())
        document["layers"] = std::move(kept);
    constexpr int indent = 4;
    manifest.content = document.dump(indent) + "\n";
    return manifest;
}

std::vector<std::string> libraries_of_manifest(std::string_view json)
{
    const auto document = document_of(json);
    std::vector<std::string> libraries;
    if (!document)
        return libraries;
    const auto add = [&](const Json& part) {
        if (part.is_object() && part.contains("library_path") && part["library_path"].is_string())
            libraries.push_back(part["library_path"].get<std::string>());
    };
    for (const char* name : {"ICD", "layer"})
        if (document->contains(name))
            add((*document)[name]);
    if (document->contains("layers"))
        for (const Json& layer : (*document)["layers"])
            add(layer);
    return libraries;
}

std::vector<ManifestPlace> manifest_places(std::span<const DriverFile> files,
                                           std::span<const std::string> prefixes,
                                           const elf::Machine& machine)
{
    std::vector<ManifestPlace> all;
    bool has_any = false;
    for (const Place& place : places) {
        std::vector<std::string> names;
        for (const DriverFile& file : files)
            if (const std::string* const name = file.registered(place.manner);
                name != nullptr && std::ranges::find(names, *name) == names.end())
                std::ranges::copy(names_of(*name, machine), std::back_inserter(names));
        has_any = has_any || !names.empty();
        for (const std::string& top : tops_of(prefixes))
            all.push_back({base::format("{}{}", top, place.directory), names});
    }
    return has_any ? all : std::vector<ManifestPlace>();
}

void add_manifests(const host::DriverRoot& root, std::span<const std::string> prefixes,
                   std::vector<DriverFile>& files, model::Findings& findings)
{
    ManifestSearch(root, prefixes, files, findings).run();
}

} // namespace gpucontainer::search
