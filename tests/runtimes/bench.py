# SPDX-License-Identifier: MIT
"""What a row of the table is tried with, and how its outcome is judged."""

import os
import pathlib
import re
import subprocess
import sys
import sysconfig

import world

sys.path.insert(0, str(world.TESTS / "cli"))

# pylint: disable=wrong-import-position
import mount_table
import snapshot

WORKS = "works"
CHOSEN = "0,3"
NODES = ["nvidia-uvm", "nvidia-uvm-tools", "nvidia0", "nvidia3", "nvidiactl"]
GPUS = re.compile(r"nvidia\d+")
TIMEOUT = 60

# Run in the container. What opening a node comes to is what the shell says.
PROBE = """
PATH=/usr/sbin:/usr/bin:/sbin:/bin
for node in /dev/nvidia*; do
    [ ! -c "$node" ] || echo "node ${node#/dev/}: $({ : <"$node"; } 2>&1)"
done
echo "cache: $(ldconfig -p | sed -n 's/.*libcuda\\.so\\.1 .* => //p' | head -n 1)"
echo "library: $(opens_driver libcuda.so.1 2>&1)"
"""
TREE_LIBRARY = "/usr/lib/gpuctr/lib64/libcuda.so"
OWN_LIBRARY = f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}/libcuda.so"
# Of loaders of either family of distributions, with the places below that they search.
DEFAULT_LIBRARIES = tuple(
    f"{directory}/{place}libcuda.so"
    for directory in (OWN_LIBRARY.rpartition("/")[0], "/usr/lib64", "/lib64")
    for place in ("", "tls/", "glibc-hwcaps/x86-64-v2/")) + ("/usr/local/nvidia/lib64/libcuda.so",)
# The recorded host has no driver behind its nodes.
OPENED = ("", "No such device or address")


class Failed(Exception):
    """Of a program, not of an expectation; with what it said."""


def gist(text):
    """What gpuctr-setup says was wrong, also where a runtime quotes it, or the last line."""
    if own := re.search(r"gpuctr-setup: .*?(?=\\n|\n|$)", text):
        return re.sub(r"(device cgroup) /\S+", r"\1", own[0])  # a group of another name each time
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "nothing said"


class Probe:
    """What a container's process saw."""

    def __init__(self, text, library=TREE_LIBRARY, in_cache=True):
        self.wanted, self.in_cache = library, in_cache
        self.nodes = {}
        self.cache = self.library = None
        for line in text.replace("\r", "").splitlines():
            kind, _, said = line.partition(": ")
            if kind.startswith("node "):
                self.nodes[kind.removeprefix("node ")] = said.rsplit(": ", 1)[-1].strip()
            elif kind == "cache":
                self.cache = said
            elif kind == "library":
                self.library = said
        if self.library is None:
            raise Failed(f"no outcome: {gist(text)}")

    def found_library(self):
        cached = (self.cache or "").startswith(self.wanted) if self.in_cache else not self.cache
        return cached and self.library.startswith(self.wanted)

    def problems(self):
        found = []
        missing = [name for name in NODES if name not in self.nodes]
        more = [name for name in self.nodes if GPUS.fullmatch(name) and name not in NODES]
        if missing:
            found.append("no nodes" if not self.nodes else f"not {', '.join(missing)}")
        if more:
            found.append("nodes of all GPUs" if len(more) == 6 else f"also {', '.join(more)}")
        if not self.found_library():
            found.append("libcuda is not found")
        refused = {said for name, said in self.nodes.items() if name in NODES} - set(OPENED)
        found += [f"open: {said}" for said in sorted(refused)]
        return found

    def remains(self, before):
        """What an undo left of what was not there before."""
        found = [f"{name} after undo" for name in self.nodes if name not in before.nodes]
        if self.found_library():
            found.append("libcuda after undo")
        return found


class Bench:
    """A fresh root file system, and a directory for what a runtime keeps."""

    def __init__(self, directory, setup, template):
        self.directory = pathlib.Path(directory)
        self.command = setup
        self.image = self.directory / "image"
        self.work = self.directory / "work"
        self.state = self.directory / "state"
        self.work.mkdir(parents=True)
        self.state.mkdir()
        self.must("cp", "-a", template, self.image)
        self.environment = dict(os.environ, HOME=str(self.work), USER="root",
                                XDG_RUNTIME_DIR=str(self.work))
        self.mounts = mount_table.read()
        self.before = None

    def call(self, *words, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.STDOUT, "text": True, "errors": "replace",
                   "timeout": TIMEOUT, "check": False,
                   "env": getattr(self, "environment", None), "cwd": self.directory} | options
        try:
            return subprocess.run([str(word) for word in words], **options)
        except FileNotFoundError as error:
            raise Failed(f"{error.filename} is not there") from error
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{words[0]} does not end") from error

    def must(self, *words, **options):
        done = self.call(*words, **options)
        if done.returncode != 0:
            raise Failed(f"{pathlib.Path(words[0]).name}: exit status {done.returncode}: "
                         f"{gist(done.stdout)}")
        return done.stdout

    def setup_words(self, *words):
        return [self.command, *words, "--state-dir", str(self.state)]

    def apply(self, *words, as_user=()):
        """The set-up that each row is about."""
        return self.setup("--nv", "--device", CHOSEN, *words, as_user=as_user)

    def setup(self, *words, as_user=()):
        done = self.call(*as_user, *self.setup_words(*words))
        if done.returncode != 0:
            raise Failed(f"exit {done.returncode}: "
                         f"{gist(done.stdout).removeprefix('gpuctr-setup: ')}")
        return done.stdout

    def nodes(self):
        return [f"/dev/{name}" for name in NODES]

    def remember(self, image):
        """How it was before a set-up."""
        self.before = image, snapshot.take(image)

    def left(self):
        """What is there still that was not before."""
        found = [f"mount {m.target}" for m in mount_table.read() if m not in self.mounts]
        found += [f"journal {path.name}" for path in self.state.glob("*/*.json*")]
        if self.before is not None:
            image, before = self.before
            found += snapshot.difference(before, snapshot.take(image), ("mtime",))
        return found
