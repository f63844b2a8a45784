# SPDX-License-Identifier: MIT
"""What a stranger's report cannot do to who replays it.

Each test writes a report that did something to the machine before reports were checked in this way.
GPUCTR_HOSTILE_CODE is a library that says on standard output that it runs.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import reports

SIMHOST, PROBE = os.environ["GPUCTR_SIMHOST"], os.environ["GPUCTR_SIMHOST_PROBE"]
CODE = pathlib.Path(os.environ["GPUCTR_HOSTILE_CODE"]).read_bytes()
TIMEOUT = 60 * int(os.environ.get("GPUCTR_TEST_SLOWNESS", "1"))
RAN = "CODE OF THE REPORT RAN"
CUDA = "/usr/lib/x86_64-linux-gnu/libcuda.so.580.1"
DATA = "/usr/share/nvidia/data.json"  # in a directory of a driver


def replay(report, *words, options=()):
    return subprocess.run([SIMHOST, "-q", *options, str(report), "--", *words], text=True,
                          capture_output=True, timeout=TIMEOUT, check=False)


class Replay(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.directory.chmod(0o755)
        done = replay(self.write({}), "true")
        if done.returncode == 125:
            if os.environ.get("CI") == "true":
                self.fail(done.stderr)
            self.skipTest(done.stderr)

    def write(self, members):
        return reports.write(self.directory / "host.tar", members)


class Code(Replay):
    """Bytes of a report are no code, whatever leads to them."""

    def assert_does_not_run(self, rows, cache=(), content=None, command=None):
        report = self.write({
            "files.tsv": [reports.row(DATA, size=len(CODE)), *rows],
            "ld.so.cache": reports.loader_cache(cache or [("libcuda.so.1", CUDA)]),
            f"content{DATA}": CODE, **(content or {})})
        for words in command or ([PROBE, "libcuda.so.1"], [PROBE, CUDA]):
            done = replay(report, *words)
            self.assertNotIn(RAN, done.stdout + done.stderr, words)

    def test_an_entry_of_the_loaders_cache_leads_to_data(self):
        self.assert_does_not_run([], [("libcuda.so.1", DATA)])
        self.assert_does_not_run([reports.library(CUDA, needed="libx.so.1")],
                                 [("libcuda.so.1", CUDA), ("libx.so.1", DATA)])

    def test_a_library_needs_data_by_its_path(self):
        self.assert_does_not_run([reports.library(CUDA, needed=f"{DATA},libc.so.6")])

    def test_a_library_finds_data_by_its_runpath(self):
        for column in ("runpath", "rpath"):
            for directory in (os.path.dirname(DATA), "$ORIGIN/../../share/nvidia"):
                self.assert_does_not_run([reports.library(
                    CUDA, needed="data.json", **{column: directory})])

    def test_data_has_the_name_of_a_library(self):
        path = "/usr/share/nvidia/libevil.so.1.json"
        self.assert_does_not_run(
            [reports.row(path, size=len(CODE)),
             reports.library(CUDA, needed="libevil.so.1.json", runpath="/usr/share/nvidia")],
            content={f"content{path}": CODE})

    def test_a_library_finds_those_of_any_user(self):
        (self.directory / "libevil.so").write_bytes(CODE)
        for column in ("runpath", "rpath"):
            self.assert_does_not_run([reports.library(
                CUDA, needed="libevil.so", **{column: str(self.directory)})])
        for recorded in ([], [reports.library(f"{self.directory}/libother.so")]):
            self.assert_does_not_run(
                [*recorded, reports.library(CUDA, needed="libevil.so", runpath=f"{self.directory}")],
                [("libcuda.so.1", CUDA), ("libevil.so", f"{self.directory}/libevil.so")])

    def test_data_is_the_interpreter_of_a_program(self):
        program = "/usr/bin/nvidia-evil"
        self.assert_does_not_run(
            [reports.library(program, soname="", needed="libc.so.6", interpreter=DATA)],
            command=[["nvidia-evil"]])

    def test_hooks_of_containers_and_journals_are_no_data_of_drivers(self):
        hook = '{"version": "1.0.0", "hook": {"path": "/usr/bin/id"}, "stages": ["prestart"]}'
        paths = ["/etc/containers/oci/hooks.d/nvidia.json", "/var/lib/gpucontainer/1/x.json",
                 "/usr/share/containers/oci/hooks.d/nvidia-hook.json"]
        report = self.write({"files.tsv": [reports.row(path, size=len(hook)) for path in paths],
                             **{f"content{path}": hook for path in paths}})
        done = replay(report, "sh", "-c", 'cat -- "$@" 2>/dev/null', "sh", *paths)
        self.assertEqual(done.stdout.replace("\0", ""), "")


class Paths(Replay):
    """Fields of a report lead to no name of the machine."""

    def test_fields_of_devices_remove_and_make_nothing(self):
        victim = self.directory / "victim"
        victim.write_text("mine", encoding="utf-8")
        up = "../" * 12
        here = str(self.directory).strip("/")
        for lines in (f"E: SUBSYSTEM={up}{here}",
                      f"E: SUBSYSTEM=x\nE: MAJOR={up}{here}/victim\\\nE: MINOR=0",
                      f"E: MAJOR=1\nE: MINOR=/{up}{here}/victim\nE: SUBSYSTEM=x",
                      f"E: SUBSYSTEM=x\nL: driver={up}{here}/..",
                      f"E: SUBSYSTEM=x\nA: {up}{here}/victim=x"):
            with self.subTest(lines=lines):
                report = self.write({"sys.umockdev": f"P: /devices/victim\n{lines}\n"})
                replay(report, "true", options=("--sysfs", "plain"))
                self.assertEqual(sorted(os.listdir(self.directory)), ["host.tar", "victim"])
                self.assertFalse(victim.is_symlink())
                self.assertEqual(victim.read_text(encoding="utf-8"), "mine")


if __name__ == "__main__":
    unittest.main(verbosity=2)
