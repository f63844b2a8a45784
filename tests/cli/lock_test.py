# SPDX-License-Identifier: MIT
"""gpuctr-setup --lock: what root of a container can do to our mounts."""

import os
import subprocess
import unittest

import harness
import mount_table
from harness import TREE, VERSION

LIBRARY = f"{TREE}/lib64/libcuda.so.{VERSION}"

# Each drops a flag and keeps the others, or takes one mount away. What worked is printed.
ATTEMPTS = f"""
try() {{ said=$("$@" 2>&1) && echo "$*"; }}
try mount -n -o remount,bind,rw,nosuid,nodev {TREE}
try mount -n -o remount,bind,ro,dev,nosuid {TREE}
try mount -n -o remount,bind,ro,nodev,suid {TREE}
try mount -n -o remount,rw {TREE}
try mount -n -o remount,bind,rw,nosuid,nodev {LIBRARY}
try mount -n -o remount,bind,rw,nosuid,noexec /dev/nvidia0
try mount -n -o remount,bind,ro,nosuid,exec /dev/nvidia0
try umount -n {LIBRARY}
try touch {TREE}/lib64/new
try touch {LIBRARY}
true
"""
ON_OVERLAYS = """
try mount -n -o remount,bind,rw,nosuid,nodev /usr/bin
try mount -n -o remount,bind,ro,dev,suid /usr/bin
true
"""
ENTER = """
mount --rbind {root} {root} && cd {root} && mount -o remount,bind,nosuid,nodev . &&
mount -t tmpfs -o mode=0755 dev dev && mount --rbind /proc proc && pivot_root . mnt &&
umount -l /mnt && echo ready && exec sleep 60
"""


