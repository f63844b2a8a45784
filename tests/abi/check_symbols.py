#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The exported symbols are those of the version script, and each is documented.

    check_symbols.py HEADER MAP [LIBRARY]

Compares the functions that HEADER declares with GPUCTR_API, the names in the
version script MAP and, where it is given, what LIBRARY exports. Each declaration
has to stand below a comment that says since when it is there.
"""

import re
import subprocess
import sys
from pathlib import Path

DECLARATION = re.compile(r"^GPUCTR_API\b[^;]*?\b(gpuctr_\w+)\s*\(", re.MULTILINE)


def declared(header):
    """Name of each declared function, with the position of its declaration."""
    return {match[1]: match.start() for match in DECLARATION.finditer(header)}


def undocumented(header):
    """Declared functions without a /** comment right above that has an @since."""
    for name, start in declared(header).items():
        before = header[:start].rstrip("\n ")
        comment = before[before.rfind("/**") :] if before.endswith("*/") else ""
        if not comment or comment.count("*/") != 1 or "@since" not in comment:
            yield name


def exported_by_map(text):
    """The version of each name in a version script."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    versions = {}
    for block in re.finditer(r"(\w+(?:\.\w+)*)\s*\{(.*?)\}", text, flags=re.DOTALL):
        names = re.search(r"global:(.*?)(?:local:|$)", block[2], flags=re.DOTALL)
        for name in re.findall(r"([\w*]+);", names[1] if names else ""):
            versions[name] = block[1]
    return versions


def exported_by_library(path):
    """The version of each dynamic symbol that a library defines."""
    command = ["nm", "-D", "--defined-only", "--with-symbol-versions", path]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    symbols = (line.split()[-1].partition("@") for line in output.splitlines())
    # The versions themselves are absolute symbols of their own name.
    return {
        name: version.lstrip("@")
        for name, _, version in symbols
        if not (name == version.lstrip("@") or (name.startswith("GPUCONTAINER_") and not version))
    }


def differences(what, names, other, other_names):
    yield from (f"{name}: {what}, not {other}" for name in sorted(names - other_names))
    yield from (f"{name}: {other}, not {what}" for name in sorted(other_names - names))


def problems(header, version_script, library=None):
    functions = set(declared(header))
    versions = exported_by_map(version_script)
    yield from (f"{name}: no comment with @since" for name in undocumented(header))
    yield from differences("declared", functions, "in the version script", set(versions))
    if library is not None:
        exported = exported_by_library(library)
        yield from differences("exported", set(exported), "in the version script", set(versions))
        for name in sorted(set(exported) & set(versions)):
            if exported[name] != versions[name]:
                yield f"{name}: version {exported[name]}, not {versions[name]}"


def main(arguments):
    if len(arguments) not in (2, 3):
        raise SystemExit(__doc__)
    texts = [Path(name).read_text(encoding="utf-8") for name in arguments[:2]]
    found = list(problems(*texts, *arguments[2:]))
    for problem in found:
        print(problem)
    print(f"{len(declared(texts[0]))} functions declared")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
