// SPDX-License-Identifier: MIT
#include "vendor/nodes.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "vendor/node_access.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <utility>

namespace gpucontainer::vendor {

Result<void> add_node(const std::string& system_root, const std::string& dev_root,
                      const WantedNode& wanted, Nodes& found, std::vector<Skipped>& skipped)
{
    struct stat status = {};
    DeviceNode node;
    node.path = wanted.path;
    node.host_path = dev_root + wanted.path;
    const std::string opened_path = system_root + node.host_path;
    node.major = wanted.major.value_or(0);
    node.minor = wanted.minor;
    node.gpu = wanted.gpu;
    node.capability = wanted.capability;
    node.required = wanted.required;
    node.links = wanted.links;
    const auto skip = [&](std::string reason) -> Result<void> {
        skipped.push_back(
            {std::string(base::name_of(wanted.path)), node.host_path, std::move(reason)});
        if (wanted.required)
            found.missing.push_back(std::move(node));
        return {};
    };
    if (!wanted.major)
        return skip("its kernel driver is not loaded");
    const bool seen = ::fstatat(AT_FDCWD, opened_path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!seen && base::leaves_open(errno))
        return Error::from_errno(errno, node.host_path, Errc::driver).with_object(node.host_path);
    if (!seen)
        return skip(Error::from_errno(errno, "no device node").message());
    if (!S_ISCHR(status.st_mode) || major(status.st_rdev) != *wanted.major
        || minor(status.st_rdev) != wanted.minor)
        return skip(fmt::format("not the character device {}:{}", *wanted.major, wanted.minor));

    node.mode = status.st_mode & 07777U;
    node.gid = status.st_gid;
    std::string obstacle = obstacle_to_opening(opened_path);
    node.accessible = obstacle.empty();
    if (!node.accessible)
        skipped.push_back(
            {std::string(base::name_of(wanted.path)), node.host_path, std::move(obstacle)});
    found.nodes.push_back(std::move(node));
    return {};
}

} // namespace gpucontainer::vendor
