# SPDX-License-Identifier: MIT
"""gpuctr-setup cdi: specifications that are written, checked and listed."""

import itertools
import json
import os
import pathlib
import shutil
import stat
import unittest

import harness
from harness import DIRECTORY, ORDINARY_USER, VERSION

FILES = pathlib.Path("/var/lib/gpucontainer-cdi")
ENGINES = pathlib.Path("/run/cdi")
INSTALLED = ENGINES / "nvidia.com-gpu.json"
ICD = FILES / "nvidia.com-gpu/etc/OpenCL/vendors/nvidia.icd"
MINIMAL = "cdiVersion: 0.5.0\nkind: {}\ndevices:\n- name: {}\n  containerEdits: {{env: [A=b]}}\n"


class Cdi(harness.Case):
    def setUp(self):
        super().setUp()
        for directory in (FILES, ENGINES):
            shutil.rmtree(directory, ignore_errors=True)
        self.directory = DIRECTORY / "cdi"
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir()

    def cdi(self, *words, status=0, stderr="", **options):
        done = harness.setup("cdi", *words, **options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        if stderr is not None:
            self.assertEqual(done.stderr, stderr)
        return done.stdout

    def generated(self, *words):
        return json.loads(self.cdi("generate", "--nv", *words))

    def write(self, name, text):
        path = self.directory / name
        path.write_text(text, encoding="utf-8")
        return path

    def listed(self, *words, status=0):
        return json.loads(self.cdi("list", "--json", *words, status=status))

    def findings(self, *words, status=0):
        return [(one["code"], one["text"]) for one in self.listed(*words, status=status)["findings"]
                if one["severity"] != "note"]


class Generate(Cdi):
    def test_what_is_printed_is_valid(self):
        for form in ("json", "yaml"):
            path = self.write(f"one.{form}", self.cdi("generate", "--nv", "--format", form))
            # Its small files are not there, as nothing was installed.
            out = self.cdi("validate", "-q", path)
            self.assertEqual(out.count("\n"), 1, out)
            self.assertIn(f"{ICD}: No such file", out)
        self.assertFalse(FILES.exists())

    def test_each_mount_names_a_file_of_the_host(self):
        for mount in self.generated()["containerEdits"]["mounts"]:
            if not mount["hostPath"].startswith(str(FILES)):
                self.assertTrue(os.path.exists(mount["hostPath"]), mount)

    def test_a_pinned_version_holds_the_content_or_is_refused(self):
        self.assertEqual(self.generated("--cdi-version", "0.8.0")["cdiVersion"], "0.8.0")
        self.cdi("generate", "--nv", "--cdi-version", "0.4.0", status=2,
                 stderr="gpuctr-setup: version 0.4.0 of CDI is too old for this: "
                        "device 0: a name that begins with a digit needs 0.5.0\n")

    def test_the_variables_of_a_scheduler_do_not_count(self):
        whole = self.generated()
        os.environ["CUDA_VISIBLE_DEVICES"] = "1"
        self.addCleanup(os.environ.pop, "CUDA_VISIBLE_DEVICES")
        self.assertEqual(self.generated(), whole)

    def test_chosen_gpus_alone(self):
        names = [device["name"] for device in self.generated("--device", "3")["devices"]]
        self.assertEqual(names, ["3", "GPU-72ad9aad-14aa-5eea-0ec2-b77c668b1467", "0000:00:09.0",
                                 "all"])

    def test_of_a_recorded_host(self):
        record = self.write("host.json", harness.must(harness.SETUP, "list", "--nv", "--json"))
        self.assertEqual(self.generated("--host", record), self.generated())

    def test_say_what_to_do(self):
        self.cdi(status=2, stderr="gpuctr-setup: cdi: say what to do: generate, validate, list "
                                  "or apply\n"
                                  "hint: gpuctr-setup cdi --help\n")

    def test_a_name_that_json_cannot_say_is_an_error(self):
        driver = harness.new_driver(self, VERSION)
        libraries = driver / "usr/lib/x86_64-linux-gnu"
        content = (libraries / f"libnvidia-ml.so.{VERSION}").read_bytes()
        name = b"libnvidia-\xff\xfe"
        odd = libraries / os.fsdecode(name + f".so.{VERSION}".encode())
        odd.write_bytes(content.replace(b"libnvidia-ml", name))
        harness.must("ldconfig", "-r", driver)
        words = ["generate", "--nv", "--driver-root", driver]
        self.cdi(*words, status=2,
                 stderr=f"gpuctr-setup: CDI: {libraries}/libnvidia-\\xff\\xfe.so.{VERSION}: its name "
                        "is not UTF-8\n"
                        "hint: rename the file, or leave it out by a catalogue\n")
        odd.unlink()
        harness.must("ldconfig", "-r", driver)
        self.cdi(*words)

    def test_a_restricted_call_is_refused(self):
        done = harness.setup("--restricted", "cdi", "generate", "--nv")
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn("cdi generate: refused in a restricted call", done.stderr)


class Install(Cdi):
    def install(self, *words, **options):
        return self.cdi("generate", "--nv", "--install", *words, **options)

    def test_engines_find_a_complete_specification(self):
        os.umask(0o077)
        self.addCleanup(os.umask, 0o022)
        self.install()
        self.assertEqual(json.loads(INSTALLED.read_text()), self.generated())
        self.assertEqual(ICD.read_text(), "libnvidia-opencl.so.1\n")
        self.assertEqual(self.findings("--fail-on", "warning"), [])
        for path in (INSTALLED, ICD):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o644)
        for path in (ENGINES, FILES, ICD.parent):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o755)
        self.assertEqual(sorted(os.listdir(ENGINES)), [INSTALLED.name])

    def test_a_second_time_changes_nothing(self):
        self.install()
        def seen():
            return [(path.stat().st_ino, path.stat().st_mtime_ns) for path in (INSTALLED, ICD)]
        before = seen()
        self.install("-v", stderr="gpuctr-setup: /var/run/cdi/nvidia.com-gpu.json: unchanged\n")
        self.assertEqual(seen(), before)

    def test_what_is_missing_is_made_again(self):
        self.install()
        ICD.unlink()
        self.install("-v", stderr="gpuctr-setup: /var/run/cdi/nvidia.com-gpu.json: written\n")
        self.assertTrue(ICD.exists())

    def test_another_choice_replaces_it(self):
        self.install()
        self.install("--device", "0")
        self.assertEqual(len(json.loads(INSTALLED.read_text())["devices"]), 4)

    def test_a_device_of_another_specification_is_left_to_it(self):
        for kind, status in (("nvidia.com/gpu", 10), ("nvidia.com/other", 0)):
            ENGINES.mkdir(exist_ok=True)
            (ENGINES / "nvidia.yaml").write_text(MINIMAL.format(kind, "all"))
            self.install(status=status, stderr=None)
            self.assertEqual(INSTALLED.exists(), status == 0)

    def test_a_file_of_somebody_else_stays(self):
        ENGINES.mkdir()
        INSTALLED.write_text("{}")
        self.install(status=10, stderr="gpuctr-setup: /var/run/cdi/nvidia.com-gpu.json is there, and "
                                       "was not installed by this program\n"
                                       "hint: remove it, or name another directory\n")
        self.assertEqual(INSTALLED.read_text(), "{}")

    def test_a_file_that_somebody_else_wrote_over_ours_stays(self):
        self.install()
        INSTALLED.write_text(MINIMAL.format("vendor.com/gpu", "other"))
        self.install(status=10, stderr=None)
        self.assertIn("vendor.com", INSTALLED.read_text())

    def test_a_directory_that_others_can_write_is_refused(self):
        # In a sticky one, others could put a file there first.
        for directory, mode in itertools.product((ENGINES, FILES), (0o777, 0o1777)):
            with self.subTest(directory, mode=mode):
                for one in (ENGINES, FILES):
                    one.mkdir(exist_ok=True)
                directory.chmod(mode)
                self.install(status=6, stderr=None)
                self.assertFalse(INSTALLED.exists())
                directory.chmod(0o755)

    def test_a_user_is_told_what_is_missing(self):
        done = harness.call(*ORDINARY_USER, harness.SETUP, "cdi", "generate", "--nv", "--install")
        self.assertEqual(done.returncode, 6, done.stderr)

    def test_a_file_of_any_name(self):
        path = self.directory / "made/nvidia.yaml"
        self.cdi("generate", "--nv", "--output-file", path)
        self.assertEqual(path.read_text(), self.cdi("generate", "--nv", "--format", "yaml"))
        self.cdi("validate", path)
        self.cdi("generate", "--nv", "--output-file", self.directory / "a.txt", status=2, stderr=None)
        self.cdi("generate", "--nv", "--output-file", "a.json", status=2, stderr=None)


