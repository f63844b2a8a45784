# SPDX-License-Identifier: MIT
"""Docker's own client reads the options for it: what it then asks a daemon for is what the plan
says. The daemon is a stand-in, which starts nothing."""

import http.server
import json
import os
import pathlib
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import unittest

import models

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import recorded_host

SETUP, SIMHOST = os.environ["GPUCTR_SETUP"], os.environ["GPUCTR_SIMHOST"]
HOST = pathlib.Path(__file__).resolve().parents[1] / "hosts/h200-x8-ubuntu24.04-580"
SKIPPED, CANNOT_STAND_UP = 77, 125
ODD = ["plain", " x", "'", '"', '",', "\\", "$HOME", "`id`", ":", ",", "=", "#", "é"]


class Request(http.server.BaseHTTPRequestHandler):
    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in (("Api-Version", "1.41"), ("Ostype", "linux"),
                            ("Content-Type", "application/json"),
                            ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        self.answer(200, {})

    do_HEAD = do_GET

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(json.loads(body))
        self.answer(201, {"Id": "test", "Warnings": []})

    def address_string(self):
        return ""

    def log_message(self, *_):
        pass


class Daemon(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


class Docker(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.daemon = Daemon(str(self.directory / "socket"), Request)
        self.daemon.asked = []
        threading.Thread(target=self.daemon.serve_forever, daemon=True).start()
        self.addCleanup(self.daemon.server_close)
        self.addCleanup(self.daemon.shutdown)

    def plan(self, document, form):
        path = self.directory / "host.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        environment = dict(os.environ, CUDA_VISIBLE_DEVICES="3,0")
        return subprocess.run([SETUP, "plan", "-q", "--nv", "--driver-capabilities", "compute",
                               "--host", path, "--format", form], stdout=subprocess.PIPE,
                              check=True, env=environment).stdout.decode()

    def created(self, options):
        environment = dict(os.environ, DOCKER_HOST=f"unix://{self.directory}/socket",
                           DOCKER_CONFIG=str(self.directory))
        script = 'eval "docker create $1 image command"'
        subprocess.run(["sh", "-c", script, "sh", options.rstrip("\n")], check=True,
                       stdout=subprocess.DEVNULL, env=environment)
        return self.daemon.asked.pop()

    def test_client_asks_for_what_the_plan_says(self):
        for odd in ODD:
            with self.subTest(odd):
                document = json.loads(RECORD)
                [libcuda] = [file for file in document["drivers"][0]["files"]
                             if file["name"].startswith("libcuda.so.")]
                libcuda["path"], libcuda["soname"] = f"/odd/{odd}", f"lib{odd}\nx.so.1"
                edits = json.loads(self.plan(document, "oci"))
                asked = self.created(self.plan(document, "docker"))
                generated = {file["path"] for file in edits["files"]}
                self.assertEqual(
                    sorted((m["Source"], m["Target"], m["Type"], m["ReadOnly"])
                           for m in asked["HostConfig"]["Mounts"]),
                    sorted((m["source"], m["destination"], "bind", True)
                           for m in edits["mounts"] if m["source"] not in generated))
                self.assertEqual(
                    [(d["PathOnHost"], d["PathInContainer"], d["CgroupPermissions"])
                     for d in asked["HostConfig"]["Devices"]],
                    [(d["path"], d["path"], "rw") for d in edits["linux"]["devices"]])
                self.assertEqual(asked["Env"], edits["process"]["env"])
                self.assertNotEqual(asked["Env"], [])
                self.assertEqual((asked["Image"], asked["Cmd"]), ("image", ["command"]))

    def test_model_reads_the_same(self):
        text = self.plan(json.loads(RECORD), "docker")
        seen, asked = models.docker(text), self.created(text)
        self.assertEqual({m["Target"]: m["Source"] for m in asked["HostConfig"]["Mounts"]},
                         seen.files)


if __name__ == "__main__":
    if shutil.which("docker") is None:
        print("docker is not installed")
        sys.exit(SKIPPED)
    listed = subprocess.run([*recorded_host.command(SIMHOST, HOST), SETUP, "list", "--nv", "--json"],
                            capture_output=True, text=True, check=False)
    if listed.returncode == CANNOT_STAND_UP and os.environ.get("CI") != "true":
        print(listed.stderr)
        sys.exit(SKIPPED)
    RECORD = listed.stdout
    unittest.main()
