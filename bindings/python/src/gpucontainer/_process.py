# SPDX-License-Identifier: MIT
"""This process, and a site's configuration."""

from __future__ import annotations

import ctypes
import enum
import os

from . import _declarations as c
from ._native import (
    Getter,
    Owner,
    View,
    check,
    decode,
    encode,
    flag,
    initialised,
    number,
    opened,
    text,
)
from ._values import views


class Phase(enum.IntFlag):
    """What a process still needs the library for."""

    LOOK = c.CONSTANTS["GPUCTR_PHASE_LOOK"]
    STATUS = c.CONSTANTS["GPUCTR_PHASE_STATUS"]
    MOUNT = c.CONSTANTS["GPUCTR_PHASE_MOUNT"]
    APPLY = c.CONSTANTS["GPUCTR_PHASE_APPLY"]
    IN_PROCESS = c.CONSTANTS["GPUCTR_PHASE_IN_PROCESS"]


class Harden(enum.IntFlag):
    """What harden() leaves alone."""

    FOR_EXEC = c.CONSTANTS["GPUCTR_HARDEN_FOR_EXEC"]
    NEW_PRIVILEGES = c.CONSTANTS["GPUCTR_HARDEN_NEW_PRIVILEGES"]
    DUMPABLE = c.CONSTANTS["GPUCTR_HARDEN_DUMPABLE"]


def harden(
    phases: Phase = Phase(0), flags: Harden = Harden(0), *, capabilities: int = 0
) -> None:
    """Drop the privileges that the calling thread no longer needs, for good. For programs
    that do nothing but set up containers; call it before there are other threads.
    """
    options: c.HardenOptions = initialised("gpuctr_harden_options")
    options.phases = phases
    options.flags = flags
    options.capabilities = capabilities
    check("gpuctr_process_harden", ctypes.byref(options))


def _text_or_none(value: bytes | None) -> str | None:
    return None if value is None else decode(value)


class Setting(View):
    """One value of a configuration file."""

    key = text("gpuctr_setting_key", "Lower-case letters and '-'.")
    value = text("gpuctr_setting_value", '"" only for a mistake.')
    in_list = flag("gpuctr_setting_in_list", "The value is in a list.")
    line = number("gpuctr_setting_line", "Line of the key in the file, from 1.")
    mistake = Getter("gpuctr_setting_mistake", _text_or_none, "What is wrong; None: nothing.")


class Config(Owner):
    """A site's configuration file, such as /etc/gpucontainer/config.yaml.

    with_mistakes: mistakes that cannot concern the policy become settings.
    Raises Error: USAGE, PERMISSION.
    """

    def __init__(self, path: str | os.PathLike[str], *, with_mistakes: bool = False) -> None:
        function = "gpuctr_config_open_with_mistakes" if with_mistakes else "gpuctr_config_open"
        super().__init__(opened(function, "gpuctr_config_free", encode(path)))

    settings = views("gpuctr_config_setting", Setting, "Values in the order of the file.")
