# SPDX-License-Identifier: MIT
"""Faults of hosts with NVIDIA GPUs: the bus, the kernel modules, nodes, and what the modules
have set up."""

from model import Room, host, request

ROOM = Room("host_nvidia", "nvidia", base=("h200", None, None))
GPUS = [f"0000:00:{number:02x}.0" for number in range(6, 14)]  # of the recorded host
PCI = "/sys/bus/pci/devices"
MIG = "/proc/driver/nvidia/capabilities/gpu1/mig"
NO_MODULE = ("host_nvidia", "host_driver", "request_nvidia", "compat")


def unload(case):
    """The module and all that it makes are gone."""
    case.host.remove("/sys/module/nvidia", "/sys/module/nvidia_uvm", "/proc/driver")
    devices = case.host.text("/proc/devices").splitlines(keepends=True)
    case.host.write("/proc/devices", "".join(line for line in devices if " nvidia" not in line))
    case.host.remove_nodes("/dev/nvidia*")


def gpu_information(number):
    return f"/proc/driver/nvidia/gpus/{GPUS[number]}/information"


def lose(case, number, driver):
    """A GPU that is not nvidia's."""
    case.host.bind(GPUS[number], driver)
    case.host.remove(f"/proc/driver/nvidia/gpus/{GPUS[number]}")
    case.host.remove_nodes(f"/dev/nvidia{number}")


def made_by_hand(case):
    """Nothing but udev or an administrator makes nodes."""
    case.host.write("/proc/driver/nvidia/params", case.host.text("/proc/driver/nvidia/params").replace(
        "ModifyDeviceFiles: 1", "ModifyDeviceFiles: 0"))


@ROOM.fault("nvidia-module-not-loaded", stage="module", not_with=NO_MODULE, subject="module",
            cause="no driver is loaded for the GPUs",
            message="NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver; "
                    "no CUDA-capable device is detected",
            evidence=[host("/sys/module/nvidia/version", "absent"),
                      host(f"{PCI}/{GPUS[0]}/driver", "absent"),
                      host(f"{PCI}/{GPUS[0]}/vendor", "is", "0x10de", before=True)])
def module_not_loaded(case):
    unload(case)
    for address in GPUS:
        case.host.bind(address, None)


@ROOM.fault("nvidia-nouveau", stage="module", not_with=NO_MODULE, subject="module",
            cause="nouveau has the GPUs, and NVIDIA's module is not loaded",
            message="NVIDIA-SMI has failed; no CUDA-capable device is detected",
            evidence=[host(f"{PCI}/{GPUS[0]}/driver", "is", "nouveau"),
                      host("/sys/module/nvidia/version", "absent")])
def nouveau(case):
    unload(case)
    for address in GPUS:
        case.host.bind(address, "nouveau")
    case.host.write("/sys/module/nouveau/initstate", "live\n")


@ROOM.fault("nvidia-module-other-version", stage="files", subject="driver version",
            not_with=("compat", "requirement"),
            cause="the module in the kernel is of another version than the libraries, as after an "
                  "update without a restart",
            message="Failed to initialize NVML: Driver/library version mismatch",
            noticed="the kernel module is version 575.57.08",
            evidence=[host("/sys/module/nvidia/version", "is", "575.57.08"),
                      host("/proc/driver/nvidia/version", "has", "575.57.08"),
                      host("/usr/local/nvidia/lib64/libcuda.so.1", "is", "-> libcuda.so.580.159.04",
                           before=True)])
def module_other_version(case):
    for path in ("/sys/module/nvidia/version", "/sys/module/nvidia_uvm/version",
                 "/proc/driver/nvidia/version"):
        case.host.replace(path, "580.159.04", "575.57.08")


@ROOM.fault("nvidia-gpu-in-vfio", stage="bus", blocks="some", subject="gpu 3",
            cause="a GPU is kept for a virtual machine by vfio-pci",
            message="nvidia-smi shows one GPU less than the machine has",
            evidence=[host(f"{PCI}/{GPUS[3]}/driver", "is", "vfio-pci"),
                      host(gpu_information(3), "absent")])
def in_vfio(case):
    lose(case, 3, "vfio-pci")


@ROOM.fault("nvidia-gpu-off-bus", stage="bus", blocks="some", subject="gpu 4",
            cause="a GPU has fallen off the bus",
            message="Unable to determine the device handle for GPU: Unknown Error; Xid 79",
            evidence=[host(f"{PCI}/{GPUS[4]}/config", "has", "ff" * 16),
                      host(f"{PCI}/{GPUS[4]}/driver", "is", "nvidia", before=True)])
