# SPDX-License-Identifier: MIT
"""What a distribution installs with the options of packaging/, and where."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MAKEFILE = pathlib.Path("/usr/share/selinux/devel/Makefile")

SYSTEMD = {"lib/systemd/system/gpuctr-prepare.service", "lib/systemd/system/gpuctr-prepare.path",
           "lib/systemd/system/gpuctr-prepare-reload.service",
           "lib/systemd/system/gpuctr-cdi.service", "lib/systemd/system/gpuctr-cdi.path",
           "lib/udev/rules.d/70-gpuctr.rules", "lib/tmpfiles.d/gpuctr.conf"}


class Installed(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gpuctr-packaging-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.build = self.directory / "build"

    def must(self, *words, **variables):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              check=False, timeout=300, env=os.environ | variables)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")

    def configure(self, prefix, *options):
        self.must("cmake", "-S", SOURCE, "-B", self.build, "-DBUILD_TESTING=OFF",
                  f"-DCMAKE_INSTALL_PREFIX={prefix}", *options)

    def installed(self, component):
        root = self.directory / component
        self.must("cmake", "--install", self.build, "--component", component, DESTDIR=str(root))
        return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}

    def test_with_every_option_of_a_distribution(self):
        options = ["-DGPUCTR_APPARMOR=ON"]
        if MAKEFILE.exists():
            options.append("-DGPUCTR_SELINUX=ON")
        self.configure("/usr", *options)

        self.assertEqual(self.installed("systemd"), {f"usr/{path}" for path in SYSTEMD})
        unit = self.directory / "systemd/usr/lib/systemd/system/gpuctr-prepare.service"
        self.assertIn("\nExecStart=/usr/bin/gpuctr-setup prepare ", unit.read_text())
        self.assertEqual(self.installed("apparmor"), {"etc/apparmor.d/usr.bin.gpuctr-setup"})
        if MAKEFILE.exists():
            self.must("cmake", "--build", self.build, "--target", "selinux_policy")
            self.assertEqual(self.installed("selinux"), {"usr/share/selinux/packages/gpuctr.pp"})

    def test_the_front_leads_to_the_command(self):
        self.configure("/usr", "-DCMAKE_INSTALL_LIBEXECDIR=lib/exec")
        self.assertEqual(os.readlink(self.build / "pkgconfig/nvidia-container-cli"),
                         "../../../bin/gpuctr-setup")

    def test_below_another_prefix(self):
        self.configure("/usr/local")

        self.assertEqual(self.installed("systemd"), {f"usr/local/{path}" for path in SYSTEMD})
        self.assertEqual(self.installed("apparmor"), set())

    def test_without_systemd(self):
        self.configure("/usr", "-DGPUCTR_SYSTEMD=OFF")

        self.assertEqual(self.installed("systemd"), set())

    def test_a_build_with_tests_makes_the_same_programs(self):
        commands = {}
        for testing in ("ON", "OFF"):
            self.build = self.directory / f"testing-{testing}"
            self.configure("/usr", "-G", "Ninja", f"-DBUILD_TESTING={testing}")
            said = subprocess.run(
                ["ninja", "-C", self.build, "-t", "commands", "gpuctr-setup", "gpuctr-simhost"],
                capture_output=True, text=True, check=True).stdout
            commands[testing] = said.replace(str(self.build), "BUILD").splitlines()
        self.assertEqual(commands["ON"], commands["OFF"])


if __name__ == "__main__":
    unittest.main()
