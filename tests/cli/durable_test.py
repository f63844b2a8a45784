# SPDX-License-Identifier: MIT
"""What gpuctr-setup writes to disk, and when."""

import os
import re
import unittest

import harness


class Durable(harness.Case):
    """What is written to disk before what: a loss of power finds a journal of
    everything that outlives it."""

    journal = ["fsync", "renameat", "fsync", "fsync"]

    def setUp(self):
        super().setUp()
        self.words = ["--nv", "--rootfs", self.root, "--write", "auto", "--device", "0",
                      "--driver-capabilities", "compute"]  # names of others end in .json too

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
        log = harness.DIRECTORY / "trace"
        environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
        harness.must("strace", "-f", "-qq", "-o", log, "-e",
                     "trace=fsync,renameat,renameat2,unlinkat", harness.SETUP, *words,
                     env=environment)
        calls = re.findall(r'^\d+ +(fsync|renameat2?|unlinkat)\((.*)', log.read_text(), re.M)
        return [name for name, rest in calls if name != "unlinkat" or '.json"' in rest]

    def test_the_journal_is_on_disk_before_the_root_is_written(self):
        self.root_on_disk()

        self.assertEqual(self.order(self.words), [*self.journal, "renameat2", *self.journal])

    def test_the_root_is_on_disk_before_the_journal_is_removed(self):
        self.root_on_disk()
        self.run_setup(*self.words)

        calls = self.order(["undo", "--rootfs", self.root])

        self.assertEqual(calls[:5], [*self.journal, "renameat2"])
        self.assertEqual(set(calls[5:-1]), {"fsync"})
        self.assertEqual(calls[-1], "unlinkat")

    def test_what_does_not_outlive_a_boot_waits_for_no_disk(self):
        self.assertEqual(self.order(self.words), ["renameat", "renameat2", "renameat"])
        self.assertEqual(self.order(["undo", "--rootfs", self.root]),
                         ["renameat", "renameat2", "unlinkat"])
        self.root_on_disk()
        self.words[self.words.index("--write") + 1] = "never"
        self.assertEqual(self.order(self.words), ["renameat", "renameat"])


if __name__ == "__main__":
    unittest.main()
