# SPDX-License-Identifier: MIT
"""gpuctr-setup where distributions put NVIDIA's driver, each class on a host of its own."""

import os
import pathlib
import unittest

import harness
from harness import TREE, VERSION
from vendor_case import VendorCase

MULTIARCH = "/usr/lib/x86_64-linux-gnu"
TOOLS = {"nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "nvidia-cuda-mps-control",
         "nvidia-cuda-mps-server", "nvidia-imex"}
LIBRARIES = 33


class Distribution(VendorCase):
    """The directories are those of the real files, in the driver root."""

    vendor = "--nv"
    driver_root = ""
    libraries = {MULTIARCH}
    tools = {"/usr/bin"}

    def setUp(self):
        super().setUp()
        if self.driver_root:
            os.environ["GPUCTR_DRIVER_ROOT"] = self.driver_root
            self.addCleanup(os.environ.pop, "GPUCTR_DRIVER_ROOT")

    def files(self, kind):
        return {pathlib.PurePath(file["path"].removeprefix(self.driver_root))
                for file in self.driver()["files"] if file["kind"] == kind}

    def test_all_of_the_driver_is_found(self):
        self.assertEqual(self.driver()["version"], VERSION)
        libraries = self.files("library")
        self.assertEqual({str(path.parent) for path in libraries}, self.libraries)
        self.assertEqual(len(libraries), LIBRARIES)
        tools = self.files("tool")
        self.assertEqual({str(path.parent) for path in tools}, self.tools)
        self.assertLessEqual(TOOLS, {path.name for path in tools})

    def test_it_is_set_up_and_taken_back(self):
        for write in ("auto", "never"):
            with self.subTest(write=write):
                before = self.state()
                self.set_up("--write", write)
                self.assertEqual(harness.must("chroot", self.root, "/usr/bin/opens_driver",
                                              "libcuda.so.1", "libnvidia-ml.so.1").split(),
                                 [f"{TREE}/lib64/{name}.so.{VERSION}"
                                  for name in ("libcuda", "libnvidia-ml")])
                harness.must("chroot", self.root, "nvidia-smi")
                self.assertEqual(set(os.listdir(f"{self.root}{TREE}/bin")) & TOOLS, TOOLS)
                self.undo()
                self.assert_state(before)

    def why_not(self, name):
        return [entry["text"] for entry in self.planned()["findings"] if entry["object"] == name]


class Debian(Distribution):
    libraries = {MULTIARCH, f"{MULTIARCH}/nvidia/current"}
    tools = {"/usr/bin", "/usr/sbin", "/usr/lib/nvidia/current"}

    def test_a_service_of_the_host_is_known_and_left_out(self):
        self.assertEqual(self.why_not("nvidia-powerd"),
                         ["of no use in a container: balances power in notebooks, a service of the "
                          "host"])

    def test_a_branch_beside_the_main_one_is_taken_for_its_kernel_module(self):
        harness.load_module(self, "535.274.02")
        driver = self.driver()
        self.assertEqual(driver["version"], "535.274.02")
        self.assertEqual(driver["library_directory"], f"{MULTIARCH}/nvidia/tesla-535")
        self.assertEqual({path.name for path in self.files("library") if VERSION in path.name},
                         set())
        self.assertIn(pathlib.PurePath("/usr/lib/nvidia/tesla-535/nvidia-smi"), self.files("tool"))
        self.assertEqual(len(self.files("library")), LIBRARIES)


class Ubuntu(Distribution):
    pass


class BesideNouveau(Distribution):
    """Nouveau has a third GPU."""

    def test_its_gpu_is_named_and_not_given(self):
        driver = self.driver()
        self.assertEqual([gpu["pci_address"] for gpu in driver["gpus"]],
                         ["0000:08:00.0", "0000:88:00.0"])
        self.assertIn(("GPU 0000:0a:00.0", "bound to the kernel driver nouveau"),
                      {(entry["object"], entry["text"]) for entry in driver["findings"]})
        self.assertIn("0000:0a:00.0", self.command("list", "--nv", "-v").stdout)


class RedHat(Distribution):
    libraries = {"/usr/lib64"}


class Suse(Distribution):
    libraries = {"/usr/lib64"}


class Grace(Distribution):
    """Server with Arm processors that share their memory with the GPUs."""

    libraries = {"/usr/lib/aarch64-linux-gnu"}
    capability = "9.0"

    def test_a_gpu_is_at_its_processor_whatever_node_its_memory_is(self):
        gpus = self.driver()["gpus"]
        self.assertEqual([gpu["numa_node"] for gpu in gpus], [0, 0, 1, 1])
        self.assertEqual({gpu["architecture"] for gpu in gpus}, {self.capability})
        self.assertEqual([node for node in self.devices("--device", "2") if node[-1].isdigit()],
                         [f"/dev/nvidia{gpus[2]['minor']}"])


class GraceBlackwell(Grace):
    capability = "10.0"


class Arch(Distribution):
    libraries = {"/usr/lib"}


class NixOS(Distribution):
    driver_root = "/run/nixos"
    package = f"/nix/store/1a2b3c4d5e6f7g8h9i0jklmnopqrstuv-nvidia-x11-{VERSION}"
    libraries = {f"{package}/lib"}
    tools = {f"{package}-bin/bin"}


class Talos(Distribution):
    libraries = {"/usr/local/glibc/lib"}
    tools = {"/usr/local/bin"}


class Bottlerocket(Distribution):
    driver_root = "/run/bottlerocket"
    system = "/x86_64-bottlerocket-linux-gnu/sys-root"
    libraries = {f"{system}/usr/lib/nvidia/tesla"}
    tools = {f"{system}/usr/libexec/nvidia/tesla/bin"}


class BottlerocketSystem(Distribution):
    """The directory that has the system, as driver root."""

    driver_root = f"/run/bottlerocket{Bottlerocket.system}"
    libraries = {"/usr/lib/nvidia/tesla"}
    tools = {"/usr/libexec/nvidia/tesla/bin"}


class Flatcar(Distribution):
    libraries = {"/opt/nvidia/current/usr/lib64"}
    tools = {"/opt/bin"}


class Operator(Distribution):
    """The driver container of the GPU operator."""

    driver_root = "/run/nvidia/driver"


class VirtualGpu(Distribution):
    """A virtual machine with a virtual GPU."""

    def test_the_licence_services_stay_outside(self):
        for name in ("nvidia-gridd", "nvidia-topologyd"):
            text, = self.why_not(name)
            self.assertTrue(text.startswith("of no use in a container: "), text)


del Distribution  # it is not a host


if __name__ == "__main__":
    unittest.main()
