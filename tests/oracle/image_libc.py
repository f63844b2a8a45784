# SPDX-License-Identifier: MIT
"""Faults of images that have nothing to do with GPUs: the C library, the loader, what the
program is linked to. The images of all vendors can have them."""

import elf_look
from elf_file import Elf, Symbol
from image_dir import INTERPRETER, MULTIARCH
from images import APP, app, plain
from model import Room, host, image

ROOM = Room("image_libc", "any")
LIBSTDCXX = f"{MULTIARCH}/libstdc++.so.6"
PLUGIN = "/opt/app/lib/libplugin.so.1"


def beside_app(case, elf):
    """A library of the program's own."""
    case.image.library(PLUGIN, elf)
    link_app(case, elf.soname)


def link_app(case, *needed):
    """The program as it is, linked to more."""
    facts = elf_look.facts(case.image.names[APP])
    case.image.program(APP, _rebuilt(facts, needed))


def _rebuilt(facts, needed):
    versions = {}
    for word in facts["versions"]:
        library, version = word.split(":")
        versions.setdefault(library, []).append(version)
    return Elf(needed=(*needed, *facts["needed"]), versions=versions,
               interpreter="".join(facts["interpreter"]), runpath=":".join(facts["runpath"]))


@ROOM.fault("glibc-too-old", stage="start", subject="libc",
            cause="the program needs a newer C library than the image has",
            message="/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found",
            evidence=[image(f"{APP}#versions", "has", "libc.so.6:GLIBC_2.34", before=True),
                      image(f"{MULTIARCH}/libc.so.6#defines", "lacks", "GLIBC_2.34")])
def glibc_too_old(case):
    case.image.c_library(31)


@ROOM.fault("glibcxx-too-old", stage="start", subject="libstdc++",
            cause="the program needs a newer libstdc++ than the image has",
            message="libstdc++.so.6: version `GLIBCXX_3.4.29' not found",
            evidence=[image(f"{APP}#versions", "has", "libstdc++.so.6:GLIBCXX_3.4.29", before=True),
                      image(f"{LIBSTDCXX}#defines", "lacks", "GLIBCXX_3.4.29")])
def glibcxx_too_old(case):
    case.image.remove(f"{MULTIARCH}/libstdc++.so.6.0.30", LIBSTDCXX)
    case.image.gcc_runtime(28)


@ROOM.fault("cxxabi-too-old", stage="start", subject="plugin", not_with=("libstdc++", "program"),
            cause="a library of the program needs a newer C++ run-time interface than the image has",
            message="libstdc++.so.6: version `CXXABI_1.3.15' not found (required by libplugin.so.1)",
            evidence=[image(f"{PLUGIN}#versions", "has", "libstdc++.so.6:CXXABI_1.3.15"),
                      image(f"{APP}#needed", "has", "libplugin.so.1"),
                      image(f"{LIBSTDCXX}#defines", "lacks", "CXXABI_1.3.15", before=True)])
def cxxabi_too_old(case):
    beside_app(case, plain("libplugin.so.1", "libstdc++.so.6",
                           versions={"libstdc++.so.6": ["CXXABI_1.3.15"]}))


@ROOM.fault("libstdcxx-missing", stage="start", subject="libstdc++",
            cause="the image has no libstdc++, which the program is linked to",
            message="error while loading shared libraries: libstdc++.so.6: cannot open shared object "
                    "file",
            evidence=[image(LIBSTDCXX, "absent"),
                      image(f"{MULTIARCH}/libc.so.6#soname", "is", "libc.so.6", before=True),
                      image(f"{APP}#needed", "has", "libstdc++.so.6", before=True)])
def libstdcxx_missing(case):
    case.image.remove(LIBSTDCXX, f"{LIBSTDCXX}.0.30")


@ROOM.fault("libgcc-missing", stage="start", subject="libgcc",
            cause="the image has no libgcc_s, which its libstdc++ is linked to",
            message="error while loading shared libraries: libgcc_s.so.1: cannot open shared object "
                    "file",
            evidence=[image(f"{MULTIARCH}/libgcc_s.so.1", "absent"),
                      image(f"{LIBSTDCXX}#needed", "has", "libgcc_s.so.1", before=True)],
            not_with=("libstdcxx-missing",))
def libgcc_missing(case):
    case.image.remove(f"{MULTIARCH}/libgcc_s.so.1")


@ROOM.fault("library-missing", stage="start", subject="libopenblas",
            cause="the program is linked to a library that the image lacks",
            message="error while loading shared libraries: libopenblas.so.0: cannot open shared "
                    "object file",
            evidence=[image(f"{APP}#needed", "has", "libopenblas.so.0"),
                      image(f"{MULTIARCH}/libopenblas.so.0", "absent", before=True)],
            not_with=("program",))
def library_missing(case):
    link_app(case, "libopenblas.so.0")


@ROOM.fault("symbol-missing", stage="start", subject="plugin", not_with=("program",),
            cause="a library wants a function that the libraries it is linked to do not have",
            message="undefined symbol: solver_run_v2",
            evidence=[image(f"{PLUGIN}#wants", "has", "solver_run_v2"),
                      image(f"{APP}#needed", "has", "libplugin.so.1"),
                      image("/opt/app/lib/libsolver.so.1#has", "lacks", "solver_run_v2")])
def symbol_missing(case):
    case.image.library("/opt/app/lib/libsolver.so.1", plain(
        "libsolver.so.1", symbols=(Symbol("solver_run", defined=True),)))
    beside_app(case, plain("libplugin.so.1", "libsolver.so.1", symbols=(Symbol("solver_run_v2"),)))


