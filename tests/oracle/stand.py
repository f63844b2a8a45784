# SPDX-License-Identifier: MIT
"""Runs a command on the simulated host of a case, as the user and in the device cgroup of its
request."""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import recorded_host

HERE = Path(__file__).resolve().parent
DEVICE_CGROUP = HERE.parent / "cli" / "device_cgroup.py"
NO_CGROUP, NOT_SIMULATED = 77, 125
# The words by which this project's command would be asked: variables that it reads of a container.
ASKED_BY = ("NVIDIA_", "HABANA_", "AMD_")


def words_on_host(simhost, case, request, *words):
    """`words` begins with the program."""
    command = recorded_host.command(simhost, case / "host", "--sysfs", "plain")
    if request["denied_devices"]:
        command += [sys.executable, "-B", DEVICE_CGROUP, *request["denied_devices"], "--"]
    if request["pid_namespace"]:
        command += ["unshare", "--pid", "--fork"]
    user = request["user"]
    if user["uid"] != 0:
        groups = ",".join(map(str, user["groups"]))
        command += ["setpriv", "--reuid", user["uid"], "--regid", user["gid"], "--groups", groups]
    return [str(word) for word in [*command, *words]]


def run(simhost, case, *words):
    request = json.loads((case / "request.json").read_text(encoding="utf-8"))
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"} | request["environment"]
    return subprocess.run(words_on_host(simhost, case, request, *words), env=environment, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=60)


def plan(simhost, setup, case, *words):
    """`gpuctr-setup plan` with what the request asks for."""
    request = json.loads((case / "request.json").read_text(encoding="utf-8"))
    asked = [f"{name}={value}" for name, value in request["container_environment"].items()
             if name.startswith(ASKED_BY)]
    options = [word for pair in asked for word in ("--request-env", pair)]
    return run(simhost, case, setup, "plan", request["vendor"], "--rootfs", case / "image",
               *request["options"], *options, *words)


def seen(simhost, case, paths):
    """For each path what it shows on the host that stands, in the words of look.Host, and why a
    node cannot be opened. None if this machine has no device cgroup."""
    program = (HERE / "seen.py").read_text(encoding="utf-8")  # the user may not reach the file
    done = run(simhost, case, sys.executable, "-I", "-S", "-c", program, *paths)
    if done.returncode == NO_CGROUP:
        return None
    if done.returncode != 0:
        raise OSError(done.stderr)
    return json.loads(done.stdout)
