// SPDX-License-Identifier: MIT
#include "drivers/nvidia/stack.hpp"

namespace gpucontainer::drivers::nvidia {

using model::VisibleDevices;

std::vector<VisibleDevices> variables(VisibleDevices::Inside inside)
{
    return {{"NVIDIA_VISIBLE_DEVICES", VisibleDevices::Reader::toolkit,
             VisibleDevices::Inside::nothing},
            {"CUDA_VISIBLE_DEVICES", VisibleDevices::Reader::library, inside}};
}

model::DriverStack new_stack(const Sources& sources)
{
    model::DriverStack stack;
    stack.vendor = "nvidia";
    stack.vendor_name = "NVIDIA";
    stack.root = sources.driver_root.prefix().empty() ? "/" : sources.driver_root.prefix();
    // Images with CUDA have directories below it in LD_LIBRARY_PATH.
    stack.tree_link = "/usr/local/nvidia";
    stack.image_directories = {"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib",
                               "/usr/local/cuda/lib64", "/usr/local/cuda/compat"};
    return stack;
}

} // namespace gpucontainer::drivers::nvidia
