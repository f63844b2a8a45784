# SPDX-License-Identifier: MIT
"""How other programs read what `plan --format` prints: each as its documentation and source say.

read(format, text) gives what a container gets: files and nodes as {target: source}, variables as
{name: value or None}."""

import csv
import dataclasses
import io
import re
import subprocess


@dataclasses.dataclass
class Seen:
    files: dict = dataclasses.field(default_factory=dict)
    nodes: dict = dataclasses.field(default_factory=dict)
    variables: dict = dataclasses.field(default_factory=dict)
    others: list = dataclasses.field(default_factory=list)

    def set(self, pair):
        name, equals, value = pair.partition("=")
        assert equals
        self.variables[name] = value


def shell_words(text, shell="sh"):
    """What a real shell makes of options that stand in a command."""
    script = f"printf '%s\\0' {text}"
    done = subprocess.run([shell, "-euc", script], stdout=subprocess.PIPE, check=True)
    return [word.decode("utf-8", "surrogateescape") for word in done.stdout.split(b"\0")[:-1]]


def go_csv(text):
    """One record, as Go's encoding/csv reads it: CR LF is LF, a quote in a bare field an error."""
    text = text.replace("\r\n", "\n")
    bare = re.sub(r'(^|,)"(?:[^"]|"")*"(?=,|$)', r"\1", text)
    assert '"' not in bare, f"bare quote: {text!r}"
    [record] = csv.reader(io.StringIO(text, newline=""), strict=True)
    return record


def mntent(line):
    """The fields of a line of fstab, as getmntent() decodes them."""
    fields = re.split(r"[ \t]+", line)
    assert len(fields) >= 4, line
    decoded = [re.sub(r"\\(040|011|012|134|\\)",
                      lambda m: "\\" if m[1] == "\\" else chr(int(m[1], 8)), field)
               for field in fields[:2]]
    return decoded + [fields[2], fields[3].split(",")]


def mount_words(value, target_key, read_only):
    fields = dict(field.partition("=")[::2] for field in go_csv(value))
    assert fields.pop("type") == "bind"
    is_read_only = fields.pop(read_only, None) is not None
    source, target = fields.pop("source"), fields.pop(target_key)
    assert not fields, fields
    return source, target, is_read_only


def docker(text):
    seen = Seen()
    for word in shell_words(text):
        option, _, value = word.partition("=")
        if option == "--device":
            source, target, access = value.split(":")
            assert access == "rw"
            seen.nodes[target] = source
        elif option == "--mount":
            source, target, is_read_only = mount_words(value, "target", "readonly")
            assert is_read_only
            seen.files[target] = source
        elif option == "--volume":
            source, target, options = value.split(":")
            assert options == "ro"
            seen.files[target] = source
        elif option == "--env":
            seen.set(value)
        else:
            seen.others.append(word)
    return seen


def podman(text):
    """Version 4.3 splits --mount at each comma, and --device is a line of values."""
    for word in shell_words(text):
        option, _, value = word.partition("=")
        if option == "--mount":
            assert value.split(",") == go_csv(value)
        if option == "--device":
            assert go_csv(value) == [value]
    return docker(text)


def bwrap(text):
    seen, words = Seen(), shell_words(text)
    while words:
        option = words.pop(0)
        if option == "--ro-bind":
            source, target = words.pop(0), words.pop(0)
            seen.files[target] = source
        elif option == "--dev-bind":
            source, target = words.pop(0), words.pop(0)
            seen.nodes[target] = source
        elif option == "--setenv":
            name, value = words.pop(0), words.pop(0)
            seen.variables[name] = value
        else:
            assert option == "--unsetenv"
            seen.variables[words.pop(0)] = None
    return seen


def apptainer(text):
    seen = Seen()
    for word in shell_words(text):
        option, _, value = word.partition("=")
        if option == "--mount":
            source, target, is_read_only = mount_words(value, "destination", "ro")
            (seen.files if is_read_only else seen.nodes)[target] = source
        elif option == "--env":
            pairs = [value.strip('"')] if value.count("=") == 1 else go_csv(value)
            for pair in pairs:
                seen.set(pair)
        else:
            seen.others.append(word)
    return seen


def nspawn(text):
    def pair(value):
        parts = [re.sub(r"\\(.)", r"\1", part, flags=re.S)
                 for part in re.findall(r"(?:\\.|[^\\:])+", value, flags=re.S)]
        assert len(parts) == 2, value
        return parts
    seen = Seen()
    for word in shell_words(text):
        option, _, value = word.partition("=")
        if option == "--setenv":
            seen.set(value)
            continue
        source, target = pair(value)
        {"--bind-ro": seen.files, "--bind": seen.nodes}[option][target] = source
    return seen


def charliecloud(text):
    seen = Seen()
    for word in shell_words(text):
        option, _, value = word.partition("=")
        if option == "--bind":
            source, target = value.split(":")
            (seen.nodes if target.startswith("/dev/") else seen.files)[target] = source
        elif option == "--unset-env":
            seen.variables[value] = None
        elif option == "--set-env":
            assert "$" not in value or "--env-no-expand" in seen.others
            seen.set(value)
        else:
            seen.others.append(word)
    return seen


def enroot(text):
    seen = Seen()
    for word in shell_words(text):
        option, _, value = word.partition("=")
        if option == "--env":
            assert re.match(r"[A-Za-z_][A-Za-z0-9_]*=", value) and "\n" not in value
            seen.set(value)
            continue
        assert option == "--mount" and re.fullmatch(r"\S+:\S+", value), word
        source, target, kind, options = mntent(value.replace(":", " "))
        assert kind == "none" and "private" in options
        if "ro" in options:
            assert {"nosuid", "nodev"} <= set(options)
            seen.files[target] = source
        else:
            assert options == ["x-create=file", "bind", "private"]
            seen.nodes[target] = source
    return seen


def lxc(text):
    seen = Seen()
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("#"):
            continue
        key, _, value = line.partition(" = ")
        if key == "lxc.mount.entry":
            source, target, kind, options = mntent(value)
            assert kind == "none"
            (seen.files if "ro" in options else seen.nodes)["/" + target] = source
        elif key == "lxc.environment":
            assert value == value.strip()
            seen.set(value)
        else:
            assert key == "lxc.cgroup2.devices.allow", line
            assert re.fullmatch(r"c \d+:\d+ rw", value)
            seen.others.append(value)
    return seen


def incus(text):
    import yaml
    profile, seen = yaml.safe_load(text), Seen()
    for device in profile["devices"].values():
        if device["type"] == "disk":
            assert device["readonly"] == "true"
            seen.files[device["path"]] = device["source"]
        else:
            assert device["type"] == "unix-char"
            seen.nodes[device["path"]] = device["source"]
    for name, value in profile["config"].items():
        seen.variables[name.removeprefix("environment.")] = value
    return seen


READERS = {"docker": docker, "podman": podman, "bwrap": bwrap, "apptainer": apptainer,
           "singularity": apptainer, "nspawn": nspawn, "charliecloud": charliecloud,
           "lxc": lxc, "incus": incus, "enroot": enroot}
# Their containers have no variable of the caller, so that none has to be taken away.
START_EMPTY = {"docker", "podman", "nspawn", "lxc", "incus", "enroot"}
EXPECTS_DEV = {"charliecloud"}  # the host's /dev is there
