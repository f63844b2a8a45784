// SPDX-License-Identifier: MIT
#include "drivers/nvidia/toolkit.hpp"
#include "fuzz/fuzz.hpp"
#include "requirement/expression.hpp"

namespace gpucontainer::fuzz {

/// A version.json, or an include/cuda.h, of a directory that a user named.
void run(std::string_view input)
{
    for (const std::string& version :
         {drivers::nvidia::cuda_of_version_file(input), drivers::nvidia::cuda_of_header(input)})
        demand(version.empty() || (version.size() <= 16 && requirement::is_version(version)),
               "what is read is a version, or nothing");
}

} // namespace gpucontainer::fuzz
