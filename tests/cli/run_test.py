# SPDX-License-Identifier: MIT
"""gpuctr-setup -- CMD: a command with the GPUs, in private namespaces."""

import contextlib
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import unittest

import harness
from harness import TREE, VERSION

DEVICES = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd", "stdin",
           "stdout", "stderr"}
SECCOMP = pathlib.Path(__file__).with_name("seccomp.py")
NODES = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}
GPUS = {f"nvidia{n}" for n in range(8)}


@contextlib.contextmanager
def shared(directory):
    """A tmpfs of the host that everybody may write."""
    harness.must("mount", "-t", "tmpfs", "-o", "mode=1777", "test", directory)
    try:
        yield
    finally:
        harness.must("umount", directory)


class Run:
    """What holds for every caller."""

    prefix = []
    uid = gid = 0

    def setUp(self):
        super().setUp()
        self.before = self.state()

    def tearDown(self):
        self.assert_state(self.before)
        self.assertEqual(harness.journals(), [])
        super().tearDown()

    def run_command(self, *command, options=(), status=0, stderr="", **call_options):
        done = harness.call(*self.prefix, harness.SETUP, "--nv", "--rootfs", self.root, *options,
                            "--", *command, **call_options)
        self.assertEqual(done.returncode, status, done.stderr)
        if stderr is not None:
            self.assertEqual(done.stderr, stderr)
        return done.stdout

    def shell(self, script, *words, **options):
        return self.run_command("sh", "-c", script, "sh", *words, **options)

    def test_hands_on_the_exit_status(self):
        for status in (0, 1, 42, 255):
            self.shell(f"exit {status}", status=status)

    def test_hands_on_signals(self):
        self.shell("kill -TERM $$", status=-signal.SIGTERM)
        done = harness.call("sh", "-c", '"$@"; echo $?', "sh", *self.prefix, harness.SETUP, "--nv",
                            "--rootfs", self.root, "--", "sh", "-c", "kill -TERM $$")
        self.assertEqual(done.stdout, "143\n")

    def test_keeps_the_process(self):
        process = subprocess.Popen([*self.prefix, harness.SETUP, "--nv", "--rootfs", self.root,
                                    "--", "sh", "-c", "echo $$; read line; exit 3"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with process:
            self.assertEqual(process.stdout.readline(), f"{process.pid}\n")
            self.assertEqual(os.readlink(f"/proc/{process.pid}/exe").split("/")[-1], "sh")
            process.send_signal(signal.SIGTERM)
        self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_keeps_user_and_group(self):
        self.assertEqual(self.shell("id -u; id -g"), f"{self.uid}\n{self.gid}\n")

    def test_finds_programs_as_a_shell_does(self):
        scripts = self.root / "scripts"
        scripts.mkdir()
        for name, first in (("script", "#!/bin/sh"), ("spaced", "#! /bin/sh -e "), ("plain", ""),
                            ("nested", "#!/scripts/spaced x y")):
            (scripts / name).write_text(f'{first}\necho "$0" "$@"\n')
            (scripts / name).chmod(0o755)
        (scripts / "locked").write_text("#!/bin/sh\n")
        (scripts / "link").symlink_to("../scripts/script")
        self.before = self.state()
        path = ["--setenv", "PATH=/nowhere:/etc/passwd:/scripts:/usr/bin"]
        here = ["--chdir", "/scripts"]
        for options, program, said in (
                ([], "/scripts/script", "/scripts/script a b"),
                ([], "/scripts/link", "/scripts/link a b"),
                ([], "/scripts/plain", "/scripts/plain a b"),
                ([], "/scripts/nested", "/scripts/spaced x y /scripts/nested a b"),
                (path, "spaced", "/scripts/spaced a b"), (path, "link", "/scripts/link a b"),
                (path, "echo", "a b"), (here, "./script", "./script a b"),
                (here, "../scripts/link", "../scripts/link a b"),
                ([*here, "--setenv", "PATH="], "script", "script a b"),
                ([*here, "--setenv", "PATH=/usr/bin:"], "plain", "plain a b")):
            with self.subTest(program=program, options=options):
                self.assertEqual(self.run_command(program, "a", "b", options=options), said + "\n")
        for program, status, problem in (
                ("locked", 126, "Permission denied"), ("none", 127, "No such file or directory"),
                ("", 127, "No such file or directory"), ("/etc/passwd/x", 127, "Not a directory")):
            with self.subTest(program=program):
                self.run_command(program, options=path, status=status,
                                 stderr=f"gpuctr-setup: {program}: {problem}\n")

    def test_starts_in_the_root_directory(self):
        self.assertEqual(self.shell("pwd; cd ..; pwd -P"), "/\n/\n")

    def test_starts_where_it_is_told_to(self):
        self.assertEqual(self.shell("pwd", options=["--chdir", "/usr/bin"]), "/usr/bin\n")

    def test_a_working_directory_that_is_not_there_is_an_error(self):
        self.run_command("true", options=["--chdir", "/nowhere"], status=125,
                         stderr=f"gpuctr-setup: working directory /nowhere in {self.root}: No such "
                                "file or directory (error 5)\n")

    def test_hands_on_the_environment(self):
        out = self.run_command("env", env={"PATH": os.environ["PATH"], "KEPT": "as it is",
                                           "OTHER": "old"},
                               options=["--setenv", "OTHER=new", "--setenv", "MORE=a=b",
                                        "--setenv", "EMPTY="])

        self.assertLessEqual({"KEPT=as it is", "OTHER=new", "MORE=a=b", "EMPTY="},
                             set(out.splitlines()))

    def test_paths_of_the_host_stay_out(self):
        """Of its loader, its compilers and its CUDA; --setenv gives any."""
        given = {name: "/host/path" for name in (
            "LD_LIBRARY_PATH", "LD_AUDIT", "LIBRARY_PATH", "CPATH", "CUDA_HOME", "CUDA_PATH",
            "CUDAToolkit_ROOT", "CUDA_INJECTION64_PATH", "ROCM_PATH", "OCL_ICD_VENDORS",
            "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH", "CUDA_LIB_PATH", "CUDNN_LIBRARY", "NVHPC",
            "VK_ICD_FILENAMES", "VK_DRIVER_FILES", "__EGL_VENDOR_LIBRARY_FILENAMES",
            "GBM_BACKENDS_PATH", "HSA_TOOLS_LIB")}
        kept = {"CUDA_CACHE_PATH": "/a", "MY_CUDA_HOME": "/b", "LD_BIND_NOW": "1",
                "PYTHONPATH": "/c", "MODULEPATH": "/d", "JAVA_HOME": "/e"}
        # The loader of the host reads it too, and says so where it finds no library.
        preload = {"LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libm.so.6"}
        environment = os.environ | given | kept | preload
        out = self.run_command("env", env=environment, stderr=None).splitlines()
        self.assertEqual([line for line in out if line.split("=")[0] in given | preload], [])
        self.assertLessEqual({f"{name}={value}" for name, value in kept.items()}, set(out))

        out = self.run_command("env", env=environment, stderr=None,
                               options=["--setenv", "CUDA_HOME=/usr", "--setenv",
                                        "LD_LIBRARY_PATH=/opt"]).splitlines()
        self.assertLessEqual({"CUDA_HOME=/usr", "LD_LIBRARY_PATH=/opt"}, set(out))
        self.assertNotIn("CUDA_PATH=/host/path", out)

    def test_all_that_stay_out_are_in_the_manual(self):
        manual = (pathlib.Path(__file__).parents[2] / "docs/cli.md").read_text(encoding="utf-8")
        manual = manual[manual.index("### Its environment"):manual.index("`-v` names those")]
        names = re.findall("`([A-Za-z_0-9]+)`", manual)
        self.assertGreater(len(names), 70)
        environment = {name: "/host/path" for name in names if not name.startswith("LD_")}
        out = self.run_command("env", env=environment | {"PATH": os.environ["PATH"]})
        self.assertEqual([line for line in out.splitlines() if line.split("=")[0] in names], [])

    def test_says_what_stayed_out(self):
        environment = {"PATH": os.environ["PATH"], "LIBRARY_PATH": "", "CUDA_HOME": "/opt"}
        self.run_command("true", options=["-v"], env=environment, stderr=(
            "gpuctr-setup: left out of the environment, because of paths of this host: CUDA_HOME, "
            "LIBRARY_PATH\n"))

    def test_a_clean_environment(self):
        environment = {"PATH": os.environ["PATH"] + ":/nowhere", "TERM": "dumb", "HOME": "/root",
                       "SECRET": "x", "LD_LIBRARY_PATH": "/opt"}
        usual = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        for options, variables, expected in (
                ([], {}, {usual, "TERM=dumb"}),
                (["--setenv", "PATH=/usr/bin", "--setenv", "LD_LIBRARY_PATH=/lib"], {},
                 {"PATH=/usr/bin", "TERM=dumb", "LD_LIBRARY_PATH=/lib"}),
                ([], {"GPUCTR_SETENV": "A=b", "GPUCTR_CLEAN_ENV": "true"},
                 {usual, "TERM=dumb", "A=b"})):
            clean = [] if variables else ["--clean-env"]
            out = self.run_command("/usr/bin/env", env=environment | variables,
                                   options=[*options, *clean])
            self.assertEqual(set(out.splitlines()), expected)

    def test_a_clean_environment_has_the_choice_of_gpus(self):
        """Programs would see others than the scheduler gave."""
        out = self.run_command("env", options=["--clean-env"], env=os.environ | {
            "CUDA_VISIBLE_DEVICES": "2", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
        chosen = [line for line in out.splitlines() if line.startswith("CUDA_")]
        self.assertEqual(chosen[0], "CUDA_DEVICE_ORDER=PCI_BUS_ID")
        self.assertRegex(chosen[1], "^CUDA_VISIBLE_DEVICES=GPU-")

    def test_keeps_the_arguments(self):
        words = ["", "a b", "--nv", "--", "-x", "*", "line\nbreak"]

        self.assertEqual(self.shell("printf '<%s>' \"$@\"", *words),
                         "".join(f"<{word}>" for word in words))

    def test_hands_on_standard_streams(self):
        done = harness.call(*self.prefix, harness.SETUP, "--nv", "--rootfs", self.root, "--", "sh",
                            "-c", "cat; echo problem >&2", input="text", stdin=None)

        self.assertEqual((done.stdout, done.stderr), ("text", "problem\n"))

    def test_shows_the_devices_and_no_others(self):
        names = set(self.run_command("ls", "/dev").split())

        self.assertEqual(names, DEVICES | NODES | GPUS)
        self.assertEqual(self.shell("echo lost > /dev/null && head -c 4 /dev/zero | wc -c").strip(),
                         "4")
        self.assertEqual(self.shell("for l in fd stdin stdout stderr ptmx; do readlink /dev/$l; "
                                    "done"),
                         "/proc/self/fd\n/proc/self/fd/0\n/proc/self/fd/1\n/proc/self/fd/2\n"
                         "pts/ptmx\n")

    def test_shows_the_chosen_devices(self):
        names = self.run_command("ls", "/dev", options=["--device", "2,5"]).split()

        self.assertEqual(set(names) & GPUS, {"nvidia2", "nvidia5"})

    def test_device_nodes_are_the_hosts(self):
        for name in ("nvidia3", "nvidiactl", "null"):
            found = self.run_command("stat", "-c", "%F %t:%T %a", f"/dev/{name}")
            host = os.stat(f"/dev/{name}")
            self.assertEqual(found, "character special file "
                             f"{os.major(host.st_rdev):x}:{os.minor(host.st_rdev):x} "
                             f"{stat.S_IMODE(host.st_mode):o}\n")

    def test_shows_proc_and_sys(self):
        self.assertEqual(self.shell("cat /proc/driver/nvidia/version | head -c 4; "
                                    "ls /sys/bus/pci/drivers/nvidia | grep -c ^0000; "
                                    "readlink /proc/self/exe"),
                         "NVRM8\n" + self.run_command("realpath", "/usr/bin/readlink"))

    def test_gives_the_driver_to_programs(self):
        paths = self.run_command("/usr/bin/needs_driver").splitlines()

        self.assertEqual(sorted(paths), [f"{TREE}/lib64/libcuda.so.{VERSION}",
                                         f"{TREE}/lib64/libnvidia-ml.so.{VERSION}"])
        self.run_command("nvidia-smi")

    def test_gives_the_driver_to_programs_when_assembled(self):
        paths = self.run_command("/usr/bin/needs_driver", options=["--backend", "assembled"])

        self.assertEqual(len(paths.splitlines()), 2)

    def test_leaves_inherited_descriptors_open_and_no_others(self):
        read_end, write_end = os.pipe()
        os.dup2(read_end, 7)
        self.addCleanup(os.close, 7)
        os.close(write_end)
        os.close(read_end)

        # A descriptor of the root has to be of the caller's mount namespace.
        opened = [*self.prefix, "sh", "-c", 'exec 8<"$0"; exec "$@"', self.root]
        script = ["sh", "-c", "exec 9</proc/self/fd; ls /proc/$$/fd"]
        lock = [] if harness.IS_LEGACY else ["--lock"]
        for words in (["--rootfs", self.root], ["--rootfs-fd", "8"],
                      ["--rootfs", self.root, "--backend", "assembled", *lock],
                      ["--rootfs", self.root, "--bind", "/usr:/mnt", "--layout", "merged"]):
            done = harness.call(*opened, harness.SETUP, "--nv", *words, "--", *script,
                                pass_fds=[7])
            inherited = [7, 9] if "--rootfs-fd" in words else [7, 8, 9]
            self.assertEqual(sorted(map(int, done.stdout.split())), [0, 1, 2, *inherited],
                             f"{words}: {done.stderr}")

    def test_an_internal_error_is_none_of_the_commands(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = harness.call(*self.prefix, harness.SETUP, "--nv", "--rootfs", "/nowhere", "--",
                                "true", stderr=full)

        self.assertEqual(done.returncode, 125)

    def test_the_root_as_a_descriptor_leads_no_command_out(self):
        done = harness.call(*self.prefix, "sh", "-c", 'root=$1; shift; exec "$@" 7<"$root"', "sh",
                            self.root, harness.SETUP, "--nv", "--rootfs-fd", "7", "--", "ls",
                            "/proc/self/fd/7/..", "/proc/self/fd")

        self.assertEqual(done.stdout.split(), ["/proc/self/fd:", "0", "1", "2", "3"], done.stderr)

    def test_works_without_standard_streams(self):
        words = " ".join([*self.prefix, harness.SETUP, "--nv", "--rootfs", str(self.root)])

        done = harness.call("sh", "-c", f"{words} -- sh -c 'exit 5' <&- >&- 2>&-")

        self.assertEqual(done.returncode, 5)

    def test_what_is_mounted_shows_nowhere_else(self):
        process = subprocess.Popen([*self.prefix, harness.SETUP, "--nv", "--rootfs", self.root,
                                    "--", "sh", "-c", "echo ready; read line"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with process:
            process.stdout.readline()
            self.assert_state(self.before)
            process.stdin.close()

    def test_the_hosts_root_is_out_of_reach(self):
        mounts = self.run_command("cat", "/proc/self/mountinfo").splitlines()
        places = [line.split()[4] for line in mounts]

        self.assertEqual([p for p in places if p.startswith("/tmp")], [])
        self.assertEqual(places.count("/"), 1)
        self.assertEqual(self.run_command("ls", "/").split(), sorted(os.listdir(self.root)))

    def test_links_of_the_image_lead_no_name_to_what_the_host_shares(self):
        harness.must("rm", "-rf", self.root / "etc")
        for where in ("/dev/shm", "/sys/fs/cgroup"):
            with self.subTest(where), shared(where):
                (self.root / "etc").symlink_to(where)
                self.before = self.state()
                self.shell("true")
                self.assertEqual(os.listdir(where), [])
                (self.root / "etc").unlink()
        self.before = self.state()

    def test_a_bind_is_seen_and_can_be_read_only(self):
        directory = harness.DIRECTORY / "shared"
        directory.mkdir(exist_ok=True)
        directory.chmod(0o777)
        self.addCleanup(harness.call, "rm", "-rf", directory)
        (directory / "file").write_text("content")

        out = self.shell("cat /mnt/file; echo back > /mnt/written",
                         options=["--bind", f"{directory}:/mnt"])
        self.assertEqual(out, "content")
        self.assertEqual((directory / "written").read_text(), "back\n")

        self.shell("echo back > /mnt/again", options=["--bind", f"{directory}:/mnt:ro"], status=2,
                   stderr=None)
        self.assertFalse((directory / "again").exists())

    def test_a_read_only_bind_covers_what_is_mounted_below_its_source(self):
        directory = harness.DIRECTORY / "nested"
        directory.mkdir(exist_ok=True)
        harness.mount_tmpfs(directory / "below")
        (directory / "below").chmod(0o777)
        self.addCleanup(harness.call, "umount", "-l", directory / "below")
        self.before = self.state()

        self.shell("echo back > /mnt/below/file", options=["--bind", f"{directory}:/mnt:ro"],
                   status=2, stderr=None)
        harness.must("umount", "-l", directory / "below")
        self.before = self.state()

    def test_a_read_only_bind_keeps_the_flags_that_its_mount_has(self):
        """Also where mount(2) has to be told all of them."""
        directory = harness.DIRECTORY / "flagged"
        directory.mkdir()
        self.addCleanup(directory.rmdir)
        for options in ("strictatime,nodiratime", "nosymfollow,nosuid", "noatime,noexec"):
            harness.must("mount", "-t", "tmpfs", "-o", f"mode=0755,{options}", "test", directory)
            own = next(line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
                       if line.split()[4] == str(directory))
            self.before = self.state()
            for forbidden in ([], [sys.executable, "-B", SECCOMP, "mount_setattr:EPERM"]):
                with self.subTest(options=options, forbidden=forbidden):
                    done = harness.call(
                        *forbidden, *self.prefix, harness.SETUP, "--nv", "--rootfs", self.root,
                        "--bind", f"{directory}:/mnt:ro", "--", "grep", " /mnt ",
                        "/proc/self/mountinfo")
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(done.stdout.split()[5], own.split()[5].replace("rw", "ro"))
            harness.must("umount", directory)
        self.before = self.state()

    def test_bad_binds_are_usage_errors(self):
        for bind, line in (("relative", "--bind relative: paths must be absolute"),
                           ("/usr:/mnt:rx", "--bind /usr:/mnt:rx: an unknown option")):
            self.run_command("true", options=["--bind", bind], status=2,
                             stderr=f"gpuctr-setup: {line}\nhint: the form is SRC[:DST[:ro]]\n")

    def test_a_bind_of_what_is_not_there_is_a_usage_error(self):
        self.run_command("true", options=["--bind", "/nowhere:/mnt"], status=2,
                         stderr="gpuctr-setup: --bind /nowhere:/mnt: No such file or directory\n")

    def test_a_command_that_is_not_there(self):
        self.run_command("no-such-command", status=127,
                         stderr="gpuctr-setup: no-such-command: No such file or directory\n")
        self.run_command("/no/such/command", status=127,
                         stderr="gpuctr-setup: /no/such/command: No such file or directory\n")

    def test_a_command_that_cannot_be_executed(self):
        self.run_command("/etc/passwd", status=126,
                         stderr="gpuctr-setup: /etc/passwd: Permission denied\n")
        self.run_command("/usr/bin", status=126,
                         stderr="gpuctr-setup: /usr/bin: Permission denied\n")

    def test_a_set_up_that_fails(self):
        done = harness.call(*self.prefix, harness.SETUP, "--nv", "--rootfs", "/nowhere", "--",
                            "true")
        self.assertEqual(done.returncode, 125)
        self.assertEqual(done.stderr.splitlines()[0],
                         "gpuctr-setup: root file system /nowhere: No such file or directory "
                         "(error 5)")

    def test_an_unknown_device_is_a_usage_error(self):
        self.run_command("true", options=["--device", "99"], status=2, stderr=None)

    def test_the_drivers_files_cannot_be_written(self):
        self.shell(f"echo x > {TREE}/bin/nvidia-smi", status=2, stderr=None)
        self.shell(f"echo x > {TREE}/lib64/new", status=2, stderr=None)


class AsRoot(Run, harness.Case):
    def test_mounts_show_nowhere_where_those_of_the_host_are_shared(self):
        """As they are on most hosts."""
        script = ('cat /proc/self/mountinfo; "$@" || exit; echo; cat /proc/self/mountinfo')
        said = harness.must("unshare", "--mount", "--propagation", "shared", "sh", "-c", script,
                            "sh", harness.SETUP, "--nv", "--rootfs", self.root, "--", "true")
        before, after = said.split("\n\n")
        self.assertEqual(before.splitlines(), after.splitlines())


class AsOrdinaryUser(Run, harness.Case):
    prefix = harness.ORDINARY_USER
    uid = gid = 65534

    def setUp(self):
        harness.DIRECTORY.chmod(0o755)
        super().setUp()

    def test_has_no_privileges_outside(self):
        self.assertEqual(self.shell("cat /etc/shadow /proc/1/environ 2>/dev/null || echo refused"),
                         "refused\n")

    def test_has_no_capabilities(self):
        effective = self.shell("grep CapEff /proc/self/status").split()[1]

        self.assertEqual(int(effective, 16), 0)


class InAUserNamespace(Run, harness.Case):
    prefix = ["unshare", "--user", "--map-root-user", "--mount"]


class InAUserNamespaceOfAnOrdinaryUser(Run, harness.Case):
    prefix = [*harness.ORDINARY_USER, "unshare", "--user", "--map-root-user", "--mount"]


if __name__ == "__main__":
    unittest.main()
