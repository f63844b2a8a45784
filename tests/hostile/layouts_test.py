# SPDX-License-Identifier: MIT
"""Images whose names lead where they should not."""

import os
import shutil
import subprocess
import unittest

import harness
import hostile
import mount_table
from harness import MULTIARCH, TREE

LIBRARIES = f"/usr/lib/{MULTIARCH}"


class Links(hostile.Case):
    """Symbolic links that lead out of the image when the host follows them."""

    def each_target(self, inside, name, **options):
        """The same for an absolute link and for one that climbs."""
        target = self.canary / name
        for text in (target, self.relative(target)):
            with self.subTest(link=str(text)):
                self.link(inside, text)
                self.each_mode(**options)

    def make_inside(self, name):
        """What the image has where the link leads in it."""
        path = self.path(str(self.canary / name))
        path.mkdir(parents=True)
        return path

    def test_the_toolkits_directory_names_the_hosts_root(self):
        """T1"""
        for name, target in (("libcuda.so.999", "/"), ("libcuda.so.1", "../../../../../../etc")):
            self.link(f"/usr/local/cuda/compat/{name}", target)

        self.each_mode(succeeds=True)

    def test_an_images_own_driver_is_a_link_to_the_hosts_files(self):
        """T1"""
        self.link("/usr/local/cuda/compat/libcuda.so.1", self.canary / "secret")
        self.link(f"{LIBRARIES}/libcuda.so.1", self.relative(self.canary / "f"))
        self.link("/usr/bin/nvidia-smi", self.canary / "f")

        self.each_mode(succeeds=True)

    def test_the_toolkits_directory_is_one_of_the_host(self):
        """T1"""
        self.each_target("/usr/local/cuda/compat", "lib", succeeds=True)
        self.each_target("/usr/local/cuda", "", succeeds=True)

    def test_the_directory_of_libraries_leads_out(self):
        """T3"""
        shutil.copytree(self.path(LIBRARIES), self.root / "srv/libraries")
        self.each_target(LIBRARIES, "d")
        self.each_target(LIBRARIES, "lib")

    def test_the_directory_of_libraries_leads_out_and_there_is_one_inside_as_well(self):
        """T3"""
        inside = self.make_inside("lib")
        harness.must("cp", "-a", f"{self.path(LIBRARIES)}/.", inside)

        self.each_target(LIBRARIES, "lib", succeeds=True)

    def test_the_directory_of_the_tree_leads_out(self):
        """T3"""
        self.each_target(TREE, "d")
        self.make_inside("d")
        self.each_target(TREE, "d")

    def test_the_directory_of_programs_leads_out(self):
        """T3, T4"""
        harness.must("mv", self.root / "usr/bin", self.root / "usr/programs")
        self.link("/bin", "usr/programs")

        self.each_target("/usr/bin", "d")
        self.make_inside("d")
        self.each_target("/usr/bin", "d", succeeds=True)

    def test_usr_local_leads_out(self):
        """T4"""
        self.each_target("/usr/local", "d")
        self.make_inside("d")
        self.each_target("/usr/local", "d", succeeds=True)

    def test_directories_of_generated_files_lead_out(self):
        """T4"""
        self.each_target("/etc/ld.so.conf.d", "d")
        self.link("/etc/vulkan", self.canary)
        self.link("/usr/share/vulkan", self.canary)
        self.link("/etc/OpenCL", self.relative(self.canary))
        self.each_mode()

    def test_a_name_that_is_to_be_created_is_a_link(self):
        """T4"""
        for name in ("/usr/local/nvidia", "/etc/ld.so.conf.d/00-gpuctr.conf",
                     "/etc/.gpuctr-kept-ld.so.cache", f"{LIBRARIES}/libcuda.so"):
            with self.subTest(name=name):
                self.each_target(name, "missing")
                self.each_target(name, "f")
                self.clear(name)

    def test_the_loader_cache_is_a_link(self):
        """T5"""
        self.each_target("/etc/ld.so.cache", "etc/ld.so.cache")
        self.each_target("/etc/ld.so.cache", "missing")

    def test_the_loader_caches_successors_are_links(self):
        """T5"""
        for name in ("ld.so.cache~", "ld.so.cache.new", ".gpuctr-kept-ld.so.cache"):
            with self.subTest(name=name):
                self.each_target(f"/etc/{name}", "f")
                self.clear(f"/etc/{name}")

    def test_a_loader_cache_that_somebody_kept_is_not_overwritten(self):
        """T5"""
        self.put("/etc/.gpuctr-kept-ld.so.cache")
        self.refused("--nv", "--rootfs", self.root, "--write", "always", status=5,
                     stderr="replace file /etc/ld.so.cache: File exists\nhint: .gpuctr-kept-.* "
                            "not known here")

    def test_the_configuration_of_the_host_is_the_images(self):
        """T6"""
        shutil.move(self.root / "etc", self.root / "srv/etc")
        for target in (self.canary, self.canary / "etc", "/proc/self/cwd", "/proc/1/root/etc",
                       "/proc/self/root/etc", self.relative("/etc")):
            with self.subTest(target=target):
                self.link("/etc", target)
                self.each_mode()

    def test_links_of_the_kernel_lead_nowhere(self):
        """T6"""
        for name in ("/usr/local", TREE, "/dev", "/usr/bin/nvidia-smi"):
            with self.subTest(name=name):
                harness.must("cp", "-a", self.path("/usr"), self.path("/srv/usr"))
                self.link(name, f"/proc/self/root{self.canary}/d")
                with self.with_mount("--bind", "/proc", target=self.root / "proc"):
                    self.each_mode(modes=("auto", "never"), command=False)
                harness.must("rm", "-rf", self.path("/usr"))
                harness.must("mv", self.path("/srv/usr"), self.path("/usr"))

    def test_the_directory_of_devices_leads_out(self):
        """T8"""
        self.each_target("/dev", "dev")
        self.make_inside("dev")
        self.each_target("/dev", "dev", succeeds=True)

    def test_the_directory_of_devices_is_none(self):
        """T8"""
        self.clear("/dev")
        self.each_mode()
        self.put("/dev")
        self.each_mode(succeeds=False)

    def test_the_root_itself_is_a_link_or_full_of_them(self):
        """T19"""
        link = harness.DIRECTORY / "link"
        link.symlink_to(self.root)
        self.addCleanup(link.unlink)
        for name in ("usr", "etc", "dev", "proc", "sys", "lib", "lib64", "bin"):
            self.link(f"/{name}", f"{self.canary}/d")

        self.refused("--nv", "--rootfs", link, status=5, stderr="no /lib64/ld-linux")
        self.refused("--nv", "--rootfs", link, "--vendor-libs", "none", "--write", "never",
                     status=5, stderr="no directory above it exists but the root")
        self.each_mode()


