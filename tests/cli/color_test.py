# SPDX-License-Identifier: MIT
"""Colour at a terminal, and nowhere else unless it is asked for."""

import fcntl
import os
import re
import struct
import subprocess
import unittest

import faults
import harness

CODE = re.compile("\x1b\\[[0-9;]*m")
TERMINALS = harness.DIRECTORY / "pts"
UNLOCK, OPEN_PEER = 0x40045431, 0x5441 # TIOCSPTLCK and TIOCGPTPEER


def setUpModule():
    TERMINALS.mkdir()
    harness.must("mount", "-t", "devpts", "-o", "newinstance,ptmxmode=0666", "test", TERMINALS)


def tearDownModule():
    harness.must("umount", TERMINALS)


class Color(harness.Case):
    @staticmethod
    def open_terminal():
        """Both ends. The simulated host has no terminals of its own."""
        mine = os.open(TERMINALS / "ptmx", os.O_RDWR | os.O_NOCTTY)
        fcntl.ioctl(mine, UNLOCK, struct.pack("i", 0))
        return mine, fcntl.ioctl(mine, OPEN_PEER, os.O_RDWR | os.O_NOCTTY)

    def at_terminal(self, *words, prefix=(), **variables):
        """What is printed there, on either output."""
        environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        mine, its = self.open_terminal()
        with subprocess.Popen([*prefix, harness.SETUP, *map(str, words)], stdin=subprocess.DEVNULL, stdout=its,
                              stderr=its, env=environment | {"TERM": "xterm"} | variables) as process:
            os.close(its)
            said = b""
            while True:
                try:
                    part = os.read(mine, 65536)
                except OSError: # all of its ends are closed
                    break
                if not part:
                    break
                said += part
            process.wait(harness.TIMEOUT)
        os.close(mine)
        return said.decode().replace("\r\n", "\n")

    def test_headings_and_problems_have_some(self):
        self.apply("--device", "0")
        harness.must("umount", "-l", f"{self.root}/dev/nvidia0")
        for words, word in ((["list", "-o", "UUID"], "\x1b[1mUUID\x1b[0m"),
                            (["plan", "--nv"], "\x1b[1mKIND "),
                            (["lsit"], "\x1b[1;31mgpuctr-setup:\x1b[0m unknown command"),
                            (["status", "--all"], "\x1b[1;31merror   \x1b[0m")):
            shown = self.at_terminal(*words)
            self.assertIn(word, shown)
            done = harness.call(harness.SETUP, *words, "--color", "always")
            self.assertEqual(shown, done.stdout + done.stderr)
        self.undo()

    def test_says_nothing_that_the_words_do_not(self):
        for words in (["list"], ["plan", "--nv", "-v"], ["lsit"], ["status"]):
            plain = harness.call(harness.SETUP, *words)
            colored = self.at_terminal(*words)
            self.assertEqual(CODE.sub("", colored), plain.stdout + plain.stderr)
            self.assertNotEqual(colored, plain.stdout + plain.stderr)

    def test_is_not_for_pipes_and_files(self):
        for words in (["list"], ["lsit"]):
            for more in ([], ["--color", "auto"], ["--color=never"]):
                done = harness.call(harness.SETUP, *words, *more, env=os.environ | {"TERM": "xterm"})
                self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_is_left_out_where_it_is_not_wanted(self):
        for words, variables in ((["list", "--color", "never"], {}), (["list"], {"NO_COLOR": "1"}),
                                 (["--color=never", "lsit"], {}), (["lsit"], {"NO_COLOR": "x"}),
                                 (["list"], {"TERM": "dumb"}), (["list"], {"TERM": ""})):
            self.assertNotIn("\x1b", self.at_terminal(*words, **variables))
        self.assertIn("\x1b", self.at_terminal("list", NO_COLOR=""))
        self.assertIn("\x1b", self.at_terminal("--color", "always", "list", NO_COLOR="1"))

    def test_a_person_is_told_what_takes_long(self):
        slow = [faults.INJECT, "-c", str(faults.number("getdents64")), "-n", "1", "-x", "sleep 1.2"]
        said = self.at_terminal("check", "--nv", prefix=slow)
        self.assertEqual(said, "gpuctr-setup: still looking at this host\nnothing is wrong\n")
        self.assertEqual(self.at_terminal("check", "--nv"), "nothing is wrong\n")
        self.assertEqual(self.at_terminal("-q", "check", "--nv", prefix=slow), "")

    def test_is_never_in_json(self):
        for words in (["list", "--json"], ["lsit", "--json"], ["plan", "--nv", "--json", "--device", "9"],
                      ["status", "--all", "--format", "json"]):
            self.assertNotIn("\x1b", self.at_terminal(*words, "--color", "always"))

    def test_is_asked_for_in_one_of_three_words(self):
        done = self.run_setup("list", "--color", "alwyas", status=2, stderr=None)
        self.assertEqual(done.stderr, "gpuctr-setup: --color: 'alwyas' is none of auto, always, never\n"
                                      "hint: did you mean always? gpuctr-setup list --help lists all\n")

    def test_stands_before_the_command_or_behind_it(self):
        done = self.run_setup("--color", "always", "list", stdout=None)
        self.run_setup("list", "--color=always", stdout=done.stdout)
        self.run_setup("-v", "--color", "always", "undo", "--rootfs", self.root,
                       stderr=f"gpuctr-setup: nothing is set up in {self.root}\n")


if __name__ == "__main__":
    unittest.main()
