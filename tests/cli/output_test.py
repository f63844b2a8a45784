# SPDX-License-Identifier: MIT
"""What gpuctr-setup list and plan print, and which GPUs --device chooses."""

import json
import os
import re
import stat
import unicodedata
import unittest

import harness
from harness import TREE, VERSION

KINDS = {"bind", "cover", "device", "symlink", "directory", "file", "env", "ldcache", "mount"}


def gpus():
    return json.loads(harness.must(harness.SETUP, "list", "--format", "json"))["drivers"][0]["gpus"]


class Output(harness.Case):

    def assert_snake_case(self, value):
        if isinstance(value, dict):
            for name, inner in value.items():
                self.assertRegex(name, r"^[a-z][a-z0-9_]*$")
                self.assert_snake_case(inner)
        elif isinstance(value, list):
            for inner in value:
                self.assert_snake_case(inner)

    def test_the_list_as_text(self):
        with self.nothing_changes():
            out = self.run_setup("list", stdout=None).stdout

        self.assertIn(VERSION, out.splitlines()[0])
        self.assertEqual(len(re.findall(r"^[0-7] +GPU-", out, re.M)), 8)
        self.assertRegex(out, r"/dev/nvidia7 +195:7 +7 +yes")
        self.assertRegex(out, r"libcuda\.so\.1 +compute +/usr/local/nvidia/lib64/libcuda\.so\.580")

    def test_the_list_as_json(self):
        done = self.run_setup("list", "--nv", "--format", "json", stdout=None)

        document = json.loads(done.stdout)
        self.assertEqual(document["schema"], "gpucontainer/list/1")
        self.assert_snake_case(document)
        self.assertEqual(len(document["drivers"][0]["gpus"]), 8)

    def test_the_plan_as_text(self):
        with self.nothing_changes():
            out = self.run_setup("plan", "--nv", "--rootfs", self.root, stdout=None).stdout

        self.assertRegex(out, r"(?m)^mount +/usr/lib/gpuctr +tmpfs +ro,nosuid,nodev$")
        self.assertNotIn("REASON", out)
        verbose = self.run_setup("-v", "plan", "--nv", "--rootfs", self.root,
                                 "--driver-capabilities", "compute", stdout=None).stdout
        self.assertIn("REASON", verbose)
        self.assertIn("belongs to graphics, which was not asked for: ", verbose)

    def test_every_vendor_is_what_there_is(self):
        named = self.run_setup("plan", "--nv", "--format", "json", stdout=None).stdout
        every = self.run_setup("plan", "--gpu", "--format", "json", stdout=None).stdout

        self.assertEqual(every, named)
        chosen = self.run_setup("plan", "--gpu", "--device", "nvidia.com/gpu=6-7", "--format",
                                "json", stdout=None).stdout
        (driver,) = json.loads(chosen)["drivers"]
        self.assertEqual([gpu["index"] for gpu in driver["gpus"]], [6, 7])

    def test_the_plan_as_json(self):
        document = self.plan()

        self.assertEqual(document["schema"], "gpucontainer/plan/1")
        self.assert_snake_case(document)
        for item in document["items"]:
            self.assertLessEqual({"kind", "source", "target", "options", "reason"}, item.keys())
            self.assertIn(item["kind"], KINDS)
            self.assertNotEqual(item["reason"], "", item)
        for finding in document["findings"]:
            self.assertNotEqual(finding["text"], "", finding)

    def test_the_plan_is_the_same_on_each_run(self):
        first = self.run_setup("plan", "--nv", "--rootfs", self.root, "--format", "json",
                               stdout=None).stdout
        for _ in range(5):
            self.run_setup("plan", "--nv", "--rootfs", self.root, "--format", "json", stdout=first)

    def test_the_plan_without_a_root(self):
        document = json.loads(self.run_setup("plan", "--nv", "--format", "json",
                                             stdout=None).stdout)

        targets = [item["target"] for item in document["items"] if item["kind"] == "device"]
        self.assertEqual(len(targets), 11)
        self.assertIn(f"{TREE}/lib64/libcuda.so.1",
                      [item["target"] for item in document["items"]])

    def test_a_full_disk_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = harness.setup("list", stdout=full)

        self.assertEqual(done.returncode, 1)
        self.assertNotEqual(done.stderr, "")

    def test_help_and_version(self):
        self.assertIn("--rootfs", self.run_setup("apply", "--help", stdout=None).stdout)
        self.assertIn("undo", self.run_setup("--help", stdout=None).stdout)
        for word in ("--version", "version"):
            self.assertRegex(self.run_setup(word, stdout=None).stdout,
                             r"^gpuctr-setup \d+\.\d+\.\d+\n$")


