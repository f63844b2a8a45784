# SPDX-License-Identifier: MIT
"""System calls that fail for some of their flags."""

import ctypes
import errno
import platform
import struct

import seccomp

UNSHARE, MOUNT = {"x86_64": (272, 165), "aarch64": (97, 40)}.get(platform.machine(), (None, None))
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_REC, MS_SLAVE = 0x4000, 1 << 19

_JUMP_IF_EQUAL, _JUMP_IF_ANY, _RETURN = 0x15, 0x45, 0x06
_REFUSE = 0x00050000
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


def _forbid(call, tests, error):
    refuse = (_RETURN, 0, 0, _REFUSE | error)
    rules = [(0x20, 0, 0, 0), (_JUMP_IF_EQUAL, 0, len(tests) + 1, call), *tests, refuse,
             (_RETURN, 0, 0, 0x7fff0000)]
    code = b"".join(struct.pack("=HBBI", *rule) for rule in rules)
    program = seccomp._Program(len(rules), code)  # pylint: disable=protected-access
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp filter")


def _load(argument):
    return (0x20, 0, 0, 16 + 8 * argument)  # the low word of an argument in struct seccomp_data


def as_an_engine_does(call, argument, flags, error=errno.EPERM):
    """The call fails with any of the flags; for this process and all that it starts."""
    _forbid(call, [_load(argument), (_JUMP_IF_ANY, 0, 1, flags)], error)


def as_the_kernel_does(call, argument, flags, error):
    """Only with exactly these flags, so that what no kernel can do gets its own answer."""
    _forbid(call, [_load(argument), (_JUMP_IF_EQUAL, 0, 1, flags)], error)


def altogether(call, error=errno.EPERM):
    """Whatever it is asked for."""
    _forbid(call, [], error)
