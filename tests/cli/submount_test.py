# SPDX-License-Identifier: MIT
"""What was mounted in a root file system before stays in sight."""

import os
import unittest

import harness
import mount_table
from harness import MULTIARCH, TREE, VERSION

LIBRARIES = f"usr/lib/{MULTIARCH}"


class Submounts(harness.Case):
    """Names appear through overlays over directories that have mounts below."""

    options = ()

    def mount(self, path, *words):
        """Something with a file in it, mounted in the root; a tmpfs by default."""
        target = self.root / path
        target.mkdir(parents=True, exist_ok=True)
        harness.must("mount", *(words or ("-t", "tmpfs", "test")), target)
        (target / "note").write_text(path)
        return target

    def set_up(self):
        return self.apply("--write", "never", *self.options)

    def check(self, *paths):
        before = self.state()
        self.set_up()
        for path in paths:
            self.assertEqual(self.inside("cat", f"/{path}/note"), path)
        self.assertEqual(self.inside("/usr/bin/opens_driver", "libcuda.so.1"),
                         f"{TREE}/lib64/libcuda.so.{VERSION}\n")
        self.inside("test", "-L", "/usr/bin/nvidia-smi")
        again = self.state()
        self.set_up()
        self.assert_state(again)
        self.undo()
        self.assert_state(before)

    def test_a_directory(self):
        self.mount("usr/local/lib/here")

        self.check("usr/local/lib/here")

    def test_a_file(self):
        target = self.root / "etc/resolv.conf"
        target.write_text("below")
        source = harness.DIRECTORY / "resolv.conf"
        source.write_text("above")
        harness.must("mount", "--bind", source, target)
        (self.root / "etc/ld.so.cache").unlink()
        before = self.state()

        self.set_up()

        self.assertEqual(self.inside("cat", "/etc/resolv.conf"), "above")
        self.undo()
        self.assert_state(before)

    def test_mounts_below_each_other_and_many(self):
        paths = ["usr/lib/a", "usr/lib/a/b", "usr/lib/a/b/c"]
        paths += [f"usr/local/lib/{number}" for number in range(70)]
        for path in paths:
            self.mount(path)

        self.check(*paths)

    def test_names_that_the_mount_table_has_to_escape(self):
        self.mount("usr/local/a b\\c\td\u00e9")

        self.check("usr/local/a b\\c\td\u00e9")

    def test_a_mount_over_a_mount(self):
        self.mount("usr/local/lib/here")
        upper = self.mount("usr/local/lib/here")
        (upper / "note").write_text("upper")
        before = self.state()

        self.set_up()

        self.assertEqual(self.inside("cat", "/usr/local/lib/here/note"), "upper")
        self.undo()
        self.assert_state(before)

    def test_flags_stay(self):
        target = self.mount("usr/local/lib/here")
        harness.must("mount", "-o", "remount,bind,ro,noexec,nosuid", target)

        self.set_up()

        top = [m for m in mount_table.read() if m.target == str(target)][-1]
        for flag in ("ro", "noexec", "nosuid"):
            self.assertIn(flag, top.options.split(","))
        self.undo()

    def test_the_libraries_on_a_mount_of_their_own(self):
        copy = harness.DIRECTORY / "libraries"
        harness.must("cp", "-a", self.root / LIBRARIES, copy)
        self.addCleanup(harness.must, "rm", "-rf", copy)
        self.mount(LIBRARIES, "--bind", copy)

        self.check(LIBRARIES)
        self.set_up()
        self.inside("test", "-L", f"/{LIBRARIES}/libcuda.so.1")
        self.undo()

    def test_nothing_gets_out_of_a_shared_mount(self):
        outside = harness.DIRECTORY / "outside"
        harness.mount_tmpfs(outside)
        self.addCleanup(harness.must, "umount", outside)
        (outside / "below").mkdir()
        harness.must("mount", "--make-shared", outside)
        self.mount("usr/local/lib/here", "--bind", outside)
        self.set_up()

        harness.must("mount", "-t", "tmpfs", "test", self.root / "usr/local/lib/here/below")

        self.assertEqual(mount_table.below(outside / "below"), [])
        # It is somebody's, and would go along with the overlay.
        self.undo(status=8, stderr=None)
        harness.must("umount", self.root / "usr/local/lib/here/below")
        self.undo()

    def test_what_the_container_unmounts_is_not_unmounted_where_it_came_from(self):
        self.root = harness.new_root(mounted=True)
        self.addCleanup(harness.call, "umount", "-l", "-R", self.root)
        harness.must("mount", "--make-private", self.root)
        target = self.mount("usr/local/lib/here")
        harness.must("mount", "--make-shared", target)
        self.mount("usr/local/lib/here/below")
        before = self.state()
        self.set_up()

        harness.must("umount", target / "below")

        self.undo()
        self.assert_state(before)

    def test_one_that_cannot_be_kept_is_no_silent_loss(self):
        self.root = harness.new_root(mounted=True)
        self.addCleanup(harness.call, "umount", "-l", "-R", self.root)
        target = self.mount("usr/local/lib/here")
        harness.must("mount", "--make-unbindable", target)
        with self.nothing_changes():
            done = self.apply("--write", "never", *self.options, status=5, stderr=None)
        self.assertIn("mounted below /usr/local", done.stderr)


class SubmountsAssembled(Submounts):
    options = ("--backend", "assembled")


class WithACommand(harness.Case):
    def test_mounts_stay_in_sight(self):
        harness.DIRECTORY.chmod(0o755)
        target = self.root / "usr/local/lib/here"
        target.mkdir()
        harness.must("mount", "-t", "tmpfs", "test", target)
        (target / "note").write_text("seen")

        words = ("--nv", "--rootfs", self.root, "--", "cat", "/usr/local/lib/here/note")
        self.assertEqual(harness.must(harness.SETUP, *words), "seen")
        # The kernel keeps a user namespace from looking below them, and so from overlays.
        self.assertEqual(harness.must(*harness.ORDINARY_USER, harness.SETUP, *words), "seen")
        state = harness.DIRECTORY / "state"
        state.mkdir()
        os.chown(state, 65534, 65534)
        self.addCleanup(harness.call, "rm", "-rf", state)
        script = 'gpuctr=$1; shift; "$gpuctr" "$@" && cat "$3/usr/local/lib/here/note"'
        done = harness.must(*harness.ORDINARY_USER, "unshare", "--user", "--map-root-user",
                            "--mount", "sh", "-c", script, "sh", harness.SETUP, "--nv", "--rootfs",
                            self.root, "--write", "never", "--state-dir", state)
        self.assertEqual(done, "seen")

    def test_opencl_finds_the_driver_where_an_engine_mounted_its_files(self):
        harness.DIRECTORY.chmod(0o755)
        (self.root / "etc/hosts").touch()
        harness.must("mount", "--bind", "/etc/hostname", self.root / "etc/hosts")
        self.addCleanup(harness.must, "umount", self.root / "etc/hosts")
        for user in ((), harness.ORDINARY_USER):
            with self.subTest(user=user):
                harness.must(*user, harness.SETUP, "--nv", "--rootfs", self.root, "--", "test", "-f",
                             "/etc/OpenCL/vendors/nvidia.icd")


if __name__ == "__main__":
    unittest.main()
