# SPDX-License-Identifier: MIT
"""The mount table of this process, read by libmount."""

import collections
import ctypes

Mount = collections.namedtuple("Mount", "id parent source root target type options propagation")

_libmount = ctypes.CDLL("libmount.so.1", use_errno=True)
_ITERATE_FORWARD = 0


def _function(name, result, *arguments):
    function = getattr(_libmount, name)
    function.restype = result
    function.argtypes = arguments
    return function


_new_table = _function("mnt_new_table_from_file", ctypes.c_void_p, ctypes.c_char_p)
_free_table = _function("mnt_unref_table", None, ctypes.c_void_p)
_new_iterator = _function("mnt_new_iter", ctypes.c_void_p, ctypes.c_int)
_free_iterator = _function("mnt_free_iter", None, ctypes.c_void_p)
_next = _function("mnt_table_next_fs", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
                  ctypes.POINTER(ctypes.c_void_p))
_id = _function("mnt_fs_get_id", ctypes.c_int, ctypes.c_void_p)
_parent = _function("mnt_fs_get_parent_id", ctypes.c_int, ctypes.c_void_p)
_propagation = _function("mnt_fs_get_propagation", ctypes.c_int, ctypes.c_void_p,
                         ctypes.POINTER(ctypes.c_ulong))
_source = _function("mnt_fs_get_source", ctypes.c_char_p, ctypes.c_void_p)
_root = _function("mnt_fs_get_root", ctypes.c_char_p, ctypes.c_void_p)
_target = _function("mnt_fs_get_target", ctypes.c_char_p, ctypes.c_void_p)
_type = _function("mnt_fs_get_fstype", ctypes.c_char_p, ctypes.c_void_p)
_options = _function("mnt_fs_get_vfs_options", ctypes.c_char_p, ctypes.c_void_p)


def _text(value):
    return (value or b"").decode(errors="surrogateescape")


def _mount(entry):
    propagation = ctypes.c_ulong()
    _propagation(entry, ctypes.byref(propagation))
    return Mount(_id(entry), _parent(entry), _text(_source(entry)), _text(_root(entry)),
                 _text(_target(entry)), _text(_type(entry)), _text(_options(entry)),
                 propagation.value)


_last = (None, None)


def read(file="/proc/self/mountinfo"):
    """All mounts in the order of the table."""
    global _last
    with open(file, "rb") as stream:
        text = stream.read()
    if text != _last[0]:
        _last = (text, _parse(file))
    return _last[1]


def _parse(file):
    table = _new_table(str(file).encode())
    if not table:
        raise OSError(ctypes.get_errno(), "mount table", file)
    iterator = _new_iterator(_ITERATE_FORWARD)
    mounts = []
    entry = ctypes.c_void_p()
    while _next(table, iterator, ctypes.byref(entry)) == 0:
        mounts.append(_mount(entry))
    _free_iterator(iterator)
    _free_table(table)
    return mounts


def below(directory, file="/proc/self/mountinfo"):
    """Mounts at a directory and below it, the uppermost of each place last."""
    path = str(directory)
    return [m for m in read(file) if m.target == path or m.target.startswith(path + "/")]