class Staged(Cdi):
    TREE = pathlib.Path("/run/gpucontainer/tree")
    PLACES = {f"{directory}/{place}" for directory in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64")
              for place in ("tls", "glibc-hwcaps/x86-64-v2")} | {"/usr/local/nvidia/lib64"}

    def stage(self, *words):
        harness.must(harness.SETUP, "prepare", "--nv", *words)
        self.addCleanup(harness.must, harness.SETUP, "prepare", "--undo", "-q")

    def mounts(self, *words):
        return self.generated("--staged", *words)["containerEdits"]["mounts"]

    def test_the_tree_is_mounted_and_no_library_by_itself(self):
        self.stage()
        mounts = self.mounts()
        self.assertEqual({one["containerPath"] for one in mounts
                          if one["hostPath"] == f"{self.TREE}/lib64"}, self.PLACES)
        for one in mounts:
            self.assertNotIn(VERSION, one["hostPath"], one)
            self.assertNotRegex(one["containerPath"], r"(lib64|gnu)/lib[^/]*\.so")
            self.assertTrue(os.path.exists(one["hostPath"])
                            or one["hostPath"].startswith(str(FILES)), one)

    def test_what_is_not_in_the_tree_stays_a_mount(self):
        self.stage("--driver-capabilities", "utility")
        paths = [one["containerPath"] for one in self.mounts()]
        self.assertIn("/usr/lib64/libcuda.so.1", paths)
        self.assertNotIn("/usr/lib64/libnvidia-ml.so.1", paths)

    def test_a_tree_that_is_not_there_is_an_error(self):
        self.cdi("generate", "--nv", "--staged", status=2,
                 stderr=f"gpuctr-setup: CDI: nothing is staged at {self.TREE}\n"
                        "hint: `gpuctr-setup prepare` stages the driver's files\n")
        self.stage()
        self.cdi("generate", "--nv", "--staged", "--vendor-libs", "none", status=2, stderr=None)

    def test_a_tree_that_others_can_write_is_refused(self):
        tree = self.directory / "tree"
        (tree / "lib64").mkdir(parents=True)
        (tree / "lib64/libcuda.so.1").touch()
        words = ["generate", "--nv", "--staged", "--staged-tree", tree]
        self.cdi(*words)
        for mode in (0o777, 0o1777):
            (tree / "lib64").chmod(mode)
            self.cdi(*words, status=6, stderr=None)


