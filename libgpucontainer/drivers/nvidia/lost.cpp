// SPDX-License-Identifier: MIT
#include "drivers/nvidia/lost.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

#include <cstdint>
#include <fcntl.h>
#include <unistd.h>

namespace gpucontainer::drivers::nvidia {

bool has_fallen_off_bus(const std::string& system_root, const std::string& address)
{
    const std::string function = base::format("{}/sys/bus/pci/devices/{}", system_root, address);
    const auto power = base::read_file(function + "/power/runtime_status");
    if (!power || base::trim(*power) != "active")
        return false;
    const base::UniqueFd config(
        ::open((function + "/config").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::uint32_t ids = 0; // of vendor and device
    return config && ::pread(config.get(), &ids, sizeof(ids), 0) == ssize_t{sizeof(ids)}
           && ids == UINT32_MAX;
}

} // namespace gpucontainer::drivers::nvidia
