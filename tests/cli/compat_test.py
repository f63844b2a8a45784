# SPDX-License-Identifier: MIT
"""--cuda-compat: an image's own libcuda for older drivers."""

import os
import pathlib
import shutil
import unittest

import harness
from harness import MULTIARCH, TREE, VERSION

STUB = pathlib.Path(harness.NEEDS_DRIVER).parent / "stubs/libcompat.so"
HOSTS = f"libcuda.so.{VERSION}"
IMAGES = "libcuda.so.610.43.02"
COMPAT = "/usr/local/cuda-13.3/compat"
OPENS = "/usr/bin/opens_driver"


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        compat = self.root / COMPAT.lstrip("/")
        compat.mkdir(parents=True)
        shutil.copy(STUB, compat / IMAGES)
        (compat / "libcuda.so.1").symlink_to(IMAGES)
        (self.root / "usr/local/cuda").symlink_to("cuda-13.3")
        self.compat = compat

    def loaded(self, *words, **options):
        """The file that programs of the container load."""
        return pathlib.Path(self.inside(*words, OPENS, "libcuda.so.1", **options).strip()).name

    def findings(self, *words):
        return {(found["code"], found["object"]): found["text"]
                for found in self.plan(*words)["findings"]}

    def decided(self, *words, directory="/usr/local/cuda/compat"):
        return self.findings(*words).get(("compat_decided", directory))


class Compat(Case):
    def test_that_fits_is_loaded_in_place_of_the_hosts(self):
        self.in_each_way(lambda: self.assertEqual(self.loaded(), IMAGES))

    def test_that_fits_is_loaded_without_a_tree(self):
        self.apply("--layout", "merged")
        self.assertEqual(self.loaded(), IMAGES)
        self.undo()

    def test_never(self):
        (self.root / "etc/ld.so.conf.d").mkdir(exist_ok=True)
        self.in_each_way(lambda: self.assertEqual(self.loaded(), HOSTS), "--cuda-compat", "never")
        self.assertEqual(self.decided("--cuda-compat", "never"), "not used, as asked for")

    def test_that_the_images_loader_knows_by_itself(self):
        (self.root / "etc/ld.so.conf.d").mkdir(exist_ok=True)
        (self.root / "etc/ld.so.conf.d/compat.conf").write_text(f"{COMPAT}\n")
        (self.root / "etc/ld.so.conf").write_text("include /etc/ld.so.conf.d/*.conf\n")
        harness.must("ldconfig", "-r", self.root)
        for choice, file in (("never", HOSTS), ("auto", IMAGES), ("always", IMAGES)):
            with self.subTest(choice):
                self.apply("--cuda-compat", choice)
                self.assertEqual(self.loaded(), file)
                self.undo()

    def test_the_variable_of_the_loader_does_not_defeat_never(self):
        variable = f"LD_LIBRARY_PATH={COMPAT}"
        for choice, is_images in (("never", False), ("auto", True)):
            self.apply("--cuda-compat", choice)
            path = self.inside("env", variable, OPENS, "libcuda.so.1").strip()
            content = (self.root / path.lstrip("/")).read_bytes()
            self.assertEqual(content == STUB.read_bytes(), is_images)
            self.undo()
        self.apply()
        self.assertEqual(self.loaded("env", "LD_LIBRARY_PATH=/usr/local/nvidia/lib64"), IMAGES)
        self.undo()

    def test_a_variable_that_finds_another_is_a_warning(self):
        other = self.root / "opt/other"
        other.mkdir(parents=True)
        shutil.copy(STUB, other / "libcuda.so.1")
        done = self.run_setup("--nv", "--rootfs", self.root, "--request-env",
                              "LD_LIBRARY_PATH=/opt/none:/opt/other", stderr=None)
        self.assertIn("warning: LD_LIBRARY_PATH: has /opt/other, where programs find another "
                      "libcuda.so.1 before that in /opt", done.stderr.replace(
                          "/usr/local/cuda/compat", "/opt"))
        self.undo()
        done = self.run_setup("--nv", "--rootfs", self.root, "--setenv",
                              "LD_LIBRARY_PATH=/opt/other", "--", OPENS, "libcuda.so.1",
                              stdout="/opt/other/libcuda.so.1\n", stderr=None)
        self.assertIn("has /opt/other", done.stderr)
        dry = self.run_setup("--nv", "--rootfs", self.root, "--dry-run", "--setenv",
                             "LD_LIBRARY_PATH=/opt/other", "--", OPENS, stdout=None, stderr=None)
        self.assertEqual(dry.stderr, done.stderr)

    def test_in_a_container_that_runs(self):
        for choice, file in (("auto", f"{COMPAT}/{IMAGES}"), ("never", f"{TREE}/lib64/{HOSTS}")):
            self.run_setup("--nv", "--rootfs", self.root, "--cuda-compat", choice, "--", OPENS,
                           "libcuda.so.1", stdout=f"{file}\n")

    def test_a_choice_that_changes_is_another_set_up(self):
        self.apply("--cuda-compat", "never")
        self.assertEqual(self.loaded(), HOSTS)
        self.apply_over("--cuda-compat", "always")
        self.assertEqual(self.loaded(), IMAGES)
        self.undo()

    def test_plan_says_why(self):
        self.assertIn("CUDA 13.3, driver 610.43.02", self.decided())
        done = self.run_setup("plan", "-v", "--nv", "--rootfs", self.root, stdout=None)
        self.assertIn("programs find the image's libcuda.so.1", done.stdout)

    def test_it_is_an_option_of_a_site(self):
        done = self.run_setup("plan", "-v", "--nv", "--rootfs", self.root, stdout=None,
                              env=os.environ | {"GPUCTR_CUDA_COMPAT": "never"})
        self.assertIn("not used, as asked for", done.stdout)
        done = self.run_setup("plan", "--nv", "--cuda-compat", "maybe", status=2, stderr=None)
        self.assertIn("auto, never, always", done.stderr)


