# SPDX-License-Identifier: MIT
"""Root file systems that an overlay of names cannot be laid over as it is."""

import errno
import os
import stat
import unittest

import faults
import harness
import mount_table
import process_test
import submount_test
from harness import MULTIARCH, TREE, VERSION

NAMES = f"/usr/lib/{MULTIARCH}/libcuda.so.1", "/usr/bin/nvidia-smi"


class Names:
    """What a set-up is to show on each of them."""

    options = ()

    def check_inside(self):
        found = self.inside("/usr/bin/opens_driver", "libcuda.so.1")
        self.assertIn(os.path.dirname(found), (f"{TREE}/lib64", f"/usr/lib/{MULTIARCH}"))
        for name in NAMES:
            self.inside("test", "-e", name)

    def check(self, *words):
        before = self.state()
        self.apply("--write", "never", *words, *self.options)
        self.check_inside()
        again = self.state()
        self.apply("--write", "never", *words, *self.options)
        self.assert_state(again)
        self.undo()
        self.assert_state(before)
        self.assertEqual(harness.journals(), [])


class OverlayOnOverlay(Names, harness.Case):
    """The kernel stacks two overlays, and no third one."""

    def setUp(self):
        super().setUp()
        bin_directory = self.root / "usr/bin"
        (bin_directory / "setuid").write_text("program")
        (bin_directory / "setuid").chmod(0o4711)
        (bin_directory / "below").mkdir()
        (bin_directory / "below/file").write_text("below")
        (bin_directory / "leads").symlink_to("below/file")
        for number in range(100):
            (bin_directory / f"program{number}").touch()
        os.mkfifo(bin_directory / "fifo")
        (self.root / "usr/local/lib/here").mkdir()
        harness.stack_overlays(self.root, 2)

    def test_names_are_there(self):
        self.check()

    def test_with_the_files_one_by_one(self):
        self.check("--layout", "merged")

    def test_automatically(self):
        with self.nothing_changes():
            self.apply(*self.options)
            self.check_inside()
            self.undo()

    def test_all_that_was_there_is_as_it_was(self):
        directory = self.root / "usr/bin"
        def look():
            return {entry.name: (entry.stat(follow_symlinks=False).st_mode,
                                 entry.stat(follow_symlinks=False).st_ino,
                                 os.readlink(entry) if entry.is_symlink() else "")
                    for entry in os.scandir(directory)}
        before = look()
        self.apply("--write", "never", *self.options)

        after = look()
        for name, (mode, inode, link) in before.items():
            with self.subTest(name=name):
                self.assertEqual((after[name][0], after[name][2]), (mode, link))
                if not stat.S_ISLNK(mode):
                    self.assertEqual(after[name][1], inode)
        self.assertIn("nvidia-smi", after.keys() - before.keys())
        self.assertEqual(self.inside("cat", "/usr/bin/leads"), "below")
        self.undo()

    def test_nothing_in_it_can_be_written(self):
        harness.must("umount", self.root)
        harness.stack_overlays(self.root, 1, writable=True)
        (self.root / "usr/bin/below/before").touch()
        self.apply("--write", "never", *self.options)
        for path in ("usr/bin/new", "usr/bin/below/new", "usr/bin/setuid", "usr/bin/below/file"):
            with self.assertRaises(OSError, msg=path):
                with open(self.root / path, "a", encoding="ascii"):
                    pass
        self.undo()
        (self.root / "usr/bin/below/after").touch()

    def test_what_is_mounted_below_stays_in_sight(self):
        here = self.root / "usr/local/lib/here"
        harness.must("mount", "-t", "tmpfs", "-o", "noexec", "test", here)
        (here / "note").write_text("seen")
        before = self.state()

        self.apply("--write", "never", *self.options)

        self.assertEqual(self.inside("cat", "/usr/local/lib/here/note"), "seen")
        top = [m for m in mount_table.read() if m.target == str(here)][-1]
        self.assertIn("noexec", top.options.split(","))
        (here / "note").write_text("written")
        self.undo()
        self.assertEqual((here / "note").read_text(), "written")
        (here / "note").write_text("seen")
        self.assert_state(before, ("mtime",))

    def test_what_is_mounted_in_it_shows_nowhere_else(self):
        outside = harness.DIRECTORY / "outside"
        harness.mount_tmpfs(outside)
        self.addCleanup(harness.must, "umount", outside)
        (outside / "below").mkdir()
        harness.must("mount", "--make-shared", outside)
        here = self.root / "usr/local/lib/here"
        harness.must("mount", "--bind", outside, here)
        self.apply("--write", "never", *self.options)

        harness.must("mount", "-t", "tmpfs", "test", here / "below")

        self.assertEqual(mount_table.below(outside / "below"), [])
        harness.must("umount", here / "below")
        self.undo()

    def test_a_foreign_mount_in_it_is_reported_and_left(self):
        self.apply("--write", "never", *self.options)
        foreign = self.root / "usr/bin/below"
        harness.must("mount", "-t", "tmpfs", "foreign", foreign)

        self.undo(status=8, stderr=None)

        self.assertIn("foreign", [m.source for m in mount_table.below(foreign)])
        harness.must("umount", foreign)
        self.undo()

    def test_one_directory_that_is_such(self):
        harness.must("umount", self.root)
        harness.must("umount", self.root)
        harness.stack_overlays(self.root / "usr/bin", 2)
        self.check()

    def test_a_command(self):
        harness.DIRECTORY.chmod(0o755)
        script = "opens_driver libcuda.so.1; cat /usr/bin/leads; [ -L /usr/bin/nvidia-smi ]"
        words = (harness.SETUP, "--nv", *self.options, "--rootfs", self.root, "--", "sh", "-ec",
                 script)
        expected = f"{TREE}/lib64/libcuda.so.{VERSION}\nbelow"
        with self.nothing_changes():
            self.assertEqual(harness.must(*words), expected)
            self.assertEqual(harness.must(*harness.ORDINARY_USER, *words), expected)


