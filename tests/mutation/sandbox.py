#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command that may do anything, of which this machine keeps nothing.

    sandbox.py DIRECTORY CMD...

In namespaces of mounts and processes of its own every mount is read-only, but for /tmp
and /dev/shm, which are empty: what others do there is no outcome of CMD's. DIRECTORY is
seen also where it lies in /tmp. Processes that CMD leaves end with it. Needs root.
"""

import ctypes
import os
import sys

MOUNT_SETATTR = 442
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
READ_ONLY = 1
BIND = 4096
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


def enter(directory):
    change("/", recursive=True, set=READ_ONLY)
    change("/proc", clear=READ_ONLY)  # where user namespaces are given their ids
    kept = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    for path in ("/tmp", "/dev/shm"):
        mount("mutation", path, b"tmpfs", options=b"mode=1777")
    os.makedirs(directory, exist_ok=True)
    mount(f"/proc/self/fd/{kept}", directory, flags=BIND)
    os.close(kept)


def command(directory, words):
    """To be run by whoever wants `words` run so."""
    return ["unshare", "--mount", "--propagation", "private", "--pid", "--fork",
            "--kill-child=KILL", "--mount-proc", sys.executable, "-B", os.path.abspath(__file__),
            str(directory), *words]


if __name__ == "__main__":
    enter(sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])
