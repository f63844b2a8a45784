# SPDX-License-Identifier: MIT
"""--image-env and --request-env: what a container asks for by its own variables."""

import json
import os
import re
import shutil
import unittest

import config_test
import harness
from config_test import CONFIG

setUpModule = config_test.setUpModule
tearDownModule = config_test.tearDownModule

NAMED = "name GPUs with --device, which the container's environment does not change"


class Case(config_test.Config):
    def planned(self, *words, **options):
        done = self.run_setup("plan", "--nv", "--rootfs", self.root, "--format", "json", *words,
                              stdout=None, **options)
        return json.loads(done.stdout)

    def gpus(self, *words, **options):
        return [gpu["index"] for gpu in self.planned(*words, **options)["drivers"][0]["gpus"]]

    def refused(self, status, problem, *words, hint=NAMED, **options):
        self.run_setup("plan", "--nv", "--rootfs", self.root, *words, status=status,
                       stderr=f"gpuctr-setup: {problem}\n" + (f"hint: {hint}\n" if hint else ""),
                       **options)

    def image_has(self, path, content):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        return file


class RequestEnv(Case):
    def test_it_names_gpus(self):
        uuid = self.planned()["drivers"][0]["gpus"][6]["uuid"]
        for value, gpus in (("3,1", [1, 3]), (uuid, [6]), ("all", list(range(8))), ("none", []),
                            ("nvidia.com/gpu=2", [2]), ("", list(range(8)))):
            with self.subTest(value):
                self.assertEqual(self.gpus("--request-env", f"NVIDIA_VISIBLE_DEVICES={value}"), gpus)

    def test_what_a_person_chooses_counts_more(self):
        words = ("--request-env", "NVIDIA_VISIBLE_DEVICES=3",
                 "--request-env", "NVIDIA_DRIVER_CAPABILITIES=utility")
        for chosen, gpus in (("1", [1]), ("all", list(range(8))), ("auto", list(range(8)))):
            self.assertEqual(self.gpus("--device", chosen, *words), gpus)
        self.assertEqual(self.gpus(*words, env=os.environ | {"GPUCTR_DEVICE": "5"}), [5])

        def sources(*more):
            return [item["source"] for item in self.planned(*words, *more)["items"]]
        self.assertFalse([path for path in sources() if path and "libcuda.so" in path])
        self.assertTrue([path for path in sources("--driver-capabilities", "compute")
                         if path and "libcuda.so" in path])

    def test_of_several_values_the_last_counts(self):
        self.assertEqual(self.gpus("--request-env", "NVIDIA_VISIBLE_DEVICES=3",
                                   "--request-env", "NVIDIA_VISIBLE_DEVICES=4"), [4])

    def test_what_cannot_be_had(self):
        self.refused(3, "NVIDIA_VISIBLE_DEVICES=void of the container asks for no GPUs and no files",
                     "--request-env", "NVIDIA_VISIBLE_DEVICES=void")
        self.refused(3, "NVIDIA_VISIBLE_DEVICES=9 of the container: '9' is not the name of a GPU of "
                     "this host", "--request-env", "NVIDIA_VISIBLE_DEVICES=9")
        done = self.run_setup("plan", "--nv", "--request-env", "X", status=2, stderr=None)
        self.assertIn("'X' is not NAME=VALUE", done.stderr)
        with self.nothing_changes():
            done = self.run_setup("--nv", "--if-present", "--rootfs", self.root, "--request-env",
                                  "NVIDIA_VISIBLE_DEVICES=void", stderr=None)
            self.assertIn("warning: NVIDIA_VISIBLE_DEVICES=void of the container", done.stderr)

    def test_it_gets_no_more_than_it_would_without(self):
        words = ("--request-env", "NVIDIA_VISIBLE_DEVICES=all")
        self.assertEqual(self.gpus(*words, env=os.environ | {"SLURM_STEP_GPUS": "2,3"}), [2, 3])
        self.write(CONFIG, "allowed-devices: [0, 1]\n")
        self.assertEqual(self.gpus(*words), [0, 1])
        self.refused(6, "NVIDIA_VISIBLE_DEVICES=5 of the container names no GPU that it may have "
                     "here", "--request-env", "NVIDIA_VISIBLE_DEVICES=5")
        done = self.run_setup("plan", "--nv", "--request-env", "NVIDIA_VISIBLE_DEVICES=1,5",
                              stdout=None, stderr=None)
        self.assertEqual(done.stderr,
                         "gpuctr-setup: warning: NVIDIA_VISIBLE_DEVICES=1,5: the container may not "
                         "have GPU 5 of these here\n")

    def test_it_has_requirements(self):
        self.gpus("--request-env", "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470")
        unmet = ("--request-env", "NVIDIA_REQUIRE_CUDA=cuda>=99")
        done = self.run_setup("plan", "--nv", *unmet, status=7, stderr=None)
        self.assertIn("NVIDIA_REQUIRE_CUDA of the container: requirement cuda>=99: cannot be checked",
                      done.stderr.replace("not met", "cannot be checked"))
        self.gpus(*unmet, "--request-env", "NVIDIA_DISABLE_REQUIRE=true")
        self.run_setup("plan", "--nv", *unmet, "--request-env", "NVIDIA_DISABLE_REQUIRE=0",
                       status=7, stderr=None)
        done = self.run_setup("plan", "--nv", "--request-env", "NVIDIA_REQUIRE_X=magic", status=2,
                              stderr=None)
        self.assertIn("NVIDIA_REQUIRE_X of the container: ", done.stderr)

    def test_a_restricted_call_may_have_it_and_reads_no_file(self):
        self.write(CONFIG, "restricted-user: nobody\n")
        self.run_setup("--restricted", "plan", "--nv", "--request-env", "NVIDIA_VISIBLE_DEVICES=1",
                       stdout=None)
        self.run_setup("--restricted", "plan", "--nv", "--image-env", "/etc/shadow", status=6,
                       stderr=None)

    def test_a_container_that_runs_with_it(self):
        self.run_setup("--nv", "--rootfs", self.root, "--request-env", "NVIDIA_VISIBLE_DEVICES=3",
                       "--", "sh", "-c", "cd /dev; echo nvidia[0-9]", stdout="nvidia3\n")


