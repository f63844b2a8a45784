# SPDX-License-Identifier: MIT
"""The package on the simulated host "h200-x8", with eight GPUs.

GPUCTR_TEST_ROOTFS is a root file system that may be changed.
"""

from __future__ import annotations

import copy
import ctypes
import gc
import itertools
import json
import os
import pickle
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import gpucontainer as gpus
from gpucontainer import _declarations, _native, _root

ROOT = Path(os.environ["GPUCTR_TEST_ROOTFS"])
VERSION = "580.159.04"


class HostTest(unittest.TestCase):
    def test_lists_what_the_host_has(self) -> None:
        with gpus.Host() as host:
            (driver,) = host.drivers

            self.assertEqual((driver.vendor, driver.version), ("nvidia", VERSION))
            self.assertEqual([gpu.index for gpu in driver.gpus], list(range(8)))
            self.assertEqual(driver.gpus[0].model, "NVIDIA H200")
            self.assertIsNone(driver.gpus[0].numa_node)
            self.assertEqual(host.findings, ())
            self.assertTrue(driver.findings)

    def test_has_the_values_of_json(self) -> None:
        host = gpus.Host()
        document = json.loads(host.to_json())["drivers"][0]
        driver = host.drivers[0]

        for file, expected in zip(driver.files, document["files"], strict=True):
            self.assertEqual(file.path, expected["path"])
            self.assertEqual(list(file.links), expected["links"])
            self.assertEqual(file.reason, expected["reason"])
            identity = file.identity
            self.assertEqual(
                expected["id"],
                f"{identity.device}:{identity.inode}:{identity.size}:{identity.mtime_ns}",
            )
        for node, expected in zip(driver.nodes, document["nodes"], strict=True):
            self.assertEqual(
                (node.container_path, node.major, node.minor, node.mode, node.uid, node.gid),
                tuple(expected[name] for name in ("path", "major", "minor", "mode", "uid", "gid")),
            )
            self.assertEqual(node.gpu, expected["gpu"])

    def test_comes_back_from_json(self) -> None:
        host = gpus.Host()

        again = gpus.Host.from_json(host.to_json())

        self.assertEqual(again.to_json(), host.to_json())

    def test_options_reach_the_library(self) -> None:
        with self.assertRaises(gpus.Error) as raised:
            gpus.Host(vendors=["nvidia", "amd"])
        self.assertEqual(raised.exception.code, gpus.Code.NO_DEVICE)
        with self.assertRaises(gpus.Error) as raised:
            gpus.Host(catalogues=["/nonexistent.yaml"])
        self.assertEqual(raised.exception.object, "/nonexistent.yaml")
        self.assertEqual(len(gpus.Host(vendors=["nvidia", gpus.VENDOR_ANY]).drivers), 1)

    def test_parts_outlive_the_host(self) -> None:
        with gpus.Host() as host:
            gpu = host.drivers[0].gpus[7]
        del host
        gc.collect()

        self.assertEqual(gpu.index, 7)
        self.assertEqual(gpu.model, "NVIDIA H200")

    def test_a_closed_host_says_so(self) -> None:
        host = gpus.Host()
        host.close()
        host.close()

        with self.assertRaisesRegex(ValueError, "Host is closed"):
            host.drivers
        with self.assertRaisesRegex(ValueError, "Host is closed"):
            gpus.Plan(host)

    def test_is_read_only_and_not_copied(self) -> None:
        host = gpus.Host()

        with self.assertRaises(AttributeError):
            setattr(host.drivers[0], "version", "1")
        with self.assertRaisesRegex(TypeError, "cannot be copied"):
            copy.deepcopy(host)
        with self.assertRaisesRegex(TypeError, "cannot be copied"):
            pickle.dumps(host.drivers[0])

    def test_may_be_closed_while_another_thread_reads_it(self) -> None:
        host = gpus.Host()
        started = threading.Event()
        seen: list[int] = []

        def read() -> None:
            try:
                while True:
                    seen.append(len(host.drivers[0].files))
                    started.set()
            except ValueError:
                pass

        thread = threading.Thread(target=read)
        thread.start()
        started.wait()
        host.close()
        thread.join()

        self.assertEqual(len(set(seen)), 1)


