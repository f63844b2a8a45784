# SPDX-License-Identifier: MIT
"""What a container gets besides the GPUs' nodes: --extras, sockets of services, and nodes that the
host lacks."""

import json
import os
import pathlib
import shutil
import socket
import stat
import unittest

import harness

CHANNELS = "/dev/nvidia-caps-imex-channels"
ABSENT = ("gpuctr-setup: extra {}: not on this host\nhint: its device node or socket is missing; "
          "`gpuctr-setup list` shows what is there\n")
UVM = pathlib.Path("/dev/nvidia-uvm")


class Host(harness.Case):
    """The recorded host with other nodes, as long as a test runs."""

    def node(self, path, major, minor):
        path = pathlib.Path(path)
        if not path.parent.exists():
            path.parent.mkdir()
            self.addCleanup(path.parent.rmdir)
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        os.chmod(path, 0o666)
        self.addCleanup(path.unlink)

    def without(self, path):
        """Takes a node of the host away."""
        number = os.stat(path).st_rdev
        mode = os.stat(path).st_mode
        path.unlink()

        def bring_back():
            os.mknod(path, mode, number)
            os.chmod(path, stat.S_IMODE(mode))
        self.addCleanup(bring_back)

    def load(self, driver, major):
        """Adds a line to /proc/devices."""
        text = pathlib.Path("/proc/devices").read_text(encoding="utf-8")
        file = harness.DIRECTORY / "devices"
        file.write_text(text.replace("Block", f"{major:3} {driver}\n\nBlock", 1), encoding="utf-8")
        harness.must("mount", "--bind", file, "/proc/devices")
        self.addCleanup(harness.must, "umount", "/proc/devices")

    def new_run(self):
        """A /run of the host's with nothing in it."""
        harness.must("mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run")
        self.addCleanup(harness.must, "umount", "-l", "/run")

    def listen(self, path):
        path = pathlib.Path(path)
        path.parent.mkdir()
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(str(path))
        listener.listen()
        return listener

    def targets(self, *words):
        return [item["target"] for item in self.plan(*words)["items"]]

    def extras(self, *words):
        """What is planned with these words and not without."""
        return sorted(set(self.targets(*words)) - set(self.targets()))

    def command(self, *words, status=0):
        done = harness.setup("--nv", "--rootfs", self.root, *words)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout


