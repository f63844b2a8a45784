#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the executor to its rule: it allocates nothing, takes no lock, makes no string and
throws nothing, for it runs between clone and exec of a threaded process.

    check_executor.py COMPILER OBJECT...

OBJECTs are those of program/ and of the modules that it uses, with a section for each
function. What the functions of program/ reach in them is linked, and nothing else: what is
missing then is what they call of the C and C++ libraries. program/builder.cpp, which makes
programs, is no part of the executor.

Prints what is called and not allowed, and exits with 1 when there is something.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

# System calls, and what works on memory of the caller's alone. snprintf() of the C library
# allocates nothing for the conversions that are used: texts and numbers.
ALLOWED = set("""
    _exit chroot clock_gettime close dup fchdir fchmod fchmodat fcntl fsconfig fsmount fsopen fspick
    fstat fstatat fstatfs fsync getpid getppid getrlimit lseek mkdir mkdirat mknod mknodat mmap
    mount mount_setattr move_mount mremap munmap nanosleep open open_tree openat prctl pread read
    readlink readlinkat renameat2 setns statx symlinkat syscall umount2 uname unlinkat unshare
    utimensat waitid waitpid write
    __errno_location memchr memcmp memcpy memmove memset snprintf strchr strcmp strlen strncmp
    strrchr strstr strtoull
    __gxx_personality_v0
""".split())
# The last is what noexcept refers to, and this what classes with virtual functions do.
TYPE_INFORMATION = "_ZTVN10__cxxabiv1"


def names(arguments):
    """The last word of each line that nm prints."""
    done = subprocess.run(["nm", *arguments], check=True, capture_output=True, text=True)
    return [line.split()[-1] for line in done.stdout.splitlines() if line.strip()]


def plain(name):
    """Without its version, and as it is called in sources: open64 and __read_chk are others' names."""
    name = name.split("@")[0]
    if name.startswith("__") and name.endswith("_chk"):
        name = name[2:-4]
    return name.removesuffix("64")


def functions_of(objects):
    """What the objects define for others."""
    done = subprocess.run(["nm", "--defined-only", "--extern-only", *objects], check=True,
                          capture_output=True, text=True)
    return sorted({line.split()[2] for line in done.stdout.splitlines()
                   if len(line.split()) == 3 and line.split()[1] == "T"})


def called(compiler, objects):
    """What is not in the objects, of all that the executor reaches."""
    executor = [name for name in objects
                if "/program/" in name and not name.endswith("builder.cpp.o")]
    if not executor:
        raise SystemExit("check_executor.py: no object of program/")
    with tempfile.TemporaryDirectory() as directory:
        options = Path(directory, "options")
        options.write_text("\n".join(f"-Wl,-u,{name}" for name in functions_of(executor)))
        # What is visible would be kept.
        hidden = Path(directory, "hidden")
        hidden.write_text("{ local: *; };")
        linked = Path(directory, "executor.so")
        subprocess.run([compiler, "-shared", "-nostdlib", "-Wl,--gc-sections", f"@{options}",
                        f"-Wl,--version-script={hidden}", "-o", linked, *objects], check=True)
        return names(["--dynamic", "--undefined-only", linked])


def main(arguments):
    if len(arguments) < 2:
        raise SystemExit(__doc__)
    found = [name for name in called(arguments[0], arguments[1:])
             if plain(name) not in ALLOWED and not name.startswith(TYPE_INFORMATION)]
    for name in found:
        print(f"the executor calls {name}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
