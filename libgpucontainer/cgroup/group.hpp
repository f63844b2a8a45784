// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "cgroup/device_list.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpucontainer::cgroup {

/// The two kinds of device cgroups.
enum class Version : std::uint8_t {
    unified, ///< Version 2, with BPF programs.
    devices, ///< Version 1, with the list of the controller "devices".
};

/// Identity of a group, until it is removed or the machine reboots.
struct GroupId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    bool operator==(const GroupId&) const = default;
};

/// A control group, by its directory.
class Group {
public:
    /// The group at a path from /proc/PID/cgroup, below the usual mount point of its hierarchy, if
    /// that process is in it. Errors: requirement, if that cannot be found out.
    static Result<Group> of_process(Version version, const std::string& path,
                                    std::string_view process);
    /// The group `id` that once was at such a path, even if it was renamed; none if it was
    /// removed. Without CAP_DAC_READ_SEARCH in the initial user namespace it is found only at its
    /// path.
    static Result<std::optional<Group>> find(Version version, const std::string& path,
                                             const GroupId& id);

    int fd() const noexcept { return directory_.get(); }
    const std::string& path() const noexcept { return path_; }
    Result<GroupId> id() const;

    /// For version 2: the group above it; none if this is the topmost one that is seen.
    std::optional<Group> above() const;
    /// The same group once more.
    std::optional<Group> again() const { return near(".", path_); }
    /// For version 2: whether it holds one group and nothing else, so what is allowed to it is
    /// allowed to nobody else.
    bool holds_one_group_alone() const;
    /// For version 2: whether processes in it are stopped, including one that joins it.
    bool is_frozen() const;

    /// For version 1. Errors: requirement.
    Result<DeviceList> device_list() const;
    /// Changes a rule for one device. Errors: permission, if a group above does not allow the
    /// device, or the thread lacks CAP_SYS_ADMIN in the initial user namespace; apply.
    Result<void> allow(const DeviceNumber& device, Access access) const;
    Result<void> deny(const DeviceNumber& device, Access access) const;

private:
    Group(base::UniqueFd directory, std::string path)
        : directory_(std::move(directory)), path_(std::move(path))
    {
    }
    static Result<Group> open(Version version, const std::string& path);
    std::optional<Group> near(const char* name, std::string path) const;
    bool is(const GroupId& wanted) const;
    Result<void> write(const char* file, const std::string& text) const;

    base::UniqueFd directory_;
    std::string path_;
};

} // namespace gpucontainer::cgroup
