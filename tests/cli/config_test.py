# SPDX-License-Identifier: MIT
"""Where gpuctr-setup takes its options from, and what a site can say about files."""

import json
import os
import pathlib
import shutil
import unittest

import harness
from harness import DIRECTORY, TREE

CONFIG = "/etc/gpucontainer/config.yaml"
CATALOGUES = "/etc/gpucontainer/catalogue.d"


def setUpModule():
    """An /etc of its own to write in, over that of the simulated host."""
    for name in ("etc", "work"):
        (DIRECTORY / name).mkdir()
    harness.must("mount", "-t", "overlay", "-o",
                 f"lowerdir=/etc,upperdir={DIRECTORY}/etc,workdir={DIRECTORY}/work", "test", "/etc")


def tearDownModule():
    harness.must("umount", "/etc")


class Config(harness.Case):

    def setUp(self):
        super().setUp()
        os.makedirs(CATALOGUES)
        self.addCleanup(shutil.rmtree, "/etc/gpucontainer")

    def write(self, path, text, mode=0o644):
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def gpus(self, *words, **variables):
        """Indexes of the GPUs that a plan has."""
        done = harness.setup("plan", "--nv", "--format", "json", *words,
                             env=os.environ | variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [gpu["index"] for gpu in json.loads(done.stdout)["drivers"][0]["gpus"]]

    @staticmethod
    def uuid(index):
        done = harness.setup("list", "--nv", "--format", "json")
        return json.loads(done.stdout)["drivers"][0]["gpus"][index]["uuid"]

    def refused(self, *words, status=2, prefix=(), **variables):
        done = harness.call(*prefix, harness.SETUP, *(words or ("plan", "--nv")),
                            env=os.environ | variables)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        return done.stderr


class Order(Config):

    def test_a_variable_beats_the_file_and_an_option_both(self):
        self.assertEqual(self.gpus(), list(range(8)))
        self.write(CONFIG, "# the site's\ndevice: [1, '2']\n")
        self.assertEqual(self.gpus(), [1, 2])
        self.assertEqual(self.gpus(GPUCTR_DEVICE="3,4"), [3, 4])
        self.assertEqual(self.gpus("--device", "5", GPUCTR_DEVICE="3,4"), [5])
        self.assertEqual(self.gpus(GPUCTR_DEVICE=""), [1, 2])

    def test_every_option_of_a_command_has_them(self):
        self.write(CONFIG, f"nv: true\nrootfs: {self.root}\ndriver-capabilities: [utility]\n"
                           "write: never\nstate-dir: /var/lib/elsewhere\n")
        before = self.state()

        self.run_setup("apply")
        self.assertTrue(list(pathlib.Path("/var/lib/elsewhere").glob("*/*.json")))
        self.assertEqual(os.listdir(self.root / "dev").count("nvidia0"), 1)
        self.assertFalse((self.root / f"{TREE[1:]}/lib64/libcuda.so.1").exists())
        self.run_setup("undo")

        self.assert_state(before)
        shutil.rmtree("/var/lib/elsewhere")

    def test_settings_for_one_form_do_not_hinder_the_other(self):
        self.write(CONFIG, "write: always\nstate-dir: /var/lib/elsewhere\nsetenv: [A=b, C=d]\n")

        done = self.apply("--", "sh", "-c", "echo $A$C", stdout=None)
        self.assertEqual(done.stdout, "bd\n")
        os.unlink(CONFIG)
        self.apply(env=os.environ | {"GPUCTR_CHDIR": "/usr"})
        self.undo()

    def test_what_is_typed_alone_says_what_is_undone(self):
        other = harness.new_root()
        self.addCleanup(shutil.rmtree, other)
        self.apply()
        here = os.open(self.root, os.O_PATH)
        self.addCleanup(os.close, here)

        for variables in ({"GPUCTR_ALL": "true"}, {"GPUCTR_ROOTFS_FD": str(here)},
                          {"GPUCTR_PID": str(os.getpid())}, {"GPUCTR_ROOTFS": str(self.root)}):
            self.run_setup("undo", "--rootfs", other, env=os.environ | variables, pass_fds=[here],
                           stderr=f"gpuctr-setup: nothing is set up in {other}\n")
        self.write(CONFIG, "all: true\n")
        self.run_setup("undo", "--rootfs", other,
                       stderr=f"gpuctr-setup: warning: {CONFIG}:1: all: unknown key; it is "
                              f"ignored\ngpuctr-setup: nothing is set up in {other}\n")
        os.unlink(CONFIG)
        self.assertEqual(len(harness.journals()), 1)
        self.run_setup("undo", "--all", env=os.environ | {"GPUCTR_ROOTFS": str(other)})
        self.assertEqual(harness.journals(), [])

    def test_a_variable_takes_no_staged_tree_away(self):
        tree = DIRECTORY / "staged"
        words = ("prepare", "--nv", "--staged-tree", tree)
        self.run_setup(*words)
        self.run_setup(*words, env=os.environ | {"GPUCTR_UNDO": "true"})
        self.assertTrue(tree.is_mount())
        self.run_setup(*words, "--undo")

    def test_raised_privileges_take_no_variable(self):
        raised = shutil.copy(harness.SETUP, DIRECTORY / "raised")
        os.chmod(raised, 0o4755)
        self.addCleanup(os.unlink, raised)
        words = ["plan", "--nv", "--format", "json", "--device", "1"]
        environment = os.environ | {"GPUCTR_WRITE": "nonsense"}

        for command, status in ((harness.SETUP, 2), (raised, 0)):
            done = harness.call(*harness.ORDINARY_USER, command, *words, env=environment)
            self.assertEqual(done.returncode, status, done.stderr)
        (DIRECTORY / "gpucontainer").touch()
        environment = os.environ | {"XDG_STATE_HOME": str(DIRECTORY)}
        for command, status in ((harness.SETUP, 8), (raised, 0)):
            done = harness.call(*harness.ORDINARY_USER, command, "status", "--all",
                                env=environment)
            self.assertEqual(done.returncode, status, done.stderr)


class Policy(Config):

    def test_only_allowed_devices_are_given(self):
        self.write(CONFIG, "allowed-devices: [1, 3]\n")
        self.assertEqual(self.gpus(), [1, 3])
        self.assertEqual(self.gpus("--device", "3"), [3])
        self.assertEqual(
            self.refused("plan", "--nv", "--device", "0,1", status=6).splitlines()[0],
            "gpuctr-setup: --device 0,1: GPU 0 is not one of the allowed devices: 1,3")
        self.assertIn("(error 6)", self.refused("--nv", "--rootfs", self.root, "--device", "all",
                                                "--", "true", status=125))

    def test_a_refusal_names_what_chose_others(self):
        path = self.write(CONFIG, "allowed-devices: 0-3\n")
        allowed = "of the allowed devices: 0-3\nhint: the allowed devices are the administrator's"
        for uuid in (False, True):
            value = self.uuid(6) if uuid else "6"
            self.assertIn(f"gpuctr-setup: CUDA_VISIBLE_DEVICES={value} leaves none {allowed}",
                          self.refused(status=6, CUDA_VISIBLE_DEVICES=value))
        self.assertEqual(self.gpus(CUDA_VISIBLE_DEVICES="2,6"), [2])
        self.assertEqual(self.gpus(NVIDIA_VISIBLE_DEVICES="all"), [0, 1, 2, 3])
        self.assertEqual(self.gpus(NVIDIA_VISIBLE_DEVICES="3,6", SLURM_JOB_GPUS="0-7"), [3])
        self.assertIn("gpuctr-setup: SLURM_STEP_GPUS=5-7 and NVIDIA_VISIBLE_DEVICES=6 leave none "
                      f"{allowed}",
                      self.refused(status=6, SLURM_STEP_GPUS="5-7", NVIDIA_VISIBLE_DEVICES="6"))
        self.assertIn(f"gpuctr-setup: --device 6: GPU 6 is not one {allowed}",
                      self.refused("plan", "--nv", "--device", "6", status=6))
        self.assertIn(f"gpuctr-setup: GPUCTR_DEVICE: 6: GPU 6 is not one {allowed}",
                      self.refused(status=6, GPUCTR_DEVICE="6"))
        self.write(path, "allowed-devices: 0-3\ndevice: [1, 6]\n")
        self.assertIn(f"gpuctr-setup: {path}:2: device: 1,6: GPU 6 is not one {allowed}",
                      self.refused(status=6))
        self.assertIn("gpuctr-setup: GPUCTR_DEVICE: 9: no such GPU\nhint: ",
                      self.refused(status=2, GPUCTR_DEVICE="1,9"))
        self.assertIn("gpuctr-setup: GPUCTR_DEVICE: 9: no such GPU\n",
                      self.refused("--nv", "--rootfs", self.root, "--", "true", status=2,
                                   GPUCTR_DEVICE="9"))

    def test_nothing_but_the_file_says_which(self):
        self.write(CONFIG, "allowed-devices: 1\n")
        self.assertEqual(self.gpus(GPUCTR_ALLOWED_DEVICES="all"), [1])
        self.assertIn(f"--allowed-devices: only {CONFIG} sets it",
                      self.refused("plan", "--nv", "--allowed-devices", "all"))
        self.assertNotIn("allowed", harness.must(harness.SETUP, "plan", "--help"))


class Catalogue(Config):

    RULES = """vendor: nvidia
files:
  - library: libcrypt.so.1
    capability: utility
    unversioned: true
    reason: hashes of the site
  - library: libnvidia-nvvm.so.4
    capability: none
    reason: not wanted on this site
  - tool: setpriv
    capability: compute
    reason: a tool of the site
"""

    def files(self, *words):
        done = self.run_setup("list", "--format", "json", *words, stdout=None)
        files = json.loads(done.stdout)["drivers"][0]["files"]
        return {file["soname"] or file["name"]: file for file in files}

    def check_set_up(self, *words):
        self.apply("--driver-capabilities", "compute,utility", *words)
        libraries = os.listdir(self.root / f"{TREE[1:]}/lib64")
        self.assertIn("libcrypt.so.1", libraries)
        self.assertNotIn("libnvidia-nvvm.so.4", libraries)
        self.assertIn("libcuda.so.1", libraries)
        self.assertIn(f"libcrypt.so.1 (libc6,x86-64) => {TREE}/lib64/libcrypt.so.1",
                      self.inside("ldconfig", "-p"))
        self.inside(f"{TREE}/bin/setpriv", "--version")
        self.undo()

    def test_a_file_named_by_an_option(self):
        site = self.write(DIRECTORY / "site.yaml", self.RULES)
        self.assertEqual(self.files("--catalogue", site)["libcrypt.so.1"]["reason"],
                         "hashes of the site")
        self.assertEqual(self.files("--catalogue", site)["libcrypt.so.1"]["capability"], "utility")
        self.check_set_up("--catalogue", site)

    def test_a_file_of_the_site(self):
        self.write(f"{CATALOGUES}/site.yaml", self.RULES)
        self.write(f"{CATALOGUES}/README", "not read")
        self.check_set_up()
        later = self.write(DIRECTORY / "later.yaml",
                           self.RULES.replace("capability: none", "capability: video"))
        self.assertEqual(self.files()["libnvidia-nvvm.so.4"]["capability"], "none")
        self.assertEqual(self.files("--catalogue", later)["libnvidia-nvvm.so.4"]["capability"],
                         "video")

    def test_apptainers_list(self):
        self.write(f"{CATALOGUES}/nvliblist.conf", "# names\nlibcrypt.so\nlibGL.so\nnvidia-smi\n"
                                                   "libcuda.so\n/usr/share/glvnd/x.json\n")
        files = self.files()
        self.assertEqual(files["libcrypt.so.1"]["capability"], "compute")
        self.assertEqual(files["nvidia-smi"]["capability"], "utility")
        self.assertNotIn("libGL.so.1", files)

    def test_mistakes(self):
        site = self.write(f"{CATALOGUES}/site.yaml", "vendor: nvidia\nfiles:\n  - file: x\n")
        self.assertRegex(self.refused(), f"^gpuctr-setup: catalogue: {site}: line 3: unknown key "
                                         '"file" .*\nhint: ')
        os.chmod(site, 0o646)
        self.assertIn("everybody may write it", self.refused(status=6))
        os.unlink(site)
        self.assertRegex(self.refused("list", "--catalogue", "/nowhere.yaml"),
                         "catalogue /nowhere.yaml: No such file or directory")


class DeviceRoot(Config):

    def test_nodes_that_lie_elsewhere(self):
        elsewhere = DIRECTORY / "driver"
        (elsewhere / "dev").mkdir(parents=True)
        harness.must("mount", "--bind", "/dev", elsewhere / "dev")
        self.addCleanup(harness.must, "umount", elsewhere / "dev")
        (elsewhere / "link").symlink_to(elsewhere)

        items = self.plan("--dev-root", elsewhere / "link")["items"]
        sources = {item["target"]: item["source"] for item in items if item["kind"] == "device"}
        self.assertEqual(sources["/dev/nvidia0"], f"{elsewhere}/dev/nvidia0")
        self.apply("--dev-root", elsewhere, "--", "test", "-c", "/dev/nvidia0")
        self.apply("--dev-root", elsewhere)
        self.assertEqual(os.stat(self.root / "dev/nvidia1").st_rdev, os.makedev(195, 1))
        self.undo()

    def test_a_directory_without_them(self):
        self.assertIn("dev/nvidiactl: the device node is missing",
                      self.refused("--nv", "--rootfs", self.root, "--dev-root", DIRECTORY,
                                   "--device", "0", status=3))
        self.assertIn("device root /nowhere: No such file or directory\nhint: ",
                      self.refused("list", "--dev-root", "/nowhere", status=4))


class IfPresent(Config):

    NONE = {"CUDA_VISIBLE_DEVICES": "NoDevFiles"}
    WARNING = ("gpuctr-setup: warning: CUDA_VISIBLE_DEVICES=NoDevFiles grants no GPU that may "
               "be used\n")

    def test_nothing_granted_is_a_warning(self):
        environment = os.environ | self.NONE
        self.refused("--nv", "--rootfs", self.root, status=3, **self.NONE)
        with self.nothing_changes():
            self.apply("--if-present", env=environment, stderr=self.WARNING)
            self.run_setup("plan", "--nv", "--if-present", env=environment, stderr=self.WARNING)
            self.apply("--if-present", env=environment | {"GPUCTR_IF_PRESENT": "0"},
                       stderr=self.WARNING)
            self.run_setup("-q", "--nv", "--rootfs", self.root,
                           env=environment | {"GPUCTR_IF_PRESENT": "1"})
            done = self.apply("--if-present", "--", "sh", "-c", "ls /dev | grep nvidia; exit 4",
                              env=environment, status=4, stderr=self.WARNING)
            self.assertEqual(done.stdout, "")

    def test_other_failures_stay_errors(self):
        self.refused("--nv", "--rootfs", "/nowhere", "--if-present", status=5)
        self.refused("--nv", "--rootfs", self.root, "--device", "9", "--if-present", status=2)


if __name__ == "__main__":
    unittest.main()
