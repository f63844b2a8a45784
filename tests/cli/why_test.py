# SPDX-License-Identifier: MIT
"""Why a container gets a library, tool, node or GPU, or does not."""

import json
import os
import pathlib
import unittest

import harness
import jsonschema
from harness import MULTIARCH, TREE, VERSION

LIBCUDA = f"/usr/local/nvidia/lib64/libcuda.so.{VERSION}"
SCHEMAS = pathlib.Path(os.environ["GPUCTR_SCHEMA_DIR"])
COMPAT = "/usr/local/cuda/compat/libcuda.so.1"


class Case(harness.Case):
    def why(self, *words, status=0):
        done = self.run_setup("why", "--nv", "--json", *words, status=status, stdout=None,
                              stderr=None)
        if status != 0:
            return json.loads(done.stderr)
        document = json.loads(done.stdout)
        jsonschema.validate(document, json.loads((SCHEMAS / "why.json").read_text()))
        return document["answers"]

    def answer(self, *words):
        [answer] = self.why(*words)
        return answer

    def reasons(self, answer):
        return {other["evidence"]: other["text"] for other in answer["others"]}


class Libraries(Case):
    def test_says_from_where_and_under_which_names(self):
        answer = self.answer("libcuda.so.1", "--rootfs", self.root)
        self.assertTrue(answer["given"])
        self.assertEqual((answer["kind"], answer["vendor"], answer["capability"], answer["path"]),
                         ("library", "nvidia", "compute", LIBCUDA))
        targets = [item["target"] for item in answer["items"]]
        self.assertEqual(targets[0], f"{TREE}/lib64/libcuda.so.{VERSION}")
        self.assertIn(f"{TREE}/lib64/libcuda.so.1", targets)
        self.assertIn(f"/usr/lib/{MULTIARCH}/libcuda.so.1", targets)

    def test_any_name_of_a_library_means_the_same(self):
        expected = self.answer("libcuda.so.1")
        for name in ("libcuda.so", "libcuda", f"libcuda.so.{VERSION}", LIBCUDA,
                     f"/usr/lib/{MULTIARCH}/libcuda.so.1"):
            with self.subTest(name=name):
                answer = self.answer(name)
                self.assertEqual((answer["name"], answer["path"], answer["given"]),
                                 (expected["name"], expected["path"], True))

    def test_names_the_copies_that_lost_and_why(self):
        reasons = self.reasons(self.answer("libcuda.so.1"))
        self.assertEqual(reasons[COMPAT], f"is version 580.95.05; the driver's is {VERSION}")

    def test_a_path_that_lost_is_not_given(self):
        answer = self.answer(COMPAT)
        self.assertFalse(answer["given"])
        self.assertEqual(answer["items"], [])
        self.assertEqual(answer["reason"], f"it is version 580.95.05; the driver's is {VERSION}")
        self.assertEqual(answer["remedies"], [f"{LIBCUDA} is given in its place"])

    def test_says_which_capability_would_bring_it(self):
        answer = self.answer("libnvidia-encode.so.1", "--driver-capabilities", "utility")
        self.assertFalse(answer["given"])
        self.assertEqual(answer["remedies"], ["ask for it: --driver-capabilities video"])
        self.assertTrue(answer["reason"].startswith("it belongs to video, which was not asked for"))
        self.assertTrue(self.answer("libnvidia-encode.so.1", "--driver-capabilities",
                                    "utility,video")["given"])

    def test_says_what_is_not_installed(self):
        answer = self.answer("libnvidia-nscq.so.2")
        self.assertEqual((answer["given"], answer["path"], answer["reason"]),
                         (False, None, "not installed"))
        self.assertEqual(answer["remedies"], [
            "install the package of the driver that has it, of the same version"])

    def test_names_the_images_own_copy_and_its_fate(self):
        own = self.root / "usr/local/nvidia/lib64"
        own.mkdir(parents=True)
        (own / "libcuda.so.1").write_bytes(open("/bin/true", "rb").read())
        inside = "/usr/local/nvidia/lib64/libcuda.so.1"
        answer = self.answer("libcuda.so.1", "--rootfs", self.root)
        self.assertIn(self.reasons(answer)[inside],
                      (f"the image's own; {LIBCUDA} is mounted over it",
                       "the image's own; the host's is found before it"))
        answer = self.answer("libcuda.so.1", "--rootfs", self.root, "--vendor-libs", "none")
        self.assertFalse(answer["given"])
        self.assertEqual(self.reasons(answer)[inside], "the image's own, which programs there use")
        self.assertEqual(answer["remedies"], ["leave out --vendor-libs none"])

    def test_of_a_recorded_host_knows_what_was_recorded(self):
        record = harness.DIRECTORY / "why.json"
        record.write_text(self.run_setup("list", "--nv", "--json", stdout=None).stdout)
        answer = self.answer("libcuda.so.1", "--host", record)
        self.assertEqual((answer["given"], answer["path"]), (True, LIBCUDA))
        self.assertNotIn("/usr/local/cuda/compat/libcuda.so.1",
                         [other["evidence"] for other in answer["others"]
                          if other["code"] == "file_left_out"])


