# SPDX-License-Identifier: MIT
"""Files that decide for the command: who could have written them (T26)."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

import harness
import silent_test

CATALOGUES = "/etc/gpucontainer/catalogue.d"
CONFIG = "/etc/gpucontainer/config.yaml"
RULES = """vendor: nvidia
files:
  - library: libcrypt.so.1
    capability: compute
    unversioned: true
    reason: whatever its writer wanted
"""


def setUpModule():
    """An /etc of its own to write in, over that of the simulated host."""
    for name in ("etc", "work"):
        (harness.DIRECTORY / name).mkdir()
    harness.must("mount", "-t", "overlay", "-o",
                 f"lowerdir=/etc,upperdir={harness.DIRECTORY}/etc,workdir={harness.DIRECTORY}/work",
                 "test", "/etc")


def tearDownModule():
    harness.must("umount", "/etc")


class Case(harness.Case):

    def setUp(self):
        super().setUp()
        self.place = harness.DIRECTORY / "place"
        self.place.mkdir(mode=0o755)
        self.addCleanup(harness.must, "rm", "-rf", self.place)
        os.makedirs(CATALOGUES)
        self.addCleanup(shutil.rmtree, "/etc/gpucontainer")

    def write(self, path, text=RULES, mode=0o644, owner=0):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.chown(path, owner, owner)
        path.chmod(mode)
        return path

    def names(self, *words):
        done = self.run_setup("list", "--nv", "--format", "json", *words, stdout=None)
        return {file["soname"] for file in json.loads(done.stdout)["drivers"][0]["files"]}

    def assert_followed(self, path):
        self.assertIn("libcrypt.so.1", self.names("--catalogue", path))

    def assert_refused(self, path, problem):
        with self.nothing_changes():
            done = self.apply("--catalogue", path, status=6, stderr=None)
        self.assertRegex(done.stderr, f"^gpuctr-setup: catalogue: {problem}.*\nhint: .*\n$")


class Files(Case):

    def test_the_command_line_of_a_users_process(self):
        """T26"""
        program = self.place / "cat"
        harness.must("cp", "/bin/cat", program)
        program.chmod(0o111)  # nothing of a process that runs it is its user's
        script = f"import os; os.execv('{program}', [{RULES + '...' + chr(10) + '#'!r}])"
        with subprocess.Popen([*harness.ORDINARY_USER, "/usr/bin/python3", "-c", script],
                              stdin=subprocess.PIPE) as process:
            self.addCleanup(process.send_signal, signal.SIGKILL)
            text = f"/proc/{process.pid}/cmdline"
            while b"vendor" not in pathlib.Path(text).read_bytes()[:6] or os.stat(text).st_uid:
                time.sleep(0.01)
            link = self.place / "link.yaml"
            link.symlink_to(text)
            for path in (text, link):
                self.assert_refused(path, "/proc: on a file system that proves no owner")
            process.stdin.close()

    def test_a_file_in_user_space_that_says_it_is_roots(self):
        """T26"""
        device = self.place / "fuse"
        silent_test.make_device(device)
        source, shown = self.place / "source", self.place / "shown"
        self.write(source / "site.yaml")
        self.write(source / "linked.yaml")
        shown.mkdir()
        self.addCleanup(harness.call, "umount", "-l", shown)
        silent_test.FileSystem(self, silent_test.SILENT, device, source, shown)
        (source / "link.yaml").symlink_to("linked.yaml")
        self.assertEqual(os.stat(shown / "site.yaml").st_uid, 0)
        self.assert_refused(shown / "site.yaml", f"{shown}: on a file system that proves no owner")
        self.assert_refused(shown / "link.yaml", f"{shown}/link.yaml: on a file system that ")

    def test_files_that_others_may_write(self):
        """T26"""
        path = self.place / "site.yaml"
        for mode, owner, problem in ((0o664, 0, "its group may write it"),
                                     (0o646, 0, "everybody may write it"),
                                     (0o666, 0, "everybody may write it"),
                                     (0o644, 4711, "belongs to user 4711")):
            self.write(path, mode=mode, owner=owner)
            self.assert_refused(path, f"{path}: {problem}")
            path.unlink()
            self.write(pathlib.Path(CATALOGUES, "site.yaml"), mode=mode, owner=owner)
            done = self.run_setup("list", "--nv", status=6, stderr=None)
            self.assertIn(f"{CATALOGUES}/site.yaml: {problem}", done.stderr)
            os.unlink(f"{CATALOGUES}/site.yaml")

    def test_a_configuration_that_its_group_may_write(self):
        """T26"""
        with open(CONFIG, "w", encoding="utf-8") as file:
            file.write("device: 0\n")
        os.chmod(CONFIG, 0o664)
        self.run_setup("list", status=6,
                       stderr=f"gpuctr-setup: configuration: {CONFIG}: its group may write it\n"
                              f"hint: take the permission away: chmod go-w {CONFIG}\n")

    def test_an_access_list_with_somebody_else_on_it(self):
        """T26"""
        path = self.write(self.place / "site.yaml")
        # Version 2: owner rw, user 4711 rw, group r, mask rw, others r.
        entries = ((1, 6, -1), (2, 6, 4711), (4, 4, -1), (0x10, 6, -1), (0x20, 4, -1))
        value = b"\2\0\0\0" + b"".join(
            tag.to_bytes(2, "little") + bits.to_bytes(2, "little")
            + (who % 2**32).to_bytes(4, "little") for tag, bits, who in entries)
        os.setxattr(path, "system.posix_acl_access", value)
        self.assert_refused(path, f"{path}: its group may write it")


    def test_a_link_of_procfs(self):
        """T26"""
        path = self.write(self.place / "site.yaml")
        self.assert_refused(f"/proc/self/root{path}", "/proc/self: on a file system")


class Directories(Case):

    def test_directories_that_others_may_write(self):
        """T26"""
        inner = self.place / "inner"
        path = self.write(inner / "site.yaml")
        self.assert_followed(path)
        for directory in (self.place, inner):
            for mode, owner, problem in ((0o775, 0, "its group may write it"),
                                         (0o777, 0, "everybody may write it"),
                                         (0o755, 4711, "belongs to user 4711"),
                                         (0o1777, 4711, "belongs to user 4711")):
                os.chown(directory, owner, owner)
                directory.chmod(mode)
                self.assert_refused(path, f"{directory}: {problem}")
                os.chdir(inner)
                self.assert_refused("site.yaml", f"{directory}: {problem}")
                os.chdir("/")
            os.chown(directory, 0, 0)
            directory.chmod(0o755)
        self.assert_followed(path)

    def test_in_a_sticky_directory_what_is_roots_stays(self):
        self.place.chmod(0o1777)
        self.assert_followed(self.write(self.place / "site.yaml"))
        self.place.chmod(0o1775)
        self.assert_followed(self.place / "site.yaml")

    def test_links_lead_through_directories_that_are_looked_at(self):
        """T26"""
        theirs = self.place / "theirs"
        path = self.write(self.place / "ours/site.yaml")
        theirs.mkdir()
        link = self.place / "link"
        link.symlink_to("theirs/down/../../ours/site.yaml")
        (theirs / "down").mkdir()
        self.assert_followed(link)
        theirs.chmod(0o777)
        self.assert_refused(link, f"{theirs}: everybody may write it")
        theirs.chmod(0o1777)
        self.assert_followed(link)
        mine = theirs / "link"
        mine.symlink_to(path)
        self.assert_followed(mine)
        os.chown(mine, 4711, 4711, follow_symlinks=False)
        self.assert_refused(mine, f"{mine}: belongs to user 4711")

    def test_what_is_missing_is_no_matter_of_trust(self):
        self.place.chmod(0o777)
        self.run_setup("list", "--catalogue", self.place / "site.yaml", status=2,
                       stderr=f"gpuctr-setup: catalogue {self.place}/site.yaml: No such file or "
                              "directory\n")


class Journals(Case):
    """A journal in an image is its maker's word, whatever the way to it is called."""

    def setUp(self):
        super().setUp()
        self.image = self.place / "image"
        self.image.mkdir()
        harness.must("mount", "--bind", self.root, self.image)
        self.addCleanup(harness.must, "umount", "-l", self.image)

    def refuse(self, state, *target):
        """No command looks into it, and nothing comes to be there."""
        target = target or ("--rootfs", self.root)
        with self.nothing_changes():
            for words in (["--nv"], ["undo"], ["status"]):
                done = self.run_setup(*words, *target, "--state-dir", state, status=2, stderr=None)
                self.assertEqual(done.stderr, f"gpuctr-setup: journal directory {state}: inside the "
                                              "root file system, where it is not safe\n")

    def test_in_the_image(self):
        """T27"""
        (self.root / "there").mkdir()
        for name in ("new", "there", "usr/../new/below", "."):
            self.refuse(self.root / name)
        self.refuse(self.root)

    def test_by_a_relative_path(self):
        """T27"""
        self.addCleanup(os.chdir, "/")
        os.chdir(self.root / "usr")
        for path in ("../new", "lib/new", "."):
            self.refuse(path)
        os.chdir(self.root.parent)
        self.refuse(f"{self.root.name}/new")
        os.chdir(self.image / "usr")
        self.refuse("../new")

    def test_by_a_link(self):
        """T27"""
        link = self.place / "link"
        link.symlink_to(self.root / "var")
        self.refuse(link)
        self.refuse(link / "new")
        (self.root / "out").symlink_to(self.place)
        self.refuse(self.root / "out/new")

    def test_by_another_mount_of_the_image(self):
        """T27"""
        self.refuse(self.image)
        self.refuse(self.image / "var/new")
        self.refuse(self.root / "new", "--rootfs", self.image)
        alias = self.place / "alias"
        alias.mkdir()
        harness.must("mount", "--bind", self.root.parent, alias)
        self.addCleanup(harness.must, "umount", "-l", alias)
        self.refuse(alias / self.root.name / "var/new")

    def test_by_a_mount_of_a_directory_of_the_image(self):
        """T27"""
        alias = self.place / "al ias"
        alias.mkdir()
        harness.must("mount", "--bind", self.root / "var", alias)
        self.addCleanup(harness.must, "umount", "-l", alias)
        self.refuse(alias)
        self.refuse(alias / "new")
        self.refuse(alias, "--rootfs", self.image)
        aside = harness.new_root()
        self.addCleanup(harness.must, "rm", "-rf", aside)
        self.run_setup("status", "--rootfs", aside, "--state-dir", alias / "new",
                       stderr=f"gpuctr-setup: nothing is set up in {aside}\n")

    def test_of_a_process(self):
        """T27"""
        with subprocess.Popen(["unshare", "--mount", "chroot", self.root, "/usr/bin/cat"],
                              stdin=subprocess.PIPE) as process:
            while os.readlink(f"/proc/{process.pid}/root") != str(self.root):
                time.sleep(0.01)
            self.refuse(self.image / "new", "--pid", process.pid)
            process.stdin.close()

    def test_of_a_descriptor(self):
        """T27"""
        descriptor = os.open(self.image, os.O_PATH)
        self.addCleanup(os.close, descriptor)
        with self.nothing_changes():
            for words in (["--nv"], ["undo"], ["status"]):
                self.run_setup(*words, "--rootfs-fd", descriptor, "--state-dir", self.root / "new",
                               pass_fds=[descriptor], status=2, stderr=None)

    def test_of_all_that_it_names(self):
        """T27"""
        state = self.place / "state"
        self.apply("--state-dir", state)
        applied, times = self.state(), os.stat(self.root)
        inside = self.root / "state"
        harness.must("cp", "-a", state, inside)
        for words, status in ((["undo", "--all"], 2), (["status", "--all"], 9)):
            done = self.run_setup(*words, "--state-dir", inside, status=status, stdout=None,
                                  stderr=None)
            self.assertIn("inside the root file system", done.stdout + done.stderr)
        harness.must("rm", "-rf", inside)
        os.utime(self.root, ns=(times.st_atime_ns, times.st_mtime_ns))
        self.assert_state(applied)
        self.undo("--state-dir", state)

    def test_a_directory_that_contains_the_image_is_outside_of_it(self):
        self.addCleanup(os.chdir, "/")
        os.chdir(self.root.parent)
        before = self.state()
        for state in (".", "state", self.root.parent, "../" + self.root.parent.name + "/state"):
            self.apply("--state-dir", state)
            self.undo("--state-dir", state)
            self.assert_state(before)
        harness.must("rm", "-rf", "state")

    def test_in_a_directory_that_others_may_write(self):
        """T26"""
        self.place.chmod(0o775)
        for state in (self.place, self.place / "new"):
            done = self.apply("--state-dir", state, status=6, stderr=None)
            self.assertIn(f"journal directory: {self.place}: its group may write it", done.stderr)
        self.assertFalse((self.place / "new").exists())

    def test_a_journal_that_others_may_write(self):
        """T26"""
        self.apply()
        [journal] = harness.STATE.glob("*/*.json")
        journal.chmod(0o660)
        done = self.undo(status=6, stderr=None)
        self.assertRegex(done.stderr, f"{journal.name}: its group may write it\nhint: ")
        journal.chmod(0o600)
        self.undo()


if __name__ == "__main__":
    unittest.main()
