# SPDX-License-Identifier: MIT
"""gpuctr-setup with a maker that is data, on the host that its catalogue file describes.

GPUCTR_MAKER_FILE names the file. Each built-in maker of that kind is tested so, and a
site's with the same description.
"""

import json
import os
import pathlib
import re
import stat
import sys
import unittest

import harness
import jsonschema
from vendor_case import VendorCase

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import catalogue_file  # noqa: E402

FILE = pathlib.Path(os.environ["GPUCTR_MAKER_FILE"])
DESCRIPTION = catalogue_file.read(FILE)
NAME, MAKER = DESCRIPTION["vendor"], DESCRIPTION["maker"]
GPUS, NUMBER = 4, "{number}"


class Described(VendorCase):
    """The command with `options`: for the maker of that name, and `more`."""

    name, kind, title = NAME, MAKER["kind"], MAKER["title"]
    variables_begin = ""
    more = ()

    def setUp(self):
        super().setUp()
        self.options = ["--vendor", self.name, *self.more]

    def listed(self, *words, **options):
        done = self.command("list", *(words or self.options), "--format", "json", **options)
        return json.loads(done.stdout)

    def driver(self):
        drivers = self.listed()["drivers"]
        self.assertEqual([driver["vendor"] for driver in drivers], [self.name])
        return drivers[0]

    def planned(self, *words, **options):
        return json.loads(self.command("plan", *self.options, "--rootfs", self.root, "--format",
                                       "json", *words, **options).stdout)

    def set_up(self, *words, **options):
        return self.command(*self.options, "--rootfs", self.root, *words, **options)

    def nodes_of(self, *gpus):
        """Of those GPUs and of all, as the description has them."""
        numbers = [self.driver()["gpus"][gpu]["minor"] for gpu in gpus]
        paths = set()
        for node in MAKER["nodes"]:
            path = node["path"]
            if NUMBER in path:
                paths |= {path.replace(NUMBER, str(number)) for number in numbers}
            elif "*" in path:
                paths |= {path.replace("*", str(128 + number)) for number in numbers}
            else:
                paths.add(path)
        return paths

    def position(self):
        """The variable that has positions, if there is one."""
        for variable in MAKER.get("variables", []):
            if variable["inside"] == "position" and "prefix" not in variable:
                return self.variables_begin + variable["name"]
        self.skipTest("no variable has positions")
        return ""


