# SPDX-License-Identifier: MIT
"""What the command says to those who mistype: every sentence is its own, none of its parser."""

import os
import pathlib
import re
import subprocess
import unittest

import config_test
import harness
from config_test import CONFIG

setUpModule = config_test.setUpModule
tearDownModule = config_test.tearDownModule

DOCS = pathlib.Path(__file__).parents[2] / "docs"
OF_APPLY = "gpuctr-setup apply --help"
OF_LIST = "gpuctr-setup list --help"
CAPABILITIES = "compute, utility, graphics, video, display, ngx, firmware, compat32 and all"


class Words(harness.Case):
    def says(self, *words, problem, hint=OF_APPLY, **variables):
        expected = f"gpuctr-setup: {problem}\n" + (f"hint: {hint}\n" if hint else "")
        self.run_setup(*words, status=2, stderr=expected, env=os.environ | variables)


class Values(Words):
    """Of options that take a number, one of some words, a flag or a path."""

    def test_of_a_process(self):
        for word in ("abc", "", "0", "-1", "0x10", "1 ", " 1", "1.0", "+1", "4194305", "9" * 30):
            self.says("--pid", word, problem=f"--pid: '{word}' is not a number from 1 to 4194304")

    def test_of_a_descriptor(self):
        for word in ("abc", "-1", "1e1", "2147483648"):
            self.says("status", "--rootfs-fd", word, hint="gpuctr-setup status --help",
                      problem=f"--rootfs-fd: '{word}' is not a number from 0 to 2147483647")

    def test_a_number_is_decimal(self):
        """Never the process or descriptor of another number."""
        done = self.run_setup("status", "--rootfs-fd", "010", status=2, stderr=None)
        self.assertIn("descriptor 10 is not open\n", done.stderr)

    def test_of_some_words(self):
        for option, known in (("--write", "auto, never, always"), ("--layout", "tree, merged"),
                              ("--vendor-libs", "auto, host, none"),
                              ("--backend", "auto, detached, assembled, legacy")):
            for word in ("xml", "0", "1", ""):
                self.says(option, word, problem=f"{option}: '{word}' is none of {known}")
        others = (", oci, docker, podman, bwrap, apptainer, singularity, nspawn, charliecloud, lxc, "
                  "incus, enroot, shell, env, paths")
        for command, more in (("list", ""), ("plan", others), ("status", "")):
            for word in ("xml", "0", "1"):
                self.says(command, "--format", word, hint=f"gpuctr-setup {command} --help",
                          problem=f"--format: '{word}' is none of text, json{more}")
        for option, word, meant in (("--write", "AUTO", "auto"), ("--layout", "mergd", "merged"),
                                    ("--write", "alwasy", "always"), ("--vendor-libs", "hots", "host"),
                                    ("--format", "jsno", "json")):
            done = self.run_setup(option, word, status=2, stderr=None)
            self.assertEqual(done.stderr.splitlines()[1],
                             f"hint: did you mean {meant}? {OF_APPLY} lists all")
        self.says("status", "--fail-on", "1", hint="gpuctr-setup status --help",
                  problem="--fail-on: '1' is none of warning, error")

    def test_of_a_flag(self):
        for flag in ("--lock", "--nv", "--if-present", "--verbose"):
            self.says(f"{flag}=maybe", problem=f"{flag}: 'maybe' is neither true nor false")
        for word in ("true", "false", "yes", "no", "on", "off", "1", "0"):
            self.run_setup("plan", "--nv", f"--lock={word}", stdout=None)
        self.says("--restricted=false", "list", problem="--restricted takes no value")

    def test_of_a_path(self):
        """As of a variable that a script has not set."""
        for option in ("--rootfs", "--state-dir", "--driver-root", "--dev-root", "--staged-tree",
                       "--tree-path", "--chdir"):
            self.says(option, "", problem=f"{option}: DIR is empty")
        self.says("list", "--host", "", problem="--host: FILE is empty", hint=OF_LIST)
        self.says("list", "--catalogue", "", problem="--catalogue: FILE is empty", hint=OF_LIST)

    def test_of_a_staged_tree(self):
        """A relative path would be another one for whoever uses the tree."""
        why = "'run/tree' is not an absolute path"
        problem = f"--staged-tree: {why}"
        words = ("--staged-tree", "run/tree")
        self.says("prepare", "--nv", *words, problem=problem, hint="gpuctr-setup prepare --help")
        self.says("prepare", "--undo", *words, problem=problem, hint="gpuctr-setup prepare --help")
        self.says("plan", "--nv", *words, problem=problem, hint="gpuctr-setup plan --help")
        self.says("--nv", "--rootfs", self.root, *words, problem=problem)
        self.says("plan", "--nv", problem=f"GPUCTR_STAGED_TREE: {why}", hint="",
                  GPUCTR_STAGED_TREE="run/tree")

    def test_that_are_missing(self):
        self.says("--nv", "--rootfs", problem="--rootfs: DIR is missing")
        self.says("--pid", problem="--pid: PID is missing")
        self.says("list", "--format", problem="--format: text|json is missing", hint=OF_LIST)
        self.says("--rootfs=", "--nv", problem="--rootfs: DIR is missing")
        for option, kind in (("--pid", "PID"), ("--rootfs", "DIR"), ("--rootfs-fd", "N")):
            self.says("undo", f"{option}=", "-v", problem=f"{option}: {kind} is missing",
                      hint="gpuctr-setup undo --help")
        self.says("-v", "list", "--format=", problem="--format: text|json is missing", hint=OF_LIST)
        self.says("list", "--nv=", problem="--nv: a value is missing", hint=OF_LIST)
        self.says("lsit", "--nv=", problem="--nv: a value is missing")

    def test_of_the_environment_and_the_configuration(self):
        self.says("plan", "--nv", hint="", GPUCTR_WRITE="1",
                  problem="GPUCTR_WRITE: '1' is none of auto, never, always")
        self.says("plan", "--nv", hint="", GPUCTR_LOCK="maybe",
                  problem="GPUCTR_LOCK: 'maybe' is neither true nor false")
        os.makedirs(config_test.CATALOGUES)
        self.addCleanup(harness.must, "rm", "-r", "/etc/gpucontainer")
        self.says("plan", "--nv", hint="did you mean merged?", GPUCTR_LAYOUT="mreged",
                  problem="GPUCTR_LAYOUT: 'mreged' is none of tree, merged")
        pathlib.Path(CONFIG).write_text("lock: 7\n", encoding="ascii")
        self.says("plan", "--nv", hint="",
                  problem=f"{CONFIG}:1: lock: '7' is neither true nor false")


