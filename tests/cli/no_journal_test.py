# SPDX-License-Identifier: MIT
"""A set-up that ends with its mount namespace, as a runtime's hook makes it: --no-journal."""

import os
import time
import unittest

import config_test
import harness
import userns_test
from config_test import CONFIG

setUpModule = config_test.setUpModule
tearDownModule = config_test.tearDownModule

# What a runtime does before its hook runs and after it: until pivot_root the hook sees
# the host's files, as root of the container's user namespace.
CONTAINER = """
set -e
cd $ROOT
mount --rbind . . && cd $ROOT && mount --make-rslave .
mount -t tmpfs -o mode=0755 dev dev
mount -t tmpfs -o mode=0755 run run
mount --rbind /proc proc
{hook}
pivot_root . mnt
umount -l /mnt
exec {program}
"""


class InANamespace(config_test.Config):
    def setUp(self):
        super().setUp()
        harness.DIRECTORY.chmod(0o711)
        self.before = self.state()

    def tearDown(self):
        self.assert_state(self.before)
        self.assertEqual(list(harness.STATE.glob("*")), [])
        super().tearDown()

    def script(self, text, prefix=(), variables=None):
        """Runs it in a mount namespace of its own, with a runtime's small environment."""
        environment = {"PATH": os.environ["PATH"], "ROOT": str(self.root), "SETUP": harness.SETUP}
        return harness.call(*prefix, "unshare", "--mount", "--propagation", "private", "sh", "-c",
                            text, env=environment | (variables or {}))

    def hook(self, words="--no-journal", program="ls /dev", **options):
        text = CONTAINER.format(hook=f"$SETUP --nv --device 3 --rootfs $ROOT {words}",
                                program=program)
        return self.script(text, **options)


class Hook(InANamespace):
    def check(self, *prefix):
        done = self.hook(prefix=prefix)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([n for n in done.stdout.split() if "nvidia" in n],
                         ["nvidia-uvm", "nvidia-uvm-tools", "nvidia3", "nvidiactl"])
        done = self.hook(program="/usr/bin/needs_driver", prefix=prefix)
        self.assertEqual((done.returncode, done.stderr, done.stdout.count("\n")), (0, "", 2))

    def test_of_root(self):
        self.check()

    def test_of_a_user_namespace(self):
        self.check(*userns_test.range_of_ids(self))

    def test_of_a_user_namespace_with_an_image_of_its_own(self):
        """Nothing is written into it, though it could be."""
        userns_test.unpack(self.root)
        self.before = self.state()
        self.check(*userns_test.range_of_ids(self))

    def test_of_a_user_namespace_with_a_journal_is_told_what_to_do(self):
        done = self.hook("", prefix=userns_test.range_of_ids(self))
        self.assertEqual(done.returncode, 6)
        self.assertEqual(done.stderr, "gpuctr-setup: journal directory /var/lib/gpucontainer: "
                         "Permission denied\nhint: name a directory that you may write with "
                         "--state-dir; a runtime's hook takes --no-journal\n")

    def test_says_how_long_it_lasts(self):
        done = self.hook("--no-journal -v")
        self.assertEqual(done.stderr, f"gpuctr-setup: {self.root}: set up until this mount "
                                      "namespace ends\n")

    def test_a_failure_leaves_nothing(self):
        done = self.script("mount --rbind $ROOT $ROOT; cat /proc/self/mountinfo >/run/before; "
                           "$SETUP --nv --no-journal --rootfs $ROOT --lock; echo $?; "
                           "cat /proc/self/mountinfo | diff /run/before -; rm /run/before",
                           prefix=["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                                   'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh"])
        self.assertNotEqual(done.stdout, "0\n")
        self.assertEqual(done.stdout.count("\n"), 1, done.stdout)


