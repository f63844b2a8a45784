# SPDX-License-Identifier: MIT
"""The device cgroup of a container that nvidia-container-cli sets up."""

import contextlib
import json
import os
import pathlib
import subprocess
import unittest

import cgroups
import front_test
import harness

WITHOUT = r" \(with --no-cgroups, the device cgroup is left to the container's runtime\)\n$"
RULES = [{"allow": False, "access": "rwm"},
         {"allow": True, "type": "c", "major": 10, "minor": 229, "access": "rwm"}]


def setUpModule():
    front_test.setUpModule()


def tearDownModule():
    front_test.tearDownModule()


class Case(front_test.Case):
    WORDS = ("configure", "--device=1", "--utility", "--ldconfig=@/sbin/ldconfig")

    def setUp(self):
        super().setUp()
        self.bundle = harness.DIRECTORY / "bundle"
        self.bundle.mkdir()
        self.addCleanup(harness.call, "rm", "-rf", self.bundle)

    def write(self, root, rules=RULES, bundle=None):
        config = (bundle or self.bundle) / "config.json"
        config.write_text(
            json.dumps({"root": {"path": str(root)}, "linux": {"resources": {"devices": rules}}}),
            encoding="utf-8")
        return config

    @contextlib.contextmanager
    def container(self, group, *prefix):
        """A container's process in a group, which runs what it is told."""
        process = subprocess.Popen([*prefix, *front_test.NAMESPACES, str(self.root), "sh", "-c",
                                    'echo; read line; exec sh -c "$line"'],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        with process:
            process.stdout.readline()
            group.add(process.pid)
            try:
                yield process
            finally:
                process.stdin.close()

    def set_up(self, process, **options):
        self.front(*self.WORDS, f"--pid={process.pid}", self.root, cwd=self.bundle, **options)

    def refused(self, process, phase, message, cwd=None):
        done = harness.call(front_test.FRONT, *self.WORDS, f"--pid={process.pid}", self.root,
                            cwd=cwd or self.bundle)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, f"^nvidia-container-cli: {phase} error: {message}{WITHOUT}")

    @staticmethod
    def answers(process, *paths):
        """What the kernel says to opening each of them: nothing of "Operation not permitted"."""
        script = ";".join(f"(: <{path}) 2>/dev/null && echo open || "
                          f"(: <{path}) 2>&1 | grep -c permitted" for path in paths)
        out, _ = process.communicate(script + "\n", timeout=harness.TIMEOUT)
        return out.split()


