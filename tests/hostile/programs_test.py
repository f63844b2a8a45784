# SPDX-License-Identifier: MIT
"""Nothing of an image is run by whoever sets it up, and what of it is run by its users
has no more rights than it should."""

import itertools
import os
import pathlib
import shutil
import stat
import subprocess
import unittest

import harness
import hostile
import mount_table
from harness import MULTIARCH, TREE, VERSION

LIBRARIES = f"/usr/lib/{MULTIARCH}"
# Each choice of the three descriptors.
CLOSED = [numbers for count in range(4) for numbers in itertools.combinations(range(3), count)]


class Programs(hostile.Case):
    """What the image would like to have run."""

    def setUp(self):
        super().setUp()
        self.pwned = self.canary / "pwned"
        self.script = script = f"#!/bin/sh\necho pwned >{self.pwned}\n"
        for inside in ("/usr/sbin/ldconfig", "/usr/sbin/ldconfig.real", "/usr/bin/nvidia-smi",
                       "/usr/bin/nvidia-modprobe", "/usr/bin/mount", "/evil.so"):
            self.put(inside, script)

    def traced(self, *words, **options):
        """The programs that a command executes."""
        log = harness.DIRECTORY / "executed"
        environment = dict(options.pop("env", os.environ), ASAN_OPTIONS="detect_leaks=0")
        harness.must(shutil.which("strace"), "-f", "-qq", "-e", "trace=execve,execveat", "-o", log,
                     harness.SETUP, *words, env=environment, **options)
        lines = [line.split(None, 1)[1] for line in log.read_text().splitlines()]
        return [line.split('"')[1] for line in lines if line.startswith("execve")]

    def test_nothing_of_the_image_is_executed(self):
        """T20"""
        before = self.state()
        for mode, words in hostile.MODES.items():
            for backend in ("detached", "assembled"):
                with self.subTest(mode=mode, backend=backend):
                    executed = self.traced("--nv", "--rootfs", self.root, *words, "--backend",
                                           backend)
                    self.assertEqual(executed, [harness.SETUP])
                    self.assertEqual(self.traced("undo", "--rootfs", self.root), [harness.SETUP])
                    self.assert_state(before)
        self.assertEqual(self.traced("plan", "--nv", "--rootfs", self.root), [harness.SETUP])
        executed = self.traced("--nv", "--rootfs", self.root, "--", "/usr/bin/true")
        self.assertEqual(executed, [harness.SETUP, "/usr/bin/true"])
        self.assert_canary()

    def test_nothing_of_the_image_is_executed_in_other_ways_to_set_it_up(self):
        """T20"""
        tree = harness.DIRECTORY / "tree"
        container = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-ec",
             'mount --bind "$1" "$1"; mount --bind /proc "$1/proc"; exec chroot "$1" '
             'sh -c "echo ready; exec sleep 600"', "sh", self.root], stdout=subprocess.PIPE)
        for action in (container.wait, container.kill, container.stdout.close):
            self.addCleanup(action)
        self.assertEqual(container.stdout.readline(), b"ready\n")
        # All that a loader, a shell or a name service would run from here on.
        for inside in ("/usr/bin/sh", "/usr/lib64/ld-linux-x86-64.so.2", f"{LIBRARIES}/libc.so.6",
                       f"{LIBRARIES}/libnss_files.so.2"):
            self.put(inside, self.script)
        self.watch.add(self.root)
        locked = [] if harness.IS_LEGACY else [("--lock",)]
        for words in (("prepare", "--nv", "--staged-tree", tree),
                      *(("--nv", "--rootfs", self.root, *more)
                        for more in ((), ("--staged-tree", tree), *locked)),
                      ("status", "--rootfs", self.root), ("status", "--all"), ("undo", "--all"),
                      *([] if harness.IS_LEGACY else [("--nv", "--pid", container.pid),
                                                      ("status", "--pid", container.pid),
                                                      ("undo", "--pid", container.pid)]),
                      ("plan", "--nv", "--rootfs", self.root),
                      ("prepare", "--undo", "--staged-tree", tree)):
            with self.subTest(words=words):
                self.watch.take()
                self.assertEqual(self.traced(*words), [harness.SETUP])
                self.assertEqual(self.watch.take(), [])
                self.assert_canary()

    def test_neither_environment_nor_directory_have_an_effect(self):
        """T21"""
        environment = dict(
            os.environ, LIBMOUNT_FORCE_MOUNT2="always", LIBMOUNT_FSTAB="/evil",
            LIBMOUNT_DEBUG="0xffff", GLIBC_TUNABLES="glibc.malloc.check=3",
            MALLOC_TRACE=str(self.pwned), RES_OPTIONS="debug", TZ=f":{self.canary}/f",
            TMPDIR=str(self.canary), LOCPATH=".", GCONV_PATH=".",
            PATH=f"{self.root}/usr/bin:{self.root}/usr/sbin", HOME=str(self.canary),
            XDG_STATE_HOME=str(self.canary), XDG_CONFIG_HOME=str(self.canary), NLSPATH=".")
        before = self.state()

        for mode, words in hostile.MODES.items():
            with self.subTest(mode=mode):
                executed = self.traced("--nv", "--rootfs", ".", *words, cwd=self.root,
                                       env=environment)
                self.assertEqual(executed, [harness.SETUP])
                self.assertFalse([m for m in mount_table.read() if m.target == str(self.canary)])
                self.assert_canary()
                self.run_setup("undo", "--rootfs", ".", cwd=self.root, env=environment)
                self.assert_state(before)


