# SPDX-License-Identifier: MIT
"""Who does a step, on whose file, and with which permission bits.

Root sets a container up and undoes it, while what is in it belongs to an ordinary user,
who exchanges files and mounts as he likes. Nothing of root's gets bits that he chose, and
nothing is made, removed or written where he may not do that himself."""

import os
import signal
import stat
import struct
import unittest

import harness
import hostile
import process_test
import snapshot
from harness import TREE

USER = 65534
CACHE = "etc/ld.so.cache"


def owner_and_mode(path):
    status = os.lstat(path)
    return status.st_uid, stat.S_IMODE(status.st_mode)


class Files(hostile.Case):
    """Of a root file system that is named by its path."""

    def replace_cache(self, path, mode):
        """As a user does who may write the directory: a file of his own, with our entries."""
        forged = f"{path}.his"
        with open(path, "rb") as ours, open(forged, "wb") as file:
            file.write(ours.read())
        os.chown(forged, USER, USER)
        os.chmod(forged, mode)
        os.rename(forged, path)

    def check_forged_cache(self, *options):
        for mode in (0o6777, 0o4755, 0o666, 0o600):
            with self.subTest(mode=oct(mode)):
                self.apply("--device", "0", *options)
                self.replace_cache(self.root / CACHE, mode)

                self.undo()

                self.assertEqual(owner_and_mode(self.root / CACHE), (USER, 0o644))
                self.assertNotIn(TREE, self.inside("ldconfig", "-p"))
                self.assertEqual([name for name in os.listdir(self.root / "etc") if "kept" in name],
                                 [])
                self.assertEqual(harness.journals(), [])
                self.assert_canary()

    def test_undo_gives_a_users_loader_cache_no_bits_and_no_other_owner(self):
        os.chown(self.root / "etc", USER, USER)
        self.check_forged_cache()

    def test_neither_in_a_root_that_is_all_his(self):
        harness.must("chown", "-R", "-h", f"{USER}:{USER}", self.root)
        self.check_forged_cache("--write", "always")

    def test_what_he_could_not_replace_himself_is_left_and_named(self):
        self.apply("--device", "0")
        self.replace_cache(self.root / CACHE, 0o6777)  # /etc is root's

        done = self.undo(status=8, stderr=None)

        self.assertIn(f"entries of the set-up are left in /{CACHE}", done.stderr)
        self.assertEqual(owner_and_mode(self.root / CACHE), (USER, 0o6777))
        self.assertEqual(harness.journals(), [])
        self.run_setup("undo", "--rootfs", self.root, stderr=None)

    def test_what_is_made_has_our_modes(self):
        for path in ("etc", "usr/bin", "dev", "usr/local"):
            (self.root / path).chmod(0o7777)
        (self.root / CACHE).chmod(0o6777)
        before = snapshot.take(self.root)

        self.apply("--write", "always")
        for mount in reversed(self.mounts_of_nodes()):
            harness.must("umount", mount)

        made = [path for path in snapshot.take(self.root, (TREE,)) if path not in before]
        self.assertIn("/etc/.gpuctr-kept-ld.so.cache", made)
        made.remove("/etc/.gpuctr-kept-ld.so.cache")  # the image's own, as it was
        for path in [*made, f"/{CACHE}"]:
            status = os.lstat(f"{self.root}{path}")
            expected = (0o755 if stat.S_ISDIR(status.st_mode) else
                        0o777 if stat.S_ISLNK(status.st_mode) else
                        0o444 if path.startswith("/dev/") else 0o644)
            self.assertEqual(stat.S_IMODE(status.st_mode), expected, path)

    def mounts_of_nodes(self):
        return [f"{self.root}/dev/{name}" for name in os.listdir(self.root / "dev")
                if os.path.ismount(f"{self.root}/dev/{name}")
                or stat.S_ISCHR(os.lstat(f"{self.root}/dev/{name}").st_mode)]

    def test_a_directory_of_an_overlay_opens_none_of_the_image(self):
        """Over /etc, /usr/bin and the like lie directories of ours."""
        for mode, seen in ((0o700, 0o700), (0o7777, 0o755), (0o555, 0o555), (0o2750, 0o750)):
            with self.subTest(mode=oct(mode)):
                (self.root / "etc").chmod(mode)
                self.apply("--write", "never")
                self.assertEqual(os.stat(self.root / "etc").st_dev == os.stat(self.root).st_dev,
                                 False)
                self.assertEqual(stat.S_IMODE(os.stat(self.root / "etc").st_mode), seen)
                self.undo()

    def test_no_names_are_made_in_file_systems_of_the_kernel(self):
        """Most let root make directories, which are cgroups, namespaces and the like."""
        seen = []
        for kind in ("bpf", "cgroup2", "hugetlbfs", "configfs", "tracefs", "mqueue", "sysfs"):
            with self.subTest(kind=kind):
                place = self.root / "srv"
                if harness.call("mount", "-t", kind, "none", place).returncode != 0:
                    continue  # not in this kernel
                seen.append(kind)
                names = sorted(os.listdir(place))
                done = self.apply("--write", "always", "--tree-path", "/srv/gpuctr", status=5,
                                  stderr=None)
                self.assertIn("create names in a kernel file system at", done.stderr)
                self.assertEqual(sorted(os.listdir(place)), names)
                harness.must("umount", place)
                self.assertEqual(harness.journals(), [])
        self.assertIn("cgroup2", seen)

    def test_files_of_the_kernel_are_not_read(self):
        """Reading one may wait for ever, or take from others what it tells."""
        for path in ("/proc/kmsg", "/proc/sys/kernel/ostype"):
            with self.subTest(path=path):
                harness.must("mount", "--bind", path, self.root / CACHE)
                self.run_setup("--nv", "--rootfs", self.root, status=5,
                               stderr=f"gpuctr-setup: loader cache: /{CACHE}: a file of the "
                                      "kernel\n")
                harness.must("umount", self.root / CACHE)
                self.assertEqual(harness.journals(), [])

    def test_a_loader_cache_that_was_put_back_is_not_rewritten(self):
        """It names what is not there, as it did before, by a name of ours."""
        (self.root / CACHE).write_bytes(
            loader_cache([("libcuda.so.1", "/usr/local/lib/libcuda.so.1")]))
        before = self.state()

        self.apply("--device", "0", "--write", "always")
        self.undo()

        self.assert_state(before)

    def test_entries_that_lead_somewhere_stay_in_anothers_loader_cache(self):
        self.apply("--device", "0", "--write", "always")
        library = self.root / "usr/local/lib/libcuda.so.1"
        library.write_bytes(self.path("/lib64/ld-linux-x86-64.so.2").read_bytes())
        entries = [("libcuda.so.1", "/usr/local/lib/libcuda.so.1"),
                   ("libcuda.so.1", f"{TREE}/lib64/libcuda.so.1"),
                   ("libnvidia-ml.so.1", "/nowhere/libnvidia-ml.so.1"),
                   ("libelse.so.1", "/nowhere/libelse.so.1")]
        cache = self.root / CACHE
        cache.unlink()
        cache.write_bytes(loader_cache(entries))

        self.undo()

        left = self.inside("ldconfig", "-p")
        self.assertIn("/usr/local/lib/libcuda.so.1", left)
        self.assertIn("/nowhere/libelse.so.1", left)
        self.assertNotIn(TREE, left)
        self.assertNotIn("/nowhere/libnvidia-ml.so.1", left)


