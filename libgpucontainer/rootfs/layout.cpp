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

Error unfit(const View& view, const std::string& missing)
{
    return Error(Errc::rootfs,
                 "no " + missing + " in the root file system" + describe_programs(view))
        .with_object(missing)
        .with_hint("the driver's libraries need glibc of this machine's architecture; "
                   "--vendor-libs none gives the container the device nodes alone");
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

} // namespace

const Machine& native_machine()
{
    // Loader paths are part of each processor's ABI supplement.
#if defined(__x86_64__)
    static const Machine machine = {
        "/lib64/ld-linux-x86-64.so.2",
        {"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib"}};
#elif defined(__aarch64__)
    static const Machine machine = {"/lib/ld-linux-aarch64.so.1",
                                    {"/usr/lib/aarch64-linux-gnu", "/lib/aarch64-linux-gnu",
                                     "/usr/lib64", "/lib64", "/usr/lib"}};
#else
#error "which loader do programs of this machine name?"
#endif
    return machine;
}

Result<Layout> find_layout(const View& view, std::span<const std::string> further)
{
    const Machine& machine = native_machine();
    if (view.resolve(machine.loader).type != EntryType::regular)
        return unfit(view, machine.loader);

    Layout layout;
    layout.loader = machine.loader;
    std::vector<Entry> seen;
    std::vector<std::string> directories = machine.library_directories;
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
    // A system with musl can also have glibc's loader, to run single programs.
    if (home == searched.end() && has_musl(view))
        return unfit(view, "libc.so.6");
    if (!searched.empty())
        layout.library_directory = home != searched.end() ? *home : searched.front();
    return layout;
}

} // namespace gpucontainer::rootfs
