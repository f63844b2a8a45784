// SPDX-License-Identifier: MIT
#pragma once

#include "check/surroundings.hpp"
#include "linking/linker.hpp"
#include "model/cause.hpp"

namespace gpucontainer::check {

/// Files of a container by which loaders of OpenCL, Vulkan and EGL find drivers, and which name a
/// library that is not there. Only those count whose part of a driver is asked for.
void add_broken_manifests(const Surroundings& around, linking::Linker& linker,
                          model::Causes& causes);

} // namespace gpucontainer::check
