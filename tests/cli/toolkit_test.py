# SPDX-License-Identifier: MIT
"""--cuda-toolkit: the host's CUDA toolkit for an image that has none."""

import json
import os
import pathlib
import shutil
import unittest

import harness
from harness import DIRECTORY, ORDINARY_USER, SETUP

PLACE = "/usr/local/cuda"
NVCC = f"{PLACE}/bin/nvcc"
SECRET = DIRECTORY / "outside"


def make_toolkit(path, version):
    (path / "bin").mkdir(parents=True)
    (path / "version.json").write_text(json.dumps({"cuda": {"version": f"{version}.1"}}))
    nvcc = path / "bin/nvcc"
    nvcc.write_text(f"#!/bin/sh\necho {version}\n")
    nvcc.chmod(0o755)
    return path


def setUpModule():
    """The host's own was recorded without what tells its version. /usr/local/cuda leads to it."""
    own = make_toolkit(DIRECTORY / "own", "13.0")
    harness.must("mount", "--bind", own, "/usr/local/cuda-13.0")
    SECRET.mkdir()


def tearDownModule():
    harness.must("umount", "/usr/local/cuda-13.0")


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.root / "usr/local", ignore_errors=True)
        (self.root / "usr/local").mkdir()

    def items(self, *words):
        return [item for item in self.plan(*words)["items"] if item["target"] == PLACE]

    def findings(self, *words):
        return [(found["code"], found["text"]) for found in self.plan(*words)["findings"]
                if found["code"].startswith("toolkit")]


class Toolkit(Case):
    def test_comes_and_goes(self):
        for wanted in ("auto", "/usr/local/cuda-13.0"):
            self.in_each_way(lambda: self.assertEqual(self.inside(NVCC), "13.0\n"),
                             "--cuda-toolkit", wanted)
        self.assertFalse((self.root / "usr/local/cuda").exists())

    def test_is_one_item_of_the_plan(self):
        items = self.items("--cuda-toolkit", "auto")
        self.assertEqual([(i["kind"], i["source"], i["options"]) for i in items
                          if i["kind"] == "bind"],
                         [("bind", "/usr/local/cuda-13.0", "ro,nosuid,nodev")])
        self.assertEqual(self.items(), [])
        done = self.run_setup("plan", "--nv", "--rootfs", self.root, stdout=None,
                              env=os.environ | {"GPUCTR_CUDA_TOOLKIT": "auto"})
        self.assertIn(PLACE, done.stdout)

    def test_cannot_be_written(self):
        self.apply("--cuda-toolkit", "auto")
        mount = next(m for m in harness.mount_table.read() if m.target == f"{self.root}{PLACE}")
        options = set(mount.options.split(","))
        self.assertLessEqual({"ro", "nosuid", "nodev"}, options)
        self.assertNotIn("noexec", options)
        with self.assertRaises(OSError):
            (self.root / "usr/local/cuda/new").touch()
        self.undo()

    def test_is_there_for_a_program(self):
        for user in ([], ORDINARY_USER):
            done = harness.call(*user, SETUP, "--nv", "--rootfs", self.root, "--cuda-toolkit",
                                "auto", "--", NVCC)
            self.assertEqual((done.stdout, done.stderr), ("13.0\n", ""))
        self.assertEqual(os.listdir(self.root / "usr/local"), [])

    def test_goes_with_a_staged_tree(self):
        staged = DIRECTORY / "staged/tree"
        self.run_setup("prepare", "--nv", "--staged-tree", staged)
        self.addCleanup(self.run_setup, "prepare", "--undo", "--staged-tree", staged)
        self.apply("--staged-tree", staged, "--cuda-toolkit", "auto")
        self.assertEqual(os.stat(f"{self.root}{harness.TREE}").st_dev, os.stat(staged).st_dev)
        self.assertEqual(self.inside(NVCC), "13.0\n")
        self.undo()

    def test_another_choice_is_another_set_up(self):
        other = make_toolkit(DIRECTORY / "other", "11.8")
        self.addCleanup(shutil.rmtree, other)
        before = self.state()
        self.apply("--cuda-toolkit", "auto")
        self.apply_over("--cuda-toolkit", other)
        self.assertEqual(self.inside(NVCC), "11.8\n")
        self.apply_over()
        self.assertFalse((self.root / "usr/local/cuda").exists())
        self.undo()
        self.assert_state(before)

    def test_an_image_keeps_its_own(self):
        own = self.root / "usr/local/cuda"
        for make in (lambda: own.symlink_to("nowhere"), own.touch,
                     lambda: make_toolkit(own, "11.0")):
            make()
            with self.nothing_changes():
                self.apply("--cuda-toolkit", "auto")
                self.undo()
            self.assertEqual(self.findings("--cuda-toolkit", "auto"),
                             [("toolkit_decided", f"the image has its own {PLACE}")])
            done = self.run_setup("plan", "--nv", "--rootfs", self.root, "--cuda-toolkit",
                                  "/usr/local/cuda-13.0", stdout=None, stderr=None)
            self.assertIn(f"left out: the image has its own {PLACE}", done.stderr)
            if own.is_dir():
                shutil.rmtree(own)
            else:
                own.unlink()

    def test_that_is_none_is_an_error(self):
        for path, why in (("/nowhere", "No such file or directory"), ("/usr/bin", "version.json"),
                          ("/etc/passwd", "Not a directory")):
            done = self.apply("--cuda-toolkit", path, status=2, stderr=None)
            self.assertIn(f"CUDA toolkit {path}: ", done.stderr)
            self.assertIn(why, done.stderr)
        for path in ("cuda", "/", "/usr/../etc"):
            self.apply("--cuda-toolkit", path, status=2, stderr=None)

    def test_of_a_newer_cuda(self):
        minor = make_toolkit(DIRECTORY / "minor", "13.1")
        major = make_toolkit(DIRECTORY / "major", "14.0")
        for path in (minor, major):
            self.addCleanup(shutil.rmtree, path)
        done = self.run_setup("plan", "--nv", "--rootfs", self.root, "--cuda-toolkit", minor,
                              stdout=None, stderr=None)
        self.assertIn(f"warning: {minor}: it is for CUDA 13.1, and the driver 580.159.04 supports "
                      "CUDA 13.0: ", done.stderr)
        done = self.apply("--cuda-toolkit", major, status=7, stderr=None)
        self.assertIn("it is for CUDA 14.0, and the driver 580.159.04 supports CUDA 13.0",
                      done.stderr)
        self.assertIn("hint: install a newer driver, or a toolkit of CUDA 13.0 or earlier",
                      done.stderr)

    def test_is_not_of_a_recorded_host(self):
        self.run_setup("plan", "--nv", "--host", "/nowhere", "--cuda-toolkit", "auto", status=2,
                       stderr=None)


