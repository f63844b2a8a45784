# SPDX-License-Identifier: MIT
"""--dry-run of apply and undo: what would be done is told, and nothing is changed."""

import json
import os
import subprocess
import unittest

import harness
import jsonschema
import mount_table
import snapshot
from harness import TREE
from schema_test import schema


class DryRun(harness.Case):
    def everything(self):
        """The root, the mounts of this namespace, and what the host keeps."""
        kept = {path: snapshot.take(path) for path in ("/var/lib", "/run") if os.path.isdir(path)}
        return self.state(), kept

    def shown(self, *words, status=0, **options):
        """Both forms. Neither changes anything."""
        before = self.everything()
        options = {"stderr": ""} | options
        text = self.run_setup(*words, "--dry-run", status=status, stdout=None, **options).stdout
        done = self.run_setup(*words, "--dry-run", "--json", status=status, stdout=None, **options)
        self.assert_state(before[0])
        self.assertEqual(self.everything()[1], before[1])
        document = json.loads(done.stdout)
        jsonschema.validate(document, schema("dry-run"))
        if document["plan"]:
            jsonschema.validate(document["plan"], schema("plan"))
        return text, document

    def refused(self, *words, status):
        before = self.everything()
        done = self.run_setup(*words, "--dry-run", status=status, stderr=None)
        self.assertEqual(self.everything(), before)
        return done.stderr

    @staticmethod
    def mounted(items, kinds=("mount", "device", "cover", "ldcache")):
        """Kinds and targets outside of the tree."""
        return {(item["kind"], item["target"]) for item in items
                if item["kind"] in kinds and not item["target"].startswith(f"{TREE}/")}

    def taken_away(self, mounts, files):
        """What undo does take away: targets of mounts, and names, of a set-up of this root."""
        now = snapshot.take(self.root)
        # The image's own loader cache, which gets its name back.
        kept = "/etc/.gpuctr-kept-"
        names = {name for name in files if name not in now and not name.startswith(kept)}
        gone = [mount.target for mount in mounts if mount not in mount_table.read()]
        return names, gone


