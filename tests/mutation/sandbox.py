#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command that may do anything, of which this machine keeps nothing.

    sandbox.py DIRECTORY CMD...

In namespaces of mounts and processes of its own every mount is read-only, but for /tmp
and /dev/shm, which are empty: what others do there is no outcome of CMD's. DIRECTORY is
seen also where it lies in /tmp. Below /sys/fs/cgroup are control groups of its own, of
both versions. Processes that CMD leaves end with it, and those groups. Needs root.
"""

import ctypes
import os
import signal
import sys
import time

MOUNT_SETATTR = 442
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
READ_ONLY = 1
BIND = 4096
DETACH = 2
NEW_CGROUP = 0x2000000
# The hierarchies that know of devices, as they are mounted where there are both.
HIERARCHIES = {"unified": (b"cgroup2", None, ""), "devices": (b"cgroup", b"devices", "devices")}
GROUP = "gpuctr-mutation-"
LIBC = ctypes.CDLL(None, use_errno=True)


class MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user")]


def check(outcome, path):
    if outcome != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)


def change(path, recursive=False, **attributes):
    wanted = MountAttributes(**attributes)
    check(LIBC.syscall(MOUNT_SETATTR, AT_FDCWD, path.encode(), AT_RECURSIVE if recursive else 0,
                       ctypes.byref(wanted), ctypes.sizeof(wanted)), path)


def mount(source, path, kind=None, flags=0, options=None):
    check(LIBC.mount(source.encode(), path.encode(), kind, flags, options), path)


class Group:
    """One of a hierarchy, below the one that this process is in, which then is in it."""

    def __init__(self, place, controller):
        with open("/proc/self/cgroup", encoding="utf-8") as lines:
            own = next(line.rstrip("\n").split(":", 2)[2] for line in lines
                       if controller in line.split(":")[1].split(","))
        self.above = os.open(place + own, os.O_RDONLY | os.O_DIRECTORY)
        for name in os.listdir(self.above):
            if name.startswith(GROUP):  # of one that was killed
                self.remove(name)
        self.name = f"{GROUP}{time.time_ns()}"
        os.mkdir(self.name, dir_fd=self.above)
        self.join(f"{self.name}/cgroup.procs")

    def join(self, file):
        with open(os.open(file, os.O_WRONLY, dir_fd=self.above), "wb", buffering=0) as procs:
            procs.write(b"0")

    def remove(self, name):
        """Also those below it, as far as none is in use."""
        for path, _, _, _ in os.fwalk(name, topdown=False, dir_fd=self.above):
            try:
                os.rmdir(path, dir_fd=self.above)
            except OSError:
                pass

    def leave(self):
        self.join("cgroup.procs")
        self.remove(self.name)


def have_own_groups():
    """As root of a control group namespace, CMD reaches no other groups."""
    groups = []
    for kind, options, controller in HIERARCHIES.values():
        mount("mutation", "/tmp", kind, options=options)
        groups.append(Group("/tmp", controller))
        check(LIBC.umount2(b"/tmp", DETACH), "/tmp")
    check(LIBC.unshare(NEW_CGROUP), "a namespace of control groups")
    mount("mutation", "/sys/fs/cgroup", b"tmpfs", options=b"mode=0755")
    for name, (kind, options, _) in HIERARCHIES.items():
        os.mkdir(f"/sys/fs/cgroup/{name}")
        mount("mutation", f"/sys/fs/cgroup/{name}", kind, options=options)
    return groups


def enter(directory):
    change("/", recursive=True, set=READ_ONLY)
    change("/proc", clear=READ_ONLY)  # where user namespaces are given their ids
    kept = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    groups = have_own_groups()
    for path in ("/tmp", "/dev/shm"):
        mount("mutation", path, b"tmpfs", options=b"mode=1777")
    os.makedirs(directory, exist_ok=True)
    mount(f"/proc/self/fd/{kept}", directory, flags=BIND)
    os.close(kept)
    return groups


def run(words):
    """The exit status of a command, all that it left having ended."""
    child = os.posix_spawnp(words[0], words, os.environ)
    while True:
        ended, status = os.wait()
        if ended == child:
            break
    try:
        os.kill(-1, signal.SIGKILL)
        while True:
            os.wait()
    except (ProcessLookupError, ChildProcessError):
        pass
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def command(directory, words):
    """To be run by whoever wants `words` run so."""
    return ["unshare", "--mount", "--propagation", "private", "--pid", "--fork",
            "--kill-child=KILL", "--mount-proc", sys.executable, "-B", os.path.abspath(__file__),
            str(directory), *words]


if __name__ == "__main__":
    GROUPS = enter(sys.argv[1])
    CODE = run(sys.argv[2:])
    for group in GROUPS:
        group.leave()
    sys.exit(CODE)
