# SPDX-License-Identifier: MIT
"""What is mounted into an image comes from the host's driver, and from nowhere else."""

import os
import pathlib
import re
import shutil
import unittest

import harness
import hostile
import mount_table
from harness import MULTIARCH, VERSION

LIBRARY = f"libcuda.so.{VERSION}"


class OfTheDriver(hostile.Case):
    """A driver in a directory that somebody else may write, too."""

    def setUp(self):
        super().setUp()
        self.driver = harness.DIRECTORY / "driver"
        library_directory = self.driver / "usr/lib" / MULTIARCH
        library_directory.mkdir(parents=True)
        (self.driver / "etc").mkdir()
        (self.driver / "usr/bin").mkdir()
        for path in pathlib.Path("/usr/local/nvidia/lib64").glob("lib*.so*"):
            shutil.copy2(path, library_directory, follow_symlinks=False)
        harness.must("ldconfig", "-r", self.driver)
        self.addCleanup(harness.must, "rm", "-rf", self.driver)
        self.library = library_directory / LIBRARY

    def check(self):
        """What the image gets, if anything, is not what a link led to."""
        before = self.state()
        for words in hostile.MODES.values():
            done = harness.setup("--nv", "--rootfs", self.root, "--driver-root", self.driver,
                                 *words)
            self.assert_outcome(done, None, (4, *hostile.REFUSALS))
            for mount in mount_table.below(self.root):
                self.assertNotIn("/cny/", mount.root)
                if os.path.isfile(mount.target):
                    text = pathlib.Path(mount.target).read_bytes()
                    self.assertNotIn(hostile.SECRET.encode(), text)
            self.undo(stderr=None)
            self.assert_canary()
            self.assert_state(before)

    def test_a_library_is_a_link_to_a_secret(self):
        """T2"""
        for target in (self.canary / "secret", "../" * 12 + str(self.canary / "secret")[1:],
                       "/proc/self/root/etc/shadow", "/"):
            with self.subTest(target=target):
                self.library.unlink()
                self.library.symlink_to(target)
                self.check()

    def test_another_file_of_the_driver_is_a_link_to_a_secret(self):
        """T2"""
        for name in ("libnvidia-ml.so", "libnvidia-ptxjitcompiler.so"):
            path = self.library.with_name(f"{name}.{VERSION}")
            path.unlink(missing_ok=True)
            path.symlink_to(self.canary / "secret")
            self.check()

    def test_a_directory_of_the_driver_is_a_link(self):
        """T2"""
        shutil.rmtree(self.library.parent)
        self.library.parent.symlink_to(self.canary)
        self.check()

    def test_a_library_is_a_device_or_a_pipe(self):
        """T2, T15"""
        for make in (os.mkfifo, os.mkdir):
            self.library.unlink(missing_ok=True)
            make(self.library)
            self.check()
            if self.library.is_dir():
                self.library.rmdir()

    def exchange(self, other, number):
        """Sets up, with another file in the library's place by the time that the number-th
        source is mounted: the command is held there, with the plan made."""
        log = harness.DIRECTORY / "trace"
        done = harness.call(
            "strace", "-f", "-qq", "-o", log, "-e", "trace=open_tree", "-e",
            f"inject=open_tree:delay_enter=400000:when={number}", "sh", "-c",
            '(sleep 0.2; mv -T "$1" "$2/old"; mv "$3" "$1") & shift 3; exec "$@"', "sh",
            self.library, self.driver, other, harness.SETUP, "--nv", "--rootfs", self.root,
            "--driver-root", self.driver, env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
        self.assertIn(done.returncode, (0, 4), done.stderr)
        for mount in mount_table.below(self.root):
            self.assertNotIn("/cny/", mount.root)
            if mount.target.endswith(LIBRARY):
                self.assertFalse(os.path.islink(mount.target))
                self.assertNotIn(b"forged", pathlib.Path(mount.target).read_bytes())
        self.undo(stderr=None)
        if (self.driver / "old").exists():
            os.rename(self.driver / "old", self.library)
        self.assert_canary()
        return "no longer the file that was planned with" in done.stderr

    def test_a_driver_that_was_changed_after_planning_is_refused(self):
        """T2, R4"""
        other = self.driver / "other"

        def link():
            other.symlink_to(self.canary / "secret")

        def forge():
            """Of the same size and time."""
            status = self.library.stat()
            other.write_bytes(b"forged".ljust(status.st_size, b"\0"))
            os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))

        for make in (link, forge):
            for number in (1, 3):
                with self.subTest(make=make, number=number):
                    # The two may miss each other on a machine that is busy.
                    for _ in range(10):
                        other.unlink(missing_ok=True)
                        make()
                        if self.exchange(other, number) or number != 1:
                            break
                    else:
                        self.fail("the exchange always came too early or too late")


