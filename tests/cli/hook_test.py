# SPDX-License-Identifier: MIT
"""gpuctr-setup hook: what an OCI runtime starts when it makes a container."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys

import harness
import snapshot
from harness import TREE

FORM = "an OCI runtime calls this command as a hook"
# Starts a container without a runtime: its namespaces are there, and its root is not entered yet.
NAMESPACES = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
              'mount --bind "$0" "$0" && mount --rbind /proc "$0/proc" && exec "$@"']


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.bundle = harness.DIRECTORY / "bundle"
        self.bundle.mkdir()
        self.addCleanup(harness.call, "rm", "-rf", self.bundle)
        self.configure(["NVIDIA_VISIBLE_DEVICES=1,3"])

    def configure(self, variables, **more):
        self.write({"ociVersion": "1.0.2", "root": {"path": str(self.root)},
                    "process": {"env": ["PATH=/bin", *variables]}} | more)

    def write(self, configuration):
        text = configuration if isinstance(configuration, str) else json.dumps(configuration)
        (self.bundle / "config.json").write_text(text)

    def state_text(self, pid=0, **more):
        return json.dumps({"ociVersion": "1.0.2", "id": "test", "status": "creating", "pid": pid,
                           "bundle": str(self.bundle)} | more)

    def hook(self, *words, state=None, status=0, stderr="", prefix=(), **options):
        done = harness.call(*prefix, harness.SETUP, "hook", *words, stdin=None,
                            input=self.state_text() if state is None else state, **options)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        if stderr is not None:
            self.assertEqual(done.stderr, stderr)
        return done.stdout

    def start(self, script, *words, **options):
        """Runs the hook and then a script in the container's mount namespace."""
        return self.hook(prefix=[*NAMESPACES, self.root, "sh", "-c",
                                 '"$@" && ' + script, self.root], *words, **options)

    @contextlib.contextmanager
    def container(self, *words):
        """A process whose mount namespace is the container's."""
        process = subprocess.Popen([*words, *NAMESPACES, str(self.root), "sh",
                                    "-c", "echo; read line"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        with process:
            try:
                process.stdout.readline()
                yield process.pid
            finally:
                process.stdin.close()


class Precreate(Case):
    """As a filter of a configuration that an engine has not used yet."""

    def setUp(self):
        super().setUp()
        self.config = {
            "ociVersion": "1.0.2", "root": {"path": "rootfs"}, "annotations": {"a": "b"},
            "process": {"args": ["true"], "env": ["PATH=/bin", "NVIDIA_VISIBLE_DEVICES=1,3"],
                        "user": {"uid": 5, "additionalGids": [7]}},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                       {"destination": "/usr/bin/nvidia-smi", "type": "bind", "source": "/x"}],
            "linux": {"devices": [{"path": "/dev/nvidia1", "type": "c", "major": 1, "minor": 3},
                                  {"path": "/dev/fuse", "type": "c", "major": 10, "minor": 229}],
                      "resources": {"devices": [{"allow": False, "access": "rwm"}]}}}

    def filter(self, *words, config=None, **options):
        text = json.dumps(self.config if config is None else config)
        options = {"stderr": None} | options
        return self.hook("--stage", "precreate", *words, state=text, **options)

    def edited(self, *words, **options):
        return json.loads(self.filter(*words, **options))

    def test_adds_what_the_container_asks_for_and_keeps_the_rest(self):
        with self.nothing_changes():
            edited = self.edited()
        devices = {device["path"]: device for device in edited["linux"]["devices"]}
        self.assertEqual(sorted(devices), ["/dev/fuse", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
                                           "/dev/nvidia1", "/dev/nvidia3", "/dev/nvidiactl"])
        self.assertEqual(devices["/dev/nvidia1"]["major"], 195)
        rules = edited["linux"]["resources"]["devices"]
        self.assertEqual(rules[0], {"allow": False, "access": "rwm"})
        self.assertEqual({(rule["major"], rule["minor"]) for rule in rules[1:]},
                         {(devices[path]["major"], devices[path]["minor"]) for path in devices
                          if path != "/dev/fuse"})
        mounts = {mount["destination"]: mount for mount in edited["mounts"]}
        self.assertEqual(len(mounts), len(edited["mounts"]))
        self.assertEqual(mounts["/proc"], self.config["mounts"][0])
        self.assertNotEqual(mounts["/usr/bin/nvidia-smi"]["source"], "/x")
        self.assertIn("ro", mounts["/usr/lib64/libcuda.so.1"]["options"])
        self.assertEqual(edited["process"], self.config["process"])
        for name in ("ociVersion", "root", "annotations"):
            self.assertEqual(edited[name], self.config[name])

    def test_twice_is_once(self):
        edited = self.edited()
        again = self.edited(config=edited)
        for one in (edited, again):
            rules = one["linux"]["resources"].pop("devices")
            self.assertEqual({json.dumps(rule) for rule in rules}, {json.dumps(r) for r in rules})
        self.assertEqual(again, edited)

    def test_a_container_that_asks_for_nothing_stays_as_it_is(self):
        for variables in ([], ["NVIDIA_VISIBLE_DEVICES=void"]):
            self.config["process"]["env"] = variables
            self.assertEqual(self.filter(), json.dumps(self.config))
        self.config["process"]["env"] = ["NVIDIA_VISIBLE_DEVICES=all"]
        self.assertEqual(self.filter("--rocm"), json.dumps(self.config))

    def test_a_smallest_configuration(self):
        edited = self.edited(config={"process": {"env": ["NVIDIA_VISIBLE_DEVICES=0"]}})
        self.assertEqual(edited["linux"]["devices"][-1]["path"], "/dev/nvidia0")

    def test_a_missing_gpu_is_an_error_or_a_warning(self):
        self.config["process"]["env"] = ["AMD_VISIBLE_DEVICES=all"]
        self.assertEqual(self.filter(status=3), "")
        self.assertEqual(self.filter("--if-present"), json.dumps(self.config))

    def test_needs_no_privileges(self):
        self.assertEqual(self.edited(prefix=harness.ORDINARY_USER), self.edited())

    def test_gives_small_files_that_are_there_with_their_content_alone(self):
        place = "/etc/OpenCL/vendors/nvidia.icd"
        files = harness.DIRECTORY / "files"
        kept = files / f"nvidia.com-gpu{place}"
        kept.parent.mkdir(parents=True)
        self.addCleanup(harness.call, "rm", "-rf", files)
        for content, given in (("", False), ("libx\n", False), ("libnvidia-opencl.so.1\n", True)):
            kept.write_text(content)
            mounts = [m["destination"] for m in self.edited("--files-dir", files)["mounts"]]
            self.assertEqual(place in mounts, given, content)

    def test_configurations_that_are_none(self):
        for config in ([], 5, {"process": {"env": ["NVIDIA_VISIBLE_DEVICES=0"]}, "mounts": {}},
                       {"process": {"env": ["NVIDIA_VISIBLE_DEVICES=0"]}, "linux": []},
                       {"process": {"env": ["NVIDIA_VISIBLE_DEVICES=0"], "user": {}},
                        "linux": {"devices": 1}}):
            with self.subTest(config):
                out = self.filter(config=config, status=None)
                self.assertIn(out, ("", json.dumps(config)))
        self.filter(config=self.config | {"mounts": {}}, status=2,
                    stderr="gpuctr-setup: the configuration of the container: 'mounts' is no list\n")

    def test_options_about_a_root_are_refused(self):
        self.filter("--write", "never", status=2,
                    stderr="gpuctr-setup: --stage precreate is for any image, and does not go with "
                           "--write\nhint: gpuctr-setup hook --help\n")
        # It would cover a toolkit that the image may have.
        self.filter("--cuda-toolkit", "auto", status=2,
                    stderr="gpuctr-setup: --stage precreate is for any image, and does not go with "
                           "--cuda-toolkit\nhint: gpuctr-setup hook --help\n")
        self.hook("--files-dir", "/x", status=2, stderr=None)


class Hook(Case):
    def test_sets_up_what_the_container_asks_for(self):
        nodes = self.start('ls "$0/dev"')
        self.assertEqual(nodes.split(), ["nvidia-uvm", "nvidia-uvm-tools", "nvidia1", "nvidia3",
                                         "nvidiactl"])
        self.assertEqual(os.readlink(self.root / "usr/bin/nvidia-smi"), f"{TREE}/bin/nvidia-smi")
        self.assertIn(f"{TREE}/lib64/libcuda.so.1",
                      harness.must("ldconfig", "-p", "-C", self.root / "etc/ld.so.cache"))
        self.assertEqual(harness.journals(), [])

    def test_changes_nothing_when_the_container_starts_again(self):
        self.start("true")
        before = snapshot.take(self.root)
        self.start("true")
        self.assertEqual(snapshot.difference(before, snapshot.take(self.root)), [])

    def test_leaves_nothing_of_a_loader_cache_that_it_replaces(self):
        self.start("true")
        self.assertEqual([name for name in os.listdir(self.root / "etc") if "ld.so.cache" in name],
                         ["ld.so.cache"])

    def test_gives_compute_and_utility(self):
        files = self.start(f'ls "$0{TREE}/lib64"')
        self.assertIn("libcuda.so.1", files)
        self.assertNotIn("libGLX_nvidia.so.0", files)
        self.configure(["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=all"])
        self.assertIn("libGLX_nvidia.so.0", self.start(f'ls "$0{TREE}/lib64"'))

    def test_does_not_touch_containers_that_ask_for_nothing(self):
        for variables in ([], ["NVIDIA_VISIBLE_DEVICES=void"], ["NVIDIA_VISIBLE_DEVICES="],
                          ["NVIDIA_VISIBLE_DEVICES=/var/run/nvidia-container-devices"]):
            self.configure(variables)
            with self.nothing_changes():
                self.hook()
                self.hook("-v", stderr="gpuctr-setup: the container asks for no GPU\n")
        self.configure(["NVIDIA_VISIBLE_DEVICES=all"])
        with self.nothing_changes():
            self.hook("--rocm")

    def test_of_vendors_that_are_not_here_it_fails(self):
        self.configure(["AMD_VISIBLE_DEVICES=all"])
        with self.nothing_changes():
            self.start("true", status=3, stderr=None)

    def test_reads_mounts_that_name_gpus(self):
        self.configure([], mounts=[{"destination": "/var/run/nvidia-container-devices/5",
                                    "source": "/dev/null"}])
        self.assertIn("nvidia5", self.start('ls "$0/dev"').split())

    def test_its_own_environment_means_nothing(self):
        hostile = {"GPUCTR_DEVICE": "all", "GPUCTR_TREE_PATH": "/tmp/x", "CUDA_VISIBLE_DEVICES": "7",
                   "GPUCTR_DRIVER_ROOT": "/nowhere", "GPUCTR_CONFIG": "/nowhere"}
        nodes = self.start('ls "$0/dev"', env=dict(os.environ, **hostile))
        self.assertEqual([n for n in nodes.split() if n[6:].isdigit()], ["nvidia1", "nvidia3"])

    def by_nodes(self, nodes, script, *words, **options):
        """With nodes in a /dev of the container's own, as engines make it."""
        given = " && ".join(f'cp -a /dev/{node} "$0/dev"' for node in nodes) or "true"
        prefix = [*NAMESPACES[:-1],
                  NAMESPACES[-1].replace("exec", f'mount -t tmpfs none "$0/dev" && {given} && exec')]
        return self.hook("--by-nodes", *words, prefix=[*prefix, self.root, "sh", "-c",
                                                      f'"$@" && {script}', self.root], **options)

    def test_the_nodes_of_the_engine_say_which_gpus(self):
        self.configure(["NVIDIA_VISIBLE_DEVICES=void", "NVIDIA_DRIVER_CAPABILITIES=graphics"])
        shared = ["nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"]
        seen = self.by_nodes(["nvidia2", "nvidia5", *shared],
                             'ls "$0/dev" "$0/proc/driver/nvidia/gpus" "$0/usr/lib/gpuctr/lib64"')
        self.assertEqual(re.findall(r"nvidia\d", seen), ["nvidia2", "nvidia5"])
        self.assertEqual(re.findall(r"^0000:\S+", seen, re.M), ["0000:00:08.0", "0000:00:0b.0"])
        self.assertIn("libcuda.so.1", seen)
        self.assertNotIn("libGLX", seen)
        self.assertIn(f"{TREE}/lib64/libcuda.so.1",
                      harness.must("ldconfig", "-p", "-C", self.root / "etc/ld.so.cache"))

    def test_a_container_without_nodes_of_a_gpu_stays_as_it_is(self):
        self.configure(["NVIDIA_VISIBLE_DEVICES=all"])
        with self.nothing_changes():
            self.by_nodes(["null"], "true")
            self.by_nodes(["nvidiactl"], "true", "-v",
                          stderr="gpuctr-setup: the container has the nodes of no GPU\n")

    def test_it_gives_no_node_that_the_engine_did_not(self):
        with self.nothing_changes():
            self.by_nodes(["nvidia2", "nvidiactl"], "true", status=6,
                          stderr="gpuctr-setup: /dev/nvidia-uvm: the engine did not give it to the "
                                 "container\n"
                                 "hint: write the specification again: gpuctr-setup cdi generate\n")

    def test_nodes_of_the_image_are_not_the_engines(self):
        for node in ("nvidia2", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"):
            harness.must("cp", "-a", f"/dev/{node}", self.root / "dev")
        with self.nothing_changes():
            self.hook("--by-nodes", "-v", prefix=[*NAMESPACES, self.root],
                      stderr="gpuctr-setup: the container has the nodes of no GPU\n")

    def test_an_image_without_glibc_keeps_its_nodes(self):
        shutil.rmtree(self.root / "lib64", ignore_errors=True)
        for path in self.root.glob("**/ld-linux-*"):
            path.unlink()
        self.by_nodes(["nvidia2", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"],
                      '[ ! -e "$0/usr/lib/gpuctr/lib64" ]', stderr=None)

    def test_which_gpus_cannot_be_said_twice(self):
        for words in (("--device", "0"), ("--stage", "precreate")):
            self.hook("--by-nodes", *words, status=2, stderr=None)

    def test_a_relative_root_is_one_of_the_bundle(self):
        (self.bundle / "rootfs").symlink_to(self.root)
        self.configure(["NVIDIA_VISIBLE_DEVICES=2"], root={"path": "rootfs"})
        self.assertIn("nvidia2", self.start('ls "$0/dev"').split())

    def test_not_in_the_namespace_of_the_host(self):
        with self.nothing_changes():
            self.hook(prefix=["unshare", "--mount", "--propagation", "private", "--pid", "--fork",
                              "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh"], status=5,
                      stderr="gpuctr-setup: this hook runs in the mount namespace of the host\n"
                             "hint: what it sets up would show there: use the stage "
                             "createContainer, or name that of the hook with --stage\n")


    def volume(self):
        volume = harness.DIRECTORY / "volume"
        volume.mkdir(exist_ok=True)
        harness.must("mount", "-t", "ramfs", "test", volume)
        self.addCleanup(harness.must, "umount", volume)
        return volume

    def test_a_volume_gets_no_names(self):
        """Even one of the container's root, which is there for the next container too."""
        volume = self.volume()
        (self.root / "usr/local").mkdir(exist_ok=True)
        mount = ["sh", "-c", 'mount --rbind "$1" "$0/usr/local" && shift && "$@"']
        self.hook(prefix=[*NAMESPACES, self.root, *mount, self.root, volume])
        self.assertEqual(os.listdir(volume), [])

    def test_a_link_of_the_image_leads_no_name_to_a_volume(self):
        volume = self.volume()
        (self.root / "etc").rename(self.root / "volume")
        (self.root / "etc").symlink_to("/volume")
        mount = ["sh", "-c", 'mount --rbind "$1" "$0/volume" && shift && "$@"']
        self.hook(prefix=[*NAMESPACES, self.root, *mount, self.root, volume])
        self.assertEqual(os.listdir(volume), [])

    def test_not_where_the_runtime_mounted_nothing(self):
        other = harness.new_root()
        self.addCleanup(harness.must, "rm", "-rf", other)
        self.configure(["NVIDIA_VISIBLE_DEVICES=all"], root={"path": str(other)})
        message = (f"gpuctr-setup: root file system {other}: not that of a container, as no /proc "
                   "is mounted in it here\nhint: a runtime mounts it before hooks are called, for "
                   "the container alone: use the stage createContainer, or name that of the hook "
                   "with --stage\n")
        for is_link in (False, True):
            if is_link:
                (other / "proc").rmdir()
                (other / "proc").symlink_to("/proc")
            before = snapshot.take(other)
            self.start("true", status=5, stderr=message)
            with self.container() as pid:
                self.hook("--stage", "createRuntime", state=self.state_text(pid), status=5,
                          stderr=message)
            self.assertEqual(snapshot.difference(before, snapshot.take(other)), [])


class Stages(Case):
    def test_joins_the_container_before_it_is_started(self):
        for stage in ("createRuntime", "prestart"):
            with self.container() as pid:
                self.hook("--stage", stage, state=self.state_text(pid))
                root = pathlib.Path(f"/proc/{pid}/root{self.root}")
                node = os.stat(root / "dev/nvidia3")
                self.assertTrue(stat.S_ISCHR(node.st_mode))
                self.assertFalse(stat.S_ISCHR(os.stat(self.root / "dev/nvidia3").st_mode))

    def test_not_without_a_process(self):
        with self.nothing_changes():
            self.hook("--stage", "createRuntime", state=self.state_text(0), status=2,
                      stderr="gpuctr-setup: the state of the container names no process\n"
                             "hint: use the stage createContainer\n")

    def test_not_where_the_kernel_cannot_join(self):
        older = [sys.executable, "-B", pathlib.Path(__file__).with_name("seccomp.py"),
                 "pidfd_open:ENOSYS"]
        with self.container() as pid:
            self.hook("--stage", "createRuntime", state=self.state_text(pid), status=7,
                      prefix=older,
                      stderr=f"gpuctr-setup: process {pid}: Function not implemented\n"
                             "hint: to join a container needs Linux 5.8: use the stage "
                             "createContainer\n")

    def test_not_if_it_has_no_namespace_of_its_own(self):
        with self.nothing_changes():
            self.hook("--stage", "createRuntime", state=self.state_text(os.getpid()), status=5,
                      stderr=f"gpuctr-setup: process {os.getpid()} has no mount namespace of its "
                             "own\nhint: at the stage createContainer, the hook is in that of the "
                             "container\n")

    def test_not_if_the_groups_of_the_host_would_stay(self):
        denies = ["unshare", "--user", "--map-root-user"]
        with self.container(*denies) as pid:
            self.hook("--stage", "createRuntime", state=self.state_text(pid), status=6,
                      prefix=["setpriv", "--groups", "0,7"],
                      stderr="gpuctr-setup: leave the groups of this process in the user "
                             f"namespace of process {pid}: Operation not permitted\n"
                             "hint: one that a user made without newgidmap denies that "
                             "(setgroups): use the stage createContainer, at which the hook is "
                             "root of the container\n")
            self.hook("--stage", "createRuntime", state=self.state_text(pid),
                      prefix=["setpriv", "--clear-groups"])

    def test_names_belong_to_the_root_of_the_container(self):
        harness.must("chown", "-R", "100000:100000", self.root)
        os.chmod(harness.DIRECTORY, 0o755)
        owner = subprocess.Popen(["unshare", "--user", "sh", "-c", "echo; read line"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with owner:
            owner.stdout.readline()
            for name in ("uid_map", "gid_map"):
                pathlib.Path(f"/proc/{owner.pid}/{name}").write_text("0 100000 65536")
            with self.container("nsenter", "--user", "--target", str(owner.pid), "--setuid", "0",
                                "--setgid", "0") as pid:
                self.hook("--stage", "createRuntime", state=self.state_text(pid))
            owner.stdin.close()
        for name in ("etc/ld.so.cache", "usr/bin/nvidia-smi", "dev/nvidia3"):
            self.assertEqual(os.lstat(self.root / name).st_uid, 100000, name)


class Refused(Case):
    def refuse(self, message, state=None, hint=""):
        with self.nothing_changes():
            self.start("true", state=state, status=2, stderr=f"gpuctr-setup: {message}\n{hint}")

    def test_states_that_are_none(self):
        for text in ("", "no", "[1", "{} {}"):
            done = harness.call(harness.SETUP, "hook", stdin=None, input=text)
            self.assertEqual(done.returncode, 2)
            self.assertIn("gpuctr-setup: the state of the container: no JSON document",
                          done.stderr)
        self.refuse("the state of the container: no JSON document: a NUL is in it",
                    self.state_text() + "\0")
        self.refuse("the state of the container: nested in more than 64 levels", "[" * 100)
        self.refuse("the state of the container on standard input is too long", " " * ((1 << 20) + 1),
                    f"hint: {FORM}\n")
        for pid in (-1, 2**40, "1", None, 1.5):
            self.refuse("the state of the container has a pid that is none", self.state_text(pid))
        for bundle in ("", "relative", None, 1):
            self.refuse("the state of the container names no bundle by an absolute path",
                        self.state_text(bundle=bundle))

    def test_not_understood_after_a_request(self):
        path = self.bundle / "config.json"
        asks = '{"process": {"env": ["NVIDIA_VISIBLE_DEVICES=1"]}'
        for rest, message in (("", "no JSON document"), ("}", "it names no root directory"),
                              (', "root": {"path": ""}}', "it names no root directory"),
                              (', "process": {}}', "'process' is in it twice")):
            self.write(asks + rest)
            done = harness.call(harness.SETUP, "hook", stdin=None, input=self.state_text())
            self.assertEqual(done.returncode, 2)
            self.assertIn("gpuctr-setup: the configuration of the container is not understood: "
                          f"{path}: {message}", done.stderr)
        self.write('{"process": {"env": ["NVIDIA_VISIBLE_DEVICES=' + 40_000 * "x" + '"]}}')
        self.refuse(f"the configuration of the container is not understood: {path}: the value of "
                    "NVIDIA_VISIBLE_DEVICES in it is too long")
        self.write("{")
        self.hook("--by-nodes", status=2, stderr=None)

    def test_bundles_without_a_configuration(self):
        path = self.bundle / "config.json"
        path.unlink()
        self.refuse(f"{path}: No such file or directory")
        os.mkfifo(path)
        self.hook(status=2, stderr=None)
        path.unlink()
        path.mkdir()
        self.hook(status=2, stderr=None)
