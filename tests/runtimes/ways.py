# SPDX-License-Identifier: MIT
"""The ways in which containers get GPUs. Each is made for a program, and tells for a bench what
went wrong."""

import contextlib
import functools
import json
import os
import pathlib
import shlex

import layouts
import world
from bench import CHOSEN, DEFAULT_LIBRARIES, OWN_LIBRARY, PROBE, Probe

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


def own_hook_of(bench, stage="createContainer"):
    """`gpuctr-setup hook`, which is told by the container's environment. Nothing is written into
    the image, because it is not a layer that goes with the container."""
    return {stage: [{
        "path": str(bench.command), "env": ["PATH=/usr/bin:/bin"],
        "args": [str(bench.command), "hook", "--write", "never", "--stage", stage]}]}


def own_hook_at(stage):
    """One that opens the container's device cgroup, which has no rule for a GPU."""
    return functools.partial(own_hook_of, stage=stage)


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


def by_cdi(program, words=(), layout=layouts.debian, **options):
    """A specification where engines look. The names that files are mounted over stay in the image,
    as it is the container's own layer."""
    def attempt(bench):
        with world.covered(pathlib.Path("/run")):
            layout(bench)
            if "--staged" in words:
                bench.must(bench.command, "prepare", "--nv")
            bench.must(bench.command, "cdi", "generate", "--nv", "--install", "--files-dir",
                       bench.directory / "files", *words)
            devices = [f"nvidia.com/gpu={number}" for number in CHOSEN.split(",")]
            try:
                said = program.run(bench, PROBE, devices, **options)
            finally:
                bench.must(bench.command, "prepare", "--undo", "--quiet")
        probe = Probe(said) if "--hooks" in words else Probe(said, DEFAULT_LIBRARIES, False)
        return probe.problems()
    return attempt


def cdi_by_apptainer(program, as_user=()):
    """As Apptainer does from 1.5 on, by its source: of the edits it takes mounts as --mount, device
    nodes by their paths, and variables; with --contain, as its /dev has all nodes otherwise."""
    def attempt(bench):
        spec = json.loads(bench.must(bench.command, "cdi", "generate", "-q", "--nv"))
        chosen = [device["containerEdits"] for device in spec["devices"]
                  if device["name"] in CHOSEN.split(",")]
        words = ["--contain"]
        for edits in [spec["containerEdits"], *chosen]:
            words += [f"--bind={node['path']}" for node in edits.get("deviceNodes", [])]
            words += [f"--env={variable}" for variable in edits.get("env", [])]
            for mount in edits.get("mounts", []):
                # Files that are made for containers are on the host after --install alone.
                if os.path.exists(mount["hostPath"]):
                    words.append(f"--mount=type=bind,source={mount['hostPath']},"
                                 f"destination={mount['containerPath']},ro")
        if as_user:
            bench.must("chown", "-R", "65534:65534", bench.image)
        return seen_by(program, bench, options=shlex.join(words))
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


def by_options(program, form, as_user=(), names=False, more=""):
    """What `plan --format` prints, beside other options. The names that files are mounted over stay
    in the image."""
    def attempt(bench):
        edits = edits_of(bench)
        if names:
            make_names(bench, edits)
        if as_user:
            bench.must("chown", "-R", "65534:65534", bench.image)
        return seen_by(program, bench, options=more + planned(bench, form, as_user))
    return attempt


def by_edits(program):
    def attempt(bench):
        return seen_by(program, bench, edits=edits_of(bench))
    return attempt


@contextlib.contextmanager
def front(bench):
    """nvidia-container-cli is ours by that name, in a directory where programs look for it."""
    directory = pathlib.Path("/usr/local/sbin")
    with world.covered(directory):
        (directory / "nvidia-container-cli").symlink_to(bench.command)
        yield


def by_front(program, as_user=(), **options):
    """The program calls nvidia-container-cli. What it writes is in the container's own layer."""
    def attempt(bench):
        if as_user:
            bench.must("chown", "-R", "65534:65534", bench.image)
        bench.environment |= {"NVIDIA_VISIBLE_DEVICES": CHOSEN,
                              "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
        with front(bench):
            return Probe(program.run(bench, PROBE, **options)).problems()
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
