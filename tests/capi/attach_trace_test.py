#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gpuctr_prepared_attach() makes system calls on the root's descriptors only.

Runs the example runtime under strace on a simulated host, takes the calls that
its child makes between the two marks around the attach, and looks for those
that are not allowed between clone and exec, or that could name a host path.

    attach_trace_test.py SIMHOST HOST_DIR MAKE_ROOTFS C_RUNTIME

Exits with 77, a skip, where tracing is not possible.
"""

import collections
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import recorded_host

BEGIN = 'prctl(PR_SET_NAME, "attach begin"'
END = 'prctl(PR_SET_NAME, "attach end"'

# Opening by path, memory, locks, processes, credentials, the working directory.
FORBIDDEN = {
    "open", "creat", "access", "stat", "lstat", "readlink", "mkdir", "rmdir", "unlink", "rename",
    "symlink", "link", "mknod", "chmod", "chown", "mount", "pivot_root", "chroot",
    "mmap", "mremap", "munmap", "mprotect", "brk", "futex",
    "clone", "clone3", "fork", "vfork", "execve", "execveat",
    "unshare", "setns", "setuid", "setgid", "setresuid", "setresgid", "setfsuid", "setfsgid",
    "setgroups", "capset", "umask", "chdir", "fchdir", "rt_sigaction", "rt_sigprocmask",
}  # fmt: skip


class Skip(Exception):
    """Why nothing could be tested."""


def trace(simhost, host_dir, make_rootfs, runtime):
    """The lines of each process of the run, by process id."""
    if shutil.which("strace") is None:
        raise Skip("no strace")
    if subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode != 0:
        raise Skip("strace may not trace here")
    with tempfile.TemporaryDirectory(prefix="attach-trace-") as directory:
        rootfs = Path(directory, "root")
        log = Path(directory, "trace")
        subprocess.run([make_rootfs, rootfs, "true"], check=True)
        command = ["strace", "-f", "-s", "256", "-o", log, runtime, rootfs, "/bin/true"]
        run = subprocess.run([*recorded_host.command(simhost, host_dir), *command], check=False)
        if run.returncode != 0:
            raise SystemExit(f"the runtime ended with {run.returncode}")
        lines = collections.defaultdict(list)
        for line in log.read_text(errors="replace").splitlines():
            process, _, call = line.partition(" ")
            lines[process].append(call.strip())
        return lines


def between_marks(processes):
    """The calls between the marks, which one process alone has set."""
    marked = [
        calls for calls in processes.values() if any(call.startswith(BEGIN) for call in calls)
    ]
    if len(marked) != 1:
        raise SystemExit(f"{len(marked)} processes attach")
    calls = marked[0]
    begin = next(i for i, call in enumerate(calls) if call.startswith(BEGIN))
    end = next((i for i, call in enumerate(calls) if call.startswith(END)), None)
    if end is None:
        raise SystemExit("the attach does not end")
    return calls[begin + 1 : end]


def problem(call):
    """What is wrong with a system call, as strace prints it; None when nothing is."""
    # A call that another process's line interrupts goes on in a line of its own.
    if call.startswith("<... "):
        return None
    match = re.match(r"(\w+)\(", call)
    if match is None:
        return "no system call"
    name = match[1]
    # Where a descriptor's directory is: what is mounted below it is known by paths.
    if re.match(r'readlink\("/proc/thread-self/fd/\d+", ', call):
        return None
    if name in FORBIDDEN:
        return f"{name}() is not allowed here"
    # What lay over a directory while its overlay was made is taken off by descriptor.
    if name == "umount2" and not re.match(r'umount2\("/proc/thread-self/fd/\d+", MNT_DETACH', call):
        return "an unmount by path"
    if "AT_FDCWD" in call:
        return "relative to the working directory"
    # openat2 with RESOLVE_IN_ROOT takes an absolute path as one below its descriptor.
    if re.match(r'\w+at\(\d+, "/', call):
        return "an absolute path"
    if name == "openat2" and not re.search(r"RESOLVE_(IN_ROOT|BENEATH|NO_XDEV)", call):
        return "not confined to the root"
    return None


def main(arguments):
    if len(arguments) != 4:
        raise SystemExit(__doc__)
    calls = between_marks(trace(*arguments))
    problems = [(call, what) for call in calls if (what := problem(call)) is not None]
    for call, what in problems:
        print(f"{what}: {call}")
    matches = (re.match(r"(\w+)\(", call) for call in calls)
    names = collections.Counter(match[1] for match in matches if match is not None)
    print(f"{len(calls)} calls:", ", ".join(f"{n} {name}" for name, n in sorted(names.items())))
    if not any(name == "move_mount" for name in names):
        print("nothing was attached")
        return 1
    return 1 if problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Skip as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