class Options(Words):
    def test_that_do_not_exist(self):
        self.says("list", "-x", "json", problem="list: unknown option -x", hint=OF_LIST)
        for word in ("--magic=no", "--magic="):
            self.says("list", word, "json", problem="list: unknown option --magic", hint=OF_LIST)

    def test_that_are_misspelt(self):
        for word, meant in (("--fromat", "--format"), ("--format-", "--format"), ("-nv", "--nv"),
                            ("--drvier-root=/x", "--driver-root")):
            self.says("list", word, problem=f"list: unknown option {word.split('=')[0]}",
                      hint=f"did you mean {meant}? {OF_LIST} lists all")

    def test_of_another_command(self):
        self.says("list", "--rootfs", self.root, problem="list: unknown option --rootfs",
                  hint="apply, plan, check, undo, status, cdi apply, why take it; "
                       f"{OF_LIST} lists what list takes")
        self.says("list", "--device=", problem="list: unknown option --device",
                  hint="apply, plan, check, hook, cdi generate, cdi apply, why take it; "
                       f"{OF_LIST} lists what list takes")
        self.says("plan", "--no-journal", problem="plan: unknown option --no-journal",
                  hint="apply takes it; gpuctr-setup plan --help lists what plan takes")

    def test_that_exclude_each_other(self):
        for words in (("--rootfs", "/x", "--pid", "1"), ("--rootfs-fd", "0", "--rootfs", "/x"),
                      ("--pid", "1", "--rootfs-fd", "0"), ("--replace", "--no-replace")):
            first, second = sorted(word for word in words if word.startswith("--"))
            done = self.run_setup("--nv", *words, status=2, stderr=None)
            self.assertIn(done.stderr, [
                f"gpuctr-setup: {one} and {other} do not go together\nhint: {OF_APPLY}\n"
                for one, other in ((first, second), (second, first))])
        self.says("undo", "--all", "--rootfs", "/x", hint="gpuctr-setup undo --help",
                  problem="--rootfs and --all do not go together")

    def test_that_are_repeated(self):
        self.says("--rootfs", "/a", "--rootfs", "/b", problem="--rootfs is given more than once")
        self.says("--pid", "1", "--pid", "2", problem="--pid is given more than once")
        self.says("list", "--format", "text", "--format=text", hint=OF_LIST,
                  problem="--format is given more than once")


