# SPDX-License-Identifier: MIT
"""`plan --format` of a host with hostile names: read back, it is what the plan says, or it is
refused by an error that names the path.

Shell words go through a real shell; how each program reads them is in models.py."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import models

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import recorded_host

SETUP, SIMHOST = os.environ["GPUCTR_SETUP"], os.environ["GPUCTR_SIMHOST"]
HOST = pathlib.Path(__file__).resolve().parents[1] / "hosts/h200-x8-ubuntu24.04-580"
SKIPPED, CANNOT_STAND_UP = 77, 125
# What a path may have in it, and which formats cannot express it.
HOSTILE = {
    " ": [], "  x ": [], "'": [], '"': [], "\\": [], "\\ ": [], "$HOME": [], "`id`": [],
    "$(id)": [], ";": [], "&": [], "|": [], "*": [], "?": [], "[a]": [], "~": [], "#": [],
    "{a,b}": [], "=": [], "%": [], "!": [], "\\040": [], "é": [], "-": [], "a\\": [],
    ",": [],
    ":": ["charliecloud", "enroot"],
    ",:": ["charliecloud", "enroot", "podman"],
    '":': ["charliecloud", "enroot", "podman"],
}
# Only the names of a record may have these, not its paths.
IN_TARGET = {
    "\n": [], "\t": [], "'\n'": [],
    "\r": ["enroot"],
    "\r\n": ["apptainer", "docker", "enroot", "singularity"],
    "\v": ["enroot"],
}
IN_NODE = {" ": [], "'": [], "$x": [], "\\": [],
           ":": ["docker", "podman", "enroot"], ",": ["docker", "podman"],
           '"': ["docker", "podman"]}


def record():
    return json.loads(RECORD)


def libcuda(document):
    [found] = [file for file in document["drivers"][0]["files"]
               if file["name"].startswith("libcuda.so.")]
    return found


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def plan(self, document, form, *words, device="0,3", **environment):
        path = self.directory / "host.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        clean = {key: value for key, value in os.environ.items() if "VISIBLE_DEVICES" not in key}
        done = subprocess.run([SETUP, "plan", "--nv", "--device", device, "--driver-capabilities",
                               "compute", "--host", path, "--format", form, *words],
                              capture_output=True, check=False, env=clean | environment)
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        return done

    def edits(self, document, **options):
        """What the OCI edits say, which JSON quotes."""
        done = self.plan(document, "oci", **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        edits = json.loads(done.stdout)
        generated = {file["path"] for file in edits["files"]}
        seen = models.Seen()
        for mount in edits["mounts"]:
            if mount["source"] not in generated:  # it is not there, and so left out elsewhere
                seen.files[mount["destination"]] = mount["source"]
        for device in edits["linux"]["devices"]:
            seen.nodes[device["path"]] = device["path"]
        for pair in edits["process"]["env"]:
            seen.set(pair)
        for name in edits["unset_env"]:
            seen.variables[name] = None
        return seen

    def check(self, form, document, wanted, refused, odd):
        done = self.plan(document, form)
        if refused:
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            shown = "".join(c for c in odd if c.isprintable())
            self.assertIn(shown, done.stderr.splitlines()[-2])
            self.assertIn("cannot express", done.stderr)
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = models.READERS[form](done.stdout)
        self.assertEqual(seen.files, wanted.files)
        if form not in models.EXPECTS_DEV:
            self.assertEqual(seen.nodes, wanted.nodes)


class Names(Case):
    def test_of_files(self):
        for odd, refusing in HOSTILE.items():
            document = record()
            libcuda(document)["path"] = f"/odd/{odd}/lib{odd}cuda"
            libcuda(document)["soname"] = f"lib{odd}.so.1"
            wanted = self.edits(document)
            for form in models.READERS:
                with self.subTest(odd=odd, form=form):
                    self.check(form, document, wanted, form in refusing, odd)

    def test_of_targets(self):
        for odd, refusing in IN_TARGET.items():
            document = record()
            libcuda(document)["soname"] = f"lib{odd}x.so.1"
            wanted = self.edits(document)
            for form in models.READERS:
                with self.subTest(odd=odd, form=form):
                    self.check(form, document, wanted, form in refusing, odd)

    def test_of_nodes(self):
        for odd, refusing in IN_NODE.items():
            document = record()
            [node] = [one for one in document["drivers"][0]["nodes"] if one["gpu"] == 3]
            node["path"] = node["host_path"] = f"/dev/nv{odd}3"
            wanted = self.edits(document)
            for form in models.READERS:
                if form in models.EXPECTS_DEV:
                    continue
                with self.subTest(odd=odd, form=form):
                    self.check(form, document, wanted, form in refusing, odd)

    def test_of_nodes_that_are_elsewhere_on_the_host(self):
        document = record()
        for node in document["drivers"][0]["nodes"]:
            node["host_path"] = "/driver" + node["path"]
        for form, read in models.READERS.items():
            with self.subTest(form):
                done = self.plan(document, form)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(read(done.stdout).nodes["/dev/nvidia3"], "/driver/dev/nvidia3")

    def test_real_shells_agree(self):
        document = record()
        libcuda(document)["path"] = "/a b'\"$x`y`\\;é*?#(c)=~{d}!<>&|"
        text = self.plan(document, "bwrap").stdout
        words = models.shell_words(text)
        self.assertIn(libcuda(document)["path"], words)
        self.assertEqual(models.shell_words(text, "bash"), words)
        # As in eval "bwrap $(gpuctr-setup plan ...)".
        evaluated = subprocess.run(["sh", "-c", 'eval "printf \'%s\\0\' $1"', "sh", text.rstrip("\n")],
                                   stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(evaluated.decode().split("\0")[:-1], words)

    def test_what_is_not_utf8_is_no_json(self):
        document = record()
        path = self.directory / "odd.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        changed = path.read_bytes().replace(libcuda(document)["path"].encode(), b"/odd/\xff")
        path.write_bytes(changed)
        done = subprocess.run([SETUP, "plan", "--nv", "--host", path, "--format", "oci"],
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)


class Lines(Case):
    """Formats of lines, and the script."""

    def test_of_paths_have_each_once(self):
        document = record()
        libcuda(document)["path"] = "/odd/ '\"$,:\\"
        lines = self.plan(document, "paths").stdout.splitlines()
        wanted = self.edits(document)
        self.assertEqual(lines, sorted({*wanted.files.values(), *wanted.nodes}))

    def test_of_the_environment(self):
        document = record()
        uuids = [gpu["uuid"] for gpu in document["drivers"][0]["gpus"]]
        self.assertEqual(
            self.plan(document, "env", device="auto", CUDA_VISIBLE_DEVICES="3,0").stdout,
            f"CUDA_VISIBLE_DEVICES={uuids[3]},{uuids[0]}\n")
        done = self.plan(document, "env", CUDA_VISIBLE_DEVICES="5")
        self.assertEqual(done.stdout, "")
        self.assertIn("CUDA_VISIBLE_DEVICES must not be set", done.stderr)


class Variables(Case):
    def test_are_the_same_in_each_format(self):
        document = record()
        chosen = {"device": "auto", "CUDA_VISIBLE_DEVICES": "3,0"}
        wanted = self.edits(document, **chosen).variables
        self.assertEqual(list(wanted), ["CUDA_VISIBLE_DEVICES"])
        for form, read in models.READERS.items():
            with self.subTest(form):
                done = self.plan(document, form, **chosen)
                self.assertEqual(read(done.stdout).variables, wanted)

    def test_that_are_taken_away(self):
        """One that names GPUs which the container does not have."""
        document = record()
        variable = {"CUDA_VISIBLE_DEVICES": "5"}
        wanted = self.edits(document, **variable).variables
        self.assertEqual(wanted, {"CUDA_VISIBLE_DEVICES": None})
        for form, read in models.READERS.items():
            with self.subTest(form):
                done = self.plan(document, form, **variable)
                self.assertEqual(done.returncode, 0, done.stderr)
                seen = read(done.stdout).variables
                if form in ("apptainer", "singularity"):
                    self.assertIn("CUDA_VISIBLE_DEVICES must not be set", done.stderr)
                else:
                    self.assertEqual(seen, {} if form in models.START_EMPTY else wanted)


class Script(Case):
    """--format shell, with a mount that only tells what it was called with."""

    def setUp(self):
        super().setUp()
        self.root, self.bin = self.directory / "root $x", self.directory / "bin"
        self.root.mkdir()
        self.bin.mkdir()
        (self.bin / "mount").write_text("#!/bin/sh\nprintf '%s\\0' \"$@\" '' >>\"$CALLS\"\n")
        (self.bin / "mount").chmod(0o755)

    def calls(self, document):
        script = self.directory / "gpus.sh"
        script.write_text(self.plan(document, "shell").stdout, encoding="utf-8")
        calls = self.directory / "calls"
        calls.write_text("")
        environment = dict(os.environ, PATH=f"{self.bin}:{os.environ['PATH']}", CALLS=str(calls))
        subprocess.run(["sh", script, self.root], check=True, env=environment)
        return [call.split("\0") for call in calls.read_text().split("\0\0")[:-1]]

    def test_mounts_what_the_plan_says(self):
        document = record()
        libcuda(document)["path"] = "/odd/a b'\"$x`y`\\;*?#=~"
        libcuda(document)["soname"] = "-lib\n'$(x)\".so.1"
        wanted, found, options = self.edits(document), {}, {}
        for call in self.calls(document):
            if call[0] == "--rbind":
                found[call[3].removeprefix(str(self.root))] = call[2]
            else:
                options[call[3].removeprefix(str(self.root))] = call[1]
        self.assertEqual(found, wanted.files | wanted.nodes)
        self.assertEqual(set(options), set(wanted.files))
        self.assertEqual(set(options.values()), {"remount,bind,ro,nosuid,nodev"})
        for target in found:
            self.assertTrue(os.path.isfile(f"{self.root}{target}"), target)

    def test_links_do_not_lead_out(self):
        outside = self.directory / "outside"
        outside.mkdir()
        (self.root / "usr").mkdir()
        (self.root / "usr/lib64").symlink_to("lib")
        (self.root / "usr/lib").symlink_to(outside)
        (self.root / "usr/bin").symlink_to("../../../../../../../../bin")
        (self.root / "dev").symlink_to("/")
        targets = [call[3] for call in self.calls(record()) if call[0] == "--rbind"]
        self.assertEqual(list(outside.iterdir()), [])
        for target in targets:
            self.assertTrue(target.startswith(f"{self.root}/"), target)
            self.assertNotIn("..", target)
        self.assertIn(f"{self.root}{outside}/libcuda.so.1", targets)
        self.assertIn(f"{self.root}/bin/nvidia-cuda-mps-control", targets)
        self.assertIn(f"{self.root}/nvidia0", targets)

    def test_links_in_circles_are_an_error(self):
        (self.root / "usr").symlink_to("usr")
        script = self.directory / "gpus.sh"
        script.write_text(self.plan(record(), "shell").stdout, encoding="utf-8")
        done = subprocess.run(["sh", script, self.root], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("too many links", done.stderr)


class Refused(Case):
    def refused(self, *words, form="docker"):
        done = self.plan(record(), form, *words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        return done.stderr.splitlines()[0]

    def test_options_about_one_root(self):
        for words in (("--rootfs", "/tmp"), ("--pid", "1"), ("--layout", "merged"), ("--lock",),
                      ("--write", "never"), ("--tree-path", "/x"), ("--mount-label", "x")):
            self.assertEqual(self.refused(*words),
                             "gpuctr-setup: --format docker is for any image, and does not go "
                             f"with {words[0]}")

    def test_variables_of_an_image_that_is_not_known(self):
        self.assertEqual(self.refused("--image-env", "auto"),
                         "gpuctr-setup: --format docker is for any image: --image-env takes a FILE "
                         "here")

    def test_a_directory_of_files_for_text(self):
        self.assertIn("--files-dir goes with formats of other programs",
                      self.refused("--files-dir", "/x", form="text"))

    def test_an_unknown_format(self):
        self.assertIn("did you mean", self.plan(record(), "dockr").stderr)


class GeneratedFiles(Case):
    """Small files that a plan makes for containers, which no option can carry."""

    ICD = "/etc/OpenCL/vendors/nvidia.icd"

    def files(self, *words):
        done = self.plan(record(), "bwrap", *words)
        return models.bwrap(done.stdout).files, done.stderr

    def test_are_left_out_and_named_where_they_are_not_kept(self):
        files, said = self.files("--files-dir", self.directory)
        self.assertNotIn(self.ICD, files)
        self.assertIn(f"warning: left out, because this host has no such files: {self.ICD}: `", said)

    def test_are_taken_from_where_they_are_kept_with_their_content_alone(self):
        kept = self.directory / ("nvidia.com-gpu" + self.ICD)
        kept.parent.mkdir(parents=True)
        for content in ("", "libnvidia-opencl.so.", "libnvidia-opencl.so.1\n\n", "libx.so.1xxxxxxxxxxxxx\n"):
            kept.write_text(content)
            self.assertNotIn(self.ICD, self.files("--files-dir", self.directory)[0])
        kept.write_text("libnvidia-opencl.so.1\n")
        files, said = self.files("--files-dir", self.directory)
        self.assertEqual(files[self.ICD], str(kept))
        self.assertNotIn("warning", said)
        self.assertNotIn("warning", self.plan(record(), "oci", "--files-dir", self.directory).stderr)

    def test_a_pipe_is_not_waited_for(self):
        kept = self.directory / ("nvidia.com-gpu" + self.ICD)
        kept.parent.mkdir(parents=True)
        os.mkfifo(kept)
        self.assertNotIn(self.ICD, self.files("--files-dir", self.directory)[0])

    def test_quiet_says_nothing(self):
        self.assertEqual(self.plan(record(), "bwrap", "-q").stderr, "")


if __name__ == "__main__":
    listed = subprocess.run([*recorded_host.command(SIMHOST, HOST), SETUP, "list", "--nv", "--json"],
                            capture_output=True, text=True, check=False)
    if listed.returncode == CANNOT_STAND_UP and os.environ.get("CI") != "true":
        print(listed.stderr)
        sys.exit(SKIPPED)
    RECORD = listed.stdout
    unittest.main()
