# SPDX-License-Identifier: MIT
"""What the services run, on a simulated host and with their capabilities."""

import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

import harness
import mount_table
from units_test import CDI, PREPARE, SOURCE, directives

TREE = pathlib.Path("/run/gpucontainer/tree")


FILES = pathlib.Path("/var/lib/gpucontainer-cdi")
SPECIFICATION = pathlib.Path("/run/cdi/nvidia.com-gpu.json")


class Service(harness.Case):
    UNIT = None

    def setUp(self):
        super().setUp()
        self.directives = dict(directives(self.UNIT))

    def call(self, directive):
        name, *words = shlex.split(self.directives[directive])
        self.assertEqual(os.path.basename(name), "gpuctr-setup")
        kept = self.directives["CapabilityBoundingSet"].replace("CAP_", "").lower().split()
        return harness.call("setpriv", "--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all",
                            "--bounding-set=" + ",".join(["-all"] + ["+" + one for one in kept]),
                            harness.SETUP, *words)


class Prepare(Service):
    UNIT = PREPARE

    def setUp(self):
        super().setUp()
        self.addCleanup(self.call, "ExecStopPost")

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


class OfCdi(Service):
    UNIT = CDI

    def setUp(self):
        super().setUp()
        for directory in (FILES, SPECIFICATION.parent):
            shutil.rmtree(directory, ignore_errors=True)
            self.addCleanup(shutil.rmtree, directory, ignore_errors=True)


class Cdi(OfCdi):
    def test_a_start_writes_what_a_reload_leaves(self):
        started = self.call("ExecStart")
        self.assertEqual((started.returncode, started.stderr),
                         (0, "gpuctr-setup: /var/run/cdi/nvidia.com-gpu.json: written\n"))
        inode = SPECIFICATION.stat().st_ino
        reloaded = self.call("ExecReload")
        self.assertEqual((reloaded.returncode, reloaded.stderr),
                         (0, "gpuctr-setup: /var/run/cdi/nvidia.com-gpu.json: unchanged\n"))
        self.assertEqual(SPECIFICATION.stat().st_ino, inode)

    def test_it_has_the_options_of_the_configuration(self):
        layers = pathlib.Path(tempfile.mkdtemp(dir=harness.DIRECTORY))
        for name in ("upper", "work"):
            (layers / name).mkdir()
        harness.must("mount", "-t", "overlay", "-o", f"lowerdir=/etc,upperdir={layers}/upper,"
                     f"workdir={layers}/work", "none", "/etc")
        self.addCleanup(harness.must, "umount", "/etc")
        config = pathlib.Path("/etc/gpucontainer/config.yaml")
        config.parent.mkdir(exist_ok=True)
        config.write_text("cdi-version: 0.8.0\n")
        self.assertEqual(self.call("ExecStart").returncode, 0)
        self.assertIn('"cdiVersion": "0.8.0"', SPECIFICATION.read_text())

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
        self.assertFalse(SPECIFICATION.exists())



class Removal(OfCdi):
    """What the scripts of the package do, with a copy of what was installed."""

    def setUp(self):
        super().setUp()
        self.call("ExecStart")
        self.copy = pathlib.Path(tempfile.mkdtemp(dir=harness.DIRECTORY))
        for path in (FILES, SPECIFICATION.parent):
            shutil.copytree(path, self.copy / path.relative_to("/"))
        (self.copy / "var").mkdir(exist_ok=True)
        os.symlink("../run", self.copy / "var/run")
        self.ours = self.copy / SPECIFICATION.relative_to("/")

    def script(self, action):
        subprocess.run(["sh", SOURCE / "debian/gpuctr-setup.postrm", action], check=True,
                       env=dict(os.environ, DPKG_ROOT=str(self.copy)))

    def test_a_purge_takes_away_what_was_installed(self):
        others = self.ours.parent / "others.json"
        others.write_text("{}")
        for action, left in (("remove", 2), ("purge", 1), ("purge", 1)):
            self.script(action)
            self.assertEqual(len(list(others.parent.iterdir())), left, action)
        self.assertTrue(others.exists())
        self.assertFalse(self.ours.exists())
        self.assertFalse((self.copy / FILES.relative_to("/")).exists())

    def test_what_somebody_else_wrote_in_its_place_stays(self):
        self.ours.write_text("{}")
        self.script("purge")
        self.assertTrue(self.ours.exists())

    def test_a_hook_that_is_gone_starts_no_container(self):
        installed = self.copy / FILES.relative_to("/") / "nvidia.com-gpu.installed"
        for path in (self.ours, installed):
            path.write_text(path.read_text().replace('"containerEdits"',
                                                     '"x": "/usr/bin/gpuctr-setup", "containerEdits"'))
        self.script("remove")
        self.assertFalse(self.ours.exists())


if __name__ == "__main__":
    unittest.main()
