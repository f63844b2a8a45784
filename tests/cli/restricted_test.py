# SPDX-License-Identifier: MIT
"""Users whom sudoers allows gpuctr-setup --restricted, and what they try."""

import itertools
import os
import pathlib
import platform
import shutil
import stat
import subprocess
import unittest

import config_test
import harness
import toolkit_test
from config_test import CONFIG
from harness import DIRECTORY, ORDINARY_USER

UID, VIDEO, RENDER = 4242, 44, 107
GPUS = [f"nvidia{n}" for n in range(8)]
IMAGES = DIRECTORY / "images"
POLICY = f"restricted-user: gpu\nrestricted-rootfs: [{IMAGES}]\n"
USERS = f"""gpu:x:{UID}:{UID}::/home/gpu:/usr/sbin/nologin
second-root:x:0:{UID}::/:/bin/sh
of-roots-group:x:4243:0::/:/bin/sh
in-roots-group:x:4244:4244::/:/bin/sh
no-number:x:4294967295:{UID}::/:/bin/sh
no-group:x:4245:4294967295::/:/bin/sh
"""
GROUPS = f"gpu:x:{UID}:\ngpu-video:x:{VIDEO}:gpu\nroots:x:0:in-roots-group\n"
SECRET = DIRECTORY / "secret"


def setUpModule():
    config_test.setUpModule()
    for path, lines in (("/etc/passwd", USERS), ("/etc/group", GROUPS)):
        with open(path, "a", encoding="ascii") as file:
            file.write(lines)
    shutil.copy("/etc/nsswitch.conf", DIRECTORY / "nsswitch")
    pathlib.Path("/etc/nsswitch.conf").write_text("passwd: files\ngroup: files\n")


def tearDownModule():
    config_test.tearDownModule()


class Sudo(config_test.Config):
    """What sudo leaves of its caller: root's ids, and variables that say who he was."""

    def setUp(self):
        super().setUp()
        DIRECTORY.chmod(0o711)
        IMAGES.mkdir()
        self.addCleanup(shutil.rmtree, IMAGES)
        self.root = self.root.rename(IMAGES / "cuda")
        SECRET.write_text("of root alone\n")
        SECRET.chmod(0o600)
        self.addCleanup(SECRET.unlink)
        self.write(CONFIG, POLICY)
        self.before = self.state()

    def tearDown(self):
        self.assert_state(self.before)
        self.assertEqual(harness.journals(), [])
        super().tearDown()

    def sudo(self, *words, prefix=(), variables=None, **options):
        environment = {"PATH": os.environ["PATH"], "HOME": "/root", "USER": "root",
                       "LOGNAME": "root", "MAIL": "/var/mail/root", "SUDO_USER": "gpu",
                       "SUDO_UID": str(UID), "SUDO_GID": str(UID)} | (variables or {})
        return harness.call(*prefix, harness.SETUP, *words, env=environment, **options)

    def command(self, *words, options=(), restricted=("--restricted",), status=0, **call):
        done = self.sudo(*restricted, "--nv", "--rootfs", self.root, *options, "--", *words, **call)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def shell(self, script, **options):
        return self.command("sh", "-c", script, **options)

    def assert_refused(self, *words, statuses=(2, 6, 125), message=None, **options):
        """Neither is anything done nor does it say what only root may know."""
        done = self.sudo(*words, **options)
        self.assertIn(done.returncode, statuses, f"{words}: {done.stdout}{done.stderr}")
        self.assertEqual(done.stdout, "", words)
        self.assertNotIn("of root alone", done.stderr)
        if message is not None:
            self.assertIn(message, done.stderr, words)
        self.assert_state(self.before, message=str(words))
        self.assertEqual(harness.journals(), [], words)


