# SPDX-License-Identifier: MIT
"""Replaying where the kernel refuses something, and what the process that replays owes its caller.

Each runs as the caller, and where that is root as user 1000, too.
"""

import ctypes
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

import reports

SIMHOST = os.environ["GPUCTR_SIMHOST"]
SECCOMP = os.environ["GPUCTR_SECCOMP"]
TIMEOUT = 60 * int(os.environ.get("GPUCTR_TEST_SLOWNESS", "1"))
USER, FIRST_ID = 1000, 2_000_000_000
IS_ROOT = os.geteuid() == 0
KEYCTL = {"x86_64": 250}.get(os.uname().machine, 219)
_libc = ctypes.CDLL(None, use_errno=True)


def needs_root(test):
    return unittest.skipUnless(IS_ROOT, "the caller is not root")(test)


def place_for_nodes():
    """/tmp of some distributions lets nobody open nodes."""
    places = [tempfile.gettempdir(), "/var/tmp"]
    return next((place for place in places if not os.statvfs(place).f_flag & os.ST_NODEV), places[0])


class Way(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory(dir=place_for_nodes())))
        self.directory.chmod(0o755)
        self.simhost = shutil.copy(SIMHOST, self.directory / "gpuctr-simhost")  # where all may read it
        done = self.replay("true")
        if done.returncode == 125:
            if os.environ.get("CI") == "true":
                self.fail(done.stderr)
            self.skipTest(done.stderr)

    def words(self, *command, options=("-q",), members=None, forbid="", user=0):
        words = [self.simhost, *options, reports.write(self.directory / "host.tar", members or {}), "--",
                 *command]
        if user:
            words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *words]
        if forbid:
            words = [sys.executable, "-B", SECCOMP, forbid, *words]
        return [str(word) for word in words]

    def replay(self, *command, run=(), **keywords):
        return subprocess.run(self.words(*command, **keywords), text=True, capture_output=True,
                              timeout=TIMEOUT, check=False, **dict(run))


