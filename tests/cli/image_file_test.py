# SPDX-License-Identifier: MIT
"""Root file systems that are one file: squashfs and SIF, with -- CMD."""

import contextlib
import os
import pathlib
import shutil
import stat
import struct
import subprocess
import sys
import time
import unittest

import harness
import run_test
from harness import TREE, VERSION

USER = ["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups"]
PARTITION, SIGNATURE, OCI_INDEX = 0x4004, 0x4005, 0x400A
SQUASHFS, EXT3, ENCRYPTED = 1, 2, 5
OF_ROOT, OF_DATA, OF_OVERLAY = 2, 3, 4
PAGE = 4096
KNOWN = ("hint: name a directory, a SIF, or a file with squashfs; plan and check also read archives of "
         "docker save\n")
COPY = "hint: copy it once more\n"
CONVERT = "hint: convert it: apptainer build NEW.sif IMAGE\n"
LOOK = ("sh", "-c", "cat /proc/self/mounts")


def row(kind, offset=PAGE, size=0, file_system=SQUASHFS, purpose=OF_ROOT, used=1):
    """One of the table of a SIF."""
    extra = struct.pack("<II3s", file_system, purpose, b"02\0")
    return struct.pack("<IBIII7q128s384s", kind, used, 1, 1, 0, offset, size, size, 0, 0, 0, 0,
                       b"", extra)


def sif(rows, content=b"", count=None, table=128):
    """A SIF with this table; what lies in it begins on the next page."""
    count = len(rows) if count is None else count
    header = struct.pack("<32s10s3s3s16s8q", b"#!/usr/bin/env run-singularity\n", b"SIF_MAGIC",
                         b"01", b"02", b"", 0, 0, 0, count, table, len(rows) * 585, PAGE,
                         len(content))
    return (header + b"".join(rows)).ljust(PAGE, b"\0") + content


def squashfuses():
    """Processes of squashfuse that still run."""
    found = []
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if text.startswith("Name:\tsquashfuse") and "State:\tZ" not in text:
            found.append(status.parent.name)
    return found


def loop_devices():
    return harness.must("losetup", "--list", "--noheadings", "--output", "BACK-FILE")


class Case(harness.Case):
    """An image of the small root file system, which everybody may read."""

    prefix = []

    @classmethod
    def setUpClass(cls):
        os.chmod(harness.DIRECTORY, 0o755)
        for name, kind, major, minor in [("loop-control", stat.S_IFCHR, 10, 237),
                                         *((f"loop{n}", stat.S_IFBLK, 7, n) for n in range(64))]:
            if not os.path.exists(f"/dev/{name}"):
                os.mknod(f"/dev/{name}", kind | 0o660, os.makedev(major, minor))
        if not os.path.exists("/dev/fuse"):
            os.mknod("/dev/fuse", stat.S_IFCHR | 0o666, os.makedev(10, 229))
            os.chmod("/dev/fuse", 0o666)

    def setUp(self):
        super().setUp()
        scripts = self.root / ".singularity.d/env"
        scripts.mkdir(parents=True)
        (scripts / "10-docker.sh").write_text(
            'export OF_IMAGE="yes"\nexport PATH="/opt/app:/usr/bin:/bin:/sbin"\ntouch /executed\n')
        (self.root / "tmp").mkdir(exist_ok=True)
        (self.root / "tmp").chmod(0o1777)
        self.squashfs = harness.DIRECTORY / "image.sqfs"
        self.squashfs.unlink(missing_ok=True)
        self.make_squashfs()
        self.addCleanup(self.squashfs.unlink, missing_ok=True)

    def make_squashfs(self):
        harness.must("mksquashfs", self.root, self.squashfs, "-quiet", "-no-progress",
                     "-all-root", "-noI", "-noD", "-noF", "-noX")

    def image(self, content, name="image.sif"):
        path = harness.DIRECTORY / name
        path.write_bytes(content)
        path.chmod(0o644)
        self.addCleanup(path.unlink, missing_ok=True)
        return path

    def sif(self, *more, **of_root):
        content = self.squashfs.read_bytes()
        return self.image(sif([row(PARTITION, size=len(content), **of_root), *more], content))

    def damaged(self):
        content = bytearray(self.squashfs.read_bytes())
        content[48:56] = b"\xff" * 7 + b"\0"  # where its table of owners is
        return self.image(bytes(content))

    def run_in(self, image, *words, options=(), status=0, stderr=""):
        before = loop_devices()
        done = harness.call(*self.prefix, harness.SETUP, "--nv", "--rootfs", image, *options, "--",
                            *words)
        self.assertEqual(done.returncode, status, done.stderr)
        if stderr is not None:
            self.assertEqual(done.stderr, stderr)
        self.assertEqual(loop_devices(), before)
        return done.stdout

    def refused(self, image, message, hint, status=5, options=()):
        self.run_in(image, "true", options=options, status=125,
                    stderr=f"gpuctr-setup: image {image}: {message} (error {status})\n{hint}")


