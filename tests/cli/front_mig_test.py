# SPDX-License-Identifier: MIT
"""nvidia-container-cli where a GPU is divided into instances, and is the second by its node."""

import unittest

import front_test

CAPABILITIES = "/proc/driver/nvidia/capabilities"


def setUpModule():
    front_test.setUpModule()


def tearDownModule():
    front_test.tearDownModule()


class Mig(front_test.Case):
    COMMON = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]

    def test_info_has_whole_gpus(self):
        lines = self.front("info", "--csv").splitlines()[4:]
        self.assertEqual([line.split(",")[:2] for line in lines], [["0", "1"], ["1", "0"]])
        self.assertIn(",00000000:88:00.0,", lines[1])

    def test_list_has_files_and_nodes_of_an_instance(self):
        self.assertEqual(self.front("list", "--device=0:gi5:ci0").splitlines(),
                         [*self.COMMON, "/dev/nvidia1", f"{CAPABILITIES}/gpu1/mig/gi5/access",
                          f"{CAPABILITIES}/gpu1/mig/gi5/ci0/access",
                          "/dev/nvidia-caps/nvidia-cap183", "/dev/nvidia-caps/nvidia-cap184"])
        self.assertEqual(self.front("list", "-d1").splitlines(), [*self.COMMON, "/dev/nvidia0"])

    def test_list_has_what_a_right_is_used_by(self):
        self.assertEqual(self.front("list", "--mig-config=all", "--mig-monitor=all").splitlines(),
                         [f"{CAPABILITIES}/mig/config", "/dev/nvidia-caps/nvidia-cap1",
                          f"{CAPABILITIES}/mig/monitor", "/dev/nvidia-caps/nvidia-cap2"])

    def test_configure_gives_an_instance(self):
        nodes = self.nodes("configure", "--no-cgroups", "--device=0:gi5:ci0", "-cu")
        self.assertEqual(nodes, ["nvidia-caps", "nvidia-uvm", "nvidia-uvm-tools", "nvidia1",
                                 "nvidiactl"])

    def test_configure_gives_the_right_to_configure(self):
        nodes = self.configure("configure", "--no-cgroups", "--device=0", "-cu",
                               "--mig-config=all", script='ls "$0/dev/nvidia-caps"').split()
        self.assertIn("nvidia-cap1", nodes)
        self.assertNotIn("nvidia-cap2", nodes)


if __name__ == "__main__":
    unittest.main()
