# SPDX-License-Identifier: MIT
"""gpuctr-setup on hosts with NVIDIA GPUs in MIG mode, each class on one of them."""

import json
import os
import pathlib
import unittest

import harness
from harness import DIRECTORY
from hook_test import NAMESPACES
from vendor_case import VendorCase, user

COMMON = ["/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidiactl"]
CAPS_MAJOR = 508


def caps(minor, gi, ci=0):
    """The nodes of an instance, by the numbers that the kernel module gives to rights."""
    first = 3 + (minor * 15 + gi) * 9
    return [f"/dev/nvidia-caps/nvidia-cap{number}" for number in (first, first + 1 + ci)]


def setUpModule():
    """An /etc of its own to write in, over that of the simulated host."""
    for name in ("etc", "work"):
        (DIRECTORY / name).mkdir()
    harness.must("mount", "-t", "overlay", "-o",
                 f"lowerdir=/etc,upperdir={DIRECTORY}/etc,workdir={DIRECTORY}/work", "test", "/etc")


def tearDownModule():
    harness.must("umount", "/etc")


class Mig(VendorCase):
    vendor = "--nv"

    def configure(self, name, text):
        """Writes a file of /etc/gpucontainer, until the end of the test."""
        path = pathlib.Path("/etc/gpucontainer", name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.chmod(path, 0o644)
        self.addCleanup(path.unlink)

    def gpus(self, *words, **options):
        """What a plan chooses, by what a user types."""
        driver, = self.planned(*words, **options)["drivers"]
        return [gpu["names"][0] if gpu["parent"] is not None else str(gpu["index"])
                for gpu in driver["gpus"]]

    def own_devices(self, *words, **options):
        """The nodes that are not for all GPUs."""
        return sorted(set(self.devices(*words, **options)) - set(COMMON))

    def refused(self, *words, status, env=None):
        return self.command("plan", self.vendor, "--rootfs", self.root, *words, status=status,
                            env=env).stderr


class OneOfTwo(Mig):
    """The first GPU, which has minor 1, has instances of 3, 2 and 1 parts."""

    instances = ["0:gi1:ci0", "0:gi5:ci0", "0:gi13:ci0"]
    nodes = sorted(["/dev/nvidia1", *caps(1, 1), *caps(1, 5), *caps(1, 13)])

    def test_an_instance_is_a_gpu_after_those_that_nvidia_counts(self):
        gpus = self.driver()["gpus"]

        self.assertEqual([gpu["index"] for gpu in gpus], list(range(5)))
        self.assertEqual([gpu["minor"] for gpu in gpus], [1, 0, 1, 1, 1])
        self.assertEqual([gpu["parent"] for gpu in gpus], [None, None, 0, 0, 0])
        self.assertEqual([gpu["names"][0] for gpu in gpus[2:]], self.instances)
        self.assertEqual([gpu["uuid"] for gpu in gpus[2:]], [None] * 3)
        self.assertEqual({gpu["pci_address"] for gpu in gpus[2:]}, {gpus[0]["pci_address"]})
        self.assertEqual({gpu["architecture"] for gpu in gpus}, {"9.0"})

    def test_the_list_shows_instances_below_their_gpu(self):
        lines = self.command("list", "--nv", "-no", "GPU,NODE").stdout.split("\n")

        self.assertEqual([line.split() for line in lines if line],
                         [["0", "1"], *([name, "1"] for name in self.instances), ["1", "0"]])
        self.assertRegex(self.command("list", "--nv").stdout,
                         rf"{caps(1, 5)[0]} +{CAPS_MAJOR}:\d+ +0:gi5:ci0 +yes")

    def test_an_instance_brings_its_own_nodes_and_that_of_its_gpu(self):
        self.assertEqual(self.gpus("--device", "0:gi5:ci0"), ["0", "0:gi5:ci0"])
        self.assertEqual(self.own_devices("--device", "0:gi5:ci0"),
                         sorted(["/dev/nvidia1", *caps(1, 5)]))
        self.assertEqual(self.own_devices("--device", "0:GI1:ci0,0:gi13:ci0"),
                         sorted(["/dev/nvidia1", *caps(1, 1), *caps(1, 13)]))

    def test_a_hook_by_nodes_takes_the_instance_alone(self):
        bundle = DIRECTORY / "bundle"
        bundle.mkdir()
        self.addCleanup(harness.call, "rm", "-rf", bundle)
        (bundle / "config.json").write_text(json.dumps({"root": {"path": str(self.root)},
                                                        "process": {"env": []}}))
        nodes = [*COMMON, "/dev/nvidia1", *caps(1, 5)]
        given = " && ".join(['mkdir "$0/dev/nvidia-caps"',
                             *(f'cp -a {node} "$0{node}"' for node in nodes)])
        words = [*NAMESPACES[:-1],
                 NAMESPACES[-1].replace("exec", f'mount -t tmpfs none "$0/dev" && {given} && exec')]
        done = harness.call(*words, self.root, "sh", "-c", '"$@" && find "$0/dev" -type c',
                            self.root, harness.SETUP, "hook", "--by-nodes", stdin=None,
                            input=json.dumps({"ociVersion": "1.0.2", "id": "x", "pid": 0,
                                              "status": "creating", "bundle": str(bundle)}))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(line.removeprefix(str(self.root))
                                for line in done.stdout.split()), sorted(nodes))

    def test_a_gpu_in_mig_mode_comes_with_all_its_instances(self):
        first = self.driver()["gpus"][0]

        for word in ("0", first["uuid"], first["pci_address"], "nvidia.com/gpu=0"):
            with self.subTest(word=word):
                self.assertEqual(self.own_devices("--device", word), self.nodes)

    def test_the_other_gpu_brings_nothing_of_it(self):
        self.assertEqual(self.gpus("--device", "1"), ["1"])
        self.assertEqual(self.own_devices("--device", "1"), ["/dev/nvidia0"])

    def test_all_and_auto_mean_gpus_and_instances(self):
        for word in ("all", "auto"):
            with self.subTest(word=word):
                self.assertEqual(self.gpus("--device", word), ["0", "1", *self.instances])
                self.assertEqual(self.own_devices("--device", word),
                                 sorted(["/dev/nvidia0", *self.nodes]))

    def test_a_number_never_means_an_instance(self):
        message = self.refused("--device", "2", status=2)

        self.assertIn("--device 2: no such GPU", message)
        self.assertIn("2 GPUs, numbered from 0, and 3 MIG instances: 0:gi1:ci0 to 0:gi13:ci0", message)
        self.assertIn("the last GPU is 1", self.refused("--device", "0-2", status=2))

    def test_what_the_kernel_does_not_tell_is_a_requirement_that_is_not_met(self):
        for word in ("MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f", "0:1"):
            with self.subTest(word=word):
                message = self.refused("--device", word, status=7)
                self.assertIn(f"--device {word}: the kernel tells neither UUIDs nor", message)
                self.assertIn("such as 0:gi13:ci0", message)

    def test_a_colon_is_a_pci_address_where_no_instance_can_be_meant(self):
        self.assertIn("--device 1:1: no such GPU", self.refused("--device", "1:1", status=2))

    def test_the_name_that_older_drivers_gave_an_instance_is_known(self):
        uuid = self.driver()["gpus"][0]["uuid"]

        self.assertEqual(self.gpus("--device", f"MIG-{uuid}/5/0"), ["0", "0:gi5:ci0"])

    def test_an_instance_that_may_not_be_used_is_left_out(self):
        node = pathlib.Path(caps(1, 5)[1])
        node.chmod(0)
        self.addCleanup(node.chmod, 0o444)

        self.assertEqual(self.gpus(prefix=user()), ["0", "1", "0:gi1:ci0", "0:gi13:ci0"])
        self.command("plan", "--nv", "--rootfs", self.root, "--device", "0:gi5:ci0", prefix=user(),
                     status=6)

    def test_a_policy_may_allow_single_instances(self):
        self.configure("config.yaml", "allowed-devices: '0:gi1:ci0,1'\n")

        self.assertEqual(self.gpus(), ["0", "1", "0:gi1:ci0"])
        for word in ("0:gi5:ci0", "0"):
            self.assertIn("GPU 0:gi5:ci0 is not one of the allowed devices",
                          self.refused("--device", word, status=6))

    def test_no_gpu_without_instances_stands_for_one_that_is_not_allowed(self):
        self.configure("config.yaml", "allowed-devices: '0:gi1:ci0'\n")
        uuid = self.driver()["gpus"][0]["uuid"]
        asked = ("--request-env", "NVIDIA_VISIBLE_DEVICES=0:gi{}:ci0")

        self.assertEqual(self.gpus(asked[0], asked[1].format(1)), ["0", "0:gi1:ci0"])
        self.assertIn("names no GPU that it may have here",
                      self.refused(asked[0], asked[1].format(5), status=6))
        self.assertIn("the container may not have GPU 0:gi5:ci0, 0:gi13:ci0 of these here",
                      self.command("plan", "--nv", "--request-env", "NVIDIA_VISIBLE_DEVICES=0").stderr)
        self.assertIn("leaves none of the allowed devices", self.refused(
            status=6, env=os.environ | {"CUDA_VISIBLE_DEVICES": f"MIG-{uuid}/5/0"}))

    def listed(self, *profiles, first=0):
        """What `nvidia-smi -L` prints on this host, and the UUIDs of its instances."""
        names = [gpu["uuid"] for gpu in self.driver()["gpus"][:2]]
        uuids = [f"MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3{n}" for n in range(len(profiles))]
        lines = [f"GPU 0: NVIDIA H200 (UUID: {names[0]})"]
        lines += [f"  MIG {profile:<15} Device {number:2}: (UUID: {uuid})"
                  for number, (profile, uuid) in enumerate(zip(profiles, uuids), first)]
        return "\n".join([*lines, f"GPU 1: NVIDIA H200 (UUID: {names[1]})", ""]), uuids

    PROFILES = ("3g.71gb", "2g.35gb", "1g.18gb")

    def test_a_map_brings_uuids_and_the_order_of_nvidia(self):
        text, uuids = self.listed(*self.PROFILES)
        self.configure("mig.map", text)
        gpus = self.driver()["gpus"]

        self.assertEqual([gpu["uuid"] for gpu in gpus[2:]], uuids)
        self.assertEqual([gpu["names"][-1] for gpu in gpus[2:]], ["0:0", "0:1", "0:2"])
        self.assertEqual(gpus[3]["model"], "NVIDIA H200 MIG 2g.35gb")
        for word in (uuids[1], uuids[1].upper(), "0:1", f"MIG-{gpus[0]['uuid']}/5/0"):
            with self.subTest(word=word):
                self.assertEqual(self.gpus("--device", word), ["0", "0:gi5:ci0"])
        self.assertIn("no such GPU", self.refused("--device", "0:3", status=2))
        self.assertIn("no such GPU", self.refused("--device", "MIG-00000000-0000", status=2))

    def test_a_variable_may_name_an_instance_of_the_map(self):
        text, uuids = self.listed(*self.PROFILES)
        self.configure("mig.map", text)

        env = {"CUDA_VISIBLE_DEVICES": uuids[2]}
        self.assertEqual(self.gpus(env=env), ["0", "0:gi13:ci0"])
        self.assertEqual(self.variables(env=env), env)

    def test_a_scheduler_may_name_the_only_instances_that_it_grants(self):
        for number in (*caps(1, 1), *caps(1, 13), "/dev/nvidia0"):
            mode = os.stat(number).st_mode & 0o777
            os.chmod(number, 0)
            self.addCleanup(os.chmod, number, mode)
        uuid = "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f"
        env = {"CUDA_VISIBLE_DEVICES": uuid}

        self.assertEqual(self.gpus(prefix=user(), env=env), ["0", "0:gi5:ci0"])
        self.assertEqual(self.variables(prefix=user(), env=env), {"CUDA_VISIBLE_DEVICES": None})
        message = self.refused(env=env, status=7)
        self.assertIn(f"CUDA_VISIBLE_DEVICES={uuid}: the kernel tells neither", message)

    def test_a_map_may_lie_elsewhere(self):
        text, uuids = self.listed(*self.PROFILES)
        path = DIRECTORY / "map"
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)

        self.assertEqual(self.gpus("--mig-map", path, "--device", uuids[0]), ["0", "0:gi1:ci0"])
        self.assertIn("map of MIG instances /nowhere: no such file",
                      self.refused("--mig-map", "/nowhere", status=2))
        path.chmod(0o666)
        self.assertIn(str(path), self.refused("--mig-map", path, status=6))

    def test_a_map_that_does_not_fit_is_not_used(self):
        fitting, uuids = self.listed(*self.PROFILES)
        cases = (
            (self.listed(*self.PROFILES[:2])[0], "GPU 0 has 2 MIG instances in it, and 3 here"),
            (self.listed(*reversed(self.PROFILES))[0],
             "device 1 of GPU 0 is 2g.35gb in it, which 0:gi5:ci0 cannot be"),
            (fitting.replace("GPU 0", "GPU 7").replace("GPU 1", "GPU 8"), "GPU 7 is GPU-"),
            (fitting.replace("(UUID: GPU-", "(UUID: GPU-0"), "GPU 0 is GPU-0"),
            (fitting.replace(uuids[0], "MIG-GPU-0123/2/0"), "MIG-GPU-0123/2/0 is not 0:gi1:ci0"),
            ("", "GPU 0 has no MIG instance in it"),
            (fitting + "Failed to initialize NVML\n", "line 6: not a line of `nvidia-smi -L`"),
        )
        for text, why in cases:
            with self.subTest(why=why):
                pathlib.Path("/etc/gpucontainer").mkdir(exist_ok=True)
                pathlib.Path("/etc/gpucontainer/mig.map").write_text(text, encoding="utf-8")
                message = self.refused("--device", uuids[0], status=7)
                self.assertIn(f": {why}", message)
                self.assertIn("nvidia-smi -L >/etc/gpucontainer/mig.map", message)
                self.assertEqual(self.gpus("--device", "0:gi1:ci0"), ["0", "0:gi1:ci0"])
                codes = [one["code"] for one in self.planned("--device", "1")["findings"]]
                self.assertIn("map_unfit", codes)
        os.unlink("/etc/gpucontainer/mig.map")

    def test_nobody_is_told_to_write_over_another_file(self):
        message = self.refused("--mig-map", "/etc/passwd", "--device", "MIG-x", status=7)
        self.assertIn("/etc/passwd", message)
        self.assertNotIn(">/etc/passwd", message)
        done = self.command("plan", "--nv", "--rootfs", self.root, "--mig-map", "/etc/passwd")
        self.assertIn("hint: name a file that `nvidia-smi -L` wrote", done.stderr)

    def shown(self, *options):
        """The files of capabilities in a container."""
        found = self.run_inside("/bin/sh", "-c",
                                "cd /proc/driver/nvidia/capabilities && "
                                "for f in * */* */*/* */*/*/* */*/*/*/*; do "
                                "test -s $f && test -f $f && echo $f; done; true",
                                options=options)
        return sorted(found.split())

    def test_a_container_sees_the_files_of_its_own_instances(self):
        self.assertEqual(self.shown("--device", "0:gi5:ci0"),
                         ["gpu1/mig/gi5/access", "gpu1/mig/gi5/ci0/access"])
        self.assertEqual(self.shown("--device", "1"), [])
        self.assertEqual(len(self.shown("--device", "all")), 6)

    def test_managing_is_a_right_of_its_own(self):
        for word, number in (("config", 1), ("monitor", 2)):
            with self.subTest(word=word):
                options = ("--device", "1", "--extras", f"mig-{word}")
                self.assertEqual(self.own_devices(*options),
                                 [f"/dev/nvidia-caps/nvidia-cap{number}", "/dev/nvidia0"])
                self.assertEqual(self.shown(*options), [f"mig/{word}"])

    def test_what_a_set_up_masks_is_there_again_after_it(self):
        place = self.root / "proc"
        harness.must("mount", "--rbind", "/proc", place)
        self.addCleanup(harness.must, "umount", "-l", place)
        files = self.root / "proc/driver/nvidia/capabilities"
        before = sorted(files.rglob("*"))
        self.set_up("--device", "0:gi1:ci0")
        self.assertEqual([str(path.relative_to(files)) for path in sorted(files.rglob("access"))],
                         ["gpu1/mig/gi1/access", "gpu1/mig/gi1/ci0/access"])
        self.command("undo", "--rootfs", self.root)

        self.assertEqual(sorted(files.rglob("*")), before)

    def test_slurm_does_not_tell_instances(self):
        message = self.refused(env={"SLURM_JOB_GPUS": "0"}, status=2)

        self.assertIn("SLURM_JOB_GPUS=0: it does not tell MIG instances", message)

    def test_the_nodes_are_in_the_container(self):
        done = self.run_inside("/bin/sh", "-c", "echo /dev/nvidia* /dev/nvidia-caps/*",
                               options=["--device", "0:gi5:ci0"])

        self.assertEqual(set(done.split()) - set(COMMON),
                         {"/dev/nvidia-caps", "/dev/nvidia1", *caps(1, 5)})


