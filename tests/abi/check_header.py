#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each public header compiles alone, in every language that it promises.

    check_header.py INCLUDE_DIR --c COMPILER... --cxx COMPILER...
"""

import argparse
import subprocess
import sys

# What the strictest of callers builds with.
FLAGS = ["-fsyntax-only", "-Werror", "-pedantic-errors", "-Wall", "-Wextra", "-Wconversion",
         "-Wsign-conversion", "-Wshadow", "-Wundef", "-Wcast-qual", "-Wcast-align",
         "-Wredundant-decls", "-Wmissing-declarations", "-Wdouble-promotion"]  # fmt: skip
LANGUAGE_FLAGS = {
    "c": ["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wold-style-definition", "-Wc++-compat"],
    "c++": ["-Wold-style-cast", "-Wnon-virtual-dtor", "-Woverloaded-virtual", "-Wextra-semi"],
}
C_STANDARDS = ["c99", "c11", "c17"]
CXX_STANDARDS = ["c++11", "c++14", "c++17", "c++20", "c++2b"]
CXX_HEADER_STANDARDS = ["c++20", "c++2b"]

# Macros are seen where they are used only.
USES = """
void use(void);
void use(void)
{
    gpuctr_host_options host = GPUCTR_HOST_OPTIONS_INIT;
    gpuctr_request request = GPUCTR_REQUEST_INIT;
    gpuctr_apply_options apply = GPUCTR_APPLY_OPTIONS_INIT;
    gpuctr_prepare_options prepare = GPUCTR_PREPARE_OPTIONS_INIT;
    gpuctr_undo_options undo = GPUCTR_UNDO_OPTIONS_INIT;
    gpuctr_setup_list_options list = GPUCTR_SETUP_LIST_OPTIONS_INIT;
    gpuctr_stage_options stage = GPUCTR_STAGE_OPTIONS_INIT;
    gpuctr_cdi_options cdi = GPUCTR_CDI_OPTIONS_INIT;
    gpuctr_attach_error error = GPUCTR_ATTACH_ERROR_INIT;
    gpuctr_harden_options harden = GPUCTR_HARDEN_OPTIONS_INIT;
    const char* const vendors[] = {"nvidia", GPUCTR_VENDOR_ANY, NULL};
    host.vendors = vendors;
    request.write = GPUCTR_WRITE_AUTO | GPUCTR_WRITE_NEVER | GPUCTR_WRITE_ALWAYS;
    apply.backend = GPUCTR_BACKEND_AUTO | GPUCTR_BACKEND_DETACHED | GPUCTR_BACKEND_ASSEMBLED;
    prepare.flags = GPUCTR_APPLIED | GPUCTR_UNCHANGED | GPUCTR_REPLACED;
    (void)host;
    (void)request;
    (void)apply;
    (void)undo;
    (void)list;
    (void)stage;
    (void)cdi;
    (void)prepare;
    (void)error;
    (void)harden;
}
"""


def compiles(compiler, language, standard, include_dir, header):
    flags = FLAGS + LANGUAGE_FLAGS[language]
    command = [compiler, f"-x{language}", f"-std={standard}", *flags, "-I", include_dir, "-"]
    # Twice: including it again must do no harm.
    text = f"#include <{header}>\n" * 2 + USES
    run = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    print("ok " if run.returncode == 0 else "FAILED", compiler, standard, header)
    if run.returncode != 0:
        print(run.stderr)
    return run.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("include_dir")
    parser.add_argument("--c", nargs="+", required=True)
    parser.add_argument("--cxx", nargs="+", required=True)
    given = parser.parse_args()
    header = "gpucontainer/gpucontainer.h"
    cxx_headers = [f"gpucontainer/{name}.hpp" for name in ("gpucontainer", "config", "detail")]
    cases = [(compiler, "c", standard, header) for compiler in given.c for standard in C_STANDARDS]
    for compiler in given.cxx:
        cases += [(compiler, "c++", standard, header) for standard in CXX_STANDARDS]
        cases += [(compiler, "c++", standard, name) for standard in CXX_HEADER_STANDARDS
                  for name in cxx_headers]
    results = [
        compiles(compiler, language, standard, given.include_dir, name)
        for compiler, language, standard, name in cases
    ]
    return 0 if all(results) else 1


sys.exit(main())
