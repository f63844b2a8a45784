# SPDX-License-Identifier: MIT
"""gpuctr-setup with Tenstorrent's accelerators: what their sources say of them."""

import unittest

from vendor_case import VendorCase


class Tenstorrent(VendorCase):
    def setUp(self):
        super().setUp()
        self.options = ["--vendor", "tenstorrent"]
        self.vendor = "--vendor=tenstorrent"

    def test_gpus_are_in_the_order_of_their_addresses(self):
        self.assertEqual([(gpu["pci_address"], gpu["minor"], gpu["names"], gpu["model"], gpu["uuid"])
                          for gpu in self.driver()["gpus"]],
                         [("0000:02:00.0", 2, ["tenstorrent/2"], "Tenstorrent Wormhole x102",
                           "0123456789AB0002"),
                          ("0000:41:00.0", 0, ["tenstorrent/0"], "Tenstorrent Blackhole x100",
                           "0123456789AB0000"),
                          ("0000:83:00.0", 3, ["tenstorrent/3"], "Tenstorrent Wormhole x103",
                           "0123456789AB0003"),
                          ("0000:c4:00.0", 1, ["tenstorrent/1"], "Tenstorrent Blackhole x101",
                           "0123456789AB0001")])

    def test_what_is_not_theirs_is_left_out(self):
        skipped = [(entry["object"], entry["text"]) for entry in self.driver()["findings"]]
        self.assertIn(("tenstorrent!4", "of the kernel driver other"), skipped)

    def test_all_are_set_up(self):
        self.set_up()

        self.assertEqual(self.below_dev("tenstorrent"), {str(n): (254, n) for n in range(4)})
        self.undo()

    def test_a_node_is_a_name_too(self):
        self.assertEqual(self.devices("--device", "tenstorrent/3"), ["/dev/tenstorrent/3"])
        self.assertEqual(self.devices("--device", "0123456789AB0001"), ["/dev/tenstorrent/1"])

    def test_the_variable_has_addresses_as_well(self):
        env = {"TT_VISIBLE_DEVICES": "0000:83:00.0,0"}
        self.assertEqual(self.devices(env=env), ["/dev/tenstorrent/2", "/dev/tenstorrent/3"])
        self.assertEqual(self.variables(env=env), {"TT_VISIBLE_DEVICES": "1,0"})
        for value in ("", "0000:c", "x"):
            with self.subTest(value=value):
                self.command("plan", *self.options, status=3, env={"TT_VISIBLE_DEVICES": value})

    def test_a_clean_environment_has_it(self):
        out = self.run_inside("sh", "-c", "echo $TT_VISIBLE_DEVICES; ls /dev/tenstorrent",
                              options=["--clean-env"], env={"TT_VISIBLE_DEVICES": "3"})
        self.assertEqual(out, "0\n1\n")

    def test_a_plan_tells_of_huge_pages(self):
        self.assertIn("/dev/hugepages-1G", self.driver()["needs"][0])


if __name__ == "__main__":
    unittest.main()
