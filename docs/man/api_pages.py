#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the manual pages of section 3 from the comments of the C header.

    api_pages.py HEADER VERSION DIR

There is a page for each part of the header, which its comments "/* -- TITLE --- */" divide.
What is before the first one is in libgpucontainer.3. Each function has a link to its page.
"""

import dataclasses
import os
import pathlib
import re
import sys
import textwrap

# The name of the page of a part, and what it is about. Another part's page has the name of its
# first function.
PAGES = {
    "": ("libgpucontainer", "GPUs of the host in a container's root file system"),
    "Errors": ("gpuctr_error", "what failed, why, and what can be done about it"),
    "Findings": ("gpuctr_finding", "what a person may want to know of a host, plan or set-up"),
    "This process": ("gpuctr_process_harden", "drop privileges that are no longer needed"),
    "Configuration": ("gpuctr_config", "read a site's configuration file"),
    "Host": ("gpuctr_host", "the GPUs of this host and the files of their drivers"),
    "Plan": ("gpuctr_plan", "decide what will change in a container's root file system"),
    "Apply and undo": ("gpuctr_plan_apply", "put a plan into a root file system, and undo it"),
    "Check: whether GPU programs will work": ("gpuctr_check",
                                              "say whether GPU programs will work, and why not"),
    "Status: what is set up": ("gpuctr_setup", "list set-ups, check them and undo them"),
    "Prepare and attach": ("gpuctr_prepared", "put a plan into a container in two steps"),
    "Initialising structs": ("gpuctr_options_init", "initialise structs without macros"),
}


@dataclasses.dataclass
class Item:
    """A function, a type, or constants that belong together."""
    kind: str  # "function", "struct", "typedef" or "constants"
    name: str
    text: str  # of the declaration
    doc: str
    members: list = dataclasses.field(default_factory=list)  # (declaration, doc)


@dataclasses.dataclass
class Part:
    title: str
    items: list = dataclasses.field(default_factory=list)

    def functions(self):
        return [item for item in self.items if item.kind == "function"]

    def page(self):
        if self.title in PAGES:
            return PAGES[self.title]
        return self.functions()[0].name, self.title[0].lower() + self.title[1:]


# -- Reading the header --------------------------------------------------------

TOKEN = re.compile(
    r"""
    /\*\ --\ (?P<part>.*?)\ -+\ \*/
    | /\*\*<(?P<behind>.*?)\*/
    | /\*\*(?P<doc>.*?)\*/
    | /\*.*?\*/
    | \#define\ (?P<define>\w+)(?P<value>(?:\\\n|/\*\*<.*?\*/|[^\n])*)
    | \#(?:\\\n|[^\n])*
    | (?P<declaration>(?:typedef|enum|GPUCTR_API)\b(?:[^;{}]|\{.*?\n\})*;)
    | (?P<blank>\n[ \t]*\n)
    """, re.X | re.S)
BEHIND = re.compile(r"/\*\*<(.*?)\*/", re.S)


def plain(comment):
    """The text of a comment, without its frame."""
    lines = [re.sub(r"^ *\* ?", "", line) for line in comment.strip("\n").split("\n")]
    if len(lines) == 1:
        return lines[0].strip()
    # Of a comment at the end of a line, only the first line begins at the margin.
    return "\n".join(line.rstrip() for line in lines).strip("\n ")


def members(body):
    """Fields of a struct or enumerators, with their comments before or behind them."""
    found, doc = [], ""
    pattern = re.compile(r"/\*\*<(?P<behind>.*?)\*/|/\*\*(?P<doc>.*?)\*/|(?P<text>[^;,/{}]+)[;,]?",
                         re.S)
    for match in pattern.finditer(body):
        if match["behind"] is not None:
            declaration, _ = found[-1]
            found[-1] = declaration, plain(re.sub(r"\n\s+", "\n", match["behind"]))
        elif match["doc"] is not None:
            doc = plain(match["doc"])
        elif match["text"].strip():
            found.append((" ".join(match["text"].split()), doc))
            doc = ""
    return found


def without_comments(text):
    return " ".join(re.sub(r"/\*.*?\*/", "", text, flags=re.S).split())


def declared(text, doc):
    """The item of a declaration."""
    if text.startswith("GPUCTR_API"):
        text = without_comments(text.removeprefix("GPUCTR_API"))
        return Item("function", re.search(r"(\w+)\(", text)[1], text, doc)
    if match := re.match(r"typedef (struct|enum) \w* ?\{(.*)\n\} (\w+);", text, re.S):
        kind = "struct" if match[1] == "struct" else "constants"
        return Item(kind, match[3], "", doc, members(match[2]))
    if match := re.match(r"enum \w* ?\{(.*)\n\};", text, re.S):
        return Item("constants", "", "", doc, members(match[1]))
    text = without_comments(text)
    name = (re.search(r"\(\*(\w+)\)", text) or re.search(r"(\w+);$", text))[1]
    return Item("typedef", name, text, doc)


def add_constant(part, match, doc, is_next):
    """One more of a group, or the first one of another."""
    name, value = match["define"], match["value"]
    behind = BEHIND.search(value)
    value = without_comments(value.replace("\\\n", " "))
    own = plain(re.sub(r"\n\s+", "\n", behind[1])) if behind else doc
    if not is_next or (doc and behind):
        part.items.append(Item("constants", "", "", doc if behind else ""))
    part.items[-1].members.append((f"{name} = {value}", own))


def read(header):
    """The comment about the whole file, and the parts."""
    text = header.read_text(encoding="utf-8")
    about, parts, doc, is_next = "", [Part("")], "", False
    for match in TOKEN.finditer(text[text.index("/**"):]):
        part = parts[-1]
        if match["part"]:
            parts.append(Part(match["part"]))
            doc = ""
        elif match["doc"] is not None:
            doc = plain(match["doc"])
            if doc.startswith("@file"):
                about, doc = doc.removeprefix("@file").strip(), ""
        elif match["define"] and match["value"].strip():
            add_constant(part, match, doc, is_next and part.items[-1].kind == "constants")
            doc, is_next = "", True
        elif match["declaration"]:
            part.items.append(declared(match["declaration"], doc))
            doc, is_next = "", False
        elif match["blank"]:
            is_next = False
    for part in parts:
        part.items = [item for item in part.items if not is_frame(item)]
    return about, [part for part in parts if part.items]


def is_frame(item):
    """Opaque types, and initialisers, whose structs name them."""
    if item.kind == "constants":
        item.members = [member for member in item.members
                        if not re.match(r"\w+_INIT =|GPUCTR_API =", member[0])]
        return not item.members
    return item.kind == "typedef" and item.text.startswith("typedef struct")


# -- Writing mdoc ----------------------------------------------------------------

WORD = re.compile(r"""(?P<before>[("]*)
                      (?:(?P<function>\w+)\(\) | (?P<constant>GPUCTR_[A-Z0-9_*]+|NULL|CAP_[A-Z_]+)
                         | `(?P<literal>[^`]+)`)
                      (?P<after>[).,;:"]*)$""", re.X)


def escaped(text):
    text = text.replace("\\", "\\e")
    return "\\&" + text if text.startswith((".", "'")) else text


def wrapped(words):
    lines = textwrap.wrap(" ".join(words), 78, break_long_words=False, break_on_hyphens=False)
    return [escaped(line) for line in lines]


def sentences(text):
    """Each on a line of its own, as mdoc wants them."""
    return re.sub(r"([a-z0-9)\]\"'`>_A-Z][.?!:]?[.?!]\"?\)?) +(?=[A-Z\"(`]|gpuctr_)", r"\1\n",
                  " ".join(text.split())).split("\n")