class Commands(Words):
    KNOWN = ("commands are apply, plan, list, check, prepare, undo, status, hook, cdi, why, report, version; "
             "gpuctr-setup --help")

    def test_none(self):
        for words in ((), ("-v",), ("--restricted",)):
            self.says(*words, hint="gpuctr-setup --help",
                      problem="name a command, or a vendor and a root file system to set up")

    def test_unknown(self):
        for word in ("help", "/srv/image", "", "-", "json"):
            self.says(word, problem=f"unknown command '{word}'", hint=self.KNOWN)
        for word, meant in (("lsit", "list"), ("stat", "status"), ("plans", "plan")):
            self.says("-v", word, problem=f"unknown command '{word}'",
                      hint=f"did you mean {meant}?")

    def test_a_word_too_many(self):
        self.says("list", "json", problem="list: unexpected word 'json'", hint=OF_LIST)
        self.says("list", "plan", problem="list: unexpected word 'plan'", hint=OF_LIST)
        self.says("--nv", "--rootfs", self.root, "ls", problem="apply: unexpected word 'ls'",
                  hint="a command to run in DIR comes after --")

    def test_behind_options(self):
        for words in (("--nv", "apply", "--rootfs", "/srv/my image"), ("-v", "--all", "undo"),
                      ("--rootfs", "/srv", "undo", "-q"), ("--pid", "7", "status", "-v"),
                      ("--nv", "--layout", "tree", "plan"), ("--nv", "--driver-root", "undo", "list")):
            command = next(word for word in words[::-1] if word in
                           ("apply", "undo", "status", "plan", "list"))
            rest = [f"'{word}'" if " " in word else word for word in words if word != command]
            self.says(*words, problem=f"the command {command} comes after options",
                      hint=f"put the command first: gpuctr-setup {command} {' '.join(rest)}")
        self.says("--nv", "apply", "--rootfs", "/srv", "--", "ls", "a b",
                  problem="the command apply comes after options",
                  hint="put the command first: gpuctr-setup apply --nv --rootfs /srv -- ls 'a b'")

    def test_behind_options_that_it_does_not_take(self):
        """The call of the hint is one that works, and names no value of theirs."""
        for words, call, foreign in (
                (("--nv", "--device", "0", "undo"), "undo --rootfs DIR", "--nv, --device"),
                (("--nv", "--device=0", "--rootfs=/srv", "undo"), "undo --rootfs=/srv",
                 "--nv, --device"),
                (("--nv", "--rootfs", "/srv", "list"), "list --nv", "--rootfs"),
                (("--nv", "--all", "-vq", "apply"), "apply --nv -vq --rootfs DIR", "--all"),
                (("--nv", "--undo", "prepare", "--lock"), "prepare --nv --undo", "--lock"),
                (("--rootfs", "/srv", "status", "--", "ls"), "status --rootfs /srv", "-- CMD"),
                (("--nv", "--bind", "/a", "--bind", "/b", "version"), "version", "--nv, --bind")):
            command = call.split()[0]
            self.says(*words, problem=f"the command {command} comes after options",
                      hint=f"put the command first: gpuctr-setup {call}; "
                           f"{command} does not take {foreign}")

    def test_behind_options_that_do_not_go_together(self):
        self.says("--pid", "7", "status", "--all",
                  problem="the command status comes after options",
                  hint="put the command first: gpuctr-setup status --rootfs DIR")

    def test_without_a_root(self):
        for command in ("undo", "status"):
            for words in ((), ("-v",), ("--state-dir", "/nowhere")):
                self.says(command, *words, hint=f"gpuctr-setup {command} --help",
                          problem="name a root file system with --rootfs DIR, --rootfs-fd N or "
                                  "--pid PID, or every one with --all")