class OverlayOnOverlayAssembled(OverlayOnOverlay):
    options = ("--backend", "assembled")


class Submounts(submount_test.Submounts):
    """All that is promised of what is mounted below an overlay."""

    def setUp(self):
        super().setUp()
        harness.stack_overlays(self.root, 2, writable=True)


class SubmountsAssembled(Submounts):
    options = ("--backend", "assembled")


class SubmountsLegacy(Submounts):
    options = ("--backend", "legacy")


class OverlayOnOverlayLegacy(OverlayOnOverlay):
    options = ("--backend", "legacy")


class OverlayOnOverlayLocked(Names, harness.Case):
    def test_flags_stay(self):
        harness.stack_overlays(self.root, 2)
        for backend in ("detached", "assembled"):
            with self.subTest(backend=backend):
                self.check("--lock", "--backend", backend)


class MoreNamesThanMounts(harness.Case):
    """The sysctl fs.mount-max counts for the whole machine: that it refuses is played."""

    @unittest.skipIf(harness.CHOOSES_BACKEND, "it is the calls of one backend that fail")
    def test_is_an_error(self):
        harness.stack_overlays(self.root, 2)
        first_child, open_tree = 1, 428
        with self.nothing_changes():
            done = faults.inject("-p", first_child, "-c", open_tree, "-n", 1, "-e", errno.ENOSPC,
                                 "-f", harness.SETUP, "--nv", "--write", "never", "--backend",
                                 "detached", "--rootfs", self.root)
        self.assertEqual(done.returncode, 8, done.stderr)
        self.assertRegex(done.stderr, "list what is in /.*: No space left on device\nhint: no "
                                      "overlay can lie over it, .* fs.mount-max")


class Unbindable(Names, harness.Case):
    """A mount that can be no layer of an overlay, and cannot be bound."""

    mounted = True

    def setUp(self):
        super().setUp()
        harness.must("mount", "--make-unbindable", self.root)

    def state(self):
        files, mounts = super().state()
        return files, mounts

    def test_names_are_there(self):
        self.check()

    def test_it_stays_unbindable(self):
        self.apply("--write", "never", *self.options)
        [own] = [m for m in mount_table.read() if m.target == str(self.root)]
        self.assertTrue(own.propagation & (1 << 17), own)
        self.undo()

    def test_a_directory_on_it(self):
        inner = self.root / "inner"
        inner.mkdir()
        harness.must("cp", "-a", f"{harness.DIRECTORY}/template/.", inner)
        self.root = inner
        self.check()

    def test_a_directory_in_it(self):
        harness.must("umount", "-l", self.root)
        harness.must("cp", "-a", f"{harness.DIRECTORY}/template/.", self.root)
        copy = harness.DIRECTORY / "bin"
        harness.must("cp", "-a", self.root / "usr/bin", copy)
        self.addCleanup(harness.must, "rm", "-rf", copy)
        harness.must("mount", "--bind", copy, self.root / "usr/bin")
        harness.must("mount", "--make-unbindable", self.root / "usr/bin")
        self.check()

    def test_a_command(self):
        harness.DIRECTORY.chmod(0o755)
        words = (harness.SETUP, "--nv", *self.options, "--rootfs", self.root, "--", "opens_driver",
                 "libcuda.so.1")
        with self.nothing_changes():
            for user in ((), harness.ORDINARY_USER):
                self.assertEqual(harness.must(*user, *words),
                                 f"{TREE}/lib64/libcuda.so.{VERSION}\n")


