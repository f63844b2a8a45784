# SPDX-License-Identifier: MIT
"""The rows of the table: a program, and a way in which its containers get GPUs."""

import dataclasses
import typing

import engines
import imitated
import layouts
import programs
import sandboxes
from bench import CHOSEN, NODES
from ways import (apply_before, by_cdi, by_edits, by_front, by_hook, by_lxc_hook, by_options,
                  by_pid, by_podman_hook, by_precreate, cdi_by_apptainer, own_hook_at,
                  own_hook_of)

USER = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
USERS = (((), ""), (USER, ", as a user"))
ALLOWED = "nodes allowed in `linux.resources`"


@dataclasses.dataclass
class Row:
    program: programs.Program
    way: str
    attempt: typing.Callable  # with a bench; tells what went wrong


def oci_rows():
    runc = engines.OciRuntime("runc")
    # Where it may not raise RLIMIT_MEMLOCK, it runs without a cgroup alone.
    crun = engines.OciRuntime("crun", has_cgroup=False)
    for runtime in (runc, crun):
        yield Row(runtime, "apply before", apply_before(runtime))
        yield Row(runtime, "apply before, nodes in `linux.devices`", apply_before(runtime, True))
        yield Row(runtime, "`--pid`", by_pid(runtime))
        yield Row(runtime, "hook `createContainer`", by_hook(runtime))
        yield Row(runtime, "`plan --format oci`", by_edits(runtime))
    yield Row(runc, f"`gpuctr-setup hook`, {ALLOWED}", by_hook(runc, own_hook_of, allowed=True))
    yield Row(runc, f"`--pid`, {ALLOWED}", by_pid(runc, allowed=True))
    yield Row(runc, f"hook `createContainer`, {ALLOWED}", by_hook(runc, allowed=True))
    yield Row(crun, "`gpuctr-setup hook`", by_hook(crun, own_hook_of))
    for runtime in (runc, crun):
        for stage in ("createRuntime", "prestart"):
            yield Row(runtime, f"`gpuctr-setup hook --stage {stage}`",
                      by_hook(runtime, own_hook_at(stage)))
            mapped = engines.OciRuntime(runtime.name, runtime.has_cgroup, mapped=True)
            yield Row(mapped, f"`gpuctr-setup hook --stage {stage}`, user namespace",
                      by_hook(mapped, own_hook_at(stage)))


def podman_rows():
    podman = engines.Podman()
    yield Row(podman, "apply before", apply_before(podman))
    yield Row(podman, "apply before, `--device`", apply_before(podman, True))
    yield Row(podman, "`--pid`", by_pid(podman))
    yield Row(podman, "hook `createContainer`", by_podman_hook(podman))
    for user, words in USERS:
        podman = engines.Podman(user)
        yield Row(podman, f"`gpuctr-setup hook`{words}", by_podman_hook(podman, own_hook_of))
        yield Row(podman, f"`gpuctr-setup hook --stage precreate`{words}", by_precreate(podman))
        yield Row(podman, f"CDI{words}", by_cdi(podman))
        yield Row(podman, f"`plan --format podman`{words}", by_options(podman, "podman", user))


def layout_rows():
    """By each way of CDI, images of other layouts."""
    podman = engines.Podman()
    images = (("", layouts.debian, {}), ("libraries in `/usr/lib64`", layouts.lib64, {}),
              ("like NVIDIA's for CUDA", layouts.cuda, {"options": layouts.CUDA_OPTIONS}),
              ("musl", layouts.musl, {}), ("an old libcuda in its cache", layouts.old_driver, {}))
    for words in ((), ("--staged",), ("--hooks",)):
        for name, layout, options in images:
            way = "".join(["CDI", *(f", `{word}`" for word in words),
                           f"; image: {name}" if name else ""])
            if way != "CDI":
                yield Row(podman, way, by_cdi(podman, words, layout, **options))
    for word in ("--staged", "--hooks"):
        podman = engines.Podman(USER)
        yield Row(podman, f"CDI, `{word}`, as a user", by_cdi(podman, [word]))


def buildah_rows():
    buildah = engines.Buildah()
    yield Row(buildah, "apply before", apply_before(buildah))
    yield Row(buildah, "`--pid`", by_pid(buildah))
    isolated = engines.Buildah(oci=True)
    yield Row(isolated, "apply before, `--isolation oci --device`", apply_before(isolated, True))
    yield Row(isolated, "CDI, `--isolation oci`", by_cdi(isolated))
    build = engines.BuildahBuild()
    yield Row(build, "CDI, `build`", by_cdi(build))


def daemon_rows():
    ctr = engines.Containerd()
    yield Row(ctr, "apply before", apply_before(ctr))
    yield Row(ctr, "apply before, `--device`", apply_before(ctr, True))
    yield Row(ctr, "`--pid`", by_pid(ctr))
    yield Row(ctr, "`plan --format oci`", by_edits(ctr))
    yield Row(ctr, f"`--pid`, {ALLOWED}", by_pid(ctr, allowed=True))
    yield Row(ctr, f"hook `createContainer`, {ALLOWED}", by_hook(ctr, allowed=True))
    docker = engines.Docker()
    yield Row(docker, "`--pid`", by_pid(docker))
    yield Row(docker, "`--pid`, `--device-cgroup-rule`", by_pid(docker, allowed=True))
    yield Row(docker, "CDI", by_cdi(docker))
    yield Row(docker, "`plan --format docker`", by_options(docker, "docker"))


