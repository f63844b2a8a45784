# SPDX-License-Identifier: MIT
"""What container runtimes have in common: engines.py and sandboxes.py run each in the simplest
way that works in world.py's world.

Each can run a script in the root file system of a bench and tell what it printed, or
start a container there and tell a process of it and how to run a script in it."""

import contextlib
import glob
import os
import re
import shutil
import subprocess
import time

from bench import Failed, gist

SLEEP = ["sleep", "1000"]
SHELL = ["/bin/sh", "-c"]


def wait_for(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise Failed(f"{what} does not come")


@contextlib.contextmanager
def running(bench, *words, **options):
    """A process that is ended, with what it says in a file."""
    log = bench.work / "said"
    with open(log, "w", encoding="utf-8") as said:
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL,
                                   stdout=said, stderr=said, env=bench.environment,
                                   cwd=bench.directory, **options)
    process.said = lambda: log.read_text(errors="replace")
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def enter(bench, pid, user=()):
    """Runs a script as a further process of a container, which is that user's."""
    namespaces = ["--all"]
    if user:  # who may not enter a namespace again that is not the container's own
        own_processes = not os.path.samefile(f"/proc/{pid}/ns/pid", "/proc/self/ns/pid")
        namespaces = ["--user", "--preserve-credentials", "--mount",
                      *(["--pid"] if own_processes else [])]
    words = [*user, "nsenter", "--target", pid, *namespaces, "--root", "--wd=/"]
    return lambda script: bench.must(*words, *SHELL, script)


def contained(process, itself=False):
    """The process below that one, or that itself, that sleeps in a container."""
    own = os.stat("/")
    def look():
        if process.poll() is not None:
            raise Failed(f"{process.args[0]}: {gist(process.said())}")
        for child in [process.pid] if itself else descendants(process.pid):
            try:
                root = os.stat(f"/proc/{child}/root")
                command = open(f"/proc/{child}/cmdline", "rb").read()
            except OSError:
                continue
            if not os.path.samestat(root, own) and re.match(rb"(/usr/bin/)?sleep\0", command):
                return child
        return None
    return wait_for(look, "a process of the container")


def descendants(pid):
    found = [pid]
    for known in found:
        for thread in glob.glob(f"/proc/{known}/task/*/children"):
            try:
                with open(thread, encoding="ascii") as file:
                    found += [int(word) for word in file.read().split()]
            except OSError:
                pass
    return found[1:]


def shell_words(options):
    """The words that a shell makes of options as `plan --format` prints them."""
    script = f"printf '%s\\0' {options}"
    said = subprocess.run(["sh", "-euc", script], stdout=subprocess.PIPE, check=True).stdout
    return [word.decode() for word in said.split(b"\0")[:-1]] if options else []


class Program:
    """`name` is the command's, `package` Debian's."""

    name = package = None

    def version(self):
        """"" where it is not installed."""
        if shutil.which(self.name) is None:
            return ""
        said = subprocess.run([self.name, "--version"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False,
                              env=dict(os.environ, USER="root")).stdout
        return re.search(r"\d+(\.\d+)*", said)[0]

    def image_of(self, bench):
        """The root file system that its containers have."""
        return bench.image

    def run(self, bench, script, nodes=()):
        raise NotImplementedError

    def start(self, bench, nodes=()):
        raise NotImplementedError
