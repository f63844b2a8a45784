# SPDX-License-Identifier: MIT
"""Specifications of the Container Device Interface, whoever wrote them."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ._host import Host
from ._native import Owner, View, encode, opened, take_json, text, text_list
from ._values import findings, views


class CdiDevice(View):
    """A device of a specification."""

    name = text("gpuctr_cdi_device_name", 'Its name with its kind: "nvidia.com/gpu=0".')
    path = text("gpuctr_cdi_device_path", "File of its specification.")
    state = text("gpuctr_cdi_device_state", '"usable", "overridden" or "conflict".')


class CdiList(Owner):
    """Specifications as engines read them: directories, later ones of a higher priority, and
    files. Without paths, those in the directories of engines.

    host: what specifications of Plan.install_cdi() are compared with.
    """

    devices = views("gpuctr_cdi_list_device", CdiDevice, "Devices of valid specifications.")
    findings = findings("gpuctr_cdi_list_finding", "What is wrong with the specifications.")

    def __init__(
        self,
        paths: Iterable[str | os.PathLike[str]] | None = None,
        *,
        host: Host | None = None,
        files_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        handle = host._handle if host is not None else None
        super().__init__(
            opened(
                "gpuctr_cdi_list_open",
                "gpuctr_cdi_list_free",
                text_list(paths) if paths is not None else None,
                handle.pointer if handle is not None else None,
                encode(files_dir),
            )
        )

    def to_json(self) -> str:
        """The list as a document of the schema "gpucontainer/cdi/1"."""
        handle = self._handle
        return take_json("gpuctr_cdi_list_to_json", handle.pointer)
