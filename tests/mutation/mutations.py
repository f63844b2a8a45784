#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The list of mutations: what it looks like, and whether it fits the source tree.

    mutations.py ROOT

Prints what does not fit, a line each, and exits with 1 when anything does not.

A mutation takes out or turns round one thing that is there for safety. Each file in
mutations/ has some of one part of the code:

    [[mutation]]
    breaks = "a device is cloned whose number is another one"
    file = "libgpucontainer/apply/sources.cpp"
    text = "status.st_rdev != ::makedev(item.major, item.minor)"
    becomes = "false"
    killed_by = "apply_sources SourcesTest.TakesNoOtherDevice"

`text` occurs exactly once in `file`. `killed_by` names a test that passes without the
mutation and fails with it: one of CTest or a program of GoogleTest, and which part of it,
if not all: a class or method of Python's unittest, a filter of GoogleTest. A mutation
that changes nothing a test could see says so, with `equivalent` and the reason instead.
"""

import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

KEYS = {"breaks", "file", "text", "becomes"}


class Unfit(Exception):
    """A mutation that is not what this list says a mutation is."""


@dataclass(frozen=True)
class Mutation:
    breaks: str
    file: str
    text: str
    becomes: str
    killed_by: str = ""
    equivalent: str = ""

    def apply(self, source):
        """The text of the file with it."""
        if (count := source.count(self.text)) != 1:
            raise Unfit(f"{self.file}: {count} times there, and not once: {self.text!r}")
        return source.replace(self.text, self.becomes)


def load(directory):
    found = []
    for path in sorted(Path(directory).glob("*.toml")):
        for fields in tomllib.loads(path.read_text()).get("mutation", []):
            outcome = fields.keys() - KEYS
            if KEYS - fields.keys() or outcome not in ({"killed_by"}, {"equivalent"}):
                raise Unfit(f"{path.name}: {fields.get('breaks', fields)}: not the keys of one")
            found.append(Mutation(**fields))
    return found


class Tests:
    """Which tests the sources have."""

    def __init__(self, source):
        self.source = Path(source)

    def has(self, killed_by):
        program, _, part = killed_by.partition(" ")
        kind, _, module = program.partition(".")
        if kind in ("cli", "formats", "hostile", "simhost"):
            return self._is_registered(kind, module) \
                and self._python_has(kind, module.split(".")[0], part)
        name = module if kind == "capi" else program
        texts = self._texts_of(name) or self._texts("*_test.cpp")
        return self._has_program(name) and (
            not part or any(self._has_gtest(text, part) for text in texts))

    def _is_registered(self, kind, name):
        """Whether CMake gives a module of tests that name, with the classes of its TESTS in it."""
        file = self.source / "tests" / kind / "CMakeLists.txt"
        text = file.read_text() if file.is_file() else ""
        module, *parts = name.split(".")
        calls = re.findall(rf"gpuctr_{kind}_test\({module}\b([^)]*)\)", text)
        firsts = [re.findall(r"TESTS (\w+)", call) for call in calls]
        return not calls or [] in firsts or parts[:1] in firsts

    def _python_has(self, kind, module, part):
        file = self.source / "tests" / kind / f"{module}_test.py"
        text = file.read_text() if file.is_file() else ""
        case, _, method = part.partition(".")
        return text != "" and all(
            re.search(rf"^ *{word} {name}\b", text, re.MULTILINE)
            for word, name in (("class", case), ("def", method)) if name)

    def _texts(self, name):
        for path in sorted((self.source / "tests").glob(f"**/{name}")):
            yield path.read_text()

    def _texts_of(self, program):
        """The sources of a program, where one call in CMake names it and them."""
        call = re.compile(rf"\(\s*{re.escape(program)}\s([^()]*\.cpp[^()]*)\)")
        return [(lists.parent / file).read_text()
                for lists in sorted((self.source / "tests").glob("**/CMakeLists.txt"))
                for sources in call.findall(lists.read_text())
                for file in re.findall(r"[\w/]+_test\.cpp", sources)]

    def _has_program(self, name):
        wanted = re.compile(rf"\b{re.escape(name)}\b")
        return any(wanted.search(text) for text in self._texts("CMakeLists.txt"))

    @staticmethod
    def _has_gtest(text, part):
        """SUITE, SUITE.NAME, or SUITE.NAME/VALUE of one that is run with several values."""
        test, _, value = part.partition("/")
        suite, _, name = test.partition(".")
        found = re.search(rf"TEST(_F|_P|)\(\s*{suite},\s*{name or '.*'}\)", text)
        return found is not None and (not name or (found[1] == "_P") == (value != ""))


def problems(source, mutations):
    """What does not fit, a line each."""
    tests = Tests(source)
    seen = set()
    for mutation in mutations:
        if mutation.breaks in seen:
            yield f"{mutation.breaks}: there twice"
        seen.add(mutation.breaks)
        path = Path(source, mutation.file)
        try:
            mutation.apply(path.read_text() if path.is_file() else "")
        except Unfit as unfit:
            yield f"{mutation.breaks}: {unfit}"
        if mutation.killed_by and not tests.has(mutation.killed_by):
            yield f"{mutation.breaks}: no such test: {mutation.killed_by}"


def main(root):
    source = Path(root)
    try:
        found = list(problems(source, load(source / "tests" / "mutation" / "mutations")))
    except Unfit as unfit:
        found = [str(unfit)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