def loader_cache(entries):
    """A loader cache of glibc's present form (dl-cache.h), its entries as they come."""
    x86_64_libc6 = 0x0303
    names = b"".join(f"{key}\0{value}\0".encode() for key, value in entries)
    begin = 48 + 24 * len(entries)
    rows, offset = b"", begin
    for key, value in entries:
        rows += struct.pack("<iIIIQ", x86_64_libc6, offset, offset + len(key) + 1, 0, 0)
        offset += len(key) + len(value) + 2
    header = b"glibc-ld.so.cache1.1" + struct.pack("<IIBBBBI", len(entries), len(names), 2, 0, 0, 0,
                                                   0) + b"\0" * 12
    return header + rows + names


class Process(process_test.ProcessOfAUserNamespace):
    """A container of an ordinary user, which runs, and which root sets up by --pid."""

    def setUp(self):
        super().setUp()
        self.make_canary()
        self.start(finish="mkdir -p /mnt/etc")

    def make_canary(self):
        self.canary = harness.DIRECTORY / "cny"
        self.canary.mkdir()
        self.addCleanup(harness.must, "rm", "-rf", self.canary)
        (self.canary / "ld.so.cache").write_bytes((self.root / CACHE).read_bytes())
        for name in ("ld.so.conf.d", "nvidia0"):
            (self.canary / name).mkdir()

    def look_outside(self):
        return {path: (os.lstat(path).st_ctime_ns, os.lstat(path).st_ino)
                for path in [self.canary, *self.canary.iterdir()]}

    def in_mounts(self, *words):
        """As the container's root would, with the host's files in sight."""
        return harness.must("nsenter", f"--mount=/proc/{self.pid}/ns/mnt", *words)

    def bind_over(self, inside):
        """A host directory, through a descriptor, over one of the container's."""
        script = ("import ctypes, os, sys\n"
                  "libc = ctypes.CDLL(None, use_errno=True)\n"
                  "tree = libc.syscall(428, -100, sys.argv[1].encode(), 1)\n"
                  "assert tree >= 0, ctypes.get_errno()\n"
                  "assert libc.setns(os.open(sys.argv[3], os.O_RDONLY), 0) == 0\n"
                  "assert libc.syscall(429, tree, b'', -100, sys.argv[2].encode(), 4) == 0, "
                  "ctypes.get_errno()\n")
        harness.must("python3", "-c", script, self.canary, inside, f"/proc/{self.pid}/ns/mnt")

    def test_undo_writes_nothing_where_the_container_points(self):
        self.on_process("--nv", "--device", "3", "--write", "always")
        before = self.look_outside()
        cache = (self.canary / "ld.so.cache").read_bytes()
        self.bind_over("/etc")

        done = self.on_process("undo", status=8, stderr=None)

        self.assertIn("under another mount", done.stderr)
        self.assertEqual(self.look_outside(), before)
        self.assertEqual((self.canary / "ld.so.cache").read_bytes(), cache)
        self.assertEqual(len(harness.journals()), 1)
        self.in_mounts("umount", "/etc")
        self.on_process("undo")
        self.assertEqual(harness.journals(), [])

    def test_nor_does_an_older_set_up_that_is_replaced(self):
        self.on_process("--nv", "--device", "3", "--write", "always")
        before = self.look_outside()
        self.bind_over("/etc")

        self.on_process("--nv", "--device", "4", "--write", "always", status=8, stderr=None)

        self.assertEqual(self.look_outside(), before)
        self.in_mounts("umount", "/etc")
        self.on_process("undo")

    def test_apply_makes_nothing_where_the_user_may_not(self):
        for inside in ("/dev", "/etc", "/usr/local"):
            with self.subTest(inside=inside):
                before = self.look_outside()
                self.bind_over(inside)
                done = self.on_process("--nv", "--device", "3", "--write", "always", status=None,
                                       stderr=None)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(self.look_outside(), before)
                self.assertEqual(harness.journals(), [])
                self.in_mounts("umount", inside)

    def test_groups_of_the_caller_do_not_count(self):
        os.chmod(self.canary, 0o775)  # for group 0, which the caller has
        self.assertIn(0, os.getgroups() or [0])
        before = self.look_outside()
        self.bind_over("/dev")
        done = harness.call("setpriv", "--groups", "0,65533", harness.SETUP, "--nv", "--pid",
                            self.pid, "--device", "3", "--write", "always")
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertEqual(self.look_outside(), before)

    def test_capabilities_that_the_kernel_leaves_do_not_count(self):
        """With this bit they do not go with the user."""
        for inside in ("/dev", "/etc"):
            with self.subTest(inside=inside):
                before = self.look_outside()
                self.bind_over(inside)
                done = harness.call("setpriv", "--securebits", "+no_setuid_fixup", harness.SETUP,
                                    "--nv", "--pid", self.pid, "--device", "3", "--write", "always")
                self.assertEqual(done.returncode, 6, done.stderr)
                self.assertEqual(self.look_outside(), before)
                self.in_mounts("umount", inside)

    def test_the_users_loader_cache_gets_no_bits(self):
        self.on_process("--nv", "--device", "3", "--write", "always")
        cache = f"/proc/{self.pid}/root/{CACHE}"
        content = open(cache, "rb").read()
        with open(f"/proc/{self.pid}/root/etc/forged", "wb") as file:
            file.write(content)
        os.chown(f"/proc/{self.pid}/root/etc/forged", 100000, 100000)
        os.chmod(f"/proc/{self.pid}/root/etc/forged", 0o6777)
        os.rename(f"/proc/{self.pid}/root/etc/forged", cache)

        self.on_process("undo")

        self.assertEqual(owner_and_mode(cache), (100000, 0o644))
        self.assertNotIn(TREE, self.inside("ldconfig", "-p"))

    def test_what_belongs_to_another_of_his_users_is_left_and_named(self):
        self.on_process("--nv", "--device", "3", "--write", "always")
        cache = f"/proc/{self.pid}/root/{CACHE}"
        os.rename(cache, f"{cache}.ours")
        with open(f"{cache}.ours", "rb") as ours, open(cache, "wb") as file:
            file.write(ours.read())
        for uid in (0, 100001):
            os.chown(cache, uid, uid)
        done = self.on_process("undo", status=8, stderr=None)
        self.assertIn("it belongs to user 100001", done.stderr)
        self.assertEqual(owner_and_mode(cache)[0], 100001)


