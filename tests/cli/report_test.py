# SPDX-License-Identifier: MIT
"""gpuctr-setup report: what is passed on to strangers when root writes it."""

import io
import json
import os
import tarfile

import harness

SECRET = "correct horse battery staple"


class Secrets(harness.Case):
    """What root alone may read is not passed on to strangers by a report that root writes."""

    def members(self, script, environment=None):
        """Those of a report after a script that writes to /run, with the secret in a file there."""
        before = ('mount -t tmpfs -o mode=755 test /run; echo "$0" >/run/secret; '
                  f'chmod 600 /run/secret; mkdir -m 755 /run/cdi\n{script}\nexec "$@"')
        done = harness.call("unshare", "--mount", "sh", "-euc", before, SECRET, harness.SETUP, "report",
                            "-q", text=False, env=dict(os.environ, **(environment or {})))
        self.assertEqual(done.returncode, 0, done.stderr)
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            return {member.name: archive.extractfile(member).read().decode(errors="replace")
                    for member in archive.getmembers()}

    def assert_kept(self, members, path):
        """The file is named, and the secret stays where it is."""
        self.assertEqual([name for name, text in members.items() if SECRET in text], [])
        self.assertIn(f"{path}\t", members["files.tsv"])

    def test_what_a_link_leads_to(self):
        for script in ("ln -s /run/secret /run/cdi/evil.json", "ln -s ../secret /run/cdi/evil.json",
                       "ln -s x /run/cdi/evil.json; ln -s /run/secret /run/cdi/x",
                       "chmod 644 /run/secret; ln -s /run/secret /run/cdi/evil.json"):
            with self.subTest(script):
                members = self.members(script)
                self.assert_kept(members, "/run/cdi/evil.json")
                self.assertIn("not recorded: /run/secret: ", members["host.txt"])

    def test_a_link_of_somebody_else_under_the_name_of_a_manifest(self):
        place = "/usr/share/vulkan/icd.d"
        for mode, owner, is_kept in (("755", 0, False), ("775", 0, True), ("777", 0, True),
                                     ("755", 65534, True)):
            with self.subTest(mode=mode, owner=owner):
                members = self.members(
                    f"mount -t tmpfs -o mode={mode} test {place}; chmod 644 /run/secret; "
                    f"ln -s /run/secret {place}/nvidia_icd.json; chown -h {owner} {place}/nvidia_icd.json")
                self.assertEqual("content/run/secret" in members, not is_kept)

    def test_what_not_everybody_may_read(self):
        for mode, of_directory in (("600", "755"), ("640", "755"), ("644", "700"), ("644", "770")):
            with self.subTest(mode=mode, of_directory=of_directory):
                members = self.members('echo "{\\"a\\": \\"$0\\"}" >/run/cdi/own.json; chmod '
                                       f"{mode} /run/cdi/own.json; chmod {of_directory} /run/cdi")
                self.assert_kept(members, "/run/cdi/own.json")
                self.assertIn("not recorded: /run/cdi/own.json: its content: not everybody may "
                              "read it\n", members["host.txt"])

    def test_a_secret_under_the_name_of_a_library(self):
        members = self.members('for library in $(find /usr/local/nvidia/lib64 -name "lib*" -type f); do '
                               'mount --bind /run/secret "$library"; done')
        self.assert_kept(members, "libcuda.so.1")

    def test_values_of_variables_in_a_specification(self):
        edits = {"env": [f"TOKEN={SECRET}", SECRET], "hooks": [{"hookName": "h", "path": "/h", "env":
                 [f"A={SECRET}=x"]}]}
        document = {"cdiVersion": "0.6.0", "kind": "v.org/c", "devices":
                    [{"name": "0", "containerEdits": edits}], "containerEdits": {"Env": {SECRET: SECRET}}}
        yaml = ('cdiVersion: "0.6.0"\nkind: v.org/c  # $0\ndevices:\n- name: "0"\n  containerEdits:\n'
                "    env:\n    - TOKEN=$0\n    - >-\n      B=$0\n")
        for name, text in (("a.json", json.dumps(document)), ("a.yaml", json.dumps(document)),
                           ("b.yaml", yaml.replace("$0", SECRET)),
                           ("c.json", json.dumps(document)[:-1]), ("c.yaml", f"env: [A={SECRET}")):
            with self.subTest(name):
                members = self.members(f"cat >/run/cdi/{name} <<'END'\n{text}\nEND\n")
                self.assert_kept(members, f"/run/cdi/{name}")
                if name.startswith("c"):
                    self.assertIn(f"not recorded: /run/cdi/{name}: its content: ", members["host.txt"])
                else:
                    content = members[f"content/run/cdi/{name}"]
                    self.assertIn('"TOKEN="', content)
                    self.assertEqual(json.loads(content)["kind"], "v.org/c")

    def test_variables_that_contain_a_word_of_ours(self):
        names = ("MY_GPUCTR_TOKEN", "GPUCTR_TOKEN", "VISIBLE_DEVICES_TOKEN", "X_LD_PRELOAD", "AFFINITY",
                 "CUDA_VISIBLE_DEVICES_OLD", "SLURM_GPUS_TOKEN", "NVIDIA_DRIVER_CAPABILITIES_X")
        members = self.members("true", environment={name: SECRET for name in names}
                               | {"CUDA_VISIBLE_DEVICES": "1", "GPUCTR_DRIVER_ROOT": "/",
                                  "ZE_FLAT_DEVICE_HIERARCHY": "FLAT", "LD_PRELOAD": ""})
        self.assert_kept(members, "libcuda.so.1")
        for setting in ("CUDA_VISIBLE_DEVICES=1", "GPUCTR_DRIVER_ROOT=/",
                        "ZE_FLAT_DEVICE_HIERARCHY=FLAT", "LD_PRELOAD="):
            self.assertIn(f"\n{setting}\n", members["host.txt"])

    def test_what_the_kernel_shows_to_root_alone(self):
        members = self.members(
            "mkdir /run/m; mount -t tmpfs -o mode=755 test /run/m; "
            'echo "$0" >/run/m/version; chmod 400 /run/m/version; '
            "mount --bind /run/m/version /proc/driver/nvidia/version")
        self.assertEqual([name for name, text in members.items() if SECRET in text], [])
        self.assertIn("not recorded: /proc/driver/nvidia/version: not everybody may read it",
                      members["host.txt"])
