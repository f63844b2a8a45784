#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The exported symbols are those of the version script, and each is documented.

    check_symbols.py HEADER MAP [LIBRARY]

Compares the functions that HEADER declares with GPUCTR_API, the names in the
version script MAP and, where it is given, what LIBRARY exports. Each declaration
has to stand below a comment that says since when it is there.

Constants have to be such that a parser of another language can read them, and a
macro that initialises a struct has a function that does the same.
"""

import re
import subprocess
import sys
from pathlib import Path

DECLARATION = re.compile(r"^GPUCTR_API\b[^;]*?\b(gpuctr_\w+)\s*\(", re.MULTILINE)

# Of macros those that stand for a value; GPUCTR_API is an attribute.
MACRO = re.compile(r"^#define (GPUCTR_(?!API\b)\w+) (.+)$", re.MULTILINE)
NUMBER = re.compile(r"(0x[0-9a-f]+|[0-9]+)u?")
TEXT = re.compile(r'"[^"\\]*"')
ENUMERATOR = re.compile(r"(GPUCTR_\w+) = (-?[0-9]+|0x[0-9a-f]+)")


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


def macros(header):
    """Name and value of each macro that stands for a value."""
    header = re.sub(r"\\\n", " ", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL))
    for match in MACRO.finditer(header):
        yield match[1], match[2].strip()


def constants(header):
    """The value of each constant, as a number or a text."""
    values = {}
    for name, value in macros(header):
        if TEXT.fullmatch(value):
            values[name] = value.strip('"')
        elif NUMBER.fullmatch(value):
            values[name] = int(value.rstrip("uU"), 0)
    plain = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    for match in ENUMERATOR.finditer(plain):
        values[match[1]] = int(match[2], 0)
    return values


def unreadable(header):
    """What a parser that knows no expressions cannot read."""
    functions = declared(header)
    for name, value in macros(header):
        if name.endswith("_INIT"):
            function = name.lower()
            if function not in functions:
                yield f"{name}: no function {function}()"
        elif not (TEXT.fullmatch(value) or NUMBER.fullmatch(value)):
            yield f"{name}: not a plain literal: {value}"
    plain = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    for body in re.findall(r"\benum\b[^{;]*\{(.*?)\}", plain, flags=re.DOTALL):
        for enumerator in filter(None, map(str.strip, body.split(","))):
            match = ENUMERATOR.fullmatch(enumerator)
            if not match or not -(2**31) <= int(match[2], 0) < 2**31:
                yield f"{enumerator}: not an enumerator that fits an int"


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
    yield from unreadable(header)
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
