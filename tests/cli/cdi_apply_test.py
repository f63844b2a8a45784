# SPDX-License-Identifier: MIT
"""gpuctr-setup cdi apply: devices of specifications, whoever wrote them."""

import json
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import unittest

import ctk_specs
import harness
import snapshot
from cdi_case import KEEP, Case
from ctk_specs import LIBRARIES
from harness import DIRECTORY, ORDINARY_USER, VERSION


class IntoARoot(Case):
    def check_programs(self):
        self.assertEqual(sorted(self.inside("/usr/bin/needs_driver").splitlines()),
                         [f"{LIBRARIES}/libcuda.so.{VERSION}",
                          f"{LIBRARIES}/libnvidia-ml.so.{VERSION}"])

    def test_what_each_release_of_nvidia_ctk_writes(self):
        for release in ("1.17", "1.18", "1.20"):
            self.spec = ctk_specs.specification(release, VERSION)
            self.write()
            for write in ("auto", "never"):
                for backend in ("detached", "assembled"):
                    with self.subTest(release, write=write, backend=backend):
                        before = self.state()
                        words = ("--rootfs", self.root, "--write", write, "--backend", backend)
                        self.apply(*words)
                        self.check_programs()
                        again = self.state()
                        self.apply(*words)
                        self.assert_state(again)
                        self.undo()
                        self.assert_state(before)
                        self.assertEqual(harness.journals(), [])

    def test_the_chosen_nodes_alone(self):
        self.write()
        self.apply()
        for path in ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"):
            self.assertEqual(self.there(path).stat().st_rdev, os.stat(path).st_rdev)
        self.assertFalse(self.there("/dev/nvidia1").exists())

    def test_several_devices_get_the_common_edits_once(self):
        self.write()
        self.apply(device="nvidia.com/gpu=0,nvidia.com/gpu=1")
        self.assertTrue(self.there("/dev/nvidia0").is_char_device())
        self.assertTrue(self.there("/dev/nvidia1").is_char_device())
        self.undo()

    def test_mounts_are_read_only_unless_the_specification_says_otherwise(self):
        shared = self.directory / "shared"
        shared.mkdir()
        (shared / "file").write_text("host")
        bound = {"hostPath": str(shared), "containerPath": "/opt/a"}
        self.write(mounts=[bound | {"options": ["ro", "bind"]},
                           bound | {"containerPath": "/opt/b", "options": ["rw", "rbind"]}])
        self.apply()
        with self.assertRaises(OSError):
            (self.there("/opt/a") / "new").write_text("")
        (self.there("/opt/b") / "new").write_text("")
        (shared / "new").unlink()
        self.undo()
        self.assertTrue((shared / "file").exists())

    def test_a_socket_of_the_host(self):
        path = pathlib.Path("/run/nvidia-persistenced/socket")
        path.parent.mkdir(exist_ok=True)
        self.addCleanup(shutil.rmtree, path.parent)
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(str(path))
        self.write(mounts=[{"hostPath": str(path), "containerPath": str(path),
                            "options": ["nosuid", "nodev", "rbind", "rprivate", "noexec"]}])
        before = self.state()
        self.apply()
        self.assertTrue(stat.S_ISSOCK(self.there(path).stat().st_mode))
        self.undo()
        self.assert_state(before)

    def test_variables_and_groups_are_told(self):
        self.write(additionalGids=[44])
        self.spec["cdiVersion"] = "0.7.0"
        self.write()
        done = self.apply(stderr=None)
        self.assertEqual(done.stdout, "NVIDIA_VISIBLE_DEVICES=void\n")
        self.assertIn("processes of the container are to have the group 44", done.stderr)
        self.assertNotIn(".json:0:", done.stderr)
        self.apply("--rootfs", self.root, "-q", stderr="")

    def test_what_is_no_matter_of_files_is_told(self):
        self.spec["cdiVersion"] = "1.1.0"
        self.write(netDevices=[{"hostInterfaceName": "eth0", "name": "e"}],
                   intelRdt={"closID": "one"})
        told = self.warnings()
        self.assertIn("the network device 'eth0' is not moved", told)
        self.assertIn("intelRdt is not set", told)

    def test_status_names_the_devices(self):
        self.write()
        self.apply()
        done = self.run_setup("status", "--rootfs", self.root, stdout=None)
        self.assertIn("  devices  nvidia.com/gpu=0\n", done.stdout)
        self.assertIn("intact", done.stdout)
        done = self.run_setup("status", "--rootfs", self.root, "--noheadings", "--output", "DRIVER",
                              stdout=None)
        self.assertEqual(done.stdout, "nvidia.com/gpu\n")

    def test_another_set_up_goes_first(self):
        before = self.state()
        self.run_setup("--nv", "--rootfs", self.root)
        self.write()
        self.assertIn("replaced", self.apply(stderr=None).stderr)
        self.check_programs()
        self.refused_by_older()
        self.undo()
        self.assert_state(before)

    def refused_by_older(self):
        self.apply("--rootfs", self.root, "--no-replace", device="nvidia.com/gpu=1", status=10,
                   stderr=None)

    def test_a_dry_run_changes_nothing(self):
        self.write()
        with self.nothing_changes():
            out = self.apply("--rootfs", self.root, "--dry-run").stdout
            document = json.loads(self.apply("--rootfs", self.root, "--dry-run", "--json").stdout)
        self.assertIn("/dev/nvidia0", out)
        self.assertEqual(document["outcome"], "applied")

    def test_the_mounts_are_as_asked_for(self):
        self.write()
        self.refused(7, "the flags of mounts cannot be locked", "--rootfs", self.root, "--lock",
                     "--backend", "legacy")
        self.refused(7, "SELinux", "--rootfs", self.root, "--mount-label", "a:b:c:s0")

    def test_a_running_container(self):
        self.write()
        with subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                               'mount --rbind "$0" "$0" && mount --bind /proc "$0/proc" && '
                               'exec chroot "$0" sh -c "echo; read line"', self.root],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            root = pathlib.Path(f"/proc/{process.pid}/root")
            self.apply("--pid", process.pid)
            self.assertTrue((root / "dev/nvidia0").is_char_device())
            self.run_setup("undo", "--pid", process.pid)
            self.assertFalse((root / "dev/nvidia0").exists())
            process.stdin.close()


