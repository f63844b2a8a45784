# SPDX-License-Identifier: MIT
"""Each system call of gpuctr-setup fails in turn: all or nothing, and one line says it."""

import errno
import unittest

import faults
import harness


LISTED = tuple(f"mount at {directory}/" for directory in ("/dev", "/etc", "/usr"))
NAMES = ("/etc/.gpuctr-kept-ld.so.cache ", "/etc/ld.so.conf.d/")
OVERLAYS = tuple(f"mount at {directory}" for directory in ("/etc", "/usr"))


class Failed(faults.Case):
    """Every call, each with another error than the one before; with
    GPUCTR_TEST_LONG=1 with every error."""

    looking_too = True  # what comes before the first change is the same for most
    rotation = 0

    def some(self, points):
        if not self.looking_too and not faults.LONG:
            points = points[next(n for n, p in enumerate(points) if p.name == "flock"):]
        return points[::faults.EVERY]

    def errors(self, point):
        errors = faults.ERRORS
        if point.name == "utimensat":  # where that may not or cannot be, times change
            errors = [error for error in errors if error not in (errno.EPERM, errno.ENOSYS)]
        if faults.LONG:
            return errors
        return [errors[(self.rotation + self.tried) % len(errors)]]

    def make_fail(self, words, point, error):
        done = self.inject(words, *point.options, "-e", error)
        return done, f"{point} {errno.errorcode[error]}: {done.returncode} {done.stderr}"

    def check_apply(self, done, complete, message):
        if done.returncode != 0:
            self.check_error(done, message)
            return
        self.check_complete(done, complete, message)
        self.undo(stderr=None)

    def check_complete(self, done, complete, message):
        """What could not be found out was said, and is left out. A root that seemed not
        to be writable has its names through mounts."""
        if done.stderr not in ("", self.replaced()) or "mount at /dev" in self.shape() - complete:
            return
        difference = self.shape() ^ complete
        # Where a directory seems not to be writable, its names come by mounts above it, and those of
        # the loader's configuration by none: the cache is enough.
        if message.startswith("faccessat2 "):
            difference = {item for item in difference
                          if harness.TREE in item or not item.startswith(NAMES + OVERLAYS)}
        # Where an overlay is refused, mounts of all that is there take its place.
        if "EPERM" in message:
            difference = {item for item in difference
                          if item in complete or not item.startswith(LISTED)}
        self.assertEqual(sorted(difference), [], message)

    def test_a_set_up_is_made_completely_or_not_at_all(self):
        self.before = self.state()
        points = self.points(self.words)
        complete = self.shape()
        self.undo()

        def attempt(point):
            for error in self.errors(point):
                done, message = self.make_fail(self.words, point, error)
                self.check_apply(done, complete, message)
                self.check_nothing_left(message)

        self.each(self.some(points), attempt)

    def test_an_undo_that_fails_is_completed_by_the_next(self):
        self.before = self.state()
        self.run_setup(*self.words)
        points = self.points(self.undo_words)

        def attempt(point):
            for error in self.errors(point):
                self.run_setup(*self.words)
                done, message = self.make_fail(self.undo_words, point, error)
                if done.returncode != 0:
                    self.check_error(done, message)
                    self.undo(stderr=None)
                self.check_nothing_left(message)

        self.each(self.some(points), attempt)


class FailedAssembled(Failed):
    backend, looking_too, rotation = "assembled", False, 1


class FailedNeverWriting(Failed):
    write, looking_too, rotation = "never", False, 2


class FailedAssembledNeverWriting(Failed):
    write, backend, looking_too, rotation = "never", "assembled", False, 3


class FailedMerged(Failed):
    arguments = [*Failed.arguments, "--layout", "merged"]
    looking_too, rotation = False, 4


class FailedWithMounts(faults.WithMounts, Failed):
    looking_too = False


class FailedOnAnOverlayOnAnOverlay(faults.OnAnOverlayOnAnOverlay, Failed):
    looking_too = False


class FailedOnASharedMount(faults.OnASharedMount, Failed):
    """Where the root is bound on itself: none of its mounts goes along with the bind."""

    test_an_undo_that_fails_is_completed_by_the_next = None

    def some(self, points):
        return self.around_the_bind(points)


class FailedAssembledOnASharedMount(FailedOnASharedMount):
    backend = "assembled"


class FailedLegacyOnASharedMount(FailedOnASharedMount):
    backend = "legacy"


class FailedAfterAKill(Failed):
    """What an apply that was cut off left is looked for again, and found by the next
    undo where one could not tell."""

    looking_too = False
    test_a_set_up_is_made_completely_or_not_at_all = None

    def test_an_undo_that_fails_is_completed_by_the_next(self):
        self.before = self.state()
        last = [p for p in self.points(self.words) if p.name == "renameat"][-1]
        self.undo()

        def cut_off():
            done = self.inject(self.words, *last.options, "-k")
            self.assertEqual(done.returncode, faults.KILLED, done.stderr)

        def attempt(point):
            for error in self.errors(point):
                cut_off()
                done, message = self.make_fail(self.undo_words, point, error)
                if done.returncode != 0:
                    self.check_error(done, message)
                    self.undo(stderr=None)
                self.check_nothing_left(message)

        cut_off()
        self.each(self.some(self.points(self.undo_words)), attempt)


