# SPDX-License-Identifier: MIT
"""Some hundred reports of strangers, replayed in a bare system: it is as before.

Files (type, mode, owner, size, content), mounts, processes and sysctls are compared before and after.
GPUCTR_HOSTILE_REPORTS: how many for root, and half as many for a user. GPUCTR_HOSTILE_SEED: the first.
"""

import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest

import bare_system
import hostile_fields
import reports

COUNT = int(os.environ.get("GPUCTR_HOSTILE_REPORTS", "40"))
SEED = int(os.environ.get("GPUCTR_HOSTILE_SEED", "1"))
CODE = pathlib.Path(os.environ["GPUCTR_HOSTILE_CODE"]).read_bytes()
HOST = pathlib.Path(os.environ["GPUCTR_HOST_DIR"])
TIMEOUT = 60 * int(os.environ.get("GPUCTR_TEST_SLOWNESS", "1"))
BATCH = 10
# What somebody does with a report, and what the worst one could do.
LOOK = """
gpuctr-setup list -v; gpuctr-setup plan --nv; simhost_probe libcuda.so.1; nvidia-smi; ldconfig -p
gpuctr-setup cdi generate --install; gpuctr-setup plan --device nvidia.com/gpu=all; cat /etc/cdi/*
ls -R /dev /sys/class >/dev/null
find /dev /sys/class /usr/lib -name '*nvidia*' -exec sh -c ': <"$1"' sh {} \\;
"""
# An engine of containers that trusts what it finds.
HOOKS = "for hook in /etc/cdi/attack.json /etc/containers/oci/hooks.d/*; do [ -s $hook ] && sh $hook; done"
COMMANDS = [LOOK, LOOK, HOOKS, hostile_fields.ATTACK]
OPTIONS = [[], [], ["--sysfs", "plain"], ["--map-root"], ["--no-devices"], ["--work", "/work"],
           ["--nodes", "/dev"]]


def recorded_host(most=None):
    """Of its files the first `most` of the driver: they take time and are all alike."""
    members = {str(path.relative_to(HOST)): path.read_bytes()
               for path in HOST.rglob("*") if path.is_file()}
    lines = [line.split("\t") for line in members["files.tsv"].decode().splitlines()]
    names = [name.strip("#") for name in lines[0]]
    rows = [dict(zip(names, line)) for line in lines[1:] if not most or "nvidia" in line[0]][:most]
    members["files.tsv"] = "\n".join(
        ["#" + "\t".join(reports.COLUMNS), *(reports.row(**row) for row in rows), ""]).encode()
    return members


def make(directory, seed, host):
    report = hostile_fields.Attacker(seed, host, CODE).make()
    path = directory / f"{seed}.tar"
    if seed % 5 == 0:
        path = directory / str(seed)
        report.write_folder(path)
    else:
        report.write(path)
    return "/reports/" + path.name


def replay(path, user):
    """What a replay printed. What it may do depends on nothing but the report's name."""
    choose = random.Random(path)
    words = ["gpuctr-simhost", *choose.choice(OPTIONS), path, "--", "sh", "-c", choose.choice(COMMANDS)]
    identity = {"user": user, "group": user, "extra_groups": []} if user else {}
    done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT,
                          check=False, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, **identity)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def replay_all(paths, user):
    """What gave way, as lines; how many commands were run, and why the others were not."""
    found, refusals, ran = [], [], 0
    before = bare_system.manifest()
    for start in range(0, len(paths), BATCH):
        batch = paths[start:start + BATCH]
        for path in batch:
            status, output = replay(path, user)
            ran += status != 125
            refusals += output.splitlines()[-1:] if status == 125 else []
            found += [f"{path}: {line}" for line in output.splitlines()
                      if "CODE OF THE REPORT RAN" in line or line.startswith("ATTACK:")]
            if status < 0 or status in (128 + 6, 128 + 11):
                found.append(f"{path}: ended with {status}: {output}")
            found += [f"{path}: a control character: {line!r}" for line in output.split("\n")
                      if line.startswith("gpuctr-simhost: ") and not line.isprintable()]
        after = bare_system.manifest()
        found += [f"{', '.join(batch)}: {line}" for line in bare_system.difference(before, after)]
        if found:
            break
    return found, ran, refusals


class HostileReports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("a bare system needs root")
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        directory = pathlib.Path(cls.place.name)
        directory.chmod(0o755)
        cls.system = bare_system.BareSystem(
            directory, os.environ["GPUCTR_MAKE_ROOTFS"],
            [os.environ[name] for name in ("GPUCTR_SIMHOST", "GPUCTR_SIMHOST_PROBE", "GPUCTR_SETUP")])
        (cls.system.root / "work").chmod(0o755)
        try:
            cls.system.call(bare_system.sysctls)
        except RuntimeError as error:
            if os.environ.get("CI") == "true":
                raise
            raise unittest.SkipTest(f"no bare system: {error}") from error

    def assert_changes_nothing(self, first, count, user):
        directory = self.system.root / "reports"
        host = recorded_host(most=40)
        paths = [make(directory, seed, host) for seed in range(first, first + count)]
        self.addCleanup(lambda: [shutil.rmtree(path) if path.is_dir() else path.unlink()
                                 for path in directory.iterdir()])
        found, ran, refusals = self.system.call(lambda: replay_all(paths, user))
        self.assertEqual(found, [])
        self.assertGreater(ran, count // 4, f"{refusals}\nmost reports were refused, so this shows little")

    def test_a_report_is_replayed_as_documented(self):
        reports.write(self.system.root / "reports/host.tar", recorded_host())
        self.addCleanup((self.system.root / "reports/host.tar").unlink)
        script = """cd /reports && gpuctr-simhost host.tar -- gpuctr-setup list &&
            gpuctr-simhost -q --import host.tar "/tmp/$(id -u)" &&
            gpuctr-simhost -q --trusted "/tmp/$(id -u)" -- gpuctr-setup list && rm -r "/tmp/$(id -u)" """
        for user in 0, bare_system.USER:
            identity = {"user": user, "group": user, "extra_groups": []} if user else {}
            done = self.system.call(lambda identity=identity: subprocess.run(
                ["sh", "-c", script], capture_output=True, text=True, check=False, timeout=TIMEOUT,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, **identity))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.count("NVIDIA H200"), 16, done.stdout)

    def test_the_machine_is_as_before_for_root(self):
        self.assert_changes_nothing(SEED, COUNT, 0)

    def test_the_machine_is_as_before_for_a_user(self):
        self.assert_changes_nothing(SEED + COUNT, (COUNT + 1) // 2, bare_system.USER)


if __name__ == "__main__":
    unittest.main(verbosity=2)
