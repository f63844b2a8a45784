# SPDX-License-Identifier: MIT
"""A report of this host, for those who look for the cause of a problem elsewhere."""

from __future__ import annotations

import ctypes
import types
from collections.abc import Mapping

from . import _declarations as c
from ._host import HostOptions
from ._native import assignments, c_int, check
from ._root import Report, reporting


def capture(
    descriptor: int,
    *,
    host: HostOptions = HostOptions(),
    environment: Mapping[str, str] | None = None,
    with_identities: bool = False,
    report: Report | None = None,
) -> None:
    """Write what this host shows of its GPUs to a descriptor, which is borrowed: a tar archive that
    gpuctr-simhost simulates. Nothing is executed, and no device is opened.

    environment: whose variables that choose GPUs are recorded, usually os.environ.
    with_identities: serial numbers, UUIDs and names are not replaced.
    report: is called with what was replaced or not recorded.
    Raises Error: USAGE, PERMISSION, REQUIREMENT, INTERNAL.
    """
    collector = types.SimpleNamespace(report=c.REPORT(0))
    with reporting(collector, report):
        check(
            "gpuctr_host_capture",
            ctypes.byref(host._native()),
            assignments(environment) if environment is not None else None,
            c.CONSTANTS["GPUCTR_CAPTURE_WITH_IDENTITIES"] if with_identities else 0,
            c_int(descriptor),
            collector.report,
            None,
        )
