# SPDX-License-Identifier: MIT
"""OCI runtimes, and the engines that call them."""

import contextlib
import json
import os
import re
import resource
import signal
import stat
import subprocess

from bench import CHOSEN, Failed, gist
from programs import SHELL, SLEEP, Program, contained, enter, running, shell_words, wait_for

# What `gpuctr-setup hook` obeys, and nothing else here.
ASKS = f"NVIDIA_VISIBLE_DEVICES={CHOSEN}"


class OciRuntime(Program):
    """runc and crun, by a bundle as `spec` makes it."""

    def __init__(self, name, has_cgroup=True, mapped=False):
        self.name = self.package = name
        self.has_cgroup = has_cgroup
        self.mapped = mapped  # in a user namespace

    def words(self, bench):
        words = [self.name, "--root", bench.work / "containers"]
        return words if self.has_cgroup else [*words, "--cgroup-manager", "disabled"]

    def bundle(self, bench, args, nodes=(), allowed=(), hooks=None, edits=None):
        bundle = bench.work / "bundle"
        bundle.mkdir(exist_ok=True)
        config = bundle / "config.json"
        config.unlink(missing_ok=True)
        bench.must(self.name, "spec", cwd=bundle)
        spec = json.loads(config.read_text(encoding="utf-8"))
        spec["process"] |= {"args": args, "terminal": False}
        spec["process"]["env"].append(ASKS)
        spec["root"] = {"path": str(bench.image), "readonly": False}
        numbers = [self.device(node) for node in nodes]
        spec["linux"]["devices"] = numbers
        if self.mapped:
            self.map(spec, bench)
        if edits:
            self.merge(spec, edits)
        if not self.has_cgroup:
            del spec["linux"]["resources"]
            return self.write(config, spec, hooks)
        allow = numbers + [self.device(node) for node in allowed]
        spec["linux"]["resources"]["devices"] += [
            {"allow": True, "access": "rw", **{key: d[key] for key in ("type", "major", "minor")}}
            for d in allow]
        return self.write(config, spec, hooks)

    @staticmethod
    def map(spec, bench):
        ids = [{"containerID": 0, "hostID": 1_000_000, "size": 65_536}]
        spec["linux"] |= {"uidMappings": ids, "gidMappings": ids}
        spec["linux"]["namespaces"].append({"type": "user"})
        bench.must("chown", "-R", "1000000:1000000", bench.image)

    @staticmethod
    def merge(spec, edits):
        """As docs/integrations.md says, without jq."""
        spec["process"]["env"] += edits["process"]["env"]
        spec["mounts"] += edits["mounts"]
        spec["linux"]["devices"] += edits["linux"]["devices"]
        spec["linux"]["resources"]["devices"] += edits["linux"]["resources"]["devices"]

    @staticmethod
    def write(config, spec, hooks):
        if hooks:
            spec["hooks"] = hooks
        config.write_text(json.dumps(spec), encoding="utf-8")
        return config.parent

    @staticmethod
    def device(node):
        status = os.stat(node)
        return {"path": node, "type": "c", "major": os.major(status.st_rdev),
                "minor": os.minor(status.st_rdev), "fileMode": stat.S_IMODE(status.st_mode)}

    def run(self, bench, script, nodes=(), **options):
        bundle = self.bundle(bench, [*SHELL, script], nodes, **options)
        # A container's root owns the descriptors that it is given, and must not own /dev/null.
        given = {"stdin": None, "input": ""} if self.mapped else {}
        return bench.must(*self.words(bench), "run", "--bundle", bundle, "test", **given)

    @contextlib.contextmanager
    def start(self, bench, nodes=(), **options):
        bundle = self.bundle(bench, SLEEP, nodes, **options)
        words = self.words(bench)
        with running(bench, *words, "run", "--bundle", bundle, "test"):
            def started():
                done = bench.call(*words, "state", "test", stderr=subprocess.DEVNULL)
                state = json.loads(done.stdout) if done.returncode == 0 else {}
                return state.get("status") == "running" and state["pid"]
            try:
                pid = wait_for(started, "the container")
                yield pid, lambda script: bench.must(*words, "exec", "test", *SHELL, script)
            finally:
                bench.call(*words, "delete", "--force", "test")


