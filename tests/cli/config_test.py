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
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def gpus(self, *words, **variables):
        """Indexes of the GPUs that a plan has."""
        done = harness.setup("plan", "--nv", "--format", "json", *words,
                             env=os.environ | variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [gpu["index"] for gpu in json.loads(done.stdout)["drivers"][0]["gpus"]]

    def refused(self, *words, status=2, prefix=(), **variables):
        done = harness.call(*prefix, harness.SETUP, *(words or ("plan", "--nv")),
                            env=os.environ | variables)
        self.assertEqual(done.returncode, status, done.stderr)
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
        self.assertIn("line 1: unknown key all\n", self.refused("undo", "--rootfs", other))
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


class Mistakes(Config):

    def test_an_unknown_key(self):
        self.write(CONFIG, "device: 0\ndevices: 1\n")
        lines = self.refused().splitlines()
        self.assertEqual(lines[0], f"gpuctr-setup: {CONFIG}: line 2: unknown key devices")
        self.assertRegex(lines[1], "^hint: known are .*device, .*driver-root")
        self.assertNotIn("help", lines[1])

    def test_a_bad_value(self):
        self.write(CONFIG, "\nwrite: sometimes\n")
        self.assertRegex(self.refused(), f"^gpuctr-setup: {CONFIG}: line 2: .*--write.*sometimes")
        self.assertRegex(self.refused(GPUCTR_WRITE="often"), "^gpuctr-setup: GPUCTR_WRITE: .*often")
        self.gpus("--write", "auto", GPUCTR_WRITE="often")

    def test_what_is_no_yaml(self):
        self.write(CONFIG, "device: [0\n")
        message = f"gpuctr-setup: configuration: {CONFIG}: line 2: "
        self.assertTrue(self.refused().startswith(message))
        self.assertTrue(self.refused("undo", "--rootfs", self.root).startswith(message))

    def test_a_file_that_is_not_to_be_trusted(self):
        self.write(CONFIG, "device: 0\n", mode=0o666)
        self.assertIn(f"{CONFIG}: everybody may write it\nhint: ", self.refused(status=6))
        os.chmod(CONFIG, 0o644)
        os.chown(CONFIG, 4711, 4711)
        self.assertIn(f"{CONFIG}: belongs to user 4711\nhint: ", self.refused(status=6))

    def test_a_file_behind_a_link_that_leads_nowhere_is_not_missing(self):
        os.symlink("/nowhere", CONFIG)
        self.assertIn(f"{CONFIG}: {CONFIG} leads nowhere\n", self.refused())
        shutil.rmtree("/etc/gpucontainer")
        os.symlink("/nowhere", "/etc/gpucontainer")
        self.assertIn(f"{CONFIG}: /etc/gpucontainer leads nowhere\n", self.refused())
        os.unlink("/etc/gpucontainer")
        self.gpus()
        os.makedirs(CATALOGUES)

    def test_the_hosts_root_is_trusted_from_a_user_namespace(self):
        self.write(CONFIG, "device: 2\n")
        done = harness.call(*harness.ORDINARY_USER, "unshare", "-Ur", harness.SETUP, "plan", "--nv",
                            "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([gpu["index"] for gpu in json.loads(done.stdout)["drivers"][0]["gpus"]], [2])


class Policy(Config):

    def test_only_allowed_devices_are_given(self):
        self.write(CONFIG, "allowed-devices: [1, 3]\n")
        self.assertEqual(self.gpus(), [1, 3])
        self.assertEqual(self.gpus("--device", "3"), [3])
        self.assertEqual(
            self.refused("plan", "--nv", "--device", "0,1", status=6).splitlines()[0],
            "gpuctr-setup: GPU 0 is none of the allowed devices: 1,3")
        self.assertIn("(error 6)", self.refused("--nv", "--rootfs", self.root, "--device", "all",
                                                "--", "true", status=125))

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
        self.apply(*words)
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
    WARNING = ("gpuctr-setup: warning: CUDA_VISIBLE_DEVICES=NoDevFiles grants no GPU of this "
               "host\n")

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
