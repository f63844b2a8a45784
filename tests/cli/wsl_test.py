# SPDX-License-Identifier: MIT
"""gpuctr-setup under Windows (WSL2), each class on a host of its own."""

import json
import os
import pathlib
import unittest

import harness
from harness import TREE
from vendor_case import VendorCase

LIBRARIES, PACKAGES = "/usr/lib/wsl/lib", "/usr/lib/wsl/drivers"
IN_USE, FORMER = (f"{PACKAGES}/nv_dispi.inf_amd64_{number}" for number in ("9a1f03c2", "04c77b1e"))


class Windows(VendorCase):
    def copied(self):
        copy = harness.DIRECTORY / "windows"
        self.addCleanup(harness.call, "rm", "-rf", copy)
        copy.mkdir()
        harness.must("cp", "-a", "/usr/lib/wsl/.", copy)
        return copy

    def mount(self, *words):
        harness.must("mount", *words)
        self.addCleanup(harness.must, "umount", words[-1])

    def as_windows_mounts_them(self):
        copy = self.copied()
        (copy / "empty").mkdir()
        self.mount("-t", "overlay", "-o", f"ro,lowerdir={copy}/lib:{copy}/empty", "none", LIBRARIES)
        self.mount("--bind", copy / "drivers", PACKAGES)

    def as_a_runtime_mounts_them(self):
        """One by one, where a container has nothing."""
        copy = self.copied()
        for directory, name in ((LIBRARIES, "lib"), (PACKAGES, "drivers")):
            self.mount("-t", "tmpfs", "none", directory)
            for file in sorted((copy / name).rglob("*")):
                place = pathlib.Path(directory, file.relative_to(copy / name))
                if file.is_symlink():
                    place.symlink_to(os.readlink(file))
                elif file.is_dir():
                    place.mkdir()
                else:
                    place.touch()
                    self.mount("--bind", file, place)

    def skipped(self, *words):
        return {item["evidence"]: item["text"] for item in self.planned(*words)["findings"]}

    def path_inside(self, path):
        return self.inside("readlink", "-f", path).rstrip()

    def has(self, path):
        """Whether the container has what the host has at a path."""
        inside = pathlib.Path(f"{self.root}{self.path_inside(path)}")
        return inside.exists() and inside.samefile(path)


