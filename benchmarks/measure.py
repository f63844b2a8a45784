# SPDX-License-Identifier: MIT
"""What the benchmark scripts have in common."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/support"))

# pylint: disable=wrong-import-position
import recorded_host

SOURCE = Path(__file__).resolve().parent.parent
WARM_UP_RUNS = 3
SKIPPED = 77


def require_privilege():
    if subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        print("left out: mount namespaces need CAP_SYS_ADMIN", file=sys.stderr)
        raise SystemExit(SKIPPED)


def on_host(build, host, script, arguments):
    """Runs a script on a simulated host, or on this one, in a mount namespace of its own."""
    command = ["unshare", "-m", "--propagation", "private", sys.executable, script, *arguments]
    if host:
        # carriers would add thousands of mounts to the namespace that is measured
        command = [*recorded_host.command(build / "tests/simhost/gpuctr-simhost", host, "--sysfs",
                                          "plain"), *command]  # fmt: skip
    return [str(word) for word in command]


def make_rootfs(directory):
    """A root file system on a mount of its own, and a directory for journals."""
    rootfs, state = directory / "root", directory / "state"
    if not rootfs.exists():
        subprocess.run([SOURCE / "tests/support/make-rootfs", rootfs], check=True)
    state.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", rootfs, rootfs], check=True)
    return rootfs, state


def spawn(command):
    """Milliseconds from the start of a process to its end."""
    with open(os.devnull, "wb") as null:
        actions = [(os.POSIX_SPAWN_DUP2, null.fileno(), 1)]
        start = time.perf_counter()
        process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
        _, status = os.waitpid(process, 0)
        taken = time.perf_counter() - start
    if status != 0:
        raise SystemExit(f"{' '.join(command)}: exit {os.waitstatus_to_exitcode(status)}")
    return taken * 1e3


def processes(runs, commands):
    """The times of each of some commands, run in turn."""
    commands = [[str(word) for word in command] for command in commands]
    rows = [[spawn(command) for command in commands] for _ in range(WARM_UP_RUNS + runs)]
    return list(zip(*rows[WARM_UP_RUNS:]))


def median(times):
    return sorted(times)[len(times) // 2]


def peak_memory(build, command):
    """Most memory that a process had, in MiB."""
    run = subprocess.run([build / "benchmarks/peak_memory", *command], check=True, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
    return int(run.stdout) / 1024


def google_benchmark(program, repetitions, *arguments):
    """{name: {"median": ..., "min": ..., ...}} in us, and what the program says of itself."""
    command = [program, "--benchmark_format=json", "--benchmark_report_aggregates_only",
               f"--benchmark_repetitions={max(repetitions, 2)}", *arguments]  # fmt: skip
    run = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)  # fmt: skip
    output = json.loads(run.stdout)
    figures = {}
    for row in output["benchmarks"]:
        if "error_message" in row:
            raise SystemExit(f"{row['run_name']}: {row['error_message']}")
        name = row["run_name"].split("/iterations")[0]
        figures.setdefault(name, {})[row["aggregate_name"]] = row["real_time"]
    return figures, output["context"]


def library(build, directory, repetitions, devices="all"):
    """The library's calls, on the root file system of make_rootfs()."""
    program = build / "benchmarks/library_benchmark"
    places = [directory / "root", directory / "state", directory / "staged"]
    return google_benchmark(program, repetitions, *places, devices)


def detection(build, repetitions):
    """The parts of detection."""
    return google_benchmark(build / "benchmarks/detection_benchmark", repetitions)[0]
