# SPDX-License-Identifier: MIT
"""What is printed never decides what is done: outputs that nobody takes."""

import contextlib
import functools
import json
import itertools
import os
import resource
import signal
import subprocess
import unittest

import harness

MEBIBYTE = 1 << 20
STDOUT, STDERR = 1, 2
SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)


@contextlib.contextmanager
def full():
    with open("/dev/full", "w", encoding="utf-8") as file:
        yield file, None


@contextlib.contextmanager
def closed(number):
    yield None, functools.partial(os.close, number)


@contextlib.contextmanager
def without_reader():
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as file:
        yield file, None


@contextlib.contextmanager
def at_limit():
    """A file that is as large as one may be; others have room."""
    path = harness.DIRECTORY / "limited"
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.truncate(MEBIBYTE)
            yield file, functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE,
                                          (MEBIBYTE, MEBIBYTE))
    finally:
        path.unlink()


def ways(number):
    return {"full": full, "closed": functools.partial(closed, number),
            "without reader": without_reader, "at limit": at_limit}


def unheard(way, *words):
    """Runs the command with a standard error that takes nothing."""
    with ways(STDERR)[way]() as (file, prepare):
        return harness.call(*words, stderr=file, preexec_fn=prepare)


class StandardError(harness.Case):
    """A command does the same as ever, and ends with the same status."""

    mounted = True

    def setUp(self):
        super().setUp()
        self.before = self.state()

    @contextlib.contextmanager
    def unheard(self, way):
        with self.subTest(way=way):
            yield functools.partial(self.run_unheard, way)
            self.assert_state(self.before)
            self.assertEqual(harness.journals(), [])

    def run_unheard(self, way, *words, status=0, stdout=""):
        done = unheard(way, harness.SETUP, *words)
        self.assertEqual((done.returncode, done.stdout), (status, stdout), words)

    def assert_is_set_up(self, root, expected=True):
        done = harness.setup("status", "--rootfs", root)
        self.assertEqual((done.returncode, done.stdout != ""), (0, expected), done.stderr)

    def test_apply_and_undo(self):
        root = ("--nv", "--rootfs", self.root)
        for way in ways(STDERR):
            with self.unheard(way) as run:
                for options in ((), (), ("--device", "1")):
                    run("-v", *root, *options)
                    self.assert_is_set_up(self.root)
                for _ in range(2):
                    run("-v", "undo", "--rootfs", self.root)
                    self.assert_is_set_up(self.root, False)

    def test_undo_of_all_with_one_that_fails(self):
        roots = [self.root, *(harness.new_root() for _ in range(3))]
        for root in roots[1:]:
            self.addCleanup(harness.must, "rm", "-rf", root)
        self.before = self.state()
        for way in ways(STDERR):
            with self.unheard(way) as run:
                for root in roots:
                    self.run_setup("--nv", "--rootfs", root)
                for first in roots[:2]:
                    harness.must("mount", "--bind", "/dev/null", first / "dev/nvidia0")
                run("-v", "undo", "--all", status=8)
                for root in roots[2:]:
                    self.assert_is_set_up(root, False)
                for first in roots[:2]:
                    harness.must("umount", first / "dev/nvidia0")
                run("-v", "undo", "--all")
                run("-v", "undo", "--all")

    def test_prepare(self):
        tree = ("--staged-tree", harness.DIRECTORY / "tree")
        for way in ways(STDERR):
            with self.unheard(way) as run:
                for _ in range(2):
                    run("-v", "prepare", "--nv", *tree)
                    self.assertNotEqual(os.listdir(tree[1]), [])
                for _ in range(2):
                    run("-v", "prepare", "--undo", *tree)

    def test_commands(self):
        for way in ways(STDERR):
            with self.unheard(way) as run:
                run("--rocm", "--if-present", "--rootfs", self.root)
                for vendors in (["--nv"], ["--rocm", "--if-present"]):
                    root = [*vendors, "--rootfs", self.root]
                    run("-v", *root, "--", "sh", "-c", "echo done; exit 7", status=7, stdout="done\n")
                    run("-v", *root, "--", "/nowhere", status=127)
                    run("-v", *root, "--", "/etc", status=126)

    def test_results(self):
        for options in (["list"], ["plan", "--nv"], ["status", "--all"],
                        ["list", "--rocm", "--if-present"]):
            expected = harness.must(harness.SETUP, *options)
            for way in ways(STDERR):
                with self.unheard(way) as run:
                    run("-v", *options, stdout=harness.must(harness.SETUP, "-v", *options))
                    run("-q", *options, stdout=expected)

    def test_errors(self):
        for way in ways(STDERR):
            with self.unheard(way) as run:
                run("--nv", "--unknown", status=2)
                run("--nv", status=2)
                run("--nv", "--rootfs", "/nowhere", status=5)
                run("--nv", "--rootfs", "/nowhere", "--", "true", status=125)
                run("--rocm", "--rootfs", self.root, status=3)
                run("--nv", "--driver-version", "1.2", "--rootfs", self.root, status=4)


