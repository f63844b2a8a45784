# SPDX-License-Identifier: MIT
"""GPUs of the host in a container's root file system: Python over libgpucontainer.

    import gpucontainer

    with gpucontainer.Host() as host, gpucontainer.Plan(host, "/srv/image", devices="0") as plan:
        plan.apply("/srv/image")
    gpucontainer.undo("/srv/image")

gpucontainer.h is the reference: it says what each call does, needs and promises. Here, -1 for
"none" is None, a failed call raises Error, and objects end with their last use.
"""

from ._capture import capture
from ._cdi import CdiDevice, CdiList
from ._check import Check
from ._errors import AttachError, Code, Error
from ._explanation import Answer, Explanation
from ._host import VENDOR_ANY, Host, HostOptions
from ._native import decode as _decode
from ._native import library as _library
from ._plan import (
    CdiInstalled,
    Compat,
    ContainerEnvironment,
    DeviceRule,
    Glibc,
    Outcome,
    Plan,
    Prepared,
    Request,
    Staged,
    Variable,
    VendorLibs,
    Write,
)
from ._process import Config, Harden, Phase, Setting, harden
from ._root import (
    Backend,
    ImagePlace,
    check_image_trust,
    find_image,
    load_kernel_modules,
    open_in_root,
    undo,
    unstage,
)
from ._setups import Setup, SetupList, Undone
from ._values import (
    Driver,
    File,
    FileId,
    Finding,
    Gpu,
    Item,
    Layout,
    Mask,
    Node,
    Registration,
    Severity,
    UsedDriver,
    VersionNeed,
)

__all__ = [
    "VENDOR_ANY",
    "Answer",
    "AttachError",
    "Backend",
    "CdiDevice",
    "CdiInstalled",
    "CdiList",
    "Check",
    "Code",
    "Compat",
    "Config",
    "ContainerEnvironment",
    "DeviceRule",
    "Driver",
    "Error",
    "Explanation",
    "File",
    "FileId",
    "Finding",
    "Glibc",
    "Gpu",
    "Harden",
    "Host",
    "HostOptions",
    "ImagePlace",
    "Item",
    "Layout",
    "Mask",
    "Node",
    "Outcome",
    "Phase",
    "Plan",
    "Prepared",
    "Registration",
    "Request",
    "Setting",
    "Setup",
    "SetupList",
    "Severity",
    "Staged",
    "Undone",
    "UsedDriver",
    "Variable",
    "VendorLibs",
    "VersionNeed",
    "Write",
    "capture",
    "check_image_trust",
    "find_image",
    "harden",
    "load_kernel_modules",
    "open_in_root",
    "undo",
    "unstage",
    "version",
]


def version() -> str:
    """Version of the library that is loaded."""
    return _decode(_library.gpuctr_version())
