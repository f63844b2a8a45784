# SPDX-License-Identifier: MIT
"""Cases without a fault, in which nothing may be reported. Some look like one of the faults.

Each has a name, its base, and perhaps a function that edits it. `note` says what may be said
without a warning.
"""

import dataclasses
import typing

import model
from elf_file import Elf
from image_cuda import libcuda, torch
from images import CUDA


@dataclasses.dataclass(frozen=True)
class Healthy:
    name: str
    base: tuple
    note: str = ""
    edit: typing.Callable = None

    def case(self):
        made = model.Case.made_of(self.base)
        if self.edit:
            self.edit(made)
        return made


def without_random_addresses(case):
    case.host.write("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "N\n")
    case.host.write("/proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz root=/dev/vda1 ro nokaslr\n")


def required(case):
    case.request["container_environment"]["NVIDIA_REQUIRE_CUDA"] = "cuda>=12.4 driver>=550"


def masked(case):
    case.request["environment"]["CUDA_VISIBLE_DEVICES"] = "0,1"
    case.request["container_environment"]["CUDA_VISIBLE_DEVICES"] = "0,1"


def scheduled(case):
    """The cgroup allows what the scheduler's variable names."""
    case.request["environment"] |= {"SLURM_STEP_GPUS": "2", "SLURM_JOB_GPUS": "1,2"}
    case.request["denied_devices"] += [f"195:{n}" for n in range(8) if n != 2]


def stub_out_of_the_way(case):
    """Images for building have it, and no search path leads to it."""
    case.image.file(f"{CUDA}/stubs/libcuda.so", libcuda().to_bytes(), True)


def own_stale_libcuda_unused(case):
    case.image.library("/opt/old/libcuda.so.470.256.02", libcuda(), cached=False)


def with_code(case):
    torch(case, ("80", "90", "120"))


def several_machines(case):
    """A program for another machine beside the one that will run."""
    case.image.program("/opt/arm/app", Elf(machine="aarch64", needed=("libc.so.6",),
                                           interpreter="/lib/ld-linux-aarch64.so.1"))


def nodes_by_group(case):
    """Nodes of a group that the user is in."""
    case.host.change_nodes("/dev/nvidia[0-9c]*", mode=0o660, group=44)


def mask_of_rocr(case):
    case.request["environment"]["ROCR_VISIBLE_DEVICES"] = "0,3"
    case.request["container_environment"] |= {"ROCR_VISIBLE_DEVICES": "0,3",
                                              "HIP_VISIBLE_DEVICES": "1"}


HEALTHY = [
    Healthy("h200-debian", ("h200", "debian", "nvidia-plain")),
    Healthy("h200-debian-11", ("h200", "debian-11", "nvidia-plain")),
    Healthy("h200-ubuntu", ("h200", "ubuntu", "nvidia-plain")),
    Healthy("h200-rhel", ("h200", "rhel", "nvidia-plain")),
    Healthy("h200-nix", ("h200", "nix", "nvidia-nodes"),
            "programs of the store do not read a loader cache"),
    Healthy("h200-alpine", ("h200", "alpine", "nvidia-nodes"),
            "the image has musl: it gets device nodes, and no library of the driver"),
    Healthy("h200-static", ("h200", "static", "nvidia-nodes"), "the program loads no library"),
    Healthy("h200-cuda", ("h200", "cuda", "nvidia")),
    Healthy("h200-cuda-rhel", ("h200", "cuda-rhel", "nvidia")),
    Healthy("h200-cuda-ubuntu", ("h200", "cuda-ubuntu", "nvidia")),
    Healthy("h200-wheels", ("h200", "wheels", "nvidia-plain")),
    Healthy("h200-user", ("h200", "cuda", "nvidia-user")),
    Healthy("h200-group", ("h200", "cuda", "nvidia-user"), edit=nodes_by_group),
    Healthy("h200-hmm-off", ("h200-hmm", "cuda", "nvidia")),
    Healthy("h200-hmm-nokaslr", ("h200-hmm", "cuda", "nvidia"), edit=without_random_addresses),
    Healthy("h200-cdi", ("h200-cdi", "cuda", "nvidia")),
    Healthy("h200-selinux", ("h200-selinux", "cuda", "nvidia")),
    Healthy("h200-required", ("h200", "cuda", "nvidia"), edit=required),
    Healthy("h200-masked", ("h200", "cuda", "nvidia-plain"), edit=masked),
    Healthy("h200-scheduled", ("h200", "cuda", "nvidia-plain"), edit=scheduled),
    Healthy("h200-stub", ("h200", "cuda", "nvidia"), edit=stub_out_of_the_way),
    Healthy("h200-unused-libcuda", ("h200", "cuda", "nvidia"), edit=own_stale_libcuda_unused),
    Healthy("h200-several-machines", ("h200", "cuda", "nvidia"), edit=several_machines),
    Healthy("desktop-graphics", ("desktop", "cuda-graphics", "nvidia-graphics")),
    Healthy("desktop-32", ("desktop", "cuda-32", "nvidia-32")),
    Healthy("desktop-535", ("desktop-535", "cuda-old", "nvidia-plain")),
    Healthy("rhel-cuda", ("rhel", "cuda-rhel", "nvidia")),
    Healthy("debian-cuda", ("debian", "cuda", "nvidia")),
    Healthy("arch-ubuntu", ("arch", "ubuntu", "nvidia-plain")),
    Healthy("suse-cuda", ("suse", "cuda", "nvidia")),
    Healthy("pascal-old-image", ("pascal", "cuda-old", "nvidia-plain")),
    Healthy("blackwell-by-ptx", ("blackwell", "wheels", "nvidia-plain"),
            "the driver translates the image's PTX: the first start takes long"),
    Healthy("blackwell-new-wheels", ("blackwell", "wheels", "nvidia-plain"), edit=with_code),
    Healthy("mig-cuda", ("mig", "cuda", "nvidia")),
    Healthy("wsl-debian", ("wsl", "debian", "nvidia-plain")),
    Healthy("thor-debian", ("thor", "debian", "nvidia-plain")),
    Healthy("mi300x-rocm", ("mi300x", "rocm", "amd")),
    Healthy("mi300x-user", ("mi300x", "rocm", "amd-user")),
    Healthy("mi300x-masked", ("mi300x", "rocm", "amd"), edit=mask_of_rocr),
    Healthy("mi300x-host-rocm", ("mi300x", "debian", "amd-host")),
    Healthy("mi300x-cpx-rocm", ("mi300x-cpx", "rocm", "amd")),
    Healthy("mi308x-rocm", ("mi308x", "rocm", "amd")),
    Healthy("mi250x-rocm", ("mi250x", "rocm", "amd")),
    Healthy("arc-level-zero", ("arc", "level-zero", "intel")),
    Healthy("arc-user", ("arc", "level-zero", "intel-user")),
    Healthy("battlemage-level-zero", ("battlemage", "level-zero", "intel")),
    Healthy("gpu-max-level-zero", ("gpu-max", "level-zero", "intel")),
    Healthy("flex-level-zero", ("flex", "level-zero", "intel")),
    Healthy("gaudi2-habana", ("gaudi2", "habana", "gaudi")),
    Healthy("gaudi2-x12-habana", ("gaudi2-x12", "habana", "gaudi")),
]
