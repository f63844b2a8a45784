# SPDX-License-Identifier: MIT
"""Files of an image that are not what their names say."""

import os
import socket
import stat
import struct
import unittest

import harness
import hostile
from harness import MULTIARCH, VERSION

LIBRARIES = f"/usr/lib/{MULTIARCH}"
CACHE = "/etc/ld.so.cache"
NEW = b"glibc-ld.so.cache1.1"
OLD = b"ld.so-1.7.0\0"
ENTRY = struct.Struct("<iIIIQ")


def cache(entries=(), strings=b"", count=None, size=None, flags=2, extension=0, prefix=b""):
    """A loader cache whose numbers need not be true."""
    count = len(entries) if count is None else count
    size = len(strings) if size is None else size
    header = NEW + struct.pack("<IIB3xI12x", count & 0xffffffff, size & 0xffffffff, flags, extension)
    return prefix + header + b"".join(ENTRY.pack(*entry) for entry in entries) + strings


def hostile_caches():
    strings = b"libcuda.so.1\0/usr/lib/libcuda.so.1\0"
    base = 48 + ENTRY.size
    good = (0x303, base, base + 13, 0, 0)
    extended = cache([good], strings)
    return {
        "no byte": b"",
        "one byte too few for a header": cache()[:47],
        "nothing but a header": cache(),
        "four billion entries": cache(count=0xffffffff),
        "more entries than there are": cache([good], strings, count=3),
        "a number of entries that overflows": cache([good], strings, count=0xaaaaaab),
        "more strings than there are": cache([good], strings, size=0xffffffff),
        "a key behind the end": cache([(0x303, 0x7fffffff, base + 13, 0, 0)], strings),
        "a value behind the end": cache([(0x303, base, 0xfffffff0, 0, 0)], strings),
        "a key before the strings": cache([(0x303, 0, 4, 0, 0)], strings),
        "a string without end": cache([good], strings[:-1]),
        "unsorted entries": cache([good, (0x303, base + 13, base, 0, 0), good], strings),
        "the other order of bytes": cache([good], strings, flags=3),
        "an order of bytes that there is not": cache([good], strings, flags=255),
        "an extension at an odd place": cache([good], strings, extension=51),
        "an extension behind the end": cache([good], strings, extension=0xfffffffc),
        "an extension in the entries": cache([good], strings, extension=48),
        "two billion extensions": cache([good], strings, extension=len(extended) // 4 * 4)
                                  + bytes(-len(extended) % 4)
                                  + struct.pack("<II", 0xeaa42174, 0x80000000),
        "an extension that is too large": cache([good], strings, extension=len(extended) // 4 * 4)
                                          + struct.pack("<IIIIII", 0xeaa42174, 1, 1, 0, 16,
                                                        0xfffffff0),
        "the old format with too many entries": OLD + struct.pack("<I", 0xffffffff),
        "the old format before the new one": OLD + struct.pack("<I", 0x7fffffff) + cache([good], strings),
        "all ones": b"\xff" * 4096,
        "a capability that there is not": cache([(0x303, base, base + 13, 0, 1 << 62 | 0xffff)],
                                                strings),
        "names that are no names": cache([(0x303, base, base + 1, 0, 0)], b"\0\n\0"),
    }


def elf(number_of_headers=1, size_of_headers=56, offset=64, machine=62, kind=2, headers=b"",
        entry_type=3):
    """An ELF file whose numbers need not be true."""
    ident = b"\x7fELF" + bytes([kind, 1, 1]) + bytes(9)
    return ident + struct.pack("<HHIQQQIHHHHHH", entry_type, machine, 1, 0, offset, 0, 0, 64,
                               size_of_headers, number_of_headers, 64, 0, 0) + headers


def header(kind, offset, address, size):
    return struct.pack("<IIQQQQQQ", kind, 4, offset, address, address, size, size, 8)


def hostile_libraries():
    load = header(1, 0, 0, 4096)
    dynamic = header(2, 64 + 2 * 56, 64 + 2 * 56, 64)
    table = struct.pack("<QQQQQQ", 5, 0xffffffffffff0000, 10, 0xffffffffffffffff, 14, 0x7fffffff)
    def named(name):
        strings = b"\0" + name + b"\0"
        place = 64 + 2 * 56 + 64
        tags = struct.pack("<QQQQQQQQ", 5, place, 10, len(strings), 14, 1, 0, 0)
        return elf(2, headers=load + dynamic + tags + strings + bytes(4096))
    return {
        "65535 headers": elf(0xffff),
        "headers without size": elf(size_of_headers=0),
        "headers near the end of numbers": elf(offset=0xffffffffffffffc0),
        "two dynamic sections": elf(3, headers=dynamic + dynamic + load),
        "strings outside": elf(2, headers=load + dynamic + table),
        "no end of the dynamic section": elf(2, headers=load + dynamic + b"\x01" * 64),
        "another class": elf(kind=1),
        "another machine": elf(machine=8),
        "the class and nothing more": b"\x7fELF\x02",
        "a name with a slash": named(b"../../etc/passwd"),
        "a name with a newline": named(b"libcuda.so.1\nevil"),
        "a name of dots": named(b".."),
        "a name without end": named(b"x" * 5000),
        "an empty file": b"",
    }


class Contents(hostile.Case):
    """Files of the right kind with wrong content."""

    def test_a_loader_cache_is_anything(self):
        """T12"""
        for name, content in hostile_caches().items():
            with self.subTest(cache=name):
                self.put(CACHE, content)
                self.each_mode(modes=("auto", "never", "merged"), command=False, succeeds=True)

    def test_a_loader_cache_of_ten_gigabytes(self):
        """T12"""
        self.put(CACHE, cache(count=1))
        os.truncate(self.path(CACHE), 10 << 30)
        self.each_mode(command=False)

    def test_a_loader_cache_with_our_names_a_hundred_thousand_times(self):
        """T12"""
        count = 100_000
        base = 48 + count * ENTRY.size
        names = [f"/usr/lib/{n:06}/libcuda.so.1\0".encode() for n in range(count)]
        places = [base + 13 + n * len(names[0]) for n in range(count)]
        self.put(CACHE, cache([(0x303, base, place, 0, 0) for place in places],
                              b"libcuda.so.1\0" + b"".join(names)))
        self.each_mode(modes=("auto", "never"), command=False)

    def test_an_images_own_driver_is_no_library(self):
        """T14"""
        for name, content in hostile_libraries().items():
            with self.subTest(library=name):
                for place in ("/usr/local/cuda/compat/libcuda.so.1", f"{LIBRARIES}/libcuda.so.1",
                              f"{LIBRARIES}/libnvidia-ml.so.1", "/usr/lib64/ld-linux-x86-64.so.2"):
                    self.put(place, content)
                self.each_mode(modes=("auto", "never", "merged"), command=False, succeeds=True)


class Kinds(hostile.Case):
    """Something else in place of each file and directory that is looked at."""

    PLACES = (CACHE, "/etc/ld.so.conf", "/etc/ld.so.conf.d/00-gpuctr.conf", "/usr/bin/nvidia-smi",
              f"{LIBRARIES}/libcuda.so.1", "/lib64/ld-linux-x86-64.so.2", "/usr/local/nvidia",
              "/usr/lib/gpuctr", "/dev/nvidia0", "/dev/nvidiactl", "/dev/null",
              "/etc/.gpuctr-kept-ld.so.cache", "/etc", "/dev", "/usr/local", f"{LIBRARIES}/libc.so.6",
              "/etc/ld.so.conf.d")
    # Kinds alone tell these apart.
    OTHERS = (f"{LIBRARIES}/libcuda.so", f"{LIBRARIES}/libcuda.so.{VERSION}", LIBRARIES, "/usr/lib",
              "/usr/bin", "/usr/local/cuda/compat", "/proc")

    def fifo(self, path):
        os.mkfifo(path)

    def socket(self, path):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("/proc/self/fd/%d/%s" % (self.directory(path), path.name))

    def directory(self, path):
        descriptor = os.open(path.parent, os.O_PATH)
        self.addCleanup(os.close, descriptor)
        return descriptor

    def folder(self, path):
        path.mkdir()
        (path / "file").write_text("")

    def memory(self, path):
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 8))

    def disk(self, path):
        os.mknod(path, stat.S_IFBLK | 0o666, os.makedev(7, 0))

    def unreadable(self, path):
        path.write_text("")
        path.chmod(0)

    def check(self, make, modes=("auto", "never", "merged"), places=PLACES):
        for place in places:
            with self.subTest(place=place):
                path = self.path(place)
                saved = self.path("/srv/saved")
                had = os.path.lexists(path)
                if had:
                    harness.must("mv", path, saved)
                make(path)
                self.each_mode(modes=modes, command=False)
                harness.must("rm", "-rf", path)
                if had:
                    harness.must("mv", saved, path)

    def test_a_pipe_that_nobody_writes_keeps_nobody_waiting(self):
        """T7, T15"""
        self.path("/usr/local/cuda").mkdir()
        self.check(self.fifo)
        self.check(self.fifo, modes=("auto", "merged"), places=self.OTHERS)

    def test_sockets(self):
        """T15"""
        self.check(self.socket, modes=("auto", "never"))

    def test_directories(self):
        """T15"""
        self.check(self.folder)

    def test_devices_of_the_image_are_not_opened(self):
        """T7, T15"""
        self.check(self.memory)
        self.check(self.disk, modes=("auto",))

    def test_files_that_nobody_may_read(self):
        """T15"""
        self.check(self.unreadable, modes=("auto", "never"))

    def test_a_device_of_the_image_is_never_the_one_that_is_mounted(self):
        """T7"""
        host = os.stat("/dev/nvidia0")
        for make in (self.memory, self.disk, self.unreadable, self.fifo,
                     lambda path: path.symlink_to(self.canary / "f"),
                     lambda path: path.symlink_to("/dev/null")):
            for name in ("nvidia0", "null"):
                make(self.clear(f"/dev/{name}"))
            def look():
                node = os.stat(self.path("/dev/nvidia0"))
                self.assertEqual((node.st_rdev, node.st_mode), (host.st_rdev, host.st_mode))
            self.each_mode(look)
            for name in ("nvidia0", "null"):
                self.clear(f"/dev/{name}")


if __name__ == "__main__":
    unittest.main()
