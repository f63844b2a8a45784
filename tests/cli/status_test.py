# SPDX-License-Identifier: MIT
"""gpuctr-setup status, and undo --all, after all that can become of a set-up."""

import json
import os
import subprocess
import unittest

import harness
import mount_table
from harness import TREE, VERSION

NEW_VERSION = "580.200.01"


def namespace(case, command="exec sleep 60"):
    """A process in a mount namespace of its own, which ends with the test."""
    process = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                                f"echo ready; {command}"], stdout=subprocess.PIPE)
    case.addCleanup(process.wait)
    case.addCleanup(process.kill)
    case.addCleanup(process.stdout.close)
    process.stdout.readline()
    return process


def inside(process, *words):
    return harness.must("nsenter", f"--mount=/proc/{process.pid}/ns/mnt", *words)


class Case(harness.Case):
    def status(self, *words, status=0):
        done = self.run_setup("status", "--format", "json", *(words or ["--rootfs", self.root]),
                              status=status, stdout=None)
        return json.loads(done.stdout)["setups"]

    def problems(self, *words, status=9):
        [found] = self.status(*words, status=status)
        return [(finding["code"], finding["object"]) for finding in found["findings"]]

    def end_namespace_with_set_up(self, *words):
        harness.must("unshare", "--mount", "--propagation", "private", harness.SETUP, "--nv",
                     "--rootfs", self.root, *words)


