// SPDX-License-Identifier: MIT
#include "drivers/nvidia/mig_map.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "fuzz/fuzz.hpp"

#include <algorithm>
#include <string>

namespace gpucontainer::fuzz {
namespace {

using drivers::nvidia::MigMap;

std::string to_text(const MigMap& map)
{
    std::string text;
    for (const MigMap::Gpu& gpu : map.gpus) {
        text += base::format("GPU {}: x (UUID: {})\n", gpu.index, gpu.uuid);
        for (const MigMap::Device& device : gpu.devices)
            text += base::format("MIG {} Device {}: (UUID: {})\n", device.profile, device.number,
                                 device.uuid);
    }
    return text;
}

} // namespace

/// What `nvidia-smi -L` printed.
void run(std::string_view input)
{
    const auto map = drivers::nvidia::parse_mig_map(input);
    if (!map) {
        demand(map.error().message().starts_with("line "), "an error names the line");
        return;
    }
    for (const MigMap::Gpu& gpu : map->gpus)
        for (const MigMap::Device& device : gpu.devices)
            demand(std::ranges::none_of(device.profile + device.uuid, base::is_control),
                   "what is read can be shown");
    const auto again = drivers::nvidia::parse_mig_map(to_text(*map));
    demand(again && *again == *map, "what was read can be written, and is the same then");
}

} // namespace gpucontainer::fuzz
