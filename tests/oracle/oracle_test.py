# SPDX-License-Identifier: MIT
"""The oracle itself: that each case shows what it says it shows, and healthy cases do not."""

import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import combine  # noqa: E402
import elf_look  # noqa: E402
import faults  # noqa: E402
import healthy  # noqa: E402
import look  # noqa: E402
import model  # noqa: E402
import stand  # noqa: E402
import table  # noqa: E402

SETUP, SIMHOST = os.environ["GPUCTR_SETUP"], os.environ["GPUCTR_SIMHOST"]
FAULTS = list(faults.FAULTS.values())
# Files that not every kernel has: gpuctr-simhost cannot show them where they are missing.
OF_SOME_KERNELS = ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
                   "/proc/sys/kernel/unprivileged_userns_clone")
DIRECTORY = Path()


def setUpModule():
    global DIRECTORY
    # thousands of small files, which a disk takes a minute for
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    DIRECTORY = Path(tempfile.mkdtemp(prefix="gpuctr-oracle-", dir=memory))
    unittest.addModuleCleanup(shutil.rmtree, DIRECTORY)
    DIRECTORY.chmod(0o755)  # some cases are of an ordinary user
    for base in {fault.whole_base() for fault in FAULTS}:
        model.Case.made_of(base).write(base_directory(base), model.expected([]))
    for fault in FAULTS:
        combine.case_of(fault).write(DIRECTORY / fault.key, model.expected([fault]))
    for case in healthy.HEALTHY:
        case.case().write(healthy_directory(case), model.expected([]))


def base_directory(base):
    return DIRECTORY / "-".join(("base", *base))


def healthy_directory(case):
    return DIRECTORY / f"healthy-{case.name}"


def in_parallel(function, inputs):
    """Each input with what the function makes of it."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(zip(inputs, pool.map(function, inputs)))


class Faults(unittest.TestCase):
    def test_there_are_enough_of_each_vendor_and_room(self):
        self.assertGreaterEqual(len(FAULTS), 60)
        self.assertEqual({fault.vendor for fault in FAULTS},
                         {"nvidia", "amd", "intel", "gaudi", "any"})

    def test_each_shows_all_of_its_evidence(self):
        for fault in FAULTS:
            case = look.Case(DIRECTORY / fault.key)
            written = json.loads((DIRECTORY / fault.key / "expected.json").read_text())["faults"][0]
            for evidence in written["evidence"]:
                with self.subTest(fault=fault.key, path=evidence["path"]):
                    self.assertTrue(case.holds(evidence), evidence)

    def test_the_healthy_case_shows_only_what_is_said_to_be_there_before(self):
        for fault in FAULTS:
            case = look.Case(base_directory(fault.whole_base()))
            self.assertFalse(all(evidence.before for evidence in fault.evidence), fault.key)
            for evidence in fault.evidence:
                with self.subTest(fault=fault.key, path=evidence.path):
                    self.assertEqual(case.holds(evidence.document()), evidence.before)

    def test_no_healthy_case_shows_all_evidence_of_a_fault(self):
        for case in healthy.HEALTHY:
            shown = look.Case(healthy_directory(case))
            for fault in FAULTS:
                with self.subTest(case=case.name, fault=fault.key):
                    self.assertFalse(all(shown.holds(evidence.document())
                                         for evidence in fault.evidence))

    def test_no_fault_shows_all_evidence_of_another(self):
        for fault in FAULTS:
            case = look.Case(DIRECTORY / fault.key)
            shown = [other.key for other in FAULTS
                     if all(case.holds(evidence.document()) for evidence in other.evidence)]
            self.assertEqual(shown, [fault.key])

    def test_an_exclusion_names_something(self):
        names = {name for fault in FAULTS for name in (fault.key, fault.subject, fault.room,
                                                       *fault.tags)}
        for fault in FAULTS:
            self.assertEqual(set(fault.not_with) - names, set(), fault.key)

    def test_there_are_enough_healthy_cases(self):
        self.assertGreaterEqual(len(healthy.HEALTHY), 40)
        self.assertEqual(len({case.name for case in healthy.HEALTHY}), len(healthy.HEALTHY))


class HealthyImages(unittest.TestCase):
    """An image that lacks something by mistake would make a false alarm a true one."""

    OF_THE_DRIVER = {"libcuda.so.1"}

    def test_have_all_that_their_files_need(self):
        for case in healthy.HEALTHY:
            files = elf_files(healthy_directory(case) / "image")
            self.assertTrue(files)
            defined = {}  # symbol versions, by the soname that has them
            for path, facts in files.items():
                for soname in facts["soname"] or [path.name]:
                    defined.setdefault(soname, set()).update(facts["defines"])
            functions = {name for facts in files.values() for name in facts["has"]}
            for path, facts in files.items():
                with self.subTest(case=case.name, path=path):
                    self.assertEqual(set(facts["needed"]) - set(defined) - self.OF_THE_DRIVER, set())
                    self.assertEqual([word for word in facts["versions"]
                                      if word.split(":")[1] not in defined[word.split(":")[0]]], [])
                    self.assertEqual(set(facts["wants"]) - functions, set())

    def test_have_a_loader_for_their_program(self):
        for case in healthy.HEALTHY:
            shown = look.Case(healthy_directory(case)).parts["image"]
            interpreter = shown.value("/usr/bin/app#interpreter")
            if interpreter:
                self.assertIsNotNone(shown.value(interpreter), case.name)


def elf_files(directory):
    found = {path: elf_look.facts(path.read_bytes()) for path in directory.rglob("*")
             if path.is_file() and not path.is_symlink()}
    return {path: facts for path, facts in found.items() if facts}


class Pairs(unittest.TestCase):
    def test_each_shows_the_evidence_of_both_and_says_which_blocks_first(self):
        chosen = combine.chosen_pairs()
        self.assertEqual(len(set(chosen)), combine.COUNT)
        if os.environ.get("GPUCTR_TEST_LONG") == "1":
            chosen = combine.all_pairs()
        for number, pair in enumerate(chosen):
            directory = DIRECTORY / f"pair{number}"
            combine.case_of(*pair).write(directory, model.expected(pair))
            case = look.Case(directory)
            document = json.loads((directory / "expected.json").read_text())
            with self.subTest(pair=[fault.key for fault in pair]):
                self.assertEqual({fault["key"] for fault in document["faults"]},
                                 {fault.key for fault in pair})
                self.assertEqual(document["first"][0], document["faults"][0]["key"])
                lost = [evidence["path"] for fault in document["faults"]
                        for evidence in fault["evidence"] if not case.holds(evidence)]
                self.assertEqual(lost, [])
            shutil.rmtree(directory)

    def test_what_stops_all_programs_comes_first(self):
        first = model.expected([faults.FAULTS["nvidia-gpu-in-vfio"], faults.FAULTS["no-proc"]])["first"]
        self.assertEqual(first, ["no-proc"])
        first = model.expected([faults.FAULTS["no-proc"], faults.FAULTS["glibc-too-old"]])["first"]
        self.assertEqual(first, ["glibc-too-old"])

    def test_what_setting_up_mends_comes_last(self):
        first = model.expected([faults.FAULTS["stale-libcuda-in-cache"],
                                faults.FAULTS["opencl-manifest-leads-nowhere"]])["first"]
        self.assertEqual(first, ["opencl-manifest-leads-nowhere"])

    def test_of_two_that_block_at_one_place_either_may_be_first(self):
        for pair in (("glibc-too-old", "libgcc-missing"),
                     ("nvidia-control-node-missing", "nvidia-libcuda-empty")):
            first = model.expected([faults.FAULTS[key] for key in pair])["first"]
            self.assertEqual(set(first), set(pair))


@unittest.skipIf(shutil.which("readelf") is None, "there is no readelf")
class ElfFiles(unittest.TestCase):
    """Writer and reader are ours; binutils' is not."""

    def test_binutils_reads_the_same(self):
        for name in ("musl-image-glibc-program", "32-bit-half-missing", "symbol-missing", "glibc-too-old"):
            for path, facts in elf_files(DIRECTORY / name / "image").items():
                with self.subTest(path=path):
                    self.compare(path, facts)

    def compare(self, path, facts):
        said = subprocess.run(["readelf", "-W", "-l", "-d", path], check=True, text=True,
                              capture_output=True).stdout
        for tag, name in (("(NEEDED)", "needed"), ("(SONAME)", "soname"), ("(RPATH)", "rpath"),
                          ("(RUNPATH)", "runpath")):
            found = [line.split("[")[1].split("]")[0] for line in said.splitlines() if tag in line]
            self.assertEqual(facts[name], found, tag)
        for interpreter in facts["interpreter"]:
            self.assertIn(f"[Requesting program interpreter: {interpreter}]", said)


