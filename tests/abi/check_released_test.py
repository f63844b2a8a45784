#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_released.py sees what it has to see: a small library is changed in every way."""

import contextlib
import io
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import check_released

HEADER = """
struct gpuctr_thing { int size; int value; };
int gpuctr_thing_value(const struct gpuctr_thing* thing);
int gpuctr_other(void);
"""
SOURCE = """
#include "h.h"
int gpuctr_thing_value(const struct gpuctr_thing* thing) { return thing->value; }
int gpuctr_other(void) { return 0; }
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
        library = self.build("old", HEADER, SOURCE)
        with open(self.work / "libgpucontainer.abi", "w", encoding="utf-8") as output:
            subprocess.run(["abidw", "--headers-dir", self.work / "old", "--drop-private-types", library],
                           check=True, stdout=output, timeout=60)

    def build(self, name, header, source):
        folder = self.work / name
        folder.mkdir()
        (folder / "h.h").write_text(header, encoding="utf-8")
        (folder / "s.c").write_text(source, encoding="utf-8")
        subprocess.run(["cc", "-g", "-shared", "-fPIC", "-Wl,-soname,libgpucontainer.so.0",
                        "-o", folder / "lib.so", folder / "s.c"], check=True, timeout=60)
        return folder / "lib.so"

    def check(self, header=HEADER, source=SOURCE, symbols=SYMBOLS):
        library = self.build("new", header, source)
        (self.work / "symbols").write_text(symbols, encoding="utf-8")
        self.said = io.StringIO()
        with contextlib.redirect_stdout(self.said):
            return check_released.main([str(library), str(self.work / "new"), str(self.work), "0.2.0",
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
        self.assertEqual(self.check(header, symbols=symbols), 0, self.said.getvalue())

    def test_whose_function_takes_another_type(self):
        header = HEADER.replace("gpuctr_other(void)", "gpuctr_other(long number)")
        source = SOURCE.replace("gpuctr_other(void)", "gpuctr_other(long number)")
        self.assertEqual(self.check(header, source), 1)
        self.assertIn("gpuctr_other() is changed", self.said.getvalue())

    def test_that_lost_a_function(self):
        source = SOURCE.replace("int gpuctr_other", "static int gpuctr_other")
        header = HEADER.replace("int gpuctr_other(void);\n", "")
        self.assertEqual(self.check(header, source), 1)
        self.assertIn("gpuctr_other() is gone", self.said.getvalue())

    def test_whose_lost_function_is_announced(self):
        source = SOURCE.replace("int gpuctr_other", "static int gpuctr_other")
        header = HEADER.replace("int gpuctr_other(void);\n", "")
        symbols = SYMBOLS.replace(" gpuctr_other", "#MISSING: 0.2.0# gpuctr_other")
        self.assertEqual(self.check(header, source, symbols), 0, self.said.getvalue())

    def test_with_a_new_function(self):
        header = HEADER + "int gpuctr_new(void);\n"
        source = SOURCE + "int gpuctr_new(void) { return 0; }\n"
        self.assertEqual(self.check(header, source), 1)
        self.assertIn("gpuctr_new() is new", self.said.getvalue())

    def test_whose_new_function_is_announced(self):
        header = HEADER + "int gpuctr_new(void);\n"
        source = SOURCE + "int gpuctr_new(void) { return 0; }\n"
        symbols = SYMBOLS + " gpuctr_new@GPUCONTAINER_0.2 0.2.0\n"
        self.assertEqual(self.check(header, source, symbols), 0, self.said.getvalue())


if __name__ == "__main__":
    unittest.main()
