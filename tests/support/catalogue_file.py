# SPDX-License-Identifier: MIT
"""Reads catalogue files, for tests alone: what of YAML stands in those of drivers/.

Maps and lists by indentation, `{a: b, c: d}` on one line, quotes around a whole scalar,
comments. All scalars are text, as for the library.
"""

import re
from pathlib import Path


def _scalar(text):
    if text.startswith("{"):
        pairs = (part.split(":", 1) for part in text[1:-1].split(","))
        return {key.strip(): _scalar(value.strip()) for key, value in pairs}
    if text == "[]":
        return []
    return text[1:-1] if text.startswith('"') else text


def _lines(text):
    for line in text.splitlines():
        line = re.sub(r"(^|\s)#.*", "", line).rstrip()
        if line:
            yield line


def _indent(line):
    return len(line) - len(line.lstrip())


def _block(lines, indent):
    """The map or list that the first lines are, which are taken away."""
    found = [] if lines[0].lstrip().startswith("- ") else {}
    while lines and _indent(lines[0]) == indent:
        line = lines.pop(0).strip()
        if isinstance(found, list):
            text = line.removeprefix("- ")
            if re.match(r"[\w-]+:( |$)", text):
                lines.insert(0, " " * (indent + 2) + text)
                found.append(_block(lines, indent + 2))
            else:
                found.append(_scalar(text))
            continue
        key, value = (part.strip() for part in line.split(":", 1))
        found[key] = _scalar(value) if value else _block(lines, _indent(lines[0]))
    return found


def read(path):
    return _block(list(_lines(Path(path).read_text(encoding="utf-8"))), 0)
