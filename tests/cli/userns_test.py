# SPDX-License-Identifier: MIT
"""gpuctr-setup in the user namespaces that other programs make for an ordinary user:
`unshare -Urm` with one id, and those with a range of ids, as `podman unshare` has them."""

import json
import os
import subprocess
import unittest
import unittest.mock

import harness
import process_test
import snapshot
from harness import VERSION

UID, FIRST, COUNT = 4242, 100000, 65536
USER = ["setpriv", "--reuid", str(UID), "--regid", str(UID), "--clear-groups"]
NODES = ["nvidia-uvm", "nvidia-uvm-tools", *(f"nvidia{n}" for n in range(8)), "nvidiactl"]


def popen(words, environment):
    return subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env=environment)


def range_of_ids(case):
    """What runs a command as root of a user namespace with a range of ids."""
    holder = popen([*USER, "unshare", "--user", "sh", "-c", "echo ready; exec cat"], None)
    case.addCleanup(holder.stdout.close)
    case.addCleanup(holder.wait)
    case.addCleanup(holder.stdin.close)
    case.assertEqual(holder.stdout.readline(), "ready\n")
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/{holder.pid}/{name}", "w", encoding="ascii") as file:
            file.write(f"0 {UID} 1\n1 {FIRST} {COUNT}\n")
    return ["nsenter", f"--user=/proc/{holder.pid}/ns/user", "--setuid", "0", "--setgid", "0"]


def unpack(root):
    """Gives the files of a root to the users of a range of ids."""
    harness.must("chown", "-R", "-h", f"{UID}:{UID}", root)
    for number, name in enumerate(("etc", "dev", "usr/bin", "usr/lib", "usr/local")):
        owner = FIRST + number
        harness.must("chown", "-R", "-h", f"{owner}:{owner}", root / name)


