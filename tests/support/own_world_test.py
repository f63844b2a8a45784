#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""own-world, in a world of its own that plays the machine."""

import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))

# pylint: disable=wrong-import-position
import mount_table

OWN_WORLD = [sys.executable, "-B", str(HERE / "own-world")]
ORDINARY_USER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
ELSEWHERE = pathlib.Path("/mnt")


def must(*words):
    subprocess.run([str(word) for word in words], check=True)


class Place:
    """Where somebody else on the machine mounts something, and unmounts it."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def mount(self):
        self.path.mkdir(parents=True)
        must("mount", "-t", "tmpfs", "somebody", self.path)

    def remove(self):
        """The directory goes too, which takes it out of all namespaces."""
        must("umount", self.path)
        self.path.rmdir()


class OwnWorld(unittest.TestCase):
    def run_in(self, *words, before=()):
        return subprocess.run([*before, *OWN_WORLD, *words], capture_output=True, text=True,
                              check=False, timeout=60)

    def test_ends_as_the_command_does(self):
        self.assertEqual(self.run_in("true").returncode, 0)
        self.assertEqual(self.run_in("sh", "-c", "exit 77").returncode, 77)
        self.assertEqual(self.run_in("sh", "-c", "kill -KILL $$").returncode, 137)

    def test_does_not_show_what_others_do_meanwhile(self):
        must("mount", "-t", "tmpfs", "machine", ELSEWHERE)
        self.addCleanup(must, "umount", ELSEWHERE)
        gone = [Place("/tmp/somebodys/a"), Place("/run/somebodys/a"), Place(ELSEWHERE / "x/a")]
        come = [Place("/tmp/somebodys/b"), Place("/run/somebodys/b"), Place(ELSEWHERE / "x/b")]
        for place in gone:
            place.mount()
        before = mount_table.read()
        with subprocess.Popen([*OWN_WORLD, "sh", "-c", "cat /proc/self/mountinfo; echo; read word"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as world:
            table = "".join(iter(world.stdout.readline, "\n"))
            for place in gone:
                place.remove()
            for place in come:
                place.mount()
            node = pathlib.Path("/dev/somebodys")
            node.touch()
            after = mount_table.read()
            errors = world.communicate("go\n")[1]
        for place in come:
            place.remove()
        node.unlink()

        self.assertEqual((world.returncode, errors), (0, ""))
        self.assertIn(" /proc ", table)
        self.assertNotIn("somebodys", table)
        self.assertNotIn(str(ELSEWHERE / "x"), table)
        self.assertNotEqual(before, after)

    def check_left(self, words, place):
        before = mount_table.read()

        done = self.run_in(*words)

        self.assertEqual(done.returncode, 1)
        self.assertIn(f"left in the machine's namespace: {place}: mounted: ", done.stderr)
        self.assertEqual(mount_table.read(), before)

    def test_notices_a_mount_that_is_left(self):
        self.check_left(["mount", "-t", "tmpfs", "leak", ELSEWHERE], ELSEWHERE)

    def test_notices_a_mount_that_a_namespace_lets_out(self):
        self.check_left(["unshare", "--mount", "--propagation", "shared",
                         "mount", "-t", "tmpfs", "leak", ELSEWHERE], ELSEWHERE)

    def test_notices_a_mount_that_is_taken_away(self):
        done = self.run_in("umount", "/var/tmp")

        self.assertEqual(done.returncode, 1)
        self.assertIn("/var/tmp: unmounted: ", done.stderr)

    def test_notices_what_is_left_in_dev(self):
        done = self.run_in("touch", "/dev/nvidia0")

        self.assertEqual(done.returncode, 1)
        self.assertIn("/dev/nvidia0: left behind", done.stderr)
        self.assertFalse(os.path.exists("/dev/nvidia0"))

    def test_keeps_the_error_of_a_command_that_leaves_something(self):
        done = self.run_in("sh", "-c", "touch /dev/nvidia0; exit 3")

        self.assertEqual(done.returncode, 3)

    def test_has_devices_that_work(self):
        done = self.run_in("sh", "-c", "echo > /dev/null && head -c 4 /dev/zero | wc -c")

        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "4\n", ""))

    def test_runs_the_command_of_an_ordinary_user_as_it_is(self):
        done = self.run_in("readlink", "/proc/self/ns/mnt", before=ORDINARY_USER)

        self.assertEqual(done.stdout, os.readlink("/proc/self/ns/mnt") + "\n")


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("these tests are for root")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    unittest.main()