class Tools(Case):
    def test_a_wrapper_script_is_not_the_tool(self):
        answer = self.answer("nvidia-smi", "--rootfs", self.root)
        self.assertEqual((answer["kind"], answer["given"], answer["path"]),
                         ("tool", True, "/usr/local/nvidia/bin/nvidia-smi"))
        self.assertEqual(self.reasons(answer), {"/usr/bin/nvidia-smi": "is not an ELF program"})


class NodesAndGpus(Case):
    def test_a_node_by_each_of_its_names(self):
        for name in ("/dev/nvidia0", "nvidia0"):
            answer = self.answer(name)
            self.assertEqual((answer["kind"], answer["name"], answer["given"]),
                             ("node", "/dev/nvidia0", True))

    def test_a_node_of_a_gpu_that_is_not_chosen(self):
        answer = self.answer("nvidia0", "--device", "1")
        self.assertEqual((answer["given"], answer["reason"]), (False, "GPU 0 is not chosen"))
        self.assertEqual(answer["remedies"], ["choose its GPU: --device 0"])

    def test_a_gpu_that_a_variable_leaves_out(self):
        os.environ["CUDA_VISIBLE_DEVICES"] = "1"
        self.addCleanup(os.environ.pop, "CUDA_VISIBLE_DEVICES")
        answer = self.answer("3")
        self.assertEqual((answer["kind"], answer["given"]), ("gpu", False))
        self.assertEqual(answer["reason"],
                         "--device auto does not choose it (CUDA_VISIBLE_DEVICES=1)")
        self.assertEqual(answer["remedies"], ["choose it: --device 3"])

    def test_a_gpu_by_its_address_and_uuid(self):
        uuid = json.loads(self.run_setup("list", "--nv", "--json", stdout=None).stdout)[
            "drivers"][0]["gpus"][2]["uuid"]
        for name in ("2", "0000:00:08.0", "00:08.0", uuid, uuid[:12]):
            with self.subTest(name=name):
                answer = self.answer(name)
                self.assertEqual((answer["name"], answer["path"], answer["given"]),
                                 ("2", "0000:00:08.0", True))


class Names(Case):
    def test_an_unknown_name_is_a_usage_error_that_says_what_is_similar(self):
        for name, hint in (("cuda", "similar names: "), ("libcudaa", "did you mean libcuda? ")):
            with self.subTest(name=name):
                error = self.why(name, status=2)
                self.assertEqual(error["message"],
                                 f"{name}: no library, tool, device node or GPU has this name")
                self.assertIn(hint, error["hint"])

    def test_the_beginning_of_several_names_is_none(self):
        error = self.why("libnvidia-", status=2)
        self.assertEqual(error["message"], "libnvidia-: is the beginning of several names")
        self.assertIn("libnvidia-allocator.so.1", error["hint"])

    def test_an_unambiguous_beginning_is_a_name(self):
        self.assertEqual(self.answer("libnvidia-enc")["name"], "libnvidia-encode.so.1")

    def test_a_name_is_needed(self):
        self.run_setup("why", "--nv", status=2, stderr=None)
        self.run_setup("why", "--nv", "a", "b", status=2, stderr=None)

    def test_hostile_names_are_only_names(self):
        for name in ("../../etc/passwd", "/etc/passwd", "/dev/null", "a" * 5000, "\x1b[31m", "", "*"):
            with self.subTest(name=name[:20]):
                self.run_setup("why", "--nv", name, status=2, stderr=None)


class Text(Case):
    def test_is_short(self):
        text = self.run_setup("why", "--nv", "libcuda.so.1", stdout=None).stdout
        lines = text.splitlines()
        self.assertEqual(lines[0], "libcuda.so.1: given")
        self.assertEqual(lines[1], f"  from    {LIBCUDA}")
        self.assertIn("more; -v lists them", text)
        self.assertLess(len(lines), 15)

    def test_verbose_lists_every_name(self):
        text = self.run_setup("why", "--nv", "libcuda.so.1", "-v", stdout=None).stdout
        self.assertNotIn("-v lists them", text)
        self.assertIn(f"{TREE}/lib64/libcuda.so.1 (symlink)", text)

    def test_says_what_is_not_given(self):
        text = self.run_setup("why", "--nv", "nvidia0", "--device", "1", stdout=None).stdout
        self.assertEqual(text, "/dev/nvidia0: not given\n"
                               "  from    /dev/nvidia0\n"
                               "  because GPU 0 is not chosen\n"
                               "  change  choose its GPU: --device 0\n")


if __name__ == "__main__":
    unittest.main()
