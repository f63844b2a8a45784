# SPDX-License-Identifier: MIT
"""Whether the library for Go that engines read specifications with agrees with this program.

It is that of Debian's package, built where this test runs. GPUCTR_CDI_GOPATH in the
environment names another version: a GOPATH that has it and what it needs.
"""

import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import recorded_host

SETUP = os.environ["GPUCTR_SETUP"]
SIMHOST = os.environ["GPUCTR_SIMHOST"]
TESTS = pathlib.Path(__file__).resolve().parents[1]
HOST = TESTS / "hosts/h200-x8-ubuntu24.04-580"
JUDGE = TESTS / "cdi/upstream/judge.go"
GOPATH = os.environ.get("GPUCTR_CDI_GOPATH", "/usr/share/gocode")
MODULE = "container-device-interface"
OWNERS = ("tags.cncf.io", "github.com/container-orchestrated-devices")  # the newer first
SKIPPED, CANNOT_STAND_UP = 77, 125

ALWAYS = (999,)

# What is refused here alone, by libraries that are older than a version. docs/cdi.md says so.
STRICTER = [
    # Go reads a null as "" or 0, a number such as 1000.0 as 1000 and as a text too, and the names
    # of fields in any case.
    (r"null, and not a (text|number)|put it in quotes|is no whole number|unknown field", ALWAYS),
    (r"it has no device|unknown cdiVersion '0\.2\.0'", (1, 0, 0)),
    (r"cdiVersion \S+ is too old", (0, 6, 0)),
]

# What only libraries refuse that are older than a version.
LENIENT = [
    (r"invalid version|unknown version", ALWAYS),  # newer than the library
    (r'invalid per\w+ "none"', (1, 2, 0)),
    (r"invalid ClosID", (1, 0, 0)),  # "/"
]

WHOLE = {
    "cdiVersion": "1.1.0", "kind": "vendor.com/class", "annotations": {"a.b/c": "true"},
    "devices": [{
        "name": "0:1", "annotations": {"k": "v"},
        "containerEdits": {
            "env": ["A=b", "C="],
            "deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/b", "type": "c", "major": 16,
                             "minor": 1, "fileMode": 432, "permissions": "rwm", "uid": 1,
                             "gid": 2}],
            "netDevices": [{"hostInterfaceName": "eth1", "name": "eth0"}],
            "mounts": [{"hostPath": "/a", "containerPath": "/b", "options": ["ro", "bind"],
                        "type": "bind"}],
            "hooks": [{"hookName": "createContainer", "path": "/bin/h", "args": ["h", "x"],
                       "env": ["E=1"], "timeout": 5}],
            "intelRdt": {"closID": "g", "l3CacheSchema": "L3:0=f", "memBwSchema": "MB:0=10",
                         "schemata": ["x"], "enableMonitoring": True},
            "additionalGids": [44, 109]}}],
    "containerEdits": {"env": ["D=e"]}}

# Fields of WHOLE that a version does not have.
NEWER = {(0, 6, 0): ["annotations"], (0, 7, 0): ["intelRdt", "additionalGids"],
         (1, 1, 0): ["netDevices", "schemata", "enableMonitoring"]}

# Devices with edits of the same names, in two files.
INJECTED = {
    "a.json": {
        "cdiVersion": "0.5.0", "kind": "a.com/gpu",
        "containerEdits": {
            "env": ["PATH=/changed", "A=all"],
            "mounts": [{"hostPath": "/usr", "containerPath": "/deep/er/usr", "options": ["ro"]},
                       {"hostPath": "/etc", "containerPath": "/short"}],
            "hooks": [{"hookName": "createContainer", "path": "/bin/h", "args": ["h", "x"],
                       "env": ["E=1"], "timeout": 5}]},
        "devices": [
            {"name": "1", "containerEdits": {
                "env": ["A=one"], "additionalGids": [44, 5],
                "deviceNodes": [{"path": "/dev/null"}, {"path": "/dev/made", "hostPath": "/dev/zero",
                                                        "permissions": "r", "fileMode": 384}]}},
            {"name": "3", "containerEdits": {
                "env": ["A=three", "B="],
                "deviceNodes": [{"path": "/dev/null", "uid": 7, "gid": 8}]}}]},
    "b.json": {
        "cdiVersion": "0.5.0", "kind": "b.com/nic",
        "devices": [{"name": "2", "containerEdits": {
            "env": ["A=two"], "additionalGids": [5, 6],
            "deviceNodes": [{"path": "/dev/null"}, {"path": "/dev/full", "type": "c", "major": 1,
                                                    "minor": 7}],
            "mounts": [{"hostPath": "/var", "containerPath": "/short", "options": ["rbind"],
                        "type": "bind"}],
            "hooks": [{"hookName": "prestart", "path": "/bin/p"},
                      {"hookName": "poststop", "path": "/bin/s", "args": ["s"]}]}}]}}

