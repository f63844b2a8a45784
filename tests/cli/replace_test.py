# SPDX-License-Identifier: MIT
"""A set-up where there is another one already: replaced, and said so, or refused."""

import fcntl
import json
import os
import re
import stat
import subprocess
import time
import unittest

import config_test
import harness
from config_test import CONFIG

setUpModule = config_test.setUpModule
tearDownModule = config_test.tearDownModule


def gpus():
    done = harness.must(harness.SETUP, "list", "--format", "json")
    return json.loads(done)["drivers"][0]["gpus"]


class Replace(config_test.Config):
    def setUp(self):
        super().setUp()
        self.before = self.state()

    def tearDown(self):
        self.undo(stderr=None)
        self.assert_state(self.before)
        self.assertEqual(harness.journals(), [])
        super().tearDown()

    def nodes(self):
        return sorted(name for name in os.listdir(self.root / "dev") if re.match(r"nvidia\d", name))

    def assert_kept(self, *words, age="[0-9] seconds?", given="nvidia GPU 0 [(]{}[)]",
                    way="without --no-replace", **options):
        """Refused; all is as it was, the journal too."""
        given = given.format(*(gpu["uuid"] for gpu in gpus()))
        before = self.state()
        journals = {path: path.read_bytes() for path in harness.STATE.glob("*/*.json")}
        done = self.apply(*words, status=10, stderr=None, **options)
        self.assertRegex(done.stderr, f"^gpuctr-setup: {self.root}: another set-up is there, made "
                                      f"{age} ago with {given}\nhint: once nobody uses it any "
                                      f"more, `gpuctr-setup undo` takes it away; {way} this call "
                                      "replaces it\n$")
        self.assert_state(before)
        self.assertEqual({path: path.read_bytes() for path in harness.STATE.glob("*/*.json")},
                         journals)

    def edit_journal(self, **changes):
        [journal] = harness.STATE.glob("*/*.json")
        journal.write_text(json.dumps(json.loads(journal.read_text()) | changes))


class Said(Replace):
    def test_without_asking_for_more_words(self):
        self.apply("--device", "0")
        self.apply("--device", "0")
        self.apply_over("--device", "1")
        self.apply("-q", "--device", "2")
        self.assertEqual(self.nodes(), ["nvidia2"])