class FailedAfterAKillNeverWriting(FailedAfterAKill):
    write = "never"


class FailingFromThen(Failed):
    """The same when the kernel refuses from then on: what cannot be taken back
    is kept in the journal for the next undo."""

    looking_too = False

    def some(self, points):
        # Looking at files, or getting memory, is not refused for good.
        changing = [p for p in super().some(points) if p.name in faults.CHANGING]
        return changing

    def errors(self, point):
        return [error for error in super().errors(point) if error != errno.EINTR] or [errno.ENOMEM]

    def make_fail(self, words, point, error):
        done = self.inject(words, *point.options, "-e", error, "-f")
        return done, f"{point} {errno.errorcode[error]} from then on: {done.returncode} {done.stderr}"

    def check_apply(self, done, complete, message):
        # Where nothing can be written, nothing can be said.
        if done.returncode != 0 and not message.startswith("write "):
            self.check_error(done, message)
        if done.returncode == 0 or self.journals():
            self.undo(stderr=None)


class FailedReplacement(Failed):
    """An older set-up stays where the host's files cannot be had for the new one."""

    looking_too = False

    def test_a_set_up_is_made_completely_or_not_at_all(self):
        self.before = self.state()
        self.run_setup(*self.words)
        words = [word if word != "0" else "1" for word in self.words]
        points = self.points(words)
        complete = self.shape()
        self.run_setup(*self.words, stderr=self.replaced())
        kept = []

        def attempt(point):
            for error in self.errors(point):
                applied = self.state()
                words[2] = self.root
                done, message = self.make_fail(words, point, error)
                if done.returncode == 0:
                    self.check_complete(done, complete, message)
                elif done.returncode != 0 and "after the older set-up was undone" in done.stderr:
                    self.check_error(done, message)
                    self.check_nothing_left(message)
                elif done.returncode != 0 and "undo the older set-up" not in done.stderr:
                    self.check_error(done, message)
                    self.assert_state(applied, (), message)
                    kept.append(point)
                self.undo(stderr=None)
                self.check_nothing_left(message)
                self.run_setup(*self.words)

        self.each(self.some(points), attempt)
        # Every file is cloned once before anything of the older one goes.
        self.assertGreater(len(kept) * faults.EVERY, 20)

    test_an_undo_that_fails_is_completed_by_the_next = None

    def start_again(self):
        super().start_again()
        self.run_setup(*self.words)


class FailedPreparing(Failed):
    """`prepare` mounts the whole tree or none, and its undo says when it could not."""

    words_of_prepare = ["prepare", "--nv", "--driver-capabilities", "utility"]
    test_an_undo_that_fails_is_completed_by_the_next = None

    def test_a_set_up_is_made_completely_or_not_at_all(self):
        self.before = self.state()
        undo = ["prepare", "--undo"]
        points = self.points(self.words_of_prepare)
        prepared = len(self.state()[1])
        undo_points = self.points(undo)

        def attempt(point):
            for error in self.errors(point):
                done, message = self.make_fail(self.words_of_prepare, point, error)
                if done.returncode != 0:
                    self.check_error(done, message)
                    self.assert_state(self.before, (), message)
                else:
                    self.assertEqual(len(self.state()[1]), prepared, message)
                    self.run_setup(*undo)

        def attempt_undo(point):
            for error in self.errors(point):
                self.run_setup(*self.words_of_prepare)
                done, message = self.make_fail(undo, point, error)
                if done.returncode != 0:
                    self.check_error(done, message)
                    self.run_setup(*undo, stderr=None)
                self.assert_state(self.before, (), message)

        self.each(points[::2 * faults.EVERY if not faults.LONG else 1], attempt)
        self.each(undo_points[::faults.EVERY], attempt_undo)


class FailedCommand(Failed):
    """With -- CMD nothing is left in any case: CMD runs with all, or not at all."""

    test_an_undo_that_fails_is_completed_by_the_next = None

    def test_a_set_up_is_made_completely_or_not_at_all(self):
        self.before = self.state()
        words = ["--nv", "--rootfs", self.root, *self.arguments, "--", "sh", "-c",
                 "echo /dev/nvidia* /usr/lib/gpuctr/lib64/*"]
        done = self.inject(words)
        self.assertEqual(done.returncode, 0, done.stderr)
        listing = done.stdout

        def attempt(point):
            for error in self.errors(point):
                words[2] = self.root
                done, message = self.make_fail(words, point, error)
                if done.returncode == 0 and not done.stderr:
                    self.assertEqual(done.stdout, listing, message)
                elif done.returncode != 0:
                    self.assertIn(done.returncode, (2, 125, 126, 127), message)
                    self.assertEqual(done.stdout, "", message)
                    self.assertRegex(done.stderr, r"\Agpuctr-setup: .*\n(hint: .*\n)?\Z")
                self.check_nothing_left(message)

        points = self.points(words)
        # Half of them find the driver, as those of apply do.
        self.each(points[::2 * faults.EVERY if not faults.LONG else 1], attempt)


if __name__ == "__main__":
    unittest.main()
