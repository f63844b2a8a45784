# SPDX-License-Identifier: MIT
"""Root file systems that are one file, read without mounting them: plan and check."""

import json
import unittest

import harness
import image_file_test
from image_file_test import COPY, EXT3, OF_OVERLAY, PARTITION, SIGNATURE, row, sif

LIBRARY = f"/usr/lib/{harness.MULTIARCH}/libsquashfs.so.1"


class Case(image_file_test.Case):
    def answers(self, *words, status=0, prefix=()):
        before = image_file_test.loop_devices()
        done = harness.call(*prefix, harness.SETUP, *words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual(image_file_test.loop_devices(), before)
        return done

    def json_of(self, *words, **how):
        return json.loads(self.answers(*words, "--format", "json", **how).stdout)


class Reads(Case):
    def images(self):
        return (self.squashfs, self.sif(), self.sif(row(SIGNATURE)),
                self.sif(row(PARTITION, purpose=OF_OVERLAY, file_system=EXT3)))

    def test_plans_as_for_the_directory(self):
        words = ("plan", "--nv", "--image-env", "auto", "--rootfs")
        expected = self.json_of(*words, self.root, "--write", "never")
        for image in self.images():
            for prefix in ((), image_file_test.USER):
                with self.subTest(image=image.name, prefix=prefix):
                    self.assertEqual(self.json_of(*words, image, prefix=prefix)["items"],
                                     expected["items"])

    def test_checks_as_for_the_directory(self):
        script = self.root / ".singularity.d/env/90-environment.sh"
        for variable, status in (("A=b", 0), ("NVIDIA_VISIBLE_DEVICES=void", 9),
                                 ('NVIDIA_REQUIRE_CUDA="cuda>=99.0"', 9)):
            script.write_text(f"export {variable}\n")
            self.squashfs.unlink()
            self.make_squashfs()
            words = ("check", "--nv", "--rootfs")
            expected = self.json_of(*words, self.root, status=status)["findings"]
            for image in (self.squashfs, self.sif()):
                with self.subTest(variable, image=image.name):
                    self.assertEqual(self.json_of(*words, image, status=status)["findings"],
                                     expected)

    def test_by_a_descriptor(self):
        expected = self.json_of("plan", "--nv", "--rootfs", self.squashfs)["items"]
        with open(self.sif(), "rb") as image:
            done = harness.setup("plan", "--nv", "--rootfs-fd", image.fileno(), "--format", "json",
                                 pass_fds=[image.fileno()])
        self.assertEqual(json.loads(done.stdout)["items"], expected, done.stderr)

    def test_says_nothing_of_mounts(self):
        done = self.answers("plan", "--nv", "--rootfs", self.squashfs)
        self.assertNotIn("is a mount point", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_compressed_ones(self):
        expected = self.json_of("plan", "--nv", "--rootfs", self.squashfs)["items"]
        for method in ("gzip", "xz", "zstd", "lz4"):
            image = self.squashfs.with_name(f"{method}.sqfs")
            harness.must("mksquashfs", self.root, image, "-quiet", "-no-progress", "-all-root",
                         "-comp", method)
            self.addCleanup(image.unlink)
            with self.subTest(method):
                self.assertEqual(self.json_of("plan", "--nv", "--rootfs", image)["items"], expected)


class Refused(Case):
    def both(self, image, status, stderr):
        for command in ("plan", "check"):
            with self.subTest(command):
                done = self.answers(command, "--nv", "--rootfs", image, status=status)
                self.assertEqual((done.stdout, done.stderr), ("", stderr))

    def test_damaged_ones(self):
        content = bytearray(self.squashfs.read_bytes())
        content[64] ^= 0x7F  # where its table of inodes begins
        done = self.answers("check", "--nv", "--rootfs", self.image(bytes(content)), status=5)
        self.assertIn("it is damaged", done.stderr)
        self.assertIn("hint: copy it once more", done.stderr)

    def test_cut_off_ones(self):
        image = self.image(self.squashfs.read_bytes()[:-image_file_test.PAGE])
        self.both(image, 5, f"gpuctr-setup: image {image}: it is cut off: the squashfs in it is "
                            f"larger\n{COPY}")

    def test_that_another_has_to_read(self):
        image = self.image(sif([row(PARTITION, file_system=image_file_test.ENCRYPTED)]))
        self.both(image, 7, f"gpuctr-setup: image {image}: it is encrypted\n"
                            "hint: Apptainer decrypts it: apptainer exec --nv IMAGE CMD\n")

    def test_by_a_method_that_the_library_lacks(self):
        content = bytearray(self.squashfs.read_bytes())
        content[20] = 3  # lzo
        done = self.answers("check", "--nv", "--rootfs", self.image(bytes(content)), status=7)
        self.assertIn("it is compressed by a method that libsquashfs lacks", done.stderr)
        self.assertIn("hint: make it again with mksquashfs -comp gzip", done.stderr)

    def test_without_the_library(self):
        harness.must("mount", "--bind", "/dev/null", LIBRARY)
        self.addCleanup(harness.must, "umount", LIBRARY)
        done = self.answers("check", "--nv", "--rootfs", self.squashfs, status=7)
        self.assertIn("libsquashfs.so.1", done.stderr)
        self.assertIn("hint: install it (libsquashfs1, squashfs-tools-ng), or name a directory\n",
                      done.stderr)
        self.answers("check", "--nv", "--rootfs", self.root)

    def test_that_may_not_be_read(self):
        self.squashfs.chmod(0o600)
        done = self.answers("check", "--nv", "--rootfs", self.squashfs, status=6,
                            prefix=image_file_test.USER)
        self.assertEqual(done.stderr, f"gpuctr-setup: image {self.squashfs}: Permission denied\n"
                                      "hint: this user has to be able to read it\n")

    def test_of_a_caller_that_ignores_ends_of_children(self):
        ignore = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); " \
                 "os.execvp(sys.argv[1], sys.argv[1:])"
        self.answers("check", "--nv", "--rootfs", self.squashfs, prefix=("python3", "-c", ignore))


if __name__ == "__main__":
    unittest.main()
