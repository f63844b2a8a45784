# SPDX-License-Identifier: MIT
"""--config: another configuration than the site's, and never another policy."""

import os
import shutil
import unittest

import config_test
import harness
from config_test import CONFIG
from harness import DIRECTORY

setUpModule = config_test.setUpModule
tearDownModule = config_test.tearDownModule


class Named(config_test.Config):
    def named(self, text, mode=0o644):
        path = self.write(DIRECTORY / "named.yaml", text, mode)
        self.addCleanup(lambda: path.exists() and path.unlink())
        return path

    def test_takes_the_place_of_the_sites(self):
        self.write(CONFIG, "device: 1\nlayuot: x\n")
        file = self.named("device: [2, 3]\n")
        self.assertEqual(self.gpus("--config", file), [2, 3])
        self.assertEqual(self.gpus(GPUCTR_CONFIG=str(file)), [2, 3])
        self.assertEqual(self.gpus("--config", file, GPUCTR_DEVICE="4"), [4])
        self.assertEqual(self.gpus("--config", file, "--device", "5", GPUCTR_DEVICE="4"), [5])
        self.assertEqual(self.gpus("--config", file, GPUCTR_CONFIG="/nowhere"), [2, 3])
        self.refused()

    def test_may_be_named_before_the_command(self):
        file = self.named("format: json\n")
        for words in (["--config", file, "list"], ["-v", f"--config={file}", "list"],
                      ["list", "--config", file]):
            self.assertTrue(self.run_setup(*words, stdout=None).stdout.startswith("{"))

    def test_may_be_relative(self):
        self.named("device: 2\n")
        done = self.run_setup("plan", "--nv", "--config", "named.yaml", stdout=None, cwd=DIRECTORY)
        self.assertIn("/dev/nvidia2", done.stdout)
        self.assertNotIn("/dev/nvidia1", done.stdout)

    def test_has_to_be_there(self):
        self.assertTrue(self.refused("plan", "--nv", "--config", "/nowhere").startswith(
            "gpuctr-setup: configuration /nowhere: No such file or directory\n"))
        self.refused("undo", "--all", "--config", "/nowhere")
        self.refused("list", GPUCTR_CONFIG="/nowhere")
        self.assertIn("--config: FILE is empty", self.refused("list", "--config", ""))

    def test_has_mistakes_like_the_sites(self):
        file = self.named("device: 0\nlayuot: x\n")
        mistake = f"{file}:2: layuot: unknown key"
        self.assertTrue(self.refused("plan", "--nv", "--config", file).startswith(
            f"gpuctr-setup: {mistake}\n"))
        self.run_setup("undo", "--all", "--config", file,
                       stderr=f"gpuctr-setup: warning: {mistake}; it is ignored\n")
        file = self.named("device: 9\n")
        self.assertIn(f"{file}:1: device: 9: no such GPU", self.refused("plan", "--nv", "--config",
                                                                        file))
        file = self.named("device: [\n")
        for words in (("plan", "--nv"), ("undo", "--all"), ("list",)):
            self.refused(*words, "--config", file)

    def test_has_to_be_trusted_like_the_sites(self):
        file = self.named("device: 0\n", mode=0o666)
        self.assertIn(f"{file}: everybody may write it\n",
                      self.refused("plan", "--nv", "--config", file, status=6))
        os.chmod(file, 0o644)
        os.chown(file, 4711, 4711)
        self.assertIn(f"{file}: belongs to user 4711\n",
                      self.refused("plan", "--nv", "--config", file, status=6))

    def test_may_belong_to_its_user(self):
        file = self.named("device: 2\n")
        os.chown(file, 65534, 65534)
        DIRECTORY.chmod(0o755)
        done = harness.call(*harness.ORDINARY_USER, harness.SETUP, "plan", "--nv", "--config", file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("/dev/nvidia2", done.stdout)


    def test_is_not_for_a_program_with_raised_privileges(self):
        """A variable is ignored there; what is typed is refused."""
        raised = shutil.copy(harness.SETUP, DIRECTORY / "raised")
        os.chmod(raised, 0o4755)
        self.addCleanup(os.unlink, raised)
        file = self.named("device: 9\n")
        os.chmod(DIRECTORY, 0o755)
        for words, environment, status in ((["--config", file], {}, 6),
                                           ([], {"GPUCTR_CONFIG": str(file)}, 0)):
            done = harness.call(*harness.ORDINARY_USER, raised, "plan", "--nv", *words,
                                env=os.environ | environment)
            self.assertEqual(done.returncode, status, done.stderr)


class Policy(Named):
    def test_stays_that_of_the_site(self):
        self.write(CONFIG, "allowed-devices: [1, 2]\n")
        file = self.named("device: [1, 3]\n")
        self.refused("plan", "--nv", "--config", file, status=6)
        self.assertEqual(self.gpus("--config", self.named("layout: tree\n")), [1, 2])

    def test_is_not_in_it(self):
        for key in ("allowed-devices: [0]", "restricted: true", "restricted: false",
                    "restricted-user: gpu", "restricted-rootfs: [/]"):
            file = self.named(key + "\n")
            name = key.partition(":")[0]
            for words in (("plan", "--nv"), ("undo", "--all"), ("list",)):
                self.assertEqual(self.refused(*words, "--config", file),
                                 f"gpuctr-setup: {file}:1: {name}: only {CONFIG} sets it\n")

    def test_counts_where_it_cannot_be_read(self):
        self.write(CONFIG, "restricted: [\n")
        file = self.named("device: 0\n")
        for words in (("plan", "--nv"), ("undo", "--all"), ("list",)):
            self.assertIn(f"{CONFIG}:", self.refused(*words, "--config", file))

    def test_of_a_restricted_call_is_not_evaded(self):
        self.write(CONFIG, "restricted-user: nobody\n")
        file = self.named("device: 0\n")
        refusal = ("gpuctr-setup: --config: refused in a restricted call\n"
                   f"hint: the configuration is {CONFIG}\n")
        for words in (("--restricted", "list"), ("--restricted", "plan", "--nv")):
            self.assertEqual(self.refused(*words, "--config", file, status=6), refusal)
        self.write(CONFIG, "restricted-user: nobody\nrestricted: true\n")
        self.assertEqual(self.refused("list", "--config", file, status=6), refusal)
        other = self.named("format: json\n")
        done = self.run_setup("--restricted", "list", stdout=None,
                              env=os.environ | {"GPUCTR_CONFIG": str(other)})
        self.assertFalse(done.stdout.startswith("{"))


if __name__ == "__main__":
    unittest.main()
