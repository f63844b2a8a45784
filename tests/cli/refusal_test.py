# SPDX-License-Identifier: MIT
"""gpuctr-setup where it must refuse: exit codes, whole messages, no change."""

import json
import os
import pathlib
import shutil
import unittest

import harness
import mount_table
from harness import SETUP

USAGE = "hint: gpuctr-setup --help\n"
OF_APPLY = "hint: gpuctr-setup apply --help\n"


class Refusal(harness.Case):
    """Each command runs in a namespace of its own and leaves the root alone."""

    host = None
    simhost_options = ()

    def refuse(self, *words, status, stderr, prefix=()):
        before = self.state()
        words = [*prefix, SETUP, *words]
        if self.host:
            words = [*harness.on_host(self.host, *self.simhost_options), *words]
        done = harness.call(*words)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        if stderr is not None:
            self.assertEqual(done.stderr, stderr)
        self.assert_state(before)
        self.assertEqual(harness.journals(), [])
        return done.stderr


class Usage(Refusal):
    """Refused before the host is looked at."""

    def test_nothing_at_all(self):
        self.assertIn("gpuctr-setup: ", self.refuse(status=2, stderr=None))

    def test_an_unknown_option(self):
        self.refuse("--nv", "--rootfs", self.root, "--no-such-option", status=2,
                    stderr=f"gpuctr-setup: apply: unknown option --no-such-option\n{OF_APPLY}")

    def test_a_bad_value(self):
        message = self.refuse("--nv", "--rootfs", self.root, "--write", "foo", status=2,
                              stderr=None)
        self.assertRegex(message, "^gpuctr-setup: .*--write.*foo.*")
        for known in ("auto", "never", "always"):
            self.assertIn(known, message)

    def test_a_version_of_a_driver_that_needs_none(self):
        self.refuse("plan", "--intel", "--driver-version", "1.2", status=2,
                    stderr="gpuctr-setup: driver version 1.2: no vendor that is asked for has files "
                           "of its kernel module's version\nhint: leave the version out\n")

    def test_no_vendor(self):
        self.refuse("--rootfs", self.root, status=2,
                    stderr=f"gpuctr-setup: name a vendor, such as --nv, or --gpu for all\n{OF_APPLY}")

    def test_no_root(self):
        self.refuse("--nv", status=2, stderr=f"gpuctr-setup: --rootfs is required\n{OF_APPLY}")
        self.refuse("undo", status=2, stderr="gpuctr-setup: name a root file system with --rootfs "
                    "DIR, --rootfs-fd N or --pid PID, or every one with --all\n"
                    "hint: gpuctr-setup undo --help\n")

    def test_no_command_behind_the_dashes(self):
        self.refuse("--nv", "--rootfs", self.root, "--", status=2,
                    stderr=f"gpuctr-setup: no command after --\n{USAGE}")

    def test_a_command_where_there_can_be_none(self):
        for words in (("list",), ("plan", "--nv"), ("undo", "--rootfs", self.root)):
            self.refuse(*words, "--", "true", status=2,
                        stderr=f"gpuctr-setup: -- CMD goes with apply, cdi apply and check only\n{USAGE}")

    def test_options_that_go_with_a_command_only(self):
        self.refuse("--nv", "--rootfs", self.root, "--chdir", "/", status=2,
                    stderr="gpuctr-setup: --chdir, --setenv, --clean-env, --bind, --allow-setuid, "
                           f"--writable-tmpfs and --no-verify go with -- CMD\n{OF_APPLY}")

    def test_a_stray_word(self):
        for words in (("--nv", "--rootfs", self.root, "stray"), ("lost",), ("undo", "stray")):
            self.refuse(*words, status=2, stderr=None)

    def test_an_unknown_format(self):
        self.refuse("list", "--format", "xml", status=2, stderr=None)


