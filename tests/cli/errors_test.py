# SPDX-License-Identifier: MIT
"""Errors for programs: one JSON object on standard error, and nothing on standard output."""

import json
import os
import unittest

import config_test
import harness
import jsonschema
from config_test import CONFIG
from schema_test import schema

setUpModule = config_test.setUpModule
tearDownModule = config_test.tearDownModule


class Errors(config_test.Config):
    def error(self, *words, status, **options):
        done = self.run_setup(*words, status=status, stdout="", stderr=None, **options)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        document = json.loads(done.stderr)
        jsonschema.validate(document, schema("error"))
        self.assertEqual(document["exit_status"], status)
        return document

    def check(self, *words, status, code, **options):
        """It says what is said to a person."""
        document = self.error(*words, "--json", status=status, **options)
        text = self.run_setup(*words, status=status, stderr=None, **options).stderr
        said = f"gpuctr-setup: {document['message']}\n"
        if document["hint"]:
            said += f"hint: {document['hint']}\n"
        self.assertEqual(text, said)
        self.assertEqual(document["code"], code)
        return document


class OfEachKind(Errors):
    def test_of_usage(self):
        for words, argument in ((["list", "--lokc"], "--lokc"), (["status"], None),
                                (["plan", "--nv", "--layout", "x"], "--layout"),
                                (["--nv", "--rootfs"], None),
                                (["plan", "--nv", "--device", "9"], "--device"),
                                (["lsit"], None)):
            if words[-1] == "--rootfs":
                self.error("--json", *words, status=2)
                continue
            document = self.check(*words, status=2, code="usage")
            self.assertEqual(document["argument"], argument, words)

    def test_in_each_way_of_asking(self):
        for words in (["list", "--format", "json", "-x"], ["list", "--format=json", "-x"],
                      ["list", "--json", "-x"], ["--json"], ["version", "--json"]):
            self.assertEqual(self.error(*words, status=2)["code"], "usage")
        document = self.error("plan", "--nv", "--device", "9", status=2,
                              env=os.environ | {"GPUCTR_FORMAT": "json"})
        self.assertEqual(document["argument"], "--device")
        done = self.run_setup("undo", "--rootfs", "/nowhere", status=5, stderr=None,
                              env=os.environ | {"GPUCTR_FORMAT": "json"})
        self.assertTrue(done.stderr.startswith("gpuctr-setup: root file system /nowhere: "))

    def test_the_words_of_cmd_ask_for_nothing(self):
        done = self.apply("--lokc", "--", "x", "--json", status=2, stderr=None)
        self.assertTrue(done.stderr.startswith("gpuctr-setup: apply: unknown option --lokc\n"))

    def test_of_the_library(self):
        document = self.check("undo", "--rootfs", "/nowhere", status=5, code="rootfs")
        self.assertEqual((document["argument"], document["os_error"]), ("--rootfs", "ENOENT"))
        self.check("plan", "--nv", "--driver-root", "/nowhere", status=4, code="driver")
        self.check("--rocm", "--rootfs", self.root, status=3, code="no_device")
        self.apply("--device", "0")
        words = ("--nv", "--rootfs", self.root, "--no-replace", "--device", "1")
        self.assertEqual(self.error(*words, "--json", status=10)["code"], "exists")
        harness.must("mount", "-t", "tmpfs", "test", self.root)
        self.check("undo", "--rootfs", self.root, status=8, code="apply")
        harness.must("umount", self.root)
        self.undo("--json")

    def test_of_the_configuration(self):
        self.write(CONFIG, "nv: true\nlayout: x\n")
        document = self.check("plan", status=2, code="usage")
        self.assertIn(f"{CONFIG}:2: layout: ", document["message"])
        self.assertEqual(document["argument"], "--layout")

    def test_with_a_command(self):
        words = ("--nv", "--rootfs", "/nowhere", "--json", "--", "true")
        self.assertEqual(self.error(*words, status=125)["code"], "rootfs")
        of_root = ("--nv", "--rootfs", self.root, "--json", "--")
        self.assertEqual(self.error(*of_root, "/no/such", status=127)["code"], "not_found")
        self.assertEqual(self.error(*of_root, "/etc", status=126)["code"], "not_executable")
        self.run_setup(*of_root, "sh", "-c", "echo out; echo err >&2; exit 7", status=7,
                       stdout="out\n", stderr="err\n")


