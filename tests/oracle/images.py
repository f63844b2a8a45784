# SPDX-License-Identifier: MIT
"""The healthy images. All have a program /usr/bin/app, which needs what its vendor's
programs need."""

import json

from elf_file import Elf, Symbol, fatbin
from image_dir import INTERPRETER, MULTIARCH, Image

APP = "/usr/bin/app"
USED_BY_APP = {"libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.34"], "libstdc++.so.6": ["GLIBCXX_3.4.29"]}
CUDA = "/usr/local/cuda-12.4/targets/x86_64-linux/lib"
ROCM = "/opt/rocm-6.4.1/lib"
ROCBLAS = f"{ROCM}/rocblas/library"
LEVEL_ZERO = "libze_intel_gpu.so.1.6.33578"
WHEELS = "/usr/local/lib/python3.11/site-packages"


def app(*needed, gpu_code=b"", interpreter=INTERPRETER, versions=None):
    wanted = USED_BY_APP if versions is None else versions
    symbols = [Symbol("printf", "GLIBC_2.2.5")] if "libc.so.6" in wanted else [Symbol("printf")]
    if "GLIBC_2.34" in wanted.get("libc.so.6", ()):  # before that, another version of it
        symbols.append(Symbol("__libc_start_main", "GLIBC_2.34"))
    if "libcudart.so.12" in needed:
        symbols.append(Symbol("cudaMalloc", "libcudart.so.12"))
        wanted = wanted | {"libcudart.so.12": ["libcudart.so.12"]}
    runtime = ("libstdc++.so.6", "libc.so.6") if "libstdc++.so.6" in wanted else ("libc.so.6",)
    return Elf(needed=(*needed, *runtime), versions=wanted, interpreter=interpreter,
               symbols=tuple(symbols), gpu_code=gpu_code)


def stem(soname):
    return soname.split(".so", maxsplit=1)[0]


def plain(name, *needed, versions=None, **facts):
    """A library that needs of the C library what any has."""
    return Elf(soname=name, needed=(*needed, "libc.so.6"),
               versions={"libc.so.6": ["GLIBC_2.2.5"]} | (versions or {}), **facts)


