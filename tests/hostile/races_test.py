# SPDX-License-Identifier: MIT
"""An image that changes while it is set up, by a process on another CPU.

Each race has a control: what does the same by path, with a look before, loses against
the same attacker in the same run; otherwise the attack is none. GPUCTR_TEST_LONG=1
makes each race last for 30 seconds."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import time
import unittest

import harness
import hostile
import mount_table
import snapshot
from harness import MULTIARCH, TREE, VERSION

LONG = os.environ.get("GPUCTR_TEST_LONG") == "1"
SECONDS = 30 if LONG else 5
LIBRARIES = f"/usr/lib/{MULTIARCH}"
WANTED = 5
FEWEST = 20 # on a machine that is busy
OPENING = ("open,openat,openat2,open_tree,move_mount,mkdirat,mknodat,symlinkat,renameat2,unlinkat,"
           "utimensat,fchmod,fchown")


class Race(hostile.Case):
    """The attacker has a CPU for itself, where there is one."""

    def setUp(self):
        super().setUp()
        cpus = sorted(os.sched_getaffinity(0))
        self.addCleanup(os.sched_setaffinity, 0, cpus)
        self.cpu = cpus[-1]
        os.sched_setaffinity(0, cpus[:-1] or cpus)
        self.bystander = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh",
                                           "-c", "echo ready; exec sleep 300"],
                                          stdout=subprocess.PIPE)
        for action in (self.bystander.wait, self.bystander.kill, self.bystander.stdout.close):
            self.addCleanup(action)
        self.bystander.stdout.readline()

    @contextlib.contextmanager
    def attacked(self, way, *names):
        """Pairs of names change all the time; afterwards they are as before."""
        process = subprocess.Popen([hostile.ATTACKER, str(self.cpu), way, *map(str, names)],
                                   stdout=subprocess.PIPE)
        process.stdout.readline()
        try:
            yield
        finally:
            process.terminate()
            self.turns = int(process.stdout.readline())
            self.assertEqual(process.wait(), 0)
            process.stdout.close()
            print(f"attacker: {self.turns} turns", flush=True)
            if way == "swap":
                self.put_back(names)

    def put_back(self, names):
        """What the attacker could not exchange again where something was mounted: from
        a namespace in which nothing is."""
        script = 'mv -T "$1" "$3"; mv -T "$2" "$1"; mv -T "$3" "$2"'
        for path, link in zip(names[::2], names[1::2]):
            if os.path.islink(path):
                harness.must("nsenter", f"--mount=/proc/{self.bystander.pid}/ns/mnt", "sh", "-ec",
                             script, "sh", path, link, f"{path}.aside")

    def assert_naive_loses(self, *words):
        environment = dict(os.environ, SECONDS=str(max(SECONDS, 20)), WANTED=str(WANTED))
        tries, lost = map(int, harness.must(hostile.NAIVE, *words, env=environment).split())
        print(f"naive {words[0]}: lost {lost} of {tries}", flush=True)
        self.assertGreaterEqual(lost, WANTED, "the attack is none")

    def traced(self, *words):
        """Runs the command, which has no descriptor of the canary at any time, not even of
        what it takes back. Being traced also makes it slow."""
        log = harness.DIRECTORY / "trace"
        done = harness.call("strace", "-f", "-qq", "-y", "-e", f"trace={OPENING}", "-e",
                            "signal=none", "-o", log, harness.SETUP, *words,
                            env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
        lines = log.read_text(errors="replace").splitlines()
        self.assertGreater(len(lines), 10)
        self.assertEqual([line for line in lines if f"<{self.canary}" in line], [])
        return done

    def run_race(self, modes, look, options=()):
        """Sets up and undoes for as long as the race lasts; how often which came out."""
        outcomes = {}
        begin = time.monotonic()
        while time.monotonic() < begin + SECONDS or sum(outcomes.values()) < FEWEST:
            for mode in (mode for mode in modes if mode in hostile.MODES):
                # The first third of the time at full speed.
                slow = time.monotonic() > begin + SECONDS / 3
                run = self.traced if slow and sum(outcomes.values()) % 2 else harness.setup
                done = run("--nv", "--rootfs", self.root, "--device", "0", *hostile.MODES[mode],
                           *options)
                self.assert_calm(done)
                self.assertNotEqual(done.returncode, 1, done.stderr)
                look(done)
                outcomes[done.returncode] = outcomes.get(done.returncode, 0) + 1
                undone = harness.setup("undo", "--rootfs", self.root)
                self.assert_calm(undone)
                self.assertIn(undone.returncode, (0, 8), undone.stderr)
        print("exit statuses:", dict(sorted(outcomes.items())), flush=True)
        return outcomes

    def assert_nothing_escaped(self, done=None):
        """No mount on the canary, and no change of it."""
        table = [m for m in mount_table.read() if m.target.startswith(str(self.canary))]
        self.assertEqual(table, [], done)
        self.assert_canary()

    def assert_over(self, before):
        """With nobody in the way, undo ends, and no mount of ours is left. A name may be:
        where its directory was not to be found, it was taken for removed."""
        self.undo(stderr=None)
        self.assertEqual(mount_table.read(), before)
        self.assertEqual(harness.journals(), [])
        self.assert_nothing_escaped()
        self.assert_calm(harness.setup("--nv", "--rootfs", self.root, "--device", "0"))
        self.undo(stderr=None)
        self.assertEqual(mount_table.read(), before)


class Mounts(Race):
    def test_targets_of_mounts_are_exchanged_with_links_to_the_host(self):
        """R1"""
        lib = self.canary / "lib"
        self.put(f"{LIBRARIES}/libcuda.so.1")
        self.put(f"{LIBRARIES}/libnvidia-ml.so.1")
        self.put("/dev/nvidia0", "")
        (lib / "libnvidia-ml.so.1").write_text("canary\n")
        (self.canary / "dev/nvidiactl").write_text("canary\n")
        (lib / "gpuctr").mkdir()
        pairs = []
        for path, victim in ((LIBRARIES, lib), ("/dev", self.canary / "dev"),
                             ("/usr/lib", lib)):
            link = self.path(f"/srv/link{len(pairs)}")
            link.symlink_to(victim)
            pairs += [self.path(path), link]
        before = mount_table.read()
        self.untouched = self.look_outside()
        with self.attacked("swap", *pairs):
            self.assert_naive_loses("mount", "/usr/local/nvidia/lib64/libcuda.so.1",
                                    self.path(LIBRARIES), "libcuda.so.1", lib / "libcuda.so.1")
            self.assert_nothing_escaped()
            self.run_race(("auto", "never", "merged"), self.assert_nothing_escaped)
        self.assert_over(before)


class Names(Race):
    """Around everything that creates, renames and removes a name."""

    def make_pairs(self):
        pairs = []
        for path, victim in (("/etc", "etc"), ("/usr/local", "d"), ("/usr/bin", "lib"),
                             ("/etc/ld.so.conf.d", "d")):
            link = self.path(f"/srv/link{len(pairs)}")
            link.symlink_to(self.canary / victim)
            pairs += [self.path(path), link]
        return pairs

    def test_directories_of_new_names_are_exchanged_with_links_to_the_host(self):
        """R2"""
        pairs = self.make_pairs()
        before = mount_table.read()
        with self.attacked("swap", *pairs):
            self.assert_naive_loses("create", self.path("/usr/local"), "pwned",
                                    self.canary / "d/pwned")
            self.untouched = self.look_outside()
            self.run_race(("always", "never"), self.assert_nothing_escaped)
        self.assert_over(before)

    def test_directories_of_new_names_come_and_go_and_are_files(self):
        """R2"""
        names = [self.path(name) for path in ("/usr/local", "/etc/ld.so.conf.d", TREE)
                 for name in (path, f"{path}.aside")]
        before = mount_table.read()
        with self.attacked("replace", *names):
            self.run_race(("always", "never"), self.assert_nothing_escaped)
        # A directory that went aside took the mount on it along: undo says that it is
        # elsewhere, and is done once it is gone.
        done = harness.setup("undo", "--rootfs", self.root)
        self.assert_calm(done)
        moved = [m.target for m in mount_table.below(self.root)]
        self.assertEqual(done.returncode, 8 if moved else 0, done.stderr)
        # From the outside: one may lie over another, and hide what is below that.
        while mounts := mount_table.below(self.root):
            harness.must("umount", "-l", mounts[0].target)
        self.undo(stderr=None)
        self.assertEqual(mount_table.read(), before)
        self.assertEqual(harness.journals(), [])
        self.assert_canary()


class Storm(Race):
    def test_renames_in_the_way_of_paths_that_climb(self):
        """R3"""
        for path in ("/a/b/c/d", "/a/e"):
            self.path(f"/srv{path}").mkdir(parents=True)
        shutil.move(self.path(LIBRARIES), self.path("/srv/libraries"))
        shutil.move(self.path("/usr/local"), self.path("/srv/local"))
        self.link(LIBRARIES, "/srv/a/b/../b/c/../../../libraries")
        self.link("/usr/local", "/srv/a/b/c/../../../a/../local")
        before = mount_table.read()
        # Elsewhere: a rename anywhere makes a walk over ".." uncertain.
        pairs = [self.path("/srv/a/e"), self.path("/srv/a/f")]
        with self.attacked("rename", *pairs):
            self.assert_naive_loses("resolve", self.root, f"{LIBRARIES}/../../..{LIBRARIES}")
            outcomes = self.run_race(("auto", "never"), self.assert_nothing_escaped)
            command = harness.setup("--nv", "--rootfs", self.root, "--", "/usr/bin/true")
            self.assert_calm(command)
        self.assertEqual(list(outcomes), [0], "renames elsewhere kept it from working")
        with self.attacked("rename", self.path("/srv/a/b/c"), self.path("/srv/a/e/c"),
                           self.path("/srv/a/b"), self.path("/srv/b")):
            self.run_race(("auto", "never"), self.assert_nothing_escaped)
        self.assert_over(before)


class Sources(Race):
    def test_a_driver_is_exchanged_between_planning_and_mounting(self):
        """R4"""
        driver = harness.DIRECTORY / "driver"
        library_directory = driver / "usr/lib" / MULTIARCH
        library_directory.mkdir(parents=True)
        (driver / "etc").mkdir()
        (driver / "usr/bin").mkdir()
        self.addCleanup(harness.must, "rm", "-rf", driver)
        for path in pathlib.Path("/usr/local/nvidia/lib64").glob("lib*.so*"):
            shutil.copy2(path, library_directory, follow_symlinks=False)
        harness.must("ldconfig", "-r", driver)
        library = library_directory / f"libcuda.so.{VERSION}"
        genuine = library.read_bytes()
        forged = driver / "forged"
        forged.write_bytes(b"forged".ljust(len(genuine), b"\0"))
        os.utime(forged, ns=(library.stat().st_atime_ns, library.stat().st_mtime_ns))
        link = driver / "link"
        link.symlink_to(self.canary / "secret")
        place = harness.DIRECTORY / "place"
        place.touch()
        self.addCleanup(place.unlink)
        before = mount_table.read()

        def look(done):
            for path in (TREE + "/lib64", LIBRARIES):
                file = self.path(f"{path}/libcuda.so.{VERSION}")
                if done.returncode == 0 and os.path.isfile(file):
                    self.assertEqual(file.read_bytes(), genuine)
            self.assertIn(done.returncode, (0, 4, 8), done.stderr)

        with self.attacked("swap", library, forged, library, link):
            self.assert_naive_loses("source", library, place)
            self.run_race(("auto", "merged"), look, ("--driver-root", driver))
        self.assertEqual(library.read_bytes(), genuine)
        self.assert_over(before)


class Cache(Race):
    def test_a_loader_cache_is_damaged_while_it_is_read(self):
        """T13"""
        rounds = 50 if not LONG else 1000 if os.environ.get("GPUCTR_TEST_FEWER") == "1" else 10_000
        cache = self.path("/etc/ld.so.cache")
        copy = harness.DIRECTORY / "genuine"
        shutil.copy2(cache, copy)
        self.addCleanup(copy.unlink)
        # The names that are found last are on other pages than the numbers.
        copy.write_bytes(copy.read_bytes() + b"\0x" * 10_000)
        shutil.copy(copy, cache)
        before = mount_table.read()
        outcomes = {}
        with self.attacked("damage", cache, copy):
            self.assert_naive_loses("map", cache)
            for number in range(rounds):
                mode = "never" if number % 20 else "auto"
                words = ["plan"] if number % 10 else hostile.MODES[mode]
                done = harness.setup(*words, "--nv", "--rootfs", self.root)
                self.assert_calm(done)
                outcomes[done.returncode] = outcomes.get(done.returncode, 0) + 1
                self.assertIn(done.returncode, (0, 5, 8), done.stderr)
                if number % 10 == 0:
                    self.assert_calm(harness.setup("undo", "--rootfs", self.root))
        print("exit statuses:", dict(sorted(outcomes.items())), flush=True)
        self.assertGreater(self.turns, rounds)
        shutil.copy(copy, cache)
        self.assert_over(before)
        self.each_mode(modes=("auto",), command=False, succeeds=True)


if __name__ == "__main__":
    unittest.main()
