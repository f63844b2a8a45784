// SPDX-License-Identifier: MIT
#pragma once

#include "vendor/catalogue.hpp"

namespace gpucontainer::vendor {

/// The files of Intel's user space for its GPUs, made from catalogue.yaml at build time.
Catalogue intel_catalogue();

} // namespace gpucontainer::vendor
