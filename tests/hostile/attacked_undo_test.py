# SPDX-License-Identifier: MIT
"""Undo after processes of the container had their way with what was set up.

What apply added goes, what it replaced comes back, what others made stays; where
something cannot be had without harming others, undo says so and ends with 8."""

import json
import os
import pathlib
import subprocess
import unittest

import harness
import hostile
import mount_table
import snapshot
from harness import MULTIARCH, TREE, VERSION

LIBRARIES = f"/usr/lib/{MULTIARCH}"
CACHE = "/etc/ld.so.cache"
LINK = "/usr/bin/nvidia-smi"
KEPT = "/etc/.gpuctr-kept-ld.so.cache"
CONFIGURATION = "/etc/ld.so.conf.d/00-gpuctr.conf"


class Attacked(hostile.Case):
    options = ()

    def setUp(self):
        super().setUp()
        self.before = self.state()

    def set_up(self, *words):
        self.apply("--device", "0", *self.options, *words)

    def differences(self):
        """Times of directories tell that somebody was there; that is theirs."""
        return snapshot.difference(self.before[0], self.state()[0], without=("mtime", "links"))

    def assert_undone(self, *left, undo=True):
        """Undo leaves what is named, and nothing else is different."""
        if undo:
            self.undo(stderr=None)
        self.assertEqual(sorted(self.differences()), sorted(left))
        self.assertEqual(mount_table.read(), self.before[1])
        self.assertEqual(harness.journals(), [])
        self.assert_canary()

    def assert_refused(self, *texts):
        """Undo ends with 8, says what it is about, and keeps the journal."""
        done = self.undo(status=8, stderr=None)
        for text in texts:
            self.assertIn(text, done.stderr)
        self.assertEqual(len(harness.journals()), 1)
        self.assert_canary()

    def assert_entries_left(self):
        """The loader cache of before is gone, and there is no place to write another one."""
        done = self.undo(status=8, stderr=None)
        self.assertIn(f"entries of the set-up are left in {CACHE}", done.stderr)
        self.assertEqual(harness.journals(), [])

    def ours(self):
        return [m for m in mount_table.below(self.root) if m.target != str(self.root)]


