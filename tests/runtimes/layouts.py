# SPDX-License-Identifier: MIT
"""Root file systems of other distributions' layouts, made from the image of a bench."""

import pathlib
import shutil
import sysconfig

from bench import Failed

MULTIARCH = sysconfig.get_config_var("MULTIARCH")
# glibc with the default directories /lib64 and /usr/lib64, as Red Hat and SUSE have them.
LIB64_LOADER = pathlib.Path("/usr/i686-linux-gnu/lib64")
MUSL_LOADER = pathlib.Path("/lib/ld-musl-x86_64.so.1")
OLD = "opt/old/lib"


def debian(_bench):
    pass


def lib64(bench):
    """All libraries in /usr/lib64, and a loader that searches there alone."""
    if not LIB64_LOADER.is_dir():
        raise Failed("libc6-amd64-i386-cross is not installed")
    triplet, directory = bench.image / "usr/lib" / MULTIARCH, bench.image / "usr/lib64"
    directory.mkdir(exist_ok=True)
    for file in triplet.iterdir():
        bench.must("cp", "-a", file, directory)
    shutil.rmtree(triplet)
    for file in LIB64_LOADER.iterdir():
        (directory / file.name).unlink(missing_ok=True)
        bench.must("cp", "-L", file, directory)
    (bench.image / "etc/ld.so.cache").unlink(missing_ok=True)


def cuda(bench):
    """What NVIDIA's images of CUDA have in addition: directories for the loader cache, which was
    made before the driver came; and LD_LIBRARY_PATH, by `CUDA_OPTIONS`."""
    configuration = bench.image / "etc/ld.so.conf.d"
    configuration.mkdir(parents=True, exist_ok=True)
    (configuration / "nvidia.conf").write_text("/usr/local/nvidia/lib\n/usr/local/nvidia/lib64\n")
    (bench.image / "etc/ld.so.conf").write_text("include /etc/ld.so.conf.d/*.conf\n")
    bench.must("/sbin/ldconfig", "-r", bench.image)


CUDA_OPTIONS = "--env LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64"


def old_driver(bench):
    """A libcuda in the image, which the loader cache has."""
    directory = bench.image / OLD
    directory.mkdir(parents=True)
    library = sorted(pathlib.Path("/usr/local/nvidia/lib64").glob("libcuda.so.*.*"))[0]
    shutil.copy(library, directory / "libcuda.so.1")
    (bench.image / "etc/ld.so.conf").write_text(f"/{OLD}\n")
    bench.must("/sbin/ldconfig", "-r", bench.image)


def musl(bench):
    """As Alpine's: BusyBox, and the loader of musl."""
    busybox = shutil.which("busybox")
    if not MUSL_LOADER.exists() or busybox is None:
        raise Failed("musl or busybox is not installed")
    for path in bench.image.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    for name in ("bin", "lib", "dev", "proc", "sys", "etc", "usr/lib", "usr/bin"):
        (bench.image / name).mkdir(parents=True)
    shutil.copy(MUSL_LOADER, bench.image / "lib")
    shutil.copy(busybox, bench.image / "bin/busybox")
    for name in ("sh", "sed", "head"):
        (bench.image / "bin" / name).symlink_to("busybox")
