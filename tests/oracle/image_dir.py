# SPDX-License-Identifier: MIT
"""The root file system of an image in memory, which faults edit."""

import os
import posixpath

import host_dir
from elf_file import Elf, Symbol

MULTIARCH = "/usr/lib/x86_64-linux-gnu"
INTERPRETER = "/lib64/ld-linux-x86-64.so.2"
C_LIBRARIES = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
               "libutil.so.1", "libresolv.so.2")
GCC = "3.0 3.3 3.3.1 3.4 3.4.2 3.4.4 4.0.0 4.2.0 4.3.0 4.7.0 4.8.0 5.0.0 7.0.0 12.0.0".split()


def glibc_versions(minor):
    names = ["2.2.5", "2.2.6", "2.3", "2.3.2", "2.3.3", "2.3.4"]
    return tuple(f"GLIBC_{name}" for name in [*names, *(f"2.{n}" for n in range(4, minor + 1))])


def stdcxx_versions(last):
    """Of libstdc++.so.6.0.LAST, whose symbol versions grew with that number."""
    abi = {25: 11, 28: 12, 30: 13, 32: 14, 33: 15}[last]
    return ("GLIBCXX_3.4", *(f"GLIBCXX_3.4.{n}" for n in range(1, last + 1)),
            "CXXABI_1.3", *(f"CXXABI_1.3.{n}" for n in range(1, abi + 1)))


class Image:
    """Names in memory: bytes are a file, a text is where a link leads, None is a directory."""

    def __init__(self):
        self.names = {}
        self.cache = []  # soname and path; None: there is no loader cache
        self.executable = set()

    def copy(self):
        new = Image()
        new.names, new.executable = dict(self.names), set(self.executable)
        new.cache = None if self.cache is None else list(self.cache)
        return new

    def file(self, path, content=b"", executable=False):
        self.names[path] = content.encode() if isinstance(content, str) else content
        if executable:
            self.executable.add(path)

    def link(self, path, target):
        self.names[path] = target

    def directory(self, *paths):
        for path in paths:
            self.names[path] = None

    def text(self, path):
        return self.names[path].decode()

    def remove(self, *paths):
        """Names, each with all that is below it, and their lines of the loader cache."""
        for path in paths:
            found = [name for name in self.names if name == path or name.startswith(path + "/")]
            if not found:
                raise ValueError(f"no {path}")
            for name in found:
                del self.names[name]
                if self.cache:
                    self.cache = [line for line in self.cache if line[1] != name]

    def library(self, path, elf, cached=True):
        """A library, the link of its soname, and its line of the loader cache."""
        self.file(path, elf.to_bytes(), executable=True)
        by_soname = posixpath.join(posixpath.dirname(path), elf.soname)
        if by_soname != path:
            self.link(by_soname, posixpath.basename(path))
        if cached and self.cache is not None:
            self.cache = [line for line in self.cache if line != (elf.soname, by_soname)]
            self.cache.append((elf.soname, by_soname))

    def program(self, path, elf):
        self.file(path, elf.to_bytes(), executable=True)

    def c_library(self, minor, directory=MULTIARCH, interpreter=INTERPRETER):
        """glibc 2.MINOR, all of it of one build."""
        versions = glibc_versions(minor)
        loader = Elf(soname=posixpath.basename(interpreter), defines=("GLIBC_2.2.5", "GLIBC_PRIVATE"))
        self.file(f"{directory}/{posixpath.basename(interpreter)}", loader.to_bytes(), True)
        for soname in C_LIBRARIES:
            functions = tuple(Symbol(name, version, True) for name, version in (
                ("printf", "GLIBC_2.2.5"),
                ("__libc_start_main", "GLIBC_2.34" if minor >= 34 else "GLIBC_2.2.5"))
                ) if soname == "libc.so.6" else ()
            needed = () if soname == "libc.so.6" else ("libc.so.6",)
            self.library(f"{directory}/{soname}", Elf(
                soname=soname, needed=needed, defines=(*versions, "GLIBC_PRIVATE"),
                symbols=functions))

    def gcc_runtime(self, last, directory=MULTIARCH, runpath=""):
        self.library(f"{directory}/libgcc_s.so.1", Elf(
            soname="libgcc_s.so.1", needed=("libc.so.6",), defines=tuple(f"GCC_{n}" for n in GCC),
            versions={"libc.so.6": ["GLIBC_2.2.5"]}))
        self.library(f"{directory}/libstdc++.so.6.0.{last}", Elf(
            soname="libstdc++.so.6", needed=("libm.so.6", "libc.so.6", "libgcc_s.so.1"),
            defines=stdcxx_versions(last), runpath=runpath,
            versions={"libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.14"], "libgcc_s.so.1": ["GCC_3.0"]}))

    def write(self, directory):
        names = dict(self.names)
        if self.cache is not None:
            flags = 0x0303
            names["/etc/ld.so.cache"] = host_dir.generator("generate").loader_cache(
                [(flags, soname, path) for soname, path in self.cache], len(self.cache))
        directory.mkdir(parents=True)
        for path, content in names.items():
            place = directory / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                place.mkdir(exist_ok=True)
            elif isinstance(content, str):
                place.symlink_to(content)
            else:
                place.write_bytes(content)
                os.chmod(place, 0o755 if path in self.executable else 0o644)
