# SPDX-License-Identifier: MIT
"""What a recorded host shows depends on nothing of the machine that plays it.

The machine is played too: one that has a file of each name in the built-in catalogues, and two
recorded hosts. GPUCTR_HOSTS are the hosts. Exits with 77, a skip, without the right to mount;
CI=true turns that into a failure.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "support"))

# pylint: disable=wrong-import-position
import recorded_host
import yaml

SETUP, SIMHOST = os.environ["GPUCTR_SETUP"], os.environ["GPUCTR_SIMHOST"]
HOSTS = [Path(host) for host in os.environ["GPUCTR_HOSTS"].split(":")]
SKIPPED, CANNOT_STAND_UP = 77, 125
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
ELSEWHERE = ["/usr/local/cuda-1.0/bin/nvcc", "/opt/rocm-1.0.0/lib/libamdhip64.so.1",
             "/usr/lib/wsl/lib/libdxcore.so"]


def call(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False)


def on(host):
    """Without directories of the kernel's sysfs, which cannot be dressed twice."""
    return recorded_host.command(SIMHOST, host, "--sysfs", "plain")


def names_in_catalogues():
    """A path for each file of each maker."""
    for file in sorted(SOURCE.glob("libgpucontainer/drivers/*/catalogue.yaml")):
        rules = yaml.load(file.read_text(encoding="utf-8"), yaml.BaseLoader)
        for rule in rules.get("files", []):
            if "library" in rule:
                name = rule["library"].replace("{version}", "1.0")
                directory = f"{LIBRARIES}/dri" if rule.get("module") == "dri" else LIBRARIES
                yield f"{directory}/{name}"
            elif "tool" in rule:
                yield f"/usr/bin/{rule['tool']}"
            else:
                yield rule["data"].replace("{version}", "1.0")


def plain(found):
    """Without the numbers and times of the files that stand for the recorded ones."""
    if isinstance(found, dict):
        return {key: plain(value) for key, value in found.items() if key not in ("id", "state")}
    return [plain(value) for value in found] if isinstance(found, list) else found


def machine_with_everything(directory):
    rows = ["#path\tkind\tmode\tsize\ttarget\tclass\tmachine\tsoname\tneeded"]
    for path in sorted({*names_in_catalogues(), *ELSEWHERE}):
        name = Path(path).name
        elf = ("ELF64", "Advanced Micro Devices X86-64", name) if ".so" in name else ("", "", "")
        rows.append("\t".join([path, "f", "0755", "4096", "", *elf, ""]))
    (directory / "files.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return directory


class Independence(unittest.TestCase):

    def test_a_host_is_the_same_on_each_machine(self):
        with tempfile.TemporaryDirectory() as directory:
            machines = [machine_with_everything(Path(directory))]
            machines += [host for host in HOSTS
                         if host.name == "mi300x-spx" or host.parts[-2:] == ("wsl", "nvidia")]
            self.assertEqual(len(machines), 3)
            self.assertGreater(len(list(names_in_catalogues())), 150)
            for host in HOSTS:
                for words in (["list"], ["check", "--node"]):
                    here = call(*on(host), SETUP, *words, "--format", "json")
                    for machine in machines:
                        there = call(*on(machine), *on(host), SETUP, *words, "--format", "json")
                        with self.subTest(host=host.name, on=machine.name, words=words):
                            self.maxDiff = 4000
                            self.assertEqual(
                                (there.returncode, there.stderr, plain(json.loads(there.stdout))),
                                (here.returncode, here.stderr, plain(json.loads(here.stdout))))


if __name__ == "__main__":
    probe = call(*on(HOSTS[0]), "true")
    if probe.returncode == CANNOT_STAND_UP and os.environ.get("CI") != "true":
        print(f"skipped: {probe.stderr}", end="")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
