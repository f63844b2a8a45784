# SPDX-License-Identifier: MIT
"""What a container is given, and giving it."""

from __future__ import annotations

import ctypes
import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _declarations as c
from ._errors import Words
from ._explanation import Explanation
from ._host import Host
from ._native import (
    Getter,
    Handle,
    Owner,
    View,
    assignments,
    c_int,
    check,
    check_attach,
    encode,
    flag,
    initialised,
    library,
    opened,
    take_json,
    text,
    text_list,
    texts,
)
from ._root import Backend, Report, Root, in_process, reporting, root_fd, seen_fd
from ._values import Item, Layout, UsedDriver, findings, views


class Write(Words):
    """May names be created in the root file system itself?"""

    AUTO = c.CONSTANTS["GPUCTR_WRITE_AUTO"]
    NEVER = c.CONSTANTS["GPUCTR_WRITE_NEVER"]
    ALWAYS = c.CONSTANTS["GPUCTR_WRITE_ALWAYS"]
    LAYER = c.CONSTANTS["GPUCTR_WRITE_LAYER"]


class VendorLibs(Words):
    """Whose driver files a container gets, if the image may have its own."""

    AUTO = c.CONSTANTS["GPUCTR_VENDOR_LIBS_AUTO"]
    HOST = c.CONSTANTS["GPUCTR_VENDOR_LIBS_HOST"]
    NONE = c.CONSTANTS["GPUCTR_VENDOR_LIBS_NONE"]


class CdiInstalled(Words):
    """What Plan.install_cdi() did."""

    WRITTEN = c.CONSTANTS["GPUCTR_CDI_WRITTEN"]
    UNCHANGED = c.CONSTANTS["GPUCTR_CDI_UNCHANGED"]


def cdi_options(
    version: str | None,
    files_dir: str | os.PathLike[str] | None,
    groups: bool,
    staged_tree: str | os.PathLike[str] | None,
    hook: Sequence[str] | None,
) -> c.CdiOptions:
    options: c.CdiOptions = initialised("gpuctr_cdi_options")
    options.version = encode(version)
    options.files_dir = encode(files_dir)
    if groups:
        options.flags = c.CONSTANTS["GPUCTR_CDI_GROUPS"]
    options.staged_tree = encode(staged_tree)
    if hook is not None:
        options.hook = text_list(hook)
    return options


class Compat(Words):
    """Whether programs use the image's own user space of a newer driver."""

    AUTO = c.CONSTANTS["GPUCTR_COMPAT_AUTO"]
    NEVER = c.CONSTANTS["GPUCTR_COMPAT_NEVER"]
    ALWAYS = c.CONSTANTS["GPUCTR_COMPAT_ALWAYS"]


class Glibc(Words):
    """Whether programs use the host's C library, if the driver needs a newer one."""

    NEVER = c.CONSTANTS["GPUCTR_GLIBC_NEVER"]
    AUTO = c.CONSTANTS["GPUCTR_GLIBC_AUTO"]


class Outcome(Words):
    """What Plan.apply() did."""

    APPLIED = c.CONSTANTS["GPUCTR_APPLIED"]
    UNCHANGED = c.CONSTANTS["GPUCTR_UNCHANGED"]
    REPLACED = c.CONSTANTS["GPUCTR_REPLACED"]


class Staged(Words):
    """What Plan.stage() did."""

    STAGED = c.CONSTANTS["GPUCTR_STAGED"]
    UNCHANGED = c.CONSTANTS["GPUCTR_STAGE_UNCHANGED"]
    REPLACED = c.CONSTANTS["GPUCTR_STAGE_REPLACED"]


@dataclasses.dataclass(frozen=True)
class DeviceRule:
    """A rule for the device cgroup of the container."""

    type: str
    access: str
    major: int
    minor: int


class Variable(View):
    """A change to the environment of a process in the container."""

    action = text("gpuctr_variable_action", '"set", "unset", "prepend" or "append".')
    name = text("gpuctr_variable_name", "Its name.")
    value = text("gpuctr_variable_value", "Its value, or the element of the list.")
    vendor = text("gpuctr_variable_vendor", '"nvidia"; "" if it serves all.')


