# SPDX-License-Identifier: MIT
"""The manual pages say what the program, its tables and the C header say.

GPUCTR_SETUP and GPUCTR_SIMHOST are the programs, GPUCTR_API_PAGES is the directory of the
pages that are made from the header. Exits with 77, a skip, without mandoc; CI=true turns that
into a failure.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PAGES = SOURCE / "docs" / "man"
API_PAGES = pathlib.Path(os.environ["GPUCTR_API_PAGES"])
SETUP = os.environ["GPUCTR_SETUP"]
SIMHOST = os.environ["GPUCTR_SIMHOST"]
HEADER = SOURCE / "include" / "gpucontainer" / "gpucontainer.h"
EVERY_COMMAND = "Options of every command"
# A catalogue file with an unknown key in one place after the other.
CATALOGUE = """
vendor: acme
{0}
maker:
  title: Acme
  kind: acme.com/npu
  module: acme
  {1}
  gpus: {{class: accel, name: "accel{{number}}", driver: acme, order: number, {2}}}
  nodes: [{{path: "/dev/accel/accel{{number}}", {3}}}]
  variables: [{{name: ACME_VISIBLE_DEVICES, reader: library, inside: position, {4}}}]
files: [{{library: libacme.so.1, capability: compute, reason: runtime, {5}}}]
"""


def output_of(*words):
    """Of a program that ends well."""
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=30,
                          env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8",
                               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}).stdout


def rendered(page):
    """What a reader sees, with lines that need no wrapping."""
    text = output_of("mandoc", "-T", "ascii", "-O", "width=1000", str(page))
    return re.sub(".\b", "", text)


def section(text, name):
    return re.search(rf"^{name}\n(.*?)(?=^\S|\Z)", text, re.M | re.S)[1]


def tagged(text):
    """Words that stand out in the left column, with the text of each."""
    found = {}
    for line in text.splitlines():
        if match := re.match(r" {5}(\S+(?: \S+)*)(?:  +(.*))?$", line):
            last = match[1]
            found[last] = match[2] or ""
        elif found and line.startswith(" " * 8):
            found[last] += " " + line.strip()
    return found


def options_of(page):
    return {name: text for name, text in tagged(section(rendered(page), "OPTIONS")).items()
            if name.startswith("-")}


def statuses_of(page):
    return {int(tag) for tag in tagged(section(rendered(page), "EXIT STATUS")) if tag.isdigit()}


def help_groups(text):
    """The lists of a help page: what is in the left column, with its text."""
    groups, last = {}, None
    for line in text.splitlines():
        if match := re.match(r"(\S.*):$", line):
            last = groups.setdefault(match[1], {})
        elif last is not None and (match := re.match(r"  (\S+(?: \S+)*)(?:  +(.*))?$", line)):
            name = match[1]
            last[name] = match[2] or ""
        elif last and line.startswith(" " * 12):
            last[name] += " " + line.strip()
    return groups


def words_of(page, macro="Cm"):
    """What a page marks as keys at the head of its entries."""
    return {word for line in page.read_text(encoding="utf-8").splitlines()
            if line.startswith(f".It {macro} ") for word in line.split()[2:] if word != ","}


def commands():
    return list(help_groups(output_of(SETUP, "--help"))["Commands"])


class Manual(unittest.TestCase):

    def test_mandoc_finds_nothing(self):
        with tempfile.TemporaryDirectory() as directory:
            pages = [*PAGES.glob("*.[15]"), *API_PAGES.glob("*.3")]
            self.assertGreater(len(pages), 100)
            for page in pages:
                shutil.copy(page, directory, follow_symlinks=False)
            # Beside each other, so that it looks whether pages that are named are there.
            # syslog(3) is a page of the system, which need not be installed.
            (pathlib.Path(directory) / "syslog.3").write_text("", encoding="utf-8")
            done = subprocess.run(["mandoc", "-T", "lint", "-W", "style",
                                   *sorted(page.name for page in pages if not page.is_symlink())],
                                  cwd=directory, capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout, done.returncode), ("", 0), done.stderr)

    def test_each_command_has_its_page(self):
        page = PAGES / "gpuctr-setup.1"
        self.assertEqual(sorted(words_of(page)), sorted(commands()))
        for command in commands():
            if command != "version":
                self.assertTrue((PAGES / f"gpuctr-setup-{command}.1").exists(), command)

    def test_a_page_has_the_options_of_help(self):
        for command in commands():
            groups = help_groups(output_of(SETUP, command, "--help"))
            everywhere = groups.pop(EVERY_COMMAND)
            self.assertEqual(sorted(options_of(PAGES / "gpuctr-setup.1")), sorted(everywhere))
            if command == "version":
                continue
            shown = {name: text for group in groups.values() for name, text in group.items()
                     if name.startswith("-")}
            for part in groups.get("Commands", ()):
                of_part = help_groups(output_of(SETUP, command, part, "--help"))
                del of_part[EVERY_COMMAND]
                shown |= {name: text for group in of_part.values() for name, text in group.items()
                          if name.startswith("-")}
            written = options_of(PAGES / f"gpuctr-setup-{command}.1")
            with self.subTest(command=command):
                self.assertEqual(sorted(written), sorted(shown))
                for name, text in shown.items():
                    if match := re.search(r"\(default: (\S+)\)$", text):
                        for word in match[1].split(","):
                            self.assertIn(word, re.split(r"[\s,;:.]+", written[name]), name)

    def test_the_simulated_host_has_a_page(self):
        shown = {match[1] for match in re.finditer(r"^  (-\S+(?: [A-Z]+)?)  ",
                                                   output_of(SIMHOST, "--help"), re.M)}
        self.assertEqual(set(options_of(PAGES / "gpuctr-simhost.1")), shown)
        self.assertEqual(statuses_of(PAGES / "gpuctr-simhost.1"), {125, 126, 127})

    def test_the_front_has_a_page(self):
        page = rendered(PAGES / "gpuctr-setup-nvidia-container-cli.1")
        with tempfile.TemporaryDirectory() as directory:
            front = os.path.join(directory, "nvidia-container-cli")
            os.symlink(SETUP, front)
            shown = output_of(front, "--help")
        option = r"(?<![\w-])--?[a-zA-Z][\w-]*"
        self.assertEqual(set(re.findall(option, section(page, "OPTIONS"))),
                         set(re.findall(option, shown)))

    def test_all_exit_statuses_are_told(self):
        table = (SOURCE / "cli" / "output" / "exit_code.hpp").read_text(encoding="utf-8")
        own = {int(number) for number in re.findall(r"^ +\w+ = (\d+),", table, re.M)}
        of_library = {int(number) for number in
                      re.findall(r"^ +GPUCTR_(?:OK|E_\w+) = -?(\d+)", HEADER.read_text(encoding="utf-8"),
                                 re.M)}
        self.assertGreater(len(of_library), 8)
        self.assertEqual(statuses_of(PAGES / "gpuctr-setup.1"), own | of_library)

    def test_all_keys_of_a_catalogue_are_told(self):
        known = set()
        for place in range(6):
            words = ["unknown: 1" if i == place else "" for i in range(6)]
            with tempfile.TemporaryDirectory() as directory:
                file = pathlib.Path(directory, "catalogue.yaml")
                file.write_text(CATALOGUE.format(*words).replace(", }", "}"), encoding="utf-8")
                done = subprocess.run([SETUP, "list", "--catalogue", str(file)], check=False,
                                      capture_output=True, text=True, timeout=30)
            match = re.search(r"unknown key .*\(allowed: (.*)\)", done.stderr)
            self.assertTrue(match, f"{place}: {done.stderr}")
            known |= set(re.split(r",? (?:and )?", match[1]))
        self.assertGreater(len(known), 30)
        self.assertEqual(words_of(PAGES / "gpuctr-catalogue.5"), known)


class Library(unittest.TestCase):

    def pages(self):
        return [page for page in API_PAGES.glob("*.3") if not page.is_symlink()]

    def test_a_function_is_on_exactly_one_page(self):
        exported = (SOURCE / "libgpucontainer" / "libgpucontainer.map").read_text(encoding="utf-8")
        functions = sorted(re.findall(r"^ +(gpuctr_\w+);", exported, re.M))
        self.assertGreater(len(functions), 100)
        texts = [page.read_text(encoding="utf-8") for page in self.pages()]
        for form in (r"^\.Fo (\w+)$", r"^\.It Fn (gpuctr_\w+)$"):
            self.assertEqual(sorted(name for text in texts for name in re.findall(form, text, re.M)),
                             functions)
        for function in functions:
            page = (API_PAGES / f"{function}.3").resolve()
            self.assertRegex(page.read_text(encoding="utf-8"), rf"(?m)^\.Nm {function}\b")

    def test_nothing_of_the_header_is_left_out(self):
        header = HEADER.read_text(encoding="utf-8").split('extern "C" {\n#endif\n')[1]
        words = set(re.findall(r"\bGPUCTR_[A-Z0-9_]+\b|\"[a-z_]+\"", header)) - {"GPUCTR_API"}
        fields = {match for body in re.findall(r"^typedef struct \w+ \{(.*?)^\}", header, re.M | re.S)
                  for match in re.findall(r"^    [a-z].*?(\w+)(?:\[\d+\])?;", body, re.M)}
        self.assertGreater(len(words), 100)
        self.assertGreater(len(fields), 30)
        text = " ".join(rendered(page) for page in self.pages())
        self.assertEqual({word for word in words | fields if word not in text}, set())


if __name__ == "__main__":
    if shutil.which("mandoc") is None:
        print("these tests need mandoc")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    unittest.main()
