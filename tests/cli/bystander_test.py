# SPDX-License-Identifier: MIT
"""gpuctr-setup hook in containers that have nothing to do with GPUs: whatever their configuration is,
it does not keep them from starting."""

import contextlib
import json
import os
import socket

import harness

MIB = 1 << 20


def environment(*variables, **more):
    return json.dumps({"root": {"path": "rootfs"}, "process": {"env": list(variables)}} | more)


def large():
    """Large, and not odd otherwise."""
    yield environment("APP_CONFIG=" + 40_000 * "x")
    yield environment(*(f"V{number}=x" for number in range(12_000)))
    yield environment("A=1", annotations={"a": 5 * MIB * "x"})
    yield environment("A=1", annotations={f"a{number}": 20 * "x" for number in range(200_000)})
    yield environment("A=1", mounts=[{"destination": f"/m/{number}", "source": "/x"}
                                     for number in range(100_000)])
    yield environment("LD_LIBRARY_PATH=" + 40_000 * "x", "PATH=" + 40_000 * "x")


VALUES = ("null", "true", "0", "-1", "1e3", '""', '"x"', "[]", "{}", "[null]", '[{"a": []}]', '{"": {}}',
          '["A"]', '["=x"]', '["A=\\u0000"]')


def understood():
    """Nothing in it is a request, and it is a JSON document."""
    yield from large()
    for name in ("process", "mounts", "linux", "hooks", "annotations", "ociVersion"):
        for value in VALUES:
            parts = {"root": '{"path": "rootfs"}', "process": "{}", name: value}
            yield "{" + ", ".join(f'"{key}": {part}' for key, part in parts.items()) + "}"
    for value in VALUES:
        yield '{"root": {"path": "rootfs"}, "process": {"env": ["A=1"], "args": %s, "user": %s}}' % (value,
                                                                                               value)
    for value in ("", "void", " ", "/x", "/var/run/nvidia-container-devices"):
        yield environment(f"NVIDIA_VISIBLE_DEVICES={value}", f"AMD_VISIBLE_DEVICES={value}")
    for name in ("nvidia_visible_devices", "XNVIDIA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES ",
                 "NVIDIA_VISIBLE_DEVICESX", "", "0", "A-B", "\u20ac"):
        yield environment(f"{name}=all")


def not_understood():
    whole = environment("A=1", "B=2", mounts=[{"destination": "/x"}])
    for end in range(0, len(whole), 2):
        yield whole[:end]
    for text in ("\0", "\xff", "no", "[1]", "1", '"x"', "null", "{}", "{} {}", "{]", "// x\n{}", "\ufeff",
                 '{"process": {"env": ["A=1"]}, "process": {"env": []}}',
                 '{"process": {"env": ["A=1"], "env": ["A=1"]}}', whole + "\0", whole + "x",
                 whole.replace("A=1", "\\ud800"), whole.replace("A=1", "\t"),
                 whole[:-1] + ', "a": ' + 100 * "[" + 100 * "]" + "}",
                 whole[:-1] + ', "a": ' + 100_000 * "[" + 100_000 * "]" + "}",
                 whole[:-1] + ', "a": ' + 100_000 * "[", 100_000 * '{"process":', "[" * MIB,
                 whole + 65 * MIB * " ",
                 environment("NVIDIA_REQUIRE_X=" + 40_000 * "x")):
        yield text
    for value in VALUES[1:7] + VALUES[8:12]:
        yield '{"root": {"path": "rootfs"}, "process": {"env": %s}}' % value
    for value in VALUES:
        yield '{"process": {"env": ["A=1"]}, "root": %s}' % value
        if value != '"x"':
            yield '{"process": {"env": ["A=1"]}, "root": {"path": %s}}' % value


@contextlib.contextmanager
def system_log(case):
    """What is sent to the system's log meanwhile, line by line."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("/dev/log")
        case.addCleanup(lambda: os.path.exists("/dev/log") and os.unlink("/dev/log"))
        listener.setblocking(False)
        lines = []
        yield lines
        with contextlib.suppress(BlockingIOError):
            while True:
                lines.append(listener.recv(65536).decode())
        os.unlink("/dev/log")


class Bystanders(harness.Case):
    def setUp(self):
        super().setUp()
        self.bundle = harness.DIRECTORY / "bundle"
        self.bundle.mkdir()
        self.addCleanup(harness.call, "rm", "-rf", self.bundle)
        self.state = json.dumps({"ociVersion": "1.0.2", "id": "test", "pid": 0, "bundle": str(self.bundle)})

    def hook(self, *words, **options):
        return harness.call(harness.SETUP, "hook", *words, stdin=None, **options)

    def both(self, text):
        """At the stage createContainer, and as a filter."""
        data = text.encode("utf-8", "surrogatepass") if text != "\xff" else b"\xff"
        (self.bundle / "config.json").write_bytes(data)
        yield self.hook(input=self.state), ""
        filtered = self.hook("--stage", "precreate", input=data, text=False)
        yield filtered, data

    def test_there_are_two_hundred(self):
        self.assertGreater(len(list(understood())) + len(list(not_understood())), 200)

    def test_what_asks_for_nothing_starts(self):
        for text in understood():
            with self.subTest(text[:80]), system_log(self) as lines:
                for done, out in self.both(text):
                    self.assertEqual((done.returncode, done.stdout), (0, out), done.stderr)
            self.assertEqual(lines, [], text[:80])

    def test_what_is_not_understood_starts_and_is_told(self):
        for text in not_understood():
            with self.subTest(text[:80]), system_log(self) as lines:
                for done, out in self.both(text):
                    self.assertEqual((done.returncode, done.stdout), (0, out), done.stderr)
            self.assertLessEqual(len(lines), 2)
            self.assertGreaterEqual(len(lines), 1, text[:80])
            for line in lines:
                self.assertRegex(line, r"(?s)^<28>[^\n]{15} gpuctr-setup\[\d+\]: [^\n]*not understood: "
                                       r"[^\n]+, so the container gets no GPU$")
