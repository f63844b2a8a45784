# SPDX-License-Identifier: MIT
"""gpuctr-setup with images of many kinds, and the programs that they run."""

import os
import shutil
import stat
import struct
import unittest

import harness
import mount_table
import snapshot
from harness import MULTIARCH, OPENS_DRIVER, TREE, VERSION

LIBRARY = f"{TREE}/lib64/libcuda.so.{VERSION}"
MANAGEMENT = f"{TREE}/lib64/libnvidia-ml.so.{VERSION}"


class Images(harness.Case):
    """Each test looks at what programs find, and that undo leaves nothing."""

    def opened(self, *names, environment=(), program="/usr/bin/opens_driver"):
        """Which files a program of the image gets that loads these names."""
        return self.inside("/usr/bin/env", "-i", *environment, program, *names).splitlines()

    def put(self, path, content="the image's own"):
        """A file of the image's own, where its driver might be."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        file.chmod(0o755)
        return file

    def each_way(self, look):
        """Both ways in which names come to be: looks at the set-up and undoes it."""
        for write in ("auto", "never"):
            with self.subTest(write=write):
                before = self.state()
                self.apply("--write", write)
                look()
                self.undo()
                self.assert_state(before)
                self.assertEqual(harness.journals(), [])

    def check_refused(self, *wanted):
        """No such image can use the driver's files, and no option is tried in vain:
        with the one that the hint names it gets the nodes."""
        before = self.state()
        done = self.apply(status=5, stderr=None)
        for text in (*wanted, "--vendor-libs none"):
            self.assertIn(text, done.stderr)
        self.assert_state(before)
        self.apply("--vendor-libs", "none")
        self.assertTrue((self.root / "dev/nvidia0").is_char_device())
        self.assertFalse((self.root / "usr/lib/gpuctr").exists())
        self.undo()
        self.assert_state(before)


class Kinds(Images):
    """How images are built and brought along."""

    def check_read_only(self, root):
        """A root that cannot be written at all, on a mount of its own."""
        self.root = root
        before = self.state()
        self.apply()
        self.assertEqual(self.opened("libcuda.so.1", "libnvidia-ml.so.1"), [LIBRARY, MANAGEMENT])
        self.inside("test", "-x", "/usr/bin/nvidia-smi")
        self.undo()
        self.assert_state(before)

    def mount(self, *words):
        target = harness.DIRECTORY / "mounted"
        target.mkdir(exist_ok=True)
        done = harness.call("mount", *words, target)
        if done.returncode == 0:
            self.addCleanup(harness.call, "umount", target)
        return target, done

    def make_loop_devices(self):
        """Those of this machine, which the simulated host does not have."""
        for name, mode, major, minor in [("loop-control", stat.S_IFCHR, 10, 237),
                                         *((f"loop{n}", stat.S_IFBLK, 7, n) for n in range(64))]:
            path = f"/dev/{name}"
            os.mknod(path, mode | 0o600, os.makedev(major, minor))
            self.addCleanup(os.unlink, path)

    def test_a_squashfs(self):
        if shutil.which("mksquashfs") is None:
            self.skipTest("mksquashfs of squashfs-tools is not installed")
        self.make_loop_devices()
        image = harness.DIRECTORY / "image.squashfs"
        harness.must("mksquashfs", self.root, image, "-quiet", "-no-progress")
        self.addCleanup(image.unlink)
        target, done = self.mount("-t", "squashfs", "-o", "loop,ro", image)
        if done.returncode != 0:
            self.skipTest(f"no squashfs can be mounted here: {done.stderr}")

        self.check_read_only(target)

    def test_a_read_only_overlay(self):
        layer = harness.DIRECTORY / "layer"
        (layer / "opt/layer").mkdir(parents=True)
        self.addCleanup(harness.must, "rm", "-rf", layer)
        target, done = self.mount("-t", "overlay", "-o", f"lowerdir={layer}:{self.root}", "overlay")
        self.assertEqual(done.returncode, 0, done.stderr)

        self.check_read_only(target)

    def test_a_directory_of_somebody_else_is_never_written(self):
        harness.must("chown", "-R", "--no-dereference", "1000:1000", self.root)
        before = snapshot.take(self.root)

        self.apply()

        self.assertEqual(self.opened("libcuda.so.1"), [LIBRARY])
        while mounts := mount_table.below(self.root):
            harness.must("umount", "-l", mounts[-1].target)
        self.assertEqual(snapshot.difference(before, snapshot.take(self.root)), [])
        self.undo(stderr=None)

    def test_without_a_directory_for_the_link_of_older_images(self):
        """As systems that are built from a repository have it: /usr/local leads nowhere yet."""
        local = self.root / "usr/local"
        harness.must("rm", "-rf", local)
        for make in (lambda: local.symlink_to("../var/usrlocal"), local.touch):
            make()
            for write in ("auto", "never"):
                with self.nothing_changes():
                    self.apply("--write", write)
                    self.assertEqual(self.opened("libcuda.so.1"), [LIBRARY])
                    self.undo()
            local.unlink()

    def test_without_directories_for_names_that_are_of_use_and_not_needed(self):
        for path in ("etc/ld.so.conf.d", f"usr/lib/{harness.MULTIARCH}/gbm",
                     f"usr/lib/{harness.MULTIARCH}/vdpau"):
            file = self.root / path
            harness.must("rm", "-rf", file)
            file.parent.mkdir(parents=True, exist_ok=True)
            for make in (file.touch, lambda file=file: file.symlink_to("/nowhere/at/all")):
                make()
                with self.subTest(path), self.nothing_changes():
                    self.apply("--driver-capabilities", "all")
                    self.assertEqual(self.opened("libcuda.so.1"), [LIBRARY])
                    self.undo()
                file.unlink()

    def test_something_else_in_the_place_of_a_node(self):
        """As `docker run -v` leaves it, which makes a directory of what the host does not have."""
        for path, make, why in (("dev/nvidia1", os.mkdir, "/dev/nvidia1 is in the way: a directory"),
                                ("dev", lambda path: path.touch(),
                                 "/dev is in the way: not a directory")):
            file = self.root / path
            harness.must("rm", "-rf", file)
            make(file)
            for words in (["plan"], ["apply", "--dry-run"], ["apply"]):
                with self.subTest(words=words), self.nothing_changes():
                    done = self.run_setup(*words, "--nv", "--rootfs", self.root, status=5,
                                          stderr=None)
                    self.assertIn(f"gpuctr-setup: {why}", done.stderr)

    def test_distroless(self):
        image = harness.DIRECTORY / "distroless"
        for name in ("proc", "dev", "tmp", "etc", "usr/lib"):
            (image / name).mkdir(parents=True)
        (image / "etc/passwd").write_text("root:x:0:0::/root:/sbin/nologin\n")
        (image / "lib64").mkdir()
        shutil.copy("/lib64/ld-linux-x86-64.so.2", image / "lib64")
        (image / "lib" / MULTIARCH).mkdir(parents=True)
        for part in ("c.so.6", "m.so.6", "dl.so.2", "pthread.so.0", "rt.so.1"):
            shutil.copy(f"/lib/{MULTIARCH}/lib{part}", image / "lib" / MULTIARCH)
        shutil.copy(OPENS_DRIVER, image / "app")
        self.root = image

        def look():
            found = self.inside("/app", "libcuda.so.1", "libnvidia-ml.so.1")
            self.assertEqual(found.splitlines(), [LIBRARY, MANAGEMENT])
            self.assertTrue((image / "dev/nvidia0").is_char_device())
            self.assertEqual(os.readlink(image / "usr/bin/nvidia-smi"), f"{TREE}/bin/nvidia-smi")

        self.each_way(look)

    def test_musl(self):
        harness.must("rm", "-rf", self.root / "usr/lib64", self.root / f"usr/lib/{MULTIARCH}")
        self.put("/usr/lib/ld-musl-x86_64.so.1")

        self.check_refused("musl")

    def test_musl_with_a_loader_for_glibc_programs(self):
        harness.must("rm", "-rf", self.root / f"usr/lib/{MULTIARCH}")
        self.put("/usr/lib/ld-musl-x86_64.so.1")

        self.check_refused("musl")

    def test_a_foreign_architecture(self):
        harness.must("rm", "-rf", self.root / "usr/lib64", self.root / f"usr/lib/{MULTIARCH}")
        self.put("/usr/lib/ld-linux-aarch64.so.1")
        self.put("/usr/lib/aarch64-linux-gnu/libc.so.6")

        self.check_refused("ld-linux-aarch64.so.1")


class LoaderCaches(Images):
    """The cache that the image brings."""

    def entries(self):
        """What ldconfig -p of the image says, a dictionary of lists of paths."""
        found = {}
        for line in self.inside("/sbin/ldconfig", "-p").splitlines()[1:]:
            if " => " in line:
                name, path = line.strip().split(" => ")
                found.setdefault(name.split(" ", 1)[0], []).append(path)
        return found

    def check_kept(self, name):
        """Ours come first, and what the image's cache named is still there."""
        image = self.entries()[name]

        def look():
            entries = self.entries()
            self.assertEqual(entries["libcuda.so.1"], [f"{TREE}/lib64/libcuda.so.1"])
            self.assertEqual(entries["libcuda.so"], [f"{TREE}/lib64/libcuda.so"])
            self.assertEqual(entries[name], image)
            self.assertEqual(self.opened("libcuda.so.1"), [LIBRARY])

        self.each_way(look)

    def test_ldconfig_p_names_the_driver(self):
        self.check_kept("libc.so.6")

    def test_the_compatible_format(self):
        harness.must("ldconfig", "-c", "compat", "-X", "-r", self.root)
        self.assertTrue((self.root / "etc/ld.so.cache").read_bytes().startswith(b"ld.so-1.7.0"))

        self.check_kept("libc.so.6")

    def test_the_old_format_alone(self):
        harness.must("ldconfig", "-c", "old", "-X", "-r", self.root)
        content = (self.root / "etc/ld.so.cache").read_bytes()
        self.assertNotIn(b"glibc-ld.so.cache", content)

        self.check_kept("libc.so.6")

    def test_a_header_of_the_old_format_and_nothing_else(self):
        (self.root / "etc/ld.so.cache").write_bytes(b"ld.so-1.7.0\0" + struct.pack("<I", 1 << 30))

        def look():
            self.assertEqual(self.opened("libcuda.so.1"), [LIBRARY])

        self.each_way(look)

    def check_ldconfig_run_inside(self):
        before = self.state()
        self.apply()

        self.inside("/sbin/ldconfig")

        self.assertEqual(self.opened("libcuda.so.1", "libnvidia-ptxjitcompiler.so.1"),
                         [LIBRARY, f"{TREE}/lib64/libnvidia-ptxjitcompiler.so.{VERSION}"])
        self.undo()
        # The cache is the image's own work by now, without our names.
        self.assertNotIn("gpuctr", str(self.entries()))
        after = self.state()
        (self.root / "etc/ld.so.cache").unlink()
        files = [line for line in snapshot.difference(before[0], after[0])
                 if not line.startswith(("/etc/ld.so.cache:", "/etc:", "/var/cache"))]
        self.assertEqual(files, [])

    def test_an_entry_point_that_runs_ldconfig(self):
        self.check_ldconfig_run_inside()

    def test_an_entry_point_that_runs_ldconfig_without_configuration(self):
        (self.root / "etc/ld.so.conf").unlink()

        self.check_ldconfig_run_inside()

    def test_an_entry_point_that_runs_ldconfig_where_nothing_is_written(self):
        self.apply("--write", "never")
        self.addCleanup(self.undo)

        harness.call("chroot", self.root, "/sbin/ldconfig")

        self.assertEqual(self.opened("libcuda.so.1"), [LIBRARY])


