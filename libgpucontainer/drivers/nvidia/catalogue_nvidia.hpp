// SPDX-License-Identifier: MIT
#pragma once

#include "model/catalogue.hpp"

namespace gpucontainer::drivers {

/// The files of NVIDIA's driver, made from catalogue.yaml at build time.
model::Catalogue nvidia_catalogue();

} // namespace gpucontainer::drivers