class Names(Attacked):
    """What was written into the image."""

    options = ("--write", "always")

    def test_a_link_became_one_to_the_host(self):
        self.set_up()
        for target in (self.canary / "f", self.relative(self.canary / "f")):
            self.link(LINK, target)
        self.link("/usr/local/nvidia", self.canary / "d")
        self.link(CONFIGURATION, self.canary / "secret")

        self.assert_undone(f"{LINK}: left behind", "/usr/local/nvidia: left behind",
                           f"{CONFIGURATION}: left behind")

    def test_the_directory_of_a_link_became_a_link_to_the_host(self):
        self.set_up()
        os.rename(self.path("/usr/local"), self.path("/usr/elsewhere"))
        self.link("/usr/local", self.canary)
        (self.canary / "nvidia").symlink_to(TREE)
        self.untouched = self.look_outside()

        self.undo()

        self.assert_canary()
        self.assertEqual(mount_table.read(), self.before[1])

    def test_a_hard_link_to_a_file_of_the_host_lies_in_place_of_ours(self):
        names = (CONFIGURATION, LINK, KEPT)
        for number, _ in enumerate(names):
            os.link(self.canary / "f", self.path(f"/srv/hard{number}"))
        self.untouched = self.look_outside()
        self.set_up()
        for number, name in enumerate(names):
            os.rename(self.path(f"/srv/hard{number}"), self.clear(name))

        self.assert_entries_left()

        self.assert_canary()
        self.assertTrue(os.path.samefile(self.path(KEPT), self.canary / "f"))
        self.assertTrue(os.path.samefile(self.path(LINK), self.canary / "f"))

    def test_a_directory_in_place_of_a_name_stays(self):
        self.set_up()
        for name in (LINK, CONFIGURATION):
            self.clear(name).mkdir()

        self.assert_undone(f"{LINK}: left behind", f"{CONFIGURATION}: left behind")

    def test_a_file_of_ours_that_was_rewritten_in_place_is_theirs(self):
        self.set_up()
        text = self.path(CONFIGURATION).read_text()
        self.path(CONFIGURATION).write_text("#" * len(text))

        self.assert_undone(f"{CONFIGURATION}: left behind")
        self.assertEqual(self.path(CONFIGURATION).read_text(), "#" * len(text))

    def test_a_loader_cache_that_was_rewritten_in_place_stays_without_us(self):
        self.set_up()
        library = self.path("/usr/local/lib/libforeign.so.1")
        library.write_bytes(self.path("/lib64/ld-linux-x86-64.so.2").read_bytes())
        self.inside("ldconfig", "-C", "/tmp/cache")
        cache = self.path("/tmp/cache").read_bytes()
        with open(self.path(CACHE), "r+b") as file: # the same file, as `cp` has it
            file.truncate(0)
            file.write(cache)

        self.undo()

        self.assertEqual(mount_table.read(), self.before[1])
        listed = self.inside("ldconfig", "-p")
        self.assertIn("/usr/local/lib/", listed)
        self.assertNotIn(TREE, listed)
        self.assertFalse(os.path.lexists(self.path(KEPT)))

    def test_forged_loader_caches_are_no_way_to_the_host(self):
        for forge in (lambda path: path.symlink_to(self.canary / "etc/ld.so.cache"),
                      lambda path: path.symlink_to(self.relative(self.canary / "secret")),
                      os.mkdir, os.mkfifo, lambda path: path.write_bytes(b"\xff" * 5000),
                      lambda path: os.rename(self.path("/srv/hard"), path)):
            hard = self.path("/srv/hard")
            hard.unlink(missing_ok=True)
            os.link(self.canary / "f", hard)
            self.untouched = self.look_outside()
            self.set_up()
            forge(self.clear(CACHE))
            self.undo()
            self.assert_canary()
            self.assertEqual(mount_table.read(), self.before[1])
            self.assertEqual(harness.journals(), [])
            harness.must("rm", "-rf", self.path(CACHE))
            self.untouched = self.look_outside()
            harness.must("ldconfig", "-X", "-r", self.root)
            self.before = self.state()

    def test_what_lies_beside_the_loader_cache_is_not_ours_when_somebody_put_it_there(self):
        old = snapshot.take(self.root)[CACHE]
        self.set_up()
        os.rename(self.path(KEPT), self.path("/etc/mine"))
        self.put(KEPT, "theirs")

        self.assert_entries_left()

        self.assertEqual(self.path(KEPT).read_text(), "theirs")
        self.assertEqual(snapshot.take(self.root)["/etc/mine"].inode, old.inode)
        self.assertEqual(mount_table.read(), self.before[1])
        self.inside("/usr/bin/true")

    def test_everything_of_ours_was_deleted(self):
        self.set_up()
        added = [m.target for m in self.ours()]
        for target in reversed(added):
            harness.must("umount", "-l", target)
        for name in (LINK, CONFIGURATION, "/usr/local/nvidia", TREE, "/dev/nvidia0", CACHE, KEPT):
            self.clear(name)

        self.assert_undone(f"{CACHE}: gone")

    def test_the_whole_image_was_deleted(self):
        self.set_up()
        for target in reversed([m.target for m in self.ours()]):
            harness.must("umount", "-l", target)
        harness.must("sh", "-c", 'rm -rf "$1"/*', "sh", self.root)

        self.undo()

        self.assertEqual(mount_table.read(), self.before[1])
        self.assertEqual(os.listdir(self.root), [])
        self.assert_canary()

    def test_directories_were_exchanged(self):
        self.set_up()
        harness.must("mv", self.path("/usr/bin"), self.path("/usr/x"))
        harness.must("mv", self.path("/usr/local"), self.path("/usr/bin"))
        harness.must("mv", self.path("/usr/x"), self.path("/usr/local"))

        self.undo()

        self.assertEqual(mount_table.read(), self.before[1])
        self.assert_canary()