class WithoutNodes(Mig):
    """Nobody made the nodes of the last instance."""

    def test_others_are_chosen(self):
        self.assertEqual(self.gpus(), ["0", "1", "0:gi1:ci0", "0:gi5:ci0"])

    def test_the_message_says_what_makes_them(self):
        done = self.command("plan", "--nv", "--rootfs", self.root, "--device", "0:gi13:ci0", status=3)

        self.assertIn(f"{caps(1, 13)[0]}: the device node is missing", done.stderr)
        self.assertIn("nvidia-modprobe -f /proc/driver/nvidia/capabilities/gpu1/mig/gi13/access",
                      done.stderr)


class AllOfTwo(Mig):
    """Seven instances on the first GPU; on the second, compute instances that share."""

    def test_compute_instances_share_the_right_to_their_gpu_instance(self):
        self.assertEqual(self.own_devices("--device", "1:gi1:ci2"),
                         sorted(["/dev/nvidia0", *caps(0, 1, 2)]))
        self.assertEqual(self.own_devices("--device", "1:gi1:ci0,1:gi1:ci2"),
                         sorted(["/dev/nvidia0", *caps(0, 1, 0), *caps(0, 1, 2)[1:]]))

    def test_a_compute_instance_hides_those_beside_it(self):
        found = self.run_inside("/bin/sh", "-c", "cd /proc/driver/nvidia/capabilities && "
                                "ls -d */*/*/access */*/*/*/access", options=["--device", "1:gi1:ci2"])

        self.assertEqual(sorted(found.split()), ["gpu0/mig/gi1/access", "gpu0/mig/gi1/ci2/access"])

    def test_a_gpu_instance_without_a_compute_instance_is_reported(self):
        driver = self.driver()

        self.assertEqual(len(driver["gpus"]), 2 + 7 + 5)
        finding, = [one for one in driver["findings"] if one["code"] == "gpu_unusable"]
        self.assertEqual((finding["object"], finding["text"]),
                         ("MIG instance 1:gi6", "it has no compute instance"))