class SameIds(Process):
    """Root in a user namespace that gives its users no other ids: it has no capabilities here."""

    def setUp(self):
        process_test.Container.setUp(self)
        self.holder = self.popen("unshare", "--user", "sh", "-c", "echo ready; exec sleep 60")
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{self.holder.pid}/{name}", "w", encoding="ascii") as file:
                file.write("0 0 65536")
        self.make_canary()
        harness.must("chown", "-R", "70000:70000", self.canary)
        self.start()

    def test_is_not_the_caller(self):
        before = self.look_outside()
        self.bind_over("/dev")
        self.on_process("--nv", "--device", "3", "--write", "always", status=6, stderr=None)
        self.assertEqual(self.look_outside(), before)
        self.in_mounts("umount", "/dev")
        self.on_process("--nv", "--device", "3", "--write", "always")
        self.on_process("undo")
        self.assertEqual(harness.journals(), [])


class OfAnotherTime(process_test.Container):
    """What a container's root is may change: undo is done as who it is now, or as the caller."""

    mount_proc = "mount --rbind /proc proc"

    def start_as(self, first):
        harness.must("chown", "-R", "-h", f"{first}:{first}", self.root)
        self.holder = self.popen("unshare", "--user", "sh", "-c", "echo ready; exec sleep 60")
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{self.holder.pid}/{name}", "w", encoding="ascii") as file:
                file.write(f"0 {first} 65536")
        self.start(command=["nsenter", f"--user=/proc/{self.holder.pid}/ns/user", "--setuid", "0",
                            "--setgid", "0"])

    def end(self):
        root = f"/proc/{self.pid}/ns/mnt"
        os.kill(self.pid, signal.SIGKILL)
        self.holder.kill()
        self.holder.wait()
        while os.path.exists(root):
            pass

    def set_up_and_end(self):
        self.before = snapshot.take(self.root)
        self.start_as(100000)
        self.on_process("--nv", "--device", "3", "--write", "always")
        self.end()

    def test_another_range_of_ids_replaces_and_undoes(self):
        self.set_up_and_end()
        self.start_as(200000)
        self.on_process("--nv", "--device", "4", "--write", "always",
                        stderr=f"gpuctr-setup: process {self.pid}: an older set-up was replaced\n")
        self.on_process("undo")
        self.assertEqual(harness.journals(), [])

    def test_the_caller_undoes_what_ended(self):
        self.set_up_and_end()
        harness.must("chown", "-R", "-h", "200000:200000", self.root)
        self.undo()
        self.assertEqual(harness.journals(), [])
        self.assertFalse((self.root / "etc/.gpuctr-kept-ld.so.cache").exists())
        self.assertFalse((self.root / "usr/bin/nvidia-smi").is_symlink())

    def test_undo_of_all_finds_what_ended(self):
        """The root of a process has no path."""
        self.set_up_and_end()
        self.run_setup("undo", "--all", "-v", stderr=f"gpuctr-setup: {self.root}: undone\n")
        self.assertEqual(harness.journals(), [])
        self.assertFalse((self.root / "usr/bin/nvidia-smi").is_symlink())


