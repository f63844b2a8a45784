# SPDX-License-Identifier: MIT
"""Files that others than the dynamic loader look for: OpenCL's, modules, and data."""

import os
import pathlib
import unittest

import harness
from harness import MULTIARCH, TREE, VERSION

LIBRARY = "libnvidia-opencl.so.1"


class OpenCl(harness.Case):
    def setUp(self):
        super().setUp()
        self.vendors = self.root / "etc/OpenCL/vendors"

    def check(self):
        self.assertEqual((self.vendors / "nvidia.icd").read_text(), f"{LIBRARY}\n")
        self.assertEqual(self.inside("/usr/bin/opens_driver", LIBRARY),
                         f"{TREE}/lib64/libnvidia-opencl.so.{VERSION}\n")

    def test_finds_the_driver_in_an_image_that_knows_nothing_of_it(self):
        self.in_each_way(self.check)
        self.assertFalse(self.vendors.parent.exists())

    def test_finds_the_driver_among_other_platforms(self):
        self.vendors.mkdir(parents=True)
        (self.vendors / "pocl.icd").write_text("libpocl.so.2\n")

        def check():
            self.check()
            self.assertEqual((self.vendors / "pocl.icd").read_text(), "libpocl.so.2\n")

        self.in_each_way(check)

    def test_finds_the_driver_where_a_stale_file_names_another(self):
        self.vendors.mkdir(parents=True)
        stale = self.vendors / "nvidia.icd"
        stale.write_text("/opt/old/libnvidia-opencl.so.1\n")

        self.in_each_way(self.check)
        self.assertEqual(stale.read_text(), "/opt/old/libnvidia-opencl.so.1\n")

    def test_finds_the_driver_without_a_tree(self):
        self.apply("--layout", "merged")
        self.assertEqual((self.vendors / "nvidia.icd").read_text(), f"{LIBRARY}\n")
        self.assertEqual(self.inside("/usr/bin/opens_driver", LIBRARY),
                         f"/usr/lib/{MULTIARCH}/libnvidia-opencl.so.{VERSION}\n")
        self.undo()

    def test_is_not_led_out_of_the_image(self):
        outside = pathlib.Path("/etc/OpenCL")
        before = outside.exists()
        (self.root / "etc/OpenCL").symlink_to("/../../etc/OpenCL")

        self.apply()
        self.assertEqual(outside.exists(), before)
        plan = self.plan("--layout", "merged")
        self.assertIn("nvidia.icd", [entry["object"] for entry in plan["findings"]])
        self.undo()


class Modules(harness.Case):
    """What loaders of their own find in a directory of theirs, by a file's name."""

    NAME = "libvdpau_nvidia.so.1"
    FILE = f"libvdpau_nvidia.so.{VERSION}"
    VIDEO = ("--driver-capabilities", "compute,video")

    def setUp(self):
        super().setUp()
        self.directory = f"/usr/lib/{MULTIARCH}/vdpau"

    def test_is_found_by_its_loader(self):
        # Overlays of names need a directory above that is not the root.
        (self.root / f"usr/lib/{MULTIARCH}").mkdir(parents=True, exist_ok=True)

        def check():
            self.assertEqual(self.inside("readlink", "-f", f"{self.directory}/{self.NAME}"),
                             f"{TREE}/lib64/{self.FILE}\n")

        self.in_each_way(check, *self.VIDEO)

    def test_is_found_without_a_tree(self):
        before = self.state()
        self.apply("--layout", "merged", *self.VIDEO)
        self.assertEqual(self.inside("readlink", "-f", f"{self.directory}/{self.NAME}"),
                         f"{self.directory}/{self.FILE}\n")
        self.assertEqual(harness.must("head", "-c", "4", f"{self.root}{self.directory}/{self.FILE}"),
                         "\x7fELF")
        self.undo()
        self.assert_state(before)

    def test_is_found_in_place_of_the_images(self):
        own = pathlib.Path(f"{self.root}{self.directory}/{self.NAME}")
        own.parent.mkdir(parents=True)
        own.write_text("of another version")
        for layout in ("tree", "merged"):
            with self.subTest(layout=layout):
                before = self.state()
                self.apply("--layout", layout, *self.VIDEO)
                self.assertEqual(self.inside("head", "-c", "4", own.relative_to(self.root)), "\x7fELF")
                self.undo()
                self.assert_state(before)
        self.assertEqual(own.read_text(), "of another version")

    def test_stays_away_where_only_other_parts_are_asked_for(self):
        self.apply("--driver-capabilities", "compute,utility")
        self.assertFalse(os.path.exists(f"{self.root}{self.directory}"))
        self.undo()


class Data(harness.Case):
    def setUp(self):
        super().setUp()
        self.host = harness.DIRECTORY / "data"
        (self.host / "code/deep").mkdir(parents=True)
        (self.host / "code/deep/a.bc").write_text("code")
        (self.host / "names.ids").write_text("names")
        self.addCleanup(harness.call, "rm", "-rf", self.host)
        self.catalogue = harness.DIRECTORY / "data.yaml"
        self.catalogue.write_text(
            "vendor: nvidia\nfiles:\n" + "".join(
                f"  - {{data: {self.host}/{name}, capability: compute, reason: a test}}\n"
                for name in ("code", "names.ids", "gone")))
        self.inner = pathlib.Path(f"{self.root}{self.host}")

    def read(self, name):
        return self.inside("/usr/bin/cat", self.host / name)

    def check(self):
        self.assertEqual(self.read("names.ids"), "names")
        self.assertEqual(self.read("code/deep/a.bc"), "code")

    def test_is_found_at_its_path(self):
        # Overlays of names need a directory above that is not the root.
        (self.root / self.host.parent.relative_to("/")).mkdir(parents=True)
        for layout in ("tree", "merged"):
            self.in_each_way(self.check, "--catalogue", self.catalogue, "--layout", layout)

    def test_cannot_be_written_through(self):
        self.apply("--catalogue", self.catalogue)
        for name in ("code/deep/a.bc", "names.ids"):
            with self.assertRaises(OSError):
                pathlib.Path(f"{self.root}{TREE}/share{self.host}/{name}").write_text("else")
        self.undo()

    def test_of_the_image_stays(self):
        self.inner.mkdir(parents=True)
        (self.inner / "names.ids").write_text("the image's")

        self.apply("--catalogue", self.catalogue)
        self.assertEqual(self.read("names.ids"), "the image's")
        self.undo()
        self.assertEqual(self.read("names.ids"), "the image's")


if __name__ == "__main__":
    unittest.main()
