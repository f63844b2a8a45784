# SPDX-License-Identifier: MIT
"""What the tests of gpuctr-setup share: container roots, the command, comparing."""

import atexit
import contextlib
import itertools
import json
import os
import pathlib
import subprocess
import sysconfig
import unittest
import uuid

import mount_table
import recorded_host
import snapshot

SETUP = os.environ["GPUCTR_SETUP"]
SIMHOST = os.environ["GPUCTR_SIMHOST"]
HOST_DIR = os.environ["GPUCTR_HOST_DIR"]
MAKE_ROOTFS = os.environ["GPUCTR_MAKE_ROOTFS"]
NEEDS_DRIVER = os.environ["GPUCTR_NEEDS_DRIVER"]
OPENS_DRIVER = os.environ["GPUCTR_OPENS_DRIVER"]
VERSION = "580.159.04"
MULTIARCH = sysconfig.get_config_var("MULTIARCH")
TREE = "/usr/lib/gpuctr"
STATE = pathlib.Path("/var/lib/gpucontainer")
DIRECTORY = pathlib.Path(os.environ["GPUCTR_TEST_DIRECTORY"])
# Below /run, on simulated hosts whose driver lies in a file system of its own.
DRIVER_ROOTS = ("bottlerocket", "nixos", "nvidia", "grace", "power")
ORDINARY_USER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]

_numbers = itertools.count()


# An emulated machine is many times slower.
TIMEOUT = 60 * int(os.environ.get("GPUCTR_TEST_SLOWNESS", "1"))

# Whether the variant of the tests that runs (launch.py) chooses the backend.
CHOOSES_BACKEND = ("GPUCTR_TEST_BACKEND" in os.environ
                   or any(call in os.environ.get("GPUCTR_TEST_FORBID", "")
                          for call in ("mount_api", "mount_setattr", "linux_4_18")))

# Whether it is the legacy one, which cannot lock mounts.
IS_LEGACY = CHOOSES_BACKEND and os.environ.get("GPUCTR_TEST_BACKEND") in (None, "legacy")

# Whether there is no openat2.
IS_WITHOUT_OPENAT2 = any(call in os.environ.get("GPUCTR_TEST_FORBID", "")
                         for call in ("openat2", "linux_4_18"))

# Whether it is Linux 4.18 that is played.
IS_PLAYED = "linux_4_18" in os.environ.get("GPUCTR_TEST_FORBID", "")


def call(*words, **options):
    """Runs a command to its end with its output as text. The backend that a test
    forces yields to that of a variant."""
    words = list(words)
    if CHOOSES_BACKEND and SETUP in words and "--backend" in words:
        at = words.index("--backend")
        del words[at:at + 2]
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
               "text": True, "timeout": TIMEOUT, "check": False} | options
    return subprocess.run([str(word) for word in words], **options)


def on_host(host=HOST_DIR, *options):
    """What comes before a command that is to run on a recorded host."""
    return recorded_host.command(SIMHOST, host, *options)