class Nvidia(Windows):
    vendor = "--nv"

    def test_all_gpus_are_one(self):
        driver = self.driver()

        self.assertEqual([(gpu["index"], gpu["pci_address"], gpu["uuid"], gpu["model"])
                          for gpu in driver["gpus"]], [(0, None, None, "NVIDIA GPUs of Windows")])
        self.assertEqual((driver["version"], driver["version_source"]),
                         ("5.15.167.4-microsoft-standard-WSL2", "module"))
        self.assertEqual([(node["path"], node["major"], node["minor"], node["gpu"])
                          for node in driver["nodes"]], [("/dev/dxg", 10, 127, 0)])
        self.assertEqual(driver["library_directory"], LIBRARIES)

    def check(self):
        self.assertEqual(self.inside("/usr/bin/opens_driver", "libcuda.so.1"),
                         f"{TREE}/lib64/libcuda.so.1.1\n")
        self.assertEqual(self.path_inside("/usr/bin/nvidia-smi"), f"{TREE}/bin/nvidia-smi")
        for path in (f"{LIBRARIES}/libdxcore.so", f"{LIBRARIES}/libcuda.so.1.1",
                     f"{IN_USE}/libcuda.so.1.1", f"{IN_USE}/nvcubins.bin",
                     f"{FORMER}/libcuda.so.1.1", "/dev/dxg"):
            self.assertTrue(self.has(path), path)
        self.assertEqual(sorted(os.listdir(f"{self.root}{PACKAGES}")),
                         sorted(os.path.basename(path) for path in (IN_USE, FORMER)))

    def test_files_are_at_the_paths_that_they_find_each_other_by(self):
        for write in ("auto", "never"):
            with self.subTest(write=write):
                before = self.state()
                self.set_up("--write", write)
                self.check()
                self.undo()
                self.assert_state(before)

    def data(self):
        return {file["registrations"][0]["name"]: file["directory"] for file in self.driver()["files"]
                if file["kind"] == "data"}

    def test_what_reaches_windows_driver_is_missed(self):
        copy = self.copied()
        (copy / "lib/libdxcore.so").unlink()
        self.mount("--bind", copy / "lib", LIBRARIES)
        done = self.set_up()
        self.undo()
        self.assertIn("warning: libdxcore.so: is not there: without it, no program reaches "
                      "Windows' driver", done.stderr)
        self.assertIn("`wsl --update`", done.stderr)

    def test_directories_are_taken_whole(self):
        self.as_windows_mounts_them()
        self.assertEqual(self.data(), {LIBRARIES: True, IN_USE: True, FORMER: True})
        self.test_files_are_at_the_paths_that_they_find_each_other_by()

    def test_files_that_a_runtime_mounted_are_taken_one_by_one(self):
        self.as_a_runtime_mounts_them()
        data = self.data()
        self.assertFalse(any(data.values()), data)
        self.assertIn(f"{IN_USE}/nvcubins.bin", data)
        self.test_files_are_at_the_paths_that_they_find_each_other_by()

    def test_of_too_many_files_the_first_that_is_left_out_is_named(self):
        self.as_a_runtime_mounts_them()
        for number in range(1001):
            pathlib.Path(LIBRARIES, f"zz{number:04}").touch()
        found = self.driver()["findings"]
        named = [item["evidence"] for item in found if item["text"] == "exceeds the limit of 1000 files"]
        self.assertEqual(len(named), 1, found)
        self.assertTrue(named[0].startswith(f"{LIBRARIES}/zz0"), named)

    def test_nothing_is_written_through_them(self):
        self.as_windows_mounts_them()
        self.set_up()
        for path in (LIBRARIES, IN_USE):
            with self.assertRaises(OSError):
                pathlib.Path(f"{self.root}{self.path_inside(path)}/new").write_text("")
        self.undo()

    def test_a_driver_for_linux_is_not_taken(self):
        other = f"/usr/lib/{harness.MULTIARCH}/libcuda.so.1"
        self.assertTrue(os.path.exists(other))
        self.assertNotIn(os.path.realpath(other), [file["path"] for file in self.driver()["files"]])

    def test_the_words_that_choose_gpus(self):
        for word in ("0", "all", "nvidia.com/gpu=0"):
            self.assertEqual(self.devices("--device", word), ["/dev/dxg"])
        self.command("plan", "--nv", "--device", "1", status=2)
        self.assertEqual(self.devices("--device", "none"), [])

    def test_variables_are_for_those_who_know_the_gpus(self):
        env = {"CUDA_VISIBLE_DEVICES": "1"}
        self.assertEqual(self.devices(env=env), ["/dev/dxg"])
        self.assertEqual(self.variables(env=env), {})

    def test_the_version_is_windows_choice(self):
        done = self.command("plan", "--nv", "--driver-version", "535.54.03", status=2)
        self.assertIn("the driver is that of Windows", done.stderr)

    def test_without_the_device_there_is_no_gpu(self):
        self.lose("/dev/dxg")
        done = self.command("plan", "--nv", status=6)
        self.assertIn("the only NVIDIA GPU may not be used", done.stderr)
        self.assertIn("device nodes are missing", done.stderr)

    def test_status_knows_the_driver(self):
        self.set_up()
        status = json.loads(self.command("status", "--rootfs", self.root, "--format",
                                         "json").stdout)
        (setup,) = status["setups"]
        self.assertEqual((setup["findings"], setup["drivers"][0]["gpus"][0]["pci_address"]),
                         ([], None))
        self.undo()

    def test_a_recorded_host_plans_the_same(self):
        recorded = harness.DIRECTORY / "windows.json"
        recorded.write_text(self.command("list", "--nv", "--format", "json").stdout)
        self.addCleanup(recorded.unlink)
        self.assertEqual(self.planned("--host", recorded)["items"], self.planned()["items"])


