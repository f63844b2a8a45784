# SPDX-License-Identifier: MIT
"""Hosts that are generated in other sizes, and a host that is recorded again."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SETUP, SIMHOST = os.environ["GPUCTR_SETUP"], os.environ["GPUCTR_SIMHOST"]
SKIPPED, CANNOT_STAND_UP = 77, 125
SMALLEST = ["--gpus=1", "--libraries=1", "--tools=0", "--pci-functions=1", "--cache-entries=150"]


def call(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False)


def on_host(host, *words):
    done = call(SIMHOST, "-q", host, "--", *words)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def driver_of(host):
    return json.loads(on_host(host, SETUP, "list", "--nv", "--format", "json"))["drivers"][0]


def own_files(driver):
    """Without those for 32-bit programs, and those of this machine's distribution."""
    return [file for file in driver["files"]
            if not file["compat32"] and file["precedence"] != "image"]


def without_identity(driver):
    """Nor what a recording has not: sockets, nodes of other kernel drivers, and the versions that
    a library needs, where it is of a simulated host and has no sections for readelf."""
    return driver | {"gpus": [gpu | {"uuid": None} for gpu in driver["gpus"]],
                     "files": [file | {"id": None, "versions": []} for file in driver["files"]],
                     "nodes": [node for node in driver["nodes"] if not node["extra"]],
                     "shared_paths": []}


def content(directory):
    return {path.relative_to(directory): path.read_bytes()
            for path in directory.rglob("*") if path.is_file()}


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
        driver = driver_of(self.generate("host", *SMALLEST))

        self.assertEqual([gpu["minor"] for gpu in driver["gpus"]], [0])
        self.assertEqual([file["soname"] for file in own_files(driver)], ["libcuda.so.1"])

    def test_each_number_is_the_one_asked_for(self):
        host = self.generate("host", "--gpus=5", "--libraries=40", "--tools=2",
                             "--pci-functions=31", "--cache-entries=777")

        driver = driver_of(host)
        self.assertEqual(sorted(gpu["minor"] for gpu in driver["gpus"]), list(range(5)))
        self.assertEqual(sum(file["kind"] == "library" for file in own_files(driver)), 40)
        self.assertEqual(sum(file["kind"] == "tool" for file in driver["files"]), 2)
        self.assertEqual(len(on_host(host, "ls", "/sys/bus/pci/devices").split()), 31)
        self.assertIn("777 libs found", on_host(host, "/sbin/ldconfig", "-p"))

    def test_numbers_that_do_not_go_together_are_refused(self):
        for options in (["--gpus=0"], ["--gpus=16", "--pci-functions=15"], ["--tools=99"],
                        ["--cache-entries=50"]):
            done = call(HERE / "generate", *options, self.directory / "host")
            self.assertEqual(done.returncode, 2, options)
            self.assertFalse((self.directory / "host").exists())

    def test_a_recorded_host_has_the_driver_of_the_first(self):
        for host in (self.generate("made", "--pci-functions=20", "--cache-entries=200"),
                     HERE / "h200-x8-ubuntu24.04-580"):
            with self.subTest(host=host.name):
                recorded = self.directory / f"recorded-{host.name}"
                on_host(host, HERE / "record", recorded)

                first, again = driver_of(host), driver_of(recorded)
                self.assertEqual(without_identity(again), without_identity(first))
                for old, new in zip(first["gpus"], again["gpus"]):
                    self.assertNotEqual(old["uuid"], new["uuid"])


if __name__ == "__main__":
    probe = call(SIMHOST, HERE / "h200-x8-ubuntu24.04-580", "true")
    if probe.returncode == CANNOT_STAND_UP and os.environ.get("CI") != "true":
        print(probe.stderr)
        sys.exit(SKIPPED)
    unittest.main()
