#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_symbols.py finds what is missing on either side."""

import unittest

import check_symbols

HEADER = """
/** What it is. @since 0.1 */
GPUCTR_API const char* gpuctr_a(void);
/**
 * More of it.
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_b(int first,
                                  int second);
"""
MAP = "GPUCONTAINER_0.1 {\nglobal:\n    gpuctr_a;\n    gpuctr_b;\nlocal:\n    *;\n};\n"


class CheckSymbols(unittest.TestCase):
    def problems(self, header=HEADER, version_script=MAP):
        return list(check_symbols.problems(header, version_script))

    def test_accepts_what_fits(self):
        self.assertEqual(self.problems(), [])

    def test_finds_a_function_that_is_not_exported(self):
        self.assertEqual(
            self.problems(version_script=MAP.replace("    gpuctr_b;\n", "")),
            ["gpuctr_b: declared, not in the version script"],
        )

    def test_finds_an_export_that_is_not_declared(self):
        self.assertEqual(
            self.problems(version_script=MAP.replace("gpuctr_b;", "gpuctr_b;\n    gpuctr_c;")),
            ["gpuctr_c: in the version script, not declared"],
        )

    def test_finds_a_missing_comment(self):
        self.assertEqual(
            self.problems(HEADER.replace("/** What it is. @since 0.1 */\n", "")),
            ["gpuctr_a: no comment with @since"],
        )

    def test_finds_a_comment_without_since(self):
        self.assertEqual(
            self.problems(HEADER.replace(" * @since 0.1\n", "")),
            ["gpuctr_b: no comment with @since"],
        )

    def test_reads_the_version_of_each_name(self):
        later = MAP + "GPUCONTAINER_0.2 {\nglobal:\n    gpuctr_c;\n} GPUCONTAINER_0.1;\n"
        self.assertEqual(
            check_symbols.exported_by_map(later),
            {
                "gpuctr_a": "GPUCONTAINER_0.1",
                "gpuctr_b": "GPUCONTAINER_0.1",
                "gpuctr_c": "GPUCONTAINER_0.2",
            },
        )


if __name__ == "__main__":
    unittest.main()
