# SPDX-License-Identifier: MIT
"""A report of a host, replayed, shows the same host.

    report_test.py [HOST_DIR...]

Each recorded or generated host is simulated, `gpuctr-setup report` is called there, and `list` and
`plan` on the host that the report describes are compared with those on the first one.
"""

import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import recorded_host

SETUP = os.environ["GPUCTR_SETUP"]
SIMHOST = os.environ["GPUCTR_SIMHOST"]
HOSTS = [pathlib.Path(path) for path in os.environ["GPUCTR_HOSTS"].split(":")]
BUILD = pathlib.Path(SETUP).parents[1]
TIMEOUT = 120 * int(os.environ.get("GPUCTR_TEST_SLOWNESS", "1"))
UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|(?<=GPU-)[0-9a-f]{16}\b")


# A node in a report whose number this machine may have gets one that is so much higher.
FREE_MAJORS = 3072


def run(*words, environment=None, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, timeout=TIMEOUT,
                          check=False, env=dict(os.environ, **(environment or {})), **options)


def on(host, *words, **options):
    """On a recorded host, or on that of a report, which is a stranger's."""
    if host.is_dir():
        return run(*recorded_host.command(SIMHOST, host, "--sysfs", "plain"), *words, **options)
    return run(SIMHOST, "-q", "--sysfs", "plain", "--show", BUILD, host, "--", *words, **options)


def roots(host):
    """The driver root of a host in which the driver is not in /."""
    known = {"operator": "/run/nvidia/driver", "nixos": "/run/nixos", "gh200": "/run/grace",
             "gb200": "/run/grace", "v100": "/run/power", "bottlerocket": "/run/bottlerocket"}
    return ["--driver-root", known[host.name]] if host.name in known else []


def without_file_system(value, replaced):
    """The same document without what the simulation makes, and with its identities numbered."""
    if isinstance(value, dict):
        return {name: size_in(member) if name == "id"
                else numbered(member, replaced) if name == "uuid" and member
                else recorded_number(name, member) if isinstance(member, int)
                else without_file_system(member, replaced)
                for name, member in value.items() if name != "fingerprint"}
    if isinstance(value, list):
        return [without_file_system(member, replaced) for member in value]
    if isinstance(value, str):
        return UUID.sub(lambda match: numbered(match[0], replaced), value)
    return value


def recorded_number(name, member):
    return member - FREE_MAJORS if name == "major" and member >= FREE_MAJORS else member


def size_in(identity):
    """Of the file that "DEVICE:INODE:SIZE:TIME" is."""
    return identity.split(":")[2]


def numbered(identity, replaced):
    return replaced.setdefault(UUID.search(identity)[0] if UUID.search(identity) else identity,
                               f"identity{len(replaced)}")


