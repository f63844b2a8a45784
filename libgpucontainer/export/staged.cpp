// SPDX-License-Identifier: MIT
#include "export/staged.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/trusted_way.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <fcntl.h>
#include <map>
#include <set>

namespace gpucontainer::exports {
namespace {

constexpr std::size_t most_libraries = 10'000;

Error nothing_staged(const std::string& tree)
{
    return Error(Errc::usage, base::format("CDI: nothing is staged at {}", tree))
        .with_object(tree)
        .with_argument("staged_tree")
        .with_hint("`gpuctr-setup prepare` stages the driver's files");
}

/// Names in the tree's directory of libraries.
Result<std::set<std::string>> libraries_in(const std::string& tree)
{
    GPUCTR_TRY(auto way, base::TrustedWay::walk(tree + "/lib64", O_RDONLY | O_DIRECTORY));
    if (way.distrust)
        return *std::move(way.distrust);
    if (!way.fd)
        return nothing_staged(tree);
    GPUCTR_CHECK(base::check_trust(way.fd.get(), tree));
    GPUCTR_TRY(const auto names, base::list_directory(way.fd.get(), ".", most_libraries));
    return std::set<std::string>(names.begin(), names.end());
}

/// The default directories of the loaders of both families of distributions.
std::vector<std::string> default_directories(const elf::Machine& machine)
{
    return {base::format("/usr/lib/{}", machine.multiarch), "/usr/lib64"};
}

/// Where loaders search besides: glibc before 2.37 in "tls", and since 2.33 in the directory of
/// each level of a processor that has a name, of which x86-64-v2 is as old as the GPUs.
std::vector<std::string> searched_places(const elf::Machine& machine, const std::string& link)
{
    std::vector<std::string> places;
    if (!link.empty())
        places.push_back(link + "/lib64");
    for (const std::string& directory : default_directories(machine)) {
        places.push_back(directory + "/tls");
        if (machine.number == EM_X86_64)
            places.push_back(directory + "/glibc-hwcaps/x86-64-v2");
    }
    return places;
}

} // namespace

Result<void> bind_staged(std::vector<cdi::Mount>& mounts, const std::string& tree,
                         const std::string& link, const elf::Machine& machine)
{
    GPUCTR_TRY(const auto libraries, libraries_in(tree));
    const auto directories = default_directories(machine);
    std::map<std::string, std::string> in_tree; // of a file of the host
    std::erase_if(mounts, [&](const cdi::Mount& mount) {
        const std::string name(base::name_of(mount.container_path));
        const std::string directory(base::directory_of(mount.container_path));
        if (!libraries.contains(name)
            || std::ranges::find(directories, directory) == directories.end())
            return false;
        in_tree.emplace(mount.host_path, base::format("{}/lib64/{}", tree, name));
        return true;
    });
    if (in_tree.empty())
        return Error(Errc::usage,
                     base::format("CDI: the tree at {} has none of these libraries", tree))
            .with_object(tree)
            .with_argument("staged_tree");
    // A path in the tree has no version of the driver, and stays right when it is staged anew.
    for (cdi::Mount& mount : mounts)
        if (const auto found = in_tree.find(mount.host_path); found != in_tree.end())
            mount.host_path = found->second;
    for (std::string& place : searched_places(machine, link))
        mounts.push_back(
            {tree + "/lib64", std::move(place), {"ro", "nosuid", "nodev", "rbind", "rprivate"}});
    return {};
}

} // namespace gpucontainer::exports
