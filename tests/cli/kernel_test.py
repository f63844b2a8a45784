# SPDX-License-Identifier: MIT
"""What differs with the kernel: backends, and what a seccomp filter leaves of it."""

import errno
import os
import subprocess
import unittest

import harness
import mount_table
from harness import SETUP

SECCOMP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seccomp.py")


class Chosen(harness.Case):
    def backend(self, forbidden):
        """The first that is there; without a choice nothing keeps it from working."""
        for backend in ("auto", "detached", "assembled", "legacy"):
            done = harness.call(SECCOMP, forbidden, SETUP, "--nv", "--rootfs", self.root,
                                "--backend", backend, "--", "true")
            if backend == "auto":
                self.assertEqual(done.returncode, 0, done.stderr)
            elif done.returncode == 0:
                return backend
            else:
                self.assertIn(f"the {backend} backend needs Linux", done.stderr)
        return None

    def test_is_the_first_that_the_kernel_has(self):
        for error in ("ENOSYS", "EPERM"):
            self.assertEqual(self.backend(f"mount_api:{error}"), "legacy")
            self.assertEqual(self.backend(f"open_tree:{error}"), "legacy")
            self.assertEqual(self.backend(f"mount_setattr:{error}"), "legacy")
            self.assertEqual(self.backend(f"open_tree_attr:{error}"), "assembled")

    def test_cannot_be_forced_on_a_kernel_that_lacks_it(self):
        for backend in ("detached", "assembled"):
            done = harness.call(SECCOMP, "mount_api:EPERM", SETUP, "--nv", "--rootfs", self.root,
                                "--backend", backend)
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertIn(f"the {backend} backend needs Linux", done.stderr)