def off_bus(case):
    case.host.attribute(GPUS[4], "power/runtime_status", "active\\n")
    case.host.attribute(GPUS[4], "config", "FF" * 64, kind="H")


@ROOM.fault("nvidia-gpu-excluded", stage="module", blocks="some", subject="gpu 5",
            cause="the driver was told to exclude a GPU",
            message="nvidia-smi shows one GPU less than the machine has",
            evidence=[host(gpu_information(5), "has", "GPU Excluded:\t Yes")])
def excluded(case):
    case.host.replace(gpu_information(5), "GPU Excluded:\t No", "GPU Excluded:\t Yes")


def old_board(case, version, flavour):
    """A board that no driver has, beside those that the driver knows."""
    case.host.add_function("0000:00:1f.0", vendor="0x10de", device="0x1b80", **{"class": "0x030000"})
    if version:
        for path in ("/sys/module/nvidia/version", "/sys/module/nvidia_uvm/version"):
            case.host.write(path, version + "\n")
        case.host.write("/proc/driver/nvidia/version",
                        f"NVRM version: NVIDIA UNIX {flavour}  {version}  Release Build\n")


@ROOM.fault("nvidia-branch-dropped-board", stage="bus", blocks="some", subject="old board",
            base=("desktop", None, None), not_with=("driver version",),
            cause="the driver's branch no longer knows the board: 590 and later know none before "
                  "Turing",
            message="the GPU is gone after an update of the driver; nvidia-smi: No devices were "
                    "found",
            evidence=[host(f"{PCI}/0000:00:1f.0/device", "is", "0x1b80"),
                      host(f"{PCI}/0000:00:1f.0/driver", "absent", before=True),
                      host("/sys/module/nvidia/version", "is", "595.71.05")])
def branch_dropped(case):
    old_board(case, "595.71.05", "x86_64 Kernel Module")
    for name in ("libcuda.so", "libnvidia-ml.so"):  # enough of the newer driver to be one
        directory, soname = "/usr/lib/x86_64-linux-gnu", f"{name}.1"
        case.host.add_library(f"{directory}/{name}.595.71.05", soname)
        case.host.change_file(f"{directory}/{soname}", target=f"{name}.595.71.05")


@ROOM.fault("nvidia-open-module-old-board", stage="bus", blocks="some", subject="old board",
            base=("desktop", None, None),
            cause="the module is the open one, which drives Turing and later, and the board is older",
            message="NVRM: The NVIDIA GPU is not supported by open nvidia.ko; No devices were found",
            evidence=[host(f"{PCI}/0000:00:1f.0/device", "is", "0x1b80"),
                      host(f"{PCI}/0000:00:1f.0/driver", "absent", before=True),
                      host("/proc/driver/nvidia/version", "has", "Open Kernel Module", before=True)])
def open_module(case):
    old_board(case, None, None)


@ROOM.fault("nvidia-uvm-not-loaded", stage="init", subject="uvm",
            cause="nvidia-uvm, which CUDA needs, is not loaded, though nvidia is",
            message="CUDA_ERROR_UNKNOWN (999); nvidia-smi works",
            noticed="/dev/nvidia-uvm: is missing",
            evidence=[host("/sys/module/nvidia_uvm/version", "absent"),
                      host("/proc/devices", "lacks", "nvidia-uvm"),
                      host("/dev/nvidia-uvm", "absent"),
                      host("/sys/module/nvidia/initstate", "is", "live", before=True)])
def uvm_not_loaded(case):
    case.host.remove("/sys/module/nvidia_uvm")
    case.host.replace("/proc/devices", "238 nvidia-uvm\n", "")
    case.host.remove_nodes("/dev/nvidia-uvm*")


@ROOM.fault("nvidia-uvm-node-missing", stage="init", subject="uvm",
            cause="nvidia-uvm is loaded, its node is not there, and the driver makes none",
            message="CUDA_ERROR_UNKNOWN (999); nvidia-smi works",
            noticed="/dev/nvidia-uvm: is missing",
            evidence=[host("/dev/nvidia-uvm", "absent"),
                      host("/proc/driver/nvidia/params", "has", "ModifyDeviceFiles: 0"),
                      host("/proc/devices", "has", "238 nvidia-uvm", before=True)])