class CaptureTest(unittest.TestCase):
    def test_is_an_archive_without_identities(self) -> None:
        uuid = gpus.Host().drivers[0].gpus[0].uuid.encode()
        variables = {"CUDA_VISIBLE_DEVICES": "5", "HOME": "/home/somebody"}
        for with_identities in (False, True):
            found: list[gpus.Finding] = []
            with tempfile.TemporaryFile() as file:
                gpus.capture(
                    file.fileno(),
                    environment=variables,
                    with_identities=with_identities,
                    report=found.append,
                )
                file.seek(0)
                content = file.read()
                file.seek(0)
                with tarfile.open(fileobj=file) as archive:
                    self.assertTrue(archive.getnames())

            self.assertEqual(uuid in content, with_identities)
            self.assertIn(b"CUDA_VISIBLE_DEVICES", content)
            self.assertNotIn(b"somebody", content)
            codes = {finding.code for finding in found}
            self.assertEqual("identity_replaced" in codes, not with_identities)
        with self.assertRaises(gpus.Error) as raised:
            gpus.capture(-1)
        self.assertEqual(raised.exception.code, gpus.Code.USAGE)


class ErrorTest(unittest.TestCase):
    def test_says_what_is_wrong_with_which_argument(self) -> None:
        with self.assertRaises(gpus.Error) as raised:
            gpus.Plan(gpus.Host(), devices="99")

        error = raised.exception
        self.assertEqual(error.code, gpus.Code.USAGE)
        self.assertEqual(error.argument, "devices")
        self.assertTrue(error.hint)
        self.assertIn("99", str(error))

    def test_refuses_texts_that_c_would_cut_off(self) -> None:
        with self.assertRaisesRegex(ValueError, "null byte"):
            gpus.Plan(gpus.Host(), devices="0\0,1")

    def test_refuses_numbers_that_c_would_cut_off(self) -> None:
        always = gpus.Write((1 << 32) + gpus.Write.ALWAYS)
        calls: list[tuple[type[Exception], Callable[[], object]]] = [
            (OverflowError, lambda: gpus.Plan(gpus.Host(), ROOT, write=always)),
            (OverflowError, lambda: gpus.SetupList(0xFFFFFFFF)),  # -1 would be all of the host
            (OverflowError, lambda: gpus.open_in_root(ROOT, "etc", 1 << 32)),
            (OverflowError, lambda: gpus.harden(capabilities=1 << 64)),
            (OverflowError, lambda: gpus.Prepared.adopt(b"", [1 << 32])),
            (ValueError, lambda: gpus.SetupList(-1)),
        ]
        for expected, call in calls:
            with self.assertRaises(expected):
                call()

    def test_comes_through_to_another_process(self) -> None:
        with self.assertRaises(gpus.Error) as raised:
            gpus.Plan(gpus.Host(), devices="99")
        attach = gpus.AttachError(gpus.Code.APPLY, "attach mount", "/dev/null", 16)
        for error in (raised.exception, attach):
            again = pickle.loads(pickle.dumps(error))

            self.assertIs(type(again), type(error))
            self.assertEqual((str(again), vars(again)), (str(error), vars(error)))

    def test_knows_codes_of_later_versions_by_number(self) -> None:
        self.assertEqual(gpus.Code(-77), -77)


