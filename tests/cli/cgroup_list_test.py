# SPDX-License-Identifier: MIT
"""gpuctr-setup where a device cgroup of version 1 has a list, which it adds to."""

import errno
import json
import os
import subprocess
import unittest

import cgroup_test
import cgroups
import faults
import harness

RULES = ["c 195:255 rw", "c 195:3 rw", "c 238:0 rw", "c 238:1 rw"]
PLAIN = ["c 1:3 rwm", "c 1:5 rwm", "c 5:* rwm"]


class ListCase(cgroup_test.Case):
    version = 1

    def setUp(self):
        super().setUp()
        self.allow_only(self.group, *PLAIN)

    @staticmethod
    def allow_only(group, *rules):
        group.write("devices.deny", "a")
        for rule in rules:
            group.write("devices.allow", rule)

    def nest(self, *rules):
        """Has the container in a group below the one that it was in, which allows these."""
        above = self.group
        self.allow_only(above, *rules)
        self.group = cgroups.Group(self, 1, above=above)
        self.allow_only(self.group, *PLAIN)
        self.group.add(self.pid)
        return above


    def check_all_is_allowed(self):
        """The list does not show exceptions."""
        self.assertEqual(self.open_in_group("null"), "")
        harness.must("mknod", self.root / "tmp/node", "c", cgroup_test.GPU, 3)
        self.assertEqual(self.group.rules(), ["a *:* rwm"])
        done = harness.call("sh", "-c", f"echo $$ >{self.group.directory}/cgroup.procs; "
                                        f"exec 3<>{self.root}/tmp/node")
        self.assertIn("No such device or address", done.stderr)


