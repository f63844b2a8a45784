// SPDX-License-Identifier: MIT
#pragma once

#include "process/descriptor.hpp"

#include <gpucontainer/gpucontainer.hpp>
#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// A process of a running container. It may end at any time, and its pid may be reused; the
/// descriptors that were opened stay those of this process. Everything throws
/// gpucontainer::Error.
class ContainerProcess {
public:
    explicit ContainerProcess(int pid);

    /// Opens its root directory. Refuses a process whose root is the host's.
    Fd open_root() const;

    /// Joins the user namespace of the process, to get privileges over the container as an
    /// ordinary user. Makes a mount namespace there, which shows the host. Does nothing if this
    /// process is root or is in that user namespace already.
    void enter_user_namespace() const;

    Fd take_descriptor() && { return std::move(pidfd_); }

private:
    std::string path(const char* name) const;
    void require_alive() const;
    bool is_in_own_user_namespace() const;

    int pid_;
    Fd pidfd_;
};

/// The variables of the environment that a process was started with: it may have changed them since
/// then. None if that cannot be read. `pidfd` is of this process. Throws gpucontainer::Error:
/// rootfs, if it has ended, as another may have its pid.
std::vector<std::string> environment_of(int pid, int pidfd);

/// Whether this process is in the mount namespace of the host. None if that is not known: see
/// require_root_of_container().
std::optional<bool> is_in_mount_namespace_of_host();

/// Throws gpucontainer::Error if a directory is not the root of a container that a runtime makes in
/// this mount namespace: rootfs. There it has mounted /proc, and nowhere else; so this is neither
/// the host's namespace nor another directory that a bundle names.
void require_root_of_container(int root, const std::string& name);

/// Opens a process of a container as a pidfd. Throws gpucontainer::Error: rootfs, if there is none;
/// requirement, if the kernel has no pidfds.
Fd open_process(int pid);

/// Joins the user and the mount namespace of a container's process whose root directory is not set
/// yet, as root of that user namespace. Throws gpucontainer::Error: rootfs, also if the process has
/// no mount namespace of its own, or another root directory already; permission.
void join_namespaces(int pid);

} // namespace gpuctr_cli
