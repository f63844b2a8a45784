# SPDX-License-Identifier: MIT
"""Reads what elf_file.py writes, by the segments alone: nothing is shared between the two."""

import struct

MACHINE_NAMES = {62: "x86_64", 3: "i386", 183: "aarch64", 243: "riscv64"}
NEEDED, SONAME, RPATH, RUNPATH = 1, 14, 15, 29
STRTAB, SYMTAB, HASH = 5, 6, 4
VERDEF, VERDEFNUM, VERNEED, VERNEEDNUM = 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF


def facts(data):
    """Lists of words by what they are about; None if it is no ELF file."""
    if data[:4] != b"\x7fELF":
        return None
    wide = data[4] == 2
    machine, = struct.unpack_from("<H", data, 18)
    segments, = struct.unpack_from("<Q" if wide else "<I", data, 32 if wide else 28)
    count, = struct.unpack_from("<H", data, 56 if wide else 44)
    found = {"machine": [MACHINE_NAMES.get(machine, str(machine))], "bits": ["64" if wide else "32"],
             "interpreter": [], "gpu_code": _gpu_code(data)}
    tags = []
    for number in range(count):
        kind, offset, size = _segment(data, segments, number, wide)
        if kind == 3:
            found["interpreter"] = [data[offset:offset + size - 1].decode()]
        if kind == 2:
            tags = list(struct.iter_unpack("<qQ" if wide else "<iI", data[offset:offset + size]))
    return found | _dynamic(data, tags, wide)


def _segment(data, start, number, wide):
    if wide:
        kind, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", data, start + 56 * number)
    else:
        kind, offset, _, _, size = struct.unpack_from("<IIIII", data, start + 32 * number)
    return kind, offset, size


def _dynamic(data, tags, wide):
    first = dict(reversed(tags))

    def text(offset):
        start = first[STRTAB] + offset
        return data[start:data.index(b"\0", start)].decode()

    found = {name: [text(value) for tag, value in tags if tag == wanted] for name, wanted in (
        ("needed", NEEDED), ("soname", SONAME), ("rpath", RPATH), ("runpath", RUNPATH))}
    found["defines"] = []
    at = first.get(VERDEF)
    for _ in range(first.get(VERDEFNUM, 0)):
        flags, aux, step = (struct.unpack_from("<HHHHIII", data, at)[i] for i in (1, 5, 6))
        if not flags & 1:
            found["defines"].append(text(struct.unpack_from("<I", data, at + aux)[0]))
        at += step
    found["versions"] = []
    at = first.get(VERNEED)
    for _ in range(first.get(VERNEEDNUM, 0)):
        _, count, file, aux, step = struct.unpack_from("<HHIII", data, at)
        entry = at + aux
        for _ in range(count):
            name, further = struct.unpack_from("<II", data, entry + 8)
            found["versions"].append(f"{text(file)}:{text(name)}")
            entry += further
        at += step
    return found | _symbols(data, first, text, wide)


def _symbols(data, first, text, wide):
    found = {"has": [], "wants": []}
    if HASH not in first:
        return found
    size = 24 if wide else 16
    for index in range(1, struct.unpack_from("<I", data, first[HASH] + 4)[0]):
        at = first[SYMTAB] + size * index
        name, = struct.unpack_from("<I", data, at)
        section, = struct.unpack_from("<H", data, at + (6 if wide else 14))
        found["has" if section else "wants"].append(text(name))
    return found


def _gpu_code(data):
    """Entries of all containers of device code: "sm_90", or "compute_90" for PTX."""
    found, at = [], 0
    while (at := data.find(struct.pack("<I", 0xBA55ED50), at)) >= 0:
        header, size = struct.unpack_from("<6xHQ", data, at)
        end = at + header + size
        at += header
        while at < end:
            kind, own, length = struct.unpack_from("<H2xIQ", data, at)
            arch, = struct.unpack_from("<I", data, at + 28)
            found.append(f"{'sm' if kind == 2 else 'compute'}_{arch}")
            at += own + length
    return found