class StandardOutput(harness.Case):
    """A result that cannot be written is an error."""

    COMMANDS = (["list"], ["list", "--format", "json"], ["plan", "--nv"], ["-v", "plan", "--nv"],
                ["plan", "--nv", "--format", "json"], ["status", "--all"],
                ["status", "--all", "--format", "json"], ["version"], ["--version"], ["--help"],
                ["undo", "--help"])

    def setUp(self):
        super().setUp()
        self.apply()

    def each_command(self, way, check):
        for words in self.COMMANDS:
            with self.subTest(words=words), ways(STDOUT)[way]() as (file, prepare):
                check(functools.partial(harness.setup, *words, stdout=file, preexec_fn=prepare))

    def check(self, problem, run):
        done = run()
        self.assertEqual(done.returncode, 1, done.stderr)
        message = f"write to standard output: {problem}"
        if done.stderr.startswith("{"):
            self.assertEqual(json.loads(done.stderr)["message"], message)
        else:
            self.assertEqual(done.stderr, f"gpuctr-setup: {message}\n")

    def test_a_full_disk(self):
        self.each_command("full", functools.partial(self.check, "No space left on device"))

    def test_a_limit_on_files(self):
        self.each_command("at limit", functools.partial(self.check, "File too large"))

    def test_none_at_all(self):
        self.each_command("closed", functools.partial(self.check, "Bad file descriptor"))

    def test_a_reader_that_has_gone_ends_it_as_other_programs(self):
        def check(run):
            done = run()
            self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, ""))
            self.check("Broken pipe", functools.partial(run, preexec_fn=ignore))

        def ignore():
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)

        self.each_command("without reader", check)

    def test_it_is_nothing_to_those_that_print_none(self):
        for way in ways(STDOUT):
            for words in (["--nv", "--rootfs", self.root], ["undo", "--rootfs", self.root]):
                with self.subTest(way=way), ways(STDOUT)[way]() as (file, prepare):
                    done = harness.setup(*words, stdout=file, preexec_fn=prepare)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))


class Signals(harness.Case):
    """What ends other programs when they print."""

    def dispositions(self, *words, ignored=()):
        def prepare():
            for number in SIGNALS:
                signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
        status = harness.must(*words, "/usr/bin/cat", "/proc/self/status", preexec_fn=prepare)
        return [line for line in status.splitlines() if line.startswith(("Sig", "Shd"))
                and not line.startswith("SigQ")]

    def test_a_command_has_them_as_the_caller_had(self):
        run = (harness.SETUP, "--nv", "--rootfs", self.root, "--")
        for ignored in itertools.chain.from_iterable(
                itertools.combinations(SIGNALS, count) for count in range(3)):
            with self.subTest(ignored=ignored):
                self.assertEqual(self.dispositions(*run, ignored=ignored),
                                 self.dispositions("env", ignored=ignored))

    def test_a_pipe_that_is_closed_meanwhile(self):
        """Who reads the first line goes on."""
        for _ in range(3):
            root = harness.new_root()
            self.addCleanup(harness.must, "rm", "-rf", root)
            self.run_setup("--nv", "--rootfs", root)
        with subprocess.Popen([harness.SETUP, "-v", "undo", "--all"], text=True,
                              stderr=subprocess.PIPE) as process:
            process.stderr.readline()
            process.stderr.close()
        self.assertEqual(process.returncode, 0)
        self.assertEqual(harness.journals(), [])

    def test_without_room_for_a_journal_nothing_is_done(self):
        none = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (0, 0))
        with self.nothing_changes():
            done = self.apply(status=8, stderr=None, preexec_fn=none)
            self.assertIn("journal", done.stderr)
            self.assertIn(": File too large\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
