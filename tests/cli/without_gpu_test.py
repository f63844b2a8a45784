# SPDX-License-Identifier: MIT
"""gpuctr-setup where there is no GPU: on a login node, or where an image is built."""

import json
import os
import pathlib
import unittest

import harness
from harness import DIRECTORY, VERSION
from vendor_case import VendorCase

DRIVER = pathlib.Path("/usr/local/nvidia")


class WithoutGpu(VendorCase):
    """A host with a driver's files, and neither its kernel module nor a GPU."""

    def printed(self, *words, **options):
        """A JSON document, and what is said besides."""
        done = self.command(*words, "--format", "json", **options)
        return json.loads(done.stdout), done.stderr

    def kinds(self, *words, **options):
        document, _ = self.printed("plan", self.vendor, *words, **options)
        return {item["kind"] for item in document["items"]}


class Nvidia(WithoutGpu):

    vendor = "--nv"
    WARNING = ("gpuctr-setup: warning: no NVIDIA GPU on this host: only the driver's files are "
               "shown\n")

    def test_list_shows_the_files_and_the_version_that_they_have(self):
        for root in ((), ("--driver-root", DRIVER)):
            with self.subTest(root=root):
                done = self.command("list", "--nv", *root)
                self.assertEqual(done.stderr, self.WARNING)
                lines = done.stdout.splitlines()
                self.assertEqual(lines[0], f"NVIDIA driver {VERSION} (its files alone)")
                self.assertEqual(lines[1], "")
                self.assertRegex(lines[2], "^FILE +CAPABILITY +PATH$")
                self.assertIn(f"{DRIVER}/lib64/libcuda.so.{VERSION}", done.stdout)
        self.assertEqual(self.command("-q", "list", "--nv").stderr, "")

    def test_the_json_of_list_has_no_gpu_and_says_why(self):
        document, said = self.printed("list", "--nv")
        driver, = document["drivers"]
        self.assertEqual(said, self.WARNING)
        self.assertEqual((driver["version"], driver["version_source"]), (VERSION, "files"))
        self.assertEqual((driver["gpus"], driver["nodes"], driver["missing_nodes"]), ([], [], []))
        self.assertEqual([entry["text"] for entry in driver["findings"] if entry["code"] == "no_gpu"],
                         ["no NVIDIA GPU on this host: only the driver's files are shown"])
        self.assertIn("libcuda.so.1", [file["soname"] for file in driver["files"]])

    def test_a_version_chooses_among_the_files(self):
        document, _ = self.printed("list", "--nv", "--driver-version", VERSION)
        self.assertEqual(document["drivers"][0]["version_source"], "files")
        for command in ("list", "plan"):
            done = self.command(command, "--nv", "--driver-version", "570.1", status=4)
            self.assertEqual(done.stderr,
                             "gpuctr-setup: NVIDIA driver: no libcuda.so.1 of version 570.1 on this "
                             f"host: {DRIVER}/lib64/libcuda.so.1 is version {VERSION}, not 570.1\n"
                             "hint: name a version that is installed, or another driver root\n")

    def test_plan_shows_what_the_files_become(self):
        for words in ((), ("--device", "auto"), ("--device", "none"), ("--device", "all")):
            with self.subTest(words=words):
                document, said = self.printed("plan", "--nv", "--rootfs", self.root, *words)
                self.assertEqual(said, self.WARNING)
                self.assertEqual([entry["text"] for entry in document["findings"]
                                  if entry["severity"] == "warning"],
                                 [self.WARNING.split("warning: ")[1].strip()])
                self.assertEqual(document["drivers"], [{"vendor": "nvidia", "version": VERSION,
                                                        "version_source": "files", "gpus": []}])
                self.assertEqual(document["device_rules"], [])
                kinds = {item["kind"] for item in document["items"]}
                self.assertLessEqual({"bind", "symlink", "ldcache"}, kinds)
                self.assertNotIn("device", kinds)

    def test_a_plan_without_a_root_or_without_the_files(self):
        self.assertIn("bind", self.kinds())
        self.assertEqual(self.kinds("--vendor-libs", "none"), set())

    def test_a_gpu_by_name_is_not_there(self):
        done = self.command("plan", "--nv", "--device", "0", status=2)
        self.assertIn("--device 0: no such GPU\nhint: there is none", done.stderr)

    def test_the_policy_and_the_variables_of_other_machines_are_no_obstacle(self):
        layers = [DIRECTORY / name for name in ("etc", "work")]
        for layer in layers:
            layer.mkdir()
        harness.must("mount", "-t", "overlay", "-o",
                     f"lowerdir=/etc,upperdir={layers[0]},workdir={layers[1]}", "test", "/etc")
        self.addCleanup(harness.must, "umount", "/etc")
        os.mkdir("/etc/gpucontainer")
        pathlib.Path("/etc/gpucontainer/config.yaml").write_text("allowed-devices: 0-3\n")
        self.assertIn("bind", self.kinds(env={"CUDA_VISIBLE_DEVICES": "2"}))

    def test_a_record_of_it_serves_elsewhere(self):
        record = DIRECTORY / "record.json"
        record.write_text(self.command("list", "--nv", "--format", "json").stdout)
        for words in (("--nv",), ()):
            document, said = self.printed("plan", *words, "--host", record)
            self.assertEqual(said, self.WARNING)
            self.assertEqual(document["drivers"][0]["gpus"], [])

    def test_nothing_is_set_up(self):
        with self.nothing_changes():
            for words in (("--nv", "--rootfs", self.root),
                          ("--nv", "--rootfs", self.root, "--device", "none"),
                          ("--nv", "--rootfs", self.root, "--driver-version", VERSION),
                          ("prepare", "--nv", "--staged-tree", DIRECTORY / "tree")):
                done = self.command(*words, status=3)
                self.assertIn("no NVIDIA GPU on this host\nhint: ", done.stderr)
            done = self.command("--nv", "--rootfs", self.root, "--", "true", status=125)
            self.assertIn("no NVIDIA GPU on this host (error 3)", done.stderr)

    def test_no_module_is_loaded(self):
        """For that there would be no privilege."""
        with self.nothing_changes():
            done = harness.call(*harness.ORDINARY_USER, harness.SETUP, "--nv", "--load-kmods",
                                "--rootfs", self.root, "--", "true")
        self.assertIn("no NVIDIA GPU on this host (error 3)", done.stderr)

    def test_if_present_it_is_as_if_nothing_were_there(self):
        warning = "gpuctr-setup: warning: no NVIDIA GPU on this host\n"
        with self.nothing_changes():
            for words in (("plan", "--nv", "--if-present"),
                          ("--nv", "--if-present", "--rootfs", self.root),
                          ("--nv", "--if-present", "--rootfs", self.root, "--", "true")):
                done = self.command(*words)
                self.assertEqual((done.stdout, done.stderr), ("", warning))
        self.assertIn("libcuda", self.command("list", "--nv", "--if-present").stdout)

    def test_nobody_gets_files_who_did_not_ask_for_the_vendor(self):
        done = self.command("list")
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.splitlines()[0], "gpuctr-setup: no GPU on this host")
        self.assertIn("such as --nv", done.stderr)
        self.assertEqual(self.printed("list", "--gpu")[0]["drivers"], [])
        self.assertEqual(self.command("plan", status=3).stderr, "gpuctr-setup: no GPU on this host\n")

    def test_a_directory_without_a_driver_is_named(self):
        empty = DIRECTORY / "empty"
        empty.mkdir()
        self.addCleanup(empty.rmdir)
        for command in ("list", "plan"):
            done = self.command(command, "--nv", "--driver-root", empty, status=3)
            self.assertIn(f"no NVIDIA GPU on this host, and no libcuda.so.1 in {empty}\nhint: ",
                          done.stderr)
            done = self.command(command, "--nv", "--driver-root", empty, "--driver-version", "570.1",
                                status=3)
            self.assertIn("no NVIDIA GPU on this host, and no libcuda.so.1 of version 570.1 in "
                          f"{empty}\nhint: ", done.stderr)


