# SPDX-License-Identifier: MIT
"""--load-kmods: modules that the host lacks, up to the system call that loads them, and the nodes
of the host."""

import os
import pathlib
import shutil
import stat
import unittest

import harness
import made_nodes_test
from extras_test import UVM

HERE = pathlib.Path(__file__).parent
MODULE = os.environ["GPUCTR_FAKE_MODULE"]
GPU, CAPABILITY = pathlib.Path("/dev/nvidia1"), pathlib.Path("/dev/nvidia-caps/nvidia-cap1")
NEEDS = "in the initial user namespace, which this process lacks"


def kernel(answer):
    """Has the kernel answer so that it is asked to load a module."""
    return ["python3", "-B", HERE / "seccomp.py", f"finit_module:{answer},init_module:{answer}"]


TAKES, DENIES = kernel("success"), kernel("EPERM")


class Host(made_nodes_test.Host):
    """A host whose modules and modprobe's configuration are the test's."""

    names = ("nvidia", "nvidia-uvm", "nvidia-modeset")

    def setUp(self):
        super().setUp()
        if shutil.which("depmod") is None:
            self.skipTest("depmod is missing")
        self.number = 0
        self.install(*self.names)
        self.configure("")
        self.loaded("nvidia", "nvidia_uvm", "nvidia_modeset")

    def place(self, target, type_of_mount="--bind", source=None):
        source = source or harness.DIRECTORY / f"place{self.number}"
        self.number += 1
        pathlib.Path(source).mkdir(exist_ok=True)
        harness.must("mount", type_of_mount, source, target)
        self.addCleanup(harness.must, "umount", "-l", target)
        return pathlib.Path(source)

    def install(self, *names):
        """Modules of the running kernel."""
        libraries = harness.DIRECTORY / f"place{self.number}"
        self.number += 1
        self.addCleanup(shutil.rmtree, libraries)
        place = libraries / "modules" / os.uname().release
        (place / "updates").mkdir(parents=True)
        for name in names:
            shutil.copy(MODULE, place / "updates" / f"{name}.ko")
        for name in ("order", "builtin"):
            (place / f"modules.{name}").touch()
        (libraries / "lib").mkdir()
        (libraries / "lib/modules").symlink_to("../modules")
        harness.must("depmod", "--basedir", libraries, os.uname().release)
        harness.must("mount", "-t", "overlay", "-o", f"ro,lowerdir={libraries}:/usr/lib", "test",
                     "/usr/lib")
        self.addCleanup(harness.must, "umount", "-l", "/usr/lib")

    def configure(self, text):
        place = self.place("/etc/modprobe.d")
        (place / "test.conf").write_text(text, encoding="utf-8")
        self.addCleanup(shutil.rmtree, place)

    def loaded(self, *names):
        """Modules that the kernel has."""
        place = harness.DIRECTORY / f"place{self.number}"
        version = pathlib.Path("/sys/module/nvidia/version")
        place.mkdir()
        for name in names:
            (place / name).mkdir()
            (place / name / "initstate").write_text("live\n", encoding="utf-8")
        if "nvidia" in names and version.exists():
            shutil.copy(version, place / "nvidia/version")
        self.addCleanup(shutil.rmtree, place)
        self.place("/sys/module")

    def without(self, path):
        number, mode = os.stat(path).st_rdev, os.stat(path).st_mode
        path.unlink()

        def bring_back():
            path.unlink(missing_ok=True)
            os.mknod(path, mode, number)
            os.chmod(path, stat.S_IMODE(mode))
        self.addCleanup(bring_back)

    def load(self, *words, prefix=(), status=0, vendor="--nv", command=("--", "true")):
        done = harness.call(*prefix, harness.SETUP, "-v", vendor, "--load-kmods", "--rootfs",
                            self.root, *words, *command)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def refused(self, text, *words, code=6, **options):
        with self.nothing_changes():
            done = self.load(*words, status=125, **options)
        self.assertIn(f"gpuctr-setup: {text}", done.stderr)
        self.assertIn(f"(error {code})", done.stderr)
        return done