class ImageEnv(Case):
    def test_an_image_of_apptainer(self):
        self.assertEqual(self.gpus("--image-env", "auto"), list(range(8)))
        self.image_has(".singularity.d/env/10-docker2singularity.sh",
                       "#!/bin/sh\n"
                       "export PATH=\"/usr/bin:/bin\"\n"
                       "export NVIDIA_VISIBLE_DEVICES=\"${NVIDIA_VISIBLE_DEVICES:-\"2,4\"}\"\n"
                       "export NVIDIA_REQUIRE_CUDA=\"${NVIDIA_REQUIRE_CUDA:-\"cuda>=99\"}\"\n")
        self.image_has(".singularity.d/env/90-environment.sh",
                       "#!/bin/sh\nNVIDIA_DISABLE_REQUIRE=1\nexport NVIDIA_DISABLE_REQUIRE\n"
                       "echo executed >/executed\nexport X=$(touch /executed)\n")
        self.assertEqual(self.gpus(), list(range(8)))
        self.assertEqual(self.gpus("--image-env", "auto"), [2, 4])
        self.assertEqual(self.gpus("--image-env", "auto", "--request-env",
                                   "NVIDIA_VISIBLE_DEVICES=3"), [3])
        for variables, gpus in (({"APPTAINERENV_NVIDIA_VISIBLE_DEVICES": "5"}, [5]),
                                ({"SINGULARITYENV_NVIDIA_VISIBLE_DEVICES": "6"}, [6])):
            self.assertEqual(self.gpus("--image-env", "auto", env=os.environ | variables), gpus)
            self.assertEqual(self.gpus(env=os.environ | variables), list(range(8)))
        done = self.run_setup("plan", "-v", "--nv", "--rootfs", self.root, "--image-env", "auto",
                              stdout=None, stderr=None)
        self.assertIn("/.singularity.d/env/90-environment.sh: left out what only a shell would "
                      "know, in lines 4-5", done.stderr)
        self.assertFalse((self.root / "executed").exists())
        self.write(CONFIG, "image-env: auto\n")
        self.assertEqual(self.gpus(), [2, 4])
        self.run_setup("plan", "--nv", stdout=None)

    def test_an_image_of_charliecloud(self):
        self.image_has("ch/environment", "PATH=/bin\nNVIDIA_VISIBLE_DEVICES=7\nX='y z'\n")
        self.assertEqual(self.gpus("--image-env", "auto"), [7])
        self.run_setup("--nv", "--rootfs", self.root, "--image-env", "auto", "--", "sh", "-c",
                       "cd /dev; echo nvidia[0-9]", stdout="nvidia7\n")
        self.apply("--image-env", "auto")
        self.assertEqual([name for name in sorted(os.listdir(self.root / "dev"))
                          if re.fullmatch(r"nvidia\d", name)], ["nvidia7"])
        self.undo()

    def test_a_configuration_of_a_runtime(self):
        config = {"ociVersion": "1.2.0", "process": {"env": ["NVIDIA_VISIBLE_DEVICES=0,1"]}}
        file = self.write(f"{harness.DIRECTORY}/config.json", json.dumps(config))
        self.assertEqual(self.gpus("--image-env", file), [0, 1])
        config["mounts"] = [{"destination": f"/var/run/nvidia-container-devices/{device}",
                             "source": "/dev/null", "type": "bind"} for device in ("3", "5")]
        self.write(file, json.dumps(config))
        self.assertEqual(self.gpus("--image-env", file), [3, 5])
        self.write(file, json.dumps({"config": {"Env": ["NVIDIA_VISIBLE_DEVICES=6"]}}))
        self.assertEqual(self.gpus("--image-env", file), [6])
        self.write(file, "NVIDIA_VISIBLE_DEVICES=4\n")
        self.assertEqual(self.gpus("--image-env", file), [4])
        self.write(file, "export NVIDIA_VISIBLE_DEVICES=\"5\"\n")
        self.assertEqual(self.gpus("--image-env", file), [5])

    def test_a_file_that_cannot_be_read(self):
        hint = "name an OCI configuration, a script of exports, or a file with lines NAME=VALUE"
        self.refused(2, "--image-env /nowhere: No such file or directory", "--image-env", "/nowhere",
                     hint=hint)
        file = self.write(f"{harness.DIRECTORY}/config.json", "{")
        done = self.run_setup("plan", "--nv", "--image-env", file, status=2, stderr=None)
        self.assertRegex(done.stderr, f"gpuctr-setup: --image-env {file}: no JSON document: ")
        self.write(CONFIG, f"image-env: {file}\n")
        done = self.run_setup("plan", "--nv", status=2, stderr=None)
        self.assertIn(f"{CONFIG}:1: image-env: {file}: no JSON document: ", done.stderr)


    def test_a_file_of_which_nothing_is_known_is_a_warning(self):
        for content in ("root:x:0:0:root:/root:/bin/sh\n", "if true; then\nexport A=1\nfi\n"):
            file = self.write(f"{harness.DIRECTORY}/other", content)
            self.run_setup("plan", "--nv", "--image-env", file, stdout=None,
                           stderr=f"gpuctr-setup: warning: --image-env {file}: no variable in it is "
                           "known\n")
        self.run_setup("plan", "--nv", "--image-env", self.write(file, "# none\n"), stdout=None)


