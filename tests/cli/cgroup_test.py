# SPDX-License-Identifier: MIT
"""gpuctr-setup where a device cgroup has a say in who may open a GPU's node."""

import errno
import json
import os
import subprocess
import unittest
import unittest.mock

import cgroups
import faults
import harness
import process_test

GPU, UVM = 195, 238
RULES = ["c 195:255 rw", "c 195:3 rw", "c 238:0 rw", "c 238:1 rw"]
PLAIN = ["c 1:3 rwm", "c 1:5 rwm", "c 5:* rwm"]


class Case(process_test.Container):
    """A container that runs in a control group of its own."""

    version = 2

    def setUp(self):
        super().setUp()
        self.group = cgroups.Group(self, self.version)
        self.start()
        self.group.add(self.pid)

    def set_up(self, *words, **options):
        return self.on_process("--nv", "--device", "3", *words, **options)

    def problems(self, **options):
        done = self.on_process("status", "--format", "json", stdout=None, **options)
        [found] = json.loads(done.stdout)["setups"]
        return [(problem["kind"], problem["object"]) for problem in found["problems"]]

    def open_in_group(self, name):
        """What a program of the container is told that opens it; there is no GPU."""
        command = (f"echo $$ >{self.group.directory}/cgroup.procs && exec nsenter --target "
                   f"{self.pid} --mount --root --wd sh -c 'exec 3<>/dev/{name}'")
        return harness.call("sh", "-c", command).stderr.strip().rpartition(": ")[2]

    def refused(self, *words, node="/dev/nvidia3", status=6):
        before = self.mounts(), self.files()
        done = self.set_up(*words, status=status, stderr=None)
        self.assertEqual(self.mounts(), before[0])
        self.assertEqual(sorted(self.files()), sorted(before[1]))
        self.assertEqual(harness.journals(), [])
        self.assertIn(node, done.stderr)
        self.assertEqual(os.listdir(f"/proc/{self.pid}/root/dev"), [])
        return done.stderr

    def check_unknown(self, reason):
        done = self.set_up(stderr=None)
        self.assertEqual(done.stderr, "gpuctr-setup: warning: it is not known whether the "
                                      f"container's device cgroup allows the GPUs: {reason}\n")
        self.assertEqual(self.problems(), [("device_unknown", None)])
        self.on_process("undo")


class Programs(Case):
    """Version 2, where programs decide, and one more never allows what another forbids."""

    def test_a_container_that_may_use_the_nodes_is_set_up_in_silence(self):
        self.group.forbid(1, 99)
        self.set_up()
        self.assertEqual(self.problems(), [])
        self.assertEqual(self.open_in_group("nvidia3"), "No such device or address")
        self.on_process("undo")

    def test_a_gpu_that_is_forbidden_is_an_error(self):
        self.group.forbid(GPU, 3)
        self.assertEqual(self.refused(), (
            "gpuctr-setup: /dev/nvidia3: forbidden by the container's device cgroup "
            f"{self.group.path}\nhint: give the container its devices when it is created: "
            "`--device /dev/nvidia3` of podman and docker, DeviceAllow= of systemd, "
            "linux.resources.devices of an OCI runtime's config.json (c 195:3 rw)\n"))
        self.on_process("--nv", "--device", "4")
        self.on_process("undo")

    def test_so_are_all_of_them_chosen_by_nobody(self):
        self.group.forbid(GPU)
        done = self.on_process("--nv", status=6, stderr=None)
        for rule in ("c 195:0 rw", "c 195:7 rw", "c 195:255 rw"):
            self.assertIn(rule, done.stderr)
        self.assertNotIn("c 238", done.stderr)

    def test_a_node_that_some_need_is_a_warning(self):
        self.group.forbid(UVM)
        self.set_up(stderr=(
            "gpuctr-setup: warning: /dev/nvidia-uvm, /dev/nvidia-uvm-tools: forbidden by the "
            f"container's device cgroup {self.group.path}: what needs it will not work; give the "
            "container its devices when it is created: `--device /dev/nvidia-uvm --device "
            "/dev/nvidia-uvm-tools` of podman and docker, DeviceAllow= of systemd, "
            "linux.resources.devices of an OCI runtime's config.json (c 238:0 rw, c 238:1 rw)\n"))
        self.assertEqual(self.nodes(), ["nvidia3"])
        self.on_process("undo")

    def test_status_tells_what_is_forbidden_later(self):
        self.set_up()
        self.group.forbid(GPU, 3)
        self.assertEqual(self.problems(status=9), [("device_denied", "/dev/nvidia3")])
        self.refused_again()
        done = self.on_process("status", status=9, stdout=None)
        self.assertIn("  error    /dev/nvidia3 is forbidden by the container's device cgroup "
                      f"{self.group.path}: ", done.stdout)
        self.on_process("undo")

    def refused_again(self):
        """The set-up that is there is no success either."""
        self.set_up(status=6, stderr=None)
        self.assertEqual(self.nodes(), ["nvidia3"])

    def test_a_group_above_counts_too(self):
        below = cgroups.Group(self, 2, above=self.group)
        self.group.forbid(GPU, 3)
        below.add(self.pid)
        self.assertIn(below.path, self.refused())

    def test_a_frozen_container_is_not_waited_for(self):
        self.group.forbid(GPU, 3)
        self.group.freeze()
        self.check_unknown(f"its cgroup {self.group.path} is frozen")

    def test_a_threaded_group_counts_too(self):
        below = cgroups.Group(self, 2, above=self.group)
        below.write("cgroup.type", "threaded")
        below.add(self.pid)
        below.forbid(GPU, 3)
        self.assertIn(below.path, self.refused())
        self.on_process("--nv", "--device", "4")
        self.on_process("undo")

    def test_what_is_mounted_over_the_hierarchy_is_not_believed(self):
        self.group.forbid(GPU, 3)
        top = cgroups.place(2)
        harness.must("mount", "-t", "tmpfs", "test", top)
        self.addCleanup(harness.must, "umount", top)
        self.check_unknown("the hierarchy of cgroup version 2 is not mounted at /sys/fs/cgroup")

    def test_another_part_of_the_hierarchy_is_not_believed(self):
        """As a mount of one group shows it."""
        self.group.forbid(GPU, 3)
        elsewhere = cgroups.Group(self, 2)
        (elsewhere.directory / self.group.path[1:]).mkdir()
        self.addCleanup((elsewhere.directory / self.group.path[1:]).rmdir)
        top = cgroups.place(2)
        harness.must("mount", "--bind", elsewhere.directory, top)
        self.addCleanup(harness.must, "umount", top)
        self.check_unknown(f"the process is not in cgroup {self.group.path} as it is seen from "
                           "here")


