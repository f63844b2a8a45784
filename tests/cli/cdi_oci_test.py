# SPDX-License-Identifier: MIT
"""gpuctr-setup cdi apply --oci: devices of specifications in an OCI configuration."""

import json
import unittest

import ctk_specs
import harness
from cdi_case import KEEP, Case
from ctk_specs import LIBRARIES
from harness import ORDINARY_USER, VERSION


class Configuration(Case):
    CONFIG = {"ociVersion": "1.0.2", "root": {"path": "/somewhere/else"}, "annotations": {"a": "b"},
              "process": {"env": ["PATH=/bin", "NVIDIA_VISIBLE_DEVICES=all", "B=c"],
                          "user": {"uid": 5, "gid": 0, "additionalGids": [7]}},
              "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                         {"destination": "/a/b/c/d", "source": "/x"},
                         {"destination": "/usr/bin/nvidia-smi", "source": "/x"}],
              "linux": {"devices": [{"path": "/dev/nvidia0", "type": "c", "major": 1, "minor": 3},
                                    {"path": "/dev/fuse", "type": "c", "major": 10, "minor": 229}],
                        "resources": {"devices": [{"allow": False, "access": "rwm"}]}},
              "hooks": {"createContainer": [{"path": "/own"}]}}

    def edited(self, *words, config=None, **options):
        config = self.CONFIG if config is None else config
        done = self.apply("--oci", *words, input=json.dumps(config), stdin=None,
                          **{"stderr": None} | options)
        return json.loads(done.stdout) if done.returncode == 0 else done.stdout

    def test_each_edit_takes_the_place_of_the_old_one(self):
        self.write()
        edited = self.edited()
        self.assertEqual(edited["process"]["env"],
                         ["PATH=/bin", "NVIDIA_VISIBLE_DEVICES=void", "B=c"])
        self.assertEqual(edited["root"], self.CONFIG["root"])
        self.assertEqual(edited["annotations"], {"a": "b"})
        self.assertEqual(edited["hooks"], self.CONFIG["hooks"])
        paths = [one["path"] for one in edited["linux"]["devices"]]
        self.assertEqual(paths, ["/dev/fuse", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0"])
        node = edited["linux"]["devices"][-1]
        self.assertEqual((node["major"], node["minor"], node["uid"]), (195, 0, 5))
        self.assertNotIn("gid", node)
        self.assertEqual(edited["linux"]["resources"]["devices"][-1],
                         {"allow": True, "type": "c", "major": 195, "minor": 0, "access": "rwm"})
        targets = [one["destination"] for one in edited["mounts"]]
        self.assertEqual(targets.count("/usr/bin/nvidia-smi"), 1)
        depths = [target.count("/") for target in targets]
        self.assertEqual(depths, sorted(depths))
        self.assertEqual(targets[0], "/proc")

    def test_links_and_libraries_are_mounts(self):
        self.write()
        by_target = {one["destination"]: one["source"] for one in self.edited()["mounts"]}
        libcuda = str(LIBRARIES / f"libcuda.so.{VERSION}")
        multiarch = f"/usr/lib/{harness.MULTIARCH}"
        for path in (LIBRARIES / "libcuda.so.1", LIBRARIES / "libcuda.so", "/usr/lib64/libcuda.so.1",
                     f"{multiarch}/libcuda.so.1", f"{multiarch}/libcuda.so"):
            self.assertEqual(by_target[str(path)], libcuda)
        self.assertNotIn("hooks", self.edited(config={}))

    def test_what_mounts_alone_cannot_do_is_told(self):
        self.spec = ctk_specs.specification("1.20", VERSION)
        self.write()
        told = self.apply("--oci", input="{}", stdin=None, stderr=None).stderr
        self.assertIn("whether the image has libraries of a newer driver", told)
        self.assertIn("programs that draw are not told", told)

    def test_as_the_library_for_go_does_it(self):
        path = self.write()
        edited = self.edited(KEEP, "all")
        common = json.loads(path.read_text())["containerEdits"]
        self.assertEqual(edited["hooks"]["createContainer"],
                         [{"path": "/own"}]
                         + [{key: value for key, value in hook.items() if key != "hookName"}
                            for hook in common["hooks"]])
        self.assertEqual(len(edited["mounts"]), len(self.CONFIG["mounts"]) - 1
                         + len(common["mounts"]))

    def test_hooks_that_are_not_known_stay_if_asked_for(self):
        other = {"hookName": "poststart", "path": "/opt/other", "args": ["a"], "timeout": 5}
        self.write(hooks=self.spec["containerEdits"]["hooks"] + [other])
        with self.nothing_changes():
            self.assertEqual(self.edited(status=2, stderr=None), "")
        del other["hookName"]
        self.assertEqual(self.edited(KEEP, "unknown")["hooks"],
                         self.CONFIG["hooks"] | {"poststart": [other]})

    def test_all_fields(self):
        self.spec["cdiVersion"] = "1.1.0"
        self.write(netDevices=[{"hostInterfaceName": "eth0", "name": "e"}], additionalGids=[7, 44, 0],
                   intelRdt={"closID": "one", "enableMonitoring": True})
        edited = self.edited()
        self.assertEqual(edited["linux"]["netDevices"], {"eth0": {"name": "e"}})
        self.assertEqual(edited["linux"]["intelRdt"], {"closID": "one", "enableMonitoring": True})
        self.assertEqual(edited["process"]["user"]["additionalGids"], [7, 44])

    def test_links_of_nodes_are_nodes(self):
        self.write(hooks=[ctk_specs.hook("1.18", "create-symlinks", "--link",
                                         "../../nvidia0::/dev/dri/by-path/card")])
        devices = {one["path"]: one["minor"] for one in self.edited()["linux"]["devices"]}
        self.assertEqual(devices["/dev/dri/by-path/card"], 0)

    def test_bad_input(self):
        self.write()
        for text in ("", "[]", '{"mounts": {}}', '{"process": []}', "x" * (5 << 20), "[" * 1000):
            with self.subTest(text[:20]):
                self.apply("--oci", input=text, stdin=None, status=2, stderr=None, stdout="")

    def test_no_privileges_are_needed(self):
        self.write()
        self.directory.chmod(0o755)
        done = harness.call(*ORDINARY_USER, harness.SETUP, "cdi", "apply", "--spec-dir",
                            self.directory, "--device", "nvidia.com/gpu=0", "--oci", input="{}",
                            stdin=None)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