class Record(harness.Case):
    """A host that was written down, with --host."""

    def setUp(self):
        super().setUp()
        self.record = harness.DIRECTORY / "host.json"
        self.record.write_text(harness.must(harness.SETUP, "list", "--format", "json"))

    def test_it_is_listed_like_the_host(self):
        for options in ([], ["--nv"], ["-v"], ["--format", "json"]):
            expected = harness.must(harness.SETUP, "list", *options)
            self.run_setup("list", "--host", self.record, *options, stdout=expected)

    def test_it_is_planned_with_like_the_host(self):
        for options in ([], ["--rootfs", self.root], ["--device", "3"],
                        ["-v", "--driver-capabilities", "utility"], ["--format", "json"]):
            expected = harness.must(harness.SETUP, "plan", "--nv", *options)
            self.run_setup("plan", "--nv", "--host", self.record, *options, stdout=expected)

    def test_it_may_come_from_a_pipe(self):
        text = self.record.read_text()
        self.run_setup("list", "--host", "/dev/stdin", "--format", "json", stdout=text,
                       stdin=None, input=text)

    def test_a_gpu_that_is_not_in_it_is_unknown(self):
        document = json.loads(self.record.read_text())
        driver = document["drivers"][0]
        driver["gpus"].pop()
        driver["nodes"] = [node for node in driver["nodes"] if node["gpu"] != 7]
        self.record.write_text(json.dumps(document))
        done = self.run_setup("plan", "--nv", "--host", self.record, "--device", "7", status=2,
                              stderr=None)
        self.assertTrue(done.stderr.startswith("gpuctr-setup: --device 7: no such GPU\n"))

    def test_without_the_vendor_asked_for_it_is_an_error(self):
        self.record.write_text('{"schema": "gpucontainer/list/1", "drivers": [], '
                               '"findings": [], "fingerprint": []}')
        self.run_setup("list", "--host", self.record,
                       stderr="gpuctr-setup: no GPU on this host\n")
        done = self.run_setup("list", "--nv", "--host", self.record, status=3, stderr=None)
        self.assertIn("host record: no NVIDIA GPU", done.stderr)

    def test_what_is_no_record_is_refused(self):
        hint = "hint: a record is what `gpuctr-setup list --format json` prints\n"
        for text, what in (("", "no JSON document: parse error at line 1, column 1: "),
                           ("{}", "schema: missing\n"),
                           ('{"schema": "gpucontainer/plan/1"}', "schema: not gpucontainer/list/1"),
                           ('{"schema": "gpucontainer/list/1"}', "drivers: missing\n")):
            self.record.write_text(text)
            done = self.run_setup("list", "--host", self.record, status=2, stderr=None)
            self.assertTrue(done.stderr.startswith(f"gpuctr-setup: host record: {what}"),
                            done.stderr)
            self.assertTrue(done.stderr.endswith(hint), done.stderr)
        for name in ("/nowhere", "/tmp"):
            done = self.run_setup("list", "--host", name, status=2, stderr=None)
            self.assertIn(f"host record {name}: ", done.stderr)

    def test_no_control_character_of_it_reaches_the_terminal(self):
        original = self.record.read_text()
        document = json.loads(original)
        document["drivers"][0]["nodes"][0]["host_path"] = "/dev/\x1b[31mRED"
        self.record.write_text(json.dumps(document))
        done = self.run_setup("list", "--host", self.record, status=2, stderr=None)
        self.assertIn("nodes[0].host_path: with a control character in it\n", done.stderr)

        document = json.loads(original)
        driver = document["drivers"][0]
        driver["vendor_name"] += "\u009b31m"
        driver["gpus"][0]["model"] = "\u009b2J\u0080\u00a0\u009f"
        driver["masks"][0]["content"] += "\x7f"
        self.record.write_text(json.dumps(document))
        for words in (["list"], ["list", "-v"], ["list", "-o", "MODEL"], ["list", "--json"],
                      ["plan", "--nv", "--json"]):
            done = self.run_setup(*words, "--host", self.record, stdout=None)
            self.assertFalse([c for c in done.stdout if c != "\n" and unicodedata.category(c) == "Cc"],
                             words)
            if "--json" in words:
                gpu = json.loads(done.stdout)["drivers"][0]["gpus"][0]
                self.assertEqual(gpu["model"], driver["gpus"][0]["model"])

        for what, shown in (("a\x1b[31m", r"a\x1b[31m"), ("\x7f\n", r"\x7f\x0a"),
                            ("\u00e9\u009b2J", "\u00e9" + r"\xc2\x9b2J"),
                            (os.fsdecode(b"\x9b2J\xff"), r"\x9b2J\xff"),
                            (os.fsdecode(b"\xe2\x82a\xc3"), r"\xe2\x82a\xc3"), ("\u20ac", "\u20ac")):
            done = self.run_setup("undo", "--rootfs", f"/{what}", status=5, stderr=None)
            self.assertIn(f"root file system /{shown}: No such file", done.stderr)
            done = self.run_setup("undo", what, status=2, stderr=None)
            self.assertIn(shown, done.stderr)

    def test_it_goes_with_nothing_else_that_says_where_to_look(self):
        for options in (["--driver-root", "/usr"], ["--driver-version", "580.1"]):
            self.run_setup("list", "--host", self.record, *options, status=2, stderr=None)
        self.run_setup("apply", "--nv", "--rootfs", self.root, "--host", self.record, status=2,
                       stderr=None)


