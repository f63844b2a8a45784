# SPDX-License-Identifier: MIT
"""scripts/release in a clone: what it refuses, and with GPUCTR_TEST_LONG=1 what it makes."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
IDENTITY = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", "Tester"), ("EMAIL", "tester@example.invalid"))}
NEEDED = "cmake dpkg-parsechangelog dpkg-source git ninja xz".split()
MISSING = [program for program in NEEDED if shutil.which(program) is None]
IS_LONG = os.environ.get("GPUCTR_TEST_LONG") == "1"


@unittest.skipUnless((SOURCE / ".git").exists(), "not a clone")
@unittest.skipIf(MISSING and os.environ.get("CI") != "true", f"not installed: {MISSING}")
class Release(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gpuctr-release-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.clone = self.directory / "clone"
        self.must("git", "clone", "--quiet", "--no-tags", SOURCE, self.clone, cwd="/")
        self.must("git", "checkout", "--quiet", "-B", "release")
        for file in ("scripts/release", "scripts/package", "tests/lint/check_version.py"):
            shutil.copy(SOURCE / file, self.clone / file)
        changes = (self.clone / "CHANGELOG.md").read_text()
        self.write("CHANGELOG.md", re.sub(r"\[Unreleased\]\n", "[Unreleased]\n\n- A change.\n", changes))
        self.must("git", "tag", "v0.0.1")
        self.commit()
        self.version = re.search(r"^project\(\S+ VERSION (\S+)", self.read("CMakeLists.txt"), re.M)[1]

    def run_here(self, *words, **options):
        options = {"cwd": self.clone, "timeout": 60} | options
        return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False,
                              env=os.environ | IDENTITY | {"TMPDIR": str(self.directory)}, **options)

    def must(self, *words, **options):
        done = self.run_here(*words, **options)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def read(self, file):
        return (self.clone / file).read_text()

    def write(self, file, text):
        (self.clone / file).write_text(text)

    def commit(self):
        self.must("git", "commit", "--quiet", "--all", "--allow-empty", "--message", "test")

    def state(self):
        return [self.must("git", *words) for words in (
            ("rev-parse", "HEAD"), ("for-each-ref",), ("status", "--porcelain"), ("worktree", "list"))]

    def refuses(self, *words, status=1, why=""):
        before = self.state()
        done = self.run_here("scripts/release", *words)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(why, done.stderr)
        self.assertEqual(self.state(), before)

    def test_wrong_arguments(self):
        for words in ((), ("99",), ("99.0",), ("99.00.1",), ("v99.0.0",), ("99.0.0", "99.0.1"), ("--help",)):
            self.refuses(*words, status=2, why="usage: release NEXT")
        self.refuses("0.0.2", why=f"0.0.2 is not after {self.version}")
        self.refuses(self.version, why=f"{self.version} is not after {self.version}")

    def test_a_work_tree_with_changes(self):
        self.write("new", "")
        self.refuses("99.0.0", why="the work tree has changes")

    def test_a_commit_that_is_no_branch(self):
        self.must("git", "checkout", "--quiet", "--detach")
        self.refuses("99.0.0", why="no branch is checked out")

    def test_tags_that_do_not_fit(self):
        self.must("git", "tag", f"v{self.version}")
        self.refuses("99.0.0", why=f"v{self.version} is tagged")
        self.must("git", "checkout", "--quiet", "-b", "other", "HEAD^")
        self.must("git", "tag", "--delete", "v0.0.1")
        self.refuses("99.0.0", why=f"v{self.version} is not in this branch")
        self.must("git", "tag", "--delete", f"v{self.version}")
        self.refuses("99.0.0", why="there is no tag of an earlier version")

    def test_a_changelog_without_a_change(self):
        self.write("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n## [0.0.1] - 2026-01-01\n\n- A change.\n")
        self.commit()
        self.refuses("99.0.0", why="nothing under [Unreleased]")

    def test_one_that_fails_or_is_interrupted_changes_nothing(self):
        for text in ("exit 1", "kill -INT 0; exec sleep 60"):
            programs = self.directory / "programs"
            programs.mkdir(exist_ok=True)
            (programs / "xz").write_text(f"#!/bin/sh\n{text}\n")
            (programs / "xz").chmod(0o755)
            before = self.state()
            with subprocess.Popen(["scripts/release", "99.0.0"], cwd=self.clone, stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, text=True, start_new_session=True,
                                  env=os.environ | IDENTITY | {
                                      "TMPDIR": str(self.directory),
                                      "PATH": f"{programs}:{os.environ['PATH']}"}) as process:
                said = process.communicate(timeout=60)[1]
            self.assertIn(process.returncode, (1, 128 + signal.SIGINT, -signal.SIGINT), said)
            self.assertIn("release: stopped; nothing has changed", said)
            self.assertEqual(self.state(), before)
            self.assertEqual({path.name for path in self.directory.iterdir()}, {"clone", "programs"})

    @unittest.skipUnless(IS_LONG, "long")
    def test_a_release(self):
        self.must("scripts/release", "99.1.0", timeout=1500)

        self.must("python3", "-B", "tests/lint/check_version.py", ".")
        self.assertIn("VERSION 99.1.0 ", self.read("CMakeLists.txt"))
        self.assertEqual(self.must("git", "status", "--porcelain"), "")
        self.assertEqual(self.must("git", "log", "--format=%s", "--max-count=2"),
                         f"release: begin 99.1.0\nrelease: {self.version}\n")
        tag = f"v{self.version}"
        self.assertEqual(self.must("git", "rev-parse", tag + "^{commit}"), self.must("git", "rev-parse", "HEAD^"))
        self.must("python3", "-B", "tests/abi/check_consumers.py", "include",
                  f"tests/abi/released/{self.version}/consumers")
        self.assertIn(f"released/{self.version})", self.read("tests/abi/CMakeLists.txt"))
        self.must("git", "checkout", "--quiet", tag)
        self.must("python3", "-B", "tests/lint/check_version.py", ".")
        self.assertIn(f"libgpucontainer ({self.version}-1) unstable;", self.read("debian/changelog").splitlines()[0])
        self.assertRegex(self.read("CHANGELOG.md"), rf"\[Unreleased\]\n\n## \[{self.version}\] - \d+-\d+-\d+\n\n- A")
        listed = self.must("tar", "-tf", f"build/packages/libgpucontainer-{self.version}.tar.xz").splitlines()
        self.assertEqual(len(listed) > 100, True)
        self.assertEqual({name.split("/")[0] for name in listed}, {f"libgpucontainer-{self.version}"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
