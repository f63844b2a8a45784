// SPDX-License-Identifier: MIT
#include "drivers/nvidia/image_cuda.hpp"

#include "drivers/nvidia/facts.hpp"
#include "fuzz/fuzz.hpp"
#include "requirement/expression.hpp"

#include <string>

namespace gpucontainer::fuzz {
namespace {

bool is_version(const std::string& text) { return text.empty() || requirement::is_version(text); }

} // namespace

/// A file of a framework of Python.
void run(std::string_view input)
{
    demand(is_version(drivers::nvidia::cuda_of_torch(input)), "PyTorch's CUDA is a version");
    demand(is_version(drivers::nvidia::cuda_of_tensorflow(input)),
           "TensorFlow's CUDA is a version");
}

} // namespace gpucontainer::fuzz