class HostileImages(Case):
    """What is not a file of the image is not read, and nothing hangs or grows."""

    def test_links_lead_nowhere(self):
        outside = harness.DIRECTORY / "outside"
        outside.mkdir(exist_ok=True)
        self.addCleanup(shutil.rmtree, outside)
        (outside / "environment").write_text("NVIDIA_VISIBLE_DEVICES=1\n")
        (outside / "1.sh").write_text("export NVIDIA_VISIBLE_DEVICES=1\n")
        (self.root / "ch").mkdir()
        (self.root / "ch/environment").symlink_to(outside / "environment")
        (self.root / ".singularity.d").mkdir()
        (self.root / ".singularity.d/env").symlink_to(outside)
        self.assertEqual(self.gpus("--image-env", "auto"), list(range(8)))
        up = "../" * 20
        for target in (f"{up}{outside}/environment", "/proc/self/environ", "/dev/zero",
                       "environment"):
            (self.root / "ch/environment").unlink()
            (self.root / "ch/environment").symlink_to(target)
            done = self.run_setup("plan", "--nv", "--rootfs", self.root, "--image-env", "auto",
                                  "--format", "json", status=None, stdout=None, stderr=None)
            if done.returncode == 0:
                self.assertEqual(len(json.loads(done.stdout)["drivers"][0]["gpus"]), 8)
            else:
                self.assertEqual(done.returncode, 5, done.stderr)

    def test_no_file_is_waited_for_and_none_is_too_large(self):
        for make in (os.mkfifo, os.mkdir, lambda path: open(path, "wb").truncate(1 << 40)):
            for path in ("ch/environment", ".singularity.d/env/1.sh"):
                file = self.root / path
                file.parent.mkdir(parents=True, exist_ok=True)
                make(file)
                done = self.run_setup("plan", "--nv", "--rootfs", self.root, "--image-env", "auto",
                                      status=5, stderr=None)
                self.assertIn(f"the environment of the image: /{path}: ", done.stderr)
                (os.rmdir if file.is_dir() else os.unlink)(file)

    def test_its_values_are_shown_as_one_line(self):
        self.image_has(".singularity.d/env/1.sh",
                       "export NVIDIA_VISIBLE_DEVICES=\"x\x1b[2J\ny" + 9000 * "z" + "\"\n")
        done = self.run_setup("plan", "--nv", "--rootfs", self.root, "--image-env", "auto", status=3,
                              stderr=None)
        self.assertEqual(done.stderr.count("\n"), 2)
        self.assertNotIn("\x1b", done.stderr)
        self.assertLess(len(done.stderr), 1000)


if __name__ == "__main__":
    unittest.main()