def must(*words, **options):
    """Same for a command of the test itself, which has to succeed."""
    done = call(*words, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def mount_tmpfs(directory):
    directory.mkdir(parents=True, exist_ok=True)
    must("mount", "-t", "tmpfs", "-o", "mode=0755", "test", directory)


def stack_overlays(directory, count, writable=False):
    """Each over the one before, with nothing of its own; the last one may be writable."""
    empty = DIRECTORY / "empty"
    empty.mkdir(exist_ok=True)
    for number in range(count):
        options = f"ro,lowerdir={empty}:{directory}"
        if writable and number == count - 1:
            upper = DIRECTORY / f"upper{next(_numbers)}"
            for part in ("upper", "work"):
                (upper / part).mkdir(parents=True)
            options = f"lowerdir={directory},upperdir={upper}/upper,workdir={upper}/work"
        must("mount", "-t", "overlay", "-o", options, "test", directory)


def _prepare():
    """Puts what the tests write, and the default directories of journals and of the
    staged tree, on tmpfs: an undo that removes the latter unmounts it in all namespaces."""
    before = os.open("/run", os.O_PATH)
    for directory in ("/var/lib", "/run", DIRECTORY):  # which may be below /run
        mount_tmpfs(pathlib.Path(directory))
    for name in DRIVER_ROOTS:
        if os.path.exists(f"/proc/self/fd/{before}/{name}"):
            must("cp", "-a", f"/proc/self/fd/{before}/{name}", "/run", pass_fds=[before])
    os.close(before)
    must(MAKE_ROOTFS, DIRECTORY / "template", NEEDS_DRIVER, OPENS_DRIVER, "/usr/bin/ld", "/usr/bin/setpriv", "/usr/bin/unshare",
         "/usr/bin/touch", "/usr/bin/kill")
    atexit.register(call, "umount", "-l", DIRECTORY)


_prepare()


def new_root(mounted=False):
    """A container root of its own, on a mount of its own if asked for."""
    root = DIRECTORY / f"root{next(_numbers)}"
    root.mkdir()
    if mounted:
        mount_tmpfs(root)
    must("cp", "-a", f"{DIRECTORY}/template/.", root)
    return root


def journals():
    return sorted(path.name for path in STATE.glob("*/*.json*"))


def setup(*words, **options):
    return call(SETUP, *words, **options)


@contextlib.contextmanager
def new_boot():
    """What a reboot changes besides the mounts."""
    boot_id = DIRECTORY / "boot_id"
    boot_id.write_text(f"{uuid.uuid4()}\n")
    must("mount", "--bind", boot_id, "/proc/sys/kernel/random/boot_id")
    try:
        yield
    finally:
        must("umount", "/proc/sys/kernel/random/boot_id")


def load_module(case, version):
    """Has the kernel module be of another version, until the end of the test case."""
    for path in ("/sys/module/nvidia/version", "/proc/driver/nvidia/version"):
        text = pathlib.Path(path).read_text().replace(VERSION, version)
        file = DIRECTORY / f"version{next(_numbers)}"
        file.write_text(text)
        must("mount", "--bind", file, path)
        case.addCleanup(call, "umount", path)


def new_driver(case, version):
    """A driver root with the host's libraries as another version has them."""
    root = DIRECTORY / f"driver{next(_numbers)}"
    case.addCleanup(call, "rm", "-rf", root)
    lib = root / "usr/lib/x86_64-linux-gnu"
    lib.mkdir(parents=True)
    (root / "usr/bin").mkdir()
    (root / "etc").mkdir()
    for path in pathlib.Path("/usr/local/nvidia/lib64").glob("lib*.so.*"):
        if path.is_symlink() or VERSION not in path.name:
            continue
        copy = lib / path.name.replace(VERSION, version)
        copy.write_bytes(path.read_bytes().replace(VERSION.encode(), version.encode()))
    must("ldconfig", "-r", root)
    return root


class Case(unittest.TestCase):
    """One root file system, and the promise that nothing is left of a set-up."""

    maxDiff = None
    mounted = False

    def setUp(self):
        self.root = new_root(self.mounted)
        self.addCleanup(self.remove_root)

    def remove_root(self):
        while mounts := mount_table.below(self.root):
            must("umount", "-l", mounts[-1].target)
        must("rm", "-rf", "--one-file-system", self.root)
        must("rm", "-rf", STATE)

    def run_setup(self, *words, status=0, stdout="", stderr="", **options):
        """Runs the command; a string for each output, or None for any; so for the status."""
        done = setup(*words, **options)
        what = f"gpuctr-setup {' '.join(map(str, words))}: {done.stderr}"
        if status is not None:
            self.assertEqual(done.returncode, status, what)
        if stdout is not None:
            self.assertEqual(done.stdout, stdout, what)
        if stderr is not None:
            self.assertEqual(done.stderr, stderr, what)
        return done

    def plan(self, *words):
        done = self.run_setup("plan", "--nv", "--rootfs", self.root, "--format", "json", *words,
                              stdout=None)
        return json.loads(done.stdout)

    def apply(self, *words, **options):
        return self.run_setup("--nv", "--rootfs", self.root, *words, **options)

    def replaced(self):
        """What is said of another set-up that goes first."""
        return f"gpuctr-setup: {self.root}: an older set-up was replaced\n"

    def apply_over(self, *words, **options):
        return self.apply(*words, stderr=self.replaced(), **options)

    def undo(self, *words, **options):
        return self.run_setup("undo", "--rootfs", self.root, *words, **options)

    def state(self):
        return snapshot.take(self.root), mount_table.read()

    def assert_state(self, before, without=(), message=""):
        files, mounts = self.state()
        lines = [f"{m.target}: unmounted: {m}" for m in before[1] if m not in mounts]
        lines += [f"{m.target}: mounted: {m}" for m in mounts if m not in before[1]]
        lines += snapshot.difference(before[0], files, without)
        self.assertEqual(lines, [], message)

    @contextlib.contextmanager
    def nothing_changes(self, without=(), journal=True):
        before = self.state()
        yield
        self.assert_state(before, without)
        if journal:
            self.assertEqual(journals(), [])

    def in_each_way(self, check, *options):
        """Every way of mounting: what is found, a second apply, and undo."""
        for write in ("auto", "never"):
            for backend in ("detached", "assembled"):
                with self.subTest(write=write, backend=backend):
                    before = self.state()
                    self.apply("--write", write, "--backend", backend, *options)
                    check()
                    again = self.state()
                    self.apply("--write", write, "--backend", backend, *options)
                    self.assert_state(again)
                    self.undo()
                    self.assert_state(before)
                    self.assertEqual(journals(), [])

    def inside(self, *words, **options):
        """Runs a program of the container in it, with a /proc."""
        return must("unshare", "--mount", "sh", "-c",
                    'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"', self.root, *words,
                    **options)