class Lock(harness.Case):

    def setUp(self):
        super().setUp()
        harness.must("cp", "/usr/sbin/pivot_root", self.root / "usr/sbin")

    def start(self, *command):
        """A container of its own, with the capabilities that it has in its namespaces."""
        script = ENTER.format(root=self.root)
        process = subprocess.Popen([*command, "unshare", "--mount", "--propagation", "private",
                                    "sh", "-ec", script], stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process.pid

    def mounts(self, pid):
        return [mount for mount in mount_table.read(f"/proc/{pid}/mountinfo")
                if "nvidia" in str(mount) or "gpuctr" in str(mount) or mount.type == "overlay"]

    def check(self, pid, *words, script=ATTEMPTS):
        enter = ["nsenter", "--target", pid, "--all", "--root", "--wd"]
        attempts = f"{ATTEMPTS.splitlines()[1]}\n" + script
        nested = ["unshare", "--user", "--map-root-user", "--mount"]
        self.run_setup("--nv", "--pid", pid, *words)
        self.assertEqual(harness.must(*enter, *nested, "sh", "-c", attempts), "")
        self.assertNotEqual(harness.must(*enter, "sh", "-c", attempts), "", "the attempts work")
        self.run_setup("undo", "--pid", pid)

        before = mount_table.read(f"/proc/{pid}/mountinfo")
        self.run_setup("--nv", "--pid", pid, "--lock", *words)
        mounts = self.mounts(pid)
        for prefix in ([], nested):
            self.assertEqual(harness.must(*enter, *prefix, "sh", "-c", attempts), "")
        self.assertEqual(self.mounts(pid), mounts)
        done = harness.must(*enter, "/usr/bin/needs_driver")
        self.assertEqual(len(done.splitlines()), 2)
        self.run_setup("undo", "--pid", pid)
        self.assertEqual(mount_table.read(f"/proc/{pid}/mountinfo"), before)

    def test_root_of_a_container_in_its_user_namespace(self):
        harness.must("chown", "-R", "-h", "100000:100000", self.root)
        holder = subprocess.Popen(["unshare", "--user", "sh", "-c", "echo ready; exec sleep 60"],
                                  stdout=subprocess.PIPE)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        self.addCleanup(holder.stdout.close)
        holder.stdout.readline()
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{holder.pid}/{name}", "w", encoding="ascii") as file:
                file.write("0 100000 65536")
        pid = self.start("nsenter", f"--user=/proc/{holder.pid}/ns/user", "--setuid", "0",
                         "--setgid", "0")
        self.check(pid)
        self.check(pid, "--write", "never", script=ATTEMPTS + ON_OVERLAYS)

    def test_root_of_a_container_without_one(self):
        pid = self.start()
        self.check(pid)
        self.check(pid, "--backend", "assembled", "--write", "never", script=ATTEMPTS + ON_OVERLAYS)

    def test_single_files(self):
        self.check(self.start(), "--layout", "merged", script=f"""
try mount -n -o remount,bind,rw,nosuid,nodev /usr/bin/nvidia-smi
try touch /usr/bin/nvidia-smi
try mount -n -o remount,bind,rw,nosuid,noexec /dev/nvidiactl
true
""")

    def test_a_staged_tree(self):
        tree = harness.DIRECTORY / "tree"
        self.run_setup("prepare", "--nv", "--staged-tree", tree)
        self.addCleanup(self.run_setup, "prepare", "--undo", "--staged-tree", tree)
        self.check(self.start(), "--staged-tree", tree)

    def test_a_command(self):
        script = ATTEMPTS + "try mount -n -o remount,bind,rw /usr/bin\ntrue\n"
        for prefix in ([], [*harness.ORDINARY_USER, "unshare", "--user", "--map-root-user",
                            "--mount"]):
            with self.subTest(prefix=prefix):
                harness.DIRECTORY.chmod(0o755)
                outputs = []
                for lock in ([], ["--lock"]):
                    done = harness.call(*prefix, harness.SETUP, "--nv", *lock, "--rootfs",
                                        self.root, "--", "sh", "-c", script)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    outputs.append(done.stdout)
                self.assertIn("remount,bind,rw", outputs[0])
                self.assertEqual(outputs[1], "")

    def test_a_directory(self):
        before = self.state()
        self.apply("--lock")
        done = self.inside("sh", "-c", ATTEMPTS)
        self.assertEqual(done, "")
        self.apply("-v", "--lock", stderr=f"gpuctr-setup: {self.root}: set up already\n")
        # A lock that was not asked for before is one now, and the other way round.
        self.apply("-v", stderr=self.replaced())
        self.assertIn("remount,bind,rw", self.inside("sh", "-c", ATTEMPTS))
        self.apply("-v", "--lock",
                   stderr=self.replaced())
        self.assertTrue(self.plan("--lock")["lock"])
        self.undo()
        self.assert_state(before)

    def test_from_another_root_directory(self):
        """As a runtime that sees the host below some directory."""
        host = harness.DIRECTORY / "host"
        host.mkdir()
        harness.must("mount", "--rbind", "/", host)
        self.addCleanup(harness.must, "umount", "-l", host)
        with self.nothing_changes():
            done = harness.call("unshare", "--mount", "chroot", host, harness.SETUP, "--nv",
                                "--lock", "--rootfs", self.root, "--", "sh", "-c", ATTEMPTS)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_where_no_user_namespace_can_be_made(self):
        with self.nothing_changes():
            done = harness.call("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                                'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh",
                                harness.SETUP, "--nv", "--lock", "--rootfs", self.root)
            self.assertEqual(done.returncode, 8, done.stderr)
            self.assertRegex(done.stderr, "^gpuctr-setup: make a user namespace to lock mounts in: "
                                          ".*\nhint: .*max_user_namespaces")


class Label(harness.Case):

    LABEL = "system_u:object_r:container_file_t:s0:c1,c2"

    def test_is_refused_where_selinux_is_not_enabled(self):
        with self.nothing_changes():
            for words in (("--nv", "--rootfs", self.root),
                          ("prepare", "--nv", "--staged-tree", harness.DIRECTORY / "tree")):
                self.run_setup(*words, "--mount-label", self.LABEL, status=7,
                               stderr=f"gpuctr-setup: mount label {self.LABEL}: SELinux is not "
                                      "enabled here\nhint: leave the label out, or see that "
                                      "/sys/fs/selinux is mounted\n")
            done = self.apply("--mount-label", self.LABEL, "--", "true", status=125, stderr=None)
            self.assertIn(f"mount label {self.LABEL}", done.stderr)
        self.assertEqual(self.plan("--mount-label", self.LABEL)["mount_label"], self.LABEL)
        self.assertIsNone(self.plan()["mount_label"])

    def test_what_is_none_is_a_usage_error(self):
        for label in ("a", "a:b", "a::b", ":a:b", "a:b:", "a:b:c d", "a:b:c=d", "a:b:c/d", "a:b:ü"):
            done = self.apply("--mount-label", label, status=2, stderr=None)
            self.assertIn("not an SELinux label", done.stderr)

    def test_file_systems_are_made_with_it(self):
        """As far as a kernel without SELinux can be asked."""
        selinux = harness.DIRECTORY / "fs/selinux"
        selinux.mkdir(parents=True)
        (selinux / "enforce").write_text("1")
        log = harness.DIRECTORY / "trace"
        self.addCleanup(log.unlink)
        harness.must("mount", "--bind", selinux.parent, "/sys/fs")
        self.addCleanup(harness.must, "umount", "/sys/fs")
        by_option = f'"context", "{self.LABEL}", 0) = -1 EINVAL'
        by_data = f'"mode=0755,context=\\"{self.LABEL}\\"") = -1 EINVAL'
        with self.nothing_changes():
            for command, status, call in (((), 7, by_option),
                                          (("--backend", "legacy"), 7, by_data),
                                          (("--", "true"), 125, by_data)):
                done = harness.call("strace", "-o", log, "-s", "99", "-e",
                                    "trace=fsopen,fsconfig,mount", harness.SETUP, "--nv",
                                    "--rootfs", self.root, "--mount-label", self.LABEL, *command,
                                    env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(f"mount label {self.LABEL}: Invalid argument", done.stderr)
                self.assertIn(call, log.read_text())


if __name__ == "__main__":
    unittest.main()
