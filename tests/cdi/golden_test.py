# SPDX-License-Identifier: MIT
"""The CDI specifications of recorded and generated hosts.

Those in golden/ are what `cdi generate` writes. After a change that is meant,
GPUCTR_UPDATE_GOLDEN=1 in the environment has this test write them anew.
"""

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
RECORDED = pathlib.Path(__file__).resolve().parents[1] / "hosts"
GENERATED = pathlib.Path(os.environ["GPUCTR_GENERATED_HOSTS"])
GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
SKIPPED, CANNOT_STAND_UP = 77, 125

HOST_FILES = ["--vendor-libs", "host"]

# Name of the document, host, options.
DOCUMENTS = [
    ("h200-x8", RECORDED / "h200-x8-ubuntu24.04-580", []),
    ("nvidia-debian", GENERATED / "layouts/debian", []),
    ("nvidia-rhel-version-1.0.0", GENERATED / "layouts/rhel", ["--cdi-version", "1.0.0"]),
    ("nvidia-driver-container", GENERATED / "layouts/operator",
     ["--nv", "--driver-root", "/run/nvidia/driver"]),
    ("nvidia-all-capabilities", GENERATED / "generated-x16",
     ["--device", "0", "--driver-capabilities", "all"]),
    ("nvidia-mig", GENERATED / "mig/one-of-two", []),
    ("nvidia-orin", GENERATED / "tegra/orin", []),
    ("nvidia-thor-host-files", GENERATED / "tegra/thor", HOST_FILES),
    ("nvidia-wsl", GENERATED / "wsl/nvidia", []),
    ("nvidia-beside-amd", GENERATED / "amd/amd-nvidia", ["--nv"]),
    ("amd-beside-nvidia", GENERATED / "amd/amd-nvidia", ["--rocm"]),
    ("amd-mi300x", GENERATED / "amd/mi300x-spx", ["--groups"]),
    ("amd-partitions", GENERATED / "amd/mi300x-cpx", ["--device", "2/0,2/1,3/5"]),
    ("amd-debian", GENERATED / "amd/debian", []),
    ("amd-debian-host-files", GENERATED / "amd/debian", HOST_FILES),
    ("intel-arc", GENERATED / "intel/arc", []),
    ("intel-arc-host-files", GENERATED / "intel/arc-user-space", HOST_FILES),
    ("habana-gaudi2", GENERATED / "intel/gaudi2-x8", []),
    ("tenstorrent", GENERATED / "described/tenstorrent", []),
    ("h200-x8-staged", RECORDED / "h200-x8-ubuntu24.04-580", ["--staged"]),
    ("h200-x8-hooks", RECORDED / "h200-x8-ubuntu24.04-580",
     ["--hooks", "--driver-capabilities", "all"]),
]

# In the private namespaces of the simulated host.
STAGED = 'mount -t tmpfs none /run && "$1" prepare --nv && exec "$@"'


def generate(host, words, form="yaml"):
    staged = ["sh", "-c", STAGED, "sh"] if "--staged" in words else []
    done = subprocess.run([*recorded_host.command(SIMHOST, host), *staged, SETUP, "cdi", "generate", "--format",
                           form, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{host}: {done.returncode}: {done.stderr}")
    return done.stdout.replace(SETUP, "/usr/bin/gpuctr-setup")


class Golden(unittest.TestCase):
    maxDiff = None

    def test_each_document(self):
        for name, host, words in DOCUMENTS:
            with self.subTest(name):
                document = generate(host, words)
                file = GOLDEN / f"{name}.yaml"
                if os.environ.get("GPUCTR_UPDATE_GOLDEN"):
                    file.write_text(document, encoding="utf-8")
                self.assertEqual(document, file.read_text(encoding="utf-8"))

    def test_no_document_is_left_over(self):
        self.assertEqual({file.stem for file in GOLDEN.iterdir()}, {row[0] for row in DOCUMENTS})

    def test_the_forms_say_the_same(self):
        try:
            import json
            import yaml
        except ImportError:
            self.skipTest("no yaml")
        for _, host, words in DOCUMENTS[:5]:
            self.assertEqual(json.loads(generate(host, words, "json")),
                             yaml.safe_load(generate(host, words)))


if __name__ == "__main__":
    if platform.machine() != "x86_64":
        print("the documents have the paths of x86_64")
        sys.exit(SKIPPED)
    probe = subprocess.run([*recorded_host.command(SIMHOST, DOCUMENTS[0][1]), "true"], capture_output=True,
                           text=True, check=False)
    if probe.returncode == CANNOT_STAND_UP and os.environ.get("CI") != "true":
        print(probe.stderr)
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