class TakenByAnother(WithoutGpu):
    """Another kernel driver has the GPUs."""

    vendor = "--nv"
    driver = ""
    advice = ""

    def test_it_is_named_with_the_gpus(self):
        gpus = ", ".join(f"GPU 0000:{bus}:00.0: bound to the kernel driver {self.driver}"
                         for bus in ("08", "09"))
        for words in (("--nv", "--rootfs", self.root), ("plan", "--nv"), ("list", "--nv")):
            with self.subTest(words=words[0]), self.nothing_changes():
                done = self.command(*words, status=3)
                self.assertIn(f"the NVIDIA kernel module is not loaded: {gpus}", done.stderr)
                self.assertIn(f"hint: {self.advice}", done.stderr)
                for misleading in ("user space", "PCI bus", "modprobe nvidia"):
                    self.assertNotIn(misleading, done.stderr)


class Nouveau(TakenByAnother):
    driver = "nouveau"
    advice = "a GPU has one driver: install NVIDIA's, keep nouveau from loading"


class PassedOn(TakenByAnother):
    driver = "vfio-pci"
    advice = "vfio-pci keeps a GPU for virtual machines"


del TakenByAnother


class Amd(WithoutGpu):

    vendor = "--rocm"

    def test_files_of_no_version_are_shown(self):
        warning = ("gpuctr-setup: warning: no AMD GPU on this host: only the driver's files are "
                   "shown\n")
        done = self.command("list", "--rocm")
        self.assertEqual(done.stderr, warning)
        self.assertEqual(done.stdout.splitlines()[0], "AMD driver (its files alone)")
        self.assertIn("libhsa-runtime64.so.1", done.stdout)
        document, said = self.printed("plan", "--rocm", "--rootfs", self.root)
        self.assertEqual(said, warning)
        self.assertEqual(document["drivers"], [{"vendor": "amd", "version": None,
                                                "version_source": "files", "gpus": []}])
        self.assertIn("bind", {item["kind"] for item in document["items"]})

    def test_a_record_of_it_serves_elsewhere(self):
        record = DIRECTORY / "record.json"
        record.write_text(self.command("list", "--rocm", "--format", "json").stdout)
        document, _ = self.printed("plan", "--rocm", "--host", record)
        self.assertEqual(document["drivers"][0]["version"], None)

    def test_nothing_is_set_up(self):
        with self.nothing_changes():
            done = self.command("--rocm", "--rootfs", self.root, status=3)
        self.assertIn("no AMD GPU on this host\nhint: ", done.stderr)

    def test_a_vendor_of_which_nothing_is_there(self):
        for option, vendor in (("--intel", "Intel"), ("--hpu", "Intel Gaudi")):
            done = self.command("list", option, status=3)
            self.assertIn(f"no {vendor} GPU on this host, and no files of its driver on this host\n"
                          "hint: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