class Mounts(Attacked):
    """What was mounted, each way in which it comes about."""

    def each_mode(self, attack, *texts, modes=("auto", "never", "merged")):
        """An attack that undo copes with, or refuses to until it is over: then `attack`
        returns what ends it."""
        for mode in (mode for mode in modes if mode in hostile.MODES):
            with self.subTest(mode=mode):
                self.options = hostile.MODES[mode]
                self.set_up()
                if (end := attack()) is not None:
                    self.assert_refused(*texts)
                    end()
                self.assert_undone()

    def test_some_were_unmounted(self):
        def attack():
            for mount in self.ours()[::-2]:
                harness.call("umount", "-l", mount.target)
        self.each_mode(attack)

    def test_the_root_was_unmounted_with_all_of_them(self):
        def attack():
            harness.must("umount", "-l", "-R", self.root)
        self.each_mode(attack)

    def overmount(self, *words):
        def attack():
            target = self.path("/dev/nvidia0")
            harness.must("mount", *words, target)
            return lambda: harness.must("umount", target)
        return attack

    def test_one_was_mounted_over(self):
        for source in ("/dev/null", self.canary / "f"):
            self.each_mode(self.overmount("--bind", source), "/dev/nvidia0",
                           "Device or resource busy")

    def test_the_tree_was_mounted_over(self):
        def attack(*words):
            target = self.path(TREE)
            harness.must("mount", *words, target)
            def end():
                self.assertEqual(self.ours()[-1].target, str(target))
                harness.must("umount", "-l", target)
            return end
        for words in (("-t", "tmpfs", "foreign"), ("--bind", self.canary), ("--rbind", "/usr")):
            self.each_mode(lambda words=words: attack(*words), TREE, modes=("auto", "never"))

    def test_something_was_mounted_below_ours_and_is_not_taken_along(self):
        def attack():
            target = self.path(f"{TREE}/lib64/libcuda.so.{VERSION}")
            harness.must("mount", "--bind", self.canary / "f", target)
            def end():
                self.assertEqual(target.read_text(), "canary\n")
                harness.must("umount", target)
            return end
        self.each_mode(attack, "keep what somebody mounted below our mount at",
                       "hint: unmount that first", modes=("auto", "never"))

    def test_something_was_mounted_below_an_overlay_and_is_not_taken_along(self):
        target = self.path("/usr/local/lib/theirs")
        target.mkdir()
        self.before = self.state()
        def attack():
            harness.must("mount", "-t", "tmpfs", "foreign", target)
            (target / "note").write_text("theirs")
            def end():
                self.assertEqual((target / "note").read_text(), "theirs")
                harness.must("umount", target)
            return end
        self.each_mode(attack, "keep what somebody mounted below our mount at", "/usr/local",
                       modes=("never",))

    def test_what_was_carried_over_an_overlay_was_replaced_by_another(self):
        target = self.path("/etc/resolv.conf")
        target.write_text("below")
        self.path(CACHE).unlink()
        harness.must("mount", "--bind", self.canary / "f", target)
        self.addCleanup(harness.call, "umount", "-l", target)
        self.before = self.state()
        def attack():
            harness.must("umount", target)
            harness.must("mount", "--bind", self.canary / "etc/ld.so.conf", target)
            return lambda: harness.must("umount", target)
        if has_listmount():
            self.each_mode(attack, "keep what somebody mounted", "/etc", modes=("never",))

    def test_a_mount_was_moved_elsewhere(self):
        def attack():
            place = self.path("/mnt")
            harness.must("mount", "--move", self.path(TREE), place)
            return lambda: harness.must("umount", "-l", place)
        self.each_mode(attack, TREE, "or elsewhere", modes=("auto", "never"))

    def test_a_mount_was_moved_to_the_host(self):
        place = harness.DIRECTORY / "elsewhere"
        place.mkdir()
        self.addCleanup(place.rmdir)
        def attack():
            harness.must("mount", "--move", self.path(TREE), place)
            return lambda: harness.must("umount", "-l", place)
        self.each_mode(attack, TREE, "or elsewhere", modes=("auto",))

    def test_another_mount_lies_where_ours_was(self):
        """T23: its identity is not in the journal"""
        def attack():
            target = self.path("/dev/nvidia0")
            harness.must("umount", target)
            harness.must("mount", "--bind", "/dev/null", target)
            return lambda: harness.must("umount", target)
        self.each_mode(attack, "/dev/nvidia0", modes=("auto",))

    def test_mounts_of_another_boot_have_the_same_identities(self):
        """T23: which begin anew with each boot; nothing but that tells them from ours"""
        before = self.state()
        self.apply("--device", "0", "--write", "never")
        theirs = mount_table.read()
        [journal] = harness.STATE.glob("*/*.json")
        text = journal.read_text()
        with harness.new_boot():
            self.undo()
            self.assertEqual(mount_table.read()[:len(theirs)], theirs)
        journal.parent.mkdir(mode=0o700, exist_ok=True)
        journal.write_text(text)
        self.undo()
        self.assert_state(before)

    def test_identities_of_mounts_are_used_again(self):
        """T23"""
        def attack():
            freed = [m.id for m in self.ours()]
            harness.must("umount", "-l", "-R", self.root)
            places = []
            for number in range(len(freed) + 4):
                place = harness.DIRECTORY / f"reuse{number}"
                place.mkdir(exist_ok=True)
                harness.must("mount", "-t", "tmpfs", "reuse", place)
                places.append(place)
            theirs = [m for m in mount_table.read() if m.source == "reuse"]
            # Before Linux 6.8 theirs cannot be told from ours, which then is said.
            self.assertIn(harness.setup("undo", "--rootfs", self.root).returncode, (0, 8))
            self.assertEqual([m for m in mount_table.read() if m.source == "reuse"], theirs)
            for place in places:
                harness.must("umount", place)
                place.rmdir()
        self.each_mode(attack, modes=("auto",))


