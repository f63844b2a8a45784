# SPDX-License-Identifier: MIT
"""Nodes that the driver's own programs make when root runs them: what they make them from is
hidden, and undo names those that were made all the same."""

import json
import os
import pathlib
import stat
import unittest

import harness
import mount_table
import process_test
import snapshot

NVIDIA = pathlib.Path("/proc/driver/nvidia")
CAPABILITIES = NVIDIA / "capabilities"
GPUS = NVIDIA / "gpus"


class Hidden:
    """What holds wherever root can make nodes: `inside` runs a shell there."""

    def check_hidden(self):
        self.assertTrue((CAPABILITIES / "mig/config").exists())
        self.assertIn("ModifyDeviceFiles: 1\n", (NVIDIA / "params").read_text())
        self.assertEqual(self.shell(f"ls -A {CAPABILITIES}; stat -c %a {CAPABILITIES}"), "555\n")
        self.assertIn("ModifyDeviceFiles: 0\n", self.shell(f"cat {NVIDIA}/params"))
        self.assertEqual(self.shell(f"test -w {CAPABILITIES}; echo $?"), "1\n")
        self.assertIn("580", self.shell(f"cat {NVIDIA}/version"))

    def check_shown(self, *numbers):
        """Information of the GPUs on buses with these numbers, and nothing of others."""
        addresses = [f"0000:00:{number:02x}.0" for number in numbers]
        self.assertGreater(len(os.listdir(GPUS)), len(numbers))
        self.assertEqual(self.shell(f"ls -A {GPUS}").split(), addresses)
        for address in addresses:
            self.assertEqual(self.shell(f"cat {GPUS}/{address}/information"),
                             (GPUS / address / "information").read_text())
        self.assertEqual(self.shell(f"test -w {GPUS}; echo $?"), "1\n")

    def planned(self, *words):
        return [(item["target"], item["options"]) for item in self.plan(*words)["items"]
                if item["target"].startswith("/proc/")]


class ForACommand(Hidden, harness.Case):
    options = ()

    def shell(self, script):
        done = harness.setup("--nv", "--rootfs", self.root, *self.options, "--", "sh", "-c", script)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_capabilities_and_parameters_are_hidden(self):
        with self.nothing_changes():
            self.check_hidden()

    def test_only_the_chosen_gpus_are_shown(self):
        self.options = (*self.options, "--device", "1,3")
        with self.nothing_changes():
            self.check_shown(7, 9)


class ForALockedCommand(ForACommand):
    options = ("--lock",)


class ForACommandOfAnOrdinaryUser(harness.Case):
    def test_nothing_is_hidden_where_nobody_can_make_a_node(self):
        done = harness.call(*harness.ORDINARY_USER, harness.SETUP, "--nv", "--rootfs", self.root,
                            "--", "ls", CAPABILITIES)
        self.assertEqual((done.stdout, done.stderr), ("fabric-imex-mgmt\nmig\n", ""))

    def test_only_the_chosen_gpus_are_shown(self):
        done = harness.call(*harness.ORDINARY_USER, harness.SETUP, "--nv", "--device", "1",
                            "--rootfs", self.root, "--", "ls", GPUS)
        self.assertEqual((done.stdout, done.stderr), ("0000:00:07.0\n", ""))


class InARoot(Hidden, harness.Case):
    """By `apply`, where the root has a mounted /proc."""

    def state(self):
        """What the kernel shows there is not for comparing."""
        files, mounts = snapshot.take(self.root, ("/proc",)), mount_table.read()
        return {path: entry for path, entry in files.items() if path != "/proc"}, mounts

    def shell(self, script):
        return harness.must("chroot", self.root, "sh", "-c", script)

    def test_capabilities_and_parameters_are_hidden(self):
        harness.must("mount", "--rbind", "/proc", self.root / "proc")
        harness.must("mount", "--make-rslave", self.root / "proc")
        self.assertEqual(self.planned(), [(f"{NVIDIA}/params", "ro,nosuid,nodev"),
                                          (f"{CAPABILITIES}", "ro,nosuid,nodev")])
        self.in_each_way(self.check_hidden)

    def test_only_the_chosen_gpus_are_shown(self):
        harness.must("mount", "--rbind", "/proc", self.root / "proc")
        harness.must("mount", "--make-rslave", self.root / "proc")
        self.in_each_way(lambda: self.check_shown(6, 13), "--device", "0,7")

    def test_without_a_gpu_none_is_shown(self):
        harness.must("mount", "--rbind", "/proc", self.root / "proc")
        harness.must("mount", "--make-rslave", self.root / "proc")
        self.in_each_way(self.check_shown, "--device", "none")

    def test_without_a_proc_the_plan_says_what_is_needed(self):
        self.assertEqual(self.planned(), [])
        self.assertIn(f"{CAPABILITIES} masked, if root runs in the container: its programs can make "
                      "more of the driver's nodes from it", [entry["text"] for entry in self.plan()["findings"]])

    def test_what_is_mounted_over_the_hidden_directory_is_left_and_named(self):
        harness.must("mount", "--rbind", "/proc", self.root / "proc")
        harness.must("mount", "--make-rslave", self.root / "proc")
        self.apply()
        place = f"{self.root}{CAPABILITIES}"
        harness.must("mount", "-t", "tmpfs", "foreign", place)

        done = self.undo(status=8, stderr=None)

        self.assertIn(str(CAPABILITIES), done.stderr)
        harness.must("umount", place)
        self.undo()
        self.assertEqual(harness.journals(), [])