class Command(Sudo):
    def test_has_the_toolkit_of_the_site_and_no_other(self):
        own, evil = (toolkit_test.make_toolkit(DIRECTORY / name, version)
                     for name, version in (("toolkit", "13.0"), ("other", "99.9")))
        for path in (own, evil):
            self.addCleanup(shutil.rmtree, path)
        self.write(CONFIG, f"{POLICY}cuda-toolkit: {own}\n")
        variables = {name: str(evil) for name in
                     ("CUDA_HOME", "CUDA_PATH", "GPUCTR_CUDA_TOOLKIT")}
        self.assertEqual(self.shell("/usr/local/cuda/bin/nvcc", variables=variables), "13.0\n")
        own.chmod(0o700)
        self.shell("/usr/local/cuda/bin/nvcc", status=2)

    def test_is_the_policys_user_with_his_groups_and_nothing_else(self):
        words = [harness.SETUP, "--restricted", "--nv", "--rootfs", str(self.root), "--", "sh",
                 "-c", "echo $$; read line"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as process:
            self.assertEqual(process.stdout.readline(), f"{process.pid}\n")
            lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
            maps = [pathlib.Path(f"/proc/{process.pid}/{name}").read_text().split()
                    for name in ("uid_map", "gid_map")]
            process.stdin.close()
        fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        self.assertEqual(fields["Uid"].split(), [str(UID)] * 4)
        self.assertEqual(fields["Gid"].split(), [str(UID)] * 4)
        self.assertEqual(fields["Groups"].split(), [str(VIDEO), str(UID)])
        self.assertEqual({fields[name] for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")},
                         {"0" * 16})
        self.assertEqual(fields["NoNewPrivs"], "1")
        self.assertEqual(maps, [[str(UID), str(UID), "1"]] * 2)

    def test_has_no_capability_whatever_the_caller_set(self):
        given = ["--inh-caps", "+sys_admin,+setuid,+setgid", "--ambient-caps", "+sys_admin"]
        for bits in ("+no_setuid_fixup", "+keep_caps_locked"):
            out = self.shell("grep -E '^(Cap(Inh|Prm|Eff|Amb)|Uid):' /proc/self/status",
                             prefix=["setpriv", "--securebits", bits, *given])
            values = [line.split()[1] for line in out.splitlines()]
            self.assertEqual(values, [str(UID)] + ["0" * 16] * 4, bits)

    def test_gets_the_gpus(self):
        self.assertEqual([n for n in self.command("ls", "/dev").split() if n in GPUS], GPUS)
        self.assertEqual(self.command("needs_driver").count("\n"), 2)

    def test_gets_what_its_user_may_use_and_not_what_root_may(self):
        for gpu, group in (("nvidia1", VIDEO), ("nvidia3", RENDER)):
            path = f"/dev/{gpu}"
            was = os.stat(path)
            self.addCleanup(os.chmod, path, stat.S_IMODE(was.st_mode))
            self.addCleanup(os.chown, path, was.st_uid, was.st_gid)
            os.chown(path, 0, group)
            os.chmod(path, 0o660)
        self.before = self.state()
        nodes = [n for n in self.command("ls", "/dev").split() if n in GPUS]
        self.assertEqual(nodes, [gpu for gpu in GPUS if gpu != "nvidia3"])
        self.assert_refused("--restricted", "--nv", "--rootfs", self.root, "--device", "3", "--",
                            "true", message="/dev/nvidia3: may not be used")
        done = self.sudo("list", "--restricted")
        self.assertRegex(done.stdout, "/dev/nvidia1 .* yes\n")
        self.assertRegex(done.stdout, "/dev/nvidia3 .* no\n")

    def test_cannot_reach_what_is_roots(self):
        for path in (SECRET, "/"):
            self.addCleanup(os.close, os.open(path, os.O_RDONLY))
        processes = f"/proc/self /proc/$$ /proc/1 /proc/{os.getpid()} /proc/{os.getppid()}"
        script = (f"cat {SECRET}; for process in {processes}; do "
                  "for p in $process/root $process/cwd $process/fd/*; do "
                  f"cat $p{SECRET} $p/..{SECRET}; [ -f $p ] && cat $p; done; done")
        count = f"({script}) 2>/dev/null </dev/null | grep -a -c 'of root alone'; true"
        self.assertNotEqual(self.shell(count, restricted=()), "0\n")
        self.assertEqual(self.shell(count), "0\n")
        self.assertEqual(self.shell("touch /etc/new || rm /etc/passwd || echo no"), "no\n")

    def test_gets_no_descriptor_but_the_first_three(self):
        for path in (SECRET, "/"):
            descriptor = os.open(path, os.O_RDONLY)
            self.addCleanup(os.close, descriptor)
            for restricted, more in (((), [str(descriptor)]), (("--restricted",), [])):
                out = self.shell("ls /proc/$$/fd; true", restricted=restricted,
                                 pass_fds=[descriptor])
                self.assertEqual(out.split(), ["0", "1", "2", *more])

    def test_gets_nothing_of_roots_variables(self):
        self.assertEqual(self.shell("echo $HOME $USER $LOGNAME $MAIL; pwd"),
                         "/home/gpu gpu gpu\n/\n")
        self.assertEqual(self.shell("echo $A", options=["--setenv", "A=b"]), "b\n")
        self.assertEqual(self.shell("echo $HOME $A", options=["--clean-env", "--setenv", "A=b"]),
                         "b\n")

    def test_gets_no_directory_of_the_host_by_a_variable(self):
        self.assertEqual(self.shell("echo $CUDA_MPS_PIPE_DIRECTORY",
                                    variables={"CUDA_MPS_PIPE_DIRECTORY": "/run"}), "\n")

    def test_gets_no_keys_of_the_session(self):
        python = shutil.which("python3", path="/usr/bin:/bin")
        numbers = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(platform.machine())
        if python is None or numbers is None:
            self.skipTest("no python3, or the numbers of its system calls are not known here")
        join, search, session = 1, 10, -3
        look = ("import ctypes; print(ctypes.CDLL(None).syscall("
                f"{numbers[1]}, {search}, {session}, b'user', b'ticket', 0) > 0)")
        script = (f"import ctypes, os, sys; call = ctypes.CDLL(None).syscall\n"
                  f"if call({numbers[1]}, {join}, None) < 0: sys.exit(77)\n"
                  f"if call({numbers[0]}, b'user', b'ticket', b'of root', 7, {session}) < 0: sys.exit(77)\n"
                  "os.execv(sys.argv[1], sys.argv[1:])")
        self.write(CONFIG, "restricted-user: gpu\nrootfs: /\n")
        for restricted, found in (((), "True\n"), (("--restricted",), "False\n")):
            done = self.sudo(*restricted, "--nv", "--vendor-libs", "none", "--", python, "-c", look,
                             prefix=[python, "-c", script])
            if done.returncode == 77:
                self.skipTest("no keys here")
            self.assertEqual((done.returncode, done.stdout), (0, found), done.stderr)

    def test_gets_what_an_administrator_set(self):
        self.write(CONFIG, f"restricted-user: gpu\nrootfs: {self.root}\n"
                           "bind: [/usr/share:/mnt:ro]\nallowed-devices: [2]\n")
        done = self.sudo("--restricted", "--nv", "--", "sh", "-c", "ls /mnt; ls /dev")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("doc\n", done.stdout)
        self.assertEqual([n for n in done.stdout.split() if n in GPUS], ["nvidia2"])
        self.assert_refused("--restricted", "--nv", "--device", "3", "--", "true",
                            message="GPU 3 is not one of the allowed devices")
        self.assert_refused("--restricted", "--nv", "--rootfs", self.root, "--", "true",
                            message="--rootfs: refused in a restricted call (error 6)\n"
                            "hint: an administrator sets restricted-rootfs in")

    def test_can_be_planned_and_its_gpus_listed(self):
        for words in (["plan", "--nv"], ["plan", "--nv", "--rootfs", self.root], ["list", "-v"],
                      ["list", "--nv", "--format", "json"], ["list", "--vendor", "nvidia"],
                      ["version"]):
            done = self.sudo("--restricted", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotEqual(done.stdout, "")


class Options(Sudo):
    """Each in each spelling and at each place."""

    FORBIDDEN = (
        ("--rootfs-fd", "0"), ("--pid", str(os.getpid())), ("--driver-root", "/"),
        ("--dev-root", "/"), ("--driver-version", harness.VERSION), ("--catalogue", str(SECRET)),
        ("--mig-map", str(SECRET)), ("--bind", "/:/mnt"), ("--write", "never"), ("--write", "auto"), ("--write", "always"),
        ("--tree-path", "/opt/driver"), ("--staged-tree", str(DIRECTORY / "tree")),
        ("--mount-label", "system_u:object_r:container_file_t:s0"), ("--backend", "assembled"),
        ("--state-dir", str(DIRECTORY / "state")), ("--allow-setuid",), ("--allow-setuid=false",),
        ("--allowed-devices", "all"), ("--restricted-rootfs", "/"), ("--restricted-user", "root"),
        ("--cuda-toolkit", "auto"), ("--request-env", "NVIDIA_IMEX_CHANNELS=all"), ("--cuda-toolkit", str(SECRET)),
        ("--host", str(SECRET)), ("--load-kmods",), ("--all",), ("--undo",), ("--restricted=false",),
        ("--restricted=0",), ("--no-restricted",),
    )
    BEHIND = ("--", "id", "-u")

    def spellings(self, option):
        yield list(option)
        if len(option) == 2:
            yield ["=".join(option)]
            yield [option[0][:-1], option[1]]
            yield [option[0], "", option[1]]
            if not option[0].startswith("--h"): # which asks for help
                yield [option[0][1:], option[1]]

    def places(self, words):
        root = [] if words[0].startswith(("--rootfs", "--pid")) else ["--rootfs", str(self.root)]
        rest = ["--nv", *root]
        yield ["--restricted", *words, *rest]
        yield ["--restricted", *rest, *words]
        yield ["--restricted", "apply", *rest, *words]
        yield ["-v", "apply", *words, *rest, "--restricted"]
        yield [*words, "--restricted", *rest]

    def test_that_give_more_than_gpus_are_refused(self):
        for option in self.FORBIDDEN:
            for spelling in self.spellings(option):
                for words in self.places(spelling):
                    self.assert_refused(*words, *self.BEHIND, statuses=(2, 125))

    def test_are_refused_to_plan_and_list_as_well(self):
        for option in self.FORBIDDEN:
            for spelling, command in itertools.product(self.spellings(option), ("plan", "list")):
                self.assert_refused("--restricted", command, "--nv", *spelling, statuses=(2, 6))
                self.assert_refused(command, *spelling, "--nv", "--restricted", statuses=(2, 6))

    def test_say_why_they_are_refused(self):
        self.assert_refused("--restricted", "--nv", "--rootfs", self.root, "--bind", "/", "--",
                            "true", message=(
            "gpuctr-setup: --bind: refused in a restricted call (error 6)\nhint: an administrator "
            f"sets it for all restricted calls in {CONFIG}\n"))

    def test_may_not_come_from_variables(self):
        variables = {"GPUCTR_BIND": "/etc:/mnt", "GPUCTR_ALLOW_SETUID": "true",
                     "GPUCTR_WRITE": "nonsense", "GPUCTR_DRIVER_ROOT": "/nowhere",
                     "GPUCTR_CATALOGUE": str(SECRET), "GPUCTR_DEVICE": "0",
                     "GPUCTR_RESTRICTED": "false", "GPUCTR_RESTRICTED_USER": "root",
                     "GPUCTR_RESTRICTED_ROOTFS": "/"}
        out = self.shell("ls /mnt; ls /dev; grep NoNewPrivs /proc/self/status; id -u",
                         variables=variables)
        self.assertNotIn("passwd", out)
        self.assertEqual([name for name in out.split() if name in GPUS], GPUS)
        self.assertTrue(out.endswith(f"NoNewPrivs:\t1\n{UID}\n"), out)
        self.assert_refused("--restricted", "--nv", *self.BEHIND, message="--rootfs is required",
                            variables={"GPUCTR_ROOTFS": str(self.root)})

    def test_do_not_come_by_variables_that_become_the_containers(self):
        self.write(CONFIG, POLICY + "image-env: auto\n")
        for name in ("SINGULARITYENV_NVIDIA_IMEX_CHANNELS", "APPTAINERENV_NVIDIA_IMEX_CHANNELS"):
            self.assert_refused("--restricted", "--nv", "--rootfs", self.root, *self.BEHIND,
                                variables={name: "all"}, message=f"{name}: refused")

    def test_are_not_chosen_by_variables_where_the_file_has_two(self):
        self.write(CONFIG, POLICY + "driver-root: /\nhost: /nowhere\n")
        self.assert_refused("--restricted", "list", variables={"GPUCTR_DRIVER_ROOT": "/"},
                            message=": host: host record /nowhere: No such file")

    def test_cannot_hide_the_one_that_restricts(self):
        for words in (["--setenv"], ["--device"], ["--chdir"], ["--layout"], ["--vendor-libs"]):
            self.assert_refused("--nv", "--rootfs", self.root, *words, "--restricted", *self.BEHIND)
        for option in ("--bind", "--tree-path", "--mount-label", "--staged-tree", "--driver-root"):
            self.assert_refused("--nv", "--rootfs", self.root, option, "--restricted", *self.BEHIND)
            self.assert_refused("plan", "--nv", option, "--restricted")
        self.assertEqual(self.command("id", "-u", options=["--setenv", "A=--restricted=false"]),
                         f"{UID}\n")


class Commands(Sudo):
    def test_that_change_something_or_tell_of_others_are_refused(self):
        staged = DIRECTORY / "staged"
        other = harness.new_root()
        self.addCleanup(shutil.rmtree, other)
        harness.must(harness.SETUP, "prepare", "--nv", "--staged-tree", staged)
        harness.must(harness.SETUP, "--nv", "--rootfs", other)
        mounts, journals = harness.mount_table.read(), harness.journals()

        for words in (["undo", "--rootfs", other], ["undo", "--all"], ["status", "--all"],
                      ["status", "--rootfs", other], ["prepare", "--nv"], ["prepare", "--undo"],
                      ["prepare", "--undo", "--staged-tree", staged],
                      ["apply", "--nv", "--rootfs", self.root], ["--nv", "--rootfs", self.root],
                      ["--nv", "--rootfs", self.root, "--write", "never"]):
            for line in (["--restricted", *words], [*words, "--restricted"]):
                done = self.sudo(*line)
                self.assertEqual((done.returncode, done.stdout), (6, ""), line)
                self.assertIn(": refused in a restricted call\n", done.stderr)
                self.assertEqual(harness.mount_table.read(), mounts, line)
                self.assertEqual(harness.journals(), journals, line)

        harness.must(harness.SETUP, "undo", "--rootfs", other)
        harness.must(harness.SETUP, "prepare", "--undo", "--staged-tree", staged)


class RootFileSystem(Sudo):
    def refused(self, root, message=None, **options):
        for words in (["--", "id", "-u"], ["--", "ls", "/"]):
            self.assert_refused("--restricted", "--nv", "--rootfs", root, *words, message=message,
                                **options)
        self.assert_refused("--restricted", "plan", "--nv", "--rootfs", root, statuses=(2, 5, 6))

    def test_is_below_a_directory_of_the_policy(self):
        beside = pathlib.Path(f"{IMAGES}-beside")
        beside.mkdir()
        self.addCleanup(beside.rmdir)
        for root in ("/", "/etc", DIRECTORY, beside, f"{IMAGES}/../images/cuda/../../../etc", ".",
                     "images/cuda", f"/{IMAGES}/cuda", f"{IMAGES}/../images-beside"):
            self.refused(root)
        for root in ("/etc", beside):
            self.refused(root, f"--rootfs {root}: refused in a restricted call (error 6)\n"
                         f"hint: restricted-rootfs allows {IMAGES}\n")
        for root in (f"{self.root}/", f"{IMAGES}//cuda", f"{IMAGES}/../cuda"):
            done = self.sudo("--restricted", "--nv", "--rootfs", root, "--", "id", "-u")
            self.assertEqual((done.returncode, done.stdout), (0, f"{UID}\n"), done.stderr)

    def test_is_not_where_a_link_leads_out(self):
        for number, target in enumerate(("/", "/etc", "..", "../..", "/proc/1/root", str(self.root))):
            link = IMAGES / f"link{number}"
            link.symlink_to(target)
            self.addCleanup(link.unlink, missing_ok=True)
            if target not in ("/", "..", "../.."): # those stay in the directory, which is no image
                self.refused(link)
            else:
                self.assert_refused("--restricted", "--nv", "--rootfs", link, "--", "ls", "/")
        inside = IMAGES / "inside"
        inside.symlink_to("/cuda")
        self.addCleanup(inside.unlink)
        done = self.sudo("--restricted", "--nv", "--rootfs", inside, "--", "id", "-u")
        self.assertEqual(done.stdout, f"{UID}\n", done.stderr)

    def test_is_not_where_somebody_else_decides_what_the_path_means(self):
        IMAGES.chmod(0o777)
        self.before = self.state()
        self.refused(self.root, "others may write it")
        IMAGES.chmod(0o1777)
        self.command("true")
        IMAGES.chmod(0o755)
        os.chown(IMAGES, UID, UID)
        self.refused(self.root, "belongs to somebody else")
        os.chown(IMAGES, 0, 0)
        DIRECTORY.chmod(0o775)
        self.refused(self.root, "others may write it or a directory above")
        DIRECTORY.chmod(0o711)
        other = DIRECTORY / "other"
        other.symlink_to(IMAGES)
        self.addCleanup(other.unlink)
        self.write(CONFIG, f"restricted-user: gpu\nrestricted-rootfs: {other}\n")
        self.refused(other / "cuda", f"restricted-rootfs: {other}")
        self.write(CONFIG, "restricted-user: gpu\nrestricted-rootfs: images\n")
        self.refused("images/cuda", "is not an absolute path")

    def test_is_looked_at_as_the_policys_user(self):
        self.root.chmod(0o700)
        self.before = self.state()
        self.refused(self.root)
        self.root.chmod(0o755)
        IMAGES.chmod(0o700)
        self.before = self.state()
        self.refused(self.root)


class Policy(Sudo):
    """What is wrong with it ends every call, also one that says nothing of it."""

    def assert_closed(self, message=None):
        for words in (["--nv", "--rootfs", self.root, "--", "id", "-u"], ["list"],
                      ["undo", "--rootfs", self.root]):
            self.assert_refused(*words, message=message)
            self.assert_refused("--restricted", *words)

    def test_that_is_broken(self):
        for text in ("restricted: maybe\n", "restricted: [true, true]\n", "restricted:\n",
                     "restricted: {user: gpu}\n", "restricted: true\nrestricted: false\n",
                     "restrict: true\n", "Restricted: true\n", "restricted-usr: gpu\n",
                     "restricted: true\n  user: gpu\n", "restricted: [true\n", "restricted\n",
                     "? restricted\n", "\0\1\2\n", "restricted: !!bool true\n", "restricted: yes\n",
                     "restricted: &a true\n", "%YAML 9\n---\nrestricted: true\n",
                     "---\nrestricted: true\n---\nnv: true\n", "#" * (1 << 18) + "\nnv: true\n"):
            with self.subTest(text[:40]):
                self.write(CONFIG, text)
                self.assert_closed()

    def test_that_is_not_roots(self):
        self.write(CONFIG, "restricted: true\n" + POLICY, mode=0o666)
        self.assert_closed("everybody may write it")
        os.chmod(CONFIG, 0o644)
        os.chown(CONFIG, UID, UID)
        self.assert_closed(f"belongs to user {UID}")

    def test_that_cannot_be_read(self):
        os.unlink(CONFIG)
        os.mkdir(CONFIG)
        self.assert_closed()
        os.rmdir(CONFIG)
        os.symlink("config.yaml", CONFIG)
        self.assert_closed()
        os.unlink(CONFIG)
        os.symlink("/nowhere/config.yaml", CONFIG)
        self.assert_closed()
        os.unlink(CONFIG)
        os.mkfifo(CONFIG)
        self.assert_closed()

    def test_that_names_no_ordinary_user(self):
        for user in ("root", "second-root", "of-roots-group", "in-roots-group", "no-number",
                     "no-group", "nobody-knows-him", "0", "+gpu", "[gpu, gpu]", "''"):
            self.write(CONFIG, f"restricted-user: {user}\nrestricted-rootfs: {IMAGES}\n")
            for words in (["list"], ["--nv", "--rootfs", self.root, "--", "id", "-u"]):
                with self.subTest(user):
                    self.assert_refused("--restricted", *words, message="restricted-user")

    def test_that_is_not_there(self):
        for text in ("", "nv: true\n", f"restricted-rootfs: {IMAGES}\n"):
            self.write(CONFIG, text)
            self.assert_refused("--restricted", "list", message="sets restricted-user in")
        os.unlink(CONFIG)
        self.assert_refused("--restricted", "list", message="sets restricted-user in")
        self.assert_refused("--restricted", "--nv", "--rootfs", self.root, "--", "id")


class ForAll(Sudo):
    """The key `restricted`."""

    def setUp(self):
        super().setUp()
        self.write(CONFIG, "restricted: true\n" + POLICY)

    def test_is_for_root_too(self):
        self.assertEqual(self.command("id", "-u", restricted=()), f"{UID}\n")
        for words in (["--bind", "/:/mnt", "--", "id"], ["--", "id"], [], ["--write", "never"]):
            root = [] if words == ["--", "id"] else ["--rootfs", self.root]
            self.assert_refused("--nv", *root, *words)
        for words in (["undo", "--all"], ["status", "--all"], ["list", "--driver-root", "/"]):
            self.assert_refused(*words, statuses=[6])

    def test_is_for_whoever_has_privileges(self):
        for prefix in (["unshare", "--user", "--map-root-user", "--mount"],
                       [*ORDINARY_USER, "unshare", "--user", "--map-root-user", "--mount"],
                       [*ORDINARY_USER, "--inh-caps", "+sys_admin", "--ambient-caps", "+sys_admin"],
                       ["setpriv", "--ruid", "65534"], ["setpriv", "--regid", "65534", "--clear-groups"]):
            done = self.sudo("--nv", "--rootfs", self.root, "--", "id", "-u", prefix=prefix)
            self.assertIn((done.returncode, done.stdout), [(125, ""), (0, f"{UID}\n")], prefix)
            self.assert_refused("list", "--driver-root", "/", prefix=prefix, statuses=[6])

    def test_leaves_ordinary_users_their_own_rights(self):
        done = self.sudo("--nv", "--rootfs", self.root, "--bind", "/usr/share:/mnt", "--", "id",
                         "-u", prefix=ORDINARY_USER)
        self.assertEqual((done.returncode, done.stdout), (0, "65534\n"), done.stderr)

    def test_does_not_take_the_option_back(self):
        self.write(CONFIG, "restricted: false\n" + POLICY)
        self.assertEqual(self.command("id", "-u"), f"{UID}\n")
        self.assertEqual(self.command("id", "-u", restricted=()), "0\n")


class WithoutRoot(Sudo):
    def test_nobody_can_become_the_policys_user(self):
        raised = shutil.copy(harness.SETUP, DIRECTORY / "raised")
        self.addCleanup(os.unlink, raised)
        os.chmod(raised, 0o4755)
        for command in (harness.SETUP, raised):
            for words in (["list"], ["--nv", "--rootfs", self.root, "--", "id", "-u"]):
                done = harness.call(*ORDINARY_USER, command, "--restricted", *words)
                self.assertIn(done.returncode, (6, 125), done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertIn("restricted-user: gpu: become this user", done.stderr)


if __name__ == "__main__":
    unittest.main()