@ROOM.fault("loader-cache-empty", stage="start", subject="plugin",
            cause="the image's loader cache is empty, and libraries lie where the cache alone names "
                  "them",
            message="error while loading shared libraries: libplugin.so.1: cannot open shared object "
                    "file",
            not_with=("program", "libcuda choice", "rocm", "level zero", "habana"),
            evidence=[image("/etc/ld.so.cache#libc.so.6", "absent"),
                      image("/etc/ld.so.cache#libplugin.so.1", "absent", before=True),
                      image("/etc/ld.so.conf.d/app.conf", "is", "/opt/app/lib"),
                      image(f"{APP}#needed", "has", "libplugin.so.1"),
                      image(f"{PLUGIN}#soname", "is", "libplugin.so.1")])
def loader_cache_empty(case):
    beside_app(case, plain("libplugin.so.1"))
    case.image.file("/etc/ld.so.conf.d/app.conf", "/opt/app/lib\n")
    case.image.cache = []


@ROOM.fault("runpath-not-inherited", stage="start", subject="plugin", not_with=("program",),
            cause="a library is found by the program's RUNPATH, and what it needs itself is not, as "
                  "a RUNPATH counts for its own file alone",
            message="error while loading shared libraries: libinner.so.1: cannot open shared object "
                    "file",
            evidence=[image(f"{APP}#runpath", "is", "/opt/app/lib"),
                      image(f"{PLUGIN}#needed", "has", "libinner.so.1"),
                      image("/etc/ld.so.cache#libinner.so.1", "absent", before=True),
                      image("/opt/app/lib/libinner.so.1#soname", "is", "libinner.so.1")])
def runpath_not_inherited(case):
    case.image.library("/opt/app/lib/libinner.so.1", plain("libinner.so.1"), cached=False)
    case.image.library(PLUGIN, plain("libplugin.so.1", "libinner.so.1"), cached=False)
    facts = elf_look.facts(case.image.names[APP])
    case.image.program(APP, _rebuilt(facts, ("libplugin.so.1",)).but(runpath="/opt/app/lib"))


@ROOM.fault("musl-image-glibc-program", stage="start", subject="program",
            base=(None, "alpine", "nvidia-nodes"), vendor="nvidia",
            cause="the image has musl, and the program is linked to glibc",
            message="exec /usr/bin/app: no such file or directory",
            not_with=("image_libc", "image_cuda", "image_code"),
            evidence=[image(f"{APP}#interpreter", "is", INTERPRETER),
                      image(INTERPRETER, "absent", before=True),
                      image("/lib/ld-musl-x86_64.so.1", "has", "bytes", before=True)])
def musl(case):
    case.image.program(APP, app("libcuda.so.1"))


@ROOM.fault("loader-missing", stage="start", subject="program",
            cause="the image lacks the loader that its program names, as an image of parts does",
            message="exec /usr/bin/app: no such file or directory",
            not_with=("image_libc",),
            noticed="no /lib64/ld-linux-x86-64.so.2 in the root file system",
            evidence=[image(INTERPRETER, "absent"),
                      image(f"{MULTIARCH}/libc.so.6#soname", "is", "libc.so.6", before=True),
                      image(f"{APP}#interpreter", "is", INTERPRETER, before=True)])
def loader_missing(case):
    case.image.remove("/usr/lib64/ld-linux-x86-64.so.2")


@ROOM.fault("program-of-another-machine", stage="start", subject="program",
            cause="the program is for another processor than the host's",
            message="exec /usr/bin/app: exec format error",
            not_with=("image_libc", "image_code", "level zero"),
            evidence=[image(f"{APP}#machine", "is", "aarch64"),
                      image(f"{MULTIARCH}/libc.so.6#machine", "is", "x86_64", before=True)])
def other_machine(case):
    case.image.program(APP, Elf(machine="aarch64", needed=("libc.so.6",),
                                interpreter="/lib/ld-linux-aarch64.so.1"))


@ROOM.fault("library-of-another-machine", stage="start", subject="plugin", not_with=("program",),
            cause="the program is linked to a library that the image has for 32-bit programs alone",
            message="libplugin.so.1: wrong ELF class: ELFCLASS32",
            evidence=[image(f"{PLUGIN}#bits", "is", "32"),
                      image(f"{APP}#needed", "has", "libplugin.so.1"),
                      image(f"{APP}#bits", "is", "64", before=True)])
def library_of_other_machine(case):
    beside_app(case, plain("libplugin.so.1").but(machine="i386"))


@ROOM.fault("no-proc", stage="init", subject="proc", vendor="nvidia",
            cause="the image has no /proc to mount one on, which the CUDA driver reads",
            message="CUDA_ERROR_OPERATING_SYSTEM (304) from cuInit; nvidia-smi -L works",
            evidence=[image("/proc", "absent")])
def no_proc(case):
    case.image.remove("/proc")


@ROOM.fault("host-library-needs-newer-glibc", stage="load", subject="host rocm", vendor="amd",
            base=("mi300x", "debian-11", "amd-host"), not_with=("libc", "libstdc++", "image_amd"),
            cause="the host's user space, which was asked for, needs a newer C library than the "
                  "image has",
            message="libc.so.6: version `GLIBC_2.34' not found (required by libhsa-runtime64.so.1)",
            evidence=[host("/opt/rocm-6.4.1/lib/libhsa-runtime64.so.1.15.60401#versions", "has",
                           "GLIBC_2.34"),
                      image(f"{MULTIARCH}/libc.so.6#defines", "lacks", "GLIBC_2.34", before=True)])
def host_library_too_new(case):
    case.host.change_file("/opt/rocm-6.4.1/lib/libhsa-runtime64.so.1.15.60401",
                          verneed="GLIBC_2.2.5,GLIBC_2.34")