class Prepared(Owner):
    """A plan as detached mounts. If it is closed without attach(), nothing was changed.

    For one thread at a time.
    """

    @classmethod
    def adopt(cls, data: bytes, fds: Sequence[int]) -> Prepared:
        """Make it from the bytes and descriptors of another process, which must have the
        privileges of this one. The descriptors are taken over.

        Raises ValueError if they are not a prepared plan of this version of the library.
        """
        buffer = (ctypes.c_uint64 * (len(data) // 8 + 1))()
        ctypes.memmove(buffer, data, len(data))
        native_fds = (ctypes.c_int * len(fds))(*map(c_int, fds))
        pointer = library.gpuctr_prepared_adopt(buffer, len(data), native_fds, len(fds))
        if pointer is None:
            raise ValueError("not a prepared plan of this version of the library")
        handle = _HandleInBuffer(pointer, "gpuctr_prepared_free")
        handle.buffer = buffer
        return cls(handle)

    def attach(self, root: Root) -> None:
        """Put it into a root file system in the caller's mount namespace, all or nothing.

        Raises Error: PERMISSION, ROOTFS, APPLY, USAGE.
        """
        handle = self._handle
        with root_fd(root) as descriptor:
            check_attach("gpuctr_prepared_attach", handle.pointer, descriptor)

    def undo(self, root: Root) -> None:
        """Undo attach() in the same process."""
        handle = self._handle
        with root_fd(root) as descriptor:
            check_attach("gpuctr_prepared_undo", handle.pointer, descriptor)

    @property
    def fds(self) -> tuple[int, ...]:
        """Descriptors to pass on; they belong to this object, which closes them when it ends."""
        handle = self._handle
        count = library.gpuctr_prepared_fd_count(handle.pointer)
        return tuple(library.gpuctr_prepared_fd_at(handle.pointer, i) for i in range(count))

    @property
    def data(self) -> bytes:
        """Bytes to pass on together with the descriptors."""
        handle = self._handle
        size = library.gpuctr_prepared_size(handle.pointer)
        return ctypes.string_at(library.gpuctr_prepared_data(handle.pointer), size)


class _HandleInBuffer(Handle):
    """Of an object that is in a buffer, which has to live as long."""

    __slots__ = ("buffer",)
    buffer: Any


class ContainerEnvironment(Owner):
    """The variables that an image or a runtime gives to a container. Nothing is executed.

    root: a path or a borrowed descriptor of a directory, or of a file with an image.
    text: an OCI configuration, a script of exports, or lines NAME=VALUE.
    environment: whose APPTAINERENV_* and SINGULARITYENV_* count, usually os.environ.
    Raises Error: USAGE, ROOTFS; OSError if root cannot be opened.
    """

    def __init__(
        self,
        root: Root | None = None,
        text: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        callers = assignments(environment) if environment is not None else None
        with seen_fd(root) as descriptor:
            handle = opened(
                "gpuctr_environment_read",
                "gpuctr_environment_free",
                descriptor,
                encode(text),
                callers,
            )
        super().__init__(handle)

    variables = texts("gpuctr_environment", "NAME=VALUE each, sorted by name.")
    findings = findings("gpuctr_environment_finding", "What is not known, such as lines.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What a container asks for."""

    #: "all", "none", "auto", or indexes, UUIDs and PCI addresses, comma-separated.
    devices: str | None = None
    #: Comma-separated; None: "compute,utility".
    driver_capabilities: str | None = None
    #: Where "auto" finds the variables of a scheduler, usually os.environ.
    environment: Mapping[str, str] | None = None
    write: Write = Write.AUTO
    layout: Layout = Layout.TREE
    vendor_libs: VendorLibs = VendorLibs.AUTO
    #: Policy: the GPUs that may be chosen; None: all.
    allowed_devices: str | None = None
    #: Directory of the container for the driver's files; None: "/usr/lib/gpuctr".
    tree_path: str | None = None
    #: SELinux label of what is mounted.
    mount_label: str | None = None
    #: Nobody in the container can make the mounts writable.
    lock: bool = False
    #: Name of `devices` in messages, such as "--device".
    devices_name: str | None = None
    #: What the chosen GPUs must meet, such as "cuda>=12.4 driver>=550"; all of these.
    requirements: Iterable[str] = ()
    #: What else a container gets or does not get: "gds,imex-channel:0,no-mps".
    extras: str | None = None
    #: NAME=VALUE each, what the container itself asks for; of a Check, all that its program has.
    container_environment: Iterable[str] = ()
    #: It does not change `devices`.
    names_devices: bool = False
    #: It does not change `driver_capabilities`.
    names_capabilities: bool = False
    compat: Compat = Compat.AUTO
    #: The host's for a container without one: "auto", or its directory.
    toolkit: str | None = None
    #: Whether the host's C library takes the place of an older one of the image.
    glibc: Glibc = Glibc.NEVER
    #: The program that will be run, if that is known, for `glibc`.
    program: str | None = None

    def _native(self) -> c.Request:
        request: c.Request = initialised("gpuctr_request")
        request.devices = encode(self.devices)
        request.driver_capabilities = encode(self.driver_capabilities)
        if self.environment is not None:
            request.environment = assignments(self.environment)
        request.write = self.write
        request.layout = self.layout
        request.vendor_libs = self.vendor_libs
        request.compat = self.compat
        request.toolkit = encode(self.toolkit)
        request.glibc = self.glibc
        request.program = encode(self.program)
        request.allowed_devices = encode(self.allowed_devices)
        request.tree_path = encode(self.tree_path)
        request.mount_label = encode(self.mount_label)
        request.devices_name = encode(self.devices_name)
        request.requirements = text_list(self.requirements)
        request.extras = encode(self.extras)
        request.container_environment = text_list(self.container_environment)
        for is_set, name in (
            (self.lock, "GPUCTR_REQUEST_LOCK"),
            (self.names_devices, "GPUCTR_REQUEST_NAMES_DEVICES"),
            (self.names_capabilities, "GPUCTR_REQUEST_NAMES_CAPABILITIES"),
        ):
            if is_set:
                request.flags |= c.CONSTANTS[name]
        return request


class Plan(Owner):
    """Everything that will change in a container's root file system; nothing is changed yet.

    root: a path or a borrowed descriptor. None, or a file with an image (squashfs, SIF, or an
    archive of docker or OCI), makes a plan that can only be shown.
    devices: "all", "none", "auto", or indexes, UUIDs and PCI addresses, comma-separated.
    environment: where "auto" finds the variables of a scheduler, usually os.environ.
    container_environment: NAME=VALUE each, what the container itself asks for, such as
    ContainerEnvironment has it; names_devices and names_capabilities: what the caller chose
    stays.
    toolkit: the host's for a container without one: "auto", or its directory.
    glibc: AUTO if the host's C library takes the place of an older one that the driver cannot
    use; program: the one that will be run, if that is known.
    Raises Error: USAGE, NO_DEVICE, ROOTFS, PERMISSION; OSError if root cannot be opened.
    """

    def __init__(
        self,
        host: Host,
        root: Root | None = None,
        *,
        devices: str | None = None,
        driver_capabilities: str | None = None,
        environment: Mapping[str, str] | None = None,
        write: Write = Write.AUTO,
        layout: Layout = Layout.TREE,
        vendor_libs: VendorLibs = VendorLibs.AUTO,
        allowed_devices: str | None = None,
        tree_path: str | None = None,
        mount_label: str | None = None,
        lock: bool = False,
        devices_name: str | None = None,
        requirements: Iterable[str] = (),
        extras: str | None = None,
        container_environment: Iterable[str] = (),
        names_devices: bool = False,
        names_capabilities: bool = False,
        compat: Compat = Compat.AUTO,
        toolkit: str | None = None,
        glibc: Glibc = Glibc.NEVER,
        program: str | None = None,
    ) -> None:
        request = Request(
            devices=devices,
            driver_capabilities=driver_capabilities,
            environment=environment,
            write=write,
            layout=layout,
            vendor_libs=vendor_libs,
            allowed_devices=allowed_devices,
            tree_path=tree_path,
            mount_label=mount_label,
            lock=lock,
            devices_name=devices_name,
            requirements=requirements,
            extras=extras,
            container_environment=container_environment,
            names_devices=names_devices,
            names_capabilities=names_capabilities,
            compat=compat,
            toolkit=toolkit,
            glibc=glibc,
            program=program,
        )._native()
        of_host = host._handle
        with seen_fd(root) as descriptor:
            handle = opened(
                "gpuctr_plan_create",
                "gpuctr_plan_free",
                of_host.pointer,
                ctypes.byref(request),
                descriptor,
            )
        super().__init__(handle)

    drivers = views("gpuctr_plan_driver", UsedDriver, "Drivers, and the chosen GPUs.")
    layout = Getter("gpuctr_plan_layout", Layout, "Where the driver's files are.")
    tree_path = text("gpuctr_plan_tree_path", 'Directory with the driver\'s files; or "".')
    writes_root = flag("gpuctr_plan_writes_root", "Names are created in the root itself.")
    is_locked = flag("gpuctr_plan_is_locked", "Nobody can make the mounts writable.")
    mount_label = text("gpuctr_plan_mount_label", 'SELinux label of mounts; or "".')
    items = views("gpuctr_plan_item", Item, "What is put into the container, in order.")
    variables = views("gpuctr_plan_variable", Variable, "Changes to the environment.")
    findings = findings("gpuctr_plan_finding", "What was left out, what will not work.")

    @property
    def device_rules(self) -> tuple[DeviceRule, ...]:
        """Devices that the container's device cgroup has to allow."""
        handle = self._handle
        rules = []
        for i in range(library.gpuctr_plan_device_rule_count(handle.pointer)):
            rule = library.gpuctr_plan_device_rule_at(handle.pointer, i).contents
            rules.append(
                DeviceRule(rule.type.decode(), rule.access.decode(), rule.major, rule.minor)
            )
        return tuple(rules)

    @property
    def groups(self) -> tuple[int, ...]:
        """Additional groups that a process needs to open the device nodes."""
        handle = self._handle
        count = library.gpuctr_plan_group_count(handle.pointer)
        return tuple(library.gpuctr_plan_group_at(handle.pointer, i) for i in range(count))

    def check_requirement(self, requirement: str) -> None:
        """Check what the chosen GPUs have to meet, such as "cuda>=12.4 driver>=550,arch>=9.0".

        The form is that of the variables NVIDIA_REQUIRE_*.
        Raises Error: REQUIREMENT, whose object is the clause that is not met; USAGE.
        """
        handle = self._handle
        check("gpuctr_plan_check_requirement", handle.pointer, encode(requirement))

    def explain(self, name: str, root: Root | None = None) -> Explanation:
        """What the plan does with a library, tool, device node or GPU of this name, and why.
        `root` is that of the plan.

        Raises Error: USAGE, if nothing has the name; ROOTFS.
        """
        handle = self._handle
        with seen_fd(root) as descriptor:
            return Explanation(
                opened(
                    "gpuctr_plan_explain",
                    "gpuctr_explanation_free",
                    handle.pointer,
                    encode(name),
                    descriptor,
                )
            )

    def to_json(self) -> str:
        """The plan as a document of the schema "gpucontainer/plan/1"."""
        handle = self._handle
        return take_json("gpuctr_plan_to_json", handle.pointer)

    def to_cdi(
        self,
        *,
        version: str | None = None,
        files_dir: str | os.PathLike[str] | None = None,
        yaml: bool = False,
        groups: bool = False,
        staged_tree: str | os.PathLike[str] | None = None,
        hook: Sequence[str] | None = None,
    ) -> str:
        """The plan, one with Layout.BINDS and of one vendor, as a specification of the Container
        Device Interface.

        Raises Error: USAGE, NO_DEVICE.
        """
        options = cdi_options(version, files_dir, groups, staged_tree, hook)
        if yaml:
            options.flags |= c.CONSTANTS["GPUCTR_CDI_YAML"]
        handle = self._handle
        return take_json("gpuctr_plan_to_cdi", handle.pointer, ctypes.byref(options))

    def to_oci(self, *, files_dir: str | os.PathLike[str] | None = None) -> str:
        """The plan, one with Layout.BINDS, as edits of an OCI runtime's configuration: a document
        of the schema "gpucontainer/oci/1".

        Raises Error: USAGE.
        """
        handle = self._handle
        return take_json("gpuctr_plan_to_oci", handle.pointer, encode(files_dir))

    def install_cdi(
        self,
        path: str | os.PathLike[str],
        *,
        version: str | None = None,
        files_dir: str | os.PathLike[str] | None = None,
        groups: bool = False,
        staged_tree: str | os.PathLike[str] | None = None,
        hook: Sequence[str] | None = None,
    ) -> CdiInstalled:
        """Write that specification, and the files that it names.

        Raises Error: EXISTS, PERMISSION, USAGE, NO_DEVICE, DRIVER.
        """
        options = cdi_options(version, files_dir, groups, staged_tree, hook)
        outcome = ctypes.c_uint32()
        handle = self._handle
        check(
            "gpuctr_plan_install_cdi",
            handle.pointer,
            encode(path),
            ctypes.byref(options),
            ctypes.byref(outcome),
        )
        return CdiInstalled(outcome.value)

    def apply(
        self,
        root: Root,
        *,
        state_dir: str | os.PathLike[str] | None = None,
        pidfd: int | None = None,
        setuid: bool = False,
        without_journal: bool = False,
        no_replace: bool = False,
        over_copies: bool = False,
        dry_run: bool = False,
        staged_tree: str | os.PathLike[str] | None = None,
        backend: Backend = Backend.AUTO,
        report: Report | None = None,
    ) -> Outcome:
        """Apply the plan to the root file system that it was made for, all or nothing.

        pidfd: a process of the container, in whose mount namespace the plan is applied. The
        calling thread must then share its working directory with no other: call this in a
        process with one thread.
        dry_run: change nothing, and tell what would be done.
        report: is called with each finding after the call, also if it fails.
        Raises Error: PERMISSION, ROOTFS, NO_DEVICE, APPLY, EXISTS.
        """
        options: c.ApplyOptions = initialised("gpuctr_apply_options")
        options.state_dir = encode(state_dir)
        options.staged_tree = encode(staged_tree)
        options.backend = backend
        for wanted, name in (
            (setuid, "GPUCTR_APPLY_SETUID"),
            (without_journal, "GPUCTR_APPLY_WITHOUT_JOURNAL"),
            (no_replace, "GPUCTR_APPLY_NO_REPLACE"),
            (over_copies, "GPUCTR_APPLY_OVER_COPIES"),
            (dry_run, "GPUCTR_APPLY_DRY_RUN"),
        ):
            if wanted:
                options.flags |= c.CONSTANTS[name]
        in_process(options, pidfd, "GPUCTR_APPLY_IN_PROCESS")
        outcome = ctypes.c_uint32()
        handle = self._handle
        with root_fd(root) as descriptor, reporting(options, report):
            check(
                "gpuctr_plan_apply",
                handle.pointer,
                descriptor,
                ctypes.byref(options),
                ctypes.byref(outcome),
            )
        return Outcome(outcome.value)

    def prepare(
        self,
        *,
        setuid: bool = False,
        staged_tree: str | os.PathLike[str] | None = None,
        backend: Backend = Backend.AUTO,
    ) -> Prepared:
        """Make detached mounts of the plan. Nothing changes yet.

        Raises Error: PERMISSION, DRIVER, NO_DEVICE, REQUIREMENT.
        """
        options: c.PrepareOptions = initialised("gpuctr_prepare_options")
        options.staged_tree = encode(staged_tree)
        options.backend = backend
        if setuid:
            options.flags = c.CONSTANTS["GPUCTR_PREPARE_SETUID"]
        handle = self._handle
        return Prepared(
            opened(
                "gpuctr_plan_prepare",
                "gpuctr_prepared_free",
                handle.pointer,
                ctypes.byref(options),
            )
        )

    def stage(
        self,
        directory: str | os.PathLike[str],
        *,
        setuid: bool = False,
        backend: Backend = Backend.AUTO,
    ) -> Staged:
        """Mount the plan's driver tree in a directory of the host, for later calls that name
        it as their staged_tree.

        Raises Error: PERMISSION, DRIVER, USAGE.
        """
        options: c.StageOptions = initialised("gpuctr_stage_options")
        options.backend = backend
        if setuid:
            options.flags = c.CONSTANTS["GPUCTR_STAGE_SETUID"]
        outcome = ctypes.c_uint32()
        handle = self._handle
        check(
            "gpuctr_plan_stage",
            handle.pointer,
            encode(directory),
            ctypes.byref(options),
            ctypes.byref(outcome),
        )
        return Staged(outcome.value)
