# SPDX-License-Identifier: MIT
"""Makes up reports of somebody who wants to do something to the machine of whoever replays them.

The same seed makes the same report: a recorded host, in which some fields have hostile values.
"""

import io
import json
import random
import tarfile

import reports

UP = "../" * 12
PATHS = ["/etc/shadow", "/victim", "/etc/ld.so.preload", "/usr/bin/sh", "/bin/ls", "/dev/victim",
         "/home/user/key", "/proc/1/root/victim", "/proc/self/exe", "/proc/sys/kernel/core_pattern",
         "/sys/kernel/uevent_helper", "/tmp/x", "/opt/x", "/run/x", "/", "/..", "//", "/dev/fd/1",
         "/usr/lib/nvidia/x", "/etc/cron.d/nvidia", "/lib64/ld-linux-x86-64.so.2", "/mnt", "/media",
         "/media/root/etc/shadow", "/dev/shm/x", "/dev/pts/0", "/usr/share/nvidia/data.json"]
TARGETS = [*PATHS, UP + "victim", UP + "etc/shadow", "..", ".", "", UP + "dev/victim",
           "/proc/self/fd/../../victim", "a/../../../../victim", "/proc/1/cwd"]
NAMES = ["", ".", "..", "/", UP + "victim", "victim", "x" * 300, "x/y", "a:b,upperdir=/etc", "\x1b]0;x\x07",
         "-rf", "nvidia", "pci", "block", "drm", "mem", "%s%n", "a\\x2e", "\0", "null", "pts", "fd"]
NUMBERS = ["0", "1", "-1", "8", "10", "195", "4095", "4097", "65536", "1048575", "4294967295",
           "18446744073709551616", "", "0x1", "1 ", UP + "victim", "07777"]
MODES = ["0644", "6755", "4777", "2777", "1777", "0000", "7777", "77777", "-1", "9", ""]
LIBRARIES = ["libc.so.6", "libcuda.so.1", "data.json", "/usr/share/nvidia/data.json", "../x.so.1",
             "ld-linux-x86-64.so.2", "libevil.so.1", "", "libx.so.1 ", "$ORIGIN/x.so.1"]
DIRECTORIES = ["/usr/share/nvidia", "$ORIGIN", "$ORIGIN/../../share/nvidia", "/tmp", "/work", "", ":",
               "/proc/self/cwd", "$LIB", "/usr/lib:/tmp", UP + "work", "/etc/cdi"]
HOOK = {"hookName": "createContainer", "path": "/bin/sh", "args": ["sh", "/etc/cdi/attack.json"]}
SPECIFICATION = json.dumps({
    "cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "containerEdits": {"hooks": [HOOK]},
    "devices": [{"name": "all", "containerEdits": {
        "deviceNodes": [{"path": "/dev/victim"}, {"path": "/dev/x", "hostPath": "/victim"}],
        "mounts": [{"hostPath": "/etc/shadow", "containerPath": "/x", "options": ["rbind", "rw"]}],
        "hooks": [HOOK]}}]})
ENGINE_HOOK = json.dumps({"version": "1.0.0", "when": {"always": True}, "stages": ["prestart"],
                          "hook": {"path": "/bin/sh", "args": ["sh", "-c", "echo RAN >/victim"]}})
CUDA = "/usr/lib/x86_64-linux-gnu/libcuda.so.580.1"

# What code could try that runs as whoever a replayed command is. It says what it could do. What would
# harm the whole machine is opened and not written.
ATTACK = r"""
exec 2>/dev/null
did() { echo "ATTACK: $*"; }
for f in /etc/shadow /etc/passwd /usr/bin/sh /bin/ls /etc /usr /proc/1/root/etc/shadow; do
    echo x >>"$f" && did write "$f"
    mv "$f" /tmp/moved && did move "$f"
    rm -rf "$f/none-such" "$f" && [ ! -e "$f" ] && did remove "$f"
    mount --bind /tmp "$f" && umount "$f"
done
for f in /proc/sys/*/* /proc/sysrq-trigger /sys/kernel/uevent_helper /proc/sys/kernel/core_pattern; do
    [ -f "$f" ] && ( : >>"$f" ) && did open "$f"
done
cat /etc/shadow && did read /etc/shadow
[ "$(cat /home/user/key)" = secret ] && did read /home/user/key # a report may have one, too
for m in / /usr /etc /proc /proc/sys /sys /dev /bin /lib; do
    mount -o remount,rw,bind "$m" && : >"$m/none-such" && [ "$m" != / ] && [ "$m" != /dev ] && did write below "$m"
    umount -l "$m/none-such"
done
umount /proc/sys && ( : >>/proc/sys/kernel/core_pattern ) && did uncover /proc/sys
mkdir -p /tmp/m
mount -t sysfs x /tmp/m && ( : >>/tmp/m/kernel/uevent_helper ) && did mount /sys
mount -t devtmpfs x /tmp/m && did mount devtmpfs
mount -t proc x /tmp/m && ( : >>/tmp/m/sysrq-trigger ) && did mount /proc
for n in "b 8 0" "b 7 0" "c 1 1" "c 10 200"; do
    mknod "/tmp/n" $n && ( : <"/tmp/n" ) && did open node $n
    rm -f /tmp/n
done
for f in /victim /proc/1/root/victim /proc/1/cwd/victim /proc/1/fd/*/../victim; do
    [ "$(cat "$f")" = mine ] && did see "$f"
done
cp /usr/bin/id /tmp/id && chmod 6755 /tmp/id
kill -9 -1
sleep 100 &
true
"""


