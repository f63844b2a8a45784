// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include "sys_tree.hpp"

#include <gtest/gtest.h>

namespace gpucontainer::simhost {
namespace {

TEST(MachineTest, KnowsNamesOfGpuDrivers)
{
    for (const auto* name :
         {"libcuda.so.1", "libnvidia-ml.so", "libEGL_nvidia.so.0", "cuda-13.0", "10_nvidia.json",
          "rocm-6.2", "libze_loader.so.1.21", "libOpenCL.so.1", "amd-smi", "intel.icd", "kfd"})
        EXPECT_TRUE(is_gpu_name(name)) << name;
    for (const auto* name : {"libicudata.so.72", "libdrm.so.2", "bash", "", "bitcode"})
        EXPECT_FALSE(is_gpu_name(name)) << name;
    EXPECT_TRUE(is_gpu_path("/usr/local/cuda-13.0/targets/lib"));
    EXPECT_TRUE(is_gpu_path("/usr/share/amd_smi/setup.py"));
    EXPECT_FALSE(is_gpu_path("/usr/share/amd"));
}

TEST(MachineTest, KeepsItsOwnRunTimeLibraries)
{
    for (const auto* path :
         {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2",
          "/usr/lib64/libstdc++.so.6.0.33", "/lib/x86_64-linux-gnu/libm-2.31.so"})
        EXPECT_TRUE(is_system_library(path)) << path;
    for (const auto* path :
         {"/usr/local/nvidia/glibc/libc.so.6", "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
          "/opt/x/lib/libm.so.6", "/usr/lib/x/y/libm.so.6", "/usr/lib/libcap.so.2"})
        EXPECT_FALSE(is_system_library(path)) << path;
}

TEST(MachineTest, PlacesPathsBehindItsLinks)
{
    Machine machine;

    EXPECT_EQ(machine.place("/proc/self/root/dev/x"), "/dev/x");
    EXPECT_EQ(machine.place("/proc/self/root/dev/none/x"), "/dev/none/x");
    EXPECT_EQ(machine.place("/x"), "/x");
    EXPECT_EQ(machine.place("/usr/local/cuda-0/none/x"), "/usr/local/cuda-0/none/x");
}

TEST(SysTreeTest, WritesTheKernelsUevent)
{
    const SysDevice device = {"/devices/virtual/misc/x",
                              {{"SUBSYSTEM", "misc"}, {"DEVNAME", "/dev/infiniband/x"}},
                              {},
                              {}};

    const DeviceFiles all = files_of(device);

    EXPECT_EQ(all.files.back().text, "DEVNAME=infiniband/x\n");
    EXPECT_EQ(all.links.back().text, "../../../../class/misc");
}

TEST(SysTreeTest, SeesThatADeviceLiesInAnotherOne)
{
    const SysDevice bridge = {"/devices/pci0/00:01.0", {}, {}, {}};
    const SysDevice below = {"/devices/pci0/00:01.0/01:00.0", {}, {}, {}};
    const SysDevice beside = {"/devices/pci0/00:01.1", {}, {}, {}};

    EXPECT_TRUE(has_nested_devices({below, beside, bridge}));
    EXPECT_FALSE(has_nested_devices({below, beside}));
}

} // namespace
} // namespace gpucontainer::simhost