def uvm_node_missing(case):
    case.host.remove_nodes("/dev/nvidia-uvm")
    made_by_hand(case)


@ROOM.fault("nvidia-uvm-wrong-number", stage="node", subject="uvm",
            cause="the node of nvidia-uvm has the major number of an earlier start of the machine",
            message="CUDA_ERROR_UNKNOWN (999); everything looks right",
            noticed="is the character device 511:0, but its kernel driver has 238:0",
            evidence=[host("/dev/nvidia-uvm", "is", "c 511:0 0666 0:0"),
                      host("/proc/devices", "has", "238 nvidia-uvm", before=True)])
def uvm_wrong_number(case):
    case.host.change_nodes("/dev/nvidia-uvm", number="511:0")
    case.host.change_nodes("/dev/nvidia-uvm-tools", number="511:1")


@ROOM.fault("nvidia-control-node-missing", stage="node", subject="control node",
            not_with=("access",),
            cause="/dev/nvidiactl is not there, and the driver makes none",
            message="NVIDIA-SMI has failed; no CUDA-capable device is detected",
            noticed="/dev/nvidiactl: the device node is missing",
            evidence=[host("/dev/nvidiactl", "absent"),
                      host("/proc/driver/nvidia/params", "has", "ModifyDeviceFiles: 0")])
def control_node_missing(case):
    case.host.remove_nodes("/dev/nvidiactl")
    made_by_hand(case)


@ROOM.fault("nvidia-gpu-node-missing", stage="node", blocks="some", subject="gpu 6",
            cause="the node of one GPU is not there, and the driver makes none",
            message="nvidia-smi shows one GPU less; CUDA_ERROR_NO_DEVICE where it is the only one",
            evidence=[host("/dev/nvidia6", "absent"),
                      host("/proc/driver/nvidia/params", "has", "ModifyDeviceFiles: 0"),
                      host(gpu_information(6), "has", "Device Minor: \t 6", before=True)])
def gpu_node_missing(case):
    case.host.remove_nodes("/dev/nvidia6")
    made_by_hand(case)


@ROOM.fault("nvidia-gpu-node-wrong-number", stage="node", blocks="some", subject="gpu 7",
            not_with=("access",),
            cause="the node of one GPU has the number of none",
            message="Unable to determine the device handle; No such device or address",
            evidence=[host("/dev/nvidia7", "is", "c 195:77 0666 0:0"),
                      host(gpu_information(7), "has", "Device Minor: \t 7", before=True)])
def gpu_node_wrong_number(case):
    case.host.change_nodes("/dev/nvidia7", number="195:77")


@ROOM.fault("nvidia-nodes-not-for-user", stage="access", subject="access", not_with=("cgroup",),
            base=("h200", None, "nvidia-user"),
            cause="the nodes are for root and a group that the user is not in",
            message="NVIDIA-SMI has failed; Insufficient Permissions; CUDA_ERROR_NO_DEVICE",
            noticed="its permissions forbid it",
            evidence=[host("/dev/nvidiactl", "is", "c 195:255 0660 0:998"),
                      request("user", "has", "4242", before=True),
                      host("/dev/nvidia0", "refused", "EACCES")])
def not_for_user(case):
    case.host.change_nodes("/dev/nvidia[0-9c]*", mode=0o660, group=998)


@ROOM.fault("nvidia-denied-by-cgroup", stage="access", subject="access", not_with=("cgroup",),
            cause="the device cgroup denies all of the driver's nodes, as after systemd reloaded its "
                  "units",
            message="Failed to initialize NVML: Unknown Error, hours after it worked",
            noticed="the device cgroup forbids it",
            evidence=[host("/dev/nvidiactl", "refused", "EPERM"),
                      host("/dev/nvidia0", "refused", "EPERM"),
                      host("/dev/nvidiactl", "is", "c 195:255 0666 0:0", before=True)])
def denied_by_cgroup(case):
    case.request["denied_devices"] += ["195:255", *(f"195:{n}" for n in range(8)), "238:0", "238:1"]


@ROOM.fault("nvidia-gpu-denied-by-cgroup", stage="access", blocks="some", subject="cgroup",
            cause="the device cgroup denies one of the GPUs",
            message="CUDA sees one GPU less than nvidia-smi on the host",
            noticed="the device cgroup forbids it",
            evidence=[host("/dev/nvidia2", "refused", "EPERM"),
                      host("/dev/nvidia0", "allowed", before=True),
                      host("/dev/nvidia2", "is", "c 195:2 0666 0:0", before=True)])