def bubblewrap_rows():
    bwrap = sandboxes.Bubblewrap()
    yield Row(bwrap, "apply before", apply_before(bwrap))
    yield Row(bwrap, "apply before, `--dev-bind`", apply_before(bwrap, True))
    for user, words in USERS:
        bwrap = sandboxes.Bubblewrap(user)
        yield Row(bwrap, f"`--pid`{words}", by_pid(bwrap, as_user=user))
        yield Row(bwrap, f"`plan --format bwrap`{words}", by_options(bwrap, "bwrap", user))
    parts = sandboxes.Bubblewrap(USER, composed=True)
    yield Row(parts, "`--pid`, as a user, `/usr` read-only on a tmpfs",
              by_pid(parts, as_user=USER))


def nspawn_rows():
    nspawn = sandboxes.Nspawn()
    yield Row(nspawn, "apply before", apply_before(nspawn))
    yield Row(nspawn, "apply before, `--bind`", apply_before(nspawn, True))
    yield Row(nspawn, "`--pid`", by_pid(nspawn))
    yield Row(nspawn, "`--pid`, after `mount --make-rprivate /`", by_pid(nspawn, private=True))
    yield Row(nspawn, "`plan --format nspawn`", by_options(nspawn, "nspawn"))


LXC_NVIDIA = ["lxc.hook.version = 1", "lxc.hook.mount = /usr/share/lxc/hooks/nvidia",
              f"lxc.environment = NVIDIA_VISIBLE_DEVICES={CHOSEN}",
              "lxc.environment = NVIDIA_DRIVER_CAPABILITIES=compute,utility"]


def lxc_rows():
    lxc = sandboxes.Lxc()
    yield Row(lxc, "apply before", apply_before(lxc))
    yield Row(lxc, "apply before, `lxc.mount.entry`", apply_before(lxc, True))
    yield Row(lxc, "`--pid`", by_pid(lxc))
    yield Row(lxc, "`--pid`, after `mount --make-rprivate /`", by_pid(lxc, private=True))
    yield Row(lxc, "`lxc.hook.mount`", by_lxc_hook(lxc))
    yield Row(lxc, "`plan --format lxc`", by_options(lxc, "lxc"))
    mapped = sandboxes.Lxc(root=1000000)
    yield Row(mapped, "`plan --format lxc`, `lxc.idmap`", by_options(mapped, "lxc"))
    # It calls nvidia-container-cli, and refuses containers whose root is the host's.
    yield Row(mapped, "LXC's hook `nvidia`, `lxc.idmap`", by_front(mapped, hooks=LXC_NVIDIA))


# What makes Incus call LXC's hook. It gives the nodes itself.
INCUS_NVIDIA = "\n".join([
    "config: {nvidia.runtime: \"true\", nvidia.driver.capabilities: \"compute,utility\"}",
    "devices:",
    *(f"  {node}: {{type: unix-char, source: /dev/{node}}}" for node in NODES)])


def incus_rows():
    incus = sandboxes.Incus()
    yield Row(incus, "`plan --format incus`", by_options(incus, "incus"))
    yield Row(incus, "`nvidia.runtime`, `unix-char`", by_front(incus, options=INCUS_NVIDIA))


def hpc_rows():
    for program in (sandboxes.Charliecloud(), imitated.Apptainer()):
        yield Row(program, "apply before", apply_before(program))
        yield Row(program, "`--pid`", by_pid(program))
    for user, words in USERS:
        charliecloud = sandboxes.Charliecloud(user)
        yield Row(charliecloud, f"`plan --format charliecloud`, files at its names{words}",
                  by_options(charliecloud, "charliecloud", user, names=True))
    yield Row(sandboxes.Apptainer(), "apply before", apply_before(sandboxes.Apptainer()))
    for user, words in USERS:
        apptainer = sandboxes.Apptainer(user)
        yield Row(apptainer, f"`--pid`{words}", by_pid(apptainer, as_user=user))
        yield Row(apptainer, f"`plan --format apptainer`{words}",
                  by_options(apptainer, "apptainer", user))
        yield Row(apptainer, f"`plan --format apptainer` beside `--nv`{words}",
                  by_options(apptainer, "apptainer", user, more="--nv "))
        yield Row(apptainer, f"CDI, modelled{words}", cdi_by_apptainer(apptainer, user))
        yield Row(apptainer, f"`--nvccli`{words}",
                  by_front(apptainer, user, options="--nv --nvccli --contain"))


def shell_rows():
    for user, words in USERS:
        unshare = sandboxes.Unshare(user)
        yield Row(unshare, f"`plan --format shell`{words}", by_options(unshare, "shell", user))


def rows():
    for made in (oci_rows, podman_rows, layout_rows, buildah_rows, daemon_rows, bubblewrap_rows, nspawn_rows,
                 lxc_rows, incus_rows, hpc_rows, shell_rows):
        yield from made()
