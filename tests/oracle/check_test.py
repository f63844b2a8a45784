# SPDX-License-Identifier: MIT
"""`gpuctr-setup check` on the cases of the oracle: the table of docs/check.md."""

import concurrent.futures
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
import diagnosed  # noqa: E402
import faults  # noqa: E402

SETUP, SIMHOST = os.environ["GPUCTR_SETUP"], os.environ["GPUCTR_SIMHOST"]
DOCUMENT = HERE.parent.parent / "docs" / "check.md"
ENOUGH = 0.95  # of the cases have the right cause first
DIAGNOSES = {}


def setUpModule():
    if os.geteuid() != 0:
        if os.environ.get("CI") == "true":
            raise AssertionError("not root")
        raise unittest.SkipTest("only root can make the device nodes of the cases")
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    directory = Path(tempfile.mkdtemp(prefix="gpuctr-oracle-", dir=memory))
    unittest.addModuleCleanup(shutil.rmtree, directory)
    directory.chmod(0o755)  # some cases are of an ordinary user
    subprocess.run([HERE / "make", directory], check=True)
    cases = sorted(directory.iterdir())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for diagnosis in pool.map(lambda case: diagnosed.diagnose(SIMHOST, SETUP, case), cases):
            if diagnosis is not None:
                DIAGNOSES[diagnosis.case] = diagnosis


def of_kind(kind):
    """Faults alone, pairs or healthy cases."""
    return [diagnosis for name, diagnosis in DIAGNOSES.items()
            if kind == ("healthy" if diagnosis.expected["healthy"] else
                        "pairs" if "+" in name else "faults")]


class Measured(unittest.TestCase):
    def test_each_case_has_an_answer(self):
        for name, diagnosis in DIAGNOSES.items():
            with self.subTest(case=name):
                self.assertIn(diagnosis.status, (0, diagnosed.WRONG), diagnosis.said)

    def test_no_alarm_on_a_healthy_case(self):
        for diagnosis in of_kind("healthy"):
            with self.subTest(case=diagnosis.case):
                self.assertEqual((diagnosis.alarms(), diagnosis.status), ([], 0))

    def test_the_right_cause_is_first(self):
        for kind in ("faults", "pairs"):
            cases = of_kind(kind)
            wrong = [diagnosis.case for diagnosis in cases if not diagnosis.has_right_first()]
            with self.subTest(kind=kind):
                self.assertGreaterEqual(len(cases) - len(wrong), ENOUGH * len(cases), wrong)

    def test_of_a_pair_both_are_named(self):
        cases = of_kind("pairs")
        wrong = [diagnosis.case for diagnosis in cases if not diagnosis.names_all()]
        self.assertGreaterEqual(len(cases) - len(wrong), ENOUGH * len(cases), wrong)

    def test_the_document_has_the_table(self):
        text = DOCUMENT.read_text(encoding="utf-8")
        if len(DIAGNOSES) < len(list(faults.FAULTS)):
            self.skipTest("this machine cannot show all cases")
        table = "\n".join(diagnosed.table(DIAGNOSES.values()))
        self.assertIn(table, text, "replace the table by what tests/oracle/measure --table prints")


if __name__ == "__main__":
    unittest.main(verbosity=2)
