#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests of one module in private namespaces, in a world of their own.

    launch.py [--plain] MODULE [TEST]...

The tests run on the simulated host GPUCTR_HOST_DIR, or with --plain on this
machine as it is, in a mount namespace of their own either way. That is made in
another one, of tests/support/own-world, which stands for the machine: its mounts
and /dev must be what they were afterwards. The environment chooses a variant:

    GPUCTR_TEST_BACKEND=NAME     the backend of every command, for --backend
    GPUCTR_TEST_FORBID=CALLS     system calls that fail, in the words of seccomp.py
    GPUCTR_TEST_ONLY_LONG=1      nothing is run unless GPUCTR_TEST_LONG=1

Exits with 77, a skip, for an ordinary user; CI=true turns that into a failure.
"""

import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

OWN = os.path.dirname(os.path.abspath(__file__))
SUPPORT = os.path.join(os.path.dirname(OWN), "support")
sys.path.insert(0, SUPPORT)

# pylint: disable=wrong-import-position
import recorded_host

SKIPPED = 77
INSIDE = "--inside"


def command(plain, module, tests, directory):
    words = [sys.executable, "-B", "-m", "unittest", "-v"]
    words += [f"{module}.{test}" for test in tests] or [module]
    # Not earlier: what stands the host up may use them.
    if forbidden := os.environ.get("GPUCTR_TEST_FORBID"):
        seccomp = os.path.join(OWN, "seccomp.py")
        words = [sys.executable, "-B", seccomp, forbidden, *words]
    if plain:
        words = ["unshare", "--mount", "--propagation", "private", *words]
    else:
        words = [*recorded_host.command(os.environ["GPUCTR_SIMHOST"], os.environ["GPUCTR_HOST_DIR"]),
                 *words]
    environment = dict(os.environ, GPUCTR_TEST_DIRECTORY=directory, PYTHONDONTWRITEBYTECODE="1",
                       LC_ALL="C.UTF-8")
    # Modules of other folders, which name themselves there, come with those of this one.
    environment["PYTHONPATH"] = os.pathsep.join([OWN, SUPPORT, os.environ.get("PYTHONPATH", "")])
    for name in list(environment):
        if name in described_variables() or name.startswith(
                ("NVIDIA_", "CUDA_", "AMD_", "ROCR_", "HIP_", "GPU_DEVICE_", "ZE_", "HABANA_",
                 "HLS_", "SLURM_")):
            del environment[name]
    if backend := os.environ.get("GPUCTR_TEST_BACKEND"):
        environment["GPUCTR_BACKEND"] = backend
    return words, environment


@functools.cache
def described_variables():
    """Of the makers that are data: what their catalogues call in capital letters."""
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    pattern = os.path.join(os.path.dirname(tests), "libgpucontainer", "drivers", "*", "catalogue.yaml")
    names = set()
    for path in glob.glob(pattern):
        with open(path, encoding="utf-8") as file:
            names |= set(re.findall(r"\bname: ([A-Z][A-Z0-9_]+)\b", file.read()))
    return names


def is_left_out():
    return (os.environ.get("GPUCTR_TEST_ONLY_LONG") == "1"
            and os.environ.get("GPUCTR_TEST_LONG") != "1")


def enter_own_world(arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    program = os.path.join(os.path.dirname(here), "support", "own-world")
    os.execv(sys.executable, [sys.executable, "-B", program, sys.executable, "-B",
                              os.path.abspath(__file__), INSIDE, *arguments])


def main(arguments):
    if is_left_out():
        print("these tests run with GPUCTR_TEST_LONG=1 only")
        return SKIPPED
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        print("these tests are for root, with unshare of util-linux")
        return 1 if os.environ.get("CI") == "true" else SKIPPED
    if arguments[:1] != [INSIDE]:
        enter_own_world(arguments)
    arguments = arguments[1:]
    plain = arguments[:1] == ["--plain"]
    module, *tests = arguments[1:] if plain else arguments
    directory = tempfile.mkdtemp(prefix="gpuctr-cli-")
    try:
        words, environment = command(plain, module, tests, directory)
        return subprocess.run(words, env=environment, check=False).returncode
    finally:
        os.rmdir(directory)  # all that the tests write is on a tmpfs of their own


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
