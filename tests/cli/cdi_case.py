# SPDX-License-Identifier: MIT
"""What tests of `gpuctr-setup cdi apply` have in common: a specification in nvidia-ctk's form."""

import json
import shutil

import ctk_specs
import harness
from harness import DIRECTORY, VERSION

KEEP = "--keep-hooks"


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.directory = DIRECTORY / "specs"
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir()
        self.spec = ctk_specs.specification("1.18", VERSION)

    def write(self, name="nvidia.json", **changes):
        """The specification, with other common edits."""
        self.spec["containerEdits"] |= changes
        path = self.directory / name
        path.write_text(json.dumps(self.spec, indent=1), encoding="utf-8")
        return path

    def apply(self, *words, device="nvidia.com/gpu=0", stdout=None, **options):
        return self.run_setup("cdi", "apply", "--spec-dir", self.directory, "--device", device,
                              *(words or ("--rootfs", self.root)), stdout=stdout, **options)

    def refused(self, status, text, *words, **options):
        """With this in the error, and nothing changed."""
        with self.nothing_changes():
            done = self.apply(*words, status=status, stderr=None, **options)
        self.assertIn(text, done.stderr)
        return done.stderr

    def warnings(self, *words, **options):
        return self.apply(*words, stderr=None, **options).stderr

    def there(self, path):
        return self.root / str(path).lstrip("/")

    def refused_with(self, text, status=2, **changes):
        self.spec = ctk_specs.specification("1.18", VERSION)
        path = self.write(**changes)
        self.assertIn(f"{path}:", self.refused(status, text))
