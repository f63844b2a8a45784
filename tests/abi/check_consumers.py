#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that were written for the last release compile with the headers of now; and a C++
compiler of too old a standard says so in one line.

    check_consumers.py INCLUDE_DIR CONSUMERS
"""

import subprocess
import sys
from pathlib import Path

COMPILERS = {".c": ["cc", "-std=c11", "-D_GNU_SOURCE"], ".cpp": ["c++", "-std=c++20"]}


def compiled(command, include_dir, text=None, files=()):
    return subprocess.run([*command, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", include_dir, *files],
                          input=text, capture_output=True, text=True, check=False, timeout=120)


def main(arguments):
    if len(arguments) != 2:
        raise SystemExit(__doc__)
    include_dir, consumers = arguments
    problems = []
    for suffix, command in COMPILERS.items():
        files = sorted(Path(consumers).glob(f"*{suffix}"))
        if not files:
            problems.append(f"no consumer in {consumers} is a {suffix}")
        run = compiled(command, include_dir, files=files)
        if run.returncode:
            problems.append(run.stderr)
    old = compiled(["c++", "-std=c++17", "-xc++", "-"], include_dir, "#include <gpucontainer/gpucontainer.hpp>\n")
    errors = [line for line in old.stderr.splitlines() if "error:" in line]
    if len(errors) != 1 or "C++20" not in errors[0]:
        problems.append(f"C++17 is to get one error that names C++20, not {len(errors)}:\n{old.stderr[:2000]}")
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main(sys.argv[1:]))
