// SPDX-License-Identifier: MIT
#pragma once

#include "model/catalogue.hpp"

namespace gpucontainer::drivers {

/// The files of ROCm that are close to the kernel driver, made from catalogue.yaml at build time.
model::Catalogue amd_catalogue();

} // namespace gpucontainer::drivers
