// SPDX-License-Identifier: MIT
#include "plan/named_directories.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/registry.hpp"
#include "host/node_access.hpp"
#include "privilege/process.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::plan {
namespace {

bool is_plain_path(const std::string& path)
{
    return path.starts_with('/') && (path + "/").find("/../") == std::string::npos
           && std::ranges::none_of(path, base::is_control);
}

/// Sets the owner too.
std::string problem_with(const drivers::NamedDirectory& wanted, NamedPath& named)
{
    if (privilege::is_raised())
        return "this program is setuid, setgid or has file capabilities";
    if (!is_plain_path(named.path))
        return "not an absolute path";
    struct stat status = {};
    if (::lstat(named.path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
        return "no such directory";
    named.uid = status.st_uid;
    if (host::is_anybodys(named.path, named.uid))
        return base::format("it belongs to user {}, in a directory that others may write",
                            named.uid);
    const std::string socket = base::format("{}/{}", named.path, wanted.socket);
    if (::lstat(socket.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode))
        return base::format("there is no socket {} in it", wanted.socket);
    if (::faccessat(AT_FDCWD, socket.c_str(), W_OK, AT_EACCESS) != 0)
        return base::format("its socket {} may not be used", wanted.socket);
    return "";
}

} // namespace

std::vector<NamedPath> named_directories(std::span<const model::DriverStack> drivers,
                                         const std::map<std::string, std::string>& variables)
{
    std::vector<NamedPath> found;
    for (const drivers::Vendor& vendor : drivers::vendors()) {
        const drivers::NamedDirectory* const wanted = vendor.named_directory;
        if (wanted == nullptr
            || std::ranges::find(drivers, vendor.name, &model::DriverStack::vendor)
                   == drivers.end())
            continue;
        const auto variable = variables.find(std::string(wanted->variable));
        if (variable == variables.end() || variable->second.empty()
            || variable->second == wanted->place)
            continue;
        NamedPath named = {std::string(vendor.name), variable->second, 0, ""};
        named.problem = problem_with(*wanted, named);
        found.push_back(std::move(named));
    }
    return found;
}

} // namespace gpucontainer::plan
