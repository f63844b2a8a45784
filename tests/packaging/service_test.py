# SPDX-License-Identifier: MIT
"""What gpuctr-prepare.service runs, on a simulated host and with its capabilities."""

import os
import pathlib
import shlex
import unittest

import harness
import mount_table
from units_test import UNITS, directives

TREE = pathlib.Path("/run/gpucontainer/tree")


class Service(harness.Case):
    def setUp(self):
        super().setUp()
        self.directives = dict(directives(UNITS[0]))
        self.addCleanup(self.call, "ExecStopPost")

    def call(self, directive):
        name, *words = shlex.split(self.directives[directive])
        self.assertEqual(os.path.basename(name), "gpuctr-setup")
        kept = self.directives["CapabilityBoundingSet"].replace("CAP_", "").lower().split()
        return harness.call("setpriv", "--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all",
                            "--bounding-set=" + ",".join(["-all"] + ["+" + one for one in kept]),
                            harness.SETUP, *words)

    def test_a_start_stages_the_tree_and_a_stop_takes_it_away(self):
        before = self.state()
        started = self.call("ExecStart")
        self.assertEqual((started.returncode, started.stderr),
                         (0, f"gpuctr-setup: {TREE}: staged\n"))
        self.assertTrue(mount_table.below(TREE))

        reloaded = self.call("ExecReload")
        self.assertEqual((reloaded.returncode, reloaded.stderr),
                         (0, f"gpuctr-setup: {TREE}: staged already\n"))

        stopped = self.call("ExecStopPost")
        self.assertEqual((stopped.returncode, stopped.stderr), (0, ""))
        self.assertFalse(mount_table.below(TREE))
        self.assert_state(before)

    def test_a_stop_without_a_tree_is_no_error(self):
        stopped = self.call("ExecStopPost")
        self.assertEqual((stopped.returncode, stopped.stderr), (0, ""))

    def test_a_set_up_clones_what_it_staged(self):
        self.call("ExecStart")
        self.apply()
        self.assertEqual(os.stat(f"{self.root}{harness.TREE}").st_dev, os.stat(TREE).st_dev)

    def test_a_driver_whose_files_are_missing_is_a_success_for_systemd(self):
        harness.mount_tmpfs(pathlib.Path("/usr/local/nvidia"))
        self.addCleanup(harness.must, "umount", "/usr/local/nvidia")
        started = self.call("ExecStart")
        self.assertIn(str(started.returncode), self.directives["SuccessExitStatus"].split(),
                      started.stderr)

    def test_a_host_without_gpus_is_a_success(self):
        harness.mount_tmpfs(pathlib.Path("/proc/driver"))
        self.addCleanup(harness.must, "umount", "/proc/driver")
        self.assertEqual(self.call("ExecStart").returncode, 0)
        self.assertFalse(TREE.exists())


if __name__ == "__main__":
    unittest.main()