class Hostile(Case):
    """Wherever the image's links lead, nothing is mounted or made outside."""

    def test_links(self):
        before = sorted(os.listdir(SECRET))
        local = self.root / "usr/local"
        for link, target in ((local, SECRET), (local, f"../../../../../..{SECRET}"),
                             (local, "/proc/self/root"), (local, "/nowhere"), (local, "local"),
                             (local / "cuda", SECRET), (local / "cuda", "/"),
                             (local / "cuda", "cuda")):
            for write in ("auto", "never"):
                with self.subTest(link=link, target=target, write=write):
                    if link == local:
                        local.rmdir()
                    link.symlink_to(target)
                    mounts = harness.mount_table.read()
                    with self.nothing_changes():
                        self.apply("--write", write, "--vendor-libs", "none", "--cuda-toolkit",
                                   "auto", status=None, stderr=None)
                        outside = [m for m in harness.mount_table.read() if m not in mounts
                                   and not m.target.startswith(f"{self.root}")]
                        self.assertEqual(outside, [])
                        self.assertEqual(sorted(os.listdir(SECRET)), before)
                        self.undo(status=None, stderr=None)
                    link.unlink()
                    if link == local:
                        local.mkdir()

    def test_a_toolkit_whose_files_lie_elsewhere(self):
        path = DIRECTORY / "linked"
        path.mkdir()
        self.addCleanup(shutil.rmtree, path)
        (path / "version.json").symlink_to("/usr/local/cuda-13.0/version.json")
        self.apply("--cuda-toolkit", path, status=2, stderr=None)
        (path / "version.json").unlink()
        os.mkfifo(path / "version.json")
        self.apply("--cuda-toolkit", path, status=2, stderr=None)
        (path / "version.json").unlink()
        with open(path / "version.json", "wb") as huge:
            huge.truncate(1 << 40)
        self.apply("--cuda-toolkit", path, status=2, stderr=None)


if __name__ == "__main__":
    unittest.main()
