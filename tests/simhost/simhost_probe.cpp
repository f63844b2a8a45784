// SPDX-License-Identifier: MIT
#include "base/c_handle.hpp"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <libudev.h>
#include <string_view>

namespace {

using namespace gpucontainer::base;

/// Prints address, driver, class and NUMA node of a PCI device.
bool print_device(udev* context, const char* address)
{
    const CHandle<udev_device, ::udev_device_unref> device(
        ::udev_device_new_from_subsystem_sysname(context, "pci", address));
    if (!device)
        return false;
    const auto text = [](const char* value) { return value == nullptr ? "-" : value; };
    return std::printf("%s %s %s %s\n", address,
                       text(::udev_device_get_property_value(device.get(), "DRIVER")),
                       text(::udev_device_get_sysattr_value(device.get(), "class")),
                       text(::udev_device_get_sysattr_value(device.get(), "numa_node")))
           > 0;
}

bool print_pci_devices()
{
    const CHandle<udev, ::udev_unref> context(::udev_new());
    const CHandle<udev_enumerate, ::udev_enumerate_unref> scan(::udev_enumerate_new(context.get()));
    if (!scan || ::udev_enumerate_add_match_subsystem(scan.get(), "pci") < 0
        || ::udev_enumerate_scan_devices(scan.get()) < 0)
        return false;
    for (auto* entry = ::udev_enumerate_get_list_entry(scan.get()); entry != nullptr;
         entry = ::udev_list_entry_get_next(entry)) {
        const char* slash = std::strrchr(::udev_list_entry_get_name(entry), '/');
        if (slash == nullptr || !print_device(context.get(), slash + 1))
            return false;
    }
    return true;
}

bool load_library(const char* path)
{
    if (::dlopen(path, RTLD_NOW) != nullptr)
        return true;
    (void)std::fprintf(stderr, "%s\n", ::dlerror());
    return false;
}

} // namespace

/// simhost_probe: lists the PCI devices that libudev finds.
/// simhost_probe LIBRARY: loads a library.
int main(int argc, char** argv)
{
    return (argc > 1 ? load_library(argv[1]) : print_pci_devices()) ? 0 : 1;
}