class Same:
    """What holds of a maker wherever its description stands."""

    def test_list_has_what_is_described(self):
        driver = self.driver()

        self.assertEqual(driver["vendor_name"], self.title)
        self.assertEqual(driver["cdi_kind"], self.kind)
        self.assertEqual(driver["version"], "2.9.1")
        self.assertEqual(driver["needs"], MAKER.get("needs", []))
        self.assertEqual([gpu["index"] for gpu in driver["gpus"]], list(range(GPUS)))
        key = "minor" if MAKER["gpus"].get("order") == "number" else "pci_address"
        order = [gpu[key] for gpu in driver["gpus"]]
        self.assertEqual(order, sorted(order))
        self.assertEqual({node["path"] for node in driver["nodes"]}, self.nodes_of(*range(GPUS)))
        self.assertEqual(driver["missing_nodes"], [])
        self.assertTrue(all(node["accessible"] for node in driver["nodes"]))

    def test_list_shows_it(self):
        text = self.command("list", *self.options).stdout

        self.assertTrue(text.startswith(f"{self.title} driver 2.9.1\n"), text)
        for path in self.nodes_of(*range(GPUS)):
            self.assertRegex(text, rf"(?m)^{re.escape(path)} .* yes$")

    def test_documents_are_as_their_schemas_say(self):
        schemas = pathlib.Path(os.environ["GPUCTR_SCHEMA_DIR"])
        self.set_up()
        for words in (["list", *self.options], ["plan", *self.options, "--rootfs", self.root],
                      ["status", "--rootfs", self.root]):
            with self.subTest(command=words[0]):
                done = self.command(*words, "--format", "json")
                jsonschema.validate(json.loads(done.stdout),
                                    json.loads((schemas / f"{words[0]}.json").read_text()))

    def test_each_word_chooses_its_gpus(self):
        address = self.driver()["gpus"][2]["pci_address"]
        for words, chosen in (("0", [0]), ("1-2", [1, 2]), ("all", range(GPUS)), (address, [2]),
                              (f"{self.kind}=3", [3])):
            with self.subTest(words=words):
                self.assertEqual(set(self.devices("--device", words)), self.nodes_of(*chosen))
        for word in ("4", f"{self.kind}=4", "other.com/gpu=0"):
            with self.subTest(word=word):
                self.command("plan", *self.options, "--device", word, status=2)

    def test_it_is_set_up_and_taken_back(self):
        before = self.state()

        self.set_up("--device", "0,2")

        for path in self.nodes_of(0, 2):
            with self.subTest(path=path):
                inside = os.lstat(self.root / path.lstrip("/"))
                self.assertTrue(stat.S_ISCHR(inside.st_mode))
                self.assertEqual(inside.st_rdev, os.lstat(path).st_rdev)
        for path in self.nodes_of(1) - self.nodes_of(0):
            self.assertFalse(os.path.lexists(self.root / path.lstrip("/")))
        self.undo()
        self.assert_state(before)

    def test_a_command_sees_its_own(self):
        path = sorted(self.nodes_of(1) - self.nodes_of(0))[0]
        for prefix in ([], harness.ORDINARY_USER):
            with self.subTest(prefix=prefix), self.nothing_changes():
                out = self.run_inside("sh", "-c", f"test -c {path} && echo here",
                                      options=["--device", "1"], prefix=prefix)
                self.assertEqual(out, "here\n")

    def test_a_variable_with_positions_is_obeyed_and_counted_anew(self):
        name = self.position()

        env = {name: "3,1"}
        self.assertEqual(set(self.devices(env=env)), self.nodes_of(1, 3))
        self.assertEqual(self.variables(env=env), {name: "1,0"})
        self.assertEqual(self.variables("--device", "0", env=env), {name: None})
        self.command("plan", *self.options, status=3, env={name: "7"})

    def test_one_that_is_gone_is_not_the_end_of_the_others(self):
        gone = self.driver()["gpus"][2]
        node = next(path for path in self.nodes_of(2) - self.nodes_of(1))
        self.lose(node)

        self.assertEqual({item["index"] for item in self.planned()["drivers"][0]["gpus"]},
                         set(range(GPUS)) - {gone["index"]})
        self.command("plan", *self.options, "--device", "2", status=3)

    def test_a_record_of_the_host_makes_the_same_plan(self):
        record = harness.DIRECTORY / "record.json"
        record.write_text(self.command("list", *self.options, "--format", "json").stdout)

        planned = json.loads(self.command("plan", "--host", record, "--rootfs", self.root, "--device",
                                          "2", "--format", "json").stdout)
        self.assertEqual(planned, self.planned("--device", "2"))


class BuiltIn(Same, Described):
    """It is there for every call."""

    def test_gpu_takes_it_along(self):
        for words in ((), ("--gpu",)):
            with self.subTest(words=words):
                done = self.command("list", *words, "--format", "json")
                self.assertIn(NAME, [driver["vendor"]
                                     for driver in json.loads(done.stdout)["drivers"]])

    def test_a_file_of_the_site_leaves_it_as_it_is(self):
        file = harness.DIRECTORY / "changed.yaml"
        file.write_text(FILE.read_text().replace(f"title: {MAKER['title']}", "title: Changed"))

        done = self.command("list", *self.options, "--catalogue", file, "--format", "json")

        driver = json.loads(done.stdout)["drivers"][0]
        self.assertEqual(driver["vendor_name"], MAKER["title"])
        self.assertIn("this description of a built-in maker is ignored",
                      [entry["text"] for entry in driver["findings"]])


