// SPDX-License-Identifier: MIT
#pragma once

#include "model/catalogue.hpp"

namespace gpucontainer::drivers {

/// The files of Intel's user space for Gaudi accelerators, made from catalogue.yaml at build time.
model::Catalogue habana_catalogue();

} // namespace gpucontainer::drivers
