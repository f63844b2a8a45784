// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cdi/specification.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// What hooks are for that are known, which is done without running them.
namespace gpucontainer::cdi {

/// Links in the container.
struct LinkTask {
    struct Link {
        std::string to;   ///< As it is written, relative or absolute.
        std::string path; ///< Absolute, without "." and "..".
    };
    std::vector<Link> links;
};

/// Programs find the libraries in these directories.
struct CacheTask {
    std::vector<std::string> directories;
};

/// Programs find the image's own user space if that is for newer drivers.
struct CompatTask {
    std::string vendor;
    std::string driver = {};    ///< Version of the host's; "": not told.
    std::string toolkit = {};   ///< That it supports; "": not told.
    std::string directory = {}; ///< Of the image.
};

/// Programs do not make device nodes.
struct NoNodesTask {
    std::string vendor;
};

/// Programs that draw learn which GPUs the container has.
struct ProfileTask {
    std::string vendor;
};

/// Directories have a mode.
struct ModeTask {
    std::uint32_t mode = 0;
    std::vector<std::string> paths;
};

using HookTask = std::variant<LinkTask, CacheTask, CompatTask, NoNodesTask, ProfileTask, ModeTask>;

/// What a hook is for; none if it is not known. Errors: usage, for one that is known and has
/// arguments that it would not take, or that nothing of ours can do.
using TaskOf = std::function<Result<std::optional<HookTask>>(const Hook& hook)>;

} // namespace gpucontainer::cdi
