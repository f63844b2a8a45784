# SPDX-License-Identifier: MIT
"""Root directories, and what is done with them without a plan."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from . import _declarations as c
from ._errors import Words
from ._native import c_int, check, encode, initialised, text_list
from ._values import Finding

#: A root directory: its path, or a descriptor of it, which is borrowed.
Root = int | str | os.PathLike[str]
Report = Callable[[Finding], None]


class Backend(Words):
    """How mounts are made; to choose one is for tests and narrowing down a fault."""

    AUTO = c.CONSTANTS["GPUCTR_BACKEND_AUTO"]
    DETACHED = c.CONSTANTS["GPUCTR_BACKEND_DETACHED"]
    ASSEMBLED = c.CONSTANTS["GPUCTR_BACKEND_ASSEMBLED"]
    LEGACY = c.CONSTANTS["GPUCTR_BACKEND_LEGACY"]


@contextlib.contextmanager
def root_fd(root: Root | None) -> Iterator[int]:
    """A descriptor of the root; -1 for None."""
    if root is None:
        yield -1
    elif isinstance(root, int):
        if root < 0:
            raise ValueError(f"{root} is not a descriptor")
        yield c_int(root)
    else:
        descriptor = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def seen_fd(root: Root | None) -> Iterator[int]:
    """A descriptor of a root that is only looked at: a directory, or a file with an image."""
    if root is None or isinstance(root, int):
        with root_fd(root) as descriptor:
            yield descriptor
        return
    descriptor = os.open(root, os.O_PATH | os.O_CLOEXEC)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            # Only what is known to be a file is opened for reading.
            readable = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
            os.close(descriptor)
            descriptor = readable
        yield descriptor
    finally:
        os.close(descriptor)


@dataclasses.dataclass(frozen=True)
class ImagePlace:
    """Where a file with an image has its root file system, which is squashfs."""

    #: Where it begins in the file.
    offset: int
    size: int
    #: The image has a signature, which nothing here checks.
    is_signed: bool
    #: The image has changes for its root file system too, in a partition for an overlay.
    has_overlay: bool


def find_image(image: int | str | os.PathLike[str]) -> ImagePlace:
    """Find the root file system in a file with an image, squashfs or SIF, for a program that
    mounts it. image: its path, or a descriptor that is open for reading, which is borrowed.

    Raises Error: ROOTFS, REQUIREMENT; OSError if it cannot be opened.
    """
    offset, size, flags = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_uint32()
    places = ctypes.byref(offset), ctypes.byref(size), ctypes.byref(flags)
    with seen_fd(image) as descriptor:
        check("gpuctr_image_find", descriptor, *places)
    return ImagePlace(
        offset.value,
        size.value,
        bool(flags.value & int(c.CONSTANTS["GPUCTR_IMAGE_SIGNED"])),
        bool(flags.value & int(c.CONSTANTS["GPUCTR_IMAGE_OVERLAY"])),
    )


def check_image_trust(path: str | os.PathLike[str]) -> None:
    """Check that nobody but root and the caller can have written an image, or put another one into
    its place: for a program that has the kernel mount it.

    Raises Error: PERMISSION, USAGE; OSError if it cannot be opened.
    """
    with seen_fd(path) as descriptor:
        check("gpuctr_image_check_trust", descriptor, os.fsencode(path))


def _collector(
    collected: list[Finding], failures: list[BaseException]
) -> Generator[int, int | None, None]:
    """Copies the findings that it is sent."""
    while True:
        try:
            finding = yield 0
            if finding is not None:
                collected.append(Finding.copy(finding))
        except GeneratorExit:
            return
        except BaseException as error:
            failures.append(error)


@contextlib.contextmanager
def reporting(options: Any, report: Report | None) -> Iterator[None]:
    """Collects the findings of a call, and reports them after it, also if it fails."""
    if report is None:
        yield
        return
    collected: list[Finding] = []
    failures: list[BaseException] = []
    collector = _collector(collected, failures)
    next(collector)
    # ctypes drops what a callback raises, and Python raises KeyboardInterrupt as soon as a
    # function begins. max() is none of Python's: it sends both arguments to the collector, which
    # goes on within its try.
    options.report = c.REPORT(functools.partial(max, key=collector.send))
    try:
        yield
    finally:
        if failures:
            raise failures[0]
        for finding in collected:
            report(finding)


def in_process(options: Any, pidfd: int | None, flag: str) -> None:
    if pidfd is not None:
        options.pidfd = pidfd
        options.flags |= c.CONSTANTS[flag]


def undo_options(
    state_dir: str | os.PathLike[str] | None, setuid: bool, dry_run: bool
) -> Any:
    options = initialised("gpuctr_undo_options")
    options.state_dir = encode(state_dir)
    if setuid:
        options.flags |= c.CONSTANTS["GPUCTR_UNDO_SETUID"]
    if dry_run:
        options.flags |= c.CONSTANTS["GPUCTR_UNDO_DRY_RUN"]
    return options


def undo(
    root: Root,
    *,
    state_dir: str | os.PathLike[str] | None = None,
    pidfd: int | None = None,
    setuid: bool = False,
    dry_run: bool = False,
    report: Report | None = None,
) -> bool:
    """Undo what Plan.apply() did in a root file system; False if there was nothing to undo.

    pidfd: a process of the container, if the plan was applied in its mount namespace. The
    calling thread must then share its working directory with no other.
    Raises Error: PERMISSION, APPLY.
    """
    options = undo_options(state_dir, setuid, dry_run)
    in_process(options, pidfd, "GPUCTR_UNDO_IN_PROCESS")
    found = ctypes.c_int()
    with root_fd(root) as descriptor, reporting(options, report):
        check("gpuctr_rootfs_undo", descriptor, ctypes.byref(options), ctypes.byref(found))
    return bool(found.value)


def open_in_root(root: Root, path: str | os.PathLike[str], flags: int = os.O_RDONLY) -> int:
    """Open a path in a root file system: symbolic links do not lead out of it. The caller
    closes the descriptor. flags: those of os.open(), without O_CREAT and O_TMPFILE.

    Raises Error: ROOTFS, PERMISSION, USAGE.
    """
    opened = ctypes.c_int(-1)
    with root_fd(root) as descriptor:
        check("gpuctr_rootfs_open", descriptor, encode(path), c_int(flags), ctypes.byref(opened))
    return opened.value


def unstage(
    directory: str | os.PathLike[str],
    *,
    setuid: bool = False,
) -> bool:
    """Unmount what Plan.stage() mounted in a directory; False if no such tree was there.

    Raises Error: PERMISSION, USAGE.
    """
    options = initialised("gpuctr_stage_options")
    if setuid:
        options.flags |= c.CONSTANTS["GPUCTR_STAGE_SETUID"]
    found = ctypes.c_int()
    check("gpuctr_unstage", encode(directory), ctypes.byref(options), ctypes.byref(found))
    return bool(found.value)


def load_kernel_modules(
    *,
    vendors: Iterable[str] = (),
    display: bool = False,
    report: Report | None = None,
) -> None:
    """Change this host: load kernel modules that its GPUs lack, and make device nodes that are
    missing in /dev. display: also what only mode setting needs.

    Raises Error: PERMISSION, NO_DEVICE, REQUIREMENT, USAGE.
    """
    options = initialised("gpuctr_load_options")
    options.vendors = text_list(vendors)
    if display:
        options.flags = c.CONSTANTS["GPUCTR_LOAD_DISPLAY"]
    with reporting(options, report):
        check("gpuctr_host_load_kernel_modules", ctypes.byref(options))