class OfTheImage(hostile.Case):
    """System calls that name what is mounted."""

    def test_nothing_of_the_image_is_ever_a_source(self):
        """T1: all sources by strace, beside what mount tables tell in each other test"""
        self.put("/usr/local/cuda/compat/libcuda.so.1")
        self.put("/usr/bin/nvidia-smi")
        for backend in ("detached", "assembled", "legacy"):
            for mode in hostile.MODES if backend == "detached" else ("auto", "never"):
                with self.subTest(mode=mode, backend=backend):
                    self.check_sources("--backend", backend, *hostile.MODES[mode])
                    self.check_sources(undo=True)
            with self.subTest(mode="command", backend=backend):
                self.check_sources("--backend", backend, "--", "/usr/bin/true")

    def check_sources(self, *words, undo=False):
        log = harness.DIRECTORY / "trace"
        command = ("undo",) if undo else ("--nv",)
        harness.must("strace", "-f", "-qq", "-y", "-s", "4096", "-o", log, "-e",
                     "trace=open,openat,openat2,open_tree,dup,fcntl,fsmount,mount,move_mount",
                     harness.SETUP, *command, "--rootfs", self.root, *words,
                     env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
        sources = list(self.sources(log.read_text(errors="replace")))
        if not undo:
            self.assertGreater(len(sources), 3)
        # The root is bound on itself. As the root directory of CMD, it has no name.
        for source in sources:
            self.assertFalse(source.startswith((f"{self.root}/", str(self.canary))), source)

    @staticmethod
    def sources(text):
        """What is cloned, bound or moved, as the descriptors were called when they were
        opened: what mount() takes are links to them."""
        opened = {}
        for line in text.splitlines():
            process = line.split(None, 1)[0]
            if found := re.search(r"= (\d+)<([^>]*)>$", line):
                opened[process, found[1]] = found[2]
            found = re.search(r'open_tree\((?:AT_FDCWD(?:<[^>]*>)?|\d+<([^>]*)>), "([^"]*)"', line)
            if found:
                yield found[2] or found[1]
            found = re.search(r'mount\("([^"]*)", .*MS_(?:BIND|MOVE)', line)
            if found and "MS_REMOUNT" not in line:
                descriptor = re.fullmatch(r"/proc/(?:thread-)?self/fd/(\d+)", found[1])
                yield opened[process, descriptor[1]] if descriptor else found[1]


class Proc(hostile.Case):
    """Somebody mounted over /proc before the command began."""

    def setUp(self):
        super().setUp()
        self.victim = harness.DIRECTORY / "victim"
        harness.mount_tmpfs(self.victim)
        (self.victim / "file").write_text("")
        self.addCleanup(harness.call, "umount", "-l", self.victim)
        self.fake = harness.DIRECTORY / "fake"
        self.fake.mkdir()
        for number in range(64):
            (self.fake / str(number)).symlink_to(self.victim)
        self.addCleanup(harness.must, "rm", "-rf", self.fake)

    def with_fake(self, script, *words, env=None):
        """Runs the command in a process whose /proc is covered by then."""
        return harness.call("sh", "-c", f'{script}; shift; exec "$@"', "sh", self.fake,
                            harness.SETUP, *words, env=env)

    # They end with the process. What /proc/self and /proc/thread-self lead to.
    COVER = "for fd in /proc/$$/fd /proc/$$/task/$$/fd; do mount {} $fd || exit 99; done"
    COVERS = {
        "links over the descriptors": COVER.format('--bind "$1"'),
        "another process's descriptors": COVER.format("--bind /proc/1/fd"),
        "a directory of the kernel": COVER.format("--bind /proc/sys/kernel"),
        "nothing": COVER.format("-t tmpfs none"),
    }
    if os.environ.get("GPUCTR_TEST_FEWER") != "1":  # sanitizers look for the process there
        COVERS["another process's directory"] = "mount --bind /proc/1 /proc/$$"

    def check(self, *words):
        for name, script in self.COVERS.items():
            with self.subTest(cover=name):
                table = mount_table.read()
                done = self.with_fake(script, *words)
                self.assert_calm(done)
                self.assertNotIn(done.returncode, (0, 99))
                self.assertIn("/proc", done.stderr)
                self.assertEqual(mount_table.read(), table)
                self.assertTrue((self.victim / "file").exists())
                self.assert_canary()

    def test_setting_up_by_a_proc_that_is_covered_is_refused(self):
        """T11"""
        before = self.state()
        for write in ("auto", "never"):
            self.check("--nv", "--rootfs", self.root, "--device", "0", "--write", write)
            self.assert_state(before)
            self.assertEqual(harness.journals(), [])

    def test_undo_by_a_proc_that_is_covered_is_refused(self):
        """T11"""
        before = self.state()
        for write in ("auto", "never"):
            self.apply("--device", "0", "--write", write)
            applied = self.state()
            self.check("undo", "--rootfs", self.root)
            self.assert_state(applied)
            self.undo()
            self.assert_state(before)

    def test_running_a_command_by_a_proc_that_is_covered_is_refused(self):
        """T11"""
        self.check("--nv", "--rootfs", self.root, "--", "/usr/bin/true")

    def test_running_a_command_by_covered_descriptors_of_the_process_alone_is_refused(self):
        """T11: those of its threads, which the library looks at, are the kernel's"""
        before = self.state()
        done = self.with_fake('mount --bind "$1" /proc/$$/fd || exit 99', "--nv", "--rootfs",
                              self.root, "--device", "0", "--", "/usr/bin/true")
        self.assertEqual((done.returncode, done.stderr.splitlines()[0]),
                         (125, "gpuctr-setup: /proc is not the kernel's (error 7)"))
        self.assertTrue((self.victim / "file").exists())
        self.assert_canary()
        self.assert_state(before)

    @unittest.skipIf(os.environ.get("GPUCTR_TEST_FEWER") == "1", "sanitizers look at it, too")
    def test_a_proc_that_is_none_is_refused(self):
        """T11: with all the names that are looked for, in a mount namespace of its own"""
        proc = harness.DIRECTORY / "proc"
        for name in ("self", "thread-self"):
            (proc / name).mkdir(parents=True)
            (proc / name / "fd").symlink_to(self.fake)
            (proc / name / "mountinfo").write_text("")
        self.addCleanup(harness.must, "rm", "-rf", proc)
        before = self.state()
        for words in (("--nv", "--rootfs", self.root), ("undo", "--rootfs", self.root),
                      ("--nv", "--rootfs", self.root, "--", "/usr/bin/true")):
            done = harness.call("unshare", "--mount", "sh", "-c",
                                'mount --bind "$1" /proc && shift && exec "$@"', "sh", proc,
                                harness.SETUP, *words)
            self.assert_calm(done)
            self.assertNotEqual(done.returncode, 0)
            self.assertTrue((self.victim / "file").exists())
            self.assert_canary()
            self.assert_state(before)
            self.assertEqual(harness.journals(), [])

    def test_staging_by_a_proc_that_is_covered_is_refused(self):
        """T11"""
        self.run_setup("prepare", "--nv", "--staged-tree", harness.DIRECTORY / "staged")
        self.addCleanup(harness.call, "umount", "-l", harness.DIRECTORY / "staged")
        self.check("prepare", "--undo", "--staged-tree", harness.DIRECTORY / "staged")


if __name__ == "__main__":
    unittest.main()
