# SPDX-License-Identifier: MIT
"""Which files are executed, as the kernel tells whoever asks (fanotify): also those that
no system call names, as the loader of a program."""

import ctypes
import errno
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_libc.fanotify_mark.argtypes = [ctypes.c_int, ctypes.c_uint, ctypes.c_uint64, ctypes.c_int,
                                ctypes.c_char_p]
_CLOEXEC_AND_NONBLOCK = 0x3
_ADD_FILE_SYSTEM = 0x101
_OPEN_EXEC = 0x1000
_EVENT = struct.Struct("=IBBHQii")
# What has no such events: a kernel without them, or a file system, as those in user space.
_WITHOUT = (errno.ENOSYS, errno.EINVAL, errno.ENODEV, errno.EOPNOTSUPP)


class Watch:
    """Over all that lies on some file systems."""

    def __init__(self):
        self._queue = _libc.fanotify_init(_CLOEXEC_AND_NONBLOCK, os.O_RDONLY | os.O_CLOEXEC)

    def add(self, path):
        if self._queue < 0 or _libc.fanotify_mark(self._queue, _ADD_FILE_SYSTEM, _OPEN_EXEC, -100,
                               os.fsencode(path)) == 0:
            return
        if ctypes.get_errno() not in _WITHOUT:
            raise OSError(ctypes.get_errno(), "fanotify_mark", str(path))

    def take(self):
        """The files that were executed since the last time."""
        paths = []
        while self._queue >= 0 and (events := self._read()):
            for place in range(0, len(events), _EVENT.size):
                descriptor = _EVENT.unpack_from(events, place)[5]
                paths.append(os.readlink(f"/proc/self/fd/{descriptor}"))
                os.close(descriptor)
        return paths

    def _read(self):
        try:
            return os.read(self._queue, 200 * _EVENT.size)
        except BlockingIOError:
            return b""

    def close(self):
        if self._queue >= 0:
            os.close(self._queue)