class WithoutRoot(process_test.Container):
    """A user namespace whose map has no id 0, or none that is known: nobody's, not root's."""

    def test_is_refused(self):
        holder = self.popen("unshare", "--user", "sh", "-c", "echo ready; exec sleep 60")
        for name, text in (("uid_map", "0 100000 1"), ("gid_map", "1 100000 1")):
            with open(f"/proc/{holder.pid}/{name}", "w", encoding="ascii") as file:
                file.write(text)
        harness.must("chown", "-R", "-h", "100000:100000", self.root)
        self.mount_proc = "mount --rbind /proc proc"
        self.start(command=["nsenter", f"--user=/proc/{holder.pid}/ns/user", "--setuid", "0",
                            "--preserve-credentials"])
        before = self.mounts(), self.files()
        for words in (("--nv",), ("--nv", "--write", "always"), ("undo",)):
            done = self.on_process(*words, status=5, stderr=None)
            self.assertIn("has no root that is known here", done.stderr)
        self.assertEqual((self.mounts(), self.files()), before)


for inherited in dir(process_test.ProcessOfAUserNamespace):
    if inherited.startswith("test_") and inherited not in vars(Process):
        setattr(Process, inherited, None)
for inherited in vars(Process).copy():
    if inherited.startswith("test_") and inherited not in vars(SameIds):
        setattr(SameIds, inherited, None)

if __name__ == "__main__":
    unittest.main()
