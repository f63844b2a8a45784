// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "elf/ld_cache.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace gpucontainer::host {

/// The file system that holds a driver's user space: "/", or a driver
/// container. Paths are absolute in it; links never lead out of it. For one thread
/// at a time.
class DriverRoot {
public:
    static Result<DriverRoot> open(const std::string& path);

    /// Where it is on the host, without links; "" for "/".
    const std::string& prefix() const noexcept { return prefix_; }

    struct File {
        base::UniqueFd fd;
        std::string real_path; ///< In the driver root, all links followed.
        struct stat status = {};
    };

    /// Opens a regular file for reading; a FIFO or device is refused without
    /// waiting for it.
    Result<File> open_file(const std::string& path) const;

    /// What a path leads to, unopened.
    Result<struct stat> look(const std::string& path) const;

    /// Remembers a failure that leaves open what is at `path`.
    template <typename T>
    Result<T> noted(Result<T> found, const std::string& path) const
    {
        if (!found && base::leaves_open(found.error().os_error()) && !trouble_)
            trouble_ = {found.error().os_error(), path};
        return found;
    }

    /// Fails after such a failure, its own ones included: what was found since may be a
    /// part of what is there.
    Result<void> check() const;

    /// A directory, for a look at many names in it.
    struct Directory {
        base::UniqueFd fd;
        std::string real_path; ///< In the driver root, all links followed; "" for its top.
    };
    Result<Directory> open_directory(const std::string& path) const;

    void visit(const Directory& directory,
               const std::function<void(std::string_view)>& visit) const;

    /// As open_file(), for a name in a directory.
    Result<File> open_in(const Directory& directory, const std::string& name) const;

    /// Text of the symbolic link at `path`; none when it is no link.
    std::optional<std::string> link_target(const std::string& path) const;

    /// Names in a directory, sorted; empty when it is not there.
    std::vector<std::string> list(const std::string& directory) const;

    /// The loader cache; none when it is missing or damaged.
    const std::optional<elf::LdCache>& loader_cache() const noexcept { return cache_; }

    /// Directories of ld.so.conf and what it includes, then the loader's own.
    std::vector<std::string> configured_directories() const;

private:
    DriverRoot(base::UniqueFd fd, std::string prefix);

    struct Trouble {
        int os_error;
        std::string path;
    };

    Result<std::string> real_path(int fd, const std::string& path) const;

    base::UniqueFd fd_;
    std::string prefix_;
    std::optional<elf::LdCache> cache_;
    mutable std::optional<Trouble> trouble_; ///< The first.
};

} // namespace gpucontainer::host
