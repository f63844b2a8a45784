# SPDX-License-Identifier: MIT
"""System calls that fail as on a kernel that lacks them."""

import ctypes
import errno
import struct

STATMOUNT, LISTMOUNT = 457, 458  # the same on all architectures

_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_LOAD_NUMBER = (0x20, 0, 0, 0)  # the first word of struct seccomp_data
_RETURN_ALLOW = (0x06, 0, 0, 0x7fff0000)
_RETURN_ERROR = 0x00050000


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def forbid(*calls, error=errno.ENOSYS):
    """For this process and all that it starts; needs CAP_SYS_ADMIN."""
    rules = [_LOAD_NUMBER]
    for call in calls:
        rules += [(0x15, 0, 1, call), (0x06, 0, 0, _RETURN_ERROR | error)]
    rules.append(_RETURN_ALLOW)
    code = b"".join(struct.pack("=HBBI", *rule) for rule in rules)
    program = _Program(len(rules), code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp filter")
