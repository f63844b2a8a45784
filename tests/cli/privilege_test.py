# SPDX-License-Identifier: MIT
"""What gpuctr-setup may do at which point, and what CMD may."""

import os
import re
import shutil
import struct
import unittest

import harness
from harness import DIRECTORY, ORDINARY_USER

LOOK = {"DAC_OVERRIDE", "DAC_READ_SEARCH", "MKNOD"}
STATE = LOOK | {"SYS_ADMIN", "SYS_PTRACE"}
MOUNT = LOOK | {"CHOWN", "SYS_ADMIN", "SYS_CHROOT"}
APPLY = STATE | MOUNT | {"FOWNER", "SETUID", "SETGID"}
IN_PROCESS = {"SYS_PTRACE", "SYS_ADMIN", "SYS_CHROOT"}

# Of /proc/self/status.
FIELDS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Uid", "Gid",
          "Groups")
STATUS = f"grep -E '^({'|'.join(FIELDS)}):' /proc/self/status"


class Phases(harness.Case):
    """Seen by a tracer, from the first system call on."""

    def trace(self, *words, status=0, prefix=()):
        log = DIRECTORY / "trace"
        self.addCleanup(log.unlink, missing_ok=True)
        done = harness.call("strace", "-o", log, "-e",
                            "trace=capset,prctl,open,openat,openat2,execve,setresuid", "-s", "256",
                            *prefix, harness.SETUP, *words,
                            env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
        self.assertEqual(done.returncode, status, done.stderr)
        return log.read_text().splitlines()

    def check(self, kept, *words, for_exec=False):
        """What is kept when the root file system, or else /sys, is opened first."""
        lines = self.trace(*words)
        place = self.root if self.root in words else "/sys/"
        first = next(n for n, line in enumerate(lines)
                     if re.match(rf'open(at2?)?\((AT_FDCWD, )?"{place}', line))
        last_set = [line for line in lines[:first] if line.startswith("capset(")][-1]
        found = dict(re.findall(r"(effective|permitted|inheritable)=([^,}]*)", last_set))
        names = {key: set(re.findall(r"CAP_(\w+)", value)) for key, value in found.items()}
        self.assertEqual(names["effective"], kept, words)
        flags = [line for line in lines[:first] if line.startswith("prctl(PR_SET_")]
        if for_exec:
            self.assertGreater(len(names["permitted"]), 30)
            first = next(n for n, line in enumerate(lines[1:], 1) if line.startswith("execve("))
            flags = [line for line in lines[:first] if line.startswith("prctl(PR_SET_")]
        else:
            self.assertEqual(names["permitted"], kept, words)
            self.assertEqual(names["inheritable"], set(), words)
        self.assertTrue(any(line.startswith("prctl(PR_SET_NO_NEW_PRIVS, 1") for line in flags))
        self.assertTrue(any(line.startswith(("prctl(PR_SET_DUMPABLE, SUID_DUMP_DISABLE",
                                             "prctl(PR_SET_DUMPABLE, 0")) for line in flags))

    def test_each_command_keeps_what_it_needs_before_it_opens_the_root(self):
        tree = DIRECTORY / "tree"
        self.check(LOOK, "list")
        self.check(LOOK, "plan", "--nv", "--rootfs", self.root)
        self.check(MOUNT, "prepare", "--nv", "--staged-tree", tree)
        self.run_setup("prepare", "--undo", "--staged-tree", tree)
        self.check(APPLY, "--nv", "--rootfs", self.root)
        self.check(STATE, "status", "--rootfs", self.root)
        self.check(APPLY, "undo", "--rootfs", self.root)
        self.check(MOUNT, "--nv", "--rootfs", self.root, "--", "true", for_exec=True)

    def test_nothing_is_dropped_twice(self):
        lines = self.trace("--nv", "--rootfs", self.root, "--", "true")

        self.assertEqual(len([line for line in lines if line.startswith("capset(")]), 1)

    def test_without_capabilities_there_is_nothing_to_drop(self):
        DIRECTORY.chmod(0o755)
        lines = self.trace("list", prefix=ORDINARY_USER)

        begin = max(n for n, line in enumerate(lines) if line.startswith("execve("))
        self.assertEqual([line for line in lines[begin:] if line.startswith("capset(")], [])


class OfTheCommand(harness.Case):
    """CMD has what it would have if the caller executed it."""

    def setUp(self):
        super().setUp()
        DIRECTORY.chmod(0o755)

    def status_of(self, *words):
        done = harness.call(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return dict(line.split(":\t") for line in done.stdout.splitlines())

    def compare(self, *prefix, options=()):
        before = self.status_of(*prefix, "sh", "-c", STATUS)
        after = self.status_of(*prefix, harness.SETUP, "--nv", "--rootfs", self.root, *options,
                               "--", "sh", "-c", STATUS)
        changes = {key: value for key, value in after.items() if before[key] != value}
        return changes, after

    def test_root_keeps_all_capabilities_and_gains_none_by_setuid_programs(self):
        self.assertEqual(self.compare()[0], {"NoNewPrivs": "1"})
        self.assertEqual(self.compare(options=["--backend", "assembled"])[0], {"NoNewPrivs": "1"})
        self.assertEqual(self.compare(options=["--allow-setuid"])[0], {})

    def test_so_does_root_without_most_of_them(self):
        changes, after = self.compare("setpriv", "--bounding-set", "-all,+sys_admin,+chown")

        self.assertEqual(changes, {"NoNewPrivs": "1"})
        self.assertEqual(int(after["CapEff"], 16), 1 << 21 | 1 << 0)

    def test_so_does_a_user_with_ambient_ones(self):
        capabilities = "+sys_admin,+sys_chroot,+net_raw"
        changes, after = self.compare(*ORDINARY_USER, "--inh-caps", capabilities,
                                      "--ambient-caps", capabilities)

        self.assertEqual(changes, {"NoNewPrivs": "1"})
        self.assertEqual(int(after["CapAmb"], 16), 1 << 21 | 1 << 18 | 1 << 13)

    def test_an_ordinary_user_has_none_in_his_namespace(self):
        changes, after = self.compare(*ORDINARY_USER)

        self.assertEqual(int(after["CapEff"], 16) | int(after["CapPrm"], 16), 0)
        self.assertEqual(changes["NoNewPrivs"], "1")

    def test_root_of_a_user_namespace_keeps_those_of_it(self):
        for prefix in ((), ORDINARY_USER):
            with self.subTest(prefix=prefix):
                changes, after = self.compare(*prefix, "unshare", "--user", "--map-root-user",
                                              "--mount")
                self.assertEqual(changes, {"NoNewPrivs": "1"})
                self.assertNotEqual(int(after["CapEff"], 16), 0)

    def test_setuid_programs_of_the_image(self):
        program = self.root / "usr/bin/setuid_id"
        shutil.copy(self.root / "usr/bin/id", program)
        program.chmod(0o4755)
        words = ["setpriv", "--reuid", "65534", "--clear-groups", "setuid_id", "-u"]

        self.assertEqual(self.apply("--", *words, stdout=None).stdout, "65534\n")
        self.assertEqual(self.apply("--allow-setuid", "--", *words, stdout=None).stdout, "0\n")

    def test_allowing_them_goes_with_a_command(self):
        self.apply("--allow-setuid", status=2, stderr=None)


class Raised(harness.Case):
    """Programs that have more privileges than who starts them."""

    def setUp(self):
        super().setUp()
        DIRECTORY.chmod(0o755)

    def copy(self, program, raise_it):
        path = DIRECTORY / "raised"
        shutil.copy(program, path)
        self.addCleanup(path.unlink, missing_ok=True)
        raise_it(path)
        return path

    @staticmethod
    def setuid(path):
        path.chmod(0o4755)

    @staticmethod
    def setgid(path):
        path.chmod(0o2755)

    @staticmethod
    def file_capabilities(path):
        """As setcap cap_dac_override,cap_sys_admin+ep makes them."""
        path.chmod(0o755)
        os.setxattr(path, "security.capability",
                    struct.pack("<IIIII", 0x02000001, 1 << 1 | 1 << 21, 0, 0, 0))

    def test_the_command_works_as_who_started_it(self):
        for raise_it in (self.setuid, self.setgid, self.file_capabilities):
            with self.subTest(raise_it.__name__), self.nothing_changes():
                command = self.copy(harness.SETUP, raise_it)
                secret = DIRECTORY / "secret"
                secret.write_text("secret")
                secret.chmod(0o600)
                self.addCleanup(secret.unlink, missing_ok=True)
                words = [*ORDINARY_USER, command]

                done = harness.call(*words, "--nv", "--rootfs", self.root)
                self.assertEqual(done.returncode, 6, done.stderr)
                self.assertIn("this program has more privileges than who started it", done.stderr)
                self.assertIn("hint: ", done.stderr)
                done = harness.call(*words, "undo", "--rootfs", self.root)
                self.assertEqual(done.returncode, 6, done.stderr)
                done = harness.call(*words, "prepare", "--nv", "--staged-tree", DIRECTORY / "tree")
                self.assertEqual(done.returncode, 6, done.stderr)
                done = harness.call(*words, "--nv", "--rootfs", self.root, "--", "id")
                self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                done = harness.call(*words, "list", "--host", secret)
                self.assertEqual(done.returncode, 6, done.stderr)
                done = harness.call(*words, "list", env={"GPUCTR_FORMAT": "nonsense"})
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_caller_of_the_library_is_refused_unless_it_is_made_for_it(self):
        program = self.copy(os.environ["GPUCTR_RAISED_CALLER"], self.setuid)
        with self.nothing_changes():
            done = harness.call(*ORDINARY_USER, program, self.root, DIRECTORY / "tree", "load")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertIn("setuid, setgid or has file capabilities; run it as root", lines.pop(1))
        self.assertEqual(lines, ["apply -6", "rootfs_undo -6", "stage -6", "unstage -6",
                                 "prepare -6", "load -6", "apply 0", "setup_undo 0", "rootfs_undo 0",
                                 "stage 0", "unstage 0", "prepare 0", "attach 0", "undo 0", "load -6"])

    def test_without_raised_privileges_it_says_nothing_of_the_kind(self):
        done = harness.call(os.environ["GPUCTR_RAISED_CALLER"], self.root, DIRECTORY / "tree")
        self.assertNotIn("-6", done.stdout)


if __name__ == "__main__":
    unittest.main()
