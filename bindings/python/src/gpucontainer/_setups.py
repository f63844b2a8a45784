# SPDX-License-Identifier: MIT
"""What is set up, and whether it still fits."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator

from . import _declarations as c
from ._errors import Words
from ._native import (
    Getter,
    Owner,
    View,
    check,
    encode,
    flag,
    initialised,
    library,
    number,
    opened,
    take_json,
    text,
)
from ._root import Report, Root, in_process, reporting, root_fd, undo_options
from ._values import Item, UsedDriver, findings, views


class Undone(Words):
    """What Setup.undo() did."""

    UNDONE = c.CONSTANTS["GPUCTR_UNDONE"]
    FORGOTTEN = c.CONSTANTS["GPUCTR_FORGOTTEN"]
    LEFT = c.CONSTANTS["GPUCTR_LEFT"]


def _pid_or_none(native: int) -> int | None:
    return native or None


class Setup(View):
    """One set-up that Plan.apply() made."""

    root = text("gpuctr_setup_root", 'Path of the root; "" for that of a process.')
    origin = text("gpuctr_setup_origin", '"here", "another_namespace" ...')
    mount_namespace = number("gpuctr_setup_mount_namespace", "As in /proc/PID/ns/mnt.")
    process = Getter("gpuctr_setup_process", _pid_or_none, "Pid in another namespace, if known.")
    drivers = views("gpuctr_setup_driver", UsedDriver, "Drivers that it was made from.")
    tree_path = text("gpuctr_setup_tree_path", 'Directory with the driver\'s files; or "".')
    since = number("gpuctr_setup_since", "When it was made, in seconds since 1970.")
    writes_root = flag("gpuctr_setup_writes_root", "Names were created in the root itself.")
    items = views("gpuctr_setup_item", Item, "What undo takes away.")
    findings = findings("gpuctr_setup_finding", "What no longer fits.")

    def undo(
        self,
        *,
        state_dir: str | os.PathLike[str] | None = None,
        setuid: bool = False,
        dry_run: bool = False,
        report: Report | None = None,
    ) -> Undone:
        """Undo it at the path in its journal.

        dry_run: change nothing, and tell what would be done.
        Raises Error: PERMISSION, APPLY.
        """
        options = undo_options(state_dir, setuid, dry_run)
        outcome = ctypes.c_uint32()
        with reporting(options, report):
            check(
                "gpuctr_setup_undo",
                self._pointer,
                ctypes.byref(options),
                ctypes.byref(outcome),
            )
        return Undone(outcome.value)


class SetupList(Owner):
    """The set-ups of a root file system; without a root, all in the state directory.

    Raises Error: PERMISSION, USAGE.
    """

    def __init__(
        self,
        root: Root | None = None,
        *,
        state_dir: str | os.PathLike[str] | None = None,
        pidfd: int | None = None,
    ) -> None:
        options: c.SetupListOptions = initialised("gpuctr_setup_list_options")
        options.state_dir = encode(state_dir)
        in_process(options, pidfd, "GPUCTR_SETUP_LIST_IN_PROCESS")
        with root_fd(root) as descriptor:
            handle = opened(
                "gpuctr_setup_list_open",
                "gpuctr_setup_list_free",
                descriptor,
                ctypes.byref(options),
            )
        super().__init__(handle)

    def __len__(self) -> int:
        handle = self._handle
        return int(library.gpuctr_setup_list_count(handle.pointer))

    def __getitem__(self, index: int) -> Setup:
        handle = self._handle
        length = len(self)
        if not -length <= index < length:
            raise IndexError(index)
        return Setup(handle, library.gpuctr_setup_list_at(handle.pointer, index % length))

    def __iter__(self) -> Iterator[Setup]:
        return (self[index] for index in range(len(self)))

    def to_json(self) -> str:
        """The set-ups as a document of the schema "gpucontainer/status/1"."""
        handle = self._handle
        return take_json("gpuctr_setup_list_to_json", handle.pointer)
