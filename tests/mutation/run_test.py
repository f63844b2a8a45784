#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The list of mutations is checked, and `run` tells those that a test notices from others."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import mutations

HERE = Path(__file__).resolve().parent
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(toy LANGUAGES C CXX)
enable_testing()
add_executable(toy toy.c)
add_test(NAME toy COMMAND toy)
"""
CODE = """
static int is_small(int number) { return number < 10; }
static int is_even(int number) { return number % 2 == 0; }
int main(void) { return is_small(9) && !is_small(10) && is_even(2) ? 0 : 1; }
"""
NOTICED = {"breaks": "small is anything", "file": "toy.c", "text": "number < 10", "becomes": "1",
           "killed_by": "toy"}
NOT_NOTICED = {"breaks": "even is anything", "file": "toy.c", "text": "number % 2 == 0",
               "becomes": "1", "killed_by": "toy"}


class Toy(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="gpuctr-mutation-")
        self.addCleanup(directory.cleanup)
        self.source = Path(directory.name)
        self.list = self.source / "tests/mutation/mutations"
        self.list.mkdir(parents=True)
        (self.source / ".gitignore").write_text("/build\n")
        (self.source / "CMakeLists.txt").write_text(PROJECT)
        (self.source / "tests/CMakeLists.txt").write_text("# of the program toy")
        (self.source / "toy.c").write_text(CODE)
        subprocess.run(["git", "init", "--quiet", self.source], check=True)

    def write(self, *found):
        lines = []
        for mutation in found:
            lines += ["[[mutation]]", *(f"{key} = '''{mutation[key]}'''" for key in mutation)]
        (self.list / "toy.toml").write_text("\n".join(lines))


class Listed(Toy):
    def problems(self, *found):
        self.write(*found)
        return list(mutations.problems(self.source, mutations.load(self.list)))

    def test_those_that_fit(self):
        equivalent = NOT_NOTICED | {"equivalent": "why"}
        del equivalent["killed_by"]
        self.assertEqual(self.problems(NOTICED, equivalent), [])

    def test_a_text_that_is_there_twice_or_not_at_all(self):
        for text, count in (("number", 4), ("nowhere", 0)):
            self.assertEqual(self.problems(NOTICED | {"text": text}),
                             [f"small is anything: toy.c: {count} times there, and not once: "
                              f"{text!r}"])

    def test_a_test_that_is_not_there(self):
        for test in ("other", "toy ToyTest.IsSmall", "cli.toy"):
            self.assertEqual(self.problems(NOTICED | {"killed_by": test}),
                             [f"small is anything: no such test: {test}"])

    def test_one_that_is_there_twice(self):
        self.assertEqual(self.problems(NOTICED, NOTICED), ["small is anything: there twice"])

    def test_one_that_says_nothing_of_its_outcome(self):
        for wrong in ({"breaks": "a"}, NOTICED | {"equivalent": "too"}, NOTICED | {"word": "b"}):
            with self.assertRaises(mutations.Unfit):
                self.problems(wrong)


@unittest.skipUnless(os.geteuid() == 0, "mutations are tried by root")
class Tried(Toy):
    def run_with(self, *found, words=()):
        self.write(*found)
        done = subprocess.run([HERE / "run", "--source", self.source, "--mutations", self.list,
                               *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        self.assertEqual((self.source / "toy.c").read_text(), CODE)
        return done.returncode, done.stdout

    def test_one_that_is_noticed_and_one_that_is_not(self):
        status, output = self.run_with(NOTICED, NOT_NOTICED)

        self.assertEqual(status, 1, output)
        self.assertIn("1 of 2 mutations killed", output)
        self.assertIn("SURVIVED: even is anything (toy.c; toy)", output)
        self.assertNotIn("SURVIVED: small", output)
        status, output = self.run_with(NOTICED, NOT_NOTICED, words=["small"])
        self.assertEqual(status, 0, output)

    def test_one_that_does_not_compile(self):
        status, output = self.run_with(NOTICED | {"becomes": "nothing"})

        self.assertEqual(status, 1, output)
        self.assertIn("does not compile: small is anything", output)

    def test_a_test_that_fails_without_any(self):
        (self.source / "toy.c").write_text(CODE.replace("? 0 : 1", "? 1 : 0"))
        self.write(NOTICED)
        done = subprocess.run([HERE / "run", "--source", self.source, "--mutations", self.list],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"fails without a mutation", done.stdout)


if __name__ == "__main__":
    unittest.main()