class List(ListCase):
    """Version 1, where a list decides."""

    def test_what_is_missing_is_added_and_taken_back(self):
        self.assertEqual(self.open_in_group("null"), "")
        self.set_up()
        self.assertEqual(self.group.rules(), sorted([*PLAIN, *RULES]))
        self.assertEqual(self.open_in_group("nvidia3"), "No such device or address")
        self.assertEqual(self.problems(), [])
        self.on_process("-v", "--nv", "--device", "3",
                        stderr=f"gpuctr-setup: process {self.pid}: set up already\n")
        self.on_process("undo")
        self.assertEqual(self.group.rules(), PLAIN)

    def test_another_gpu_takes_the_place_of_the_first(self):
        self.set_up()
        self.on_process("--nv", "--device", "4", stderr=None)
        self.assertEqual(self.group.rules(),
                         sorted([*PLAIN, *(rule.replace(":3 ", ":4 ") for rule in RULES)]))
        self.on_process("undo")
        self.assertEqual(self.group.rules(), PLAIN)

    def test_a_group_above_that_forbids_the_other_gpu_leaves_the_first(self):
        self.nest(*PLAIN, *RULES)
        self.set_up()
        before = self.group.rules(), self.mounts(), harness.journals()
        done = self.on_process("--nv", "--device", "4", status=6, stderr=None)
        self.assertIn(f"allow /dev/nvidia4 in the container's device cgroup: devices.allow of cgroup "
                      f"{self.group.path}: c 195:4 rw: Operation not permitted\nhint: ", done.stderr)
        self.assertEqual((self.group.rules(), self.mounts(), harness.journals()), before)
        self.assertEqual(self.problems(), [])
        self.on_process("undo")
        self.assertEqual(self.group.rules(), PLAIN)

    def test_what_was_there_stays_there(self):
        before = ["c 195:255 rwm", "c 195:3 rm", "c 238:0 r", "c 238:* rwm"]
        for rule in before:
            self.group.write("devices.allow", rule)
        self.set_up()
        self.assertEqual(self.group.rules(), sorted([*PLAIN, "c 195:255 rwm", "c 195:3 rwm",
                                                     "c 238:0 r", "c 238:* rwm"]))
        self.on_process("undo")
        self.assertEqual(self.group.rules(), sorted([*PLAIN, *before]))

    def test_a_group_above_that_forbids_it_is_an_error(self):
        below = cgroups.Group(self, 1, above=self.group)
        below.add(self.pid)
        done = self.refused()
        self.assertEqual(below.rules(), PLAIN)
        self.assertRegex(done, r"allow /dev/\S+ in the container's device cgroup: devices.allow of "
                               rf"cgroup {below.path}: c \S+ rw: Operation not permitted\n"
                               r"hint: give the container its devices when it is created: ")

    def test_a_group_above_that_forbids_one_of_several_leaves_nothing(self):
        below = cgroups.Group(self, 1, above=self.group)
        below.add(self.pid)
        for rule in ("c 195:255 rw", "c 195:3 rw"):
            with self.subTest(rule=rule):
                self.group.write("devices.allow", rule)
                self.refused(node="/dev/nvidia")
                self.assertEqual(below.rules(), PLAIN)
                self.group.write("devices.deny", rule)

    def test_an_exception_from_all_is_an_error(self):
        self.group.write("devices.allow", "a")
        self.group.write("devices.deny", "c 195:3 rwm")
        self.assertEqual(self.group.rules(), ["a *:* rwm"])
        self.assertIn(f"forbidden by the container's device cgroup {self.group.path}\n",
                      self.refused())

    def test_rules_that_the_runtime_took_away_are_added_again(self):
        self.set_up()
        self.group.write("devices.deny", "c 195:3 rwm")
        self.assertEqual(self.problems(status=9), [("device_denied", "/dev/nvidia3")])
        self.on_process("-v", "--nv", "--device", "3",
                        stderr=f"gpuctr-setup: process {self.pid}: an older set-up was replaced\n")
        self.assertEqual(self.group.rules(), sorted([*PLAIN, *RULES]))
        self.on_process("undo")
        self.assertEqual(self.group.rules(), PLAIN)

    def test_a_list_that_allows_all_by_now_gets_no_exception(self):
        self.set_up()
        self.group.write("devices.allow", "a")
        self.on_process("undo")
        self.check_all_is_allowed()

    def test_a_group_with_its_number_after_a_reboot_is_another(self):
        self.set_up()
        before = self.group.rules()
        with harness.new_boot():
            # The mounts, which a boot takes, are still there.
            self.on_process("undo", status=8, stderr=None)
        self.assertEqual(self.group.rules(), before)

    def test_rules_go_with_the_journal_of_a_group_that_was_renamed(self):
        self.set_up()
        renamed = self.group.directory.with_name(f"{self.group.directory.name}-renamed")
        self.group.directory.rename(renamed)
        try:
            self.on_process("undo")
        finally:
            renamed.rename(self.group.directory)
        self.assertEqual(self.group.rules(), PLAIN)

    def test_rules_go_from_a_group_that_is_not_seen_at_its_path(self):
        above = self.nest(*PLAIN, *RULES)
        for hidden in (self.group.directory, above.directory):
            with self.subTest(hidden=hidden):
                self.set_up()
                harness.must("mount", "-t", "tmpfs", "test", hidden)
                try:
                    self.on_process("undo")
                finally:
                    harness.must("umount", hidden)
                self.assertEqual(self.group.rules(), PLAIN)

    def test_a_group_that_was_made_anew_at_the_path_stays_as_it_is(self):
        self.set_up()
        cgroups.Group(self, 1).add(self.pid)
        self.group.directory.rmdir()
        self.group.directory.mkdir()
        self.allow_only(self.group, *PLAIN, *RULES)
        self.on_process("undo")
        self.assertEqual(self.group.rules(), sorted([*PLAIN, *RULES]))
        self.assertEqual(harness.journals(), [])

    def test_rules_go_with_the_journal_of_a_root_that_is_gone(self):
        """As its number is another directory's by now, born at another moment."""
        self.set_up()
        [journal] = harness.STATE.glob("*/*.json")
        written = json.loads(journal.read_text())
        written["birth"] += 1
        name = f"{journal.stem.rpartition('_')[0]}_{written['birth']}.json"
        journal.write_text(json.dumps(written))
        journal.rename(journal.with_name(name))
        self.on_process("undo", stderr=None)
        self.assertEqual(self.group.rules(), PLAIN)
        self.assertEqual(harness.journals(), [])

    def test_undo_all_takes_rules_of_a_container_back_that_ended(self):
        self.set_up("--write", "never")
        self.popen_in_group()
        harness.must("kill", "-KILL", self.pid)
        harness.must("sh", "-c", f"while kill -0 {self.pid} 2>/dev/null; do sleep 0.1; done")
        self.run_setup("undo", "--all")
        self.assertEqual(harness.journals(), [])
        self.assertEqual(self.group.rules(), PLAIN)

    def popen_in_group(self):
        """Keeps the group from being empty."""
        return self.popen("sh", "-c", f"echo $$ >{self.group.directory}/cgroup.procs; echo ready; "
                                      "exec sleep 60")

    def test_a_program_of_version_2_that_forbids_it_has_nothing_added(self):
        programs = cgroups.Group(self, 2)
        programs.add(self.pid)
        programs.forbid(cgroup_test.GPU, 3)
        self.assertIn(programs.path, self.refused())
        self.assertEqual(self.group.rules(), PLAIN)


