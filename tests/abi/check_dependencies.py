#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library needs what is promised at run time and nothing else.

    check_dependencies.py LIBRARY [SHARED...]

SHARED are the dependencies that this build links as shared libraries and another
may link statically, such as libstdc++.so.6.
"""

import re
import subprocess
import sys

SONAME = "libgpucontainer.so.0"
REQUIRED = {"libelf.so.1", "libc.so.6"}
# As far as the code, the compiler or the C library wants them.
ALLOWED = REQUIRED | {"libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def main(arguments):
    if not arguments:
        raise SystemExit(__doc__)
    command = ["readelf", "--dynamic", "--wide", arguments[0]]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", output))
    problems = [f"{name} is needed" for name in sorted(needed - ALLOWED - set(arguments[1:]))]
    problems += [f"{name} is not needed" for name in sorted((REQUIRED | set(arguments[1:])) - needed)]
    if re.findall(r"\(SONAME\).*\[(.+)\]", output) != [SONAME]:
        problems.append(f"the soname is not {SONAME}")
    if re.search(r"\((RPATH|RUNPATH)\)", output):
        problems.append("it has a search path of its own")
    if re.search(r"\(TEXTREL\)", output):
        problems.append("it has text relocations")
    for problem in problems:
        print(problem)
    print("needs", ", ".join(sorted(needed)))
    return 1 if problems else 0


sys.exit(main(sys.argv[1:]))
