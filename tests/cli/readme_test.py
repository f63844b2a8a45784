# SPDX-License-Identifier: MIT
"""What README.md shows of everyday uses is what happens on the recorded host."""

import os
import pathlib
import re
import shlex
import unittest

import harness

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(harness.SETUP).parents[1]
SHELL = "gpuctr-simhost"
ELSEWHERE = "on a machine with"  # of what is shown of other hosts
DATE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")


def section(title):
    text = (SOURCE / "README.md").read_text(encoding="utf-8")
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def examples():
    """Each command of the section, with the lines that it prints."""
    found, prose = [], ""
    for line in section("Everyday uses").splitlines():
        if line and not line.startswith("    "):
            prose = line if prose == "" else f"{prose} {line}"
            continue
        if match := re.match(r"    [$#] (.+)", line):
            found.append((match[1], [], ELSEWHERE in prose))
        elif line:
            found[-1][1].append(plain(line))
        else:
            continue
        prose = ""
    return found


def plain(line):
    return DATE.sub("DATE", " ".join(line.split()))


def fits(expected, printed):
    """Line by line; "..." stands for any lines, or for the rest of one."""
    if not expected:
        return not printed
    first, *rest = expected
    if first == "...":
        return any(fits(rest, printed[skipped:]) for skipped in range(len(printed) + 1))
    if not printed:
        return False
    is_same = (printed[0].startswith(first[:-len("...")]) if first.endswith("...")
               else printed[0] == first)
    return is_same and fits(rest, printed[1:])


class Readme(unittest.TestCase):

    def setUp(self):
        harness.mount_tmpfs(pathlib.Path("/srv"))
        self.addCleanup(harness.must, "umount", "/srv")

    def in_build(self, command):
        return command.replace("build/release/", f"{BUILD}/").replace(
            f"$PWD/{BUILD}", str(BUILD))

    def printed_by(self, shell, commands):
        """What each prints in one shell, as who reads along types them."""
        mark = "-- the next one --"
        script = "".join(f"{command}\necho {shlex.quote(mark)}\n" for command in commands)
        done = harness.call("sh", "-c", f"{shell} 2>&1", input=script, stdin=None, cwd=SOURCE)
        parts = done.stdout.split(f"{mark}\n")
        self.assertEqual(len(parts), len(commands) + 1, done.stdout)
        return [[plain(line) for line in part.splitlines() if line.strip()] for part in parts[:-1]]

    def test_the_commands_print_what_it_says(self):
        shown = [example for example in examples() if not example[2]]
        at = next(i for i, example in enumerate(shown) if SHELL in example[0])
        for command, expected, _ in shown[:at]:
            done = harness.call("sh", "-c", self.in_build(command), cwd=SOURCE)
            self.assertEqual((done.returncode, done.stdout.split()), (0, expected), done.stderr)
        shell = self.in_build(shown[at][0])
        self.assertTrue(os.path.exists(shell.split()[0]), shell)

        rest = shown[at + 1:]
        self.assertGreater(len(rest), 10)
        for (command, expected, _), printed in zip(
                rest, self.printed_by(shell, [command for command, _, _ in rest])):
            with self.subTest(command=command):
                self.assertTrue(fits(expected, printed),
                                "\n".join([*expected, "-- printed:", *printed]))


if __name__ == "__main__":
    unittest.main()
