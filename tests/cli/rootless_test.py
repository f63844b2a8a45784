# SPDX-License-Identifier: MIT
"""gpuctr-setup for an ordinary user whom no administrator has set anything up for, and
in the user namespaces that other programs make."""

import contextlib
import itertools
import os
import pathlib
import stat
import subprocess
import unittest

import harness
import snapshot
from harness import TREE, VERSION

UID, VIDEO = 4242, 44
GPUS = [f"nvidia{n}" for n in range(8)]
DRIVER = pathlib.Path("/usr/local/nvidia")
LIBCUDA = f"{TREE}/lib64/libcuda.so.{VERSION}"
IN_NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]
HINT = ("hint: ask an administrator for access, by its group or the scheduler; `gpuctr-setup list` "
        "shows which nodes are usable\n")
FLAGS = [["ro"], ["nosuid"], ["nodev"], ["noexec"], ["ro", "nosuid", "nodev", "noexec"]]


def user(*groups):
    given = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    return ["setpriv", "--reuid", UID, "--regid", UID, *given]


class Rootless(harness.Case):
    prefix = user()

    def setUp(self):
        super().setUp()
        harness.DIRECTORY.chmod(0o711)
        self.before = self.state()

    def tearDown(self):
        self.assert_state(self.before)
        self.assertEqual(harness.journals(), [])
        super().tearDown()

    def run_command(self, *command, options=(), status=0, stderr="", root=None, **call_options):
        done = harness.call(*self.prefix, harness.SETUP, "--nv", "--rootfs", root or self.root,
                            *options, "--", *command, **call_options)
        self.assertEqual(done.returncode, status, done.stderr)
        if stderr is not None:
            self.assertEqual(done.stderr, stderr)
        return done.stdout

    def shell(self, script, **options):
        return self.run_command("sh", "-c", script, **options)

    def nodes(self, **options):
        names = self.run_command("ls", "/dev", **options).split()
        return [name for name in names if name in GPUS]

    def directory(self, name, mode=0o755, owner=0):
        path = harness.DIRECTORY / name
        path.mkdir()
        self.addCleanup(harness.must, "rm", "-rf", "--one-file-system", path)
        path.chmod(mode)
        os.chown(path, owner, owner)
        return path

    @contextlib.contextmanager
    def mounted(self, source, target, flags):
        """A bind mount of the host's; a user namespace gets a copy with its flags."""
        harness.must("mount", "--bind", source, target)
        harness.must("mount", "-o", ",".join(["remount", "bind", *flags]), target)
        try:
            yield
        finally:
            harness.must("umount", "-l", target)

    def flags(self, **options):
        """Of the mounts that the command sees, by where they are."""
        lines = self.run_command("cat", "/proc/self/mountinfo", **options).splitlines()
        return {line.split()[4]: line.split()[5].split(",") for line in lines}


