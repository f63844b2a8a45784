# SPDX-License-Identifier: MIT
"""seen.py PATH...: what the paths of this machine show, as JSON, in the words of look.Host, and
by which error a node cannot be opened."""

import ctypes
import errno
import json
import os
import stat
import sys

AT_FDCWD, AT_EACCESS = -100, 0x200


def value(path):
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(path)
        return os.path.basename(target) if path.startswith("/sys/") else f"-> {target}"
    if stat.S_ISCHR(status.st_mode):
        number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
        return f"c {number} {stat.S_IMODE(status.st_mode):04o} {status.st_uid}:{status.st_gid}"
    if stat.S_ISDIR(status.st_mode):
        return "a device"
    with open(path, "rb") as file:
        data = file.read(1 << 16)
    if path.endswith("/config"):
        return data.hex()
    if data.startswith(b"\x7fELF") or not data:
        return f"{status.st_size} bytes"
    return data.decode().strip()


def refusal(path):
    """Asked without opening the node. Python's own os.access() does not tell the error."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.faccessat(AT_FDCWD, path.encode(), os.R_OK | os.W_OK, AT_EACCESS) == 0:
        return None
    return errno.errorcode[ctypes.get_errno()]


if __name__ == "__main__":
    json.dump({path: [value(path), refusal(path)] for path in sys.argv[1:]}, sys.stdout)
