# SPDX-License-Identifier: MIT
"""The rows of the table: a program, and a way in which its containers get GPUs."""

import dataclasses
import json
import os
import pathlib
import typing

import programs
import world
from bench import CHOSEN, OWN_LIBRARY, PROBE, Probe
from imitated import Apptainer

USER = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")


@dataclasses.dataclass
class Row:
    program: programs.Program
    way: str
    attempt: typing.Callable  # with a bench; tells what went wrong


def apply_before(program, with_nodes=False):
    """The set-up in the image first, then the runtime; undone at the end."""
    def attempt(bench):
        image = program.image_of(bench)
        nodes = bench.nodes() if with_nodes else []
        bench.remember(image)
        bench.apply("--rootfs", image)
        try:
            seen = Probe(program.run(bench, PROBE, nodes))
        finally:
            bench.setup("undo", "--rootfs", image)
        return seen.problems()
    return attempt


def by_pid(program, as_user=(), private=False, **options):
    """The set-up in a container that runs, and undone while it does."""
    def attempt(bench):
        if options:
            options["allowed"] = bench.nodes()
        if as_user:
            os.chown(bench.state, 65534, 65534)
        with program.start(bench, **options) as (pid, inside):
            if private:
                inside("mount --make-rprivate /")
            before = Probe(inside(PROBE))
            bench.remember(bench.image)
            bench.apply("--pid", pid, as_user=as_user)
            seen = Probe(inside(PROBE))
            bench.setup("undo", "--pid", pid, as_user=as_user)
            after = Probe(inside(PROBE))
        return seen.problems() + after.remains(before)
    return attempt


def hooks_of(bench):
    """Those of OCI: the set-up when the container's mounts are there, before its root is
    changed, and the undo after its end."""
    def hook(*words):
        return {"path": str(bench.command), "args": [str(word) for word in bench.setup_words(*words)]}
    root = ("--rootfs", bench.image)
    return {"createContainer": [hook("--nv", "--device", CHOSEN, *root)],
            "poststop": [hook("undo", *root)]}


def own_hook_of(bench):
    """`gpuctr-setup hook`, which is told by the container's environment. Nothing is written into
    the image, because it is not a layer that goes with the container."""
    return {"createContainer": [{
        "path": str(bench.command), "env": ["PATH=/usr/bin:/bin"],
        "args": [str(bench.command), "hook", "--write", "never"]}]}


def by_hook(program, hooks=hooks_of, **options):
    def attempt(bench):
        if options:
            options["allowed"] = bench.nodes()
        bench.remember(bench.image)
        return Probe(program.run(bench, PROBE, hooks=hooks(bench), **options)).problems()
    return attempt


def by_podman_hook(program, hooks=hooks_of):
    def attempt(bench):
        directory = bench.work / "hooks"
        directory.mkdir()
        bench.remember(bench.image)
        for stage, [hook] in hooks(bench).items():
            text = {"version": "1.0.0", "hook": hook, "when": {"always": True}, "stages": [stage]}
            (directory / f"{stage}.json").write_text(json.dumps(text), encoding="utf-8")
        return Probe(program.run(bench, PROBE, hooks=directory)).problems()
    return attempt


def by_precreate(program):
    """The engine gives the configuration to the command, and makes a container of what comes
    back. No hook runs afterwards."""
    def attempt(bench):
        directory = bench.work / "hooks"
        directory.mkdir()
        hook = {"path": str(bench.command), "env": ["PATH=/usr/bin:/bin"],
                "args": [str(bench.command), "hook", "-q", "--stage", "precreate"]}
        text = {"version": "1.0.0", "hook": hook, "when": {"always": True},
                "stages": ["precreate"]}
        (directory / "gpus.json").write_text(json.dumps(text), encoding="utf-8")
        return seen_by(program, bench, hooks=directory)
    return attempt


def by_cdi(program):
    """A specification where engines look. Neither a hook nor a loader cache is needed. The names
    that files are mounted over stay in the image, as it is the container's own layer."""
    def attempt(bench):
        with world.covered(pathlib.Path("/run")):
            bench.must(bench.command, "cdi", "generate", "--nv", "--install", "--files-dir",
                       bench.work / "files")
            devices = [f"nvidia.com/gpu={number}" for number in CHOSEN.split(",")]
            return Probe(program.run(bench, PROBE, devices), OWN_LIBRARY, False).problems()
    return attempt


def planned(bench, form, as_user=()):
    """Of a driver that could be written, as the recorded host's cannot."""
    driver = bench.work / "driver"
    if not driver.exists():
        bench.must("cp", "-a", "/usr/local/nvidia", driver)
    return bench.must(*as_user, bench.command, "plan", "-q", "--nv", "--device", CHOSEN,
                      "--driver-root", driver, "--driver-capabilities", "compute,utility",
                      "--files-dir", bench.work / "files", "--format", form)