class Refused(InANamespace):
    def refuse(self, *words, message, status=2):
        done = self.run_setup("--nv", *words, status=status, stderr=None)
        self.assertIn(message, done.stderr)

    def test_what_needs_a_journal(self):
        root = ("--rootfs", self.root)
        state = ("--state-dir", harness.DIRECTORY / "state")
        self.refuse(*root, "--no-journal", *state,
                    message="--no-journal: there is nothing to keep in --state-dir")
        self.refuse("--no-journal", "--pid", os.getpid(),
                    message="--no-journal: --pid needs a journal")
        self.refuse(*root, "--no-journal", "--write", "always",
                    message="--no-journal: what --write always creates could not be undone")
        self.refuse(*root, "--no-journal", "--replace",
                    message="--no-journal: nothing is replaced without a journal")
        self.refuse(*root, "--no-journal", "--", "true",
                    message="--no-journal: -- CMD keeps no journal anyway")
        for command in ("undo", "status"):
            self.run_setup(command, *root, "--no-journal", status=2, stderr=None)

    def test_a_shared_mount(self):
        """It would show, and stay, in other namespaces."""
        done = self.script("mount --bind $ROOT $ROOT && mount --make-shared $ROOT && "
                           "cat /proc/self/mountinfo >/run/before; "
                           "$SETUP --nv --no-journal --rootfs $ROOT; echo $?; "
                           "cat /proc/self/mountinfo | diff /run/before -; rm /run/before")
        self.assertEqual(done.stdout, "5\n")
        self.assertEqual(done.stderr, "gpuctr-setup: the root file system is on a shared mount\n"
                         "hint: what is mounted there would show in other mount namespaces, and "
                         "stay; make it private in this one (mount --make-rprivate)\n")

    def test_the_callers_own_root(self):
        done = self.script("$SETUP --nv --no-journal --rootfs /")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("this process's own root directory", done.stderr)