def running(text):
    """Text with its functions and constants marked."""
    lines = []
    for sentence in sentences(text):
        words = []
        for word in sentence.split(" "):
            match = WORD.match(word)
            if not match or '"' in match["before"] + match["after"]:
                words.append(word)
                continue
            lines += wrapped(words)
            words = []
            name = match["function"] or match["constant"] or match["literal"]
            macro = "Fn" if match["function"] else "Dv" if match["constant"] else "Li"
            lines.append(" ".join([f".{macro}", *match["before"], name, *match["after"]]))
        lines += wrapped(words)
    return lines


def blocks(doc):
    """Paragraphs, lists and literal text of a comment, as (kind, text)."""
    found = []
    for line in doc.split("\n"):
        kind, text = "text", line.strip()
        if not text:
            kind = "end"
        elif line.startswith("@"):
            kind, text = text.split(" ", 1)
        elif line.startswith("    ") and (not found or found[-1][0] in ("end", "literal")):
            kind, text = "literal", line
        elif line.startswith("- "):
            kind, text = "item", line[2:]
        elif line.startswith("Privileges:"):
            kind = "privileges"
        elif found and found[-1][0] in ("text", "item", "@param", "@return", "privileges"):
            found[-1] = found[-1][0], found[-1][1] + " " + text
            continue
        found.append((kind, text))
    return [(kind, text) for kind, text in found if kind != "end"]