CONFIG = {
    "ociVersion": "1.0.2",
    "process": {"user": {"uid": 1000, "gid": 100, "additionalGids": [44]}, "args": ["sh"], "cwd": "/",
                "env": ["PATH=/bin", "HOME=/"]},
    "root": {"path": "/rootfs"},
    "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
               {"destination": "/short", "type": "tmpfs", "source": "tmpfs"}],
    "hooks": {"prestart": [{"path": "/bin/first"}]},
    "linux": {"devices": [{"path": "/dev/null", "type": "c", "major": 9, "minor": 9}],
              "resources": {"devices": [{"allow": False, "access": "rwm"}]}}}

VALUES = [None, "", "x", "/", "../x", "a b", "a=b", "=b", "none", "rwmrwm", "0.3.0", "v0.5.0",
          "9.9.9", "vendor/class", "vendor.com/a.b", "-v/c", "v1/c-", "createRuntime", "prestart",
          "1a", "a-", 0, -1, 1.5, 1e3, 2 ** 31, 2 ** 32, 2 ** 63, 2 ** 64, True, [], {}, [None], [True],
          [""], ["a=b"], [1], [[]], [{}], {"a": 1}, {"a": "b"}]


def version_of(text):
    return tuple(int(number) for number in text.split("."))


def is_known(differences, fault, version):
    return any(version_of(version) < until and re.search(text, fault)
               for text, until in differences)


def without(value, names):
    if isinstance(value, dict):
        return {key: without(one, names) for key, one in value.items() if key not in names}
    return [without(one, names) for one in value] if isinstance(value, list) else value


def without_nothing(value):
    """Without the fields that Go leaves out, and those that it does not."""
    if isinstance(value, dict):
        return {key: found for key, one in value.items()
                if (found := without_nothing(one)) not in (None, "", 0, [], {}) or found is False}
    return [without_nothing(one) for one in value] if isinstance(value, list) else value


def meaning(config):
    """Of two variables the last counts; a rule may be there twice; not each library has modes."""
    config = without_nothing(config)
    process, of_linux = config["process"], config["linux"]
    process["env"] = dict(variable.partition("=")[::2] for variable in process["env"])
    rules = of_linux["resources"]["devices"]
    of_linux["resources"]["devices"] = sorted({json.dumps(rule, sort_keys=True) for rule in rules})
    for device in of_linux["devices"]:
        if device["path"] != "/dev/made":  # whose mode is in the specification
            device.pop("fileMode", None)
    return config


def places_of(value, place=()):
    """The way to each value of a document."""
    if place:
        yield place
    for key, one in value.items() if isinstance(value, dict) else (
            enumerate(value) if isinstance(value, list) else ()):
        yield from places_of(one, (*place, key))


def variations_of(whole):
    """Each value by another one, and removed, given twice, and with a field that nobody knows."""
    for place in places_of(whole):
        for value in [*VALUES, Ellipsis]:
            document = copy.deepcopy(whole)
            parent = document
            for key in place[:-1]:
                parent = parent[key]
            if value is Ellipsis:
                del parent[place[-1]]
            else:
                parent[place[-1]] = value
            yield document
        document = copy.deepcopy(whole)
        one = document
        for key in place:
            one = one[key]
        if isinstance(one, dict):
            one["more"] = 1
        elif isinstance(one, list):
            one += copy.deepcopy(one)
        yield document


def skip(reason):
    print(f"SKIPPED  {reason}")
    sys.exit(SKIPPED)


def build(work):
    """The judge, with what is installed."""
    if shutil.which("go") is None:
        skip("go is not installed")
    for owner in OWNERS:
        sources = [pathlib.Path(one) / "src" / owner / MODULE for one in GOPATH.split(":")]
        if found := [one for one in sources if one.is_dir()]:
            break
    else:
        skip(f"the library {MODULE} for Go is not installed")
    source = work / "judge.go"
    source.write_text(JUDGE.read_text().replace(f"{OWNERS[0]}/", f"{owner}/"))
    environment = dict(os.environ, GO111MODULE="off", GOPATH=GOPATH, GOFLAGS="",
                       GOCACHE=os.environ.get("GOCACHE", str(work / "cache")))
    subprocess.run(["go", "build", "-o", work / "judge", source], env=environment, check=True)
    return found[0]


