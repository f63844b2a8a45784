# SPDX-License-Identifier: MIT
"""What the Tab key does in bash, zsh and fish, on a simulated host."""

import os
import pathlib
import re
import shlex
import shutil
import unittest

import harness

try:
    import pexpect
except ImportError as error:
    if os.environ.get("CI") == "true":
        raise
    raise unittest.SkipTest("no pexpect") from error

FILES = pathlib.Path(__file__).resolve().parents[2] / "shell-completion"
UUIDS = {"GPU-bc827fa3-8239-9aa5-d1ff-cd2c2f85b066", "GPU-8e8f6868-c49e-7d73-9647-d6688d6dc77d",
         "GPU-9a327810-6ccc-31e4-848d-3fa4333426cf", "GPU-72ad9aad-14aa-5eea-0ec2-b77c668b1467",
         "GPU-b9e0ac62-1aa8-3e42-05fe-32cca6f8a1a5", "GPU-8cf78830-05f4-7796-4601-677637a9b43c",
         "GPU-46bf5be3-a9cb-1869-59f6-440c07e2eeab", "GPU-ddcca75e-3427-a2ea-8eb1-80f049a38690"}
CLEAR, TAB = "\x15", "\t"


class Shell(harness.Case):
    """Types in a shell. It prints the line in angle brackets, so that nothing is waited for."""

    name = None
    words = []  # of the shell
    lines = []  # that it is told first
    show = ""  # the key that prints the line
    terminal = "dumb"

    @classmethod
    def setUpClass(cls):
        if cls.name is None:
            raise unittest.SkipTest("the cases of all shells")
        if shutil.which(cls.name) is None and os.environ.get("CI") != "true":
            raise unittest.SkipTest(f"no {cls.name}")
        cls.home = harness.DIRECTORY / f"home-{cls.name}"
        cls.home.mkdir()
        # The machine may be slower than a completion waits.
        patient = cls.home / "timeout"
        patient.write_text('#!/bin/sh\nshift\nexec "$@"\n', encoding="utf-8")
        patient.chmod(0o755)
        path = f"{cls.home}:{pathlib.Path(harness.SETUP).parent}:{os.environ['PATH']}"
        environment = {name: value for name, value in os.environ.items() if "SAN_OPTIONS" in name}
        environment |= {"PATH": path, "HOME": str(cls.home), "TERM": cls.terminal,
                        "LC_ALL": "C.UTF-8"}
        cls.shell = pexpect.spawn(harness.SIMHOST, [*harness.on_host()[1:], *cls.words],
                                  env=environment, encoding="utf-8", timeout=harness.TIMEOUT,
                                  dimensions=(400, 200), echo=False)
        cls.shell.delaybeforesend = None
        cls.addClassCleanup(cls.shell.close, force=True)
        cls.tell(f"cd {cls.home}")
        for line in cls.lines:
            cls.tell(line.format(files=FILES, home=cls.home))

    @classmethod
    def tell(cls, line):
        """Runs a line, and returns what it prints."""
        cls.shell.sendline(CLEAR + line)
        cls.shell.sendline("echo do''ne")
        cls.shell.expect("done\r?\n")
        return cls.shell.before

    def type(self, line):
        """What the line becomes by Tab, and the words that are shown."""
        self.shell.send(CLEAR + line + TAB + self.show)
        self.shell.expect("<(.*)>\r?\n")
        shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.shell.before)
        return self.shell.match[1], set(shown.split()) - {*line.split(), "@"}

    def candidates(self, line):
        return self.type(line)[1]

    def becomes(self, line, wanted):
        # What follows an option or a part of a list is a matter of taste.
        self.assertEqual(self.type(line)[0].rstrip(" =,"), wanted)


