# SPDX-License-Identifier: MIT
"""`check --pid`: a container that runs, as it is."""

import json
import os
import unittest
import unittest.mock

import process_test

WRONG = 9


class AsItIs(process_test.Container):
    def check(self, *words, status=WRONG):
        done = self.on_process("check", "--nv", "--json", *words, status=status, stdout=None)
        return [finding for finding in json.loads(done.stdout)["findings"]
                if finding["severity"] in ("warning", "error")]

    def test_one_without_gpus(self):
        self.start()
        found = self.check()
        self.assertEqual([one["severity"] for one in found
                          if one["evidence"] in ("/dev/nvidiactl", "/dev/nvidia0")],
                         ["error", "error"])
        self.assertIn("no such device node", found[0]["text"])

    def test_one_that_was_set_up(self):
        self.start()
        self.on_process("--nv")
        self.assertEqual(self.check(status=0), [])

    def test_nothing_changes_there(self):
        self.start()
        before = self.mounts(), self.files()
        self.check()
        self.assertEqual((self.mounts(), self.files()), before)

    def test_a_node_that_is_another_device(self):
        self.start()
        self.on_process("--nv")
        self.inside("umount", "/dev/nvidia2")
        self.inside("rm", "/dev/nvidia2")
        self.inside("mknod", "/dev/nvidia2", "c", "1", "3")
        found = self.check(status=0)
        self.assertEqual([(one["severity"], one["evidence"]) for one in found],
                         [("warning", "/dev/nvidia2")])
        self.assertIn("is the character device 1:3 in the container", found[0]["text"])

    def test_its_own_variables_count(self):
        with unittest.mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=""):
            self.start()
        self.on_process("--nv")
        found = self.check()
        self.assertEqual([(one["code"], one["evidence"]) for one in found],
                         [("gpus_hidden", "CUDA_VISIBLE_DEVICES")])


if __name__ == "__main__":
    unittest.main()
