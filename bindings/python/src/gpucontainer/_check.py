# SPDX-License-Identifier: MIT
"""Whether GPU programs will work, and why not."""

from __future__ import annotations

import ctypes
import os

from . import _declarations as c
from ._host import Host, HostOptions
from ._native import Owner, encode, initialised, opened, take_json
from ._plan import Request
from ._root import Root, in_process, seen_fd
from ._values import findings


class Check(Owner):
    """A diagnosis. Nothing is changed or executed, and no device node is opened.

    Of its findings, what stops all programs comes first. An error stops the program, or all if none
    is named; a warning may stop it, or stops others; a note is settled by setting up.

    root: a directory, set up or not, or a file with an image (squashfs, SIF, or an archive of
    docker or OCI); a path or a borrowed descriptor. None: the host alone.
    host: how to look at this host. A vendor that is asked for and cannot be used is a finding.
    record: a host of Host.from_json(), in place of this one.
    request: as for a plan. What cannot be granted is a finding.
    program: what will run in the root: a path there, or a name that is looked for in its PATH.
    pidfd: a process whose root it is. The container is looked at as it is, whoever set it up, and
    whether its device cgroups allow the GPUs. None: as Plan.apply() would leave it.
    Raises Error: USAGE, ROOTFS; OSError if root cannot be opened.
    """

    findings = findings("gpuctr_check_finding", "Why programs will not work, or may not.")

    def __init__(
        self,
        root: Root | None = None,
        *,
        host: HostOptions = HostOptions(),
        record: Host | None = None,
        request: Request = Request(),
        program: str | os.PathLike[str] | None = None,
        pidfd: int | None = None,
    ) -> None:
        options: c.CheckOptions = initialised("gpuctr_check_options")
        options.host = ctypes.pointer(host._native())
        options.request = ctypes.pointer(request._native())
        options.program = encode(program)
        recorded = record._handle if record is not None else None
        options.record = recorded.pointer if recorded is not None else None
        in_process(options, pidfd, "GPUCTR_CHECK_IN_PROCESS")
        with seen_fd(root) as descriptor:
            handle = opened(
                "gpuctr_check_create", "gpuctr_check_free", ctypes.byref(options), descriptor
            )
        super().__init__(handle)

    def to_json(self) -> str:
        """The diagnosis as a document of the schema "gpucontainer/check/1"."""
        handle = self._handle
        return take_json("gpuctr_check_to_json", handle.pointer)