class InARootInAUserNamespace(harness.Case):
    """There the driver's programs can make no node, but the directory for some."""

    def test_capabilities_alone_are_hidden(self):
        script = """
            mount --rbind /proc "$root/proc"
            "$setup" --nv --rootfs "$root" --state-dir "$state"
            chroot "$root" ls -A /proc/driver/nvidia/capabilities
            chroot "$root" grep ModifyDeviceFiles /proc/driver/nvidia/params
            "$setup" undo --rootfs "$root" --state-dir "$state"
            chroot "$root" ls -A /proc/driver/nvidia/capabilities
        """
        environment = dict(os.environ, root=self.root, setup=harness.SETUP,
                           state=harness.DIRECTORY / "state-of-user")
        with self.nothing_changes():
            done = harness.call("unshare", "--user", "--map-root-user", "--mount", "sh", "-ec",
                                script, env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "ModifyDeviceFiles: 1\nfabric-imex-mgmt\nmig\n")


class InAContainer(Hidden, process_test.Container):
    mount_proc = "mount --rbind /proc proc"

    def shell(self, script):
        return self.inside("sh", "-c", script)

    def test_capabilities_and_parameters_are_hidden(self):
        self.start()
        before = self.mounts()
        self.on_process("--nv", "--device", "3")
        self.check_hidden()
        self.check_shown(9)
        [found] = json.loads(self.on_process("status", "--format", "json", stdout=None)
                             .stdout)["setups"]
        self.assertEqual(found["findings"], [])
        self.on_process("undo")
        self.assertEqual(self.mounts(), before)


def make_node(path, major, minor):
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mknod(path, stat.S_IFCHR | 0o444, os.makedev(major, minor))


def left(name, root=""):
    return (f"gpuctr-setup: warning: {root}{name}: left: a program in the container made this "
            "device node of the driver\n")


class Left(harness.Case):
    """What undo says of nodes in the container that are not its own."""

    def test_nodes_of_the_driver_are_named_and_left(self):
        self.apply()
        made = [("dev/nvidia-caps/nvidia-cap1", 241, 1), ("dev/nvidia-caps/nvidia-cap2", 241, 2),
                ("dev/nvidia-caps-imex-channels/channel0", 242, 0), ("dev/nvidia9", 195, 9)]
        for name, *number in made:
            make_node(self.root / name, *number)

        self.undo(stderr="".join(left(f"/{name}") for name in (
            "dev/nvidia9", "dev/nvidia-caps/nvidia-cap1", "dev/nvidia-caps/nvidia-cap2",
            "dev/nvidia-caps-imex-channels/channel0")))

        for name, *number in made:
            self.assertEqual(os.stat(self.root / name).st_rdev, os.makedev(*number))
        self.assertEqual(harness.journals(), [])
        self.undo(stderr=f"gpuctr-setup: nothing is set up in {self.root}\n")

    def test_all_of_them_are_for_quiet_ears_nothing(self):
        self.apply()
        make_node(self.root / "dev/nvidia9", 195, 9)
        self.undo("-q")

    def test_undo_all_says_where(self):
        self.apply()
        make_node(self.root / "dev/nvidia9", 195, 9)
        self.run_setup("undo", "--all", stderr=left("/dev/nvidia9", f"{self.root}: "))

    def test_nodes_of_before_and_of_others_are_not_named(self):
        make_node(self.root / "dev/nvidia-caps/nvidia-cap1", 241, 1)
        harness.must("sleep", "1.1")  # the journal knows the second
        self.apply()
        make_node(self.root / "dev/other", 1, 3)
        make_node(self.root / "srv/nvidia9", 195, 9)
        os.mknod(self.root / "dev/block", stat.S_IFBLK, os.makedev(195, 1))
        (self.root / "dev/nvidia8").touch()
        (self.root / "dev/nvidia-caps/nvidia-cap2").symlink_to("nvidia-cap1")
        self.undo()

    def test_a_link_leads_to_no_node_of_the_host(self):
        self.apply()
        (self.root / "dev/nvidia-caps").symlink_to("/" + "../" * 12 + "dev/nvidia-caps")
        self.undo()

    def test_names_of_a_hostile_image_are_shown_as_they_are_or_not_at_all(self):
        self.apply()
        make_node(self.root / "dev/nvidia\n1", 195, 1)
        make_node(self.root / "dev/nvidia\033[31m", 195, 1)
        for number in range(40):
            make_node(self.root / f"dev/nvidia{number + 10}", 195, number)
        lines = self.undo(stderr=None).stderr.splitlines()
        self.assertEqual([line.split(":")[2].strip() for line in lines[:-1]],
                         [f"/dev/nvidia{number}" for number in range(10, 26)])
        self.assertEqual(lines[-1], "gpuctr-setup: warning: left: 24 more device nodes of the "
                                    "driver")

    def test_a_set_up_that_takes_its_place_names_them_too(self):
        self.apply("--device", "0")
        make_node(self.root / "dev/nvidia9", 195, 9)
        done = self.apply("--device", "1", stderr=None)
        self.assertIn(left("/dev/nvidia9"), done.stderr)
        self.undo()


class LeftInAContainer(process_test.Container):
    def test_nodes_of_the_driver_are_named_and_left(self):
        self.start()
        self.on_process("--nv", "--device", "3")
        self.inside("sh", "-c", "mkdir /dev/nvidia-caps && mknod /dev/nvidia-caps/nvidia-cap1 c 241 1")
        self.on_process("undo", stderr=left("/dev/nvidia-caps/nvidia-cap1"))


if __name__ == "__main__":
    unittest.main()
