# SPDX-License-Identifier: MIT
"""What `plan --format` prints for recorded and generated hosts.

That is in golden/, for review. After a change that is meant, GPUCTR_UPDATE_GOLDEN=1 in the
environment has this test write it anew.
"""

import json
import os
import pathlib
import platform
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import recorded_host

SETUP, SIMHOST = os.environ["GPUCTR_SETUP"], os.environ["GPUCTR_SIMHOST"]
SCHEMA = pathlib.Path(os.environ["GPUCTR_SCHEMA_DIR"]) / "oci.json"
RECORDED = pathlib.Path(__file__).resolve().parents[1] / "hosts"
GENERATED = pathlib.Path(os.environ["GPUCTR_GENERATED_HOSTS"])
GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
SKIPPED, CANNOT_STAND_UP = 77, 125

SUBSET = RECORDED / "h200-x8-ubuntu24.04-580"
FORMATS = ["docker", "podman", "bwrap", "apptainer", "singularity", "nspawn", "charliecloud",
           "lxc", "incus", "enroot", "shell", "env", "paths", "oci"]

# Name of the document, host, format, options, environment.
DOCUMENTS = [
    *((f"nvidia-subset.{form}", SUBSET, form,
       ["--device", "auto", "--driver-capabilities", "utility"], {"CUDA_VISIBLE_DEVICES": "3,0"})
      for form in FORMATS),
    ("nvidia-debian.docker", GENERATED / "layouts/debian", "docker", []),
    ("nvidia-mig.oci", GENERATED / "mig/one-of-two", "oci", ["--driver-capabilities", "compute"]),
    ("nvidia-driver-container.bwrap", GENERATED / "layouts/operator", "bwrap",
     ["--nv", "--driver-root", "/run/nvidia/driver", "--driver-capabilities", "compute"]),
    ("nvidia-orin.lxc", GENERATED / "tegra/orin", "lxc", []),
    ("nvidia-wsl.apptainer", GENERATED / "wsl/nvidia", "apptainer", []),
    ("amd-partitions.podman", GENERATED / "amd/mi300x-cpx", "podman", ["--device", "2/0,3/5"]),
    ("amd-mi300x.incus", GENERATED / "amd/mi300x-spx", "incus", ["--device", "0"]),
    ("amd-mi300x.oci", GENERATED / "amd/mi300x-spx", "oci", ["--device", "0"]),
    ("amd-beside-nvidia.oci", GENERATED / "amd/amd-nvidia", "oci",
     ["--gpu", "--device", "all", "--driver-capabilities", "utility"]),
    ("intel-arc-host-files.nspawn", GENERATED / "intel/arc-user-space", "nspawn",
     ["--vendor-libs", "host"]),
    ("habana-gaudi2.charliecloud", GENERATED / "intel/gaudi2-x8", "charliecloud", []),
    ("tenstorrent.enroot", GENERATED / "described/tenstorrent", "enroot", []),
]


def plan(host, form, words, environment=None):
    clean = {key: value for key, value in os.environ.items() if "VISIBLE_DEVICES" not in key}
    done = subprocess.run([*recorded_host.command(SIMHOST, host), SETUP, "plan", "-q", "--format", form,
                           *words], capture_output=True, text=True, check=False,
                          env=clean | (environment or {}))
    if done.returncode != 0:
        raise AssertionError(f"{host}: {done.returncode}: {done.stderr}")
    return done.stdout


class Golden(unittest.TestCase):
    maxDiff = None

    def test_each_document(self):
        for name, host, form, words, *environment in DOCUMENTS:
            with self.subTest(name):
                document = plan(host, form, words, *environment)
                file = GOLDEN / name
                if os.environ.get("GPUCTR_UPDATE_GOLDEN"):
                    file.write_text(document, encoding="utf-8")
                self.assertEqual(document, file.read_text(encoding="utf-8"))

    def test_no_document_is_left_over(self):
        self.assertEqual({file.name for file in GOLDEN.iterdir()}, {row[0] for row in DOCUMENTS})

    def test_edits_are_what_the_schema_says(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("no jsonschema")
        schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        for file in GOLDEN.glob("*.oci"):
            with self.subTest(file.name):
                jsonschema.validate(json.loads(file.read_text(encoding="utf-8")), schema)


if __name__ == "__main__":
    if platform.machine() != "x86_64":
        print("the documents have the paths of x86_64")
        sys.exit(SKIPPED)
    probe = subprocess.run([*recorded_host.command(SIMHOST, SUBSET), "true"], capture_output=True, text=True,
                           check=False)
    if probe.returncode == CANNOT_STAND_UP and os.environ.get("CI") != "true":
        print(probe.stderr)
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
