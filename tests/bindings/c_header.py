# SPDX-License-Identifier: MIT
"""Reads gpucontainer.h: what a binding has to declare.

Types are words: "i32", "u32", "i64", "u64", "size", "char", "char[N]" (an array), "text" (const
char*), "handle" (a pointer to what is opaque, or to bytes), "out" (where a handle or text is
written), "i32*", "u32*", "u64*", "struct NAME", "struct NAME*", "report" and "none".
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "abi"))
# pylint: disable=wrong-import-position
import check_symbols

PLAIN = {
    "void": "none",
    "char": "char",
    "int": "i32",
    "int32_t": "i32",
    "gpuctr_status": "i32",
    "uint32_t": "u32",
    "int64_t": "i64",
    "uint64_t": "u64",
    "size_t": "size",
    "gpuctr_report": "report",
}
STRUCT = re.compile(r"typedef struct (\w+) \{(.*?)\} \1;", re.DOTALL)
PROTOTYPE = re.compile(r"GPUCTR_API\s+([\w\s*]*?[\s*])(gpuctr_\w+)\s*\(([^)]*)\)\s*;")
FIELD = re.compile(r"^(.*?[\s*])(\w+)(\[\d+\])?$", re.DOTALL)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


class Header:
    def __init__(self, path):
        text = Path(path).read_text(encoding="utf-8")
        self.constants = check_symbols.constants(text)
        plain = without_comments(text)
        bodies = {match[1]: match[2] for match in STRUCT.finditer(plain)}
        self.struct_names = set(bodies)
        self.structs = {name: self._fields(body) for name, body in bodies.items()}
        self.functions = {
            match[2]: (self._type(match[1]), self._parameters(match[3]))
            for match in PROTOTYPE.finditer(plain)
        }
        if set(self.functions) != set(check_symbols.declared(text)):
            raise SystemExit("c_header.py does not understand each declaration")

    def _type(self, declared):
        stars = declared.count("*")
        base = " ".join(w for w in declared.replace("*", " ").split() if w != "const")
        if stars == 0 and base in PLAIN:
            return PLAIN[base]
        if base in self.struct_names:
            return "struct " + base + "*" * stars
        if base == "char" and stars == 1:
            return "text" if "const" in declared else "handle"
        if base in ("int", "uint32_t", "uint64_t") and stars == 1:
            return PLAIN[base] + "*"
        if base == "char" and declared.count("const") == 2:
            return "texts"
        if stars in (1, 2) and (base in ("void", "char") or base.startswith("gpuctr_")):
            return "handle" if stars == 1 else "out"
        raise SystemExit(f"c_header.py does not understand the type {declared!r}")

    def _named(self, declared):
        """Name and type of a field or parameter."""
        match = FIELD.match(declared.strip())
        kind = self._type(match[1])
        return match[2], kind + (match[3] or "")

    def _fields(self, body):
        return [self._named(field) for field in body.split(";") if field.strip()]

    def _parameters(self, listed):
        if listed.strip() == "void":
            return []
        return [self._named(parameter)[1] for parameter in listed.split(",")]