class OfStrangeText(Errors):
    def test_is_json_all_the_same(self):
        for name, shown in (("a\x1b[31m\n\"\\", "a\x1b[31m\n\"\\"), ("\u20ac\u0085", "\u20ac\u0085"),
                            ("\u061c\u200f\u2028\u202e\u2069",) * 2,
                            (os.fsdecode(b"\xff\xc0\x80"), "\ufffd" * 3),
                            (os.fsdecode(b"\xed\xa0\x80\xf5"), "\ufffd" * 4)):
            done = self.run_setup("undo", "--json", "--rootfs", f"/{name}", status=5, stderr=None)
            document = json.loads(done.stderr)
            self.assertIn(f"root file system /{shown}: No such file", document["message"])
            self.assertFalse([c for c in done.stderr[:-1] if not c.isprintable()], done.stderr)


class OtherMessages(Errors):
    def test_of_a_call_that_fails_are_findings(self):
        self.write(CONFIG, "layuot: merged\n")
        document = self.error("undo", "--json", "--rootfs", "/nowhere", status=5)
        [finding] = document["findings"]
        self.assertEqual(finding["severity"], "warning")
        self.assertEqual(finding["message"], f"{CONFIG}:1: layuot: unknown key; it is ignored")
        self.assertEqual(self.error("undo", "--json", "-q", "--rootfs", "/nowhere", status=5)
                         ["findings"], [])

    def test_of_a_call_that_succeeds_are_text(self):
        self.write(CONFIG, "layuot: merged\n")
        warning = f"gpuctr-setup: warning: {CONFIG}:1: layuot: unknown key; it is ignored\n"
        done = self.run_setup("list", "--json", stdout=None, stderr=warning)
        self.assertEqual(json.loads(done.stdout)["schema"], "gpucontainer/list/1")
        self.run_setup("undo", "--json", "--rootfs", self.root,
                       stderr=f"{warning}gpuctr-setup: nothing is set up in {self.root}\n")

    def test_every_error_of_undo_all_is_told(self):
        other = harness.new_root()
        self.addCleanup(harness.must, "rm", "-rf", "--one-file-system", other)
        for root in (self.root, other):
            self.run_setup("--nv", "--rootfs", root)
            harness.must("mount", "-t", "tmpfs", "test", root)
        document = self.error("undo", "--all", "--json", status=8)
        [further] = document["findings"]
        self.assertEqual((further["severity"], further["code"]), ("error", "apply"))
        for root in (self.root, other):
            harness.must("umount", root)
            self.assertIn(str(root), document["message"] + further["message"])
        self.run_setup("undo", "--all", "--json")


class Short(Errors):
    """--json stands for --format json."""

    def test_wherever_there_is_a_format(self):
        for words in (["list"], ["plan", "--nv"], ["status", "--all"]):
            long, short = (json.loads(self.run_setup(*words, *option, stdout=None).stdout)
                           for option in (["--format", "json"], ["--json"]))
            # A directory that was just made counts as one that is being changed.
            for document in (long, short):
                document.pop("fingerprint", None)
            self.assertEqual(long, short)
        self.run_setup("list", "--json", "--format", "text", status=2, stderr=None)

    def test_yields_to_what_is_typed(self):
        text = self.run_setup("list", stdout=None).stdout
        self.run_setup("list", "--format", "text", stdout=text,
                       env=os.environ | {"GPUCTR_FORMAT": "json"})
        self.run_setup("list", "--json=false", stdout=text)
        short = self.run_setup("list", "--json", stdout=None, env=os.environ | {"GPUCTR_FORMAT": "text"})
        self.assertEqual(json.loads(short.stdout)["schema"], "gpucontainer/list/1")


if __name__ == "__main__":
    unittest.main()
