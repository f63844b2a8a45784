# SPDX-License-Identifier: MIT
"""gpuctr-setup on Jetsons, each class on one of them."""

import json
import os
import pathlib
import unittest

import harness
import jsonschema
from vendor_case import VendorCase, user

CONFIG = pathlib.Path("/etc/gpucontainer/config.yaml")
VIDEO = 44
LISTS = "/etc/nvidia-container-runtime/host-files-for-container.d"
DIRECTORY = "/usr/lib/aarch64-linux-gnu/nvidia"
GPU_NODES = {"as": (485, 0), "channel": (485, 1), "ctrl": (485, 2), "dbg": (485, 3),
             "power": (485, 4), "prof": (485, 5), "tsg": (485, 6)}
COMPUTE = {"libcuda.so.1", "libnvrm_gpu.so", "libnvrm_mem.so", "libnvos.so", "libnvsocsys.so",
           "libnvidia-ptxjitcompiler.so.1", "libnvidia-ml.so.1", "libnvv4l2.so"}


class Tegra(VendorCase):
    vendor = "--nv"

    def sonames(self):
        return {file["soname"] for file in self.driver()["files"] if file["kind"] == "library"}

    def reasons(self):
        return {(entry["object"], entry["text"]) for entry in self.driver()["findings"]}

    def loaded_from(self, root):
        """What the loader of the root finds for the entry library and what that needs."""
        out = harness.must("chroot", root, "/sbin/ldconfig", "-p")
        return {line.split()[0]: line.rsplit(" ", 1)[1] for line in out.splitlines()
                if harness.TREE in line}


