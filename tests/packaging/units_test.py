# SPDX-License-Identifier: MIT
"""packaging/: the units, the udev rule and the security profiles, as their own tools read them."""

import fnmatch
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = SOURCE / "packaging"
BUILT = pathlib.Path(os.environ["GPUCTR_PACKAGING_DIR"])
UNITS = (BUILT / "gpuctr-prepare.service", PACKAGING / "systemd/gpuctr-prepare.path",
         PACKAGING / "systemd/gpuctr-prepare-reload.service", BUILT / "gpuctr-cdi.service",
         PACKAGING / "systemd/gpuctr-cdi.path")
PREPARE, CDI = UNITS[0], UNITS[3]

# Those for which systemd makes a mount namespace: what is mounted in one is not on the host.
# (systemd 252 to 257, exec_needs_mount_namespace(), and what implies one of these.)
MAKE_A_NAMESPACE = """
    BindPaths BindReadOnlyPaths DynamicUser ExecPaths ExtensionDirectories ExtensionImages
    ImportCredential InaccessiblePaths IPCNamespacePath LoadCredential LoadCredentialEncrypted
    LogNamespace MountAPIVFS MountFlags MountImages NetworkNamespacePath NoExecPaths PrivateBPF
    PrivateDevices PrivateIPC PrivateMounts PrivateNetwork PrivatePIDs PrivateTmp PrivateUsers
    ProcSubset ProtectControlGroups ProtectHome ProtectHostname ProtectKernelLogs
    ProtectKernelModules ProtectKernelTunables ProtectProc ProtectSystem ReadOnlyPaths
    ReadWritePaths RootDirectory RootEphemeral RootHash RootImage SetCredential
    SetCredentialEncrypted TemporaryFileSystem""".split()

# Those that restrict devices by a control group: `prepare` leaves out GPUs that it forbids.
RESTRICT_DEVICES = "DeviceAllow DevicePolicy PrivateDevices ProtectClock".split()


def run(*words, **options):
    environment = dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin:/sbin", LC_ALL="C.UTF-8")
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=60, env=environment,
                          **options)


def needs(program):
    """Leaves a test out where its program is not installed; with CI=true it fails then."""
    search = os.environ["PATH"] + ":/usr/sbin:/sbin"
    missing = shutil.which(program, path=search) is None and os.environ.get("CI") != "true"
    return unittest.skipIf(missing, f"{program} is not installed")


def directives(unit):
    """Pairs of a name and a value, in their order."""
    lines = (line.strip() for line in unit.read_text().splitlines())
    return [tuple(line.split("=", 1)) for line in lines if "=" in line and line[0] not in "#;"]


class WithDirectory(unittest.TestCase):
    def setUp(self):
        directory = tempfile.mkdtemp(prefix="gpuctr-packaging-")
        self.addCleanup(shutil.rmtree, directory)
        self.directory = pathlib.Path(directory)

    def check(self, *words):
        done = run(*words)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), words)