class SeveralVendors(Windows):
    """A notebook: the processor's GPU, and NVIDIA's."""

    def test_the_device_is_one_for_all(self):
        self.assertEqual(self.devices(), ["/dev/dxg"])
        self.assertEqual([driver["vendor"] for driver in self.planned()["drivers"]],
                         ["nvidia", "intel"])

    def test_each_has_its_package(self):
        intel = f"{PACKAGES}/iigd_dch_d.inf_amd64_77aa/libigdgmm_w.so.12"
        before = self.state()
        self.set_up()
        self.assertTrue(self.has(intel))
        self.assertTrue(self.has(f"{PACKAGES}/nvlt.inf_amd64_5e21/libcuda.so.1.1"))
        # Windows' compiler would stand in for that of Linux, which has its soname.
        self.assertNotIn("libigc.so.1", self.inside("ldconfig", "-p"))
        self.undo()
        self.assert_state(before)

    def test_intel_alone(self):
        self.vendor = "--intel"
        plan = self.planned(env={"ZE_AFFINITY_MASK": "0.1"})
        targets = [item["target"] for item in plan["items"]]
        self.assertIn("/dev/dxg", targets)
        self.assertFalse([target for target in targets if "nvlt" in target])
        self.assertEqual(plan["environment"], [])

    def test_an_image_with_a_runtime_of_its_own_gets_what_it_loads(self):
        own = self.root / f"usr/lib/{harness.MULTIARCH}/libze_intel_gpu.so.1"
        own.parent.mkdir(parents=True, exist_ok=True)
        harness.must("cp", f"{LIBRARIES}/libdxcore.so", own)
        self.vendor = "--intel"
        before = self.state()
        self.set_up()
        self.assertTrue(self.has(f"{LIBRARIES}/libdxcore.so"))
        self.undo()
        self.assert_state(before)


class Rocm(Windows):
    vendor = "--rocm"

    def test_the_runtime_comes_with_what_it_calls_windows_by(self):
        before = self.state()
        self.set_up()
        for path in (f"{LIBRARIES}/libdxcore.so", "/opt/rocm/share/rocdxg/dids.conf", "/dev/dxg"):
            self.assertTrue(self.has(path), path)
        for name in ("libhsa-runtime64.so.1", "librocdxg.so.1"):
            self.assertIn(TREE, self.inside("/usr/bin/opens_driver", name))
        self.undo()
        self.assert_state(before)

    def test_says_what_older_releases_need(self):
        self.assertIn("HSA_ENABLE_DXG_DETECTION=1", "\n".join(entry["text"] for entry in self.planned()["findings"]))

    def test_an_image_with_rocm_gets_none_of_the_hosts(self):
        own = self.root / "opt/rocm/lib/libhsa-runtime64.so.1"
        own.parent.mkdir(parents=True)
        harness.must("cp", f"{LIBRARIES}/libdxcore.so", own)
        targets = [item["target"] for item in self.planned()["items"]]
        self.assertIn("/dev/dxg", targets)
        self.assertFalse([target for target in targets if "librocdxg" in target])

    def test_without_its_thunk_rocm_has_no_gpu_of_windows(self):
        self.lose("/opt/rocm/lib/librocdxg.so.1.0.0")
        self.command("--rocm", "--rootfs", self.root, status=3)


class NoDriver(Windows):
    """Windows has GPUs, and nobody's driver for Linux."""

    def test_there_is_no_gpu(self):
        for option in ("--nv", "--intel", "--rocm", "--gpu"):
            with self.subTest(option=option):
                self.command("plan", option, status=3)


if __name__ == "__main__":
    unittest.main()
