# SPDX-License-Identifier: MIT
"""The healthy hosts and requests that cases are made of; the images are in images.py. Each is
made once and copied for each case."""

import functools
import sys
import tempfile
from pathlib import Path

import host_dir
import images

VERSION = "580.159.04"
OLD_VERSION = "535.274.02"
# Numbers of PCI devices: the architectures of faults about device code.
GEFORCE_ADA, GEFORCE_PASCAL, GEFORCE_BLACKWELL = 0x2684, 0x1B80, 0x2B85
# Host, image and request of a vendor, unless a fault says otherwise.
USUAL = {"nvidia": ("h200", "cuda", "nvidia"), "amd": ("mi300x", "rocm", "amd"),
         "intel": ("arc", "level-zero", "intel"), "gaudi": ("gaudi2", "habana", "gaudi")}
USUAL["any"] = USUAL["nvidia"]


def host(name):
    return _host(name)


def image(name):
    return _image(name)


def request(name):
    return REQUESTS[name]


@functools.cache
def _host(name):
    return HOSTS[name]()


@functools.cache
def _image(name):
    return images.IMAGES[name]()


def recorded():
    return host_dir.Host.recorded("h200-x8-ubuntu24.04-580")


def by_program(program, *words):
    """What a program of tests/hosts writes."""
    def make():
        module = host_dir.generator(program)
        with tempfile.TemporaryDirectory() as directory:
            before, sys.argv = sys.argv, [program, *words, f"{directory}/host"]
            try:
                module.main()
            finally:
                sys.argv = before
            return host_dir.Host(host_dir.read_tree(Path(directory) / "host"))
    return make


def nvidia(device, name, version=VERSION, gpus=1, layout="ubuntu", is_open=True):
    """A host with these GPUs and the driver where a distribution has it."""
    def make():
        generate = host_dir.generator("generate")
        made = generate.Host()
        generate.add_laid_out(made, layout, 33, 4, version)
        generate.add_kernel(made, version)
        generate.add_pci(made, gpus, gpus, generate.Model(name, device))
        # The desktop's part: mode setting, which Vulkan on a display needs.
        made.texts["proc/devices"] += "195 nvidia-modeset\n"
        made.texts["sys/module/nvidia_modeset/initstate"] = "live\n"
        made.node("/dev/nvidia-modeset", 195, 254)
        if not is_open:
            path = "proc/driver/nvidia/version"
            made.texts[path] = made.texts[path].replace("Open Kernel Module for x86_64",
                                                        "x86_64 Kernel Module")
        return host_dir.Host.generated(made, 300)
    return make


def with_hmm():
    """An open module whose HMM is switched off, on a kernel whose addresses are random."""
    made = recorded()
    made.write("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "Y\n")
    made.write("/proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz root=/dev/vda1 ro quiet\n")
    made.write("/proc/sys/kernel/osrelease", "6.13.4-generic\n")
    return made


CDI = """cdiVersion: "0.6.0"
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
  - path: /dev/nvidia-uvm
    major: 238
    minor: 0
    type: c
  mounts:
  - hostPath: /usr/local/nvidia/lib64/libcuda.so.580.159.04
    containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04
    options: [ro, nosuid, nodev, bind]
"""


def with_cdi():
    made = recorded()
    made.add_text("/etc/cdi/nvidia.yaml", CDI)
    return made


def battlemage():
    """A board that xe drives."""
    intel = host_dir.generator("generate-intel")
    return host_dir.Host.generated(intel.make(cards=[intel.Card("0000:03:00.0", 0xE20B, "xe")]))


def enforcing():
    """SELinux in force, and containers may use devices."""
    made = recorded()
    made.write("/sys/fs/selinux/enforce", "1\n")
    made.write("/sys/fs/selinux/booleans/container_use_devices", "1 1\n")
    return made


HOSTS = {
    "h200": recorded,
    "h200-hmm": with_hmm,
    "h200-cdi": with_cdi,
    "h200-selinux": enforcing,
    "desktop": nvidia(GEFORCE_ADA, "NVIDIA GeForce RTX 4090", gpus=2),
    "desktop-535": nvidia(GEFORCE_ADA, "NVIDIA GeForce RTX 4090", OLD_VERSION),
    "blackwell": nvidia(GEFORCE_BLACKWELL, "NVIDIA GeForce RTX 5090"),
    "pascal": nvidia(GEFORCE_PASCAL, "NVIDIA GeForce GTX 1080", is_open=False),
    "rhel": nvidia(0x2335, "NVIDIA H200", gpus=2, layout="rhel"),
    "debian": nvidia(0x2335, "NVIDIA H200", gpus=2, layout="debian"),
    "arch": nvidia(GEFORCE_ADA, "NVIDIA GeForce RTX 4090", layout="arch"),
    "suse": nvidia(0x2335, "NVIDIA H200", gpus=2, layout="suse"),
    "mig": by_program("generate-mig", "one-of-two"),
    "wsl": by_program("generate-wsl", "nvidia"),
    "thor": by_program("generate-tegra", "thor"),
    "orin": by_program("generate-tegra", "orin"),
    "mi300x": by_program("generate-amd", "mi300x-spx"),
    "mi300x-cpx": by_program("generate-amd", "mi300x-cpx"),
    "mi308x": by_program("generate-amd", "mi308x-gaps"),
    "mi250x": by_program("generate-amd", "mi250x"),
    "workstation": by_program("generate-amd", "workstation"),
    "therock": by_program("generate-amd", "therock"),
    "arc": by_program("generate-intel", "arc-user-space"),
    "arc-two": by_program("generate-intel", "arc"),
    "battlemage": battlemage,
    "gpu-max": by_program("generate-intel", "gpu-max"),
    "flex": by_program("generate-intel", "flex-sriov"),
    "gaudi2": by_program("generate-intel", "gaudi2-x8"),
    "gaudi2-x12": by_program("generate-intel", "gaudi2-x12"),
}


def asked(vendor, options=(), user=None, **container_environment):
    return {"vendor": vendor, "options": list(options), "environment": {},
            "container_environment": {"PATH": "/usr/local/bin:/usr/bin:/bin"} | container_environment,
            "program": ["/usr/bin/app"], "user": user or {"uid": 0, "gid": 0, "groups": []},
            "denied_devices": [], "pid_namespace": False}


ORDINARY = {"uid": 4242, "gid": 4242, "groups": [44, 109]}  # in the groups video and render
REQUESTS = {
    "nvidia": asked("--nv", NVIDIA_VISIBLE_DEVICES="all", CUDA_VERSION="12.4.1",
                    NVIDIA_DRIVER_CAPABILITIES="compute,utility",
                    LD_LIBRARY_PATH="/usr/local/nvidia/lib:/usr/local/nvidia/lib64"),
    "nvidia-plain": asked("--nv"),
    "nvidia-nodes": asked("--nv", ["--vendor-libs", "none"]),
    "nvidia-graphics": asked("--nv", ["--driver-capabilities", "compute,utility,graphics"]),
    "nvidia-video": asked("--nv", ["--driver-capabilities", "compute,utility,video"]),
    "nvidia-32": asked("--nv", ["--driver-capabilities", "compute,utility,graphics,compat32"]),
    "nvidia-user": asked("--nv", user=ORDINARY),
    "amd": asked("--rocm"),
    "amd-host": asked("--rocm", ["--vendor-libs", "host"]),
    "amd-user": asked("--rocm", user=ORDINARY),
    "intel": asked("--intel"),
    "intel-user": asked("--intel", user=ORDINARY),
    "gaudi": asked("--hpu"),
}
