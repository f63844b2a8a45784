#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What programs built against the last release rely on has not changed, or is announced.

    check_released.py LIBRARY INCLUDE_DIR RELEASED VERSION SYMBOLS

Compares LIBRARY, which has debug information, with the interface that abidw wrote of the last
release (RELEASED/libgpucontainer.abi). Debian's SYMBOLS file announces a difference: a function
that is new, or that means something else to its callers, stands there with VERSION, and one that
was taken away as "#MISSING: VERSION#". Exits with 77, a skip, where abidiff is missing.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
# Bits of abidiff's exit status: it failed; it was called wrongly.
FAILED, MISUSED = 1, 2


class Symbols:
    """The functions of Debian's symbols file, with the version that their callers need."""

    def __init__(self, text):
        self.versions = dict(re.findall(r"^ (gpuctr_\w+)@\S+ (\S+)", text, re.M))
        self.missing = dict(re.findall(r"^#MISSING: (\S+)# (gpuctr_\w+)@", text, re.M))
        self.missing = {name: version for version, name in self.missing.items()}


def changes(report):
    """The functions that a report of abidiff calls removed, added and changed."""
    found = {}
    for kind, letter in (("removed", "D"), ("added", "A"), ("changed", "C")):
        lines = re.findall(rf"^ +\[{letter}\] '?(.+)", report, re.M)
        found[kind] = [name for line in lines for name in re.findall(r"\b(gpuctr_\w+)\(", line)[:1]]
    return found


def problems(found, symbols, version):
    """What of these changes the symbols file does not announce."""
    said = []
    for name in found["removed"]:
        if symbols.missing.get(name) != version:
            said.append(f"{name}() is gone: a line '#MISSING: {version}# {name}@...' says so")
    for kind, what in (("added", "new"), ("changed", "changed")):
        said += [f"{name}() is {what}: its version in the symbols file is to be {version}"
                 for name in found[kind] if symbols.versions.get(name) != version]
    return said


def main(arguments):
    if len(arguments) != 5:
        raise SystemExit(__doc__)
    library, include_dir, released, version, symbols = arguments
    if not shutil.which("abidiff"):
        print("abidiff is missing: package abigail-tools")
        return SKIPPED
    command = ["abidiff", "--headers-dir2", include_dir, "--drop-private-types", "--no-show-locs",
               str(Path(released) / "libgpucontainer.abi"), library]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    print(run.stdout)
    if run.returncode & (FAILED | MISUSED) or run.returncode < 0:
        print(f"{' '.join(command)} failed with {run.returncode}: {run.stderr}")
        return 1
    found = changes(run.stdout)
    said = problems(found, Symbols(Path(symbols).read_text(encoding="utf-8")), version)
    if run.returncode and not any(found.values()):
        said.append("abidiff tells of a difference, but not of which function")
    print("\n".join(said) or "nothing changed that is not announced")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
