#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The bindings have all of the C interface.

    check_bindings.py ROOT

Compares what Python's and Rust's bindings declare with the header, type by type. Says which
functions and constants a binding does not offer; each of them has a reason in LEFT_OUT. The
versions of the packages have to be that of the project.
"""

import ctypes
import importlib.util
import re
import sys
from pathlib import Path

import c_header

OF_HOOKS = {
    f"gpuctr_hook_state_{name}": "`gpuctr-setup hook` is the hook; others may read JSON themselves"
    for name in ("bundle", "fault", "free", "names_gpus", "pid", "read", "read_config", "refused_at",
                 "refused_count", "rootfs", "variable_at", "variable_count",
                 "vendor_at", "vendor_count")
}
OF_HOOKS |= {f"GPUCTR_WISH_{name}": OF_HOOKS["gpuctr_hook_state_read"]
             for name in ("ENVIRONMENT", "PRIVILEGED", "MOUNTS", "LEGACY")}
OF_HOOKS["gpuctr_plan_edit_oci"] = "the language edits JSON itself, by gpuctr_plan_to_oci()"
OF_HOOKS["gpuctr_plan_allow_devices"] = "for hooks that NVIDIA\'s callers start, as the command does"
OF_CDI = {
    name: "devices of specifications are applied by the command, as runtimes have libraries for it"
    for name in (
        "gpuctr_plan_create_from_cdi",
        "GPUCTR_REQUEST_KEEP_UNKNOWN_HOOKS",
        "GPUCTR_REQUEST_KEEP_ALL_HOOKS",
    )
}
# What a binding does not offer, and why.
CDI_READERS = {
    name: "the language has a library of the specification's own makers for reading"
    for name in (
        "gpuctr_cdi_list_open",
        "gpuctr_cdi_list_free",
        "gpuctr_cdi_list_to_json",
        "gpuctr_cdi_list_device_count",
        "gpuctr_cdi_list_device_at",
        "gpuctr_cdi_list_finding_count",
        "gpuctr_cdi_list_finding_at",
        "gpuctr_cdi_device_name",
        "gpuctr_cdi_device_path",
        "gpuctr_cdi_device_state",
    )
}
FACTS = {"gpuctr_host_fact": "a program states what it needs as a requirement, which a plan checks"}
LEFT_OUT = {
    "Python": OF_CDI | OF_HOOKS | FACTS,
    "Go": CDI_READERS | OF_CDI | OF_HOOKS | FACTS,
    "Rust": CDI_READERS
    | OF_CDI
    | OF_HOOKS
    | FACTS
    | {"GPUCTR_VENDOR_ANY": "its texts are not terminated; VENDOR_ANY is one of its own"},
}

OF_CTYPES = {
    ctypes.c_char: "char",
    ctypes.c_char_p: "text",
    ctypes.c_void_p: "handle",
    ctypes.c_int32: "i32",
    ctypes.c_uint32: "u32",
    ctypes.c_int64: "i64",
    ctypes.c_uint64: "u64",  # c_size_t is the same type
    None: "none",
}
OF_RUST = {
    "c_char": "char",
    "c_int": "i32",
    "gpuctr_status": "i32",
    "i32": "i32",
    "u32": "u32",
    "i64": "i64",
    "u64": "u64",
    "usize": "size",
    "gpuctr_report": "report",
    "*const c_char": "text",
    "*mut c_char": "handle",
    "*const c_void": "handle",
    "*mut c_void": "handle",
    "*const c_int": "i32*",
    "*mut c_int": "i32*",
    "*mut u32": "u32*",
    "*mut u64": "u64*",
    "*const *const c_char": "texts",
    "": "none",
}


def differences(what, declared, expected):
    for name in sorted(set(declared) | set(expected)):
        if name not in declared:
            yield f"{what}: {name} is missing"
        elif name not in expected:
            yield f"{what}: {name} is not in the header"
        elif declared[name] != expected[name]:
            yield f"{what}: {name} is {declared[name]}, not {expected[name]}"


class PythonDeclarations:
    def __init__(self, path):
        spec = importlib.util.spec_from_file_location("declarations", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self._names = {struct: name for name, struct in module.STRUCTS.items()}
        self._report = module.REPORT
        self.constants = module.CONSTANTS
        self.structs = {
            name: [(field, self._word(kind)) for field, kind in struct._fields_]
            for name, struct in module.STRUCTS.items()
        }
        self.functions = {
            name: (self._word(result), [self._word(kind) for kind in parameters])
            for name, (result, parameters) in module.FUNCTIONS.items()
        }

    def _word(self, kind):
        if kind in OF_CTYPES:
            return OF_CTYPES[kind]
        if kind is self._report:
            return "report"
        if kind in self._names:
            return "struct " + self._names[kind]
        if issubclass(kind, ctypes.Array):
            return f"{self._word(kind._type_)}[{kind._length_}]"
        pointed = self._word(kind._type_)
        return {"handle": "out", "text": "texts"}.get(pointed, pointed + "*")


def with_one_word_for_sizes(header):
    """What the header declares, as ctypes has it: size_t is the same as uint64_t."""

    def word(kind):
        return "u64" if kind == "size" else kind

    header.functions = {
        name: (word(result), [word(kind) for kind in parameters])
        for name, (result, parameters) in header.functions.items()
    }
    header.structs = {
        name: [(field, word(kind)) for field, kind in fields]
        for name, fields in header.structs.items()
    }
    return header


class RustDeclarations:
    FUNCTION = re.compile(r"pub fn (\w+)\s*\(([^)]*)\)(?:\s*->\s*([^;]+))?;")
    STRUCT = re.compile(r"pub struct (gpuctr_\w+) \{(.*?)\n\}", re.DOTALL)
    FIELD = re.compile(r"(?:pub )?(?:r#)?(\w+): (.+)")
    CONSTANT = re.compile(r'pub const (\w+): [^=]+ = (b"[^"]*"|-?\w+);')

    def __init__(self, path):
        text = re.sub(r"//[^\n]*", "", Path(path).read_text(encoding="utf-8"))
        bodies = dict(self.STRUCT.findall(text))
        self._struct_names = set(bodies)
        self.structs = {name: self._list(body) for name, body in bodies.items()}
        self.functions = {
            name: (self._word(result), [kind for _, kind in self._list(parameters)])
            for name, parameters, result in self.FUNCTION.findall(text)
        }
        self.constants = {
            name: value[2:-1].removesuffix(r"\0") if value.startswith("b") else int(value, 0)
            for name, value in self.CONSTANT.findall(text)
        }

    def _list(self, declared):
        parts = filter(None, map(str.strip, declared.split(",")))
        matches = [self.FIELD.fullmatch(part) for part in parts]
        return [(match[1], self._word(match[2])) for match in matches]

    def _word(self, kind):
        kind = kind.strip()
        if kind in OF_RUST:
            return OF_RUST[kind]
        if kind in self._struct_names:
            return "struct " + kind
        if array := re.fullmatch(r"\[(\w+); (\d+)\]", kind):
            return f"{self._word(array[1])}[{array[2]}]"
        if kind.startswith("*mut *mut "):
            return "out"
        pointed = kind.removeprefix("*const ").removeprefix("*mut ")
        return f"struct {pointed}*" if pointed in self._struct_names else "handle"


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def words_of(paths):
    """Names of the library that files have, but in comments."""
    text = "".join(without_comments(path.read_text(encoding="utf-8")) for path in paths)
    return set(re.findall(r"\b(?:gpuctr|GPUCTR)_\w+", text))


def not_offered(names, words):
    """A name may be put together from the name of a list or struct and the word for what is
    done with it."""
    return {
        name
        for name in names
        if name not in words
        and not (
            name.endswith(("_count", "_at", "_init")) and name.rpartition("_")[0] in words
        )
    }


def unexplained(binding, names, words, reasons):
    missing = not_offered(names, words)
    yield from (f"{binding}: {name} is not offered" for name in sorted(missing - set(reasons)))
    yield from (
        f"{binding}: {name} is offered, but has a reason not to be"
        for name in sorted(set(reasons) - missing)
    )


def versions(root):
    project = re.search(
        r"project\(libgpucontainer VERSION (\S+)", (root / "CMakeLists.txt").read_text("utf-8")
    )[1]
    for name in (
        "python/pyproject.toml",
        "rust/gpucontainer/Cargo.toml",
        "rust/gpucontainer-sys/Cargo.toml",
        "rust/Cargo.lock",
    ):
        text = (root / "bindings" / name).read_text(encoding="utf-8")
        for version in re.findall(r'(?:^|\s)version = "([^"]+)"', text):
            if version != project:
                yield f"bindings/{name}: version {version}, not {project}"


def problems(root):
    path = root / "include/gpucontainer/gpucontainer.h"
    header = c_header.Header(path)
    python = root / "bindings/python/src/gpucontainer"
    rust = root / "bindings/rust"
    package = PythonDeclarations(python / "_declarations.py")
    crate = RustDeclarations(rust / "gpucontainer-sys/src/lib.rs")
    for binding, declared, expected in (
        ("Python", package, with_one_word_for_sizes(c_header.Header(path))),
        ("Rust", crate, header),
    ):
        for what in ("functions", "structs", "constants"):
            yield from differences(
                f"{binding}: {what}", getattr(declared, what), getattr(expected, what)
            )
    files = {
        "Python": [path for path in python.glob("*.py") if path.name != "_declarations.py"],
        "Go": [
            path
            for path in (root / "bindings/go").glob("*.go")
            if not path.name.endswith("_test.go")
        ],
        "Rust": list((rust / "gpucontainer/src").glob("*.rs")),
    }
    for binding, paths in files.items():
        names = set(header.functions) | set(header.constants)
        yield from unexplained(binding, names, words_of(paths), LEFT_OUT[binding])
    yield from versions(root)


def main(arguments):
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    found = list(problems(Path(arguments[0])))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
