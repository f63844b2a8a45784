# SPDX-License-Identifier: MIT
"""What programs of EGL, Vulkan, GBM, VDPAU and an X server look for at fixed places."""

import json
import os
import pathlib
import unittest

import harness
from harness import MULTIARCH, TREE, VERSION

LIBDIR = f"/usr/lib/{MULTIARCH}"
EGL = "etc/glvnd/egl_vendor.d/10_nvidia.json"
VULKAN = "etc/vulkan/icd.d/nvidia_icd.json"
LAYERS = "etc/vulkan/implicit_layer.d/nvidia_layers.json"
VULKAN_SC = "etc/vulkansc/icd.d/nvidia_icd_vksc.json"
PROFILE = "etc/nvidia/nvidia-application-profiles-rc.d/10-gpuctr.conf"
OPTIX = "usr/share/nvidia/nvoptix.bin"
PROFILES = f"usr/share/nvidia/nvidia-application-profiles-{VERSION}-rc"
X_CONFIGURATION = "usr/share/X11/xorg.conf.d/10-nvidia.conf"
FIRMWARE = f"lib/firmware/nvidia/{VERSION}/gsp_ga10x.bin"


class Graphics(harness.Case):
    def setUp(self):
        super().setUp()
        for directory in (LIBDIR, "/usr/share", "/usr/lib/xorg/modules"):
            (self.root / directory[1:]).mkdir(parents=True, exist_ok=True)

    def manifest(self, name):
        return json.loads(self.inside("cat", f"/{name}"))

    def leads_to(self, path):
        return self.inside("readlink", "-f", path).strip()

    def check(self):
        self.assertEqual(self.manifest(EGL)["ICD"]["library_path"], "libEGL_nvidia.so.0")
        self.assertEqual(self.manifest(VULKAN)["ICD"], {"library_path": "libGLX_nvidia.so.0",
                                                        "api_version": "1.4.312"})
        self.assertEqual([layer["name"] for layer in self.manifest(LAYERS)["layers"]],
                         ["VK_LAYER_NV_optimus"])
        self.assertEqual(self.manifest(VULKAN_SC)["ICD"]["library_path"],
                         "libnvidia-vksc-core.so.1")
        for library in ("libEGL_nvidia.so.0", "libGLX_nvidia.so.0", "libnvidia-vksc-core.so.1"):
            self.assertIn(f"{TREE}/lib64/", self.inside("/usr/bin/opens_driver", library))
        self.assertEqual(self.leads_to(f"{LIBDIR}/gbm/nvidia-drm_gbm.so"),
                         f"{TREE}/lib64/libnvidia-allocator.so.{VERSION}")
        self.assertEqual(self.leads_to(f"{LIBDIR}/vdpau/libvdpau_nvidia.so.1"),
                         f"{TREE}/lib64/libvdpau_nvidia.so.{VERSION}")
        self.assertEqual(self.leads_to(f"/{OPTIX}"), f"{TREE}/share/nvidia/nvoptix.bin")
        self.assertEqual(self.inside("cat", f"/{PROFILES}"), '{"rules": []}\n')
        self.assertFalse((self.root / PROFILE).exists(), "all GPUs were chosen")

    def test_is_found_in_an_image_that_knows_nothing_of_it(self):
        self.in_each_way(self.check)

    def test_costs_one_more_mount_where_nothing_is_written(self):
        def overlays(*options):
            return {item["target"] for item in self.plan("--write", "never", *options)["items"]
                    if item["kind"] == "mount" and item["target"] != TREE}

        compute = overlays("--driver-capabilities", "compute,utility")
        self.assertIn("/etc", compute)
        self.assertEqual(overlays() - compute, {"/usr/share"})

    def test_is_not_told_twice(self):
        image = self.root / "usr/share/glvnd/egl_vendor.d/10_nvidia.json"
        image.parent.mkdir(parents=True)
        image.write_text('{"file_format_version": "1.0.0", "ICD":'
                         ' {"library_path": "libEGL_nvidia.so.0"}}')
        icd = self.root / "usr/share/vulkan/icd.d/nvidia_icd.json"
        icd.parent.mkdir(parents=True)
        icd.write_text('{"ICD": {"library_path": "/opt/stale/libGLX_nvidia.so.0"}}')

        def check():
            self.assertFalse((self.root / EGL).exists())
            self.assertFalse((self.root / VULKAN).exists())
            self.assertEqual(self.manifest("usr/share/vulkan/icd.d/nvidia_icd.json")["ICD"],
                             {"library_path": "libGLX_nvidia.so.0", "api_version": "1.4.312"})

        self.in_each_way(check)
        self.assertIn("stale", icd.read_text())

    def test_is_not_led_out_of_the_image(self):
        outside = pathlib.Path("/etc/vulkan")
        before = outside.exists()
        (self.root / "etc/vulkan").symlink_to("/../../etc/vulkan")
        self.apply()
        self.assertEqual(outside.exists(), before)
        self.undo()

    def test_shows_only_the_chosen_gpus_to_egl(self):
        def check():
            profile = self.inside("cat", f"/{PROFILE}")
            self.assertIn('["EGLVisibleDGPUDevices", 0x4002]', profile)
            self.assertIn('"pattern": []', profile)

        self.in_each_way(check, "--device", "0,15")

    def test_stale_data_of_the_image_is_covered(self):
        stale = self.root / OPTIX
        stale.parent.mkdir(parents=True)
        stale.write_text("of another version")

        def check():
            self.assertEqual(os.path.getsize(stale), 1 << 20)

        self.in_each_way(check)
        self.assertEqual(stale.read_text(), "of another version")

    def test_an_x_server_finds_its_modules_and_configuration(self):
        def check():
            modules = "/usr/lib/xorg/modules"
            self.assertEqual(self.leads_to(f"{modules}/drivers/nvidia_drv.so"),
                             f"{TREE}/lib64/nvidia_drv.so")
            self.assertEqual(self.leads_to(f"{modules}/extensions/libglxserver_nvidia.so"),
                             f"{TREE}/lib64/libglxserver_nvidia.so.{VERSION}")
            self.assertIn("OutputClass", self.inside("cat", f"/{X_CONFIGURATION}"))

        self.in_each_way(check, "--driver-capabilities", "utility,display")
        self.apply()
        self.assertFalse((self.root / X_CONFIGURATION).exists())
        self.undo()

    def test_video_brings_what_its_libraries_load(self):
        self.apply("--driver-capabilities", "video")
        there = os.listdir(f"{self.root}{TREE}/lib64")
        for name in ("libnvcuvid", "libcuda", "libnvidia-ptxjitcompiler"):
            self.assertIn(f"{name}.so.{VERSION}", there)
        self.assertNotIn(f"libnvidia-ml.so.{VERSION}", there)
        self.assertNotIn(f"libGLX_nvidia.so.{VERSION}", there)
        self.assertTrue((self.root / "dev/nvidia-uvm").exists())
        self.undo()

    def test_protons_dlls_are_beside_the_library_that_it_finds(self):
        def check():
            library = self.inside("/usr/bin/opens_driver", "libGLX_nvidia.so.0").strip()
            self.assertEqual(self.inside("/usr/bin/opens_driver", "libGLX_indirect.so.0").strip(),
                             library)
            for name in ("nvngx.dll", "_nvngx.dll"):
                self.assertEqual(self.inside("cat", f"{os.path.dirname(library)}/nvidia/wine/{name}"),
                                 f"{name} of {VERSION}\n")

        self.in_each_way(check, "--driver-capabilities", "graphics,ngx")
        self.apply()
        self.assertFalse((self.root / TREE[1:] / "lib64/nvidia").exists())
        self.undo()

    def test_firmware_has_to_be_asked_for(self):
        self.apply("--driver-capabilities", "all")
        self.assertFalse((self.root / FIRMWARE).exists())
        self.undo()
        self.apply("--driver-capabilities", "compute,firmware")
        self.assertEqual(self.inside("stat", "-Lc", "%s", f"/{FIRMWARE}"), f"{1 << 20}\n")
        self.undo()
        listed = self.run_setup("list", "--nv", stdout=None).stdout
        self.assertRegex(listed, rf"{VERSION} +firmware +/usr/lib/firmware/nvidia/")

    def test_lands_at_the_distributions_own_paths_without_a_tree(self):
        before = self.state()
        self.apply("--layout", "merged")
        self.assertEqual(self.manifest(VULKAN)["ICD"]["library_path"], "libGLX_nvidia.so.0")
        self.assertEqual(self.leads_to(f"{LIBDIR}/gbm/nvidia-drm_gbm.so"),
                         f"{LIBDIR}/libnvidia-allocator.so.{VERSION}")
        self.assertEqual((self.root / OPTIX).stat().st_size, 1 << 20)
        self.undo()
        self.assert_state(before)


if __name__ == "__main__":
    unittest.main()
