# SPDX-License-Identifier: MIT
"""gpuctr-setup killed, or failed by the kernel, at each system call it makes."""

import collections
import os
import re
import unittest

import harness

# Between taking a name away and giving its directory the time back, only the
# process knows whose change that was.
TIMES = ("mtime",)
EVERY = int(os.environ.get("GPUCTR_INTERRUPT_EVERY", "1"))
EXIT_CODES = {1: "internal", 2: "configuration", 3: "no device", 4: "driver", 5: "root",
              6: "permission", 7: "requirement", 8: "apply"}


class Interrupted(harness.Case):
    """A small set-up, so that each call of a kind can be tried: all of them, or
    one in so many where a build makes each try slow."""

    write, backend = "auto", "detached"
    arguments = ["--device", "0", "--driver-capabilities", "utility"]

    def setUp(self):
        super().setUp()
        self.log = harness.DIRECTORY / "trace"
        self.words = ["--nv", "--rootfs", self.root, "--write", self.write, "--backend",
                      self.backend, *self.arguments]

    @staticmethod
    def some(points, more=1):
        return list(points)[::EVERY * more]

    def traced(self, calls, injection, words):
        """Runs the command under strace; leak checking cannot be traced."""
        options = ["-e", f"trace={calls}", *(["-e", injection] if injection else [])]
        environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
        return harness.call("strace", "-f", "-qq", "-o", self.log, *options, harness.SETUP, *words,
                            env=environment)

    def count(self, calls, words):
        """How often each of the calls is made, in the busiest process."""
        done = self.traced(calls, None, words)
        self.assertEqual(done.returncode, 0, done.stderr)
        counts = collections.Counter(re.findall(r"^(\d+) +(\w+)\(", self.log.read_text(), re.M))
        most = collections.Counter()
        for (_, name), number in counts.items():
            if name in calls.split(","):
                most[name] = max(most[name], number)
        return most


class WithMounts:
    """What lies below the overlays has to be put on top of them."""

    write = "never"

    def setUp(self):
        super().setUp()
        target = self.root / "usr/local/lib/here"
        target.mkdir()
        harness.must("mount", "-t", "tmpfs", "test", target)


class Killed(Interrupted):
    """Each call at which a set-up or an undo can be killed."""

    calls = ("mkdirat,symlinkat,openat2,write,fchmod,renameat2,renameat,unlinkat,utimensat,"
             "move_mount,mount_setattr,open_tree,fsmount,umount2,flock")

    def points(self, words):
        counts = self.count(self.calls, words)
        # Most of these only read; those that create come last.
        return [(name, n) for name, number in sorted(counts.items())
                for n in range(1 if name != "openat2" else max(1, number - 60), number + 1)]

    def kill(self, name, number, words):
        done = self.traced(name, f"inject={name}:signal=KILL:when={number}", words)
        self.assertIn(done.returncode, (-9, 137, 0, 8), done.stderr)

    def check_undo(self, before, message, without=()):
        done = self.undo(stderr=None)
        self.assertIn(done.stderr, ("", f"gpuctr-setup: nothing is set up in {self.root}\n"),
                      message)
        self.assert_state(before, without, message)
        self.assertEqual(harness.journals(), [], message)

    def test_undo_after_a_killed_apply(self):
        before = self.state()
        points = self.points(self.words)
        self.undo()
        failed = []
        for name, number in self.some(points):
            self.kill(name, number, self.words)
            with self.subTest(call=name, number=number):
                try:
                    self.check_undo(before, f"{name} {number}")
                except AssertionError:
                    self.start_again()
                    before = self.state()
                    raise

    def start_again(self):
        """With a root that no failure has touched."""
        self.remove_root()
        self.root = harness.new_root(self.mounted)
        self.words[2] = self.root

    def test_apply_after_a_killed_apply(self):
        before = self.state()
        points = self.points(self.words)
        self.undo()
        for name, number in self.some(points, 3):
            self.kill(name, number, self.words)
            with self.subTest(call=name, number=number):
                try:
                    self.run_setup(*self.words, stderr="")
                    self.assertTrue(os.path.exists(f"{self.root}/dev/nvidia0"))
                    self.check_undo(before, f"{name} {number}")
                except AssertionError:
                    self.start_again()
                    before = self.state()
                    raise

    def test_undo_after_a_killed_undo(self):
        before = self.state()
        self.run_setup(*self.words)
        words = ["undo", "--rootfs", self.root]
        points = self.points(words)
        for name, number in self.some(points):
            words[2] = self.root
            self.run_setup(*self.words)
            self.kill(name, number, words)
            with self.subTest(call=name, number=number):
                try:
                    self.check_undo(before, f"{name} {number}", TIMES)
                except AssertionError:
                    self.start_again()
                    before = self.state()
                    raise


class KilledStaged(Killed):
    backend = "staged"


class KilledNeverWriting(Killed):
    write = "never"


class KilledMerged(Killed):
    arguments = [*Killed.arguments, "--layout", "merged"]


class KilledWithMounts(WithMounts, Killed):
    pass


