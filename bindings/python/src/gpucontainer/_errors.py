# SPDX-License-Identifier: MIT
"""What calls raise."""

from __future__ import annotations

import enum
import os
from typing import Any

from . import _declarations as c


class Words(enum.IntEnum):
    """Constants of the library, of which a later version may have more."""

    @classmethod
    def _missing_(cls, value: object) -> Words | None:
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNKNOWN_{abs(value)}"
        member._value_ = value
        return member


class Code(Words):
    """Class of a failure. Negated, it is the exit status of gpuctr-setup."""

    INTERNAL = c.CONSTANTS["GPUCTR_E_INTERNAL"]
    USAGE = c.CONSTANTS["GPUCTR_E_USAGE"]
    NO_DEVICE = c.CONSTANTS["GPUCTR_E_NO_DEVICE"]
    DRIVER = c.CONSTANTS["GPUCTR_E_DRIVER"]
    ROOTFS = c.CONSTANTS["GPUCTR_E_ROOTFS"]
    PERMISSION = c.CONSTANTS["GPUCTR_E_PERMISSION"]
    REQUIREMENT = c.CONSTANTS["GPUCTR_E_REQUIREMENT"]
    APPLY = c.CONSTANTS["GPUCTR_E_APPLY"]
    EXISTS = c.CONSTANTS["GPUCTR_E_EXISTS"]


def _again(kind: type[Error], arguments: tuple[Any, ...]) -> Error:
    return kind.__new__(kind, *arguments)


class Error(Exception):
    """A call failed. str() is the message in one line."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        step: str = "",
        object: str = "",
        argument: str = "",
        cause: str = "",
        hint: str = "",
        os_error: int = 0,
    ) -> None:
        super().__init__(message)
        #: Class of the failure.
        self.code = code
        #: The outermost step that failed, such as "prepare libcuda.so.1".
        self.step = step
        #: What the failing operation worked on: a path, a GPU. "" if it does not apply.
        self.object = object
        #: The argument that the failure is about, such as "devices"; "" if it is about none.
        self.argument = argument
        #: The innermost reason.
        self.cause = cause
        #: What can be done about it; may be "".
        self.hint = hint
        #: errno behind the failure, or 0.
        self.os_error = os_error

    def __reduce__(self) -> tuple[Any, ...]:
        # For multiprocessing, which waits for ever if an exception cannot be made again.
        return _again, (type(self), self.args), self.__dict__


class AttachError(Error):
    """Prepared.attach() or undo() failed."""

    def __init__(self, code: Code, step: str, object: str, os_error: int) -> None:
        cause = os.strerror(os_error) if os_error else ""
        message = ": ".join(filter(None, (f"{step} {object}".strip(), cause)))
        super().__init__(
            code, message, step=step, object=object, cause=cause, os_error=os_error
        )
