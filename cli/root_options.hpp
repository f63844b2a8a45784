// SPDX-License-Identifier: MIT
#pragma once

#include "descriptor.hpp"

#include <CLI/CLI.hpp>
#include <gpucontainer/gpucontainer.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gpuctr_setup {

/// A container's root directory, however it was named. Owns its descriptors.
class RootDirectory {
public:
    /// Throws gpucontainer::Error: rootfs, permission.
    static RootDirectory at(const std::string& path);
    /// The same below one of a policy's directories. Throws: permission, rootfs.
    static RootDirectory below(const std::vector<std::string>& directories,
                               const std::string& path);
    /// The descriptor is duplicated, and not inherited any more. Throws: usage,
    /// rootfs.
    static RootDirectory from_descriptor(int fd);
    /// Root of a process. An ordinary user's process joins the user namespace of
    /// it, with a mount namespace of its own, to have the privileges that count
    /// there. Throws: rootfs, permission, usage.
    static RootDirectory of_process(int pid);

    int fd() const noexcept { return directory_.get(); }
    /// For messages.
    const std::string& name() const noexcept { return name_; }

    /// How the library has to work on it, with journals in `state_directory`.
    gpucontainer::ApplyOptions apply_options(std::string state_directory) const;

private:
    RootDirectory(std::string name, Fd directory)
        : name_(std::move(name)), directory_(std::move(directory))
    {
    }

    std::string name_;
    Fd directory_;
    Fd process_;
};

/// --rootfs, --rootfs-fd and --pid, of which one is given at most.
struct RootOptions {
    std::string path;
    std::optional<int> descriptor;
    std::optional<int> pid;
    std::vector<std::string> allowed; ///< Where `path` has to be; empty: anywhere.

    void add_to(CLI::App& command);
    /// `phases` of GPUCTR_PHASE_*, with what a process as the root needs besides.
    std::uint32_t phases(std::uint32_t phases) const noexcept
    {
        return pid ? phases | GPUCTR_PHASE_IN_PROCESS : phases;
    }
    bool is_given() const noexcept { return !path.empty() || descriptor || pid; }
    /// For a command that also takes --all. Throws, when neither is given: usage.
    void require_or_all(bool all, const std::string& command) const;
    /// Throws also when none is given: usage.
    RootDirectory open() const;
};

/// Directory for the journals: the option, or what fits the user.
std::string state_directory(const std::string& option);
void add_state_option(CLI::App& command, std::string& option);

} // namespace gpuctr_setup
