# SPDX-License-Identifier: MIT
"""Roots whose file system has another device number each time that it is mounted, as
overlays have, and btrfs, FUSE and NFS."""

import json
import os
import pathlib
import unittest

import cgroups
import disks
import harness
import mount_table
import snapshot


def numbers(root):
    found = os.stat(root)
    return found.st_dev, found.st_ino


class Case(harness.Case):
    """The root lies on a file system that is mounted at `root`."""

    def setUp(self):
        self.root = harness.DIRECTORY / "shown"
        self.root.mkdir()
        self.addCleanup(self.remove_root)
        self.held = harness.DIRECTORY / "held"
        self.addCleanup(harness.must, "rm", "-rf", self.held)
        self.addCleanup(self.unmount, self.held)
        self.prepare()
        self.mount(self.root)

    def unmount(self, directory):
        while mounts := mount_table.below(directory):
            harness.must("umount", "-l", mounts[-1].target)

    def remount(self):
        """With another number, as the one that it had is somebody else's meanwhile."""
        old = numbers(self.root)
        self.unmount(self.root)
        # Others on this machine give numbers back meanwhile, which are taken first.
        for _ in range(64):
            harness.mount_tmpfs(self.held)
            self.mount(self.root)
            if numbers(self.root)[0] != old[0]:
                return
            self.unmount(self.root)
        self.fail("it has its old number again and again")

    def files(self):
        """Without the numbers, of which an overlay gives others to what was copied up."""
        return {path: entry._replace(device=0, inode=0, links=0)
                for path, entry in snapshot.take(self.root).items()}

    def assert_clean(self, before):
        self.assertEqual(snapshot.difference(before, self.files()), [])
        self.assertEqual(mount_table.below(self.root)[1:], [])
        self.assertEqual(harness.journals(), [])
        self.assertEqual(list(harness.STATE.iterdir()), [])

    def status(self, *words, status):
        done = self.run_setup("status", "--format", "json", *words, status=status, stdout=None)
        return json.loads(done.stdout)["setups"]


class Layers:
    """An overlay, in which every number of a directory is another one later as well, unless
    all of it is of one file system."""

    one_file_system = False

    def prepare(self):
        self.lower = harness.new_root(mounted=not self.one_file_system)
        self.others = self.lower.with_name(f"{self.lower.name}-others")
        for name in ("upper", "work"):
            (self.others / name).mkdir(parents=True)
        self.addCleanup(harness.must, "rm", "-rf", self.lower, self.others)
        self.addCleanup(self.unmount, self.lower)

    def mount(self, directory):
        harness.must("mount", "-t", "overlay", "-o", f"lowerdir={self.lower},"
                     f"upperdir={self.others}/upper,workdir={self.others}/work", "test", directory)


class Found:
    """What was written into the root is ours still."""

    def setUp(self):
        super().setUp()
        self.before = self.files()
        self.apply("--device", "0")
        self.assertNotEqual(harness.journals(), [])

    def test_undo_takes_the_names_back(self):
        self.remount()

        self.undo()

        self.assert_clean(self.before)

    def test_rules_of_a_device_cgroup_go_with_them(self):
        group = cgroups.Group(self, 1)
        group.write("devices.deny", "a")
        group.write("devices.allow", "c 195:0 rw")
        [journal] = harness.STATE.glob("*/*.json")
        written = json.loads(journal.read_text())
        written["device_cgroup"] = {"group": group.path, "id": numbers(group.directory),
                                    "rules": [[195, 0, 3]]}
        journal.write_text(json.dumps(written))
        self.remount()

        self.undo()

        self.assertEqual(group.rules(), [])

    def test_undo_takes_them_back_after_a_reboot(self):
        self.remount()

        with harness.new_boot():
            self.undo()

        self.assert_clean(self.before)

    def test_undo_all_takes_them_back_after_a_reboot(self):
        self.remount()

        with harness.new_boot():
            self.run_setup("undo", "--all", "-v", stderr=f"gpuctr-setup: {self.root}: undone\n")

        self.assert_clean(self.before)

    def test_it_is_found_at_another_path(self):
        self.remount()
        moved = harness.DIRECTORY / "moved"
        moved.mkdir()
        harness.must("mount", "--bind", self.root, moved)

        with harness.new_boot():
            self.run_setup("undo", "--rootfs", moved)

        self.unmount(moved)
        moved.rmdir()
        self.assert_clean(self.before)

    def test_apply_replaces_it(self):
        self.remount()

        with harness.new_boot():
            self.apply("-v", "--device", "1",
                       stderr=self.replaced())
            self.assertEqual(len(harness.journals()), 1)
            self.apply("-v", "--device", "1", stderr=f"gpuctr-setup: {self.root}: set up already\n")
            self.undo()

        self.assert_clean(self.before)

    def test_status_says_it_and_changes_nothing(self):
        self.remount()
        before = self.files(), snapshot.take(harness.STATE)

        with harness.new_boot():
            for words in (("--rootfs", self.root), ("--all",)):
                [found] = self.status(*words, status=9)
                self.assertEqual([finding["code"] for finding in found["findings"]],
                                 ["earlier_boot"])

        self.assertEqual((self.files(), snapshot.take(harness.STATE)), before)
        self.undo()

    def test_what_the_container_replaced_stays(self):
        tool = self.root / "usr/bin/nvidia-smi"
        tool.unlink()
        tool.write_text("the container's own")
        self.remount()

        self.undo()

        self.assertEqual(tool.read_text(), "the container's own")
        left = [line for line in snapshot.difference(self.before, self.files(), ("mtime",))]
        self.assertEqual(left, ["/usr/bin/nvidia-smi: left behind"])

    def test_undoing_what_was_cut_off_goes_on(self):
        """A journal that was moved, and still is under the old number."""
        [journal] = harness.STATE.glob("*/*.json")
        text = journal.read_text()
        self.remount()
        self.undo()
        journal.parent.mkdir()
        journal.write_text(text)

        self.run_setup("undo", "--all", stderr=None)
        self.assertEqual(snapshot.difference(self.before, self.files()), [])


