# SPDX-License-Identifier: MIT
"""What this host has."""

from __future__ import annotations

import ctypes
import dataclasses
import os
from collections.abc import Iterable

from . import _declarations as c
from ._native import Owner, encode, flag, initialised, opened, take_json, text_list
from ._values import Driver, findings, views

Path = str | os.PathLike[str]

#: In a list of vendors: any other vendor that this host has, too.
VENDOR_ANY = str(c.CONSTANTS["GPUCTR_VENDOR_ANY"])


@dataclasses.dataclass(frozen=True, kw_only=True)
class HostOptions:
    """What to look for on a host."""

    #: Vendors that must have a GPU here. With VENDOR_ANY, or if empty: others too.
    vendors: Iterable[str] = ()
    #: Where the driver's files are; None: "/".
    driver_root: Path | None = None
    #: Used instead of the kernel module's version.
    driver_version: str | None = None
    #: Files with further rules for which files belong to a driver.
    catalogues: Iterable[Path] = ()
    #: Directory of such files.
    catalogue_dir: Path | None = None
    #: Directory whose dev/ has the driver's device nodes; None: "/".
    dev_root: Path | None = None
    #: File with what `nvidia-smi -L` printed.
    mig_map: Path | None = None
    #: A vendor needs no GPU: the files of its driver are enough.
    files_alone: bool = False
    #: Findings name GPUs that no kernel driver has, beside those of NVIDIA's driver.
    whole_bus: bool = False

    def _native(self) -> c.HostOptions:
        options: c.HostOptions = initialised("gpuctr_host_options")
        options.vendors = text_list(self.vendors)
        options.driver_root = encode(self.driver_root)
        options.driver_version = encode(self.driver_version)
        options.catalogues = text_list(self.catalogues)
        options.catalogue_dir = encode(self.catalogue_dir)
        options.dev_root = encode(self.dev_root)
        options.mig_map = encode(self.mig_map)
        if self.files_alone:
            options.flags |= c.CONSTANTS["GPUCTR_HOST_FILES_ALONE"]
        if self.whole_bus:
            options.flags |= c.CONSTANTS["GPUCTR_HOST_WHOLE_BUS"]
        return options


class Host(Owner):
    """The GPUs of this host and the files of their drivers, as they were when it was made.

    It opens no device node. Raises Error: NO_DEVICE, DRIVER, PERMISSION, USAGE.
    """

    def __init__(
        self,
        *,
        vendors: Iterable[str] = (),
        driver_root: Path | None = None,
        driver_version: str | None = None,
        catalogues: Iterable[Path] = (),
        catalogue_dir: Path | None = None,
        dev_root: Path | None = None,
        mig_map: Path | None = None,
        files_alone: bool = False,
        whole_bus: bool = False,
    ) -> None:
        options = HostOptions(
            vendors=vendors,
            driver_root=driver_root,
            driver_version=driver_version,
            catalogues=catalogues,
            catalogue_dir=catalogue_dir,
            dev_root=dev_root,
            mig_map=mig_map,
            files_alone=files_alone,
            whole_bus=whole_bus,
        )._native()
        super().__init__(opened("gpuctr_host_open", "gpuctr_host_free", ctypes.byref(options)))

    @classmethod
    def from_json(
        cls,
        json: str | bytes,
        *,
        vendors: Iterable[str] = (),
        driver_root: Path | None = None,
        driver_version: str | None = None,
        catalogues: Iterable[Path] = (),
        catalogue_dir: Path | None = None,
        dev_root: Path | None = None,
        mig_map: Path | None = None,
        files_alone: bool = False,
        whole_bus: bool = False,
    ) -> Host:
        """Read a record that to_json() wrote, in this or another process. It is not trusted:
        before a plan made from it is applied, this host is looked at again.

        Raises Error: USAGE, NO_DEVICE.
        """
        options = HostOptions(
            vendors=vendors,
            driver_root=driver_root,
            driver_version=driver_version,
            catalogues=catalogues,
            catalogue_dir=catalogue_dir,
            dev_root=dev_root,
            mig_map=mig_map,
            files_alone=files_alone,
            whole_bus=whole_bus,
        )._native()
        data = json.encode() if isinstance(json, str) else json
        host = cls.__new__(cls)
        Owner.__init__(
            host,
            opened(
                "gpuctr_host_from_json",
                "gpuctr_host_free",
                data,
                len(data),
                ctypes.byref(options),
            ),
        )
        return host

    drivers = views("gpuctr_host_driver", Driver, "Drivers, one for each vendor.")
    findings = findings("gpuctr_host_finding", "Vendors whose driver is broken.")
    is_current = flag("gpuctr_host_is_current", "The host still is as it was recorded.")

    def to_json(self) -> str:
        """The host as a document of the schema "gpucontainer/list/1"."""
        handle = self._handle
        return take_json("gpuctr_host_to_json", handle.pointer)
