# SPDX-License-Identifier: MIT
"""gpuctr-setup where distributions put NVIDIA's driver, each class on a host of its own."""

import os
import pathlib
import shutil
import unittest

import harness
from harness import TREE, VERSION
from vendor_case import VendorCase

MULTIARCH = "/usr/lib/x86_64-linux-gnu"
TOOLS = {"nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "nvidia-cuda-mps-control",
         "nvidia-cuda-mps-server", "nvidia-imex"}
LIBRARIES = 33


class Found(VendorCase):
    """The directories are those of the real files, in the driver root."""

    version = VERSION

    vendor = "--nv"
    driver_root = ""
    libraries = {MULTIARCH}
    tools = {"/usr/bin"}

    def setUp(self):
        super().setUp()
        if self.driver_root:
            os.environ["GPUCTR_DRIVER_ROOT"] = self.driver_root
            self.addCleanup(os.environ.pop, "GPUCTR_DRIVER_ROOT", None)

    def files(self, kind, compat32=False):
        return {pathlib.PurePath(file["path"].removeprefix(self.driver_root))
                for file in self.driver()["files"]
                if file["kind"] == kind and file["compat32"] == compat32
                and file["precedence"] != "image"}

    def test_all_of_the_driver_is_found(self):
        self.assertEqual(self.driver()["version"], self.version)
        libraries = self.files("library")
        self.assertEqual({str(path.parent) for path in libraries}, self.libraries)
        self.assertEqual(len(libraries), LIBRARIES)
        tools = self.files("tool")
        self.assertEqual({str(path.parent) for path in tools}, self.tools)
        self.assertLessEqual(TOOLS, {path.name for path in tools})

    def why_not(self, name):
        return [entry["text"] for entry in self.planned()["findings"] if entry["object"] == name]


class Distribution(Found):
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


class With32Bit(Distribution):
    """Libraries for 32-bit programs are installed too."""

    libraries32 = {}
    own_directory = ""  # in images of the same distribution
    count32 = 16

    def setUp(self):
        super().setUp()
        for path in ("/lib/ld-linux.so.2", f"{self.own_directory}/libc.so.6"):
            place = self.root / path[1:]
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                place.write_text("of 32-bit programs")

    def test_list_says_how_a_container_gets_them(self):
        said = [line for line in self.command("list", "--nv", "-v").stdout.splitlines()
                if line.startswith("for 32-bit programs: ")]
        self.assertEqual(len(said), 1)
        names, how = said[0].removeprefix("for 32-bit programs: ").split(": ")
        self.assertEqual(len(names.split(", ")), self.count32)
        self.assertIn("libcuda.so.1", names.split(", "))
        self.assertEqual(how, "given with --driver-capabilities compat32")
        self.assertNotIn("for 32-bit programs", self.command("list", "--nv").stdout)

    def cached(self):
        """Sonames with the paths that 32-bit programs load, as ldconfig reads the loader cache."""
        lines = harness.must("chroot", self.root, "ldconfig", "-p").splitlines()
        return {words[0]: words[3] for words in map(str.split, lines)
                if len(words) == 4 and words[1] == "(libc6)"}

    def tree32(self):
        tree = pathlib.Path(f"{self.root}{TREE}/lib32")
        return set(os.listdir(tree)) if tree.exists() else set()

    def test_its_libraries_for_32_bit_programs_are_found(self):
        libraries = self.files("library", compat32=True)
        self.assertEqual({str(path.parent) for path in libraries},
                         self.libraries32 | {f"{directory}/vdpau" for directory in self.libraries32})
        self.assertEqual(len(libraries), self.count32)
        self.assertTrue(all(path.name.endswith(f".so.{VERSION}") for path in libraries))

    def test_they_come_if_they_are_asked_for(self):
        for write in ("auto", "never"):
            with self.subTest(write=write):
                before = self.state()
                self.set_up("--write", write, "--driver-capabilities", "compute,compat32")
                cached = self.cached()
                self.assertEqual(cached["libcuda.so.1"], f"{TREE}/lib32/libcuda.so.1")
                self.assertEqual(os.path.realpath(f"{self.root}{TREE}/lib32/libcuda.so.1"),
                                 f"{self.root}{TREE}/lib32/libcuda.so.{VERSION}")
                self.assertEqual(pathlib.Path(f"{self.root}{TREE}/lib32/libcuda.so.1").read_bytes()[4],
                                 1, "an ELF file of 32 bits")
                self.assertEqual(os.readlink(f"{self.root}{self.own_directory}/libcuda.so.1"),
                                 f"{TREE}/lib32/libcuda.so.1")
                self.assertNotIn("libGLX_nvidia.so.0", cached)
                self.assertNotIn("libnvidia-ml.so.1", cached)
                self.assertEqual(harness.must("chroot", self.root, "/usr/bin/opens_driver",
                                              "libcuda.so.1").strip(),
                                 f"{TREE}/lib64/libcuda.so.{VERSION}")
                self.undo()
                self.assert_state(before)

    def test_they_are_part_of_all(self):
        self.set_up("--driver-capabilities", "all")
        self.assertEqual({name for name in self.tree32() if name.endswith(f".so.{VERSION}")},
                         {path.name for path in self.files("library", compat32=True)})
        self.undo()
        self.set_up()
        self.assertEqual(self.tree32(), set())
        self.undo()

    def test_they_are_named_if_they_are_not_asked_for(self):
        self.assertRegex(self.command("list", "--nv", "-v").stdout,
                         rf"libcuda.so.1 +compute,compat32 +/usr/lib.*/libcuda.so.{VERSION}\n")
        self.assertIn("is for 32-bit programs, and compat32 was not asked for: CUDA driver API, "
                      "loaded by every CUDA program", self.why_not(f"libcuda.so.{VERSION}"))

    def test_an_image_without_32_bit_programs_is_told(self):
        (self.root / "lib/ld-linux.so.2").unlink()
        done = self.set_up("--driver-capabilities", "utility,compat32")
        self.assertIn("the image runs no 32-bit programs: it has no /lib/ld-linux.so.2",
                      done.stderr)
        self.assertEqual(self.tree32(), set())
        self.undo()


