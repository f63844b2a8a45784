# SPDX-License-Identifier: MIT
"""Specifications of the simulated host in the form that nvidia-ctk writes them.

Written by hand from how that form is described, for tests: nvidia-ctk 1.17 calls each of its hooks
by nvidia-cdi-hook and binds without propagation, 1.18 adds the hook against device nodes, and 1.20
the one for application profiles and writable sockets."""

import os
import pathlib
import stat

LIBRARIES = pathlib.Path("/usr/local/nvidia/lib64")
OPTIONS = {"1.17": ["ro", "nosuid", "nodev", "bind"],
           "1.18": ["ro", "nosuid", "nodev", "rbind", "rprivate"],
           "1.20": ["ro", "nosuid", "nodev", "rbind", "rprivate"]}


def node(path):
    status = os.stat(path)
    one = {"path": path, "major": os.major(status.st_rdev), "minor": os.minor(status.st_rdev),
           "fileMode": stat.S_IMODE(status.st_mode), "permissions": "rwm"}
    return one | ({"gid": status.st_gid} if status.st_gid else {})


def hook(release, name, *args):
    one = {"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook",
           "args": ["nvidia-cdi-hook", name, *args]}
    return one if release == "1.17" else one | {"env": ["NVIDIA_CTK_DEBUG=false"]}


def links(version):
    yield "libcuda.so.1", LIBRARIES / "libcuda.so"
    for name in ("libcuda", "libnvidia-ml"):
        yield f"{name}.so.{version}", LIBRARIES / f"{name}.so.1"


def specification(release, version, libraries=("libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler")):
    """With the devices 0, its UUID, 1, and all."""
    mounts = [LIBRARIES / f"{name}.so.{version}" for name in libraries]
    mounts.append(pathlib.Path("/usr/bin/nvidia-smi"))
    create = [word for to, path in links(version) for word in ("--link", f"{to}::{path}")]
    hooks = [hook(release, "create-symlinks", *create),
             hook(release, "enable-cuda-compat", f"--host-driver-version={version}"),
             hook(release, "update-ldcache", "--folder", str(LIBRARIES))]
    if release != "1.17":
        hooks.append(hook(release, "disable-device-node-modification"))
    if release == "1.20":
        hooks.append(hook(release, "update-application-profile"))
    devices = [{"name": name, "containerEdits": {"deviceNodes": [node(f"/dev/nvidia{gpu}")
                                                                for gpu in gpus]}}
               for name, gpus in (("0", [0]), ("GPU-0", [0]), ("1", [1]), ("all", [0, 1]))]
    return {
        "cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": devices,
        "containerEdits": {
            "env": ["NVIDIA_VISIBLE_DEVICES=void"]
            + ([f"NVIDIA_CTK_LIBCUDA_DIR={LIBRARIES}"] if release == "1.20" else []),
            "deviceNodes": [node(path) for path in ("/dev/nvidiactl", "/dev/nvidia-uvm")],
            "hooks": hooks,
            "mounts": [{"hostPath": str(path), "containerPath": str(path),
                        "options": OPTIONS[release]} for path in mounts]}}
