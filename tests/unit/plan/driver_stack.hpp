// SPDX-License-Identifier: MIT
#pragma once

#include "model/driver.hpp"

#include <string>
#include <utility>

namespace gpucontainer::test {

inline model::Gpu make_gpu(unsigned index, std::string uuid, std::string address)
{
    model::Gpu gpu;
    gpu.index = index;
    gpu.uuid = std::move(uuid);
    gpu.pci_address = std::move(address);
    gpu.minor = static_cast<int>(index);
    return gpu;
}

inline model::DeviceNode make_node(std::string path, std::uint32_t major, std::uint32_t minor,
                                   int gpu = -1,
                                   model::Capability capability = model::Capability::none)
{
    model::DeviceNode node;
    node.host_path = path;
    node.path = std::move(path);
    node.major = major;
    node.minor = minor;
    node.mode = 0666;
    node.gpu = gpu;
    node.capability = capability;
    node.accessible = true;
    return node;
}

inline model::DriverFile make_library(const std::string& soname, model::Capability capability,
                                      std::uint64_t inode)
{
    model::DriverFile file;
    file.capability = capability;
    file.soname = soname;
    file.name = soname.substr(0, soname.find(".so")) + ".so.580.1";
    file.path = "/drv/lib/" + file.name;
    file.links = {soname};
    file.reason = "library of a test";
    file.registrations = {{model::Manner::loader}};
    file.id = {7, inode, 1, 1};
    return file;
}

/// A driver of two GPUs, two libraries, a graphics one and a tool.
inline model::DriverStack make_driver()
{
    using model::Capability;
    model::DriverStack driver;
    driver.vendor = "nvidia";
    driver.vendor_name = "NVIDIA";
    driver.cdi_kind = "nvidia.com/gpu";
    driver.version = "580.1";
    driver.root = "/";
    driver.visible_devices = {{"CUDA_VISIBLE_DEVICES", model::VisibleDevices::Reader::library,
                               model::VisibleDevices::Inside::uuid}};
    driver.needs = {"a mounted /proc"};
    driver.tree_link = "/usr/local/nvidia";
    driver.image_directories = {"/usr/local/nvidia/lib64", "/usr/local/cuda/compat"};
    driver.gpus = {make_gpu(0, "GPU-aaaaaaaa-1111-2222-3333-444444444444", "0000:3b:00.0"),
                   make_gpu(1, "GPU-aaaaaaaa-5555-6666-7777-888888888888", "0000:af:00.0")};

    driver.files = {make_library("libcuda.so.1", Capability::compute, 11),
                    make_library("libnvidia-ml.so.1", Capability::utility, 12),
                    make_library("libGLX_nvidia.so.0", Capability::graphics, 13)};
    driver.files[0].entry_names = {"libcuda.so.1"};
    driver.files[0].links.emplace_back("libcuda.so");
    model::DriverFile tool;
    tool.kind = model::FileKind::tool;
    tool.capability = Capability::utility;
    tool.name = "nvidia-smi";
    tool.path = "/drv/bin/nvidia-smi";
    tool.entry_names = {"nvidia-smi"};
    tool.registrations = {{model::Manner::command}};
    tool.reason = "tool of a test";
    tool.id = {7, 14, 1, 1};
    driver.files.push_back(tool);

    driver.nodes = {make_node("/dev/nvidiactl", 195, 255),
                    make_node("/dev/nvidia-uvm", 238, 0, -1, Capability::compute),
                    make_node("/dev/nvidia0", 195, 0, 0), make_node("/dev/nvidia1", 195, 1, 1)};
    return driver;
}

} // namespace gpucontainer::test