class OfAnOrdinaryUser(Case):
    """A container that its user sets up, in a group of somebody else's."""

    mount_proc = "mount --rbind /proc proc"

    def setUp(self):
        self.home = harness.DIRECTORY / "home"
        self.home.mkdir()
        self.addCleanup(harness.must, "rm", "-rf", self.home)
        os.chown(self.home, 65534, 65534)
        super().setUp()

    def start(self, **options):  # pylint: disable=arguments-differ
        harness.must("chown", "-R", "-h", "65534:65534", self.root)
        super().start(command=[*harness.ORDINARY_USER, "unshare", "--user", "--map-root-user"])

    def run_setup(self, *words, **options):
        environment = dict(os.environ, HOME=str(self.home), XDG_STATE_HOME="")
        with unittest.mock.patch.object(harness, "setup", self.as_user):
            return super().run_setup(*words, env=environment, **options)

    @staticmethod
    def as_user(*words, **options):
        return harness.call(*harness.ORDINARY_USER, harness.SETUP, *words, **options)

    def test_what_he_may_not_ask_is_not_known(self):
        self.check_unknown("start a process in its cgroup: Permission denied")

    def test_nor_is_it_where_it_is_forbidden(self):
        self.group.forbid(GPU, 3)
        self.check_unknown("start a process in its cgroup: Permission denied")


class ListCase(Case):
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
        self.assertEqual(self.open_in_group("null"), "")
        harness.must("mknod", self.root / "tmp/node", "c", GPU, 3)
        self.assertEqual(self.group.rules(), ["a *:* rwm"])
        done = harness.call("sh", "-c", f"echo $$ >{self.group.directory}/cgroup.procs; "
                                        f"exec 3<>{self.root}/tmp/node")
        self.assertIn("No such device or address", done.stderr)

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
        programs.forbid(GPU, 3)
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

    @staticmethod
    def in_background(*words):
        return subprocess.Popen([harness.SETUP, "-q", *map(str, words)], stderr=subprocess.PIPE)


class Replaced(ListCase):
    """By a set-up with another GPU, which the list has to be changed for as well."""

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


class OwnGroup(harness.Case):
    """What the caller's own device cgroup forbids, by a program."""

    def setUp(self):
        super().setUp()
        self.group = cgroups.Group(self, 2)
        self.group.forbid(GPU, 3)

    def in_group(self, *words):
        return harness.call("sh", "-c", f'echo $$ >{self.group.directory}/cgroup.procs && exec "$@"',
                            "sh", harness.SETUP, "--nv", "--rootfs", self.root, *words)

    def test_a_gpu_that_was_chosen_is_an_error(self):
        for choice in ("3", "0,3", "all"):
            with self.subTest(choice=choice), self.nothing_changes():
                done = self.in_group("--device", choice, "--", "true")
                self.assertEqual(done.returncode, 125)
                self.assertRegex(done.stderr, rf"^gpuctr-setup: --device {choice}: /dev/nvidia3: may "
                                              r"not be used: the device cgroup forbids it "
                                              r"\(error 6\)\nhint: ")
                self.assertEqual(self.in_group("--device", choice).returncode, 6)

    def test_others_are_given(self):
        with self.nothing_changes():
            done = self.in_group("--", "sh", "-c", "cd /dev; echo nvidia?")
        self.assertEqual((done.stdout, done.stderr),
                         ("nvidia0 nvidia1 nvidia2 nvidia4 nvidia5 nvidia6 nvidia7\n", ""))

    def test_a_control_node_that_is_forbidden_leaves_nothing_to_choose(self):
        self.group.forbid(GPU, 255)
        with self.nothing_changes():
            done = self.in_group("--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("/dev/nvidiactl: may not be used: the device cgroup forbids it", done.stderr)


class OwnList(OwnGroup):
    """The same by a list."""

    def setUp(self):  # pylint: disable=non-parent-init-called,super-init-not-called
        harness.Case.setUp(self)
        self.group = cgroups.Group(self, 1)
        self.group.write("devices.deny", f"c {GPU}:3 rwm")

    def test_a_control_node_that_is_forbidden_leaves_nothing_to_choose(self):
        self.group.write("devices.deny", f"c {GPU}:255 rwm")
        with self.nothing_changes():
            done = self.in_group("--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("/dev/nvidiactl: may not be used: the device cgroup forbids it", done.stderr)


if __name__ == "__main__":
    unittest.main()