class Podman(Program):
    name = package = "podman"

    def __init__(self, user=()):
        self.user = user

    def words(self, bench):
        own = []
        if self.user:  # whose containers and images they are
            bench.must("chown", "65534:65534", bench.work)
            bench.must("chown", "-R", "65534:65534", bench.image)
            own = [*self.user, "env", "USER=nobody"]
        return [*own, "podman", "--root", bench.work / "storage", "--runroot", bench.work / "run",
                "--tmpdir", bench.work / "libpod", "--storage-driver", "vfs", "--runtime",
                "crun", "--cgroup-manager", "cgroupfs", "--events-backend", "none"]

    # No network of its own, the limits that this process has, and no cgroup.
    usual = ["--network", "none", "--ulimit", "host", "--cgroups", "disabled"]

    def run_words(self, bench, nodes=(), hooks=None):
        words = self.words(bench)
        if hooks:
            words += ["--hooks-dir", hooks]
        return [*words, "run", *self.usual, "--env", ASKS,
                *(f"--device={node}" for node in nodes)]

    def run(self, bench, script, nodes=(), hooks=None, options=""):
        try:
            return bench.must(*self.run_words(bench, nodes, hooks), *shell_words(options), "--rm",
                              "--rootfs", bench.image, *SHELL, script)
        finally:
            if self.user:  # ends the process that keeps a user's namespaces
                bench.must(*self.words(bench), "system", "migrate")

    @contextlib.contextmanager
    def start(self, bench, nodes=(), hooks=None):
        bench.must(*self.run_words(bench, nodes, hooks), "--detach", "--name", "test", "--rootfs",
                   bench.image, *SLEEP)
        try:
            pid = int(bench.must(*self.words(bench), "inspect", "--format", "{{.State.Pid}}", "test"))
            yield pid, lambda script: bench.must(*self.words(bench), "exec", "test", *SHELL, script)
        finally:
            bench.must(*self.words(bench), "rm", "--force", "--time", "0", "test")


class Buildah(Program):
    name = package = "buildah"

    def __init__(self, oci=False):
        self.oci = oci

    def words(self, bench):
        # It looks for specifications in /etc/cdi alone otherwise.
        config = bench.work / "containers.conf"
        config.write_text('[engine]\ncdi_spec_dirs = ["/var/run/cdi"]\n', encoding="utf-8")
        bench.environment["CONTAINERS_CONF"] = str(config)
        return ["buildah", "--root", bench.work / "storage", "--runroot", bench.work / "run",
                "--storage-driver", "vfs"]

    @staticmethod
    def limits():
        """Those of this process, which it may not raise."""
        return [f"--ulimit={name}={':'.join(map(str, resource.getrlimit(number)))}"
                for name, number in (("nofile", resource.RLIMIT_NOFILE),
                                     ("nproc", resource.RLIMIT_NPROC))]

    def image_of(self, bench):
        container = bench.work / "container"
        if not container.exists():
            name = bench.must(*self.words(bench), "from", *self.limits(), "scratch").strip()
            directory = bench.must(*self.words(bench), "mount", name).strip()
            bench.must("cp", "-a", f"{bench.image}/.", directory)
            container.write_text(f"{name}\n{directory}\n", encoding="utf-8")
        return container.read_text(encoding="utf-8").splitlines()[1]

    def run_words(self, bench, nodes):
        self.image_of(bench)
        name = (bench.work / "container").read_text(encoding="utf-8").splitlines()[0]
        isolation = ["oci", "--runtime", "crun", "--network", "none"] if self.oci else ["chroot"]
        return [*self.words(bench), "run", "--isolation", *isolation,
                *(f"--device={node}" for node in nodes), name, "--"]

    def run(self, bench, script, nodes=()):
        return bench.must(*self.run_words(bench, nodes), *SHELL, script)

    @contextlib.contextmanager
    def start(self, bench, nodes=()):
        with running(bench, *self.run_words(bench, nodes), *SLEEP) as process:
            pid = contained(process)
            try:
                yield pid, enter(bench, pid)
            finally:
                os.kill(pid, signal.SIGKILL)


class BuildahBuild(Buildah):
    """A step of a build, whose output is what the step says."""

    def run(self, bench, script, nodes=(), hooks=None):
        (bench.image / "probe").write_text(script, encoding="utf-8")
        file = bench.work / "Containerfile"
        file.write_text(f"FROM scratch\nCOPY image /\nENV {ASKS}\nRUN sh /probe\n",
                        encoding="utf-8")
        hooks = ["--hooks-dir", hooks] if hooks else []
        return bench.must(*self.words(bench), "build", "--isolation", "oci", "--runtime", "crun",
                          "--network", "none", *self.limits(), *hooks, *(f"--device={node}" for node in nodes),
                          "--file", file, bench.directory)