class Device(harness.Case):

    def chosen(self, *options, **more):
        devices = [item["target"] for item in self.plan(*options)["items"]
                   if item["kind"] == "device" and re.search(r"nvidia\d", item["target"])]
        before = self.state()
        self.apply(*options, **more)
        nodes = []
        for name in sorted(os.listdir(self.root / "dev")):
            status = os.stat(self.root / "dev" / name)
            self.assertTrue(stat.S_ISCHR(status.st_mode), name)
            if re.fullmatch(r"nvidia\d", name):
                self.assertEqual(status.st_rdev, os.makedev(195, int(name[6:])))
                nodes.append(int(name[6:]))
            else:
                self.assertIn(name, ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"))
        self.assertEqual(devices, [f"/dev/nvidia{n}" for n in nodes])
        self.undo()
        self.assert_state(before)
        return nodes

    def test_all(self):
        self.assertEqual(self.chosen("--device", "all"), list(range(8)))
        self.assertEqual(self.chosen(), list(range(8)))
        self.assertEqual(self.chosen("--device", "auto"), list(range(8)))

    def test_none(self):
        self.assertEqual(self.chosen("--device", "none"), [])

    def test_indexes(self):
        self.assertEqual(self.chosen("--device", "3"), [3])
        self.assertEqual(self.chosen("--device", "5,1", "--device", "7"), [1, 5, 7])
        self.assertEqual(self.chosen("--device", "2,2"), [2])

    def test_uuids_and_prefixes(self):
        gpu = gpus()[4]
        node = gpu["minor"] if "minor" in gpu else 4
        uuid = gpu["uuid"]
        for word in (uuid, uuid.upper(), uuid[:12], uuid[4:12], uuid[4:]):
            self.assertEqual(self.chosen("--device", word), [node], word)

    def test_pci_addresses(self):
        gpu = gpus()[2]
        address = gpu["pci_address"]
        node = gpu["minor"] if "minor" in gpu else 2
        for word in (address, address.upper(), address[5:], f"0000{address}"):
            self.assertEqual(self.chosen("--device", word), [node], word)

    def test_the_schedulers_choice(self):
        self.assertEqual(self.chosen_with("6,2"), [2, 6])
        self.assertEqual(self.chosen_with(gpus()[1]["uuid"]), [1])

    def chosen_with(self, value):
        before = self.state()
        self.apply(env=dict(os.environ, CUDA_VISIBLE_DEVICES=value))
        nodes = sorted(int(n[6:]) for n in os.listdir(self.root / "dev")
                       if re.fullmatch(r"nvidia\d", n))
        self.undo()
        self.assert_state(before)
        return nodes

    def test_unknown_and_ambiguous_ones(self):
        there = ("hint: there are 8 GPUs: 0 to 7; `gpuctr-setup list` shows UUIDs and PCI "
                 "addresses\n")
        for word, line in (("8", "--device 8: no such GPU"),
                           ("-1", None),
                           ("GPU-12345678", "--device GPU-12345678: no such GPU"),
                           (gpus()[0]["uuid"][:8], None),
                           ("0000:99:00.0", "--device 0000:99:00.0: no such GPU"),
                           ("0,,1", None), ("all,auto", None), ("0,none,x", None),
                           ("99999999999999999999", None)):
            with self.subTest(word=word), self.nothing_changes():
                done = self.apply(f"--device={word}", status=2, stderr=None)
                self.assertTrue(done.stderr.startswith("gpuctr-setup: "), done.stderr)
                if line:
                    self.assertEqual(done.stderr, f"gpuctr-setup: {line}\n{there}")


if __name__ == "__main__":
    unittest.main()