class Status(Case):
    def test_nothing(self):
        self.run_setup("status", "--rootfs", self.root,
                       stderr=f"gpuctr-setup: nothing is set up in {self.root}\n")
        self.run_setup("status", "--all", stderr="gpuctr-setup: nothing is set up\n")
        self.assertFalse(harness.STATE.exists())

    def test_journals_that_may_not_be_written(self):
        self.apply("--device", "0")
        found = self.status(), self.status("--all")
        [lock] = harness.STATE.glob("*/lock")
        for without_lock in (False, True):
            harness.must("mount", "--bind", "-o", "ro", harness.STATE, harness.STATE)
            self.addCleanup(harness.call, "umount", harness.STATE)
            self.assertEqual((self.status(), self.status("--all")), found)
            done = self.undo(status=6, stderr=None)
            self.assertIn(f"journal directory {harness.STATE}: Read-only file system", done.stderr)
            harness.must("umount", harness.STATE)
            for path in (harness.STATE, lock.parent):
                path.chmod(0o755)
            for path in harness.STATE.glob("*/*.json"):
                path.chmod(0o644)
            user = [*harness.ORDINARY_USER, harness.SETUP, "status", "--state-dir", harness.STATE,
                    "--format", "json"]
            for words in (["--all"], ["--rootfs", self.root]):
                [seen] = json.loads(harness.must(*user, *words))["setups"]
                self.assertEqual(seen["root"], str(self.root))
            if not without_lock:
                lock.unlink()
        self.undo()

    def test_a_set_up_says_what_it_is(self):
        self.apply("--device", "2,1")

        [found] = self.status()

        self.assertEqual(found["root"], str(self.root))
        (driver,) = found["drivers"]
        self.assertEqual((driver["vendor"], driver["version"]), ("nvidia", VERSION))
        self.assertEqual([gpu["index"] for gpu in driver["gpus"]], [1, 2])
        self.assertEqual((found["tree_path"], found["writes_root"]), (TREE, True))
        self.assertEqual((found["origin"], found["findings"]), ("here", []))

    def test_text(self):
        self.apply("--device", "0")

        lines = self.run_setup("status", "--all", stdout=None).stdout.splitlines()

        self.assertEqual(lines[0], str(self.root))
        self.assertEqual(lines[1], f"  driver   nvidia {VERSION}")
        self.assertRegex(lines[2], r"^  GPUs     0 GPU-[0-9a-f-]{36}$")
        self.assertEqual(lines[3], f"  tree     {TREE}")
        self.assertRegex(lines[4], r"^  since    \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$")
        self.assertEqual(lines[5:], ["  seen in  this mount namespace", "  root     written",
                                     "  state    intact"])

    def test_it_changes_nothing(self):
        self.apply()
        with self.nothing_changes(journal=False):
            self.status()
            self.status("--all")

    def test_parts_that_are_gone_or_covered_are_named(self):
        self.apply("--device", "0")
        harness.must("umount", "-l", f"{self.root}/dev/nvidia0")
        harness.must("mount", "--bind", "/dev/null", f"{self.root}/dev/nvidiactl")
        harness.must("umount", "-l", "-R", f"{self.root}{TREE}")
        (self.root / "usr/bin/nvidia-smi").rename(self.root / "usr/bin/smi")

        found = self.problems()

        self.assertEqual(sorted(found), [("part_missing", "/dev/nvidia0"),
                                         ("part_missing", "/dev/nvidiactl"),
                                         ("part_missing", "/usr/bin/nvidia-smi"),
                                         ("part_missing", TREE)])
        harness.must("umount", f"{self.root}/dev/nvidiactl")

    def test_another_loader_cache_is_a_part_that_changed(self):
        self.apply("--device", "0")
        self.inside("ldconfig")

        self.assertEqual(self.problems(), [("part_missing", "/etc/ld.so.cache")])

    def test_without_writing(self):
        self.apply("--device", "0", "--write", "never")
        self.assertEqual(self.problems(status=0), [])

        harness.must("umount", "-l", f"{self.root}/etc/ld.so.cache")

        self.assertEqual(self.problems(), [("part_missing", "/etc/ld.so.cache")])

    def test_another_kernel_module(self):
        self.apply("--device", "0")
        harness.load_module(self, NEW_VERSION)

        self.assertEqual(self.problems(), [("driver_version", "nvidia")])

    def test_no_kernel_module(self):
        self.apply("--device", "0")
        harness.load_module(self, "")
        harness.mount_tmpfs(harness.pathlib.Path("/proc/driver/nvidia"))
        self.addCleanup(harness.must, "umount", "/proc/driver/nvidia")

        self.assertEqual(self.problems(), [("driver_not_loaded", "nvidia")])

    def test_an_earlier_boot(self):
        self.apply("--device", "0")
        harness.must("umount", "-l", "-R", self.root)

        with harness.new_boot():
            self.assertEqual(self.problems(), [("earlier_boot", None)])

    def test_an_interrupted_apply(self):
        harness.call("strace", "-f", "-qq", "-o", "/dev/null", "-e",
                     "inject=renameat2:signal=KILL:when=1", harness.SETUP, "--nv", "--rootfs",
                     self.root, env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))

        self.assertEqual(self.problems(), [("interrupted", None)])
        self.undo()

    def test_an_undo_that_could_not_finish(self):
        self.apply("--device", "0")
        harness.must("mount", "--bind", "/dev/null", f"{self.root}/dev/nvidia0")
        self.undo(status=8, stderr=None)

        self.assertEqual(self.problems(), [("partly_undone", None)])
        harness.must("umount", f"{self.root}/dev/nvidia0")
        self.undo()

    def test_another_namespace_is_not_wrong(self):
        process = namespace(self)
        inside(process, harness.SETUP, "--nv", "--rootfs", self.root)

        [found] = self.status()

        self.assertEqual((found["origin"], found["findings"]), ("another_namespace", []))
        self.assertEqual(found["process"], process.pid)
        self.assertEqual(found["mount_namespace"],
                         json.loads(inside(process, harness.SETUP, "status", "--all", "--format",
                                           "json"))["setups"][0]["mount_namespace"])

    def test_a_namespace_that_ended_is_a_warning(self):
        self.end_namespace_with_set_up()

        self.assertEqual(self.problems(status=0), [("namespace_gone", None)])
        self.status("--rootfs", self.root, "--fail-on", "warning", status=9)

    def test_a_root_that_is_gone_is_a_warning(self):
        self.end_namespace_with_set_up("--write", "never")
        self.root.rename(f"{self.root}.moved")
        self.addCleanup(os.rename, f"{self.root}.moved", self.root)

        self.assertEqual(self.problems("--all", status=0),
                         [("namespace_gone", None), ("root_gone", str(self.root))])

    def test_a_damaged_journal(self):
        self.apply()
        [journal] = harness.STATE.glob("*/*.json")
        text = journal.read_text()
        for damaged in ("", "{", "[]", '{"schema": "gpucontainer/journal/2"}',
                        text.replace('"step":', '"pets":'), text[:-100],
                        text.replace('"root_path":"', '"root_path":{"'),
                        text.replace('"inode":', '"inode":1'),
                        text.replace('"since":', '"since":-0.5e'),
                        text.replace('"boot_id":"', '"boot_id":"0')):
            with self.subTest(text=damaged[:40]):
                journal.write_text(damaged)
                self.assertEqual([kind for kind, _ in self.problems("--all")], ["journal_damaged"])
        journal.write_text(text)

    def test_usage(self):
        for words in ([], ["--all", "--rootfs", self.root], ["--rootfs-fd", "-1"],
                      ["--rootfs-fd", "99"], ["--pid", "0"], ["--all", "--fail-on", "nothing"],
                      ["--rootfs", self.root, "--pid", "1"], ["--all", "--", "true"]):
            with self.subTest(words=words):
                self.run_setup("status", *words, status=2, stderr=None)