class ForACommand(Case):
    def test_cmd_gets_devices_and_variables(self):
        self.write()
        with self.nothing_changes():
            done = self.apply("--rootfs", self.root, "--", "sh", "-c",
                              "/usr/bin/needs_driver; echo $NVIDIA_VISIBLE_DEVICES; "
                              "test -c /dev/nvidia0 && ! test -e /dev/nvidia1")
        self.assertIn(f"{LIBRARIES}/libcuda.so.{VERSION}", done.stdout)
        self.assertTrue(done.stdout.endswith("void\n"))

    def test_a_user_can_do_it(self):
        self.write()
        self.directory.chmod(0o755)
        done = harness.call(*ORDINARY_USER, harness.SETUP, "cdi", "apply", "--spec-dir",
                            self.directory, "--device", "nvidia.com/gpu=0", "--rootfs", self.root,
                            "--", "/usr/bin/needs_driver")
        if "user namespace" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{LIBRARIES}/libcuda.so.{VERSION}", done.stdout)


class Hooks(Case):
    def with_hook(self, *args, path="/usr/bin/nvidia-cdi-hook", **more):
        return self.write(hooks=[{"hookName": "createContainer", "path": path,
                                  "args": ["nvidia-cdi-hook", *args]} | more])

    def test_links(self):
        self.with_hook("create-symlinks", "--link", "../a::/opt/x/b", "--link=/c::/opt/d")
        before = self.state()
        self.apply()
        self.assertEqual(os.readlink(self.there("/opt/x/b")), "../a")
        self.assertEqual(os.readlink(self.there("/opt/d")), "/c")
        self.undo()
        self.assert_state(before)

    def test_the_images_own_file_is_covered_where_a_link_is_wanted(self):
        own = self.there(LIBRARIES / "libcuda.so.1")
        own.parent.mkdir(parents=True)
        own.write_text("the image's own")
        self.write()
        self.apply()
        self.assertEqual(own.read_bytes(), (LIBRARIES / f"libcuda.so.{VERSION}").read_bytes())
        self.undo()
        self.assertEqual(own.read_text(), "the image's own")

    def test_what_is_in_the_way_of_a_link_is_told(self):
        self.there("/opt/b").mkdir(parents=True)
        self.with_hook("create-symlinks", "--link", "../a::/opt/b")
        self.assertIn("no link '/opt/b': the image has something else there", self.warnings())

    def test_a_later_ldconfig_finds_the_libraries(self):
        self.write()
        self.apply()
        text = self.there("/etc/ld.so.conf.d/00-gpuctr.conf").read_text()
        self.assertEqual(text, f"{LIBRARIES}\n")

    def test_the_parameters_of_the_driver_are_masked(self):
        self.write()
        self.there("/proc").mkdir(exist_ok=True)
        harness.must("mount", "--bind", self.root, self.root)
        harness.must("mount", "--rbind", "/proc", self.there("/proc"))
        self.apply(stderr=None)
        self.assertIn("ModifyDeviceFiles: 0",
                      self.there("/proc/driver/nvidia/params").read_text())
        self.undo(stderr=None)
        self.assertIn("ModifyDeviceFiles: 1",
                      self.there("/proc/driver/nvidia/params").read_text())

    def test_the_application_profile(self):
        self.with_hook("update-application-profile")
        self.apply(device="nvidia.com/gpu=1")
        path = "/etc/nvidia/nvidia-application-profiles-rc.d/10-gpuctr.conf"
        self.assertIn('"EGLVisibleDGPUDevices", 0x2]', self.there(path).read_text())

    def test_the_images_newer_cuda(self):
        for version, used in (("590.10.01", True), ("570.1.2", False)):
            with self.subTest(version):
                compat = self.there("/usr/local/cuda/compat")
                shutil.rmtree(compat, ignore_errors=True)
                compat.mkdir(parents=True)
                (compat / f"libcuda.so.{version}").write_bytes(
                    (LIBRARIES / f"libcuda.so.{VERSION}").read_bytes())
                os.symlink(f"libcuda.so.{version}", compat / "libcuda.so.1")
                self.write()
                before = self.state()
                self.apply()
                out = self.inside("/usr/bin/needs_driver")
                self.assertEqual(f"/usr/local/cuda/compat/libcuda.so.{version}" in out, used, out)
                self.undo()
                self.assert_state(before)

    def test_modes_of_directories(self):
        self.there("/dev/dri").mkdir()
        self.there("/dev/dri").chmod(0o700)
        self.with_hook("chmod", "--mode", "755", "--path", "/dev/nvidia-caps", "--path", "/dev/dri")
        self.assertIn("'/dev/dri' has the mode 0700, and not 0755", told := self.warnings())
        self.assertNotIn("nvidia-caps", told)

    def test_the_older_program(self):
        self.write(hooks=[{"hookName": "createContainer", "path": "/usr/bin/nvidia-ctk",
                           "args": ["nvidia-ctk", "--quiet", "hook", "create-symlinks", "--link",
                                    "a::/opt/b"]}])
        self.apply()
        self.assertEqual(os.readlink(self.there("/opt/b")), "a")

    def test_others_are_refused(self):
        for args, more, text in (
                (["unknown"], {}, "is not known"),
                (["create-symlinks"], {"path": "/opt/other-hook"}, "is not known"),
                (["create-symlinks"], {"hookName": "poststop"}, "is not known"),
                (["create-symlinks", "--what", "a"], {}, "unknown option '--what'"),
                (["create-symlinks", "--link"], {}, "has no value"),
                (["create-symlinks", "--link", "a"], {}, "is not TARGET::LINK"),
                (["create-symlinks", "--link", "a::/b/../c"], {}, "no absolute path without '..'"),
                (["create-symlinks", "--link", "a::b::c"], {}, "is not TARGET::LINK"),
                (["update-ldcache", "--folder", "/a,/b"], {}, "has a comma"),
                (["chmod", "--mode", "9"], {}, "is no mode"),
                (["enable-cuda-compat", "--host-driver-version", "x"], {}, "is no version")):
            with self.subTest(args):
                path = self.with_hook(*args, **more)
                self.assertIn(f"{path}:", self.refused(2, text))
                self.assertIn("containerEdits.hooks[0]", self.refused(2, text))


