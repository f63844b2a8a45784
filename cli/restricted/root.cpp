// SPDX-License-Identifier: MIT
#include "restricted/root.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gpucontainer/gpucontainer.hpp>
#include <optional>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

constexpr const char* option = "restricted-rootfs";

[[noreturn]] void refuse_directory(const std::string& directory, const char* why)
{
    throw gpucontainer::Error(GPUCTR_E_PERMISSION, formatted("{}: {}", directory, why),
                              "it and all directories above it must belong to root, and only root "
                              "may write them",
                              0, {}, option);
}

/// Checks that only root can replace a part of the path.
void check_is_roots(const Fd& part, const std::string& directory)
{
    constexpr mode_t others = S_IWGRP | S_IWOTH;
    struct stat status = {};
    if (::fstat(part.get(), &status) != 0)
        fail(directory, GPUCTR_E_PERMISSION, "", option);
    if (status.st_uid != 0)
        refuse_directory(directory, "it or a directory above belongs to somebody else");
    if ((status.st_mode & others) != 0 && (status.st_mode & S_ISVTX) == 0)
        refuse_directory(directory, "others may write it or a directory above");
}

Fd open_roots_own(const std::string& directory)
{
    if (!directory.starts_with('/'))
        refuse_directory(directory, "is not an absolute path");
    Fd current(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::istringstream parts(directory);
    for (std::string part; current && std::getline(parts, part, '/');) {
        check_is_roots(current, directory);
        if (!part.empty())
            current = Fd(::openat(current.get(), part.c_str(),
                                  O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    if (!current)
        fail(directory, GPUCTR_E_PERMISSION,
             "name a directory without symbolic links that restricted-user may enter", option);
    check_is_roots(current, directory);
    return current;
}

/// The rest of `path` below the directory; "" for the directory itself, nothing if it is not
/// below.
std::optional<std::string> part_below(std::string directory, const std::string& path)
{
    while (directory.ends_with('/'))
        directory.pop_back();
    if (!path.starts_with(directory))
        return std::nullopt;
    std::string rest = path.substr(directory.size());
    if (!rest.empty() && rest.front() != '/')
        return std::nullopt;
    return rest;
}

} // namespace

Fd open_restricted_root(const std::vector<std::string>& directories, const std::string& path)
{
    for (const std::string& directory : directories)
        if (const auto rest = part_below(directory, path))
            return Fd(gpucontainer::open_in_root(open_roots_own(directory).get(), *rest + "/",
                                                 O_PATH | O_DIRECTORY));
    throw gpucontainer::Error(
        GPUCTR_E_PERMISSION, formatted("--rootfs {}: refused in a restricted call", path),
        formatted("restricted-rootfs allows {}", fmt::join(directories, ", ")), 0, {}, "rootfs");
}

} // namespace gpuctr_cli
