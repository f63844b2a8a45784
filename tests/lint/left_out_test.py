# SPDX-License-Identifier: MIT
"""scripts/list-skipped names each test that was left out, and with CI=true refuses most reasons."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "scripts" / "list-skipped"


def case(name, output, status="run", skipped=False):
    inside = "<skipped/>" if skipped else ""
    return (f'<testcase name="{name}" status="{status}">{inside}'
            f"<system-out>{output}</system-out></testcase>")


def listed(*cases, ci):
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(f"<testsuite>{''.join(cases)}</testsuite>")
        file.flush()
        environment = dict(os.environ, CI="true" if ci else "")
        done = subprocess.run([PROGRAM, file.name], env=environment, capture_output=True, text=True,
                              check=False)
    return done.returncode, done.stdout


class LeftOut(unittest.TestCase):
    def test_without_ci_a_reason_is_enough(self):
        lacks = case("binding.go", "SKIPPED  no Go", "notrun")
        self.assertEqual(listed(lacks, ci=False), (0, "left out: binding.go: SKIPPED  no Go\n"))

    def test_with_ci_a_missing_program_is_a_failure(self):
        status, said = listed(case("binding.go", "SKIPPED  no Go", "notrun"), ci=True)
        self.assertEqual(status, 1)
        self.assertIn("each of these has to run: binding.go", said)

    def test_what_is_of_the_long_form_may_be_left_out(self):
        long = case("cli.kill", "these tests run with GPUCTR_TEST_LONG=1 only", skipped=True)
        self.assertEqual(listed(long, case("cli.list", "OK"), ci=True)[0], 0)

    def test_a_test_inside_a_module_is_found(self):
        output = "test_a (m.T) ... ok\ntest_b (m.T) ... skipped 'no yaml'\nOK (skipped=1)"
        status, said = listed(case("cdi.golden", output), ci=True)
        self.assertEqual(status, 1)
        self.assertIn("left out: cdi.golden: test_b: no yaml", said)

    def test_a_module_that_gives_no_reasons_is_found(self):
        status, said = listed(case("some", "..s\nOK (skipped=1)"), ci=True)
        self.assertEqual(status, 1)
        self.assertIn("left out: some: 1 more, without a reason", said)


if __name__ == "__main__":
    unittest.main()
