// SPDX-License-Identifier: MIT
#include "linking/linker.hpp"

#include "fuzz/fuzz.hpp"
#include "fuzz/tree.hpp"
#include "rootfs/root.hpp"

#include <algorithm>
#include <fcntl.h>
#include <string>

namespace gpucontainer::fuzz {
namespace {

constexpr std::size_t most_objects = 1100; // some more than a loader is followed through

void check_objects(const linking::Linked& linked)
{
    demand(linked.objects.size() <= most_objects, "the number of files is limited");
    for (const linking::Object& object : linked.objects) {
        demand(object.path.starts_with('/'), "a file is in the container");
        demand(object.loaded_by < linked.objects.size(), "a file is loaded by another");
        demand(std::ranges::all_of(object.needs,
                                   [&](std::size_t one) { return one < linked.objects.size(); }),
               "a file needs others");
    }
    for (const linking::Lack& lack : linked.lacks)
        demand(!lack.needed_by.empty() && lack.needed_by.size() <= linking::most_needers,
               "somebody needs what is lacking");
}

} // namespace

/// An image, with the program /app and the library /lib/libd.so.1. The head is a search path.
void run(std::string_view input)
{
    static Tree tree;
    const std::string_view head = tree.fill(input);
    const base::UniqueFd top(::open(tree.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto root = rootfs::Root::open(top.get());
    if (!root)
        return;
    linking::Linker linker(*root,
                           {{"LD_LIBRARY_PATH", std::string(head.substr(0, head.find('\n')))}},
                           {"x86-64-v3", "x86-64-v2"});
    const linking::Linked program = linker.program("/app");
    check_objects(program);
    check_objects(linker.library("/lib/libd.so.1", "/lib64/ld-linux-x86-64.so.2"));
    const auto found = linker.find("libd.so.1", "/app", program.interpreter, {});
    demand(!found || found->path.starts_with('/'), "a library is in the container");
    demand(linker.program("/app").objects.size() == program.objects.size(),
           "a program loads the same twice");
}

} // namespace gpucontainer::fuzz
