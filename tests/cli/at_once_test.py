# SPDX-License-Identifier: MIT
"""Several set-ups and undos of one root file system at once: as if one after the other."""

import fcntl
import itertools
import os
import pathlib
import signal
import subprocess
import time
import unittest

import faults
import harness

ROUNDS = 40 if faults.LONG else 3


def start(*words):
    return subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def together(*commands, delay=0.0):
    """Runs commands at once, each begun a little later than the one before."""
    running = []
    for command in commands:
        running.append(start(*command))
        time.sleep(delay)
    return [(*process.communicate(timeout=60), process.returncode) for process in running]


class AtOnce(faults.Case):
    def setUp(self):
        super().setUp()
        self.before = self.state()
        self.first = [harness.SETUP, *self.words]
        self.second = [word if word != "0" else "1" for word in self.first]
        self.taken_away = [harness.SETUP, *self.undo_words]
        self.shapes = [self.shape()]
        for words in self.first, self.second:
            harness.must(*words)
            self.shapes.append(self.shape())
            self.undo()

    def check(self, outcomes, allowed):
        """All succeed, and what is there is what one of them leaves. A mount that an
        undo takes away under the eyes of another is an error of that one."""
        for stdout, stderr, status in outcomes:
            gone = status == 8 and "gone meanwhile" in stderr
            self.assertEqual((0 if gone else status, stdout), (0, ""), stderr)
        self.assertIn(self.shape(), allowed)
        self.assertLessEqual(len(harness.journals()), 1)
        self.undo(stderr=None)
        self.assert_state(self.before)
        self.assertEqual(self.journals(), [])

    def each_pair(self, left, right, allowed, begin=lambda: None):
        for turn, pair in itertools.product(range(ROUNDS), ((left, right), (right, left))):
            with self.subTest(turn=turn, first=pair[0]):
                begin()
                self.check(together(*pair, delay=0.0005 * turn), allowed)

    def test_the_same_set_up_twice_is_there_once(self):
        self.each_pair(self.first, self.first, self.shapes[1:2])

    def test_of_set_ups_of_two_gpus_one_stays(self):
        self.each_pair(self.first, self.second, self.shapes[1:])

    def test_a_set_up_and_an_undo(self):
        self.each_pair(self.first, self.taken_away, self.shapes[:2])

    def test_a_replacement_and_an_undo(self):
        self.each_pair(self.second, self.taken_away, [self.shapes[0], self.shapes[2]],
                       lambda: harness.must(*self.first))

    def test_undo_twice(self):
        self.each_pair(self.taken_away, self.taken_away, self.shapes[:1],
                       lambda: harness.must(*self.first))

    def test_undo_of_all_and_of_one(self):
        self.each_pair(self.taken_away, [harness.SETUP, "undo", "--all"], self.shapes[:1],
                       lambda: harness.must(*self.first))

    def test_many(self):
        commands = [self.first, self.second, self.taken_away] * (8 if faults.LONG else 3)
        self.check(together(*commands), self.shapes)

    def test_in_two_mount_namespaces(self):
        """The second writes no names where the first has, or the other way round."""
        elsewhere = ["unshare", "--mount", "--propagation", "private", *self.first]
        for turn in range(ROUNDS):
            for stdout, stderr, status in together(self.first, elsewhere, delay=0.001 * turn):
                self.assertEqual((status, stdout), (0, ""), stderr)
            self.undo()
            self.assert_state(self.before, message=f"turn {turn}")

    def test_names_below_mounts_go_after_these(self):
        """Of a namespace that ended names are left, which a later set-up mounted over."""
        def in_a_namespace(then):
            process = subprocess.Popen(
                ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                 f"$0 --nv --rootfs {self.root} && echo done && read -r go; $0 {then}",
                 harness.SETUP],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(process.stdout.readline(), "done\n")
            return process

        for undo in (f"undo --rootfs {self.root}", "undo --all"):
            with self.subTest(undo=undo):
                first, second = in_a_namespace("version"), in_a_namespace(undo)
                first.communicate("\n", timeout=60)
                _, stderr = second.communicate("\n", timeout=60)

                self.assertEqual((second.returncode, stderr), (0, ""))
                self.assert_state(self.before)
                self.assertEqual(harness.journals(), [])

    def test_with_journals_in_two_places(self):
        """Nothing makes one wait: names of the other are not taken for its own."""
        other = harness.DIRECTORY / "state"
        for turn in range(ROUNDS):
            outcomes = together(self.first, [*self.second, "--state-dir", other],
                                delay=0.002 * turn)
            self.assertIn(0, [status for *_, status in outcomes], outcomes)
            for stdout, stderr, status in outcomes:
                self.assertIn(status, (0, 5, 8), stderr)
            # What lies on top has to go first, and hides until then what is below it.
            for words in 2 * [self.undo_words, [*self.undo_words, "--state-dir", other]]:
                done = harness.setup(*words)
                self.assertIn(done.returncode, (0, 8), done.stderr)
            self.assert_state(self.before, message=f"turn {turn}: {outcomes}")


