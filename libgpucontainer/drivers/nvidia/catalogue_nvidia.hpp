// SPDX-License-Identifier: MIT
#pragma once

#include "model/catalogue.hpp"

#include <string_view>

namespace gpucontainer::drivers {

/// Where a driver has this one, it has the others.
constexpr std::string_view main_library = "libcuda.so.1";

/// The files of NVIDIA's driver, made from catalogue.yaml at build time.
model::Catalogue nvidia_catalogue();

} // namespace gpucontainer::drivers