class Modules(Host):
    def test_where_all_is_there_nothing_is_done_and_nobody_is_refused(self):
        for prefix in (DENIES, [*DENIES, *harness.ORDINARY_USER]):
            self.assertNotIn("was loaded", self.load(prefix=prefix).stderr)

    def test_what_is_not_loaded_is(self):
        self.loaded("nvidia")
        done = self.load(prefix=TAKES)
        self.assertIn("nvidia-uvm: this kernel module was loaded\n", done.stderr)
        self.assertIn("nvidia-modeset: this kernel module was loaded\n", done.stderr)
        self.assertNotIn("nvidia: this", done.stderr)

    def test_what_only_mode_setting_needs_comes_with_that(self):
        self.loaded("nvidia", "nvidia_uvm")
        self.load("--driver-capabilities", "compute,utility,video", prefix=DENIES)
        self.refused("load kernel module nvidia-modeset: ", "--driver-capabilities", "display",
                     prefix=DENIES)

    def test_each_way_of_setting_up_does_it(self):
        self.loaded("nvidia", "nvidia_modeset")
        for words in (["prepare", "--staged-tree", harness.DIRECTORY / "tree"],
                      ["--rootfs", self.root], ["--rootfs", self.root, "--no-journal"]):
            done = harness.call(*TAKES, harness.SETUP, "-v", *words, "--nv", "--load-kmods")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("nvidia-uvm: this kernel module was loaded\n", done.stderr)
            if "--no-journal" not in words and "prepare" not in words:
                self.undo()
        self.run_setup("prepare", "--undo", "--staged-tree", harness.DIRECTORY / "tree")

    def test_the_kernel_may_refuse(self):
        self.loaded("nvidia", "nvidia_modeset")
        for answer, code in (("EPERM", 6), ("ENODEV", 3), ("ENOKEY", 3), ("ENOEXEC", 3)):
            self.refused("load kernel module nvidia-uvm: ", prefix=kernel(answer), code=code)
        done = harness.call(*kernel("ENODEV"), harness.SETUP, "--nv", "--load-kmods",
                            "--if-present", "--rootfs", self.root)
        self.assertEqual(done.returncode, 0)

    def test_capabilities_are_needed_on_the_host(self):
        self.loaded("nvidia")
        text = f"loading the kernel modules nvidia-uvm, nvidia-modeset needs CAP_SYS_MODULE {NEEDS}"
        lacking = ["setpriv", "--bounding-set", "-sys_module", "--inh-caps", "-sys_module"]
        for prefix in ([*TAKES, *lacking], [*TAKES, *harness.ORDINARY_USER],
                       [*TAKES, "unshare", "--user", "--map-root-user"]):
            self.refused(text, prefix=prefix)


class NotInstalled(Host):
    names = ("nvidia",)

    def test_a_module_that_is_not_installed_is_named(self):
        self.loaded("nvidia", "nvidia_modeset")
        self.refused("load kernel module nvidia-uvm: no such module", prefix=TAKES, code=3)


class DebiansNames(Host):
    names = ("nvidia-current", "nvidia-current-uvm", "nvidia-current-modeset")
    configuration = """
        install nvidia modprobe -i nvidia-current $CMDLINE_OPTS
        install nvidia-modeset modprobe nvidia ; modprobe -i nvidia-current-modeset $CMDLINE_OPTS
        install nvidia-uvm modprobe nvidia ; modprobe -i nvidia-current-uvm $CMDLINE_OPTS
        """

    def test_they_are_followed(self):
        self.configure(self.configuration)
        self.loaded()
        done = self.load(prefix=kernel("EPERM"), status=125)
        self.assertIn("load kernel module nvidia-current: ", done.stderr)
        self.loaded("nvidia")
        done = self.load(prefix=TAKES)
        self.assertIn("nvidia-uvm: this kernel module was loaded\n", done.stderr)

    def test_no_process_is_started(self):
        mark = harness.DIRECTORY / "mark"
        self.loaded("nvidia", "nvidia_modeset")
        for command in (f"touch {mark}", "/bin/false", f"modprobe -i nvidia-current-uvm; touch {mark}",
                        "modprobe nvidia-uvm"):
            self.configure(f"install nvidia-uvm {command}\n")
            self.refused("load kernel modules: an install command in modprobe.d does more than to "
                         "call modprobe: ", prefix=TAKES)
            self.assertFalse(mark.exists())


