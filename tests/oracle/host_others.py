# SPDX-License-Identifier: MIT
"""Faults of hosts with GPUs of AMD and Intel and with Gaudi, and of any host: what forbids
user namespaces, and SELinux."""

from model import Room, host, image, request

AMD = Room("host_amd", "amd", base=("mi300x", None, None))
INTEL = Room("host_intel", "intel", base=("arc", None, None))
GAUDI = Room("host_gaudi", "gaudi", base=("gaudi2", None, None))
ANY = Room("host_any", "any")
PCI = "/sys/bus/pci/devices"
FIRST_AMD, FIRST_INTEL, FIRST_GAUDI = "0000:05:00.0", "0000:03:00.0", "0000:33:00.0"
TOPOLOGY = "/sys/devices/virtual/kfd/kfd/topology/nodes"
USERNS = "/proc/sys/user/max_user_namespaces"


def remove_amdgpu(case):
    for bus in (0x05, 0x26, 0x46, 0x65, 0x85, 0xA6, 0xC6, 0xE5):
        case.host.bind(f"0000:{bus:02x}:00.0", None)
    case.host.remove("/sys/module/amdgpu")
    case.host.remove_nodes("/dev/kfd", "/dev/dri/renderD*")
    case.host.remove_devices("/devices/virtual/kfd/kfd")
    case.host.remove_devices("*/drm/renderD*")
    case.host.replace("/proc/devices", "510 kfd\n", "")


@AMD.fault("amd-module-not-loaded", stage="module", not_with=("host_amd", "request_amd", "rocm"),
           cause="amdgpu is not loaded",
           message="ROCk module is NOT loaded, possibly no GPU devices",
           noticed="the amdgpu kernel module is not loaded",
           evidence=[host("/sys/module/amdgpu/initstate", "absent"),
                     host(f"{PCI}/{FIRST_AMD}/driver", "absent"),
                     host(f"{PCI}/{FIRST_AMD}/vendor", "is", "0x1002", before=True)])
def amdgpu_not_loaded(case):
    remove_amdgpu(case)


@AMD.fault("amd-kfd-node-missing", stage="node", subject="kfd",
           cause="/dev/kfd is not there, though amdgpu has its compute driver",
           message="Unable to open /dev/kfd read-write: No such file or directory",
           noticed="/dev/kfd: the device node is missing",
           evidence=[host("/dev/kfd", "absent"),
                     host(f"{TOPOLOGY}/2/properties", "has", "gfx_target_version 90402", before=True)])
def kfd_missing(case):
    case.host.remove_nodes("/dev/kfd")


@AMD.fault("amd-kfd-not-for-user", stage="access", subject="kfd", base=("mi300x", None, "amd-user"),
           cause="/dev/kfd and the render nodes are for a group that the user is not in",
           message="Unable to open /dev/kfd read-write: Permission denied",
           noticed="its permissions forbid it",
           evidence=[host("/dev/kfd", "is", "c 510:0 0660 0:992"),
                     host("/dev/kfd", "refused", "EACCES")])
def kfd_not_for_user(case):
    case.host.change_nodes("/dev/kfd", group=992)
    case.host.change_nodes("/dev/dri/renderD*[0-9]", group=992)


@AMD.fault("amd-render-group-differs", stage="feature", blocks="some", subject="render group",
           certain=False, not_with=("kfd",), base=("mi300x", None, "amd-user"),
           cause="the group `render` of the image has another number than that of the nodes, so a "
                 "user whom the image puts into it gets no GPU",
           message="Unable to open /dev/kfd read-write: Permission denied, in the container alone",
           evidence=[image("/etc/group", "has", "render:x:993:"),
                     host("/dev/kfd", "is", "c 510:0 0660 0:109", before=True)])
def render_group(case):
    case.image.file("/etc/group", "root:x:0:\nvideo:x:44:\nrender:x:993:\n")


@AMD.fault("amd-render-node-missing", stage="node", blocks="some", subject="amd gpu 0",
           cause="the render node of a GPU is not there",
           message="rocminfo shows the GPU, and HIP does not: hipErrorNoDevice",
           evidence=[host("/dev/dri/renderD128", "absent"),
                     host(f"{TOPOLOGY}/2/properties", "has", "drm_render_minor 128", before=True)])
def render_missing(case):
    case.host.remove_nodes("/dev/dri/renderD128")


