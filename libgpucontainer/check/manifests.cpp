// SPDX-License-Identifier: MIT
#include "check/manifests.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "rootfs/layout.hpp"
#include "search/c_library.hpp"
#include "search/manifest.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace gpucontainer::check {

using model::Blocks;
using model::Capability;
using model::Causes;
using model::FindingCode;
using model::Stage;

namespace {

constexpr std::size_t largest_manifest = std::size_t{64} << 10U;
constexpr std::size_t most_manifests = 128; // in a directory
constexpr std::size_t longest_name = 1024;
constexpr std::size_t most_libraries = 16; // of a manifest

/// A directory in which a loader of drivers looks, below each of `tops`.
struct ManifestPlace {
    std::string_view directory;
    std::string_view interface;
    std::string_view ending;
    Capability needed; ///< A container without it has no use for these.
};
constexpr std::array manifest_places = {
    ManifestPlace{"OpenCL/vendors", "OpenCL", ".icd", Capability::compute},
    ManifestPlace{"vulkan/icd.d", "Vulkan", ".json", Capability::graphics},
    ManifestPlace{"glvnd/egl_vendor.d", "EGL", ".json", Capability::graphics},
};
constexpr std::array<std::string_view, 3> tops = {"/etc", "/usr/local/share", "/usr/share"};

class Manifests {
public:
    Manifests(const Surroundings& around, linking::Linker& linker, Causes& causes)
        : around_(around), linker_(linker), causes_(causes), loader_(around.machine->loader),
          asked_(around.capabilities())
    {
        facts_.elf_class = around.machine->elf_class;
        facts_.byte_order = std::endian::little;
        facts_.machine = around.machine->number;
    }

    void run()
    {
        if (!around_.container.resolve(loader_))
            return; // another C library's programs have other loaders of drivers
        for (const ManifestPlace& place : manifest_places)
            for (const std::string_view top : tops)
                if (asked_.contains(place.needed))
                    look_into(base::format("{}/{}", top, place.directory), place);
    }

private:
    void look_into(const std::string& directory, const ManifestPlace& place)
    {
        if (around_.container.resolve(directory).type != rootfs::EntryType::directory)
            return;
        const auto names = around_.container.list(directory, most_manifests);
        if (!names)
            return;
        for (const std::string& name : *names)
            if (name.ends_with(place.ending) && !is_of_other_machine(name))
                look_at(base::format("{}/{}", directory, name), place);
    }

    /// Some distributions have the machine's name in it: "radeon_icd.i686.json".
    bool is_of_other_machine(std::string_view name) const
    {
        name.remove_suffix(name.size() - name.rfind('.'));
        const std::string_view machine = name.substr(std::min(name.rfind('.') + 1, name.size()));
        constexpr std::array<std::string_view, 4> of_32_bit = {"i386", "i586", "i686", "armv7hl"};
        return std::ranges::find(of_32_bit, machine) != of_32_bit.end()
               || (elf::find_machine(machine) != nullptr && machine != around_.machine->name);
    }

    void look_at(const std::string& manifest, const ManifestPlace& place)
    {
        const auto text = around_.container.read(manifest, largest_manifest);
        if (!text)
            return;
        std::size_t count = 0;
        for (const std::string& library : libraries_in(*text, place))
            if (++count <= most_libraries && !library.empty() && library.size() <= longest_name
                && !is_there(library, manifest))
                add(library, manifest, place);
    }

    static std::vector<std::string> libraries_in(const std::string& text,
                                                 const ManifestPlace& place)
    {
        if (place.ending == ".json")
            return search::libraries_of_manifest(text);
        return {std::string(base::trim(std::string_view(text).substr(0, text.find('\n'))))};
    }

    bool is_there(const std::string& library, const std::string& manifest)
    {
        if (library.find('/') == std::string::npos)
            return linker_.find(library, "", loader_, facts_).has_value();
        const std::string path = library.starts_with('/')
                                     ? library
                                     : base::format("{}/{}", base::directory_of(manifest), library);
        return static_cast<bool>(around_.container.resolve(path));
    }

    /// Where distributions have libraries that are named without a directory.
    std::string usual_place_of(const std::string& library)
    {
        const auto c_library = linker_.find(search::c_library, "", loader_, facts_);
        return c_library ? base::format("{}/{}", base::directory_of(c_library->path), library) : "";
    }

    void add(const std::string& library, const std::string& manifest, const ManifestPlace& place)
    {
        const bool has_path = library.find('/') != std::string::npos;
        const std::string usual = has_path ? "" : usual_place_of(library);
        std::string shown = library;
        std::ranges::replace_if(shown, base::is_control, '?');
        causes_.push_back(
            {{FindingCode::feature_missing, manifest,
              base::format("names {}, which is not in the container: {} does not have that driver",
                           shown, place.interface),
              usual.empty() ? manifest : usual,
              base::format("install the package of {}, or remove {}", shown, manifest)},
             Stage::feature,
             Blocks::some});
    }

    const Surroundings& around_;
    linking::Linker& linker_;
    Causes& causes_;
    std::string loader_;
    std::set<Capability> asked_;
    elf::Facts facts_;
};

} // namespace

void add_broken_manifests(const Surroundings& around, linking::Linker& linker, Causes& causes)
{
    Manifests(around, linker, causes).run();
}

} // namespace gpucontainer::check
