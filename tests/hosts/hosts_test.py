# SPDX-License-Identifier: MIT
"""Hosts that are generated in other sizes, and what a report has of their files."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import recorded_host

HERE = pathlib.Path(__file__).resolve().parent
SETUP, SIMHOST = os.environ["GPUCTR_SETUP"], os.environ["GPUCTR_SIMHOST"]
SKIPPED, CANNOT_STAND_UP = 77, 125
SMALLEST = ["--gpus=1", "--libraries=1", "--tools=0", "--pci-functions=1", "--cache-entries=150"]
FOR_32_BIT = [("libcuda.so.1", True), ("libnvidia-ml.so.1", True)]  # on each of these hosts


def call(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False)


def on_host(host, *words):
    done = call(*recorded_host.command(SIMHOST, host), *words)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def driver_of(host):
    return json.loads(on_host(host, SETUP, "list", "--nv", "--format", "json"))["drivers"][0]


def libraries(driver):
    """The soname of each and whether it is for 32-bit programs."""
    return [(file["soname"], file["compat32"]) for file in driver["files"]
            if file["kind"] == "library"]


def content(directory):
    return {path.relative_to(directory): path.read_bytes()
            for path in directory.rglob("*") if path.is_file()}


# As readelf names them.
MACHINES = {"x86-64": "Advanced Micro Devices X86-64", "aarch64": "AArch64", "i386": "Intel 80386"}


def elf_facts(host):
    """Class, machine, soname, needed libraries and needed versions of files, by their paths: of
    those that need the C library, as gpuctr-simhost puts versions down to that, and of no library
    that the machine may have itself."""
    names, *rows = [line.split("\t") for line in
                    (host / "files.tsv").read_text(encoding="utf-8").splitlines()]
    first, last = names.index("class"), names.index("verneed")
    return {row[0]: [MACHINES.get(field, field) for field in row[first:last + 1]] for row in rows
            if row[1] == "f" and re.search("nvidia|/libcuda|/libnv", row[0])
            and "libc.so.6" in row[names.index("needed")].split(",")}


class HostsTest(unittest.TestCase):

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = pathlib.Path(temporary.name)

    def generate(self, name, *options):
        done = call(HERE / "generate", *options, self.directory / name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.directory / name

    def test_the_same_options_make_the_same_host(self):
        self.assertEqual(content(self.generate("one")), content(self.generate("another")))

    def test_a_host_may_be_as_small_as_can_be(self):
        host = self.generate("host", *SMALLEST)
        driver = driver_of(host)

        self.assertEqual([gpu["minor"] for gpu in driver["gpus"]], [0])
        self.assertEqual(sorted(libraries(driver)),
                         [("libcuda.so.1", False), *FOR_32_BIT])

    def test_each_number_is_the_one_asked_for(self):
        host = self.generate("host", "--gpus=5", "--libraries=40", "--tools=2",
                             "--pci-functions=31", "--cache-entries=777")

        driver = driver_of(host)
        self.assertEqual(sorted(gpu["minor"] for gpu in driver["gpus"]), list(range(5)))
        self.assertEqual(len(libraries(driver)), 40 + len(FOR_32_BIT))
        self.assertEqual(sum(file["kind"] == "tool" for file in driver["files"]), 2)
        self.assertEqual(len(on_host(host, "ls", "/sys/bus/pci/devices").split()), 31)
        self.assertIn("777 libs found", on_host(host, "/sbin/ldconfig", "-p"))

    def test_numbers_that_do_not_go_together_are_refused(self):
        for options in (["--gpus=0"], ["--gpus=16", "--pci-functions=15"], ["--tools=99"],
                        ["--cache-entries=50"]):
            done = call(HERE / "generate", *options, self.directory / "host")
            self.assertEqual(done.returncode, 2, options)
            self.assertFalse((self.directory / "host").exists())

    def test_a_report_has_the_elf_facts_of_the_host(self):
        for host in (self.generate("made", "--pci-functions=20", "--cache-entries=200"),
                     HERE / "h200-x8-ubuntu24.04-580"):
            with self.subTest(host=host.name):
                report = self.directory / f"{host.name}.tar"
                on_host(host, SETUP, "report", "-q", "-o", report)
                again = self.directory / f"recorded-{host.name}"
                with tarfile.open(report) as archive:
                    archive.extractall(again)

                old, new = elf_facts(host), elf_facts(again)
                both = old.keys() & new.keys()
                self.assertGreater(len(both), 30)
                for path in both:
                    *facts, versions = new[path]
                    self.assertEqual(facts, old[path][:-1], path)
                    # A simulated host has weak needs of what this machine may lack.
                    self.assertLessEqual(set(versions.split(",")), {"", *old[path][-1].split(",")})


if __name__ == "__main__":
    probe = call(*recorded_host.command(SIMHOST, HERE / "h200-x8-ubuntu24.04-580"), "true")
    if probe.returncode == CANNOT_STAND_UP and os.environ.get("CI") != "true":
        print(probe.stderr)
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
