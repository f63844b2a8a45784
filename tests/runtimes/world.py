# SPDX-License-Identifier: MIT
"""A machine of one's own for container runtimes, of which nothing stays.

Processes, mounts, the network, System V's IPC, the host's name and cgroups (those of
version 2 alone) are private. What is not temporary is read-only, so that no runtime
leaves a file on the machine."""

import contextlib
import ctypes
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
OWN_WORLD = TESTS / "support/own-world"
sys.path[:0] = [str(TESTS / "cli"), str(TESTS / "support")]

# pylint: disable=wrong-import-position
import mount_table

CGROUPS = pathlib.Path("/sys/fs/cgroup")
OWN_CGROUP = "tests"
MS_REMOUNT, MS_BIND, MS_RDONLY = 0x20, 0x1000, 0x1
MNT_DETACH = 2
FLAGS = {"nosuid": 0x2, "nodev": 0x4, "noexec": 0x8, "noatime": 0x400, "nodiratime": 0x800,
         "relatime": 0x200000}
# Those of the kernel, and temporary ones.
STAY_WRITABLE = re.compile(r"/(proc|sys|dev|run|tmp|var/tmp)(/.*)?")

_libc = ctypes.CDLL(None, use_errno=True)


def _must(done, what):
    if done != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def mount(source, target, kind=None, flags=0, options=None):
    _must(_libc.mount(*(text and os.fsencode(text) for text in (source, target, kind)), flags,
                      options and options.encode()), f"mount {target}")


def unmount(path):
    """With all below it, once nobody uses it any more."""
    _must(_libc.umount2(os.fsencode(path), MNT_DETACH), f"umount {path}")


class Cgroup:
    """One of version 2, for this process and all that it starts."""

    def __init__(self, name):
        roots = [m.target for m in mount_table.read() if m.type == "cgroup2"]
        if not roots:
            raise OSError("no hierarchy of cgroups of version 2 is mounted")
        self.path = pathlib.Path(roots[-1]) / name
        self._home = pathlib.Path(roots[-1]) / self._mine().lstrip("/")

    @staticmethod
    def _mine():
        for line in pathlib.Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
            if line.startswith("0::"):
                return line[3:]
        raise OSError("this process is in no cgroup of version 2")

    def enter(self):
        self.path.mkdir()
        self.move(self.path)

    @staticmethod
    def move(path):
        (path / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")

    def remove(self):
        """Names what is in use still."""
        self.move(self._home)
        kept = []
        for directory, _, _ in os.walk(self.path, topdown=False):
            try:
                os.rmdir(directory)
            except OSError as error:
                kept.append(f"cgroup {directory}: {error.strerror}")
        return kept


def enter(words, cgroup):
    """Runs `words` as the first process of such a world, and tells its status."""
    cgroup.enter()
    inside = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork",
              "--kill-child=KILL", "--mount-proc", "--net", "--ipc", "--uts", "--cgroup"]
    try:
        return subprocess.run([*inside, *words], check=False).returncode
    finally:
        for line in cgroup.remove():
            print(f"left: {line}", file=sys.stderr)


def arrange(directory):
    """In such a world: all but `directory`, a new tmpfs, becomes read-only."""
    for path in [m.target for m in reversed(mount_table.below(CGROUPS))]:
        unmount(path)
    mount("runtimes", CGROUPS, "cgroup2")
    own = CGROUPS / OWN_CGROUP
    own.mkdir()
    Cgroup.move(own)
    for entry in mount_table.read():
        if not STAY_WRITABLE.fullmatch(entry.target) and "ro" not in entry.options.split(","):
            flags = sum(FLAGS.get(word, 0) for word in entry.options.split(","))
            mount(None, entry.target, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | flags)
    mount("runtimes", directory, "tmpfs", options="mode=0755")
    give_ids(directory / "ids")


def give_ids(file):
    """Ids for containers of root and of an ordinary user, as packages and adduser give them."""
    file.write_text("root:1000000:65536\nnobody:2000000:65536\n", encoding="ascii")
    for name in ("/etc/subuid", "/etc/subgid"):
        if os.path.exists(name):
            mount(str(file), name, flags=MS_BIND)


def show_kernel(directory):
    """Mounts a /proc and a /sys that nothing is mounted on: without one in sight, as on the
    recorded host, the kernel lets no user namespace mount another."""
    for kind in ("proc", "sysfs"):
        (directory / kind).mkdir(parents=True)
        mount(kind, directory / kind, kind)


@contextlib.contextmanager
def scratch(directory):
    """A tmpfs, which goes with all that is mounted below it."""
    directory.mkdir()
    mount("runtimes", directory, "tmpfs", options="mode=0755")
    try:
        yield
    finally:
        unmount(directory)
        directory.rmdir()


@contextlib.contextmanager
def covered(directory):
    """A tmpfs over a directory that is there."""
    mount("runtimes", directory, "tmpfs", options="mode=0755")
    try:
        yield
    finally:
        unmount(directory)


def others():
    """Processes besides this one, which is the first, and those that have ended."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
        except ChildProcessError:
            break
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            text = pathlib.Path(f"/proc/{name}/cmdline").read_bytes()
            if text:  # none of one that has ended
                found[int(name)] = text.replace(b"\0", b" ").decode(errors="replace").strip()
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def end_others(patience=5):
    """Waits for the processes of a runtime to end, ends the others, and names those."""
    deadline = time.monotonic() + patience
    while others() and time.monotonic() < deadline:
        time.sleep(0.05)
    left = others()
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    while others():
        time.sleep(0.05)
    return [f"process {text}" for text in left.values()]


def used_cgroups():
    """Those with processes, besides this one's."""
    found = []
    for directory, _, _ in os.walk(CGROUPS):
        path = pathlib.Path(directory)
        if path not in (CGROUPS, CGROUPS / OWN_CGROUP) \
                and (path / "cgroup.procs").read_text(encoding="ascii").strip():
            found.append(f"cgroup {path.relative_to(CGROUPS)}")
    return found
