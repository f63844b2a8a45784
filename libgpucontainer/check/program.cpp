// SPDX-License-Identifier: MIT
#include "check/program.hpp"

namespace gpucontainer::check {

Result<Started> start(const rootfs::View& /*container*/,
                      const std::map<std::string, std::string>& /*environment*/,
                      const std::string& /*program*/, const plan::Plan* /*plan*/,
                      std::span<const model::DriverStack> /*drivers*/)
{
    return Started();
}

} // namespace gpucontainer::check