def is_path(text):
    parts = text.split("/")
    return parts[0] == "" and len(parts) > 1 and all(map(is_name, parts[1:]))


def is_name(text):
    return text not in ("", ".", "..") and len(text) < 256 and not set(text) & set("/\0")


def is_node(text):
    return is_path(text) and text.startswith("/dev/")


def is_number(text):
    return text.isdigit() and int(text) < 1 << 20


def is_mode(text):
    return 0 < len(text) < 5 and text.isdigit() and "9" not in text


def is_link(text):
    return text != ""


class Attacker:
    """One report of a seed. `host`: the members of a recorded host; `code`: bytes of a library that
    says that it runs."""

    def __init__(self, seed, host, code):
        self.random = random.Random(seed)
        self.members = dict(host)
        self.code = code
        self.others = []  # members of an archive that are none of a host

    def make(self):
        ways = [self.file, self.file, self.file, self.library, self.node, self.node, self.device,
                self.device, self.cache, self.proc, self.sys, self.content, self.content, self.hooks,
                self.loader_conf]
        for way in self.random.choices(ways, k=self.random.randint(1, 8)):
            way()
        if self.random.random() < 0.05:
            self.archive()
        return self

    def one(self, *lists, good=None):
        """One of a list. A value that is refused where it is read hides all the others of a report, so
        those for which `good` is false are rare."""
        while True:
            value = self.random.choice(self.random.choice(lists))
            if good is None or good(value) or self.random.random() < 0.02:
                return value

    def edit(self, name, change):
        text = self.members.get(name, b"").decode(errors="surrogateescape")
        lines = text.splitlines()
        change(lines)
        self.members[name] = ("\n".join(lines) + "\n").encode(errors="surrogateescape")

    def file(self):
        fields = {"path": (PATHS, is_path), "kind": (["f", "l"], None), "mode": (MODES, is_mode),
                  "size": (NUMBERS, is_number), "target": (TARGETS, is_link)}

        def change(lines):
            if self.random.random() < 0.5:
                lines.append(reports.row(
                    self.one(PATHS, good=is_path), self.one("fld", good="fl".__contains__),
                    self.one(MODES, good=is_mode), 4096, self.one(TARGETS, good=is_link)))
                return
            line = self.random.randrange(1, len(lines))
            name = self.random.choice(list(fields))
            values = lines[line].split("\t")
            values[reports.COLUMNS.index(name)] = self.one(fields[name][0], good=fields[name][1])
            lines[line] = "\t".join(values)
        self.edit("files.tsv", change)

    def library(self):
        elf = {"soname": self.one(LIBRARIES, NAMES), "needed": ",".join(self.random.choices(LIBRARIES, k=3)),
               self.one(["runpath", "rpath"]): ":".join(self.random.choices(DIRECTORIES, k=3)),
               "verneed": self.one(NAMES), "verdef": self.one(NAMES),
               "interpreter": self.one(PATHS, [""]), "class": self.one(["ELF64", "ELF32", "x"]),
               "machine": self.one(["x86-64", "x"])}
        row = reports.library(self.one([CUDA, "/usr/bin/nvidia-smi"], PATHS, good=is_path), **elf)
        self.edit("files.tsv", lambda lines: lines.append(row))

    def node(self):
        line = " ".join([
            self.one(["/dev/nvidia0", "/dev/x/y", "/dev/null", "/dev/pts/3", "/dev/fd/9", "/dev/shm/x",
                      "/dev/" + UP + "victim"], PATHS, good=is_node),
            self.one("ccbx", good="cb".__contains__),
            f"{self.one(NUMBERS, good=is_number)}:{self.one(NUMBERS, good=is_number)}",
            self.one(MODES, good=is_mode), self.one(NUMBERS, good=is_number),
            self.one(NUMBERS, good=is_number)])
        if self.random.random() < 0.4:
            name = self.one(NAMES, good=is_name).replace(" ", "")
            line = f"/dev/{name} l - 0777 0 0 -> {self.one(TARGETS, good=is_link)}"
        self.edit("dev.txt", lambda lines: lines.insert(self.random.randint(0, len(lines)), line))

    def device(self):
        name = self.one(NAMES, good=is_name)
        entries = [f"E: SUBSYSTEM={name}", f"E: MAJOR={self.one(NUMBERS, good=is_number)}",
                   f"E: MINOR={self.one(NUMBERS, good=is_number)}", f"E: DEVNAME={self.one(PATHS, NAMES)}",
                   f"E: DRIVER={self.one(NAMES)}", f"L: driver=../../{name}", f"L: {name}=../{name}/../..",
                   f"L: {name}=../../../class", f"A: {name}={self.one(NAMES)}", f"A: {name}/x/y=x",
                   f"P: /devices/{name}", f"P: /devices/virtual/mem/null/{name}", f"E: {name}=x"]
        if self.random.random() < 0.05:
            entries = [f"L: driver={self.one(TARGETS, NAMES)}", f"A: {UP}victim=x", f"H: {name}=zz",
                       f"E: SUBSYSTEM={self.one(NAMES)}", f"P: {self.one(PATHS)}", f"E: MAJOR={UP}victim"]
        self.edit("sys.umockdev",
                  lambda lines: lines.insert(self.random.randint(1, len(lines)), self.random.choice(entries)))

    def cache(self):
        entries = [(self.one(LIBRARIES), self.one(PATHS, [CUDA])) for _ in range(4)]
        data = bytearray(reports.loader_cache(entries))
        if self.random.random() < 0.5:
            for _ in range(8):
                data[self.random.randrange(len(data))] = self.random.randrange(256)
        self.members["ld.so.cache"] = bytes(data)

    def proc(self):
        name = self.one(["sys/kernel/core_pattern", "self/status", "1/environ", "sysrq-trigger", "mounts",
                         "driver/nvidia/version", "driver", "devices", "sys/vm/x", "device-tree/x",
                         "sys/kernel/modprobe"])
        self.members["proc/" + name] = self.one(NAMES).encode()

    def sys(self):
        name = self.one(["kernel/uevent_helper", "class/drm", "devices", "devices/virtual/mem/null/dev",
                         "fs/cgroup/release_agent", "module/nvidia/version", "bus/pci/devices/x", "dev/char"])
        self.members["sys/" + name] = self.one(NAMES, NUMBERS).encode()

    def content(self):
        path = self.one(["/usr/share/nvidia/data.json", "/etc/ld.so.preload", "/etc/profile.d/nvidia.sh",
                         "/usr/bin/nvidia-smi", "/etc/cron.d/nvidia", "/etc/sudoers.d/nvidia", CUDA,
                         "/etc/gpucontainer/nvidia.yaml", "/etc/OpenCL/vendors/nvidia.icd",
                         "/etc/cdi/libevil.so.1", "/var/lib/gpucontainer/1/2.json", "/etc/ld.so.conf.d/x.conf",
                         "/usr/lib/python3/dist-packages/nvidia.pth"], PATHS, good=is_path)
        data = self.one([self.code, b"#!/bin/sh\necho CODE OF THE REPORT RAN\n", b"#!/usr/bin/nvidia-smi\n",
                         b"/usr/share/nvidia/data.json\n", self.code[:64], b"\0" * 64])
        row = reports.row(path, mode=self.one(MODES, good=is_mode), size=len(data))
        self.edit("files.tsv", lambda lines: lines.append(row))
        self.members["content" + path] = data

    def hooks(self):
        for path, text in (("/etc/cdi/evil.json", SPECIFICATION), ("/etc/cdi/attack.json", ATTACK),
                           ("/etc/containers/oci/hooks.d/nvidia.json", ENGINE_HOOK),
                           ("/usr/share/containers/oci/hooks.d/nvidia.json", ENGINE_HOOK)):
            self.edit("files.tsv", lambda lines, p=path, t=text: lines.append(reports.row(p, size=len(t))))
            self.members["content" + path] = text.encode()

    def loader_conf(self):
        self.members["ld.so.conf.txt"] = "".join(
            f"# {self.one(PATHS, good=is_path)}\n{self.one(DIRECTORIES)}\n" for _ in range(3)).encode()

    def archive(self):
        member = tarfile.TarInfo(self.one([UP + "victim", "content/" + UP + "victim", "./files.tsv", "proc",
                                           "content", "content/x"]))
        member.type = self.one([tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE,
                                tarfile.DIRTYPE, tarfile.REGTYPE])
        member.linkname, member.devmajor, member.devminor, member.mode = "/victim", 1, 3, 0o6777
        self.others.append(member)

    def write(self, path):
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
            for name, data in self.members.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                try:
                    archive.addfile(member, io.BytesIO(data))
                except ValueError:
                    pass  # a name that ustar does not hold
            for member in self.others:
                archive.addfile(member)

    def write_folder(self, path):
        """The same, and links besides."""
        path.mkdir()
        for name, data in self.members.items():
            try:
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_bytes(data)
            except (OSError, ValueError):
                pass  # one member's name is a directory of another
        if self.random.random() < 0.3:
            name = self.one(["proc/link", "sys/link", "content/etc", "dev.txt", "proc"])
            if not (path / name).exists() and (path / name).parent.is_dir():
                (path / name).symlink_to(self.one(["/etc/shadow", "/", UP + "victim"]))
