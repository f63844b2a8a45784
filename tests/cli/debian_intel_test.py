# SPDX-License-Identifier: MIT
"""Debian's real Intel user space, unpacked into a driver root, in a container that has
none of it.

That no GPU answers is as it should be: each library has to load, with every symbol that
it needs, and OpenCL's loader has to find the driver by its ICD file.
"""

import json
import os
import pathlib
import unittest

import harness

ROOT = pathlib.Path(os.environ["GPUCTR_DEBIAN_INTEL"])
LOADER = "/lib64/ld-linux-x86-64.so.2"
TRACED = "LD_TRACE_LOADED_OBJECTS=1 LD_WARN=yes LD_BIND_NOW=yes exec"
VENDORS_OWN = {"libze_loader.so.1", "libze_intel_gpu.so.1", "libigdrcl.so", "libigdgmm.so.12",
               "libigc.so.1", "libigdfcl.so.1", "libopencl-clang.so.14", "iHD_drv_video.so",
               "i965_drv_video.so", "libmfx-gen.so.1.2"}
EVERYTHING = ("--driver-capabilities", "all", "--vendor-libs", "host")
NEUTRAL = {"libLLVM-14.so.1", "libclang-cpp.so.14", "libLLVMSPIRVLib.so.14", "libstdc++.so.6"}


@unittest.skipUnless((ROOT / "usr/bin/clinfo").exists(), "the packages could not be reached")
class DebianIntel(harness.Case):

    def test_the_whole_set_is_found(self):
        done = self.run_setup("list", "--intel", "--driver-root", ROOT, "--format", "json",
                              stdout=None)
        files = {file["soname"]: file
                 for file in json.loads(done.stdout)["drivers"][0]["files"]
                 if file["kind"] == "library"}

        self.assertLessEqual(VENDORS_OWN | NEUTRAL, set(files))
        self.assertEqual({soname for soname in files if files[soname]["precedence"] == "image"} & VENDORS_OWN,
                         set())
        self.assertEqual({soname for soname in NEUTRAL if files[soname]["precedence"] != "image"}, set())
        self.assertNotIn("libc.so.6", files)

    def test_all_of_it_loads_where_there_was_none(self):
        before = self.state()
        self.run_setup("--intel", "--driver-root", ROOT, *EVERYTHING, "--rootfs", self.root,
                       stderr=None)

        for soname in sorted(VENDORS_OWN):
            with self.subTest(soname=soname):
                path = f"{harness.TREE}/lib64/{soname}"
                said = harness.call("chroot", self.root, "sh", "-c", f"{TRACED} {LOADER} {path}")
                self.assertNotIn("not found", said.stdout)
                self.assertNotIn("undefined symbol", said.stdout + said.stderr)
                self.assertIn("libc.so.6", said.stdout)
        icd = (self.root / "etc/OpenCL/vendors/intel.icd").read_text(encoding="utf-8")
        self.assertIn("libigdrcl.so", icd)
        for name in ("iHD_drv_video.so", "i965_drv_video.so"):
            self.assertEqual(os.readlink(f"{self.root}/usr/lib/{harness.MULTIARCH}/dri/{name}"),
                             f"{harness.TREE}/lib64/{name}")
        self.undo()
        self.assert_state(before)

    def bring(self, name):
        """The image has this library itself."""
        own = f"/usr/lib/{harness.MULTIARCH}/{name}"
        inside = pathlib.Path(f"{self.root}{own}")
        inside.parent.mkdir(parents=True, exist_ok=True)
        harness.must("cp", "-L", f"{ROOT}{own}", inside)
        return f"the image brings its own: {own}"

    def planned(self):
        """The names of the host's libraries, and why others are left out."""
        done = self.run_setup("plan", "-v", "--intel", "--driver-root", ROOT, "--rootfs", self.root,
                              "--driver-capabilities", "all", "--format", "json", stdout=None)
        plan = json.loads(done.stdout)
        self.assertIn("/dev/dri/renderD129", [item["target"] for item in plan["items"]])
        return ({pathlib.Path(item["target"]).name for item in plan["items"]
                 if item["kind"] in ("bind", "cover")},
                {entry["text"] for entry in plan["findings"]})

    def test_an_image_with_a_part_of_its_own_gets_the_other(self):
        compute, pictures = "libigdrcl.so", "iHD_drv_video.so"
        for own, other, name in ((compute, pictures, f"intel-opencl/{compute}"),
                                 (pictures, compute, f"dri/{pictures}")):
            with self.subTest(own=own):
                reason = self.bring(name)
                libraries, reasons = self.planned()
                self.assertIn(reason, reasons)
                self.assertNotIn(own, libraries)
                self.assertIn(other, libraries)
                os.unlink(f"{self.root}/usr/lib/{harness.MULTIARCH}/{name}")

    def test_an_image_with_both_parts_of_its_own_gets_the_nodes_alone(self):
        brought = {self.bring(name) for name in ("intel-opencl/libigdrcl.so", "dri/iHD_drv_video.so")}
        libraries, reasons = self.planned()
        self.assertEqual(libraries, set())
        self.assertLessEqual(brought, reasons)

    def test_opencl_finds_the_driver(self):
        lib = f"usr/lib/{harness.MULTIARCH}"
        (self.root / lib).mkdir(parents=True, exist_ok=True)
        for path in ("usr/bin/clinfo", f"{lib}/libOpenCL.so.1"):
            harness.must("cp", "-L", ROOT / path, self.root / path)
        harness.must("ldconfig", "-r", self.root)
        said = harness.setup("--intel", "--driver-root", ROOT, "--vendor-libs", "host", "--rootfs",
                             self.root, "--setenv", "LD_DEBUG=files", "--", "clinfo")
        self.assertIn("Number of platforms", said.stdout)
        self.assertRegex(said.stderr, r"calling init: .*/libigdrcl\.so")


if __name__ == "__main__":
    unittest.main()
