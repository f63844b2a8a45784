# SPDX-License-Identifier: MIT
"""gpuctr-setup on hosts with Intel GPUs, each class on one of them."""

import os
import unittest

import harness
from vendor_case import VendorCase, user

RENDER, VIDEO = 109, 44


class Intel(VendorCase):
    vendor = "--intel"

    def renders(self, *words, **options):
        return [int(path.removeprefix("/dev/dri/renderD"))
                for path in self.devices(*words, **options) if "renderD" in path]


class Desktop(Intel):
    """The processor's GPU, and a card."""

    def test_the_card_is_the_first(self):
        driver = self.driver()

        self.assertEqual([(gpu["pci_address"], gpu["names"]) for gpu in driver["gpus"]],
                         [("0000:03:00.0", ["renderD129", "card1"]),
                          ("0000:00:02.0", ["renderD128", "card0"])])
        self.assertEqual([gpu["parts"] for gpu in driver["gpus"]], [1, 1])
        self.assertEqual(driver["version"], "6.8.0-60-generic")

    def test_both_are_set_up_and_taken_back(self):
        before = self.state()

        self.set_up()

        self.assertEqual(self.below_dev("dri"), {
            "card0": (226, 0), "renderD128": (226, 128), "card1": (226, 1),
            "renderD129": (226, 129),
            "by-path/pci-0000:00:02.0-card": "../card0",
            "by-path/pci-0000:00:02.0-render": "../renderD128",
            "by-path/pci-0000:03:00.0-card": "../card1",
            "by-path/pci-0000:03:00.0-render": "../renderD129"})
        self.undo()
        self.assert_state(before)

    def test_each_word_chooses_its_gpu(self):
        for word in ("0", "renderD129", "card1", "03:00.0", "0000:03:00.0", "intel.com/gpu=0",
                     "intel.com/gpu=card1"):
            with self.subTest(word=word):
                self.assertEqual(self.devices("--device", word),
                                 ["/dev/dri/renderD129", "/dev/dri/card1"])
        for word in ("2", "renderD130", "card2", "04:00.0", "intel.com/gaudi=0"):
            with self.subTest(word=word):
                self.command("plan", "--intel", "--device", word, status=2)

    def test_the_mask_counts_as_its_readers_do(self):
        for env, chosen in (({"ZE_AFFINITY_MASK": "0"}, [129]), ({"ZE_AFFINITY_MASK": "1"}, [128]),
                            ({"ZE_AFFINITY_MASK": ""}, [129, 128]),
                            ({"ZE_AFFINITY_MASK": "0",
                              "ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1"}, [128])):
            with self.subTest(env=env):
                self.assertEqual(self.renders(env=env), chosen)
        self.assertEqual(self.variables(env={"ZE_AFFINITY_MASK": "1"}), {"ZE_AFFINITY_MASK": "0"})
        self.command("plan", "--intel", env={"ZE_AFFINITY_MASK": "2"}, status=3)

    def test_groups_are_numbers(self):
        self.assertEqual(sorted(self.planned()["groups"]), [VIDEO, RENDER])

    def test_a_user_gets_the_nodes_that_he_may_open(self):
        self.assertEqual(self.devices(prefix=user(RENDER)),
                         ["/dev/dri/renderD129", "/dev/dri/renderD128"])
        done = self.command("plan", "--intel", prefix=user(), status=6)
        self.assertIn("none of the 2 Intel GPUs may be used", done.stderr)
        self.assertIn("group 109", done.stderr)

    def test_a_command_sees_its_gpu(self):
        for prefix in ([], user(RENDER, VIDEO)):
            with self.subTest(prefix=prefix), self.nothing_changes():
                out = self.run_inside("sh", "-c", "cd /dev/dri; echo * by-path/*; "
                                      "readlink by-path/*render; echo $ZE_AFFINITY_MASK",
                                      prefix=prefix, env={"ZE_AFFINITY_MASK": "1"})
                self.assertEqual(out.splitlines(),
                                 ["by-path card0 renderD128 by-path/pci-0000:00:02.0-card "
                                  "by-path/pci-0000:00:02.0-render", "../renderD128", "0"])

    def test_two_records_of_one_node_are_one_gpu(self):
        self.lose("/dev/dri/renderD129")

        self.assertEqual(self.renders(), [128])
        self.command("plan", "--intel", "--device", "0", status=3)

    def test_a_record_of_the_host_makes_the_same_plan(self):
        record = harness.DIRECTORY / "record.json"
        record.write_text(self.command("list", "--intel", "--format", "json").stdout)

        self.assertEqual(self.planned("--host", record), self.planned())


class LevelZero(Intel):
    """With Intel's user space."""

    def test_ray_tracing_comes_with_it(self):
        before = self.state()
        self.set_up()
        out = harness.must("chroot", self.root, "/usr/bin/opens_driver", "libze_intel_gpu.so.1",
                           "libze_intel_gpu_raytracing.so")
        self.assertEqual(out.split()[1], f"{harness.TREE}/lib64/libze_intel_gpu_raytracing.so")
        self.undo()
        self.assert_state(before)


