# SPDX-License-Identifier: MIT
"""The command under the name nvidia-container-cli, as callers of NVIDIA's start that."""

import contextlib
import itertools
import os
import pathlib
import stat
import subprocess
import unittest

import config_test
import faults
import harness
import snapshot
from harness import TREE, VERSION

FRONT = harness.DIRECTORY / "front/nvidia-container-cli"
NODES = ["nvidia-uvm", "nvidia-uvm-tools", "nvidiactl"]
# What a caller's own environment has; a container's variables are among them.
FOREIGN = {"GPUCTR_DRIVER_ROOT": "/nowhere", "GPUCTR_DEVICE": "7", "GPUCTR_WRITE": "never",
           "CUDA_VISIBLE_DEVICES": "5", "NVIDIA_VISIBLE_DEVICES": "6", "NVC_INSECURE_MODE": "1"}
# As runtimes do, with /proc where they may mount it.
NAMESPACES = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
              'mount --bind "$0" "$0" && { mount -t proc proc "$0/proc" 2>/dev/null || true; } && '
              'exec "$@"']


def setUpModule():
    config_test.setUpModule()
    harness.DIRECTORY.chmod(0o711)
    FRONT.parent.mkdir()
    FRONT.symlink_to(harness.SETUP)


def tearDownModule():
    config_test.tearDownModule()


