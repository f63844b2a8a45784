// SPDX-License-Identifier: MIT
#pragma once

#include "vendor/catalogue.hpp"

namespace gpucontainer::vendor {

/// The files of NVIDIA's driver, made from catalogue.yaml at build time.
Catalogue nvidia_catalogue();

} // namespace gpucontainer::vendor