def described(doc):
    """A comment as mdoc, and the version since when there is what it describes."""
    since = re.search(r"@since (\S+)", doc)
    doc = re.sub(r"\s*@since \S+", "", doc)
    lines, last = [], None
    for kind, text in [*blocks(doc), (None, "")]:
        if last in ("item", "@param") and kind != last:
            lines.append(".El")
        if last == "literal" and kind != last:
            lines.append(".Ed")
        if kind == "item":
            lines += ([".Bl -bullet"] if last != kind else []) + [".It"] + running(text)
        elif kind == "@param":
            name, rest = text.split(None, 1)
            lines += ([".Bl -tag -width Ds"] if last != kind else []) + [f".It Fa {name}"]
            lines += running(rest + ("" if rest.endswith(".") else "."))
        elif kind == "@return":
            lines += [".Pp"] + running("Returns " + text + ("" if text.endswith(".") else "."))
        elif kind == "literal":
            lines += ([".Bd -literal -offset indent"] if last != kind else []) + [escaped(text[4:])]
        elif kind is not None:
            lines += [".Pp"] + running(text)
        last = kind
    return lines, since[1] if since else None


def spaced(declaration):
    """The star at the name, as in other manual pages."""
    return re.sub(r"(\*+) ", r" \1", declaration).replace("  ", " ")


def synopsis(function):
    result, name, parameters = re.match(r"(.*?)(\w+)\((.*)\);", function.text).groups()
    lines = [f'.Ft "{spaced(result).strip()}"', f".Fo {name}"]
    return lines + [f'.Fa "{spaced(one.strip())}"' for one in parameters.split(",")] + [".Fc"]


def member_list(item):
    """The fields or constants of an item."""
    lines = [".Bl -tag -width Ds"]
    for declaration, doc in item.members:
        if item.kind == "struct":
            lines.append(f'.It Fa "{spaced(declaration)}"')
        else:
            name, _, value = declaration.partition(" = ")
            value = re.sub(r"UINT32_C\((\d+)\)", r"\1", value).strip("()").replace('"', "\\(dq")
            lines.append(f".It Dv {name}" + (f" No = {value}" if value else ""))
        lines += described(doc)[0]
    return lines + [".El"]


def common_name(constants):
    """GPUCTR_WRITE_* of GPUCTR_WRITE_AUTO and GPUCTR_WRITE_NEVER."""
    listed = [declaration.split(" ")[0] for declaration, _ in constants]
    prefix = os.path.commonprefix(listed).rpartition("_")[0]
    return f"{prefix}_*" if len(listed) > 1 and prefix != "GPUCTR" else ", ".join(listed)