class RoundTrip(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        if on(HOSTS[0], "true").returncode == 125:
            self.skipTest("this machine allows no namespaces")

    def document(self, host, command, options):
        done = on(host, SETUP, command, "--json", *options)
        text = done.stdout or done.stderr
        return done.returncode, without_file_system(json.loads(text), {})

    def test_a_replayed_report_shows_the_same_host(self):
        for number, host in enumerate(HOSTS):
            with self.subTest(host=f"{host.parent.name}/{host.name}"):
                report = self.directory / f"{number}.tar"
                options = roots(host)
                done = on(host, SETUP, "report", "-q", *options, "-o", report)
                self.assertEqual(done.returncode, 0, done.stderr)
                for command in ("list", "plan"):
                    self.assertEqual(self.document(report, command, options),
                                     self.document(host, command, options), command)


class Contents(unittest.TestCase):
    """What is in a report, and what is not."""

    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        [self.host] = [host for host in HOSTS if host.name.startswith("h200")]
        if on(self.host, "true").returncode == 125:
            self.skipTest("this machine allows no namespaces")

    def report(self, *options, name="report.tar", environment=None):
        path = self.directory / name
        done = on(self.host, SETUP, "report", *options, "-o", path, environment=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        with tarfile.open(path) as archive:
            members = {member.name: archive.extractfile(member).read()
                       for member in archive.getmembers()}
        return path, members, done.stderr.decode()

    def test_has_the_members_of_a_recorded_host(self):
        path, members, _ = self.report()
        for name in ("files.tsv", "dev.txt", "sys.umockdev", "ld.so.cache", "ld.so.conf.txt",
                     "host.txt", "list.json", "plan.json", "proc/devices",
                     "proc/driver/nvidia/version", "sys/module/nvidia/version"):
            self.assertIn(name, members)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertEqual(json.loads(members["list.json"])["schema"], "gpucontainer/list/1")
        self.assertFalse([name for name, text in members.items() if text.startswith(b"\x7fELF")])

    def test_members_have_no_owner_and_no_time(self):
        path, _, _ = self.report()
        with tarfile.open(path) as archive:
            for member in archive.getmembers():
                self.assertEqual((member.uid, member.gid, member.mtime, member.uname, member.mode),
                                 (0, 0, 0, "", 0o644))

    def test_replaces_what_identifies_and_says_so(self):
        environment = {"USER": "grace.hopper", "LD_LIBRARY_PATH": "/home/grace.hopper/lib",
                       "CUDA_VISIBLE_DEVICES": "GPU-bc827fa3-8239-9aa5-d1ff-cd2c2f85b066"}
        _, members, said = self.report(environment=environment)
        everything = b"\0".join(members.values())
        original = on(self.host, "cat", "/proc/driver/nvidia/gpus/0000:00:06.0/information").stdout
        uuid = UUID.search(original.decode())[0]
        for secret in (uuid, "grace", os.uname().nodename):
            if len(secret) > 2:
                self.assertIsNone(re.search(rb"\b" + re.escape(secret.encode()) + rb"\b",
                                            everything), secret)
        self.assertIn(b"LD_LIBRARY_PATH=/home/user1/lib", members["host.txt"])
        # Control groups of this machine may have more.
        self.assertRegex(said, "replaced by made-up values: ([89]|[1-9][0-9]) UUIDs")
        for replaced in (b"([89]|[1-9][0-9]) UUIDs", b"1 name of a user"):
            self.assertRegex(members["host.txt"], b"replaced: " + replaced)

    def test_the_beginning_of_a_uuid_names_the_same_gpu(self):
        original = on(self.host, "cat", "/proc/driver/nvidia/gpus/0000:00:06.0/information").stdout
        beginning = UUID.search(original.decode())[0][:8]
        environment = {"CUDA_VISIBLE_DEVICES": f"GPU-{beginning}"}
        _, members, _ = self.report(environment=environment)
        replaced = UUID.search(
            members["proc/driver/nvidia/gpus/0000:00:06.0/information"].decode())[0]
        self.assertIn(f"CUDA_VISIBLE_DEVICES=GPU-{replaced[:8]}\n", members["host.txt"].decode())
        self.assertNotIn(beginning.encode(), b"\0".join(members.values()))

    def test_says_what_has_too_long_a_name(self):
        name = f"/run/cdi/{'n' * 101}.json"
        script = 'mount -t tmpfs test /run; mkdir /run/cdi; echo {} >"$0"; exec "$@"'
        done = on(self.host, "sh", "-euc", script, name, SETUP, "report", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            self.assertNotIn(f"content{name}", archive.getnames())
            said = archive.extractfile("host.txt").read().decode()
        self.assertIn(f"not recorded: content{name}: its name is too long for the archive", said)

    def test_the_same_value_has_the_same_replacement(self):
        _, members, _ = self.report()
        uuids = [UUID.search(text.decode())[0] for name, text in sorted(members.items())
                 if name.endswith("/information")]
        self.assertEqual(len(set(uuids)), 8)
        listed = [gpu["uuid"] for gpu in json.loads(members["list.json"])["drivers"][0]["gpus"]]
        self.assertEqual([f"GPU-{uuid}" for uuid in uuids], listed)

    def test_keeps_identities_if_asked(self):
        _, members, said = self.report("--with-identities")
        original = on(self.host, "cat", "/proc/driver/nvidia/gpus/0000:00:06.0/information").stdout
        self.assertEqual(members["proc/driver/nvidia/gpus/0000:00:06.0/information"], original)
        self.assertIn("nothing is replaced", said)

    def test_is_the_same_each_time(self):
        _, first, _ = self.report(name="1.tar")
        _, second, _ = self.report(name="2.tar")
        for members in (first, second):
            for name in ("list.json", "plan.json"):  # with the simulation's own file numbers
                members[name] = without_file_system(json.loads(members[name]), {})
        self.assertEqual(first, second)

    def test_goes_to_standard_output_but_not_to_a_terminal(self):
        done = on(self.host, SETUP, "report", "-q")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout[257:262], b"ustar")

    def test_an_ordinary_user_gets_one_too(self):
        if os.geteuid() != 0:
            self.skipTest("the caller is one")
        done = on(self.host, "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                  SETUP, "report")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout[257:262], b"ustar")

    def test_works_on_this_machine(self):
        path = self.directory / "own.tar"
        done = run(SETUP, "report", "-q", "-o", path)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertEqual(on(path, SETUP, "list").returncode, 0)

    def test_a_file_that_cannot_be_written_is_an_error(self):
        done = on(self.host, SETUP, "report", "-o", "/nonexistent/report.tar")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"report /nonexistent/report.tar: No such file or directory", done.stderr)

    def test_nothing_is_written_where_others_lead(self):
        target, link, fifo = (self.directory / name for name in ("target", "link", "fifo"))
        target.write_text("mine", encoding="utf-8")
        link.symlink_to(target)
        os.mkfifo(fifo)
        for path in (link, fifo):
            done = run(SETUP, "report", "-q", "-o", path)
            self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(target.read_text(encoding="utf-8"), "mine")

    def test_a_strangers_names_do_nothing_to_a_terminal(self):
        path = self.directory / "stranger.tar"
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
            for name, text in (("files.tsv", "#path\tkind\tmode\tsize\ttarget\n"),
                               ("content/opt/\x1b[31m", "x")):
                member = tarfile.TarInfo(name)
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text.encode()))
        done = run(SIMHOST, path, "--", "true")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"left out: /opt/?[31m", done.stderr)


if __name__ == "__main__":
    if len(sys.argv) > 1 and "/" in sys.argv[1]:
        HOSTS = [pathlib.Path(path).absolute() for path in sys.argv[1:]]
        del sys.argv[1:]
    unittest.main(verbosity=2)
