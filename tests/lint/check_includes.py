#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every file includes the standard headers of what it uses, itself or by another of this tree.

    check_includes.py SOURCE_TREE

The headers of a standard library bring others along, and each of its releases different ones.
Where files are compiled together, one that lacks a header may find it through another.
"""

import functools
import pathlib
import re
import subprocess
import sys

# Not all there are: those that releases of libstdc++ have dropped from other headers, and the
# like.
ALGORITHMS = ("adjacent_find all_of any_of binary_search clamp copy copy_if copy_n count count_if "
              "equal equal_range fill fill_n find find_if find_if_not for_each includes is_sorted "
              "lower_bound max max_element min min_element mismatch none_of partition remove_if "
              "replace reverse rotate search set_difference sort stable_sort transform unique "
              "upper_bound").split()
USES = {
    "algorithm": rf"\bstd::(?:ranges::)?(?:{'|'.join(ALGORITHMS)})\(",
    "array": r"\bstd::array\b",
    "atomic": r"\bstd::atomic\b",
    "cerrno": r"\berrno\b",
    "chrono": r"\bstd::chrono\b",
    "cstdint": r"\bstd::u?int(?:8|16|32|64|ptr|max)_t\b",
    "cstring": r"\bstd::(?:memchr|memcmp|memcpy|memset|strcmp|strerror|strlen)\(",
    "functional": r"\bstd::function\b",
    "limits": r"\bstd::numeric_limits\b",
    "map": r"\bstd::(?:multi)?map\b",
    "memory": r"\bstd::(?:make_shared|make_unique|shared_ptr|unique_ptr|weak_ptr)\b",
    "numeric": r"\bstd::(?:accumulate|gcd|iota)\(",
    "optional": r"\bstd::(?:nullopt|optional)\b",
    "set": r"\bstd::(?:multi)?set\b",
    "string": r"\bstd::(?:string|to_string)\b",
    "string_view": r"\bstd::string_view\b",
    "unordered_map": r"\bstd::unordered_map\b",
    "utility": r"\bstd::(?:exchange|move|pair|swap)\b",
    "vector": r"\bstd::vector\b",
}
USES = {header: re.compile(use) for header, use in USES.items()}
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.MULTILINE)
DIRECTORIES = ("include", "libgpucontainer", "cli", "tests", "tests/simhost", "tests/hostile", ".")


def check(tree):
    """What is missing: pairs of a file and a header."""
    listed = subprocess.run(["git", "-C", tree, "ls-files", "*.cpp", "*.hpp",
                             ":(exclude)scripts/cppcheck"],  # which stand in for others
                            check=True, capture_output=True, text=True).stdout.split()

    @functools.lru_cache(None)
    def text(path):
        return path.read_text(encoding="utf-8")

    @functools.lru_cache(None)
    def included(path):
        """The headers that a file has, with those of headers of this tree."""
        found = set()
        for name in INCLUDE.findall(text(path)):
            found.add(name)
            own = next((file for file in (base / name for base in
                                          (path.parent, *(tree / part for part in DIRECTORIES)))
                        if file.is_file() and file != path), None)
            if own:
                found |= included(own)
        return found

    missing = []
    for name in listed:
        code = NO_CODE.sub("", text(tree / name))
        headers = included(tree / name)
        missing += [(name, header) for header, use in USES.items()
                    if header not in headers and use.search(code)]
    return missing


def main():
    missing = check(pathlib.Path(sys.argv[1]))
    for name, header in missing:
        print(f"{name}: uses what <{header}> declares, and does not include it", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
