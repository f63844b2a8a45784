// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace gpucontainer::search {

/// Where one version of a user space is installed: what lies above its "lib", such as
/// "/usr" or "/opt/rocm-6.4". Several may be there, and are never mixed. Paths are
/// those in the driver root, links followed.
class Installation {
public:
    /// The one that the library at `path` is of; that of the first one stays.
    void choose(std::string_view path);

    /// What is of this installation; anything before one is chosen.
    bool holds(std::string_view path) const;

    /// Also what lies in the system's own directories, such as a program or data that
    /// fits any version.
    bool admits(std::string_view path) const;

    std::string objection_to(std::string_view path) const;

    /// "/opt/rocm-6.4"; "" before one is chosen.
    const std::string& prefix() const noexcept { return prefix_; }

private:
    std::string prefix_;
};

} // namespace gpucontainer::search
