# SPDX-License-Identifier: MIT
"""gpuctr-setup hook --accept: whose wish for GPUs counts, and what the device cgroup says to it."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

import bystander_test
import cgroups
import harness
import hook_test

PRIVILEGED = {"capabilities": {"bounding": ["CAP_CHOWN", "CAP_SYS_ADMIN"]}}
VOLUMES = "/var/run/nvidia-container-devices"
CONFIG = pathlib.Path("/etc/gpucontainer/config.yaml")
ALL = "NVIDIA_VISIBLE_DEVICES=all"


def volumes(*names):
    return [{"destination": f"{VOLUMES}/{name}", "source": "/dev/null"} for name in names]


class Case(hook_test.Case):
    def configuration(self, variables=(), process=None, mounts=(), **more):
        return {"ociVersion": "1.0.2", "root": {"path": str(self.root)},
                "process": {"env": ["PATH=/bin", *variables]} | (process or {}),
                "mounts": list(mounts)} | more

    def given(self, config, *words, stderr=""):
        """The GPUs that a container with this configuration gets, at each stage the same."""
        self.write(config)
        self.refused = None
        stages = []
        edited = self.hook("--stage", "precreate", *words, state=json.dumps(config), stderr=None)
        stages.append([node["path"] for node in
                       json.loads(edited).get("linux", {}).get("devices", ())])
        stages.append(self.start('for node in "$0"/dev/nvidia*; do [ -c "$node" ] && echo "$node"; done; true',
                                 *words, stderr=None).split())
        for stage in ("createRuntime", "prestart"):
            with self.container() as pid:
                done = harness.call(harness.SETUP, "hook", "--stage", stage, *words, stdin=None,
                                    input=self.state_text(pid))
                self.assertEqual((done.returncode, done.stderr), (0, stderr))
                root = pathlib.Path(f"/proc/{pid}/root{self.root}")
                stages.append([path for path in os.listdir(root / "dev")
                               if (root / "dev" / path).is_char_device()])
        found = [{int(name[-1]) for name in nodes if name[:-1].endswith("nvidia") and name[-1].isdigit()}
                 for nodes in stages]
        self.assertEqual(found, [found[0]] * 4)
        return found[0]

    def refusal(self, what, accepted):
        return ("gpuctr-setup: warning: the container's wish for GPUs does not count: "
                f"{what}, with --accept {accepted}\n")


class Accepted(Case):
    def test_the_environment_counts_by_default(self):
        self.assertEqual(self.given(self.configuration(["NVIDIA_VISIBLE_DEVICES=1,3"])), {1, 3})

    def test_the_environment_alone_gives_nothing(self):
        for value in ("all", "1,3", "none"):
            setting = f"NVIDIA_VISIBLE_DEVICES={value}"
            for process in (None, PRIVILEGED):
                self.assertEqual(self.given(self.configuration([setting], process), "--accept", "mounts",
                                            stderr=self.refusal(f"{setting} of its environment",
                                                                "mounts")), set())

    def test_of_privileged_containers_alone(self):
        refused = self.refusal(f"{ALL} of its environment", "mounts,privileged")
        words = ("--accept", "mounts,privileged")
        self.assertEqual(self.given(self.configuration([ALL], PRIVILEGED), *words), set(range(8)))
        user = {"linux": {"namespaces": [{"type": "mount"}, {"type": "user"}]}}
        joined = {"linux": {"namespaces": [{"type": "user", "path": "/proc/1/ns/user"}]}}
        for process, more in (
                (None, {}), (PRIVILEGED, user), (PRIVILEGED, joined),
                ({"capabilities": {"effective": ["CAP_SYS_ADMIN"], "permitted": ["CAP_SYS_ADMIN"],
                                   "bounding": ["CAP_CHOWN"]}}, {}),
                ({"capabilities": {"bounding": "CAP_SYS_ADMIN"}}, {}),
                ({"capabilities": {"bounding": ["XCAP_SYS_ADMIN", "cap_sys_admin", 1, None]}}, {}),
                ({"capabilities": ["CAP_SYS_ADMIN"]}, {}), ({"capabilities": {}}, {})):
            with self.subTest(process):
                self.assertEqual(self.given(self.configuration([ALL], process, **more), *words,
                                            stderr=refused), set())

    def test_mounts_win_over_the_environment(self):
        config = self.configuration([ALL], mounts=volumes("5", "6"))
        for words in ((), ("--accept", "mounts,privileged"), ("--accept", "mounts")):
            self.assertEqual(self.given(config, *words), {5, 6})
        refused = f"mounts below {VOLUMES} that name GPUs=5,6"
        self.assertEqual(self.given(config, "--accept", "environment",
                                    stderr=self.refusal(refused, "environment")), set(range(8)))
        self.assertEqual(self.given(self.configuration(mounts=volumes("5", "6")), "--accept",
                                    "environment", stderr=self.refusal(refused, "environment")), set())

    def test_of_every_maker(self):
        for name in ("AMD_VISIBLE_DEVICES", "HABANA_VISIBLE_DEVICES"):
            setting = f"{name}=all"
            self.assertEqual(self.given(self.configuration([setting]), "--accept", "mounts",
                                        stderr=self.refusal(f"{setting} of its environment", "mounts")),
                             set())
        # What is refused of one maker does not count besides another's that is accepted.
        self.assertEqual(self.given(self.configuration([ALL, "AMD_VISIBLE_DEVICES=all"],
                                                       mounts=volumes("2")), "--accept", "mounts",
                                    stderr=self.refusal("AMD_VISIBLE_DEVICES=all of its environment",
                                                        "mounts")), {2})

    def test_of_images_that_name_no_gpus(self):
        legacy = self.configuration(["CUDA_VERSION=8.0.61"])
        refused = "CUDA_VERSION=8.0.61 of an older image, which has no variable NVIDIA_*"
        self.assertEqual(self.given(legacy, stderr=self.refusal(refused, "environment,mounts")), set())
        for words in ("environment,legacy", "legacy,mounts,environment"):
            self.assertEqual(self.given(legacy, "--accept", words), set(range(8)))
        for variables in (["NVIDIA_REQUIRE_CUDA=cuda>=8.0"], ["NVIDIA_VISIBLE_DEVICES=void"],
                          ["NVIDIA_X="], ["NVIDIA_X=" + 40_000 * "x"]):
            self.assertEqual(self.given(self.configuration(["CUDA_VERSION=8.0.61", *variables]),
                                        "--accept", "environment,legacy"), set())
        self.assertEqual(self.given(legacy, "--accept", "privileged,legacy",
                                    stderr=self.refusal(refused, "privileged,legacy")), set())

    def test_what_the_administrator_names_wins(self):
        asks = self.configuration(mounts=volumes("5"))
        self.assertEqual(self.given(asks, "--accept", "mounts", "--device", "2"), {2})
        self.write(self.configuration(["NVIDIA_VISIBLE_DEVICES=5"]))
        nodes = self.start('ls "$0/dev"', "--request-env", "NVIDIA_VISIBLE_DEVICES=3").split()
        self.assertIn("nvidia3", nodes)
        self.assertNotIn("nvidia5", nodes)

    def test_a_site_says_it_in_its_configuration(self):
        for name in ("etc", "work"):
            (harness.DIRECTORY / name).mkdir()
        harness.must("mount", "-t", "overlay", "-o", f"lowerdir=/etc,upperdir={harness.DIRECTORY}/etc,"
                     f"workdir={harness.DIRECTORY}/work", "test", "/etc")
        self.addCleanup(harness.must, "umount", "/etc")
        CONFIG.parent.mkdir()
        for text in ("accept: [mounts, privileged]\n", "accept: mounts,privileged\n"):
            CONFIG.write_text(text, encoding="ascii")
            self.assertEqual(self.given(self.configuration([ALL]), stderr=self.refusal(
                f"{ALL} of its environment", "mounts,privileged")), set())
        self.write(self.configuration([ALL]))
        hostile = dict(os.environ, GPUCTR_ACCEPT="environment")
        self.hook(env=hostile, stderr=self.refusal(f"{ALL} of its environment", "mounts,privileged"))
        CONFIG.write_text("accept: mount\n", encoding="ascii")
        self.hook(status=2, stderr=None)

    def test_a_refusal_is_in_the_log_of_the_system(self):
        self.write(self.configuration([ALL + "\n\x1b[31m" + 2000 * "x"]))
        with bystander_test.system_log(self) as lines:
            self.hook("--accept", "mounts", stderr=None)
        [line] = lines
        self.assertRegex(line, r"^<28>.* gpuctr-setup\[\d+\]: the container's wish for GPUs does not count: "
                               r"NVIDIA_VISIBLE_DEVICES=all[^\n\x1b]+ of its environment, with --accept mounts$")

    def test_what_cannot_be_accepted(self):
        for words in (("--accept", "x"), ("--accept", ""), ("--accept", "mounts,"), ("--accept", "all"),
                      ("--accept", "legacy"), ("--accept", "mounts,legacy"),
                      ("--accept", "mounts", "--by-nodes"), ("--strict", "--by-nodes"),
                      ("--strict", "--stage", "prestart"), ("--image-env", "auto"),
                      ("--image-env", "/etc/os-release")):
            with self.subTest(words), self.nothing_changes():
                self.hook(*words, status=2, stderr=None)
        self.assertNotIn("--image-env", harness.must(harness.SETUP, "hook", "--help"))


class InTheCgroup(Case):
    """At the stage createContainer, the hook is in the container's device cgroup."""

    def in_group(self, *forbidden):
        script = pathlib.Path(__file__).with_name("device_cgroup.py")
        return [sys.executable, "-B", script, *(f"195:{number}" for number in forbidden), "--"]

    def hook_in(self, forbidden, *words, **options):
        prefix = [*self.in_group(*forbidden), *hook_test.NAMESPACES, self.root, "sh", "-c",
                  '"$@" && ls "$0/dev"', self.root]
        done = harness.call(*prefix, harness.SETUP, "hook", *words, stdin=None, input=self.state_text())
        if done.returncode == 77:
            self.skipTest(done.stderr)
        return done

    def test_all_is_what_is_granted(self):
        self.write(self.configuration([ALL]))
        done = self.hook_in(range(3, 8))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([n for n in done.stdout.split() if n[6:].isdigit()],
                         ["nvidia0", "nvidia1", "nvidia2"])

    def test_all_of_nothing_is_told_and_no_error(self):
        self.write(self.configuration([ALL]))
        with bystander_test.system_log(self) as lines, self.nothing_changes():
            done = self.hook_in(range(8))
        message = ("the container asks for all GPUs and is granted none: none of the 8 NVIDIA GPUs may "
                   "be used")
        self.assertEqual((done.returncode, done.stderr), (0, f"gpuctr-setup: warning: {message}\n"))
        self.assertEqual([line.split("]: ")[1] for line in lines], [message])
        self.assertEqual(self.hook_in(range(8), "--strict").returncode, 6)

    def test_a_named_gpu_that_is_not_granted_is_an_error(self):
        for config in (self.configuration(["NVIDIA_VISIBLE_DEVICES=1,5"]),
                       self.configuration(["NVIDIA_VISIBLE_DEVICES=5"]),
                       self.configuration([ALL], mounts=volumes("1", "5"))):
            self.write(config)
            with self.nothing_changes():
                for forbidden in (range(3, 8), range(8)):
                    self.assertEqual(self.hook_in(forbidden).returncode, 6)
            self.assertEqual(self.hook_in([7]).returncode, 0)


