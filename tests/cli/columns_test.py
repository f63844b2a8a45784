# SPDX-License-Identifier: MIT
"""Tables with chosen columns, as of lsblk and findmnt."""

import json
import os
import re
import unittest

import config_test
import harness

setUpModule = config_test.setUpModule
tearDownModule = config_test.tearDownModule


def lines_of(done):
    return done.stdout.splitlines()


def gpus():
    return json.loads(harness.must(harness.SETUP, "list", "--json"))["drivers"][0]["gpus"]


class Columns(config_test.Config):
    def shown(self, *words):
        return lines_of(self.run_setup(*words, stdout=None))

    def columns_of(self, command):
        text = self.run_setup(command, "--help", stdout=None).stdout
        listed = re.search(r"Columns:\s([A-Z,\s]+)\(default", text)[1]
        return re.sub(r"\s", "", listed).split(",")


class OfList(Columns):
    def test_are_those_that_are_named(self):
        expected = [[gpu["uuid"], str(gpu["index"])] for gpu in gpus()]
        lines = self.shown("list", "-o", "UUID,GPU")
        self.assertEqual(lines[0].split(), ["UUID", "GPU"])
        self.assertEqual([line.split() for line in lines[1:]], expected)
        for words in (["--output", "uuid,gpu"], ["--output=Uuid,GPU"], ["-oUUID,gpu"]):
            self.assertEqual(self.shown("list", *words), lines)

    def test_are_added_to_the_usual_ones(self):
        usual = self.shown("list", "-o", "+NUMA")[0].split()
        self.assertEqual(usual, ["VENDOR", "GPU", "UUID", "PCI", "MODEL", "NUMA"])

    def test_have_no_heading_where_none_is_wanted(self):
        uuids = [gpu["uuid"] for gpu in gpus()]
        for words in (["-n", "-o", "UUID"], ["-no", "UUID"], ["--noheadings", "--output", "UUID"]):
            self.assertEqual(self.shown("list", *words), uuids)
        self.assertEqual(len(self.shown("list", "-n")), len(uuids))

    def test_of_each_gpu_are_what_the_document_has(self):
        names = ("GPU", "UUID", "PCI", "NODE", "NUMA", "MODEL")
        members = ("index", "uuid", "pci_address", "minor", "numa_node", "model")
        lines = self.shown("list", "-no", ",".join(names))
        for line, gpu in zip(lines, gpus(), strict=True):
            cells = line.split(maxsplit=len(names) - 1)
            self.assertEqual(cells, ["-" if gpu[m] is None else str(gpu[m]) for m in members])
        self.assertEqual(set(self.shown("list", "-no", "VENDOR,DRIVER")),
                         {f"nvidia  {harness.VERSION}"})

    def test_unknown_ones_are_refused(self):
        known = self.columns_of("list")
        for word, meant in (("UIDD", None), ("UUDI", "UUID"), ("modle", "MODEL"), ("", None),
                            ("UUID,", None)):
            done = self.run_setup("list", "-o", word, status=2, stderr=None)
            name = word.rpartition(",")[2].upper()
            problem, hint = done.stderr.splitlines()
            self.assertEqual(problem, f"gpuctr-setup: --output: '{name}' is no column; columns are "
                                      f"{', '.join(known)}")
            if meant:
                self.assertEqual(hint, f"hint: did you mean {meant}? gpuctr-setup list --help lists "
                                       "all")

    def test_all_that_help_lists_are_there(self):
        for command in ("list", "status"):
            columns = self.columns_of(command)
            self.assertGreater(len(columns), 5)
            where = ["--all"] if command == "status" else []
            self.run_setup(command, *where, "-o", ",".join(columns), stdout=None, stderr=None)

    def test_are_for_text(self):
        for words in (["--json"], ["--format", "json"]):
            for chosen in (["-o", "UUID"], ["-n"]):
                done = self.run_setup("list", *words, *chosen, status=2, stderr=None)
                self.assertIn("do not go together", done.stdout + done.stderr)
        text = self.shown("list", "-o", "UUID")
        done = self.run_setup("list", "-o", "UUID", stdout=None,
                              env=os.environ | {"GPUCTR_FORMAT": "json"})
        self.assertEqual(lines_of(done), text)

    def test_are_typed(self):
        usual = self.shown("list")
        done = self.run_setup("list", stdout=None, env=os.environ | {
            "GPUCTR_OUTPUT": "UUID", "GPUCTR_NOHEADINGS": "true"})
        self.assertEqual(lines_of(done), usual)

    def test_a_vendor_with_one_dash_is_not_two_letters(self):
        self.run_setup("list", "-nv", status=2,
                       stderr="gpuctr-setup: list: unknown option -nv\nhint: did you mean --nv? "
                              "gpuctr-setup list --help lists all\n")
        self.assertEqual(self.shown("list", "-vn"), self.shown("list", "-n"))


class OfStatus(Columns):
    def test_of_a_set_up(self):
        self.apply("--device", "0,3")
        all_gpus = gpus()
        found = json.loads(self.run_setup("status", "--all", "--json", stdout=None).stdout)
        [setup] = found["setups"]
        [line] = self.shown("status", "--all", "-no",
                            "ROOT,DRIVER,GPUS,UUIDS,TREE,ORIGIN,NAMESPACE,PID,WRITTEN,STATE,FINDINGS")
        self.assertEqual(line.split(), [
            str(self.root), f"nvidia/{harness.VERSION}", "nvidia/0,nvidia/3",
            f"{all_gpus[0]['uuid']},{all_gpus[3]['uuid']}", harness.TREE, "here",
            str(setup["mount_namespace"]), "-", "yes", "intact", "-"])
        [since] = self.shown("status", "--rootfs", self.root, "-no", "since")
        self.assertRegex(since, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.undo()

    def test_tell_what_is_wrong(self):
        self.apply("--device", "0")
        harness.must("umount", "-l", f"{self.root}/dev/nvidia0")
        self.run_setup("status", "--all", "-no", "STATE,FINDINGS", status=9,
                       stdout="error  part_missing\n")
        self.undo()

    def test_of_nothing(self):
        self.run_setup("status", "--all", "-o", "ROOT", stderr="gpuctr-setup: nothing is set up\n")


if __name__ == "__main__":
    unittest.main()