class Upstream(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.library = build(cls.work)
        (cls.work / "none.json").write_text("{}")
        cls.version = cls.judge("verdicts", cls.work / "none.json")[0]["Version"]
        print(f"the library is of version {cls.version}")

    @classmethod
    def judge(cls, *words):
        done = subprocess.run([cls.work / "judge", *words], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def ours(self, paths):
        """What this program finds wrong in each file."""
        done = subprocess.run([SETUP, "cdi", "validate", "--json", *paths], capture_output=True,
                              check=False)
        self.assertIn(done.returncode, (0, 9), done.stderr)
        faults = {str(path): [] for path in paths}
        for one in json.loads(done.stdout)["findings"]:
            if one["code"] == "cdi_invalid":
                faults[one["evidence"]].append(one["text"])
        return [faults[str(path)] for path in paths]

    def write(self, texts, suffix):
        directory = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        paths = [directory / f"{number}.{suffix}" for number in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text, encoding="utf-8")
        return paths

    def compare(self, paths):
        """Tells in what both agree: the numbers of good and bad files."""
        agreed = [0, 0]
        differences = []
        for path, its, ours in zip(paths, self.judge("verdicts", *paths), self.ours(paths)):
            if bool(its["Fault"]) == bool(ours):
                agreed[bool(ours)] += 1
            elif ours and not all(is_known(STRICTER, one, self.version) for one in ours):
                differences.append(f"refused here alone: {ours}\n{path.read_text()}")
            elif its["Fault"] and not is_known(LENIENT, its["Fault"], self.version):
                differences.append(f"taken here alone: {its['Fault']}\n{path.read_text()}")
        self.assertEqual(differences, [])
        return agreed

    def test_what_is_generated_is_taken(self):
        paths = sorted((TESTS / "cdi/golden").iterdir())
        for form in ("json", "yaml"):
            done = subprocess.run([*recorded_host.command(SIMHOST, HOST), SETUP, "cdi", "generate", "--nv",
                                   "--format", form], stdout=subprocess.PIPE, check=False)
            if done.returncode != CANNOT_STAND_UP:
                self.assertEqual(done.returncode, 0)
                paths += self.write([done.stdout.decode()], form)
        known = [path for path in paths if version_of(self.version) >= version_of(
            re.search(r'cdiVersion"?: "?([0-9.]+)', path.read_text())[1])]
        self.assertGreater(len(known), 15)
        for path, said in zip(known, self.judge("verdicts", *known)):
            self.assertEqual((path, said["Fault"], said["Schema"]), (path, "", ""))

    def test_its_own_files(self):
        files = sorted((self.library / "schema/testdata").rglob("*.json"))
        self.assertGreaterEqual(sum(self.compare(files)), len(files) - 1)

    def test_documents_of_its_tests(self):
        documents = self.judge("documents", *self.library.rglob("*_test.go"))
        self.assertGreater(len(documents), 50)
        good, bad = self.compare(self.write([one["Text"] for one in documents], "yaml"))
        self.assertGreater(good, 10)
        self.assertGreater(bad, 10)

    def whole(self):
        """A document with all fields of the library's version."""
        version = version_of(self.version)
        names = [name for since, newer in NEWER.items() if version < since for name in newer]
        return dict(without(WHOLE, names), cdiVersion=self.version)

    def test_each_value_in_turn(self):
        documents = list(variations_of(self.whole()))
        good, bad = self.compare(self.write([json.dumps(one) for one in documents], "json"))
        self.assertGreater(good, 200)
        self.assertGreater(bad, 500)

    def test_conflicts_and_priorities(self):
        low, high = self.work / "low", self.work / "high"
        kinds = {low / "a.yaml": "abc", low / "b.yaml": "bd", high / "a.yaml": "ce",
                 high / "b.yaml": "fg", high / "c.yaml": "g", low / "none.txt": "h"}
        for path, names in kinds.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text("cdiVersion: 0.5.0\nkind: vendor.com/gpu\ndevices:\n" + "".join(
                f"- {{name: {name}, containerEdits: {{env: [A=b]}}}}\n" for name in names))
        done = subprocess.run([SETUP, "cdi", "list", "--json", "--spec-dir", low, "--spec-dir",
                               high], stdout=subprocess.PIPE, check=False)
        usable = {one["name"]: one["path"] for one in json.loads(done.stdout)["devices"]
                  if one["state"] == "usable"}
        self.assertEqual(usable, self.judge("devices", low, high)["Devices"])

    def test_devices_in_a_configuration(self):
        """With all hooks left to the runtime, `cdi apply --oci` makes what engines make."""
        config = self.work / "config.json"
        config.write_text(json.dumps(CONFIG), encoding="utf-8")
        directory = self.work / "injected"
        directory.mkdir()
        for name, document in INJECTED.items():
            known = {"0.5.0": document, "0.7.0": document | {"cdiVersion": "0.7.0"}}
            newest = "0.7.0" if version_of(self.version) >= (0, 7, 0) else "0.5.0"
            text = known[newest] if newest == "0.7.0" else without(document, ["additionalGids"])
            (directory / name).write_text(json.dumps(text), encoding="utf-8")
        for devices in (["a.com/gpu=1"], ["a.com/gpu=1", "b.com/nic=2"], ["b.com/nic=2", "a.com/gpu=1"],
                        ["a.com/gpu=1", "a.com/gpu=3"]):
            with self.subTest(devices):
                done = subprocess.run(
                    [SETUP, "cdi", "apply", "--oci", "--keep-hooks", "all", "--spec-dir", directory,
                     "--device", ",".join(devices)], stdin=config.open("rb"), capture_output=True,
                    check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(meaning(json.loads(done.stdout)), meaning(
                    self.judge("injected", config, directory, *devices)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