class UndoAll(Case):
    def undo_all(self, *words, **options):
        return self.run_setup("undo", "--all", *words, **options)

    def test_every_root(self):
        others = [harness.new_root() for _ in range(3)]
        before = self.state()
        for root in (self.root, *others):
            self.run_setup("--nv", "--rootfs", root)

        self.undo_all()

        self.assert_state(before)
        self.assertEqual(list(harness.STATE.iterdir()), [])
        for root in others:
            harness.must("rm", "-rf", root)

    def test_says_what_it_did(self):
        self.apply()
        self.undo_all("-v", stderr=f"gpuctr-setup: {self.root}: undone\n")
        self.undo_all("-v", stderr="gpuctr-setup: nothing is set up\n")

    def test_leaves_another_namespace_and_names_it(self):
        process = namespace(self)
        inside(process, harness.SETUP, "--nv", "--rootfs", self.root, "--write", "never")
        [found] = self.status()

        self.undo_all(stderr=f"gpuctr-setup: {self.root}: left, in use in mount namespace "
                             f"{found['mount_namespace']}\n")

        self.assertEqual(len(self.status()), 1)
        inside(process, harness.SETUP, "undo", "--all")
        self.assertEqual(self.status(), [])

    def test_forgets_a_root_that_is_gone(self):
        self.end_namespace_with_set_up()
        harness.must("rm", "-rf", self.root)

        self.undo_all("-v", stderr=f"gpuctr-setup: {self.root}: gone, and forgotten\n")

        self.assertEqual(harness.journals(), [])

    def test_finds_a_root_that_was_renamed_by_its_mount(self):
        before = self.state()
        self.apply()
        moved = self.root.with_name("moved")
        # Where it is a mount point the kernel does not allow it.
        harness.must("unshare", "--mount", "--propagation", "private", "sh", "-c",
                     f"umount -l -R {self.root} && mv {self.root} {moved}")

        self.undo_all("-v", stderr=f"gpuctr-setup: {self.root}: undone\n")

        moved.rename(self.root)
        self.assert_state(before, without=("mtime",))

    def test_touches_no_other_directory_at_the_path(self):
        self.end_namespace_with_set_up()
        moved = self.root.with_name("moved")
        self.root.rename(moved)
        self.root.mkdir()
        for name in ("usr/lib/gpuctr", "usr/local"):
            (self.root / name).mkdir(parents=True)
        (self.root / "usr/local/nvidia").symlink_to(TREE)

        with self.nothing_changes():
            self.undo_all()

        harness.must("rm", "-rf", self.root)
        moved.rename(self.root)

    def test_goes_on_after_a_failure(self):
        other = harness.new_root()
        self.apply("--device", "0")
        self.run_setup("--nv", "--rootfs", other)
        harness.must("mount", "--bind", "/dev/null", f"{self.root}/dev/nvidia0")

        done = self.undo_all(status=8, stderr=None)

        self.assertIn(f"undo {self.root}: ", done.stderr)
        self.assertEqual(len(harness.journals()), 1)
        self.assertEqual(mount_table.below(other), [])
        harness.must("umount", f"{self.root}/dev/nvidia0")
        self.undo_all()
        harness.must("rm", "-rf", other)


class Refresh(Case):
    """The host's driver is updated: the kernel module and the files."""

    def test_apply_replaces_the_old_driver(self):
        before = self.state()
        self.apply("--driver-capabilities", "compute")
        new_driver = harness.new_driver(self, NEW_VERSION)
        harness.load_module(self, NEW_VERSION)

        self.apply("-v", "--driver-capabilities", "compute", "--driver-root", new_driver,
                   stderr=self.replaced())

        self.assertEqual(os.path.realpath(f"{self.root}{TREE}/lib64/libcuda.so.1"),
                         f"{self.root}{TREE}/lib64/libcuda.so.{NEW_VERSION}")
        self.assertNotIn(VERSION, self.inside("ldconfig", "-p"))
        [found] = self.status()
        self.assertEqual((found["drivers"][0]["version"], found["findings"]), (NEW_VERSION, []))
        self.undo()
        for path in ("/sys/module/nvidia/version", "/proc/driver/nvidia/version"):
            harness.must("umount", path)
        self.assert_state(before)

    def test_a_reboot_in_between(self):
        before = self.state()
        self.apply("--device", "0")
        harness.must("umount", "-l", "-R", self.root)

        with harness.new_boot():
            self.apply("-v", "--device", "0", stderr=f"gpuctr-setup: {self.root}: an older "
                                                     "set-up was replaced\n")
            self.assertEqual(self.problems(status=0), [])
            self.undo()

        self.assert_state(before)


class Streams(Case):
    """A root before a set-up and after its undo, as tar sees it."""

    def stream(self):
        return harness.must("sh", "-c", "tar --create --numeric-owner --xattrs --sort=name "
                            f"--format=posix --pax-option=delete=atime,delete=ctime -C {self.root}"
                            " . | sha256sum")

    def check(self, *words, meddle=None):
        os.setxattr(self.root / "etc", "trusted.test", b"value")
        os.chown(self.root / "usr/local", 1234, 4321)
        before = self.stream(), self.state()
        self.apply(*words)
        if meddle:
            meddle()
        self.undo()
        self.assertEqual(self.stream(), before[0])
        self.assert_state(before[1])

    def test_written(self):
        self.check()

    def test_not_written(self):
        self.check("--write", "never")

    def test_after_parts_were_unmounted_and_removed(self):
        def meddle():
            harness.must("umount", "-l", "-R", f"{self.root}{TREE}")
            harness.must("umount", "-l", f"{self.root}/dev/nvidia0")
        self.check("--device", "0", meddle=meddle)


if __name__ == "__main__":
    unittest.main()
