# SPDX-License-Identifier: MIT
"""The JSON documents are what docs/schema says, and the schemas say all of it."""

import copy
import json
import os
import pathlib
import unittest

import harness
import jsonschema

WRONG = 9
SCHEMAS = pathlib.Path(os.environ["GPUCTR_SCHEMA_DIR"])


SCHEMA_NAMES = sorted(path.stem for path in SCHEMAS.glob("*.json"))


def schema(name):
    return json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))


def objects(value):
    """Every object in a document, the outermost first."""
    if isinstance(value, dict):
        yield value
        for member in value.values():
            yield from objects(member)
    elif isinstance(value, list):
        for member in value:
            yield from objects(member)


class Documents(harness.Case):
    def document(self, command, *words, status=0):
        done = self.run_setup(command, "--format", "json", *words, status=status, stdout=None,
                              stderr=None)
        return json.loads(done.stdout)

    def check(self, name, document):
        self.assertEqual(document["schema"], f"gpucontainer/{name}/1")
        jsonschema.validate(document, schema(name))


class OnNoBus(Documents):
    """A host whose GPU has no address."""

    def test_each_document(self):
        self.check("list", self.document("list", "--nv"))
        self.check("plan", self.document("plan", "--nv", "--rootfs", self.root))
        self.apply()
        self.check("status", self.document("status", "--all"))
        self.undo()


class WithoutGpu(Documents):
    """A host that has a driver's files alone."""

    def test_each_document(self):
        self.check("list", self.document("list", "--rocm"))
        self.check("plan", self.document("plan", "--rocm", "--rootfs", self.root))


class Schemas(Documents):
    def test_the_schemas_are_schemas(self):
        for name in SCHEMA_NAMES:
            jsonschema.Draft7Validator.check_schema(schema(name))

    def test_no_schema_leaves_a_member_open(self):
        for name in SCHEMA_NAMES:
            for part in objects(schema(name)):
                if part.get("type") == "object":
                    with self.subTest(schema=name, members=list(part["properties"])):
                        self.assertIs(part["additionalProperties"], False)
                        self.assertEqual(set(part["required"]), set(part["properties"]))

    def test_an_additional_member_anywhere_is_refused(self):
        self.apply()
        for name, document in (("list", self.document("list")),
                               ("plan", self.document("plan", "--nv")),
                               ("why", self.document("why", "--nv", "libcuda.so.1")),
                               ("status", self.document("status", "--rootfs", self.root))):
            count = sum(1 for _ in objects(document))
            for number in range(count):
                changed = copy.deepcopy(document)
                list(objects(changed))[number]["unknown"] = 1
                with self.subTest(schema=name, object=number):
                    self.assertRaises(jsonschema.ValidationError, jsonschema.validate, changed,
                                      schema(name))

    def test_list(self):
        self.check("list", self.document("list", "--nv"))

    def test_list_without_a_kernel_module(self):
        self.check("list", self.document("list", "--driver-version", harness.VERSION))

    def test_check(self):
        self.check("check", self.document("check", "--nv"))
        self.check("check", self.document("check", "--nv", "--rootfs", self.root, "--device", "99",
                                          status=WRONG))

    def test_plan_of_a_typical_root(self):
        self.check("plan", self.document("plan", "--nv"))

    def test_plan_of_a_root(self):
        for write in ("auto", "never"):
            with self.subTest(write=write):
                self.check("plan", self.document("plan", "--nv", "--rootfs", self.root, "--write",
                                                 write))

    def test_plan_with_a_variable_of_the_scheduler(self):
        os.environ["CUDA_VISIBLE_DEVICES"] = "1,0"
        self.addCleanup(os.environ.pop, "CUDA_VISIBLE_DEVICES")
        document = self.document("plan", "--nv")
        self.assertNotEqual(document["environment"], [])
        self.check("plan", document)

    def test_plan_without_files(self):
        self.check("plan", self.document("plan", "--nv", "--device", "none"))

    def test_status_of_nothing(self):
        document = self.document("status", "--all")
        self.assertEqual(document, {"schema": "gpucontainer/status/1", "setups": []})
        self.check("status", document)

    def test_status_of_a_set_up(self):
        self.apply("--device", "0,3")
        self.check("status", self.document("status", "--all"))

    def test_status_with_problems(self):
        self.apply()
        harness.must("umount", "-l", f"{self.root}/dev/nvidia0")
        self.check("status", self.document("status", "--all", status=9))

    def test_status_with_a_damaged_journal(self):
        self.apply()
        [journal] = harness.STATE.glob("*/*.json")
        journal.write_text("{")
        self.check("status", self.document("status", "--all", status=9))


if __name__ == "__main__":
    unittest.main()
