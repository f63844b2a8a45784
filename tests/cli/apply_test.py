# SPDX-License-Identifier: MIT
"""gpuctr-setup apply in each way in which names and mounts can come about."""

import errno
import os
import stat
import subprocess
import unittest

import harness
import mount_table
import snapshot
from harness import TREE, VERSION

LIBCUDA = f"libcuda.so.{VERSION}"


class Applied:
    """A root in which the set-up was made with self.write and self.backend."""

    def setUp(self):
        super().setUp()
        if not self.mounted:
            self.prepare_root()
        self.options = ["--write", self.write, "--backend", self.backend]
        self.planned = self.plan(*self.options)
        self.before = self.state()
        self.apply(*self.options)

    def prepare_root(self):
        """Room for another way to differ in."""

    def tree(self):
        return next(item["target"] for item in self.planned["items"]
                    if item["kind"] == "mount" and item["source"] == "tmpfs")

    def path(self, target):
        return f"{self.root}{target}"

    def test_undo_restores_everything(self):
        self.undo()

        self.assert_state(self.before)
        self.assertEqual(harness.journals(), [])

    def test_undoing_again_finds_nothing(self):
        self.undo()

        self.undo(stderr=f"gpuctr-setup: nothing is set up in {self.root}\n")

        self.assert_state(self.before)

    def test_the_loader_cache_names_the_tree_first(self):
        lines = self.inside("ldconfig", "-p").splitlines()

        for name in ("libcuda.so.1", "libnvidia-ml.so.1", LIBCUDA):
            found = [line.split(" => ")[1] for line in lines if line.split()[0] == name]
            self.assertEqual(found, [f"{self.tree()}/lib64/{name}"])
        self.assertTrue(any("libc.so.6 " in line for line in lines), "the image's own are gone")

    def test_a_program_is_given_the_hosts_driver(self):
        paths = self.inside("/usr/bin/needs_driver").splitlines()

        self.assertEqual(sorted(paths), [f"{self.tree()}/lib64/{LIBCUDA}",
                                         f"{self.tree()}/lib64/libnvidia-ml.so.{VERSION}"])

    def test_device_nodes_are_the_hosts(self):
        names = ["nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", *(f"nvidia{n}" for n in range(8))]

        for name in names:
            ours = os.stat(self.path(f"/dev/{name}"))
            host = os.stat(f"/dev/{name}")
            self.assertTrue(stat.S_ISCHR(ours.st_mode), name)
            self.assertEqual((ours.st_rdev, ours.st_mode), (host.st_rdev, host.st_mode), name)
        self.assertEqual(sorted(n for n in os.listdir(self.path("/dev")) if "nvidia" in n),
                         sorted(names))

    def test_the_tree_cannot_be_written(self):
        tree = self.tree()
        for path, flags in ((f"{tree}/new", os.O_CREAT | os.O_WRONLY),
                            (f"{tree}/lib64/new", os.O_CREAT | os.O_WRONLY),
                            (f"{tree}/lib64/{LIBCUDA}", os.O_WRONLY),
                            (f"{tree}/bin/nvidia-smi", os.O_RDWR)):
            with self.assertRaises(OSError, msg=path) as raised:
                os.close(os.open(self.path(path), flags))
            self.assertEqual(raised.exception.errno, errno.EROFS, path)
        for change in (lambda p: os.unlink(p), lambda p: os.chmod(p, 0o777), lambda p: os.utime(p)):
            with self.assertRaises(OSError) as raised:
                change(self.path(f"{tree}/lib64/{LIBCUDA}"))
            self.assertIn(raised.exception.errno, (errno.EROFS, errno.EBUSY))

    def test_mounts_have_the_planned_flags(self):
        options = {m.target: set(m.options.split(",")) for m in mount_table.below(self.root)}
        mounted = [item for item in self.planned["items"]
                   if item["kind"] in ("mount", "bind", "cover", "device") and item["options"]]

        self.assertGreater(len(mounted), 15)
        for item in mounted:
            wanted = set(item["options"].split(","))
            self.assertLessEqual(wanted, options.get(self.path(item["target"]), set()),
                                 item["target"])

    def test_mounts_are_private(self):
        for mount in mount_table.below(self.root):
            self.assertEqual(mount.propagation & (1 << 20), 0, mount)

    def test_every_planned_link_leads_to_a_file(self):
        links = [item for item in self.planned["items"] if item["kind"] == "symlink"]

        self.assertGreater(len(links), 15)
        for item in links:
            self.assertEqual(os.readlink(self.path(item["target"])), item["source"])
            self.inside("test", "-e", item["target"])

    def test_applying_again_changes_nothing(self):
        applied = self.state()

        self.apply("-v", *self.options,
                   stderr=f"gpuctr-setup: {self.root}: set up already\n")

        self.assert_state(applied)

    def test_other_mounts_stay_where_they_are(self):
        others = [m for m in mount_table.read() if not m.target.startswith(str(self.root))]

        self.assertEqual(others,
                         [m for m in self.before[1] if not m.target.startswith(str(self.root))])


