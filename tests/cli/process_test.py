# SPDX-License-Identifier: MIT
"""gpuctr-setup on the root of a running container."""

import json
import os
import re
import subprocess
import unittest
import unittest.mock

import harness
import mount_table
import snapshot
from harness import TREE


ENTER = """
mount --rbind {root} {root} && cd {root} && {prepare} &&
mount -t tmpfs -o mode=0755 dev dev && {proc} && pivot_root . mnt &&
umount -l /mnt && {finish} && echo ready && exec sleep 60
"""


class Container(harness.Case):
    """A container that runs: namespaces of its own, and its root pivoted to."""

    mount_proc = "mount -t proc proc proc"

    def setUp(self):
        super().setUp()
        harness.must("cp", "/usr/sbin/pivot_root", self.root / "usr/sbin")

    def popen(self, *words):
        """Starts what says that it is ready, and ends with the test."""
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def start(self, prepare=":", finish=":", command=()):
        script = ENTER.format(root=self.root, prepare=prepare, finish=finish, proc=self.mount_proc)
        process = self.popen(*command, "unshare", "--mount", "--pid", "--fork",
                             "--kill-child=KILL", "--propagation", "private", "sh", "-ec", script)
        self.pid = int(harness.must("ps", "-o", "pid=", "--ppid", process.pid))

    def on_process(self, *words, **options):
        return self.run_setup(*words, "--pid", self.pid, **options)

    def nodes(self):
        return sorted(name for name in os.listdir(f"/proc/{self.pid}/root/dev")
                      if re.match(r"nvidia\d", name))

    def mounts(self):
        return mount_table.read(f"/proc/{self.pid}/mountinfo")

    def inside(self, *words, **options):
        return harness.must("nsenter", "--target", self.pid, "--all", "--root", "--wd", *words,
                            **options)

    def files(self):
        """All that is in the container, without what the kernel shows there."""
        root = f"/proc/{self.pid}/root"
        return {name: snapshot.take(f"{root}/{name}") for name in os.listdir(root)
                if name != "proc" and not os.path.islink(f"{root}/{name}")}

    def check(self, *words):
        before = self.mounts(), self.files()
        host = mount_table.read()

        self.on_process("--nv", "--device", "3", *words)

        self.assertEqual(self.nodes(), ["nvidia3"])
        self.assertIn(f"=> {TREE}/lib64/libcuda.so.1", self.inside("ldconfig", "-p"))
        self.assertIn("nvidia-smi", self.inside("ls", f"{TREE}/bin"))
        self.assertEqual(mount_table.read(), host)
        [found] = json.loads(self.on_process("status", "--format", "json", stdout=None)
                             .stdout)["setups"]
        self.assertEqual((found["root"], found["origin"], found["findings"]), (None, "here", []))
        self.on_process("-v", "--nv", "--device", "3", *words,
                        stderr=f"gpuctr-setup: process {self.pid}: set up already\n")
        self.on_process("-v", "--nv", "--device", "4", *words,
                        stderr=f"gpuctr-setup: process {self.pid}: an older set-up was "
                               "replaced\n")
        self.assertEqual(self.nodes(), ["nvidia4"])

        self.on_process("undo")

        self.assertEqual(self.mounts(), before[0])
        after = self.files()
        for name in before[1].keys() | after.keys():
            self.assertEqual(snapshot.difference(before[1][name], after[name]), [])
        self.assertEqual(harness.journals(), [])
        self.assertEqual(mount_table.read(), host)


