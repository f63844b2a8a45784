# SPDX-License-Identifier: MIT
"""Writes archives in the form of `gpuctr-setup report`, with whatever a stranger may put in."""

import io
import struct
import tarfile

COLUMNS = ("path kind mode size target class machine soname needed verneed runpath rpath interpreter "
           "verdef").split()


def row(path, kind="f", mode="0644", size=0, target="", **elf):
    """A line of files.tsv; `elf` are its columns of an ELF file."""
    fields = {"path": path, "kind": kind, "mode": mode, "size": size, "target": target, **elf}
    return "\t".join(str(fields.get(name, "")) for name in COLUMNS)


def library(path, **elf):
    """That of a library for this machine."""
    return row(path, mode="0755", size=4096, **{
        "class": "ELF64", "machine": "x86-64", "soname": path.rsplit("/", 1)[1], **elf})


def loader_cache(entries):
    """The bytes of a loader's cache, of pairs of a soname and a path."""
    entries = sorted(entries, reverse=True)
    header, entry = 48, 24
    strings, table = b"", b""
    start = header + entry * len(entries)
    for soname, path in entries:
        places = []
        for text in (soname, path):
            places.append(start + len(strings))
            strings += text.encode() + b"\0"
        table += struct.pack("<iIIIQ", 0x0303, *places, 0, 0)
    return struct.pack("<20sIIB3xI12x", b"glibc-ld.so.cache1.1", len(entries), len(strings), 2,
                       0) + table + strings


def write(path, members):
    """`members`: texts or bytes by their names in the archive. A list is lines of files.tsv."""
    members = {"files.tsv": [], **members}
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in members.items():
            if name == "files.tsv" and isinstance(content, list):
                content = "\n".join(["#" + "\t".join(COLUMNS), *content, ""])
            content = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path
