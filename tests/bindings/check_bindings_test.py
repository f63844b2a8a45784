#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_bindings.py finds what a binding lacks or declares wrongly."""

import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import check_bindings

ROOT = Path(sys.argv.pop(1)).resolve()
HEADER = "include/gpucontainer/gpucontainer.h"
PYTHON = "bindings/python/src/gpucontainer/_declarations.py"
RUST = "bindings/rust/gpucontainer-sys/src/lib.rs"


class CheckBindings(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        for name in ("bindings", "include"):
            shutil.copytree(
                ROOT / name, self.root / name, ignore=shutil.ignore_patterns("target")
            )
        shutil.copy(ROOT / "CMakeLists.txt", self.root)

    def change(self, name, old, new):
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def problems(self):
        return list(check_bindings.problems(self.root))

    def test_accepts_the_bindings(self):
        self.assertEqual(self.problems(), [])

    def test_finds_a_function_that_is_new(self):
        self.change(
            HEADER, "/* -- Findings", "/** @since 0.9 */\nGPUCTR_API int gpuctr_new(void);\n/* -- "
        )
        self.assertEqual(
            self.problems(),
            [
                "Python: functions: gpuctr_new is missing",
                "Rust: functions: gpuctr_new is missing",
                "Python: gpuctr_new is not offered",
                "Go: gpuctr_new is not offered",
                "Rust: gpuctr_new is not offered",
            ],
        )

    def test_finds_a_constant_that_is_new(self):
        self.change(HEADER, "#define GPUCTR_LEFT 2u", "#define GPUCTR_RIGHT 3u\n#define GPUCTR_LEFT 2u")
        self.assertEqual(len(self.problems()), 5)

    def test_finds_a_parameter_of_another_type(self):
        self.change(RUST, "gpuctr_string_free(string: *mut c_char)", "gpuctr_string_free(string: usize)")
        self.assertEqual(
            self.problems(),
            [
                "Rust: functions: gpuctr_string_free is ('none', ['size']), "
                "not ('none', ['handle'])"
            ],
        )

    def test_finds_a_field_in_another_place(self):
        self.change(PYTHON, '("phases", c_uint32),\n        ("flags"', '("flags", c_uint32),\n        ("phases"')
        (problem,) = self.problems()
        self.assertTrue(problem.startswith("Python: structs: gpuctr_harden_options is "))

    def test_finds_another_value(self):
        self.change(PYTHON, '"GPUCTR_LEFT": 2', '"GPUCTR_LEFT": 3')
        self.assertEqual(self.problems(), ["Python: constants: GPUCTR_LEFT is 3, not 2"])

    def test_finds_what_is_declared_and_not_offered(self):
        self.change("bindings/go/prepared.go", "C.gpuctr_prepared_size(native)", "0")
        self.assertEqual(self.problems(), ["Go: gpuctr_prepared_size is not offered"])

    def test_finds_a_reason_that_does_not_count_any_more(self):
        found = check_bindings.unexplained("Go", ["a"], {"a"}, {"a": "not needed"})
        self.assertEqual(list(found), ["Go: a is offered, but has a reason not to be"])

    def test_finds_another_version(self):
        self.change("bindings/python/pyproject.toml", 'version = "', 'version = "9')
        self.assertEqual(len(self.problems()), 1)


if __name__ == "__main__":
    unittest.main()
