# SPDX-License-Identifier: MIT
"""gpuctr-setup killed at each system call that it makes."""

import os
import unittest

import faults


class Killed(faults.Case):
    """Before every call whose outcome others can see, and behind the last: in
    between nothing changes. With GPUCTR_TEST_LONG=1 before and behind every call."""

    def some(self, points):
        if faults.LONG:
            behind = [(point, "-K") for point in points if point.name != "exit_group"]
            return [(point, "-k") for point in points] + behind
        first = next(n for n, p in enumerate(points) if p.name == "flock")
        seen = [p for p in points[first:] if p.name in faults.CHANGING]
        return [(point, "-k") for point in seen[::faults.EVERY]] + [(seen[-1], "-K")]

    def kill(self, words, point, how):
        done = self.inject(words, *point.options, how)
        # The process that puts mounts together is another: who started it says so.
        expected = [faults.KILLED] if point.process == 0 else [0, 8]
        self.assertIn(done.returncode, expected, f"{point}: {done.stderr}")

    def check_undo(self, message):
        done = self.undo(stderr=None)
        self.assertIn(done.stderr, ("", f"gpuctr-setup: nothing is set up in {self.root}\n"),
                      message)
        self.check_nothing_left(message)

    def check_apply(self, message):
        done = self.run_setup(*self.words, stderr=None)
        self.assertIn(done.stderr, ("", self.replaced()), message)
        self.assertTrue(os.path.exists(f"{self.root}/dev/nvidia0"), message)
        self.check_undo(message)

    def each_outcome(self, points, begin, words):
        """Undone, and applied, after each; without GPUCTR_TEST_LONG in turn."""
        def attempt(chosen):
            for check in (self.check_undo, self.check_apply):
                if not faults.LONG and (self.tried % 2 == 0) != (check == self.check_apply):
                    continue
                begin()
                self.kill(words(), *chosen)
                check(f"{chosen[1]} {chosen[0]}")

        self.each(points, attempt)

    def test_after_a_killed_apply(self):
        self.before = self.state()
        points = self.points(self.words)
        self.undo()

        self.each_outcome(self.some(points), lambda: None, lambda: self.words)

    def test_after_a_killed_undo(self):
        self.before = self.state()
        self.run_setup(*self.words)
        points = self.points(self.undo_words)

        self.each_outcome(self.some(points), lambda: self.run_setup(*self.words),
                          lambda: self.undo_words)


class KilledAssembled(Killed):
    backend = "assembled"


class KilledNeverWriting(Killed):
    write = "never"


class KilledMerged(Killed):
    arguments = [*Killed.arguments, "--layout", "merged"]


class KilledWithMounts(faults.WithMounts, Killed):
    pass


class KilledOnAnOverlayOnAnOverlay(faults.OnAnOverlayOnAnOverlay, Killed):
    pass


class KilledOnASharedMount(faults.OnASharedMount, Killed):
    """Where the root is bound on itself: none of its mounts goes along with the bind."""

    test_after_a_killed_undo = None
    calls = faults.CHANGING | {"open_tree", "open_tree_attr", "openat"}

    def some(self, points):
        return [(point, "-K") for point in self.around_the_bind(points)
                if point.name in self.calls]


class KilledAssembledOnASharedMount(KilledOnASharedMount):
    backend = "assembled"


class KilledLegacyOnASharedMount(KilledOnASharedMount):
    backend = "legacy"


class KilledReplacement(Killed):
    """While an older set-up is taken away for one of another GPU."""

    test_after_a_killed_undo = None

    def test_after_a_killed_apply(self):
        self.before = self.state()
        self.run_setup(*self.words)
        points = self.points(self.other_words())
        self.undo()

        self.each_outcome(self.some(points), lambda: self.run_setup(*self.words),
                          self.other_words)

    def other_words(self):
        return [word if word != "0" else "1" for word in self.words]


if __name__ == "__main__":
    unittest.main()
