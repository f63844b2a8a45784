// SPDX-License-Identifier: MIT
#include "rootfs/layout.hpp"

#include <algorithm>

namespace gpucontainer::rootfs {

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

Result<Layout> find_layout(const View& view)
{
    const Machine& machine = native_machine();
    if (view.resolve(machine.loader).type != EntryType::regular)
        return Error(Errc::rootfs, "no " + machine.loader + " in the root file system")
            .with_object(machine.loader)
            .with_hint("the driver's libraries need glibc of this machine's architecture; an "
                       "image with musl or for another architecture cannot use them");

    Layout layout;
    layout.loader = machine.loader;
    std::vector<Entry> seen;
    std::vector<std::string> directories = machine.library_directories;
    directories.insert(directories.end(), {"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib"});
    for (const std::string& directory : directories) {
        const Entry entry = view.resolve(directory);
        const bool again = std::any_of(seen.begin(), seen.end(),
                                       [&](const Entry& e) { return e.same_file(entry); });
        if (entry.type != EntryType::directory || again)
            continue;
        seen.push_back(entry);
        layout.searched_directories.push_back(directory);
    }

    // The loader's default directory is that of its C library; others may be
    // there as well, made by somebody who thought of another distribution.
    const auto& searched = layout.searched_directories;
    const auto home = std::find_if(searched.begin(), searched.end(), [&](const std::string& d) {
        return view.resolve(d + "/libc.so.6").type == EntryType::regular;
    });
    if (!searched.empty())
        layout.library_directory = home != searched.end() ? *home : searched.front();
    return layout;
}

} // namespace gpucontainer::rootfs