class StaleDrivers(Images):
    """An image with a driver of its own, of another version."""

    def check_covered(self, directory):
        """Found by LD_LIBRARY_PATH, our file is what is in the image's place."""
        stale = self.put(f"{directory}/libcuda.so.999.1")
        (stale.parent / "libcuda.so.1").symlink_to(stale.name)

        def look():
            (path,) = self.opened("libcuda.so.1", environment=[f"LD_LIBRARY_PATH={directory}"])
            self.inside("cmp", path, LIBRARY)
            self.assertEqual(self.opened("libcuda.so.1"), [LIBRARY])

        self.each_way(look)
        self.assertEqual(stale.read_text(), "the image's own")

    def test_where_the_loader_looks(self):
        self.check_covered(f"/usr/lib/{MULTIARCH}")

    def test_where_cuda_images_look(self):
        self.check_covered("/usr/local/nvidia/lib64")

    def test_where_older_cuda_images_look(self):
        self.check_covered("/usr/local/nvidia/lib")

    def test_in_the_toolkit(self):
        (self.root / "usr/local/cuda-12.4/lib64").mkdir(parents=True)
        (self.root / "usr/local/cuda").symlink_to("cuda-12.4")

        self.check_covered("/usr/local/cuda/lib64")

    def test_of_the_compatibility_package(self):
        (self.root / "usr/local").mkdir(exist_ok=True)
        (self.root / "usr/local/cuda").symlink_to("cuda-12.4")

        self.check_covered("/usr/local/cuda-12.4/compat")

    def test_cuda_images_environment(self):
        variable = "LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64"

        def look():
            self.assertEqual(self.opened("libcuda.so.1", environment=[variable]), [LIBRARY])

        self.each_way(look)

    def test_a_fixed_path(self):
        tool = self.put("/usr/bin/nvidia-smi")
        self.put(f"/usr/lib/{MULTIARCH}/libcuda.so.1")

        def look():
            (path,) = self.opened(f"/usr/lib/{MULTIARCH}/libcuda.so.1")
            self.inside("cmp", path, LIBRARY)
            self.inside("cmp", "/usr/bin/nvidia-smi", f"{TREE}/bin/nvidia-smi")

        self.each_way(look)
        self.assertEqual(tool.read_text(), "the image's own")


