#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each public header compiles alone, in every language that it promises.

    check_header.py INCLUDE_DIR C_COMPILER CXX_COMPILER...
"""

import subprocess
import sys

FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
C_STANDARDS = ["c99", "c11", "c17"]
CXX_STANDARDS = ["c++11", "c++14", "c++17", "c++20"]


def compiles(compiler, language, standard, include_dir, header):
    command = [compiler, f"-x{language}", f"-std={standard}", *FLAGS, "-I", include_dir, "-"]
    # Twice: including it again must do no harm.
    text = f"#include <{header}>\n" * 2
    run = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    print("ok " if run.returncode == 0 else "FAILED", compiler, standard, header)
    if run.returncode != 0:
        print(run.stderr)
    return run.returncode == 0


def main(arguments):
    if len(arguments) < 3:
        raise SystemExit(__doc__)
    include_dir, c_compiler, *cxx_compilers = arguments
    c_header = "gpucontainer/gpucontainer.h"
    cxx_headers = [f"gpucontainer/{name}.hpp" for name in ("gpucontainer", "config", "detail")]
    results = [compiles(c_compiler, "c", s, include_dir, c_header) for s in C_STANDARDS]
    for compiler in cxx_compilers:
        results += [compiles(compiler, "c++", s, include_dir, c_header) for s in CXX_STANDARDS]
        results += [compiles(compiler, "c++", "c++20", include_dir, h) for h in cxx_headers]
    return 0 if all(results) else 1


sys.exit(main(sys.argv[1:]))
