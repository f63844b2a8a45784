# SPDX-License-Identifier: MIT
"""Makes of a C library one that lacks the newest symbol versions, as an older one does."""

import re
import struct

VERDEF = struct.Struct("<HHHHIII")
VERDAUX = struct.Struct("<II")


def elf_hash(name):
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xf0000000
        value = (value ^ (high >> 24)) & ~high & 0xffffffff
    return value


def sections(data):
    """Offset, size and number of the linked section of each section, by its type."""
    start, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3a)
    found = {}
    for i in range(count):
        _, kind, _, _, offset, length, link, _, _, _ = struct.unpack_from(
            "<IIQQQQIIQQ", data, start + i * size)
        found.setdefault(kind, (offset, length, link))
    return found, start, size


def without_versions(data, first):
    """The 64-bit library without GLIBC_2.`first` and what is newer: programs that need those do
    not start with it. Each name is one that nothing needs, with its hash; nothing else changes."""
    data = bytearray(data)
    verdef = 0x6ffffffd
    found, start, size = sections(data)
    at, _, link = found[verdef]
    strings, = struct.unpack_from("<Q", data, start + link * size + 0x18)
    renamed = []
    while True:
        _, _, _, _, _, aux, following = VERDEF.unpack_from(data, at)
        name_at = strings + VERDAUX.unpack_from(data, at + aux)[0]
        name = bytes(data[name_at:data.index(0, name_at)])
        if (match := re.fullmatch(rb"GLIBC_2\.(\d+)", name)) and int(match[1]) >= first:
            new = b"X" + name[1:]
            data[name_at:name_at + len(new)] = new
            struct.pack_into("<I", data, at + 8, elf_hash(new))
            renamed.append(name.decode())
        if following == 0:
            return bytes(data), renamed
        at += following