class Extras(Host):
    def test_channels_are_given_by_their_numbers(self):
        self.node(f"{CHANNELS}/channel0", 242, 0)
        self.node(f"{CHANNELS}/channel5", 242, 5)
        self.node(f"{CHANNELS}/other", 242, 6)

        self.assertNotIn(CHANNELS, " ".join(self.targets()))
        for word, numbers in (("5", (5,)), ("0", (0,)), ("all", (0, 5))):
            nodes = [name for name in self.extras("--extras", f"imex-channel:{word}")
                     if name != CHANNELS]
            self.assertEqual(nodes, [f"{CHANNELS}/channel{number}" for number in numbers])
        self.run_setup("plan", "--nv", "--extras", "imex-channel:7", status=3,
                       stderr=ABSENT.format("imex-channel:7"))

    def test_a_container_asks_for_channels(self):
        def asked(value, *words, prefix=()):
            done = harness.call(*prefix, harness.SETUP, "plan", "--nv", "--rootfs", self.root,
                                "--request-env", f"NVIDIA_IMEX_CHANNELS={value}", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            return sorted({word for word in done.stdout.split() if word.startswith(f"{CHANNELS}/")})
        for number in (0, 5):
            self.node(f"{CHANNELS}/channel{number}", 242, number)
        os.chmod(f"{CHANNELS}/channel5", 0o600)

        self.assertEqual(asked("0"), [f"{CHANNELS}/channel0"])
        self.assertEqual(asked("all"), [f"{CHANNELS}/channel{number}" for number in (0, 5)])
        self.assertEqual(asked("7"), [])
        self.assertEqual(asked("7,0"), [f"{CHANNELS}/channel0"])
        self.assertEqual(asked("all", "--extras", "no-imex-channel"), [])
        self.assertEqual(asked("all", "--extras", "no-imex-channel,imex-channel:0"),
                         [f"{CHANNELS}/channel0"])
        self.assertEqual(asked("all", prefix=harness.ORDINARY_USER), [f"{CHANNELS}/channel0"])

    def test_a_channel_of_another_number_is_no_channel(self):
        self.node(f"{CHANNELS}/channel7", 242, 8)
        done = self.run_setup("plan", "--nv", "--extras", "imex-channel:7", status=3, stderr=None)
        self.assertIn(f"{CHANNELS}/channel7: is the character device 242:8, but its kernel driver "
                      "has 242:7", done.stderr)

    def test_nodes_of_other_modules_are_given_by_their_words(self):
        nodes = {"nvswitch": [("/dev/nvidia-nvlink", 240, 0), ("/dev/nvidia-nvswitch0", 239, 0),
                              ("/dev/nvidia-nvswitchctl", 239, 255)],
                 "mofed": [("/dev/infiniband/uverbs0", 231, 192)],
                 "gdrcopy": [("/dev/gdrdrv", 509, 0)]}
        self.load("gdrdrv", 509)
        for path, major, minor in sum(nodes.values(), []):
            self.node(path, major, minor)
        for word, wanted in nodes.items():
            paths = [path for path, _, _ in wanted]
            self.assertEqual([name for name in self.extras("--extras", word)
                              if name not in ("/dev/infiniband", "/dev/infiniband/rdma_cm")],
                             paths)
            with self.nothing_changes():
                seen = self.command("--extras", word, "--", "stat", "-c", "%t:%T", *paths)
            self.assertEqual(seen.split(), [f"{major:x}:{minor:x}" for _, major, minor in wanted])

    def test_what_the_host_does_not_have_is_an_error(self):
        self.run_setup("plan", "--nv", "--extras", "gds", status=3, stderr=ABSENT.format("gds"))
        done = self.run_setup("plan", "--nv", "--extras", "gdz", status=2, stderr=None)
        self.assertIn("unknown extra 'gdz'\nhint: did you mean gds?", done.stderr)

    def test_direct_storage_brings_its_settings_and_disks(self):
        self.load("nvidia-fs", 510)
        self.node("/dev/nvidia-fs3", 510, 3)
        self.new_run()
        (pathlib.Path("/run/udev/data")).mkdir(parents=True)
        (pathlib.Path("/run/udev/data/b259:0")).write_text("disk\n", encoding="utf-8")
        with self.nothing_changes():
            self.apply("--extras", "gds")
            self.assertEqual(harness.must("chroot", self.root, "cat", "/run/udev/data/b259:0"),
                             "disk\n")
            self.assertEqual(harness.must("chroot", self.root, "sh", "-c",
                                          "test -w /run/udev/data; echo $?"), "1\n")
            self.undo()


class Sockets(Host):
    path = "/run/nvidia-persistenced/socket"

    def connect(self):
        """From the container, by its path there."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"{self.root}{self.path}")

    def test_programs_in_the_container_can_connect_and_do_no_more(self):
        self.new_run()
        listener = self.listen(self.path)
        with self.nothing_changes():
            self.apply()
            self.connect()
            listener.accept()[0].close()
            with self.assertRaises(OSError):
                os.chmod(f"{self.root}{self.path}", 0o600)
            self.apply()
            self.undo()

    def test_who_does_not_want_it_does_not_get_it(self):
        self.new_run()
        self.listen(self.path)
        self.assertIn(self.path, self.targets())
        self.assertNotIn(self.path, self.targets("--extras", "no-persistenced"))
        self.assertNotIn(self.path, self.targets("--driver-capabilities", "compute"))
        self.assertNotIn(self.path, self.targets("--device", "none"))

    def test_the_fabric_manager_is_for_those_who_ask(self):
        self.new_run()
        path = "/run/nvidia-fabricmanager/socket"
        self.listen(path)
        self.assertNotIn(path, self.targets())
        self.assertEqual(self.extras("--extras", "fabric-manager"),
                         ["/run/nvidia-fabricmanager", path])

    def test_no_overlay_is_made_for_it(self):
        self.new_run()
        self.listen(self.path)
        self.assertNotIn("/run", " ".join(self.targets("--write", "never")))

    def test_an_image_gets_no_other_thing_of_the_host_by_it(self):
        self.new_run()
        self.listen(self.path)
        place = self.root / self.path[1:]
        place.parent.mkdir(parents=True)
        for make in (lambda: place.symlink_to("/etc/passwd"), place.mkdir):
            make()
            self.assertNotIn(self.path, self.targets())
            with self.nothing_changes():
                self.apply()
                self.undo()
            harness.must("rm", "-rf", place)

    def test_what_is_put_in_its_place_is_not_mounted(self):
        self.new_run()
        place = pathlib.Path(self.path)
        place.parent.mkdir()
        for target in ("/etc/passwd", "/dev/null"):
            place.symlink_to(target)
            self.assertNotIn(self.path, self.targets())
            place.unlink()


class Mps(Host):
    """The directory of MPS, where a variable of the caller names it."""

    usual = "/tmp/nvidia-mps"

    def setUp(self):
        super().setUp()
        self.new_run()
        self.named = pathlib.Path("/run/mps")
        self.listen(self.named / "control")

    def environment(self, path=None):
        return dict(os.environ, CUDA_MPS_PIPE_DIRECTORY=str(path or self.named))

    def planned(self, path=None, prefix=(), **options):
        done = harness.call(*prefix, harness.SETUP, "plan", "--nv", "--rootfs", self.root,
                            "--format", "json", env=self.environment(path), **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        plan = json.loads(done.stdout)
        return ([item["source"] for item in plan["items"] if item["target"] == self.usual],
                [variable["name"] for variable in plan["environment"]
                 if variable["name"].startswith("CUDA_MPS")],
                [finding["text"] for finding in plan["findings"]
                 if (finding["object"] or "").startswith("CUDA_MPS")])

    def test_it_is_at_the_usual_place_in_a_container(self):
        self.assertEqual(self.planned(), ([str(self.named)], ["CUDA_MPS_PIPE_DIRECTORY"], []))
        self.assertEqual(self.planned(self.usual), ([], [], []))
        with self.nothing_changes():
            self.apply(env=self.environment())
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(f"{self.root}{self.usual}/control")
            with self.assertRaises(OSError):
                (self.root / "tmp/nvidia-mps/new").touch()
            self.undo()

    def test_a_command_finds_it_there(self):
        (self.root / "tmp/nvidia-mps").mkdir(parents=True)
        done = harness.call(harness.SETUP, "--nv", "--rootfs", self.root, "--", "sh", "-c",
                            f"ls {self.usual}; echo $CUDA_MPS_PIPE_DIRECTORY",
                            env=self.environment())
        self.assertEqual((done.returncode, done.stdout), (0, "control\n\n"), done.stderr)

    def test_what_is_no_directory_of_mps_is_left_out_and_so_is_the_usual_one(self):
        (self.named / "other").mkdir()
        (self.named / "link").symlink_to(self.named)
        for path, why in ((self.named / "other", "there is no socket control in it"),
                          (self.named / "link", "no such directory"),
                          (self.named / "missing", "no such directory"),
                          ("run/mps", "not an absolute path"),
                          ("/run/../run/mps", "not an absolute path"),
                          (self.named / "control", "no such directory")):
            self.assertEqual(self.planned(path), ([], [], [why]))

    def test_what_somebody_put_where_others_may_write_is_left_out(self):
        os.chmod("/run", 0o1777)
        os.chown(self.named, 65534, 65534)
        self.assertEqual(self.planned(), ([], [], [
            "it belongs to user 65534, in a directory that others may write"]))

    def test_one_that_may_not_be_used_is_left_out(self):
        os.chmod(self.named / "control", 0o600)
        self.assertEqual(self.planned(prefix=harness.ORDINARY_USER),
                         ([], [], ["its socket control may not be used"]))

    def test_a_setuid_program_shows_nobody_a_directory_by_it(self):
        program = harness.DIRECTORY / "raised"
        shutil.copy(os.environ["GPUCTR_RAISED_CALLER"], program)
        self.addCleanup(program.unlink)
        harness.DIRECTORY.chmod(0o755)
        for mode, prefix, shows in ((0o755, (), True), (0o4755, harness.ORDINARY_USER, False)):
            program.chmod(mode)
            done = harness.call(*prefix, program, self.root, harness.DIRECTORY / "tree",
                                env=self.environment())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("mps /run/mps\n" in done.stdout, shows)


class MissingNodes(Host):
    def check_made(self, path, number, *words):
        with self.nothing_changes():
            seen = self.command(*words, "--", "stat", "-c", "%A %t:%T %u:%g", path)
            self.assertEqual(seen, f"crw-rw-rw- {number} 0:0\n")
        self.assertFalse(path.exists())

    def test_they_are_made_for_a_command_alone(self):
        self.without(UVM)
        self.check_made(UVM, "ee:0")
        self.without(pathlib.Path("/dev/nvidia1"))
        self.check_made(pathlib.Path("/dev/nvidia1"), "c3:1", "--device", "1")

    def test_they_are_made_in_a_root_and_go_with_it(self):
        self.without(UVM)

        def check():
            self.assertEqual(os.stat(f"{self.root}{UVM}").st_rdev, os.makedev(238, 0))
            with self.assertRaises(OSError):
                os.chmod(f"{self.root}{UVM}", 0o600)
            self.assertFalse(UVM.exists())
        self.in_each_way(check)

    def test_who_may_not_make_them_is_told(self):
        self.without(pathlib.Path("/dev/nvidia1"))
        done = harness.call(*harness.ORDINARY_USER, harness.SETUP, "--nv", "--device", "1",
                            "--rootfs", self.root, "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("/dev/nvidia1: the device node is missing", done.stderr)
        self.without(UVM)
        done = harness.call(*harness.ORDINARY_USER, harness.SETUP, "--nv", "--device", "0",
                            "--rootfs", self.root, "--", "true")
        self.assertEqual(done.returncode, 0)
        self.assertIn("/dev/nvidia-uvm: is missing", done.stderr)

    def test_a_node_of_an_earlier_boot_is_an_error(self):
        self.without(UVM)
        self.node(UVM, 511, 0)
        done = self.apply(status=3, stderr=None)
        self.assertIn("/dev/nvidia-uvm: is the character device 511:0, but its kernel driver has "
                      "238:0\n", done.stderr)
        self.assertNotIn(str(UVM), self.targets("--driver-capabilities", "utility"))


if __name__ == "__main__":
    unittest.main()
