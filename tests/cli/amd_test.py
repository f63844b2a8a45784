# SPDX-License-Identifier: MIT
"""gpuctr-setup on hosts with AMD GPUs, each class on one of them."""

import json
import os
import platform
import re
import shutil
import stat
import unittest

import harness

RENDER, VIDEO = 109, 44
LOADERS = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1"}
BUSES = ["05", "26", "46", "65", "85", "a6", "c6", "e5"]


def user(*groups):
    given = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    return ["setpriv", "--reuid", "4242", "--regid", "4242", *given]


class Amd(harness.Case):
    vendor = "--rocm"

    def list(self, *words, prefix=()):
        done = harness.call(*prefix, harness.SETUP, "list", *words, "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def driver(self):
        return self.list("--rocm")["drivers"][0]

    def setup(self, *words, prefix=(), status=0, stderr="", **options):
        done = harness.call(*prefix, harness.SETUP, *words, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        if stderr is not None:
            self.assertEqual(done.stderr, stderr)
        return done.stdout

    def planned(self, *words, env=None, **options):
        out = self.setup("plan", self.vendor, "--rootfs", self.root, "--format", "json", *words,
                         env=os.environ | (env or {}), **options)
        return json.loads(out)

    def devices(self, *words, **options):
        return [item["target"] for item in self.planned(*words, **options)["items"]
                if item["kind"] == "device"]

    def renders(self, *words, **options):
        return [int(path.removeprefix("/dev/dri/renderD")) for path in self.devices(*words, **options)
                if path.startswith("/dev/dri/renderD")]

    def variables(self, *words, env):
        return {item["target"]: (item["options"], item["source"])
                for item in self.planned(*words, env=env)["items"] if item["kind"] == "env"}

    def set_up(self, *words, **options):
        return self.setup(self.vendor, "--rootfs", self.root, *words, **options)

    def dri(self):
        """Nodes and links of /dev/dri in the container."""
        found = {}
        for directory, _, names in os.walk(self.root / "dev/dri"):
            for name in names:
                path = os.path.join(directory, name)
                status = os.lstat(path)
                found[os.path.relpath(path, self.root / "dev/dri")] = (
                    os.readlink(path) if stat.S_ISLNK(status.st_mode)
                    else (os.major(status.st_rdev), os.minor(status.st_rdev)))
        return found


class Partitions(Amd):
    """64 partitions of eight GPUs."""

    def test_each_partition_is_a_gpu(self):
        gpus = self.driver()["gpus"]

        self.assertEqual([gpu["minor"] for gpu in gpus], list(range(128, 192)))
        self.assertEqual([gpu["index"] for gpu in gpus], list(range(64)))
        self.assertEqual([gpu["names"] for gpu in gpus],
                         [[f"{card}/{part}"] for card in range(8) for part in range(8)])
        self.assertEqual([gpu["pci_address"] for gpu in gpus],
                         [f"0000:{bus}:00.0" for bus in BUSES for _ in range(8)])
        self.assertEqual({gpu["architecture"] for gpu in gpus}, {"gfx942"})
        self.assertEqual({gpu["model"] for gpu in gpus}, {"AMD Instinct MI300X OAM"})

    def test_partitions_share_the_uuid_of_their_gpu_which_may_be_beyond_a_signed_number(self):
        gpus = self.driver()["gpus"]

        self.assertEqual(len({gpu["uuid"] for gpu in gpus}), 8)
        self.assertEqual(gpus[0]["uuid"], "GPU-1c2d3e4f5a6b7c01")
        self.assertEqual({gpu["uuid"] for gpu in gpus[56:]}, {"GPU-e169f27ad35be008"})

    def test_each_word_chooses_its_partitions(self):
        second, last = list(range(136, 144)), list(range(184, 192))
        for words, chosen in ((["0"], [128]), (["63"], [191]), (["8-10"], [136, 137, 138]),
                              (["0000:26:00.0"], second), (["26:00.0"], second),
                              (["1/3"], [139]), (["7/7,0/0"], [128, 191]),
                              (["GPU-e169f27ad35be008"], last), (["0xE169F27AD35BE008"], last),
                              (["e169f27a"], last), (["0,0,1/3,11"], [128, 139]),
                              (["amd.com/gpu=1/3"], [139]), (["0", "--device", " 2 , 4 "], None)):
            with self.subTest(words=words):
                self.assertEqual(self.renders("--device", *words), chosen or [128, 130, 132])

    def test_an_unknown_word_is_refused(self):
        for word in ("64", "8/0", "0/8", "0000:27:00.0", "GPU-0123456789abcdef", "60-64"):
            with self.subTest(word=word):
                self.setup("plan", "--rocm", "--device", word, status=2, stderr=None)

    def test_a_runtimes_variable_is_obeyed_and_gone(self):
        for value, chosen in (("8-9", [136, 137]), ("all", list(range(128, 192))),
                              ("0x1c2d3e4f5a6b7c01, 63", [*range(128, 136), 191])):
            env = {"AMD_VISIBLE_DEVICES": value}
            with self.subTest(value=value):
                self.assertEqual(self.renders(env=env), chosen)
                self.assertEqual(self.variables(env=env), {"AMD_VISIBLE_DEVICES": ("unset", "")})

    def test_a_set_up_is_whole_and_is_taken_back(self):
        before = self.state()

        self.set_up("--device", "1/3,1/0")

        self.assertEqual(self.dri(), {
            "renderD136": (226, 136), "card9": (226, 9),
            "renderD139": (226, 139), "card12": (226, 12),
            "by-path/pci-0000:26:00.0-render": "../renderD136",
            "by-path/pci-0000:26:00.0-card": "../card9",
            "by-path/platform-amdgpu_xcp.9-render": "../renderD139",
            "by-path/platform-amdgpu_xcp.9-card": "../card12"})
        self.assertEqual(os.stat(self.root / "dev/kfd").st_rdev, os.makedev(510, 0))
        self.undo()
        self.assert_state(before)


class OnePartition(Amd):
    """Eight GPUs with eight render nodes each, of which one is in use."""

    def test_nodes_that_no_partition_uses_are_left_out(self):
        driver = self.driver()

        self.assertEqual([gpu["minor"] for gpu in driver["gpus"]], list(range(128, 192, 8)))
        unused = [entry for entry in driver["findings"] if entry["object"].startswith("renderD")]
        self.assertEqual(len(unused), 56)
        self.assertEqual({entry["text"] for entry in unused},
                         {"no partition in use has it: it is not in KFD's topology"})
        self.assertEqual(self.renders(), list(range(128, 192, 8)))

    def test_the_management_controllers_card_is_no_gpus(self):
        self.assertTrue(os.path.exists("/dev/dri/card0"))
        self.assertNotIn("/dev/dri/card0", self.devices())
        self.assertIn("/dev/dri/card1", self.devices())

    def test_the_modules_version_is_the_drivers(self):
        self.assertEqual(self.driver()["version"], "6.12.12")

    def test_groups_are_numbers(self):
        self.assertEqual(sorted(self.planned()["groups"]), [VIDEO, RENDER])

    def test_a_user_gets_the_nodes_that_he_may_open(self):
        plan = self.planned(prefix=user(RENDER))

        self.assertEqual([item["target"] for item in plan["items"] if item["kind"] == "device"],
                         ["/dev/kfd", *(f"/dev/dri/renderD{n}" for n in range(128, 192, 8))])
        self.assertIn(("card1", "/dev/dri/card1", "may not be used: its permissions forbid it "
                                                  "(mode 0660, user 0, group 44)"),
                      [(entry["object"], entry["evidence"], entry["text"])
                       for entry in plan["findings"]])

    def test_a_user_who_may_open_none_is_told_of_the_group(self):
        done = harness.call(*user(), harness.SETUP, "plan", "--rocm")

        self.assertEqual(done.returncode, 6)
        self.assertIn("none of the 8 AMD GPUs may be used", done.stderr)
        self.assertIn("group 109", done.stderr)

    def test_a_command_of_a_user_sees_his_gpus(self):
        for prefix in ([], user(RENDER)):
            with self.subTest(prefix=prefix), self.nothing_changes():
                out = self.set_up("--device", "1,7", "--", "sh", "-c",
                                  "ls /dev/dri /dev/dri/by-path /dev/kfd", prefix=prefix)
                self.assertIn("renderD136\nrenderD184\n", out)
                self.assertNotIn("renderD128", out)
                self.assertIn("pci-0000:26:00.0-render", out)
                self.assertIn("/dev/kfd", out)

    def test_one_gpu_gone_is_not_the_end_of_the_others(self):
        for name in ("renderD136", "card9"):
            harness.must("mount", "--bind", "/dev/null", f"/dev/dri/{name}")
            self.addCleanup(harness.must, "umount", f"/dev/dri/{name}")

        self.assertEqual(self.renders(), [128, *range(144, 192, 8)])
        self.setup("plan", "--rocm", "--device", "1", status=3, stderr=None)

    def test_without_the_compute_drivers_node_nothing_is_set_up(self):
        harness.must("mount", "--bind", "/dev/null", "/dev/kfd")
        self.addCleanup(harness.must, "umount", "/dev/kfd")

        with self.nothing_changes():
            self.set_up(status=3, stderr=None)


class Gaps(Amd):
    """Eight GPUs, of whose eight render nodes four are in use."""

    def test_render_nodes_lie_apart(self):
        gpus = self.driver()["gpus"]

        self.assertEqual([gpu["minor"] for gpu in gpus],
                         [128 + 8 * card + part for card in range(8) for part in range(4)])
        self.assertEqual(gpus[5]["names"], ["1/1"])
        self.assertEqual(self.renders("--device", "1/3,2/0"), [139, 144])


class Modules(Amd):
    """GPUs that the kernel's compute driver has in another order than their PCI addresses."""

    def test_gpus_are_in_the_order_of_their_addresses(self):
        gpus = self.driver()["gpus"]

        self.assertEqual([gpu["pci_address"] for gpu in gpus],
                         [f"0000:{bus}:00.0" for bus in ("c1", "c6", "c9", "ce", "d1", "d6", "d9",
                                                         "de")])
        self.assertEqual({gpu["architecture"] for gpu in gpus}, {"gfx90a"})
        self.assertEqual(self.driver()["library_order"], [4, 5, 2, 3, 6, 7, 0, 1])

    def test_variables_count_as_rocm_does(self):
        for env, chosen, inside in (
                ({"ROCR_VISIBLE_DEVICES": "0"}, [132], {"ROCR_VISIBLE_DEVICES": "0"}),
                ({"ROCR_VISIBLE_DEVICES": "7,0"}, [129, 132], {"ROCR_VISIBLE_DEVICES": "1,0"}),
                ({"HIP_VISIBLE_DEVICES": "2,3"}, [130, 131], {"HIP_VISIBLE_DEVICES": "0,1"}),
                ({"ROCR_VISIBLE_DEVICES": "4,5,6", "HIP_VISIBLE_DEVICES": "2"}, [128],
                 {"ROCR_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "0"}),
                ({"ROCR_VISIBLE_DEVICES": "GPU-2f000000000000c9"}, [130],
                 {"ROCR_VISIBLE_DEVICES": "0"}),
                ({"AMD_VISIBLE_DEVICES": "4,0", "ROCR_VISIBLE_DEVICES": "0"}, [132],
                 {"AMD_VISIBLE_DEVICES": "", "ROCR_VISIBLE_DEVICES": "0"})):
            with self.subTest(env=env):
                self.assertEqual(self.renders(env=env), chosen)
                self.assertEqual({name: value for name, (_, value)
                                  in self.variables(env=env).items()}, inside)

    def test_what_only_some_programs_heed_decides_nothing(self):
        everything = list(range(128, 136))
        for env, chosen, inside in (
                ({"CUDA_VISIBLE_DEVICES": "1"}, everything, {"CUDA_VISIBLE_DEVICES": ("set", "1")}),
                ({"GPU_DEVICE_ORDINAL": "9"}, everything, {"GPU_DEVICE_ORDINAL": ("unset", "")}),
                ({"HIP_VISIBLE_DEVICES": ""}, everything, {"HIP_VISIBLE_DEVICES": ("unset", "")}),
                ({"ROCR_VISIBLE_DEVICES": "2,3", "GPU_DEVICE_ORDINAL": "2,3"}, [130, 131],
                 {"ROCR_VISIBLE_DEVICES": ("set", "0,1"), "GPU_DEVICE_ORDINAL": ("unset", "")})):
            with self.subTest(env=env):
                self.assertEqual(self.renders(env=env), chosen)
                self.assertEqual(self.variables(env=env), inside)


class Workstation(Amd):
    """A Radeon, and the one of the processor, on which the display is."""

    def test_the_kernels_release_is_the_drivers_version(self):
        self.assertEqual(self.driver()["version"], "6.8.0-60-generic")

    def test_a_gpu_may_have_no_identity(self):
        gpus = self.driver()["gpus"]

        self.assertEqual([(gpu["uuid"], gpu["architecture"], gpu["minor"]) for gpu in gpus],
                         [("GPU-b80c1f7e2a9d4505", "gfx1100", 128), (None, "gfx1036", 129)])
        self.assertEqual(self.devices("--device", "0"),
                         ["/dev/kfd", "/dev/dri/renderD128", "/dev/dri/card1"])
        self.assertEqual(self.devices("--device", "0e:00.0"),
                         ["/dev/kfd", "/dev/dri/renderD129", "/dev/dri/card0"])

    def test_what_the_kernel_would_not_write_of_a_node_ends_no_program(self):
        uevent = harness.DIRECTORY / "uevent"
        target = os.path.realpath("/sys/class/drm/renderD129/uevent")
        uevent.write_text("")
        harness.must("mount", "--bind", uevent, target)
        self.addCleanup(harness.must, "umount", target)
        for name in ("/etc/passwd", "", "/dev/", "../etc/passwd", "dri/../../etc/passwd"):
            uevent.write_text(f"MAJOR=226\nMINOR=129\nDEVNAME={name}\nDEVTYPE=drm_minor\n")
            self.assertNotIn("passwd", self.setup("list", "--rocm", "--format", "json"))
            self.assertEqual(self.devices("--device", "0"),
                             ["/dev/kfd", "/dev/dri/renderD128", "/dev/dri/card1"])

    def test_a_record_of_the_host_makes_the_same_plan(self):
        record = harness.DIRECTORY / "record.json"
        record.write_text(self.setup("list", "--rocm", "--format", "json"))

        self.assertEqual(self.planned("--host", record), self.planned())


class Debian(Amd):
    """With Debian's packages of ROCm, whose scripts look for their parts beside themselves."""

    def test_its_tools_find_their_parts(self):
        parts = {"rocm-smi": ["lib/x86_64-linux-gnu/librocm_smi64.so.1"],
                 "amd-smi": ["lib/x86_64-linux-gnu/libamd_smi.so",
                             "share/amd_smi/amdsmi/__init__.py"]}
        before = self.state()
        self.setup("--rocm", "--rootfs", self.root)
        for tool, found in parts.items():
            with self.subTest(tool=tool):
                self.assertEqual(self.inside(tool).split(), found)
        self.undo()
        self.assert_state(before)


class TheRock(Amd):
    """ROCm whose libraries find their parts by RUNPATHs from where they are."""

    LIBRARIES = f"{harness.TREE}/lib64"

    def loaded(self, path):
        """What the loader of the container takes for each library that the file needs."""
        said = harness.call("chroot", self.root, "sh", "-c",
                            f"LD_TRACE_LOADED_OBJECTS=1 exec {LOADERS[platform.machine()]} {path}")
        self.assertEqual(said.stderr, "")
        return dict(re.findall(r"(\S+) => (not found|\S+)", said.stdout))

    def test_runpaths_lead_to_their_parts_in_a_container(self):
        before = self.state()
        self.set_up("--driver-capabilities", "all")

        part = f"{self.LIBRARIES}/rocm_sysdeps/lib/librocm_sysdeps"
        found = self.loaded(f"{self.LIBRARIES}/libamdhip64.so.7")
        self.assertEqual({os.path.normpath(path) for name, path in found.items()
                          if "sysdeps" in name or "LLVM" in name},
                         {f"{part}_{name}" for name in ("elf.so.1", "z.so.1", "zstd.so.1",
                                                        "drm.so.2", "drm_amdgpu.so.1")}
                         | {f"{self.LIBRARIES}/llvm/lib/libLLVM.so.22.0"})
        self.assertNotIn("not found", found.values())
        tool = self.loaded(f"{harness.TREE}/bin/rocminfo")
        self.assertEqual(os.path.normpath(tool["librocm_sysdeps_z.so.1"]),
                         f"{harness.TREE}/lib/rocm_sysdeps/lib/librocm_sysdeps_z.so.1")
        self.undo()
        self.assert_state(before)

    def test_so_they_do_without_a_tree(self):
        before = self.state()
        self.set_up("--layout", "merged")

        directory = f"/usr/lib/{harness.MULTIARCH}"
        found = self.loaded(f"{directory}/libamdhip64.so.7")
        self.assertNotIn("not found", found.values())
        self.assertEqual(os.path.normpath(found["libLLVM.so.22.0"]),
                         f"{directory}/llvm/lib/libLLVM.so.22.0")
        self.undo()
        self.assert_state(before)

    def test_an_images_library_of_the_same_name_stays_the_images(self):
        own = self.root / f"usr/lib/{harness.MULTIARCH}/libLLVM.so.22.0"
        shutil.copy("/opt/rocm/core-7.14/lib/librocm_kpack.so.0", own)
        self.set_up()

        self.assertEqual(own.stat().st_mtime_ns, os.stat(own).st_mtime_ns)
        self.assertNotIn("libLLVM", harness.must("ldconfig", "-r", self.root, "-p"))
        self.assertEqual([item for item in self.planned()["items"] if item["kind"] == "cover"], [])
        self.undo()

    def test_nothing_of_another_release_is_mixed_in(self):
        driver = self.driver()

        self.assertEqual({file["path"].split("/")[3] for file in driver["files"]
                          if file["path"].startswith("/opt/rocm/")}, {"core-7.14"})
        self.assertIn("/opt/rocm/core-7.14/lib", driver["image_directories"])

    def test_data_and_scripts_have_the_place_of_the_release(self):
        self.set_up("--driver-capabilities", "all")

        self.assertEqual(self.inside("cat", f"{self.LIBRARIES}/llvm/amdgcn/bitcode/ocml.bc"),
                         "device functions\n")
        self.assertEqual(self.inside("rocm-smi").split(), ["lib/librocm_smi64.so.1"])
        self.undo()


class SeveralVendors(Amd):
    """Two GPUs of AMD's and two of NVIDIA's."""

    vendor = "--gpu"

    def test_all_are_found(self):
        found = {driver["vendor"]: len(driver["gpus"])
                 for driver in self.list("--gpu")["drivers"]}

        self.assertEqual(found, {"nvidia": 2, "amd": 2})

    def test_all_are_set_up_and_taken_back(self):
        before = self.state()

        self.set_up()

        names = os.listdir(self.root / "dev")
        for name in ("nvidia0", "nvidia1", "nvidiactl", "kfd"):
            self.assertIn(name, names)
        self.assertEqual({name for name in self.dri() if name.startswith("renderD")},
                         {"renderD128", "renderD136"})
        self.assertTrue((self.root / "usr/lib/gpuctr/lib64/libcuda.so.1").exists())
        self.undo()
        self.assert_state(before)

    def test_each_vendors_flag_sets_up_its_own(self):
        self.vendor = "--rocm"
        self.assertEqual([path for path in self.devices() if "nvidia" in path], [])
        self.vendor = "--nv"
        self.assertEqual([path for path in self.devices() if "dri" in path or "kfd" in path], [])

    def test_one_vendors_variable_does_not_blind_anothers_programs(self):
        inside = self.variables(env={"CUDA_VISIBLE_DEVICES": "1"})

        self.assertRegex(inside["CUDA_VISIBLE_DEVICES"][1], "^GPU-.{36}$")
        self.assertEqual(inside["HIP_VISIBLE_DEVICES"], ("set", "0,1"))
        self.assertEqual(self.renders(env={"CUDA_VISIBLE_DEVICES": "1"}), [128, 136])

    def test_words_say_whose_gpu_is_meant(self):
        self.setup("plan", "--gpu", "--device", "0", status=2, stderr=None)
        self.assertEqual(self.renders("--device", "amd.com/gpu=1"), [136])
        devices = self.devices("--device", "amd.com/gpu=1,nvidia.com/gpu=0")
        self.assertIn("/dev/dri/renderD136", devices)
        self.assertIn("/dev/nvidia1", devices)
        self.assertNotIn("/dev/nvidia0", devices)
        self.assertEqual(self.devices("--device", "e5:00.0,1/0"),
                         ["/dev/kfd", "/dev/dri/renderD136", "/dev/dri/card8"])

    def test_a_user_who_may_use_one_vendors_gets_those(self):
        done = harness.call(*user(), harness.SETUP, "plan", "--gpu", "--format", "json")

        self.assertEqual(done.returncode, 0, done.stderr)
        plan = json.loads(done.stdout)
        self.assertEqual([driver["vendor"] for driver in plan["drivers"]], ["nvidia"])
        self.assertIn("AMD GPUs", [entry["object"] for entry in plan["findings"]])


if __name__ == "__main__":
    unittest.main()