class Images:
    """What holds for every caller."""

    def test_has_the_gpus(self):
        for image in (self.squashfs, self.sif()):
            with self.subTest(image=image.name):
                found = self.run_in(image, "/sbin/ldconfig", "-p")
                self.assertIn(f"libcuda.so.1 (libc6,x86-64) => {TREE}/lib64/libcuda.so.1", found)
                nodes = self.run_in(image, "sh", "-c", "ls /dev", options=("--device", "1,3"))
                self.assertEqual([n for n in nodes.split() if n[:6] == "nvidia" and n[6:].isdigit()],
                                 ["nvidia1", "nvidia3"])
                self.assertEqual(self.run_in(image, "readlink", f"{TREE}/lib64/libcuda.so.1"),
                                 f"libcuda.so.{VERSION}\n")

    def test_is_not_written(self):
        content = self.squashfs.read_bytes()
        self.run_in(self.squashfs, "touch", "/new", status=1, stderr=None)
        self.assertEqual(self.squashfs.read_bytes(), content)
        root = [line.split() for line in self.run_in(self.squashfs, *LOOK).splitlines()
                if line.split()[1] == "/"]
        self.assertEqual([line[2] for line in root], [self.file_system])
        for option in ("ro", "nosuid", "nodev"):
            self.assertIn(option, root[0][3].split(","))

    def test_has_the_environment_of_the_image(self):
        script = 'echo "$OF_IMAGE $PATH"; test ! -e /executed'
        self.assertEqual(self.run_in(self.squashfs, "sh", "-c", script),
                         "yes /opt/app:/usr/bin:/bin:/sbin\n")
        self.assertEqual(self.run_in(self.squashfs, "sh", "-c", script,
                                     options=["--setenv", "OF_IMAGE=no"]),
                         "no /opt/app:/usr/bin:/bin:/sbin\n")

    def test_signed_ones_are_used_on_request(self):
        signed = self.sif(row(SIGNATURE))
        self.run_in(signed, "true", status=125,
                    stderr=f"gpuctr-setup: image {signed} is signed, and its signatures were not "
                           "checked (error 7)\nhint: check them with `apptainer verify IMAGE`, "
                           "then add --no-verify\n")
        self.run_in(signed, "true", options=["--no-verify"])

    def test_says_that_an_overlay_is_left_out(self):
        image = self.sif(row(PARTITION, purpose=OF_OVERLAY, file_system=EXT3),
                         row(PARTITION, purpose=OF_DATA), row(PARTITION, used=0))
        self.run_in(image, "true", stderr=f"gpuctr-setup: warning: image {image}: the changes in "
                                          "its overlay are left out\n")


