# SPDX-License-Identifier: MIT
"""Root file systems that are put together from parts, of which not all may be written."""

import os
import unittest

import harness
import process_test
from harness import TREE, VERSION

LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/sbin"}


class Composed(harness.Case):
    """A tmpfs with the /usr of an image, as bubblewrap's users have it."""

    mounted = True
    flags = "ro"

    def setUp(self):
        super().setUp()
        self.image = self.root
        self.arrange_image()
        self.root = harness.DIRECTORY / f"{self.image.name}-composed"
        self.addCleanup(self.remove_composed)
        harness.mount_tmpfs(self.root)
        for name in ("usr", "dev", "proc"):
            (self.root / name).mkdir()
        for name, target in LINKS.items():
            (self.root / name).symlink_to(target)
        harness.must("mount", "--bind", self.image / "usr", self.root / "usr")
        harness.must("mount", "-o", f"remount,bind,{self.flags}", self.root / "usr")
        harness.must("mount", "-t", "tmpfs", "-o", "mode=0755", "dev", self.root / "dev")

    def arrange_image(self):
        pass

    def remove_composed(self):
        harness.call("umount", "-l", "-R", self.root)
        self.root.rmdir()
        self.root = self.image

    def inside(self, *words, **options):
        return harness.must("chroot", self.root, *words, **options)

    def check_inside(self):
        self.assertEqual(self.inside("opens_driver", "libcuda.so.1"),
                         f"{TREE}/lib64/libcuda.so.{VERSION}\n")
        self.inside("test", "-L", "/usr/bin/nvidia-smi")
        self.inside("test", "-c", "/dev/nvidia0")

    def test_names_appear_in_each_part_as_they_can(self):
        for backend in ("detached", "assembled", "legacy"):
            with self.subTest(backend=backend):
                before = self.state()
                self.apply("--backend", backend)
                self.check_inside()
                # Directories of the image are as they were, and its own are written.
                self.assertFalse((self.image / "usr/lib/gpuctr").exists())
                self.assertTrue((self.root / "etc/ld.so.cache").is_file())
                again = self.state()
                self.apply("--backend", backend)
                self.assert_state(again)
                self.undo()
                self.assert_state(before)
                self.assertEqual(harness.journals(), [])

    def test_one_by_one(self):
        before = self.state()
        self.apply("--layout", "merged")
        self.inside("test", "-c", "/dev/nvidia0")
        self.assertIn("libcuda", self.inside("opens_driver", "libcuda.so.1"))
        self.undo()
        self.assert_state(before)

    def test_what_was_asked_for_alone_is_an_error_that_says_what_to_do(self):
        with self.nothing_changes():
            done = self.apply("--write", "always", status=6, stderr=None)
            self.assertRegex(done.stderr, "Read-only file system\nhint: .*--write auto")
            done = self.apply("--write", "never", status=5, stderr=None)
            self.assertRegex(done.stderr, "no directory above it exists but the root\nhint: .*"
                                          "--write auto")


class ComposedOfOthers(Composed):
    """Somebody else's /usr, which root might write."""

    flags = "rw"

    def arrange_image(self):
        # Into a tmpfs names may go, whose ever it is.
        harness.stack_overlays(self.image, 1, writable=True)
        self.addCleanup(harness.must, "umount", self.image)
        harness.must("chown", "-R", "-h", "1000:1000", self.image / "usr")

    test_what_was_asked_for_alone_is_an_error_that_says_what_to_do = None


class OfAnOrdinaryUser(harness.Case):
    """His own root file system, with directories that are root's, in a namespace of his."""

    def test_names_appear_over_what_he_may_not_write(self):
        harness.DIRECTORY.chmod(0o755)
        for path in (self.root, self.root / "etc", self.root / "dev", self.root / "usr",
                     self.root / "usr/bin"):
            os.chown(path, 65534, 65534)
        home = harness.DIRECTORY / "home"
        home.mkdir()
        os.chown(home, 65534, 65534)
        self.addCleanup(harness.must, "rm", "-rf", home)
        script = """"$0" --nv --rootfs "$1" --state-dir "$2/state" && test -L "$1/usr/bin/nvidia-smi" &&
            test -L "$1/usr/lib/$3/libcuda.so.1" && "$0" undo --rootfs "$1" --state-dir "$2/state"
        """
        with self.nothing_changes(("mtime",)):
            harness.must(*harness.ORDINARY_USER, "unshare", "--user", "--map-root-user", "--mount",
                         "sh", "-ec", script, harness.SETUP, self.root, home, harness.MULTIARCH)


class Container(process_test.ProcessOfAUserNamespace):
    """Of an image that the container's root may not write, set up by the host's."""

    def setUp(self):
        super().setUp()
        harness.must("chown", "-R", "-h", "0:0", self.root)

    def test_names_appear_as_the_containers_root_can_make_them(self):
        self.start()
        self.check()
        self.assertFalse((self.root / "usr/lib/gpuctr").exists())

    def test_also_in_place_of_an_older_set_up(self):
        self.start()
        self.on_process("--nv", "--device", "3", "--write", "never")
        self.on_process("--nv", "--device", "4", stderr=f"gpuctr-setup: process {self.pid}: an older "
                                                        "set-up was replaced\n")
        self.assertEqual(self.nodes(), ["nvidia4"])
        self.on_process("undo")


for inherited in [name for name in dir(process_test.ProcessOfAUserNamespace)
                  if name.startswith("test_")]:
    setattr(Container, inherited, None)


if __name__ == "__main__":
    unittest.main()