class Cases:

    def test_commands(self):
        self.becomes("gpuctr-setup pl", "gpuctr-setup plan")
        self.becomes("gpuctr-setup -v und", "gpuctr-setup -v undo")
        self.assertEqual(self.candidates("gpuctr-setup "),
                         {"apply", "plan", "list", "check", "prepare", "undo", "status", "hook", "cdi",
                          "why", "report", "version"})

    def test_commands_of_a_group(self):
        self.becomes("gpuctr-setup cdi gen", "gpuctr-setup cdi generate")
        helped = harness.setup("cdi", "--help").stdout
        commands = re.search(r"^Commands:\n(.*?)\n\n", helped, re.M | re.S)[1]
        self.assertEqual(self.candidates("gpuctr-setup cdi "),
                         set(re.findall(r"^  (\w+)", commands, re.M)))
        self.becomes("gpuctr-setup cdi generate --cdi-v", "gpuctr-setup cdi generate --cdi-version")
        self.becomes("gpuctr-setup cdi list --spec", "gpuctr-setup cdi list --spec-dir")
        self.becomes("gpuctr-setup cdi generate --vendor-libs=h",
                     "gpuctr-setup cdi generate --vendor-libs=host")
        self.assertEqual(self.candidates("gpuctr-setup cdi generate --device "),
                         {"auto", "all", "none", *"01234567", *UUIDS})
        (self.home / "one.yaml").touch()
        self.becomes(f"gpuctr-setup cdi validate {self.home}/on",
                     f"gpuctr-setup cdi validate {self.home}/one.yaml")

    def test_options_are_those_of_the_command(self):
        self.becomes("gpuctr-setup plan --form", "gpuctr-setup plan --format")
        self.becomes("gpuctr-setup --clea", "gpuctr-setup --clean-env")
        helped = harness.setup("undo", "--help").stdout
        self.assertEqual(self.candidates("gpuctr-setup undo --"),
                         set(re.findall(r"^  (?:-\w, )?(--\S+)", helped, re.M)))

    def test_values_are_those_of_help(self):
        self.becomes("gpuctr-setup plan --layout=m", "gpuctr-setup plan --layout=merged")
        self.becomes("gpuctr-setup list --format js", "gpuctr-setup list --format json")
        self.becomes("gpuctr-setup plan --format char", "gpuctr-setup plan --format charliecloud")
        self.becomes("gpuctr-setup plan --format pat", "gpuctr-setup plan --format paths")
        self.becomes("gpuctr-setup --vendor t", "gpuctr-setup --vendor tenstorrent")
        self.assertEqual(self.candidates("gpuctr-setup plan --backend "),
                         {"auto", "detached", "assembled", "legacy"})
        self.assertEqual(self.candidates("gpuctr-setup --driver-capabilities "),
                         {"compute", "utility", "graphics", "video", "display", "ngx", "firmware",
                          "compat32", "all"})
        self.becomes("gpuctr-setup --driver-capabilities compute,v",
                     "gpuctr-setup --driver-capabilities compute,video")

    def test_gpus_of_the_host(self):
        self.assertEqual(self.candidates("gpuctr-setup --nv --device "),
                         {"auto", "all", "none", *"01234567", *UUIDS})
        self.becomes("gpuctr-setup --nv --device 0,GPU-9a",
                     "gpuctr-setup --nv --device 0,GPU-9a327810-6ccc-31e4-848d-3fa4333426cf")
        self.becomes("gpuctr-setup --nv --device 0000:00:06",
                     "gpuctr-setup --nv --device 0000:00:06.0")

    def test_roots_that_are_set_up(self):
        self.becomes(f"gpuctr-setup undo --rootfs {self.root}/et",
                     f"gpuctr-setup undo --rootfs {self.root}/etc/")
        self.tell(f"gpuctr-setup --nv --rootfs {self.root}")
        for command in ("undo", "status"):
            self.becomes(f"gpuctr-setup {command} --rootfs {str(self.root)[:5]}",
                         f"gpuctr-setup {command} --rootfs {self.root}{self.after_root}")
        self.tell(f"gpuctr-setup undo --rootfs {self.root}")

    def test_a_program_is_named_by_its_path(self):
        (self.home / "gpuctr-setup").symlink_to(harness.SETUP)
        self.addCleanup((self.home / "gpuctr-setup").unlink)
        for program in ("~/gpuctr-setup", "./gpuctr-setup", f"{self.home}/gpuctr-setup"):
            self.becomes(f"{program} und", f"{program} undo")
        line, shown = self.type("./missing/gpuctr-setup und")
        self.assertEqual(line, "./missing/gpuctr-setup und")
        self.assertEqual([word for word in shown if "nknown" in word or "such" in word], [])

    def assert_nothing_was_run(self):
        """Nothing wrote the file that the hostile words of these tests would."""
        pwned = self.home / "pwned"
        was_run = pwned.exists()
        pwned.unlink(missing_ok=True)
        self.assertFalse(was_run)

    def test_the_name_of_a_root_is_data(self):
        for name in ("r$(touch pwned)", "r`touch pwned`", "r;touch pwned;", "r &|", "r'\"", "r*"):
            with self.subTest(name=name):
                root = self.home / "roots" / name
                root.parent.mkdir(exist_ok=True)
                harness.must("cp", "-a", self.root, root)
                self.tell(f"gpuctr-setup --nv --rootfs {shlex.quote(str(root))}")
                self.assertNotEqual(harness.journals(), [])
                line = self.type(f"gpuctr-setup undo --rootfs {root.parent}/")[0]
                said = self.tell(line)
                left = harness.journals()
                self.tell(f"gpuctr-setup undo -q --rootfs {shlex.quote(str(root))}")
                harness.must("rm", "-rf", root)
                self.assertEqual(left, [], f"{line!r}: {said}")
                self.assert_nothing_was_run()

    def test_nothing_typed_is_run_before_enter(self):
        hostile = "'$(touch pwned)'", '"`touch pwned`"', "$(touch pwned)", "'x[$(touch pwned)]'"
        for word in hostile:
            for line in ("gpuctr-setup {} --", "gpuctr-setup --config {} --", "gpuctr-setup undo {} --",
                         "gpuctr-setup undo --state-dir {} --rootfs ",
                         "gpuctr-setup plan --device {},", "gpuctr-setup plan --{}="):
                with self.subTest(line=line.format(word)):
                    self.type(line.format(word))
                    self.assert_nothing_was_run()

    def test_no_word_is_a_mistake_of_the_completion(self):
        for word in ("''", "=x", "'*'", "'@'", "']'", "'['", "'a]b'", "'\\'", "'?'", "--=", "-"):
            with self.subTest(word=word):
                shown = self.candidates(f"gpuctr-setup {word} plan --layout ")
                self.assertEqual([part for part in shown if "gpuctr" in part or "bad" in part], [])

    def test_files_and_commands(self):
        (self.home / "host.json").touch()
        self.becomes(f"gpuctr-setup plan --host {self.home}/ho",
                     f"gpuctr-setup plan --host {self.home}/host.json")
        self.becomes(f"gpuctr-setup --nv --rootfs {self.root} -- unam",
                     f"gpuctr-setup --nv --rootfs {self.root} -- uname")


