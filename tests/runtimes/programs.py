# SPDX-License-Identifier: MIT
"""The container runtimes, each run in the simplest way that works in world.py's world.

Each can run a script in the root file system of a bench and tell what it printed, or
start a container there and tell a process of it and how to run a script in it."""

import contextlib
import glob
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time

from bench import CHOSEN, Failed, gist

# What `gpuctr-setup hook` obeys, and nothing else here.
ASKS = f"NVIDIA_VISIBLE_DEVICES={CHOSEN}"
SLEEP = ["sleep", "1000"]
SHELL = ["/bin/sh", "-c"]


def wait_for(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise Failed(f"{what} does not come")


@contextlib.contextmanager
def running(bench, *words, **options):
    """A process that is ended, with what it says in a file."""
    log = bench.work / "said"
    with open(log, "w", encoding="utf-8") as said:
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL,
                                   stdout=said, stderr=said, env=bench.environment,
                                   cwd=bench.directory, **options)
    process.said = lambda: log.read_text(errors="replace")
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def enter(bench, pid, user=()):
    """Runs a script as a further process of a container, which is that user's."""
    namespaces = ["--user", "--preserve-credentials", "--mount", "--pid"] if user else ["--all"]
    words = [*user, "nsenter", "--target", pid, *namespaces, "--root", "--wd=/"]
    return lambda script: bench.must(*words, *SHELL, script)


def contained(process, itself=False):
    """The process below that one, or that itself, that sleeps in a container."""
    own = os.stat("/")
    def look():
        if process.poll() is not None:
            raise Failed(f"{process.args[0]}: {gist(process.said())}")
        for child in [process.pid] if itself else descendants(process.pid):
            try:
                root = os.stat(f"/proc/{child}/root")
                command = open(f"/proc/{child}/cmdline", "rb").read()
            except OSError:
                continue
            if not os.path.samestat(root, own) and re.match(rb"(/usr/bin/)?sleep\0", command):
                return child
        return None
    return wait_for(look, "a process of the container")


def descendants(pid):
    found = [pid]
    for known in found:
        for thread in glob.glob(f"/proc/{known}/task/*/children"):
            try:
                with open(thread, encoding="ascii") as file:
                    found += [int(word) for word in file.read().split()]
            except OSError:
                pass
    return found[1:]


def shell_words(options):
    """The words that a shell makes of options as `plan --format` prints them."""
    script = f"printf '%s\\0' {options}"
    said = subprocess.run(["sh", "-euc", script], stdout=subprocess.PIPE, check=True).stdout
    return [word.decode() for word in said.split(b"\0")[:-1]] if options else []


