# SPDX-License-Identifier: MIT
"""Where the driver's files are put: --layout, --tree-path, --vendor-libs."""

import json
import os
import unittest

import harness
from harness import MULTIARCH, TREE, VERSION

LIBRARIES = f"/usr/lib/{MULTIARCH}"
HOST = "/usr/local/nvidia"


class Placing(harness.Case):
    def opened(self, *names, environment=()):
        words = ("/usr/bin/env", "-i", *environment, "/usr/bin/opens_driver", *names)
        return self.inside(*words).splitlines()

    def check(self, library, tool, *options):
        def found():
            self.assertEqual(self.opened("libcuda.so.1"), [library])
            self.assertTrue(os.path.samefile(f"{self.root}{tool}", f"{HOST}/bin/nvidia-smi"))
            self.inside(tool)

        self.in_each_way(found, *options)


class Merged(Placing):
    def check_merged(self, *options):
        self.check(f"{LIBRARIES}/libcuda.so.{VERSION}", "/usr/bin/nvidia-smi",
                   "--layout", "merged", *options)

    def test_files_lie_among_the_images_own(self):
        self.check_merged()

    def test_without_a_loader_cache(self):
        (self.root / "etc/ld.so.cache").unlink()

        self.check_merged()

    def test_there_is_no_tree(self):
        self.apply("--layout", "merged")

        self.assertFalse((self.root / TREE[1:]).exists())
        self.assertFalse(os.path.lexists(self.root / HOST[1:]))
        entries = self.inside("/sbin/ldconfig", "-p")
        self.assertIn(f"=> {LIBRARIES}/libcuda.so.1\n", entries)
        self.undo()

    def test_stale_copies_are_covered(self):
        library = self.root / LIBRARIES[1:] / "libcuda.so.1"
        tool = self.root / "usr/bin/nvidia-smi"
        for file in (library, tool):
            file.write_text("the image's own")
            file.chmod(0o755)

        for write in ("auto", "never"):
            before = self.state()
            self.apply("--layout", "merged", "--write", write)
            for file, source in ((library, f"lib64/libcuda.so.{VERSION}"), (tool, "bin/nvidia-smi")):
                self.assertTrue(os.path.samefile(file, f"{HOST}/{source}"), file)
            self.assertEqual(self.opened("libcuda.so.1"), [f"{LIBRARIES}/libcuda.so.1"])
            self.undo()
            self.assert_state(before)

    def test_an_entry_point_that_runs_ldconfig(self):
        before = self.inside("/sbin/ldconfig", "-p")
        self.apply("--layout", "merged")

        self.inside("/sbin/ldconfig")

        self.assertEqual(self.opened("libcuda.so.1"), [f"{LIBRARIES}/libcuda.so.{VERSION}"])
        self.undo()
        self.assertEqual(sorted(self.inside("/sbin/ldconfig", "-p").splitlines()[1:]),
                         sorted(before.splitlines()[1:]))

    def test_one_layout_takes_the_place_of_the_other(self):
        before = self.state()
        for apply, layout, library in ((self.apply, "tree", f"{TREE}/lib64"),
                                       (self.apply_over, "merged", LIBRARIES),
                                       (self.apply_over, "tree", f"{TREE}/lib64")):
            apply("--layout", layout)
            self.assertEqual(self.opened("libcuda.so.1"), [f"{library}/libcuda.so.{VERSION}"])
        self.undo()
        self.assert_state(before)

    def test_with_a_command(self):
        before = self.state()
        done = self.apply("--layout", "merged", "--", "opens_driver", "libcuda.so.1", stdout=None)
        self.assertEqual(done.stdout, f"{LIBRARIES}/libcuda.so.{VERSION}\n")
        self.assert_state(before)

    def test_a_root_that_another_namespace_uses(self):
        before = self.state()
        self.apply("--layout", "merged")
        done = self.apply("--layout", "merged", "--", "opens_driver", "libcuda.so.1", stdout=None)
        self.assertEqual(done.stdout, f"{LIBRARIES}/libcuda.so.{VERSION}\n")
        self.undo()
        self.assert_state(before)


