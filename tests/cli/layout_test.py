# SPDX-License-Identifier: MIT
"""gpuctr-setup on root file systems of many kinds."""

import os
import pathlib
import subprocess
import unittest

import harness
import mount_table
import snapshot
from harness import TREE, VERSION


class Layout(harness.Case):
    """Each test makes its root special and then checks the whole way."""

    def check(self, *options, tree=TREE, tool="/usr/bin/nvidia-smi", root=None):
        """Applies, looks at what a program is given, and undoes."""
        self.root = root or self.root
        before = self.state()
        self.apply(*options)
        self.check_programs(tree)
        if tool:
            self.inside("test", "-x", tool)
            self.inside("cmp", tool, f"{tree}/bin/nvidia-smi")
        self.undo()
        self.assert_state(before)
        self.assertEqual(harness.journals(), [])

    def check_programs(self, tree=TREE):
        paths = sorted(self.inside("/usr/bin/needs_driver").splitlines())
        self.assertEqual(paths, [f"{tree}/lib64/libcuda.so.{VERSION}",
                                 f"{tree}/lib64/libnvidia-ml.so.{VERSION}"])

    def check_unwritten(self, *options, **more):
        """Same for a root whose own files must not change meanwhile either."""
        before = snapshot.take(self.root)
        self.apply("--write", "never", *options)
        while mounts := mount_table.below(self.root):
            harness.must("umount", "-l", mounts[-1].target)
        self.assertEqual(snapshot.difference(before, snapshot.take(self.root)), [])
        self.undo(stderr=None)
        self.check("--write", "never", *options, **more)

    def remount_read_only(self):
        """Binds the root on itself, read-only; nothing can be written below."""
        harness.must("mount", "--bind", self.root, self.root)
        harness.must("mount", "-o", "remount,bind,ro", self.root)

    def stale(self, path, content="the image's own"):
        """A file of the image that has a name of the driver's."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        file.chmod(0o755)
        return file

    def test_a_read_only_bind(self):
        self.remount_read_only()

        self.check()

    def test_a_read_only_bind_assembled(self):
        self.remount_read_only()

        self.check("--backend", "assembled")

    def test_a_read_only_file_system(self):
        root = harness.new_root(mounted=True)
        self.addCleanup(harness.call, "umount", "-l", root)
        harness.must("mount", "-o", "remount,ro", root)

        self.check(root=root)

    def test_writing_always_into_a_read_only_root_is_refused(self):
        self.remount_read_only()
        before = self.state()

        done = self.apply("--write", "always", status=6, stderr=None)

        self.assertIn("Read-only file system", done.stderr)
        self.assert_state(before)
        self.assertEqual(harness.journals(), [])

    def test_no_loader_cache(self):
        (self.root / "etc/ld.so.cache").unlink()

        self.check()

    def test_no_loader_cache_and_no_writing(self):
        (self.root / "etc/ld.so.cache").unlink()

        self.check_unwritten()

    def test_a_loader_cache_that_is_garbage(self):
        (self.root / "etc/ld.so.cache").write_bytes(b"\xff" * 4096)

        self.check()

    def test_no_loader_configuration_directory(self):
        harness.must("rm", "-rf", self.root / "etc/ld.so.conf.d")

        self.check()

    def test_an_images_own_stale_driver_is_covered(self):
        library = self.stale("/usr/lib/x86_64-linux-gnu/libcuda.so.1")
        tool = self.stale("/usr/bin/nvidia-smi")

        self.apply()
        for path, host in ((library, f"lib64/libcuda.so.{VERSION}"), (tool, "bin/nvidia-smi")):
            self.assertTrue(os.path.samefile(path, f"/usr/local/nvidia/{host}"), path)
        self.undo()

        self.check()
        self.assertEqual(tool.read_text(), "the image's own")

    def test_an_images_own_stale_driver_is_covered_without_writing(self):
        library = self.stale("/usr/lib/x86_64-linux-gnu/libcuda.so.1")
        self.stale("/usr/bin/nvidia-smi")

        self.check_unwritten()

        self.assertEqual(library.read_text(), "the image's own")

    def test_a_stale_versioned_library_with_links(self):
        self.stale("/usr/lib/x86_64-linux-gnu/libcuda.so.999.1")
        (self.root / "usr/lib/x86_64-linux-gnu/libcuda.so.1").symlink_to("libcuda.so.999.1")

        self.check()

    def test_a_dangling_link_of_the_image_is_left_alone(self):
        (self.root / "usr/lib/x86_64-linux-gnu/libcuda.so.1").symlink_to("nowhere")

        self.check()

    def test_a_directory_of_the_image_where_cuda_images_look(self):
        (self.root / "usr/local/nvidia/lib64").mkdir(parents=True)
        self.stale("/usr/local/nvidia/lib64/note")

        self.check()
        self.check_unwritten()

    def test_no_usr_local(self):
        harness.must("rm", "-rf", self.root / "usr/local")

        self.check()

    def test_no_usr_local_and_no_writing(self):
        harness.must("rm", "-rf", self.root / "usr/local")

        self.check_unwritten()

    def test_no_dev(self):
        (self.root / "dev").rmdir()

        self.check()

    def check_without_dev(self, *options):
        """There is no directory below which the nodes could appear: it may work
        or be refused."""
        (self.root / "dev").rmdir()
        before = self.state()

        done = harness.setup("--nv", "--rootfs", self.root, "--write", "never", *options)

        self.assertIn(done.returncode, (0, 5), done.stderr)
        if done.returncode == 0:
            self.inside("test", "-c", "/dev/nvidia0")
            self.undo()
        self.assert_state(before, message=done.stderr)
        self.assertEqual(harness.journals(), [])

    def test_no_dev_and_no_writing(self):
        self.check_without_dev()

    def test_no_dev_and_no_writing_assembled(self):
        self.check_without_dev("--backend", "assembled")

    def test_directories_that_are_not_merged_into_usr(self):
        for name in ("bin", "sbin", "lib", "lib64"):
            link = self.root / name
            link.unlink()
            link.mkdir()
        harness.must("cp", "-a", self.root / "usr/bin/sh", self.root / "bin/sh")
        harness.must("cp", "-a", f"{self.root}/usr/lib64/.", self.root / "lib64")
        (self.root / "lib/x86_64-linux-gnu").mkdir()
        for path in (self.root / "usr/lib/x86_64-linux-gnu").glob("libc.so*"):
            path.rename(self.root / "lib/x86_64-linux-gnu" / path.name)
        harness.must("ldconfig", "-r", self.root)

        self.check()
        self.check("--write", "never")

    def test_absolute_links_stay_inside(self):
        harness.must("mv", self.root / "usr/local", self.root / "srv/local")
        (self.root / "usr/local").symlink_to("/srv/local")
        canary = snapshot.take("/srv")

        self.check()
        self.check_unwritten()

        self.assertEqual(snapshot.take("/srv"), canary)

    def test_an_overlay(self):
        for backend in ("detached", "assembled"):
            for write in ("auto", "never"):
                with self.subTest(backend=backend, write=write):
                    root = harness.new_root()
                    for name in ("upper", "work", "merged"):
                        (harness.DIRECTORY / name).mkdir(exist_ok=True)
                    merged = harness.DIRECTORY / "merged"
                    harness.must("mount", "-t", "overlay", "overlay", "-o",
                                 f"lowerdir={root},upperdir={harness.DIRECTORY}/upper,"
                                 f"workdir={harness.DIRECTORY}/work", merged)
                    try:
                        self.root = merged
                        self.apply("--write", write, "--backend", backend)
                        self.check_programs()
                        self.inside("test", "-c", "/dev/nvidia0")
                        before = None
                        self.undo()
                        after = snapshot.take(merged)
                        before = snapshot.take(root)
                        left = snapshot.difference(before, after,
                                                   ("device", "inode", "links", "mtime"))
                        self.assertEqual(left, [])
                        self.assertEqual(harness.journals(), [])
                        self.assertEqual(len(mount_table.below(merged)), 1)
                    finally:
                        for _ in mount_table.below(merged):
                            harness.call("umount", "-l", merged)
                        self.root = root
                        harness.call("rm", "-rf", harness.DIRECTORY / "upper",
                                     harness.DIRECTORY / "work")

    def check_propagation(self, kind):
        root = harness.new_root(mounted=True)
        self.addCleanup(harness.call, "umount", "-l", "-R", root)
        harness.must("mount", f"--make-{kind}", root)
        self.root = root
        before = self.state()
        peer = subprocess.Popen(["unshare", "--mount", "--propagation", "unchanged", "sh", "-c",
                                 "echo ready; exec sleep 60"], stdout=subprocess.PIPE)
        self.addCleanup(peer.wait)
        self.addCleanup(peer.kill)
        self.addCleanup(peer.stdout.close)
        peer.stdout.readline()

        self.apply()

        self.check_programs()
        seen = [m for m in mount_table.read(f"/proc/{peer.pid}/mountinfo")
                if m.target.startswith(f"{root}/")]
        self.assertEqual(seen, [], "another namespace sees what was set up")
        self.undo()
        self.assert_state(before)
        seen = [m for m in mount_table.read(f"/proc/{peer.pid}/mountinfo")
                if m.target.startswith(str(root))]
        self.assertEqual(len(seen), 1, "another namespace keeps something")

    def test_a_shared_mount(self):
        self.check_propagation("shared")

    def test_a_private_mount(self):
        self.check_propagation("private")

    def test_a_slave_mount(self):
        harness.must("mount", "--make-shared", harness.DIRECTORY)
        self.addCleanup(harness.must, "mount", "--make-private", harness.DIRECTORY)
        self.check_propagation("slave")

    def test_a_directory_on_a_shared_mount(self):
        harness.must("mount", "--make-shared", harness.DIRECTORY)
        self.addCleanup(harness.must, "mount", "--make-private", harness.DIRECTORY)

        self.check()

    def test_a_root_that_is_reached_through_a_link(self):
        link = harness.DIRECTORY / "link"
        link.symlink_to(self.root)
        self.addCleanup(link.unlink)
        before = self.state()

        self.run_setup("--nv", "--rootfs", link)
        self.check_programs()
        self.run_setup("undo", "--rootfs", f"{link}/")

        self.assert_state(before)

    def test_a_root_of_another_owner_is_not_written(self):
        os.chown(self.root, 65534, 65534)
        before = snapshot.take(self.root)

        self.apply()

        harness.must("umount", "-l", "-R", self.root)
        self.assertEqual(snapshot.difference(before, snapshot.take(self.root)), [])
        self.undo(stderr=None)

    def test_a_strict_umask_changes_nothing(self):
        before = self.state()

        self.apply(umask=0o077)

        for path in (TREE, f"{TREE}/lib64", f"{TREE}/bin"):
            self.assertEqual(os.stat(f"{self.root}{path}").st_mode & 0o777, 0o755, path)
        self.assertEqual(os.stat(self.root / "etc/ld.so.cache").st_mode & 0o777, 0o644)
        self.undo()
        self.assert_state(before)

    def test_nothing_of_the_image_is_executed(self):
        log = harness.DIRECTORY / "executed"

        harness.must("strace", "-f", "-qq", "-e", "trace=execve,execveat", "-o", log, harness.SETUP,
                     "--nv", "--rootfs", self.root,
                     env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))

        executed = [line for line in log.read_text().splitlines() if "exec" in line]
        self.assertEqual(len(executed), 1, executed)
        self.undo()

    def test_a_root_without_a_loader_is_refused(self):
        harness.must("rm", "-rf", self.root / "usr/lib64")
        before = self.state()

        self.apply(status=5, stderr=None)

        self.assert_state(before)

    def test_journals_elsewhere(self):
        state = harness.DIRECTORY / "a/b/state"
        self.addCleanup(harness.call, "rm", "-rf", harness.DIRECTORY / "a")
        before = self.state()

        self.apply("--state-dir", state)
        self.assertEqual(harness.journals(), [])
        self.assertEqual(len(list(state.glob("*/*.json"))), 1)
        self.assertEqual(os.stat(state).st_mode & 0o777, 0o700)
        self.undo("--state-dir", state)

        self.assertEqual(list(state.glob("*/*.json")), [])
        self.assert_state(before)

    def test_names_that_are_no_text(self):
        odd = os.fsencode(self.root) + b"/usr/local/lib/\xff\n \\x"
        os.mkdir(odd)
        (pathlib.Path(os.fsdecode(odd)) / "libcuda.so.1").write_text("odd")

        self.check()


if __name__ == "__main__":
    unittest.main()