def has_listmount():
    return subprocess.run(["python3", "-c", """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(458, None, None, 0, 0)
sys.exit(ctypes.get_errno() in (38, 1))
"""], check=False).returncode == 0


class OtherNamespace(Attacked):
    """The container's processes have a mount namespace of their own; its directory they
    share with the host's."""

    def from_elsewhere(self, script):
        """In a copy of the namespace from before, where nothing is mounted in the way."""
        harness.must("nsenter", f"--mount=/proc/{self.process.pid}/ns/mnt", "sh", "-ec", script,
                     "sh", self.root)

    def setUp(self):
        super().setUp()
        self.process = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh",
                                         "-c", "echo ready; exec sleep 120"],
                                        stdout=subprocess.PIPE)
        for action in (self.process.wait, self.process.kill, self.process.stdout.close):
            self.addCleanup(action)
        self.process.stdout.readline()

    def test_mount_points_were_deleted(self):
        """T24: what is mounted there goes with them"""
        for words in ((), ("--layout", "merged")):
            with self.subTest(words=words):
                self.set_up(*words)
                self.from_elsewhere(f'rm -rf "$1/dev/nvidia0" "$1{TREE}" "$1{LINK}"')
                self.assert_undone()

    def test_mount_points_were_renamed(self):
        """T24: what is mounted there goes along"""
        self.set_up()
        self.from_elsewhere(f'mv "$1{TREE}" "$1/usr/lib/renamed"')
        self.assert_refused(TREE, "or elsewhere")
        self.from_elsewhere(f'mv "$1/usr/lib/renamed" "$1{TREE}"')
        self.assert_undone()

    def test_a_directory_above_mount_points_was_exchanged_with_a_link(self):
        """T24"""
        self.set_up()
        self.from_elsewhere(f'mv "$1/usr/lib" "$1/usr/l"; ln -s {self.canary} "$1/usr/lib"')
        self.assert_refused(TREE, "or elsewhere")
        self.from_elsewhere('rm "$1/usr/lib"; mv "$1/usr/l" "$1/usr/lib"')
        self.assert_undone()

    def test_a_mount_point_became_a_link_to_the_host(self):
        """T24"""
        self.set_up()
        self.from_elsewhere(f'rm "$1/dev/nvidia0"; ln -s {self.canary}/f "$1/dev/nvidia0"')
        self.assert_undone("/dev/nvidia0: left behind")

    def test_a_privileged_process_of_a_user_namespace_reaches_nothing_of_ours(self):
        self.set_up()
        done = harness.call("unshare", "--user", "--map-root-user", "--mount", "--propagation",
                            "private", "sh", "-c",
                            f'umount "$1{TREE}"; umount -l "$1/dev/nvidia0"; '
                            f'mount -o remount,bind,rw "$1{TREE}" && touch "$1{TREE}/pwned"; '
                            f'mount -t tmpfs x "$1{TREE}"; true', "sh", self.root)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(os.path.exists(self.path(f"{TREE}/pwned")))
        self.assert_undone()


