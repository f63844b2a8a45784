// SPDX-License-Identifier: MIT
#include "mount/calls.hpp"

#include "base/unique_fd.hpp"
#include "mount/by_descriptors.hpp"
#include "mount/by_paths.hpp"

#include <sys/mount.h>

namespace gpucontainer::mount {

const Way& way_of(Backend backend) noexcept
{
    switch (backend) {
    case Backend::detached:
        return detached_way;
    case Backend::assembled:
        return assembled_way;
    case Backend::legacy:
        break;
    }
    return legacy_way;
}

int clone_tree(const Bench& bench, int dir_fd, const char* path, bool recursive) noexcept
{
    return way_of(bench.backend).clone_tree(bench, dir_fd, path, recursive);
}

int clone_private(const Bench& bench, int fd) noexcept
{
    return way_of(bench.backend).clone_private(bench, fd);
}

int attach(const Bench& bench, int tree_fd, int target_fd) noexcept
{
    return way_of(bench.backend).attach(tree_fd, target_fd);
}

int attach_below(const Bench& bench, int tree_fd, int base_fd, const char* path) noexcept
{
    return way_of(bench.backend).attach_below(tree_fd, base_fd, path);
}

int bind_below(const Bench& bench, int source_fd, int base_fd, const char* path) noexcept
{
    return way_of(bench.backend).bind_below(source_fd, base_fd, path);
}

int set_attributes(const Bench& bench, int tree_fd, std::uint64_t attributes,
                   std::uint64_t propagation, bool recursive) noexcept
{
    return way_of(bench.backend).set_attributes(tree_fd, attributes, propagation, recursive);
}

int new_tmpfs(const Bench& bench, const char* label) noexcept
{
    return way_of(bench.backend).new_tmpfs(bench, label);
}

int new_overlay(const Bench& bench, int upper_fd, int lower_fd, std::uint64_t attributes,
                const char* label) noexcept
{
    return way_of(bench.backend).new_overlay(bench, upper_fd, lower_fd, attributes, label);
}

int make_read_only(int fd) noexcept
{
    const base::UniqueFd context(::fspick(fd, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH));
    if (!context || ::fsconfig(context.get(), FSCONFIG_SET_FLAG, "ro", nullptr, 0) != 0)
        return -1;
    return ::fsconfig(context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0);
}

} // namespace gpucontainer::mount
