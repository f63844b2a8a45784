// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "cgroup/group.hpp"

#include <string>
#include <vector>

namespace gpucontainer::cgroup {

/// What was changed so that processes may use devices. It stays, unless it is taken back.
class Grant {
public:
    /// In reverse order. The error, with what could not be put back.
    Error take_back(Error because);

    struct Replaced {
        Group group;
        base::UniqueFd before;
        base::UniqueFd after;
        std::string name; ///< Of the program before.
    };
    struct Added {
        DeviceNumber device;
        Access access = 0;
    };
    std::vector<Replaced> programs;
    const Group* listed = nullptr; ///< Has to outlive this, if rules were added.
    std::vector<Added> rules;
    std::string unclear; ///< A program that may forbid a device: it cannot be told. May be "".
};

} // namespace gpucontainer::cgroup