class Failed(Interrupted):
    """Each call that the kernel may refuse: all or nothing, and one line says it."""

    calls = ("open_tree,move_mount,mount_setattr,fsopen,fsmount,fsconfig,openat2,symlinkat,mkdirat,"
             "renameat2,renameat,fchmod,fchmodat,write,unlinkat,flock,clone,socketpair,recvmsg,"
             "sendmsg,unshare,mount,openat")

    def check(self, before, done, message):
        if done.returncode == 0:
            self.undo(stderr=None)
        else:
            self.assertIn(done.returncode, EXIT_CODES, message)
            lines = done.stderr.splitlines()
            self.assertTrue(lines and lines[0].startswith("gpuctr-setup: "), message)
            self.assertLessEqual(len(lines), 2, message)
            self.assertTrue(all(line.startswith("hint: ") for line in lines[1:]), message)
        self.assertEqual(done.stdout, "", message)
        self.assert_state(before, (), message)
        self.assertEqual(harness.journals(), [], message)

    def test_each_call_failing_once(self):
        before = self.state()
        counts = self.count(self.calls, self.words)
        loaded = self.loaded()
        self.undo()
        points = [(name, n) for name, number in sorted(counts.items())
                  for n in range(loaded + 1 if name == "openat" else 1, number + 1)]
        for name, n in self.some(points):
            done = self.traced(name, f"inject={name}:error=ENOMEM:when={n}", self.words)
            message = f"{name} {n}: {done.returncode} {done.stderr}"
            with self.subTest(call=name, number=n):
                try:
                    self.check(before, done, message)
                except AssertionError:
                    self.remove_root()
                    self.root = harness.new_root(self.mounted)
                    self.words[2] = self.root
                    before = self.state()
                    raise

    def loaded(self):
        """Files that the loader opens before main()."""
        opened = re.findall(r"openat\([^,]*, \"([^\"]*)\"", self.log.read_text())
        return next((n for n, path in enumerate(opened) if ".so" not in path), 0)


class FailedStaged(Failed):
    backend = "staged"


class FailedNeverWriting(Failed):
    write = "never"


class FailedStagedNeverWriting(Failed):
    write, backend = "never", "staged"


class FailedWithMounts(WithMounts, Failed):
    pass


class FailedReplacement(Interrupted):
    """An older set-up stays where the host's files cannot be had for the new one."""

    calls = "open_tree,fsopen,fsmount,move_mount"

    def test_each_call_failing_once(self):
        before = self.state()
        self.run_setup(*self.words)
        applied = self.state()
        words = [word if word != "0" else "1" for word in self.words]
        untouched = 0
        for n in range(1, 200):
            done = self.traced(self.calls, f"inject={self.calls}:error=ENOMEM:when={n}", words)
            if done.returncode == 0:
                break
            with self.subTest(number=n):
                kept = bool(harness.journals())
                self.assert_state(applied if kept else before, (), done.stderr)
                self.assertEqual("after the older set-up was undone" in done.stderr, not kept)
                untouched += kept
            self.run_setup(*self.words, stderr="")
        self.assertEqual(done.returncode, 0, done.stderr)
        # Every file is cloned once before anything of the older one goes.
        self.assertGreater(untouched, 5)
        self.undo()
        self.assert_state(before)


class Durable(Interrupted):
    """What is written to disk before what: a loss of power finds a journal of
    everything that outlives it."""

    def root_on_disk(self):
        """A root on what is no tmpfs, though nothing of it is on a disk."""
        layers = [self.root.with_name(f"{self.root.name}-{name}") for name in ("upper", "work")]
        for layer in layers:
            layer.mkdir()
            self.addCleanup(harness.must, "rm", "-rf", layer)
        harness.must("mount", "-t", "overlay", "-o",
                     f"lowerdir={self.root},upperdir={layers[0]},workdir={layers[1]}", "test",
                     self.root)

    def order(self, words):
        """fsync, and the calls that put a journal or a loader cache in place, or
        take a journal away."""
        done = self.traced("fsync,renameat,renameat2,unlinkat", None, words)
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = re.findall(r'^\d+ +(fsync|renameat2?|unlinkat)\((.*)', self.log.read_text(), re.M)
        return [name for name, rest in calls if name != "unlinkat" or '.json"' in rest]

    def test_the_journal_is_on_disk_before_the_root_is_written(self):
        self.root_on_disk()
        journal = ["fsync", "renameat", "fsync", "fsync"]

        self.assertEqual(self.order(self.words), [*journal, "renameat2", *journal])

    def test_the_root_is_on_disk_before_the_journal_is_removed(self):
        self.root_on_disk()
        self.run_setup(*self.words)

        calls = self.order(["undo", "--rootfs", self.root])

        self.assertEqual(calls[0], "renameat2")
        self.assertEqual(set(calls[1:-1]), {"fsync"})
        self.assertEqual(calls[-1], "unlinkat")

    def test_what_does_not_outlive_a_boot_waits_for_no_disk(self):
        self.assertEqual(self.order(self.words), ["renameat", "renameat2", "renameat"])
        self.assertEqual(self.order(["undo", "--rootfs", self.root]), ["renameat2", "unlinkat"])
        self.root_on_disk()
        self.words[self.words.index("--write") + 1] = "never"
        self.assertEqual(self.order(self.words), ["renameat", "renameat"])


class FailingFromThen(Failed):
    """The same when the kernel refuses from then on: what cannot be taken back
    is kept in the journal for the next undo."""

    calls = "openat2,renameat2,mount_setattr,symlinkat,mkdirat,fchmod"

    def check(self, before, done, message):
        self.assertIn(done.returncode, {0, *EXIT_CODES}, message)
        if done.returncode == 0 or harness.journals():
            self.undo(stderr=None)
        self.assert_state(before, (), message)
        self.assertEqual(harness.journals(), [], message)

    def traced(self, calls, injection, words):
        return super().traced(calls, injection and injection + "+", words)


if __name__ == "__main__":
    unittest.main()
