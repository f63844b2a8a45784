# SPDX-License-Identifier: MIT
"""The manual page of the configuration names the keys that the program knows."""

import os
import pathlib
import re
import unittest

import harness

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "man" / "gpuctr-config.5"


class Keys(harness.Case):

    def known(self):
        """Those that the program names if one is unknown."""
        for name in ("etc", "work"):
            (harness.DIRECTORY / name).mkdir()
        harness.must("mount", "-t", "overlay", "-o", f"lowerdir=/etc,upperdir={harness.DIRECTORY}/etc,"
                     f"workdir={harness.DIRECTORY}/work", "test", "/etc")
        self.addCleanup(harness.must, "umount", "/etc")
        os.makedirs("/etc/gpucontainer")
        pathlib.Path("/etc/gpucontainer/config.yaml").write_text("layuot: tree\n", encoding="utf-8")
        done = harness.setup("plan", "--nv", env=os.environ)
        match = re.search(r"^hint: known keys are (.*)$", done.stderr, re.M)
        self.assertTrue(match, done.stderr)
        return sorted(match[1].split(", "))

    def test_all_keys_are_told(self):
        text = PAGE.read_text(encoding="utf-8")
        told = [word for line in re.findall(r"^\.It Cm (.*)$", text, re.M)
                for word in line.split() if word != ","]
        self.assertEqual(sorted(told), self.known())


if __name__ == "__main__":
    unittest.main()
