# SPDX-License-Identifier: MIT
"""Faults of images for CUDA: the wrong libcuda, versions, device code, manifests."""

from elf_file import fatbin
from image_dir import MULTIARCH
from images import APP, CUDA, WHEELS, app, plain
from model import Room, host, image, request

ROOM = Room("image_cuda", "nvidia")
CODE = Room("image_code", "nvidia")
PATH = "container_environment/LD_LIBRARY_PATH"
CUBLAS = f"{CUDA}/libcublas.so.12.4.127"


def libcuda():
    return plain("libcuda.so.1")


def search_first(case, directory):
    before = case.request["container_environment"].get("LD_LIBRARY_PATH", "")
    case.request["container_environment"]["LD_LIBRARY_PATH"] = f"{directory}:{before}".rstrip(":")


@ROOM.fault("stub-libcuda-first", stage="load", subject="libcuda choice",
            cause="LD_LIBRARY_PATH leads to the toolkit's stub of libcuda, which has no code",
            message="CUDA_ERROR_STUB_LIBRARY (34); CUDA driver is a stub library",
            evidence=[request(PATH, "has", f"{CUDA}/stubs"),
                      image(f"{CUDA}/stubs/libcuda.so.1#soname", "is", "libcuda.so.1")])
def stub_first(case):
    case.image.file(f"{CUDA}/stubs/libcuda.so", libcuda().to_bytes(), True)
    case.image.link(f"{CUDA}/stubs/libcuda.so.1", "libcuda.so")
    search_first(case, f"{CUDA}/stubs")


@ROOM.fault("stale-libcuda-in-search-path", stage="load", subject="libcuda choice",
            cause="LD_LIBRARY_PATH leads to an old libcuda that the image has",
            message="CUDA driver version is insufficient for CUDA runtime version (35); "
                    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)",
            evidence=[request(PATH, "has", "/opt/driver/lib"),
                      image("/opt/driver/lib/libcuda.so.1#link", "is", "-> libcuda.so.470.256.02")])
def stale_in_path(case):
    case.image.library("/opt/driver/lib/libcuda.so.470.256.02", libcuda(), cached=False)
    search_first(case, "/opt/driver/lib")


@ROOM.fault("stale-libcuda-by-rpath", stage="load", subject="libcuda choice", not_with=("program",),
            tags=("program",),
            cause="the program's RPATH, which comes before everything else, leads to an old libcuda",
            message="CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)",
            evidence=[image(f"{APP}#rpath", "is", "/opt/old"),
                      image("/opt/old/libcuda.so.1#link", "is", "-> libcuda.so.470.256.02")])
def stale_by_rpath(case):
    case.image.library("/opt/old/libcuda.so.470.256.02", libcuda(), cached=False)
    case.image.program(APP, app("libcuda.so.1", "libcudart.so.12", "libcublas.so.12").but(
        rpath="/opt/old"))


@ROOM.fault("stale-libcuda-in-cache", stage="load", subject="libcuda choice",
            cause="the image's loader cache has an old libcuda of its own, in a directory that a "
                  "driver does not use",
            message="CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803); Driver/library version mismatch",
            mended=True,
            evidence=[image("/etc/ld.so.cache#libcuda.so.1", "is", "/opt/driver-470/libcuda.so.1"),
                      image("/opt/driver-470/libcuda.so.1#link", "is", "-> libcuda.so.470.256.02")])
def stale_in_cache(case):
    case.image.library("/opt/driver-470/libcuda.so.470.256.02", libcuda())
    case.image.file("/etc/ld.so.conf.d/00-driver.conf", "/opt/driver-470\n")


@ROOM.fault("empty-driver-file-in-image", stage="load", blocks="some", subject="libnvidia-ml",
            cause="an empty libnvidia-ml is left in the image, at the place of the real one",
            message="libnvidia-ml.so.1: file too short",
            mended=True,
            evidence=[image(f"{MULTIARCH}/libnvidia-ml.so.1", "is", "0 bytes")])
def empty_driver_file(case):
    case.image.file(f"{MULTIARCH}/libnvidia-ml.so.1", b"")