class Version1(Case):
    def setUp(self):
        super().setUp()
        self.group = cgroups.Group(self, 1)
        self.group.write("devices.deny", "a")

    def test_rules_are_added(self):
        with self.container(self.group) as process:
            self.set_up(process)
            self.assertEqual(self.group.rules(), ["c 195:1 rw", "c 195:255 rw"])
            self.set_up(process)
            self.assertEqual(self.group.rules(), ["c 195:1 rw", "c 195:255 rw"])

    def test_not_with_the_option(self):
        with self.container(self.group) as process:
            self.front(*self.WORDS, "--no-cgroups", f"--pid={process.pid}", self.root)
            self.assertEqual(self.group.rules(), [])

    def test_not_in_a_user_namespace(self):
        harness.must("chown", "-R", "100000:100000", self.root)
        owner = subprocess.Popen(["unshare", "--user", "sh", "-c", "echo; read line"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with owner:
            owner.stdout.readline()
            for name in ("uid_map", "gid_map"):
                pathlib.Path(f"/proc/{owner.pid}/{name}").write_text("0 100000 65536",
                                                                     encoding="ascii")
            with self.container(self.group, "nsenter", "--user", "--target", str(owner.pid),
                                "--setuid", "0", "--setgid", "0") as process:
                self.refused(process, "permission", ".*")
                self.assertEqual(self.group.rules(), [])
            owner.stdin.close()

    def test_not_if_a_group_above_forbids_it(self):
        below = cgroups.Group(self, 1, above=self.group)
        with self.container(below) as process:
            self.refused(process, "permission", ".*")


class Version2(Case):
    NODES = ("/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia2", "/dev/null", "/dev/full")

    def setUp(self):
        super().setUp()
        self.group = cgroups.Group(self, 2)

    def test_the_program_is_replaced_by_one_with_all_rules(self):
        self.group.forbid(195)
        self.write(self.root)
        with self.container(self.group) as process:
            self.set_up(process)
            self.set_up(process)
            # Without hardware behind it, an allowed GPU is none that can be opened either.
            self.assertEqual(self.answers(process, *self.NODES), ["0", "0", "1", "open", "open"])

    def test_what_the_bundle_forbids_stays_forbidden(self):
        self.group.forbid(195)
        self.write(self.root, [*RULES, {"allow": True, "type": "c", "major": 195, "access": "rw"},
                               {"allow": False, "type": "c", "major": 195, "minor": 2}])
        with self.container(self.group) as process:
            self.set_up(process)
            self.assertEqual(self.answers(process, "/dev/nvidia3", "/dev/nvidia2"), ["0", "1"])

    def test_a_bundle_around_the_root_directory(self):
        self.group.forbid(195)
        self.write(self.root)
        config = self.root.parent / "config.json"
        (self.bundle / "config.json").rename(config)
        self.addCleanup(config.unlink)
        with self.container(self.group) as process:
            self.set_up(process)
            self.assertEqual(self.answers(process, *self.NODES[:3]), ["0", "0", "1"])

    def test_without_a_bundle_of_this_container_it_is_an_error(self):
        self.group.forbid(195)
        with self.container(self.group) as process:
            self.refused(process, "container", "cgroup .*: its rules for devices are not known")
            for text in ("{}", "no", json.dumps({"root": {"path": "/"}}),
                         json.dumps({"root": {"path": str(self.root)},
                                     "linux": {"resources": {"devices": 1}}})):
                (self.bundle / "config.json").write_text(text, encoding="utf-8")
                self.refused(process, "container", "cgroup .*: its rules for devices are not known")
            self.assertEqual(self.answers(process, *self.NODES[:3]), ["1", "1", "1"])

    def test_a_configuration_among_the_containers_own_files_gives_it_nothing(self):
        self.group.forbid(195)
        everything = [{"allow": True, "access": "rwm"}]
        elsewhere = harness.DIRECTORY / "volume"
        elsewhere.mkdir()
        self.addCleanup(harness.call, "rm", "-rf", elsewhere)
        self.addCleanup(harness.call, "umount", "-l", elsewhere)
        harness.must("mount", "--bind", self.root / "srv", elsewhere)
        with self.container(self.group) as process:
            for place, root in ((self.root, "."), (self.root / "etc", ".."),
                                (self.root / "srv", self.root), (elsewhere, self.root)):
                self.write(root, everything, place)
                self.refused(process, "container", "cgroup .*: its rules for devices are not known",
                             place)
            self.assertEqual(self.answers(process, *self.NODES[:3]), ["1", "1", "1"])

    def test_a_configuration_that_others_can_write_is_an_error(self):
        self.group.forbid(195)
        config = self.write(self.root)
        with self.container(self.group) as process:
            config.chmod(0o666)
            self.refused(process, "permission", f"{config}: everybody may write it")
            config.chmod(0o644)
            os.chown(config, 65534, 65534)
            self.refused(process, "permission", f"{config}: belongs to user 65534")
            os.chown(config, 0, 0)
            self.bundle.chmod(0o777)
            self.refused(process, "permission", f"{self.bundle}: everybody may write it")
            self.assertEqual(self.answers(process, *self.NODES[:3]), ["1", "1", "1"])

    def test_a_program_that_allows_no_other_is_an_error(self):
        self.group.forbid(195, flags=0)
        self.write(self.root)
        with self.container(self.group) as process:
            self.refused(process, "container", "the device rules of cgroup .* cannot be replaced: "
                                               "their owner attached its program for itself alone")

    def test_each_program_that_forbids_is_replaced(self):
        for major in (195, 10, 195):
            self.group.forbid(major)
        self.write(self.root, RULES[:1])
        with self.container(self.group) as process:
            self.set_up(process)
            self.assertEqual(self.answers(process, *self.NODES[:3], "/dev/fuse"),
                             ["0", "0", "1", "1"])

    def levels(self, kind=".scope"):
        """As crun makes them under systemd: a scope, and a group of its own in it."""
        self.group = cgroups.Group(self, 2, kind=kind)
        return cgroups.Group(self, 2, above=self.group)

    def test_systemds_scope_around_the_containers_group(self):
        below = self.levels()
        self.group.forbid(195)
        below.forbid(195)
        self.write(self.root)
        with self.container(below) as process:
            self.set_up(process)
            self.set_up(process)
            self.assertEqual(self.answers(process, *self.NODES), ["0", "0", "1", "open", "open"])

    def test_a_scope_that_forbids_it_alone(self):
        below = self.levels()
        self.group.forbid(195)
        self.write(self.root)
        with self.container(below) as process:
            self.set_up(process)
            self.assertEqual(self.answers(process, *self.NODES[:3]), ["0", "0", "1"])

    def refused_above(self, below):
        self.group.forbid(195, 1)
        below.forbid(195)
        self.write(self.root)
        with self.container(below) as process:
            self.refused(process, "permission",
                         f"cgroup {self.group.path}: program .* forbids the device, and the group "
                         "is not the container's alone")
            self.assertEqual(self.answers(process, *self.NODES[:3]), ["1", "1", "1"])

    def test_not_if_a_scope_that_holds_others_too_forbids_it(self):
        below = self.levels()
        cgroups.Group(self, 2, above=self.group)
        self.refused_above(below)

    def test_not_if_a_slice_forbids_it_even_if_it_holds_one_group(self):
        self.refused_above(self.levels(".slice"))

    def test_not_if_a_group_above_the_scope_forbids_it(self):
        above = self.group
        self.group = cgroups.Group(self, 2, above=above, kind=".scope")
        below = cgroups.Group(self, 2, above=self.group)
        self.group.forbid(195)
        self.group = above
        self.refused_above(below)

    def test_a_program_that_is_attached_by_a_link_stays_and_so_does_all(self):
        below = self.levels()
        link = self.group.forbid_by_link(195)
        below.forbid(195)
        self.write(self.root)
        with self.container(below) as process:
            self.refused(process, "container",
                         f"the device rules of cgroup {self.group.path} cannot be replaced: "
                         "program .* is attached by a link, which its owner alone can change")
            os.close(link)
            self.assertEqual(self.answers(process, *self.NODES[:3]), ["1", "1", "1"])

    def test_a_program_of_which_it_cannot_be_told_stays(self):
        self.group.forbid(195, asks_the_kernel=True)
        self.write(self.root)
        with self.container(self.group) as process:
            self.refused(process, "permission",
                         f"program .* of cgroup {self.group.path}: what it forbids cannot be told: "
                         ".*forbidden by the container's device cgroup.*")
            self.assertEqual(self.answers(process, *self.NODES[:3]), ["1", "1", "1"])

    def test_a_program_of_which_it_cannot_be_told_may_allow_it(self):
        self.group.forbid(10, asks_the_kernel=True)
        self.group.forbid(195)
        self.write(self.root)
        with self.container(self.group) as process:
            self.set_up(process)
            self.assertEqual(self.answers(process, *self.NODES[:3], "/dev/fuse"),
                             ["0", "0", "1", "1"])

    def test_more_rules_than_the_kernel_can_check_are_an_error(self):
        self.group.forbid(195)
        self.write(self.root, [{"allow": True, "type": "c", "minor": number, "access": access}
                               for number in range(800)
                               for access in ("r", "w", "m", "rw", "rm")])
        with self.container(self.group) as process:
            self.refused(process, "container", "the device rules of cgroup .* cannot be replaced: "
                                               "they are [0-9]+ rules, too many for this kernel")

    def test_a_group_without_a_program_is_left_alone(self):
        with self.container(self.group) as process:
            self.set_up(process)
            self.assertEqual(self.answers(process, *self.NODES[:3]), ["0", "0", "0"])


if __name__ == "__main__":
    unittest.main()
