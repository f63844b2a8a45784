// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace gpucontainer::search {

/// The directory in which one version of a user space is installed: the one above its "lib", such
/// as "/usr" or "/opt/rocm-6.4". A host may have several versions, which are never mixed. Paths are
/// in the driver root, with links resolved.
class Installation {
public:
    /// Chooses the installation of the library at `path`, unless one is chosen already.
    void choose(std::string_view path);

    /// Whether a path belongs to this installation. Before one is chosen, every path does.
    bool holds(std::string_view path) const;

    /// The same, or it lies in the system's own directories. These may have programs and data that
    /// fit any version.
    bool admits(std::string_view path) const;

    std::string objection_to(std::string_view path) const;

    /// The same path in this installation, if it has the usual directory's name with more:
    /// "/opt/rocm-6.4/share/x" or "/opt/rocm/core-7.14/share/x" for "/opt/rocm/share/x". Else "".
    std::string own_path(std::string_view path) const;

    /// "/opt/rocm-6.4"; "" before one is chosen.
    const std::string& prefix() const noexcept { return prefix_; }

private:
    std::string prefix_;
};

} // namespace gpucontainer::search