class PlanTest(unittest.TestCase):
    def test_shows_what_would_be_done(self) -> None:
        plan = gpus.Plan(gpus.Host(), devices="1,2", driver_capabilities="compute")

        self.assertEqual([gpu.index for gpu in plan.drivers[0].gpus], [1, 2])
        self.assertEqual(plan.layout, gpus.Layout.TREE)
        self.assertEqual(plan.tree_path, "/usr/lib/gpuctr")
        targets = [item.target for item in plan.items if item.kind == "device"]
        self.assertIn("/dev/nvidia2", targets)
        self.assertNotIn("/dev/nvidia0", targets)
        self.assertIn(gpus.DeviceRule("c", "rw", 195, 2), plan.device_rules)
        self.assertEqual(plan.groups, ())
        self.assertEqual(json.loads(plan.to_json())["schema"], "gpucontainer/plan/1")

    def test_says_why(self) -> None:
        plan = gpus.Plan(gpus.Host(), ROOT, devices="1,2", driver_capabilities="compute")
        explanation = plan.explain("libcuda.so", ROOT)
        plan.close()

        (answer,) = explanation.answers
        self.assertEqual((answer.kind, answer.name, answer.vendor), ("library", "libcuda.so.1", "nvidia"))
        self.assertTrue(answer.is_given and answer.reason)
        self.assertTrue(os.path.samefile(answer.path, answer.items[0].source))
        (document,) = json.loads(explanation.to_json())["answers"]
        self.assertEqual(document["name"], answer.name)

    def test_says_why_not(self) -> None:
        plan = gpus.Plan(gpus.Host(), devices="1,2", driver_capabilities="compute")

        (answer,) = plan.explain("nvidia0").answers

        self.assertEqual((answer.name, answer.is_given), ("/dev/nvidia0", False))
        self.assertEqual((answer.kind, answer.items), ("node", ()))
        self.assertTrue(any("--device" in remedy for remedy in answer.remedies))
        with self.assertRaises(gpus.Error) as raised:
            plan.explain("libnothing.so")
        self.assertEqual(raised.exception.code, gpus.Code.USAGE)

    def test_has_the_bytes_of_generated_files(self) -> None:
        items = {item.target: item for item in gpus.Plan(gpus.Host(), ROOT).items}

        content = items["/etc/ld.so.cache"].content
        assert content is not None
        self.assertTrue(content.startswith(b"glibc-ld.so.cache1.1"))
        self.assertIn(b"/usr/lib/gpuctr/lib64/libcuda.so.1", content)
        self.assertEqual(items["/etc/ld.so.cache"].mode, 0o644)
        self.assertIsNone(items["/dev/nvidia0"].content)
        self.assertEqual((items["/dev/nvidia0"].major, items["/dev/nvidia0"].minor), (195, 0))

    def test_a_policy_of_nothing_allows_not_all(self) -> None:
        with self.assertRaises(gpus.Error) as raised:
            gpus.Plan(gpus.Host(), devices="0", allowed_devices="")

        self.assertEqual(raised.exception.argument, "allowed_devices")

    def test_auto_follows_the_environment(self) -> None:
        plan = gpus.Plan(gpus.Host(), environment={"CUDA_VISIBLE_DEVICES": "5"})

        self.assertEqual([gpu.index for gpu in plan.drivers[0].gpus], [5])

    def test_a_container_asks_for_gpus_itself(self) -> None:
        read = gpus.ContainerEnvironment(
            text="NVIDIA_VISIBLE_DEVICES=2,3\nX=$Y\n",
            environment={"APPTAINERENV_Z": "1"},
        )
        self.assertEqual(read.variables, ("NVIDIA_VISIBLE_DEVICES=2,3", "Z=1"))
        self.assertEqual(len(read.findings), 1)

        host = gpus.Host()
        plan = gpus.Plan(host, container_environment=read.variables)
        self.assertEqual([gpu.index for gpu in plan.drivers[0].gpus], [2, 3])
        plan = gpus.Plan(host, container_environment=read.variables, names_devices=True)
        self.assertGreater(len(plan.drivers[0].gpus), 2)

    def test_requirements_have_to_be_met(self) -> None:
        host = gpus.Host()
        with self.assertRaises(gpus.Error) as raised:
            gpus.Plan(host, requirements=["cuda>=1 arch>=99", "arch>=99"])
        self.assertEqual(raised.exception.code, gpus.Code.REQUIREMENT)
        self.assertEqual(raised.exception.object, "arch>=99")

        plan = gpus.Plan(host, requirements=["cuda>=1 arch>=99"])
        plan.check_requirement("driver>=1")
        with self.assertRaises(gpus.Error) as raised:
            plan.check_requirement("brand=none")
        self.assertEqual(raised.exception.code, gpus.Code.REQUIREMENT)

    def test_decides_about_the_c_library_if_asked(self) -> None:
        host = gpus.Host()
        for glibc in (gpus.Glibc.NEVER, gpus.Glibc.AUTO):
            plan = gpus.Plan(host, ROOT, glibc=glibc, program="sh")

            codes = [finding.code for finding in plan.findings]
            self.assertEqual("c_library_decided" in codes, glibc == gpus.Glibc.AUTO)
        with self.assertRaises(gpus.Error) as raised:
            gpus.Plan(host, glibc=gpus.Glibc(9))
        self.assertEqual(raised.exception.argument, "glibc")

    def test_needs_a_root_that_is_there(self) -> None:
        with self.assertRaises(FileNotFoundError):
            gpus.Plan(gpus.Host(), "/nonexistent")