class Help(Words):
    def help_of(self, *words):
        return self.run_setup(*words, "--help", stdout=None).stdout

    def pages(self):
        """Of all, under "", and of each command in the list there, with those of a group."""
        pages = {"": self.help_of()}
        names = self.commands_in(pages[""])
        self.assertEqual(", ".join(names), re.search("commands are (.*);", Commands.KNOWN)[1])
        for name in names:
            pages[name] = self.help_of(name)
            for part in self.commands_in(pages[name]):
                pages[f"{name} {part}"] = self.help_of(name, part)
        return pages

    @staticmethod
    def commands_in(page):
        commands = page.partition("\nCommands:\n")[2].partition("\n\n")[0]
        return re.findall(r"^  (\w+)", commands, re.M)

    def test_shows_how_most_calls_look(self):
        text = self.help_of()
        for word in ("--nv", "--rocm", "--intel", "--hpu", "--gpu", "--rootfs DIR", "-- CMD",
                     "undo", "--device", "gpuctr-setup apply --help"):
            self.assertIn(word, text)

    def test_that_a_hint_names_lists_what_is_missing(self):
        for words, options in ((["--rootfs", "/x"], ["--nv"]), (["--nv"], ["--rootfs"]),
                               (["prepare"], ["--nv"])):
            done = self.run_setup(*words, status=2, stderr=None)
            hint = done.stderr.splitlines()[1].removeprefix("hint: gpuctr-setup ")
            for option in options:
                self.assertIn(f"  {option} ", self.help_of(*hint.split()[:-1]))

    def test_lists_the_words_that_an_option_takes(self):
        text = self.help_of("apply")
        for line in ("--write auto|never|always", "--layout tree|merged", "--pid PID",
                     "--vendor-libs auto|host|none", "--rootfs-fd N",
                     "--backend auto|detached|assembled|legacy"):
            self.assertRegex(text, rf"  {re.escape(line)}\s")
        self.assertRegex(self.help_of("list"), r"  --format text\|json\s")

    def test_can_be_read_by_a_person(self):
        for name, page in self.pages().items():
            with self.subTest(page=name):
                self.assertEqual([line for line in page.splitlines() if len(line) > 80], [])
                self.assertEqual([line for line in page.splitlines() if line != line.rstrip()], [])
                for odd in ("{", "}", "->", " OR ", "POSITIVE", "Excludes:", "Needs:", "REQUIRED",
                            "[OPTIONS]", "SUBCOMMAND"):
                    self.assertNotIn(odd, page)
                usage = page.splitlines()[0]
                self.assertRegex(usage, rf"^Usage: gpuctr-setup {name or re.escape('[apply]')}\b"
                                 if name not in ("", "apply") else r"^Usage: gpuctr-setup \[apply\] ")

    def test_shows_examples_that_are_understood(self):
        """What is wrong with them here is at most that there is no such GPU or file."""
        for name, page in self.pages().items():
            examples = re.findall(r"^  gpuctr-setup (.+)$",
                                  page.partition("\nExamples:\n")[2].partition("\n\n")[0], re.M)
            self.assertEqual(len(examples) > 0, name not in ("", "version", "cdi"), page)
            for example in examples:
                words = example.partition(" >")[0].split()
                words = [{"/srv/image": "/nowhere", "4711": "4194304"}.get(word, word) for word in words]
                done = self.run_setup(*words, status=None, stdout=None, stderr=None)
                self.assertNotIn("hint: gpuctr-setup ", done.stderr, example)

    def test_has_the_options_that_the_document_has(self):
        rows = re.findall(r"^\| (`-.*?) \|", (DOCS / "cli.md").read_text(encoding="utf-8"), re.M)
        documented = {option for row in rows for option in re.findall(r"(?<![\w-])--[a-z-]+", row)}
        shown = {option for page in self.pages().values()
                 for option in re.findall(r"^  (?:-\w, )?(--[a-z-]+)", page, re.M)}
        self.assertEqual(shown, documented)


