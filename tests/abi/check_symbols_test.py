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

    def test_accepts_plain_constants(self):
        plain = (
            "enum {\n    GPUCTR_OK = 0, /**< All went well, or = 1. */\n    GPUCTR_E = -1\n};\n"
            '#define GPUCTR_ANY "any"\n#define GPUCTR_ONE 1u /**< One. */\n'
            "#define GPUCTR_BIT 0x80000000u\n"
        )
        self.assertEqual(self.problems(plain + HEADER), [])
        self.assertEqual(
            check_symbols.constants(plain),
            {
                "GPUCTR_OK": 0,
                "GPUCTR_E": -1,
                "GPUCTR_ANY": "any",
                "GPUCTR_ONE": 1,
                "GPUCTR_BIT": 1 << 31,
            },
        )

    def test_finds_a_constant_that_is_an_expression(self):
        self.assertEqual(
            self.problems("#define GPUCTR_BIT (UINT32_C(1) << 3)\n" + HEADER),
            ["GPUCTR_BIT: not a plain literal: (UINT32_C(1) << 3)"],
        )

    def test_finds_an_enumerator_that_is_no_int(self):
        for value in ("1u << 31", "0x80000000"):
            self.assertEqual(
                self.problems(f"enum {{ GPUCTR_BIT = {value} }};\n" + HEADER),
                [f"GPUCTR_BIT = {value}: not an enumerator that fits an int"],
            )

    def test_finds_an_initialiser_without_a_function(self):
        self.assertEqual(
            self.problems("#define GPUCTR_A_INIT \\\n    { 0, 0 }\n" + HEADER),
            ["GPUCTR_A_INIT: no function gpuctr_a_init()"],
        )


if __name__ == "__main__":
    unittest.main()
