# SPDX-License-Identifier: MIT
"""Writes small ELF files: what a loader and a reader see of them, and no code.

gpuctr-simhost makes those of a host. Those of an image have more to say: which symbol
versions they define, which symbols they lack, and for which GPUs they have code.
"""

import dataclasses
import struct

MACHINES = {"x86_64": (62, 64), "i386": (3, 32), "aarch64": (183, 64), "riscv64": (243, 64)}
EM_CUDA = 190
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_STACK = 1, 2, 3, 0x6474E551
(DT_NEEDED, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_SONAME, DT_RPATH, DT_RUNPATH) = (
    1, 4, 5, 6, 10, 11, 14, 15, 29)
DT_VERSYM, DT_VERDEF, DT_VERDEFNUM, DT_VERNEED, DT_VERNEEDNUM, DT_FLAGS_1 = (
    0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF, 0x6FFFFFFB)
DF_1_PIE = 0x08000000
HEADER_SIZES = {64: (64, 56, 24, 64), 32: (52, 32, 16, 40)}  # file, segment, symbol, section
FATBIN_MAGIC, FATBIN_PTX, FATBIN_CUBIN = 0xBA55ED50, 1, 2


@dataclasses.dataclass(frozen=True)
class Symbol:
    """A function: one that the file has, or one that it wants of others."""

    name: str
    version: str = ""
    defined: bool = False


@dataclasses.dataclass
class Elf:
    """What an ELF file says. `versions` has for each needed library those of its symbol versions
    that are needed; `defines` are the file's own. `gpu_code` is the content of .nv_fatbin."""

    machine: str = "x86_64"
    soname: str = ""
    needed: tuple = ()
    versions: dict = dataclasses.field(default_factory=dict)
    defines: tuple = ()
    symbols: tuple = ()
    interpreter: str = ""
    rpath: str = ""
    runpath: str = ""
    gpu_code: bytes = b""

    def but(self, **changes):
        return dataclasses.replace(self, **changes)

    def to_bytes(self):
        return _Writer(self).file()


def fatbin(cubins=(), ptx=()):
    """Device code for these compute capabilities ("90", "100"), as a program has it."""
    entries = b""
    for kind, targets in ((FATBIN_CUBIN, cubins), (FATBIN_PTX, ptx)):
        for target in targets:
            code = _cubin(int(target)) if kind == FATBIN_CUBIN else f".target sm_{target}\0".encode()
            code += bytes(-len(code) % 8)
            entries += struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(code), 0, 0, 8, 0,
                                   int(target), 0, 0, 1, 0, 0) + code
    return struct.pack("<IHHQ", FATBIN_MAGIC, 1, 16, len(entries)) + entries


def _cubin(target):
    ident = b"\x7fELF\x02\x01\x01\x33\x07" + bytes(7)
    return struct.pack("<16sHHIQQQIHHHHHH", ident, 2, EM_CUDA, 1, 0, 0, 0, target << 16 | target,
                       64, 0, 0, 0, 0, 0)


def _hash(name):
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
    return value


class _Strings:
    def __init__(self):
        self.bytes = b"\0"

    def add(self, text):
        offset = len(self.bytes)
        self.bytes += text.encode() + b"\0"
        return offset


