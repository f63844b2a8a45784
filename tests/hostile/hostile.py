# SPDX-License-Identifier: MIT
"""What the tests with hostile images share: a canary beside the image, every way to
set an image up, and what must be so after each."""

import contextlib
import os
import re
import stat

import executed
import harness
import mount_table
import snapshot

# Each way in which names and mounts come about in an image.
MODES = {
    "auto": [],
    "always": ["--write", "always"],
    "never": ["--write", "never"],
    "merged": ["--layout", "merged"],
    "merged, never": ["--layout", "merged", "--write", "never"],
    "nodes alone": ["--vendor-libs", "none"],
}
# Where the build makes each command slow; the other build takes all.
if os.environ.get("GPUCTR_TEST_FEWER") == "1":
    MODES = {name: MODES[name] for name in ("auto", "never", "nodes alone")}
TABLE = ["--", "/usr/bin/cat", "/proc/self/mountinfo"]
ATTACKER = os.environ["GPUCTR_ATTACKER"]
NAIVE = os.environ["GPUCTR_NAIVE"]
SECRET = "nobody in a container may read this\n"

# What comes to be in an image, as it would be on the host.
OURS = (harness.TREE, "/etc/ld.so.conf", "/etc/ld.so.conf.d/00-gpuctr.conf", "/usr/local/nvidia",
        "/etc/.gpuctr-kept-ld.so.cache", "/usr/bin/nvidia-smi", "/dev/nvidia0", "/dev/nvidiactl",
        "/proc/driver/nvidia/params", f"/usr/lib/{harness.MULTIARCH}/libcuda.so.1",
        f"/usr/lib/{harness.MULTIARCH}/libcuda.so.{harness.VERSION}")

# "Device or resource busy" and the like are for what cannot be taken back alone.
REFUSALS = (5, 6, 7)
NOT_SET_UP = 125
TREE_FILE = f"{harness.TREE}/lib64/libcuda.so.{harness.VERSION}"