class OneLost(Mig):
    """Four GPUs that the driver offers, of which the second does not answer; their minors are 1, 3, 0
    and 4. It excludes another one, and a sixth is kept for virtual machines."""

    def test_the_others_are_chosen_by_the_numbers_of_nvidia(self):
        self.assertEqual([gpu["minor"] for gpu in self.driver()["gpus"]], [1, None, 0, 4])
        for words in ((), ("--device", "all")):
            with self.subTest(words=words):
                self.assertEqual(self.gpus(*words), ["0", "2", "3"])
        self.assertEqual(self.own_devices("--device", "2"), ["/dev/nvidia0"])

    def test_each_of_them_is_named_with_the_reason(self):
        reasons = {one["object"]: one["text"] for one in self.driver()["findings"]
                   if one["code"] == "gpu_unusable"}
        lost = self.driver()["gpus"][1]["pci_address"]

        self.assertEqual(len(reasons), 3)
        self.assertIn("fallen off the bus", reasons["GPU " + lost])
        self.assertEqual(reasons["GPU 0000:0b:00.1"], "bound to the kernel driver vfio-pci")
        self.assertIn("the driver was told to exclude it", reasons.values())

    def test_the_lost_one_is_refused_by_name(self):
        message = self.refused("--device", "0,1", status=3)

        self.assertIn("--device 1: GPU 1 cannot be used: it has fallen off the bus", message)
        self.assertIn("Xid 79", message)


if __name__ == "__main__":
    unittest.main()
