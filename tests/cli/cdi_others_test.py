# SPDX-License-Identifier: MIT
"""gpuctr-setup cdi apply: devices of specifications in the form of AMD's toolkit and of Intel's
generator, written here from how these are described."""

import json
import os
import pathlib
import shutil
import stat
import unittest

import harness
from harness import DIRECTORY


def node(path):
    """With all that AMD's toolkit says of one."""
    there = os.stat(path)
    return {"path": path, "hostPath": path, "type": "c", "major": os.major(there.st_rdev),
            "minor": os.minor(there.st_rdev), "fileMode": stat.S_IMODE(there.st_mode), "uid": 0,
            "gid": there.st_gid, "permissions": "rw"}


def render_nodes():
    return sorted(str(path) for path in pathlib.Path("/dev/dri").glob("renderD*"))


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.directory = DIRECTORY / "specs"
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir()

    def write(self, kind, version, devices):
        text = json.dumps({"cdiVersion": version, "kind": kind, "devices": [
            {"name": name, "containerEdits": {"deviceNodes": nodes}} for name, nodes in devices]})
        (self.directory / "others.json").write_text(text, encoding="utf-8")

    def apply(self, device, **options):
        return self.run_setup("cdi", "apply", "--spec-dir", self.directory, "--device", device,
                              "--rootfs", self.root, **options)

    def check(self, device, paths):
        """These nodes are there, no others, and an undo takes them away."""
        before = self.state()
        self.apply(device)
        there = [path for path in self.root.glob("dev/**/*") if path.is_char_device()]
        self.assertEqual(sorted(f"/{path.relative_to(self.root)}" for path in there), sorted(paths))
        self.undo()
        self.assert_state(before)


class Amd(Case):
    def setUp(self):
        super().setUp()
        self.nodes = render_nodes()
        self.assertGreater(len(self.nodes), 1)

    def test_one_device_and_all(self):
        devices = [(str(i), [node("/dev/kfd"), node(path)]) for i, path in enumerate(self.nodes)]
        devices.append(("all", [node(path) for path in ["/dev/kfd", *self.nodes]]))
        self.write("amd.com/gpu", "0.6.0", devices)
        self.check("amd.com/gpu=1", ["/dev/kfd", self.nodes[1]])
        self.check("amd.com/gpu=all", ["/dev/kfd", *self.nodes])
        self.check("amd.com/gpu=0,amd.com/gpu=1", ["/dev/kfd", *self.nodes[:2]])

    def test_a_node_that_its_toolkit_could_not_look_at(self):
        """It writes the number 0:0 then. As engines do, the host's node counts."""
        self.write("amd.com/gpu", "0.6.0", [
            ("0", [node("/dev/kfd") | {"major": 0, "minor": 0}, node(self.nodes[0])])])
        self.check("amd.com/gpu=0", ["/dev/kfd", self.nodes[0]])

    def test_what_we_write(self):
        self.run_setup("cdi", "generate", "--rocm", "--files-dir", self.directory / "files",
                       "--output-file", self.directory / "ours.json")
        self.apply("amd.com/gpu=0")
        self.assertTrue((self.root / "dev/kfd").is_char_device())
        self.undo()


class Intel(Case):
    def test_a_card_and_its_render_node(self):
        paths = sorted(str(path) for path in pathlib.Path("/dev/dri").glob("*[0-9]"))
        self.assertTrue(paths)
        self.write("intel.com/gpu", "0.5.0", [("0000-03-00-0-0x56a0", [
            {"path": path, "hostPath": path, "type": "c"} for path in paths])])
        self.check("intel.com/gpu=0000-03-00-0-0x56a0", paths)

    def test_what_we_write(self):
        self.run_setup("cdi", "generate", "--intel", "--files-dir", self.directory / "files",
                       "--output-file", self.directory / "ours.json")
        self.apply("intel.com/gpu=0")
        self.assertTrue(any(path.is_char_device() for path in self.root.glob("dev/dri/render*")))
        self.undo()


if __name__ == "__main__":
    unittest.main()