# The whole machine as it is seen here, in a directory of a mount, after another change of mounts.
CHROOT = """
mount -t tmpfs test "$1" && mount $2 && mkdir "$1/all" && cd "$1/all"
for entry in /*; do
    if [ -d "$entry" ] && [ ! -L "$entry" ]; then
        mkdir ".$entry" && mount --rbind "$entry" ".$entry"
    else
        cp -a "$entry" .
    fi
done
cp -a "$3/." image
shift 3
before=$(cat /proc/self/mountinfo)
timeout 30 chroot . "$@" || exit
[ "$before" = "$(cat /proc/self/mountinfo)" ]
"""


class BelowAChroot(harness.Case):
    """A root directory that is no mount, of a mount whose own is above it."""

    PLACE = harness.DIRECTORY / "mount"

    def setUp(self):
        super().setUp()
        self.PLACE.mkdir()
        self.addCleanup(self.PLACE.rmdir)

    def call(self, change, *words):
        done = harness.call("unshare", "--mount", "--propagation", "private", "sh", "-ec", CHROOT,
                            "sh", self.PLACE, change, f"{harness.DIRECTORY}/template", *words)
        self.assertEqual(harness.journals(), [])
        return done

    def refused(self, *words):
        done = self.call(f"--make-unbindable {self.PLACE}", harness.SETUP, "--nv", "--rootfs",
                         "/image", *words)
        self.assertEqual(done.returncode, 8, done.stderr)
        self.assertIn("\nhint: the mount that it is on cannot be bound, and its root is outside of "
                      "this process's root directory", done.stderr)
        return done.stderr

    def test_ends_where_that_is_unbindable(self):
        self.assertIn("bind the root file system on itself: ", self.refused())

    def test_so_do_names_over_a_directory(self):
        self.assertIn("make a mount namespace for mounts over /",
                      self.refused("--no-journal", "--write", "never"))

    def test_a_tree_is_put_together_where_nobody_else_sees_it(self):
        script = f"""
            {harness.SETUP} --nv --backend assembled --rootfs /image
            chroot image opens_driver libcuda.so.1
            {harness.SETUP} undo --rootfs /image"""
        for propagation in ("private", "shared"):
            with self.subTest(propagation=propagation):
                done = self.call(f"--make-r{propagation} /", "sh", "-ec", script)
                self.assertEqual((done.returncode, done.stdout, done.stderr),
                                 (0, f"{TREE}/lib64/libcuda.so.{VERSION}\n", ""))


class UnbindableAssembled(Unbindable):
    options = ("--backend", "assembled")


class Container(process_test.Container):
    """The same as the root of a container that runs."""

    def test_an_overlay_on_an_overlay(self):
        harness.stack_overlays(self.root, 2)
        self.start()
        self.check()

    def test_an_unbindable_one(self):
        self.start(finish="mount --make-unbindable /")
        self.check("--write", "never")

    def test_an_unbindable_overlay_on_an_overlay(self):
        harness.stack_overlays(self.root, 2)
        self.start(finish="mount --make-unbindable /")
        self.check("--backend", "assembled")


class ContainerOfAUserNamespace(process_test.ProcessOfAUserNamespace, Container):
    """The same with a root of its own, for whom the set-up is made."""


class ContainerOfAnOrdinaryUser(process_test.ProcessOfAnOrdinaryUser, Container):
    """The same with an ordinary user as root, who makes the set-up."""


if __name__ == "__main__":
    unittest.main()
