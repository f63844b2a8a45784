# SPDX-License-Identifier: MIT
"""Control groups of this machine for tests: made, with device rules, and removed again."""

import contextlib
import ctypes
import itertools
import os
import pathlib
import signal
import struct
import time
import unittest

_libc = ctypes.CDLL(None, use_errno=True)
_numbers = itertools.count()
SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
PROG_LOAD, PROG_ATTACH, LINK_CREATE = 5, 8, 28
CGROUP_DEVICE_PROGRAM, CGROUP_DEVICE_ATTACH, ALLOW_MULTI = 15, 6, 2
PLACES = {1: ("/sys/fs/cgroup/devices",), 2: ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")}
TYPES = {1: "cgroup", 2: "cgroup2"}


def place(version):
    """Where the hierarchy is that knows of devices; None where there is none."""
    with open("/proc/self/mountinfo", encoding="utf-8") as table:
        mounts = {line.split()[4]: line.split(" - ")[1].split()[0] for line in table}
    return next((pathlib.Path(path) for path in PLACES[version]
                 if mounts.get(path) == TYPES[version]), None)


def own(version):
    """The group that the tests are in."""
    with open("/proc/self/cgroup", encoding="utf-8") as lines:
        for line in lines:
            number, controllers, path = line.rstrip("\n").split(":", 2)
            if (number == "0") if version == 2 else ("devices" in controllers.split(",")):
                return path.rstrip("/")
    return ""


class Group:
    """One for the rest of a test case; the test is skipped where there can be none."""

    def __init__(self, case, version, above=None, kind=""):
        top = place(version)
        if top is None:
            raise unittest.SkipTest(f"no device cgroups of version {version} here")
        self.version = version
        self.path = (f"{above.path if above else own(version)}"
                     f"/gpuctr-test-{os.getpid()}-{next(_numbers)}{kind}")
        self.directory = pathlib.Path(f"{top}{self.path}")
        try:
            self.directory.mkdir()
        except OSError as error:
            raise unittest.SkipTest(f"{self.directory}: {error.strerror}") from error
        case.addCleanup(self.remove)

    def write(self, file, text):
        (self.directory / file).write_text(f"{text}\n", encoding="utf-8")

    def read(self, file):
        return (self.directory / file).read_text(encoding="utf-8")

    def rules(self):
        return sorted(self.read("devices.list").splitlines())

    def add(self, *processes):
        for process in processes:
            self.write("cgroup.procs", process)

    def remove(self):
        if (self.directory / "cgroup.freeze").exists():
            self.write("cgroup.freeze", 0)
        # Of a threaded group there is no list of processes.
        threaded = self.version == 2 and self.read("cgroup.type") == "threaded\n"
        for _ in range(1000):
            for process in self.read("cgroup.threads" if threaded else "cgroup.procs").split():
                with contextlib.suppress(ProcessLookupError):  # it has ended since
                    os.kill(int(process), signal.SIGKILL)
            try:
                self.directory.rmdir()
                return
            except OSError:
                time.sleep(0.01)
        raise AssertionError(f"{self.directory} stays")

    def freeze(self):
        self.write("cgroup.freeze", 1)
        while "frozen 1" not in self.read("cgroup.events"):
            time.sleep(0.001)

    def forbid(self, major, minor=None, nodes_too=True, flags=ALLOW_MULTI,
               asks_the_kernel=False):
        """Version 2: has a program forbid a device, or all of a major number. Without
        `nodes_too` its nodes may be made, as in many containers. The flags are those by which
        the program is attached. One that asks the kernel does more than to compare numbers."""
        program = _load(_program(major, minor, nodes_too, asks_the_kernel))
        group = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _bpf(PROG_ATTACH, struct.pack("IIII", group, program, CGROUP_DEVICE_ATTACH,
                                          flags))
        finally:
            os.close(group)
            os.close(program)

    def forbid_by_link(self, major):
        """Until the descriptor that is returned is closed."""
        program = _load(_program(major, None, True))
        group = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return _bpf(LINK_CREATE, struct.pack("IIII", program, group, CGROUP_DEVICE_ATTACH, 0))
        finally:
            os.close(group)
            os.close(program)


def _word(code, to=0, source=0, offset=0, value=0):
    return struct.pack("BBhi", code, to | source << 4, offset, value)


def _program(major, minor, nodes_too, asks_the_kernel=False):
    """Of the kernel's BPF: 0, which forbids, for the device, else 1."""
    wanted = [(0x55, 2, major)]  # what must be equal to be forbidden, or must not
    if minor is not None:
        wanted.append((0x55, 3, minor))
    if not nodes_too:
        wanted.append((0x15, 4, 1))  # BPF_DEVCG_ACC_MKNOD alone
    checks = [_word(code, register, 0, len(wanted) - number, value)
              for number, (code, register, value) in enumerate(wanted)]
    # bpf_get_current_uid_gid() takes no argument; the context is kept over it.
    ask = [_word(0xbf, 6, 1), _word(0x85, value=15), _word(0xbf, 1, 6)] if asks_the_kernel else []
    return b"".join([*ask, _word(0x61, 2, 1, 4), _word(0x61, 3, 1, 8), _word(0x61, 4, 1, 0),
                     _word(0x77, 4, 0, 0, 16), _word(0xb7, 0, 0, 0, 1), *checks,
                     _word(0xb7, 0, 0, 0, 0), _word(0x95)])


def _bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes, 144)
    done = _libc.syscall(SYS_BPF, command, buffer, len(buffer))
    if done < 0:
        error = ctypes.get_errno()
        raise unittest.SkipTest(f"no program for a control group: {os.strerror(error)}")
    return done


def _load(program):
    code = ctypes.create_string_buffer(program, len(program))
    licence = ctypes.create_string_buffer(b"MIT")
    return _bpf(PROG_LOAD, struct.pack("IIQQ", CGROUP_DEVICE_PROGRAM, len(program) // 8,
                                       ctypes.addressof(code), ctypes.addressof(licence)))
