# SPDX-License-Identifier: MIT
"""A small system of its own, in which a test sees everything that a program changed.

It has programs and libraries of this machine as copies, its own /dev, and nothing else of it but the
kernel. Functions run in it as its first process, after pivot_root.
"""

import ctypes
import os
import pickle
import stat
import subprocess
import traceback

import mount_table
import snapshot

USER = 1000
NEW_NAMESPACES = 0x00020000 | 0x04000000 | 0x08000000 | 0x20000000 | 0x40000000
MS_NOSUID_NODEV_NOEXEC, MS_REC_PRIVATE, MS_RDONLY = 2 | 4 | 8, 0x4000 | (1 << 18), 1
MNT_DETACH = 2
SYS_PIVOT_ROOT = {"x86_64": 155}.get(os.uname().machine, 41)
NODES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9),
         "tty": (5, 0), "victim": (1, 3)}
_libc = ctypes.CDLL(None, use_errno=True)


def _must(done, what):
    if done != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def _mount(source, target, kind, flags=0, options=None):
    _must(_libc.mount(source.encode(), str(target).encode(), kind and kind.encode(), flags,
                      options and options.encode()), f"mount {target}")


class BareSystem:
    """`programs` are copied with their libraries, to /usr/bin if they are not below /usr."""

    def __init__(self, directory, make_rootfs, programs):
        self.root = directory / "root"
        subprocess.run([make_rootfs, self.root, *programs], check=True, stdout=subprocess.DEVNULL)
        for name in ("proc", "sys", "dev", "reports", "work"):
            (self.root / name).mkdir(exist_ok=True)
        (self.root / "victim").write_text("mine\n", encoding="utf-8")
        (self.root / "etc/shadow").write_text("root:secret\n", encoding="utf-8")
        (self.root / "etc/shadow").chmod(0o640)
        with open(self.root / "etc/passwd", "a", encoding="utf-8") as users:
            users.write(f"user:x:{USER}:{USER}::/home/user:/bin/sh\n")
        home = self.root / "home/user"
        home.mkdir()
        (home / "key").write_text("secret\n", encoding="utf-8")
        for path in (home, home / "key"):
            os.chown(path, USER, USER)
        home.chmod(0o700)

    def call(self, function):
        """What `function` returns, or raises, there."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            os._exit(self._outside(function, writing))
        os.close(writing)
        with open(reading, "rb") as answer:
            data = answer.read()
        os.waitpid(child, 0)
        if not data:
            raise RuntimeError("the bare system ended")
        good, result = pickle.loads(data)
        if not good:
            raise RuntimeError(result)
        return result

    def _outside(self, function, writing):
        """Once more, as only children are in a new namespace of processes."""
        try:
            _must(_libc.unshare(NEW_NAMESPACES), "make namespaces")
        except OSError as error:
            os.write(writing, pickle.dumps((False, str(error))))
            return 1
        child = os.fork()
        if child == 0:
            try:
                self._enter()
                answer = (True, function())
            except BaseException:  # pylint: disable=broad-except
                answer = (False, traceback.format_exc())
            with open(writing, "wb") as stream:
                stream.write(pickle.dumps(answer))
            os._exit(0)
        os.waitpid(child, 0)
        return 0

    def _enter(self):
        os.umask(0o022)
        _mount("none", "/", None, MS_REC_PRIVATE)
        _mount(str(self.root), self.root, None, 4096)
        _mount("proc", self.root / "proc", "proc", MS_NOSUID_NODEV_NOEXEC)
        _mount("sysfs", self.root / "sys", "sysfs", MS_NOSUID_NODEV_NOEXEC | MS_RDONLY)
        _mount("dev", self.root / "dev", "tmpfs", 2, "mode=0755")
        for name, number in NODES.items():
            os.mknod(self.root / "dev" / name, stat.S_IFCHR | 0o666, os.makedev(*number))
            os.chmod(self.root / "dev" / name, 0o666)
        os.chdir(self.root)
        _must(_libc.syscall(SYS_PIVOT_ROOT, b".", b"."), "pivot_root")
        _must(_libc.umount2(b".", MNT_DETACH), "unmount the machine")
        os.chdir("/")


def _processes():
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with open(f"/proc/{name}/comm", encoding="utf-8", errors="replace") as file:
                found[name] = file.read()
    return found


def sysctls():
    """Those that somebody may write, but for those that change by themselves."""
    found = {}
    for directory, _, names in os.walk("/proc/sys"):
        for name in names:
            path = os.path.join(directory, name)
            try:
                if os.stat(path).st_mode & 0o222 and name != "ns_last_pid":
                    with open(path, "rb") as file:
                        found[path] = file.read(4096)
            except OSError:
                pass
    return found


def manifest():
    """Everything of the bare system that this process can see."""
    files = snapshot.take("/", without=("proc", "sys"))
    del files["proc"]  # it changes with the processes
    return {"files": files, "mounts": mount_table.read(),
            "processes": _processes(), "sysctls": sysctls()}


def difference(before, after):
    """Lines that tell two manifests apart."""
    lines = snapshot.difference(before["files"], after["files"])
    for what in ("mounts", "processes", "sysctls"):
        if before[what] != after[what]:
            lines.append(f"{what}: {before[what]} became {after[what]}")
    return lines
