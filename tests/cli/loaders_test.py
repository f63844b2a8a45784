# SPDX-License-Identifier: MIT
"""The loaders of EGL, OpenGL, Vulkan and OpenCL that the host's distribution built."""

import json
import os
import pathlib
import shutil
import unittest

import harness
import mount_table
from harness import MULTIARCH, ORDINARY_USER, SETUP, TREE, VERSION

DRIVER = "/run/nvidia/driver"
LIBDIR = f"/usr/lib/{MULTIARCH}"
PLACE = f"{TREE}/distribution/lib64"
STAGED = harness.DIRECTORY / "staged/tree"
GLVND = ["libEGL.so.1", "libGLESv1_CM.so.1", "libGLESv2.so.2", "libGLdispatch.so.0",
         "libOpenGL.so.0"]
GLX = ["libGL.so.1", "libGLX.so.0"]
GIVEN = [*GLVND, "libOpenCL.so.1", "libvulkan.so.1"]


class Loaders(harness.Case):
    """On this host libGLX needs libX11, which images lack, and most need GLIBC_2.34."""

    def setUp(self):
        super().setUp()
        (self.root / LIBDIR[1:]).mkdir(parents=True, exist_ok=True)
        os.environ["GPUCTR_DRIVER_ROOT"] = DRIVER
        self.addCleanup(os.environ.pop, "GPUCTR_DRIVER_ROOT")
        self.addCleanup(self.remove_staged)

    def remove_staged(self):
        while mounts := mount_table.below(STAGED):
            harness.must("umount", "-l", mounts[-1].target)
        shutil.rmtree(STAGED.parent, ignore_errors=True)

    def give(self, soname):
        """Puts a library into the image, as its distribution would."""
        path = self.root / LIBDIR[1:] / soname
        shutil.copy(f"{DRIVER}{LIBDIR}/{soname}", path)
        return path

    def there(self):
        """Sonames of what was given."""
        place = pathlib.Path(f"{self.root}{PLACE}")
        return sorted(name for name in os.listdir(place) if not name.endswith(".0.0")) \
            if place.exists() else []

    def reasons(self, *words):
        return {one["object"].removesuffix(".0.0"): one["text"]
                for one in self.plan(*words)["findings"] if one["object"]}

    def loaded(self, *sonames):
        return self.inside("/usr/bin/opens_driver", *sonames).split()

    def check(self):
        self.assertEqual(self.there(), sorted(GIVEN))
        self.assertEqual(self.loaded(*GIVEN), [f"{PLACE}/{soname}.0.0" for soname in GIVEN])

    def test_come_to_an_image_that_has_none(self):
        self.in_each_way(self.check)

    def test_come_beside_a_staged_tree(self):
        self.run_setup("prepare", "--nv", "--staged-tree", STAGED)
        staged = os.stat(STAGED).st_dev

        def check():
            self.assertEqual(os.stat(f"{self.root}{TREE}").st_dev, staged)
            self.assertEqual(self.loaded("libcuda.so.1"), [f"{TREE}/lib64/libcuda.so.{VERSION}"])
            self.check()
            self.assertEqual(os.listdir(STAGED / "distribution"), [])
            for mount in mount_table.below(f"{self.root}{TREE}"):
                self.assertLessEqual({"ro", "nosuid", "nodev"}, set(mount.options.split(",")), mount)
            self.assertNotEqual(harness.call("touch", f"{self.root}{PLACE}/new").returncode, 0)

        self.in_each_way(check, "--staged-tree", STAGED)
        mounts = mount_table.read()
        self.give("libvulkan.so.1")
        self.give("libEGL.so.1")
        self.give("libOpenCL.so.1")
        self.apply("--staged-tree", STAGED)
        self.assertEqual(os.stat(f"{self.root}{TREE}").st_dev, staged)
        self.assertEqual(self.there(), [])
        self.undo()
        self.assertEqual(mount_table.read(), mounts)

    def test_come_to_a_command_and_leave_nothing(self):
        self.run_setup("prepare", "--nv", "--staged-tree", STAGED)
        for user in ([], ORDINARY_USER):
            for staged in (False, True):
                with self.subTest(user=user, staged=staged), self.nothing_changes():
                    options = ["--staged-tree", STAGED] if staged else []
                    done = harness.call(*user, SETUP, "--nv", "--rootfs", self.root, *options, "--",
                                        "sh", "-c", f'opens_driver "$@" && stat -c %d {TREE}', "sh",
                                        *GIVEN)
                    self.assertEqual(done.stderr, "")
                    *paths, device = done.stdout.split()
                    self.assertEqual(paths, [f"{PLACE}/{soname}.0.0" for soname in GIVEN])
                    self.assertEqual(int(device) == os.stat(STAGED).st_dev, staged)

    def test_leave_an_image_its_own(self):
        own = self.give("libOpenGL.so.0")
        self.give("libGLdispatch.so.0")
        before = own.stat()

        def check():
            self.assertEqual(self.there(), ["libOpenCL.so.1", "libvulkan.so.1"])
            self.assertEqual(self.loaded("libOpenGL.so.0"), [f"{LIBDIR}/libOpenGL.so.0"])
            self.assertEqual((own.stat().st_ino, own.stat().st_mtime_ns),
                             (before.st_ino, before.st_mtime_ns))

        reasons = self.reasons()
        for soname in GLVND:
            self.assertRegex(reasons[soname], rf"^the image has its own: {LIBDIR}/lib[a-zA-Z]+\.so\.0$")
        self.in_each_way(check)

    def test_stay_out_of_an_image_that_they_do_not_fit(self):
        reasons = self.reasons()
        self.assertEqual(reasons["libGLX.so.0"],
                         "needs libX11.so.6, which the image does not have")
        self.assertEqual(reasons["libGL.so.1"], "needs libGLX.so.0, which is left out")

        libc, = self.root.rglob("libc.so.6")
        content = libc.read_bytes()
        for version in (f"GLIBC_2.{n}".encode() for n in range(34, 100)):
            content = content.replace(version, version.replace(b"_2.", b"_1."))
        libc.write_bytes(content)
        reasons = self.reasons()
        for soname in [*GLVND, *GLX, "libvulkan.so.1"]:
            self.assertRegex(reasons[soname],
                             r"^lib[A-Za-z]+\.so\.\d needs GLIBC_2\.34, but the image's \S+/libc\.so\.6 "
                             r"has nothing newer than GLIBC_2\.33$")
        with self.nothing_changes():
            self.apply()
            self.assertEqual(self.there(), ["libOpenCL.so.1"])
            self.undo()

    def test_come_with_what_they_need_of_the_image(self):
        x11 = self.root / LIBDIR[1:] / "libX11.so.6"
        shutil.copy(f"{DRIVER}{LIBDIR}/libvulkan.so.1", x11)
        self.apply()
        self.assertEqual(self.there(), sorted([*GIVEN, *GLX]))
        self.undo()

    def test_go_where_the_image_got_its_own_since(self):
        before = self.state()
        directory = os.stat(self.root / LIBDIR[1:])
        self.apply()
        own = self.give("libvulkan.so.1")
        self.apply_over()
        self.assertEqual(self.there(), [*GLVND[:-1], "libOpenCL.so.1", GLVND[-1]])
        self.assertEqual(self.loaded("libvulkan.so.1"), [f"{LIBDIR}/libvulkan.so.1"])
        self.undo()
        own.unlink()
        os.utime(own.parent, ns=(directory.st_atime_ns, directory.st_mtime_ns))
        self.assert_state(before)

    def test_are_still_found_after_ldconfig_unless_the_image_has_its_own(self):
        configuration = self.root / "etc/ld.so.conf.d"
        (configuration / "arch.conf").write_text(f"{LIBDIR}\n")
        before = sorted(os.listdir(configuration))
        self.apply("--write", "always")
        self.inside("ldconfig")
        self.check()

        self.give("libvulkan.so.1")
        self.inside("ldconfig")
        self.assertEqual(self.loaded("libvulkan.so.1", "libEGL.so.1"),
                         [f"{LIBDIR}/libvulkan.so.1", f"{PLACE}/libEGL.so.1.0.0"])
        self.undo()
        self.assertNotIn(TREE, self.inside("ldconfig", "-p"))
        self.assertEqual(sorted(os.listdir(configuration)), before)

    def test_lie_among_the_images_libraries_without_a_tree(self):
        with self.nothing_changes():
            self.apply("--layout", "merged")
            self.assertEqual(self.loaded(*GIVEN), [f"{LIBDIR}/{name}.0.0" for name in GIVEN])
            again = self.state()
            self.apply("--layout", "merged")
            self.assert_state(again)
            self.undo()

    def test_come_for_their_capability(self):
        reasons = self.reasons("--driver-capabilities", "compute,utility")
        for soname in [*GLVND, *GLX, "libvulkan.so.1"]:
            self.assertRegex(reasons[soname], "^belongs to graphics, which was not asked for")
        self.assertNotIn("libOpenCL.so.1", reasons)
        self.assertEqual([item for item in self.plan("--vendor-libs", "none")["items"]
                          if item["target"].startswith(TREE)], [])

    def test_are_told_as_the_distributions_own(self):
        done = self.run_setup("list", "--nv", "--format", "json", stdout=None)
        files = {file["soname"]: file for file in json.loads(done.stdout)["drivers"][0]["files"]}
        for soname in [*GIVEN, *GLX]:
            self.assertEqual(files[soname]["precedence"], "image", soname)
        self.assertEqual(files["libGLX.so.0"]["needed"], ["libGLdispatch.so.0", "libX11.so.6"])


if __name__ == "__main__":
    unittest.main()