class TreePath(Placing):
    def test_the_tree_is_where_it_is_told(self):
        self.check(f"/opt/gpu/lib64/libcuda.so.{VERSION}", "/opt/gpu/bin/nvidia-smi",
                   "--tree-path", "/opt/gpu")

    def test_the_tree_takes_the_place_that_cuda_images_look_in(self):
        self.check(f"{HOST}/lib64/libcuda.so.{VERSION}", "/usr/bin/nvidia-smi",
                   "--tree-path", HOST)

    def test_another_place_replaces_the_first(self):
        before = self.state()
        self.apply("--tree-path", "/opt/gpu")
        self.apply_over("--tree-path", "/srv/gpu")
        self.assertFalse((self.root / "opt/gpu").exists())
        self.assertEqual(self.opened("libcuda.so.1"), [f"/srv/gpu/lib64/libcuda.so.{VERSION}"])
        self.undo()
        self.assert_state(before)

    def test_what_the_image_has_is_not_hidden(self):
        with self.nothing_changes():
            done = self.apply("--tree-path", "/usr/bin", status=5, stderr=None)
        self.assertIn("/usr/bin is in the way: not empty", done.stderr)

    def test_paths_that_can_be_none(self):
        for path in ("", "gpu", "/", "/dev/gpu", "/proc/gpu", "/sys", "/opt/../etc", "/opt/a:b"):
            with self.subTest(path=path), self.nothing_changes():
                self.apply("--tree-path", path, status=2, stderr=None)

    def test_options_that_exclude_each_other(self):
        for options in (("--layout", "merged"), ("--vendor-libs", "none")):
            with self.subTest(options=options), self.nothing_changes():
                self.apply("--tree-path", "/opt/gpu", *options, status=2, stderr=None)


class VendorLibs(Placing):
    def plan_of(self, *options):
        done = self.run_setup("plan", "--nv", "--rootfs", self.root, "--format", "json", *options,
                              stdout=None)
        return json.loads(done.stdout)

    def test_none_gives_device_nodes_alone(self):
        for write in ("auto", "never"):
            before = self.state()
            self.apply("--vendor-libs", "none", "--write", write)
            self.inside("test", "-c", "/dev/nvidia0")
            self.assertFalse((self.root / TREE[1:]).exists())
            self.assertFalse(os.path.lexists(self.root / "usr/bin/nvidia-smi"))
            self.undo()
            self.assert_state(before)

    def test_none_leaves_the_images_own_driver(self):
        own = self.root / LIBRARIES[1:] / "libcuda.so.1"
        own.write_text("the image's own")
        self.apply("--vendor-libs", "none")
        self.assertEqual(own.read_text(), "the image's own")
        self.undo()

    def test_the_host_is_what_it_comes_to_otherwise(self):
        self.assertEqual(self.plan_of(), self.plan_of("--vendor-libs", "host"))
        self.assertEqual(self.plan_of(), self.plan_of("--vendor-libs", "auto"))

    def test_the_plan_says_how_files_lie(self):
        for layout, path in (("tree", TREE), ("merged", None)):
            plan = self.plan_of("--layout", layout)
            self.assertEqual((plan["layout"], plan["tree_path"]), (layout, path))


class OddNames(harness.Case):
    """Paths with every kind of character that one may have."""

    NAMES = ("new\nline", "\x01\x1b[1m\x7f", "quote\"'", "back\\slash", "\u00fc\u2028", "tab\t ",
             os.fsdecode(b"\xff\xfe"), os.fsdecode(b"c1\x9b"), os.fsdecode(b"half\xc3"))
    OPTIONS = {"errors": "surrogateescape"}

    def check(self, *words):
        """A set-up is known again, and all of it goes."""
        before = self.state()
        for outcome in ("set up", "set up already"):
            self.apply("-v", *words, stderr=f"gpuctr-setup: {self.root}: {outcome}\n")
        self.run_setup("status", "--all", stdout=None)
        self.undo()
        self.assert_state(before, message=repr(words))

    def test_of_the_driver_root(self):
        for name in self.NAMES:
            driver = harness.DIRECTORY / f"driver{name}"
            driver.mkdir()
            harness.must("mount", "--rbind", "/", driver)
            try:
                self.check("--driver-root", driver)
            finally:
                harness.must("umount", "-l", driver)
                driver.rmdir()

    def test_of_the_root(self):
        plain = self.root
        self.addCleanup(setattr, self, "root", plain)
        for name in self.NAMES:
            self.root = plain.with_name(f"odd{name}")
            plain.rename(self.root)
            try:
                before = self.state()
                self.apply()
                self.apply()
                self.run_setup("undo", "--all", stderr=None, **self.OPTIONS)
                self.assert_state(before, message=repr(name))
                self.assertEqual(harness.journals(), [])
            finally:
                self.root.rename(plain)


if __name__ == "__main__":
    unittest.main()
