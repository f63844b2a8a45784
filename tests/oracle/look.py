# SPDX-License-Identifier: MIT
"""Says what a made case has at a path: the directories are read again, as a check would read
them, and nothing is asked of whoever made them.

`PATH#WHAT` is a property of an ELF file (needed, versions, defines, runpath ...), or of a loader
cache the path that a soname has in it.
"""

import json
import os
import posixpath
import struct

import elf_look
import host_dir

MAX_LINKS = 20


class Host:
    """A directory in the form of a recording."""

    def __init__(self, directory):
        files = host_dir.read_tree(directory)
        self.texts = files
        self.nodes = {}
        for line in files.get("dev.txt", b"").decode().splitlines():
            if line.startswith("/"):
                path, kind, number, mode, uid, gid = line.split()[:6]
                self.nodes[path] = f"{kind} {number} {mode} {uid}:{gid}"
        self.devices = {}
        for line in files.get("sys.umockdev", b"").decode().splitlines():
            if line.startswith("P: "):
                device = self.devices.setdefault(line[3:], {})
            elif line[:3] in ("A: ", "H: "):
                name, value = line[3:].split("=", maxsplit=1)
                device[name] = value.replace("\\n", "\n").strip().lower() if line[0] == "H" else (
                    value.replace("\\n", "\n").strip())
            elif line.startswith("L: "):
                name, value = line[3:].split("=", maxsplit=1)
                device[name] = posixpath.basename(value)
        columns, *rows = [line.split("\t") for line in files["files.tsv"].decode().splitlines()]
        self.files = {row[0]: dict(zip(columns, row)) for row in rows}

    def value(self, path):
        """None if there is no such thing."""
        path, _, what = path.partition("#")
        if path in self.nodes:
            return self.nodes[path]
        if path.lstrip("/") in self.texts and path.startswith(("/proc/", "/sys/")):
            return self.texts[path.lstrip("/")].decode().strip()
        if path.startswith("/sys/"):
            return self._of_device(path)
        row = self.files.get(path)
        if row is None:
            return None
        if what:
            return {"versions": row["verneed"], "needed": row["needed"]}[what].replace(",", " ")
        if row["kind"] == "l":
            return f"-> {row['target']}"
        if f"content{path}" in self.texts:
            return self.texts[f"content{path}"].decode().strip()
        return f"{row['size']} bytes"

    def _of_device(self, path):
        for prefix in ("/sys/bus/pci/devices/", "/sys"):
            if not path.startswith(prefix):
                continue
            for device, values in self.devices.items():
                if prefix != "/sys":
                    device = posixpath.basename(device)
                if path == prefix + device:
                    return "a device"
                if path.startswith(f"{prefix}{device}/"):
                    if (value := values.get(path.removeprefix(f"{prefix}{device}/"))) is not None:
                        return value
        return None


class Image:
    """A directory that is a root file system. Links stay within it."""

    def __init__(self, directory):
        self.directory = directory

    def place(self, path):
        """The path in the directory once all links are followed; None if one leads nowhere."""
        parts, done, links = path.strip("/").split("/"), [], 0
        while parts:
            part = parts.pop(0)
            if part in ("", "."):
                continue
            if part == "..":
                done = done[:-1]
                continue
            here = os.path.join(self.directory, *done, part)
            if os.path.islink(here):
                links += 1
                if links > MAX_LINKS:
                    return None
                target = os.readlink(here)
                done = [] if target.startswith("/") else done
                parts = target.split("/") + parts
            elif os.path.lexists(here):
                done.append(part)
            else:
                return None
        return os.path.join(self.directory, *done)

    def value(self, path):
        path, _, what = path.partition("#")
        if what == "link":
            at = os.path.join(self.directory, path.lstrip("/"))
            return f"-> {os.readlink(at)}" if os.path.islink(at) else None
        place = self.place(path)
        if place is None:
            return None
        if os.path.isdir(place):
            return " ".join(sorted(os.listdir(place)))
        with open(place, "rb") as file:
            data = file.read()
        if path == "/etc/ld.so.cache" and what:
            return _cached(data).get(what)
        if what:
            facts = elf_look.facts(data)
            return None if facts is None else " ".join(facts[what])
        if data.startswith((b"\x7fELF", b"glibc-ld.so.cache")):
            return f"{len(data)} bytes"
        return data.decode().strip() if data else "0 bytes"


class Request:
    """What is asked for: request.json. An environment, `options`, and a node that the device
    cgroup or its mode keeps from the user."""

    def __init__(self, document, host):
        self.document, self.host = document, host

    def value(self, path):
        part, _, name = path.partition("/")
        if part in ("environment", "container_environment"):
            return self.document[part].get(name)
        value = self.document[part]
        return " ".join(map(str, value)) if isinstance(value, list) else str(value)

    def refusal(self, path):
        """Why the user of this request cannot open a node: EPERM, EACCES, or None."""
        if (node := self.host.value(path)) is None:
            return None
        _, number, mode, owner = node.split()
        if any(denied in (number, f"{number.split(':')[0]}:*")
               for denied in self.document["denied_devices"]):
            return "EPERM"
        user = self.document["user"]
        uid, gid = map(int, owner.split(":"))
        if user["uid"] == 0:
            return None
        shift = 6 if user["uid"] == uid else 3 if gid in (user["gid"], *user["groups"]) else 0
        return None if int(mode, 8) >> shift & 6 == 6 else "EACCES"


class Case:
    """All three parts of a case in its directory."""

    def __init__(self, directory):
        host = Host(directory / "host")
        document = json.loads((directory / "request.json").read_text(encoding="utf-8"))
        self.parts = {"host": host, "image": Image(directory / "image"),
                      "request": Request(document, host)}

    def holds(self, evidence):
        """Whether the case shows it."""
        path = evidence["path"]
        if evidence["state"] == "refused":
            return self.parts["request"].refusal(path) == evidence["value"]
        if evidence["state"] == "allowed":
            return (self.parts["host"].value(path) is not None
                    and self.parts["request"].refusal(path) is None)
        return holds(self.parts[evidence["where"]].value(path), evidence)


def holds(value, evidence):
    state, wanted = evidence["state"], evidence["value"]
    if state == "absent":
        return value is None
    if value is None:
        return False
    return {"is": value == wanted, "has": wanted in value,
            "lacks": wanted not in value}[state]


def _cached(data):
    """Sonames and paths of a loader cache, in the format of glibc 2.2 and later."""
    count, = struct.unpack_from("<I", data, 20)
    found = {}
    for number in range(count):
        _, key, value = struct.unpack_from("<iII", data, 48 + 24 * number)
        texts = [data[at:data.index(b"\0", at)].decode() for at in (key, value)]
        found.setdefault(*texts)
    return found