class Programs(Images):
    """Programs that do not take libraries from wherever they are told to."""

    def test_a_setuid_program(self):
        program = self.root / "usr/bin/setuid_opens_driver"
        shutil.copy(self.root / "usr/bin/opens_driver", program)
        program.chmod(0o4755)
        self.put("/opt/trap/libcuda.so.1")
        as_user = ["/usr/bin/setpriv", "--reuid", "65534", "--clear-groups", "/usr/bin/env",
                   "LD_LIBRARY_PATH=/opt/trap"]

        def look():
            found = self.inside(*as_user, f"/usr/bin/{program.name}", "libcuda.so.1")
            self.assertEqual(found.splitlines(), [LIBRARY])

        self.each_way(look)

    def check_linking(self, library, *directories):
        """With a linker of the image; what it makes is taken away again."""
        output = self.root / "tmp/linked"
        times = output.parent.stat()

        def look():
            # What stands for the driver has no sections: later linkers find it, and refuse it.
            done = self.inside("sh", "-c", '/usr/bin/ld "$@" 2>&1 || true', "ld", "-shared", "-t",
                               "-o", "/tmp/linked", *directories, "-lcuda")
            self.assertTrue(done.splitlines()[0].endswith(library), done)
            output.unlink(missing_ok=True)
            os.utime(output.parent, ns=(times.st_atime_ns, times.st_mtime_ns))

        self.each_way(look)

    def test_linking_with_lcuda(self):
        self.check_linking(f"{TREE}/lib64/libcuda.so", f"-L{TREE}/lib64")

    def test_linking_with_lcuda_where_linkers_look(self):
        self.check_linking(f"/lib/{MULTIARCH}/libcuda.so")

    def test_linking_where_cuda_images_look(self):
        self.check_linking("/usr/local/nvidia/lib64/libcuda.so", "-L/usr/local/nvidia/lib64")


if __name__ == "__main__":
    unittest.main()
