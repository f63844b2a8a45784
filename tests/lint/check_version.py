#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The packages' files repeat the version that CMakeLists.txt has.

    check_version.py SOURCE_DIR
"""

import re
import sys
from pathlib import Path

PLACES = {
    "debian/changelog": r"\Alibgpucontainer \(([0-9.]+)-[0-9]+\) ",
    "bindings/python/pyproject.toml": r'^version = "([0-9.]+)"$',
    "bindings/rust/gpucontainer-sys/Cargo.toml": r'^version = "([0-9.]+)"$',
    "bindings/rust/gpucontainer/Cargo.toml": r'^version = "([0-9.]+)"$',
    "bindings/rust/gpucontainer/Cargo.toml, dependencies":
        r'^gpucontainer-sys = \{ version = "([0-9.]+)"',
    "bindings/rust/Cargo.lock, gpucontainer": r'^name = "gpucontainer"\nversion = "([0-9.]+)"$',
    "bindings/rust/Cargo.lock, gpucontainer-sys":
        r'^name = "gpucontainer-sys"\nversion = "([0-9.]+)"$',
    "packaging/rpm/libgpucontainer.spec": r"^Version: +([0-9.]+)$",
    "packaging/rpm/libgpucontainer.spec, %changelog": r"^%changelog\n\* .* - ([0-9.]+)-[0-9]+$",
}


def main(arguments):
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    source = Path(arguments[0])

    def find(file, pattern):
        text = (source / file.split(",")[0]).read_text(encoding="utf-8")
        match = re.search(pattern, text, re.M)
        return match[1] if match else None

    version = find("CMakeLists.txt", r"^project\(libgpucontainer VERSION ([0-9.]+)")
    problems = [f"{file}: {found}, not {version}" for file, pattern in PLACES.items()
                if (found := find(file, pattern)) != version]
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main(sys.argv[1:]))
