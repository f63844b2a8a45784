# SPDX-License-Identifier: MIT
"""The command `check`: what it prints, and how it ends. What it finds is the oracle's business."""

import json
import os
import pathlib
import unittest

import harness

WRONG = 9


class Command(harness.Case):
    def check(self, *words, status=0, stdout=None, stderr=""):
        return self.run_setup("check", *words, status=status, stdout=stdout, stderr=stderr)

    def test_nothing_is_wrong(self):
        self.assertEqual(self.check("--nv").stdout, "nothing is wrong\n")
        self.assertEqual(self.check("--nv", "--node").stdout, "nothing is wrong\n")

    def test_quiet_prints_findings_alone(self):
        self.assertEqual(self.check("-q", "--nv").stdout, "")
        self.assertIn("no such GPU", self.check("-q", "--nv", "--device", "99", status=WRONG).stdout)

    def test_what_is_wrong_has_its_evidence_and_what_to_do(self):
        said = self.check("--nv", "--device", "99", status=WRONG).stdout
        self.assertRegex(said, r"(?m)^error    .*no such GPU")
        self.assertRegex(said, r"(?m)^         seen in: --device$")
        self.assertRegex(said, r"(?m)^         to do: ")
        self.assertIn("\n\n1 error, 0 warnings\n", said)

    def test_fail_on(self):
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"
        self.addCleanup(os.environ.pop, "CUDA_VISIBLE_DEVICES")
        self.check("--nv", "--fail-on", "warning")
        self.check("--nv", "--device", "99", "--fail-on", "warning", status=WRONG)

    def test_json(self):
        document = json.loads(self.check("--nv", "--device", "99", "--json", status=WRONG).stdout)
        self.assertEqual((document["schema"], document["worst"]), ("gpucontainer/check/1", "error"))
        self.assertEqual([finding["code"] for finding in document["findings"]
                          if finding["severity"] == "error"], ["request_refused"])
        document = json.loads(self.check("--nv", "--json").stdout)
        self.assertIsNone(document["worst"])

    def test_nothing_changes(self):
        before = self.state()
        self.check("--nv", "--rootfs", self.root, "--", "needs-driver", status=None, stderr=None)
        self.assert_state(before)

    def test_a_recorded_host(self):
        record = harness.DIRECTORY / "host.json"
        record.write_text(self.run_setup("list", "--json", stdout=None).stdout, encoding="utf-8")
        self.assertEqual(self.check("--nv", "--host", record).stdout, "nothing is wrong\n")
        other = harness.DIRECTORY / "other.json"
        document = json.loads(record.read_text(encoding="utf-8"))
        for driver in document["drivers"]:
            driver["gpus"], driver["library_order"] = driver["gpus"][:4], []
            driver["nodes"] = [node for node in driver["nodes"] if node["gpu"] is None
                               or node["gpu"] < 4]
        other.write_text(json.dumps(document), encoding="utf-8")
        said = self.check("--nv", "--device", "5", "--host", record, "--host", other,
                          status=WRONG).stdout
        first, second = said.split(f"\n{other}\n")
        self.assertEqual(first, f"{record}\nnothing is wrong\n")
        self.assertIn("no such GPU", second)

    def test_a_requirement_counts_whatever_libraries_are_asked_for(self):
        for words in (["--require", "cuda>=99"],
                      ["--request-env", "NVIDIA_REQUIRE_CUDA=cuda>=99"]):
            for libraries in ("auto", "host", "none"):
                with self.subTest(words, libraries=libraries):
                    said = self.check("--nv", "--rootfs", self.root, "--vendor-libs", libraries,
                                      *words, status=WRONG).stdout
                    self.assertIn("cuda>=99: not met", said)

    def test_a_set_up_that_fails_says_what_else_is_wrong(self):
        words = ["--nv", "--rootfs", self.root, "--require", "cuda>=99", "--request-env",
                 "CUDA_VISIBLE_DEVICES="]
        for more, status in ([], 7), (["--", "x"], 125):
            with self.subTest(more):
                other, hint, error = self.run_setup(*words, *more, status=status,
                                                    stderr=None).stderr.splitlines()[:3]
                self.assertRegex(other, "^gpuctr-setup: .*CUDA_VISIBLE_DEVICES")
                self.assertRegex(hint, "^hint: ")
                self.assertIn("cuda>=99: not met", error)
        document = json.loads(self.run_setup(*words, "--json", status=7, stderr=None).stderr)
        self.assertEqual([(one["code"], one["severity"]) for one in document["findings"]],
                         [("gpus_hidden", "error")])
        quiet = self.run_setup("-q", *words, status=7, stderr=None).stderr
        self.assertNotIn("CUDA_VISIBLE_DEVICES", quiet)

    def test_words_that_do_not_go_together(self):
        for words in (["--node", "--rootfs", self.root], ["--node", "--binary", "x"],
                      ["--binary", "x"], ["--", "x"],
                      ["--rootfs", self.root, "--binary", "x", "--", "y"],
                      ["--host", "a", "--host", "b", "--json"], ["--host", "a", "--pid", "1"]):
            with self.subTest(words=words):
                self.check("--nv", *words, status=2, stdout="", stderr=None)

    def test_an_error_keeps_its_status_with_a_program(self):
        missing = pathlib.Path("/nowhere")
        self.check("--nv", "--rootfs", missing, "--", "x", status=5, stdout="", stderr=None)


if __name__ == "__main__":
    unittest.main()