class Apply(DryRun):
    WORDS = ("--nv", "--device", "0")

    def test_shows_the_plan(self):
        for more in ([], ["-v"], ["--write", "never"], ["--layout", "merged"],
                     ["--vendor-libs", "none"]):
            words = (*self.WORDS, "--rootfs", self.root, *more)
            text, document = self.shown(*words)
            self.run_setup("plan", *words, stdout=text)
            self.assertEqual(document["plan"],
                             json.loads(self.run_setup("plan", *words, "--json", stdout=None).stdout))
            self.assertEqual((document["command"], document["outcome"], document["setups"]),
                             ("apply", "applied", []))
        self.assertFalse(harness.STATE.exists())

    def test_of_what_is_there_already(self):
        self.apply("--device", "0")
        text, document = self.shown(*self.WORDS, "--rootfs", self.root)
        self.assertEqual(text, f"{self.root}: set up already\n")
        self.assertEqual((document["outcome"], document["setups"]), ("unchanged", []))
        self.undo()

    def test_of_what_replaces_another_one(self):
        self.apply("--device", "1")
        text, document = self.shown(*self.WORDS, "--rootfs", self.root)
        self.assertEqual(document["outcome"], "replaced")
        [older] = document["setups"]
        self.assertEqual((older["root"], older["outcome"]), (str(self.root), "undone"))
        self.assertIn("/dev/nvidia1", [item["target"] for item in older["items"]])
        self.assertNotIn("/dev/nvidia1", [item["target"] for item in document["plan"]["items"]])
        self.assertTrue(text.startswith(f"{self.root}: an older set-up goes first\nKIND "), text)
        self.assertEqual(text.count("KIND "), 2)
        self.apply_over("--device", "0")
        self.undo()

    def test_refuses_what_apply_refuses(self):
        for words, status in ((("--rocm", "--rootfs", self.root), 3),
                              (("--nv", "--rootfs", "/nowhere"), 5),
                              (("--nv", "--rootfs", "/"), 5),
                              (("--nv", "--rootfs", self.root, "--device", "9"), 2),
                              (("--nv", "--rootfs", self.root, "--state-dir", self.root), 2)):
            said = self.refused(*words, status=status)
            self.assertEqual(self.run_setup(*words, status=status, stderr=None).stderr, said)
        self.apply("--device", "1")
        words = ("--nv", "--rootfs", self.root, "--device", "0", "--no-replace")
        self.assertIn("another set-up is there", self.refused(*words, status=10))
        words = ("--nv", "--rootfs", self.root, "--device", "1", "--no-journal")
        self.assertIn("another set-up is there", self.refused(*words, status=10))
        self.undo()

    def refused_alike(self, *words, status):
        """By the call itself in the same words."""
        said = self.refused(*words, status=status)
        self.assertEqual(self.run_setup(*words, status=status, stderr=None).stderr, said)

    def test_refuses_what_apply_cannot_do(self):
        words = ("--nv", "--rootfs", self.root)
        self.refused_alike(*words, "--mount-label", "a:b:c", status=7)
        self.refused_alike(*words, "--mount-label", "a:b:c", "--no-journal", status=7)
        if harness.IS_LEGACY or not harness.CHOOSES_BACKEND:
            self.refused_alike(*words, "--lock", "--backend", "legacy", status=7)
        for path in ("/sys/module/nvidia", "/proc/driver/nvidia"):
            harness.must("mount", "-t", "tmpfs", "test", path)
            self.addCleanup(harness.must, "umount", path)
        self.refused_alike(*words, status=3)
        self.refused_alike(*words, "--no-journal", status=3)

    def test_refuses_an_image_that_has_no_room(self):
        (self.root / "dev/nvidia0").mkdir(parents=True)
        self.refused_alike(*self.WORDS, "--rootfs", self.root, status=5)

    def test_refuses_a_state_directory_that_apply_refuses(self):
        everybodys = harness.DIRECTORY / "everybodys"
        everybodys.mkdir()
        everybodys.chmod(0o777)
        read_only = harness.DIRECTORY / "read-only"
        (read_only / "there").mkdir(parents=True)
        harness.must("mount", "--bind", "-o", "ro", read_only, read_only)
        self.addCleanup(harness.must, "umount", read_only)
        for directory in (everybodys / "state", "/proc/state", read_only / "state",
                          read_only / "there"):
            self.refused_alike(*self.WORDS, "--rootfs", self.root, "--state-dir", directory,
                               status=6)
        self.assertEqual(list(everybodys.iterdir()), [])

    def test_needs_the_privileges_of_apply(self):
        words = [*harness.ORDINARY_USER, harness.SETUP, *self.WORDS, "--rootfs", self.root]
        done, real = harness.call(*words, "--dry-run"), harness.call(*words)
        self.assertEqual((done.returncode, done.stderr), (6, real.stderr))
        self.assertEqual(real.returncode, 6)

    def test_without_a_journal(self):
        with self.nothing_changes():
            words = ("--nv", "--rootfs", self.root, "--no-journal")
            text = self.run_setup(*words, "--dry-run", stdout=None).stdout
            self.assertIn("/dev/nvidia0", text)

    def test_runs_no_command(self):
        text, document = self.shown(*self.WORDS, "--rootfs", self.root, "--write", "auto") # as apply
        with self.nothing_changes():
            done = self.run_setup(*self.WORDS, "--rootfs", self.root, "--dry-run", "--", "touch",
                                  "/ran", stdout=None)
        plan = self.run_setup("plan", *self.WORDS, "--rootfs", self.root, "--write", "never",
                              stdout=None).stdout
        self.assertEqual(done.stdout, plan.partition("\nnote: ")[0])
        self.assertNotEqual(text, done.stdout)
        self.assertFalse(document["plan"]["items"] == [])

    def test_finds_mistakes_in_the_options_of_a_command(self):
        words = (*self.WORDS, "--rootfs", self.root)
        for options in (["--setenv", "x"], ["--bind", "etc"], ["--bind", "/etc:/etc:rx"]):
            said = {self.run_setup(*words, *options, *more, "--", "true", status=2,
                                   stderr=None).stderr for more in ([], ["--dry-run"])}
            self.assertEqual(len(said), 1, said)

    def test_of_a_command_needs_the_kernel_module(self):
        for path in ("/sys/module/nvidia", "/proc/driver/nvidia"):
            harness.must("mount", "-t", "tmpfs", "test", path)
            self.addCleanup(harness.must, "umount", path)
        said = {self.run_setup(*self.WORDS, "--rootfs", self.root, *more, "--", "true",
                               status=125, stderr=None).stderr for more in ([], ["--dry-run"])}
        self.assertEqual(len(said), 1, said)

    def test_writes_no_names_where_another_namespace_has_a_set_up(self):
        with subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                               '"$@" && echo && read line', "sh", harness.SETUP, "--nv",
                               "--rootfs", self.root], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as other:
            self.assertEqual(other.stdout.readline(), b"\n")
            words = (*self.WORDS, "--rootfs", self.root)
            _, document = self.shown(*words)
            self.assertEqual((document["outcome"], document["plan"]["writes_root"]),
                             ("applied", False))
            self.run_setup(*words)
            [found] = self.shown("undo", "--rootfs", self.root)[1]["setups"]
            kinds = ("mount", "device", "cover")  # the loader cache comes with an overlay
            self.assertEqual(self.mounted(found["items"], kinds),
                             self.mounted(document["plan"]["items"], kinds))
            self.undo()
        self.run_setup("undo", "--all")

    def test_of_no_gpu(self):
        self.run_setup("--rocm", "--if-present", "--rootfs", self.root, "--dry-run", stderr=None)

    def test_is_typed(self):
        before = self.state()
        self.apply(env=os.environ | {"GPUCTR_DRY_RUN": "true"})
        self.assertEqual(len(harness.journals()), 1)
        self.undo(env=os.environ | {"GPUCTR_DRY_RUN": "true"})
        self.assert_state(before)


