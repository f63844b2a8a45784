// SPDX-License-Identifier: MIT
#include "drivers/nvidia/image_causes.hpp"

#include "drivers/nvidia/code_fit.hpp"
#include "drivers/nvidia/cuda_fit.hpp"

namespace gpucontainer::drivers::nvidia {

Result<void> check_container(const ContainerToCheck& container, const model::DriverStack& driver,
                             std::span<const model::Gpu> chosen, model::Causes& causes)
{
    check_cuda(container, driver, chosen, causes);
    check_code(container, driver, chosen, causes);
    return {};
}

} // namespace gpucontainer::drivers::nvidia
