// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// An instance of a GPU in MIG mode: one of its GPU instances, and a compute instance of that.
struct Instance {
    /// What a process needs to use it: the file of the kernel that grants it, and the minor number
    /// of the node that this file names.
    struct Right {
        std::string access; ///< "gpu0/mig/gi3/ci0/access", below the directory of capabilities.
        unsigned minor = 0;
        std::optional<search::NodeRights> rights = {}; ///< Of its node; none if nobody makes it.
    };

    unsigned gpu = 0; ///< Index of the GPU.
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
    std::array<Right, 2> rights; ///< To the GPU instance and to the compute instance.
};

/// A right to manage MIG: that to make instances, or to see those of all processes.
struct Management {
    std::string extra; ///< By which a container gets it: "mig-config".
    Instance::Right right;
};

/// What the kernel module grants by its capabilities.
struct Rights {
    std::vector<Instance> instances;
    std::vector<Management> management;
};

/// Where the kernel shows instances and other rights.
inline constexpr const char* capabilities = "/proc/driver/nvidia/capabilities";

/// The instances of these GPUs, ordered by their numbers. One that cannot be read is left out, and
/// `findings` say why.
Result<std::vector<Instance>> find_instances(const std::string& system_root,
                                             const std::vector<model::Gpu>& gpus,
                                             model::Findings& findings);

/// The rights to manage MIG that this kernel module knows; none if they cannot be read.
std::vector<Management> find_management(const std::string& system_root);

/// Adds each as a GPU of its own, after all others: the one at position i of `instances` has the
/// index that many GPUs there were, plus i.
void add_instances(const std::vector<Instance>& instances, std::vector<model::Gpu>& gpus);

/// The nodes of these rights, in /dev/nvidia-caps. `first` is the index of the first instance.
std::vector<search::WantedNode> nodes_of(const Rights& rights, unsigned first,
                                         std::optional<unsigned> major);

} // namespace gpucontainer::drivers::nvidia
