# SPDX-License-Identifier: MIT
"""--device auto in a job: what the device cgroup, Slurm and NVIDIA's toolkit grant."""

import json
import os
import pathlib
import re
import sys
import unittest

import harness
from vendor_case import VendorCase

DEVICE_CGROUP = pathlib.Path(__file__).resolve().parent / "device_cgroup.py"
UNAVAILABLE = 77


class Job(VendorCase):

    def planned_in(self, allowed, *words, **variables):
        """A plan where the device cgroup allows the nodes of these GPUs alone."""
        done = self.call_in(allowed, "plan", self.vendor, "--rootfs", self.root, "--format", "json",
                            *words, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def call_in(self, allowed, *words, **variables):
        forbidden = [f"195:{minor}" for minor in range(8) if minor not in allowed]
        done = harness.call(sys.executable, "-B", DEVICE_CGROUP, *forbidden, "--", harness.SETUP,
                            *words, env=os.environ | variables)
        if done.returncode == UNAVAILABLE:
            self.skipTest(f"no device cgroup: {done.stderr}")
        return done

    def chosen(self, **variables):
        """Indexes of the GPUs that a plan has."""
        plan = self.planned(env=variables)
        return [gpu["index"] for gpu in plan["drivers"][0]["gpus"]]

    def refused(self, status, *words, **variables):
        done = self.command("plan", *(words or [self.vendor]), env=variables, status=status)
        self.assertEqual(done.stdout, "")
        return done.stderr


class Slurm(Job):
    """Eight GPUs without a device cgroup: Slurm's numbers are all that there is."""

    vendor = "--nv"

    def test_a_step_has_the_gpus_that_its_variable_lists(self):
        for variables, gpus in (
                ({"SLURM_STEP_GPUS": "3"}, [3]),
                ({"SLURM_STEP_GPUS": "0,2-3"}, [0, 2, 3]),
                ({"SLURM_JOB_GPUS": "6,7"}, [6, 7]),
                ({"SLURM_JOB_GPUS": "0-3", "SLURM_STEP_GPUS": "2"}, [2]),
                ({"SLURM_JOB_GPUS": "1,2", "SLURM_STEP_GPUS": ""}, [1, 2]),
                ({"SLURM_JOB_GPUS": "", "SLURM_STEP_GPUS": "2"}, [2]),
                ({"SLURM_JOB_GPUS": ""}, list(range(8))),
                ({"SLURM_STEP_GPUS": "2,3", "CUDA_VISIBLE_DEVICES": "2,3"}, [2, 3]),
                ({"SLURM_STEP_GPUS": "2,3", "CUDA_VISIBLE_DEVICES": "3"}, [3])):
            with self.subTest(variables=variables):
                self.assertEqual(self.chosen(**variables), gpus)
                self.assertEqual(self.devices(env=variables)[-len(gpus):],
                                 [f"/dev/nvidia{gpu}" for gpu in gpus])

    def test_its_variables_stay_as_they_are(self):
        variables = {"SLURM_STEP_GPUS": "2,3", "SLURM_JOB_GPUS": "2,3", "CUDA_VISIBLE_DEVICES": "3"}
        self.assertEqual(list(self.variables(env=variables)), ["CUDA_VISIBLE_DEVICES"])
        out = self.run_inside("sh", "-c", "echo $SLURM_STEP_GPUS $SLURM_JOB_GPUS; "
                              "cd /dev; echo nvidia[0-9]", env=variables)
        self.assertEqual(out, "2,3 2,3\nnvidia3\n")

    def test_no_more_than_all_of_them_grant(self):
        self.assertIn("gpuctr-setup: CUDA_VISIBLE_DEVICES=0 grants none of the GPUs that "
                      "SLURM_STEP_GPUS=2,3 leaves\nhint: ",
                      self.refused(3, SLURM_STEP_GPUS="2,3", CUDA_VISIBLE_DEVICES="0"))
        self.assertIn("gpuctr-setup: SLURM_STEP_GPUS=9: there is no NVIDIA GPU 9 on this host\nhint",
                      self.refused(3, SLURM_STEP_GPUS="9"))
        for value in ("gpu:2", ",", "0,,1"):
            self.assertIn(f"gpuctr-setup: SLURM_STEP_GPUS={value}: not a list of numbers\nhint: ",
                          self.refused(2, SLURM_STEP_GPUS=value, SLURM_JOB_GPUS="1"))

    def test_whoever_names_gpus_decides_otherwise(self):
        plan = self.planned("--device", "5", env={"SLURM_STEP_GPUS": "x"})
        self.assertEqual([gpu["index"] for gpu in plan["drivers"][0]["gpus"]], [5])

    def test_it_is_set_up_and_taken_away(self):
        before = self.state()
        self.set_up(env={"SLURM_STEP_GPUS": "2,3"})
        self.assertEqual(sorted(name for name in os.listdir(self.root / "dev")
                                if re.fullmatch(r"nvidia\d", name)), ["nvidia2", "nvidia3"])
        self.command("undo", "--rootfs", self.root)
        self.assert_state(before)


class Cgroup(Job):
    """The same with ConstrainDevices: the device cgroup is the truth."""

    vendor = "--nv"

    def gpus_in(self, allowed, **variables):
        plan = self.planned_in(allowed, **variables)
        return [gpu["index"] for gpu in plan["drivers"][0]["gpus"]]

    def test_numbers_from_0_count_what_it_allows(self):
        self.assertEqual(self.gpus_in([4, 5]), [4, 5])
        self.assertEqual(self.gpus_in([4, 5], SLURM_STEP_GPUS="4,5", CUDA_VISIBLE_DEVICES="0,1"),
                         [4, 5])
        self.assertEqual(self.gpus_in([4, 5], SLURM_STEP_GPUS="4,5", CUDA_VISIBLE_DEVICES="1"), [5])

    def test_numbers_of_the_host_are_known_by_slurms_list(self):
        self.assertEqual(self.gpus_in([4, 5], SLURM_JOB_GPUS="4,5", CUDA_VISIBLE_DEVICES="4,5"),
                         [4, 5])

    def test_a_number_outside_of_what_it_allows_is_a_warning(self):
        variables = {"SLURM_JOB_GPUS": "4,5", "CUDA_VISIBLE_DEVICES": "5"}
        self.assertEqual(self.gpus_in([4, 5], **variables), [4, 5])
        done = self.call_in([4, 5], "--nv", "--rootfs", self.root, "--", "sh", "-c",
                            "cd /dev; echo nvidia[0-9] ${CUDA_VISIBLE_DEVICES-unset}", **variables)
        self.assertEqual(done.stdout, "nvidia4 nvidia5 unset\n")
        self.assertEqual(done.stderr,
                         "gpuctr-setup: warning: CUDA_VISIBLE_DEVICES=5: ignored: its numbers count "
                         "from 0 what may be used, and the device cgroup leaves 2 GPUs\n")
        done = self.call_in([4, 5], "plan", "--nv", CUDA_VISIBLE_DEVICES="9")
        self.assertEqual(done.returncode, 3, done)
        self.assertIn("CUDA_VISIBLE_DEVICES=9 grants no GPU that may be used\n", done.stderr)

    def test_it_knows_better_than_the_variable_of_a_task(self):
        """Two tasks with a GPU each: both are told that theirs is 1."""
        variables = {"SLURM_STEP_GPUS": "1", "CUDA_VISIBLE_DEVICES": "0"}
        self.assertEqual(self.gpus_in([1], **variables), [1])
        plan = self.planned_in([2], **variables)
        self.assertEqual([gpu["index"] for gpu in plan["drivers"][0]["gpus"]], [2])
        self.assertIn(("variable_ignored", "SLURM_STEP_GPUS=1", "/dev/nvidia1",
                       "the device cgroup decides: it forbids GPU 1"),
                      [(entry["code"], entry["object"], entry["evidence"], entry["text"])
                       for entry in plan["findings"]])
        self.assertNotIn("warning", [entry["severity"] for entry in plan["findings"]])
        done = self.call_in([2], "-v", "plan", "--nv", **variables)
        self.assertRegex(done.stdout, "SLURM_STEP_GPUS=1 +/dev/nvidia1 +the device cgroup decides: ")
        done = self.call_in([2], "--nv", "--rootfs", self.root, "--", "sh", "-c",
                            "cd /dev; echo nvidia[0-9]", **variables)
        self.assertEqual((done.stdout, done.stderr), ("nvidia2\n", ""))

    def test_no_variable_grants_what_it_forbids(self):
        for name, value in (("NVIDIA_VISIBLE_DEVICES", "all"), ("NVIDIA_VISIBLE_DEVICES", "0-7"),
                            ("SLURM_STEP_GPUS", "0-7"), ("SLURM_JOB_GPUS", "0-7")):
            with self.subTest(name=name, value=value):
                self.assertEqual(self.gpus_in([2, 3], **{name: value}), [2, 3])

    def test_where_it_decides_a_list_need_not_be_read(self):
        self.assertEqual(self.gpus_in([2, 3], SLURM_STEP_GPUS="GPU-a,GPU-b"), [2, 3])

    def test_one_that_leaves_more_than_the_list_has_is_not_slurms(self):
        """As of a container with four GPUs, in which a job's variables are set."""
        with self.nothing_changes():
            for words in (("plan", "--nv"), ("--nv", "--rootfs", self.root)):
                done = self.call_in([0, 1, 2, 3], *words, SLURM_JOB_GPUS="6,7")
                self.assertEqual(done.returncode, 3, done)
                self.assertEqual(done.stderr,
                                 "gpuctr-setup: SLURM_JOB_GPUS=6,7: the device cgroup forbids GPU 6 "
                                 "and leaves 4 GPUs, more than the list has\n"
                                 "hint: name GPUs with --device instead\n")
            done = self.call_in([0, 1, 2, 3], "plan", "--nv", SLURM_JOB_GPUS="gpu:2")
            self.assertEqual(done.returncode, 2, done)
        self.assertEqual(self.gpus_in([0, 1, 2, 3], SLURM_JOB_GPUS="2,3"), [2, 3])
        self.assertEqual(self.gpus_in([0, 1, 2, 3], SLURM_JOB_GPUS="4-7"), [0, 1, 2, 3])

    def test_list_tells_what_it_forbids(self):
        done = self.call_in([0, 1], "list", "--nv", "--format", "json")
        nodes = json.loads(done.stdout)["drivers"][0]["nodes"]
        self.assertEqual([node["cgroup_forbids"] for node in nodes if node["gpu"] is not None],
                         2 * [False] + 6 * [True])

    def test_permissions_alone_are_no_truth_about_slurm(self):
        os.chmod("/dev/nvidia1", 0o600)
        self.addCleanup(os.chmod, "/dev/nvidia1", 0o666)
        done = self.command("plan", "--nv", prefix=harness.ORDINARY_USER, status=3,
                            env={"SLURM_STEP_GPUS": "1"})
        self.assertIn("SLURM_STEP_GPUS=1 grants no GPU that may be used", done.stderr)


class Toolkit(Job):
    """NVIDIA_VISIBLE_DEVICES in a user's shell, and in a container."""

    vendor = "--nv"

    def test_it_chooses(self):
        uuid = self.driver()["gpus"][6]["uuid"]
        for value, gpus in (("3,1", [1, 3]), (uuid, [6]), ("all", list(range(8))),
                            ("nvidia.com/gpu=2", [2]), ("void", list(range(8))),
                            ("", list(range(8)))):
            with self.subTest(value=value):
                self.assertEqual(self.chosen(NVIDIA_VISIBLE_DEVICES=value), gpus)
                self.assertEqual(self.variables(env={"NVIDIA_VISIBLE_DEVICES": value}),
                                 {"NVIDIA_VISIBLE_DEVICES": None})
        self.assertEqual(self.chosen(NVIDIA_VISIBLE_DEVICES="2,3", CUDA_VISIBLE_DEVICES="3"), [3])

    def test_what_names_no_gpu_is_refused_with_its_name(self):
        for value, word in (("9", "9"), ("0:6", "0:6"), ("5,x", "x"), ("0,", ""),
                            ("MIG-8e8f6868-c49e", "MIG-8e8f6868-c49e")):
            self.assertIn(f"gpuctr-setup: NVIDIA_VISIBLE_DEVICES={value}: '{word}' is not the name "
                          "of a GPU of this host\nhint: ",
                          self.refused(3, NVIDIA_VISIBLE_DEVICES=value))
        self.assertIn("gpuctr-setup: NVIDIA_VISIBLE_DEVICES=none grants no GPU that may be used\n",
                      self.refused(3, NVIDIA_VISIBLE_DEVICES="none"))


class Amd(Job):

    vendor = "--rocm"

    def test_slurm_counts_amds_gpus_too(self):
        self.assertEqual(self.chosen(SLURM_STEP_GPUS="5,6"), [5, 6])
        self.assertEqual(self.chosen(SLURM_STEP_GPUS="5,6", NVIDIA_VISIBLE_DEVICES="none"), [5, 6])
        self.assertIn("SLURM_STEP_GPUS=8: there is no AMD GPU 8",
                      self.refused(3, SLURM_STEP_GPUS="8"))


class SeveralVendors(Job):

    vendor = "--gpu"

    def test_slurm_does_not_say_whose_gpus_it_counts(self):
        said = self.refused(2, SLURM_STEP_GPUS="0")
        self.assertIn("SLURM_STEP_GPUS=0: it counts the GPUs of several vendors", said)
        self.refused(2, "--nv", "--rocm", SLURM_STEP_GPUS="0")
        self.vendor = "--nv"
        self.assertEqual(self.chosen(SLURM_STEP_GPUS="1"), [1])


if __name__ == "__main__":
    unittest.main()