@AMD.fault("amd-gpu-in-vfio", stage="bus", blocks="some", subject="amd gpu 7",
           cause="a GPU is kept for a virtual machine by vfio-pci",
           message="rocm-smi shows one GPU less than the machine has",
           evidence=[host(f"{PCI}/0000:e5:00.0/driver", "is", "vfio-pci"),
                     host(f"{TOPOLOGY}/9/properties", "absent")])
def amd_in_vfio(case):
    case.host.bind("0000:e5:00.0", "vfio-pci")
    case.host.remove_attribute("/devices/virtual/kfd/kfd", "topology/nodes/9/*")
    case.host.remove_devices("/devices/*/0000:e5:00.0/drm/*")
    case.host.remove_nodes("/dev/dri/renderD184", "/dev/dri/card57")


@AMD.fault("amd-partition-nodes-missing", stage="node", blocks="some", subject="xcp",
           base=("mi300x-cpx", None, None),
           cause="of 64 partitions only eight have their render nodes",
           message="only 8 of 64 GPUs are usable",
           evidence=[host("/dev/dri/renderD129", "absent"),
                     host("/dev/dri/renderD191", "absent"),
                     host(f"{TOPOLOGY}/3/properties", "has", "drm_render_minor 129", before=True)])
def partition_nodes(case):
    for number in range(64):
        if number % 8:
            case.host.remove_nodes(f"/dev/dri/renderD{128 + number}")


@AMD.fault("amd-subset-denied-by-cgroup", stage="access", blocks="some", subject="amd cgroup",
           cause="the device cgroup denies render nodes of GPUs that the topology still shows",
           message="rocminfo lists all GPUs, and programs fail on most of them",
           noticed="the device cgroup forbids it",
           evidence=[host("/dev/dri/renderD136", "refused", "EPERM"),
                     host(f"{TOPOLOGY}/3/properties", "has", "drm_render_minor 136", before=True)])
def amd_denied(case):
    case.request["denied_devices"] += [f"226:{128 + 8 * n}" for n in range(1, 8)]


@AMD.fault("amd-topology-missing", stage="init", subject="topology",
           not_with=("host_amd", "rocm"),
           cause="sysfs does not show the topology of the compute driver, as in a container in a "
                 "container",
           message="hsa_init fails; EINVAL from /dev/kfd",
           evidence=[host(f"{TOPOLOGY}/2/properties", "absent"),
                     host("/dev/kfd", "is", "c 510:0 0660 0:109", before=True)])
def topology_missing(case):
    case.host.remove_attribute("/devices/virtual/kfd/kfd", "topology/*")


@INTEL.fault("intel-no-driver-for-board", stage="bus", subject="intel driver",
             not_with=("host_intel", "request_intel", "level zero"), base=("battlemage", None, None),
             cause="no kernel driver has the board: i915 and xe of this kernel are older than it",
             message="ze: no devices; clinfo: number of platforms 0",
             noticed="no kernel driver is bound to it",
             evidence=[host(f"{PCI}/{FIRST_INTEL}/driver", "absent"),
                       host(f"{PCI}/{FIRST_INTEL}/device", "is", "0xe20b", before=True)])
def no_intel_driver(case):
    case.host.bind(FIRST_INTEL, None)
    case.host.remove("/sys/module/xe")
    case.host.remove_devices("*/drm/*")
    case.host.remove_nodes("/dev/dri/*")


@INTEL.fault("intel-render-node-missing", stage="node", subject="intel node",
             cause="the GPU's render node is not there",
             message="ZE_RESULT_ERROR_UNINITIALIZED; clinfo: number of platforms 0",
             noticed="device nodes are missing",
             evidence=[host("/dev/dri/renderD128", "absent"),
                       host(f"{PCI}/{FIRST_INTEL}/driver", "is", "i915", before=True)])
def intel_render_missing(case):
    case.host.remove_nodes("/dev/dri/renderD128")


@INTEL.fault("intel-render-node-not-for-user", stage="access", subject="intel node",
             base=("arc", None, "intel-user"),
             cause="the render node is for a group that the user is not in",
             message="ZE_RESULT_ERROR_UNINITIALIZED; failed to open /dev/dri/renderD128",
             noticed="its permissions forbid it",
             evidence=[host("/dev/dri/renderD128", "is", "c 226:128 0660 0:992"),
                       host("/dev/dri/renderD128", "refused", "EACCES"),
                       host(f"{PCI}/{FIRST_INTEL}/driver", "is", "i915", before=True)])
