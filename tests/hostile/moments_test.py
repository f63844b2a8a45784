# SPDX-License-Identifier: MIT
"""Somebody changes things at one moment of a command: right before a system call of it,
where tests/faults/inject stops it and runs a script. What races would have to be lucky for."""

import os
import subprocess
import unittest

import faults
import harness
import hostile
import mount_table

NUMBERS = {name: number for number, name in faults.Point.names.items()}
# Leak checking cannot be traced.
ENVIRONMENT = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
FEWEST = ["--device", "0", "--driver-capabilities", "utility"]


class Moments(hostile.Case):
    def setUp(self):
        super().setUp()
        self.cache = self.path("/etc/ld.so.cache")
        self.words = ["--nv", "--rootfs", self.root, *FEWEST]

    def calls(self, *words):
        """The names of the system calls that the command makes, in order."""
        report = harness.DIRECTORY / "report"
        harness.must(faults.INJECT, "-o", report, harness.SETUP, *words, env=ENVIRONMENT)
        lines = [line.split() for line in report.read_text().splitlines()]
        return [faults.Point.names.get(int(call)) for process, call in lines if process == "0"]

    @staticmethod
    def before_call(name, number, script, *words):
        """Runs the command, and the script before the number-th call of that name."""
        return harness.call(faults.INJECT, "-c", NUMBERS[name], "-n", number, "-x", script,
                            harness.SETUP, *words, env=ENVIRONMENT)


class LoaderCaches(Moments):
    """The image's own is exchanged between the last look at it and our rename."""

    def meddled(self, name, script):
        """Apply fails; what is in the image is what the script put there."""
        self.put("/tmp/theirs", "theirs")
        done = self.before_call(name, 1, script, *self.words)

        self.assertEqual((done.returncode, done.stdout), (5, ""), done.stderr)
        self.assertIn("etc/ld.so.cache: ", done.stderr)
        self.assertEqual(self.cache.read_text(), "theirs")
        self.assertEqual(sorted(path.name for path in self.path("/etc").glob(".gpuctr*")), [])
        self.assertEqual([m.target for m in mount_table.below(self.root)], [])
        self.assertEqual(harness.journals(), [])
        self.assert_canary()
        self.cache.unlink()

    def test_one_that_was_not_there_is_nobody_elses_to_replace(self):
        """R5"""
        self.cache.unlink()
        self.meddled("renameat2", f"mv {self.path('/tmp/theirs')} {self.cache}")

    def test_another_than_was_planned_with_is_not_replaced(self):
        """R5: the journal is written when all is planned and prepared"""
        self.meddled("renameat", f"mv {self.path('/tmp/theirs')} {self.cache}")

    def test_the_same_with_other_content_is_not_replaced(self):
        """R5"""
        self.meddled("renameat", f"cat {self.path('/tmp/theirs')} >{self.cache}")


    def test_one_that_comes_right_before_the_rename_is_given_back(self):
        """R5"""
        self.meddled("renameat2", f"mv {self.path('/tmp/theirs')} {self.cache}")

    def put_at_the_last_moment(self):
        """Undo leaves it where it is, and all else of the set-up is gone."""
        self.run_setup(*self.words, "--write", "always")
        theirs = self.put("/tmp/theirs", "theirs")
        script = f"[ ! -e {theirs} ] || mv {theirs} {self.cache}"
        done = self.before_call("renameat2", 1, script, "undo", "--rootfs", self.root)

        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.cache.read_text(), "theirs")
        self.assertEqual(sorted(path.name for path in self.path("/etc").glob(".gpuctr*")), [])
        self.assertEqual([m.target for m in mount_table.below(self.root)], [])
        self.assertEqual(harness.journals(), [])
        self.assert_canary()

    def test_undo_takes_away_none_that_comes_in_place_of_ours(self):
        """R5"""
        self.put_at_the_last_moment()

    def test_nor_where_there_was_none_before(self):
        """R5"""
        self.cache.unlink()
        self.put_at_the_last_moment()