class OverAnother(InANamespace):
    """A second set-up would lie over the first, and nothing could take it away again."""

    WITH_A_JOURNAL = (r"^gpuctr-setup: {root}: another set-up is there, made [0-9] seconds? ago "
                      r"with nvidia GPU 0 \(GPU-[0-9a-f-]+\): without a journal nothing is replaced\n"
                      r"hint: once nobody uses it any more, `gpuctr-setup undo` takes it away\n$")
    WITHOUT_ONE = ("gpuctr-setup: {path}: another set-up is there, of which no journal is found "
                   "here: without a journal nothing is replaced\n"
                   "hint: it goes with its mount namespace; one that has a journal is taken away "
                   "by `gpuctr-setup undo` in the namespace and with the --state-dir that it was "
                   "made with\n")
    LOCKED = (r"^gpuctr-setup: journal directory /var/lib/gpucontainer/[0-9]+-[0-9]+: (process "
              r"[0-9]+|another process) is at work on this root file system and does not come to "
              r"an end\nhint: wait for that process or end it, and try again\n$")

    def second(self, first, words="", after="true", **options):
        """One without a journal after what is `first`, in one mount namespace."""
        return self.script(f"$SETUP --nv --device 0 --rootfs $ROOT {first} || exit; "
                           "before=$(cat /proc/self/mountinfo); "
                           f"$SETUP --nv --rootfs $ROOT --no-journal {words}; echo $?; "
                           'test "$before" = "$(cat /proc/self/mountinfo)" || echo changed; '
                           f"{after}", **options)

    def refused(self, done, message):
        self.assertEqual((done.returncode, done.stdout), (0, "10\n"), done.stderr)
        self.assertRegex(done.stderr, message.format(root=self.root))

    def test_that_has_a_journal(self):
        for words in ("--device 1", "--device 0", "--layout merged", "--device 1 --no-replace",
                      "-q --tree-path /opt/gpus"):
            with self.subTest(words=words):
                self.refused(self.second("", words, after="$SETUP undo --rootfs $ROOT"),
                             self.WITH_A_JOURNAL)

    def test_that_has_a_journal_in_the_directory_of_the_site(self):
        state = harness.DIRECTORY / "state"
        self.addCleanup(harness.call, "rm", "-rf", state)
        done = self.second("", "--device 1", after="$SETUP undo --rootfs $ROOT",
                           variables={"GPUCTR_STATE_DIR": str(state)})
        self.refused(done, self.WITH_A_JOURNAL)

    def test_that_was_cut_off(self):
        """What it left cannot be taken back either."""
        cut_off = "&& sed -i 's/\"complete\"/\"begun\"/' /var/lib/gpucontainer/*/*.json"
        self.refused(self.second(cut_off, "--device 1", after="$SETUP undo --rootfs $ROOT"),
                     self.WITH_A_JOURNAL)

    def test_that_has_lost_its_mounts(self):
        """Nobody uses that any more."""
        lost = "&& umount -l -R $ROOT && mount --bind $ROOT $ROOT"
        done = self.script(f"$SETUP --nv --device 0 --rootfs $ROOT {lost} && "
                           "$SETUP --nv --device 1 --rootfs $ROOT --no-journal && "
                           "ls $ROOT/dev | grep nvidia1; umount -l -R $ROOT; "
                           "$SETUP undo --rootfs $ROOT")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "nvidia1\n", ""))

    def check_without_a_journal(self, *prefix):
        for words in ("--device 1", "--device 0,1", "--device none", "--layout merged",
                      "--device 0 --driver-capabilities compute", "--tree-path /usr/share/gpus"):
            done = self.second("--no-journal", words, prefix=prefix)
            with self.subTest(words=words):
                self.assertEqual((done.returncode, done.stdout), (0, "10\n"), done.stderr)
                self.assertRegex(done.stderr, "^" + self.WITHOUT_ONE.format(path="/[a-z/]*") + "$")

    def test_that_has_no_journal(self):
        self.check_without_a_journal()

    def test_the_same_one_changes_nothing(self):
        for words in ("", "--layout merged", "--vendor-libs none",
                      "--driver-capabilities all", "--tree-path /usr/share/gpus"):
            done = self.second(f"--no-journal {words}", f"--device 0 {words}")
            with self.subTest(words=words):
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "0\n", ""))

    def test_the_same_one_of_which_a_part_is_gone(self):
        for part in ("umount $ROOT/dev/nvidia0", "umount -l $ROOT/usr/bin",
                     "mount --bind /dev/null $ROOT/usr/lib/gpuctr/lib64/libcuda.so.580.159.04"):
            done = self.second(f"--no-journal && {part}", "--device 0")
            with self.subTest(part=part):
                self.assertEqual((done.returncode, done.stdout), (0, "10\n"), done.stderr)

    def test_that_has_no_journal_in_a_user_namespace(self):
        self.check_without_a_journal(*userns_test.range_of_ids(self))

    def test_whose_mounts_were_copied(self):
        """Of the namespace that a runtime makes its container's from."""
        done = self.script("$SETUP --nv --device 0 --rootfs $ROOT && unshare --mount "
                           "$SETUP --nv --device 1 --rootfs $ROOT --no-journal; echo $?; "
                           "$SETUP undo --rootfs $ROOT")
        self.refused(done, "^" + self.WITHOUT_ONE.format(path="/[a-z/]*") + "$")

    def test_that_has_its_journal_elsewhere(self):
        """None of its mounts is where one of the second would be."""
        state = harness.DIRECTORY / "state"
        self.addCleanup(harness.call, "rm", "-rf", state)
        for bind in ("true", "mount --bind $ROOT $ROOT"):
            for words in ("--device 1", "--device 1 --tree-path /opt/gpus",
                          "--device 1 --vendor-libs none"):
                done = self.script(
                    f"{bind}; $SETUP --nv --device 0 --rootfs $ROOT --state-dir {state} || exit; "
                    f"$SETUP --nv --rootfs $ROOT --no-journal {words}; echo $?; "
                    "ls $ROOT/dev | grep nvidia1; "
                    f"$SETUP undo --rootfs $ROOT --state-dir {state}")
                with self.subTest(bind=bind, words=words):
                    self.refused(done, "^" + self.WITHOUT_ONE.format(path="/usr/lib/gpuctr") + "$")

    DEV = "mount --bind $ROOT $ROOT && mount -t tmpfs -o mode=0755 dev $ROOT/dev && "

    def test_of_device_nodes_alone(self):
        for words in ("--device 1", "--device 1 --vendor-libs none", "--vendor-libs none"):
            done = self.script(
                self.DEV + "$SETUP --nv --device 0 --rootfs $ROOT --vendor-libs none "
                f"--no-journal && $SETUP --nv --rootfs $ROOT --no-journal {words}; echo $?")
            with self.subTest(words=words):
                self.refused(done, "^" + self.WITHOUT_ONE.format(path="/dev/[a-z0-9-]+") + "$")

    def test_nodes_that_somebody_else_mounted_are_none(self):
        done = self.script(self.DEV + "for node in nvidiactl nvidia3; do >$ROOT/dev/$node && "
                           "mount --bind /dev/$node $ROOT/dev/$node || exit; done; "
                           "$SETUP --nv --device 3 --rootfs $ROOT --no-journal; echo $?")
        self.assertEqual((done.stdout, done.stderr), ("0\n", ""))

    def test_what_lies_beside_the_root_is_none(self):
        other = self.root.parent / (self.root.name + "-beside")
        other.mkdir()
        self.addCleanup(other.rmdir)
        done = self.script(f"mount -t tmpfs gpuctr {other} && "
                           "$SETUP --nv --device 1 --rootfs $ROOT --no-journal")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_staged_tree_of_the_host_is_none(self):
        """As the container sees it that has the host's /run."""
        done = self.script("$SETUP prepare --nv && mount --bind $ROOT $ROOT && "
                           "mount --rbind /run $ROOT/run && "
                           "$SETUP --nv --device 1 --rootfs $ROOT --no-journal; echo $?; "
                           "umount -l -R $ROOT; $SETUP prepare --undo")
        self.assertEqual((done.stdout, done.stderr), ("0\n", ""))

    def test_while_somebody_is_at_work(self):
        start = time.monotonic()
        done = self.script("$SETUP --nv --device 0 --rootfs $ROOT && "
                           "flock -x /var/lib/gpucontainer/*/lock "
                           "$SETUP --nv --device 1 --rootfs $ROOT --no-journal; echo $?; "
                           "$SETUP undo --rootfs $ROOT")
        self.assertLess(time.monotonic() - start, 15)
        self.assertEqual(done.stdout, "8\n")
        self.assertRegex(done.stderr, self.LOCKED)

    def test_a_command_of_its_own_has_a_copy(self):
        for first in ("", "--no-journal"):
            done = self.script(f"$SETUP --nv --device 0 --rootfs $ROOT {first} && "
                               "$SETUP --nv --device 1 --rootfs $ROOT -- ls /dev | grep nvidia1; "
                               "$SETUP undo -q --rootfs $ROOT")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "nvidia1\n", ""))


