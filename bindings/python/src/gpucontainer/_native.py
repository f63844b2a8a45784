# SPDX-License-Identifier: MIT
"""The library, loaded; and what all calls of it have in common."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Generic, NoReturn, TypeVar, overload

from . import _declarations as c
from ._errors import AttachError, Code, Error

T = TypeVar("T")
O = TypeVar("O", bound="Owner")
SONAME = "libgpucontainer.so.0"


def _load() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(SONAME)
    except OSError as error:
        raise ImportError(f"{error}: is libgpucontainer installed?") from error
    for name, (result, arguments) in c.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError as error:
            raise ImportError(f"{SONAME} is too old for this package: no {name}") from error
        function.restype = result
        function.argtypes = arguments
    return library


library = _load()


def encode(text: str | bytes | os.PathLike[str] | None) -> bytes | None:
    """A text or path as the library takes it; None stays None."""
    if text is None:
        return None
    encoded = os.fsencode(text)
    if b"\0" in encoded:
        raise ValueError("embedded null byte")
    return encoded


def decode(text: bytes | None) -> str:
    """A text of the library. Names of files need not be UTF-8."""
    return os.fsdecode(text) if text is not None else ""


def c_int(number: int) -> int:
    """A number that C's int can hold; ctypes would cut others off."""
    if ctypes.c_int(number).value != number:
        raise OverflowError(f"{number} is too large for C's int")
    return number


def text_list(texts: Iterable[str | bytes | os.PathLike[str]]) -> Any:
    """A NULL-terminated list."""
    encoded = [encode(text) for text in texts]
    return (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)


def assignments(environment: Mapping[str, str]) -> Any:
    """NAME=VALUE each, as the library takes them."""
    return text_list(
        os.fsencode(name) + b"=" + os.fsencode(value) for name, value in environment.items()
    )


def initialised(name: str) -> Any:
    """A struct with the defaults of the library."""
    struct = c.STRUCTS[name]()
    getattr(library, name + "_init")(ctypes.byref(struct), ctypes.sizeof(struct))
    return struct


def check(name: str, *arguments: Any) -> None:
    """Calls a function whose last parameter is the error. Raises Error."""
    error = ctypes.c_void_p()
    status = getattr(library, name)(*arguments, ctypes.byref(error))
    if status == c.CONSTANTS["GPUCTR_OK"]:
        return
    try:
        raise Error(
            Code(library.gpuctr_error_status(error)),
            decode(library.gpuctr_error_message(error)),
            step=decode(library.gpuctr_error_step(error)),
            object=decode(library.gpuctr_error_object(error)),
            argument=decode(library.gpuctr_error_argument(error)),
            cause=decode(library.gpuctr_error_cause(error)),
            hint=decode(library.gpuctr_error_hint(error)),
            os_error=library.gpuctr_error_os_error(error),
        )
    finally:
        library.gpuctr_error_free(error)


def check_attach(name: str, *arguments: Any) -> None:
    """Calls a function whose last parameter is an attach error. Raises Error."""
    error = initialised("gpuctr_attach_error")
    status = getattr(library, name)(*arguments, ctypes.byref(error))
    if status != c.CONSTANTS["GPUCTR_OK"]:
        raise AttachError(
            Code(status), decode(error.step), decode(error.object), int(error.os_error)
        )


def take_json(name: str, pointer: int, *arguments: Any) -> str:
    """What a *_to_json() function returns, or another one of documents."""
    text = ctypes.c_void_p()
    check(name, pointer, *arguments, ctypes.byref(text))
    try:
        return ctypes.string_at(text.value or 0).decode()
    finally:
        library.gpuctr_string_free(text)


class Handle:
    """Owns an object of the library. Views of parts of the object keep its handle, so that the
    object lives as long as anything of it is in use, on any thread."""

    __slots__ = ("_free", "pointer")

    def __init__(self, pointer: int, free: str) -> None:
        self.pointer = pointer
        self._free: Callable[[int], None] = getattr(library, free)

    def __del__(self) -> None:
        self._free(self.pointer)

    def __reduce__(self) -> NoReturn:
        raise TypeError("an object of the library cannot be copied")


def opened(function: str, free: str, *arguments: Any) -> Handle:
    """Calls a function whose output is an object, followed by the error."""
    pointer = ctypes.c_void_p()
    check(function, *arguments, ctypes.byref(pointer))
    assert pointer.value is not None
    return Handle(pointer.value, free)


class View:
    """A part of an object of the library; stays valid after the object is closed."""

    __slots__ = ("_handle", "_pointer")

    def __init__(self, handle: Handle, pointer: int) -> None:
        self._handle = handle
        self._pointer = pointer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and self._pointer == other._pointer

    def __hash__(self) -> int:
        return hash(self._pointer)


class Owner:
    """An object of the library. close(), or the end of a with block, lets go of it."""

    def __init__(self, handle: Handle) -> None:
        self._held: Handle | None = handle

    @property
    def _handle(self) -> Handle:
        if self._held is None:
            raise ValueError(f"{type(self).__name__} is closed")
        return self._held

    def close(self) -> None:
        """Let go of the object. Parts of it that are still in use stay valid."""
        self._held = None

    def __enter__(self: O) -> O:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _part(view: View | Owner) -> tuple[Handle, int]:
    """A part or an object, and the handle to be kept for as long as the pointer is used."""
    handle = view._handle
    return handle, view._pointer if isinstance(view, View) else handle.pointer


class Getter(Generic[T]):
    """An attribute that a function of the library returns."""

    def __init__(self, function: str, convert: Callable[[Any], T], doc: str) -> None:
        self._function = getattr(library, function)
        self._convert = convert
        self.__doc__ = doc

    @overload
    def __get__(self, view: None, owner: type) -> Getter[T]: ...
    @overload
    def __get__(self, view: View | Owner, owner: type) -> T: ...
    def __get__(self, view: View | Owner | None, owner: type) -> Getter[T] | T:
        if view is None:
            return self
        handle, pointer = _part(view)
        value = self._convert(self._function(pointer))
        del handle
        return value

    def __set__(self, view: object, value: object) -> NoReturn:
        raise AttributeError("it is read-only")


class Elements(Generic[T]):
    """An attribute that a pair of functions returns, *_count() and *_at()."""

    def __init__(self, function: str, convert: Callable[[Handle, Any], T], doc: str) -> None:
        self._count = getattr(library, function + "_count")
        self._at = getattr(library, function + "_at")
        self._convert = convert
        self.__doc__ = doc

    @overload
    def __get__(self, view: None, owner: type) -> Elements[T]: ...
    @overload
    def __get__(self, view: View | Owner, owner: type) -> tuple[T, ...]: ...
    def __get__(self, view: View | Owner | None, owner: type) -> Elements[T] | tuple[T, ...]:
        if view is None:
            return self
        handle, pointer = _part(view)
        return tuple(
            self._convert(handle, self._at(pointer, index)) for index in range(self._count(pointer))
        )

    def __set__(self, view: object, value: object) -> NoReturn:
        raise AttributeError("it is read-only")


def text(function: str, doc: str) -> Getter[str]:
    return Getter(function, decode, doc)


def number(function: str, doc: str) -> Getter[int]:
    return Getter(function, int, doc)


def number_or_none(function: str, doc: str) -> Getter[int | None]:
    return Getter(function, lambda value: None if value < 0 else int(value), doc)


def flag(function: str, doc: str) -> Getter[bool]:
    return Getter(function, bool, doc)


def texts(function: str, doc: str) -> Elements[str]:
    return Elements(function, lambda _handle, value: decode(value), doc)
