# SPDX-License-Identifier: MIT
"""What a stranger's report cannot do to who replays it.

Each test writes a report that did something to the machine before reports were checked in this way.
GPUCTR_HOSTILE_CODE is a library that says on standard output that it runs.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import reports

SIMHOST, PROBE = os.environ["GPUCTR_SIMHOST"], os.environ["GPUCTR_SIMHOST_PROBE"]
CODE = pathlib.Path(os.environ["GPUCTR_HOSTILE_CODE"]).read_bytes()
TIMEOUT = 60 * int(os.environ.get("GPUCTR_TEST_SLOWNESS", "1"))
RAN = "CODE OF THE REPORT RAN"
CUDA = "/usr/lib/x86_64-linux-gnu/libcuda.so.580.1"
DATA = "/usr/share/nvidia/data.json"  # in a directory of a driver


def replay(report, *words, options=()):
    return subprocess.run([SIMHOST, "-q", *options, str(report), "--", *words], text=True,
                          capture_output=True, timeout=TIMEOUT, check=False)


class Replay(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.directory.chmod(0o755)
        done = replay(self.write({}), "true")
        if done.returncode == 125:
            if os.environ.get("CI") == "true":
                self.fail(done.stderr)
            self.skipTest(done.stderr)

    def write(self, members):
        return reports.write(self.directory / "host.tar", members)


class Code(Replay):
    """Bytes of a report are no code, whatever leads to them."""

    def assert_does_not_run(self, rows, cache=(), content=None, command=None):
        report = self.write({
            "files.tsv": [reports.row(DATA, size=len(CODE)), *rows],
            "ld.so.cache": reports.loader_cache(cache or [("libcuda.so.1", CUDA)]),
            f"content{DATA}": CODE, **(content or {})})
        for words in command or ([PROBE, "libcuda.so.1"], [PROBE, CUDA]):
            done = replay(report, *words)
            self.assertNotIn(RAN, done.stdout + done.stderr, words)

    def test_an_entry_of_the_loaders_cache_leads_to_data(self):
        self.assert_does_not_run([], [("libcuda.so.1", DATA)])
        self.assert_does_not_run([reports.library(CUDA, needed="libx.so.1")],
                                 [("libcuda.so.1", CUDA), ("libx.so.1", DATA)])

    def test_a_library_needs_data_by_its_path(self):
        self.assert_does_not_run([reports.library(CUDA, needed=f"{DATA},libc.so.6")])

    def test_a_library_finds_data_by_its_runpath(self):
        for column in ("runpath", "rpath"):
            for directory in (os.path.dirname(DATA), "$ORIGIN/../../share/nvidia"):
                self.assert_does_not_run([reports.library(
                    CUDA, needed="data.json", **{column: directory})])

    def test_data_has_the_name_of_a_library(self):
        path = "/usr/share/nvidia/libevil.so.1.json"
        self.assert_does_not_run(
            [reports.row(path, size=len(CODE)),
             reports.library(CUDA, needed="libevil.so.1.json", runpath="/usr/share/nvidia")],
            content={f"content{path}": CODE})

    def test_a_library_finds_those_of_any_user(self):
        (self.directory / "libevil.so").write_bytes(CODE)
        for column in ("runpath", "rpath"):
            self.assert_does_not_run([reports.library(
                CUDA, needed="libevil.so", **{column: str(self.directory)})])
        for recorded in ([], [reports.library(f"{self.directory}/libother.so")]):
            self.assert_does_not_run(
                [*recorded, reports.library(CUDA, needed="libevil.so", runpath=f"{self.directory}")],
                [("libcuda.so.1", CUDA), ("libevil.so", f"{self.directory}/libevil.so")])

    def test_data_is_the_interpreter_of_a_program(self):
        program = "/usr/bin/nvidia-evil"
        self.assert_does_not_run(
            [reports.library(program, soname="", needed="libc.so.6", interpreter=DATA)],
            command=[["nvidia-evil"]])

    def test_hooks_of_containers_and_journals_are_no_data_of_drivers(self):
        hook = '{"version": "1.0.0", "hook": {"path": "/usr/bin/id"}, "stages": ["prestart"]}'
        paths = ["/etc/containers/oci/hooks.d/nvidia.json", "/var/lib/gpucontainer/1/x.json",
                 "/usr/share/containers/oci/hooks.d/nvidia-hook.json"]
        report = self.write({"files.tsv": [reports.row(path, size=len(hook)) for path in paths],
                             **{f"content{path}": hook for path in paths}})
        done = replay(report, "sh", "-c", 'cat -- "$@" 2>/dev/null', "sh", *paths)
        self.assertEqual(done.stdout.replace("\0", ""), "")


class Paths(Replay):
    """Fields of a report lead to no name of the machine."""

    def test_fields_of_devices_remove_and_make_nothing(self):
        victim = self.directory / "victim"
        victim.write_text("mine", encoding="utf-8")
        up = "../" * 12
        here = str(self.directory).strip("/")
        for lines in (f"E: SUBSYSTEM={up}{here}",
                      f"E: SUBSYSTEM=x\nE: MAJOR={up}{here}/victim\\\nE: MINOR=0",
                      f"E: MAJOR=1\nE: MINOR=/{up}{here}/victim\nE: SUBSYSTEM=x",
                      f"E: SUBSYSTEM=x\nL: driver={up}{here}/..",
                      f"E: SUBSYSTEM=x\nA: {up}{here}/victim=x"):
            with self.subTest(lines=lines):
                report = self.write({"sys.umockdev": f"P: /devices/victim\n{lines}\n"})
                replay(report, "true", options=("--sysfs", "plain"))
                self.assertEqual(sorted(os.listdir(self.directory)), ["host.tar", "victim"])
                self.assertFalse(victim.is_symlink())
                self.assertEqual(victim.read_text(encoding="utf-8"), "mine")


class World(Replay):
    """Who replays gives no privilege away, whatever runs there."""

    def seen(self, script, *options, **keywords):
        done = subprocess.run(
            [SIMHOST, "-q", *options, str(self.write({})), "--", "sh", "-c", script], text=True,
            capture_output=True, timeout=TIMEOUT, check=False, **keywords)
        return done.stdout.split()

    def test_root_is_nobody(self):
        if os.geteuid() != 0:
            self.skipTest("the caller is not root")
        self.assertEqual(self.seen("cat /proc/self/uid_map /proc/self/gid_map"),
                         ["0", "2000000000", "65536"] * 2)
        self.assertEqual(self.seen("id -u; id -G"), ["0", "0"])
        self.assertEqual(self.seen("cat /etc/shadow; chown 1 /dev/null && echo owned"), ["owned"])

    def test_the_machine_is_read_only(self):
        places = "/usr /etc /proc/sys/kernel /sys /usr/lib"
        self.assertEqual(self.seen(
            f"for i in {places}; do touch $i/none-such && echo $i; mount -o remount,rw,bind $i "
            "&& echo $i; done; echo x >/proc/sys/kernel/hostname && echo written"), [])
        self.assertEqual(self.seen("umount /proc/sys /usr /etc && echo unmounted"), [])

    def test_other_directories_are_its_own(self):
        self.assertEqual(self.seen("ls -A /tmp /home /root /srv /opt | grep -v :"), [])
        self.assertEqual(self.seen("touch /tmp/x /var/lib/x /run/x /root/x && echo done")[-1:],
                         ["done"] if os.geteuid() == 0 else self.seen("echo done"))
        self.assertFalse(os.path.exists("/var/lib/x"))

    def test_nothing_of_the_caller_comes_along(self):
        descriptor = os.open("/", os.O_RDONLY)
        self.addCleanup(os.close, descriptor)
        environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "LANG": "C", "LD_PRELOAD": "",
                       "GPUCTR_SECRET": "x", "HOME": "/root"}
        self.assertEqual(
            sorted(word.split("=")[0] for word in self.seen(
                "tr '\\0' '\\n' </proc/$$/environ", env=environment,
                pass_fds=[descriptor])), ["LANG", "PATH", "TERM"])
        self.assertEqual(self.seen("cd /proc/$$/fd && echo *", pass_fds=[descriptor])[:3],
                         ["0", "1", "2"])
        self.assertNotIn(str(descriptor),
                         self.seen("cd /proc/1/fd && echo *", pass_fds=[descriptor]))
        self.assertEqual(self.seen("grep NoNewPrivs /proc/self/status"), ["NoNewPrivs:", "1"])

    def test_namespaces_and_session_are_its_own(self):
        names = ("user", "mnt", "pid", "ipc", "net", "uts", "cgroup")
        seen = self.seen("cd /proc/self/ns && readlink " + " ".join(names))
        self.assertEqual(len(seen), len(names))
        for name, link in zip(names, seen):
            self.assertNotEqual(link, os.readlink(f"/proc/self/ns/{name}"))
        self.assertEqual(self.seen("ps -o sid= -p $$"), ["1"])

    def test_shows_what_is_asked_for(self):
        (self.directory / "file").write_text("x", encoding="utf-8")
        look = f"cat {self.directory}/file; touch {self.directory}/new && echo made"
        self.assertEqual(self.seen(look), [])
        self.assertEqual(self.seen(look, "--show", str(self.directory)), ["x"])
        self.directory.chmod(0o777)
        self.assertEqual(self.seen(look, "--show", str(self.directory)), ["x"])
        self.assertEqual(self.seen(look, "--work", str(self.directory)), ["xmade"])

    def test_a_folder_is_a_strangers(self):
        folder = self.directory / "host"
        (folder / "content/usr/share/nvidia").mkdir(parents=True)
        (folder / "files.tsv").write_text(
            "#" + "\t".join(reports.COLUMNS) + "\n" + reports.row(DATA) + "\n", encoding="utf-8")
        (folder / f"content{DATA}").symlink_to("/etc/passwd")
        done = replay(folder, "true")
        self.assertEqual(done.returncode, 125, done.stderr)
        (folder / f"content{DATA}").unlink()
        (folder / f"content{DATA}").write_bytes(CODE)
        self.assertEqual(replay(folder, "cat", DATA).stdout, "")

    def test_hands_on_the_status_of_the_command(self):
        report = self.write({})
        for words, status in (("true",), 0), (("sh", "-c", "exit 42"), 42), \
                (("sh", "-c", "kill -9 $$"), 137), (("/no/such",), 127), (("/etc/passwd",), 126):
            self.assertEqual(replay(report, *words).returncode, status, words)

    def test_the_machine_is_as_before(self):
        def state():
            table = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8")
            return [line for line in table.splitlines() if "gpuctr-simhost" in line], sorted(
                name for name in os.listdir("/dev") if name.startswith("nvidia"))
        before = state()
        for number in range(20):
            replay(self.write({"dev.txt": f"/dev/nvidia{number} c 195:{number} 0666 0 0\n",
                               "sys.umockdev": f"P: /devices/x{number}\nE: SUBSYSTEM=x\n",
                               "files.tsv": [reports.library(f"/opt/x{number}/lib/libx.so.1")]}),
                   "sh", "-c", "sleep 100 & true")
        self.assertEqual(state(), before)


if __name__ == "__main__":
    unittest.main(verbosity=2)