class Legacy(harness.Case):
    """What cannot be on a kernel without detached mounts is said to be so."""

    HINT = ("hint: Linux 5.12 or later is needed, without a seccomp filter on mount_setattr and "
            "open_tree; setting up in one step works without: gpuctr-setup --rootfs, "
            "gpuctr_plan_apply()\n")

    def test_refuses_to_prepare(self):
        with self.nothing_changes():
            done = harness.call(SECCOMP, "mount_api:EPERM", SETUP, "prepare", "--nv")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(done.stderr, "gpuctr-setup: this kernel has no detached mounts\n"
                         + self.HINT)

    def test_refuses_to_lock(self):
        with self.nothing_changes():
            for words in (["--rootfs", self.root], ["--rootfs", self.root, "--", "true"]):
                done = harness.call(SETUP, "--nv", "--lock", "--backend", "legacy", *words)
                self.assertEqual(done.returncode, 125 if "--" in words else 7, done.stderr)
                self.assertIn("the flags of mounts cannot be locked on this kernel", done.stderr)
                self.assertRegex(done.stderr, "hint: Linux 5.12 .*; or do without --lock\n")

    def test_refuses_a_container_that_runs(self):
        with subprocess.Popen(["unshare", "--mount", "sleep", "60"]) as process:
            self.addCleanup(process.kill)
            done = harness.call(SETUP, "--nv", "--pid", process.pid, "--backend", "legacy")
            process.kill()
        self.assertIn(done.returncode, (5, 7), done.stderr)

    def test_has_no_name_for_a_container_that_runs(self):
        done = harness.call(SECCOMP, "pidfd_open:ENOSYS", SETUP, "--nv", "--pid", os.getpid())
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("hint: --pid needs Linux 5.8\n", done.stderr)

    def test_uses_a_tree_that_was_prepared(self):
        self.run_setup("prepare", "--nv")
        self.addCleanup(harness.setup, "prepare", "--undo")
        before = self.state()

        self.apply("--backend", "legacy")
        self.assertEqual(self.inside("/usr/bin/needs_driver").count("\n"), 2)
        self.undo()

        self.assert_state(before)

    def test_shows_mounts_nowhere_but_in_the_root(self):
        self.apply("--backend", "legacy")
        outside = [m.target for m in mount_table.read() if not m.target.startswith(str(self.root))]
        self.undo()
        self.assertEqual(outside, [m.target for m in mount_table.read()])
        self.assertEqual([t for t in outside if "stage" in t], [])

    def test_leaves_none_in_a_namespace_that_sees_the_state_directory(self):
        harness.must("mount", "--make-shared", "/var/lib")
        self.addCleanup(harness.must, "mount", "--make-private", "/var/lib")
        script = "cat /proc/self/mountinfo; echo; read line; cat /proc/self/mountinfo"
        with subprocess.Popen(["unshare", "--mount", "--propagation", "unchanged", "sh", "-c",
                               script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as other:
            before = list(iter(other.stdout.readline, "\n"))
            self.apply("--backend", "legacy")
            after = other.communicate("\n")[0]
        self.undo()
        self.assertEqual(after.splitlines(keepends=True), before)

    def kill_in_preparation(self):
        before = self.state()
        done = harness.call("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=mount",
                            "-e", "inject=mount:signal=KILL:when=20", SETUP, "--nv", "--rootfs",
                            self.root, "--backend", "legacy",
                            env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
        self.assertNotEqual(done.returncode, 0)
        self.assertNotEqual(self.state()[1], before[1], "nothing was left")
        return before

    def test_clears_the_scratch_directory_that_a_killed_set_up_left(self):
        before = self.kill_in_preparation()

        self.apply("--backend", "legacy")
        self.undo()

        self.assert_state(before)
        self.assertEqual(harness.journals(), [])

    def test_a_scratch_directory_that_was_left_is_seen_and_undone_without_a_journal(self):
        before = self.kill_in_preparation()

        status = harness.setup("status", "--all")
        self.assertEqual(status.returncode, 9)
        self.assertIn("was cut off before it changed anything", status.stdout)
        self.run_setup("undo", "--all")

        self.assert_state(before)
        self.assertEqual(list(harness.STATE.iterdir()), [])


class Proc(harness.Case):
    """What descriptors are named by."""

    def test_believes_no_other_proc_than_the_kernels(self):
        for trick in ("mount -t tmpfs none", "mount --bind /proc/sys/kernel"):
            with self.subTest(trick), self.nothing_changes():
                done = harness.call(
                    "unshare", "--mount", "sh", "-c",
                    f'{trick} /proc/$$/task/$$/fd && exec "$0" "$@"', SETUP, "--nv", "--rootfs",
                    self.root, "--backend", "legacy")
                self.assertEqual(done.returncode, 7, done.stderr)
                self.assertIn("/proc/thread-self/fd: something else is mounted over it", done.stderr)

    def test_uses_no_other_proc_when_it_runs_a_command(self):
        for trick in ("mount -t tmpfs none", "mount --bind /proc/sys/kernel"):
            with self.subTest(trick), self.nothing_changes():
                done = harness.call(
                    "unshare", "--mount", "sh", "-c", f'{trick} /proc/$$/fd && exec "$0" "$@"',
                    SETUP, "--nv", "--rootfs", self.root, "--", "true")
                self.assertEqual(done.returncode, 125, done.stderr)


class Played(harness.Case):
    """By the variant linux_4_18."""

    @unittest.skipUnless(harness.IS_PLAYED, "only where an older kernel is played")
    def test_tells_of_mounts_by_proc_alone(self):
        calls = harness.call("strace", "-qq", "-e", "trace=openat,statx", SETUP, "plan", "--nv",
                             "--rootfs", self.root).stderr.splitlines()
        self.assertTrue([call for call in calls if "/proc/thread-self/fdinfo/" in call])
        self.assertEqual([call for call in calls if "STATX_MNT_ID, {" in call], [])
        done = harness.setup("--nv", "--rootfs", self.root, "--backend", "assembled", "--", "true")
        self.assertIn("the assembled backend needs Linux", done.stderr)


class Filters(unittest.TestCase):
    def test_that_the_other_tests_use_do_what_they_say(self):
        script = ("import ctypes; libc = ctypes.CDLL(None, use_errno=True); "
                  "libc.syscall(437, -1, b'', None, 0); print(ctypes.get_errno())")
        for name in ("ENOSYS", "EPERM"):
            said = harness.must(SECCOMP, f"openat2:{name}", "python3", "-c", script)
            self.assertEqual(said, f"{getattr(errno, name)}\n")


if __name__ == "__main__":
    unittest.main()
