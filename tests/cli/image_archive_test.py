# SPDX-License-Identifier: MIT
"""Images in archives, as docker save, podman save and skopeo write them: plan and check."""

import gzip
import hashlib
import io
import json
import os
import platform
import tarfile
import unittest

import harness
import image_check_test
import image_file_test

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
FORMS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
INDEX = "application/vnd.oci.image.index.v1+json"
RUN = ("hint: plan and check read it; to run its programs, make a SIF or a directory of it: "
       "apptainer build [--sandbox] NEW docker-archive:IMAGE (or oci-archive:IMAGE)\n")


def tar_of(files, form=tarfile.PAX_FORMAT):
    """A tar with these contents, by name; of a link, its target in a list."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            if isinstance(content, list):
                info.type, info.linkname = tarfile.SYMTYPE, content[0]
                content = b""
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return made.getvalue()


def tar_of_tree(root, form=tarfile.PAX_FORMAT, only=lambda name: True):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as tar:
        for entry in sorted(os.listdir(root)):
            if only(entry):
                tar.add(root / entry, entry)
    return made.getvalue()


def docker(*layers, images=None, config=None, form=tarfile.PAX_FORMAT):
    """As docker save wrote it before version 25."""
    files = {f"{number}/layer.tar": layer for number, layer in enumerate(layers)}
    files["config.json"] = json.dumps(config or {}).encode()
    images = images or [{"Config": "config.json", "RepoTags": ["x:1"], "Layers": list(files)[:-1]}]
    files["manifest.json"] = json.dumps(images).encode()
    return tar_of(files, form)


def oci(*images, index=None):
    """An archive of an OCI layout. Each image: its layers, and more about it."""
    files = {}

    def blob(content, **more):
        digest = hashlib.sha256(content).hexdigest()
        files[f"blobs/sha256/{digest}"] = content
        return {"digest": f"sha256:{digest}", "size": len(content), **more}

    def manifest(layers, more):
        document = {"schemaVersion": 2, "config": blob(b"{}"), "layers": [blob(x) for x in layers]}
        return blob(json.dumps(document).encode(), **more)

    manifests = [manifest(layers, more) for layers, more in images]
    if index is not None:
        manifests = [blob(json.dumps({"manifests": manifests}).encode(), mediaType=INDEX, **index)]
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": manifests}).encode()
    files["oci-layout"] = b'{"imageLayoutVersion": "1.0.0"}'
    return tar_of(files)


def for_machine(architecture):
    return {"platform": {"os": "linux", "architecture": architecture}}


class Case(image_check_test.Case):
    def archive(self, content):
        return self.image(content, "image.tar")


class Reads(Case):
    """An archive is as good as the directory that its layers make."""

    def expect_as_directory(self, content, prefix=()):
        image = self.archive(content)
        words = ("plan", "--nv", "--rootfs")
        expected = self.json_of(*words, self.root, "--write", "never")["items"]
        self.assertEqual(self.json_of(*words, image, prefix=prefix)["items"], expected)
        words = ("check", "--nv", "--rootfs")
        program = ("--binary", "/bin/sh")
        expected = self.json_of(*words, self.root, *program)["findings"]
        self.assertEqual(self.json_of(*words, image, *program, prefix=prefix)["findings"], expected)

    def test_in_each_form_of_tar(self):
        for form in FORMS:
            with self.subTest(form):
                self.expect_as_directory(docker(tar_of_tree(self.root, form), form=form))

    def test_by_an_ordinary_user(self):
        self.expect_as_directory(docker(tar_of_tree(self.root)), image_file_test.USER)

    def test_layers_over_each_other(self):
        lower = tar_of_tree(self.root, only=lambda name: name != "etc")
        wrong = tar_of({"etc/ld.so.cache": b"damaged", "bin/extra": b"", "opaque/file": b"",
                        "lib64/libcuda.so.1": b"old"})
        whited_out = tar_of({"etc/.wh.ld.so.cache": b"", "bin/.wh.extra": b"",
                             "opaque/.wh..wh..opq": b"", "lib64/.wh.libcuda.so.1": b""})
        upper = tar_of_tree(self.root, only=lambda name: name == "etc")
        self.expect_as_directory(docker(lower, wrong, whited_out, upper))

    def test_a_layer_that_is_a_link_to_another(self):
        files = {"a/layer.tar": tar_of_tree(self.root), "b/layer.tar": ["../a/layer.tar"],
                 "manifest.json": b'[{"Layers": ["b/layer.tar", "a/layer.tar"]}]'}
        self.expect_as_directory(tar_of(files))

    def test_of_podman(self):
        layer = tar_of_tree(self.root)
        name = hashlib.sha256(layer).hexdigest() + ".tar"
        manifest = [{"Config": "c.json", "RepoTags": ["localhost/x:1"], "Layers": [name]}]
        self.expect_as_directory(tar_of({name: layer, "c.json": b"{}", "id/layer.tar": [f"../{name}"],
                                         "manifest.json": json.dumps(manifest).encode()}))

    def test_of_an_oci_layout(self):
        layer = tar_of_tree(self.root)
        other = tar_of({"other": b""})
        own = for_machine(ARCHITECTURE)
        self.expect_as_directory(oci(([layer], {})))
        self.expect_as_directory(oci(([other], for_machine("mips")), ([layer], own)))
        self.expect_as_directory(oci(([layer], own), ([other], for_machine("mips")), index={}))

    def test_variables_of_the_configuration(self):
        layer = tar_of_tree(self.root)
        for variable, status in (("A=b", 0), ("NVIDIA_VISIBLE_DEVICES=void", 9),
                                 ("NVIDIA_REQUIRE_CUDA=cuda>=99.0", 9)):
            image = self.archive(docker(layer, config={"config": {"Env": [variable]}}))
            words = ("check", "--nv", "--rootfs")
            expected = self.json_of(*words, self.root, "--request-env", variable, status=status)
            with self.subTest(variable):
                self.assertEqual(self.json_of(*words, image, status=status)["findings"],
                                 expected["findings"])
        words = ("plan", "--nv", "--image-env", "auto", "--rootfs")
        image = self.archive(docker(layer, config={"config": {"Env": ["NVIDIA_VISIBLE_DEVICES=2"]}}))
        found = self.json_of(*words, image)["items"]
        nodes = {item["target"] for item in found if item["target"].startswith("/dev/nvidia")}
        self.assertIn("/dev/nvidia2", nodes)
        self.assertNotIn("/dev/nvidia1", nodes)

    def test_by_a_descriptor(self):
        image = self.archive(docker(tar_of_tree(self.root)))
        expected = self.json_of("plan", "--nv", "--rootfs", image)["items"]
        with open(image, "rb") as file:
            done = harness.setup("plan", "--nv", "--rootfs-fd", file.fileno(), "--format", "json",
                                 pass_fds=[file.fileno()])
        self.assertEqual(json.loads(done.stdout)["items"], expected, done.stderr)

    def test_without_libsquashfs(self):
        harness.must("mount", "--bind", "/dev/null", image_check_test.LIBRARY)
        self.addCleanup(harness.must, "umount", image_check_test.LIBRARY)
        self.expect_as_directory(docker(tar_of_tree(self.root)))


class Refused(Case):
    def refused_by_both(self, content, message, hint, status=7):
        image = self.archive(content)
        for command in ("plan", "check"):
            with self.subTest(command, message=message):
                done = self.answers(command, "--nv", "--rootfs", image, status=status)
                self.assertEqual(done.stdout, "")
                self.assertIn(message, done.stderr)
                self.assertIn(f"hint: {hint}", done.stderr)

    def test_compressed_layers(self):
        layer = gzip.compress(tar_of_tree(self.root))
        message = "the archive's layers are compressed with gzip, and are read as plain tars only"
        self.refused_by_both(docker(layer), message,
                             "skopeo copy docker-archive:IMAGE docker-archive:NEW")
        self.refused_by_both(oci(([layer], {})), message,
                             "skopeo copy oci-archive:IMAGE docker-archive:NEW")

    def test_compressed_archives(self):
        self.refused_by_both(gzip.compress(os.urandom(1000)),
                             "it is compressed as a whole, with gzip", "decompress it: ")

    def test_several_images(self):
        image = {"Config": "c", "Layers": []}
        images = [{**image, "RepoTags": ["x:1"]}, {**image, "RepoTags": ["y:2"]}]
        self.refused_by_both(docker(images=images), "the archive holds several images: x:1, y:2",
                             "save one of them: docker save -o FILE NAME")
        own = for_machine(ARCHITECTURE)
        self.refused_by_both(oci(([tar_of({"a": b""})], own), ([tar_of({"b": b""})], own)),
                             "the archive holds several images: sha256:",
                             "copy one of them: skopeo copy oci-archive:IMAGE:NAME")

    def test_images_for_other_machines(self):
        self.refused_by_both(oci(([tar_of({"a": b""})], for_machine("mips")),
                                 ([tar_of({"b": b""})], for_machine("mipsle"))),
                             "the archive's images are for other machines: ",
                             "save the image for this machine")

    def test_other_archives(self):
        self.refused_by_both(tar_of({"etc/passwd": b""}), "an archive without an image",
                             "archives of docker save", status=5)
        self.refused_by_both(docker(images={"Layers": []}), "manifest.json of the archive says nothing",
                             "save or copy it once more", status=5)

    def test_cut_off_ones(self):
        whole = docker(tar_of_tree(self.root))
        self.refused_by_both(whole[:len(whole) // 2], "it is damaged", "copy it once more", status=5)

    def test_hostile_layers(self):
        for files in ({"f": b"", "f/x": b""}, {"l": ["l"], "l/x": b""}, {".wh..": b""}):
            self.refused_by_both(docker(tar_of(files)), "it is damaged", "copy it once more",
                                 status=5)

    def test_programs_are_not_run(self):
        for content in (docker(tar_of_tree(self.root)), oci(([tar_of_tree(self.root)], {}))):
            self.run_in(self.archive(content), "true", status=125,
                        stderr=f"gpuctr-setup: image {harness.DIRECTORY}/image.tar: an archive of "
                               f"layers, which is not mounted (error 7)\n{RUN}")

    def test_directories_with_an_image_as_it_is_stored(self):
        with tarfile.open(fileobj=io.BytesIO(oci(([tar_of({"a": b""})], {})))) as tar:
            tar.extractall(harness.DIRECTORY / "layout")
        self.addCleanup(harness.must, "rm", "-r", harness.DIRECTORY / "layout")
        for words in (("plan",), ("check",), ("apply",)):
            done = self.answers(*words, "--nv", "--rootfs", harness.DIRECTORY / "layout", status=7)
            self.assertIn("the directory is an OCI layout: an image as it is stored", done.stderr)
            self.assertIn("hint: unpack it, and name the unpacked directory: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