@ROOM.fault("cuda-newer-than-driver", stage="init", subject="cuda version",
            tags=("program",), not_with=("program",),
            base=("desktop-535", "cuda", "nvidia"),
            cause="the image's CUDA is of a newer major release than the driver supports",
            message="CUDA driver version is insufficient for CUDA runtime version (35)",
            evidence=[image("/usr/local/cuda/version.json", "has", "13.0.1"),
                      image(f"{APP}#needed", "has", "libcudart.so.13"),
                      request("container_environment/CUDA_VERSION", "is", "13.0.1"),
                      host("/sys/module/nvidia/version", "is", "535.274.02", before=True)])
def cuda_newer(case):
    case.image.file("/usr/local/cuda-12.4/version.json", '{"cuda": {"version": "13.0.1"}}\n')
    case.image.library(f"{CUDA}/libcudart.so.13.0.48", plain("libcudart.so.13"))
    case.image.program(APP, app("libcuda.so.1", "libcudart.so.13"))
    case.request["container_environment"]["CUDA_VERSION"] = "13.0.1"


@ROOM.fault("wheel-newer-than-driver", stage="init", subject="cuda version",
            base=("desktop-535", "wheels", "nvidia-plain"),
            cause="the image's PyTorch is built for a newer major release of CUDA than the driver "
                  "supports",
            message="The NVIDIA driver on your system is too old (found version 12020)",
            evidence=[image(f"{WHEELS}/torch/version.py", "has", "+cu130"),
                      host("/sys/module/nvidia/version", "is", "535.274.02", before=True)])
def wheel_newer(case):
    case.image.file(f"{WHEELS}/torch/version.py", "__version__ = '2.9.0+cu130'\ncuda = '13.0'\n")
    case.image.remove(f"{WHEELS}/torch-2.5.1+cu124.dist-info")
    case.image.file(f"{WHEELS}/torch-2.9.0+cu130.dist-info/METADATA",
                    "Metadata-Version: 2.1\nName: torch\nVersion: 2.9.0+cu130\n")


@ROOM.fault("compat-on-geforce", stage="init", subject="compat", not_with=("cuda version", "libcuda choice"),
            base=("desktop-535", "cuda", "nvidia"),
            cause="the image's libcuda for older drivers is first, and the GPU is none of those that "
                  "it is for",
            message="CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE (804): forward compatibility was "
                    "attempted on non supported HW",
            noticed="it supports data-centre GPUs and the like",
            mended=True,
            evidence=[request(PATH, "has", "/usr/local/cuda/compat:"),
                      image("/usr/local/cuda/compat/libcuda.so.1#link", "is",
                            "-> libcuda.so.550.163.01"),
                      host("/sys/bus/pci/devices/0000:08:00.0/device", "is", "0x2684", before=True)])
def compat_on_geforce(case):
    case.image.library("/usr/local/cuda-12.4/compat/libcuda.so.550.163.01", libcuda(), cached=False)
    search_first(case, "/usr/local/cuda/compat")


@ROOM.fault("compat-older-than-driver", stage="init", subject="compat", not_with=("libcuda choice",),
            cause="the image's libcuda for older drivers is first, and the driver is newer than it",
            message="CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)",
            noticed="it is not newer than the host's driver",
            mended=True,
            evidence=[request(PATH, "has", "/usr/local/cuda/compat:"),
                      image("/usr/local/cuda/compat/libcuda.so.1#link", "is",
                            "-> libcuda.so.550.163.01"),
                      host("/sys/module/nvidia/version", "is", "580.159.04", before=True)],
            base=("h200", "cuda", "nvidia"))
def compat_older(case):
    compat_on_geforce(case)


@CODE.fault("no-code-for-new-gpu", stage="code", subject="device code",
            base=("blackwell", "wheels", "nvidia-plain"),
            cause="the image's PyTorch has code for older GPUs alone, and none that the driver could "
                  "translate",
            message="no kernel image is available for execution on the device (209); sm_120 is not "
                    "compatible with the current PyTorch installation",
            evidence=[image(f"{WHEELS}/torch/lib/libtorch_cuda.so#gpu_code", "is", "sm_80 sm_86 sm_90"),
                      host("/sys/bus/pci/devices/0000:08:00.0/device", "is", "0x2b85", before=True)])
def no_code_for_new(case):
    torch(case, ("80", "86", "90"))