class Undo(DryRun):
    def test_shows_what_goes(self):
        for options in ([], ["--write", "never"], ["--layout", "merged"]):
            with self.subTest(options=options):
                before = self.state()
                self.apply("--device", "0", *options)
                files, mounts = self.state()
                text, document = self.shown("undo", "--rootfs", self.root)
                [found] = document["setups"]
                self.assertEqual((document["command"], document["outcome"], document["plan"]),
                                 ("undo", "undone", None))
                self.undo()
                self.assert_state(before)
                names, gone = self.taken_away(mounts, files)
                shown = {item["target"] for item in found["items"]}
                mounted = {item["target"] for item in found["items"]
                           if item["kind"] in ("mount", "bind", "device", "cover")}
                below = tuple(f"{target}/" for target in mounted)
                self.assertEqual({name for name in names if not name.startswith(below)} - shown,
                                 set())
                inside = {target[len(str(self.root)):] for target in gone} - {""}
                self.assertLessEqual({name for name in inside if not name.startswith(below)},
                                     mounted)
                self.assertLessEqual(mounted, inside)
                for target in shown:
                    self.assertIn(target, text)
                self.assertTrue(text.startswith(f"{self.root}:\nKIND "), text)

    def test_tells_what_a_mount_is(self):
        """As the plan does."""
        for options in ([], ["--write", "never"]):
            with self.subTest(options=options):
                _, plan = self.shown("--nv", "--rootfs", self.root, *options)
                self.apply(*options)
                [found] = self.shown("undo", "--rootfs", self.root)[1]["setups"]
                self.assertEqual(self.mounted(found["items"]), self.mounted(plan["plan"]["items"]))
                self.undo()

    def test_leaves_out_what_undo_leaves(self):
        self.apply("--device", "0")
        link = self.root / "usr/bin/nvidia-smi"
        link.unlink()
        link.write_text("of somebody else\n")
        harness.must("mount", "--bind", "/dev/null", self.root / "dev/nvidia0")
        said = "".join(f"gpuctr-setup: warning: {self.root}: {path}: not as it was left; only what is "
                       "ours in it would go\n" for path in ("/usr/bin/nvidia-smi", "/dev/nvidia0"))
        for words in (["--rootfs", self.root], ["--all"]):
            text, document = self.shown("undo", *words, stderr=said)
            [found] = document["setups"]
            targets = {item["target"] for item in found["items"]}
            self.assertFalse(targets & {"/usr/bin/nvidia-smi", "/dev/nvidia0"})
            self.assertIn("/dev/nvidiactl", targets)
            self.assertNotIn("nvidia-smi", text)
        harness.must("umount", self.root / "dev/nvidia0")
        self.undo()
        self.assertEqual(link.read_text(), "of somebody else\n")

    def test_refuses_a_state_directory_that_may_not_be_written(self):
        self.apply("--device", "0")
        harness.must("mount", "--bind", "-o", "ro", harness.STATE, harness.STATE)
        for words in (["--rootfs", self.root], ["--all"]):
            said = self.refused("undo", *words, status=6)
            self.assertEqual(self.run_setup("undo", *words, status=6, stderr=None).stderr, said)
        harness.must("umount", harness.STATE)
        self.undo()

    def test_of_every_root(self):
        other = harness.new_root()
        self.addCleanup(harness.must, "rm", "-rf", "--one-file-system", other)
        for root in (self.root, other):
            self.run_setup("--nv", "--rootfs", root)
        text, document = self.shown("undo", "--all")
        self.assertEqual({(found["root"], found["outcome"]) for found in document["setups"]},
                         {(str(self.root), "undone"), (str(other), "undone")})
        for root in (self.root, other):
            self.assertIn(f"{root}:\nKIND ", text)
        self.run_setup("undo", "--all")
        self.assertEqual(harness.journals(), [])

    def test_of_nothing(self):
        said = f"gpuctr-setup: nothing is set up in {self.root}\n"
        text, document = self.shown("undo", "--rootfs", self.root, stderr=said)
        self.assertEqual((text, document["outcome"], document["setups"]), ("", "unchanged", []))
        self.shown("undo", "--all")
        self.assertFalse(harness.STATE.exists())

    def test_of_a_root_that_is_gone(self):
        other = harness.new_root()
        harness.must("unshare", "--mount", harness.SETUP, "--nv", "--rootfs", other)
        harness.must("rm", "-rf", "--one-file-system", other)
        text, document = self.shown("undo", "--all")
        self.assertEqual([found["outcome"] for found in document["setups"]], ["forgotten"])
        self.assertEqual(text, f"{other}: is gone, and would be forgotten\n")
        self.assertEqual(len(harness.journals()), 1)
        self.run_setup("undo", "--all")

    def test_of_an_earlier_boot_has_no_mounts(self):
        self.apply("--device", "0")
        with harness.new_boot():
            _, document = self.shown("undo", "--rootfs", self.root)
        [found] = document["setups"]
        self.assertEqual(found["origin"], "earlier_boot")
        self.assertEqual({item["kind"] for item in found["items"]} & {"mount", "bind", "device"},
                         set())
        self.assertIn(TREE, [item["target"] for item in found["items"]])
        self.undo()

    def test_refuses_what_undo_refuses(self):
        self.apply("--device", "0")
        harness.must("mount", "-t", "tmpfs", "test", self.root)
        said = self.refused("undo", "--rootfs", self.root, status=8)
        self.assertEqual(self.undo(status=8, stderr=None).stderr, said)
        self.assertEqual(len(self.refused("undo", "--all", status=8).splitlines()), 2)
        harness.must("umount", self.root)
        self.undo()


if __name__ == "__main__":
    unittest.main()
