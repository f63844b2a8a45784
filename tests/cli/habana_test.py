# SPDX-License-Identifier: MIT
"""gpuctr-setup on hosts with Gaudi accelerators, each class on one of them."""

import os
import unittest

import harness
from vendor_case import VendorCase

MODULES = [5, 4, 7, 6, 2, 3, 0, 1]  # by index


def nodes(*numbers, verbs=True):
    return {path for n in numbers
            for path in (f"/dev/accel/accel{n}", f"/dev/accel/accel_controlD{n}",
                         *([f"/dev/infiniband/uverbs{n + 1}"] if verbs else []))}


class Gaudi(VendorCase):
    vendor = "--hpu"

    def chosen(self, *words, **options):
        return sorted(int(path.removeprefix("/dev/accel/accel"))
                      for path in self.devices(*words, **options)
                      if path.startswith("/dev/accel/accel") and "control" not in path)


class Eight(Gaudi):
    """Eight Gaudi 2 with ports for scale-out, in another order than that of their slots."""

    def test_each_has_the_number_of_its_node_and_its_slot(self):
        driver = self.driver()

        self.assertEqual(driver["vendor_name"], "Intel Gaudi")
        self.assertEqual(driver["version"], "1.17.0-28a11ca")
        self.assertEqual([(gpu["index"], gpu["minor"], gpu["names"]) for gpu in driver["gpus"]],
                         [(n, n, [f"accel{n}", f"module-{module}"])
                          for n, module in enumerate(MODULES)])
        self.assertEqual({gpu["model"] for gpu in driver["gpus"]}, {"Intel Gaudi 2"})
        self.assertEqual([gpu["numa_node"] for gpu in driver["gpus"]], 4 * [0] + 4 * [1])

    def test_all_are_set_up_and_taken_back(self):
        before = self.state()

        self.set_up()

        self.assertEqual(self.below_dev("accel"),
                         {f"accel{n}": (261, n) for n in range(8)}
                         | {f"accel_controlD{n}": (511, n) for n in range(8)})
        self.assertEqual(self.below_dev("infiniband"),
                         {f"uverbs{n}": (231, 192 + n) for n in range(1, 9)},
                         "the first one is a network card's")
        self.undo()
        self.assert_state(before)

    def test_each_word_chooses_its_accelerators(self):
        for words, chosen in (("0", [0]), ("1-3", [1, 2, 3]), ("module-0", [6]), ("accel7", [7]),
                              ("MODULE-5,accel1", [0, 1]), ("9a:00.0", [4]), ("all", range(8)),
                              ("intel.com/gaudi=2", [2]), ("intel.com/gaudi=module-1", [7])):
            with self.subTest(words=words):
                self.assertEqual(set(self.devices("--device", words)), nodes(*chosen))

    def test_an_unknown_word_is_refused(self):
        for word in ("8", "module-8", "accel8", "5-9", "intel.com/gpu=0"):
            with self.subTest(word=word):
                self.command("plan", "--hpu", "--device", word, status=2)

    def test_a_part_is_told_its_slots(self):
        self.assertEqual(self.variables("--device", "0-3"), {"HABANA_VISIBLE_MODULES": "5,4,7,6"})
        self.assertEqual(self.variables("--device", "6"),
                         {"HABANA_VISIBLE_MODULES": "0", "HLS_MODULE_ID": "0"})
        self.assertEqual(self.variables(), {})

    def test_the_runtimes_variables_are_obeyed(self):
        for value, chosen in (("1, 3", [1, 3]), ("7", [7]), ("all", list(range(8)))):
            with self.subTest(value=value):
                self.assertEqual(self.chosen(env={"HABANA_VISIBLE_DEVICES": value}), chosen)
        self.assertEqual(self.variables(env={"HABANA_VISIBLE_DEVICES": "1, 3"}),
                         {"HABANA_VISIBLE_DEVICES": "1,3", "HABANA_VISIBLE_MODULES": "4,6"})
        env = {"HABANA_VISIBLE_MODULES": "0,5"}
        self.assertEqual(self.chosen(env=env), [0, 6])
        self.assertEqual(self.variables(env=env), {"HABANA_VISIBLE_MODULES": "0,5"})

    def test_none_is_an_error(self):
        for value in ("", "none", "8", "void"):
            with self.subTest(value=value), self.nothing_changes():
                done = self.set_up(env={"HABANA_VISIBLE_DEVICES": value}, status=3)
                self.assertIn(f"HABANA_VISIBLE_DEVICES={value} grants no GPU", done.stderr)

    def test_a_command_sees_its_own(self):
        for prefix in ([], harness.ORDINARY_USER):
            with self.subTest(prefix=prefix), self.nothing_changes():
                out = self.run_inside("sh", "-c", "cd /dev; echo accel/* infiniband/*; "
                                      "echo $HABANA_VISIBLE_MODULES $HLS_MODULE_ID",
                                      options=["--device", "module-6"], prefix=prefix)
                self.assertEqual(out.splitlines(),
                                 ["accel/accel3 accel/accel_controlD3 infiniband/uverbs4", "6 6"])

    def test_one_that_is_gone_is_not_the_end_of_the_others(self):
        self.lose("/dev/accel/accel3")

        self.assertEqual(self.chosen(), [0, 1, 2, 4, 5, 6, 7])
        self.assertEqual(self.variables(), {"HABANA_VISIBLE_MODULES": "5,4,7,2,3,0,1"})
        self.command("plan", "--hpu", "--device", "3", status=3)

    def test_what_is_not_needed_may_be_gone(self):
        self.lose("/dev/accel/accel_controlD3", "/dev/infiniband/uverbs4")

        self.assertEqual(self.devices("--device", "3"), ["/dev/accel/accel3"])

    def test_a_record_of_the_host_makes_the_same_plan(self):
        record = harness.DIRECTORY / "record.json"
        record.write_text(self.command("list", "--hpu", "--format", "json").stdout)

        self.assertEqual(self.planned("--host", record, "--device", "2"),
                         self.planned("--device", "2"))


class Twelve(Gaudi):
    """Twelve Gaudi 2 between accelerators of other kernel drivers."""

    def test_other_accelerators_are_left_out(self):
        driver = self.driver()

        self.assertEqual([gpu["minor"] for gpu in driver["gpus"]], list(range(1, 13)))
        self.assertEqual([(entry["object"], entry["text"]) for entry in driver["findings"]
                          if entry["object"].startswith("accel")],
                         [("accel0", "of the kernel driver intel_vpu"),
                          ("accel13", "of the kernel driver amdxdna")])
        self.assertTrue(os.path.exists("/dev/accel/accel13"))
        self.assertEqual(set(self.devices()), nodes(*range(1, 13), verbs=False))

    def test_numbers_of_two_digits_are_those_of_nodes(self):
        self.assertEqual(self.chosen("--device", "9,11"), [10, 12])
        self.assertEqual(self.chosen("--device", "accel10"), [10])
        env = {"HABANA_VISIBLE_DEVICES": "0,1,10,13"}
        self.assertEqual(self.chosen(env=env), [1, 10])
        self.assertEqual(self.variables(env=env),
                         {"HABANA_VISIBLE_DEVICES": "1,10", "HABANA_VISIBLE_MODULES": "11,2"})

    def test_they_are_the_only_gpus_there(self):
        self.command("list", "--intel", status=3)
        self.vendor = "--gpu"
        self.assertEqual(self.chosen(), list(range(1, 13)))


if __name__ == "__main__":
    unittest.main()
