#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the arrows between the parts of the source tree pointing down.

    check_layers.py ROOT

Prints "FILE:LINE: what is wrong" for each violation and exits with 1 when there
is one.
"""

import re
import sys
from pathlib import Path

# A module includes lower ones and itself; each of them, and the command, includes SHARED.
SHARED = "syscall"
LAYERS = {
    "base": 0,
    "elf": 1, "config": 1, "privilege": 1,
    "host": 2, "rootfs": 2, "mount": 2, "cgroup": 2,
    "image": 3, "linking": 3, "model": 3, "program": 3, "requirement": 3,
    "cdi": 4, "search": 4, "record": 4,
    "drivers": 5,
    "detect": 6,
    "plan": 7, "loading": 7,
    "journal": 8,
    "apply": 9, "check": 9,
    "explain": 9,
    "export": 10, "import": 10,
    "capture": 11,
    "capi": 12,
}  # fmt: skip

# Where a header of somebody else may be included, below libgpucontainer/.
CONFINED = [
    (r"libudev\.h", []),
    (r"elf\.h|gelf\.h|link\.h|libelf\.h|elfutils/.*", ["elf/"]),
    (r"yaml-cpp/.*", ["config/"]),
    (r"nlohmann/.*", ["cdi/", "export/", "import/", "record/", "journal/journal.cpp", "search/manifest.cpp",
                        "drivers/nvidia/compat.cpp", "drivers/nvidia/toolkit.cpp", "image/archive_manifest.cpp"]),
    (r"sys/capability\.h|linux/capability\.h", ["privilege/"]),
    (r"libmount(/.*)?\.h", ["mount/"]),
    (r"libkmod\.h", ["loading/"]),
    (r"sqfs/.*", ["image/squash"]),
    (r"CLI/.*", []),
    (r"gtest/.*|gmock/.*", []),
]

# The same for the folders of cli/; main.cpp includes all of them.
CLI_LAYERS = {
    "output": 0,
    "process": 1, "formats": 1,
    "image": 2,
    "runtime": 3, "settings": 3,
    "restricted": 4,
    "options": 5,
    "commands": 6,
    "front": 7,
}  # fmt: skip

# What the command may use besides its own files and the system.
CLI_MAY_INCLUDE = r"gpucontainer/.*|CLI/.*|fmt/.*"

# What the makers' folders and their registry alone may speak of, but in comments: the
# names of the folders, and what makers call their GPUs and platforms.
VENDOR_FOLDER = "libgpucontainer/drivers/"
PRODUCTS = ["cuda", "rocm", "radeon", "gaudi"]
# About processors: a field of CDI specifications, and how OCI images call an architecture.
OF_PROCESSORS = re.compile("intelRdt|amd64")

INCLUDE = re.compile(r'\s*#\s*include\s*(<([^>]+)>|"([^"]+)")')
STANDARD = re.compile(r"[a-z_0-9]+|(std[a-z]+|assert|errno|limits)\.h")
SYSTEM = re.compile(
    r"[a-z_0-9]+|(sys|linux|net|netinet|arpa)/[a-z_0-9]+\.h"
    r"|(dirent|dlfcn|errno|fcntl|fnmatch|getopt|grp|limits|poll|pwd|sched|signal|spawn"
    r"|string|termios|time|unistd|std[a-z]+)\.h"
)
SPDX = "SPDX-License-Identifier: MIT"
MOST_LINES = 500
# An interface is one header for those who include it, and much of it documentation.
MAY_BE_LONG = {"gpucontainer.h", "gpucontainer.hpp"}
SOURCES = {".c", ".h", ".cpp", ".hpp"}
FOLDERS = ["include", "syscall", "libgpucontainer", "cli", "tests", "benchmarks", "examples"]


def includes(lines):
    """(line number, name, whether it stands between angle brackets) of each."""
    for number, line in enumerate(lines, 1):
        if match := INCLUDE.match(line):
            yield number, match[2] or match[3], match[2] is not None


def check_module_include(path, name, system):
    """What is wrong with an include in libgpucontainer/; None when nothing is."""
    module = path.parts[0]
    if not system:
        target = name.split("/")[0]
        if "/" not in name:
            return f"{name}: not by its path from libgpucontainer/"
        if target == SHARED:
            return None
        if target not in LAYERS:
            return f"{target}/ is not a module"
        if target != module and LAYERS[target] >= LAYERS[module]:
            return f"{module}/ may not include {target}/"
        return None
    for pattern, places in CONFINED:
        if re.fullmatch(pattern, name) and not path.as_posix().startswith(tuple(places)):
            return f"<{name}> belongs to {' and '.join(places) or 'nobody here'}"
    return None


def check_cli_include(path, name, system):
    """The same for one in cli/."""
    if system:
        if re.fullmatch(CLI_MAY_INCLUDE, name) or SYSTEM.fullmatch(name):
            return None
        return f"cli/ may not include <{name}>"
    target = name.split("/")[0]
    if "/" in name and target == SHARED:
        return None
    if "/" not in name or target not in CLI_LAYERS:
        return f"{name}: no file of the command's by its path from cli/"
    folder = path.parts[0]
    if len(path.parts) == 1 or target == folder or CLI_LAYERS[target] < CLI_LAYERS[folder]:
        return None
    return f"{folder}/ may not include {target}/"


def check_shared_include(name, system):
    """The same for what the library and the command share: it knows neither of them."""
    allowed = SYSTEM.fullmatch(name) if system else name.startswith(f"{SHARED}/")
    return None if allowed else f"{SHARED}/ may not include {name}"


def check_include(path, name, system):
    """The same for any file, `path` being relative to the root of the tree."""
    folder = path.parts[0]
    if folder == "libgpucontainer":
        return check_module_include(path.relative_to(folder), name, system)
    if folder == "include":
        allowed = system and (STANDARD.fullmatch(name) or name.startswith("gpucontainer/"))
        return None if allowed else f"a public header may not include {name}"
    if folder == SHARED:
        return check_shared_include(name, system)
    if folder == "cli":
        return check_cli_include(path.relative_to(folder), name, system)
    return None


def vendors_of(root):
    """What names a vendor: a folder's name where a word begins, or behind "lib"."""
    folders = sorted(file.parent.name for file in (root / VENDOR_FOLDER).glob("*/catalogue.yaml"))
    names = "|".join(map(re.escape, folders))
    words = [rf"(?:(?<![a-z])|lib)(?:{names})"] if folders else []
    return re.compile("|".join([*PRODUCTS, *words]), re.IGNORECASE)


