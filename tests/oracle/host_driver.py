# SPDX-License-Identifier: MIT
"""Faults of NVIDIA's driver files on the host, of CDI specifications, and of what Tegra and
Windows have in their place."""

from bases import CDI
from model import Room, host, request

ROOM = Room("host_driver", "nvidia", base=("h200", None, None))
DRIVER = "/usr/local/nvidia/lib64"
LIBCUDA = f"{DRIVER}/libcuda.so.580.159.04"


@ROOM.fault("nvidia-libcuda-link-leads-nowhere", stage="files", subject="libcuda",
            cause="the driver's libcuda is gone, and the links to it are left",
            message="libcuda.so.1: cannot open shared object file: No such file or directory",
            noticed="no libcuda.so.1 of version 580.159.04 on this host",
            evidence=[host(LIBCUDA, "absent"),
                      host(f"{DRIVER}/libcuda.so.1", "is", "-> libcuda.so.580.159.04", before=True)])
def libcuda_gone(case):
    case.host.remove_files(LIBCUDA)


@ROOM.fault("nvidia-libcuda-empty", stage="files", subject="libcuda",
            cause="the driver's libcuda is an empty file, left by another program's container",
            message="libcuda.so.1: file too short",
            noticed="libcuda.so.1 not an ELF file",
            evidence=[host(LIBCUDA, "is", "0 bytes")])
def libcuda_empty(case):
    columns = ("class", "machine", "soname", "needed", "verneed", "strings")
    case.host.change_file(LIBCUDA, size="0", **dict.fromkeys(columns, ""))


@ROOM.fault("nvidia-ptx-compiler-missing", stage="code", blocks="some", subject="ptx",
            not_with=("libcuda",),
            cause="the driver's compiler of PTX is not installed, as with a package of fewer files",
            message="CUDA_ERROR_JIT_COMPILER_NOT_FOUND (221): PTX JIT compiler library not found",
            evidence=[host(f"{DRIVER}/libnvidia-ptxjitcompiler.so.580.159.04", "absent"),
                      host(LIBCUDA, "has", "bytes", before=True)])
def ptx_compiler_missing(case):
    case.host.remove_files("*/libnvidia-ptxjitcompiler.so*")


@ROOM.fault("cdi-stale-file", stage="setup", blocks="some", subject="cdi",
            base=("h200-cdi", None, None),
            not_with=("driver version", "libcuda"),
            cause="a CDI specification names driver files of a version that was replaced",
            message="Error: failed to stat host path libcuda.so.575.57.08; no such file or directory",
            evidence=[host("/etc/cdi/nvidia.yaml", "has", "libcuda.so.575.57.08"),
                      host(f"{DRIVER}/libcuda.so.575.57.08", "absent", before=True)])
def cdi_stale_file(case):
    case.host.add_text("/etc/cdi/nvidia.yaml", CDI.replace("580.159.04", "575.57.08"))


@ROOM.fault("cdi-stale-number", stage="init", blocks="some", subject="cdi",
            base=("h200-cdi", None, None),
            not_with=("uvm",),
            cause="a CDI specification has the major number that nvidia-uvm had before the machine "
                  "was started again",
            message="CUDA_ERROR_UNKNOWN (999), although node and specification look right",
            evidence=[host("/etc/cdi/nvidia.yaml", "has", "major: 511"),
                      host("/proc/devices", "has", "238 nvidia-uvm", before=True)])
def cdi_stale_number(case):
    case.host.add_text("/etc/cdi/nvidia.yaml", CDI.replace("major: 238", "major: 511"))


@ROOM.fault("cdi-specification-missing", stage="setup", blocks="some", subject="cdi",
            base=("h200-cdi", "cuda", "nvidia"), not_with=("toolkit mask",),
            cause="the container asks for a GPU by its CDI name, and the host has no specification "
                  "for an engine to look it up in",
            message="unresolvable CDI devices nvidia.com/gpu=0",
            evidence=[host("/etc/cdi/nvidia.yaml", "absent"),
                      host("/var/run/cdi/nvidia.yaml", "absent", before=True),
                      request("container_environment/NVIDIA_VISIBLE_DEVICES", "is",
                              "nvidia.com/gpu=0")])
def cdi_missing(case):
    case.host.remove_files("/etc/cdi/nvidia.yaml")
    case.request["container_environment"]["NVIDIA_VISIBLE_DEVICES"] = "nvidia.com/gpu=0"


@ROOM.fault("wsl-without-dxcore", stage="load", subject="dxcore", base=("wsl", "debian", "nvidia-plain"),
            cause="Windows' library libdxcore is not there, though /dev/dxg is",
            message="GPU access blocked by the operating system",
            noticed="libdxcore.so: is not there",
            evidence=[host("/usr/lib/wsl/lib/libdxcore.so", "absent"),
                      host("/dev/dxg", "has", "c ", before=True)])
def without_dxcore(case):
    case.host.remove_files("/usr/lib/wsl/lib/libdxcore.so")


@ROOM.fault("tegra-gpu-nodes-missing", stage="node", subject="tegra nodes",
            base=("thor", "debian", "nvidia-plain"),
            cause="the nodes of a Jetson's own GPU are not there",
            message="NvRmMemInit failed; no CUDA-capable device is detected",
            evidence=[host("/dev/nvgpu/igpu-0000:01:00.0/ctrl", "absent"),
                      host("/dev/nvmap", "has", "c 10:55", before=True)])
def tegra_nodes(case):
    case.host.remove_nodes("/dev/nvgpu/*")