class Names(hostile.Case):
    """Chains, circles, and names that no program expects."""

    def test_chains_and_circles_of_links_are_no_way(self):
        """T9"""
        chain = self.path("/srv/chain")
        chain.mkdir()
        for number in range(60):
            (chain / f"l{number}").symlink_to(f"l{number + 1}")
        (chain / "l60").mkdir()
        (chain / "a").symlink_to("b")
        (chain / "b").symlink_to("a")
        for inside in ("/usr/local", "/dev", f"{LIBRARIES}/libcuda.so.1", "/etc/ld.so.cache", TREE,
                       "/etc/ld.so.conf.d"):
            saved = self.path("/srv/saved")
            had = os.path.lexists(self.path(inside))
            if had:
                harness.must("mv", self.path(inside), saved)
            for target in ("/srv/chain/l0", "/srv/chain/a", "/".join(["."] * 2046),
                           "/" + "x" * 4000, "x" * 300):
                with self.subTest(inside=inside, target=target[:20]):
                    self.link(inside, target)
                    self.each_mode(modes=("auto", "never"), command=False)
            self.clear(inside)
            if had:
                harness.must("mv", saved, self.path(inside))

    def test_odd_names_are_kept_as_they_are(self):
        """T9"""
        for name in (b"a\nb", b"a\\b", b"a b", b"\xff\xfe", b"\x1b[31m", b"x" * 255):
            with self.subTest(name=name):
                directory = os.fsencode(self.path("/usr/local")) + b"/" + name
                os.mkdir(directory)
                os.symlink(b"/usr/local/" + name, os.fsencode(self.path("/usr/local/nvidia")))
                self.each_mode(modes=("auto", "never"), command=False, succeeds=True)
                os.unlink(self.path("/usr/local/nvidia"))
                os.rmdir(directory)

    def test_a_root_with_an_odd_name_is_undone_by_it(self):
        """T9"""
        for name in (b"new\nline", b"back\\slash", b"spa ce", b"\xff\xfe", b"esc\x1b[31m",
                     b" (deleted)", b"d" * 200):
            with self.subTest(name=name):
                odd = os.fsencode(harness.DIRECTORY) + b"/" + name
                os.rename(self.root, odd)
                self.root = type(self.root)(os.fsdecode(odd))
                before = self.state()
                self.apply("--write", "always")
                self.assertTrue(self.path(hostile.TREE_FILE).is_file())
                self.run_setup("status", "--all", stdout=None)
                self.undo()
                self.assert_state(before)
                self.assertEqual(harness.journals(), [])

    def test_a_path_longer_than_any_may_be(self):
        """T9"""
        deep = self.root / "srv"
        top = os.open(deep, os.O_RDONLY)
        for _ in range(25):
            os.mkdir("d" * 200, dir_fd=top)
            below = os.open("d" * 200, os.O_RDONLY, dir_fd=top)
            os.close(top)
            top = below
        for name in os.listdir(self.root):
            if name != "srv":
                os.rename(self.root / name, name, dst_dir_fd=top)
        done = harness.setup("--nv", "--rootfs-fd", top, "--write", "always", pass_fds=[top])
        self.assert_calm(done)
        self.assert_canary()
        done = harness.setup("undo", "--rootfs-fd", top, pass_fds=[top])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([m for m in mount_table.below(self.root)], [])
        os.close(top)