class AsRoot(Images, Case):
    """Mounted by the kernel."""

    file_system = "squashfs"

    def test_owners_are_those_of_the_image(self):
        self.assertEqual(self.run_in(self.squashfs, "stat", "-c", "%u", "/etc"), "0\n")

    def test_keeps_what_is_written_in_memory(self):
        script = "echo hello >/tmp/new && cat /tmp/new"
        self.assertEqual(self.run_in(self.squashfs, "sh", "-c", script,
                                     options=["--writable-tmpfs"]), "hello\n")
        self.run_in(self.squashfs, "cat", "/tmp/new", status=1, stderr=None)
        found = self.run_in(self.squashfs, "/sbin/ldconfig", "-p", options=["--writable-tmpfs"])
        self.assertIn(f"{TREE}/lib64/libcuda.so.1", found)

    def test_names_are_made_where_root_may_write(self):
        script = "echo 1 >/etc/new && readlink /usr/bin/nvidia-smi && ls /etc/new"
        self.assertEqual(self.run_in(self.squashfs, "sh", "-c", script,
                                     options=["--writable-tmpfs"]),
                         f"{TREE}/bin/nvidia-smi\n/etc/new\n")

    def test_links_of_the_image_lead_no_name_to_what_the_host_shares(self):
        harness.must("rm", "-rf", self.root / "etc")
        for where in ("/dev/shm", "/sys/fs/cgroup"):
            with self.subTest(where), run_test.shared(where):
                (self.root / "etc").symlink_to(where)
                self.squashfs.unlink()
                self.make_squashfs()
                self.run_in(self.squashfs, "true", options=["--writable-tmpfs"])
                self.assertEqual(os.listdir(where), [])
                (self.root / "etc").unlink()

    def test_setuid_programs_are_a_choice(self):
        setuid, memory = "--allow-setuid", "--writable-tmpfs"
        for options, said in (((), "nosuid"), ([memory], "nosuid"), ([setuid], "suid"),
                              ([setuid, memory], "suid")):
            root = [line.split() for line in
                    self.run_in(self.squashfs, *LOOK, options=options).splitlines()
                    if line.split()[1] == "/"]
            self.assertEqual("nosuid" in root[0][3].split(","), said == "nosuid")

    def distrusted(self, image, message):
        self.run_in(image, "true", status=125,
                    stderr=f"gpuctr-setup: mount image {image}: {message} (error 6)\n"
                           "hint: copy it to where root alone may write, or start this as an "
                           "ordinary user, for whom squashfuse reads it\n")

    def test_that_others_may_write(self):
        """The kernel does not expect a file system that changes by itself."""
        os.chown(self.squashfs, 12345, 12345)
        self.distrusted(self.squashfs, f"{self.squashfs}: belongs to user 12345")
        os.chown(self.squashfs, 0, 0)
        for mode, who in ((0o664, "its group"), (0o646, "everybody")):
            self.squashfs.chmod(mode)
            self.distrusted(self.squashfs, f"{self.squashfs}: {who} may write it")

    def test_on_a_way_of_others(self):
        """They would have another file mounted, such as a copy of theirs in root's archive."""
        theirs = harness.DIRECTORY / "theirs"
        theirs.mkdir()
        self.addCleanup(shutil.rmtree, theirs)
        (theirs / "image").symlink_to(self.squashfs)
        os.chown(theirs, 12345, 12345)
        self.distrusted(theirs / "image", f"{theirs}: belongs to user 12345")

    def test_what_is_in_an_image_of_others_is_not_trusted(self):
        """Whoever may write an image says that its files are root's."""
        place = harness.DIRECTORY / "disk"
        content = harness.DIRECTORY / "content"
        content.mkdir()
        theirs = harness.DIRECTORY / "theirs"
        theirs.mkdir()
        image = theirs / "disk.sqfs"
        (content / "config.yaml").write_text("device: none\n")
        harness.must("mksquashfs", content, image, "-quiet", "-no-progress", "-all-root")
        place.mkdir()
        harness.must("mount", "-o", "loop", image, place)
        for undo in ((shutil.rmtree, content), (shutil.rmtree, theirs), (place.rmdir,),
                     (harness.call, "umount", place)):
            self.addCleanup(*undo)
        # The simulated /sys/dev/block is empty, and the devices themselves are the machine's.
        minor = os.minor(os.stat(place).st_dev)
        link = pathlib.Path(f"/sys/dev/block/7:{minor}")
        words = ("list", "--config", place / "config.yaml")
        unknown = harness.setup(*words)
        self.assertEqual(unknown.returncode, 6, unknown.stderr)
        self.assertIn(f"{link} does not say which", unknown.stderr)
        (content / link.name).symlink_to(f"/sys/devices/virtual/block/loop{minor}")
        harness.must("mount", "--bind", content, link.parent)
        self.addCleanup(harness.must, "umount", link.parent)
        trusted = harness.setup(*words)
        self.assertEqual(trusted.returncode, 0, trusted.stderr)
        for changed, user, mode, why in ((image, 12345, 0o644, "belongs to user 12345"),
                                         (image, 0, 0o666, "everybody may write it"),
                                         (theirs, 12345, 0o755, "belongs to user 12345")):
            for path in (image, theirs):
                os.chown(path, 0, 0)
                path.chmod(0o755)
            os.chown(changed, user, user)
            changed.chmod(mode)

            done = harness.setup(*words)

            self.assertEqual(done.returncode, 6, done.stderr)
            self.assertIn(f"on a file system in a file: {changed}: {why}", done.stderr)

    def test_damaged_ones(self):
        damaged = self.damaged()
        self.run_in(damaged, "true", status=125,
                    stderr=f"gpuctr-setup: mount image {damaged}: Invalid argument (error 5)\n"
                           "hint: it is damaged, or compressed in a way that this kernel does not "
                           "know; its log says more\n")


