# SPDX-License-Identifier: MIT
"""Faults of images for AMD and Intel GPUs and Gaudi."""

from image_dir import MULTIARCH
from images import APP, LEVEL_ZERO, ROCBLAS, ROCM, plain
from model import Room, host, image

AMD = Room("image_amd", "amd", base=(None, "rocm", None))
INTEL = Room("image_intel", "intel", base=(None, "level-zero", None))
GAUDI = Room("image_gaudi", "gaudi", base=(None, "habana", None))


@AMD.fault("rocm-target-missing", stage="code", subject="rocm",
           cause="the image's rocBLAS has no kernels for the GPU's target",
           message="rocBLAS error: Cannot read TensileLibrary.dat for GPU arch: gfx942; invalid device "
                   "function",
           evidence=[image(ROCBLAS, "lacks", "gfx942"),
                     host("/sys/devices/virtual/kfd/kfd/topology/nodes/2/properties", "has",
                          "gfx_target_version 90402", before=True)],
           base=("mi300x", "rocm", None))
def target_missing(case):
    case.image.remove(f"{ROCBLAS}/TensileLibrary_lazy_gfx942.dat",
                      f"{ROCBLAS}/Kernels.so-000-gfx942.hsaco")


@AMD.fault("rocblas-without-kernels", stage="code", subject="rocm",
           cause="rocBLAS is in the image and its directory of kernels is not, as when a library is "
                 "copied by itself",
           message="rocBLAS error: Cannot read TensileLibrary.dat: No such file or directory",
           evidence=[image(ROCBLAS, "absent"),
                     image(f"{ROCM}/librocblas.so.4#soname", "is", "librocblas.so.4", before=True)])
def without_kernels(case):
    case.image.remove(ROCBLAS)


@AMD.fault("hsa-runtime-missing", stage="start", subject="hsa",
           cause="the image lacks ROCr, which its HIP is linked to",
           message="libhsa-runtime64.so.1: cannot open shared object file",
           evidence=[image(f"{ROCM}/libhsa-runtime64.so.1", "absent"),
                     image(f"{ROCM}/libamdhip64.so.6#needed", "has", "libhsa-runtime64.so.1",
                           before=True)])
def hsa_missing(case):
    case.image.remove(f"{ROCM}/libhsa-runtime64.so.1", f"{ROCM}/libhsa-runtime64.so.1.15.60401")


@INTEL.fault("level-zero-older-than-board", stage="code", subject="level zero", certain=False,
             base=("battlemage", "level-zero", None),
             cause="the image's Level Zero driver is older than the board",
             message="ze: no devices; the device is not supported by this compute-runtime",
             evidence=[image(f"{MULTIARCH}/libze_intel_gpu.so.1#link", "is",
                             "-> libze_intel_gpu.so.1.3.24347"),
                       host("/sys/bus/pci/devices/0000:03:00.0/device", "is", "0xe20b", before=True)])
def level_zero_older(case):
    case.image.remove(f"{MULTIARCH}/{LEVEL_ZERO}", f"{MULTIARCH}/libze_intel_gpu.so.1")
    case.image.library(f"{MULTIARCH}/libze_intel_gpu.so.1.3.24347",
                       plain("libze_intel_gpu.so.1", "libigdgmm.so.12", "libigc.so.2"))


@INTEL.fault("level-zero-driver-missing", stage="load", subject="level zero",
             cause="the image has Level Zero's loader and no driver for it",
             message="ZE_RESULT_ERROR_UNINITIALIZED from zeInit",
             evidence=[image(f"{MULTIARCH}/libze_intel_gpu.so.1", "absent"),
                       image(f"{APP}#needed", "has", "libze_loader.so.1", before=True)])
def level_zero_missing(case):
    case.image.remove(f"{MULTIARCH}/{LEVEL_ZERO}", f"{MULTIARCH}/libze_intel_gpu.so.1")


@GAUDI.fault("hl-thunk-missing", stage="start", subject="habana",
             cause="the image lacks the library that its SynapseAI reaches the accelerators by",
             message="libhl-thunk.so: cannot open shared object file",
             evidence=[image("/usr/lib/habanalabs/libhl-thunk.so", "absent"),
                       image("/usr/lib/habanalabs/libSynapse.so#needed", "has", "libhl-thunk.so",
                             before=True)])
def thunk_missing(case):
    case.image.remove("/usr/lib/habanalabs/libhl-thunk.so")