class Containerd(Program):
    name, package = "ctr", "containerd"

    @contextlib.contextmanager
    def daemon(self, bench):
        config = bench.work / "config.toml"
        socket = bench.work / "socket"
        config.write_text(f"""version = 2
root = "{bench.work}/root"
state = "{bench.work}/run"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "{socket}"
""", encoding="utf-8")
        with running(bench, "containerd", "--config", config) as process:
            words = ["ctr", "--address", socket]
            wait_for(lambda: process.poll() is not None
                     or bench.call(*words, "version").returncode == 0, "containerd")
            if process.poll() is not None:
                raise Failed(f"containerd: {gist(process.said())}")
            yield words

    @staticmethod
    def container(bench, args, nodes=(), **options):
        """What `ctr run` is told of it; with options by a file, as its flags know none of them."""
        if options:
            bundle = OciRuntime("runc").bundle(bench, args, nodes, **options)
            return ["--config", bundle / "config.json", "test"]
        return ["--cpu-shares", "0", "--env", "PATH=/usr/bin:/bin",
                *(f"--device={node}" for node in nodes), "--rootfs", bench.image, "test", *args]

    def run(self, bench, script, nodes=(), **options):
        with self.daemon(bench) as words:
            container = self.container(bench, [*SHELL, script], nodes, **options)
            return bench.must(*words, "run", "--rm", *container)

    @contextlib.contextmanager
    def start(self, bench, nodes=(), **options):
        with self.daemon(bench) as words:
            bench.must(*words, "run", "--detach", *self.container(bench, SLEEP, nodes, **options))
            try:
                listed = bench.must(*words, "task", "list")
                pid = int(re.search(r"^test\s+(\d+)", listed, re.M)[1])
                yield pid, lambda script: bench.must(*words, "task", "exec", "--exec-id", "probe",
                                                     "test", *SHELL, script)
            finally:
                bench.call(*words, "task", "kill", "--signal", "KILL", "test")
                wait_for(lambda: bench.call(*words, "container", "rm", "test").returncode == 0,
                         "the end of the container")


class Docker(Program):
    """With a daemon of its own, whose containers have no network. It takes no directory as an
    image: the image is imported as a tar archive."""

    name, package = "dockerd", "docker.io"

    @contextlib.contextmanager
    def daemon(self, bench):
        socket = f"unix://{bench.work}/docker.socket"
        config = bench.work / "daemon.json"
        if int(self.version().split(".", maxsplit=1)[0]) < 25:  # 25 is the first that knows CDI
            settings = {"deprecated-key-path": f"{bench.work}/key"}
        else:
            settings = {"experimental": True, "features": {"cdi": True},
                        "cdi-spec-dirs": ["/var/run/cdi"]}
        config.write_text(json.dumps(settings), encoding="utf-8")
        with running(bench, "dockerd", "--config-file", config, "--host", socket, "--data-root",
                     bench.work / "data", "--exec-root", bench.work / "exec", "--pidfile",
                     bench.work / "dockerd.pid", "--storage-driver", "vfs", "--bridge", "none",
                     "--iptables=false", "--ip6tables=false", "--ip-forward=false") as process:
            words = ["docker", "--host", socket]
            wait_for(lambda: process.poll() is not None
                     or bench.call(*words, "version").returncode == 0, "dockerd")
            if process.poll() is not None:
                raise Failed(f"dockerd: {gist(process.said())}")
            archive = bench.work / "image.tar"
            bench.must("tar", "-C", bench.image, "-cf", archive, ".")
            bench.must(*words, "import", archive, "test")
            yield words

    def run(self, bench, script, nodes=(), options=""):
        with self.daemon(bench) as words:
            return bench.must(*words, "run", "--rm", "--network", "none",
                              *(f"--device={node}" for node in nodes), *shell_words(options),
                              "test", *SHELL, script)

    @contextlib.contextmanager
    def start(self, bench, allowed=()):
        rules = [f"--device-cgroup-rule=c {d['major']}:{d['minor']} rw"
                 for d in map(OciRuntime.device, allowed)]
        with self.daemon(bench) as words:
            bench.must(*words, "run", "--detach", "--name", "test", "--network", "none", *rules,
                       "test", *SLEEP)
            try:
                pid = int(bench.must(*words, "inspect", "--format", "{{.State.Pid}}", "test"))
                yield pid, lambda script: bench.must(*words, "exec", "test", *SHELL, script)
            finally:
                bench.must(*words, "rm", "--force", "test")