class Refused(Case):
    """Nothing is changed, and the error has file and line."""

    def test_paths_that_lead_elsewhere(self):
        for path in ("/opt/../../etc/x", "opt/x", "/", "/proc/sys/x", "/sys/x"):
            with self.subTest(path):
                self.refused_with("containerEdits.mounts[0]",
                                  mounts=[{"hostPath": "/etc/hostname", "containerPath": path}])

    def test_what_a_mount_cannot_be(self):
        for more, text in (({"type": "tmpfs"}, "a mount of type 'tmpfs'"),
                           ({"options": ["slave"]}, "the option 'slave'"),
                           ({"options": ["suid"]}, "the option 'suid'"),
                           ({"hostPath": "/dev/null"}, "which is no file, directory or socket"),
                           ({"hostPath": "/"}, "the host's root directory")):
            with self.subTest(more):
                self.refused_with(text, mounts=[{"hostPath": "/etc/hostname",
                                                 "containerPath": "/opt/x"} | more])

    def test_a_directory_with_the_mounts_below_it(self):
        source = self.directory / "shared"
        (source / "below").mkdir(parents=True)
        harness.call("mount", "-t", "tmpfs", "tmpfs", source / "below")
        self.addCleanup(harness.call, "umount", source / "below")
        bound = {"hostPath": str(source), "containerPath": "/opt/x"}
        self.refused_with("with the mounts below it (rbind)",
                          mounts=[bound | {"options": ["rbind"]}])
        self.write(mounts=[bound | {"options": ["bind"]}])
        self.apply()

    def test_a_node_among_the_kernels_own_files(self):
        for path in ("/proc/nvidiactl", "/sys/nvidiactl"):
            with self.subTest(path):
                self.refused_with(path, deviceNodes=[
                    ctk_specs.node("/dev/nvidiactl") | {"path": path, "hostPath": "/dev/nvidiactl"}])

    def test_what_its_hooks_would_make_in_the_same_place(self):
        for target in ("/etc", "/etc/ld.so.conf.d"):
            with self.subTest(target):
                self.refused_with("is made for its hooks",
                                  mounts=[{"hostPath": "/usr/share", "containerPath": target}])
        self.refused_with("is made for its hooks", mounts=[
            {"hostPath": "/etc/hostname", "containerPath": "/etc/ld.so.cache"}])

    def test_more_than_a_container_is_given(self):
        self.refused_with("more than 4096 edits", env=[f"A{i}=" for i in range(4097)])

    def test_a_text_that_would_be_cut_off(self):
        self.refused_with("a text with a NUL", env=["LD_PRELOAD\0=x"])

    def test_what_is_missing_on_the_host(self):
        self.refused_with("/nowhere': No such file", 4,
                          mounts=[{"hostPath": "/nowhere", "containerPath": "/opt/x"}])
        self.refused_with("/dev/nowhere': No such file", 4, deviceNodes=[{"path": "/dev/nowhere"}])

    def test_a_number_that_is_another_device(self):
        self.refused_with("is device 195:255 of this host, and the specification says 195:9", 4,
                          deviceNodes=[ctk_specs.node("/dev/nvidiactl") | {"minor": 9}])

    def test_a_node_that_is_none(self):
        os.symlink("/dev/null", "/dev/link")
        self.addCleanup(os.unlink, "/dev/link")
        self.refused_with("a link, and no device node", 4, deviceNodes=[{"path": "/dev/link"}])
        self.refused_with("is no device node", 4, deviceNodes=[{"path": "/etc/hostname"}])
        self.refused_with("is of type c, and the specification says b", 4,
                          deviceNodes=[{"path": "/dev/null", "type": "b"}])
        self.refused_with("with the permissions 'r' alone",
                          deviceNodes=[{"path": "/dev/null", "permissions": "r"}])

    def test_a_name_inside_of_another_mount(self):
        self.refused_with("which is mounted from the host",
                          mounts=[{"hostPath": "/etc", "containerPath": "/opt/a"},
                                  {"hostPath": "/etc/hostname", "containerPath": "/opt/a/b/c"}])

    def test_files_that_others_can_write(self):
        path = self.write()
        for what in (path, self.directory):
            with self.subTest(what):
                mode = stat.S_IMODE(what.stat().st_mode)
                what.chmod(0o777)
                self.refused(6, str(what))
                self.refused(6, str(what), "--oci", input="{}", stdin=None)
                what.chmod(mode)
        os.chown(path, 4711, 0)
        self.refused(6, str(path))

    def test_devices_that_no_file_has(self):
        self.write()
        for name, text in (("nvidia.com/gpu=7", "no specification has it"), ("0", "no full name"),
                           ("nvidia.com/gpu=", "device"), ("a/b=c d", "a/b=c d")):
            with self.subTest(name):
                self.refused(2, text, device=name)
        self.assertIn("there are nvidia.com/gpu=0", self.refused(2, "", device="nvidia.com/gpu=7"))

    def test_two_files_with_one_device(self):
        one, other = self.write("a.json"), self.write("b.json")
        self.refused(2, f"{one} and {other} have it")
        high = self.directory / "high"
        high.mkdir()
        (high / "c.json").write_text(one.read_text())
        self.apply("--spec-dir", high, "--rootfs", self.root)

    def test_files_that_are_none(self):
        huge = self.directory / "huge.json"
        huge.touch()
        os.truncate(huge, 100 << 20)
        self.refused(2, "huge.json is not read: larger than")
        huge.unlink()
        os.symlink("/dev/zero", self.directory / "zero.json")
        self.refused(2, "zero.json is not read: not a regular file")

    def test_words_that_do_not_go_together(self):
        self.write()
        for words in (("--oci", "--rootfs", self.root), ("--oci", "--write", "never"),
                      (KEEP, "all", "--rootfs", self.root), ("--rootfs", self.root, "--chdir", "/"),
                      ("-q",), ("--pid", "1", "--", "true")):
            with self.subTest(words):
                self.apply(*words, status=2, stderr=None, stdout="")


