#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""System calls that fail as on a kernel that lacks them, or by a filter's word.

    seccomp.py CALL:ERROR[,CALL:ERROR]... COMMAND...

runs COMMAND with CALL, one of those below or of the groups, failing with ERROR,
such as openat2:ENOSYS or mount_api:EPERM. With "success" for ERROR, it does nothing and
returns 0. Needs CAP_SYS_ADMIN.
"""

import ctypes
import errno
import os
import struct
import sys

# Most are the same on all architectures.
CALLS = {
    "init_module": {"x86_64": 175}.get(os.uname().machine, 105),
    "finit_module": {"x86_64": 313}.get(os.uname().machine, 273),
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_open": 434,
    "close_range": 436,
    "openat2": 437,
    "mount_setattr": 442,
    "statmount": 457,
    "listmount": 458,
    "open_tree_attr": 467,
}
_MOUNT_API = ["open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick",
              "mount_setattr", "open_tree_attr"]
GROUPS = {
    "mount_api": _MOUNT_API,
    "mount_table": ["statmount", "listmount"],
    "user_namespace": ["unshare with CLONE_NEWUSER", "clone with CLONE_NEWUSER"],
    "linux_4_18": [call for call, number in CALLS.items() if number >= 424],
}
# Only with this bit in the first argument.
CALLS |= {"unshare with CLONE_NEWUSER": {"x86_64": 272}.get(os.uname().machine, 97),
          "clone with CLONE_NEWUSER": {"x86_64": 56}.get(os.uname().machine, 220)}
_BITS = {CALLS[call]: 0x10000000 for call in GROUPS["user_namespace"]}

_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_LOAD_NUMBER = (0x20, 0, 0, 0)  # the first word of struct seccomp_data
_LOAD_ARGUMENT = (0x20, 0, 0, 16)  # the lower half of the first one, on little-endian machines
_RETURN_ALLOW = (0x06, 0, 0, 0x7fff0000)
_RETURN_ERROR = 0x00050000


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def parse(text):
    """What "openat2:ENOSYS,mount_api:EPERM" forbids: number and error of each call."""
    forbidden = {}
    for part in text.split(","):
        name, _, error = part.partition(":")
        for call in GROUPS.get(name, [name]):
            forbidden[CALLS[call]] = 0 if error == "success" else getattr(errno, error)
    return forbidden


def forbid(forbidden):
    """For this process and all that it starts."""
    rules = [_LOAD_NUMBER]
    for call, error in forbidden.items():
        test = [_LOAD_ARGUMENT, (0x45, 0, 1, _BITS[call])] if call in _BITS else []
        skipped = len(test) + 1 + bool(test)
        rules += [(0x15, 0, skipped, call), *test, (0x06, 0, 0, _RETURN_ERROR | error)]
        rules += [_LOAD_NUMBER] if test else []
    rules.append(_RETURN_ALLOW)
    code = b"".join(struct.pack("=HBBI", *rule) for rule in rules)
    program = _Program(len(rules), code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp filter")


if __name__ == "__main__":
    forbid(parse(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
