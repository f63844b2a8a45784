# SPDX-License-Identifier: MIT
"""Faults of what is asked for: variables, names of devices, parts of a driver."""

from image_dir import MULTIARCH
from images import APP, app
from model import Room, host, image, request

NVIDIA = Room("request_nvidia", "nvidia", base=("h200", None, None))
AMD = Room("request_amd", "amd", base=("mi300x", None, None))
INTEL = Room("request_intel", "intel", base=("arc", None, None))
GAUDI = Room("request_gaudi", "gaudi", base=("gaudi2", None, None))
NOBODY = "GPU-00000000-1111-2222-3333-444444444444"
LAST = "/proc/driver/nvidia/gpus/0000:00:0d.0/information"


def inside(case, name, value):
    """A variable of the container's own, as its image or a script in it sets one. One of the
    caller would already count when it is set up."""
    case.request["container_environment"][name] = value


@NVIDIA.fault("cuda-visible-devices-empty", stage="visible", subject="cuda mask",
              cause="CUDA_VISIBLE_DEVICES is set and empty, which hides all GPUs",
              message="CUDA_ERROR_NO_DEVICE (100); torch.cuda.is_available() is False",
              evidence=[request("container_environment/CUDA_VISIBLE_DEVICES", "is", "")])
def cuda_empty(case):
    inside(case, "CUDA_VISIBLE_DEVICES", "")


@NVIDIA.fault("cuda-visible-devices-beyond", stage="choice", subject="cuda mask",
              cause="the caller's CUDA_VISIBLE_DEVICES names a number that no GPU has",
              message="CUDA_ERROR_NO_DEVICE (100); nvidia-smi shows all GPUs",
              noticed="CUDA_VISIBLE_DEVICES=8 grants no GPU",
              evidence=[request("environment/CUDA_VISIBLE_DEVICES", "is", "8"),
                        host(LAST, "has", "Device Minor: \t 7", before=True)])
def cuda_beyond(case):
    case.request["environment"]["CUDA_VISIBLE_DEVICES"] = "8"


@NVIDIA.fault("cuda-visible-devices-unknown-uuid", stage="visible", subject="cuda mask",
              cause="CUDA_VISIBLE_DEVICES names a UUID that is not of this host",
              message="CUDA_ERROR_NO_DEVICE (100)",
              evidence=[request("container_environment/CUDA_VISIBLE_DEVICES", "is", NOBODY)])
def cuda_unknown(case):
    inside(case, "CUDA_VISIBLE_DEVICES", NOBODY)


@NVIDIA.fault("cuda-visible-devices-old-mig", stage="visible", subject="cuda mask",
              base=("mig", None, None), not_with=("mig",),
              cause="CUDA_VISIBLE_DEVICES names a MIG instance that was removed",
              message="CUDA_ERROR_NO_DEVICE (100)",
              evidence=[request("container_environment/CUDA_VISIBLE_DEVICES", "has", "/9/0"),
                        host("/proc/driver/nvidia/capabilities/gpu1/mig/gi9/access", "absent",
                             before=True)])
def cuda_old_mig(case):
    inside(case, "CUDA_VISIBLE_DEVICES",
           "MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/9/0")


@NVIDIA.fault("nvidia-visible-devices-void", stage="choice", subject="toolkit mask",
              cause="the container's NVIDIA_VISIBLE_DEVICES is `void`: it asks for no GPU",
              message="nvidia-smi: command not found; no CUDA-capable device is detected",
              noticed="asks for no GPUs",
              evidence=[request("container_environment/NVIDIA_VISIBLE_DEVICES", "is", "void")],
              base=("h200", "cuda", "nvidia"))
def void(case):
    case.request["container_environment"]["NVIDIA_VISIBLE_DEVICES"] = "void"


@NVIDIA.fault("device-name-unknown", stage="choice", subject="device",
              not_with=("cuda mask", "toolkit mask"),
              cause="the UUID that is asked for is not of this host",
              message="unresolvable CDI devices; no such GPU",
              noticed="no such GPU",
              evidence=[request("options", "has", NOBODY)])
def device_unknown(case):
    case.request["options"] += ["--device", NOBODY]


@NVIDIA.fault("device-number-beyond", stage="choice", subject="device",
              not_with=("cuda mask", "toolkit mask"),
              cause="the number that is asked for is one that no GPU has",
              message="device number out of range",
              noticed="--device 8: no such GPU",
              evidence=[request("options", "has", "--device 8"),
                        host(LAST, "has", "Device Minor: \t 7", before=True)])
def device_beyond(case):
    case.request["options"] += ["--device", "8"]


@NVIDIA.fault("driver-too-old-for-requirement", stage="choice", subject="requirement",
              cause="the image requires a newer CUDA than the driver has",
              message="requirement error: unsatisfied condition: cuda>=13.3",
              noticed="requirement cuda>=13.3: not met",
              evidence=[request("container_environment/NVIDIA_REQUIRE_CUDA", "is", "cuda>=13.3"),
                        host("/sys/module/nvidia/version", "is", "580.159.04", before=True)])
def requirement(case):
    case.request["container_environment"]["NVIDIA_REQUIRE_CUDA"] = "cuda>=13.3"


@NVIDIA.fault("capability-not-asked-for", stage="start", subject="capabilities",
              not_with=("program", "cuda version", "libcuda choice"), tags=("program",),
              base=("h200", "cuda", "nvidia"),
              cause="the program encodes video, and that part of the driver is not asked for",
              message="libnvidia-encode.so.1: cannot open shared object file; No capable devices found",
              evidence=[request("options", "has", "--driver-capabilities compute,utility"),
                        image(f"{APP}#needed", "has", "libnvidia-encode.so.1"),
                        image(f"{MULTIARCH}/libnvidia-encode.so.1", "absent", before=True)])
