# SPDX-License-Identifier: MIT
"""One root file system, whatever names it: a descriptor, the working directory, a path below
a mount. A set-up binds a directory on itself, and what was opened before is below that."""

import json
import os
import unittest

import harness
import mount_table
import snapshot


class Descriptor(harness.Case):
    def setUp(self):
        super().setUp()
        self.fd = os.open(self.root, os.O_PATH | os.O_DIRECTORY)
        self.addCleanup(os.close, self.fd)

    def with_fd(self, *words, **options):
        return self.run_setup(*words, "--rootfs-fd", self.fd, pass_fds=[self.fd], **options)

    def test_apply_status_and_undo(self):
        before = self.state()
        self.with_fd("--nv", "--device", "1")
        self.assertTrue(os.path.exists(f"{self.root}/dev/nvidia1"))
        self.assertTrue(self.with_fd("status", stdout=None).stdout.startswith(f"{self.root}\n"))

        # The set-up lies over the directory that the descriptor is of.
        self.undo()

        self.assert_state(before)

    def test_plan(self):
        done = self.with_fd("plan", "--nv", "--format", "json", stdout=None)
        self.assertEqual(json.loads(done.stdout), self.plan())

    def test_a_command(self):
        with self.nothing_changes():
            done = self.run_setup("--nv", "--device", "5", "--rootfs-fd", self.fd, "--", "sh",
                                  "-c", "echo /dev/nvidia?; pwd", pass_fds=[self.fd], stdout=None)
        self.assertEqual(done.stdout, "/dev/nvidia5\n/\n")

    def test_a_command_of_an_ordinary_user(self):
        done = harness.call(*harness.ORDINARY_USER, harness.SETUP, "--nv", "--device", "5",
                            "--rootfs-fd", self.fd, "--", "sh", "-c", "echo /dev/nvidia?",
                            pass_fds=[self.fd])
        self.assertEqual((done.stdout, done.stderr), ("/dev/nvidia5\n", ""))

    def test_no_directory(self):
        with open(self.root / "etc/passwd", encoding="utf-8") as file:
            self.run_setup("--nv", "--rootfs-fd", file.fileno(), pass_fds=[file.fileno()],
                           status=5, stderr=None)

    def test_not_open(self):
        self.run_setup("undo", "--rootfs-fd", 777, status=2,
                       stderr="gpuctr-setup: descriptor 777 is not open\nhint: open the root "
                              "directory and leave it inheritable, as in `--rootfs-fd 3 3<DIR`\n")


class Named(harness.Case):
    """A root that was opened before it is set up."""

    write = "always"

    def setUp(self):
        super().setUp()
        self.before = self.state()
        self.fd = os.open(self.root, os.O_PATH | os.O_DIRECTORY)
        self.addCleanup(os.close, self.fd)

    def options(self):
        """As the option that names the root, and what goes with the call."""
        return ("--rootfs-fd", self.fd), {"pass_fds": [self.fd]}

    def on_root(self, *words, **options):
        root, how = self.options()
        return self.run_setup(*words, *root, **how, **options)

    def name(self):
        return f"descriptor {self.fd}"

    def set_up(self, device, said):
        done = self.on_root("-v", "--nv", "--device", device, "--write", self.write, stderr=None)
        self.assertEqual(done.stderr.splitlines()[-1], f"gpuctr-setup: {self.name()}: {said}")

    def status(self, **options):
        done = self.on_root("status", "--format", "json", stdout=None, **options)
        return [(one["origin"], one["findings"]) for one in json.loads(done.stdout)["setups"]]

    def check_undone(self):
        self.assert_state(self.before)
        self.assertEqual(harness.journals(), [])
        self.on_root("undo", stderr=f"gpuctr-setup: nothing is set up in {self.name()}\n")

    def check(self):
        self.set_up("0", "set up already")
        self.assertEqual(self.status(), [("here", [])])
        self.set_up("1", "an older set-up was replaced")
        self.assertEqual(len(harness.journals()), 1)
        self.assertTrue(os.path.exists(f"{self.root}/dev/nvidia1"))

        self.on_root("undo")

        self.check_undone()


class InWorkingDirectory:
    """A command that was started there before."""

    def options(self):
        return ("--rootfs", "."), {"cwd": f"/proc/self/fd/{self.fd}"}

    def name(self):
        return "."


class Below(Named):
    """What was opened before a set-up means the same root as what is opened later."""

    def test_its_own_set_up(self):
        self.set_up("0", "set up")
        self.check()

    def test_that_of_somebody_else(self):
        self.apply("--device", "0", "--write", self.write)
        self.check()

    def test_again_and_again(self):
        for _ in range(3):
            self.set_up("0", "set up")
            self.on_root("undo")
        self.check_undone()


class BelowNeverWriting(Below):
    write = "never"


