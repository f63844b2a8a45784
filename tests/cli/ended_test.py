# SPDX-License-Identifier: MIT
"""gpuctr-setup on what set-ups of containers leave that ended since."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import disks
import harness
import mount_table
import snapshot
from harness import TREE


class Container(harness.Case):
    """One that ran, and was set up by --pid; its root is seen at `root` or was there."""

    def setUp(self):
        super().setUp()
        self.before = self.files()

    def files(self):
        """Without the numbers, of which an overlay gives others to what was copied up."""
        return {path: entry._replace(device=0, inode=0, links=0)
                for path, entry in snapshot.take(self.root).items()}

    def has_names(self, directory=None):
        return (directory or self.root).joinpath(TREE.lstrip("/")).is_dir()

    def start(self, prepare=":"):
        """Its root is `root`, after `prepare`, and it has its mount namespace for itself."""
        script = (f"{prepare}; mount --rbind {self.root} {self.root} && cd {self.root} && "
                  "mount -t tmpfs -o mode=0755 dev dev && "
                  "exec chroot . sh -c 'echo ready; exec sleep 60'")
        process = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-ec",
                                    script], stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def run_and_end(self, *words, **options):
        process = self.start(**options)
        self.run_setup("--nv", "--device", "0", "--pid", process.pid, *words)
        process.kill()
        process.wait()

    def undo_all(self, outcome, name=None, **options):
        name = name or self.root
        if outcome == "left":
            outcome = "left, out of reach from here"
        self.run_setup("undo", "--all", "-v", stderr=f"gpuctr-setup: {name}: {outcome}\n",
                       **options)

    def undo_all_of_no_path(self, outcome):
        done = self.run_setup("undo", "--all", "-v", stderr=None)
        self.assertRegex(done.stderr, r"^gpuctr-setup: a container of mount namespace \d+: "
                                      f"{outcome}\n$")

    def status(self, *words, **options):
        done = self.run_setup("status", "--format", "json", "--all", *words, stdout=None,
                              **options)
        return [(found["root"], [finding["code"] for finding in found["findings"]])
                for found in json.loads(done.stdout)["setups"]]

    def assert_clean(self):
        self.assertEqual(snapshot.difference(self.before, self.files()), [])
        self.assertEqual(harness.journals(), [])


class Directory(Container):
    """Its root is a directory of this mount namespace."""

    anew = {"mounted_device": os.makedev(0, 99999)}

    def test_undo_all_takes_the_names_back(self):
        self.run_and_end()
        self.assertTrue(self.has_names())

        self.undo_all("undone")

        self.assert_clean()
        self.run_setup("undo", "--all", "-v", stderr="gpuctr-setup: nothing is set up\n")

    def test_status_names_it(self):
        self.run_and_end()
        self.assertEqual(self.status(), [(str(self.root), ["namespace_gone"])])
        self.undo_all("undone")
        self.assertEqual(self.status(), [])

    def test_after_a_reboot(self):
        self.run_and_end()
        with harness.new_boot():
            self.assertEqual(self.status(status=9), [(str(self.root), ["earlier_boot"])])
            self.undo_all("undone")
        self.assert_clean()

    def test_one_that_lives_is_left(self):
        process = self.start()
        self.run_setup("--nv", "--device", "0", "--pid", process.pid)
        self.assertEqual(self.status(), [(None, [])])
        self.undo_all_of_no_path(r"left, in use in mount namespace \d+")
        self.assertTrue(self.has_names())
        self.run_setup("undo", "--pid", process.pid)

    def test_of_nothing_written_the_journal_is_forgotten(self):
        self.run_and_end("--write", "never")
        self.undo_all_of_no_path("gone, and forgotten")
        self.assert_clean()

    def test_one_that_is_gone_is_forgotten(self):
        self.run_and_end()
        harness.must("rm", "-rf", self.root)
        self.undo_all_of_no_path("gone, and forgotten")
        self.assertEqual(list(harness.STATE.iterdir()), [])

    def test_one_that_was_renamed_is_found(self):
        self.run_and_end()
        moved = self.root.with_name(f"{self.root.name}-moved")
        self.root.rename(moved)
        self.root.mkdir()

        self.undo_all("undone", moved)

        self.root.rmdir()
        moved.rename(self.root)
        self.assert_clean()

    def test_another_directory_at_its_path_is_not_touched(self):
        self.run_and_end()
        harness.must("cp", "-a", self.root, f"{self.root}.copy")
        harness.must("rm", "-rf", self.root)
        pathlib.Path(f"{self.root}.copy").rename(self.root)

        with self.nothing_changes():
            self.undo_all_of_no_path("gone, and forgotten")

    def test_one_below_another_mount_is_left(self):
        self.run_and_end()
        before = self.state()
        harness.mount_tmpfs(self.root)

        self.undo_all_of_no_path("left, out of reach from here")

        harness.must("umount", self.root)
        self.assert_state(before)
        self.undo_all("undone")
        self.assert_clean()

    def test_one_that_is_not_mounted_at_the_moment_is_left(self):
        """Played: where its mount would be and by its number there is another one, or none."""
        self.run_and_end()
        other = harness.DIRECTORY / "other"
        harness.mount_tmpfs(other)
        self.addCleanup(other.rmdir)
        self.addCleanup(harness.must, "umount", other)
        [journal] = harness.STATE.glob("*/*.json")
        text = journal.read_text()
        document = json.loads(text)
        document["ground"] |= {"is_lasting": True, "file_system": 1,
                               "path": str(other / "below/root")}
        for device in (os.makedev(0, 99999), os.stat(other).st_dev):
            document["ground"]["mounted_device"] = device
            journal.write_text(json.dumps(document))
            self.undo_all_of_no_path("left, out of reach from here")

        journal.write_text(text)
        self.undo_all("undone")
        self.assert_clean()

    @contextlib.contextmanager
    def mounted_anew(self):
        """Played: since a reboot the file system, which outlived it, has another number."""
        [journal] = harness.STATE.glob("*/*.json")
        document = json.loads(journal.read_text())
        document["ground"] |= {"is_lasting": True} | self.anew
        journal.write_text(json.dumps(document))
        with harness.new_boot():
            yield

    def test_one_that_was_renamed_is_found_by_another_number_of_its_file_system(self):
        self.run_and_end()
        moved = self.root.with_name(f"{self.root.name}-moved")
        self.root.rename(moved)
        with self.mounted_anew():
            self.undo_all("undone", moved)
        moved.rename(self.root)
        self.assert_clean()

    def test_one_that_is_gone_is_forgotten_by_another_number_of_its_file_system(self):
        self.run_and_end()
        harness.must("rm", "-rf", self.root)
        with self.mounted_anew():
            self.undo_all_of_no_path("gone, and forgotten")

    def test_one_whose_file_system_gives_no_answer_is_left(self):
        """No path tells root that it is gone: it may have been renamed."""
        self.run_and_end()
        harness.must("rm", "-rf", self.root)
        with self.mounted_anew():
            done = harness.call("strace", "-f", "-qq", "-o", "/dev/null", "-e",
                                "inject=open_by_handle_at:error=ENOMEM", harness.SETUP, "undo",
                                "--all", "-v", env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
            self.assertIn(": left, out of reach from here\n", done.stderr)
            self.undo_all_of_no_path("gone, and forgotten")

    def test_a_root_below_the_one_of_its_mount(self):
        """A mount of the host is not where the container has it."""
        shown = harness.DIRECTORY / "shown"
        shown.mkdir()
        self.addCleanup(shown.rmdir)
        harness.must("mount", "--bind", self.root, shown)
        self.addCleanup(harness.must, "umount", shown)
        self.run_and_end()
        self.run_setup("undo", "--all")
        self.assert_clean()


class OfAUser(Container):
    """Who may not ask for a directory by its handle, and goes by its path."""

    def setUp(self):
        super().setUp()
        harness.must("chown", "-R", "-h", "65534:65534", self.root)
        self.before = self.files()
        self.home = harness.DIRECTORY / "home"
        self.home.mkdir()
        os.chown(self.home, 65534, 65534)
        self.addCleanup(harness.must, "rm", "-rf", self.home)
        script = (f"mount --rbind {self.root} {self.root} && cd {self.root} && "
                  "exec chroot . sh -c 'echo ready; exec sleep 60'")
        process = subprocess.Popen([*harness.ORDINARY_USER, "unshare", "-Ur", "--mount", "sh",
                                    "-ec", script], stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        self.as_user("--nv", "--device", "0", "--write", "always", "--pid", process.pid)
        process.kill()
        process.wait()

    def as_user(self, *words):
        return harness.must(*harness.ORDINARY_USER, "sh", "-c", '"$@" 2>&1', "-", harness.SETUP,
                            *words, env=dict(os.environ, HOME=str(self.home), XDG_STATE_HOME=""))

    def check(self, outcome, journals=0):
        self.assertRegex(self.as_user("undo", "--all", "-v"), f"^gpuctr-setup: {outcome}\n$")
        self.assertEqual(len(list(self.home.glob(".local/state/gpucontainer/*/*.json"))), journals)

    def test_undo_all_takes_the_names_back(self):
        self.check(f"{self.root}: undone")
        self.assert_clean()

    def test_one_that_is_gone_is_forgotten(self):
        harness.must("rm", "-rf", self.root)
        self.check("a container of .*: gone, and forgotten")

    def test_one_below_another_mount_is_left(self):
        harness.mount_tmpfs(self.root)
        self.check("a container of .*: left, out of reach from here", journals=1)

        harness.must("umount", self.root)
        self.check(f"{self.root}: undone")
        self.assert_clean()


class InMemory(Container):
    """On a tmpfs of its own, which other mount namespaces may show."""

    mounted = True

    def setUp(self):
        super().setUp()
        self.holder = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh",
                                        "-c", "echo ready; exec sleep 60"], stdout=subprocess.PIPE)
        self.addCleanup(self.end_holder)
        self.assertEqual(self.holder.stdout.readline(), b"ready\n")
        self.run_and_end()
        harness.must("umount", "-l", self.root)

    def end_holder(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()

    def test_one_that_is_mounted_elsewhere_is_left(self):
        self.undo_all_of_no_path("left, out of reach from here")

        done = harness.call("nsenter", "-t", self.holder.pid, "-m", harness.SETUP, "undo", "--all",
                            "-v")

        self.assertEqual(done.stderr, f"gpuctr-setup: {self.root}: undone\n")
        self.assertEqual(harness.journals(), [])

    def test_is_forgotten_after_a_reboot(self):
        self.end_holder()
        with harness.new_boot():
            self.undo_all_of_no_path("gone, and forgotten")
        self.assertEqual(harness.journals(), [])


class OnDisk(Directory):
    """On a file system that outlives a boot."""

    anew = {}

    def setUp(self):
        super().setUp()
        try:
            disk = pathlib.Path(tempfile.mkdtemp(prefix="root-on-disk-", dir=".")).resolve()
        except OSError as error:
            self.skipTest(str(error))
        self.addCleanup(harness.must, "rm", "-rf", "--one-file-system", disk)
        disk.chmod(0o755)
        kind = harness.must("stat", "-f", "-c", "%T", disk).strip()
        if kind not in ("ext2/ext3", "xfs", "btrfs"):
            self.skipTest(f"{disk} is on {kind}")
        in_memory = self.root
        self.root = disk / "below/root"
        self.root.parent.mkdir()
        self.addCleanup(setattr, self, "root", in_memory)
        harness.must("cp", "-a", in_memory, self.root)
        self.before = self.files()


@unittest.skipUnless(disks.ENABLED, "makes a file system")
class OnXfs(Directory):
    """To statfs() it is its device's number, which another one may have later."""

    anew = {}

    def setUp(self):
        super().setUp()
        self.images = [disks.make(self, name, "320M", "mkfs.xfs", "-q")
                       for name in ("disk", "another")]
        self.disk = harness.DIRECTORY / "shown-disk"
        self.disk.mkdir()
        self.addCleanup(self.disk.rmdir)
        disks.mount(self.images[0], self.disk)
        self.addCleanup(self.unmount)
        in_memory = self.root
        self.root = self.disk / "root"
        self.addCleanup(setattr, self, "root", in_memory)
        harness.must("cp", "-a", in_memory, self.root)
        self.before = self.files()

    def unmount(self):
        harness.must("umount", self.disk)

    def test_one_whose_disk_has_another_number_is_left(self):
        self.run_and_end()
        device = os.stat(self.disk).st_dev
        self.unmount()
        disks.mount(self.images[1], self.disk)
        self.assertEqual(os.stat(self.disk).st_dev, device)

        self.undo_all_of_no_path("left, out of reach from here")

        self.unmount()
        disks.mount(self.images[0], self.disk)
        self.undo_all("undone")
        self.assert_clean()


