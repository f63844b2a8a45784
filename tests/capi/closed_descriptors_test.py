#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library leaves standard input, output and error to its caller, who has closed them.

Runs a program that makes each kind of call under strace on a simulated host. The kernel
gives the lowest number that is free: what the library opens as one of the three has to
be another by the next calls of the thread.

    closed_descriptors_test.py SIMHOST HOST_DIR PROGRAM

Exits with 77, a skip, where tracing is not possible.
"""

import collections
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import recorded_host

BEGIN = 'prctl(PR_SET_NAME, "call begins"'
END = 'prctl(PR_SET_NAME, "call ends"'
UNFINISHED = " <unfinished ...>"
STANDARD = (0, 1, 2)
OPENS = re.compile(
    r"(open|openat|openat2|open_tree|open_tree_attr|syscall_0x1d3|fsopen|fsmount|fspick|"
    r"pidfd_open|pidfd_getfd|dup|dup2|dup3|memfd_create|socket|accept4?|eventfd2?|signalfd4?|"
    r"timerfd_create|inotify_init1?|epoll_create1?|fanotify_init|userfaultfd|clone3?)\("
)


def traces(simhost, host_dir, program, closed):
    """The calls of each process between the marks."""
    with tempfile.TemporaryDirectory(prefix="closed-descriptors-") as directory:
        log = Path(directory, "trace")
        words = ["strace", "-f", "-s", "256", "-o", log, program, *map(str, closed)]
        run = subprocess.run([*recorded_host.command(simhost, host_dir), *words], check=False, text=True,
                             stdin=subprocess.DEVNULL, capture_output=True)
        if run.returncode != 0:
            raise SystemExit(f"closed {closed}: {run.returncode}: {run.stdout}{run.stderr}")
        calls = collections.defaultdict(list)
        begun = {}
        within = False
        for line in log.read_text(errors="replace").splitlines():
            process, _, call = line.partition(" ")
            call = begun.pop(process, "") + re.sub(r"^<\.\.\. \w+ resumed>", "", call.strip())
            if call.endswith(UNFINISHED):
                begun[process] = call.removesuffix(UNFINISHED)
            elif call.startswith((BEGIN, END)):
                within = call.startswith(BEGIN)
            elif within:
                calls[process].append(call)
        return calls


def opened(call):
    """Which of the three numbers a call has taken."""
    result = re.search(r"= (\d+)( \(.*\))?$", call)
    if OPENS.match(call) and result and int(result[1]) in STANDARD:
        return [int(result[1])]
    if re.match(r"fcntl\(\d+, F_DUPFD", call) and result and int(result[1]) in STANDARD:
        return [int(result[1])]
    pair = re.match(r"(socketpair|pipe2?)\(.*\[(\d+), (\d+)\]", call)
    if pair:
        return [int(number) for number in pair.groups()[1:] if int(number) in STANDARD]
    sent = re.match(r"recvmsg\(.*cmsg_data=\[([\d, ]*)\]", call)
    if sent:
        return [int(number) for number in sent[1].split(", ") if int(number) in STANDARD]
    return []


def problems(calls):
    """What stays one of the three for longer than it has to."""
    taken = collections.deque()
    found = []
    for call in calls:
        if taken:
            number, opening = taken[0]
            if re.match(rf"fcntl\({number}, F_DUPFD_CLOEXEC, 3\)", call):
                continue
            if re.match(rf"close\({number}\)", call):
                taken.popleft()
                continue
            found.append(f"{opening}, and then {call}")
            taken.clear()
        taken.extend((number, call) for number in opened(call))
    return found


def main(arguments):
    if len(arguments) != 3:
        raise SystemExit(__doc__)
    if shutil.which("strace") is None or subprocess.run(
            ["strace", "-o", "/dev/null", "true"], check=False).returncode != 0:
        print("skipped: strace may not trace here")
        return 77
    failed = False
    for count in STANDARD:
        for closed in itertools.combinations(STANDARD, count + 1):
            moved = 0
            for calls in traces(*arguments, closed).values():
                moved += sum(len(opened(call)) for call in calls)
                for problem in problems(calls):
                    print(f"closed {closed}: {problem}")
                    failed = True
            if moved < 100:
                raise SystemExit(f"closed {closed}: {moved} descriptors were opened as them")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
