// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/diagnosis.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Which versions of CUDA a container is for. Nothing of it is executed: variables, small text
/// files and names tell.
namespace gpucontainer::drivers::nvidia {

/// Something in a container that was built for a version of CUDA.
struct CudaUse {
    std::string what;       ///< "CUDA 13.0.1", "PyTorch 2.9.0+cu130"
    std::string version;    ///< "13.0"; "13" if that is all that is known.
    std::string evidence;   ///< The file or variable that tells.
    bool is_loaded = false; ///< The program loads it.
};

/// Those that are found: the toolkit, what the program is linked to, and packages of Python and
/// Conda. The most telling ones first.
std::vector<CudaUse> cuda_uses(const ContainerToCheck& container);

/// "13.0" of the file version.py of PyTorch; "" if it is not for CUDA.
std::string cuda_of_torch(std::string_view text);

/// "12.5.1" of the file build_info.py of TensorFlow; "" as above.
std::string cuda_of_tensorflow(std::string_view text);

} // namespace gpucontainer::drivers::nvidia