class StateDirectory(InANamespace):
    """It is not needed, so it keeps nobody from anything."""

    HOOK = "mount --bind $ROOT $ROOT && $SETUP --nv --device 3 --rootfs $ROOT --no-journal"

    def check(self, **variables):
        for prefix in (userns_test.range_of_ids(self), []):
            done = self.script(self.HOOK, prefix=prefix, variables=variables)
            self.assertEqual((done.returncode, done.stderr), (0, ""), variables)

    def test_that_is_not_there(self):
        self.check(HOME="/dev/null")
        self.check(XDG_STATE_HOME="/dev/null")

    def test_that_is_a_file(self):
        for path in ("/etc/passwd", "/dev/null", "/etc/passwd/state"):
            self.check(GPUCTR_STATE_DIR=path)

    def test_that_is_full_of_what_is_no_journal(self):
        state = harness.DIRECTORY / "state"
        self.addCleanup(harness.call, "rm", "-rf", state)
        status = os.stat(self.root)
        place = state / f"{status.st_dev}-{status.st_ino}"
        (place / "lock").mkdir(parents=True, mode=0o700)
        self.check(GPUCTR_STATE_DIR=str(state))
        harness.must("rm", "-r", place)
        place.write_text("")
        self.check(GPUCTR_STATE_DIR=str(state))

    def test_that_leads_in_a_circle(self):
        loop = harness.DIRECTORY / "loop"
        loop.symlink_to("loop")
        self.addCleanup(loop.unlink)
        self.check(GPUCTR_STATE_DIR=str(loop))


class Options(InANamespace):
    def test_a_site_may_want_it(self):
        for prefix, variables in ((userns_test.range_of_ids(self), {"GPUCTR_NO_JOURNAL": "true"}),
                                  ((), {"GPUCTR_NO_JOURNAL": "true", "GPUCTR_WRITE": "always",
                                        "GPUCTR_STATE_DIR": "/nowhere"})):
            done = self.hook("", prefix=prefix, variables=variables)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.write(CONFIG, "no-journal: true\nstate-dir: /nowhere\nwrite: always\n"
                           "no-replace: true\n")
        self.before = self.state()
        done = self.hook("")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_is_typed_counts(self):
        self.write(CONFIG, "no-journal: true\n")
        before = self.state()
        self.apply("--state-dir", harness.STATE)
        self.assertEqual(len(harness.journals()), 1)
        self.apply("--device", "1", "--no-replace", status=10, stderr=None)
        self.undo()
        self.assert_state(before)
        self.apply("--", "true")
        self.apply("--write", "always")
        self.undo()


if __name__ == "__main__":
    unittest.main()
