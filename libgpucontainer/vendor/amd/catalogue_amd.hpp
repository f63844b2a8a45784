// SPDX-License-Identifier: MIT
#pragma once

#include "vendor/catalogue.hpp"

namespace gpucontainer::vendor {

/// The files of ROCm that are near the kernel driver, made from catalogue.yaml at build
/// time.
Catalogue amd_catalogue();

} // namespace gpucontainer::vendor
