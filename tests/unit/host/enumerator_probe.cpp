// SPDX-License-Identifier: MIT
#include "host/enumerator.hpp"

#include <cstdio>
#include <cstdlib>

/// Prints the display controllers of one vendor on this host.
int main(int argc, char** argv)
{
    constexpr int hexadecimal = 16;
    const auto vendor = static_cast<std::uint16_t>(
        argc > 1 ? std::strtoul(argv[1], nullptr, hexadecimal) : 0); // NOLINT: the arguments
    const auto bus = gpucontainer::host::make_enumerator();
    const auto found = bus->pci_functions(vendor);
    if (!found) {
        (void)std::fprintf(stderr, "%s\n", found.error().message().c_str());
        return 1;
    }
    for (const auto& device : *found)
        std::printf("%s %04x:%04x %06x %s %d %d\n", device.address.c_str(), device.vendor_id,
                    device.device_id, device.class_code, device.driver.c_str(), device.numa_node,
                    bus->numa_node(device.address));
    return 0;
}
