// SPDX-License-Identifier: MIT
#include "host/enumerator.hpp"

#include <cstdio>

/// Prints the functions that are bound to a kernel driver on this host.
int main(int argc, char** argv)
{
    const auto found =
        gpucontainer::host::make_udev_enumerator()->bound_to(argc > 1 ? argv[1] : "");
    if (!found) {
        (void)std::fprintf(stderr, "%s\n", found.error().message().c_str());
        return 1;
    }
    for (const auto& device : *found)
        std::printf("%s %04x:%04x %06x %s\n", device.address.c_str(), device.vendor_id,
                    device.device_id, device.class_code, device.driver.c_str());
    return 0;
}
