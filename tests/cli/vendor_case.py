# SPDX-License-Identifier: MIT
"""What tests of the command share that are not of one vendor's GPUs."""

import json
import os
import stat

import harness


def user(*groups):
    given = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    return ["setpriv", "--reuid", "4242", "--regid", "4242", *given]


class VendorCase(harness.Case):
    """A root file system, and the command with the option `vendor`."""

    vendor = "--gpu"

    def command(self, *words, prefix=(), status=0, env=None):
        done = harness.call(*prefix, harness.SETUP, *words, env=os.environ | (env or {}))
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def driver(self):
        done = self.command("list", self.vendor, "--format", "json")
        return json.loads(done.stdout)["drivers"][0]

    def planned(self, *words, **options):
        return json.loads(self.command("plan", self.vendor, "--rootfs", self.root, "--format",
                                       "json", *words, **options).stdout)

    def devices(self, *words, **options):
        return [item["target"] for item in self.planned(*words, **options)["items"]
                if item["kind"] == "device"]

    def variables(self, *words, **options):
        """What changes in the environment; None is unset."""
        return {item["name"]: item["value"] if item["action"] == "set" else None
                for item in self.planned(*words, **options)["environment"]}

    def set_up(self, *words, **options):
        return self.command(self.vendor, "--rootfs", self.root, *words, **options)

    def run_inside(self, *words, options=(), **more):
        return self.set_up(*options, "--", *words, **more).stdout

    def below_dev(self, directory):
        """Nodes and links in a directory of the container's /dev."""
        found = {}
        top = self.root / "dev" / directory
        for place, _, names in os.walk(top):
            for name in names:
                path = os.path.join(place, name)
                status = os.lstat(path)
                found[os.path.relpath(path, top)] = (
                    os.readlink(path) if stat.S_ISLNK(status.st_mode)
                    else (os.major(status.st_rdev), os.minor(status.st_rdev)))
        return found

    def lose(self, *paths):
        """Has another device be at the paths of nodes, until the end of the test."""
        for path in paths:
            harness.must("mount", "--bind", "/dev/null", path)
            self.addCleanup(harness.must, "umount", path)