class Layers(Container):
    """Its root is an overlay, on layers that outlive it."""

    def setUp(self):
        super().setUp()
        self.lower = self.root
        self.root = self.lower.with_name(f"{self.lower.name}-merged")
        self.layers = [self.root.with_name(f"{self.lower.name}-{name}")
                       for name in ("upper", "work")]
        for directory in (self.root, *self.layers):
            directory.mkdir()
            self.addCleanup(harness.must, "rm", "-rf", directory)
        self.addCleanup(harness.call, "umount", "-l", self.root)
        self.addCleanup(setattr, self, "root", self.lower)
        harness.must(*self.mount())
        self.before = self.files()

    def mount(self):
        return ["mount", "-t", "overlay", "-o", f"lowerdir={self.lower},upperdir={self.layers[0]},"
                                                f"workdir={self.layers[1]}", "test", self.root]

    def test_is_undone_where_it_is_mounted(self):
        self.run_and_end()
        self.assertTrue(self.has_names(self.layers[0]))
        self.assertEqual(self.status(), [(str(self.root), ["namespace_gone"])])

        self.undo_all("undone")

        self.assert_clean()
        self.assertFalse(self.has_names(self.layers[0]))

    def test_is_left_as_long_as_its_layer_is_there(self):
        self.run_and_end()
        harness.must("umount", self.root)

        for _ in range(2):
            self.undo_all_of_no_path("left, out of reach from here")

        harness.must(*self.mount())
        self.undo_all("undone")
        self.assert_clean()

    def test_is_left_when_its_layer_was_renamed(self):
        self.run_and_end()
        harness.must("umount", self.root)
        upper = self.layers[0]
        moved = upper.with_name(f"{upper.name}-moved")
        upper.rename(moved)
        upper.mkdir()

        self.undo_all_of_no_path("left, out of reach from here")

        upper.rmdir()
        moved.rename(upper)
        harness.must(*self.mount())
        self.undo_all("undone")

    def test_is_forgotten_when_its_layer_is_gone(self):
        self.run_and_end()
        harness.must("umount", self.root)
        harness.must("rm", "-rf", *self.layers)
        self.assertEqual(self.status(), [(None, ["namespace_gone", "root_gone"])])

        self.undo_all_of_no_path("gone, and forgotten")

        self.assertEqual(list(harness.STATE.iterdir()), [])

    def test_mounted_in_the_container_alone(self):
        harness.must("umount", self.root)
        self.run_and_end(prepare=" ".join(map(str, self.mount())))
        self.assertTrue(self.has_names(self.layers[0]))
        self.undo_all_of_no_path("left, out of reach from here")

        harness.must("rm", "-rf", *self.layers)
        self.undo_all_of_no_path("gone, and forgotten")
        self.assertEqual(list(harness.STATE.iterdir()), [])

    def test_set_up_by_its_path(self):
        self.apply("--device", "0")
        harness.must("umount", "-l", "-R", self.root)
        if mount_table.below(self.root):
            harness.must("umount", "-l", "-R", self.root)
        self.undo_all("left")

        harness.must("rm", "-rf", *self.layers)
        self.undo_all("gone, and forgotten")
        self.assertEqual(list(harness.STATE.iterdir()), [])

    def test_of_a_layer_that_is_another_directory_here(self):
        """What mount options say is believed only where it is so."""
        harness.must("umount", self.root)
        shown = self.root.with_name(f"{self.lower.name}-shown")
        hidden = self.root.with_name(f"{self.lower.name}-hidden")
        self.layers = [shown / "upper", shown / "work"]
        for directory in (shown, hidden):
            for layer in self.layers:
                (directory / layer.name).mkdir(parents=True)
            self.addCleanup(harness.must, "rm", "-rf", directory)
        os.utime(self.layers[0], ns=(0, (hidden / "upper").stat().st_mtime_ns))
        self.run_and_end(prepare=f"mount --bind {hidden} {shown}; "
                                 + " ".join(map(str, self.mount())))
        self.assertTrue(self.has_names(hidden / "upper"))
        harness.must("rm", "-rf", shown)

        self.undo_all_of_no_path("left, out of reach from here")

        hidden.rename(shown)
        harness.must(*self.mount())
        self.undo()
        self.assertFalse(self.has_names())
        self.assertEqual(harness.journals(), [])

    def test_whose_layers_have_relative_paths(self):
        """As where their names are too many for one page."""
        harness.must("umount", self.root)
        words = [str(word).replace(f"{harness.DIRECTORY}/", "") for word in self.mount()]
        harness.must(*words[:-1], self.root, cwd=harness.DIRECTORY)
        self.run_and_end()
        harness.must("umount", self.root)
        self.undo_all_of_no_path("left, out of reach from here")

        harness.must("rm", "-rf", *self.layers)
        self.undo_all_of_no_path("gone, and forgotten")

    def test_of_a_directory_in_an_overlay(self):
        """It has no mount, and its layer a directory at the same place."""
        inside = self.root / "srv/root"
        inside.parent.mkdir(exist_ok=True)
        harness.must("cp", "-a", self.lower, inside)
        merged, self.root = self.root, inside
        self.before = self.files()
        self.run_and_end()
        self.undo_all("undone")
        self.assert_clean()

        self.run_and_end()
        self.root = merged
        harness.must("umount", merged)
        self.undo_all_of_no_path("left, out of reach from here")
        harness.must("rm", "-rf", f"{self.layers[0]}/srv")
        self.undo_all_of_no_path("gone, and forgotten")


if __name__ == "__main__":
    unittest.main()