class HostileImages(Case):
    def check_host_is_kept(self, status):
        outside = DIRECTORY / "outside"
        outside.mkdir(exist_ok=True)
        self.addCleanup(shutil.rmtree, outside, ignore_errors=True)
        (outside / "file").write_text("host")
        before = snapshot.take(outside)
        self.write()
        self.apply(status=status, stderr=None)
        self.assertEqual(snapshot.difference(before, snapshot.take(outside)), [])
        self.run_setup("undo", "--rootfs", self.root, status=None, stderr=None)

    def test_links_out_of_the_root(self):
        for target in (DIRECTORY / "outside", "../" * 20 + str(DIRECTORY / "outside").lstrip("/")):
            with self.subTest(target):
                shutil.rmtree(self.there("/usr/local/nvidia"), ignore_errors=True)
                if self.there("/usr/local/nvidia").is_symlink():
                    self.there("/usr/local/nvidia").unlink()
                self.there("/usr/local").mkdir(exist_ok=True)
                os.symlink(target, self.there("/usr/local/nvidia"))
                self.check_host_is_kept(None)

    def test_a_link_in_the_place_of_a_file(self):
        path = self.there(LIBRARIES / f"libcuda.so.{VERSION}")
        path.parent.mkdir(parents=True)
        os.symlink(DIRECTORY / "outside/file", path)
        self.check_host_is_kept(5)

    def test_a_directory_in_the_place_of_a_file(self):
        self.there(LIBRARIES / f"libcuda.so.{VERSION}").mkdir(parents=True)
        self.check_host_is_kept(5)

    def test_a_dev_that_is_the_hosts_gets_no_names(self):
        self.assertEqual(harness.call("unshare", "--mount", "sh", "-euc",
            'mount --rbind /dev "$0/dev"; shift; ! "$@" 2>"$0/said"', self.root, "", harness.SETUP,
            "cdi", "apply", "--spec", self.write(mounts=[
                {"hostPath": "/etc/hostname", "containerPath": "/dev/adv", "options": ["ro"]}]),
            "--device", "nvidia.com/gpu=0", "--rootfs", self.root).returncode, 0)
        self.assertIn("/dev, which is the host's", self.there("/said").read_text())
        self.assertFalse(os.path.exists("/dev/adv"))

    def test_a_link_into_a_mount(self):
        self.there("/opt/a").mkdir(parents=True)
        os.symlink("/opt/a", self.there("/opt/b"))
        path = self.write(mounts=[{"hostPath": "/usr/share", "containerPath": "/opt/a"},
                                  {"hostPath": "/etc/hostname", "containerPath": "/opt/b/f"}])
        told = self.refused(2, "where a link of the image leads")
        self.assertIn(f"{path}:", told)

    def test_a_link_in_the_place_of_a_node(self):
        os.symlink(DIRECTORY / "outside/file", self.there("/dev/nvidia0"))
        self.check_host_is_kept(None)
        self.assertTrue(self.there("/dev/nvidia0").is_symlink())


class OfOurs(Case):
    """What this program writes itself."""

    def test_it_can_be_applied(self):
        path = self.directory / "ours.json"
        self.run_setup("cdi", "generate", "--nv", "--files-dir", self.directory / "files",
                       "--output-file", path)
        before = self.state()
        self.apply()
        self.assertIn(f"libcuda.so.1", self.inside("/usr/bin/needs_driver"))
        self.undo()
        self.assert_state(before)


if __name__ == "__main__":
    unittest.main()
