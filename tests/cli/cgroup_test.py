# SPDX-License-Identifier: MIT
"""gpuctr-setup where a device cgroup has a say in who may open a GPU's node."""

import json
import os
import unittest
import unittest.mock

import cgroups
import harness
import process_test

GPU, UVM = 195, 238


class Case(process_test.Container):
    """A container that runs in a control group of its own."""

    version = 2

    def setUp(self):
        super().setUp()
        self.group = cgroups.Group(self, self.version)
        self.start()
        self.group.add(self.pid)

    def set_up(self, *words, **options):
        return self.on_process("--nv", "--device", "3", *words, **options)

    def problems(self, **options):
        done = self.on_process("status", "--format", "json", stdout=None, **options)
        [found] = json.loads(done.stdout)["setups"]
        return [(finding["code"], finding["object"]) for finding in found["findings"]]

    def open_in_group(self, name):
        """What a program of the container is told that opens it; there is no GPU."""
        command = (f"echo $$ >{self.group.directory}/cgroup.procs && exec nsenter --target "
                   f"{self.pid} --mount --root --wd sh -c 'exec 3<>/dev/{name}'")
        return harness.call("sh", "-c", command).stderr.strip().rpartition(": ")[2]

    def refused(self, *words, node="/dev/nvidia3", status=6):
        before = self.mounts(), self.files()
        done = self.set_up(*words, status=status, stderr=None)
        self.assertEqual(self.mounts(), before[0])
        self.assertEqual(sorted(self.files()), sorted(before[1]))
        self.assertEqual(harness.journals(), [])
        self.assertIn(node, done.stderr)
        self.assertEqual(os.listdir(f"/proc/{self.pid}/root/dev"), [])
        return done.stderr

    def check_unknown(self, reason):
        done = self.set_up(stderr=None)
        self.assertEqual(done.stderr, "gpuctr-setup: warning: it is not known whether the "
                                      f"container's device cgroup allows the GPUs: {reason}\n")
        self.assertEqual(self.problems(), [("device_unknown", None)])
        self.on_process("undo")


class Programs(Case):
    """Version 2, where programs decide, and one more never allows what another forbids."""

    def test_a_container_that_may_use_the_nodes_is_set_up_in_silence(self):
        self.group.forbid(1, 99)
        self.set_up()
        self.assertEqual(self.problems(), [])
        self.assertEqual(self.open_in_group("nvidia3"), "No such device or address")
        self.on_process("undo")

    def test_a_gpu_that_is_forbidden_is_an_error(self):
        self.group.forbid(GPU, 3)
        self.assertEqual(self.refused(), (
            "gpuctr-setup: /dev/nvidia3: forbidden by the container's device cgroup "
            f"{self.group.path}\nhint: give the container its devices when it is created: "
            "`--device /dev/nvidia3` of podman and docker, DeviceAllow= of systemd, "
            "linux.resources.devices of an OCI runtime's config.json (c 195:3 rw)\n"))
        self.on_process("--nv", "--device", "4")
        self.on_process("undo")

    def test_so_are_all_of_them_chosen_by_nobody(self):
        self.group.forbid(GPU)
        done = self.on_process("--nv", status=6, stderr=None)
        for rule in ("c 195:0 rw", "c 195:7 rw", "c 195:255 rw"):
            self.assertIn(rule, done.stderr)
        self.assertNotIn("c 238", done.stderr)

    def test_a_node_that_some_need_is_a_warning(self):
        self.group.forbid(UVM)
        self.set_up(stderr=(
            "".join(f"gpuctr-setup: warning: /dev/{node}: forbidden by the container's device "
                    f"cgroup {self.group.path}: what needs it will not work\nhint: give the "
                    f"container its devices when it is created: `--device /dev/{node}` of podman "
                    "and docker, DeviceAllow= of systemd, linux.resources.devices of an OCI "
                    f"runtime's config.json (c 238:{minor} rw)\n"
                    for minor, node in enumerate(("nvidia-uvm", "nvidia-uvm-tools")))))
        self.assertEqual(self.nodes(), ["nvidia3"])
        self.on_process("undo")

    def test_status_tells_what_is_forbidden_later(self):
        self.set_up()
        self.group.forbid(GPU, 3)
        self.assertEqual(self.problems(status=9), [("device_denied", "/dev/nvidia3")])
        self.refused_again()
        done = self.on_process("status", status=9, stdout=None)
        self.assertIn("  error    /dev/nvidia3: forbidden by the container's device cgroup "
                      f"{self.group.path}\n  hint     apply it again, or give ", done.stdout)
        self.on_process("undo")

    def refused_again(self):
        """The set-up that is there is no success either."""
        self.set_up(status=6, stderr=None)
        self.assertEqual(self.nodes(), ["nvidia3"])

    def test_a_group_above_counts_too(self):
        below = cgroups.Group(self, 2, above=self.group)
        self.group.forbid(GPU, 3)
        below.add(self.pid)
        self.assertIn(f"device cgroup {self.group.path}\n", self.refused())

    def test_a_frozen_container_is_not_waited_for(self):
        self.group.forbid(GPU, 3)
        self.group.freeze()
        self.check_unknown(f"its cgroup {self.group.path} is frozen")

    def test_a_threaded_group_counts_too(self):
        below = cgroups.Group(self, 2, above=self.group)
        below.write("cgroup.type", "threaded")
        below.add(self.pid)
        below.forbid(GPU, 3)
        self.assertIn(below.path, self.refused())
        self.on_process("--nv", "--device", "4")
        self.on_process("undo")

    def test_what_is_mounted_over_the_hierarchy_is_not_believed(self):
        self.group.forbid(GPU, 3)
        top = cgroups.place(2)
        harness.must("mount", "-t", "tmpfs", "test", top)
        self.addCleanup(harness.must, "umount", top)
        self.check_unknown("the hierarchy of cgroup version 2 is not mounted at /sys/fs/cgroup")

    def test_another_part_of_the_hierarchy_is_not_believed(self):
        """As a mount of one group shows it."""
        self.group.forbid(GPU, 3)
        elsewhere = cgroups.Group(self, 2)
        (elsewhere.directory / self.group.path[1:]).mkdir()
        self.addCleanup((elsewhere.directory / self.group.path[1:]).rmdir)
        top = cgroups.place(2)
        harness.must("mount", "--bind", elsewhere.directory, top)
        self.addCleanup(harness.must, "umount", top)
        self.check_unknown(f"the process is not in cgroup {self.group.path} as it is seen from "
                           "here")


