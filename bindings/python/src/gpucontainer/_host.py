# SPDX-License-Identifier: MIT
"""What this host has."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from . import _declarations as c
from ._native import Owner, encode, flag, initialised, opened, take_json, text_list
from ._values import Driver, findings, views

Path = str | os.PathLike[str]

#: In a list of vendors: any other vendor that this host has, too.
VENDOR_ANY = str(c.CONSTANTS["GPUCTR_VENDOR_ANY"])


def _options(
    vendors: Iterable[str],
    driver_root: Path | None,
    driver_version: str | None,
    catalogues: Iterable[Path],
    catalogue_dir: Path | None,
    dev_root: Path | None,
    mig_map: Path | None,
    files_alone: bool,
    whole_bus: bool,
) -> c.HostOptions:
    options: c.HostOptions = initialised("gpuctr_host_options")
    options.vendors = text_list(vendors)
    options.driver_root = encode(driver_root)
    options.driver_version = encode(driver_version)
    options.catalogues = text_list(catalogues)
    options.catalogue_dir = encode(catalogue_dir)
    options.dev_root = encode(dev_root)
    options.mig_map = encode(mig_map)
    if files_alone:
        options.flags |= c.CONSTANTS["GPUCTR_HOST_FILES_ALONE"]
    if whole_bus:
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
        options = _options(
            vendors,
            driver_root,
            driver_version,
            catalogues,
            catalogue_dir,
            dev_root,
            mig_map,
            files_alone,
            whole_bus,
        )
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
        options = _options(
            vendors,
            driver_root,
            driver_version,
            catalogues,
            catalogue_dir,
            dev_root,
            mig_map,
            files_alone,
            whole_bus,
        )
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