class CheckTest(unittest.TestCase):
    def serious(self, check: gpus.Check) -> list[str]:
        return [str(one) for one in check.findings if one.severity >= gpus.Severity.WARNING]

    def test_finds_nothing_wrong(self) -> None:
        for root in (None, ROOT):
            check = gpus.Check(root, program="sh" if root else None)

            self.assertEqual(self.serious(check), [])
            self.assertEqual(json.loads(check.to_json())["schema"], "gpucontainer/check/1")

    def test_says_what_stops_programs(self) -> None:
        check = gpus.Check(ROOT, request=gpus.Request(devices="99"))

        finding = check.findings[0]
        self.assertEqual(finding.severity, gpus.Severity.ERROR)
        self.assertEqual(finding.evidence, "devices")
        self.assertIn("99", str(finding))
        check = gpus.Check(ROOT, program="/usr/bin/missing")
        self.assertEqual([finding.code for finding in check.findings], ["program_missing"])

    def test_options_reach_the_library(self) -> None:
        check = gpus.Check(host=gpus.HostOptions(vendors=["amd"]))
        self.assertEqual(check.findings[0].severity, gpus.Severity.ERROR)
        record = gpus.Host.from_json(gpus.Host().to_json())
        self.assertEqual(self.serious(gpus.Check(record=record)), [])
        with self.assertRaises(gpus.Error) as raised:
            gpus.Check(pidfd=0)
        self.assertEqual(raised.exception.argument, "pidfd")

    @unittest.skipUnless(os.geteuid() == 0, "chroot is for root")
    def test_looks_at_a_container_as_it_is(self) -> None:
        container = subprocess.Popen(["/bin/sleep", "60"], preexec_fn=lambda: os.chroot(ROOT))
        self.addCleanup(container.wait)
        self.addCleanup(container.kill)
        pidfd = os.pidfd_open(container.pid)
        self.addCleanup(os.close, pidfd)

        check = gpus.Check(f"/proc/{container.pid}/root", pidfd=pidfd)

        self.assertIn("/dev/nvidiactl", " ".join(self.serious(check)))


class ImageTest(unittest.TestCase):
    def test_finds_the_root_file_system(self) -> None:
        squashfs = struct.pack("<4s24x2H8xQ80x", b"hsqs", 4, 0, 96)
        with tempfile.NamedTemporaryFile() as file:
            file.write(squashfs)
            file.flush()
            expected = gpus.ImagePlace(0, len(squashfs), is_signed=False, has_overlay=False)

            self.assertEqual(gpus.find_image(file.name), expected)
            self.assertEqual(gpus.find_image(file.fileno()), expected)
            gpus.check_image_trust(file.name)
            os.chmod(file.name, 0o666)
            with self.assertRaises(gpus.Error) as raised:
                gpus.check_image_trust(file.name)
            self.assertEqual(raised.exception.code, gpus.Code.PERMISSION)
        with self.assertRaises(gpus.Error) as raised:
            gpus.find_image("/etc")
        self.assertEqual(raised.exception.code, gpus.Code.ROOTFS)

    @unittest.skipUnless(shutil.which("mksquashfs"), "no mksquashfs")
    def test_may_be_a_root_that_is_looked_at(self) -> None:
        path = Path(tempfile.mkdtemp(prefix="gpuctr-python."), "image")
        self.addCleanup(shutil.rmtree, path.parent)
        subprocess.run(["mksquashfs", ROOT, path, "-quiet", "-no-progress"], check=True)

        plan = gpus.Plan(gpus.Host(), path)

        self.assertIn("/etc/ld.so.cache", [item.target for item in plan.items])
        self.assertEqual([str(one) for one in gpus.Check(path, program="sh").findings], [])
        self.assertEqual(gpus.ContainerEnvironment(path).variables, ())
        with self.assertRaises(NotADirectoryError):
            plan.apply(path)

    def test_a_root_may_be_no_file_of_another_kind(self) -> None:
        calls: list[Callable[[], object]] = [
            lambda: gpus.Plan(gpus.Host(), "/etc/passwd"),
            lambda: gpus.Check("/etc/passwd"),
            lambda: gpus.ContainerEnvironment("/etc/passwd"),
            lambda: gpus.Check("/dev/null"),
        ]
        for call in calls:
            with self.assertRaises(gpus.Error) as raised:
                call()
            self.assertEqual(raised.exception.code, gpus.Code.ROOTFS)