class KernelFileSystems(hostile.Case):
    """What an image calls /proc and /sys."""

    def fake_proc(self):
        proc = self.path("/proc")
        for path in ("self/attr/exec", "self/uid_map", "self/ns/mnt", "self/mountinfo",
                     "thread-self/ns/mnt", "thread-self/mountinfo", "driver/nvidia/params",
                     "sys/kernel/random/boot_id", "1/ns/mnt"):
            (proc / path).parent.mkdir(parents=True, exist_ok=True)
            (proc / path).write_text("the image's own\n")
        (proc / "self/fd").mkdir()
        for number in range(64):
            (proc / f"self/fd/{number}").symlink_to(self.canary / "d")

    def test_a_proc_that_the_image_made_up_is_not_believed(self):
        """T10"""
        self.fake_proc()

        self.each_mode(succeeds=True)

    def test_a_proc_that_is_a_link(self):
        """T10"""
        for target in (self.canary / "d", "/", "/proc", self.relative("/proc")):
            with self.subTest(target=target):
                self.link("/proc", target)
                self.each_mode(modes=("auto", "never"))

    def test_a_link_to_a_file_of_the_kernel_is_not_mounted_over(self):
        """T10"""
        self.link(f"{LIBRARIES}/libcuda.so.1", "/proc/sys/kernel/hostname")
        self.link("/etc/ld.so.cache", "/proc/version")
        with self.with_mount("-t", "proc", "proc", target=self.root / "proc"):
            def look():
                targets = [m.target for m in mount_table.below(self.root / "proc")]
                allowed = {str(self.root / "proc"), f"{self.root}/proc/driver/nvidia/params"}
                self.assertLessEqual(set(targets), allowed)
            self.each_mode(look, command=False)

    def test_a_directory_that_is_to_be_empty_is_no_other_one(self):
        """T10"""
        hidden = "/proc/driver/nvidia/capabilities"
        for target in ("/", "../../..", "/sys/kernel", "/usr", self.relative("/sys")):
            with self.subTest(target=target), \
                    self.with_mount("-t", "sysfs", "-o", "ro", "sysfs", target=self.root / "sys"):
                self.link(hidden, target)

                def look():
                    covered = {m.target for m in mount_table.below(self.root)}
                    self.assertNotIn(f"{self.root}/sys/kernel", covered)
                self.each_mode(look, modes=("auto", "never"))

    def test_names_are_not_created_in_a_kernel_file_system(self):
        """T10"""
        for inside in ("/usr/local", "/dev"):
            self.link(inside, "/sys/kernel")
        with self.with_mount("-t", "sysfs", "-o", "ro", "sysfs", target=self.root / "sys"):
            self.each_mode(command=False)