class Hostile(Case):
    """Whatever the image has there, the host's library is found and nothing outside is touched."""

    def assert_hosts(self, *words):
        with self.nothing_changes():
            self.apply("--cuda-compat", "always", *words, stderr=None)
            self.assertEqual(self.loaded(), HOSTS)
            self.undo()

    def library(self):
        file = self.compat / "libcuda.so.1"
        file.unlink()
        return file

    def test_a_link_out_of_the_image(self):
        shutil.rmtree(self.compat)
        outside = harness.DIRECTORY / "outside"
        outside.mkdir(exist_ok=True)
        shutil.copy(STUB, outside / "libcuda.so.1")
        for target in (outside, f"../../../../../../../..{outside}", "/", "/proc/self/root"):
            with self.subTest(target):
                self.compat.symlink_to(target)
                self.assert_hosts()
                self.compat.unlink()

    def test_a_link_to_where_the_hosts_library_goes(self):
        shutil.rmtree(self.compat)
        for target in (f"{TREE}/lib64", f"/usr/lib/{MULTIARCH}"):
            self.compat.symlink_to(target)
            for layout in ("tree", "merged"):
                with self.subTest(f"{target} {layout}"), self.nothing_changes():
                    self.apply("--layout", layout)
                    self.apply("--layout", layout)  # nothing is replaced
                    self.assertEqual(self.loaded(), HOSTS)
                    self.undo()
            self.compat.unlink()

    def test_no_regular_file(self):
        file = self.library()
        os.mkfifo(file)
        self.assert_hosts()
        file.unlink()
        file.mkdir()
        self.assert_hosts()
        file.rmdir()
        file.symlink_to("libcuda.so.1")
        self.assert_hosts()

    def test_a_huge_file(self):
        file = self.library()
        with open(file, "wb") as sparse:
            sparse.truncate(1 << 40)
        self.assert_hosts()
        # A library with a section of notes of a terabyte.
        content = bytearray(STUB.read_bytes())
        offset = int.from_bytes(content[0x28:0x30], "little")
        for at in range(offset, len(content) - 63, 64):
            if int.from_bytes(content[at + 4:at + 8], "little") == 7:
                content[at + 32:at + 40] = (1 << 40).to_bytes(8, "little")
        with open(file, "wb") as sparse:
            sparse.write(content)
            sparse.truncate(1 << 41)
        self.apply()
        self.assertEqual(self.loaded(), HOSTS)
        self.undo()

    def test_a_library_of_another_class(self):
        content = bytearray(STUB.read_bytes())
        for index, value in ((4, 1), (5, 2), (18, 40)):
            with self.subTest(index):
                file = self.library()
                file.write_bytes(content[:index] + bytes([value]) + content[index + 1:])
                self.assert_hosts()


if __name__ == "__main__":
    unittest.main()
