# SPDX-License-Identifier: MIT
"""Programs that make containers themselves."""

import contextlib
import os
import signal
import subprocess

from bench import Failed, gist
from programs import SHELL, SLEEP, Program, contained, enter, running, shell_words, wait_for


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
                          )

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

    def __init__(self, root=0):
        self.root = root  # who on the host is root in the container

    def config(self, bench, nodes, hooks=()):
        if self.root:
            bench.must("chown", "-R", f"{self.root}:{self.root}", bench.image)
            hooks = [f"lxc.idmap = {kind} 0 {self.root} 65536" for kind in "ug"] + list(hooks)
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


class Apptainer(Program):
    """With an image that is a directory, and options as in the recipe of docs/integrations.md."""

    name = package = "apptainer"

    def __init__(self, user=()):
        self.user = user

    def words(self, bench, options):
        # It asks for all capabilities for root, and many virtual machines lack this one.
        limits = [] if self.user else ["--drop-caps", "CAP_SYS_RESOURCE"]
        return [*self.user, "apptainer", "--silent", "--nocolor", "exec", *limits, "--no-home",
                *shell_words(options), bench.image]

    def run(self, bench, script, nodes=(), options=""):
        return bench.must(*self.words(bench, options), *SHELL, script)

    @contextlib.contextmanager
    def start(self, bench, nodes=()):
        with running(bench, *self.words(bench, ""), *SLEEP) as process:
            pid = contained(process)
            yield pid, enter(bench, pid, self.user)


class Incus(Program):
    """With a daemon of its own, without a network. The image is imported; its first process
    sleeps."""

    name, package = "incus", "incus-base"
    daemon_program = "/usr/libexec/incus/incusd"
    preseed = """
storage_pools:
- name: default
  driver: dir
profiles:
- name: default
  devices:
    root: {path: /, pool: default, type: disk}
"""

    @contextlib.contextmanager
    def daemon(self, bench):
        bench.environment["INCUS_DIR"] = str(bench.work / "incus")
        with running(bench, self.daemon_program, "--group", "root") as process:
            wait_for(lambda: process.poll() is not None
                     or bench.call("incus", "admin", "waitready", "--timeout", "1").returncode == 0,
                     "incusd")
            if process.poll() is not None:
                raise Failed(f"incusd: {gist(process.said())}")
            try:
                bench.must("incus", "admin", "init", "--preseed", input=self.preseed, stdin=None)
                yield
            finally:
                bench.call("incus", "admin", "shutdown", "--force")

    def import_image(self, bench):
        init = bench.image / "sbin/init"
        init.write_text("#!/bin/sh\nexec sleep 1000\n", encoding="utf-8")
        init.chmod(0o755)
        (bench.work / "metadata.yaml").write_text(
            "{architecture: x86_64, creation_date: 1, properties: {}}\n", encoding="utf-8")
        archive = bench.work / "image.tar"
        bench.must("tar", "-C", bench.work, "-cf", archive, "metadata.yaml", "-C",
                   bench.image.parent, "--transform", f"s,^{bench.image.name},rootfs,",
                   bench.image.name)
        bench.must("incus", "image", "import", archive, "--alias", "test")

    @contextlib.contextmanager
    def start(self, bench, nodes=(), options=""):
        with self.daemon(bench):
            self.import_image(bench)
            profiles = []
            if options:
                bench.must("incus", "profile", "create", "gpus")
                bench.must("incus", "profile", "edit", "gpus", input=options, stdin=None)
                profiles = ["--profile", "default", "--profile", "gpus"]
            bench.must("incus", "launch", "test", "test", *profiles)
            try:
                yield None, lambda script: bench.must("incus", "exec", "test", "--", *SHELL, script)
            finally:
                bench.must("incus", "delete", "--force", "test")

    def run(self, bench, script, nodes=(), options=""):
        with self.start(bench, options=options) as (_, inside):
            return inside(script)