class Refused(Container):
    """What is no container, or not the caller's."""

    def test_a_process_with_the_hosts_root_is_refused(self):
        done = self.run_setup("--nv", "--pid", os.getpid(), status=5, stderr=None)
        self.assertIn("is in no container: its root directory is the host's", done.stderr)

    def test_nor_is_one_in_a_mount_namespace_of_its_own(self):
        process = self.popen("unshare", "--mount", "--propagation", "private", "sh", "-c",
                             "echo ready; exec sleep 60")
        for words in (("plan", "--nv"), ("--nv",), ("--nv", "--write", "never")):
            done = self.run_setup(*words, "--pid", process.pid, status=5, stderr=None)
            self.assertIn("its root directory is the host's", done.stderr)

    def test_a_process_that_is_not_there(self):
        self.run_setup("--nv", "--pid", 2**22 - 1, status=5, stderr=None)

    def test_not_for_a_command(self):
        self.run_setup("--nv", "--pid", os.getpid(), "--", "true", status=2, stderr=None)

    def test_an_ordinary_user_may_not(self):
        self.start()
        done = harness.call(*harness.ORDINARY_USER, harness.SETUP, "--nv", "--pid", self.pid)
        self.assertEqual(done.returncode, 6, done.stderr)


MOUNT_BELOW = """
mkdir usr/local/lib/here && mount -t tmpfs test usr/local/lib/here &&
echo here >usr/local/lib/here/note && echo above >tmp/resolv.conf &&
touch etc/resolv.conf && mount --bind tmp/resolv.conf etc/resolv.conf
""".strip()


class Process(Container):
    """Set up by root of the same user namespace."""

    def test_written(self):
        self.start()
        self.check()

    def test_not_written(self):
        self.start()
        self.check("--write", "never")

    def test_what_is_mounted_in_the_container_stays_in_sight(self):
        (self.root / "etc/ld.so.cache").unlink()  # or nothing would be laid over /etc
        self.start(prepare=MOUNT_BELOW)
        before = self.mounts()

        self.on_process("--nv", "--device", "3", "--write", "never")

        self.assertIn("overlay", [m.type for m in self.mounts() if m.target == "/etc"])
        self.assertEqual(self.inside("cat", "/etc/resolv.conf"), "above\n")
        self.assertEqual(self.inside("cat", "/usr/local/lib/here/note"), "here\n")
        self.on_process("undo")
        self.assertEqual(self.mounts(), before)

    def test_a_foreign_mount_over_ours_is_reported_and_left(self):
        self.start()
        before = self.mounts()
        self.on_process("--nv", "--device", "3", "--write", "always")
        self.inside("mount", "-t", "tmpfs", "foreign", TREE)

        self.on_process("undo", status=8, stderr=None)

        self.assertIn("foreign", [m.source for m in self.mounts()])
        self.inside("umount", TREE)
        self.on_process("undo")
        self.assertEqual(self.mounts(), before)
        self.assertEqual(harness.journals(), [])

    def test_assembled(self):
        self.start()
        self.check("--backend", "assembled")

    def test_a_read_only_root(self):
        self.start(prepare="mount -o remount,bind,ro .")
        self.check()

    def test_a_hostile_proc_leads_nowhere(self):
        self.start()
        self.inside("mount", "-t", "tmpfs", "proc", "/proc")
        self.inside("mkdir", "-p", "/proc/self/fd")
        for number in range(64):
            self.inside("ln", "-s", "/tmp", f"/proc/self/fd/{number}")

        self.on_process("--nv", "--device", "3", "--write", "never")
        self.assertEqual(self.nodes(), ["nvidia3"])
        self.on_process("undo")

        self.assertEqual([m.target for m in self.mounts() if "/tmp" in m.target], [])

    def test_plan(self):
        self.start()
        done = self.on_process("plan", "--nv", "--device", "2", stdout=None)
        self.assertIn("/dev/nvidia2", done.stdout)

    def test_undo_all_leaves_it_and_names_it(self):
        self.start()
        self.on_process("--nv", "--device", "3")
        done = self.run_setup("undo", "--all", stderr=None)
        self.assertRegex(done.stderr, r"^gpuctr-setup: a container of mount namespace \d+: left, "
                                      r"in use in mount namespace \d+\n$")
        self.assertEqual(self.nodes(), ["nvidia3"])
        self.on_process("undo")

    def check_shared(self, what, *words):
        """It is refused, until what the hint says is done."""
        before = self.mounts()

        done = self.on_process("--nv", *words, status=5, stderr=None)

        self.assertRegex(done.stderr, f"^gpuctr-setup: {what}")
        hint = "mount --make-rprivate /"
        self.assertIn(hint, done.stderr)
        self.assertEqual(self.mounts(), before)
        self.assertEqual(harness.journals(), [])
        self.inside(*hint.split())
        self.check(*words)

    def test_a_shared_root_is_refused(self):
        self.start(finish="mount --make-shared /")
        self.check_shared("the root of the process is on a shared mount\nhint: ")

    def test_a_root_that_is_shared_with_all_below_it_is_refused(self):
        self.start(finish="mount --make-rshared /")
        self.check_shared("the root of the process is on a shared mount\nhint: ")

    def test_a_shared_mount_in_the_root_is_refused(self):
        self.start(finish="mount --make-shared /dev")
        self.check_shared("attach to a shared mount, at /dev/nvidia.*: Invalid argument\nhint: ")

    def test_a_shared_mount_that_an_overlay_would_lie_over_is_refused(self):
        harness.stack_overlays(self.root / "etc", 1)
        self.start(finish="mount --make-shared /etc")
        self.check_shared("attach to a shared mount, at /etc: Invalid argument\nhint: ", "--write",
                          "never")