def intel_not_for_user(case):
    case.host.change_nodes("/dev/dri/*[0-9]", group=992)


@GAUDI.fault("gaudi-module-not-loaded", stage="module", subject="habanalabs",
             not_with=("host_gaudi", "request_gaudi"),
             cause="habanalabs is not loaded",
             message="synStatus 26: no available Gaudi devices; hl-smi finds no device",
             noticed="the kernel module habanalabs is not loaded",
             evidence=[host("/sys/module/habanalabs/initstate", "absent"),
                       host(f"{PCI}/{FIRST_GAUDI}/driver", "absent"),
                       host(f"{PCI}/{FIRST_GAUDI}/vendor", "is", "0x1da3", before=True)])
def habanalabs_not_loaded(case):
    for bus in (0x33, 0x34, 0x4D, 0x4E, 0x9A, 0x9B, 0xB3, 0xB4):
        case.host.bind(f"0000:{bus:02x}:00.0", None)
    case.host.remove("/sys/module/habanalabs")
    case.host.remove_devices("*/accel/*")
    case.host.remove_nodes("/dev/accel/*")


@GAUDI.fault("gaudi-node-missing", stage="node", blocks="some", subject="gaudi 0",
             cause="the node of one accelerator is not there",
             message="synDeviceAcquire fails on one of eight",
             evidence=[host("/dev/accel/accel0", "absent"),
                       host(f"{PCI}/{FIRST_GAUDI}/driver", "is", "habanalabs", before=True)])
def gaudi_node_missing(case):
    case.host.remove_nodes("/dev/accel/accel0")


@GAUDI.fault("gaudi-control-node-missing", stage="feature", blocks="some", subject="gaudi control",
             cause="the control node of one accelerator is not there",
             message="hl-smi shows seven of eight accelerators",
             evidence=[host("/dev/accel/accel_controlD1", "absent"),
                       host("/dev/accel/accel1", "has", "c 261:1", before=True)])
def gaudi_control_missing(case):
    case.host.remove_nodes("/dev/accel/accel_controlD1")


@ANY.fault("userns-number-is-zero", stage="setup", subject="userns", base=(None, None, None),
           cause="the kernel allows no user namespace: max_user_namespaces is 0",
           message="unshare failed: No space left on device; cannot clone: user namespaces are not "
                   "enabled",
           evidence=[host(USERNS, "is", "0"), request("user", "has", "4242")])
def userns_zero(case):
    case.host.write(USERNS, "0\n")
    case.request["user"] = {"uid": 4242, "gid": 4242, "groups": [44, 109]}


@ANY.fault("userns-forbidden-by-apparmor", stage="setup", subject="userns", base=(None, None, None),
           cause="AppArmor keeps programs without a profile from using user namespaces",
           message="unshare: write failed /proc/self/uid_map: Operation not permitted",
           evidence=[host("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "is", "1"),
                     request("user", "has", "4242")])
def userns_apparmor(case):
    case.host.write("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n")
    case.request["user"] = {"uid": 4242, "gid": 4242, "groups": [44, 109]}


@ANY.fault("userns-forbidden-by-debian", stage="setup", subject="userns", base=(None, None, None),
           cause="Debian's switch for user namespaces of ordinary users is off",
           message="unshare failed: Operation not permitted",
           evidence=[host("/proc/sys/kernel/unprivileged_userns_clone", "is", "0"),
                     request("user", "has", "4242")])
def userns_debian(case):
    case.host.write("/proc/sys/kernel/unprivileged_userns_clone", "0\n")
    case.request["user"] = {"uid": 4242, "gid": 4242, "groups": [44, 109]}


@ANY.fault("selinux-denies-devices", stage="access", vendor="nvidia", subject="selinux", certain=False,
           base=("h200-selinux", None, None),
           cause="SELinux is in force and containers may not use devices",
           message="Failed to initialize NVML: Insufficient Permissions; avc: denied on chr_file",
           evidence=[host("/sys/fs/selinux/booleans/container_use_devices", "is", "0 0"),
                     host("/sys/fs/selinux/enforce", "is", "1", before=True)])
def selinux(case):
    case.host.write("/sys/fs/selinux/booleans/container_use_devices", "0 0\n")
