# SPDX-License-Identifier: MIT
"""Runs a command in a cgroup that forbids devices, as a scheduler's task is.

    device_cgroup.py MAJOR:MINOR... -- COMMAND...

The cgroup is one of the second version, mounted for this alone, with a program of BPF
that answers for each device. It goes with the command. Exits with 77 where the kernel
has no such thing, or this is not root.
"""

import ctypes
import os
import platform
import struct
import subprocess
import sys
import tempfile

SKIPPED = 77
BPF = {"x86_64": 321, "aarch64": 280, "riscv64": 280}.get(platform.machine())
PROG_LOAD, PROG_ATTACH = 5, 8
CGROUP_DEVICE_PROGRAM, CGROUP_DEVICE_ATTACHMENT = 15, 6
LOAD_MAJOR, LOAD_MINOR = (2, 4), (3, 8)  # register, place in the question
CLONE_NEWNS, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 0x4000, 0x40000, 2

libc = ctypes.CDLL(None, use_errno=True)


class Unavailable(Exception):
    """What keeps this machine from having such a cgroup."""


def check(result, what):
    if result < 0:
        raise Unavailable(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def instruction(code, registers=0, offset=0, value=0):
    return struct.pack("<BBhi", code, registers, offset, value)


def program(forbidden):
    """Allows everything but these numbers; each costs two comparisons."""
    load = [instruction(0x61, 1 << 4 | register, place)  # r = *(u32 *)(r1 + place)
            for register, place in (LOAD_MAJOR, LOAD_MINOR)]
    body = []
    for major, minor in forbidden:
        body += [instruction(0x55, 2, 3, major),  # if r2 != major: over the next three
                 instruction(0x55, 3, 2, minor),
                 instruction(0xb7, 0, 0, 0),  # r0 = 0
                 instruction(0x95)]  # exit
    return b"".join([*load, *body, instruction(0xb7, 0, 0, 1), instruction(0x95)])


def bpf(command, attributes):
    if BPF is None:
        raise Unavailable("bpf: not known on this machine")
    buffer = ctypes.create_string_buffer(attributes, max(len(attributes), 128))
    return check(libc.syscall(BPF, command, buffer, len(buffer)), "bpf")


def load(code):
    text, licence = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
    return bpf(PROG_LOAD, struct.pack(
        "<IIQQIIQII16sII", CGROUP_DEVICE_PROGRAM, len(code) // 8, ctypes.addressof(text),
        ctypes.addressof(licence), 0, 0, 0, 0, 0, b"forbids", 0, CGROUP_DEVICE_ATTACHMENT))


def mounted(directory):
    """Where cgroups are, in a mount namespace of this process's own."""
    check(libc.unshare(CLONE_NEWNS), "unshare")
    check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount")
    check(libc.mount(b"none", directory.encode(), b"cgroup2", 0, None), "mount cgroup2")
    return directory


def forbid(cgroup, forbidden):
    descriptor = os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY)
    bpf(PROG_ATTACH, struct.pack("<IIII", descriptor, load(program(forbidden)),
                                 CGROUP_DEVICE_ATTACHMENT, 0))
    os.close(descriptor)


def run_in(cgroup, namespace, command):
    def enter():
        with open(f"{cgroup}/cgroup.procs", "w", encoding="ascii") as processes:
            processes.write("0")
        here = os.getcwd()
        check(libc.setns(namespace, CLONE_NEWNS), "setns")
        os.chdir(here)

    return subprocess.run(command, preexec_fn=enter, check=False).returncode


def main(words):
    at = words.index("--")
    forbidden = [tuple(map(int, word.split(":"))) for word in words[:at]]
    directory = tempfile.mkdtemp(prefix="gpuctr-cgroup-")
    namespace = os.open("/proc/self/ns/mnt", os.O_RDONLY)  # the command's
    cgroup = None
    try:
        cgroup = f"{mounted(directory)}/gpuctr-test-{os.getpid()}"
        os.mkdir(cgroup)
        forbid(cgroup, forbidden)
        return run_in(cgroup, namespace, words[at + 1:])
    except (Unavailable, PermissionError) as error:
        print(error, file=sys.stderr)
        return SKIPPED
    finally:
        if cgroup is not None and os.path.isdir(cgroup):
            os.rmdir(cgroup)
        libc.umount2(directory.encode(), MNT_DETACH)
        os.rmdir(directory)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