class NoGpu(Refusal):
    """This machine as it is; it has no GPU."""

    def setUp(self):
        super().setUp()
        modules = [name for name in ("nvidia", "amdgpu", "i915", "xe", "habanalabs")
                   if pathlib.Path("/sys/module", name).exists()]
        if modules:
            self.skipTest(f"on a machine with a driver: {modules}")

    def test_apply(self):
        message = self.refuse("--nv", "--rootfs", self.root, status=3, stderr=None)
        self.assertTrue(message.startswith("gpuctr-setup: no NVIDIA GPU on this host\n"), message)

    def test_plan(self):
        self.refuse("plan", "--nv", status=3, stderr=None)

    def test_every_vendor(self):
        message = self.refuse("--gpu", "--rootfs", self.root, status=3, stderr=None)
        self.assertTrue(message.startswith("gpuctr-setup: no GPU on this host\n"), message)
        self.refuse("--gpu", "--if-present", "--rootfs", self.root, status=0,
                    stderr="gpuctr-setup: warning: no GPU on this host\n")

    def test_a_command(self):
        message = self.refuse("--nv", "--rootfs", self.root, "--", "true", status=125, stderr=None)
        self.assertTrue(message.startswith("gpuctr-setup: no NVIDIA GPU on this host (error 3)\n"),
                        message)

    def test_a_warning_where_gpus_are_not_required(self):
        warning = "gpuctr-setup: warning: no NVIDIA GPU on this host\n"
        words = ("--nv", "--if-present", "--rootfs", self.root)
        self.refuse(*words, status=0, stderr=warning)
        self.refuse(*words, "--", "sh", "-c", "exit 9", status=9, stderr=warning)
        self.refuse("plan", "--nv", "--if-present", status=0, stderr=warning)
        self.refuse("prepare", "--nv", "--if-present", status=0, stderr=warning)
        self.refuse("list", "--nv", "--if-present", status=0,
                    stderr="gpuctr-setup: no GPU on this host\n")

    def test_list_says_so_and_succeeds(self):
        self.refuse("list", status=0, stderr="gpuctr-setup: no GPU on this host\nhint: name a "
                                             "vendor, such as --nv, to list its driver's files\n")
        self.refuse("-q", "list", status=0, stderr="")
        self.refuse("list", "--nv", status=3, stderr=None)

    def test_undo_needs_no_gpu(self):
        self.refuse("undo", "--rootfs", self.root, status=0,
                    stderr=f"gpuctr-setup: nothing is set up in {self.root}\n")


class Root(Refusal):
    """A recorded host, and a root that cannot be used."""

    host = harness.HOST_DIR

    def test_a_root_that_is_missing(self):
        hint = "hint: name the directory that holds the container's /usr and /etc with --rootfs\n"
        for words in (("--nv",), ("plan", "--nv"), ("undo",)):
            self.refuse(*words, "--rootfs", "/nowhere", status=5, stderr="gpuctr-setup: root file "
                        f"system /nowhere: No such file or directory\n{hint}")

    def test_a_root_that_is_a_file(self):
        self.refuse("--nv", "--rootfs", self.root / "etc/passwd", status=5, stderr=None)

    def test_a_root_that_is_empty(self):
        empty = self.root / "srv"

        self.refuse("--nv", "--rootfs", empty, status=5, stderr=None)
        self.refuse("--nv", "--rootfs", empty, "--", "true", status=125, stderr=None)
        self.refuse("--nv", "--rootfs", empty, "--write", "never", status=5, stderr=None)

    def test_an_ordinary_user_is_told_what_to_do(self):
        self.root.chmod(0o777)

        message = self.refuse("--nv", "--rootfs", self.root, status=6, stderr=None,
                              prefix=harness.ORDINARY_USER)

        self.assertIn("CAP_SYS_ADMIN", message)
        self.assertRegex(message.splitlines()[-1], "^hint: .*(-- CMD|unshare)")

    def test_a_root_that_may_not_be_entered(self):
        self.root.chmod(0o700)

        self.refuse("--nv", "--rootfs", self.root / "usr", status=6, stderr=None,
                    prefix=harness.ORDINARY_USER)

    def test_the_callers_own_root(self):
        host = mount_table.read()
        message = ("gpuctr-setup: the root file system is this process's own root directory\n"
                   "hint: name the directory of a container; in a script, a variable of its path "
                   "may be empty\n")

        for words in (("--nv",), ("plan", "--nv"), ("--nv", "--write", "never")):
            self.refuse(*words, "--rootfs", "/", status=5, stderr=message)

        self.assertEqual(mount_table.read(), host)

    def test_the_callers_own_root_on_another_mount(self):
        place = harness.DIRECTORY / "bound"
        place.mkdir()
        self.addCleanup(place.rmdir)
        harness.must("mount", "--bind", "/", place)
        self.addCleanup(harness.must, "umount", place)

        message = self.refuse("--nv", "--rootfs", place, status=5, stderr=None)

        self.assertIn("this process's own root directory", message)

    def test_a_command_in_the_callers_own_root(self):
        done = harness.call(*harness.on_host(self.host), SETUP, "--nv", "--device", "1",
                            "--rootfs", "/", "--", "sh", "-c", "echo /dev/nvidia?")
        self.assertEqual((done.stdout, done.stderr), ("/dev/nvidia1\n", ""))

    def test_hostile_places_for_the_tree(self):
        for make in (lambda p: p.write_text("file"), lambda p: p.symlink_to("/proc/self/root"),
                     lambda p: os.mkfifo(p)):
            path = self.root / "usr/lib/gpuctr"
            make(path)
            self.refuse("--nv", "--rootfs", self.root, status=5, stderr=None)
            path.unlink()