class Shell:
    """Keeps the namespaces, and runs what it is told in them."""

    def __init__(self, words, environment):
        self.process = popen([*words, "sh"], environment)

    def run(self, *words):
        self.process.stdin.write(" ".join(f"'{word}'" for word in words)
                                 + " </dev/null; echo ended $?\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith("ended "):
                return "".join(lines), int(line.split()[1])
            lines.append(line)
        return "".join(lines), None

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class InANamespace:
    """What holds whoever made it."""

    def setUp(self):
        super().setUp()
        harness.DIRECTORY.chmod(0o711)
        self.home = harness.DIRECTORY / "home"
        self.home.mkdir()
        self.addCleanup(harness.must, "rm", "-rf", self.home)
        os.chown(self.home, UID, UID)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        self.shell = self.open_shell()

    def open_shell(self):
        shell = Shell(self.namespaces(), self.environment)
        self.addCleanup(shell.close)
        return shell

    def own_root(self):
        """The root is the user's, as unpacked by him."""
        harness.must("chown", "-R", "-h", f"{UID}:{UID}", self.root)

    def inside(self, *words, status=0, output="", shell=None):
        found = (shell or self.shell).run(*words)
        self.assertEqual(found[1], status, found)
        if output is not None:
            self.assertEqual(found[0], output)
        return found[0]

    def setup(self, *words, **options):
        return self.inside(harness.SETUP, *words, **options)

    def status(self):
        out = self.setup("status", "--rootfs", self.root, "--format", "json", output=None)
        [found] = json.loads(out)["setups"]
        return found["origin"], found["findings"]

    def journals(self):
        return list(self.home.glob(".local/state/gpucontainer/*/*.json"))

    def check(self, *options, writes):
        before = self.state()
        mounts = self.inside("cat", "/proc/self/mountinfo", output=None)

        self.setup("--nv", "--rootfs", self.root, *options)
        self.setup("-v", "--nv", "--rootfs", self.root, *options,
                   output=f"gpuctr-setup: {self.root}: set up already\n")

        self.assertEqual(self.status(), ("here", []))
        self.assertEqual(len(self.journals()), 1)
        self.assertEqual(snapshot.difference(before[0], snapshot.take(self.root)) != [], writes)
        names = self.inside("ls", f"{self.root}/dev", output=None).split()
        self.assertEqual([name for name in names if "nvidia" in name], NODES)
        self.assertIn(f"/libcuda.so.{VERSION}\n",
                      self.inside("chroot", self.root, "/usr/bin/opens_driver", "libcuda.so.1",
                                  output=None))
        self.setup("undo", "--rootfs", self.root)
        self.assertEqual(self.inside("cat", "/proc/self/mountinfo", output=None), mounts)
        self.assert_state(before)
        self.assertEqual(self.journals() + list(harness.STATE.glob("*")), [])

    def test_a_root_of_the_users_own(self):
        self.own_root()
        self.check(writes=True)

    def test_a_root_of_somebody_else(self):
        self.check(writes=False)

    def test_with_the_other_backend(self):
        self.own_root()
        self.check("--backend", "assembled", "--layout", "merged", writes=True)

    def test_a_command(self):
        for options in ((), ("--backend", "assembled")):
            with self.nothing_changes():
                out = self.setup("--nv", "--rootfs", self.root, *options, "--", "sh", "-c",
                                 "id -u; /usr/bin/needs_driver | wc -l; ls /dev | grep -c nvidia",
                                 output=None)
            self.assertEqual(out.split(), ["0", "2", str(len(NODES))])

    def test_a_place_for_the_journal_is_needed(self):
        for home, place, reason in (("", "/var/lib/gpucontainer", "Permission denied"),
                                    ("/root", "/root/.local/state/gpucontainer",
                                     "Permission denied")):
            with self.nothing_changes():
                self.inside("env", f"HOME={home}", harness.SETUP, "--nv", "--rootfs", self.root,
                            status=6, output=f"gpuctr-setup: journal directory {place}: {reason}\n"
                            "hint: name a directory that you may write with --state-dir; a "
                            "runtime's hook takes --no-journal\n")
        self.inside("env", "HOME=/root", f"XDG_STATE_HOME={self.home}", harness.SETUP, "--nv",
                    "--rootfs", self.root)
        self.assertEqual(len(list(self.home.glob("gpucontainer/*/*.json"))), 1)

    def test_names_that_outlive_it_are_taken_away_in_another(self):
        self.own_root()
        before = self.state()
        self.setup("--nv", "--rootfs", self.root)
        self.shell.close()
        self.shell = self.open_shell()

        origin, problems = self.status()
        self.assertEqual(origin, "namespace_gone")
        self.assertEqual([problem["code"] for problem in problems], ["namespace_gone"])
        self.setup("undo", "--rootfs", self.root)

        self.assert_state(before)
        self.assertEqual(self.journals(), [])


class WithOneId(InANamespace, harness.Case):
    """As by `unshare -Urm`."""

    def namespaces(self):
        return [*USER, "unshare", "--user", "--map-root-user", "--mount"]

    def test_names_that_outlive_it_need_no_other_to_be_taken_away(self):
        self.own_root()
        before = self.state()
        self.setup("--nv", "--rootfs", self.root)
        self.shell.close()

        harness.must(*USER, harness.SETUP, "undo", "--rootfs", self.root, env=self.environment)

        self.assert_state(before)
        self.assertEqual(self.journals(), [])


class WithOneIdInAnother(InANamespace, harness.Case):
    def namespaces(self):
        return [*USER, "unshare", "--user", "--map-root-user", "--mount", "unshare", "--user",
                "--map-root-user", "--mount"]


class WithARange(InANamespace, harness.Case):
    """As by `podman unshare`: root is the user, and the image's files are of many."""

    def namespaces(self):
        return [*range_of_ids(self), "unshare", "--mount"]

    def own_root(self):
        unpack(self.root)

    def test_names_belong_to_its_root(self):
        self.own_root()
        self.setup("--nv", "--rootfs", self.root)
        for name in ("dev/nvidia3", "usr/bin/nvidia-smi", "etc/ld.so.cache"):
            status = os.lstat(self.root / name)
            self.assertEqual((status.st_uid, status.st_gid), (UID, UID), name)
        self.setup("undo", "--rootfs", self.root)

    def test_names_of_other_users_cannot_be_taken_away_outside(self):
        self.own_root()
        before = self.state()
        self.setup("--nv", "--rootfs", self.root)
        self.shell.close()

        done = harness.call(*USER, harness.SETUP, "undo", "--rootfs", self.root,
                            env=self.environment)
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertEqual(len(self.journals()), 1)

        self.shell = self.open_shell()
        self.setup("undo", "--rootfs", self.root)
        self.assert_state(before)


class ARunningContainer(process_test.Container):
    """Of rootless podman's kind, set up by its user."""

    mount_proc = "mount --rbind /proc proc"

    def setUp(self):
        super().setUp()
        harness.DIRECTORY.chmod(0o711)
        unpack(self.root)
        self.journals = harness.DIRECTORY / "state"
        self.journals.mkdir()
        self.addCleanup(harness.must, "rm", "-rf", self.journals)
        os.chown(self.journals, UID, UID)
        self.ids = range_of_ids(self)
        self.caller = USER
        self.start(command=self.ids)

    def run_setup(self, *words, **options):
        with unittest.mock.patch.object(harness, "setup", self.as_user):
            return super().run_setup(*words, **options)

    def as_user(self, *words, **options):
        return harness.call(*self.caller, harness.SETUP, *words, env={
            "PATH": os.environ["PATH"], "XDG_STATE_HOME": str(self.journals)}, **options)

    def test_of_root_in_it(self):
        self.check()
        self.assertEqual(list(self.journals.glob("*/*/*.json")), [])

    def test_of_root_in_it_by_root_of_its_user_namespace(self):
        self.caller = [*self.ids, "unshare", "--mount"]
        self.check()

    def test_of_another_user_in_it(self):
        process = self.popen("nsenter", "--target", self.pid, "--all", "--setuid", "7", "--setgid",
                             "7", "sh", "-c", "echo ready; exec sleep 60")
        self.pid = int(harness.must("ps", "-o", "pid=", "--ppid", process.pid) or process.pid)
        self.assertEqual(os.stat(f"/proc/{self.pid}").st_uid, FIRST + 6)
        self.check("--write", "never")


if __name__ == "__main__":
    unittest.main()
