# SPDX-License-Identifier: MIT
"""File systems of a kind of their own for tests, in files."""

import os
import stat

import harness

# Of a test that makes one.
ENABLED = os.environ.get("GPUCTR_TEST_LONG") == "1"


def _make_loop_devices():
    """Which the simulated host has none of."""
    nodes = [("loop-control", stat.S_IFCHR, os.makedev(10, 237))]
    nodes += [(f"loop{number}", stat.S_IFBLK, os.makedev(7, number)) for number in range(64)]
    for name, kind, device in nodes:
        if not os.path.exists(f"/dev/{name}"):
            os.mknod(f"/dev/{name}", kind | 0o600, device)


def make(case, name, size, *words):
    """A file for the rest of a test case, with what the command `words` makes of it."""
    _make_loop_devices()
    image = harness.DIRECTORY / name
    harness.must("truncate", "--size", size, image)
    case.addCleanup(image.unlink)
    harness.must(*words, image)
    return image


def mount(image, directory):
    """On a loop device that ends with the mount."""
    device = harness.must("losetup", "--find", "--show", image).strip()
    try:
        harness.must("mount", device, directory)
    finally:
        harness.must("losetup", "--detach", device)
