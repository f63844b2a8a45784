# SPDX-License-Identifier: MIT
"""gpuctr-setup prepare: the driver's tree staged once, and cloned by set-ups."""

import os
import pathlib
import shutil
import subprocess
import unittest

import harness
import mount_table
from harness import ORDINARY_USER, SETUP, TREE, VERSION

STAGED = harness.DIRECTORY / "staged/tree"
DEFAULT = pathlib.Path("/run/gpucontainer/tree")
LIBCUDA = f"lib64/libcuda.so.{VERSION}"


class Staged(harness.Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.remove_staged)

    def remove_staged(self):
        for directory in (STAGED, DEFAULT):
            while mounts := mount_table.below(directory):
                harness.must("umount", "-l", mounts[-1].target)
            shutil.rmtree(directory.parent, ignore_errors=True)

    def prepare(self, *words, **options):
        return self.run_setup("prepare", "--staged-tree", STAGED, *words, **options)

    def device_of_tree(self):
        return os.stat(f"{self.root}{TREE}").st_dev

    def test_a_set_up_clones_it(self):
        self.prepare("--nv")
        before = self.state()

        self.apply("--staged-tree", STAGED)

        self.assertEqual(self.device_of_tree(), os.stat(STAGED).st_dev)
        self.assertIn(f"{TREE}/{LIBCUDA}", self.inside("/usr/bin/needs_driver"))
        self.undo()
        self.assert_state(before)

    def test_the_default_place_is_used_without_being_named(self):
        self.run_setup("prepare", "--nv")

        self.apply()

        self.assertEqual(self.device_of_tree(), os.stat(DEFAULT).st_dev)

    def test_an_ordinary_user_clones_it_too(self):
        self.prepare("--nv")

        done = harness.call(*ORDINARY_USER, SETUP, "--nv", "--rootfs", self.root, "--staged-tree",
                            STAGED, "--", "/usr/bin/stat", "-c", "%d", TREE)

        self.assertEqual(done.stderr, "")
        self.assertEqual(int(done.stdout), os.stat(STAGED).st_dev)

    def test_every_flag_is_as_without_it(self):
        self.apply()
        built = [mount.options for mount in mount_table.below(f"{self.root}{TREE}")]
        self.undo()
        self.prepare("--nv")

        self.apply("--staged-tree", STAGED)

        self.assertEqual([m.options for m in mount_table.below(f"{self.root}{TREE}")], built)

    def test_nothing_can_be_written_in_it(self):
        self.prepare("--nv")

        done = harness.call("mount", "-o", "remount,bind,rw", STAGED)
        self.assertEqual(done.returncode, 0, done.stderr)

        with self.assertRaises(OSError):
            (STAGED / "new").touch()

    def test_one_for_other_files_is_not_used(self):
        self.prepare("--nv", "--driver-capabilities", "utility")

        self.apply("--staged-tree", STAGED)

        self.assertNotEqual(self.device_of_tree(), os.stat(STAGED).st_dev)
        self.assertTrue(os.path.exists(f"{self.root}{TREE}/{LIBCUDA}"))

    def test_one_of_somebody_else_is_not_believed(self):
        self.prepare("--nv")
        inventory = (STAGED / ".gpuctr-tree").read_bytes()
        self.prepare("--undo")
        STAGED.mkdir(parents=True)
        harness.must("mount", "-t", "tmpfs", "-o", "mode=0755,uid=12345", "forged", STAGED)
        (STAGED / ".gpuctr-tree").write_bytes(inventory)

        self.apply("--staged-tree", STAGED)

        self.assertNotEqual(self.device_of_tree(), os.stat(STAGED).st_dev)

    def test_one_that_others_may_write_is_not_believed(self):
        self.prepare("--nv")
        inventory = (STAGED / ".gpuctr-tree").read_bytes()
        self.prepare("--undo")
        STAGED.mkdir(parents=True)
        for mode in ("0775", "0757"):
            with self.subTest(mode=mode):
                harness.must("mount", "-t", "tmpfs", "-o", f"mode={mode}", "forged", STAGED)
                (STAGED / ".gpuctr-tree").write_bytes(inventory)

                self.apply("--staged-tree", STAGED)

                self.assertNotEqual(self.device_of_tree(), os.stat(STAGED).st_dev)
                self.undo()
                harness.must("umount", STAGED)

    def test_one_on_another_file_system_is_not_believed(self):
        """What says that it is root's may be said by whoever mounted it."""
        self.prepare("--nv")
        inventory = (STAGED / ".gpuctr-tree").read_bytes()
        self.prepare("--undo")
        STAGED.mkdir(parents=True)
        forged = harness.DIRECTORY / "forged"
        for name in ("lower", "empty"):
            (forged / name).mkdir(parents=True)
        self.addCleanup(shutil.rmtree, forged)
        (forged / "lower/.gpuctr-tree").write_bytes(inventory)
        harness.must("mount", "-t", "overlay", "-o", f"ro,lowerdir={forged}/lower:{forged}/empty",
                     "forged", STAGED)

        self.apply("--staged-tree", STAGED)

        self.assertNotEqual(self.device_of_tree(), os.stat(STAGED).st_dev)
        self.assertTrue(os.path.exists(f"{self.root}{TREE}/{LIBCUDA}"))
        harness.must("umount", STAGED)

    def test_a_directory_that_is_no_tree_is_not_used(self):
        STAGED.mkdir(parents=True)

        self.apply("--staged-tree", STAGED)

        self.assertTrue(os.path.exists(f"{self.root}{TREE}/{LIBCUDA}"))

    def test_preparing_again_changes_nothing(self):
        self.prepare("--nv")
        before = os.stat(STAGED).st_dev

        self.prepare("--nv", "-v", stderr=f"gpuctr-setup: {STAGED}: staged already\n")

        self.assertEqual(os.stat(STAGED).st_dev, before)

    def test_preparing_for_more_replaces_it_and_spares_its_users(self):
        self.prepare("--nv", "--driver-capabilities", "utility")
        self.apply("--staged-tree", STAGED, "--driver-capabilities", "utility")

        self.prepare("--nv", "-v", stderr=f"gpuctr-setup: {STAGED}: an older tree was replaced\n")

        self.assertEqual(len([m for m in mount_table.below(STAGED) if m.target == str(STAGED)]), 1)
        self.assertTrue(os.path.exists(f"{self.root}{TREE}/bin/nvidia-smi"))
        self.assertNotEqual(self.device_of_tree(), os.stat(STAGED).st_dev)

    def test_what_is_replaced_goes_in_other_mount_namespaces_too(self):
        """Services have one of their own, in which mounts of the host appear."""
        harness.must("mount", "--make-shared", harness.DIRECTORY)
        self.addCleanup(harness.must, "mount", "--make-private", harness.DIRECTORY)
        with subprocess.Popen(["unshare", "--mount", "--propagation", "slave", "sh", "-c",
                               "echo && exec cat"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as service:
            service.stdout.readline()
            self.prepare("--nv", "--driver-capabilities", "utility")
            self.prepare("--nv")
            there = mount_table.below(STAGED, f"/proc/{service.pid}/mountinfo")
            self.assertEqual([m.target for m in there], [m.target for m in mount_table.below(STAGED)])
            self.prepare("--undo")
            self.assertEqual(mount_table.below(STAGED, f"/proc/{service.pid}/mountinfo"), [])
            service.stdin.close()

    def test_undo_leaves_no_mount(self):
        before = mount_table.read()
        self.prepare("--nv")

        self.prepare("--undo")

        self.assertEqual(mount_table.read(), before)
        self.prepare("--undo", stderr=f"gpuctr-setup: nothing is staged at {STAGED}\n")

    def test_undo_removes_the_directories_that_were_made(self):
        self.prepare("--nv", "--driver-capabilities", "utility")
        self.prepare("--nv")
        self.prepare("--undo")
        self.assertFalse(STAGED.parent.exists())

        STAGED.parent.mkdir()
        self.prepare("--nv")
        self.prepare("--undo")
        self.assertEqual(list(STAGED.parent.iterdir()), [])

        STAGED.mkdir()
        self.prepare("--nv")
        self.prepare("--undo")
        self.assertEqual(list(STAGED.parent.iterdir()), [STAGED])

    def test_undo_removes_them_however_the_path_is_written(self):
        place = harness.DIRECTORY / "staged"
        for path in (f"{place}/p/q/", f"{place}/p/q//", f"{place}//p/./q", f"{place}/p/q/.",
                     f"{place}/./p//q/./"):
            for undone in (path, f"{place}/p/q"):
                with self.subTest(path=path, undone=undone):
                    self.run_setup("prepare", "--nv", "--staged-tree", path)
                    self.assertTrue((place / "p/q").is_mount())
                    self.apply("--staged-tree", path)
                    self.assertEqual(self.device_of_tree(), os.stat(place / "p/q").st_dev)
                    self.undo()
                    self.run_setup("prepare", "--undo", "--staged-tree", undone)
                    self.assertFalse(place.exists())

    def test_a_path_that_links_may_lead_elsewhere_is_refused(self):
        for path, why in ((f"{STAGED}/../tree", "has '..' in it"),
                          (f"{STAGED}/..", "has '..' in it"),
                          ("/", "is the whole host"), ("//./", "is the whole host")):
            for words in (("prepare", "--nv"), ("prepare", "--undo"), ("plan", "--nv")):
                done = harness.setup(*words, "--staged-tree", path)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertTrue(done.stderr.startswith(
                    f"gpuctr-setup: --staged-tree: '{path}' {why}\nhint: "), done.stderr)
        self.assertFalse(STAGED.parent.exists())

    def test_links_of_others_lead_to_no_place(self):
        """Root would mount, make and remove directories wherever they lead."""
        place = harness.DIRECTORY / "somewhere"
        (place / "tree").mkdir(parents=True)
        theirs = harness.DIRECTORY / "theirs"
        theirs.mkdir()
        for made in (place, theirs):
            self.addCleanup(shutil.rmtree, made)
        (theirs / "link").symlink_to(place)
        for changed in (theirs, theirs / "link"):
            os.chown(changed, 12345, 12345, follow_symlinks=False)
        before = mount_table.read()
        for tree in ("link/tree", "link/new/tree", "tree"):
            for words in (("--nv",), ("--undo",)):
                with self.subTest(tree=tree, words=words):
                    done = harness.setup("prepare", *words, "--staged-tree", theirs / tree)

                    self.assertEqual(mount_table.read(), before)
                    self.assertEqual(list(place.iterdir()), [place / "tree"])
                    self.assertEqual(done.returncode, 6, done.stderr)
                    self.assertIn(f"{theirs}: belongs to user 12345", done.stderr)

    def test_links_of_root_are_followed(self):
        place = harness.DIRECTORY / "somewhere"
        place.mkdir()
        self.addCleanup(shutil.rmtree, place)
        STAGED.parent.mkdir()
        (STAGED.parent / "link").symlink_to(place)

        self.run_setup("prepare", "--nv", "--staged-tree", STAGED.parent / "link/tree")
        self.assertTrue((place / "tree").is_mount())
        self.run_setup("prepare", "--undo", "--staged-tree", STAGED.parent / "link/tree")

        self.assertEqual(list(place.iterdir()), [])

    def test_undo_leaves_what_others_put_there(self):
        self.prepare("--nv")
        (STAGED.parent / "other").touch()
        self.prepare("--undo")
        self.assertEqual(list(STAGED.parent.iterdir()), [STAGED.parent / "other"])

    def test_a_failure_leaves_no_directory(self):
        done = harness.call("prlimit", "--fsize=1", SETUP, "prepare", "--nv", "--staged-tree",
                            STAGED)
        self.assertEqual(done.returncode, 8, done.stderr)
        self.assertFalse(STAGED.parent.exists())

    def test_undo_leaves_the_mounts_of_others(self):
        harness.mount_tmpfs(STAGED)
        before = mount_table.read()

        self.prepare("--undo", stderr=None)

        self.assertEqual(mount_table.read(), before)

    def test_it_needs_privileges(self):
        done = harness.call(*ORDINARY_USER, SETUP, "prepare", "--nv", "--staged-tree", STAGED)

        self.assertEqual(done.returncode, 6)
        self.assertIn("CAP_SYS_ADMIN", done.stderr)


if __name__ == "__main__":
    unittest.main()