def system(os_release):
    made = Image()
    made.directory("/proc", "/sys", "/dev", "/tmp", "/run", "/usr/bin", "/usr/local/bin",
                   "/usr/share", "/var")
    for name in ("bin", "lib"):
        made.link(f"/{name}", f"usr/{name}")
    made.file("/etc/os-release", os_release)
    made.file("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
    made.file("/etc/group", "root:x:0:\nvideo:x:44:\nrender:x:109:\n")
    return made


def debian():
    made = system('ID=debian\nVERSION_ID="12"\n')
    made.link("/lib64", "usr/lib64")
    made.c_library(36)
    made.link("/usr/lib64/ld-linux-x86-64.so.2", f"{MULTIARCH}/ld-linux-x86-64.so.2")
    made.gcc_runtime(30)
    made.file("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    made.file("/etc/ld.so.conf.d/x86_64-linux-gnu.conf", f"{MULTIARCH}\n")
    made.program(APP, app())
    return made


def debian_11():
    """Older than the host's libraries need."""
    made = debian()
    made.file("/etc/os-release", 'ID=debian\nVERSION_ID="11"\n')
    made.c_library(31)
    made.remove(f"{MULTIARCH}/libstdc++.so.6", f"{MULTIARCH}/libstdc++.so.6.0.30")
    made.gcc_runtime(28)
    made.program(APP, app(versions={"libc.so.6": ["GLIBC_2.2.5"],
                                    "libstdc++.so.6": ["GLIBCXX_3.4.26"]}))
    return made


def ubuntu():
    made = debian()
    made.file("/etc/os-release", 'ID=ubuntu\nVERSION_ID="24.04"\n')
    made.c_library(39)
    made.remove(f"{MULTIARCH}/libstdc++.so.6", f"{MULTIARCH}/libstdc++.so.6.0.30")
    made.gcc_runtime(33)
    return made


def rhel():
    """Libraries in /usr/lib64, and no multiarch directories."""
    made = system('ID="rhel"\nVERSION_ID="9.4"\n')
    made.link("/lib64", "usr/lib64")
    made.c_library(34, "/usr/lib64")
    made.gcc_runtime(30, "/usr/lib64")
    made.file("/etc/ld.so.conf", "include ld.so.conf.d/*.conf\n")
    made.program(APP, app())
    return made


def alpine():
    """musl, whose loader is its C library; the program is linked to it."""
    made = system('ID=alpine\nVERSION_ID="3.20"\n')
    made.link("/lib64", "usr/lib")
    made.file("/usr/lib/ld-musl-x86_64.so.1", Elf(
        soname="libc.musl-x86_64.so.1", symbols=(Symbol("printf", defined=True),)).to_bytes(), True)
    made.link("/usr/lib/libc.musl-x86_64.so.1", "ld-musl-x86_64.so.1")
    made.cache = None
    made.file("/etc/alpine-release", "3.20.0\n")
    made.program(APP, Elf(needed=("libc.musl-x86_64.so.1",), symbols=(Symbol("printf"),),
                          interpreter="/lib/ld-musl-x86_64.so.1"))
    return made


STORE = "/nix/store/abcd1234-glibc-2.39/lib"


def nix():
    """Everything by RUNPATH from a store; no loader cache and no /lib64."""
    made = system('ID=nixos\nVERSION_ID="24.05"\n')
    made.cache = None
    made.c_library(39, STORE, f"{STORE}/ld-linux-x86-64.so.2")
    made.gcc_runtime(33, "/nix/store/efgh5678-gcc-13/lib",
                     runpath=f"/nix/store/efgh5678-gcc-13/lib:{STORE}")
    made.program(APP, app(interpreter=f"{STORE}/ld-linux-x86-64.so.2").but(
        runpath=f"{STORE}:/nix/store/efgh5678-gcc-13/lib"))
    return made


def static():
    """One program without a C library, as of Go."""
    made = system("ID=scratch\n")
    made.cache = None
    made.program(APP, Elf())
    return made


def with_cuda(made, directory=CUDA, version="12.4.127", targets=("80", "86", "89", "90"),
              ptx=("90",)):
    """As NVIDIA's images have it: the toolkit's run-time libraries, and no driver."""
    top = directory.split("/targets/")[0]
    made.link("/usr/local/cuda", top.rsplit("/", maxsplit=1)[1])
    if directory != f"{top}/lib64":
        made.link(f"{top}/lib64", directory.removeprefix(f"{top}/"))
    release = ".".join(version.split(".")[:2])
    made.file(f"{top}/version.json", json.dumps(
        {"cuda": {"name": "CUDA SDK", "version": f"{release}.1"}}) + "\n")
    soname = "libcudart.so.12"
    made.library(f"{directory}/libcudart.so.{version}", plain(
        soname, defines=(soname,), symbols=(Symbol("cudaMalloc", soname, True),)))
    made.library(f"{directory}/libcublas.so.{version}", plain(
        "libcublas.so.12", soname, gpu_code=fatbin(targets, ptx)))
    made.file("/etc/ld.so.conf.d/cuda.conf", "/usr/local/cuda/targets/x86_64-linux/lib\n")
    made.program(APP, app("libcuda.so.1", "libcudart.so.12", "libcublas.so.12",
                          gpu_code=fatbin(targets, ptx)))
    return made


def cuda():
    return with_cuda(debian())


def cuda_graphics():
    """With loaders of Vulkan and OpenCL of the distribution, and libraries of X11."""
    made = cuda()
    for name in ("libX11.so.6", "libXext.so.6"):
        made.library(f"{MULTIARCH}/{name}.4.0", plain(name))
    for name, version in (("libvulkan.so.1", "1.3.239"), ("libOpenCL.so.1", "1.0.0")):
        made.library(f"{MULTIARCH}/{stem(name)}.so.{version}", plain(name))
    made.file("/etc/OpenCL/vendors/pocl.icd", "libpocl.so.2\n")
    made.library(f"{MULTIARCH}/libpocl.so.2.10.0", plain("libpocl.so.2"))
    return made


def cuda_32():
    """With what 32-bit programs need: their C library, and one such program."""
    made = cuda()
    directory = "/usr/lib/i386-linux-gnu"
    for name in ("ld-linux.so.2", "libc.so.6"):
        made.file(f"{directory}/{name}", Elf(machine="i386", soname=name, defines=(
            "GLIBC_2.0", "GLIBC_2.1", "GLIBC_2.34")).to_bytes(), True)
    made.link("/usr/lib/ld-linux.so.2", "i386-linux-gnu/ld-linux.so.2")
    made.program("/usr/bin/app32", Elf(machine="i386", needed=("libc.so.6",), interpreter="/lib/ld-linux.so.2",
                                       versions={"libc.so.6": ["GLIBC_2.34"]}))
    return made


def cuda_old():
    """With code for old GPUs, Pascal among them."""
    return with_cuda(debian(), "/usr/local/cuda-12.0/targets/x86_64-linux/lib", "12.0.146",
                     ("60", "61", "70", "75", "80", "86", "90"), ("90",))


def wheels():
    """PyTorch from Python's package index, with CUDA beside it."""
    made = debian()
    nvidia = f"{WHEELS}/nvidia/cuda_runtime/lib"
    made.file(f"{nvidia}/libcudart.so.12", plain(
        "libcudart.so.12", defines=("libcudart.so.12",),
        symbols=(Symbol("cudaMalloc", "libcudart.so.12", True),)).to_bytes(), True)
    made.file(f"{WHEELS}/torch/version.py", "__version__ = '2.5.1+cu124'\ncuda = '12.4'\n")
    made.file(f"{WHEELS}/torch-2.5.1+cu124.dist-info/METADATA",
              "Metadata-Version: 2.1\nName: torch\nVersion: 2.5.1+cu124\n")
    made.file(f"{WHEELS}/torch/lib/libtorch_cuda.so", plain(
        "libtorch_cuda.so", "libcuda.so.1", "libcudart.so.12",
        runpath="$ORIGIN:$ORIGIN/../../nvidia/cuda_runtime/lib",
        gpu_code=fatbin(("80", "86", "90"), ("90",))).to_bytes(), True)
    made.program(APP, app("libtorch_cuda.so").but(runpath=f"{WHEELS}/torch/lib"))
    return made


def rocm():
    made = debian()
    made.link("/opt/rocm", "rocm-6.4.1")
    for soname, version, needed in (
            ("libhsa-runtime64.so.1", "1.15.60401", ("libelf.so.1", "libdrm.so.2",
                                                     "libdrm_amdgpu.so.1", "libnuma.so.1")),
            ("libamd_comgr.so.3", "3.0.60401", ()),
            ("libamdhip64.so.6", "6.4.60401", ("libhsa-runtime64.so.1", "libamd_comgr.so.3",
                                               "libnuma.so.1")),
            ("librocblas.so.4", "4.4.60401", ("libamdhip64.so.6",))):
        made.library(f"{ROCM}/{stem(soname)}.so.{version}", plain(soname, *needed))
    for soname, version in (("libelf.so.1", "0.188"), ("libdrm.so.2", "2.4.0"),
                            ("libdrm_amdgpu.so.1", "1.0.0"), ("libnuma.so.1", "1.0.0")):
        made.library(f"{MULTIARCH}/{stem(soname)}.so.{version}", plain(soname))
    for target in ("gfx90a", "gfx942", "gfx1100"):
        made.file(f"{ROCBLAS}/TensileLibrary_lazy_{target}.dat", "kernels\n")
        made.file(f"{ROCBLAS}/Kernels.so-000-{target}.hsaco", "kernels\n")
    made.file("/etc/ld.so.conf.d/rocm.conf", "/opt/rocm/lib\n")
    made.file("/opt/rocm-6.4.1/.info/version", "6.4.1-83\n")
    made.program(APP, app("libamdhip64.so.6", "librocblas.so.4"))
    return made


def level_zero():
    made = debian()
    for soname, version, needed in (
            ("libze_loader.so.1", "1.17.6", ()), ("libigdgmm.so.12", "12.5.0", ()),
            ("libigc.so.2", "2.7.11", ()),
            ("libze_intel_gpu.so.1", "1.6.33578", ("libigdgmm.so.12", "libigc.so.2"))):
        made.library(f"{MULTIARCH}/{stem(soname)}.so.{version}", plain(soname, *needed))
    made.program(APP, app("libze_loader.so.1"))
    return made


def habana():
    made = debian()
    directory = "/usr/lib/habanalabs"
    made.library(f"{directory}/libhl-thunk.so", plain("libhl-thunk.so"))
    made.library(f"{directory}/libSynapse.so", plain("libSynapse.so", "libhl-thunk.so"))
    made.file("/etc/ld.so.conf.d/habanalabs.conf", f"{directory}\n")
    made.program(APP, app("libSynapse.so"))
    return made


IMAGES = {"debian": debian, "debian-11": debian_11, "ubuntu": ubuntu, "rhel": rhel, "alpine": alpine, "nix": nix,
          "static": static, "cuda": cuda, "cuda-rhel": lambda: with_cuda(rhel()),
          "cuda-ubuntu": lambda: with_cuda(ubuntu()), "cuda-graphics": cuda_graphics,
          "cuda-32": cuda_32, "cuda-old": cuda_old, "wheels": wheels, "rocm": rocm,
          "level-zero": level_zero, "habana": habana}