class CutOff(Attacked):
    """What an apply left that was cut off: the journal says so, and not what came of it."""

    def cut_off(self, *words):
        self.set_up(*words)
        [journal] = harness.STATE.glob("*/*.json")
        document = json.loads(journal.read_text())
        document["progress"] = "begun"
        for operation in document["operations"]:
            operation["done"] = 0
        journal.write_text(json.dumps(document))

    def exchange(self, inside, *words):
        """A foreign mount lies where ours was."""
        harness.must("umount", "-l", self.path(inside))
        harness.must("mount", *words, self.path(inside))

    def test_a_foreign_mount_in_place_of_ours_stays(self):
        self.cut_off("--write", "always")
        self.exchange(TREE, "-t", "tmpfs", "foreign")

        self.undo(stderr=None, status=8)

        self.assertIn("foreign", [m.source for m in mount_table.read()])
        harness.must("umount", self.path(TREE))
        self.assert_undone()

    def test_a_foreign_overlay_in_place_of_ours_stays(self):
        self.cut_off("--write", "never")
        self.exchange("/etc", "-t", "overlay", "-o", f"lowerdir={self.path('/etc')}:/srv", "foreign")

        self.undo(stderr=None, status=None)

        self.assertIn("foreign", [m.source for m in mount_table.read()])
        harness.must("umount", self.path("/etc"))
        self.assertEqual(self.differences(), [])

    def test_a_foreign_tmpfs_in_place_of_ours_stays(self):
        self.cut_off("--write", "never")
        self.exchange("/etc", "-t", "tmpfs", "foreign")

        self.undo(stderr=None, status=None)

        self.assertIn("foreign", [m.source for m in mount_table.read()])
        harness.must("umount", self.path("/etc"))
        self.assertEqual(self.differences(), [])

    def test_all_of_it_is_taken_back(self):
        for write in ("always", "never"):
            with self.subTest(write=write):
                self.cut_off("--write", write)
                self.assert_undone()


class Journals(Attacked):
    """What undo believes."""

    def test_links_in_an_ordinary_users_state_directory_lead_nowhere(self):
        state = harness.DIRECTORY / "state"
        self.set_up("--state-dir", state)
        applied = self.state()
        [journal] = state.glob("*/*.json")
        os.rename(journal, harness.DIRECTORY / "journal.json")
        self.addCleanup(harness.call, "rm", "-rf", state, harness.DIRECTORY / "journal.json")
        for target in (self.canary / "secret", "/proc/self/mem", "/dev/zero"):
            journal.symlink_to(target)
            done = self.undo("--state-dir", state, status=8, stderr=None)
            self.assertNotIn("nobody in a container", done.stderr)
            journal.unlink()
            self.assert_state(applied)
            self.assert_canary()
        os.rename(harness.DIRECTORY / "journal.json", journal)
        self.undo("--state-dir", state)
        self.assert_undone(undo=False)

    def test_a_journal_in_the_image_is_none(self):
        self.set_up()
        [journal] = harness.STATE.glob("*/*.json")
        inside = self.path(f"/var/lib/gpucontainer/{journal.parent.name}")
        inside.mkdir(parents=True)
        (inside / journal.name).write_text(journal.read_text().replace(LINK, "/usr/bin/cat"))

        self.undo()

        self.assertTrue(self.path("/usr/bin/cat").exists())
        self.run_setup("undo", "--all", stderr=None)
        self.assertTrue((inside / journal.name).exists())

    def test_a_journal_cannot_name_what_lies_outside_of_its_root(self):
        self.set_up()
        [journal] = harness.STATE.glob("*/*.json")
        text = journal.read_text()
        victim = os.stat(self.canary / "f")
        made = f"[{victim.st_dev},{victim.st_ino},{victim.st_size},{victim.st_mtime_ns}]"
        for path in (f"/../../../..{self.canary}/f", f"/proc/self/root{self.canary}/f",
                     f"/usr/../../..{self.canary}/f"):
            journal.write_text(text.replace(f'"path":"{LINK}"', f'"path":"{path}"'))
            self.assertIn(path, journal.read_text())
        changed = journal.read_text()
        place = changed.index(f"..{self.canary}/f")
        begin = changed.rindex('"made":', 0, place)
        end = changed.index("]", begin) + 1
        journal.write_text(changed[:begin] + f'"made":{made}' + changed[end:])

        self.undo(stderr=None)

        self.assert_canary()


if __name__ == "__main__":
    unittest.main()
