# SPDX-License-Identifier: MIT
"""Images on a file system in user space, which answers when it likes to (T15, T19).

Whoever asks such a file system waits for it. What must hold then: a signal ends the
command, what it had begun can be taken back, and nobody else waits."""

import contextlib
import os
import select
import signal
import stat
import subprocess
import time
import unittest

import harness
import hostile
import mount_table
import snapshot

LONG = os.environ.get("GPUCTR_TEST_LONG") == "1"
# Which requests of a command are not answered: each, or one in so many.
EVERY = 1 if LONG and os.environ.get("GPUCTR_TEST_FEWER") != "1" else 60
SILENT = os.environ["GPUCTR_SILENT"]
SOON = 20


def ended(process, timeout):
    """Whether a process ended by itself in time."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout)
    return process.returncode is not None


def start(*words):
    return subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def make_device(path):
    os.mknod(path, stat.S_IFCHR, os.makedev(10, 229))
    path.chmod(0o666)


class FileSystem:
    """`silent` at work; what a test does to SOURCE itself it does not see as a request."""

    def __init__(self, case, *words):
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        case.addCleanup(self.end)
        if self.process.stdout.readline() != b"ready\n":
            said = self.process.stderr.read().decode()
            if "No such device" in said: # neither device nor file system in this kernel
                case.skipTest("this kernel has no FUSE")
            raise AssertionError(said)
        while self.tell("answer") == 0: # the kernel's own first one
            time.sleep(0.001)

    def tell(self, line):
        """What it is to do from now on; how many requests there were since the last time."""
        self.process.stdin.write(line.encode() + b"\n")
        while True:
            words = self.process.stdout.readline().split()
            if words[:1] != [b"silent"]:
                return int(words[1])

    def fell_silent(self, process):
        """Waits until it did, or until the process ended before."""
        descriptor = os.pidfd_open(process.pid)
        ready = select.select([self.process.stdout, descriptor], [], [], harness.TIMEOUT)[0]
        os.close(descriptor)
        return self.process.stdout in ready and self.process.stdout.readline() == b"silent\n"

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


class Case(hostile.Case):
    """The whole image lies on it, at `shown`; `root` is what it shows."""

    def setUp(self):
        super().setUp()
        self.shown = harness.DIRECTORY / "shown"
        self.shown.mkdir()
        self.addCleanup(self.shown.rmdir)
        self.addCleanup(self.unmount)
        self.device = harness.DIRECTORY / "fuse"
        make_device(self.device)
        self.addCleanup(self.device.unlink)
        self.files = self.mount()
        self.words = ("--nv", "--rootfs", self.shown, "--device", "0")
        self.before = self.state()

    def mount(self):
        return FileSystem(self, SILENT, self.device, self.root, self.shown)

    def unmount(self):
        """With all that lies on it: where nobody answers, nothing below is to be found."""
        while mount_table.below(self.shown):
            harness.must("umount", "-l", self.shown)

    def end_waiting(self, process, number):
        process.send_signal(number)
        self.assertTrue(ended(process, SOON), f"signal {number} ends nothing")
        process.stderr.close()

    def interrupt(self, at, words, number=signal.SIGTERM):
        """Runs a command, and ends it by a signal once it has waited for the at-th answer;
        False where it came to its end before."""
        self.files.tell(f"ignore {at}")
        process = start(harness.SETUP, *words)
        silent = self.files.fell_silent(process)
        if silent:
            self.end_waiting(process, number)
        else:
            self.assertTrue(ended(process, SOON))
        stderr = process.stderr.read() if not process.stderr.closed else b""
        process.stderr.close()
        # The last requests are those that nobody waits for.
        self.assertIn(process.returncode, (0, -number), stderr)
        self.files.tell("answer")
        return process.returncode != 0

    def count(self, *words):
        """Requests of a command that is answered."""
        self.files.tell("answer")
        self.assertEqual(harness.setup(*words).returncode, 0)
        return self.files.tell("answer")


class Answering(Case):

    def test_an_image_on_a_file_system_in_user_space_is_set_up(self):
        """T19"""
        source, self.root = self.root, self.shown
        self.each_mode(succeeds=True)
        self.root = source


class MountedAnew(Case):
    """It has no times of birth, and another device number each time."""

    def test_names_that_were_written_are_found_and_taken_back(self):
        """T19"""
        words = (*self.words, "--write", "always")
        self.assertEqual(harness.setup(*words).returncode, 0)
        number = os.stat(self.shown).st_dev
        self.unmount()
        held = harness.DIRECTORY / "held"
        for _ in range(4):
            harness.mount_tmpfs(held)
            self.addCleanup(harness.must, "umount", held)
        self.files = self.mount()
        self.assertNotEqual(os.stat(self.shown).st_dev, number)

        with harness.new_boot():
            self.assert_calm(harness.setup("undo", "--rootfs", self.shown))

        self.assertEqual(snapshot.difference(self.before[0], self.state()[0]), [])
        self.assertEqual(harness.journals(), [])


class Silent(Case):
    """It answers so many requests and then none any more."""

    def take_back(self, number):
        """What undo and apply make of what is there."""
        if number % 2 == 0:
            again = harness.setup(*self.words)
            self.assertEqual(again.returncode, 0, again.stderr)
        done = harness.setup("undo", "--rootfs", self.shown)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_state(self.before, message=f"request {number}")
        self.assertEqual(harness.journals(), [])
        self.assert_canary()

    def sweep(self, words, begin=lambda: None):
        begin()
        total = self.count(*words)
        self.take_back(1)
        waited = 0
        for number in range(1, total + 1, EVERY):
            with self.subTest(request=number, of=total):
                begin()
                waited += self.interrupt(number, words)
                self.take_back(number)
        print(f"ended {waited} times while waiting, of {total} requests", flush=True)
        self.assertGreaterEqual(waited, total // EVERY * 9 // 10)

    def test_setting_up_ends_by_a_signal_and_is_taken_back(self):
        """T15"""
        for write in ("always", "never"):
            self.sweep((*self.words, "--write", write))

    def test_undo_ends_by_a_signal_and_is_done_by_the_next(self):
        """T15"""
        self.sweep(("undo", "--rootfs", self.shown),
                   lambda: harness.must(harness.SETUP, *self.words, "--write", "always"))

    def test_a_command_that_waits_ends_by_a_signal_and_leaves_nothing(self):
        """T15"""
        self.sweep((*self.words, "--", "/usr/bin/true"))

    def test_looking_changes_nothing(self):
        """T15"""
        self.sweep(("plan", "--nv", "--rootfs", self.shown))
        self.sweep(("status", "--rootfs", self.shown),
                   lambda: harness.must(harness.SETUP, *self.words, "--write", "always"))

    def test_other_images_do_not_wait(self):
        """T15: not even while one is half set up"""
        half = self.count(*self.words) * 3 // 4
        self.take_back(1)
        self.files.tell(f"ignore {half}")
        waiting = start(harness.SETUP, *self.words)
        self.assertTrue(self.files.fell_silent(waiting))
        other = harness.new_root()
        before = snapshot.take(other)
        begin = time.monotonic()

        for words in (("--nv", "--rootfs", other), ("status", "--rootfs", other),
                      ("undo", "--rootfs", other), ("plan", "--nv", "--rootfs", other),
                      ("list",), ("--nv", "--rootfs", other, "--", "/usr/bin/true")):
            done = harness.setup(*words, timeout=SOON)
            self.assertEqual(done.returncode, 0, done.stderr)

        self.assertLess(time.monotonic() - begin, SOON)
        self.assertEqual(snapshot.difference(before, snapshot.take(other)), [])
        harness.must("rm", "-rf", other)
        self.end_waiting(waiting, signal.SIGTERM)
        self.files.tell("answer")
        self.take_back(1)

    def test_a_file_system_that_goes_away_is_an_error(self):
        """T15, T19: nothing was written into it, so nothing is left"""
        total = self.count(*self.words)
        self.take_back(1)
        reached = 0
        for number in range(1, total - 5, EVERY):
            with self.subTest(request=number, of=total):
                self.files.tell(f"ignore {number}")
                waiting = start(harness.SETUP, *self.words)
                if not self.files.fell_silent(waiting):
                    # The kernel still had the answer to some requests.
                    self.assertTrue(ended(waiting, SOON))
                    waiting.stderr.close()
                    self.files.tell("answer")
                    self.take_back(1)
                    continue
                reached += 1
                self.files.end(signal.SIGKILL)
                self.assertTrue(ended(waiting, SOON))
                said = waiting.stderr.read().decode()
                waiting.stderr.close()
                self.assertIn(waiting.returncode, (0, *hostile.REFUSALS, 8), said)
                self.assertRegex(said, "^(gpuctr-setup: |$)")
                self.assert_calm(harness.setup("undo", "--rootfs", self.shown, timeout=SOON))
                self.check_gone()
        self.assertGreater(reached, total // EVERY // 2)

    @unittest.skipUnless(LONG, "takes half a minute")
    def test_who_wants_the_same_image_gives_up(self):
        """T15: one directory of it lies there, which the first is about to write in"""
        local = harness.DIRECTORY / "local"
        os.rename(self.path("/usr/local"), local)
        self.addCleanup(harness.must, "rm", "-rf", local)
        self.path("/usr/local").mkdir()
        files = FileSystem(self, SILENT, self.device, local, self.path("/usr/local"))
        words = ("--nv", "--rootfs", self.root, "--device", "0", "--write", "always")
        self.assertEqual(harness.setup(*words).returncode, 0)
        total = files.tell("answer")
        self.assertEqual(harness.setup("undo", "--rootfs", self.root).returncode, 0)
        before = self.state()
        files.tell(f"ignore {total - 1}")
        waiting = start(harness.SETUP, *words)
        self.assertTrue(files.fell_silent(waiting))
        for other in (("undo", "--rootfs", self.root), ("status", "--rootfs", self.root)):
            done = harness.setup(*other)
            self.assertEqual(done.returncode, 8, done.stderr)
            self.assertIn(f"process {waiting.pid} is at work", done.stderr)
        self.end_waiting(waiting, signal.SIGTERM)
        files.tell("answer")
        self.assertEqual(harness.setup("undo", "--rootfs", self.root).returncode, 0)
        self.assert_state(before)
        self.assertEqual(harness.journals(), [])

    def test_who_waits_for_what_was_taken_ends_with_the_file_system(self):
        """T15: the kernel then keeps even from SIGKILL"""
        for number in (1, self.count(*self.words) // 2):
            self.files.tell(f"take {number}")
            waiting = start(harness.SETUP, *self.words)
            self.assertTrue(self.files.fell_silent(waiting))
            waiting.kill()
            self.files.end(signal.SIGKILL)

            self.assertTrue(ended(waiting, SOON))
            waiting.stderr.close()
            self.check_gone()

    def check_gone(self):
        """With the file system goes all that lay on it; there it is as it was."""
        self.unmount()
        self.assertEqual(mount_table.read(), [m for m in self.before[1] if m.type != "fuse"])
        self.assert_calm(harness.setup("undo", "--all", timeout=SOON))
        self.assertEqual(harness.journals(), [])
        self.assertEqual(snapshot.difference(self.before[0], self.state()[0]), [])
        self.assert_canary()
        self.files = self.mount()
        # Mounted anew, it may have another number.
        self.before = self.before[0], mount_table.read()


ENTER = """
mount --rbind "$1" "$1" && cd "$1" && mount --rbind /proc proc && pivot_root . mnt &&
umount -l /mnt && echo ready && exec sleep 600
"""


class OfTheContainer(hostile.Case):
    """A process of a container, root of its user namespace, mounts one there and says that
    everybody may see it. The kernel does not let those in who are outside."""

    def setUp(self):
        super().setUp()
        harness.must("cp", "/usr/sbin/pivot_root", self.root / "usr/sbin")
        harness.must("cp", SILENT, self.path("/usr/bin/silent"))
        make_device(self.path("/srv/fuse"))
        harness.must("chown", "-R", "-h", "100000:100000", self.root)
        holder = self.start("unshare", "--user", "sh", "-c", "echo ready; exec sleep 600")
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{holder}/{name}", "w", encoding="ascii") as file:
                file.write("0 100000 65536")
        self.pid = self.start("nsenter", f"--user=/proc/{holder}/ns/user", "--setuid", "0",
                              "--setgid", "0", "unshare", "--mount", "--propagation", "private",
                              "sh", "-ec", ENTER, "sh", self.root)
        self.enter = ("nsenter", "--target", self.pid, "--all", "--root", "--wd")

    def start(self, *words):
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE)
        for action in (process.wait, process.kill, process.stdout.close):
            self.addCleanup(action)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process.pid

    def test_it_is_not_asked(self):
        """T15"""
        table = f"/proc/{self.pid}/mountinfo"
        for place in ("/etc", "/usr/local", "/usr/lib", "/dev", "/usr/bin"):
            source = self.path(f"/srv{place}")
            harness.must("cp", "-a", "--parents", f".{place}", "srv", cwd=self.root)
            files = FileSystem(self, *self.enter, "/usr/bin/silent", "/srv/fuse",
                               f"/srv{place}", place)
            files.tell("ignore 1")
            before = mount_table.read(table)
            for words in ((), ("--write", "never"), ("--write", "always")):
                with self.subTest(place=place, words=words):
                    done = harness.setup("--nv", "--pid", self.pid, *words, timeout=SOON)
                    self.assert_outcome(done, None, hostile.REFUSALS)
                    undone = harness.setup("undo", "--pid", self.pid, timeout=SOON)
                    self.assertEqual(undone.returncode, 0, undone.stderr)
                    self.assertEqual(mount_table.read(table), before)
                    self.assertEqual(harness.journals(), [])
            inside = start(*self.enter, "ls", place)
            self.assertTrue(files.fell_silent(inside), "nobody would have waited")
            inside.kill()
            self.assertTrue(ended(inside, SOON))
            inside.stderr.close()
            self.assertEqual(files.tell("answer"), 0)
            harness.must(*self.enter, "umount", "-l", place)
            harness.must("rm", "-rf", source)


if __name__ == "__main__":
    unittest.main()