class Case(harness.Case):
    def front(self, *words, status=0, stderr="", prefix=(), **options):
        """Runs it; returns what it printed."""
        options.setdefault("env", {"PATH": os.environ["PATH"], **FOREIGN})
        done = harness.call(*prefix, FRONT, *words, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        if stderr is not None:
            self.assertEqual(done.stderr, stderr)
        return done.stdout

    def fails(self, message, *words, **options):
        self.front(*words, status=1, stderr=f"nvidia-container-cli: {message}\n", **options)

    def configure(self, *words, script="true", prefix=(), **options):
        """In a mount namespace of its own, as its callers start it, and then a script there."""
        return self.front(*words, self.root, prefix=[*prefix, *NAMESPACES, self.root, "sh", "-c",
                                                     '"$@" && ' + script, self.root], **options)

    def nodes(self, *words, **options):
        return sorted(self.configure(*words, script='ls "$0/dev"', **options).split())


class Information(Case):
    def test_of_the_driver_and_the_gpus(self):
        lines = self.front("info").splitlines()
        self.assertEqual(lines[:11], [
            f"NVRM version:   {VERSION}", "CUDA version:   13.0", "",
            "Device Index:   0", "Device Minor:   0", "Model:          NVIDIA H200",
            "Brand:          Nvidia", "GPU UUID:       GPU-bc827fa3-8239-9aa5-d1ff-cd2c2f85b066",
            "Bus Location:   00000000:00:06.0", "Architecture:   9.0", ""])
        self.assertEqual(len(lines), 2 + 8 * 8)

    def test_as_values(self):
        lines = self.front("info", "--csv").splitlines()
        self.assertEqual(lines[:4], [
            "NVRM version,CUDA version", f"{VERSION},13.0", "",
            "Device Index,Device Minor,Model,Brand,GPU UUID,Bus Location,Architecture"])
        self.assertEqual(lines[8], "4,4,NVIDIA H200,Nvidia,GPU-b9e0ac62-1aa8-3e42-05fe-"
                                   "32cca6f8a1a5,00000000:00:0A.0,9.0")
        self.assertEqual(len(lines), 4 + 8)

    def test_version(self):
        version = harness.must(harness.SETUP, "--version").split()[1]
        for word in ("-V", "--version"):
            self.assertEqual(self.front(word), f"cli-version: {version}\nlib-version: {version}\n")

    def test_help(self):
        page = self.front("--help")
        for word in ("-?", "--usage"):
            self.assertEqual(self.front(word), page)
        self.assertEqual(self.front("configure", "--help"), page)
        for word in ("--no-create-imex-channels", "--csv", "--firmwares", "--cuda-compat-mode"):
            self.assertIn(word, page)


class List(Case):
    LIBRARY = f"/usr/local/nvidia/lib64/libcuda.so.{VERSION}"
    TOOL = "/usr/local/nvidia/bin/nvidia-smi"
    GPUS = [f"/dev/nvidia{number}" for number in range(8)]
    COMMON = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]

    def test_all_in_order(self):
        lines = self.front("list").splitlines()
        self.assertEqual(lines[:11], self.COMMON + self.GPUS)
        self.assertLess(lines.index(self.TOOL), lines.index(self.LIBRARY))
        self.assertTrue(lines[-1].endswith(f"/{VERSION}/gsp_tu10x.bin"))
        self.assertTrue(all(line.startswith("/") for line in lines))

    def test_parts(self):
        self.assertEqual(self.front("list", "-b").splitlines()[-1], self.TOOL)
        libraries = self.front("list", "--libraries").splitlines()
        self.assertIn(self.LIBRARY, libraries)
        self.assertTrue(all(".so" in line for line in libraries))
        self.assertEqual(self.front("list", "-lb").splitlines(),
                         self.front("list", "-b").splitlines() + libraries)
        self.assertEqual(len(self.front("list", "-f").splitlines()), 2)
        self.assertEqual(self.front("list", "-f", "--no-gsp-firmware"), "")

    def test_devices(self):
        self.assertEqual(self.front("list", "--device=1,GPU-9a327810-6ccc-31e4-848d-3fa4333426cf")
                         .splitlines(), [*self.COMMON, "/dev/nvidia1", "/dev/nvidia2"])
        self.assertEqual(self.front("list", "-dALL").splitlines(), self.COMMON + self.GPUS)
        self.assertEqual(self.front("list", "-d", "00000000:00:08.0,").splitlines(),
                         [*self.COMMON, "/dev/nvidia2"])
        self.fails("device error: --device 99: no such GPU (there are 8 GPUs: 0 to 7; "
                   "`gpuctr-setup list` shows UUIDs and PCI addresses)", "list", "-d", "99")

    def test_sockets(self):
        directory = pathlib.Path("/run/nvidia-persistenced")
        directory.mkdir()
        self.addCleanup(harness.must, "rm", "-r", directory)
        harness.must("python3", "-c", "import socket; socket.socket(socket.AF_UNIX)"
                                      f".bind('{directory}/socket')")
        self.assertEqual(self.front("list", "--ipcs"), f"{directory}/socket\n")
        self.assertEqual(self.front("list", "--ipcs", "--no-persistenced"), "")

    def test_below_another_root(self):
        root = harness.new_driver(self, VERSION)
        lines = self.front(f"--root={root}", "list", "--libraries").splitlines()
        self.assertIn(f"/usr/lib/x86_64-linux-gnu/libcuda.so.{VERSION}", lines)