class OfAnOrdinaryUser(Case):
    """A container that its user sets up, in a group of somebody else's."""

    mount_proc = "mount --rbind /proc proc"

    def setUp(self):
        self.home = harness.DIRECTORY / "home"
        self.home.mkdir()
        self.addCleanup(harness.must, "rm", "-rf", self.home)
        os.chown(self.home, 65534, 65534)
        super().setUp()

    def start(self, **options):  # pylint: disable=arguments-differ
        harness.must("chown", "-R", "-h", "65534:65534", self.root)
        super().start(command=[*harness.ORDINARY_USER, "unshare", "--user", "--map-root-user"])

    def run_setup(self, *words, **options):
        environment = dict(os.environ, HOME=str(self.home), XDG_STATE_HOME="")
        with unittest.mock.patch.object(harness, "setup", self.as_user):
            return super().run_setup(*words, env=environment, **options)

    @staticmethod
    def as_user(*words, **options):
        return harness.call(*harness.ORDINARY_USER, harness.SETUP, *words, **options)

    def test_what_he_may_not_ask_is_not_known(self):
        self.check_unknown("start a process in its cgroup: Permission denied")

    def test_nor_is_it_where_it_is_forbidden(self):
        self.group.forbid(GPU, 3)
        self.check_unknown("start a process in its cgroup: Permission denied")


class OwnGroup(harness.Case):
    """What the caller's own device cgroup forbids, by a program."""

    def setUp(self):
        super().setUp()
        self.group = cgroups.Group(self, 2)
        self.group.forbid(GPU, 3)

    def in_group(self, *words):
        return harness.call("sh", "-c", f'echo $$ >{self.group.directory}/cgroup.procs && exec "$@"',
                            "sh", harness.SETUP, "--nv", "--rootfs", self.root, *words)

    def test_a_gpu_that_was_chosen_is_an_error(self):
        for choice in ("3", "0,3", "all"):
            with self.subTest(choice=choice), self.nothing_changes():
                done = self.in_group("--device", choice, "--", "true")
                self.assertEqual(done.returncode, 125)
                self.assertRegex(done.stderr, rf"^gpuctr-setup: --device {choice}: /dev/nvidia3: may "
                                              r"not be used: the device cgroup forbids it "
                                              r"\(error 6\)\nhint: ")
                self.assertEqual(self.in_group("--device", choice).returncode, 6)

    def test_others_are_given(self):
        with self.nothing_changes():
            done = self.in_group("--", "sh", "-c", "cd /dev; echo nvidia?")
        self.assertEqual((done.stdout, done.stderr),
                         ("nvidia0 nvidia1 nvidia2 nvidia4 nvidia5 nvidia6 nvidia7\n", ""))

    def test_a_control_node_that_is_forbidden_leaves_nothing_to_choose(self):
        self.group.forbid(GPU, 255)
        with self.nothing_changes():
            done = self.in_group("--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("/dev/nvidiactl: may not be used: the device cgroup forbids it", done.stderr)


class OwnList(OwnGroup):
    """The same by a list."""

    def setUp(self):  # pylint: disable=non-parent-init-called,super-init-not-called
        harness.Case.setUp(self)
        self.group = cgroups.Group(self, 1)
        self.group.write("devices.deny", f"c {GPU}:3 rwm")

    def test_a_control_node_that_is_forbidden_leaves_nothing_to_choose(self):
        self.group.write("devices.deny", f"c {GPU}:255 rwm")
        with self.nothing_changes():
            done = self.in_group("--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("/dev/nvidiactl: may not be used: the device cgroup forbids it", done.stderr)


if __name__ == "__main__":
    unittest.main()
