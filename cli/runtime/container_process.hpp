// SPDX-License-Identifier: MIT
#pragma once

#include "process/descriptor.hpp"

#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_cli {

/// A process of a container that runs already. It may end, and its number be
/// given to another, at any time: what was opened is what counts.
/// Everything throws gpucontainer::Error.
class ContainerProcess {
public:
    explicit ContainerProcess(int pid);

    /// Its root directory; the host's own is refused.
    Fd open_root() const;

    /// Gives this process the privileges that an ordinary user has over the
    /// process's user namespace, in a mount namespace of its own that shows the
    /// host. Nothing where it has them already.
    void enter_user_namespace() const;

    Fd take_descriptor() && { return std::move(pidfd_); }

private:
    std::string path(const char* name) const;
    void require_alive() const;
    bool is_in_own_user_namespace() const;

    int pid_;
    Fd pidfd_;
};

} // namespace gpuctr_cli