class Host(Refusal):
    """A recorded host that lacks something."""

    def setUp(self):
        super().setUp()
        copy = harness.DIRECTORY / "host"
        shutil.copytree(harness.HOST_DIR, copy)
        self.addCleanup(shutil.rmtree, copy)
        self.host = copy

    def without_the_module(self):
        shutil.rmtree(self.host / "proc/driver")
        shutil.rmtree(self.host / "sys/module")

    def with_another_module(self):
        for path in (self.host / "proc/driver/nvidia/version",
                     *(self.host / "sys").rglob("version")):
            path.write_text(path.read_text().replace(harness.VERSION, "570.1.2"))

    def test_no_kernel_module(self):
        self.without_the_module()

        message = self.refuse("--nv", "--rootfs", self.root, status=3, stderr=None)

        self.assertIn("kernel module is not loaded", message)
        self.refuse("--nv", "--rootfs", self.root, "--", "true", status=125, stderr=None)

    def test_user_space_of_another_version(self):
        self.with_another_module()

        message = self.refuse("--nv", "--rootfs", self.root, status=4, stderr=None)

        self.assertIn("570.1.2", message)
        self.assertIn(harness.VERSION, message)

    def test_a_driver_that_nobody_asked_for(self):
        self.with_another_module()

        done = harness.call(*harness.on_host(self.host), SETUP, "list", "--format",
                            "json")

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stderr.startswith("gpuctr-setup: warning: NVIDIA driver: no libcuda"),
                        done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["drivers"], [])
        self.assertEqual(document["findings"][0]["object"], "NVIDIA driver")
        self.assertIn("570.1.2", document["findings"][0]["text"])
        self.refuse("list", "--nv", status=4, stderr=None)
        self.assertIn("NVIDIA driver: no libcuda", self.refuse("plan", status=4, stderr=None))

    def test_no_unified_memory(self):
        devices = self.host / "proc/devices"
        devices.write_text("".join(line for line in devices.read_text().splitlines(True)
                                   if "nvidia-uvm" not in line))
        words = [*harness.on_host(self.host), SETUP]
        warning = "gpuctr-setup: warning: /dev/nvidia-uvm: is missing: "

        plan = harness.call(*words, "plan", "--nv", "--format", "json")
        self.assertTrue(plan.stderr.startswith(warning), plan.stderr)
        (found,) = [entry for entry in json.loads(plan.stdout)["findings"]
                    if entry["severity"] == "warning"]
        self.assertEqual(f"gpuctr-setup: warning: {found['object']}: {found['text']}\n"
                         f"hint: {found['hint']}\n", plan.stderr)
        done = harness.call(*words, "--nv", "--rootfs", self.root, "--", "true")
        self.assertEqual((done.returncode, done.stderr), (0, plan.stderr))
        done = harness.call(*words, "plan", "--nv", "--driver-capabilities", "utility")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_no_user_space(self):
        table = self.host / "files.tsv"
        table.write_text("".join(line for line in table.read_text().splitlines(True)
                                 if "libcuda.so" not in line.split("\t")[0]
                                 and "libcuda.so" not in line.split("\t")[1]))

        self.refuse("--nv", "--rootfs", self.root, status=4, stderr=None)

    def test_no_device_nodes(self):
        self.host = harness.HOST_DIR
        self.simhost_options = ("--no-devices",)

        # Root has them made for the container.
        words = ("--nv", "--rootfs", self.root, "--", "true")
        done = harness.call(*harness.on_host(self.host, *self.simhost_options),
                            *harness.ORDINARY_USER, harness.SETUP, *words)
        self.assertEqual(done.returncode, 125)
        self.assertIn("nodes", done.stderr)


if __name__ == "__main__":
    unittest.main()