class Bash(Cases, Shell):
    name = "bash"
    words = ["bash", "--norc", "--noprofile"]
    after_root = "/"
    show = "\x18q"
    lines = ["PS1='@ '", "bind 'set enable-bracketed-paste off'", "bind 'set bell-style none'",
             "bind 'set show-all-if-ambiguous on'", "bind 'set completion-query-items 0'",
             "bind 'set page-completions off'", ". /usr/share/bash-completion/bash_completion",
             ". {files}/bash/gpuctr-setup",
             r"""bind -x '"\C-xq": printf "<%s>\n" "$READLINE_LINE"'"""]


class Zsh(Cases, Shell):
    name = "zsh"
    words = ["zsh", "-f"]
    after_root = ""
    lines = ["PS1='@ '; unsetopt beep prompt_sp bracketed_paste; LISTMAX=100000",
             "fpath=({files}/zsh $fpath); autoload -U compinit; compinit -u -d {home}/dump",
             "zstyle ':completion:*' verbose no",
             'tab() {{ zle complete-word; zle -R; print -r -- "<$BUFFER>"; }}',
             "zle -N tab; bindkey '^I' tab"]


class Fish(Cases, Shell):
    name = "fish"
    words = ["fish", "--no-config"]
    after_root = ""
    terminal = "xterm"
    show = "\x18q"
    lines = ["source {files}/fish/gpuctr-setup.fish", "function fish_prompt; echo '@ '; end",
             r"""bind \cxq 'printf "<%s>\n" (commandline)'"""]

    def candidates(self, line):
        """Not as they are drawn on the screen."""
        line = line.replace("\\", "\\\\").replace("'", "\\'")
        shown = self.tell(f"complete -C '{line}' | string replace -r '^' 'candidate: '")
        return set(re.findall(r"candidate: ([^\t\r\n']+)", shown))


del Shell  # It has no cases of its own.


if __name__ == "__main__":
    unittest.main()