@unittest.skipIf(shutil.which("squashfuse") is None, "squashfuse is not installed")
class AsUser(Images, Case):
    """Read by squashfuse."""

    prefix = USER
    file_system = "fuse"

    def tearDown(self):
        end = time.monotonic() + 10
        while squashfuses() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(squashfuses(), [])
        super().tearDown()

    def test_has_no_child_that_it_does_not_know(self):
        script = "cat /proc/$$/task/$$/children; echo"
        self.assertEqual(self.run_in(self.squashfs, "sh", "-c", script).split()[1:], [])

    @contextlib.contextmanager
    def server(self, *prefix, **options):
        """Process number of squashfuse while a container runs."""
        words = [*prefix, harness.SETUP, "--nv", "--rootfs", self.squashfs, "--", "sh", "-c",
                 "echo; read line; true"]
        with subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, **options) as process:
            process.stdout.readline()
            (found,) = squashfuses()
            yield pathlib.Path("/proc", found)
            process.stdin.close()
        self.assertEqual(process.returncode, 0)

    def test_descriptors_of_the_caller_end_with_the_command(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        with self.server(*USER, pass_fds=[writer]) as process:
            os.close(writer)
            files = {os.readlink(link) for link in (process / "fd").iterdir()}
        self.assertLessEqual(files, {"/dev/null", str(self.squashfs), "/", "/dev/fuse"})

    def test_capabilities_are_not_for_what_reads_the_image(self):
        ambient = "+dac_override,+sys_ptrace"
        with self.server(*USER, "--inh-caps", ambient, "--ambient-caps", ambient) as process:
            status = dict(line.split(":\t") for line in
                          (process / "status").read_text().splitlines())
        for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(status[kind], 16), 0, kind)
        self.assertEqual(status["NoNewPrivs"], "1")

    def test_of_a_caller_that_ignores_ends_of_children(self):
        ignore = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); " \
                 "os.execvp(sys.argv[1], sys.argv[1:])"
        done = harness.call(*USER, sys.executable, "-c", ignore, harness.SETUP, "--nv", "--rootfs",
                            self.squashfs, "--", "true")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_damaged_ones(self):
        damaged = self.damaged()
        self.run_in(damaged, "true", status=125,
                    stderr=f"gpuctr-setup: mount image {damaged}: squashfuse ended (error 5)\n"
                           "hint: see what it says: squashfuse IMAGE DIR; versions that use "
                           "libfuse 2 cannot serve this mount\n")

    def test_no_program_of_the_working_directory_reads_the_image(self):
        for place in (harness.DIRECTORY, harness.DIRECTORY / "below"):
            place.mkdir(exist_ok=True)
            for name in ("squashfuse", "squashfuse_ll"):
                (place / name).write_text("#!/bin/sh\nexit 1\n")
                (place / name).chmod(0o755)
                self.addCleanup((place / name).unlink)
        for path in (".", "", "below", "./below"):
            with self.subTest(path=path):
                done = harness.call(*USER, "env", "-C", harness.DIRECTORY,
                                    f"PATH={path}:{os.environ['PATH']}", harness.SETUP, "--nv",
                                    "--rootfs", self.squashfs, "--", "true")
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_without_squashfuse(self):
        for name in ("squashfuse", "squashfuse_ll"):
            if path := shutil.which(name):
                harness.must("mount", "--bind", "/dev/null", path)
                self.addCleanup(harness.must, "umount", path)
        self.run_in(self.squashfs, "true", status=125,
                    stderr="gpuctr-setup: squashfuse is not installed, which reads images for "
                           "ordinary users (error 7)\nhint: install it (package squashfuse), or "
                           "unpack the image: unsquashfs, or apptainer build --sandbox DIR "
                           "IMAGE\n")

    def test_cannot_be_made_writable(self):
        self.run_in(self.squashfs, "true", options=["--writable-tmpfs"], status=125,
                    stderr="gpuctr-setup: --writable-tmpfs: the files of an image belong to root, "
                           "who is nobody in the user namespace of an ordinary user (error 7)\n"
                           "hint: give CMD a directory to write into, with --bind SRC:DST; or "
                           "unpack the image\n")

    def test_that_only_others_may_read(self):
        self.squashfs.chmod(0o600)
        self.run_in(self.squashfs, "true", status=125,
                    stderr=f"gpuctr-setup: image {self.squashfs}: Permission denied (error 6)\n"
                           "hint: this user has to be able to read it\n")


