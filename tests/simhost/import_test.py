# SPDX-License-Identifier: MIT
"""gpuctr-simhost --import HOST DIR"""

import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import unittest

import reports

SIMHOST = os.environ["GPUCTR_SIMHOST"]
CODE = pathlib.Path(os.environ["GPUCTR_HOSTILE_CODE"]).read_bytes()
HOST = pathlib.Path(os.environ["GPUCTR_HOST_DIR"])
TIMEOUT = 60 * int(os.environ.get("GPUCTR_TEST_SLOWNESS", "1"))
LIBRARY = "/usr/lib/x86_64-linux-gnu/libcuda.so.580.1"


def run(*words, **options):
    return subprocess.run([str(word) for word in (SIMHOST, *words)], text=True, capture_output=True,
                          timeout=TIMEOUT, check=False, **options)


def tree(directory):
    return {str(path.relative_to(directory)): path.read_bytes()
            for path in sorted(directory.rglob("*")) if not path.is_dir()}


class Import(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.folder = self.directory / "folder"

    def imported(self, members):
        report = reports.write(self.directory / "host.tar", members)
        done = run("--import", report, self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return tree(self.folder), done.stderr

    def test_keeps_what_a_host_is_made_of(self):
        done = run("-q", "--import", HOST, self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        again = self.directory / "again"
        self.assertEqual(run("-q", "--import", self.folder, again).returncode, 0)
        first, second = tree(self.folder), tree(again)
        for files in first, second:
            self.assertGreater(len(files.pop("ld.so.cache")), 10000)  # its strings are packed anew
        self.assertEqual(first, second)
        recorded = tree(HOST)
        self.assertEqual({name for name in recorded if name not in ("host.txt", "ld.so.cache")}, set(first))
        for name, content in first.items():
            if name.startswith("content/usr/bin/"):
                self.assertEqual(content, b"#!/bin/sh\n")  # the rest is code
            elif name.startswith(("content/", "sys/")):
                self.assertEqual(content, recorded[name], name)

    def test_writes_only_what_passed_the_checks(self):
        files = [reports.library(LIBRARY, needed="/opt/x.json,libc.so.6", runpath="/tmp"),
                 reports.row("/usr/bin/nvidia-smi", mode="6755", size=1),
                 reports.row("/usr/share/nvidia/code.json", size=len(CODE)),
                 reports.row("/usr/share/nvidia/data.json", size=2),
                 reports.row("/usr/share/nvidia/\x1b]0;x.json", size=2),
                 reports.row("/etc/profile.d/nvidia.sh", size=2),
                 reports.row("/usr/lib/nvidia/x", "l", "0777", target="/etc/passwd")]
        members, said = self.imported({
            "files.tsv": files, "dev.txt": "/dev/sda b 8:0 0666 0 0\n/dev/nvidia0 c 1:1 0666 0 0\n",
            "proc/1/environ": "x", "proc/driver/nvidia/version": "x\n",
            "sys.umockdev": "P: /devices/x\nE: SUBSYSTEM=pci\nA: a=\\\\\\n\\001\nH: b=00FF\nL: c=../y\n",
            "ld.so.cache": reports.loader_cache([("libc.so.6", "/usr/share/nvidia/code.json")]),
            "content/usr/share/nvidia/code.json": CODE, "content/usr/share/nvidia/data.json": "{}",
            "content/etc/profile.d/nvidia.sh": "rm", "content/none/such": "x", "list.json": "{}"})
        self.assertEqual(set(members), {"files.tsv", "dev.txt", "sys.umockdev", "ld.so.cache",
                                        "proc/driver/nvidia/version", "content/usr/share/nvidia/data.json"})
        table = members["files.tsv"].decode()
        for text in ("/opt/x.json", "/tmp", "6755", "\x1b", "/etc/passwd"):
            self.assertNotIn(text, table)
        self.assertIn("\tlibc.so.6\t", table)
        self.assertEqual(members["dev.txt"], b"/dev/nvidia0 c 3073:1 0666 0 0\n")
        self.assertEqual(members["sys.umockdev"], b"P: /devices/x\nE: SUBSYSTEM=pci\nH: a=5C0A01\n"
                                                  b"H: b=00FF\nL: c=../y\n\n")
        self.assertEqual(members["ld.so.cache"][20:24], bytes(4))  # no entry has its text any more
        self.assertIn("left out: /usr/share/nvidia/code.json (its content may be code)", said)

    def test_makes_plain_files_of_the_caller_in_a_new_folder(self):
        self.imported({"proc/driver/nvidia/version": "x"})
        for path in [self.folder, *self.folder.rglob("*")]:
            status = path.lstat()
            self.assertEqual((status.st_uid, status.st_gid), (os.geteuid(), os.getegid()))
            self.assertEqual(stat.S_IMODE(status.st_mode), 0o755 if path.is_dir() else 0o644)
        self.assertEqual(sorted(os.listdir(self.directory)), ["folder", "host.tar"])

    def test_takes_no_folder_that_is_there(self):
        report = reports.write(self.directory / "host.tar", {})
        elsewhere = self.directory / "elsewhere"
        for make in self.folder.mkdir, self.folder.touch, lambda: self.folder.symlink_to(elsewhere):
            make()
            done = run("--import", report, self.folder)
            self.assertEqual(done.returncode, 125)
            self.assertIn("File exists", done.stderr)
            self.assertFalse(elsewhere.exists())
            shutil.rmtree(self.folder) if self.folder.is_dir() and not self.folder.is_symlink() \
                else self.folder.unlink()

    def test_a_failure_leaves_nothing(self):
        report = reports.write(self.directory / "host.tar", {"proc/driver/a": "x", "proc/driver/a/b": "x"})
        self.assertEqual(run("--import", report, self.folder).returncode, 125)
        self.assertEqual(os.listdir(self.directory), ["host.tar"])
        report.write_bytes(b"no archive")
        self.assertEqual(run("--import", report, self.folder).returncode, 125)
        self.assertEqual(os.listdir(self.directory), ["host.tar"])

    def test_has_no_privilege_but_the_callers(self):
        if os.geteuid() != 0:
            self.skipTest("the caller is not root")
        simhost = shutil.copy(SIMHOST, self.directory / "simhost")
        report = reports.write(self.directory / "host.tar", {})
        self.directory.chmod(0o755)
        done = subprocess.run([simhost, "--import", report, self.folder], text=True, capture_output=True,
                              timeout=TIMEOUT, check=False, user=1000, group=1000, extra_groups=[])
        self.assertEqual(done.returncode, 125)
        self.assertIn("Permission denied", done.stderr)

    def test_takes_no_option_that_is_about_a_command(self):
        report = reports.write(self.directory / "host.tar", {})
        for words in (["--trusted", "--import"], ["--import", "--map-root"], ["--sysfs", "plain", "--import"]):
            done = run(*words, report, self.folder)
            self.assertEqual(done.returncode, 125, words)
            self.assertIn("--import runs no command", done.stderr)
        for rest in ([], [self.folder, "x"], [self.folder, "--", "true"]):
            self.assertEqual(run("--import", report, *rest).returncode, 125)
        self.assertFalse(self.folder.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
