// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "elf/ld_cache.hpp"
#include "elf/machine.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace gpucontainer::host {

/// Which paths in a driver root were looked at, be they there or not.
struct Trace {
    std::set<std::string> looked_at;
    std::set<std::string> opened; ///< As files, for reading.
};

/// The file system with a driver's user space: "/", or a driver container. Paths are absolute in
/// it, and symbolic links do not lead out of it. For one thread at a time.
class DriverRoot {
public:
    static Result<DriverRoot> open(const std::string& path);

    /// From now on, notes what is looked at in `trace`, which is borrowed; null: nowhere.
    void trace_in(Trace* trace) noexcept { trace_ = trace; }

    /// Its path on the host, without links; "" for "/".
    const std::string& prefix() const noexcept { return prefix_; }

    struct File {
        base::UniqueFd fd;
        std::string real_path; ///< In the driver root, all links followed.
        struct stat status = {};
    };

    /// Opens a regular file for reading. A FIFO or device is refused without waiting for it.
    Result<File> open_file(const std::string& path) const;

    /// Finds what a path leads to, without opening it.
    Result<struct stat> look(const std::string& path) const;

    /// Remembers a failure that does not tell whether `path` exists.
    template <typename T>
    Result<T> noted(Result<T> found, const std::string& path) const
    {
        if (!found && base::leaves_open(found.error().os_error()) && !trouble_)
            trouble_ = {found.error().os_error(), path};
        return found;
    }

    /// Fails if there was such a failure, here or in this object's own functions. What was found
    /// may be incomplete then.
    Result<void> check() const;

    /// A directory, to look up many names in it.
    struct Directory {
        base::UniqueFd fd;
        std::string real_path; ///< In the driver root, all links followed; "" for its top.
    };
    Result<Directory> open_directory(const std::string& path) const;

    void visit(const Directory& directory,
               const std::function<void(std::string_view)>& visit) const;

    /// Like open_file(), for a name in a directory.
    Result<File> open_in(const Directory& directory, const std::string& name) const;

    /// Target of the symbolic link at `path`; none if it is not a link.
    std::optional<std::string> link_target(const std::string& path) const;

    /// Names in a directory, sorted; empty if it does not exist.
    std::vector<std::string> list(const std::string& directory) const;

    /// The architecture of its programs; this library's own if that is unknown.
    const elf::Machine& machine() const noexcept { return *machine_; }

    /// The loader cache; none if it is missing or damaged.
    const std::optional<elf::LdCache>& loader_cache() const noexcept { return cache_; }

    /// What the loader cache has for a soname, for programs of machine().
    std::vector<elf::CacheEntry> cached(std::string_view soname) const
    {
        return cached(soname, *machine_);
    }
    std::vector<elf::CacheEntry> cached(std::string_view soname, const elf::Machine& machine) const;

    /// Whether programs of machine() load a cache entry on any processor.
    bool is_loaded(const elf::CacheEntry& entry) const noexcept;

    /// Directories of ld.so.conf and what it includes, then the loader's own.
    std::vector<std::string> configured_directories() const;

private:
    DriverRoot(base::UniqueFd fd, std::string prefix);

    struct Trouble {
        int os_error;
        std::string path;
    };

    void note_look(const std::string& path) const
    {
        if (trace_ != nullptr)
            trace_->looked_at.insert(path);
    }
    void note_opening(const std::string& path) const
    {
        if (trace_ != nullptr)
            trace_->opened.insert(path);
    }
    Result<std::string> real_path(int fd, const std::string& path) const;
    const elf::Machine& find_machine() const;
    const elf::Machine* machine_of_libraries(const std::string& directory) const;

    base::UniqueFd fd_;
    std::string prefix_;
    const elf::Machine* machine_ = &elf::own_machine();
    std::optional<elf::LdCache> cache_;
    mutable std::optional<Trouble> trouble_; ///< The first.
    Trace* trace_ = nullptr;
};

} // namespace gpucontainer::host
