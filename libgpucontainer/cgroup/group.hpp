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

/// The two kinds of control groups that devices are allowed by.
enum class Version : std::uint8_t {
    unified, ///< 2, where programs decide.
    devices, ///< 1, the controller "devices" with its list.
};

/// Which group a directory is, until it is removed or the machine is started again.
struct GroupId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    bool operator==(const GroupId&) const = default;
};

/// A control group of this machine, by its directory.
class Group {
public:
    /// The one at a path that /proc/PID/cgroup names, below the place where its hierarchy is
    /// mounted as a rule, if the process with that number is in it. Errors: requirement, for
    /// whatever keeps that from being told.
    static Result<Group> of_process(Version version, const std::string& path,
                                    std::string_view process);
    /// The one that was at such a path once and is `id`, by whatever name; none where that is
    /// gone. Who lacks CAP_DAC_READ_SEARCH in the initial user namespace has it at its path alone.
    static Result<std::optional<Group>> find(Version version, const std::string& path,
                                             const GroupId& id);

    int fd() const noexcept { return directory_.get(); }
    const std::string& path() const noexcept { return path_; }
    Result<GroupId> id() const;

    /// Of version 2: its processes are stopped, and so is who joins it.
    bool is_frozen() const;

    /// Of version 1. Errors: requirement.
    Result<DeviceList> device_list() const;
    /// Changes a rule for one device. Errors: permission, where a group above it does not allow
    /// the device, or the thread lacks CAP_SYS_ADMIN in the initial user namespace; apply.
    Result<void> allow(const DeviceNumber& device, Access access) const;
    Result<void> deny(const DeviceNumber& device, Access access) const;

private:
    Group(base::UniqueFd directory, std::string path)
        : directory_(std::move(directory)), path_(std::move(path))
    {
    }
    static Result<Group> open(Version version, const std::string& path);
    bool is(const GroupId& wanted) const;
    Result<void> write(const char* file, const std::string& text) const;

    base::UniqueFd directory_;
    std::string path_;
};

} // namespace gpucontainer::cgroup