class Locked(faults.Case):
    """Somebody holds the lock of the root's journals."""

    def setUp(self):
        super().setUp()
        status = os.stat(self.root)
        directory = harness.STATE / f"{status.st_dev}-{status.st_ino}"
        directory.mkdir(parents=True, mode=0o700)
        self.lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        self.addCleanup(os.close, self.lock)
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def waits(self, *words):
        running = start(harness.SETUP, *words)
        with self.assertRaises(subprocess.TimeoutExpired):
            running.wait(0.3)
        fcntl.flock(self.lock, fcntl.LOCK_UN)
        _, stderr = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 0, stderr)

    def test_apply_waits(self):
        self.waits(*self.words)
        self.undo()

    def test_undo_waits(self):
        self.waits(*self.undo_words)

    def test_status_waits(self):
        self.waits("status", "--rootfs", self.root)

    @unittest.skipUnless(faults.LONG, "takes half a minute")
    def test_not_for_ever(self):
        done = self.run_setup(*self.words, status=8, stderr=None)

        self.assertIn(f"process {os.getpid()}", done.stderr)


class Outrun(faults.Case):
    """An undo of an older set-up comes between the plan of a set-up and its lock."""

    def setUp(self):
        super().setUp()
        # What is bound by a set-up is looked at anew in any case.
        harness.must("mount", "--bind", self.root, self.root)
        harness.must("mount", "--make-private", self.root)
        self.second = [word if word != "0" else "1" for word in self.words]

    def outrun(self):
        """It is as if the undo had been before."""
        before = self.state()
        self.run_setup(*self.second)
        complete = self.shape()
        self.undo()
        self.run_setup(*self.words)
        [lock] = harness.STATE.glob("*/lock")
        with open(lock) as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            running = start(harness.SETUP, *self.second)
            self.addCleanup(running.kill)
            self.wait_for_sleep(running.pid)
            running.send_signal(signal.SIGSTOP)
        self.undo()
        running.send_signal(signal.SIGCONT)
        _, stderr = running.communicate(timeout=60)

        self.assertEqual((running.returncode, stderr), (0, ""))
        self.assertEqual(self.shape(), complete)
        self.undo()
        self.assert_state(before)

    def wait_for_sleep(self, pid):
        end = time.monotonic() + 60
        while not self.sleeps(pid):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)

    @staticmethod
    def sleeps(pid):
        call = pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0]
        return call.isdigit() and "nanosleep" in faults.Point.names[int(call)]

    def test_an_image(self):
        self.outrun()

    def test_in_an_image_that_has_the_directory_and_no_loader_cache(self):
        (self.root / "usr/lib/gpuctr").mkdir()
        (self.root / "etc/ld.so.cache").unlink()
        self.outrun()


class OutrunMerged(Outrun):
    arguments = [*Outrun.arguments, "--layout", "merged"]


class OutrunNeverWriting(Outrun):
    write = "never"


if __name__ == "__main__":
    unittest.main()
