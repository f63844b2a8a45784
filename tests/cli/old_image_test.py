# SPDX-License-Identifier: MIT
"""--glibc auto with a real image whose C library is older than the driver needs: Debian 11's, 2.31.

Its programs, and one of this machine that does not even start there, use the host's C library.
"""

import os
import pathlib
import unittest

import harness
import glibc_test
from glibc_test import AUTO, LIBRARIES, PARTS, PROGRAM
from harness import ORDINARY_USER, SETUP

IMAGE = pathlib.Path(os.environ["GPUCTR_OLD_IMAGE"])
# Prints what is mapped of a shell, and of what it loads for the user's name.
OWN_PROGRAM = ("/bin/sh", "-c", "echo ~root; while read -r _ _ _ _ _ path; do echo $path; done </proc/self/maps")

setUpModule = glibc_test.setUpModule


@unittest.skipUnless((IMAGE / "etc/ld.so.cache").exists(), "the packages could not be reached")
class OldImage(glibc_test.Case):
    def setUp(self):
        harness.Case.setUp(self)
        harness.must("find", self.root, "-mindepth", "1", "-delete")
        harness.must("cp", "-a", f"{IMAGE}/.", self.root)
        glibc_test.copy(os.environ["GPUCTR_SHOWS_MAPS"], self.root / PROGRAM.lstrip("/"))

    def test_without_it_programs_of_this_machine_do_not_start(self):
        done = self.runs()
        self.assertEqual(done.returncode, 1)
        self.assertIn("libc.so.6: version `GLIBC_2.34' not found", done.stderr)

    def test_with_it_they_call_the_driver(self):
        for prefix in ((), ORDINARY_USER):
            with self.subTest(prefix=prefix), self.nothing_changes():
                done = self.runs(*AUTO, prefix=prefix)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assert_all_of_host(done.stdout)
                self.assertIn("libc-2.31.so", done.stdout)  # where it is mounted

    def test_without_a_loader_cache_too(self):
        (self.root / "etc/ld.so.cache").unlink()
        done = self.runs(*AUTO)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_all_of_host(done.stdout)

    def test_programs_of_the_image_run_with_it(self):
        for prefix in ((), ORDINARY_USER):
            done = harness.call(*prefix, SETUP, "--nv", "--rootfs", self.root, *AUTO, "--",
                                *OWN_PROGRAM)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith("/root\n"))
            self.assertIn("/lib/x86_64-linux-gnu/libc-2.31.so", done.stdout)

    def test_comes_and_goes(self):
        words = ("/usr/bin/shows_maps", "libcuda.so.1", *PARTS)
        variable = f"{LIBRARIES}/gconv"

        def check():
            done = harness.call("unshare", "--mount", "sh", "-c",
                                'mount --bind /proc "$0/proc" && GCONV_PATH=$1 && export GCONV_PATH '
                                '&& shift && exec chroot "$0" "$@"', self.root, variable, *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assert_all_of_host(done.stdout)

        self.in_each_way(check, *AUTO)

    def test_in_directories_of_another_family(self):
        """Of Red Hat's and SUSE's, where the host's loader does not look by itself."""
        own = self.root / "lib/x86_64-linux-gnu"
        other = self.root / "usr/lib64"
        other.mkdir()
        for path in own.iterdir():
            path.rename(other / path.name)
        (self.root / "usr/lib/x86_64-linux-gnu/gconv").rename(other / "gconv")
        harness.must("rm", "-rf", self.root / "lib64", self.root / "lib", self.root / "usr/lib")
        (self.root / "lib64").symlink_to("usr/lib64")
        for cached in (True, False):
            with self.subTest(cached=cached):
                if cached:
                    (self.root / "etc/ld.so.conf").write_text("/usr/lib64\n")
                    harness.must("ldconfig", "-X", "-r", self.root)
                else:
                    (self.root / "etc/ld.so.cache").unlink()
                done = self.runs(*AUTO)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assert_all_of_host(done.stdout)
                self.assertIn(" /usr/lib64/libc-2.31.so", done.stdout)


if __name__ == "__main__":
    unittest.main()