class Listed(Tegra):
    """With the lists that the packages for containers have."""

    def test_there_is_one_gpu_without_an_address(self):
        driver = self.driver()

        self.assertEqual(driver["version"], "36.4.0")
        self.assertEqual(driver["version_source"], "module")
        self.assertEqual([(gpu["index"], gpu["uuid"], gpu["pci_address"], gpu["minor"],
                           gpu["model"]) for gpu in driver["gpus"]],
                         [(0, None, None, None, "NVIDIA Jetson AGX Orin Developer Kit")])
        self.assertIn("0    -     -            -", self.command("list", "--nv").stdout)

    def test_the_lists_say_which_files_there_are(self):
        files = {file["soname"] or file["path"]: file for file in self.driver()["files"]}

        self.assertEqual(self.sonames(), COMPUTE | {"libEGL_nvidia.so.0", "libv4lconvert.so.0"})
        self.assertEqual(sorted(files["libcuda.so.1"]["links"]), ["libcuda.so", "libcuda.so.1"])
        self.assertEqual(files["libv4lconvert.so.0"]["precedence"], "image")
        self.assertEqual(files["libEGL_nvidia.so.0"]["capability"], "graphics")
        self.assertTrue(files["/usr/src/jetson_multimedia_api"]["directory"])
        self.assertNotIn("/usr/src/jetson_multimedia_api/README", files, "it is in the directory")
        self.assertEqual(files["/usr/share/glvnd/egl_vendor.d/10_nvidia.json"]["capability"],
                         "graphics")
        self.assertNotIn("/etc/passwd", files, "a file that is no list names it")
        self.assertEqual(self.reasons(),
                         {("libnvneedy.so", "needs libnvnowhere.so.1, which is not there")})

    def test_it_is_set_up_and_taken_back(self):
        before = self.state()

        self.set_up("--driver-capabilities", "compute,utility")

        self.assertEqual(self.below_dev("nvgpu/igpu0"), GPU_NODES)
        names = set(os.listdir(self.root / "dev"))
        self.assertTrue({"nvhost-ctrl", "nvmap", "nvidia0", "nvidiactl"} <= names)
        self.assertFalse({"nvhost-nvdec", "v4l2-nvdec"} & names, "they are for video")
        self.assertNotIn("host1x-fence", names, "no list has it")
        self.assertEqual(harness.must("chroot", self.root, "cat", "/etc/nv_tegra_release"),
                         pathlib.Path("/etc/nv_tegra_release").read_text())
        found = self.loaded_from(self.root)
        self.assertTrue(COMPUTE <= set(found), found)
        out = harness.must("chroot", self.root, "/usr/bin/opens_driver", "libcuda.so.1",
                           "libcuda.so", "libnvos.so")
        self.assertEqual([os.path.basename(path) for path in out.split()],
                         ["libcuda.so.1.1", "libcuda.so.1.1", "libnvos.so"])
        self.undo()
        self.assert_state(before)

    def test_video_brings_its_nodes(self):
        before = self.state()

        self.set_up("--driver-capabilities", "compute,video")

        names = set(os.listdir(self.root / "dev"))
        self.assertTrue({"nvhost-nvdec", "v4l2-nvdec"} <= names)
        status = os.stat(self.root / "dev/v4l2-nvdec")
        self.assertEqual((os.major(status.st_rdev), os.minor(status.st_rdev)), (1, 3))
        self.undo()
        self.assert_state(before)

    def test_words_choose_it_and_others_do_not(self):
        devices = self.devices()
        for word in ("0", "all", "auto", "nvidia.com/gpu=0", "nvidia.com/gpu=all"):
            with self.subTest(word=word):
                self.assertEqual(self.devices("--device", word), devices)
        for word in ("1", "GPU-12345678", "0000:01:00.0", "intel.com/gpu=0"):
            with self.subTest(word=word):
                self.command("plan", "--nv", "--device", word, status=2)
        done = self.command("plan", "--nv", "--device", "GPU-12345678", status=2)
        self.assertIn("there is one GPU: 0\n", done.stderr)

    def test_the_variable_counts_it(self):
        for value, inside in (("0", "0"), ("0,1", "0")):
            with self.subTest(value=value):
                self.assertEqual(self.variables(env={"CUDA_VISIBLE_DEVICES": value}),
                                 {"CUDA_VISIBLE_DEVICES": inside})
        for value in ("1", "", "GPU-12345678"):
            with self.subTest(value=value):
                self.command("plan", "--nv", env={"CUDA_VISIBLE_DEVICES": value}, status=3)

    def test_a_user_needs_the_group(self):
        self.assertEqual(self.planned()["groups"], [VIDEO])
        self.assertIn("/dev/nvmap", self.devices(prefix=user(VIDEO)))
        done = self.command("plan", "--nv", prefix=user(), status=6)
        self.assertIn("the only NVIDIA GPU may not be used", done.stderr)
        self.assertIn("group 44", done.stderr)

    def test_a_command_sees_it(self):
        for prefix in ([], user(VIDEO)):
            with self.subTest(prefix=prefix), self.nothing_changes():
                out = self.run_inside("sh", "-c", "cd /dev; echo nvgpu/igpu0/ctrl nvmap nvhost-*",
                                      prefix=prefix)
                self.assertEqual(out, "nvgpu/igpu0/ctrl nvmap nvhost-ctrl nvhost-nvdec\n")

    def test_another_device_at_a_nodes_place_is_none_of_its_own(self):
        self.lose("/dev/nvhost-ctrl")

        self.assertNotIn("/dev/nvhost-ctrl", self.devices())
        self.assertIn(("nvhost-ctrl", "the kernel has another name for the device 1:3, or none"),
                      self.reasons())

    def test_without_the_gpus_nodes_there_is_no_gpu(self):
        self.lose(*(f"/dev/nvgpu/igpu0/{name}" for name in GPU_NODES))

        with self.nothing_changes():
            done = self.set_up(status=3)
        self.assertIn("the Tegra's GPU has no device node", done.stderr)
        self.assertIn("nvgpu", done.stderr)

    def test_status_knows_the_release(self):
        self.set_up()
        done = self.command("status", "--rootfs", self.root)
        self.assertNotIn("kernel module", done.stdout)
        self.assertIn("36.4.0", done.stdout)
        self.undo()

    def test_documents_are_as_their_schemas_say(self):
        self.set_up()
        for words in (["list", "--nv"], ["plan", "--nv"], ["status", "--rootfs", self.root]):
            done = self.command(*words, "--format", "json")
            schema = pathlib.Path(os.environ["GPUCTR_SCHEMA_DIR"], f"{words[0]}.json")
            with self.subTest(words=words):
                jsonschema.validate(json.loads(done.stdout), json.loads(schema.read_text()))

    def test_the_devices_that_are_allowed_count(self):
        before = self.devices()
        for name in ("etc", "work"):
            (harness.DIRECTORY / name).mkdir()
        harness.must("mount", "-t", "overlay", "-o", f"lowerdir=/etc,upperdir={harness.DIRECTORY}"
                     f"/etc,workdir={harness.DIRECTORY}/work", "test", "/etc")
        self.addCleanup(harness.must, "umount", "/etc")
        CONFIG.parent.mkdir()
        for allowed in ("0", "all"):
            CONFIG.write_text(f"allowed-devices: {allowed}\n")
            with self.subTest(allowed=allowed):
                self.assertEqual(self.devices(), before)
        CONFIG.write_text("allowed-devices: 1\n")
        self.command("plan", "--nv", status=2)

    def test_a_record_of_the_host_makes_the_same_plan(self):
        record = harness.DIRECTORY / "record.json"
        record.write_text(self.command("list", "--nv", "--format", "json").stdout)

        self.assertEqual(self.planned("--host", record), self.planned())