class BelowOnASharedMount(Below):
    """Where the root is a mount of its own, and is bound on itself nevertheless."""

    mounted = True

    def setUp(self):
        super().setUp()
        harness.must("mount", "--make-shared", self.root)
        self.before = self.state()


class WorkingDirectory(InWorkingDirectory, Below):
    pass


class CutOff(Named):
    """A set-up that was killed behind its bind of the root."""

    def test_is_undone(self):
        root, how = self.options()
        harness.call("strace", "-f", "-qq", "-o", "/dev/null", "-e",
                     "inject=renameat2:signal=KILL:when=1", harness.SETUP, "--nv", *root,
                     env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"), **how)
        [(_, problems)] = self.status(status=9)
        self.assertEqual([problem["code"] for problem in problems], ["interrupted"])

        self.on_root("undo")

        self.check_undone()


class CutOffInWorkingDirectory(InWorkingDirectory, CutOff):
    pass


class InAnotherNamespace(harness.Case):
    """All of it in a mount namespace other than the initial one."""

    def check(self, *command):
        os.chown(self.root, 65534, 65534)
        harness.must("chown", "-R", "-h", "65534:65534", self.root)
        home = harness.DIRECTORY / "home"
        home.mkdir()
        self.addCleanup(harness.must, "rm", "-rf", home)
        os.chown(home, 65534, 65534)
        before = snapshot.take(self.root)
        script = ("set -e; $0 --nv --device 0 --rootfs .; $0 -q --nv --device 1 --rootfs .; "
                  "$0 status --rootfs .; $0 undo --rootfs .; ! mountpoint .")
        done = harness.call(*command, "unshare", "--mount", "--propagation", "private", "sh", "-c",
                            script, harness.SETUP, cwd=self.root,
                            env=dict(os.environ, HOME=str(home), XDG_STATE_HOME=""))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("state    intact", done.stdout)
        self.assertEqual(snapshot.difference(before, snapshot.take(self.root)), [])
        self.assertEqual(list(home.glob(".local/state/gpucontainer/*")), [])

    def test_of_root(self):
        self.check()

    @unittest.skipIf(harness.IS_PLAYED, "only root lays overlays there")
    def test_of_an_ordinary_user(self):
        self.check(*harness.ORDINARY_USER, "unshare", "--user", "--map-root-user")


class Hidden(Below):
    """The path of the root leads elsewhere while the commands are at work."""

    def setUp(self):
        super().setUp()
        self.parent = harness.DIRECTORY / "parent"
        self.parent.mkdir()
        self.addCleanup(harness.must, "rm", "-rf", "--one-file-system", self.parent)
        moved = self.parent / "root"
        self.root.rename(moved)
        self.root = moved
        self.before = self.state()

    def status(self, **options):
        """Which has not got the right to look below mounts where there is no openat2."""
        if not harness.IS_WITHOUT_OPENAT2:
            return super().status(**options)
        [(origin, [problem])] = super().status(status=9)
        self.assertEqual((origin, problem["code"]), ("another_mount", "part_missing"))
        return [("here", [])]

    def on_root(self, *words, **options):
        harness.mount_tmpfs(self.parent)
        (self.parent / "root").mkdir()
        try:
            return super().on_root(*words, **options)
        finally:
            harness.must("umount", self.parent)

class Renamed(Below):
    """The root has another name each time, which other mount namespaces can give it."""

    def on_root(self, *words, **options):
        try:
            return super().on_root(*words, **options)
        finally:
            other = self.root.with_name(f"{self.root.name}x")
            harness.must("unshare", "--mount", "--propagation", "private", "sh", "-c",
                         f"umount -l -R {self.root}; mv {self.root} {other}")
            self.names.append(self.root)
            self.root = other

    def setUp(self):
        super().setUp()
        self.names = []
        self.first = self.root

    def check_undone(self):
        while self.root != self.first:
            self.root.rename(self.names[-1])
            self.root = self.names.pop()
        self.assert_state(self.before, without=("mtime",))
        self.assertEqual(harness.journals(), [])


class Covered(harness.Case):
    """What somebody mounted over a root that is bound on itself hides the set-up."""

    def setUp(self):
        super().setUp()
        self.before = self.state()
        self.fd = os.open(self.root, os.O_PATH | os.O_DIRECTORY)
        self.addCleanup(os.close, self.fd)
        self.apply("--device", "0")
        self.applied = self.state()

    def check(self, *mount):
        harness.must("mount", *mount, self.root)
        covered = self.state()
        inside = os.open(self.root, os.O_PATH | os.O_DIRECTORY)
        self.addCleanup(os.close, inside)

        for words in (["--rootfs", self.root], ["--rootfs", "."], ["--rootfs-fd", self.fd],
                      ["--rootfs-fd", inside], ["--all"]):
            with self.subTest(words=words):
                self.run_setup("undo", *words, cwd=self.root, pass_fds=[self.fd, inside], status=8,
                               stderr=f"gpuctr-setup: undo: another mount lies over what is set "
                                      f"up at {self.root}\nhint: unmount that first\n")
                self.assert_state(covered)

        harness.must("umount", "-l", self.root)
        self.assert_state(self.applied)
        self.run_setup("undo", "--rootfs-fd", self.fd, pass_fds=[self.fd])
        self.assert_state(self.before)
        self.assertEqual(harness.journals(), [])

    def test_by_a_bind_of_the_same_directory(self):
        self.check("--bind", self.root)

    def test_by_one_with_all_that_is_below(self):
        self.check("--rbind", self.root)

    def test_by_another_file_system(self):
        self.check("-t", "tmpfs", "foreign")

    def test_and_is_set_up_itself(self):
        """What can be reached is undone."""
        harness.must("mount", "--bind", self.root, self.root)
        harness.must("mount", "--make-private", self.root)
        covered = self.state()
        self.apply("--device", "1")
        self.assertEqual(len(harness.journals()), 2)

        for _ in range(2):
            self.undo(status=8, stderr=f"gpuctr-setup: undo: another mount lies over what is set "
                                       f"up at {self.root}\nhint: unmount that first\n")
            self.assert_state(covered)

        harness.must("umount", self.root)
        self.undo()
        self.assert_state(self.before)

    def test_what_is_covered_is_not_set_up(self):
        """Nor is what covers it, when the descriptor is not of that."""
        self.undo()
        for mount in (["-t", "tmpfs", "foreign"], ["--bind", "/usr"]):
            harness.must("mount", *mount, self.root)
            with self.nothing_changes():
                self.run_setup("--nv", "--rootfs-fd", self.fd, pass_fds=[self.fd], status=5,
                               stderr="gpuctr-setup: another mount lies over the root file system "
                                      f"{self.root}\nhint: unmount that first\n")
            self.run_setup("undo", "--rootfs-fd", self.fd, pass_fds=[self.fd],
                           stderr=f"gpuctr-setup: nothing is set up in descriptor {self.fd}\n")
            harness.must("umount", self.root)
        self.assert_state(self.before)

    def test_status_says_it(self):
        harness.must("mount", "--bind", self.root, self.root)
        for words in (["--rootfs", self.root], ["--all"]):
            done = self.run_setup("status", "--format", "json", *words, status=9, stdout=None)
            [found] = json.loads(done.stdout)["setups"]
            self.assertEqual([(problem["code"], problem["object"])
                              for problem in found["findings"]],
                             [("part_missing", str(self.root))])
        harness.must("umount", "-l", self.root)
        self.undo()

    def test_above_the_root(self):
        """Only who opened it before gets there."""
        parent = harness.DIRECTORY / "above"
        parent.mkdir()
        self.addCleanup(harness.must, "rm", "-rf", "--one-file-system", parent)
        self.undo()
        moved = parent / "root"
        self.root.rename(moved)
        self.root = moved
        self.apply("--device", "0")
        harness.mount_tmpfs(parent)
        (parent / "root").mkdir()

        for words in (["--rootfs", moved], ["--all"]):
            self.run_setup("undo", *words, status=8,
                           stderr=f"gpuctr-setup: undo: another mount lies over what is set up at "
                                  f"{moved}\nhint: unmount that first\n")
        self.run_setup("undo", "--rootfs-fd", self.fd, pass_fds=[self.fd])

        harness.must("umount", parent)
        self.assertEqual(mount_table.below(parent), [])
        self.assertEqual(harness.journals(), [])


class OfABind(harness.Case):
    """A descriptor of our bind, which an undo of somebody else took away."""

    def setUp(self):
        super().setUp()
        self.before = self.state()
        self.apply("--device", "0")
        self.fd = os.open(self.root, os.O_PATH | os.O_DIRECTORY)
        self.addCleanup(os.close, self.fd)
        self.undo()

    def with_fd(self, *words, **options):
        return self.run_setup(*words, "--rootfs-fd", self.fd, pass_fds=[self.fd], **options)

    def test_nothing_is_set_up(self):
        self.with_fd("undo", stderr=f"gpuctr-setup: nothing is set up in descriptor {self.fd}\n")

    def test_cannot_be_set_up_any_more(self):
        done = self.with_fd("--nv", status=8, stderr=None)
        self.assertRegex(done.stderr, "hint: .* gone meanwhile")
        self.assert_state(self.before)

    def test_does_not_say_that_nothing_is_set_up_when_it_is_again(self):
        self.apply("--device", "0")
        applied = self.state()

        self.with_fd("undo", status=8,
                     stderr=f"gpuctr-setup: undo: the mount that the descriptor is on is gone, and "
                            f"the directory is set up at {self.root}\nhint: open it there\n")

        self.assert_state(applied)
        self.undo()
        self.assert_state(self.before)


if __name__ == "__main__":
    unittest.main()
