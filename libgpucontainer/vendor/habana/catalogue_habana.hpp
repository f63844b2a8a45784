// SPDX-License-Identifier: MIT
#pragma once

#include "vendor/catalogue.hpp"

namespace gpucontainer::vendor {

/// The files of Intel's user space for Gaudi accelerators, made from catalogue.yaml at build time.
Catalogue habana_catalogue();

} // namespace gpucontainer::vendor