@unittest.skipUnless(os.geteuid() == 0, "mounting is for root")
class ApplyTest(unittest.TestCase):
    def setUp(self) -> None:
        state = tempfile.TemporaryDirectory(prefix="gpuctr-python.")
        self.addCleanup(state.cleanup)
        self.state = state.name
        self.plan = gpus.Plan(gpus.Host(), ROOT, devices="0")

    def tearDown(self) -> None:
        gpus.undo(ROOT, state_dir=self.state)

    def apply(self, no_replace: bool = False) -> gpus.Outcome:
        return self.plan.apply(ROOT, state_dir=self.state, no_replace=no_replace)

    def test_applies_shows_and_undoes(self) -> None:
        self.assertEqual(self.apply(), gpus.Outcome.APPLIED)
        self.assertEqual((ROOT / "dev/nvidia0").stat().st_rdev, os.makedev(195, 0))
        self.assertEqual(self.apply(), gpus.Outcome.UNCHANGED)

        setups = gpus.SetupList(ROOT, state_dir=self.state)
        self.assertEqual(len(setups), 1)
        self.assertEqual(setups[0].root, str(ROOT))
        self.assertEqual(setups[-1].origin, "here")
        self.assertEqual(setups[0].drivers[0].version, VERSION)
        self.assertEqual([finding.code for setup in setups for finding in setup.findings], [])
        with self.assertRaises(IndexError):
            setups[1]

        self.assertTrue(gpus.undo(ROOT, state_dir=self.state))
        self.assertFalse(gpus.undo(ROOT, state_dir=self.state))
        self.assertFalse((ROOT / "dev/nvidia0").exists())

    def test_undoes_one_of_a_list(self) -> None:
        self.apply()

        (setup,) = gpus.SetupList(state_dir=self.state)

        self.assertIsNone(setup.process)
        self.assertEqual(setup.undo(state_dir=self.state), gpus.Undone.UNDONE)
        self.assertEqual(len(gpus.SetupList(ROOT, state_dir=self.state)), 0)

    def test_does_not_replace_what_is_in_use(self) -> None:
        self.apply()
        self.plan = gpus.Plan(gpus.Host(), ROOT, devices="1")

        with self.assertRaises(gpus.Error) as raised:
            self.apply(no_replace=True)

        self.assertEqual(raised.exception.code, gpus.Code.EXISTS)

    def test_reports_what_it_found(self) -> None:
        self.apply()
        # What a program in the container made stays, and is reported.
        node = ROOT / "dev/nvidia7"
        os.mknod(node, 0o020666, os.makedev(195, 7))
        found: list[gpus.Finding] = []

        gpus.undo(ROOT, state_dir=self.state, report=found.append)

        node.unlink()
        self.assertEqual([finding.code for finding in found], ["node_left"])
        self.assertEqual(found[0].severity, gpus.Severity.WARNING)
        self.assertIn("/dev/nvidia7", str(found[0]))

    def test_an_interrupt_during_a_report_reaches_the_caller(self) -> None:
        driver = gpus.Host().drivers[0]
        finding = _native.library.gpuctr_driver_finding_at(driver._pointer, 0)
        options = _declarations.UndoOptions()
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, handler)
        found: list[gpus.Finding] = []

        # The list is made of calls that C makes one after the other: Ctrl-C, then the report.
        with self.assertRaises(KeyboardInterrupt), _root.reporting(options, found.append):
            list(
                itertools.chain(
                    map(ctypes.pythonapi.PyErr_SetInterrupt, [0]),
                    map(options.report, [None], [finding]),
                )
            )

    def test_an_object_lives_as_long_as_a_call_that_uses_it(self) -> None:
        prepared = self.plan.prepare()
        closed: list[str] = []
        for owner, function, call in (
            (gpus.SetupList(ROOT, state_dir=self.state), "gpuctr_setup_list_count", len),
            (prepared, "gpuctr_prepared_size", lambda of: of.data),
        ):
            free = owner._handle._free
            real = getattr(_native.library, function)

            def note(pointer: int) -> None:
                closed.append("freed")
                free(pointer)

            def count(pointer: int) -> int:
                owner.close()  # as another thread might
                self.assertEqual(closed, [])
                return int(real(pointer))

            owner._handle._free = note

            with mock.patch.object(_native.library, function, count):
                call(owner)
            self.assertEqual(closed, ["freed"])
            closed.clear()

    def test_prepared_is_attached_through_another_object(self) -> None:
        subprocess.run(["mount", "--bind", ROOT, ROOT], check=True)
        self.addCleanup(lambda: subprocess.run(["umount", ROOT], check=True))
        subprocess.run(["mount", "--make-private", ROOT], check=True)
        prepared = gpus.Plan(gpus.Host(), ROOT, devices="0").prepare()
        adopted = gpus.Prepared.adopt(prepared.data, [os.dup(fd) for fd in prepared.fds])
        prepared.close()
        root = os.open(ROOT, os.O_PATH | os.O_DIRECTORY)
        self.addCleanup(os.close, root)

        adopted.attach(root)
        self.assertTrue((ROOT / "dev/nvidia0").is_char_device())
        adopted.undo(root)

        self.assertFalse((ROOT / "dev/nvidia0").exists())
        with open("/etc/passwd", "rb") as file, self.assertRaises(gpus.AttachError) as raised:
            adopted.attach(file.fileno())
        self.assertEqual(raised.exception.code, gpus.Code.ROOTFS)
        self.assertTrue(raised.exception.step)
        with self.assertRaises(ValueError):
            gpus.Prepared.adopt(b"something else", [])

    def test_stages_a_tree_once(self) -> None:
        directory = self.state + "/staged"

        self.assertEqual(self.plan.stage(directory), gpus.Staged.STAGED)
        self.assertEqual(self.plan.stage(directory), gpus.Staged.UNCHANGED)
        self.assertTrue(gpus.unstage(directory))
        self.assertFalse(gpus.unstage(directory))

    def test_opens_within_the_root(self) -> None:
        (ROOT / "escape").symlink_to("/etc/passwd")
        self.addCleanup((ROOT / "escape").unlink)

        descriptor = gpus.open_in_root(ROOT, "escape")

        self.addCleanup(os.close, descriptor)
        self.assertTrue(os.path.samestat(os.fstat(descriptor), (ROOT / "etc/passwd").stat()))