class Case(harness.Case):
    """An image with a canary beside it, on the same file system."""

    def state(self):
        """What is in the kernel's file systems is not for comparing."""
        files, table = snapshot.take(self.root, ("/proc", "/sys")), mount_table.read()
        for path in ("/proc", "/sys"):
            if os.path.ismount(self.path(path)):
                del files[path]
        return files, table

    def shortDescription(self):
        ids = f"{self._testMethodDoc}: " if self._testMethodDoc else ""
        return ids + self._testMethodName

    def setUp(self):
        super().setUp()
        self.canary = harness.DIRECTORY / "cny"
        for path in ("d", "dev", "etc", "lib"):
            (self.canary / path).mkdir(parents=True)
        self.addCleanup(harness.must, "rm", "-rf", self.canary)
        (self.canary / "f").write_text("canary\n")
        (self.canary / "secret").write_text(SECRET)
        (self.canary / "secret").chmod(0o600)
        for path in ("dev/nvidia0", "etc/ld.so.cache", "etc/ld.so.conf", "lib/libcuda.so.1"):
            (self.canary / path).write_text("canary\n")
        self.untouched = self.look_outside()
        self.watch = executed.Watch()
        self.addCleanup(self.watch.close)

    # Making an image up; paths are those in it.

    def path(self, inside):
        return self.root / inside.lstrip("/")

    def clear(self, inside):
        """Makes way for something else at a path."""
        path = self.path(inside)
        harness.must("rm", "-rf", path)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def link(self, inside, target):
        self.clear(inside).symlink_to(target)

    def put(self, inside, content="the image's own"):
        path = self.clear(inside)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(0o755)
        return path

    def relative(self, path):
        """The way to a path of the host for those who think they are in the image."""
        return "../" * 12 + str(path).lstrip("/")

    # What must be so.

    def look_outside(self):
        """The canary, with the times of its last changes, which nobody can set back, not even
        who made a name and removed it again; and the host's own files of the names that we
        make. Of a file with another name in the image that time tells of both."""
        files = snapshot.take(self.canary)
        paths = [*OURS, *(f"{self.canary}{path}" for path in files)]
        return files, {path: self.last_change(path) for path in paths}

    @staticmethod
    def last_change(path):
        try:
            status = os.lstat(path)
        except OSError:
            return None
        if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
            return status.st_dev, status.st_ino
        return status.st_dev, status.st_ino, status.st_ctime_ns

    def assert_canary(self):
        files, changes = self.look_outside()
        self.assertEqual(snapshot.difference(self.untouched[0], files), [])
        self.assertEqual([path for path, change in changes.items()
                          if change != self.untouched[1].get(path)], [], "changed meanwhile")
        with open("/etc/ld.so.cache", "rb") as cache:
            self.assertNotIn(harness.TREE.encode(), cache.read())

    def outside(self, table):
        return [m for m in table if not (m.target + "/").startswith(f"{self.root}/")]

    def assert_no_source_in_image(self, mounts):
        """The root is bound on itself; nothing else of it, or of the canary, is mounted."""
        sources = [m for m in mounts
                   if m.source == "test" and m.root != "/" and m.target != str(self.root)]
        self.assertEqual(sources, [])

    def assert_calm(self, done):
        """It ended by itself, and says in the usual form what it refuses."""
        self.assertGreaterEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Sanitizer", done.stderr)
        self.assertNotIn("internal error", done.stderr)
        if done.returncode != 0:
            self.assertRegex(done.stderr, "^gpuctr-setup: ")

    def assert_outcome(self, done, succeeds, failures):
        self.assert_calm(done)
        if succeeds is not None:
            self.assertEqual(done.returncode == 0, succeeds, done.stderr)
        self.assertIn(done.returncode, (0, *failures), done.stderr)

    # Setting it up.

    def each_mode(self, look=lambda: None, succeeds=None, modes=tuple(MODES), command=True):
        """Sets the image up in each way, looks at it, and undoes it again: either it
        fits, or it is refused, and nothing is different outside, or afterwards."""
        before = self.state()
        self.watch.add(self.root)
        for mode in (mode for mode in modes if mode in MODES):
            with self.subTest(mode=mode):
                done = self.watched("--nv", "--rootfs", self.root, "--device", "0", *MODES[mode])
                self.assert_outcome(done, succeeds, REFUSALS)
                if done.returncode == 0:
                    self.assert_set_up(before, look)
                    undone = self.watched("undo", "--rootfs", self.root)
                    self.assertEqual((undone.returncode, undone.stderr), (0, ""))
                self.assert_canary()
                self.assert_state(before)
                self.assertEqual(harness.journals(), [])
        if command:
            with self.subTest(mode="command"):
                self.check_command(before, succeeds)

    def watched(self, *words):
        """Runs the command, which executes nothing that lies where the image does."""
        self.watch.take()
        done = harness.setup(*words)
        self.assertEqual(self.watch.take(), [])
        return done

    def assert_set_up(self, before, look):
        table = mount_table.read()
        self.assertEqual(self.outside(table), self.outside(before[1]))
        self.assert_no_source_in_image([m for m in table if m not in before[1]])
        self.assert_canary()
        look()

    def check_command(self, before, succeeds):
        done = harness.setup("--nv", "--rootfs", self.root, "--device", "0", *TABLE)
        self.assertGreaterEqual(done.returncode, 0, done.stderr)
        if done.returncode in (0, 2, NOT_SET_UP):
            self.assert_outcome(done, succeeds, (NOT_SET_UP,))
        # What else was mounted on the host is no longer to be seen.
        seen = [line.split()[3] for line in done.stdout.splitlines()]
        inside = f"/{self.root.name}"
        self.assertEqual([root for root in seen if root.startswith((f"{inside}/", "/cny"))], [])
        self.assert_canary()
        self.assert_state(before)

    def refused(self, *words, status, stderr):
        """One command that must change nothing."""
        before = self.state()
        done = harness.setup(*words)
        self.assert_calm(done)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertTrue(re.search(stderr, done.stderr), done.stderr)
        self.assert_canary()
        self.assert_state(before)

    @contextlib.contextmanager
    def with_mount(self, *words, target):
        """Something is mounted for a while."""
        harness.must("mount", *words, target)
        try:
            yield target
        finally:
            harness.must("umount", "-l", target)