class OfAnother:
    """A journal of another root that has or had the same numbers. It is the other's: none
    of it is undone here, nor is it lost."""

    def forge(self, device):
        """The journal of a root that is not mounted, by numbers of this one."""
        [journal] = harness.STATE.glob("*/*.json")
        document = json.loads(journal.read_text())
        document["device"] = device or document["device"]
        document["inode"] = numbers(self.root)[1]
        forged = harness.STATE / f"{document['device']}-{document['inode']}" / journal.name
        text = json.dumps(document)
        harness.must("rm", "-rf", journal.parent)
        forged.parent.mkdir(exist_ok=True)
        forged.write_text(text)
        return forged, text

    def take_another(self, device=None):
        """Has another root be at the path that this one was at."""
        self.apply("--device", "0")
        self.unmount(self.root)
        old = pathlib.Path(self.others).with_name("old-others")
        self.others.rename(old)
        self.addCleanup(harness.must, "rm", "-rf", old)
        self.prepare()
        self.mount(self.root)
        return self.forge(numbers(self.root)[0] if device is None else device)

    def check(self, journal, text):
        # Such names as ours, which it was made with.
        (self.root / "usr/local/nvidia").symlink_to("/usr/lib/gpuctr")
        (self.root / "usr/lib/gpuctr").mkdir()
        before = self.files()
        nothing = f"gpuctr-setup: nothing is set up in {self.root}\n"
        for words in ((), ("new_boot",)):
            with self.subTest(words), harness.new_boot() if words else self.nothing_changes(
                    journal=False):
                self.undo(stderr=nothing)
                self.run_setup("status", "--rootfs", self.root, stderr=nothing)
                self.run_setup("undo", "--all", stderr=f"gpuctr-setup: {self.root}: left, out of "
                                                       "reach from here\n")
        self.assertEqual(snapshot.difference(before, self.files()), [])
        self.assertEqual(journal.read_text(), text)

        (self.root / "usr/local/nvidia").unlink()
        (self.root / "usr/lib/gpuctr").rmdir()
        before = self.files()
        self.apply("--device", "0")
        self.undo()
        self.assertEqual(snapshot.difference(before, self.files()), [])
        self.assertEqual(journal.read_text(), text)

    def test_of_the_same_number(self):
        self.check(*self.take_another())

    def test_of_another_number(self):
        self.check(*self.take_another(os.makedev(0, 99999)))


class FoundOnLayers(Layers, Found, Case):
    pass


class FoundOnLayersOfOneFileSystem(FoundOnLayers):
    one_file_system = True


class OfAnotherOnLayers(Layers, OfAnother, Case):
    pass


@unittest.skipUnless(disks.ENABLED, "makes a file system")
class Subvolumes(Found, Case):
    """Of btrfs: all have the same inode number."""

    def prepare(self):
        self.image = disks.make(self, "image", "128M", "mkfs.btrfs", "--quiet")
        self.top = harness.DIRECTORY / "top"
        self.top.mkdir()
        self.addCleanup(self.top.rmdir)
        self.addCleanup(self.unmount, self.top)
        disks.mount(self.image, self.top)
        template = harness.new_root()
        harness.must("btrfs", "subvolume", "create", self.top / "image")
        harness.must("cp", "-a", f"{template}/.", self.top / "image")
        harness.must("rm", "-rf", template)

    def mount(self, directory):
        if not mount_table.below(self.top):
            disks.mount(self.image, self.top)
        harness.must("mount", "--bind", self.top / "image", directory)

    def remount(self):
        self.unmount(self.root)
        self.unmount(self.top)
        super().remount()

    def test_a_snapshot_is_another_root(self):
        """Though it was born when its original was, and has its names."""
        harness.must("btrfs", "subvolume", "snapshot", self.top / "image", self.top / "copy")
        before = snapshot.take(self.top / "copy")
        nothing = f"gpuctr-setup: nothing is set up in {self.top}/copy\n"

        for boot in (harness.contextlib.nullcontext, harness.new_boot):
            with boot():
                self.run_setup("undo", "--rootfs", self.top / "copy", stderr=nothing)
                self.run_setup("status", "--rootfs", self.top / "copy", stderr=nothing)

        self.assertEqual(snapshot.difference(before, snapshot.take(self.top / "copy")), [])
        self.undo()
        self.assert_clean(self.before)


if __name__ == "__main__":
    unittest.main()