class OfTheContainer(Case):
    """At the other stages, the hook lets the container's device cgroup use the GPUs."""

    @contextlib.contextmanager
    def container_in(self, group):
        process = subprocess.Popen([*hook_test.NAMESPACES, str(self.root), "sh", "-c",
                                    'echo; read line; exec sh -c "$line"'], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        with process:
            process.stdout.readline()
            group.add(process.pid)
            try:
                yield process
            finally:
                process.stdin.close()

    def forbidden(self, process, *paths):
        """Whether the device cgroup keeps the process from each of them."""
        script = "; ".join(f"(: <{self.root}{path}) 2>&1 | grep -c permitted" for path in paths)
        out, _ = process.communicate(script + "\n", timeout=harness.TIMEOUT)
        return out.split()

    def configure_rules(self, variables, rules=({"allow": False, "access": "rwm"},), **more):
        self.write(self.configuration(variables, linux={"resources": {"devices": list(rules)}}, **more))

    def test_the_group_is_opened_for_what_counts_alone(self):
        for stage in ("createRuntime", "prestart"):
            for accept, answers in (("environment", ["0", "0", "1"]), ("mounts", ["1", "1", "1"])):
                group = cgroups.Group(self, 2)
                group.forbid(195)
                self.configure_rules(["NVIDIA_VISIBLE_DEVICES=1"])
                with self.container_in(group) as process:
                    # A node that no set-up makes shows the group's answer.
                    for name in ("nvidia1", "nvidiactl", "nvidia2"):
                        path = self.root / "dev" / name
                        if not path.exists():
                            harness.must("cp", "-a", f"/dev/{name}", path)
                    self.hook("--stage", stage, "--accept", accept, state=self.state_text(process.pid),
                              stderr=None)
                    self.assertEqual(self.forbidden(process, "/dev/nvidia1", "/dev/nvidiactl",
                                                    "/dev/nvidia2"), answers)

    def test_a_group_that_cannot_be_opened_is_named(self):
        group = cgroups.Group(self, 2)
        group.forbid(195, flags=0)
        self.configure_rules(["NVIDIA_VISIBLE_DEVICES=1"])
        with self.container_in(group) as process:
            for stage in ("createRuntime", "prestart"):
                with self.nothing_changes():
                    done = harness.call(harness.SETUP, "hook", "--stage", stage, stdin=None,
                                        input=self.state_text(process.pid))
                self.assertEqual(done.returncode, 6)
                self.assertIn(f"gpuctr-setup: device cgroup {group.path} of the container: ", done.stderr)
            self.hook("--stage", "prestart", "--accept", "mounts", state=self.state_text(process.pid),
                      stderr=None)

    def test_the_engines_nodes_open_nothing(self):
        group = cgroups.Group(self, 2)
        group.forbid(195)
        self.configure_rules(["NVIDIA_VISIBLE_DEVICES=1"])
        with self.container_in(group) as process:
            self.hook("--stage", "createRuntime", "--by-nodes", state=self.state_text(process.pid))
            harness.must("cp", "-a", "/dev/nvidia1", self.root / "dev/nvidia1")
            self.assertEqual(self.forbidden(process, "/dev/nvidia1"), ["1"])

    def test_a_large_configuration_has_rules_too(self):
        group = cgroups.Group(self, 2)
        group.forbid(195)
        self.configure_rules(["NVIDIA_VISIBLE_DEVICES=1"], annotations={"a": (5 << 20) * "x"})
        with self.container_in(group) as process:
            harness.must("cp", "-a", "/dev/nvidia1", self.root / "dev/nvidia1")
            self.hook("--stage", "createRuntime", state=self.state_text(process.pid))
            self.assertEqual(self.forbidden(process, "/dev/nvidia1"), ["0"])

    def test_version_1(self):
        group = cgroups.Group(self, 1)
        group.write("devices.deny", "a")
        self.configure_rules(["NVIDIA_VISIBLE_DEVICES=1"])
        with self.container_in(group) as process:
            self.hook("--stage", "prestart", state=self.state_text(process.pid))
            self.assertIn("c 195:1 rw", group.rules())
