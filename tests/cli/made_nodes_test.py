# SPDX-License-Identifier: MIT
"""Nodes that the host lacks are made for nobody who could not have used them there."""

import os
import pathlib
import shutil
import unittest

import cgroup_test
import cgroups
import extras_test
import harness

GPU, UVM = pathlib.Path("/dev/nvidia1"), extras_test.UVM
CONTROL = pathlib.Path("/dev/nvidiactl")
LACKS = "the host lacks it, and it is not made for a container: "
LACKS_SHORT = "the host lacks it, and it is not made: "


class Host(extras_test.Host):
    def parameters(self, **changed):
        """What the driver's module says of its nodes."""
        path = "/proc/driver/nvidia/params"
        lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
        lines = [line for line in lines if line.partition(":")[0] not in changed]
        lines += [f"{name}: {value}" for name, value in changed.items()]
        file = harness.DIRECTORY / "params"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        harness.must("mount", "--bind", file, path)
        self.addCleanup(harness.must, "umount", path)


class Owners(Host):
    """A made node is that of the driver's parameters."""

    def test_it_gets_the_owner_of_the_parameters(self):
        self.without(UVM)
        self.parameters(DeviceFileMode=0o640, DeviceFileUID=12, DeviceFileGID=44)
        with self.nothing_changes():
            self.assertEqual(self.command("--", "stat", "-c", "%A %u:%g", UVM), "crw-r----- 12:44\n")

        def check():
            status = os.stat(f"{self.root}{UVM}")
            self.assertEqual((status.st_mode & 0o777, status.st_uid, status.st_gid), (0o640, 12, 44))
        self.in_each_way(check)

    def test_without_the_right_to_give_it_away_it_is_not_made(self):
        self.without(GPU)
        self.parameters(DeviceFileMode=0o660, DeviceFileUID=0, DeviceFileGID=44)
        with self.nothing_changes():
            done = harness.call("setpriv", "--bounding-set", "-chown", "--inh-caps", "-chown",
                                harness.SETUP, "--nv", "--device", "1", "--rootfs", self.root)
        self.assertEqual(done.returncode, 6)
        self.assertIn(f"{GPU}: may not be used: {LACKS}its mode and owner cannot be set: ",
                      done.stderr)


class InTheHostsDirectory(Host):
    """A container that shares the host's /dev gets no name made there."""

    def test_a_missing_node_is_not_made(self):
        harness.must("mount", "--rbind", "/dev", self.root / "dev")
        self.addCleanup(harness.must, "umount", "--recursive", self.root / "dev")
        self.without(GPU)
        before = sorted(os.listdir("/dev"))
        for write in ("auto", "never", "always"):
            with self.nothing_changes():
                done = self.apply("--device", "1", "--write", write, status=5, stderr=None)
            self.assertEqual(done.stderr, f"gpuctr-setup: {GPU} is missing, and /dev is the "
                                          "host's, which is not changed\nhint: make it on the "
                                          "host, or give the container a /dev of its own\n")
            self.assertEqual(sorted(os.listdir("/dev")), before)
        with self.nothing_changes(journal=False):
            self.apply("--device", "0")
            self.undo()
        self.assertEqual(sorted(os.listdir("/dev")), before)


class Raised(Host):
    """A program with root's privileges that somebody else started."""

    def setUp(self):
        super().setUp()
        self.program = harness.DIRECTORY / "raised"
        shutil.copy(os.environ["GPUCTR_RAISED_CALLER"], self.program)
        self.program.chmod(0o4755)
        harness.DIRECTORY.chmod(0o755)
        self.addCleanup(self.program.unlink)
        self.without(CONTROL)

    def has_plan(self, *starter):
        """Whether GPUs can be had without a node on the host that all need."""
        with self.nothing_changes():
            done = harness.call(*starter, self.program, self.root, harness.DIRECTORY / "tree")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode == 0

    def test_who_may_not_use_it_does_not_get_it(self):
        ordinary = harness.ORDINARY_USER
        self.assertTrue(self.has_plan(*ordinary))
        self.parameters(DeviceFileMode=0o660, DeviceFileUID=0, DeviceFileGID=44)
        self.assertFalse(self.has_plan(*ordinary))
        self.assertTrue(self.has_plan())
        # Once the program is root altogether, the groups of its starter cannot be told from its own.
        self.assertFalse(self.has_plan("setpriv", "--reuid", "65534", "--regid", "65534",
                                       "--groups", "44"))
        self.assertTrue(self.has_plan("setpriv", "--reuid", "65534", "--regid", "44",
                                      "--clear-groups"))

    def test_its_owner_is_not_helped_by_the_rights_of_others(self):
        self.parameters(DeviceFileMode=0o066, DeviceFileUID=65534, DeviceFileGID=0)
        self.assertFalse(self.has_plan(*harness.ORDINARY_USER))