class Descriptors(hostile.Case):
    """What of the host a working directory or a program could be: through descriptors of
    the command, and of its caller."""

    def setUp(self):
        super().setUp()
        self.host = harness.DIRECTORY / "hostonly"
        self.host.mkdir()
        self.addCleanup(harness.must, "rm", "-rf", self.host)
        shutil.copy("/usr/bin/true", self.host)
        self.path("/mnt").mkdir(exist_ok=True)

    def words(self, redirections, *words, root=None):
        """A command in the image, with descriptors in the words of the shell."""
        return ["sh", "-c", f'exec "$@" {redirections}', "sh", harness.SETUP, "--nv",
                *map(str, root or ("--rootfs", self.root)), *words]

    def run_with(self, *words, **options):
        return harness.call(*self.words(*words, **options))

    def assert_not_from_the_host(self, *redirections, **options):
        """A program that the image has lead through a descriptor is not there."""
        for number in range(6):
            self.link("/run/program", f"/proc/self/fd/{number}/../hostonly/true")
            done = self.run_with(*redirections, "--", "/run/program", **options)
            self.assertIn(done.returncode, (126, 127), f"{number}: {done.stderr}")

    def found_by_command(self, *words, **options):
        """What the descriptors of a command lead to."""
        process = subprocess.Popen(self.words(*words, "--", "sh", "-c", "kill -STOP $$", **options),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        with process:
            self.assertTrue(os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1]))
            place = f"/proc/{process.pid}/fd"
            found = {int(number): os.readlink(f"{place}/{number}") for number in os.listdir(place)}
            process.kill()
        return found

    def assert_null(self, found, numbers):
        """Standard input, which is null, and these; none but the three is open."""
        self.assertEqual(sorted(found), [0, 1, 2])
        self.assertEqual({number for number, path in found.items() if path == "/dev/null"},
                         {0, *numbers} & {0, 1, 2})

    def test_a_working_directory_leads_no_command_out(self):
        """T22"""
        for number in range(32):
            for way in ("", "/.." * 8):
                self.link("/work", f"/proc/self/fd/{number}{way}")
                done = harness.setup("--nv", "--rootfs", self.root, "--chdir", "/work", "--",
                                     "ls", "-d", f"..{self.canary}", f".{self.canary}",
                                     "cny", "../cny")
                self.assertEqual(done.stdout, "", f"{number}{way}")
                self.assertNotEqual(done.returncode, 0)

    def test_a_program_is_not_of_the_host_whichever_are_closed(self):
        """T22"""
        for numbers in CLOSED:
            with self.subTest(closed=numbers):
                closed = " ".join(f"{number}>&-" for number in numbers)
                self.assert_not_from_the_host(closed)
                self.assert_null(self.found_by_command(closed), numbers)

    def test_a_program_is_not_of_the_host_by_the_descriptor_of_the_root(self):
        """T22"""
        for number, numbers in itertools.product(range(5), CLOSED):
            with self.subTest(number=number, closed=numbers):
                given = " ".join(f"{closed}>&-" for closed in numbers) + f" {number}<{self.root}"
                root = ("--rootfs-fd", number)
                self.assert_not_from_the_host(given, root=root)
                self.assert_null(self.found_by_command(given, root=root), (*numbers, number))

    def test_one_that_is_closed_is_of_no_use_either(self):
        """T22"""
        for redirection, script in (("<&-", "read line"), (">&-", "echo"), ("2>&-", "echo >&2")):
            done = self.run_with(redirection, "--", "sh", "-c", script)
            self.assertNotEqual(done.returncode, 0, redirection)

    def test_a_program_is_not_what_links_of_the_kernel_lead_to(self):
        """T22"""
        shutil.copy("/usr/bin/dash", self.host / "sh")
        for number in (0, 1, 2, 3, 9):
            self.check_ways(f"{number}<{self.host}", f"/proc/self/fd/{number}")
        for path in ("/proc/self/exe", "/proc/thread-self/exe", "/proc/self/cwd/usr/bin/true"):
            self.link("/run/program", path)
            self.put("/run/script", f"#!{path}\n")
            for program in ("/run/program", "/run/script"):
                self.assert_refused("", program)

    def check_ways(self, given, directory):
        """Those in which an image can name a program in a directory that the caller has open."""
        self.link("/run/link", f"{directory}/true")
        self.link("/run/far", f"{directory}/../hostonly/true")
        self.link("/run/directory", directory)
        for name, first in (("script", f"#!{directory}/sh"), ("spaced", f"#! \t{directory}/sh -e"),
                            ("linked", "#!/run/directory/sh"), ("nested", "#!/run/script")):
            self.put(f"/run/{name}", f"{first}\nexit 0\n")
        for program in ("/run/link", "/run/far", "/run/directory/true", "/run/script",
                        "/run/spaced", "/run/linked", "/run/nested", f"{directory}/true"):
            self.assert_refused(given, program)
        for words in (["--setenv", "PATH=/nowhere:/run:/usr/bin", "--", "link"],
                      ["--setenv", "PATH=/run/directory:/usr/bin", "--", "true"],
                      ["--chdir", "/run", "--", "./link"],
                      ["--chdir", "/run", "--setenv", "PATH=", "--", "script"]):
            self.assert_refused(given, *words)

    def assert_refused(self, given, *words):
        words = words if "--" in words else ("--", *words)
        done = self.run_with(given, *words)
        self.assertEqual(done.returncode, 126, f"{words} {given}: {done.stderr}")
        if "2<" not in given:
            self.assertIn("Too many levels of symbolic links\nhint: a program is not executed "
                          "through magic links", done.stderr)

    def test_a_shell_for_what_names_none_is_of_the_image(self):
        """T22"""
        self.put("/run/plain", "exit 7\n")
        self.assertEqual(self.run_with("", "--", "/run/plain").returncode, 7)
        shutil.copy("/usr/bin/dash", self.host / "sh")
        self.link("/usr/bin/sh", "/proc/self/fd/0/sh")
        self.assert_refused(f"<{self.host}", "/run/plain")

    def test_without_the_null_device_nothing_begins(self):
        """T22"""
        file = harness.DIRECTORY / "file"
        file.write_text("something else")
        self.addCleanup(file.unlink)
        before = self.state()
        with self.with_mount("--bind", file, target="/dev/null"):
            for words, status in (([], 7), (["--", "true"], 125)):
                done = self.run_with("<&-", *words)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn("gpuctr-setup: /dev/null is not the null device", done.stderr)
        self.assert_state(before)