class NeverWritten:
    """What holds where the root itself must not be written."""

    def test_the_root_itself_is_not_written(self):
        harness.must("umount", "-l", "-R", self.root)
        files, _ = self.state()

        self.assertEqual(snapshot.difference(self.before[0], files), [])


class AutoDetached(Applied, harness.Case):
    write, backend = "auto", "detached"


class AutoAssembled(Applied, harness.Case):
    write, backend = "auto", "assembled"


class NeverDetached(Applied, NeverWritten, harness.Case):
    write, backend = "never", "detached"


class NeverAssembled(Applied, NeverWritten, harness.Case):
    write, backend = "never", "assembled"


class WithMountsBelow(Applied, harness.Case):
    """A container's /dev is mounted in it already."""

    write, backend = "auto", "detached"

    def prepare_root(self):
        harness.mount_tmpfs(self.root / "dev")
        harness.mount_tmpfs(self.root / "dev/shm")


class OnAMountOfItsOwn(Applied, harness.Case):
    write, backend, mounted = "auto", "detached", True


class AssembledOnAMountOfItsOwn(Applied, harness.Case):
    write, backend, mounted = "auto", "assembled", True


class NeverOnAMountOfItsOwn(Applied, harness.Case):
    write, backend, mounted = "never", "detached", True


class Elsewhere(harness.Case):
    def test_a_root_of_another_mount_namespace_is_not_set_up_in_this_one(self):
        process = subprocess.Popen(["unshare", "--mount", "sh", "-c", "echo; exec sleep 60"],
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        process.stdout.readline()
        with self.nothing_changes():
            done = harness.setup("--nv", "--rootfs", f"/proc/{process.pid}/root{self.root}")
            self.assertEqual(done.returncode, 8, done.stderr)


class OfSomebodyElse(harness.Case):
    def test_a_link_of_the_image_leads_no_name_to_a_volume(self):
        volume = harness.DIRECTORY / "volume"
        volume.mkdir()
        harness.must("mount", "-t", "ramfs", "test", volume)
        self.addCleanup(harness.must, "umount", volume)
        (self.root / "etc").rename(self.root / "volume")
        (self.root / "etc").symlink_to("/volume")
        harness.must("mount", "--bind", volume, self.root / "volume")
        self.addCleanup(harness.must, "umount", self.root / "volume")
        self.apply()
        self.assertEqual(os.listdir(volume), [])
        self.undo()


class MountPoint(harness.Case):
    """What the root is once it is set up, and some programs copy into itself."""

    def plan_text(self, *words, **options):
        return self.run_setup("plan", "--nv", *words, stdout=None, **options).stdout

    def test_the_plan_says_it(self):
        note = (f"\nnote: {self.root} is a mount point until it is undone: `systemd-nspawn "
                "--ephemeral` copies such a directory into itself, until the disk is full\n")
        self.assertTrue(self.plan_text("--rootfs", self.root).endswith(note))
        self.assertNotIn("note:", self.plan_text())

    def test_and_it_is_so(self):
        for change, status in ((None, 32), (self.apply, 0), (self.undo, 32)):
            if change:
                change()
            self.assertEqual(harness.call("mountpoint", "-q", self.root).returncode, status)


if __name__ == "__main__":
    unittest.main()
