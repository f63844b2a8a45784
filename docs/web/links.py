#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints a document with links that Doxygen follows.

    links.py SOURCE_DIR LIST FILE

LIST is a file with the paths of all documents below SOURCE_DIR.
In the documents, a link names a file and a heading as web pages of repositories do:
"cli.md#which-gpus". Doxygen knows only names that headings are given.
"""

import collections
import pathlib
import re
import sys

HEADING = re.compile(r"^(#{1,6}) +(.*?)$")
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def slug(heading):
    """The name that a heading has in links."""
    text = LINK.sub(r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def name_of(source, path, heading=""):
    parts = path.relative_to(source).with_suffix("").parts
    return "_".join(["doc", *parts, *filter(None, [heading])]).replace("-", "_").lower()


def target(source, documents, file, link):
    """A reference to another document; None for a file that has no web page."""
    path, _, heading = link.partition("#")
    wanted = (file.parent / path).resolve() if path else file
    has_page = wanted in documents or not wanted.exists()  # Doxygen reports the latter.
    return name_of(source, wanted, heading) if has_page else None


def linked(source, documents, file, line):
    def replace(match):
        text, link = match.groups()
        if "://" in link:
            return match[0]
        name = target(source, documents, file, link)
        return f'@ref {name} "{text.replace(chr(96), "")}"' if name else text

    return LINK.sub(replace, line)


def main(source, listed, file):
    source, file = pathlib.Path(source).resolve(), pathlib.Path(file).resolve()
    documents = {source / line for line in pathlib.Path(listed).read_text(encoding="utf-8").split()}
    is_first, seen = True, collections.Counter()
    for line in file.read_text(encoding="utf-8").splitlines():
        if match := HEADING.match(line):
            # Doxygen would show "<tt>" for a backtick there, and one dash for two.
            text = LINK.sub(r"\1", match[2]).replace("`", "").replace("--", "\\--")
            own = slug(match[2])
            name = name_of(source, file, "" if is_first else own + f"-{seen[own]}" * (seen[own] > 0))
            seen[own] += 1
            line = f"{match[1]} {text} {{#{name}}}"
            is_first = False
        elif not line.startswith("    "):
            line = linked(source, documents, file, line)
        print(line)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: links.py SOURCE_DIR LIST FILE")
    main(*sys.argv[1:])