class AfterApplying(hostile.Case):
    """The flags that were planned are those that are there."""

    def test_flags_really_are_set(self):
        """T16"""
        for mode, words in hostile.MODES.items():
            for backend in ("detached", "assembled"):
                with self.subTest(mode=mode, backend=backend):
                    self.apply("--device", "0", *words, "--backend", backend)
                    self.check_mounts()
                    self.undo()

    def check_mounts(self):
        ours = [m for m in mount_table.below(self.root) if m.target != str(self.root)]
        self.assertGreater(len(ours), 3)
        for mount in ours:
            options = mount.options.split(",")
            status = os.stat(mount.target)
            self.assertIn("ro", options, mount)
            if stat.S_ISCHR(status.st_mode):
                self.assertLessEqual({"nosuid", "noexec"}, set(options), mount)
                continue
            if mount.type != "overlay":
                self.assertLessEqual({"nosuid", "nodev"}, set(options), mount)
            with self.assertRaises(OSError, msg=mount) as raised:
                if stat.S_ISDIR(status.st_mode):
                    os.mkdir(f"{mount.target}/new")
                else:
                    os.close(os.open(mount.target, os.O_WRONLY))
            self.assertEqual(raised.exception.errno, 30, mount)

    def test_flags_are_those_for_a_command_too(self):
        """T16"""
        table = harness.DIRECTORY / "table"
        self.addCleanup(table.unlink)
        wanted = {TREE: {"ro", "nosuid", "nodev"}, "/dev/nvidia": {"ro", "nosuid", "noexec"},
                  "/usr/bin": {"ro"}, "/etc": {"ro"}}
        for words in ((), ("--layout", "merged")):
            done = harness.setup("--nv", "--rootfs", self.root, "--device", "0", *words,
                                 *hostile.TABLE)
            self.assertEqual(done.returncode, 0, done.stderr)
            table.write_text(done.stdout)
            seen = 0
            for mount in mount_table.read(table):
                flags = [flags for place, flags in wanted.items() if mount.target.startswith(place)]
                self.assertLessEqual(set().union(*flags), set(mount.options.split(",")), mount)
                seen += len(flags)
            self.assertGreater(seen, 10)

    def test_a_setuid_program_of_the_driver_gives_nobody_root(self):
        """T16"""
        tool = next(item["source"] for item in self.plan()["items"]
                    if item["target"] == f"{TREE}/bin/nvidia-smi")
        setuid = harness.DIRECTORY / "setuid"
        self.addCleanup(setuid.unlink)
        setuid.write_bytes(pathlib.Path(shutil.which("id")).read_bytes())
        setuid.chmod(0o4755)
        self.assertEqual(harness.must(*harness.ORDINARY_USER, setuid, "-u"), "0\n")
        for mode in ("auto", "never", "merged"):
            with self.subTest(mode=mode):
                with self.with_mount("--bind", setuid, target=tool):
                    self.apply("--device", "0", *hostile.MODES.get(mode, ()))
                directory = "/usr" if mode == "merged" and mode in hostile.MODES else TREE
                mounted = f"{self.root}{directory}/bin/nvidia-smi"
                self.assertTrue(os.stat(mounted).st_mode & 0o4000)
                self.assertEqual(harness.must(*harness.ORDINARY_USER, mounted, "-u"), "65534\n")
                self.undo()

    def test_a_device_that_lies_among_the_drivers_files_cannot_be_opened(self):
        """T16"""
        self.apply("--device", "0")
        self.assertTrue(os.statvfs(f"{self.root}{TREE}").f_flag & os.ST_NODEV)
        self.assertFalse(os.statvfs(f"{self.root}/dev/nvidia0").f_flag & os.ST_NODEV)
        self.assertIn(VERSION, hostile.TREE_FILE)
        self.undo()


if __name__ == "__main__":
    unittest.main()