@needs("systemd-analyze")
class Units(WithDirectory):
    def setUp(self):
        super().setUp()
        for unit in UNITS:
            text = re.sub(r"=\S*/gpuctr-setup ", f"={os.environ['GPUCTR_SETUP']} ",
                          unit.read_text())
            (self.directory / unit.name).write_text(text)
        self.units = [self.directory / unit.name for unit in UNITS]

    def exposure(self, unit):
        done = run("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
        return re.search(r"exposure level for \S+: ([0-9.]+) ", done.stdout).group(1)

    def test_systemd_has_nothing_to_say_about_them(self):
        # The manual pages that they name are installed or not.
        self.check("systemd-analyze", "verify", "--man=no", *self.units)

    def test_nothing_hides_the_tree_from_the_host(self):
        for name, _ in directives(UNITS[0]):
            self.assertNotIn(name, MAKE_A_NAMESPACE)

    def test_nothing_forbids_them_the_gpus(self):
        for name, _ in directives(PREPARE) + directives(CDI):
            self.assertNotIn(name, RESTRICT_DEVICES)

    def test_the_exposure_is_the_one_that_the_documentation_tells(self):
        version = run("systemd-analyze", "--version").stdout.split()[1]
        told = re.search(r"systemd-analyze security.*?([0-9.]+) and ([0-9.]+) with systemd (\d+)",
                         (SOURCE / "docs/administration.md").read_text(), re.DOTALL)
        found = [self.exposure(self.directory / unit.name) for unit in (PREPARE, CDI)]
        self.assertLess(float(found[0]), 5)
        self.assertLess(float(found[1]), 3)
        if version == told.group(3):
            self.assertEqual(found, [told.group(1), told.group(2)])

    def test_no_number_of_events_is_too_many(self):
        """Each GPU that goes restarts the service, and with it the path unit."""
        for unit in UNITS:
            self.assertIn(("StartLimitIntervalSec", "0"), directives(unit), unit.name)

    def test_what_changes_during_a_start_is_staged_after_it(self):
        reload = dict(directives(UNITS[2]))
        both = f"{PREPARE.name} {CDI.name}"
        self.assertEqual(reload["After"], both)
        self.assertTrue(reload["ExecStart"].endswith(f" try-reload-or-restart {both}"))
        self.assertIn(f"restart {UNITS[2].name}", Udev.run_for("bind"))
        for service, unit in ((PREPARE, UNITS[1]), (CDI, UNITS[4])):
            path = dict(directives(unit))
            self.assertEqual(path["Before"], service.name)
            self.assertEqual(path["PartOf"], service.name)
            self.assertEqual(path["WantedBy"], service.name)
            self.assertEqual(path["Unit"], UNITS[2].name)
            self.assertEqual(dict(directives(service))["Also"], unit.name)

    def test_a_gpu_that_comes_ends_no_emergency_mode(self):
        """What udev starts requires no other unit: sysinit.target conflicts with that mode."""
        reload = directives(UNITS[2])
        self.assertIn(("DefaultDependencies", "no"), reload)
        self.assertEqual({name for name, _ in reload} & {
            "Requires", "Wants", "BindsTo", "RequiresMountsFor", "PrivateTmp", "DynamicUser"}, set())

    def test_a_stop_that_cuts_off_a_start_takes_the_tree_away(self):
        unit = dict(directives(UNITS[0]))
        self.assertNotIn("ExecStop", unit)
        self.assertIn("prepare --undo", unit["ExecStopPost"])

    def test_a_start_and_a_reload_stage_the_same(self):
        for service in (PREPARE, CDI):
            unit = dict(directives(service))
            self.assertEqual(unit["ExecStart"], unit["ExecReload"])


class Udev(unittest.TestCase):
    RULES = PACKAGING / "udev/70-gpuctr.rules"

    @classmethod
    def run_for(cls, action):
        return re.search(f'^ACTION=="{action}", RUN\\+="([^"]*)"$', cls.RULES.read_text(), re.M)[1]

    def test_a_gpu_that_goes_restarts_the_services(self):
        self.assertTrue(self.run_for("unbind").endswith(f" try-restart {PREPARE.name} {CDI.name}"))

    def classes(self):
        return re.search(r'ENV\{PCI_CLASS\}!="([^"]*)"', self.RULES.read_text()).group(1).split("|")

    def test_the_recorded_gpus_are_of_the_classes(self):
        recording = pathlib.Path(os.environ["GPUCTR_HOST_DIR"]) / "sys.umockdev"
        found = set(re.findall(r"^E: PCI_CLASS=(3\w+)$", recording.read_text(), re.MULTILINE))
        self.assertTrue(found)
        for number in found | {"30000", "38000", "120000"}:
            self.assertTrue(any(fnmatch.fnmatch(number, known) for known in self.classes()), number)

    def test_other_devices_are_of_none(self):
        for number in ("10802", "20000", "60400", "C0330"):
            self.assertFalse(any(fnmatch.fnmatch(number, known) for known in self.classes()), number)

    @needs("udevadm")
    def test_udev_has_nothing_to_say_about_them(self):
        if "verify" not in run("udevadm", "--help").stdout:
            return  # before systemd 254
        done = run("udevadm", "verify", "--resolve-names=never", "--no-summary", self.RULES)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


@unittest.skipIf(os.geteuid() != 0, "the directories belong to root")
class Tmpfiles(WithDirectory):
    @needs("systemd-tmpfiles")
    def test_the_directories_have_the_modes_that_the_command_gives_them(self):
        self.check("systemd-tmpfiles", "--create", f"--root={self.directory}",
                   PACKAGING / "tmpfiles/gpuctr.conf")
        for path, mode in (("run/gpucontainer", 0o755), ("var/lib/gpucontainer", 0o700)):
            status = (self.directory / path).stat()
            self.assertEqual(stat.S_IMODE(status.st_mode), mode, path)


class SELinux(unittest.TestCase):
    CONTEXTS = BUILT / "selinux/gpuctr.fc"

    def type_of(self, path):
        """Of the last line that fits, as for files that are no directories."""
        found = None
        for line in self.CONTEXTS.read_text().splitlines():
            pattern, *kind, context = line.split() or ["#", ""]
            if not pattern.startswith("#") and kind != ["-d"] and re.fullmatch(pattern, path):
                found = context
        return found

    def test_files_of_the_driver_keep_their_labels(self):
        self.assertEqual(self.type_of("/run/gpucontainer/tree/lib64/libcuda.so.1"), "<<none>>")
        self.assertIn(":gpuctr_var_lib_t,", self.type_of("/var/lib/gpucontainer/70-2/lock"))


class AppArmor(WithDirectory):
    PROFILE = BUILT / "usr.bin.gpuctr-setup"

    def parse(self, text):
        path = self.directory / "profile"
        path.write_text(text)
        done = run("apparmor_parser", "--skip-kernel-load", "--skip-cache", path)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        return run("apparmor_parser", "--names", path).stdout

    @needs("apparmor_parser")
    def test_the_profile_is_read_in_complain_mode_and_without(self):
        text = self.PROFILE.read_text()
        self.assertEqual(self.parse(text), "gpuctr-setup\n")
        self.assertIn("flags=(complain,", text)
        self.assertEqual(self.parse(text.replace("complain,", "")), "gpuctr-setup\n")

    def test_it_is_of_the_command_that_is_installed(self):
        self.assertIn(f"profile gpuctr-setup {dict(directives(UNITS[0]))['ExecStart'].split()[0]} ",
                      self.PROFILE.read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