class Broken(Tegra):
    """With lists of which somebody edited one."""

    def test_a_row_costs_itself_alone(self):
        self.assertEqual(self.sonames(), COMPUTE | {"libEGL_nvidia.so.0", "libv4lconvert.so.0"})
        self.assertEqual(self.reasons(), {
            ("libnvneedy.so", "needs libnvnowhere.so.1, which is not there"),
            ("libnotthere.so", "not installed"),
            ("site.csv:2", "unknown type 'file'"),
            ("site.csv:3", "no path"),
            ("site.csv:4", "a path that is not absolute"),
            ("site.csv:5", "a path with .. in it"),
            ("libdangling.so", "leads to nothing"),
            ("site.csv:7", "a device node that is not below /dev"),
            ("nvhost-gone", "not installed"),
            ("zero", "the kernel has another name for the device 1:5, or none")})

    def test_what_is_left_out_is_told(self):
        done = self.command("list", "--nv", "-v")

        self.assertIn(f"{LISTS}/site.csv", done.stdout)
        self.assertIn("unknown type 'file'", done.stdout)

    def test_it_is_set_up_and_taken_back(self):
        before = self.state()

        self.set_up()

        self.assertEqual(self.below_dev("nvgpu/igpu0"), GPU_NODES)
        self.assertFalse((self.root / "dev/passwd").exists())
        self.undo()
        self.assert_state(before)


class Plain(Tegra):
    """Without lists: what lies beside libcuda, and the nodes that Jetsons have."""

    def test_the_files_are_those_beside_libcuda(self):
        self.assertEqual(self.sonames(), COMPUTE | {"libEGL_nvidia.so.0", "libv4lconvert.so.0"})
        tools = [file["name"] for file in self.driver()["files"] if file["kind"] == "tool"]
        self.assertEqual(tools, ["nvidia-smi"])

    def test_it_is_set_up_and_taken_back(self):
        before = self.state()

        self.set_up()

        self.assertEqual(self.below_dev("nvgpu/igpu0"), GPU_NODES)
        self.assertTrue({"nvhost-ctrl", "nvmap", "host1x-fence", "nvidia0", "nvidiactl"}
                        <= set(os.listdir(self.root / "dev")))
        self.assertTrue(COMPUTE <= set(self.loaded_from(self.root)))
        self.undo()
        self.assert_state(before)


THOR, CARD = "0000:01:00.0", "0005:01:00.0"
OF_MODULE = {"nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}


class Thor(Tegra):
    """With JetPack 7: the module lists the GPU, whose nodes the packages' lists lack."""

    def test_it_is_what_its_files_say(self):
        driver = self.driver()

        self.assertEqual((driver["version"], driver["version_source"]), ("580.00", "module"))
        self.assertEqual([(gpu["index"], gpu["pci_address"], gpu["minor"], gpu["model"])
                          for gpu in driver["gpus"]], [(0, THOR, 0, "NVIDIA Thor")])
        self.assertLessEqual(COMPUTE, self.sonames())

    def test_it_is_set_up_and_taken_back(self):
        before = self.state()

        self.set_up()

        self.assertEqual(self.below_dev(f"nvgpu/igpu-{THOR}"), GPU_NODES)
        self.assertLessEqual(OF_MODULE | {"nvmap"}, set(os.listdir(self.root / "dev")))
        out = harness.must("chroot", self.root, "/usr/bin/opens_driver", "libcuda.so.1")
        self.assertEqual(os.path.basename(out.strip()), "libcuda.so.1.1")
        self.assertNotIn("kernel module", self.command("status", "--rootfs", self.root).stdout)
        self.undo()
        self.assert_state(before)


class ThorAndCard(Tegra):
    """One user space for both."""

    def test_each_has_its_nodes(self):
        self.assertEqual([(gpu["pci_address"], gpu["minor"]) for gpu in self.driver()["gpus"]],
                         [(THOR, 0), (CARD, 1)])
        both = {f"/dev/{name}" for name in OF_MODULE - {"nvidia0"}}
        own = {f"/dev/nvgpu/igpu-{THOR}/{name}" for name in ("as", "channel", "ctrl")} | {
            "/dev/nvmap", "/dev/nvidia0"}
        for word, given, other in (("0", own, {"/dev/nvidia1"}), ("1", {"/dev/nvidia1"}, own)):
            with self.subTest(word=word):
                nodes = set(self.devices("--device", word))
                self.assertLessEqual(both | given, nodes)
                self.assertEqual(nodes & other, set())


class Card(Tegra):
    """A card with the driver of servers, which is not for the GPU of the Tegra."""

    def test_the_card_is_the_gpu(self):
        driver = self.driver()

        self.assertEqual([gpu["pci_address"] for gpu in driver["gpus"]], [CARD])
        self.assertEqual(driver["version"], harness.VERSION)
        self.assertEqual(self.sonames(), {"libcuda.so.1", "libnvidia-ml.so.1"})
        self.assertEqual([node for node in self.devices() if "nvgpu" in node], [])


if __name__ == "__main__":
    unittest.main()