class ProcessOfAUserNamespace(Process):
    """The same container in a user namespace, set up by the host's root."""

    mount_proc = "mount --rbind /proc proc"

    def setUp(self):
        super().setUp()
        harness.must("chown", "-R", "-h", "100000:100000", self.root)
        self.holder = self.popen("unshare", "--user", "sh", "-c", "echo ready; exec sleep 60")
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{self.holder.pid}/{name}", "w", encoding="ascii") as file:
                file.write("0 100000 65536")

    def start(self, **options):  # pylint: disable=arguments-differ
        super().start(command=["nsenter", f"--user=/proc/{self.holder.pid}/ns/user", "--setuid",
                               "0", "--setgid", "0"], **options)

    def test_what_is_made_belongs_to_root_of_the_container(self):
        self.start()
        self.on_process("--nv", "--device", "3", "--write", "always")

        for name in ("dev/nvidia3", "usr/lib/gpuctr", "usr/bin/nvidia-smi", "etc/ld.so.cache"):
            with self.subTest(name=name):
                if name.startswith("dev/"):
                    harness.must("nsenter", f"--mount=/proc/{self.pid}/ns/mnt", "umount",
                                 f"/{name}")
                status = os.lstat(f"/proc/{self.pid}/root/{name}")
                if name != "usr/lib/gpuctr":
                    self.assertEqual((status.st_uid, status.st_gid), (100000, 100000))
        self.on_process("undo")


class ProcessOfAnOrdinaryUser(Process):
    """The same container, of an ordinary user, who sets it up himself."""

    mount_proc = "mount --rbind /proc proc"

    def setUp(self):
        super().setUp()
        harness.must("chown", "-R", "-h", "65534:65534", self.root)
        self.home = harness.DIRECTORY / "home"
        self.home.mkdir()
        self.addCleanup(harness.must, "rm", "-rf", self.home)
        os.chown(self.home, 65534, 65534)

    def start(self, **options):  # pylint: disable=arguments-differ
        super().start(command=[*harness.ORDINARY_USER, "unshare", "--user", "--map-root-user"],
                      **options)

    def run_setup(self, *words, **options):
        environment = dict(os.environ, HOME=str(self.home), XDG_STATE_HOME="")
        with unittest.mock.patch.object(harness, "setup", self.as_user):
            return super().run_setup(*words, env=environment, **options)

    @staticmethod
    def as_user(*words, **options):
        return harness.call(*harness.ORDINARY_USER, harness.SETUP, *words, **options)

    def test_undo_all_leaves_it_and_names_it(self):
        self.start()
        self.on_process("--nv", "--device", "3")
        self.assertEqual(len(list(self.home.glob(".local/state/gpucontainer/*/*.json"))), 1)
        done = self.run_setup("undo", "--all", stderr=None)
        self.assertRegex(done.stderr, "left, in use in mount namespace")
        self.on_process("undo")


if __name__ == "__main__":
    unittest.main()