class Readme(unittest.TestCase):
    def test_its_table_is_the_one_that_is_made(self):
        text = (HERE / "README.md").read_text(encoding="utf-8")
        self.assertIn("\n".join(table.lines()) + "\n", text,
                      "replace the table by what tests/oracle/make --list prints")


class OnSimulatedHosts(unittest.TestCase):
    """What the cases' hosts show once they stand. Only root can make their device nodes."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            if os.environ.get("CI") == "true":
                raise AssertionError("not root")
            raise unittest.SkipTest("this is for root")

    def test_the_evidence_is_there_when_the_host_stands(self):
        def seen(fault):
            paths = [evidence.path for evidence in shown_by_host(fault)]
            return stand.seen(SIMHOST, DIRECTORY / fault.key, paths)

        for fault, shown in in_parallel(seen, [fault for fault in FAULTS if shown_by_host(fault)]):
            if shown is None:
                continue  # no device cgroup on this machine
            for evidence in shown_by_host(fault):
                value, refused = shown[evidence.path]
                with self.subTest(fault=fault.key, path=evidence.path):
                    if evidence.state in ("refused", "allowed"):
                        self.assertEqual(refused or "", evidence.value)
                    else:
                        self.assertTrue(look.holds(value, evidence.document()), value)

    def test_a_healthy_case_is_planned_without_a_warning(self):
        def plan(case):
            return stand.plan(SIMHOST, SETUP, healthy_directory(case))

        for case, done in in_parallel(plan, healthy.HEALTHY):
            if done.returncode == stand.NO_CGROUP:
                continue
            with self.subTest(case=case.name):
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_plan_says_what_it_is_said_to_notice(self):
        def plan(fault):
            return stand.plan(SIMHOST, SETUP, DIRECTORY / fault.key, "--format", "json")

        for fault, done in in_parallel(plan, [fault for fault in FAULTS if fault.noticed]):
            if done.returncode == stand.NO_CGROUP:
                continue
            with self.subTest(fault=fault.key):
                self.assertIn(fault.noticed, done.stderr + done.stdout)


def shown_by_host(fault):
    """What a host shows, in so far as this kernel has such a file."""
    return [evidence for evidence in fault.evidence
            if evidence.where == "host" and "#" not in evidence.path
            and (evidence.path not in OF_SOME_KERNELS or os.path.exists(evidence.path))]


if __name__ == "__main__":
    unittest.main(verbosity=2)