class Refusals(Words):
    """Of the library, in words of the command."""

    def test_a_uuid_that_is_too_short(self):
        done = self.run_setup("list", stdout=None)
        uuid = next(line.split()[1] for line in done.stdout.splitlines() if "GPU-8e8f" in line)
        for word in ("GPU-8e8f", "8e8f686"):
            self.says("plan", "--nv", "--device", word, hint=f"these UUIDs begin so: {uuid}",
                      problem=f"--device {word}: too short: a UUID needs at least 8 characters")

    def test_a_range_that_is_none(self):
        for word, problem in (("3-1", "the range ends before it begins"),
                              ("0-99", "the last GPU is 7"), ("0-", "a range without an end"),
                              ("GPU-", "too short: a UUID needs at least 8 characters")):
            self.says("plan", "--nv", "--device", word, problem=f"--device {word}: {problem}",
                      hint="there are 8 GPUs: 0 to 7; `gpuctr-setup list` shows UUIDs and PCI "
                           "addresses")

    def test_a_capability_that_nobody_knows(self):
        self.says("plan", "--nv", "--driver-capabilities", "magic",
                  problem="unknown driver capability 'magic'",
                  hint=f"known capabilities are {CAPABILITIES}")

    def test_a_capability_or_a_vendor_that_is_misspelt(self):
        for word, meant in (("comptue", "compute"), ("utilty", "utility"), ("Video", "video"),
                            ("al", "all")):
            self.says("plan", "--nv", "--driver-capabilities", f"utility,{word}",
                      problem=f"unknown driver capability '{word}'",
                      hint=f"did you mean {meant}? known capabilities are {CAPABILITIES}")
        for word, meant in (("nvida", "nvidia"), ("intle", "intel"), ("AMD", "amd")):
            done = self.run_setup("list", "--vendor", word, status=2, stderr=None)
            self.assertIn(f"\nhint: did you mean {meant}? vendors are ", done.stderr)
        done = self.run_setup("list", "--vendor", "nobody", status=2, stderr=None)
        self.assertIn("\nhint: vendors are ", done.stderr)


class Needs(Words):
    def test_of_root_in_a_container_without_proc(self):
        done = self.run_setup("plan", "--nv", "--rootfs", self.root, stdout=None)
        self.assertIn("\nneed: a device cgroup, if root runs in the container: its programs can make "
                      "the nodes of other GPUs, as nothing covers /proc/driver/nvidia/params\n",
                      done.stdout)


class Outcomes(Words):
    def test_undo_says_what_it_did(self):
        done = f"gpuctr-setup: {self.root}: undone\n"
        for words in (("--rootfs", self.root), ("--all",)):
            self.apply()
            self.run_setup("undo", *words, "-v", stderr=done)
        self.run_setup("undo", "--all", "-v", stderr="gpuctr-setup: nothing is set up\n")
        self.run_setup("undo", "--all")
        self.apply()
        self.undo()

    def test_prepare_says_what_it_took_away(self):
        tree = harness.DIRECTORY / "staged"
        self.run_setup("prepare", "--nv", "--staged-tree", tree)
        self.run_setup("prepare", "--undo", "--staged-tree", tree, "-v",
                       stderr=f"gpuctr-setup: {tree}: unmounted\n")

    def test_status_names_the_namespace_of_a_process(self):
        process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mount --bind "$0" "$0" && cd "$0" && mount --bind /proc proc && '
             "pivot_root . mnt && umount -l /mnt && echo && read line", self.root],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with process:
            process.stdout.readline()
            self.run_setup("--nv", "--pid", process.pid)
            done = self.run_setup("status", "--pid", process.pid, stdout=None)
            self.assertIn(f"  seen in  the mount namespace of process {process.pid}\n", done.stdout)
            of_all = self.run_setup("status", "--all", stdout=None).stdout
            self.assertTrue(of_all.startswith(f"the container of process {process.pid} (sh)\n"))
            self.assertIn(f"  seen in  the mount namespace of process {process.pid} (sh)\n", of_all)
            self.run_setup("undo", "--pid", process.pid)
            process.stdin.close()
        self.apply()
        self.assertIn("  seen in  this mount namespace\n",
                      self.run_setup("status", "--all", stdout=None).stdout)
        self.undo()


class Samples(config_test.Config):
    """What a document shows as a file works as one."""

    def samples(self, name):
        """Blocks that are indented, without the indentation."""
        block = ""
        for line in (DOCS / name).read_text(encoding="utf-8").splitlines():
            if line.startswith("    "):
                block += line[4:] + "\n"
            elif block:
                yield block
                block = ""

    def test_of_the_configuration(self):
        (sample,) = [block for block in self.samples("configuration.md")
                     if block.startswith(f"# {CONFIG}\n")]
        self.write(CONFIG, sample)
        for words in (("list",), ("list", "--nv"), ("plan", "--nv"), ("status", "--all")):
            self.run_setup(*words, stdout=None, stderr=None)
        self.apply()
        self.undo()
        enabled = "".join(line.removeprefix("#") + "\n" for line in sample.splitlines()[1:]
                          if not line.startswith("# "))
        self.write(CONFIG, enabled)
        done = self.run_setup("list", status=4, stderr=None)
        self.assertIn("driver root /run/nvidia/driver: No such file", done.stderr)


if __name__ == "__main__":
    unittest.main()