class Hooks(Cdi):
    def test_the_hook_does_what_mounts_would(self):
        document = self.generated("--hooks", "--driver-capabilities", "all", "--driver-root", "/")
        edits = document["containerEdits"]
        self.assertNotIn("mounts", edits)
        self.assertEqual(edits["hooks"], [{
            "hookName": "createContainer", "path": harness.SETUP,
            "args": [harness.SETUP, "hook", "--by-nodes", "--driver-root", "/",
                     "--driver-capabilities", "all"],
            "env": ["PATH=/usr/bin:/bin"]}])
        self.assertEqual([node["path"] for node in
                          document["devices"][0]["containerEdits"]["deviceNodes"]], ["/dev/nvidia0"])

    def test_it_needs_no_staged_tree(self):
        self.cdi("generate", "--nv", "--hooks", "--staged", status=2, stderr=None)

    def test_validate_says_what_a_specification_without_hooks_cannot_do(self):
        for words, told in ((), 1), (("--hooks",), 0):
            path = self.write("one.json", self.cdi("generate", "--nv", *words))
            out = self.cdi("validate", "--fail-on", "warning", path,
                           status=0 if words else 9)
            self.assertEqual(out.count(f"note: {path}: without a hook, its libraries come after"),
                             told, out)


class Stale(Cdi):
    def setUp(self):
        super().setUp()
        self.cdi("generate", "--nv", "--install")

    def outdated(self):
        self.assertEqual(self.findings(), found := self.findings("--fail-on", "warning", status=9))
        self.assertEqual({code for code, _ in found}, {"cdi_outdated"})
        return [text for _, text in found]

    def test_another_driver(self):
        harness.load_module(self, "590.10.01")
        # Its files are still of the old version, so the driver cannot be told.
        self.assertEqual(self.outdated(), [f"driver was NVIDIA {VERSION}, and is not there"] + [
            text for text in self.outdated() if text.startswith("GPU ")])

    def test_a_missing_node(self):
        os.unlink("/dev/nvidia3")
        self.addCleanup(os.mknod, "/dev/nvidia3", 0o666 | stat.S_IFCHR, os.makedev(195, 3))
        self.assertIn("/dev/nvidia3: No such file or directory", self.outdated())

    def test_a_missing_manifest(self):
        ICD.unlink()
        self.assertEqual(self.outdated(), [f"{ICD}: No such file or directory"])

    def test_another_boot_is_no_difference(self):
        with harness.new_boot():
            self.assertEqual(self.findings("--fail-on", "warning"), [])

    def test_it_is_told_in_words(self):
        ICD.unlink()
        out = self.cdi("list", "--fail-on", "warning", status=9)
        self.assertIn(f"warning: /var/run/cdi/nvidia.com-gpu.json: {ICD}: No such file", out)

    def test_a_record_of_garbage_is_passed_over(self):
        (FILES / "nvidia.com-gpu.record").write_bytes(b"\0" * 100)
        self.assertEqual(self.findings("--fail-on", "warning"), [])


