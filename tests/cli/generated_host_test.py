# SPDX-License-Identifier: MIT
"""gpuctr-setup on the largest host: 16 GPUs whose numbers differ, 60 libraries, much around them."""

import json
import os
import pathlib
import re
import stat
import unittest

import harness
from harness import ORDINARY_USER, TREE, VERSION

BY_DEFAULT = ("compute", "utility", "graphics", "video")
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
X_MODULES = ["/usr/lib/xorg/modules/drivers", "/usr/lib/xorg/modules/extensions"]
MINORS = [1, 3, 5, 7, 9, 11, 13, 15, 0, 2, 4, 6, 8, 10, 12, 14]  # by index
PROC = pathlib.Path("/proc/driver/nvidia/gpus")


def detected():
    return json.loads(harness.must(harness.SETUP, "list", "--nv", "--format", "json"))["drivers"][0]


class Detection(unittest.TestCase):

    def test_a_gpu_has_the_minor_and_uuid_that_the_kernel_gives_it(self):
        gpus = detected()["gpus"]

        self.assertEqual([gpu["minor"] for gpu in gpus], MINORS)
        for gpu in gpus:
            information = (PROC / gpu["pci_address"] / "information").read_text(encoding="utf-8")
            self.assertIn(gpu["uuid"], information)
            self.assertRegex(information, rf"(?m)^Device Minor:\s+{gpu['minor']}$")
        self.assertEqual(len({gpu["uuid"] for gpu in gpus}), 16)

    def test_gpus_are_numbered_by_pci_address_on_both_numa_nodes(self):
        gpus = detected()["gpus"]

        self.assertEqual([gpu["index"] for gpu in gpus], list(range(16)))
        self.assertEqual([gpu["pci_address"] for gpu in gpus],
                         [f"0000:{bus:02x}:00.0" for bus in (*range(0x08, 0x10),
                                                             *range(0x88, 0x90))])
        self.assertEqual([gpu["numa_node"] for gpu in gpus], 8 * [0] + 8 * [1])

    def test_the_driver_is_all_of_its_libraries_and_nothing_else(self):
        of_this_version = [f"{directory}/{name}"
                           for directory in (LIBRARIES, f"{LIBRARIES}/vdpau", *X_MODULES)
                           for name in os.listdir(directory)
                           if name.endswith((f".so.{VERSION}", "nvidia_drv.so"))]

        files = detected()["files"]

        self.assertEqual(sorted(file["path"] for file in files
                                if file["kind"] == "library" and not file["compat32"]
                                and file["precedence"] != "image"),
                         sorted(of_this_version))
        self.assertEqual(len(of_this_version), 60)
        self.assertEqual(sum(file["kind"] == "tool" for file in files), 6)

    def test_a_library_without_a_link_has_its_soname(self):
        sonames = {file["soname"] for file in detected()["files"]}

        for soname in ("libnvidia-cfg.so.1", "libnvoptix.so.1"):
            self.assertFalse(os.path.lexists(f"{LIBRARIES}/{soname}"))
            self.assertIn(soname, sonames)

    def test_a_dangling_link_is_left_out_with_its_reason(self):
        skipped = {entry["object"]: entry for entry in detected()["findings"]}

        for soname in ("libnvsdm.so.1", "libnvidia-ifr.so.1"):
            self.assertEqual(skipped[soname]["evidence"], f"{LIBRARIES}/{soname}")
            self.assertRegex(skipped[soname]["text"],
                             r"^is a link to lib[a-z-]+\.so\.575\.57\.08, which is not there$")


class Container(harness.Case):

    def nodes(self):
        return {name: os.minor(status.st_rdev) for name in os.listdir(self.root / "dev")
                for status in [os.stat(self.root / "dev" / name)]
                if re.fullmatch(r"nvidia\d+", name) and stat.S_ISCHR(status.st_mode)}

    def test_all_gpus_and_libraries_are_set_up_and_taken_away(self):
        before = self.state()

        self.apply()

        self.assertEqual(self.nodes(), {f"nvidia{n}": n for n in range(16)})
        libraries = {file["name"] for file in detected()["files"]
                     if file["kind"] == "library" and file["capability"] in BY_DEFAULT
                     and file["precedence"] != "image"}
        there = set(os.listdir(f"{self.root}{TREE}/lib64"))
        self.assertEqual({name for name in there if name.endswith(f".so.{VERSION}")}, libraries)
        self.undo()
        self.assert_state(before)

    def test_an_index_chooses_the_node_of_its_gpu(self):
        before = self.state()

        self.apply("--device", "0,15")

        self.assertEqual(self.nodes(), {"nvidia1": 1, "nvidia14": 14})
        self.undo()
        self.assert_state(before)

    def test_a_command_sees_the_driver_and_its_gpu(self):
        for prefix in ([], ORDINARY_USER):
            with self.subTest(prefix=prefix), self.nothing_changes():
                out = harness.must(*prefix, harness.SETUP, "--nv", "--device", "8", "--rootfs",
                                   self.root, "--", "sh", "-c", "cd /dev; echo nvidia*; "
                                   "needs_driver && nvidia-smi")
                self.assertEqual(out.splitlines(),
                                 ["nvidia-uvm nvidia-uvm-tools nvidia0 nvidiactl",
                                  f"{TREE}/lib64/libcuda.so.{VERSION}",
                                  f"{TREE}/lib64/libnvidia-ml.so.{VERSION}"])


if __name__ == "__main__":
    unittest.main()
