#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What programs built against the last release rely on has not changed, or is announced.

    check_released.py RELEASED HEADER MAP VERSION SYMBOLS

RELEASED has the header and the version script of the last release. Of these, and of HEADER and
MAP, a library is made whose functions do nothing, and abidiff compares the two. Debian's SYMBOLS
file announces a difference: a function that is new, or means something else to its callers, stands
there with VERSION, and one that was taken away as "#MISSING: VERSION#". Exits with 77, a skip,
where abidiff is missing.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
# Bits of abidiff's exit status: it failed; it was called wrongly.
FAILED, MISUSED = 1, 2


def stub(header, version_script, directory):
    """A library in a directory, of functions that do nothing, as a header declares them."""
    text = re.sub(r"/\*.*?\*/", "", Path(header).read_text(encoding="utf-8"), flags=re.S)
    declared = re.findall(r"^GPUCTR_API ([^;{]*\bgpuctr_\w+\([^;]*\));", text, re.M)
    assert declared, f"{header} declares no function"
    directory.mkdir()
    shutil.copy(header, directory / "gpucontainer.h")
    source, library = directory / "stub.c", directory / "libgpucontainer.so.0"
    source.write_text('#include "gpucontainer.h"\n' + "".join(
        f"{function} {{ __builtin_unreachable(); }}\n" for function in declared), encoding="utf-8")
    subprocess.run(["cc", "-std=c11", "-g", "-shared", "-fPIC", "-fvisibility=default",
                    f"-Wl,-soname,{library.name},--version-script={version_script}", "-o", library, source],
                   check=True, timeout=60)  # fmt: skip
    return library


def constants(header, directory):
    """The names and values of a header's enumerators and numbers, and the text of its strings."""
    text = re.sub(r"/\*.*?\*/", "", Path(header).read_text(encoding="utf-8"), flags=re.S)
    numbers = [name for body in re.findall(r"\benum\b[^;{]*\{([^}]*)\}", text)
               for name in re.findall(r"(?:^|,)\s*(GPUCTR_[A-Z0-9_]+)\b", body)]
    numbers += re.findall(r"^#define (GPUCTR_[A-Z0-9_]+) +[(0-9]", text, re.M)
    strings = re.findall(r'^#define (GPUCTR_[A-Z0-9_]+) +"', text, re.M)
    source, program = directory / "constants.c", directory / "constants"
    source.write_text('#include "gpucontainer.h"\n#include <stdio.h>\nint main(void)\n{\n' + "".join(
        [f'printf("{name} %lld\\n", (long long)({name}));\n' for name in numbers] +
        [f'printf("{name} %s\\n", {name});\n' for name in strings]) + "return 0;\n}\n", encoding="utf-8")
    subprocess.run(["cc", "-std=c11", "-o", program, source], check=True, timeout=60)
    run = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60)
    return dict(line.split(" ", 1) for line in run.stdout.splitlines())


def changed_constants(before, now):
    """Words for each constant that is gone or has another value."""
    return [f"{name} was {value} and is {now.get(name, 'gone')}" for name, value in before.items()
            if now.get(name) != value]


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
    released, header, version_script, version, symbols = arguments
    if not shutil.which("abidiff"):
        print("abidiff is missing: package abigail-tools")
        return SKIPPED
    with tempfile.TemporaryDirectory() as work:
        before = stub(Path(released) / "gpucontainer.h", Path(released) / "libgpucontainer.map",
                      Path(work) / "before")
        now = stub(header, version_script, Path(work) / "now")
        said = changed_constants(constants(Path(released) / "gpucontainer.h", before.parent),
                                 constants(header, now.parent))
        command = ["abidiff", "--no-show-locs", str(before), str(now)]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    print(run.stdout)
    if run.returncode & (FAILED | MISUSED) or run.returncode < 0:
        print(f"abidiff failed with {run.returncode}: {run.stderr}")
        return 1
    found = changes(run.stdout)
    said += problems(found, Symbols(Path(symbols).read_text(encoding="utf-8")), version)
    if run.returncode and not any(found.values()):
        said.append("abidiff tells of a difference, but not of which function")
    print("\n".join(said) or "nothing changed that is not announced")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
