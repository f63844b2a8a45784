# SPDX-License-Identifier: MIT
"""gpuctr-setup with little of what a process may have, or may write."""

import unittest

import harness


class Limits(harness.Case):

    def with_limit(self, limit, *words):
        return harness.call("prlimit", limit, harness.SETUP, *words)

    def assert_all_or_nothing(self, limit, *words):
        """True when there was enough."""
        before, applied = self.state(), f"with {limit}"
        done = self.with_limit(limit, "--nv", "--rootfs", self.root, *words)
        if done.returncode == 0:
            self.undo()
        else:
            self.assertGreater(done.returncode, 0, f"{applied}: {done.stderr}")
            self.assertEqual(list(harness.STATE.rglob("*")), [], f"{applied}: {done.stderr}")
        self.assert_state(before, message=f"{applied}: {done.stderr}")
        return done.returncode == 0

    def test_of_open_files(self):
        outcomes = [self.assert_all_or_nothing(f"--nofile={n}:{n}") for n in range(4, 64)]
        self.assertFalse(outcomes[0])
        self.assertTrue(outcomes[-1])

    def test_of_the_length_of_a_file(self):
        for write in ("auto", "always"):
            sizes = (0, 1, 100, 1000, 5000, 20000, 10**7)
            outcomes = [self.assert_all_or_nothing(f"--fsize={n}:{n}", "--write", write)
                        for n in sizes]
            self.assertFalse(outcomes[0])
            self.assertTrue(outcomes[-1])

    def test_undo_needs_no_file_of_any_length(self):
        before = self.state()
        self.apply()
        done = self.with_limit("--fsize=0:0", "undo", "--rootfs", self.root)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_state(before)
        self.assertEqual(list(harness.STATE.rglob("*")), [])


if __name__ == "__main__":
    unittest.main()