class Places(hostile.Case):
    """Where an image lies, and who else uses its files."""

    def test_a_hard_link_to_a_file_of_the_host_is_not_written(self):
        """T17"""
        for inside in (f"{LIBRARIES}/libcuda.so.1", "/etc/ld.so.cache", "/usr/bin/nvidia-smi",
                       "/etc/ld.so.conf.d/00-gpuctr.conf", "/etc/.gpuctr-kept-ld.so.cache",
                       "/dev/nvidia0", "/etc/ld.so.conf"):
            with self.subTest(inside=inside):
                path = self.clear(inside)
                os.link(self.canary / "f", path)
                self.untouched = self.look_outside()
                self.each_mode(modes=("auto", "always", "never", "merged"), command=False)
                path.unlink()
                self.untouched = self.look_outside()

    def check_mounted(self, *options):
        """The image on a mount of its own, with these options."""
        mount = harness.DIRECTORY / "mounted"
        mount.mkdir()
        self.addCleanup(mount.rmdir)
        harness.must("mount", "--bind", self.root, mount)
        self.addCleanup(harness.call, "umount", "-l", mount)
        harness.must("mount", *options, mount)
        self.root = mount
        kept = {"nosuid", "nodev", "noexec"} & set(",".join(options).split(","))

        def look():
            """What of the image is seen through mounts of ours gains nothing by them."""
            for seen in mount_table.below(mount):
                if seen.type == "overlay" and seen.source == "gpuctr":
                    self.assertLessEqual(kept, set(seen.options.split(",")), seen)
        self.each_mode(look, command=False)

    def test_a_root_on_an_overlay(self):
        """T19: as container engines have it"""
        place = harness.DIRECTORY / "overlay"
        harness.mount_tmpfs(place)
        self.addCleanup(harness.must, "umount", "-l", place)
        for name in ("upper", "work", "merged"):
            (place / name).mkdir()
        merged = place / "merged"
        harness.must("mount", "-t", "overlay", "-o", f"lowerdir={self.root},"
                     f"upperdir={place}/upper,workdir={place}/work", "test", merged)
        self.addCleanup(harness.must, "umount", "-l", merged)
        self.root = merged
        for directory, _, _ in os.walk(merged): # which changes the number of its links
            os.utime(directory)
        self.each_mode(succeeds=True)

    def test_a_root_without_programs_and_devices(self):
        """T19"""
        self.check_mounted("-o", "remount,bind,nosuid,nodev,noexec")

    def test_a_root_that_is_read_only(self):
        """T19"""
        self.check_mounted("-o", "remount,bind,ro")

    def test_a_root_whose_mounts_others_see(self):
        """T19"""
        mount = harness.DIRECTORY / "shared"
        harness.mount_tmpfs(mount)
        self.addCleanup(harness.must, "umount", "-l", mount)
        harness.must("mount", "--make-shared", mount)
        root = mount / "root"
        harness.must("cp", "-a", self.root, root)
        peer = subprocess.Popen(["unshare", "--mount", "--propagation", "unchanged", "sh", "-c",
                                 "echo ready; exec sleep 60"], stdout=subprocess.PIPE)
        for action in (peer.wait, peer.kill, peer.stdout.close):
            self.addCleanup(action)
        peer.stdout.readline()
        self.root = root
        table = f"/proc/{peer.pid}/mountinfo"
        before = mount_table.read(table)

        def look():
            seen = [m.target for m in mount_table.read(table) if m not in before]
            self.assertLessEqual(set(seen), {str(root)}) # bound on itself, and nothing in it
        self.each_mode(look, succeeds=True)

        self.assertEqual(mount_table.read(table), before)

    def test_a_root_that_is_the_hosts_is_refused(self):
        """T19"""
        self.refused("--nv", "--rootfs", "/", status=5, stderr="own root directory")
        self.refused("--nv", "--rootfs", "/proc/self/root", status=5, stderr="own root directory")
        self.refused("--nv", "--rootfs", "/proc/self", status=5, stderr="no /lib64")


if __name__ == "__main__":
    unittest.main()