@CODE.fault("no-code-for-old-gpu", stage="code", subject="device code",
            tags=("program",), not_with=("program",),
            base=("pascal", "cuda-old", "nvidia-plain"),
            cause="the image's program has code for newer GPUs than this one alone",
            message="no kernel image is available for execution on the device (209)",
            evidence=[image(f"{APP}#gpu_code", "is", "sm_75 sm_80 sm_90 compute_90"),
                      host("/sys/bus/pci/devices/0000:08:00.0/device", "is", "0x1b80", before=True)])
def no_code_for_old(case):
    case.image.program(APP, app("libcuda.so.1", "libcudart.so.12",
                                gpu_code=fatbin(("75", "80", "90"), ("90",))))
    case.image.library("/usr/local/cuda-12.0/targets/x86_64-linux/lib/libcublas.so.12.0.146", plain(
        "libcublas.so.12", "libcudart.so.12", gpu_code=fatbin(("75", "80", "90"), ("90",))))


def torch(case, targets):
    case.image.file(f"{WHEELS}/torch/lib/libtorch_cuda.so", plain(
        "libtorch_cuda.so", "libcuda.so.1", "libcudart.so.12",
        runpath="$ORIGIN:$ORIGIN/../../nvidia/cuda_runtime/lib",
        gpu_code=fatbin(targets)).to_bytes(), True)


@ROOM.fault("vulkan-manifest-leads-nowhere", stage="feature", blocks="some", subject="vulkan",
            base=("desktop", "cuda-graphics", "nvidia-graphics"),
            cause="a manifest of Vulkan in the image names a library that is not there",
            message="libvulkan_radeon.so: cannot open shared object file; vulkaninfo lacks that GPU",
            evidence=[image("/usr/share/vulkan/icd.d/radeon_icd.json", "has",
                            f"{MULTIARCH}/libvulkan_radeon.so"),
                      image(f"{MULTIARCH}/libvulkan_radeon.so", "absent", before=True)])
def vulkan_nowhere(case):
    case.image.file("/usr/share/vulkan/icd.d/radeon_icd.json",
                    '{"file_format_version": "1.0.0", "ICD": {"api_version": "1.3.0", '
                    f'"library_path": "{MULTIARCH}/libvulkan_radeon.so"}}}}\n')


@ROOM.fault("opencl-manifest-leads-nowhere", stage="feature", blocks="some", subject="opencl",
            base=(None, "cuda-graphics", "nvidia"),
            cause="a file of OpenCL in the image names a library that is not there",
            message="clinfo shows one platform less; CL_PLATFORM_NOT_FOUND_KHR (-1001) where it is the "
                    "only one",
            evidence=[image("/etc/OpenCL/vendors/pocl.icd", "is", "libpocl.so.2", before=True),
                      image("/etc/ld.so.cache#libpocl.so.2", "absent"),
                      image(f"{MULTIARCH}/libpocl.so.2", "absent")])
def opencl_nowhere(case):
    case.image.remove(f"{MULTIARCH}/libpocl.so.2", f"{MULTIARCH}/libpocl.so.2.10.0")


@ROOM.fault("32-bit-half-missing", stage="start", blocks="some", subject="32 bit",
            base=("desktop", "cuda-32", "nvidia-32"),
            cause="the image has a 32-bit program and no 32-bit C library any more",
            message="exec /usr/bin/app32: no such file or directory; Wine: no 32-bit Vulkan",
            noticed="it has no /lib/ld-linux.so.2",
            evidence=[image("/usr/bin/app32#bits", "is", "32", before=True),
                      image("/lib/ld-linux.so.2", "absent"),
                      request("options", "has", "compat32", before=True)])
def half_missing(case):
    case.image.remove("/usr/lib/ld-linux.so.2", "/usr/lib/i386-linux-gnu")


@ROOM.fault("cuda-runtime-missing", stage="start", subject="cudart",
            not_with=("program", "cuda version", "device code"),
            base=(None, "cuda", "nvidia"),
            cause="the program is linked to CUDA's run-time library, and the image, of the base kind, "
                  "lacks it",
            message="libcudart.so.12: cannot open shared object file: No such file or directory",
            evidence=[image(f"{CUDA}/libcudart.so.12", "absent"),
                      image("/etc/ld.so.cache#libcudart.so.12", "absent"),
                      image(f"{APP}#needed", "has", "libcudart.so.12", before=True)])
def cudart_missing(case):
    case.image.remove(f"{CUDA}/libcudart.so.12", f"{CUDA}/libcudart.so.12.4.127")