class Ubuntu(With32Bit):
    libraries32 = {"/usr/lib/i386-linux-gnu"}
    own_directory = "/usr/lib/i386-linux-gnu"
    count32 = 17


class BesideNouveau(Distribution):
    """Nouveau has a third GPU."""

    def test_its_gpu_is_named_and_not_given(self):
        driver = self.driver()
        self.assertEqual([gpu["pci_address"] for gpu in driver["gpus"]],
                         ["0000:08:00.0", "0000:88:00.0"])
        self.assertIn(("GPU 0000:0a:00.0", "bound to the kernel driver nouveau"),
                      {(entry["object"], entry["text"]) for entry in driver["findings"]})
        self.assertIn("0000:0a:00.0", self.command("list", "--nv", "-v").stdout)


class BesideNone(Distribution):
    """No kernel driver has a third GPU."""

    def test_a_gpu_without_a_driver_is_named_by_list(self):
        said = ("GPU 0000:0a:00.0", "no kernel driver is bound to it")
        self.assertIn(said, {(entry["object"], entry["text"])
                             for entry in self.driver()["findings"]})
        self.assertIn("0000:0a:00.0", self.command("list", "--nv", "-v").stdout)

    def test_setting_up_does_not_look_at_the_whole_bus(self):
        traced = harness.call("strace", "-f", "-e", "trace=open,openat,readlinkat", harness.SETUP,
                              "plan", "--nv", "--rootfs", self.root,
                              env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
        self.assertEqual(traced.returncode, 0, traced.stderr)
        self.assertIn("0000:08:00.0", traced.stderr)
        self.assertNotIn("0000:0a:00.0", traced.stderr)


class RedHat(With32Bit):
    libraries = {"/usr/lib64"}
    libraries32 = {"/usr/lib"}
    own_directory = "/usr/lib"

    def test_an_old_copy_for_32_bit_programs_is_covered_by_one_of_them(self):
        stale = self.root / "usr/lib/libcuda.so.1"
        stale.write_bytes(pathlib.Path(f"/usr/lib/libcuda.so.{VERSION}").read_bytes() + b"old")
        size = stale.stat().st_size
        self.set_up("--driver-capabilities", "compute")
        self.assertEqual(stale.stat().st_size, size, "64-bit programs do not take it")
        self.undo()
        self.set_up("--driver-capabilities", "compute,compat32")
        self.assertTrue(os.path.samefile(stale, f"{self.root}{TREE}/lib32/libcuda.so.1"))
        self.undo()


class Suse(Distribution):
    libraries = {"/usr/lib64"}


class OtherMachine(Found):
    """The file system of a machine of another architecture, as driver root."""

    machine = loader = ""

    def other_root(self):
        """A root file system of that architecture."""
        root = harness.DIRECTORY / "other"
        for name in (*self.libraries, self.loader):
            (root / name[1:]).parent.mkdir(parents=True, exist_ok=True)
        for name in (*self.libraries, "/dev", "/etc", "/proc", "/run", "/sys", "/tmp", "/usr/bin"):
            (root / name[1:]).mkdir(parents=True, exist_ok=True)
        shutil.copy(self.driver_root + self.loader, root / self.loader[1:])
        self.addCleanup(shutil.rmtree, root)
        return root

    def test_it_is_planned_for_a_root_file_system_of_its_own(self):
        self.root = self.other_root()
        plan = self.planned()

        self.assertEqual(self.driver()["machine"], self.machine)
        self.assertIn(f"{TREE}/lib64/libcuda.so.{self.version}",
                      {item["target"] for item in plan["items"]})

    def test_one_of_this_machine_is_refused(self):
        done = self.command("plan", "--nv", "--rootfs", self.root, status=5)

        self.assertIn(self.machine, done.stderr)

    def test_nothing_is_set_up(self):
        self.root = self.other_root()
        before = self.state()
        for words, status in ((("--nv",), 4), (("--nv", "--", "true"), 125)):
            with self.subTest(words=words):
                done = self.command(*words[:1], "--rootfs", self.root, *words[1:], status=status)
                self.assertIn(self.machine, done.stderr)
                self.assertIn(os.uname().machine, done.stderr)
        self.assert_state(before)

    def test_its_record_makes_the_same_plan(self):
        self.root = self.other_root()
        planned = self.planned()
        record = harness.DIRECTORY / "record.json"
        record.write_text(self.command("list", "--nv", "--format", "json").stdout, encoding="utf-8")
        self.addCleanup(record.unlink)
        del os.environ["GPUCTR_DRIVER_ROOT"]

        self.assertEqual(self.planned("--host", record), planned)


class Grace(OtherMachine):
    """Server with Arm processors that share their memory with the GPUs."""

    driver_root = "/run/grace"
    machine, loader = "aarch64", "/lib/ld-linux-aarch64.so.1"
    libraries = {"/usr/lib/aarch64-linux-gnu"}
    capability = "9.0"

    def test_a_gpu_is_at_its_processor_whatever_node_its_memory_is(self):
        gpus = self.driver()["gpus"]
        self.assertEqual([gpu["numa_node"] for gpu in gpus], [0, 0, 1, 1])
        self.assertEqual({gpu["architecture"] for gpu in gpus}, {self.capability})
        self.root = self.other_root()
        self.assertEqual([node for node in self.devices("--device", "2") if node[-1].isdigit()],
                         [f"/dev/nvidia{gpus[2]['minor']}"])


class GraceBlackwell(Grace):
    capability = "10.0"


class Power(OtherMachine):
    """POWER9 with V100, which this driver was the last for."""

    driver_root = "/run/power"
    version = "535.274.02"
    machine, loader = "ppc64le", "/lib64/ld64.so.2"
    libraries = {"/usr/lib64"}


class Arch(With32Bit):
    libraries = {"/usr/lib"}
    libraries32 = {"/usr/lib32"}
    own_directory = "/usr/lib32"


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


del Distribution, With32Bit  # they are no hosts


if __name__ == "__main__":
    unittest.main()