class ConfigTest(unittest.TestCase):
    def test_reads_settings_and_mistakes(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "config.yaml")
            path.write_text("state-dir: /a\ncatalogue: [/b, /c]\n", encoding="utf-8")
            values = [(s.key, s.value, s.in_list, s.line) for s in gpus.Config(path).settings]
            self.assertEqual(
                values,
                [
                    ("state-dir", "/a", False, 1),
                    ("catalogue", "/b", True, 2),
                    ("catalogue", "/c", True, 2),
                ],
            )
            path.write_text("State_Dir: [[1]]\n", encoding="utf-8")
            (setting,) = gpus.Config(path, with_mistakes=True).settings
            self.assertIn(str(path), setting.mistake or "")
            with self.assertRaises(gpus.Error):
                gpus.Config(path)


class ProcessTest(unittest.TestCase):
    def test_drops_privileges_of_a_thread(self) -> None:
        effective: list[str] = []

        def run() -> None:
            gpus.harden(flags=gpus.Harden.DUMPABLE)
            status = Path("/proc/thread-self/status").read_text(encoding="ascii")
            effective.extend(line for line in status.splitlines() if line.startswith("CapEff"))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()

        self.assertEqual(effective, ["CapEff:\t0000000000000000"])

    def test_tells_its_version(self) -> None:
        self.assertRegex(gpus.version(), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