class Together(ListCase):
    """Containers of several roots in one device cgroup, as those of a pod."""

    def setUp(self):
        super().setUp()
        self.containers = [(self.root, self.pid)]

    def another(self):
        """The one that the test goes on with."""
        self.root = harness.new_root()
        self.addCleanup(harness.must, "rm", "-rf", "--one-file-system", self.root)
        harness.must("cp", "/usr/sbin/pivot_root", self.root / "usr/sbin")
        self.start()
        self.group.add(self.pid)
        self.containers.append((self.root, self.pid))

    def go_on_with(self, number):
        self.root, self.pid = self.containers[number]

    def test_the_last_one_takes_the_rules_away(self):
        for order in ((0, 1), (1, 0)):
            with self.subTest(order=order):
                self.go_on_with(0)
                self.set_up()
                if len(self.containers) == 1:
                    self.another()
                self.go_on_with(1)
                self.set_up()
                self.go_on_with(order[0])
                self.on_process("undo")
                self.assertEqual(self.group.rules(), sorted([*PLAIN, *RULES]))
                self.go_on_with(order[1])
                self.assertEqual(self.problems(), [])
                self.on_process("undo")
                self.assertEqual(self.group.rules(), PLAIN)
        self.go_on_with(0)

    def test_each_takes_what_is_its_own_alone(self):
        self.set_up()
        self.another()
        self.on_process("--nv", "--device", "4")
        self.go_on_with(0)
        self.on_process("undo")
        self.assertEqual(self.group.rules(),
                         sorted([*PLAIN, *(rule.replace(":3 ", ":4 ") for rule in RULES)]))
        self.go_on_with(1)
        self.on_process("undo")
        self.assertEqual(self.group.rules(), PLAIN)
        self.go_on_with(0)

    def test_replacing_one_leaves_the_other_its_rules(self):
        self.set_up()
        self.another()
        self.set_up()
        self.on_process("--nv", "--device", "4", stderr=None)
        self.go_on_with(0)
        self.assertEqual(self.problems(), [])
        self.on_process("undo")
        self.go_on_with(1)
        self.assertEqual(self.problems(), [])
        self.on_process("undo")
        self.assertEqual(self.group.rules(), PLAIN)
        self.go_on_with(0)

    def test_what_another_one_has_in_another_boot_does_not_count(self):
        self.set_up()
        self.another()
        self.set_up()
        [first, second] = harness.STATE.glob("*/*.json")
        other = next(path for path in (first, second) if json.loads(path.read_text())["inode"]
                     == os.stat(f"/proc/{self.containers[0][1]}/root").st_ino)
        written = json.loads(other.read_text())
        written["boot_id"] = "0" * 8
        other.write_text(json.dumps(written))
        other.rename(other.with_name(f"00000000_{other.name.partition('_')[2]}"))
        self.on_process("undo")
        self.assertEqual(self.group.rules(), PLAIN)
        self.go_on_with(0)

    def test_many_at_once_leave_nothing(self):
        for _ in range(3):
            self.another()
        for words in (("--nv", "--device", "3"), ("undo",)):
            for _ in range(2):
                running = [self.in_background(*words, "--pid", pid) for _, pid in self.containers]
                for process in running:
                    self.assertEqual((process.communicate()[1], process.returncode), (b"", 0))
            if words != ("undo",):
                self.assertEqual(self.group.rules(), sorted([*PLAIN, *RULES]))
        self.assertEqual(self.group.rules(), PLAIN)
        self.go_on_with(0)

    def test_two_that_are_undone_at_once_leave_each_other_nothing(self):
        """One is undone wholly before each name that the undo of the other one removes, of which
        its journal is one: no rule may be left to that journal then."""
        self.set_up()
        self.another()
        self.set_up()
        words = ("undo", "--pid", self.pid)
        report = harness.DIRECTORY / "report"
        self.assertEqual(faults.inject("-o", report, harness.SETUP, "-q", *words).returncode, 0)
        undo = f"{harness.SETUP} -q undo --pid {self.containers[0][1]}"
        points = faults.read_points(report)
        written = max(at for at, point in enumerate(points) if point.name == "renameat")
        # The last one is of a lock, for which the other undo waits.
        for point in [point for point in points[written:] if point.name == "unlinkat"][:-1]:
            with self.subTest(point=str(point)):
                self.set_up("-q")
                done = faults.inject(*point.options, "-x", undo, harness.SETUP, "-q", *words)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual((self.group.rules(), harness.journals()), (PLAIN, []))
                self.go_on_with(0)
                self.set_up("-q")
                self.go_on_with(1)

    def test_the_undo_of_another_one_waits_for_the_journal(self):
        """In which a replacement says that it does not need a rule any more."""
        self.set_up()
        self.another()
        self.set_up()
        words = ("--nv", "--device", "4", "--pid", self.pid)
        report = harness.DIRECTORY / "report"
        self.assertEqual(faults.inject("-o", report, harness.SETUP, "-q", *words).returncode, 0)
        last = [point for point in faults.read_points(report) if point.name == "renameat"][-1]
        self.set_up("-q")
        undo = f"{harness.SETUP} undo --pid {self.containers[0][1]} & sleep 0.5"
        done = faults.inject(*last.options, "-x", undo, harness.SETUP, "-q", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with subprocess.Popen([harness.SETUP, "undo", "--pid", str(self.containers[0][1]), "-q"]):
            pass
        self.assertNotIn("c 195:3 rw", self.group.rules())
        self.on_process("undo")
        self.assertEqual((self.group.rules(), harness.journals()), (PLAIN, []))
        self.go_on_with(0)

    @staticmethod
    def in_background(*words):
        return subprocess.Popen([harness.SETUP, "-q", *map(str, words)], stderr=subprocess.PIPE)


class Replaced(ListCase):
    """By a set-up with another GPU, which the list has to be changed for as well."""

    def test_groups_below_keep_what_both_need(self):
        self.set_up()
        below = cgroups.Group(self, 1, above=self.group)
        self.on_process("--nv", "--device", "4", stderr=None)
        self.assertEqual(below.rules(), sorted([*PLAIN, *(rule for rule in RULES
                                                          if ":3 " not in rule)]))
        self.on_process("undo")
        self.assertEqual((self.group.rules(), below.rules()), (PLAIN, PLAIN))

    def test_a_list_that_allows_all_by_now_gets_no_exception(self):
        self.set_up()
        self.group.write("devices.allow", "a")
        self.on_process("--nv", "--device", "4", stderr=None)
        self.check_all_is_allowed()
        self.on_process("undo")

    def test_what_a_replacement_left_that_was_killed_goes_with_the_next(self):
        self.set_up()
        killed = faults.inject("-c", faults.number("umount2"), "-n", 1, "-k", harness.SETUP, "--nv",
                               "--device", "4", "--pid", self.pid)
        self.assertEqual(killed.returncode, faults.KILLED)
        self.assertIn("c 195:4 rw", self.group.rules())
        self.set_up("-q")
        self.assertEqual(self.group.rules(), sorted([*PLAIN, *RULES]))
        self.on_process("undo")
        self.assertEqual(self.group.rules(), PLAIN)

    def test_rules_in_another_group_keep_the_older_one(self):
        self.set_up()
        other = cgroups.Group(self, 1)
        self.allow_only(other, *PLAIN)
        other.add(self.pid)
        before = self.group.rules(), self.mounts(), harness.journals()
        done = self.on_process("--nv", "--device", "4", status=8, stderr=None)
        self.assertIn("the older set-up has rules in another device cgroup, "
                      f"{self.group.path}\nhint: `gpuctr-setup undo` first", done.stderr)
        self.assertEqual((self.group.rules(), self.mounts(), harness.journals()), before)
        self.on_process("undo")
        self.assertEqual(self.group.rules(), PLAIN)
        self.on_process("--nv", "--device", "4")
        self.on_process("undo")
        self.assertEqual(other.rules(), PLAIN)

    def test_a_full_disk_is_no_obstacle_to_undo(self):
        harness.STATE.mkdir(mode=0o700, exist_ok=True)
        harness.must("mount", "-t", "tmpfs", "-o", "size=256k,mode=0700", "state", harness.STATE)
        self.set_up()
        filler = harness.STATE / "filler"
        harness.call("dd", "if=/dev/zero", f"of={filler}", "bs=4k")
        self.on_process("undo")
        self.assertEqual(self.group.rules(), PLAIN)
        filler.unlink()
        self.assertEqual(harness.journals(), [])
        harness.must("umount", harness.STATE)


class Interrupted(ListCase):
    """Rules are in the journal before they are in the list, and go with it."""

    def setUp(self):
        super().setUp()
        harness.STATE.mkdir(mode=0o700, exist_ok=True)
        self.words = ["--nv", "--device", "3", "--driver-capabilities", "utility", "--pid",
                      self.pid]
        self.report = harness.DIRECTORY / "report"
        self.before = self.mounts()

    def inject(self, *options):
        return faults.inject("-o", self.report, *options, harness.SETUP, *self.words)

    def points(self):
        """The calls from the first journal on that others can see the outcome of, and that
        which sends a process into the group."""
        self.assertEqual(self.inject().returncode, 0)
        points = faults.read_points(self.report)
        self.on_process("undo")
        first = next(n for n, point in enumerate(points) if point.name == "flock")
        return [point for point in points[first:] if point.name in faults.CHANGING]

    def check_nothing_left(self, message):
        self.assertEqual(self.group.rules(), PLAIN, message)
        self.assertEqual(self.mounts(), self.before, message)
        self.assertEqual(harness.journals(), [], message)

    def test_undo_after_a_kill_takes_the_rules_back(self):
        points = self.points()
        self.assertGreater(sum(point.name == "write" for point in points), 4)
        with_rules = 0
        for point in points[::faults.EVERY]:
            with self.subTest(point=str(point)):
                self.assertEqual(self.inject(*point.options, "-k").returncode, faults.KILLED)
                with_rules += self.group.rules() != PLAIN
                self.on_process("undo", stderr=None)
                self.check_nothing_left(str(point))
        self.assertGreater(with_rules, 0)

    def test_what_fails_takes_them_back_itself(self):
        for point in self.points()[::faults.EVERY]:
            with self.subTest(point=str(point)):
                done = self.inject(*point.options, "-e", errno.EIO)
                if done.returncode == 0:
                    self.on_process("undo")
                elif "return to the caller's" in done.stderr:
                    self.on_process("undo", stderr=None)  # of what was set up, if it was
                self.check_nothing_left(f"{point}: {done.stderr}")


class InterruptedReplacement(Interrupted):
    """The older set-up's rules go to the newer one, by the journal that takes its place."""

    def inject(self, *options):
        self.set_up("--driver-capabilities", "utility")
        self.words[2] = "4"
        return super().inject(*options)

    def test_what_fails_takes_them_back_itself(self):
        kept, gone = 0, 0
        for point in self.points()[::faults.EVERY]:
            with self.subTest(point=str(point)):
                done = self.inject(*point.options, "-e", errno.EIO)
                if not harness.journals():
                    gone += 1
                else:
                    kept += done.returncode != 0
                    self.on_process("undo", stderr=None)
                self.check_nothing_left(f"{point}: {done.stderr}")
        self.assertGreater(min(kept, gone), 0)


if __name__ == "__main__":
    unittest.main()