def gpu_denied(case):
    case.request["denied_devices"] += ["195:2"]


@ROOM.fault("nvidia-mig-without-compute-instance", stage="visible", blocks="some", subject="mig",
            base=("mig", None, None),
            cause="a GPU instance has no compute instance, so nothing can run on it",
            message="No MIG devices found; CUDA_ERROR_NO_DEVICE",
            evidence=[host(f"{MIG}/gi1/access", "has", "DeviceFileMinor", before=True),
                      host(f"{MIG}/gi1/ci0/access", "absent")])
def no_compute_instance(case):
    case.host.remove(f"{MIG}/gi1/ci0")


@ROOM.fault("nvidia-mig-node-missing", stage="node", blocks="some", subject="mig",
            base=("mig", None, None),
            cause="a MIG instance is there and its node in /dev/nvidia-caps is not",
            message="Failed to initialize NVML: Insufficient Permissions; CUDA_ERROR_NO_DEVICE",
            evidence=[host("/dev/nvidia-caps/nvidia-cap184", "absent"),
                      host(f"{MIG}/gi5/ci0/access", "has", "DeviceFileMinor: 184", before=True),
                      host("/proc/driver/nvidia/params", "has", "ModifyDeviceFiles: 0")])
def mig_node_missing(case):
    case.host.remove_nodes("/dev/nvidia-caps/nvidia-cap184")
    made_by_hand(case)


@ROOM.fault("nvidia-fabric-manager-not-running", stage="init", subject="fabric", certain=False,
            cause="the machine has NVSwitches, and the fabric manager that joins them does not run",
            message="CUDA_ERROR_SYSTEM_NOT_READY (802): system not yet initialized; nvidia-smi works",
            evidence=[host("/dev/nvidia-nvswitchctl", "is", "c 239:255 0666 0:0"),
                      host(f"{PCI}/0000:00:14.0/class", "is", "0x068000"),
                      host("/run/nvidia-fabricmanager/socket", "absent", before=True)])
def fabric_manager(case):
    # Only who sees all processes of the machine knows for certain that none is the manager's.
    case.request["pid_namespace"] = True
    case.host.node("/dev/nvidia-nvswitchctl", "239:255")
    for number in range(4):
        case.host.node(f"/dev/nvidia-nvswitch{number}", f"239:{number}")
        case.host.add_function(f"0000:00:{0x14 + number:02x}.0", driver="nvidia-nvswitch",
                               vendor="0x10de", device="0x22a3", **{"class": "0x068000"})


@ROOM.fault("nvidia-imex-without-channel", stage="choice", subject="imex",
            cause="a channel for memory of other machines (IMEX) is asked for, and there is no node",
            message="CUDA_ERROR_NOT_PERMITTED (800) from cuMemCreate with a fabric handle",
            noticed="extra imex-channel:0: not on this host",
            evidence=[request("options", "has", "imex-channel:0"),
                      host("/proc/devices", "has", "nvidia-caps-imex-channels", before=True),
                      host("/dev/nvidia-caps-imex-channels/channel0", "absent", before=True)])
def imex(case):
    case.request["options"] += ["--extras", "imex-channel:0"]


@ROOM.fault("nvidia-hmm-with-random-addresses", stage="init", subject="hmm", certain=False,
            base=("h200-hmm", None, None),
            cause="the open module uses HMM on a kernel that places memory at random addresses, "
                  "which fails on some kernels",
            message="CUDA_ERROR_NOT_INITIALIZED (3) from cuInit; nvidia-smi works",
            evidence=[host("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "is", "N"),
                      host("/proc/driver/nvidia/version", "has", "Open Kernel Module", before=True),
                      host("/proc/cmdline", "lacks", "nokaslr", before=True)])
def hmm(case):
    case.host.write("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "N\n")


@ROOM.fault("nvidia-modeset-node-missing", stage="feature", blocks="some", subject="modeset",
            base=("desktop", None, "nvidia-graphics"),
            cause="nvidia-modeset is loaded and its node is not there, which graphics needs",
            message="Vulkan and EGL show llvmpipe only",
            evidence=[host("/dev/nvidia-modeset", "absent"),
                      host("/proc/devices", "has", "195 nvidia-modeset", before=True)])
def modeset(case):
    case.host.remove_nodes("/dev/nvidia-modeset")
    made_by_hand(case)