class Nodes(Host):
    def check_made(self, path, seen, prefix=DENIES):
        done = self.load(prefix=prefix)
        status = os.stat(path)
        number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
        self.assertEqual(f"{stat.filemode(status.st_mode)} {number} {status.st_uid}:"
                         f"{status.st_gid}", seen)
        self.assertIn(f"{path}: this device node was made on the host ({number}, mode ",
                      done.stderr)

    def test_missing_ones_are_made_on_the_host(self):
        for path, seen in ((GPU, "crw-rw-rw- 195:1 0:0"), (UVM, "crw-rw-rw- 238:0 0:0"),
                           (CAPABILITY, "cr-------- 241:1 0:0")):
            self.without(path)
            self.check_made(path, seen)

    def test_the_driver_says_whose_they_are(self):
        self.without(UVM)
        self.parameters(DeviceFileMode=0o660, DeviceFileUID=12, DeviceFileGID=44)
        self.check_made(UVM, "crw-rw---- 238:0 12:44")

    def test_the_driver_may_want_none_made(self):
        self.without(UVM)
        self.parameters(ModifyDeviceFiles=0)
        self.load()
        self.assertFalse(UVM.exists())

    def test_the_directory_of_rights_is_made(self):
        moved = CAPABILITY.parent.rename("/dev/test-moved")

        def bring_back():
            shutil.rmtree(CAPABILITY.parent)
            moved.rename(CAPABILITY.parent)
        self.addCleanup(bring_back)
        self.check_made(CAPABILITY, "cr-------- 241:1 0:0")
        self.assertEqual(stat.filemode(os.stat(CAPABILITY.parent).st_mode), "drwxr-xr-x")

    def test_a_link_in_the_place_of_that_directory_is_not_followed(self):
        moved = CAPABILITY.parent.rename("/dev/test-moved")
        elsewhere = harness.DIRECTORY / "elsewhere"
        elsewhere.mkdir()
        CAPABILITY.parent.symlink_to(elsewhere)

        def bring_back():
            CAPABILITY.parent.unlink()
            moved.rename(CAPABILITY.parent)
            elsewhere.rmdir()
        self.addCleanup(bring_back)
        done = self.load(status=125)
        self.assertIn(f"make the device node {CAPABILITY}: Not a directory", done.stderr)
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_what_is_in_their_place_stays(self):
        self.without(UVM)
        self.node(UVM, 511, 0)
        done = self.load(status=125)
        self.assertIn("is the character device 511:0, but its kernel driver has 238:0", done.stderr)

    def test_capabilities_are_needed_on_the_host(self):
        self.without(GPU)
        text = f"making {GPU} on the host needs CAP_MKNOD {NEEDS}"
        for prefix in (["setpriv", "--bounding-set", "-mknod", "--inh-caps", "-mknod"],
                       harness.ORDINARY_USER, ["unshare", "--user", "--map-root-user"]):
            self.refused(text, prefix=prefix)
        self.assertFalse(GPU.exists())


class Refused(harness.Case):
    def test_where_it_has_no_meaning_it_is_a_usage_error(self):
        for words, text in ((["--dry-run"], "--load-kmods: --dry-run changes nothing"),
                            (["--driver-root", "/usr"], "--load-kmods is for this host's own driver,"
                                                        " not for --driver-root /usr"),
                            (["--dev-root", "/usr"], "--load-kmods is for this host's own driver, "
                                                     "not for --dev-root /usr")):
            done = self.run_setup("--nv", "--rootfs", self.root, "--load-kmods", *words, status=2,
                                  stderr=None)
            self.assertIn(text, done.stderr)
        done = self.run_setup("--rocm", "--rootfs", self.root, "--load-kmods", status=2, stderr=None)
        self.assertIn("--load-kmods goes with --nv or --gpu", done.stderr)
        for command in ("list", "plan", "undo", "status"):
            self.run_setup(command, "--load-kmods", status=2, stderr=None)


if __name__ == "__main__":
    unittest.main()