class Program:
    """`name` is the command's, `package` Debian's."""

    name = package = None

    def version(self):
        """"" where it is not installed."""
        if shutil.which(self.name) is None:
            return ""
        said = subprocess.run([self.name, "--version"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False,
                              env=dict(os.environ, USER="root")).stdout
        return re.search(r"\d+(\.\d+)*", said)[0]

    def image_of(self, bench):
        """The root file system that its containers have."""
        return bench.image

    def run(self, bench, script, nodes=()):
        raise NotImplementedError

    def start(self, bench, nodes=()):
        raise NotImplementedError


class OciRuntime(Program):
    """runc and crun, by a bundle as `spec` makes it."""

    def __init__(self, name, has_cgroup=True):
        self.name = self.package = name
        self.has_cgroup = has_cgroup

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
        return bench.must(*self.words(bench), "run", "--bundle", bundle, "test")

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

    def __init__(self, runtime="crun"):
        self.runtime = runtime

    def words(self, bench):
        return ["podman", "--root", bench.work / "storage", "--runroot", bench.work / "run",
                "--tmpdir", bench.work / "libpod", "--storage-driver", "vfs", "--runtime",
                self.runtime, "--cgroup-manager", "cgroupfs", "--events-backend", "none"]

    # No network of its own, the limits that this process has, and no cgroup.
    usual = ["--network", "none", "--ulimit", "host", "--cgroups", "disabled"]

    def run_words(self, bench, nodes=(), hooks=None):
        words = self.words(bench)
        if hooks:
            words += ["--hooks-dir", hooks]
        return [*words, "run", *self.usual, "--env", ASKS,
                *(f"--device={node}" for node in nodes)]

    def run(self, bench, script, nodes=(), hooks=None, options=""):
        return bench.must(*self.run_words(bench, nodes, hooks), *shell_words(options), "--rm",
                          "--rootfs", bench.image, *SHELL, script)

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

    def words(self, bench):
        return ["buildah", "--root", bench.work / "storage", "--runroot", bench.work / "run",
                "--storage-driver", "vfs"]

    def image_of(self, bench):
        container = bench.work / "container"
        if not container.exists():
            name = bench.must(*self.words(bench), "from", "scratch").strip()
            directory = bench.must(*self.words(bench), "mount", name).strip()
            bench.must("cp", "-a", f"{bench.image}/.", directory)
            container.write_text(f"{name}\n{directory}\n", encoding="utf-8")
        return container.read_text(encoding="utf-8").splitlines()[1]

    def run(self, bench, script, nodes=()):
        self.image_of(bench)
        name = (bench.work / "container").read_text(encoding="utf-8").splitlines()[0]
        return bench.must(*self.words(bench), "run", "--isolation", "chroot", name, "--", *SHELL,
                          script)

    @contextlib.contextmanager
    def start(self, bench, nodes=()):
        self.image_of(bench)
        name = (bench.work / "container").read_text(encoding="utf-8").splitlines()[0]
        with running(bench, *self.words(bench), "run", "--isolation", "chroot", name, "--",
                     *SLEEP) as process:
            pid = contained(process)
            try:
                yield pid, enter(bench, pid)
            finally:
                os.kill(pid, signal.SIGKILL)


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


class Bubblewrap(Program):
    name, package = "bwrap", "bubblewrap"

    def __init__(self, user=(), composed=False):
        self.user = user
        self.composed = composed

    def root(self, bench):
        """The image, or a tmpfs with its /usr, as bubblewrap's users have it."""
        if not self.composed:
            return ["--bind", bench.image, "/"]
        links = [("usr/bin", "/bin"), ("usr/sbin", "/sbin"), ("usr/lib", "/lib"),
                 ("usr/lib64", "/lib64")]
        return ["--ro-bind", bench.image / "usr", "/usr",
                *(word for link in links for word in ("--symlink", *link))]

    def words(self, bench, nodes):
        user = ["--unshare-user", "--uid", "0", "--gid", "0"] if self.user else []
        return [*self.user, "bwrap", *user, *self.root(bench), "--dev", "/dev", "--proc", "/proc",
                *(word for node in nodes for word in ("--dev-bind", node, node))]

    def run(self, bench, script, nodes=(), options=""):
        return bench.must(*self.words(bench, nodes), *shell_words(options), *SHELL, script)

    @contextlib.contextmanager
    def start(self, bench, nodes=()):
        with running(bench, *self.words(bench, nodes), "--unshare-pid", *SLEEP) as process:
            pid = contained(process)
            try:
                yield pid, enter(bench, pid, self.user)
            finally:
                os.kill(pid, signal.SIGKILL)


class Nspawn(Program):
    name, package = "systemd-nspawn", "systemd-container"

    def words(self, bench, nodes):
        # Without a systemd that it could ask for a scope; and the image has none that tells
        # which version of cgroups it knows.
        bench.environment["SYSTEMD_NSPAWN_UNIFIED_HIERARCHY"] = "1"
        return [self.name, "--quiet", "--register=no", "--keep-unit", "--directory", bench.image,
                *(f"--bind={node}" for node in nodes)]

    def run(self, bench, script, nodes=(), options=""):
        return bench.must(*self.words(bench, nodes), *shell_words(options), *SHELL, script,
                          stderr=subprocess.DEVNULL)

    @contextlib.contextmanager
    def start(self, bench, nodes=()):
        with running(bench, *self.words(bench, nodes), "--as-pid2", *SLEEP) as process:
            pid = contained(process)
            yield pid, enter(bench, pid)


class Charliecloud(Program):
    name, package = "ch-run", "charliecloud"

    def __init__(self, user=()):
        self.user = user

    def words(self, bench, options=""):
        return [*self.user, "ch-run", *shell_words(options), "--write", bench.image, "--"]

    def run(self, bench, script, nodes=(), options=""):
        return bench.must(*self.words(bench, options), *SHELL, script)

    @contextlib.contextmanager
    def start(self, bench, nodes=()):
        with running(bench, *self.words(bench), *SLEEP) as process:
            pid = contained(process, itself=True)
            yield pid, enter(bench, pid)


class Lxc(Program):
    name, package = "lxc-execute", "lxc"

    def config(self, bench, nodes, hooks=()):
        config = bench.work / "config"
        lines = [f"lxc.rootfs.path = dir:{bench.image}", "lxc.uts.name = test",
                 "lxc.net.0.type = empty", "lxc.console.path = none", "lxc.pty.max = 0",
                 "lxc.tty.max = 0", "lxc.autodev = 1", "lxc.mount.auto = proc sys",
                 "lxc.apparmor.profile = unconfined",
                 *(f"lxc.mount.entry = {node} {node[1:]} none bind,create=file 0 0"
                   for node in nodes), *hooks]
        config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return ["--lxcpath", bench.work, "--name", "test", "--rcfile", config]

    def run(self, bench, script, nodes=(), hooks=(), options=""):
        lines = [*hooks, *options.splitlines()]
        return bench.must("lxc-execute", *self.config(bench, nodes, lines), "--", *SHELL, script)

    @contextlib.contextmanager
    def start(self, bench, nodes=(), hooks=()):
        words = self.config(bench, nodes, hooks)
        with running(bench, "lxc-execute", *words, "--", *SLEEP) as process:
            pid = contained(process)
            attach = ["lxc-attach", "--lxcpath", bench.work, "--name", "test", "--clear-env", "--"]
            yield pid, lambda script: bench.must(*attach, *SHELL, script)


class Unshare(Program):
    """A shell, in namespaces of its own, that changes its root directory."""

    name, package = "unshare", "util-linux"

    def __init__(self, user=()):
        self.user = user

    def run(self, bench, script, nodes=(), options=""):
        gpus = bench.work / "gpus.sh"
        gpus.write_text(options, encoding="utf-8")
        namespaces = ["--mount", "--map-root-user"] if self.user else ["--mount"]
        return bench.must(*self.user, "unshare", *namespaces, *SHELL,
                          f'[ ! -s {gpus} ] || . {gpus}; exec chroot "$1" /bin/sh -c "$2"', "sh",
                          bench.image, script)
