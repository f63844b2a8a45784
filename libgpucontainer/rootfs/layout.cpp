// SPDX-License-Identifier: MIT
#include "rootfs/layout.hpp"

#include "base/format.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::rootfs {
namespace {

struct Loader {
    const char* path;
    bool musl;
};

/// Loaders of other C libraries and machines, to say what the image is for.
constexpr std::array other_loaders = {
    Loader{"/lib/ld-musl-x86_64.so.1", true},
    Loader{"/lib/ld-musl-aarch64.so.1", true},
    Loader{"/lib64/ld-linux-x86-64.so.2", false},
    Loader{"/lib/ld-linux-aarch64.so.1", false},
    Loader{"/lib/ld-linux-riscv64-lp64d.so.1", false},
    Loader{"/lib64/ld64.so.2", false},
    Loader{"/lib/ld64.so.1", false},
    Loader{"/lib/ld-linux-armhf.so.3", false},
    Loader{"/lib/ld-linux.so.2", false},
};

/// Says what programs the image has, if its loader tells.
std::string describe_programs(const View& view)
{
    for (const Loader& loader : other_loaders)
        if (view.resolve(loader.path).type == EntryType::regular)
            return base::format(": its programs {} ({})",
                                loader.musl ? "use musl" : "are for another architecture",
                                loader.path);
    return {};
}

Error unfit(const View& view, const elf::Machine& machine, const std::string& missing)
{
    const bool is_own = machine.name == elf::own_machine().name;
    const std::string wanted =
        is_own ? "this machine's architecture" : base::format("architecture {}", machine.name);
    return Error(Errc::rootfs,
                 "no " + missing + " in the root file system" + describe_programs(view))
        .with_object(missing)
        .with_hint(base::format("the driver's libraries need glibc of {}; --vendor-libs none gives "
                                "the container the device nodes alone",
                                wanted));
}

bool has_c_library(const View& view, const std::string& directory)
{
    return view.resolve(directory + "/libc.so.6").type == EntryType::regular;
}

bool has_musl(const View& view)
{
    return std::any_of(other_loaders.begin(), other_loaders.end(), [&](const Loader& loader) {
        return loader.musl && view.resolve(loader.path).type == EntryType::regular;
    });
}

Layout layout_of(const View& view, const elf::Machine& machine,
                 std::span<const std::string> further)
{
    Layout layout;
    layout.loader = machine.loader;
    std::vector<Entry> seen;
    std::vector<std::string> directories = library_directories(machine);
    directories.insert(directories.end(), further.begin(), further.end());
    for (const std::string& directory : directories) {
        const Entry entry = view.resolve(directory);
        const bool again = std::any_of(seen.begin(), seen.end(),
                                       [&](const Entry& e) { return e.same_file(entry); });
        if (entry.type != EntryType::directory || again)
            continue;
        seen.push_back(entry);
        layout.searched_directories.push_back(directory);
    }

    // The loader's default directory is the one with its C library. Directories of other
    // distributions may exist too.
    const auto& searched = layout.searched_directories;
    const auto home = std::find_if(searched.begin(), searched.end(),
                                   [&](const std::string& d) { return has_c_library(view, d); });
    if (!searched.empty())
        layout.library_directory = home != searched.end() ? *home : searched.front();
    return layout;
}

} // namespace

std::vector<std::string> library_directories(const elf::Machine& machine)
{
    const char* const bits = machine.elf_class == elf::Facts::Class::elf64 ? "64" : "32";
    std::vector<std::string> directories = {
        base::format("/usr/lib/{}", machine.multiarch), base::format("/lib/{}", machine.multiarch),
        base::format("/usr/lib{}", bits), base::format("/lib{}", bits), "/usr/lib"};
    if (machine.elf_class == elf::Facts::Class::elf32)
        directories.emplace_back("/lib");
    return directories;
}

Result<Layout> find_layout(const View& view, const elf::Machine& machine,
                           std::span<const std::string> further)
{
    const std::string loader(machine.loader);
    if (view.resolve(loader).type != EntryType::regular)
        return unfit(view, machine, loader);
    Layout layout = layout_of(view, machine, further);
    // A system with musl can also have glibc's loader, to run single programs.
    if (!has_c_library(view, layout.library_directory) && has_musl(view))
        return unfit(view, machine, "libc.so.6");
    return layout;
}

std::optional<Layout> find_compat32_layout(const View& view, const elf::Machine& machine)
{
    if (view.resolve(std::string(machine.loader)).type != EntryType::regular)
        return std::nullopt;
    return layout_of(view, machine, {});
}

} // namespace gpucontainer::rootfs
