// SPDX-License-Identifier: MIT
#include "loading/host_nodes.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "host/made_node.hpp"
#include "privilege/capabilities.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace gpucontainer::loading {
namespace {

using base::UniqueFd;
using search::WantedNode;

constexpr std::string_view top = "/dev";
constexpr mode_t directory_mode = 0755;

Error failed(const std::string& path)
{
    return Error::from_errno(errno, "make the device node " + path).with_object(path);
}

/// The directory of a node, one level below /dev at most. It is made if it is missing.
Result<UniqueFd> directory_of(const std::string& system_root, const std::string& path)
{
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd dev(::open(base::format("{}{}", system_root, top).c_str(), flags));
    const std::string directory(base::directory_of(path));
    if (!dev)
        return failed(path);
    if (directory == top)
        return dev;
    const std::string name(base::name_of(directory));
    if (::mkdirat(dev.get(), name.c_str(), directory_mode) == 0) {
        if (::fchmodat(dev.get(), name.c_str(), directory_mode, 0) != 0)
            return failed(path);
    } else if (errno != EEXIST) {
        return failed(path);
    }
    UniqueFd below(::openat(dev.get(), name.c_str(), flags));
    if (!below)
        return failed(path);
    return below;
}

Result<bool> is_missing(const std::string& system_root, const std::string& path)
{
    struct stat status = {};
    if (::lstat((system_root + path).c_str(), &status) == 0)
        return false;
    if (errno != ENOENT)
        return failed(path);
    return true;
}

Result<void> make(const std::string& system_root, const WantedNode& node)
{
    GPUCTR_CHECK(privilege::require_making_nodes(node.path));
    GPUCTR_TRY(const UniqueFd directory, directory_of(system_root, node.path));
    const std::string name(base::name_of(node.path));
    const host::LackingNode wanted = {*node.major, node.minor, node.rights->mode, node.rights->uid,
                                      node.rights->gid};
    // udev may have made it meanwhile.
    if (!host::make_plain_node(directory.get(), name.c_str(), wanted) && errno != EEXIST)
        return failed(node.path);
    return {};
}

} // namespace

Result<void> make_host_nodes(const std::string& system_root, const std::vector<WantedNode>& nodes,
                             model::Findings& findings)
{
    for (const WantedNode& node : nodes) {
        if (!node.major || !node.rights)
            continue;
        GPUCTR_TRY(const bool missing, is_missing(system_root, node.path));
        if (!missing)
            continue;
        GPUCTR_CHECK(make(system_root, node));
        findings.push_back(
            {model::FindingCode::node_made, node.path,
             base::format("this device node was made on the host ({}:{}, mode {:04o})", *node.major,
                          node.minor, node.rights->mode),
             node.path});
    }
    return {};
}

} // namespace gpucontainer::loading
