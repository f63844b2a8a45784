#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Print an OCI configuration for crun whose annotation asks for GPUs.

usage: make_config.py {root|rootless} ROOTFS DEVICES SCRIPT

For root the device cgroup allows nothing but what the runtime adds. The other
is for user 65534 in a user namespace; it binds the host's /proc, because a
kernel whose /proc is covered in parts, as on a simulated host, mounts no fresh
one there.
"""
import json
import sys


def configuration(rootless, rootfs, devices, script):
    namespaces = ["mount", "ipc", "uts", "user" if rootless else "pid"]
    linux = {"namespaces": [{"type": name} for name in namespaces]}
    proc = {"destination": "/proc", "type": "proc", "source": "proc"}
    if rootless:
        nobody = [{"containerID": 0, "hostID": 65534, "size": 1}]
        linux |= {"uidMappings": nobody, "gidMappings": nobody}
        proc |= {"type": "bind", "source": "/proc", "options": ["rbind"]}
    else:
        linux["resources"] = {"devices": [{"allow": False, "access": "rwm"}]}
    dev = {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["mode=755"]}
    capabilities = {name: ["CAP_MKNOD"] for name in ("bounding", "effective", "permitted")}
    return {
        "ociVersion": "1.0.0",
        "annotations": {"run.oci.gpu": devices},
        "process": {
            "user": {"uid": 0, "gid": 0},
            "cwd": "/",
            "args": ["bash", "-c", script],
            "env": ["PATH=/usr/bin:/bin", "CUDA_VISIBLE_DEVICES=5"],
            "capabilities": capabilities,
        },
        "root": {"path": rootfs, "readonly": True},
        "mounts": [proc, dev],
        "linux": linux,
    }


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in ("root", "rootless"):
        sys.exit(__doc__.split("\n\n")[1])
    print(json.dumps(configuration(sys.argv[1] == "rootless", *sys.argv[2:])))