class OwnGroup(Host):
    """What the caller's own device cgroup forbids."""

    version = 2

    def setUp(self):
        super().setUp()
        self.group = cgroups.Group(self, self.version)

    def forbid(self, major, minor):
        self.group.forbid(major, minor, nodes_too=False)

    def in_group(self, *words, prefix=()):
        return harness.call(*prefix, "sh", "-c",
                            f'echo $$ >{self.group.directory}/cgroup.procs && exec "$@"',
                            "sh", harness.SETUP, "--nv", "--rootfs", self.root, *words)

    def check_refused(self, path, *words, prefix=(), beginning="--device 1: "):
        for more, status in ((("--", "true"), 125), ((), 6)):
            with self.subTest(more=more), self.nothing_changes():
                done = self.in_group(*words, *more, prefix=prefix)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(f"{beginning}{path}: may not be used: {LACKS}the device cgroup "
                              "forbids it", done.stderr)

    def test_a_gpu_is_refused_that_was_chosen(self):
        self.without(GPU)
        self.forbid(195, 1)
        self.check_refused(GPU, "--device", "1")

    def test_others_are_given_if_none_was(self):
        self.without(GPU)
        self.forbid(195, 1)
        with self.nothing_changes():
            done = self.in_group("--", "sh", "-c", "cd /dev; echo nvidia?")
        self.assertEqual((done.stdout, done.stderr),
                         ("nvidia0 nvidia2 nvidia3 nvidia4 nvidia5 nvidia6 nvidia7\n", ""))

    def test_so_is_one_whose_node_may_not_even_be_made(self):
        self.without(GPU)
        self.forbid_all(195, 1)
        self.check_refused(GPU, "--device", "1")

    def forbid_all(self, major, minor):
        self.group.forbid(major, minor)

    def test_one_that_some_programs_need_is_left_out(self):
        self.without(UVM)
        self.forbid(238, 0)
        with self.nothing_changes():
            done = self.in_group("--device", "1", "--", "sh", "-c", "cd /dev; echo nvidia*")
        self.assertEqual(done.stdout, "nvidia-uvm-tools nvidia1 nvidiactl\n")
        self.assertIn(f"{UVM}: is missing: nvidia-smi works without it, CUDA programs do not",
                      done.stderr)

    def test_what_cannot_be_asked_before_is_asked_when_it_is_made(self):
        """Where mounts are made by paths alone, plans do not tell."""
        self.without(GPU)
        self.forbid(195, 1)
        seccomp = pathlib.Path(__file__).with_name("seccomp.py")
        for more, status in ((("--", "true"), 125), ((), 6)):
            with self.nothing_changes():
                done = self.in_group("--device", "1", *more, prefix=(
                    "python3", "-B", seccomp, "mount_api:ENOSYS"))
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(f"prepare {GPU}: {LACKS}the device cgroup forbids it", done.stderr)

    def test_where_nothing_is_forbidden_it_is_made(self):
        self.without(GPU)
        self.forbid(195, 2)
        with self.nothing_changes():
            done = self.in_group("--device", "1", "--", "sh", "-c", "cd /dev; echo nvidia?")
        self.assertEqual((done.stdout, done.stderr), ("nvidia1\n", ""))


class OwnList(OwnGroup):
    """The same by a list, as in version 1."""

    version = 1

    def forbid(self, major, minor):
        self.group.write("devices.deny", f"c {major}:{minor} rw")

    def forbid_all(self, major, minor):
        self.group.write("devices.deny", f"c {major}:{minor} rwm")


class OnProcess(cgroup_test.Case, Host):
    """A running container, whose device cgroup is asked."""

    def check_made(self):
        self.without(pathlib.Path("/dev/nvidia3"))
        self.set_up()
        self.assertEqual(self.nodes(), ["nvidia3"])
        self.assertEqual(self.open_in_group("nvidia3"), "No such device or address")
        self.on_process("undo")


class OnProcessWithList(OnProcess):
    """Version 1: its list allows all nodes to be made, and gets rules for what is given."""

    version = 1

    def test_a_node_is_made_for_which_a_rule_can_be_added(self):
        self.group.write("devices.deny", "a")
        self.group.write("devices.allow", "c *:* m")
        self.check_made()
        self.assertEqual(self.group.rules(), ["c *:* m"])


class OnProcessWithPrograms(OnProcess):
    """Version 2."""

    def forbid(self, path, major, minor):
        self.without(path)
        self.group.forbid(major, minor)

    def devices(self):
        return sorted(os.listdir(f"/proc/{self.pid}/root/dev"))

    def test_a_node_that_may_be_used_is_made(self):
        self.check_made()

    def test_the_node_of_a_gpu_is_not_made(self):
        self.forbid(pathlib.Path("/dev/nvidia3"), 195, 3)
        self.assertIn("gpuctr-setup: --device 3: /dev/nvidia3: may not be used: "
                      f"{LACKS}forbidden by the container's device cgroup {self.group.path}\n",
                      self.refused())

    def test_nor_is_one_that_some_programs_need(self):
        self.forbid(UVM, 238, 0)
        self.set_up("--driver-capabilities", "compute", stderr=(
            f"gpuctr-setup: warning: {UVM}: {LACKS_SHORT}forbidden by the container's device "
            f"cgroup {self.group.path}\n"))
        self.assertEqual(self.devices(), ["nvidia-uvm-tools", "nvidia3", "nvidiactl"])
        self.on_process("undo")

    def test_nor_is_one_where_it_is_not_known(self):
        self.without(pathlib.Path("/dev/nvidia3"))
        self.group.freeze()
        self.assertIn(f"{LACKS}it is not known whether the container's device cgroup allows it: "
                      f"its cgroup {self.group.path} is frozen\n", self.refused())


if __name__ == "__main__":
    unittest.main()