class Refused(Case):
    """Files that cannot be used."""

    def test_other_files(self):
        for content in (b"", b"#!/bin/sh\n", b"x" * 200):
            self.refused(self.image(content), "neither a directory nor an image"
                         + ("" if len(content) < 128 else " of a known kind"), KNOWN)

    def test_tables_that_lie(self):
        content = self.squashfs.read_bytes()
        outside = "the table of a SIF in it does not lie within the file"
        for made in (sif([], count=4097), sif([], count=2**62), sif([], count=1, table=2**40),
                     sif([], count=-1), sif([], count=2**64 // 585 + 1), sif([], count=7, table=PAGE - 585 * 7 + 1)):
            self.refused(self.image(made), outside, COPY)
        beyond = "its root file system does not lie within the file"
        for offset, size in ((PAGE, len(content) + 1), (2**63 - 1, 2**63 - 1), (-1, 1), (PAGE, -1)):
            self.refused(self.image(sif([row(PARTITION, offset, size)], content)), beyond, COPY)
        self.refused(self.image(sif([row(PARTITION, 0, 100)], content)),
                     "there is no squashfs where its root file system should be", "")
        self.refused(self.image(sif([row(PARTITION, PAGE, len(content) // 2)], content)),
                     "it is cut off: the squashfs in it is larger", COPY)
        self.refused(self.image(sif([row(PARTITION, PAGE, len(content))] * 2, content)),
                     "two partitions of the SIF say that they are its root file system", "")
        self.refused(self.image(sif([row(PARTITION, purpose=OF_DATA)])),
                     "a SIF without a root file system", "")

    def test_cut_off_squashfs(self):
        self.refused(self.image(self.squashfs.read_bytes()[:-PAGE]),
                     "it is cut off: the squashfs in it is larger", COPY)

    def test_kinds_that_are_not_for_us(self):
        for rows, message, hint in (
                ([row(PARTITION, file_system=ENCRYPTED)], "it is encrypted",
                 "hint: Apptainer decrypts it: apptainer exec --nv IMAGE CMD\n"),
                ([row(PARTITION, file_system=EXT3)],
                 "its root file system is ext3, which only root could mount safely", CONVERT),
                ([row(PARTITION, file_system=9)],
                 "its root file system is of kind 9, which is not known", CONVERT),
                ([row(OCI_INDEX)], "a SIF that holds an OCI image", CONVERT)):
            self.refused(self.image(sif(rows)), message, hint, status=7)
        old = bytearray(self.squashfs.read_bytes())
        old[28:32] = struct.pack("<HH", 3, 1)
        self.refused(self.image(bytes(old)), "squashfs of version 3.1",
                     "hint: version 4.0 can be read: make the image again with mksquashfs\n",
                     status=7)

    def test_without_a_command(self):
        for words in ((), ("--dry-run",)):
            self.run_setup("--nv", "--rootfs", self.squashfs, *words, status=5,
                           stderr=f"gpuctr-setup: root file system {self.squashfs}: Not a "
                                  "directory\nhint: name a directory; an image file (SIF or "
                                  "squashfs) goes with -- CMD, plan and check\n")

    def test_options_of_images_alone(self):
        for option in ("--writable-tmpfs", "--no-verify"):
            self.run_setup("--nv", "--rootfs", self.root, option, "--", "true", status=2,
                           stderr="gpuctr-setup: --writable-tmpfs and --no-verify go with an image "
                                  "file\nhint: gpuctr-setup apply --help\n")

    def test_what_is_no_file(self):
        fifo = harness.DIRECTORY / "fifo"
        os.mkfifo(fifo)
        self.addCleanup(fifo.unlink)
        self.run_in(fifo, "true", status=125, stderr=None)


if __name__ == "__main__":
    unittest.main()