class Directories(Moments):
    """One that was just made is exchanged before it gets its mode."""

    def test_anothers_is_not_opened_to_everybody(self):
        """R5"""
        made, secret = self.path("/etc/ld.so.conf.d"), self.path("/etc/secret")
        harness.must("rm", "-rf", made)
        secret.mkdir()
        (secret / "file").write_text("root's")
        secret.chmod(0o700)
        words = [*self.words, "--write", "always"]
        calls = self.calls(*words)
        self.undo()
        exchange = ("import ctypes; exit(ctypes.CDLL(None).renameat2(-100, "
                    f"b'{secret}', -100, b'{made}', 2))")
        for number in range(1, calls.count("openat2") + 1):
            script = f'[ ! -d {made} ] || [ ! -d {secret} ] || python3 -c "{exchange}"'
            self.before_call("openat2", number, script, *words)
            there = made if (made / "file").exists() else secret
            self.assertEqual(os.stat(there).st_mode & 0o777, 0o700, number)
            harness.setup("undo", "--rootfs", self.root)
            if there == made:
                harness.must("rm", "-rf", secret)  # what was made there
                os.rename(made, secret)
            harness.must("rm", "-rf", made)


class Overlays(Moments):
    """Names lie over a directory for as long as it takes to make an overlay of both."""

    def test_what_was_mounted_over_them_is_not_taken_off_for_them(self):
        """R5"""
        before = self.state()
        way = ["--write", "never", "--backend", "detached"]
        words = [*self.words, *way]
        target = next(item["target"] for item in self.plan(*FEWEST, *way)["items"]
                      if item["source"] == "overlay")
        calls = self.calls(*words)
        self.undo()
        # File systems of our own are made before there is a journal.
        number = calls[:calls.index("renameat")].count("fsopen") + 1
        script = f"mount -t tmpfs foreign {self.path(target)}"
        done = self.before_call("fsopen", number, script, *words)

        self.assertEqual(done.returncode, 8, done.stderr)
        self.assert_calm(done)
        self.assertIn("foreign", [m.source for m in mount_table.below(self.root)])
        harness.must("umount", self.path(target))
        self.undo()
        self.assert_state(before)
        self.assertEqual(harness.journals(), [])
        self.assert_canary()


# In a pid namespace of its own: the process with root directory $FIRST ends when the
# command makes its call, and one with $SECOND gets the number.
START = """
start() {
    chroot "$1" sleep 60 >/dev/null 2>&1 &
    pid=$!
    until [ "$(readlink "/proc/$pid/root")" = "$1" ]; do :; done
}
"""
BEGIN = START + """
mount -t proc proc "$PROC"
for path in $SIMULATED; do mount --bind "$path" "$PROC/${path#/proc/}"; done
mount --move "$PROC" /proc
start "$FIRST"
export pid
"$@" --pid "$pid"
"""
RECYCLE = START + """
before=$pid
kill -KILL "$before"
while [ -e "/proc/$before" ]; do :; done
echo "$((before - 1))" >/proc/sys/kernel/ns_last_pid
start "$SECOND"
[ "$pid" = "$before" ]
"""


@unittest.skipUnless(os.path.exists("/proc/sys/kernel/ns_last_pid"), "no number is given again")
class Processes(Moments):
    """A process ends, and another one gets its number."""

    def test_another_with_the_number_is_not_looked_at_in_its_place(self):
        """R5: between the descriptor of the process and its root directory"""
        words = ["plan", "--nv", "--device", "0"]
        process = subprocess.Popen(["chroot", self.root, "sleep", "60"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        while os.readlink(f"/proc/{process.pid}/root") != str(self.root):
            pass
        calls = self.calls(*words, "--pid", process.pid)
        number = calls[:calls.index("pidfd_open")].count("openat") + 1

        proc = harness.DIRECTORY / "proc"
        proc.mkdir()
        self.addCleanup(proc.rmdir)
        environment = dict(ENVIRONMENT, FIRST=str(self.root), PROC=str(proc),
                           SECOND=str(harness.DIRECTORY / "template"),
                           SIMULATED=" ".join(m.target for m in mount_table.below("/proc")
                                              if m.target != "/proc"))
        done = harness.call("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec",
                            BEGIN, "sh", faults.INJECT, "-c", NUMBERS["openat"], "-n", number,
                            "-x", RECYCLE, harness.SETUP, *words, env=environment)

        self.assertEqual((done.returncode, done.stdout), (5, ""), done.stderr)
        self.assertRegex(done.stderr, r"^gpuctr-setup: process \d+ has ended\n$")


if __name__ == "__main__":
    unittest.main()
