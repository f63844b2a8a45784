# SPDX-License-Identifier: MIT
"""Many set-ups at once on one root directory, each in a mount namespace of its own,
with two drivers and different GPUs."""

import json
import os
import re
import subprocess
import unittest

import harness
import mount_table
import snapshot
from harness import TREE, VERSION

NEW_VERSION = "580.200.01"
COUNT = 64
GPUS = 8


class SetUp:
    """One mount namespace, kept by a shell that runs what it is told."""

    def __init__(self, root, number, drivers, options):
        self.root = root
        self.gpu = number % GPUS
        self.version, self.driver_options = drivers[number // GPUS % len(drivers)]
        self.options = options
        self.shell = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def start(self, command):
        self.shell.stdin.write(f"({command}) </dev/null; echo ended $?\n")
        self.shell.stdin.flush()

    def finish(self):
        """Output of the command that was started, and its exit status."""
        lines = []
        for line in self.shell.stdout:
            if line.startswith("ended "):
                return "".join(lines), int(line.split()[1])
            lines.append(line)
        return "".join(lines), None

    def apply(self):
        self.start(" ".join(map(str, [harness.SETUP, "--nv", "--rootfs", self.root, "--device",
                                      self.gpu, *self.driver_options, *self.options])))

    def undo(self):
        self.start(f"{harness.SETUP} undo --rootfs {self.root}")

    def look(self):
        self.start(f"cd {self.root} && ls dev && readlink -f .{TREE}/lib64/libcuda.so.1 && "
                   f"chroot . /usr/sbin/ldconfig -p | grep libcuda.so.1")

    def close(self):
        self.shell.stdin.close()
        self.shell.wait()
        self.shell.stdout.close()


class Shared(harness.Case):
    def setUp(self):
        super().setUp()
        new = harness.new_driver(self, NEW_VERSION)
        self.drivers = [(VERSION, []),
                        (NEW_VERSION, ["--driver-root", new, "--driver-version", NEW_VERSION])]
        self.set_ups = []
        self.addCleanup(lambda: [set_up.close() for set_up in self.set_ups])

    def run_all(self, action, set_ups=None):
        """The same in all of them at once."""
        set_ups = set_ups or self.set_ups
        for set_up in set_ups:
            action(set_up)
        outputs = []
        for set_up in set_ups:
            output, status = set_up.finish()
            self.assertEqual(status, 0, output)
            outputs.append(output)
        return outputs

    def assert_right(self, set_ups):
        for set_up, output in zip(set_ups, self.run_all(SetUp.look, set_ups)):
            nodes = re.findall(r"^nvidia\d+$", output, re.M)
            self.assertEqual(nodes, [f"nvidia{set_up.gpu}"], output)
            self.assertIn(f"libcuda.so.{set_up.version}\n", output)
            self.assertIn(f"=> {TREE}/lib64/libcuda.so.1\n", output)

    def check(self, root, *options):
        before = snapshot.take(root), mount_table.read()
        self.set_ups = [SetUp(root, n, self.drivers, options) for n in range(COUNT)]
        self.run_all(SetUp.apply)
        self.assertEqual(len(harness.journals()), COUNT)
        self.assertEqual(snapshot.difference(before[0], snapshot.take(root)), [])
        self.assert_right(self.set_ups)

        gone, staying = self.set_ups[::2], self.set_ups[1::2]
        self.run_all(SetUp.undo, gone)
        self.assertEqual(len(harness.journals()), len(staying))
        self.assert_right(staying)
        self.assertEqual(len(self.status(root)), len(staying))

        self.run_all(SetUp.undo, staying)
        self.assertEqual(list(harness.STATE.iterdir()), [])
        self.assertEqual(snapshot.difference(before[0], snapshot.take(root)), [])
        self.assertEqual(mount_table.read(), before[1])

    def status(self, root):
        done = self.run_setup("status", "--rootfs", root, "--format", "json", status=None,
                              stdout=None)
        found = json.loads(done.stdout)["setups"]
        self.assertEqual({one["origin"] for one in found}, {"another_namespace"})
        return found

    def run_setup(self, *words, status=0, **options):
        if status is not None:
            return super().run_setup(*words, status=status, **options)
        return harness.setup(*words)

    def read_only_root(self):
        shared = harness.DIRECTORY / "shared"
        harness.mount_tmpfs(shared)
        self.addCleanup(os.rmdir, shared)
        self.addCleanup(harness.must, "umount", "-l", shared)
        harness.must("cp", "-a", f"{self.root}/.", shared)
        harness.must("mount", "-o", "remount,ro", shared)
        return shared

    def test_a_read_only_directory(self):
        self.check(self.read_only_root())

    def test_a_writable_one_that_is_never_written(self):
        self.check(self.root, "--write", "never")

    @unittest.skipIf(harness.IS_PLAYED, "there it is all processes that are asked")
    def test_the_work_does_not_grow_with_the_others(self):
        root = self.read_only_root()
        self.set_ups = [SetUp(root, n, self.drivers, []) for n in range(17)]
        *others, last = self.set_ups

        harness.STATE.mkdir(mode=0o700)  # what the first of all makes is nothing to compare
        alone = self.calls_of(last)
        self.run_all(SetUp.apply, others)
        among_others = self.calls_of(last)

        # Of each other one the kernel is asked whether it still lives.
        self.assertLessEqual(among_others - alone, len(others) + 2)

    def calls_of(self, set_up):
        """System calls of a set-up that is undone again, but for those of allocation."""
        log = harness.DIRECTORY / "calls"
        set_up.start(f"ASAN_OPTIONS=detect_leaks=0 strace -f -qq -e 'trace=!%memory' -o {log} "
                     f"{harness.SETUP} --nv --rootfs {set_up.root} "
                     f"--device 0 && {harness.SETUP} undo --rootfs {set_up.root}")
        self.assertEqual(set_up.finish(), ("", 0))
        return len(log.read_text().splitlines())


if __name__ == "__main__":
    unittest.main()
