# SPDX-License-Identifier: MIT
"""Mistakes in the configuration and in variables: what is said, and who goes on."""

import json
import os
import shutil
import unittest

import config_test
import harness
from config_test import CATALOGUES, CONFIG
from harness import DIRECTORY

setUpModule = config_test.setUpModule
tearDownModule = config_test.tearDownModule


class Mistakes(config_test.Config):

    def test_an_unknown_key(self):
        self.write(CONFIG, "device: 0\ndevices: 1\n")
        lines = self.refused().splitlines()
        self.assertEqual(lines[0], f"gpuctr-setup: {CONFIG}:2: devices: unknown key")
        self.assertRegex(lines[1], "^hint: known keys are .*device, .*driver-root")
        self.assertNotIn("help", lines[1])

    def test_an_unknown_key_is_none_of_any_command(self):
        keys = ("all", "fail-on", "format", "host", "setenv", "staged-tree", "state-dir", "restricted")
        self.write(CONFIG, "fail-on: error\nhost: /nowhere\nsetenv: [A=b]\nnobodys: x\n")
        for command in (("plan", "--nv"), ("prepare", "--nv"), ("--nv", "--rootfs", self.root)):
            error, hint = self.refused(*command).splitlines()
            self.assertEqual(error, f"gpuctr-setup: {CONFIG}:4: nobodys: unknown key")
            known = hint.removeprefix("hint: known keys are ").split(", ")
            self.assertEqual([key for key in keys if key not in known], ["all"])
            self.assertEqual(known, sorted(known))

    def test_a_bad_value(self):
        self.write(CONFIG, "\nwrite: sometimes\n")
        self.assertRegex(self.refused(), f"^gpuctr-setup: {CONFIG}:2: write: 'sometimes' is none "
                                         "of auto, never, always\n")
        self.assertRegex(self.refused(GPUCTR_WRITE="often"), "^gpuctr-setup: GPUCTR_WRITE: 'often' ")
        self.gpus("--write", "auto", GPUCTR_WRITE="often")

    def test_what_is_no_yaml(self):
        self.write(CONFIG, "device: [0\n")
        self.assertTrue(self.refused().startswith(
            f"gpuctr-setup: {CONFIG}:2: "))

    def test_a_line_that_ends_for_some_readers(self):
        """What stands behind it is no comment to whoever wrote the policy."""
        for text, line, code in (("# site policy\rrestricted: true\nlayout: tree\n", 1, "000D"),
                                 ("layout: tree # a\rrestricted: true\n", 1, "000D"),
                                 ("# site policy\rrestricted: true", 1, "000D"),
                                 ("layout: tree\r\n# a\u0085restricted: true\r\n", 2, "0085"),
                                 ("# a\u2028restricted: true\n", 1, "2028"),
                                 ("# a\u2029restricted: true\n", 1, "2029"),
                                 ("layout: tree\n\4\nrestricted: true\n", 2, "0004"),
                                 ("\nstate-dir: /a\0b\n", 2, "0000")):
            self.write(CONFIG, text)
            for words in (("plan", "--nv"), ("--nv", "--rootfs", self.root), ("prepare", "--nv"),
                          ("prepare", "--undo"), ("list",), ("status", "--all"),
                          ("undo", "--all")):
                self.assertIn(f"gpuctr-setup: {CONFIG}:{line}: control character U+{code} (allowed: ",
                              self.refused(*words))
        self.write(CONFIG, "# site\r\ndevice:\t2\r\n")
        self.assertEqual(self.gpus(), [2])
        self.write(f"{CATALOGUES}/site.yaml", "# a\rvendor: nvidia\nfiles: []\n")
        self.assertIn(f"catalogue: {CATALOGUES}/site.yaml: line 1: control character U+000D",
                      self.refused())

    def test_a_file_that_is_not_to_be_trusted(self):
        self.write(CONFIG, "device: 0\n", mode=0o666)
        self.assertIn(f"{CONFIG}: everybody may write it\nhint: ", self.refused(status=6))
        os.chmod(CONFIG, 0o644)
        os.chown(CONFIG, 4711, 4711)
        self.assertIn(f"{CONFIG}: belongs to user 4711\nhint: ", self.refused(status=6))

    def test_a_file_behind_a_link_that_leads_nowhere_is_not_missing(self):
        os.symlink("/nowhere", CONFIG)
        self.assertIn(f"{CONFIG}: {CONFIG} leads nowhere\n", self.refused())
        shutil.rmtree("/etc/gpucontainer")
        os.symlink("/nowhere", "/etc/gpucontainer")
        self.assertIn(f"{CONFIG}: /etc/gpucontainer leads nowhere\n", self.refused())
        os.unlink("/etc/gpucontainer")
        self.gpus()
        os.makedirs(CATALOGUES)

    def test_a_list_for_one_value(self):
        for line in ("state-dir: [/a]", "state-dir: [/a, /b]", "lock: [true]", "write:\n  - auto",
                     "format: [json]", "restricted: [true]", "restricted-user: [gpu]"):
            self.write(CONFIG, line + "\n")
            key = line.partition(":")[0]
            self.assertIn(f"gpuctr-setup: {CONFIG}:1: {key}: a list, where one value is allowed\n",
                          self.refused())
        self.assertIn(":1: restricted-user: a list", self.refused("undo", "--all"))
        self.write(CONFIG, "state-dir: [/a]\n")
        self.assertIn(":1: state-dir: a list", self.refused("undo", "--all"))
        self.write(CONFIG, "write: [auto]\n")
        self.run_setup("undo", "--all", stderr=f"gpuctr-setup: warning: {CONFIG}:1: write: a list, "
                                               "where one value is allowed; it is ignored\n")

    def test_one_value_for_a_list(self):
        for line in ("device: 1,2", "device: [1, 2]", "device: ['1,2']", "allowed-devices: 1-2",
                     "driver-capabilities: compute\ndevice: [1, 2]",
                     "driver-capabilities: [compute, utility]\ndevice: 1-2"):
            self.write(CONFIG, line + "\n")
            self.assertEqual(self.gpus(), [1, 2])
        self.write(CONFIG, "setenv: A=b\nbind: /usr/share:/mnt\n")
        done = self.apply("--", "sh", "-c", "echo $A; ls /mnt", stdout=None)
        self.assertTrue(done.stdout.startswith("b\n"))
        self.assertIn("doc\n", done.stdout)

    def test_the_hosts_root_is_trusted_from_a_user_namespace(self):
        self.write(CONFIG, "device: 2\n")
        done = harness.call(*harness.ORDINARY_USER, "unshare", "-Ur", harness.SETUP, "plan", "--nv",
                            "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([gpu["index"] for gpu in json.loads(done.stdout)["drivers"][0]["gpus"]], [2])


class Origins(config_test.Config):
    """An error that comes from a value says where the value is from, not what nobody typed."""

    def check(self, key, value, problem, *words, command=(), status=2):
        words = words or ("plan", "--nv", "--rootfs", self.root)
        if command:
            words = ("--nv", "--rootfs", self.root, "--", *command)
        variable = "GPUCTR_" + key.upper().replace("-", "_")
        self.write(CONFIG, f"nv: true\n{key}: {value}\n")
        self.assertIn(f"gpuctr-setup: {CONFIG}:2: {key}: {problem}",
                      self.refused(*words, status=status))
        os.unlink(CONFIG)
        self.assertIn(f"gpuctr-setup: {variable}: {problem}",
                      self.refused(*words, status=status, **{variable: value}))

    def test_of_what_the_parser_refuses(self):
        for key, value, problem in (
                ("lock", "maybe", "'maybe' is neither true nor false\n"),
                ("layout", "trees", "'trees' is none of tree, merged\n"),
                ("vendor-libs", "all", "'all' is none of auto, host, none\n"),
                ("format", "xml", "'xml' is none of text, json, oci")):
            self.check(key, value, problem)
        self.check("fail-on", "all", "'all' is none of warning, error\n", "status", "--all")

    def test_of_what_the_library_refuses(self):
        self.check("driver-root", "/nowhere", "driver root /nowhere: No such file", status=4)
        self.check("dev-root", "/nowhere", "device root /nowhere: No such file", status=4)
        self.check("catalogue", "/nowhere.yaml", "/nowhere.yaml: No such file")
        self.check("driver-version", "x y", "driver version 'x y': not a version")
        self.check("driver-capabilities", "magic", "unknown driver capability 'magic'\n")
        self.check("vendor", "nobody", "options of the host: unknown vendor 'nobody'\n")
        self.check("device", "9", "9: no such GPU\n")
        self.check("device", "0-99", "0-99: ")
        self.check("tree-path", "rel", "tree path rel: ")
        self.check("mount-label", "x", "mount label ")
        for words in (("prepare", "--nv"), ("prepare", "--undo")):
            self.check("staged-tree", "rel", "'rel' is not an absolute path\n", *words)
            self.check("staged-tree", "/.", "'/.' is the whole host\n", *words)
        self.check("rootfs", "/nowhere", "root file system /nowhere: No such file", "undo",
                   status=5)
        self.check("host", "/nowhere", "host record /nowhere: No such file", "list")
        (DIRECTORY / "state").touch()
        for words in (("undo", "--all"), ("status", "--all")):
            self.check("state-dir", str(DIRECTORY / "state"), "journal directory", *words, status=8)

    def test_of_what_a_command_needs(self):
        for key, value, problem in (
                ("setenv", "A", "A: not NAME=VALUE\n"), ("bind", "x", "x: paths must be absolute\n"),
                ("bind", "/nowhere:/mnt", "/nowhere:/mnt: No such file or directory\n"),
                ("chdir", "/nowhere", "working directory /nowhere in ")):
            self.check(key, value, problem, command=["true"], status=None)

    def test_of_the_policy(self):
        self.write(CONFIG, "nv: true\nallowed-devices: 9\n")
        self.assertIn(f"gpuctr-setup: {CONFIG}:2: allowed-devices: allowed devices: device 9: no such GPU\n",
                      self.refused())
        self.write(CONFIG, "restricted-user: nobody-knows\n")
        self.assertIn(f"gpuctr-setup: {CONFIG}:1: restricted-user: nobody-knows: ",
                      self.refused("list", "--restricted", status=6))
        self.write(CONFIG, "\nrestricted: maybe\n")
        self.assertIn(f"{CONFIG}:2: restricted: 'maybe' is neither true nor false\n",
                      self.refused())

    def test_of_what_was_typed(self):
        self.write(CONFIG, "device: 0\nlayout: tree\ndriver-root: /elsewhere\n")
        self.assertTrue(self.refused("plan", "--nv", "--driver-root", "/nowhere", status=4)
                        .startswith("gpuctr-setup: driver root /nowhere: No such file"))
        self.write(CONFIG, "device: 0\n")
        self.assertTrue(self.refused("plan", "--nv", "--dev-root", "/nowhere", status=4)
                        .startswith("gpuctr-setup: device root /nowhere: No such file"))
        site = self.write(f"{CATALOGUES}/site.yaml", "x\n")
        for other in ("/other.yaml", CATALOGUES):
            self.write(CONFIG, f"catalogue: {other}\n")
            self.assertTrue(self.refused().startswith(f"gpuctr-setup: catalogue: {site}: "))

    def test_a_record_has_a_driver_of_its_own(self):
        """What a site says of this host's is not for it."""
        record = DIRECTORY / "record.json"
        record.write_text(self.run_setup("list", "--format", "json", stdout=None).stdout)
        expected = self.run_setup("list", "--host", record, stdout=None).stdout
        self.write(CONFIG, "driver-root: /nowhere\ndev-root: /nowhere\ncatalogue: /nowhere\n")
        for words, variables in ((("--host", record), {}), ((), {"GPUCTR_HOST": str(record)})):
            done = self.run_setup("list", *words, stdout=None, env=os.environ | variables)
            self.assertEqual(done.stdout, expected)
        of_this_host = ("driver-root", "driver-version", "dev-root", "catalogue", "mig-map")
        for key in of_this_host:
            for lines in ((f"{key}: /nowhere", f"host: {record}"),
                          (f"host: {record}", f"{key}: /nowhere")):
                self.write(CONFIG, "\n".join(lines) + "\n")
                self.assertEqual(self.run_setup("list", stdout=None).stdout, expected)
        both = {"GPUCTR_" + key.upper().replace("-", "_"): "/nowhere" for key in of_this_host}
        done = self.run_setup("list", stdout=None,
                              env=os.environ | both | {"GPUCTR_HOST": str(record)})
        self.assertEqual(done.stdout, expected)
        self.write(CONFIG, "host: /nowhere\n")
        for words, variables in ((("--driver-root", "/"), {}), ((), {"GPUCTR_DRIVER_ROOT": "/"})):
            self.run_setup("list", *words, stdout=None, env=os.environ | variables)
        self.assertIn("--driver-root and --host do not go together",
                      self.refused("list", "--host", record, "--driver-root", "/"))


class Tolerance(config_test.Config):
    """What takes away or looks goes on; what sets up does not."""

    LOOKS_OF_A_USER = (("status", "--all", "--state-dir", "/nowhere"), ("list",))
    SETTING_UP = (("plan", "--nv"), ("--nv", "--rootfs", "/nowhere"), ("prepare", "--nv"))

    def check(self, warning, status=2, prefix=()):
        """A file with a mistake, which the root file system was set up before."""
        tree = DIRECTORY / "staged"
        looks = [("status", "--rootfs", self.root), ("status", "--all"), ("list",),
                 ("undo", "--rootfs", self.root), ("undo", "--all"),
                 ("prepare", "--undo", "--staged-tree", tree)]
        for words in looks:
            for quiet in ([], ["-q"]):
                done = harness.call(*prefix, harness.SETUP, *words, *quiet)
                self.assertEqual(done.returncode, 0, (words, done.stderr))
                expected = "" if quiet else f"gpuctr-setup: warning: {warning}"
                self.assertRegex(done.stderr.splitlines(True)[0] if done.stderr else "",
                                 f"^{expected}")
                self.assertEqual(bool(done.stderr), not quiet, words)
        for words in self.SETTING_UP:
            self.refused(*words, status=status, prefix=prefix)

    def refuse_all(self, message, status=2, prefix=()):
        for words in (*self.SETTING_UP, ("status", "--all"), ("list",), ("undo", "--all"),
                      ("undo", "--rootfs", self.root), ("prepare", "--undo")):
            self.assertIn(message, self.refused(*words, status=status, prefix=prefix))

    def test_an_unknown_key(self):
        before = self.state()
        self.apply()
        self.write(CONFIG, "device: 0\nlayuot: merged\n")
        done = self.run_setup("undo", "--all", stderr=f"gpuctr-setup: warning: {CONFIG}:2: layuot: "
                                                      "unknown key; it is ignored\n")
        self.assertEqual(done.returncode, 0)
        self.assert_state(before)
        self.check(f"{CONFIG}:2: layuot: unknown key; it is ignored\n")

    def test_a_key_of_any_characters(self):
        for key in ("Foo", "foo_bar", "foo bar", "föö", "1", "No-Replace", "tree.path", "! key"):
            self.write(CONFIG, f'nv: true\n"{key}": x\n')
            self.check(f"{CONFIG}:2: {key}: unknown key: keys have the characters a-z and - alone; "
                       "it is ignored\n")

    def test_a_key_that_is_no_text(self):
        for key, problem in (("~", "an empty key"), ("''", "an empty key"),
                             ("[a, b]", "a list or a map in place of a key"),
                             ("{a: b}", "a list or a map in place of a key"),
                             ("? [a]\n", "a list or a map in place of a key")):
            self.write(CONFIG, f"nv: true\n{key}: x\n")
            self.check(f"{CONFIG}:2: {problem}; it is ignored\n")

    def test_a_key_without_a_value_that_can_be_read(self):
        for value, problem in (("", "no value"), ("''", "no value"), ("[]", "an empty list"),
                               ("{a: b}", "neither a value"), ("[[0]]", "a list in a list"),
                               ("[0, {a: b}]", "neither a value"), ("0\ndevice: 1", "repeated")):
            self.write(CONFIG, f"device: {value}\n")
            self.check(fr"{CONFIG}:\d: device: {problem}.*; it is ignored\n")

    def test_what_the_command_itself_needs(self):
        """With half of the file it would look elsewhere, or print something else."""
        here = self.write(CONFIG, "state-dir: {a: b}\nformat: xml\nrootfs: []\n")
        for words in (("undo", "--all"), ("undo", "--rootfs", self.root), ("status", "--all")):
            self.assertIn(f"{here}:1: state-dir: neither", self.refused(*words))
            for told in (("--state-dir", harness.STATE), ()):
                variables = {} if told else {"GPUCTR_STATE_DIR": str(harness.STATE)}
                done = harness.setup(*words, *told, env=os.environ | variables)
                self.assertEqual(done.returncode, 2 if words[0] == "status" else 0, done.stderr)
                self.assertIn(f"warning: {here}:1: state-dir: neither", done.stderr)
                self.assertIn(f"warning: {here}:3: rootfs: an empty list", done.stderr)
        self.assertIn(f"{here}:3: rootfs: an empty list",
                      self.refused("undo", "--state-dir", harness.STATE))
        for words in (("status", "--all", "--state-dir", harness.STATE), ("list",)):
            self.assertIn(f"{here}:2: format: 'xml' is none of text, json\n", self.refused(*words))
            self.run_setup(*words, "--format", "text", stdout=None, stderr=None)
        for line in ("nv: maybe", "driver-root: []", "nv: true\nnv: true"):
            self.write(CONFIG, line + "\n")
            self.assertIn(f"{CONFIG}:", self.refused("list"))
            self.run_setup("undo", "--all", stdout=None, stderr=None)
            self.run_setup("prepare", "--undo", stdout=None, stderr=None)
        for line in ("staged-tree:", "Staged_Tree: /x", "staged-tree: /a\nstaged-tree: /b"):
            self.write(CONFIG, line + "\n")
            self.assertIn(f"{CONFIG}:", self.refused("prepare", "--undo"))
            self.run_setup("prepare", "--undo", "--staged-tree", DIRECTORY / "staged", stderr=None)

    def test_a_bad_value(self):
        """Of what the command has no use for."""
        self.write(CONFIG, "write: sometimes\nlock: maybe\nformat: xml\n")
        for words in (("undo", "--all"), ("prepare", "--undo")):
            self.run_setup(*words, stdout=None, stderr=None)
        self.refused("plan", "--nv")
        self.refused("status", "--all")
        self.run_setup("status", "--all", stderr=None, env=os.environ | {"GPUCTR_FORMAT": "text"})

    def test_a_file_that_cannot_be_read(self):
        """It may be meant to restrict calls, which only those with privileges can be, or to say
        where to look."""
        for text, mode, status, problem in (
                ("device: [\n", 0o644, 2, f"{CONFIG}:2: .*"),
                ("device: 0\n", 0o666, 6, f"configuration: {CONFIG}: everybody .*"),
                ("#" * (256 * 1024 + 1), 0o644, 2, f"configuration: {CONFIG}: .*"),
                ("device: 0\n", 0o600, None, f"configuration: {CONFIG}: Per.*")):
            self.write(CONFIG, text, mode)
            if status:
                self.refuse_all(f"{CONFIG}:", status)
            for words in self.LOOKS_OF_A_USER:
                done = harness.call(*harness.ORDINARY_USER, harness.SETUP, *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stderr, f"{problem}; the file is ignored\n")
            for words in (("plan", "--nv"), ("status", "--all"), ("undo", "--all"),
                          ("prepare", "--undo")):
                self.refused(*words, status=status or 6, prefix=harness.ORDINARY_USER)
        os.unlink(CONFIG)
        os.symlink("/nowhere", CONFIG)
        self.refuse_all(f"configuration: {CONFIG}: {CONFIG} leads nowhere\n")

    def test_a_key_that_may_be_meant_for_the_policy(self):
        for prefix in ((), harness.ORDINARY_USER):
            for key in ("restriced", "restrict", "restricted-users", "restricted-roots",
                        "allowed-device", "Restricted", "ALLOWED_DEVICES", "allowed devices",
                        "réstricted", "restrictions"):
                self.write(CONFIG, f"device: 0\n{key}: x\n")
                self.refuse_all(f"{CONFIG}:2: {key}: unknown key, which may be meant for ",
                                prefix=prefix)
            for text in ("policy: {restricted: true}", "[restricted]: true", "restricted: []",
                         "restricted: true\nrestricted: true", "allowed-devices: {0: 1}"):
                self.write(CONFIG, f"device: 0\n{text}\n")
                self.refuse_all(f"{CONFIG}:", prefix=prefix)

    def test_a_restricted_call_fails_closed(self):
        for text in ("layuot: merged\n", "format: xml\n", "Föö: 1\n"):
            self.write(CONFIG, f"restricted-user: nobody\n{text}")
            self.refused("list", "--restricted")
            self.write(CONFIG, f"restricted: true\nrestricted-user: nobody\n{text}")
            self.refused("list")

    def test_a_key_that_may_be_meant_for_where_to_look(self):
        """With the usual place, nothing would be found, as if nothing were there."""
        for key in ("stat-dir", "State-Dir", "STATE_DIR", "state dir", "statedir"):
            self.write(CONFIG, f"{key}: /var/lib/elsewhere\nstaged-tre: /run/elsewhere\n")
            for words in (("status", "--all"), ("undo", "--all"), ("undo", "--rootfs", self.root)):
                self.assertIn(f":1: {key}: unknown key", self.refused(*words))
                for told in (("--state-dir", harness.STATE), ()):
                    variables = {} if told else {"GPUCTR_STATE_DIR": str(harness.STATE)}
                    done = self.run_setup(*words, *told, stderr=None, env=os.environ | variables)
                    self.assertRegex(done.stderr, f":1: {key}: unknown key.*; it is ignored\n")
        self.assertIn(":2: staged-tre: unknown key\n", self.refused("prepare", "--undo"))
        self.run_setup("list", stdout=None, stderr=None)


if __name__ == "__main__":
    unittest.main()
