// SPDX-License-Identifier: MIT
#pragma once

#include "model/catalogue.hpp"

namespace gpucontainer::drivers {

/// The files of Intel's user space for its GPUs, made from catalogue.yaml at build time.
model::Catalogue intel_catalogue();

} // namespace gpucontainer::drivers
