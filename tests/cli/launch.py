#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests of one module in private namespaces and looks after the machine.

    launch.py [--plain | --old-kernel] MODULE [TEST]...

The tests run on the simulated host GPUCTR_HOST_DIR, or with --plain on this
machine as it is, in a mount namespace of their own either way. With --old-kernel
nothing tells about mounts but the mount table, as before Linux 6.8. Afterwards the
machine's mounts and /dev must be what they were. Exits with 77, a skip, for an
ordinary user; CI=true turns that into a failure.
"""

import os
import shutil
import subprocess
import sys
import tempfile

import mount_table
import seccomp
import snapshot

SKIPPED = 77


def machine():
    devices = {path: entry._replace(mtime=0, links=0)
               for path, entry in snapshot.take("/dev").items()
               if not path.startswith(("/pts/", "/shm/", "/mqueue/"))}
    return mount_table.read(), devices


def command(plain, module, tests, directory):
    words = [sys.executable, "-B", "-m", "unittest", "-v"]
    words += [f"{module}.{test}" for test in tests] or [module]
    if plain:
        words = ["unshare", "--mount", "--propagation", "private", *words]
    else:
        words = [os.environ["GPUCTR_SIMHOST"], "-q", os.environ["GPUCTR_HOST_DIR"], "--", *words]
    environment = dict(os.environ, GPUCTR_TEST_DIRECTORY=directory, PYTHONDONTWRITEBYTECODE="1",
                       PYTHONPATH=os.path.dirname(os.path.abspath(__file__)), LC_ALL="C.UTF-8")
    for name in list(environment):
        if name.startswith(("NVIDIA_", "CUDA_")):
            del environment[name]
    return words, environment


def without_statmount():
    seccomp.forbid(seccomp.STATMOUNT, seccomp.LISTMOUNT)


def main(arguments):
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        print("these tests are for root, with unshare of util-linux")
        return 1 if os.environ.get("CI") == "true" else SKIPPED
    plain = arguments[:1] == ["--plain"]
    old = arguments[:1] == ["--old-kernel"]
    module, *tests = arguments[1:] if plain or old else arguments
    before = machine()
    directory = tempfile.mkdtemp(prefix="gpuctr-cli-")
    try:
        words, environment = command(plain, module, tests, directory)
        status = subprocess.run(words, env=environment, check=False,
                                preexec_fn=without_statmount if old else None).returncode
    finally:
        os.rmdir(directory)  # all that the tests write is on a tmpfs of their own
    after = machine()
    for what, old, new in zip(("mount table", "/dev"), before, after):
        if old != new:
            print(f"the machine's {what} was {old} and is {new}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
