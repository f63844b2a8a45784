# SPDX-License-Identifier: MIT
"""The command with one of its system calls going wrong, by tests/faults/inject."""

import collections
import errno
import os
import pathlib
import re
import stat

import harness
import mount_table
import snapshot

INJECT = os.environ["GPUCTR_INJECT"]
SANITIZED = os.environ.get("GPUCTR_SANITIZED") == "1"
LONG = os.environ.get("GPUCTR_TEST_LONG") == "1"
EVERY = 1 if LONG else int(os.environ.get("GPUCTR_FAULT_EVERY", "1"))
ERRORS = [errno.ENOMEM, errno.EPERM, errno.EIO, errno.ENOSYS, errno.EINTR]
EXIT_CODES = {1: "internal", 2: "configuration", 3: "no device", 4: "driver", 5: "root",
              6: "permission", 7: "requirement", 8: "apply"}
KILLED = 128 + 9
# Calls that others can see the outcome of.
CHANGING = {"mkdir", "mkdirat", "symlinkat", "mknodat", "write", "fchmod", "fchmodat", "rename",
            "renameat", "renameat2", "unlink", "unlinkat", "utimensat", "mount", "move_mount",
            "mount_setattr", "umount2", "fsync", "flock", "clone", "unshare", "setns"}
# Calls of the sanitizers' own, which end the process where one fails.
RUN_TIMES = {"mmap", "munmap", "mremap", "pipe2"}
_HEADER = pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")


class Point(collections.namedtuple("Point", "process call number")):
    """The number-th call of a kind that a process of the command makes."""

    names = {int(number): name
             for name, number in re.findall(r"__NR_(\w+) (\d+)", _HEADER.read_text())}

    @property
    def name(self):
        return self.names.get(self.call, str(self.call))

    @property
    def options(self):
        return "-p", self.process, "-c", self.call, "-n", self.number

    def __str__(self):
        return f"{self.name} {self.number} of process {self.process}"


def without_run_time(points):
    """UBSan asks whether memory is there by writing it into a pipe."""
    probing = set()
    kept = []
    for point in points:
        if point.name == "pipe2":
            probing.add(point.process)
        elif point.name == "write" and point.process in probing:
            probing.remove(point.process)
        elif point.name not in RUN_TIMES:
            kept.append(point)
    return kept


def number(name):
    """Of the system call."""
    return next(number for number, called in Point.names.items() if called == name)


def inject(*words):
    """Runs INJECT with these words. What looks for leaks cannot be traced."""
    environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    return harness.call(INJECT, *words, env=environment)


def read_points(report):
    """The calls that a report of INJECT has, in their order, without those of a sanitizer."""
    numbers = collections.Counter()
    points = []
    for line in pathlib.Path(report).read_text().splitlines():
        key = tuple(map(int, line.split()))
        numbers[key] += 1
        points.append(Point(*key, numbers[key]))
    return without_run_time(points) if SANITIZED else points


class Case(harness.Case):
    """A small set-up, so that each call can be tried: all of them, or one in so
    many where a build makes each try slow."""

    write, backend = "auto", "detached"
    arguments = ["--device", "0", "--driver-capabilities", "utility"]

    def setUp(self):
        super().setUp()
        self.report = harness.DIRECTORY / "report"
        self.tried = 0
        self.name_root()

    def name_root(self):
        # What the first of all makes would be a call that no other has.
        harness.STATE.mkdir(mode=0o700, exist_ok=True)
        self.words = ["--nv", "--rootfs", self.root, "--write", self.write, "--backend",
                      self.backend, *self.arguments]
        self.undo_words = ["undo", "--rootfs", self.root]

    def inject(self, words, *options):
        return inject("-o", self.report, *options, harness.SETUP, *words)

    def points(self, words):
        """Every call that the command makes, in each of its processes."""
        done = self.inject(words)
        self.assertEqual(done.returncode, 0, done.stderr)
        points = read_points(self.report)
        self.assertGreater(len(points), 10)
        return points

    def shape(self):
        """What is there, without what differs from one set-up to the next."""
        names = {f"{path} {entry.content if stat.S_ISLNK(entry.type) else entry.type}"
                 for path, entry in snapshot.take(self.root).items()}
        mounts = {f"mount at {m.target[len(str(self.root)):]}"
                  for m in mount_table.below(self.root)}
        return names | mounts

    def each(self, points, attempt):
        """Calls attempt(point, words for messages) with each, on a root that no
        failure before has touched."""
        for point in points:
            self.tried += 1
            with self.subTest(point=str(point)):
                try:
                    attempt(point)
                except AssertionError:
                    self.start_again()
                    raise

    def start_again(self):
        self.remove_root()
        self.root = harness.new_root(self.mounted)
        self.name_root()
        self.before = self.state()

    def check_nothing_left(self, message):
        self.assert_state(self.before, (), message)
        self.assertEqual(self.journals(), [], message)

    @staticmethod
    def journals():
        """All that is kept; the lock of one that was never written is nothing."""
        return [path for path in harness.STATE.glob("*/*") if path.name != "lock"]

    def check_error(self, done, message):
        self.assertIn(done.returncode, EXIT_CODES, message)
        self.assertEqual(done.stdout, "", message)
        lines = done.stderr.splitlines()
        self.assertTrue(lines and lines[0].startswith("gpuctr-setup: "), message)
        self.assertLessEqual(len(lines), 2, message)
        self.assertTrue(all(line.startswith("hint: ") for line in lines[1:]), message)


class OnASharedMount:
    """A directory of a shared mount, with something mounted below it: what is unmounted
    from a copy of both that was not made private is unmounted from the originals too."""

    BEHIND = 40  # calls behind the first journal that is written

    def setUp(self):
        harness.must("mount", "--make-shared", harness.DIRECTORY)
        self.addCleanup(harness.must, "mount", "--make-private", harness.DIRECTORY)
        super().setUp()
        self.mount_below()

    def start_again(self):
        super().start_again()
        self.mount_below()
        self.before = self.state()

    def mount_below(self):
        harness.must("mount", "-t", "tmpfs", "test", self.root / "mnt")

    def around_the_bind(self, points):
        journal = next(n for n, p in enumerate(points) if p.name == "renameat")
        bind = max(n for n, p in enumerate(points[:journal])
                   if p.name in ("open_tree", "open_tree_attr", "mount"))
        return points[bind - 6:journal + self.BEHIND]


class WithMounts:
    """What lies below the overlays has to be put on top of them."""

    write = "never"

    def setUp(self):
        super().setUp()
        self.mount_below()

    def start_again(self):
        super().start_again()
        self.mount_below()
        self.before = self.state()

    def mount_below(self):
        target = self.root / "usr/local/lib/here"
        target.mkdir()
        harness.must("mount", "-t", "tmpfs", "test", target)


class OnAnOverlayOnAnOverlay:
    """No overlay of names can lie over it: what there is in a directory is listed. It has
    few names, each of which costs some calls."""

    write = "never"

    def setUp(self):
        super().setUp()
        self.stack_overlays()

    def start_again(self):
        super().start_again()
        self.stack_overlays()
        self.before = self.state()

    def stack_overlays(self):
        for path in (self.root / "usr/bin").iterdir():
            if path.name not in ("sh", "env"):
                path.unlink()
        for name in ("dev", "opt"):
            (self.root / name / "file").touch()
        harness.stack_overlays(self.root, 2)