def edits_of(bench):
    """With the files that they name."""
    edits = json.loads(planned(bench, "oci"))
    for file in edits["files"]:
        path = pathlib.Path(file["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["content"], encoding="utf-8")
    return edits


def seen_by(program, bench, **options):
    """The image's loader finds libcuda in its default directory, and nobody can write it."""
    script = f"{PROBE}(: >>{OWN_LIBRARY}.1) 2>&- && echo 'is written'\n:\n"
    said = program.run(bench, script, **options)
    written = ["a library can be written"] if "is written" in said else []
    return Probe(said, OWN_LIBRARY, False).problems() + written


def make_names(bench, edits):
    for mount in edits["mounts"]:
        path = bench.image / mount["destination"].lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text("")


def by_options(program, form, as_user=(), names=False):
    """What `plan --format` prints. The names that files are mounted over stay in the image."""
    def attempt(bench):
        edits = edits_of(bench)
        if names:
            make_names(bench, edits)
        if as_user:
            bench.must("chown", "-R", "65534:65534", bench.image)
        return seen_by(program, bench, options=planned(bench, form, as_user))
    return attempt


def by_edits(program):
    def attempt(bench):
        return seen_by(program, bench, edits=edits_of(bench))
    return attempt


def by_lxc_hook(program):
    def attempt(bench):
        def words(*more):
            return " ".join(str(word) for word in bench.setup_words(*more))
        root = ("--rootfs", bench.image)
        bench.remember(bench.image)
        hooks = ["lxc.hook.version = 1",  # adds no arguments
                 "lxc.hook.mount = " + words("--nv", "--device", CHOSEN, "--rootfs",
                                             "$LXC_ROOTFS_MOUNT"),
                 "lxc.hook.post-stop = " + words("undo", *root)]
        return Probe(program.run(bench, PROBE, hooks=hooks)).problems()
    return attempt


def rows():
    found = []

    def add(program, way, attempt):
        found.append(Row(program, way, attempt))

    # Where crun, and so podman, may not raise RLIMIT_MEMLOCK, it runs without a cgroup alone.
    for runtime in (programs.OciRuntime("runc"), programs.OciRuntime("crun", has_cgroup=False)):
        add(runtime, "apply before", apply_before(runtime))
        add(runtime, "apply before, nodes in `linux.devices`", apply_before(runtime, True))
        add(runtime, "`--pid`", by_pid(runtime))
        add(runtime, "hook `createContainer`", by_hook(runtime))
        if not runtime.has_cgroup:
            add(runtime, "`gpuctr-setup hook`", by_hook(runtime, own_hook_of))
        if runtime.has_cgroup:
            add(runtime, "`plan --format oci`", by_edits(runtime))
            add(runtime, "`gpuctr-setup hook`, nodes allowed in `linux.resources`",
                by_hook(runtime, own_hook_of, allowed=True))
            add(runtime, "`--pid`, nodes allowed in `linux.resources`",
                by_pid(runtime, allowed=True))
            add(runtime, "hook `createContainer`, nodes allowed in `linux.resources`",
                by_hook(runtime, allowed=True))
    podman = programs.Podman()
    add(podman, "apply before", apply_before(podman))
    add(podman, "apply before, `--device`", apply_before(podman, True))
    add(podman, "`--pid`", by_pid(podman))
    add(podman, "hook `createContainer`", by_podman_hook(podman))
    add(podman, "`gpuctr-setup hook`", by_podman_hook(podman, own_hook_of))
    add(podman, "`gpuctr-setup hook --stage precreate`", by_precreate(podman))
    add(podman, "CDI", by_cdi(podman))
    add(podman, "`plan --format podman`", by_options(podman, "podman"))
    buildah = programs.Buildah()
    add(buildah, "apply before", apply_before(buildah))
    add(buildah, "`--pid`", by_pid(buildah))
    for program, option in ((programs.Containerd(), "`--device`"),
                            (programs.Bubblewrap(), "`--dev-bind`"),
                            (programs.Nspawn(), "`--bind`"),
                            (programs.Lxc(), "`lxc.mount.entry`")):
        add(program, "apply before", apply_before(program))
        add(program, f"apply before, {option}", apply_before(program, True))
        add(program, "`--pid`", by_pid(program))
        for name, form in (("bwrap", "bwrap"), ("systemd-nspawn", "nspawn"),
                           ("lxc-execute", "lxc")):
            if program.name == name:
                add(program, f"`plan --format {form}`", by_options(program, form))
        if program.name == "bwrap":
            user = programs.Bubblewrap(USER)
            add(user, "`plan --format bwrap`, as a user", by_options(user, "bwrap", USER))
            add(user, "`--pid`, as a user", by_pid(user, as_user=USER))
            parts = programs.Bubblewrap(USER, composed=True)
            add(parts, "`--pid`, as a user, `/usr` read-only on a tmpfs",
                by_pid(parts, as_user=USER))
        if program.name == "ctr":
            add(program, "`plan --format oci`", by_edits(program))
            add(program, "`--pid`, nodes allowed in `linux.resources`",
                by_pid(program, allowed=True))
            add(program, "hook `createContainer`, nodes allowed in `linux.resources`",
                by_hook(program, allowed=True))
        if program.name in ("systemd-nspawn", "lxc-execute"):
            add(program, "`--pid`, after `mount --make-rprivate /`", by_pid(program, private=True))
        if program.name == "lxc-execute":
            add(program, "`lxc.hook.mount`", by_lxc_hook(program))
    for program in (programs.Charliecloud(), Apptainer()):
        add(program, "apply before", apply_before(program))
        add(program, "`--pid`", by_pid(program))
        if program.name == "ch-run":
            add(program, "`plan --format charliecloud`, files at its names",
                by_options(program, "charliecloud", names=True))
            add(programs.Charliecloud(USER),
                "`plan --format charliecloud`, files at its names, as a user",
                by_options(programs.Charliecloud(USER), "charliecloud", USER, names=True))
    add(programs.Unshare(), "`plan --format shell`", by_options(programs.Unshare(), "shell"))
    add(programs.Unshare(USER), "`plan --format shell`, as a user",
        by_options(programs.Unshare(USER), "shell", USER))
    return found