class _Writer:
    """An address is an offset in the file: all of it is one segment."""

    def __init__(self, elf):
        self.elf = elf
        self.number, self.bits = MACHINES[elf.machine]
        self.strings, self.dynamic, self.segments = _Strings(), [], []
        self.body, self.indexes = b"", {}  # the latter of versions

    def file(self):
        header, segment, _, _ = HEADER_SIZES[self.bits]
        count = 4 if self.elf.interpreter else 3
        self.body = bytes(header + count * segment)
        if self.elf.interpreter:
            text = self.elf.interpreter.encode() + b"\0"
            self.segments.append((PT_INTERP, 4, self.place(text), len(text)))
        offset, size = self.place_dynamic()
        self.segments += [(PT_LOAD, 6, 0, len(self.body)), (PT_DYNAMIC, 6, offset, size),
                          (PT_GNU_STACK, 6, 0, 0)]
        sections, offset = self.place_sections()
        start = self.header(offset, sections) + b"".join(map(self.segment, self.segments))
        return start + self.body[len(start):]

    def place(self, part):
        self.body += bytes(-len(self.body) % 16)
        offset = len(self.body)
        self.body += part
        return offset

    def header(self, sections_at, sections):
        header, segment, _, section = HEADER_SIZES[self.bits]
        ident = b"\x7fELF" + bytes([self.bits // 32, 1, 1]) + bytes(9)
        words = "QQQ" if self.bits == 64 else "III"
        return struct.pack(f"<16sHHI{words}IHHHHHH", ident, 3, self.number, 1, 0, header,
                           sections_at, 0, header, segment, len(self.segments), section, sections,
                           max(sections - 1, 0))

    def segment(self, entry):
        kind, flags, offset, size = entry
        align = 0x1000 if kind == PT_LOAD else 8
        if self.bits == 64:
            return struct.pack("<IIQQQQQQ", kind, flags, offset, offset, offset, size, size, align)
        return struct.pack("<IIIIIIII", kind, offset, offset, offset, size, size, flags, align)

    def place_sections(self):
        """Only for what a reader finds by a section's name."""
        if not self.elf.gpu_code:
            return 0, 0
        names = b"\0.nv_fatbin\0.shstrtab\0"
        code_at, names_at = self.place(self.elf.gpu_code), self.place(names)
        form = "<IIQQQQIIQQ" if self.bits == 64 else "<IIIIIIIIII"
        table = bytes(struct.calcsize(form))
        table += struct.pack(form, 1, 1, 0, 0, code_at, len(self.elf.gpu_code), 0, 0, 8, 0)
        table += struct.pack(form, 12, 3, 0, 0, names_at, len(names), 0, 0, 1, 0)
        return 3, self.place(table)

    def place_dynamic(self):
        elf, add = self.elf, self.strings.add
        for name in elf.needed:
            self.tag(DT_NEEDED, add(name))
        for tag, text in ((DT_SONAME, elf.soname), (DT_RPATH, elf.rpath), (DT_RUNPATH, elf.runpath)):
            if text:
                self.tag(tag, add(text))
        definitions, needs = self.definitions(), self.needs()
        symbols, numbers = self.symbols()
        count = len(elf.symbols) + 1
        chain = [count, *([0] if count == 1 else [1]), 0, *[(i + 1) % count for i in range(1, count)]]
        self.tag(DT_HASH, self.place(struct.pack(f"<I{count + 2}I", 1, *chain)))
        self.tag(DT_SYMTAB, self.place(symbols))
        self.tag(DT_SYMENT, HEADER_SIZES[self.bits][2])
        if definitions or needs:
            self.tag(DT_VERSYM, self.place(numbers))
        if definitions:
            self.tag(DT_VERDEF, self.place(definitions))
            self.tag(DT_VERDEFNUM, len(elf.defines) + 1)
        if needs:
            self.tag(DT_VERNEED, self.place(needs))
            self.tag(DT_VERNEEDNUM, sum(1 for found in elf.versions.values() if found))
        self.tag(DT_STRTAB, self.place(self.strings.bytes))
        self.tag(DT_STRSZ, len(self.strings.bytes))
        if elf.interpreter:
            self.tag(DT_FLAGS_1, DF_1_PIE)
        self.tag(0, 0)
        table = b"".join(self.dynamic)
        return self.place(table), len(table)

    def tag(self, tag, value):
        self.dynamic.append(struct.pack("<qQ" if self.bits == 64 else "<iI", tag, value))

    def definitions(self):
        if not self.elf.defines:
            return b""
        names = [self.elf.soname, *self.elf.defines]  # the first is the file itself
        table = b""
        for index, name in enumerate(names, 1):
            self.indexes.setdefault(name, index)
            last = index == len(names)
            table += struct.pack("<HHHHIII", 1, int(index == 1), index, 1, _hash(name), 20,
                                 0 if last else 28)
            table += struct.pack("<II", self.strings.add(name), 0)
        return table

    def needs(self):
        files = [(library, found) for library, found in self.elf.versions.items() if found]
        index, table = len(self.elf.defines) + 2, b""
        for library, found in files:
            size = 16 + 16 * len(found)
            table += struct.pack("<HHIII", 1, len(found), self.strings.add(library), 16,
                                 0 if library == files[-1][0] else size)
            for position, name in enumerate(found, 1):
                self.indexes.setdefault(name, index)
                table += struct.pack("<IHHII", _hash(name), 0, index, self.strings.add(name),
                                     0 if position == len(found) else 16)
                index += 1
        return table

    def symbols(self):
        table, numbers = bytes(HEADER_SIZES[self.bits][2]), struct.pack("<H", 0)
        for symbol in self.elf.symbols:
            name, section = self.strings.add(symbol.name), int(symbol.defined) and 0xFFF1
            info = 1 << 4 | 2  # a global function
            if self.bits == 64:
                table += struct.pack("<IBBHQQ", name, info, 0, section, 0, 0)
            else:
                table += struct.pack("<IIIBBH", name, 0, 0, info, 0, section)
            numbers += struct.pack("<H", self.indexes.get(symbol.version, 1))
        return table, numbers