def capability(case):
    case.request["options"] += ["--driver-capabilities", "compute,utility"]
    case.image.program(APP, app("libcuda.so.1", "libcudart.so.12", "libnvidia-encode.so.1"))


@NVIDIA.fault("utility-not-asked-for", stage="start", subject="capabilities",
              base=("h200", "cuda", "nvidia"),
              not_with=("image_libc", "image_cuda", "image_code", "program"),
              cause="the program is nvidia-smi, and the image asks for the driver's part `compute` alone",
              message="nvidia-smi: command not found",
              evidence=[request("container_environment/NVIDIA_DRIVER_CAPABILITIES", "is", "compute"),
                        request("program", "is", "/usr/bin/nvidia-smi"),
                        image("/usr/bin/nvidia-smi", "absent", before=True)])
def utility(case):
    case.request["container_environment"]["NVIDIA_DRIVER_CAPABILITIES"] = "compute"
    case.request["program"] = ["/usr/bin/nvidia-smi"]


@NVIDIA.fault("driver-root-without-driver", stage="choice", subject="driver root",
              not_with=("libcuda", "driver version"),
              cause="the driver root that is named has no driver, as where a driver container does "
                    "not run",
              message="failed to locate libcuda.so in the driver root",
              noticed="driver root /run/nvidia/driver: No such file or directory",
              evidence=[request("options", "has", "--driver-root /run/nvidia/driver"),
                        host("/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libcuda.so.1", "absent",
                             before=True)])
def driver_root(case):
    case.request["options"] += ["--driver-root", "/run/nvidia/driver"]


@NVIDIA.fault("scheduler-contradicts-cgroup", stage="choice", subject="cgroup",
              not_with=("device", "cuda mask", "toolkit mask"),
              cause="the scheduler's variable names GPU 1, and the device cgroup allows GPU 2 alone",
              message="CUDA_ERROR_NO_DEVICE in the second task of a job; nvidia-smi shows another GPU",
              noticed="the device cgroup decides: it forbids GPU 1",
              evidence=[request("environment/SLURM_STEP_GPUS", "is", "1"),
                        host("/dev/nvidia1", "refused", "EPERM"),
                        host("/dev/nvidia2", "is", "c 195:2 0666 0:0", before=True)])
def scheduler(case):
    case.request["environment"] |= {"SLURM_STEP_GPUS": "1", "SLURM_JOB_GPUS": "1,2"}
    case.request["denied_devices"] += [f"195:{n}" for n in range(8) if n != 2]


@AMD.fault("rocr-visible-devices-beyond", stage="choice", subject="rocr mask",
           cause="the caller's ROCR_VISIBLE_DEVICES names a number that no GPU has",
           message="hipErrorNoDevice (100); rocm-smi shows all GPUs",
           noticed="ROCR_VISIBLE_DEVICES=8 grants no GPU",
           evidence=[request("environment/ROCR_VISIBLE_DEVICES", "is", "8"),
                     host("/sys/devices/virtual/kfd/kfd/topology/nodes/10/properties", "absent",
                          before=True)])
def rocr(case):
    case.request["environment"]["ROCR_VISIBLE_DEVICES"] = "8"


@AMD.fault("hip-mask-counts-within-rocr-mask", stage="visible", subject="hip mask",
           not_with=("rocr mask",),
           cause="HIP_VISIBLE_DEVICES counts what ROCR_VISIBLE_DEVICES leaves, and names a number "
                 "beyond that",
           message="hipErrorNoDevice (100), though both variables name the same GPU",
           evidence=[request("container_environment/ROCR_VISIBLE_DEVICES", "is", "3"),
                     request("container_environment/HIP_VISIBLE_DEVICES", "is", "3")])
def hip(case):
    inside(case, "ROCR_VISIBLE_DEVICES", "3")
    inside(case, "HIP_VISIBLE_DEVICES", "3")


@AMD.fault("hsa-override-of-another-target", stage="code", subject="hsa override",
           not_with=("rocm", "topology"),
           cause="HSA_OVERRIDE_GFX_VERSION has programs take the GPU for one of another kind",
           message="HIP error: invalid device function; Memory access fault by GPU node",
           evidence=[request("container_environment/HSA_OVERRIDE_GFX_VERSION", "is", "10.3.0"),
                     host("/sys/devices/virtual/kfd/kfd/topology/nodes/2/properties", "has",
                          "gfx_target_version 90402", before=True)])
def hsa_override(case):
    inside(case, "HSA_OVERRIDE_GFX_VERSION", "10.3.0")


@INTEL.fault("ze-affinity-mask-beyond", stage="visible", subject="ze mask",
             cause="ZE_AFFINITY_MASK names a number that no GPU has",
             message="zeInit: ZE_RESULT_ERROR_UNINITIALIZED; sycl-ls shows no GPU",
             evidence=[request("container_environment/ZE_AFFINITY_MASK", "is", "7")])
def ze_mask(case):
    inside(case, "ZE_AFFINITY_MASK", "7")


@GAUDI.fault("habana-visible-devices-beyond", stage="choice", subject="habana mask",
             cause="HABANA_VISIBLE_DEVICES names a number that no accelerator has",
             message="synStatus 26: no available Gaudi devices",
             noticed="'12' is not the name of a GPU",
             evidence=[request("container_environment/HABANA_VISIBLE_DEVICES", "is", "12")])
def habana_mask(case):
    case.request["container_environment"]["HABANA_VISIBLE_DEVICES"] = "12"