class Callers(Case):
    """The words of their releases, with nothing of their own that matters to it."""

    UTILITY = ["--compute", "--utility"]

    def check(self, nodes, libraries=("libcuda.so.1",)):
        self.assertEqual(nodes, sorted(nodes))
        for library in libraries:
            self.assertIn(f"{TREE}/lib64/{library}",
                          harness.must("ldconfig", "-p", "-C", self.root / "etc/ld.so.cache"))
        self.assertEqual(os.readlink(self.root / "usr/bin/nvidia-smi"), f"{TREE}/bin/nvidia-smi")
        self.assertEqual(harness.journals(), [])

    def test_the_hook_of_lxc(self):
        words = [f"--debug={harness.DIRECTORY}/nvidia.log", "--user", "configure", "--no-cgroups",
                 "--ldconfig=@/sbin/ldconfig", "--device=all", *self.UTILITY,
                 "--require=cuda>=11.0 driver>=450"]
        self.addCleanup((harness.DIRECTORY / "nvidia.log").unlink)
        nodes = self.nodes(*words, prefix=["unshare", "--user", "--map-root-user"],
                           env={"PATH": os.environ["PATH"], "LXC_HOOK_TYPE": "mount",
                                "LXC_HOOK_SECTION": "lxc", "LXC_ROOTFS_MOUNT": str(self.root),
                                **FOREIGN})
        self.check(nodes)
        self.assertEqual(nodes, sorted([*NODES, *(f"nvidia{n}" for n in range(8))]))
        log = (harness.DIRECTORY / "nvidia.log").read_text(encoding="utf-8")
        self.assertIn("--ldconfig: not needed", log)
        self.assertIn("--user: not needed", log)
        self.assertRegex(log, r"device /dev/nvidia7 /dev/nvidia7\n")

    def test_variables_of_a_caller_that_are_not_set(self):
        """LXD and Incus write `--require= --require=`, as the container's settings are empty."""
        words = ["--debug=", "--root=", "--ldcache=", "--user=", "configure", "--no-cgroups",
                 "--ldconfig=@/sbin/ldconfig", "--require=", "--device=", "--device=all",
                 *self.UTILITY, "--require=", "--mig-config=", "--mig-monitor=", "--imex-channel=",
                 "--ldconfig=", "--cuda-compat-mode=", "--device="]
        for require in ([], ["--require", ""], ["--require= "], ["--require=cuda>=11.0", "-r", ""]):
            nodes = self.nodes(*words, *require)
            self.check(nodes)
            self.assertIn("nvidia7", nodes)

    def test_98_nvidia_of_enroot(self):
        nodes = self.nodes("--user", "--debug=/dev/stderr", "configure", "--no-cgroups",
                           "--ldconfig=@/sbin/ldconfig", "--device=0,2", *self.UTILITY,
                           "--require=cuda>=13.0 brand=unknown",
                           prefix=["unshare", "--user", "--map-root-user"], stderr=None)
        self.check(nodes)
        self.assertEqual(nodes, sorted([*NODES, "nvidia0", "nvidia2"]))

    def test_nvccli_of_apptainer(self):
        """An ordinary user with capabilities for it, in a user namespace."""
        harness.must("chown", "-R", "65534:65534", self.root)
        nodes = self.nodes("--user", "configure", "--no-cgroups", *self.UTILITY, "--device=all",
                           "--require=cuda>=12.4", "--ldconfig=@/sbin/ldconfig",
                           prefix=[*harness.ORDINARY_USER, "unshare", "--user",
                                   "--map-current-user", "--keep-caps"])
        self.check(nodes)
        self.assertEqual(os.lstat(self.root / "usr/bin/nvidia-smi").st_uid, 65534)

    @contextlib.contextmanager
    def container(self):
        """A process whose mount namespace is that of a container before it is entered."""
        process = subprocess.Popen([*NAMESPACES, str(self.root), "sh", "-c", "echo; read line"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with process:
            try:
                process.stdout.readline()
                yield process.pid
            finally:
                process.stdin.close()

    def test_the_prestart_hook_of_the_toolkit(self):
        with self.container() as pid:
            self.front("--root=/", "--ldcache=/etc/ld.so.cache", "--user=root:video", "configure",
                       "--cuda-compat-mode=mount", "--ldconfig=@/sbin/ldconfig.real",
                       "--no-cgroups", "--device=1,3", *self.UTILITY, "--require=driver>=450",
                       f"--pid={pid}", self.root)
            dev = pathlib.Path(f"/proc/{pid}/root{self.root}/dev")
            self.assertTrue(stat.S_ISCHR(os.stat(dev / "nvidia3").st_mode))
            self.assertFalse((dev / "nvidia2").exists())
            self.check([])
        self.assertFalse(stat.S_ISCHR(os.stat(self.root / "dev/nvidia3").st_mode))

    def test_not_into_a_process_that_is_in_its_root_already(self):
        process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mount --bind "$0" "$0" && cd "$0" && pivot_root . mnt && echo && read line',
             str(self.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with process:
            process.stdout.readline()
            self.fails(f"container error: process {process.pid} has another root directory "
                       "already (without --pid, it sets up the mount namespace that it is started "
                       "in)", "configure", "--no-cgroups", "--device=1",
                       f"--pid={process.pid}", self.root,
                       # There is no /proc in which it could look for leaks.
                       env={"PATH": os.environ["PATH"], "ASAN_OPTIONS": "detect_leaks=0"})
            process.stdin.close()


class Configure(Case):
    WORDS = ("configure", "--no-cgroups", "--device=1", "--compute", "--utility")

    def test_again_it_changes_nothing(self):
        # The number of links of /proc is that of processes.
        state = '$(cat /proc/self/mountinfo; find "$0" -xdev -path "$0/proc" -prune -o -ls)'
        self.configure(*self.WORDS, script=f'before="{state}"; "$@" && test "$before" = "{state}"')
        before = snapshot.take(self.root)
        self.configure(*self.WORDS)
        self.assertEqual(snapshot.difference(before, snapshot.take(self.root)), [])

    def test_another_one_in_the_same_namespace_is_an_error(self):
        for words in ("--device=2 --compute --utility", "--device=1 --compute --utility --video",
                      "--compute --utility"):
            other = f'"$1" configure --no-cgroups {words} "$0"; test $? = 1'
            self.configure(*self.WORDS, script=other, stderr=None)

    def test_names_are_written_and_directories_stay_writable(self):
        self.configure(*self.WORDS, script='touch "$0/etc/new" "$0/usr/bin/new"')
        self.assertTrue((self.root / "etc/new").exists())

    def test_also_in_a_layer_of_somebody_else(self):
        harness.must("chown", "-R", "1000:1000", self.root)
        self.configure(*self.WORDS, script='touch "$0/etc/new" "$0/usr/bin/new"')
        self.assertTrue((self.root / "usr/bin/new").exists())
        self.assertTrue((self.root / "usr/bin/nvidia-smi").is_symlink())

    @contextlib.contextmanager
    def volume(self, kind):
        """A directory of the host, on a file system of its own."""
        place = harness.DIRECTORY / "volume"
        harness.mount_tmpfs(place)
        try:
            if kind == "overlay":
                harness.stack_overlays(place, 1, writable=True)
            harness.must("cp", "-a", self.root / "etc/.", self.root / "etc", place)
            (place / "local").mkdir()
            yield place
        finally:
            for _ in range(2 if kind == "overlay" else 1):
                harness.must("umount", "-l", place)
            place.rmdir()

    def check_volume(self, kind, owner, mode, place, prepare):
        self.remove_root()
        self.root = harness.new_root()
        with self.volume(kind) as volume:
            harness.must("chown", "-R", f"{owner}:{owner}", self.root)
            harness.must("sh", "-c", prepare, self.root)
            before = snapshot.take(volume)
            script = (f'mount -o remount,bind,{mode} "$0" && mount --bind {volume} "$0/{place}" && '
                      '"$@" && chroot "$0" sh -c "readlink /usr/local/nvidia && '
                      'cat /etc/ld.so.cache"')
            names = self.front(*self.WORDS, self.root, errors="replace",
                               prefix=[*NAMESPACES, self.root, "sh", "-c", script, self.root])
            self.assertGreater(names.count(TREE), 2)
            self.assertEqual(snapshot.difference(before, snapshot.take(volume)), [])

    def test_nothing_is_written_into_what_else_is_mounted(self):
        """Who names a volume may have no right to write it, and a link of the image may lead there."""
        links = ('rm -rf "$0/etc" "$0/usr/local" && ln -s /{0}/etc "$0" && '
                 'ln -s /{0}/local "$0/usr"')
        for kind, owner, mode in itertools.product(("overlay", "tmpfs"), (0, 1000), ("rw", "ro")):
            for place, prepare in (("etc", "true"), ("mnt", links.format("mnt")),
                                   ("run", links.format("run"))):
                with self.subTest(kind=kind, owner=owner, mode=mode, place=place):
                    self.check_volume(kind, owner, mode, place, prepare)

    def test_nor_if_a_link_takes_the_place_of_a_directory_at_the_last_moment(self):
        local = self.root / "usr/local"
        exchange = f"mv {local} {local}.aside; ln -s /mnt/local {local}"
        with self.volume("overlay") as volume:
            before = snapshot.take(volume)
            self.front(*self.WORDS, self.root, prefix=[
                *NAMESPACES, self.root, "sh", "-c", f'mount --bind {volume} "$0/mnt" && "$@"',
                self.root, faults.INJECT, "-c", faults.number("fsopen"), "-n", "1", "-x", exchange],
                env={"PATH": os.environ["PATH"], "ASAN_OPTIONS": "detect_leaks=0"})
            self.assertEqual(snapshot.difference(before, snapshot.take(volume)), [])
        self.assertTrue(local.is_symlink())

    def test_names_by_mounts_alone_in_a_layer_that_is_full(self):
        harness.must("rm", "-rf", self.root)
        self.root = harness.new_root(mounted=True)
        used = int(harness.must("df", "--output=iused", self.root).split()[1])
        harness.must("mount", "-o", f"remount,nr_inodes={used + 4}", self.root)
        before = snapshot.take(self.root)
        self.assertEqual(self.configure(*self.WORDS, script='readlink "$0/usr/bin/nvidia-smi"'),
                         f"{TREE}/bin/nvidia-smi\n")
        self.assertEqual(snapshot.difference(before, snapshot.take(self.root)), [])

    def test_names_by_mounts_alone_in_a_root_that_is_read_only(self):
        before = snapshot.take(self.root)
        script = ('mount -o remount,bind,ro "$0"; "$@" && readlink "$0/usr/bin/nvidia-smi" && '
                  'ls "$0/dev" && "$@"')
        lines = self.front(*self.WORDS, self.root,
                           prefix=[*NAMESPACES, self.root, "sh", "-c", script, self.root])
        self.assertEqual(lines.split(), [f"{TREE}/bin/nvidia-smi", "nvidia-uvm",
                                         "nvidia-uvm-tools", "nvidia1", "nvidiactl"])
        self.assertEqual(snapshot.difference(before, snapshot.take(self.root)), [])

    def test_an_image_whose_usr_local_is_missing_and_whose_lib_is_a_link(self):
        """One overlay over /usr has all names, those of firmware below /lib too."""
        harness.must("rm", "-rf", self.root / "usr/local")
        self.assertEqual(os.readlink(self.root / "lib"), "usr/lib")
        script = ('mount -o remount,bind,ro "$0"; "$@" && cd "$0" && ls lib/firmware/nvidia && '
                  'test -d usr/lib/gpuctr/lib64 && readlink usr/local/nvidia')
        lines = self.front(*self.WORDS, self.root,
                           prefix=[*NAMESPACES, self.root, "sh", "-c", script, self.root])
        self.assertEqual(lines.split(), [VERSION, TREE])

    def test_without_a_gpu(self):
        self.assertEqual(self.nodes("configure", "--no-cgroups", "-cu"), sorted(NODES))

    def test_without_a_part_of_the_driver_there_are_nodes_alone(self):
        self.assertEqual(self.nodes("configure", "--no-cgroups", "-d0"), ["nvidia0", "nvidiactl"])
        self.assertFalse((self.root / "usr/lib/gpuctr").exists())

    def test_parts_of_the_driver(self):
        files = self.configure("configure", "--no-cgroups", "-cug", "--display", "--video",
                               script=f'ls "$0{TREE}/lib64"').split()
        for name in ("libGLX_nvidia.so.0", "libnvcuvid.so.1", "libcuda.so.1"):
            self.assertIn(name, files)
        self.assertNotIn("libcuda.so.1", self.configure("configure", "--no-cgroups", "-u", script=
                                                        f'ls "$0{TREE}/lib64"').split())

    def test_requirements(self):
        done = harness.call(*NAMESPACES, self.root, FRONT, *self.WORDS, "--require=",
                            "--require=cuda>=99", "--require=", self.root)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^nvidia-container-cli: requirement error: requirement "
                                      "cuda>=99: not met: .*\n$")

    def test_not_in_the_namespace_of_the_host(self):
        with self.nothing_changes():
            self.fails("container error: this call is made in the mount namespace of the host "
                       "(what it sets up would show there, and stay: `gpuctr-setup apply` can be "
                       "undone)", *self.WORDS, self.root,
                       prefix=["unshare", "--mount", "--propagation", "private", "--pid",
                               "--fork", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh"])

    def test_not_where_the_namespace_cannot_be_told(self):
        """Not even root may look at the first process if that has more capabilities."""
        less = ["setpriv", "--bounding-set", "-sys_ptrace"]
        with self.nothing_changes():
            self.fails(f"container error: root file system {self.root}: not that of a container, as "
                       "no /proc is mounted in it here (this may be the mount namespace of the "
                       "host: start it in that of the container, once its /proc is mounted, or "
                       "name a process of the container with --pid)", *self.WORDS, self.root, prefix=less)
        self.front(*self.WORDS, self.root, prefix=[*NAMESPACES, self.root, *less])


class Refused(Case):
    HELP = " (--help lists commands and options)"

    def refuse(self, message, *words, hint=HELP):
        with self.nothing_changes():
            self.fails(f"input error: {message}{hint}", *words)

    def test_words_that_are_not_known(self):
        self.refuse("a command is missing")
        self.refuse("a command is missing", "--load-kmods")
        self.refuse("unknown command 'apply'", "apply")
        self.refuse("unknown or ambiguous option '--nothing'", "--nothing", "info")
        self.refuse("unknown or ambiguous option '--no'", "configure", "--no", self.root)
        self.refuse("unknown option '-x'", "configure", "-x", self.root)
        self.refuse("option '--device': its value is missing", "list", "--device")
        self.refuse("'more': one word too many", "info", "more")
        self.refuse("'more': one word too many", "configure", self.root, "more")
        self.refuse("configure: the root directory of the container is missing", "configure")
        # An option of the command before it.
        self.refuse("unknown or ambiguous option '--csv'", "--csv", "info")

    def test_root_directories(self):
        self.refuse("relative: not an absolute path", "configure", "relative")
        for path in ("/", "//", "/.", "/.."):
            self.refuse(f"{path}: this is the host's own root directory", "configure", path)

    def test_values_that_cannot_be_honoured(self):
        self.refuse("--pid=0: not the number of a process", "configure", "--pid=0", self.root,
                    hint="")
        self.refuse("--pid=: not the number of a process", "configure", "--pid=", self.root,
                    hint="")
        self.refuse("--pid=1x: not the number of a process", "configure", "-p1x", self.root,
                    hint="")
        self.refuse("--mig-config=0: the rights are for all GPUs", "configure", "--mig-config=0",
                    self.root, hint=" (a value other than all is not known)")
        self.refuse("--mig-monitor: not together with the MIG instance 0:1", "configure",
                    "--mig-monitor=all", "-d0:1", self.root,
                    hint=" (these rights are for whole GPUs)")
        self.refuse("--no-devbind: refused", "configure", "--no-devbind", self.root,
                    hint=" (leave it out: what the container has in the place of a node is "
                         "mounted over)")
        self.refuse("--cuda-compat-mode=hook: a mode that is not known", "configure",
                    "--cuda-compat-mode=hook", self.root,
                    hint=" (known are disabled, mount and ldconfig)")
        self.refuse("--ldcache=/tmp/cache: another loader cache than /etc/ld.so.cache is not read",
                    "-l/tmp/cache", "info",
                    hint=" (leave it out: the driver's directories are searched as well; --root "
                         "names a driver that lies elsewhere)")

    def test_options_are_passed_on_as_values(self):
        with self.nothing_changes():
            done = harness.call(*NAMESPACES, self.root, FRONT, "configure", "--no-cgroups",
                                "--device=--lock", "-c", self.root)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^nvidia-container-cli: device error: ")


class Log(Case):
    def test_a_fifo_that_nobody_reads_is_no_log(self):
        fifo = harness.DIRECTORY / "fifo"
        os.mkfifo(fifo)
        self.addCleanup(fifo.unlink)
        self.front(f"--debug={fifo}", "list", timeout=20,
                   stderr=f"nvidia-container-cli: warning: --debug={fifo}: No such device or "
                          "address\n")

    def test_of_a_variable(self):
        """Whoever sets an image's variables names no file of the host for root."""
        log = harness.DIRECTORY / "log"
        environment = {"PATH": os.environ["PATH"], "NVC_DEBUG_FILE": str(log)}
        self.front("info", env=environment,
                   stderr=f"nvidia-container-cli: warning: NVC_DEBUG_FILE={log}: for root, "
                          "--debug names the file\n")
        self.assertFalse(log.exists())
        environment["NVC_DEBUG_FILE"] = "/dev/stderr"
        done = harness.call(FRONT, "info", env=environment)
        self.assertIn(" info\n", done.stderr)

    def test_that_cannot_be_written(self):
        self.front("--debug=/nowhere/log", "info",
                   stderr="nvidia-container-cli: warning: --debug=/nowhere/log: No such file or "
                          "directory\n")


class Raised(Case):
    """A setuid copy, which an ordinary user starts."""

    def setUp(self):
        super().setUp()
        self.program = harness.DIRECTORY / "raised/nvidia-container-cli"
        self.program.parent.mkdir()
        self.addCleanup(harness.must, "rm", "-r", self.program.parent)
        harness.must("cp", harness.SETUP, self.program)
        self.program.chmod(0o4755)

    def test_it_has_the_rights_of_its_caller(self):
        log = harness.DIRECTORY / "log"
        done = harness.call(*harness.ORDINARY_USER, self.program, f"--debug={log}", "info")
        self.assertEqual((done.returncode, done.stderr),
                         (0, f"nvidia-container-cli: warning: --debug={log}: Permission denied\n"))
        self.assertIn("Device Index:   7", done.stdout)
        self.assertFalse(log.exists())

    def test_no_variable_counts(self):
        done = harness.call(*harness.ORDINARY_USER, self.program, "info",
                            env={"NVC_DEBUG_FILE": "/dev/stderr", "PATH": os.environ["PATH"]})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_it_sets_nothing_up(self):
        harness.must("chown", "-R", "65534:65534", self.root)
        with self.nothing_changes():
            done = harness.call(*harness.ORDINARY_USER, self.program, "configure", "--no-cgroups",
                                "--device=1", "-u", self.root)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^nvidia-container-cli: permission error: ")


class Policy(Case):
    def setUp(self):
        super().setUp()
        self.config = pathlib.Path(config_test.CONFIG)
        self.config.parent.mkdir(exist_ok=True)
        self.addCleanup(harness.must, "rm", "-rf", self.config.parent)

    def test_the_sites_settings_count(self):
        self.config.write_text("allowed-devices: [1]\n", encoding="utf-8")
        done = harness.call(*NAMESPACES, self.root, FRONT, "configure", "--no-cgroups",
                            "--device=2", "-u", self.root)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^nvidia-container-cli: permission error: .*allowed devices")

    def test_a_restricted_call_sets_nothing_up(self):
        self.config.write_text("restricted: true\nrestricted-user: nobody\n", encoding="utf-8")
        log = harness.DIRECTORY / "log"
        with self.nothing_changes():
            self.fails("permission error: configure: refused in a restricted call (list, plan, and "
                       "apply with -- CMD are allowed)", f"--debug={log}", "configure",
                       "--no-cgroups", "--device=1", self.root)
        self.assertFalse(log.exists())
        self.assertIn("Device Index:   7", self.front("info"))


if __name__ == "__main__":
    unittest.main()