def description(part):
    """First the functions, then what they take and return."""
    lines = [".Bl -tag -width Ds"]
    for function in part.functions():
        lines += [f".It Fn {function.name}", *described(function.doc)[0]]
    lines.append(".El")
    last = None
    for item in part.items:
        if item.kind == "function":
            continue
        heading = {"struct": f"struct {item.name}"}.get(item.kind, item.name)
        if heading or last != "typedef":  # The enumerators of a type are described with it.
            lines.append(f".Ss {heading or common_name(item.members)}")
        last = item.kind
        lines += described(item.doc)[0]
        if item.kind == "typedef" and "(" in item.text:
            lines += [".Bd -literal -offset indent", escaped(item.text), ".Ed"]
        lines += member_list(item) if item.members else []
    return lines


def history(part):
    versions = {}
    for function in part.functions():
        versions.setdefault(described(function.doc)[1], []).append(function.name)
    lines = []
    for version, names in versions.items():
        if len(versions) == 1:
            lines.append(f"These functions are in libgpucontainer since version {version}.")
        else:
            lines.append(f"Since version {version}:")
            lines += [f".Fn {name} ," for name in names[:-1]] + [f".Fn {names[-1]} ."]
    return lines


def names(page, functions):
    listed = [page] + [function.name for function in functions if function.name != page]
    return [f".Nm {name} ," for name in listed[:-1]] + [f".Nm {listed[-1]}"]


def see_also(page, others):
    listed = [(name, 3) for name in sorted(others) if name != page]
    return [f".Xr {name} {section}" + (" ," if i + 1 < len(listed) else "")
            for i, (name, section) in enumerate(listed)]


def page_of(part, about, parts, version):
    name, about_part = part.page()
    lines = ['.\\" Made from gpucontainer/gpucontainer.h.', ".Dd November 23, 2026",
             f".Dt {name.upper()} 3", f".Os libgpucontainer {version}", ".Sh NAME",
             *names(name, part.functions()), f".Nd {about_part}", ".Sh SYNOPSIS",
             ".In gpucontainer/gpucontainer.h"]
    for function in part.functions():
        lines += synopsis(function)
    lines.append(".Sh DESCRIPTION")
    if part.title == "":
        lines += described(about)[0] + [".Ss Pages", ".Bl -tag -width Ds"]
        for other in parts[1:]:
            page, summary = other.page()
            lines += [f".It Xr {page} 3", summary[0].upper() + summary[1:] + "."]
        lines += [".El", ".Ss Common to all pages"]
    lines += description(part)
    lines.append(".Sh SEE ALSO")
    if part.title == "":
        lines += [".Xr gpuctr-setup 1 ,"]
    lines += see_also(name, [other.page()[0] for other in parts]) + [".Sh HISTORY", *history(part)]
    return "\n".join(tidied(lines)) + "\n"


def tidied(lines):
    """Without paragraphs where mdoc begins one by itself."""
    kept = []
    for line in lines:
        begins = line == ".Pp" or line.startswith((".Bl", ".Bd", ".Ss", ".Sh"))
        if begins and kept and kept[-1] == ".Pp":
            kept.pop()
        if line == ".Pp" and (not kept or kept[-1].startswith((".Sh", ".Ss", ".It", ".Pp"))):
            continue
        kept.append(line)
    return kept


def main(header, version, directory):
    about, parts = read(pathlib.Path(header))
    out = pathlib.Path(directory)
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.3"):
        old.unlink()
    for part in parts:
        name = part.page()[0]
        (out / f"{name}.3").write_text(page_of(part, about, parts, version), encoding="utf-8")
        for function in part.functions():
            if function.name != name:
                (out / f"{function.name}.3").symlink_to(f"{name}.3")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: api_pages.py HEADER VERSION DIR")
    main(*sys.argv[1:])
