#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_released.py sees each way to change a small library."""

import contextlib
import io
import shutil
import tempfile
import unittest
from pathlib import Path

import check_released

HEADER = """
#define GPUCTR_API
#define GPUCTR_FLAG 2
#define GPUCTR_TEXT "any"
enum { GPUCTR_ONE = 1,
       GPUCTR_TWO };
/* GPUCTR_API int gpuctr_in_a_comment(void); */
struct gpuctr_thing { int size; int value; };
GPUCTR_API int gpuctr_thing_value(const struct gpuctr_thing* thing,
                                  int other);
GPUCTR_API int gpuctr_other(void);
"""
MAP = """GPUCONTAINER_0.1 { global: gpuctr_*; local: *; };
"""
SYMBOLS = """libgpucontainer.so.0 libgpucontainer0 #MINVER#
 gpuctr_other@GPUCONTAINER_0.1 0.1.0
 gpuctr_thing_value@GPUCONTAINER_0.1 0.1.0
"""


@unittest.skipUnless(shutil.which("abidiff") and shutil.which("cc"), "no abidiff")
class ALibrary(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.work = Path(directory.name)
        (self.work / "gpucontainer.h").write_text(HEADER, encoding="utf-8")
        (self.work / "libgpucontainer.map").write_text(MAP, encoding="utf-8")

    def check(self, header=HEADER, symbols=SYMBOLS):
        (self.work / "new.h").write_text(header, encoding="utf-8")
        (self.work / "symbols").write_text(symbols, encoding="utf-8")
        self.said = io.StringIO()
        with contextlib.redirect_stdout(self.said):
            return check_released.main([
                str(self.work), str(self.work / "new.h"), str(self.work / "libgpucontainer.map"), "0.2.0",
                str(self.work / "symbols")])

    def test_that_is_the_same(self):
        self.assertEqual(self.check(), 0, self.said.getvalue())

    def test_whose_struct_has_another_field(self):
        header = HEADER.replace("int value;", "int further; int value;")
        self.assertEqual(self.check(header), 1)
        self.assertIn("gpuctr_thing_value() is changed", self.said.getvalue())

    def test_whose_changed_function_is_announced(self):
        header = HEADER.replace("int value;", "int further; int value;")
        symbols = SYMBOLS.replace("gpuctr_thing_value@GPUCONTAINER_0.1 0.1.0",
                                  "gpuctr_thing_value@GPUCONTAINER_0.1 0.2.0")
        self.assertEqual(self.check(header, symbols), 0, self.said.getvalue())

    def test_whose_function_takes_another_type(self):
        header = HEADER.replace("gpuctr_other(void)", "gpuctr_other(long number)")
        self.assertEqual(self.check(header), 1)
        self.assertIn("gpuctr_other() is changed", self.said.getvalue())

    def test_whose_enumerator_has_another_value(self):
        self.assertEqual(self.check(HEADER.replace("GPUCTR_ONE = 1", "GPUCTR_ONE = 2")), 1)
        self.assertIn("GPUCTR_TWO was 2 and is 3", self.said.getvalue())

    def test_whose_macros_have_other_values(self):
        header = HEADER.replace("GPUCTR_FLAG 2", "GPUCTR_FLAG 4").replace('#define GPUCTR_TEXT "any"', "")
        self.assertEqual(self.check(header), 1)
        self.assertIn("GPUCTR_FLAG was 2 and is 4", self.said.getvalue())
        self.assertIn("GPUCTR_TEXT was any and is gone", self.said.getvalue())

    def test_that_lost_a_function(self):
        header = HEADER.replace("GPUCTR_API int gpuctr_other(void);\n", "")
        self.assertEqual(self.check(header), 1)
        self.assertIn("gpuctr_other() is gone", self.said.getvalue())

    def test_whose_lost_function_is_announced(self):
        header = HEADER.replace("GPUCTR_API int gpuctr_other(void);\n", "")
        symbols = SYMBOLS.replace(" gpuctr_other", "#MISSING: 0.2.0# gpuctr_other")
        self.assertEqual(self.check(header, symbols), 0, self.said.getvalue())

    def test_with_a_new_function(self):
        header = HEADER + "GPUCTR_API int gpuctr_new(void);\n"
        self.assertEqual(self.check(header), 1)
        self.assertIn("gpuctr_new() is new", self.said.getvalue())

    def test_whose_new_function_is_announced(self):
        header = HEADER + "GPUCTR_API int gpuctr_new(void);\n"
        symbols = SYMBOLS + " gpuctr_new@GPUCONTAINER_0.2 0.2.0\n"
        self.assertEqual(self.check(header, symbols), 0, self.said.getvalue())


if __name__ == "__main__":
    unittest.main()