class Read(Cdi):
    def test_mistakes_have_a_line(self):
        path = self.write("bad.yaml", MINIMAL.format("vendor.com/gpu", "a b") + "more: 1\n")
        self.assertEqual(self.cdi("validate", path, status=9).splitlines(),
                         [f"error: {path}:4: devices[0]: device 'a b': the name has a character that "
                          "is no letter, no digit and none of _-.:",
                          f"error: {path}:6: unknown field 'more'"])

    def test_hostile_files_are_refused_with_a_reason(self):
        huge = self.write("huge.json", "")
        os.truncate(huge, 100 << 20)
        os.mkfifo(self.directory / "fifo.yaml")
        os.symlink("/dev/zero", self.directory / "zero.json")
        self.write("deep.json", "[" * 100000)
        self.write("binary.yaml", "a: \x1b[31m\0")
        out = self.cdi("validate", self.directory, status=9)
        for text in ("huge.json: larger than 4194304 bytes", "fifo.yaml: not a regular file",
                     "zero.json: not a regular file", "deep.json: nested in more than 16 levels",
                     "binary.yaml: line 1: control character U+001B"):
            self.assertIn(text, out)
        self.assertNotIn("\x1b", out)

    def test_a_missing_file(self):
        self.assertEqual(self.cdi("validate", "/nowhere/a.json", status=9),
                         "error: /nowhere/a.json: No such file or directory\n")
        self.cdi("validate", status=2, stderr=None)

    def test_conflicts_and_priorities(self):
        low, high = self.directory / "low", self.directory / "high"
        for directory in (low, high):
            directory.mkdir()
        for path, name in ((low / "a.yaml", "x"), (low / "b.yaml", "x"), (low / "c.yaml", "z"),
                           (high / "a.yaml", "z")):
            path.write_text(MINIMAL.format("vendor.com/gpu", name))
        document = self.listed("--spec-dir", low, "--spec-dir", high, status=9)
        self.assertEqual(document["devices"], [
            {"name": "vendor.com/gpu=x", "path": str(low / "a.yaml"), "state": "conflict"},
            {"name": "vendor.com/gpu=x", "path": str(low / "b.yaml"), "state": "conflict"},
            {"name": "vendor.com/gpu=z", "path": str(low / "c.yaml"), "state": "overridden"},
            {"name": "vendor.com/gpu=z", "path": str(high / "a.yaml"), "state": "usable"}])
        self.assertEqual([one["code"] for one in document["findings"]], ["cdi_conflict"])

    def test_no_specification(self):
        self.assertEqual(self.cdi("list", "--spec-dir", "/nowhere", stderr=None), "")


if __name__ == "__main__":
    unittest.main()