class OrdinaryUser(Rootless):
    def test_needs_neither_home_nor_runtime_directories(self):
        for environment in ({}, {"HOME": "/nowhere"}, {"HOME": "/root", "XDG_STATE_HOME": "/root"},
                            {"HOME": "", "XDG_RUNTIME_DIR": "nothing", "XDG_STATE_HOME": "."}):
            with self.subTest(environment):
                self.assertEqual(self.nodes(env={"PATH": os.environ["PATH"]} | environment), GPUS)

    def test_leaves_nothing_in_the_home_directory(self):
        home = self.directory("home", owner=UID)
        before = snapshot.take(home)
        self.assertEqual(self.nodes(env=dict(os.environ, HOME=str(home))), GPUS)
        self.assertEqual(snapshot.take(home), before)

    def test_has_one_id_and_needs_no_others(self):
        self.assertEqual(self.run_command("cat", "/proc/self/uid_map", "/proc/self/gid_map")
                         .split(), [str(UID), str(UID), "1"] * 2)

    def test_is_the_caller_in_the_same_process(self):
        self.prefix = user(VIDEO, 107)
        words = [*self.prefix, harness.SETUP, "--nv", "--rootfs", self.root, "--", "sh", "-c",
                 "echo $$; read line; exit 3"]
        with subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), f"{process.pid}\n")
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
            fields = dict(line.split(":\t", 1) for line in status if ":\t" in line)
            process.stdin.close()
        self.assertEqual(process.returncode, 3)
        self.assertEqual(fields["Uid"].split(), [str(UID)] * 4)
        self.assertEqual(fields["Gid"].split(), [str(UID)] * 4)
        self.assertEqual(fields["Groups"].split(), [str(VIDEO), "107"])
        self.assertEqual({fields[name] for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")},
                         {"0" * 16})

    def test_cannot_write_the_drivers_files(self):
        self.prefix = IN_NAMESPACE
        for path in (LIBCUDA, f"{TREE}/bin/nvidia-smi", f"{TREE}/lib64/new"):
            self.shell(f"echo >{path}", status=2, stderr="sh: 1: cannot create "
                       f"{path}: Read-only file system\n")

    def test_without_a_command_is_told_to_have_one(self):
        for words in ((), ("--write", "never"), ("--backend", "assembled")):
            done = harness.call(*self.prefix, harness.SETUP, "--nv", "--rootfs", self.root, *words)
            self.assertEqual(done.returncode, 6)
            self.assertIn("hint: ", done.stderr)
            self.assertIn("`-- CMD`", done.stderr)


class ClosedDirectories(Rootless):
    def move(self, mode, owner=0):
        parent = self.directory("parent", mode, owner)
        harness.must("cp", "-a", self.root, parent / "root")
        self.before = self.state()
        return parent / "root"

    def test_above_the_root_may_be_searched(self):
        self.assertEqual(self.nodes(root=self.move(0o711)), GPUS)

    def test_above_the_root_may_be_the_users_own(self):
        self.assertEqual(self.nodes(root=self.move(0o700, UID)), GPUS)

    def test_above_the_root_are_an_error(self):
        root = self.move(0o700)
        self.run_command("true", root=root, status=125, stderr=(
            f"gpuctr-setup: root file system {root}: Permission denied (error 6)\nhint: this user "
            "may not enter it or a directory above it (mode x); --rootfs-fd takes a "
            "descriptor that somebody else opened\n"))

    def test_above_the_root_do_not_matter_to_a_descriptor(self):
        fd = os.open(self.move(0o700), os.O_PATH | os.O_DIRECTORY)
        self.addCleanup(os.close, fd)
        done = harness.call(*self.prefix, harness.SETUP, "--nv", "--rootfs-fd", fd, "--", "true",
                            pass_fds=[fd])
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_root_itself_is_an_error(self):
        self.root.chmod(0o700)
        self.before = self.state()
        self.run_command("true", status=125, stderr=(
            f"gpuctr-setup: root file system {self.root}: Permission denied (error 6)\nhint: this "
            "user may not enter it (mode x)\n"))

    def test_below_the_root(self):
        for mode, owner in ((0o711, 0), (0o700, 0), (0o700, UID)):
            with self.subTest(mode=oct(mode), owner=owner):
                for name in ("etc", "usr/local", "dev", "proc", "sys", "root"):
                    os.chown(self.root / name, owner, owner)
                    (self.root / name).chmod(mode)
                self.before = self.state()
                self.assertEqual(self.run_command("/usr/bin/needs_driver").split()[0], LIBCUDA)
                self.assertEqual(self.nodes(), GPUS)

    def test_of_the_libraries_are_an_error(self):
        for name in ("usr", "usr/lib"):
            (self.root / name).chmod(0o700)
            self.before = self.state()
            self.run_command("true", status=125, stderr=None)


class Nodes(Rootless):
    def restrict(self, *names, group=VIDEO, mode=0o660):
        for name in names:
            path = f"/dev/{name}"
            was = os.stat(path)
            self.addCleanup(os.chmod, path, stat.S_IMODE(was.st_mode))
            self.addCleanup(os.chown, path, was.st_uid, was.st_gid)
            os.chown(path, 0, group)
            os.chmod(path, mode)
        self.before = self.state()

    def open_all(self, words):
        """What opening each node ends with."""
        script = "for n in 0 3 ctl; do (: <>/dev/nvidia$n) 2>&1; done"
        return harness.call(*words, "sh", "-c", script).stdout

    def test_are_usable_by_a_group_that_has_no_id_in_the_namespace(self):
        self.restrict("nvidia0", "nvidia3", "nvidiactl")
        self.prefix = user(VIDEO)

        self.assertEqual(self.nodes(), GPUS)
        outside = self.open_all(self.prefix)
        self.assertEqual(outside.count("No such device or address"), 3, outside)
        self.assertEqual(self.open_all([*self.prefix, harness.SETUP, "--nv", "--rootfs", self.root,
                                        "--"]), outside)
        self.assertEqual(self.open_all([*self.prefix, *IN_NAMESPACE, harness.SETUP, "--nv", "--rootfs",
                                        self.root, "--"]), outside)

    def skipped(self, *options):
        done = harness.must(*self.prefix, harness.SETUP, "plan", "-v", "--nv", "--rootfs",
                            self.root, *options)
        return [" ".join(line.split()) for line in done.splitlines()
                if line.startswith("nvidia") and "/dev/" in line]

    def test_of_another_group_are_left_out_with_the_reason(self):
        self.restrict("nvidia4", "nvidia6", mode=0o640)
        reason = f"its permissions forbid it (mode 0640, user 0, group {VIDEO})"

        self.assertEqual(self.nodes(), [n for n in GPUS if n not in ("nvidia4", "nvidia6")])
        self.assertEqual(self.skipped(), [f"nvidia{n} /dev/nvidia{n} may not be used: {reason}"
                                          for n in (4, 6)])
        self.assertEqual(self.skipped("--device", "1"), [])
        self.run_command("true", options=["--device", "4"], status=125, stderr=(
            f"gpuctr-setup: --device 4: /dev/nvidia4: may not be used: {reason} (error 6)\n{HINT}"))

    def test_that_are_all_of_another_group_are_an_error(self):
        self.restrict(*GPUS)
        self.run_command("true", status=125, stderr=(
            "gpuctr-setup: none of the 8 NVIDIA GPUs may be used (error 6)\nhint: /dev/nvidia0: its "
            f"permissions forbid it (mode 0660, user 0, group {VIDEO}); `gpuctr-setup list -v` shows "
            "the reason for each\n"))

    def test_the_control_node_is_needed(self):
        self.restrict("nvidiactl")
        self.run_command("true", status=125, stderr=(
            "gpuctr-setup: /dev/nvidiactl: may not be used: its permissions forbid it (mode 0660, "
            f"user 0, group {VIDEO}) (error 6)\n{HINT}"))

    def test_on_a_mount_without_devices_are_left_out_with_the_reason(self):
        reason = "the mount that it is on allows no devices (nodev)"
        with self.mounted("/dev/nvidia3", "/dev/nvidia3", ["nodev"]):
            for self.prefix in (user(), []):
                self.assertEqual(self.nodes(), [n for n in GPUS if n != "nvidia3"])
                self.assertEqual(self.skipped(),
                                 [f"nvidia3 /dev/nvidia3 may not be used: {reason}"])
                self.run_command("true", options=["--device", "3"], status=125, stderr=(
                    f"gpuctr-setup: --device 3: /dev/nvidia3: may not be used: {reason} (error 6)\n{HINT}"))

    def test_none_of_which_is_on_a_mount_with_devices_are_an_error(self):
        with self.mounted("/dev", "/dev", ["nodev"]):
            self.run_command("true", status=125, stderr=(
                "gpuctr-setup: none of the 8 NVIDIA GPUs may be used (error 6)\nhint: /dev/nvidia0: "
                "the mount that it is on allows no devices (nodev); `gpuctr-setup list -v` shows the "
                "reason for each\n"))

    def test_on_mounts_with_other_flags_are_usable(self):
        outside = self.open_all(self.prefix)
        for path, flags in (("/dev", ["nosuid", "noexec"]),
                            ("/dev/nvidia3", ["ro", "nosuid", "noexec"])):
            for options in ((), ("--backend", "assembled")):
                with self.subTest(path=path, options=options), self.mounted(path, path, flags):
                    self.assertEqual(self.open_all([*self.prefix, harness.SETUP, "--nv",
                                                    "--rootfs", self.root, *options, "--"]),
                                     outside)


class LockedFlags(Rootless):
    """A user namespace cannot take away the flags of the host's mounts, nor does it try."""

    def test_of_the_root_stay(self):
        (self.root / "etc/ld.so.cache").unlink()  # or nothing would be laid over /etc
        root = self.directory("mounted")
        self.before = self.state()
        for flags, self.prefix in itertools.product(
                (["ro"], ["nosuid"], ["nodev"], ["ro", "nosuid", "nodev"]),
                (user(), [*user(), *IN_NAMESPACE], [])):
            with self.subTest(flags=flags, prefix=self.prefix), \
                    self.mounted(self.root, root, flags):
                found = self.flags(root=root)
                for place in ("/", "/usr/bin", "/etc"):  # the last two are overlays
                    self.assertLessEqual(set(flags), set(found[place]), place)
                self.assertIn(LIBCUDA, found)

    def test_of_a_root_that_allows_no_programs_are_named(self):
        root = self.directory("mounted")
        for flags in (["noexec"], FLAGS[-1]):
            with self.mounted(self.root, root, flags):
                for command in ("sh", "/bin/sh"):
                    self.run_command(command, root=root, status=126, stderr=(
                        f"gpuctr-setup: {command}: Permission denied\nhint: the mount that it is on "
                        "allows no programs (noexec); mount options of the host also apply in "
                        "the container\n"))

    def test_of_the_drivers_files_stay(self):
        warning = (f"gpuctr-setup: warning: {DRIVER}/lib64/libcuda.so.{VERSION}: is on a mount "
                   "with noexec: programs cannot load it\n"
                   "hint: mount its file system with exec\n")
        for flags, backend in itertools.product(FLAGS, ("auto", "assembled")):
            with self.subTest(flags=flags, backend=backend), \
                    self.mounted(DRIVER, DRIVER, flags):
                found = self.flags(options=["--backend", backend],
                                   stderr=warning if "noexec" in flags else "")
                self.assertLessEqual({*flags, "ro", "nosuid", "nodev"}, set(found[LIBCUDA]))

    def test_of_further_directories_stay(self):
        source = self.directory("source", 0o777)
        for flags in FLAGS:
            with self.subTest(flags=flags), self.mounted(source, source, flags):
                for option in ("", ":ro"):
                    found = self.flags(options=["--bind", f"{source}:/mnt{option}"])
                    wanted = {*flags, "ro"} if option else set(flags)
                    self.assertLessEqual(wanted, set(found["/mnt"]))

    def test_cannot_be_taken_away_inside(self):
        self.prefix = [*user(), *IN_NAMESPACE]
        root = self.directory("mounted")
        with self.mounted(self.root, root, ["ro", "nosuid", "nodev"]):
            for change in ("rw,nosuid,nodev", "ro,suid,nodev", "ro,nosuid,dev"):
                self.run_command("mount", "-o", f"remount,bind,{change}", "/", root=root,
                                 status=32, stderr=None)


if __name__ == "__main__":
    unittest.main()
