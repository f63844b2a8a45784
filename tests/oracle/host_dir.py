# SPDX-License-Identifier: MIT
"""A recorded host in memory, which faults edit. Its form is in tests/hosts/README.md."""

import copy
import fnmatch
import importlib.machinery
import importlib.util
import sys
import tempfile
from pathlib import Path

HOSTS = Path(__file__).resolve().parent.parent / "hosts"
NODE_TITLE = "# path kind major:minor mode uid gid [-> target]"
COLUMNS = "#path kind mode size target class machine soname needed verneed strings runpath".split()
X86_64 = ("ELF64", "Advanced Micro Devices X86-64")


def generator(name):
    """A program of tests/hosts, as a module."""
    if name not in sys.modules:
        loader = importlib.machinery.SourceFileLoader(name, str(HOSTS / name))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
        sys.modules[name] = module  # for its dataclasses
        loader.exec_module(module)
    return sys.modules[name]


class Host:
    """Paths are those of the host. An edit of what is not there is an error, so that a fault
    cannot silently do nothing."""

    def __init__(self, files):
        files = dict(files)
        self._nodes = {line.split()[0]: line for line in _lines(files, "dev.txt")}
        self._devices = _blocks(files.pop("sys.umockdev", b"").decode())
        rows = _lines(files, "files.tsv", comments=True)
        columns = rows.pop(0).split("\t")
        self._files = {row.split("\t")[0]: dict(zip(columns, row.split("\t"))) for row in rows}
        self._texts = files

    @classmethod
    def recorded(cls, name):
        return cls(read_tree(HOSTS / name))

    @classmethod
    def generated(cls, made, cache_entries=150):
        """One that a generator put together."""
        with tempfile.TemporaryDirectory() as directory:
            generator("generate").write(made, cache_entries, Path(directory) / "host")
            return cls(read_tree(Path(directory) / "host"))

    def copy(self):
        return copy.deepcopy(self)

    def files(self):
        """The recording, by paths in its directory."""
        rows = ["\t".join(COLUMNS)]
        rows += ["\t".join(row.get(name, "") for name in COLUMNS) for row in self._files.values()]
        return self._texts | {
            "dev.txt": "\n".join([NODE_TITLE, *self._nodes.values(), ""]).encode(),
            "sys.umockdev": "\n".join(self._devices).encode(),
            "files.tsv": "\n".join([*rows, ""]).encode()}

    # What procfs and sysfs say

    def text(self, path):
        return self._texts[path.lstrip("/")].decode()

    def write(self, path, text):
        self._texts[path.lstrip("/")] = text.encode()

    def replace(self, path, old, new):
        text = self.text(path)
        if old not in text:
            raise ValueError(f"{path} has no {old!r}")
        self.write(path, text.replace(old, new))

    def remove(self, *paths):
        """Files of procfs and sysfs, or all that is below a directory."""
        for path in paths:
            path = path.lstrip("/")
            found = [name for name in self._texts if name == path or name.startswith(path + "/")]
            if not found:
                raise ValueError(f"no {path}")
            for name in found:
                del self._texts[name]

    # Device nodes

    def node(self, path, number, mode=0o666, group=0):
        self._nodes[path] = f"{path} c {number} {mode:04o} 0 {group}"

    def change_nodes(self, pattern, **changes):
        """`number`, `mode`, `group` of those that are there."""
        for path in self._matching(self._nodes, pattern):
            fields = self._nodes[path].split()
            for place, name in ((2, "number"), (3, "mode"), (5, "group")):
                if name in changes:
                    value = changes[name]
                    fields[place] = f"{value:04o}" if name == "mode" else str(value)
            self._nodes[path] = " ".join(fields)

    def remove_nodes(self, *patterns):
        for pattern in patterns:
            for path in self._matching(self._nodes, pattern):
                del self._nodes[path]

    # Devices of sysfs

    def bind(self, address, driver):
        """Another kernel driver has the PCI function; None has it."""
        place = self._function(address)
        lines = [line for line in self._devices[place].splitlines()
                 if not line.startswith(("L: driver=", "E: DRIVER="))]
        if driver:
            lines += [f"E: DRIVER={driver}", f"L: driver=../../../bus/pci/drivers/{driver}"]
        self._devices[place] = "\n".join([*lines, ""])

    def attribute(self, address, name, value, kind="A"):
        place = self._function(address)
        lines = [line for line in self._devices[place].splitlines()
                 if not line[3:].startswith(f"{name}=")]
        self._devices[place] = "\n".join([*lines, f"{kind}: {name}={value}", ""])

    def add_function(self, address, driver=None, **attributes):
        lines = [f"P: /devices/pci{address[:7]}/{address}", "E: SUBSYSTEM=pci",
                 f"E: PCI_SLOT_NAME={address}"]
        lines += [f"A: {name}={value}\\n" for name, value in attributes.items()]
        self._devices.append("\n".join([*lines, ""]))
        if driver:
            self.bind(address, driver)

    def remove_devices(self, pattern):
        """Devices whose path, without /sys, is like that."""
        kept = [block for block in self._devices if not fnmatch.fnmatch(_path(block), pattern)]
        if len(kept) == len(self._devices):
            raise ValueError(f"no device {pattern}")
        self._devices = kept

    def remove_attribute(self, device, pattern):
        """Attributes of a device, whose path is the one below /sys."""
        for place, block in enumerate(self._devices):
            if _path(block) == device:
                lines = [line for line in block.splitlines() if not (
                    line[:3] in ("A: ", "H: ")
                    and fnmatch.fnmatch(line[3:].split("=", maxsplit=1)[0], pattern))]
                self._devices[place] = "\n".join([*lines, ""])
                return
        raise ValueError(f"no device {device}")

    # Files of the driver and of the host's configuration

    def add_text(self, path, text):
        self._files[path] = {"#path": path, "kind": "f", "mode": "0644", "size": str(len(text))}
        self._texts[f"content{path}"] = text.encode()

    def add_library(self, path, soname, needed=("libc.so.6",), versions=()):
        self._files[path] = {
            "#path": path, "kind": "f", "mode": "0755", "size": "65536", "class": X86_64[0],
            "machine": X86_64[1], "soname": soname, "needed": ",".join(needed),
            "verneed": ",".join(versions)}

    def change_file(self, path, **columns):
        self._files[path] |= columns

    def remove_files(self, *patterns):
        for pattern in patterns:
            for path in self._matching(self._files, pattern):
                del self._files[path]
                self._texts.pop(f"content{path}", None)

    def _function(self, address):
        for place, block in enumerate(self._devices):
            if _path(block).endswith(f"/{address}"):
                return place
        raise ValueError(f"no PCI function {address}")

    @staticmethod
    def _matching(names, pattern):
        found = fnmatch.filter(names, pattern)
        if not found:
            raise ValueError(f"nothing is like {pattern}")
        return found


def read_tree(directory):
    return {str(path.relative_to(directory)): path.read_bytes()
            for path in directory.rglob("*") if path.is_file()}


def write_tree(files, directory):
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _lines(files, name, comments=False):
    return [line for line in files.pop(name, b"").decode().splitlines()
            if line.strip() and (comments or not line.startswith("#"))]


def _blocks(text):
    """One for each device; what is before the first is of none."""
    return ["P: " + block.rstrip("\n") + "\n" for block in ("\n" + text).split("\nP: ")[1:]]


def _path(block):
    return block.splitlines()[0][3:]