class Tiles(Intel):
    """Two cards of two tiles each, and a display that is not Intel's."""

    def test_tiles_share_the_nodes_of_their_card(self):
        gpus = self.driver()["gpus"]

        self.assertEqual([(gpu["minor"], gpu["parts"]) for gpu in gpus], [(129, 2), (130, 2)])
        self.assertTrue(os.path.exists("/dev/dri/card0"))
        self.assertNotIn("/dev/dri/card0", self.devices())

    def test_the_mask_counts_tiles(self):
        for mask, chosen, inside in (("0", [129], "0"), ("3", [130], "1"), ("2,3", [130], "0,1"),
                                     ("1,2", [129, 130], "1,2"), ("9,3", [130], "1")):
            env = {"ZE_AFFINITY_MASK": mask}
            with self.subTest(mask=mask):
                self.assertEqual(self.renders(env=env), chosen)
                self.assertEqual(self.variables(env=env), {"ZE_AFFINITY_MASK": inside})

    def test_the_mask_counts_cards_where_programs_do(self):
        for mask, chosen, inside in (("1", [130], "0"), ("1.1", [130], "0.1"),
                                     ("0.1,1", [129, 130], "0.1,1")):
            env = {"ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE", "ZE_AFFINITY_MASK": mask}
            with self.subTest(mask=mask):
                self.assertEqual(self.renders(env=env), chosen)
                self.assertEqual(self.variables(env=env), {"ZE_AFFINITY_MASK": inside})

    def test_a_card_by_name_has_no_mask(self):
        self.assertEqual(self.variables("--device", "1", env={"ZE_AFFINITY_MASK": "0"}),
                         {"ZE_AFFINITY_MASK": None})


class VirtualFunctions(Intel):
    """A card in three virtual functions, of which one is a virtual machine's."""

    def test_they_are_there_in_place_of_the_card(self):
        driver = self.driver()

        self.assertEqual([gpu["pci_address"] for gpu in driver["gpus"]],
                         ["0000:3a:00.1", "0000:3a:00.2"])
        self.assertEqual([(entry["object"], entry["text"]) for entry in driver["findings"]
                          if entry["object"].startswith("GPU")],
                         [("GPU 0000:3a:00.0", "its virtual functions are used in its place"),
                          ("GPU 0000:3a:00.3", "bound to the kernel driver vfio-pci")])
        self.assertEqual(self.renders(), [129, 130])


class Laptop(VendorCase):
    """A GPU of Intel's in the processor, and one of NVIDIA's."""

    def test_all_are_set_up_and_taken_back(self):
        before = self.state()

        self.set_up()

        self.assertEqual({name for name in os.listdir(self.root / "dev") if "nvidia" in name},
                         {"nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"})
        self.assertEqual(self.below_dev("dri")["renderD128"], (226, 128))
        self.assertTrue((self.root / "usr/lib/gpuctr/lib64/libcuda.so.1").exists())
        self.undo()
        self.assert_state(before)

    def test_each_vendors_option_sets_up_its_own(self):
        self.vendor = "--intel"
        self.assertEqual(self.devices(), ["/dev/dri/renderD128", "/dev/dri/card0"])
        self.vendor = "--nv"
        self.assertEqual([path for path in self.devices() if "dri" in path], [])

    def test_words_say_whose_gpu_is_meant(self):
        self.command("plan", "--gpu", "--device", "0", status=2)
        self.assertEqual(self.devices("--device", "intel.com/gpu=0"),
                         ["/dev/dri/renderD128", "/dev/dri/card0"])
        self.assertIn("/dev/nvidia0", self.devices("--device", "nvidia.com/gpu=0"))
        devices = self.devices("--device", "renderD128,nvidia.com/gpu=0")
        self.assertTrue({"/dev/dri/renderD128", "/dev/nvidia0"} <= set(devices))

    def test_each_vendors_variable_narrows_its_own(self):
        env = {"ZE_AFFINITY_MASK": "0", "CUDA_VISIBLE_DEVICES": "0"}
        variables = self.variables(env=env)

        self.assertEqual(variables["ZE_AFFINITY_MASK"], "0")
        self.assertTrue(variables["CUDA_VISIBLE_DEVICES"].startswith("GPU-"))
        env["ZE_AFFINITY_MASK"] = "7"
        plan = self.planned(env=env)
        self.assertEqual([driver["vendor"] for driver in plan["drivers"]], ["nvidia"])
        self.assertIn("left out: ZE_AFFINITY_MASK=7 grants no GPU that may be used",
                      [entry["text"] for entry in plan["findings"]])

    def test_a_command_sees_both(self):
        with self.nothing_changes():
            out = self.run_inside("sh", "-c", "ls /dev/dri /dev/nvidia0 && nvidia-smi")
            self.assertIn("renderD128", out)
            self.assertIn("/dev/nvidia0", out)


if __name__ == "__main__":
    unittest.main()