class NoUserNamespaces(Way):
    """The kernel, or a filter of a container, forbids them."""

    IDENTITY = "id -u; id -G; grep -hE '^(Cap|NoNewPrivs)' /proc/self/status /proc/1/status; cat /etc/shadow"

    def assert_is_nobody(self, done):
        self.assertEqual(done.returncode, 1, done.stderr)  # of cat
        lines = done.stdout.split()
        self.assertEqual(lines[:2], [str(FIRST_ID)] * 2)
        values = list(zip(lines[2::2], lines[3::2]))
        self.assertEqual({int(value, 16) for name, value in values if name.startswith("Cap")}, {0})
        self.assertEqual([value for name, value in values if name == "NoNewPrivs:"], ["1", "1"])

    @needs_root
    def test_roots_command_is_nobody_without_a_capability(self):
        self.assert_is_nobody(self.replay("sh", "-c", self.IDENTITY, forbid="user_namespace:EPERM"))
        self.assert_is_nobody(self.replay("sh", "-c", self.IDENTITY, forbid="user_namespace:ENOSPC"))

    @needs_root
    def test_nothing_that_the_caller_keeps_by_securebits_stays(self):
        words = ["setpriv", "--securebits=+no_setuid_fixup", *self.words(
            "sh", "-c", self.IDENTITY, forbid="user_namespace:EPERM")]
        self.assert_is_nobody(subprocess.run(words, text=True, capture_output=True, timeout=TIMEOUT,
                                             check=False))

    @needs_root
    def test_what_needs_mounts_is_said(self):
        done = self.replay("sh", "-c", "mount -t tmpfs x /mnt", options=(), forbid="user_namespace:EPERM")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("left out: mounts of the command (this machine allows no user namespaces)", done.stderr)
        self.assertEqual(self.replay("mount", "-t", "tmpfs", "x", "/mnt").returncode, 0)

    @needs_root
    def test_the_machine_is_read_only(self):
        done = self.replay("sh", "-c", "for i in /usr /etc /sys /proc/sys/kernel; do touch $i/none-such && "
                           "echo $i; done; umount /usr && echo unmounted; unshare -r true && echo entered",
                           forbid="user_namespace:EPERM")
        self.assertEqual(done.stdout, "")

    def test_a_user_is_refused_with_the_reason(self):
        for user in (USER,) if IS_ROOT else ():
            done = self.replay("true", forbid="user_namespace:EPERM", user=user)
            self.assertEqual(done.returncode, 125)
            self.assertIn("user namespace", done.stderr)

    @needs_root
    def test_a_limit_of_none_is_the_same(self):
        """Root of a user namespace that has all ids, so that the limit is its own."""
        def enter():
            os.write(asking, b"?")
            os.read(waiting, 1)
        child = self.words("sh", "-c", self.IDENTITY)
        limited = ["sh", "-c", 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh", *child]
        to_parent, asking = os.pipe()
        waiting, to_child = os.pipe()
        pid = os.fork()
        if pid == 0:
            _libc.unshare(0x10000000)
            enter()
            output = os.open(self.directory / "out", os.O_WRONLY | os.O_CREAT, 0o666)
            os.dup2(output, 1)
            os.setresuid(0, 0, 0)
            os.execvp(limited[0], limited)
        os.read(to_parent, 1)
        for name in ("uid_map", "gid_map"):
            pathlib.Path(f"/proc/{pid}/{name}").write_text("0 0 4294967295", encoding="ascii")
        os.write(to_child, b"y")
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        for end in (to_parent, asking, waiting, to_child):
            os.close(end)
        self.assert_is_nobody(subprocess.CompletedProcess(
            limited, status, (self.directory / "out").read_text(encoding="utf-8"), ""))

    @needs_root
    def test_root_of_a_namespace_without_the_ids_is_told(self):
        done = subprocess.run(["unshare", "--user", "--map-root-user", *self.words("true")], text=True,
                              capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 125)
        self.assertIn("call it as an ordinary user", done.stderr)


class Users(Way):
    """An ordinary user keeps the one id."""

    def setUp(self):
        super().setUp()
        self.user = USER if IS_ROOT else 0

    def test_is_the_same_user(self):
        own = self.user or os.geteuid()
        done = self.replay("sh", "-c", "id -u; cat /proc/self/uid_map", user=self.user)
        self.assertEqual(done.stdout.split(), [str(own), str(own), str(own), "1"], done.stderr)
        done = self.replay("sh", "-c", "id -u; cat /proc/self/uid_map", options=("-q", "--map-root"),
                           user=self.user)
        self.assertEqual(done.stdout.split(), ["0", "0", "0", "1"], done.stderr)

    def test_sees_nothing_of_the_users(self):
        (self.directory / "secret").write_text("x", encoding="utf-8")
        look = (f"cat {self.directory}/secret; ls -A /home /root /tmp; touch /usr/none-such /etc/none-such; "
                "mount -o remount,rw,bind /usr && echo remounted; umount /etc && echo unmounted")
        done = self.replay("sh", "-c", look, user=self.user, options=("-q", "--map-root"))
        self.assertNotIn("x\n", done.stdout)
        self.assertNotIn("mounted\n", done.stdout)

    def test_namespaces_are_its_own(self):
        names = ("user", "mnt", "pid", "ipc", "net", "uts", "cgroup")
        done = self.replay("sh", "-c", "cd /proc/self/ns && readlink " + " ".join(names), user=self.user)
        self.assertEqual(len(done.stdout.split()), len(names), done.stderr)
        for name, link in zip(names, done.stdout.split()):
            self.assertNotEqual(link, os.readlink(f"/proc/self/ns/{name}"))


class Signals(Way):
    """They reach the command, and its end is the replay's."""

    def start(self, script):
        process = subprocess.Popen(self.words("sh", "-c", script), text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_are_handed_on(self):
        for name in ("INT", "TERM", "HUP", "QUIT"):
            process = self.start(f"trap 'echo got; exit 7' {name}; echo ready; while :; do sleep 0.1; done")
            process.send_signal(getattr(signal, "SIG" + name))
            self.assertEqual(process.stdout.read(), "got\n", name)
            self.assertEqual(process.wait(TIMEOUT), 7, name)

    def test_end_the_command_as_without_a_replay(self):
        process = self.start("echo ready; exec sleep 1000")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(TIMEOUT), 128 + signal.SIGTERM)

    def test_the_status_is_128_and_the_number(self):
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGUSR1):
            done = self.replay("sh", "-c", f"kill -{number} $$")
            self.assertEqual(done.returncode, 128 + number)

    def test_a_command_that_is_left_ends(self):
        process = self.start("sleep 1000 & echo ready; exec sleep 1000")
        process.kill()
        self.assertEqual(process.stdout.read(), "")  # nobody has it any more

    def test_others_end_with_the_command(self):
        process = self.start("sleep 1000 & echo ready; exit 3")
        self.assertEqual(process.wait(TIMEOUT), 3)
        self.assertEqual(process.stdout.read(), "")