class Kept(Replace):
    def test_a_set_up_of_another_gpu(self):
        self.apply("--device", "0")
        self.assert_kept("--no-replace", "--device", "1")
        self.assert_kept("-q", "--no-replace", "--device", "1")
        self.assertEqual(self.nodes(), ["nvidia0"])
        self.undo()
        self.apply("--no-replace", "--device", "1")
        self.assertEqual(self.nodes(), ["nvidia1"])

    def test_the_same_is_there_already(self):
        self.apply("--no-replace", "--device", "0")
        self.apply("--no-replace", "-v", "--device", "0",
                   stderr=f"gpuctr-setup: {self.root}: set up already\n")

    def test_of_several_gpus_and_of_none(self):
        self.apply("--device", "1,2")
        self.assert_kept("--no-replace", given=r"nvidia GPUs 1 \({1}\), 2 \({2}\)")
        self.apply_over("--device", "none")
        self.assert_kept("--no-replace", given="no GPU")

    def test_with_its_age(self):
        self.apply("--device", "0")
        for seconds, age in ((-4000, "0 seconds"), (100, "1 minute"), (7200, "2 hours"),
                             (3 * 86400 + 5, "3 days")):
            self.edit_journal(since=int(time.time()) - seconds)
            self.assert_kept("--no-replace", "--device", "1", age=age)

    def test_one_of_which_a_part_is_missing(self):
        """What is left of it may be in use."""
        self.apply("--device", "0")
        harness.must("umount", f"{self.root}/dev/nvidia0")
        self.assert_kept("--no-replace", "--device", "1")
        self.assert_kept("--no-replace", "--device", "0")

    def test_that_of_a_process(self):
        process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             f"mount --bind {self.root} {self.root} && cd {self.root} && mount --bind /proc proc "
             "&& mount -t tmpfs run run && mount --bind /dev mnt && pivot_root . srv && "
             "umount -l /srv && echo && exec sleep 60"],
            stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        process.stdout.readline()
        words = ("--nv", "--pid", process.pid, "--no-replace", "--device")
        self.run_setup(*words, "0")
        done = self.run_setup(*words, "1", status=10, stderr=None)
        self.run_setup("undo", "--pid", process.pid)
        self.assertRegex(done.stderr, "^gpuctr-setup: the root of the process: another set-up is "
                                      "there, made . seconds? ago with nvidia GPU 0 ")

    def test_of_two_at_once_only_one_is_there(self):
        """Both have looked at the root file system before one has the lock of it."""
        status = os.stat(self.root)
        directory = harness.STATE / f"{status.st_dev}-{status.st_ino}"
        directory.mkdir(parents=True, mode=0o700)
        with open(directory / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            running = [subprocess.Popen([harness.SETUP, "--nv", "--rootfs", self.root,
                                         "--no-replace", "--device", device],
                                        stderr=subprocess.PIPE, text=True) for device in "12"]
            for process in running:
                with self.assertRaises(subprocess.TimeoutExpired):
                    process.wait(0.5)
        errors = [process.communicate(timeout=60)[1] for process in running]
        self.assertEqual(sorted(process.returncode for process in running), [0, 10], errors)
        winner = 1 + [process.returncode for process in running].index(0)
        self.assertEqual(self.nodes(), [f"nvidia{winner}"])


class Forsaken(Replace):
    """Nobody uses it: there is nothing to keep."""

    def check(self):
        self.apply_over("--no-replace", "--device", "1")
        self.assertEqual(self.nodes(), ["nvidia1"])

    def test_of_an_earlier_boot(self):
        self.apply("--device", "0")
        harness.must("umount", "-l", "-R", self.root)
        with harness.new_boot():
            self.check()
            self.undo()

    def test_of_a_mount_namespace_that_ended(self):
        harness.must("unshare", "--mount", harness.SETUP, "--nv", "--device", "0", "--rootfs",
                     self.root)
        self.assertTrue((self.root / "usr/local/nvidia").is_symlink())
        self.check()

    def test_the_mounts_are_gone_with_that_of_the_root(self):
        self.apply("--device", "0")
        harness.must("umount", "-l", "-R", self.root)
        self.assertTrue((self.root / "usr/local/nvidia").is_symlink())
        self.check()

    def test_apply_was_cut_off(self):
        self.apply("--device", "0")
        self.edit_journal(progress="begun")
        self.check()

    def test_undo_was_cut_off(self):
        self.apply("--device", "0")
        self.edit_journal(progress="partly undone")
        self.check()


class Beside(Replace):
    """What lives in another mount namespace is not replaced anyway."""

    def test_a_set_up_of_another_namespace(self):
        process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             f"$0 --nv --device 0 --rootfs {self.root} && echo && read -r go; "
             f"$0 undo --rootfs {self.root}", harness.SETUP],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        self.apply("--no-replace", "--device", "1")
        self.assertEqual(os.stat(self.root / "dev/nvidia1").st_rdev, os.makedev(195, 1))
        self.assertTrue(stat.S_ISREG(os.stat(self.root / "dev/nvidia0").st_mode))
        self.undo()
        process.communicate("\n", timeout=60)
        self.assertEqual(process.returncode, 0)


class Options(Replace):
    def test_a_site_may_want_it_and_a_call_otherwise(self):
        self.apply("--device", "0")
        variable = os.environ | {"GPUCTR_NO_REPLACE": "true"}
        overruled = "with --replace, which overrules {},"
        self.assert_kept("--device", "1", env=variable, way=overruled.format("GPUCTR_NO_REPLACE"))
        self.write(CONFIG, "# of the site\nno-replace: true\n")
        self.assert_kept("--device", "1", way=overruled.format(f"{CONFIG}:2: no-replace"))
        self.assert_kept("--device", "1", "--no-replace")
        self.apply_over("--device", "1", env=os.environ | {"GPUCTR_NO_REPLACE": "false"})
        self.apply_over("--replace", "--device", "2", env=variable)
        self.apply("--device", "0", "--", "true")

    def test_what_does_not_go_together(self):
        self.apply("--replace", "--no-replace", status=2, stderr=None)
        for option in ("--replace", "--no-replace"):
            done = self.apply(option, "--", "true", status=2, stderr=None)
            self.assertIn("with -- CMD nothing is replaced", done.stderr)
            self.run_setup("undo", "--rootfs", self.root, option, status=2, stderr=None)


if __name__ == "__main__":
    unittest.main()