class OfTheSite(Same, Described):
    """The same description under other names, in a file of the site."""

    name, kind, title = "acme", "acme.com/thing", "Acme"
    variables_begin = "ACME_"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        text = (FILE.read_text().replace(f"vendor: {NAME}\n", "vendor: acme\n")
                .replace(f"kind: {MAKER['kind']}\n", "kind: acme.com/thing\n")
                .replace(f"title: {MAKER['title']}\n", "title: Acme\n"))
        cls.text = re.sub(r"(?m)(\bname: )([A-Z][A-Z0-9_]+)(,|$)", r"\1ACME_\2\3", text)

    def setUp(self):
        self.file = harness.DIRECTORY / "acme.yaml"
        self.file.write_text(self.text)
        self.more = ["--catalogue", self.file]
        super().setUp()

    def test_it_is_there_with_its_file_alone(self):
        done = self.command("list", "--vendor", "acme", status=2)
        self.assertIn("unknown vendor 'acme'", done.stderr)
        self.assertIn("vendors are nvidia, amd, intel, habana", done.stderr)
        self.assertIn(NAME, done.stderr)

    def test_one_that_could_be_taken_for_it_is_left_out(self):
        other = harness.DIRECTORY / "other.yaml"
        other.write_text(self.text.replace("vendor: acme\n", "vendor: other\n")
                         .replace("title: Acme\n", "title: Other\n"))
        why = f"catalogue: {other}: line 5: kind acme.com/thing is that of acme"

        listed = self.listed(*self.more, "--catalogue", other)
        self.assertIn(self.name, [driver["vendor"] for driver in listed["drivers"]])
        self.assertIn(("driver_unusable", "Other driver", str(other), why),
                      [(entry["code"], entry["object"], entry["evidence"], entry["text"])
                       for entry in listed["findings"]])
        done = self.command("list", "--vendor", "other", *self.more, "--catalogue", other, status=2)
        self.assertIn(why, done.stderr)

    def test_it_has_no_node_of_another_kernel_driver(self):
        if "class" not in MAKER["gpus"]:
            self.skipTest("the host has no other device")
        path = f"/dev/other{GPUS}"
        self.file.write_text(self.text.replace(
            "  nodes:\n", f"  nodes:\n    - {{path: {path}, class: {MAKER['gpus']['class']}}}\n"))

        driver = self.driver()

        self.assertTrue(stat.S_ISCHR(os.lstat(path).st_mode))
        self.assertNotIn(path, [node["path"] for node in driver["nodes"]])
        self.assertIn(path, [node["path"] for node in driver["missing_nodes"]])
        self.assertIn("of the PCI function 0000:f1:00.0, which is not one of these GPUs",
                      [entry["text"] for entry in driver["findings"]])

    def test_it_has_no_libraries_that_others_may_write(self):
        directory = harness.DIRECTORY / "lib"
        directory.mkdir(exist_ok=True)
        self.file.write_text(self.text + f"  directories: [{directory}]\n")
        for mode, reasons in ((0o777, [f"{directory}: everybody may write it"]), (0o755, [])):
            with self.subTest(mode=oct(mode)):
                directory.chmod(mode)
                self.assertEqual([entry["text"] for entry in self.driver()["findings"]
                                  if entry["object"] == str(directory)], reasons)

    def test_it_may_be_asked_of_a_record(self):
        record = harness.DIRECTORY / "record.json"
        record.write_text(self.command("list", *self.options, "--format", "json").stdout)

        listed = self.listed("--vendor", self.name, "--host", record)

        self.assertEqual([driver["vendor"] for driver in listed["drivers"]], [self.name])

    def test_others_must_not_be_able_to_write_it(self):
        self.file.chmod(0o666)

        self.command("list", *self.options, status=6)

    def test_it_names_nothing_outside_of_dev(self):
        for wrong in ("/etc/shadow", "/dev/../etc/shadow", "/dev/sd*/../x"):
            self.file.write_text(re.sub(r"(?m)^(\s+- path: ).*", rf"\g<1>{wrong}", self.text))
            with self.subTest(path=wrong):
                done = self.command("list", *self.options, status=2)
                self.assertIn("is not a plain path below /dev", done.stderr)

    def test_nothing_in_it_is_run(self):
        self.file.write_text(self.text.replace("  title:", "  command: /bin/true\n  title:", 1))

        done = self.command("list", *self.options, status=2)

        self.assertIn('unknown key "command"', done.stderr)


if __name__ == "__main__":
    unittest.main()
