# SPDX-License-Identifier: MIT
"""Debian's real ROCm and Mesa, unpacked into a driver root, in a container that has none of it.

That no GPU answers is as it should be: each library has to load, with every symbol that
it needs, and the tool has to get as far as looking for GPUs.
"""

import json
import os
import pathlib
import unittest

import harness

ROOT = pathlib.Path(os.environ["GPUCTR_DEBIAN_ROCM"])
LOADER = "/lib64/ld-linux-x86-64.so.2"
TRACED = "LD_TRACE_LOADED_OBJECTS=1 LD_WARN=yes LD_BIND_NOW=yes exec"
VENDORS_OWN = {"libhsa-runtime64.so.1", "libhsakmt.so.1", "libamdhip64.so.5", "libamd_comgr.so.2",
               "librocm_smi64.so.1", "radeonsi_drv_video.so"}
EVERYTHING = ("--driver-capabilities", "all", "--vendor-libs", "host")
C_LIBRARY = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
             "ld-linux-x86-64.so.2"}


@unittest.skipUnless((ROOT / "usr/bin/rocminfo").exists(), "the packages could not be reached")
class DebianRocm(harness.Case):

    def files(self):
        done = self.run_setup("list", "--rocm", "--driver-root", ROOT, "--format", "json",
                              stdout=None)
        return json.loads(done.stdout)["drivers"][0]["files"]

    def test_the_whole_set_is_found(self):
        files = {file["soname"]: file for file in self.files() if file["kind"] == "library"}

        self.assertLessEqual(VENDORS_OWN, set(files))
        self.assertEqual({soname for soname in VENDORS_OWN if files[soname]["precedence"] == "image"}, set())
        self.assertEqual(set(files) & C_LIBRARY, set())
        for soname in ("libLLVM-15.so.1", "libdrm_amdgpu.so.1", "libnuma.so.1", "libstdc++.so.6"):
            self.assertEqual(files[soname]["precedence"], "image", soname)

    def test_all_of_it_loads_where_there_was_none(self):
        before = self.state()
        self.run_setup("--rocm", "--driver-root", ROOT, *EVERYTHING, "--rootfs", self.root,
                       stderr=None)

        for soname in sorted(VENDORS_OWN):
            with self.subTest(soname=soname):
                path = f"{harness.TREE}/lib64/{soname}"
                said = harness.call("chroot", self.root, "sh", "-c", f"{TRACED} {LOADER} {path}")
                self.assertNotIn("not found", said.stdout)
                self.assertNotIn("undefined symbol", said.stdout + said.stderr)
                self.assertIn("libc.so.6", said.stdout)
        self.assertEqual(os.readlink(f"{self.root}/usr/lib/{harness.MULTIARCH}/dri/"
                                     "radeonsi_drv_video.so"),
                         f"{harness.TREE}/lib64/radeonsi_drv_video.so")
        said = harness.call("chroot", self.root, "rocminfo")
        self.assertRegex(said.stdout + said.stderr, "ROCk module|hsa")
        self.assertNotIn("error while loading", said.stderr)
        self.assertFalse(os.path.lexists(self.root / "usr/bin/rocm-smi"))
        self.undo()
        self.assert_state(before)

    def give_python(self):
        for pattern in ("usr/bin/python3*", "usr/lib/python3*", "usr/lib/*/libexpat.so.1*",
                        "usr/lib/*/libz.so.1*", "lib/*/libexpat.so.1*", "lib/*/libz.so.1*"):
            for path in pathlib.Path("/").glob(pattern):
                inside = pathlib.Path(f"{self.root}{path}")
                inside.parent.mkdir(parents=True, exist_ok=True)
                harness.must("cp", "-a", path, inside)

    def test_rocm_smi_runs_where_there_is_python(self):
        self.give_python()
        before = self.state()
        self.run_setup("--rocm", "--driver-root", ROOT, "--vendor-libs", "host", "--rootfs",
                       self.root, stderr=None)

        said = self.inside("rocm-smi", "--help")
        self.assertIn("--showid", said)
        self.assertNotIn("Unable to", said)
        # Without a GPU it ends before it loads its library, which is beside its directory.
        said = self.inside("sh", "-c", f"cd {harness.TREE}/libexec/rocm_smi && python3 -B -c "
                           "'import rsmiBindings as smi; "
                           "getattr(smi, \"initRsmiBindings\", print)(); print(\"loaded\")' 2>&1")
        self.assertNotIn("Unable to", said)
        self.assertIn("loaded", said)
        self.undo()
        self.assert_state(before)

    @unittest.skipUnless((ROOT / "usr/bin/amd-smi").exists(), "this release has no amd-smi")
    def test_amd_smi_finds_its_module_and_that_its_library(self):
        self.give_python()
        before = self.state()
        self.run_setup("--rocm", "--driver-root", ROOT, "--vendor-libs", "host", "--rootfs",
                       self.root, stderr=None)

        # As amd-smi does, which without a GPU ends before it has loaded all of its parts.
        tool = self.inside("readlink", "-f", "/usr/bin/amd-smi").strip()
        said = self.inside("python3", "-B", "-c",
                           f"import sys; sys.path.append('{os.path.dirname(tool)}/../../share/amd_smi')\n"
                           "from amdsmi import amdsmi_wrapper as smi\n"
                           "print(smi._libraries['libamd_smi.so']._name)")
        self.assertEqual(said.strip(), f"{harness.TREE}/lib/{harness.MULTIARCH}/libamd_smi.so")
        self.undo()
        self.assert_state(before)


if __name__ == "__main__":
    unittest.main()