class Nodes(Way):
    """--nodes DIR"""

    def setUp(self):
        super().setUp()
        self.nodes = self.directory / "nodes"
        self.nodes.mkdir()
        self.members = {"dev.txt": "".join(f"/dev/{name} c 195:{minor} 0666 0 0\n" for minor, name in
                                           enumerate(("nvidia0", "nvidia1", "notes", "link", "d/sub")))}

    def seen(self, script, user=0):
        return self.replay("sh", "-c", script, options=("-q", "--nodes", str(self.nodes)),
                           members=self.members, user=user).stdout

    @needs_root
    def test_are_used_where_they_are(self):
        os.mknod(self.nodes / "nvidia0", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        (self.nodes / "nvidia0").chmod(0o666)
        look = "stat -c %t:%T /dev/nvidia0; echo x >/dev/nvidia0 && echo written; ls -A /media"
        self.assertEqual(self.seen(look), "1:3\nwritten\n")
        self.assertEqual(self.seen(look, USER), "1:3\nwritten\n")
        self.assertNotEqual(self.seen("stat -c %t:%T /dev/nvidia1"), "1:3\n")
        os.mknod(self.directory / "sub", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        (self.nodes / "d").symlink_to(self.directory)
        self.assertNotEqual(self.seen("stat -c %t:%T /dev/d/sub"), "1:3\n")

    def test_are_nodes_and_nothing_else(self):
        for path in (self.nodes / "notes", self.directory / "elsewhere"):
            path.write_text("mine", encoding="utf-8")
            path.chmod(0o666)
        (self.nodes / "link").symlink_to(self.directory / "elsewhere")
        (self.nodes / "d").symlink_to(self.directory)
        (self.directory / "sub").write_text("mine", encoding="utf-8")
        (self.directory / "sub").chmod(0o666)
        self.directory.chmod(0o777)
        for user in (0, USER) if IS_ROOT else (0,):
            self.seen("for i in notes link d/sub; do echo evil >/dev/$i; done", user)
            for path in ("nodes/notes", "elsewhere", "sub"):
                self.assertEqual((self.directory / path).read_text(encoding="utf-8"), "mine", path)


class Shown(Way):
    """--show and --work, and what the world has of the machine."""

    def setUp(self):
        super().setUp()
        self.shown = self.directory / "shown"
        self.shown.mkdir()

    def show(self, script, option="--show", where=None, members=None):
        return self.replay("sh", "-c", script, options=("-q", option, str(where or self.shown)),
                           members=members)

    def test_directories_of_the_kernel_are_not_shown(self):
        for place in "/", "/proc", "/proc/sys", "/sys", "/dev", "/dev/shm":
            for option in "--show", "--work":
                self.assertEqual(self.show("true", option, place).returncode, 125, place)

    @needs_root
    def test_nodes_in_it_cannot_be_opened(self):
        os.mknod(self.shown / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        (self.shown / "null").chmod(0o666)
        for option in "--show", "--work":
            done = self.show(f"ls {self.shown}; : <{self.shown}/null && echo opened", option)
            self.assertEqual(done.stdout, "null\n")

    def test_a_report_does_not_say_where(self):
        name = next(entry.name for entry in os.scandir("/etc") if entry.is_dir(follow_symlinks=False))
        shown = self.shown / name
        shown.mkdir()
        (shown / "evil").write_text("", encoding="utf-8")
        members = {"files.tsv": [reports.row(str(self.shown), "l", "0777", target="/etc")]}
        done = self.show(f"ls /etc/{name}", where=shown, members=members)
        self.assertNotIn("evil", done.stdout)

    @needs_root
    def test_mounts_below_directories_of_the_machine_are_not_seen(self):
        script = 'mount -t tmpfs x /usr/src && touch /usr/src/secret && exec "$@"'
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", *self.words("ls", "/usr/src")],
                              text=True, capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("secret", done.stdout)

    def test_mounts_of_the_machine_and_the_kernel_are_read_only(self):
        done = self.replay("cat", "/proc/self/mountinfo", members={
            "proc/sys/kernel/osrelease": "5.15\n", "proc/devices": "195 nvidia\n", "proc/driver/x": "x"})
        options = {}
        for line in done.stdout.splitlines():
            fields = line.split()
            options.setdefault(fields[4], []).append(fields[5].split(","))
        for place in ("/usr", "/etc", "/sys", "/proc/sys", "/proc/driver", "/proc/devices",
                      "/proc/sys/kernel/osrelease"):
            self.assertTrue(options.get(place), place)
            for mount in options[place]:
                self.assertIn("ro", mount, place)
        self.assertEqual(len(options["/"]), 1, "the machine's root directory is over that of the world")


class Keyrings(Way):
    """A key of the caller's session is not the command's."""

    SEARCH = (f"import ctypes; c = ctypes.CDLL(None); "
              f"print(c.syscall({KEYCTL}, 10, -3, b'user', b'gpuctr-test', 0))")

    def test_the_session_keyring_is_new(self):
        def add():
            keyring = _libc.syscall(KEYCTL, 1, None)  # a new one for this test
            if keyring < 0:
                return
            _libc.syscall(KEYCTL - 2, b"user", b"gpuctr-test", b"secret", 6, keyring)
        control = subprocess.run([sys.executable, "-c", self.SEARCH], text=True, capture_output=True,
                                 preexec_fn=add, check=True)
        if control.stdout.strip() == "-1":
            self.skipTest("no keys here")
        done = self.replay("/usr/bin/python3", "-c", self.SEARCH, run={"preexec_fn": add}.items())
        self.assertEqual(done.stdout, "-1\n", done.stderr)


class Descriptors(Way):
    """Those above 2 are closed, also by the older way. Standard input is no way to the machine."""

    def test_a_file_that_is_read_is_not_written(self):
        path = self.directory / "file"
        script = ("read first; for i in /dev/stdin /proc/self/fd/0; do echo evil >>$i; done; read second; "
                  "echo $first $second")
        for user in (0, USER) if IS_ROOT else (0,):
            path.write_text("a\nb\nc\n", encoding="utf-8")
            path.chmod(0o666)
            os.chown(path, user or os.geteuid(), -1)
            with open(path, "rb", buffering=0) as file:
                file.seek(2)
                done = self.replay("sh", "-c", script, run={"stdin": file}.items(), user=user)
            self.assertEqual(done.stdout, "b c\n", done.stderr)
            self.assertEqual(path.read_text(encoding="utf-8"), "a\nb\nc\n")

    def test_a_directory_leads_nowhere(self):
        directory = os.open(self.directory, os.O_RDONLY)
        self.addCleanup(os.close, directory)
        done = self.replay("ls", "/proc/self/fd/0/", run={"stdin": directory}.items())
        self.assertEqual((done.returncode, done.stdout), (125, ""))

    def test_are_closed(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        os.dup2(writing, 57)
        os.close(writing)
        for forbid in "", "close_range:ENOSYS", "close_range:EPERM":
            words = self.words("sh", "-c", "readlink /proc/self/fd/57; (echo x >&57) 2>/dev/null && echo open",
                               forbid=forbid)
            done = subprocess.run(words, text=True, capture_output=True, pass_fds=[57], timeout=TIMEOUT,
                                  check=False)
            self.assertEqual(done.stdout, "", forbid)
        process = subprocess.Popen(self.words("sleep", "1000", forbid="close_range:ENOSYS"),
                                   pass_fds=[57])
        os.close(57)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)


if __name__ == "__main__":
    unittest.main(verbosity=2)
