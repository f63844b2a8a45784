# SPDX-License-Identifier: MIT
"""gpuctr-setup undo after others had a hand in the root as well, and set-ups
that replace each other."""

import json
import os
import re
import subprocess
import unittest

import harness
import mount_table
import snapshot
from harness import TREE

CACHE = "/etc/ld.so.cache"


class Meddled(harness.Case):
    """A set-up in which the container changes something before it is undone."""

    def setUp(self):
        super().setUp()
        self.before = self.state()
        self.apply("--device", "0")

    def differences(self):
        return snapshot.difference(self.before[0], self.state()[0], without=("mtime",))

    def assert_mounts_restored(self):
        self.assertEqual(mount_table.read(), self.before[1])
        self.assertEqual(harness.journals(), [])

    def test_an_ldconfig_of_the_container_keeps_the_driver(self):
        self.inside("ldconfig")

        self.assertIn(f"{TREE}/lib64/libcuda.so.1", self.inside("ldconfig", "-p"))

    def test_an_ldconfig_of_the_container_is_kept_without_us(self):
        (self.root / "usr/local/lib/libforeign.so.1").write_bytes(
            (self.root / "lib64/ld-linux-x86-64.so.2").resolve().read_bytes())
        self.inside("ldconfig")

        self.undo()

        left = self.inside("ldconfig", "-p")
        changed = {line.split(":")[0] for line in self.differences()}
        self.assertEqual(changed, {CACHE, "/var/cache/ldconfig", "/var/cache/ldconfig/aux-cache",
                                   "/var/cache", "/usr/local/lib/libforeign.so.1",
                                   "/usr/local/lib/ld-linux-x86-64.so.2"})
        self.assert_mounts_restored()
        self.inside("ldconfig")
        self.assertEqual(left, self.inside("ldconfig", "-p"))

    def test_a_name_that_the_container_replaced_stays(self):
        tool = self.root / "usr/bin/nvidia-smi"
        tool.unlink()
        tool.write_text("the container's own")

        self.undo()

        self.assertEqual(self.differences(), ["/usr/bin/nvidia-smi: left behind"])
        self.assertEqual(tool.read_text(), "the container's own")
        self.assert_mounts_restored()

    def test_a_link_that_the_container_redirected_stays(self):
        link = self.root / "usr/bin/nvidia-smi"
        link.unlink()
        link.symlink_to("/usr/lib/other_/bin/nvidia-smi")

        self.undo()

        self.assertEqual(self.differences(), ["/usr/bin/nvidia-smi: left behind"])

    def test_names_that_the_container_removed_are_no_error(self):
        (self.root / "usr/bin/nvidia-smi").unlink()
        (self.root / "etc/ld.so.conf.d/00-gpuctr.conf").unlink()
        (self.root / "usr/local/nvidia").unlink()

        self.undo()

        self.assertEqual(self.differences(), [])
        self.assert_mounts_restored()

    def test_a_loader_cache_that_the_container_removed_does_not_return(self):
        (self.root / CACHE[1:]).unlink()

        self.undo()

        self.assertEqual(self.differences(), [f"{CACHE}: gone"])
        self.assert_mounts_restored()

    def test_a_file_in_a_directory_of_ours_keeps_that_directory(self):
        harness.must("umount", "-l", "-R", f"{self.root}{TREE}")
        (self.root / TREE[1:] / "note").write_text("mine")

        self.undo()

        left = {line.split(":")[0] for line in self.differences() if "left behind" in line}
        self.assertEqual(left, {TREE, f"{TREE}/note"})
        self.assert_mounts_restored()

    def test_mounts_that_somebody_unmounted_are_no_error(self):
        harness.must("umount", "-l", "-R", f"{self.root}{TREE}")
        harness.must("umount", "-l", f"{self.root}/dev/nvidia0")

        self.undo()

        self.assert_state(self.before)

    def test_a_root_that_somebody_unmounted_is_no_error(self):
        harness.must("umount", "-l", "-R", self.root)

        self.undo()

        self.assert_state(self.before)
        self.assertEqual(harness.journals(), [])

    def test_applying_after_somebody_unmounted_it_sets_it_up_again(self):
        harness.must("umount", "-l", "-R", self.root)

        self.apply("-v", "--device", "0", stderr=f"gpuctr-setup: {self.root}: an older set-up "
                                                 "was replaced\n")

        self.assertTrue(os.path.exists(f"{self.root}{TREE}/bin/nvidia-smi"))
        self.undo()
        self.assert_state(self.before)

    def test_a_foreign_mount_over_ours_is_reported_and_left(self):
        harness.must("mount", "-t", "tmpfs", "foreign", f"{self.root}{TREE}")

        self.undo(status=8, stderr=f"gpuctr-setup: undo: reach our mount, under another mount or "
                                   f"elsewhere, at {TREE}: Device or resource busy\n")

        self.assertEqual([m.source for m in mount_table.below(f"{self.root}{TREE}")][-1], "foreign")
        harness.must("umount", f"{self.root}{TREE}")
        self.undo()
        self.assert_state(self.before)
        self.assertEqual(harness.journals(), [])

    def test_a_foreign_mount_over_ours_can_be_applied_away(self):
        harness.must("mount", "--bind", "/dev/null", f"{self.root}/dev/nvidia0")

        done = self.apply("--device", "0", status=8, stderr=None)

        self.assertTrue(done.stderr.startswith("gpuctr-setup: undo the older set-up: "),
                        done.stderr)
        harness.must("umount", f"{self.root}/dev/nvidia0")
        self.apply_over("--device", "0")
        self.undo()
        self.assert_state(self.before)

    def test_names_under_a_foreign_mount_are_reported_and_kept_in_mind(self):
        for covered in ("usr/bin", "usr", "etc"):
            with self.subTest(covered=covered):
                harness.must("mount", "-t", "tmpfs", "foreign", self.root / covered)

                done = self.undo(status=8, stderr=None)

                self.assertIn(" under another mount", done.stderr)
                self.assertEqual(len(harness.journals()), 1)
                harness.must("umount", self.root / covered)
                self.undo()
                self.assert_state(self.before)
                self.assertEqual(harness.journals(), [])
                self.apply()

    def test_a_name_under_a_foreign_mount_is_kept_in_mind(self):
        harness.must("mount", "--bind", "/dev/null", self.root / "etc/ld.so.cache")
        self.undo(status=8, stderr=None)
        self.assertEqual(len(harness.journals()), 1)
        harness.must("umount", self.root / "etc/ld.so.cache")
        self.undo()
        self.assert_state(self.before)

    def test_names_under_a_foreign_mount_are_kept_in_mind_after_a_reboot_too(self):
        harness.must("umount", "-l", "-R", self.root)
        with harness.new_boot():
            harness.must("mount", "-t", "tmpfs", "foreign", self.root / "usr/bin")

            done = self.undo(status=8, stderr=None)

            self.assertIn(" under another mount", done.stderr)
            self.assertEqual(len(harness.journals()), 1)
            harness.must("umount", self.root / "usr/bin")
            self.undo()
        self.assert_state(self.before)
        self.assertEqual(harness.journals(), [])

    def test_foreign_mounts_elsewhere_stay(self):
        harness.mount_tmpfs(self.root / "mnt")
        (self.root / "mnt/file").write_text("theirs")

        self.undo()

        self.assertEqual((self.root / "mnt/file").read_text(), "theirs")
        self.assertNotIn(TREE, "".join(m.target for m in mount_table.below(self.root)))
        harness.must("umount", self.root / "mnt")

    def test_a_journal_that_was_cut_off_in_writing_is_written_again(self):
        [journal] = harness.STATE.glob("*/*.json")
        unfinished = journal.with_name(journal.name + ".new")
        unfinished.touch()
        harness.must("mount", "--bind", "/dev/null", self.root / "dev/nvidia0")

        done = self.run_setup("undo", "--all", status=8, stderr=None)

        self.assertRegex(done.stderr, "reach our .* under another mount.* /dev/nvidia0")
        harness.must("umount", self.root / "dev/nvidia0")
        unfinished.touch()
        self.run_setup("undo", "--all")
        self.assert_state(self.before)
        self.assertEqual(list(harness.STATE.iterdir()), [])

    def test_journals_of_another_user_are_not_followed(self):
        state = self.root.with_name("state")
        harness.must("cp", "-a", harness.STATE, state)
        self.addCleanup(harness.must, "rm", "-rf", state)
        [journals] = state.iterdir()
        applied = self.state()

        for directory in (state, journals):
            for path, owner, mode, problem in ((directory, 4711, 0o700, "belongs to user 4711"),
                                               (directory, 0, 0o770, "its group may write it"),
                                               (directory, 0, 0o702, "everybody may write it")):
                os.chown(path, owner, owner)
                os.chmod(path, mode)
                for words in (["undo", "--all"], ["undo", "--rootfs", self.root],
                              ["status", "--rootfs", self.root], ["--nv", "--rootfs", self.root]):
                    done = self.run_setup(*words, "--state-dir", state, status=6, stderr=None)
                    self.assertRegex(done.stderr, f"journal directory: {path}: {problem}\nhint: ")
                done = harness.setup("status", "--all", "--state-dir", state)
                self.assertEqual(done.returncode, 6 if directory == state else 9, done.stderr)
                self.assertRegex(done.stdout + done.stderr, f"journal directory: {path}: {problem}")
            os.chmod(directory, 0o700)

        self.assert_state(applied)
        self.run_setup("undo", "--all", "--state-dir", state)
        self.assert_state(self.before)

    def test_journals_that_are_not_followed_keep_no_others(self):
        [refused] = harness.STATE.iterdir()
        other = harness.new_root()
        self.addCleanup(harness.must, "rm", "-rf", other)
        self.run_setup("--nv", "--rootfs", other)
        refused.chmod(0o702)

        done = self.run_setup("undo", "--all", status=6, stderr=None)

        self.assertIn(f"journal directory: {refused}: everybody may write it", done.stderr)
        self.assertEqual(mount_table.below(other), [])
        self.assertEqual(list(harness.STATE.iterdir()), [refused])
        refused.chmod(0o700)
        self.run_setup("undo", "--all")
        self.assert_state(self.before)

    def test_the_journal_of_an_earlier_build_takes_everything_back(self):
        journal, = harness.STATE.glob("*/*.json")
        document = json.loads(journal.read_text())
        for driver in document["drivers"]:
            for gpu in driver["gpus"]:
                # tests/unit/journal/data has one that such a build wrote.
                del gpu["architecture"], gpu["names"], gpu["parts"], gpu["parent"]
                gpu["numa_node"] = -1
        for operation in document["operations"]:
            operation.pop("directory", None)
            operation.pop("below", None)
        for further in ("ground", "subvolume", "changing_since", "device_cgroup"):
            document.pop(further, None)
        journal.write_text(json.dumps(document))

        self.undo()

        self.assertEqual(self.differences(), [])
        self.assert_mounts_restored()

    def test_a_damaged_journal_is_an_error_that_names_it(self):
        [journal] = harness.STATE.glob("*/*.json")
        text = journal.read_text()
        journal.write_text(text[:len(text) // 2])

        done = self.undo(status=8, stderr=None)

        self.assertEqual(done.stderr.count("\n"), 2, done.stderr)
        self.assertTrue(done.stderr.startswith(
            f"gpuctr-setup: journal {journal.parent.name}/{journal.name}: damaged: "), done.stderr)
        journal.write_text(text)
        self.undo()
        self.assert_state(self.before)

    def test_a_set_up_of_an_earlier_boot_takes_the_names_back(self):
        harness.must("umount", "-l", "-R", self.root)

        with harness.new_boot():
            self.undo()

        self.assert_state(self.before)
        self.assertEqual(harness.journals(), [])

    def test_a_set_up_of_an_earlier_boot_is_replaced(self):
        harness.must("umount", "-l", "-R", self.root)

        with harness.new_boot():
            self.apply("-v", "--device", "1", stderr=f"gpuctr-setup: {self.root}: an older set-up "
                                                     "was replaced\n")
            self.assertEqual(len(harness.journals()), 1)
            self.undo()

        self.assert_state(self.before)

    def test_another_directory_with_the_same_inode_is_none_of_ours(self):
        other = harness.new_root()
        [journal] = harness.STATE.glob("*/*.json")
        taken = os.stat(other)
        imposter = harness.STATE / f"{taken.st_dev}-{taken.st_ino}"
        imposter.mkdir()
        (imposter / journal.name).write_text(journal.read_text())
        (other / "usr/local/nvidia").symlink_to(TREE)
        before = snapshot.take(other)

        self.run_setup("undo", "--rootfs", other,
                       stderr=f"gpuctr-setup: nothing is set up in {other}\n")

        self.assertEqual(snapshot.difference(before, snapshot.take(other)), [])
        self.assertFalse(imposter.exists())
        harness.must("rm", "-rf", other)

    def test_a_journal_of_a_dead_namespace_takes_the_names_back(self):
        self.undo()
        harness.must("unshare", "--mount", harness.SETUP, "--nv", "--rootfs", self.root)
        self.assertTrue((self.root / "usr/local/nvidia").is_symlink())

        self.undo()

        self.assert_state(self.before)
        self.assertEqual(harness.journals(), [])


class Replaced(harness.Case):
    """One set-up follows another in the same root."""

    def nodes(self):
        return sorted(name for name in os.listdir(self.root / "dev") if re.match(r"nvidia\d", name))

    def replace(self, first, second):
        before = self.state()
        self.apply(*first)
        self.apply("-v", *second,
                   stderr=self.replaced())
        return before

    def check(self, options):
        before = self.replace(["--device", "0", *options], ["--device", "1", *options])

        self.assertEqual(self.nodes(), ["nvidia1"])
        self.assertEqual(len(harness.journals()), 1)
        self.undo()
        self.assert_state(before)
        self.assertEqual(harness.journals(), [])

    def test_another_gpu(self):
        self.check([])

    def test_another_gpu_without_writing(self):
        self.check(["--write", "never"])

    def test_another_gpu_assembled(self):
        self.check(["--backend", "assembled"])

    def test_fewer_capabilities(self):
        before = self.replace([], ["--driver-capabilities", "utility"])

        self.assertFalse(os.path.lexists(f"{self.root}{TREE}/lib64/libcuda.so.1"))
        self.assertTrue(os.path.exists(f"{self.root}{TREE}/lib64/libnvidia-ml.so.1"))
        self.assertNotIn("libcuda.so.1", self.inside("ldconfig", "-p"))
        self.undo()
        self.assert_state(before)

    def test_from_written_to_never_written(self):
        before = self.replace(["--device", "0"], ["--device", "1", "--write", "never"])

        self.assertEqual(self.nodes(), ["nvidia1"])
        self.undo()
        self.assert_state(before)

    def test_a_replacement_that_fails_leaves_the_root_clean_or_as_it_was(self):
        before = self.state()
        self.apply("--device", "0")
        applied = self.state()

        self.apply("--device", "99", status=2, stderr=None)

        self.assert_state(applied)
        self.undo()
        self.assert_state(before)

    def test_undo_and_apply_in_turns(self):
        before = self.state()
        for _ in range(5):
            self.apply()
            self.undo()
        self.assert_state(before)

    def test_another_driver_of_the_host(self):
        new_driver = harness.new_driver(self, "580.200.01")
        before = self.state()

        self.apply("--driver-capabilities", "compute")
        self.apply("-v", "--driver-capabilities", "compute", "--driver-root", new_driver,
                   "--driver-version", "580.200.01",
                   stderr=self.replaced())

        self.assertEqual(os.path.realpath(f"{self.root}{TREE}/lib64/libcuda.so.1"),
                         f"{self.root}{TREE}/lib64/libcuda.so.580.200.01")
        self.assertNotIn(harness.VERSION, self.inside("ldconfig", "-p"))
        self.undo()
        self.assert_state(before)


class SeenTwice(harness.Case):
    """One directory on two mounts of one namespace."""

    def setUp(self):
        super().setUp()
        self.first, self.second = (harness.DIRECTORY / name for name in ("first", "second"))
        for place in (self.first, self.second):
            place.mkdir()
            self.addCleanup(place.rmdir)
            harness.must("mount", "--bind", self.root, place)
            self.addCleanup(harness.call, "umount", "-l", "-R", place)

    def test_a_set_up_leaves_that_of_the_other_mount(self):
        before = self.state()
        self.run_setup("--nv", "--rootfs", self.first, "--device", "0")
        written = self.state()

        self.run_setup("--nv", "--rootfs", self.second, "--device", "1")

        self.assertEqual(snapshot.difference(written[0], self.state()[0]), [])
        self.assertEqual(len(harness.journals()), 2)
        self.run_setup("undo", "--rootfs", self.second)
        self.assert_state(written)
        self.run_setup("undo", "--rootfs", self.first)
        self.assert_state(before)
        self.assertEqual(harness.journals(), [])


class AtOnce(harness.Case):
    """Two set-ups of one root in two mount namespaces."""

    def other(self, *words):
        """Runs the command in the other namespace."""
        return harness.must("nsenter", f"--mount=/proc/{self.process.pid}/ns/mnt", harness.SETUP,
                            *words)

    def setUp(self):
        super().setUp()
        self.before = self.state()
        self.process = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh",
                                         "-c", "echo ready; exec sleep 60"],
                                        stdout=subprocess.PIPE)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.addCleanup(self.process.stdout.close)
        self.process.stdout.readline()

    def test_the_second_does_not_write(self):
        self.apply("--device", "0")
        written = self.state()

        self.other("--nv", "--rootfs", self.root, "--device", "1")

        self.assert_state(written)
        self.assertEqual(len(harness.journals()), 2)

    def test_undoing_the_first_leaves_the_second(self):
        self.apply("--device", "0")
        self.other("--nv", "--rootfs", self.root, "--device", "1")

        self.undo()

        self.assert_state(self.before)
        self.assertEqual(len(harness.journals()), 1)
        inside = harness.must("nsenter", f"--mount=/proc/{self.process.pid}/ns/mnt", "sh", "-c",
                              f"ls {self.root}/dev; ls {self.root}{TREE}/bin; "
                              f"chroot {self.root} ldconfig -p")
        self.assertIn("nvidia1\n", inside)
        self.assertNotIn("nvidia0\n", inside)
        self.assertIn("nvidia-smi", inside)
        self.assertIn(f"{TREE}/lib64/libcuda.so.1", inside)
        self.other("undo", "--rootfs", self.root)
        self.assertEqual(harness.journals(), [])
        self.assert_state(self.before)

    def test_undoing_the_second_leaves_the_first(self):
        self.apply("--device", "0")
        written = self.state()
        self.other("--nv", "--rootfs", self.root, "--device", "1")

        self.other("undo", "--rootfs", self.root)

        self.assert_state(written)
        self.assertEqual(len(harness.journals()), 1)
        self.undo()
        self.assert_state(self.before)

    def test_both_never_writing(self):
        self.apply("--device", "0", "--write", "never")
        self.other("--nv", "--rootfs", self.root, "--device", "1", "--write", "never")

        self.other("undo", "--rootfs", self.root)
        self.assertEqual(sorted(n for n in os.listdir(self.root / "dev")
                                if re.match(r"nvidia\d", n)), ["nvidia0"])
        self.undo()

        self.assert_state(self.before)
        self.assertEqual(harness.journals(), [])


if __name__ == "__main__":
    unittest.main()