def lines_with_vendors(path, lines, vendors):
    """Numbers of the lines of a module's code that name a vendor."""
    if path.as_posix().startswith(VENDOR_FOLDER):
        return []
    return [n for n, line in enumerate(lines, 1)
            if vendors.search(OF_PROCESSORS.sub("", line.split("//")[0]))]


def check_file(root, path, vendors):
    """Violations in one file as (line, text)."""
    lines = (root / path).read_text(encoding="utf-8", errors="replace").splitlines()
    if not lines or SPDX not in lines[0]:
        yield 1, f"the first line is not {SPDX}"
    if len(lines) > MOST_LINES and path.name not in MAY_BE_LONG:
        yield MOST_LINES + 1, f"{len(lines)} lines; {MOST_LINES} at most"
    in_module = path.parts[0] == "libgpucontainer" and len(path.parts) > 2
    if in_module and path.parts[1] not in LAYERS:
        yield 1, f"{path.parts[1]}/ is not a module; see LAYERS in check_layers.py"
        return
    if path.parts[0] == "cli" and len(path.parts) > 2 and path.parts[1] not in CLI_LAYERS:
        yield 1, f"{path.parts[1]}/ is no folder of cli/; see CLI_LAYERS in check_layers.py"
        return
    if in_module:
        for number in lines_with_vendors(path, lines, vendors):
            yield number, "a vendor is named outside of drivers/"
    for number, name, system in includes(lines):
        if problem := check_include(path, name, system):
            yield number, problem


def component(name):
    """What a header and its .cpp are together: "apply/undo"."""
    return name.rsplit(".", 1)[0]


def inclusions(root):
    """Of each component in libgpucontainer/, those of its own module that it includes."""
    library = root / "libgpucontainer"
    found = {}
    for file in sorted(library.rglob("*")):
        path = file.relative_to(library)
        if file.suffix not in SOURCES or len(path.parts) < 2:
            continue
        own = component(path.as_posix())
        used = found.setdefault(own, set())
        for _, name, system in includes(file.read_text(errors="replace").splitlines()):
            if not system and name.split("/")[0] == path.parts[0] and component(name) != own:
                used.add(component(name))
    return found


def find_cycle(start, used):
    """The shortest way by which a component includes itself; empty when there is none."""
    ways = [[start]]
    seen = set()
    for way in ways:
        for name in sorted(used.get(way[-1], ())):
            if name == start:
                return [*way, start]
            if name not in seen:
                seen.add(name)
                ways.append([*way, name])
    return []


def check_cycles(root):
    """One line for each cycle between the files of a module."""
    used = inclusions(root)
    told = set()
    for start in used:
        cycle = find_cycle(start, used)
        if cycle and not told & set(cycle):
            told |= set(cycle)
            yield f"libgpucontainer/{start}: includes itself: {' > '.join(cycle)}"


def check_tree(root):
    """All violations of a tree, as the lines to print."""
    yield from check_cycles(root)
    vendors = vendors_of(root)
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in SOURCES and file.is_file():
                path = file.relative_to(root)
                for number, problem in check_file(root, path, vendors):
                    yield f"{path}:{number}: {problem}"


def main(arguments):
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    root = Path(arguments[0])
    if not (root / "libgpucontainer").is_dir():
        raise SystemExit(f"check_layers.py: no source tree in {root}")
    problems = list(check_tree(root))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
