// SPDX-License-Identifier: MIT
#pragma once

#include "base/unique_fd.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace gpucontainer::test {

/// A control group of the machine's, made below the one that this process is in, and removed
/// with its processes at the end of the scope.
class ControlGroup {
public:
    enum class Version { unified, devices };

    /// None where the machine has no such hierarchy, or lets nobody make one.
    static std::optional<ControlGroup> make(Version version);
    ControlGroup(ControlGroup&& other) noexcept;
    ControlGroup& operator=(ControlGroup&& other) noexcept;
    ~ControlGroup();

    /// Of its directory on this machine.
    const std::string& place() const noexcept { return place_; }
    /// As /proc/PID/cgroup has it.
    const std::string& path() const noexcept { return path_; }
    /// False, with errno, where the kernel refuses.
    bool write(std::string_view file, std::string_view text) const;
    std::string read(std::string_view file) const;
    bool add(pid_t process) const { return write("cgroup.procs", std::to_string(process)); }

    /// Version 2: has a program forbid a character device. False where there are no programs.
    bool forbid(unsigned major, unsigned minor) const;

private:
    ControlGroup(std::string place, std::string path)
        : place_(std::move(place)), path_(std::move(path))
    {
    }

    std::string place_;
    std::string path_;
};

/// A process that does nothing until the end of the scope.
class IdleProcess {
public:
    IdleProcess();
    IdleProcess(const IdleProcess&) = delete;
    IdleProcess& operator=(const IdleProcess&) = delete;
    ~IdleProcess() { end(); }

    pid_t pid() const noexcept { return pid_; }
    int pidfd() const noexcept { return pidfd_.get(); }
    void end();

private:
    pid_t pid_;
    base::UniqueFd pidfd_;
};

} // namespace gpucontainer::test
