#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_layers.py finds a planted violation, and nothing in what is allowed."""

import tempfile
import unittest
from pathlib import Path

import check_layers

SPDX = "// SPDX-License-Identifier: MIT\n"


class CheckLayers(unittest.TestCase):
    def problems(self, path, text, makers=()):
        """What is found in a tree with this one file, and the folders of makers."""
        with tempfile.TemporaryDirectory() as directory:
            for maker in makers:
                folder = Path(directory, "libgpucontainer", "drivers", maker)
                folder.mkdir(parents=True)
                folder.joinpath("catalogue.yaml").touch()
            file = Path(directory, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            return list(check_layers.check_tree(Path(directory)))

    def include_problems(self, path, include):
        return self.problems(path, f"{SPDX}#include {include}\n")

    def test_allows_a_lower_module_and_its_own(self):
        for include in ('"base/file.hpp"', '"host/driver_root.hpp"', "<string>", "<fmt/format.h>"):
            self.assertEqual(self.include_problems("libgpucontainer/host/a.cpp", include), [])

    def test_finds_a_higher_module(self):
        self.assertEqual(
            self.include_problems("libgpucontainer/base/a.cpp", '"apply/apply.hpp"'),
            ["libgpucontainer/base/a.cpp:2: base/ may not include apply/"],
        )

    def test_finds_a_vendor_outside_of_its_folder(self):
        code = SPDX + '/// Such as "nvidia".\nconst char* path = "/usr/local/CUDA"; // NVIDIA\n'
        self.assertEqual(self.problems("libgpucontainer/plan/a.cpp", code),
                         ["libgpucontainer/plan/a.cpp:3: a vendor is named outside of drivers/"])
        self.assertEqual(self.problems("libgpucontainer/drivers/nvidia/a.cpp", code), [])

    def test_a_folder_of_drivers_is_a_vendor(self):
        path = "libgpucontainer/plan/a.cpp"
        for text in ('"/dev/acme0"', '"libACME.so"', "is_acme(x)"):
            code = f"{SPDX}{text}\n"
            self.assertEqual(self.problems(path, code), [])
            self.assertEqual(self.problems(path, code, ["acme", "emca"]),
                             [f"{path}:2: a vendor is named outside of drivers/"])
        self.assertEqual(self.problems(path, f"{SPDX}placement\n", ["acement"]), [])

    def test_finds_a_neighbour_of_the_same_height(self):
        self.assertEqual(
            self.include_problems("libgpucontainer/rootfs/a.hpp", '"mount/calls.hpp"'),
            ["libgpucontainer/rootfs/a.hpp:2: rootfs/ may not include mount/"],
        )

    def test_finds_an_include_in_a_folder_of_a_module(self):
        self.assertEqual(
            self.include_problems("libgpucontainer/drivers/nvidia/a.cpp", '"plan/plan.hpp"'),
            ["libgpucontainer/drivers/nvidia/a.cpp:2: drivers/ may not include plan/"],
        )

    def test_finds_a_cycle_between_files_of_a_module(self):
        with tempfile.TemporaryDirectory() as directory:
            module = Path(directory, "libgpucontainer", "plan")
            module.mkdir(parents=True)
            for name, included in [("a.hpp", "b"), ("b.cpp", "c"), ("c.hpp", "a"), ("d.cpp", "a")]:
                module.joinpath(name).write_text(f'{SPDX}#include "plan/{included}.hpp"\n')
            self.assertEqual(
                list(check_layers.check_tree(Path(directory))),
                ["libgpucontainer/plan/a: includes itself: plan/a > plan/b > plan/c > plan/a"],
            )

    def test_finds_an_unknown_module(self):
        self.assertEqual(
            self.include_problems("libgpucontainer/utils/a.cpp", "<string>"),
            [
                "libgpucontainer/utils/a.cpp:1: utils/ is not a module; see LAYERS in "
                "check_layers.py"
            ],
        )

    def test_finds_a_header_of_somebody_else_outside_its_module(self):
        for header, place in [
            ("gelf.h", "elf/"),
            ("yaml-cpp/parser.h", "config/"),
            ("sys/capability.h", "privilege/"),
            ("libmount/libmount.h", "mount/"),
        ]:
            self.assertEqual(
                self.include_problems("libgpucontainer/plan/a.cpp", f"<{header}>"),
                [f"libgpucontainer/plan/a.cpp:2: <{header}> belongs to {place}"],
            )
            self.assertEqual(
                self.include_problems(f"libgpucontainer/{place}a.cpp", f"<{header}>"), []
            )

    def test_allows_json_in_the_journal_alone(self):
        header = "<nlohmann/json.hpp>"
        self.assertEqual(self.include_problems("libgpucontainer/journal/journal.cpp", header), [])
        self.assertEqual(
            self.include_problems("libgpucontainer/apply/apply.cpp", header),
            [
                "libgpucontainer/apply/apply.cpp:2: <nlohmann/json.hpp> belongs to cdi/ and export/ and "
                "import/ and "
                "record/ and journal/journal.cpp and search/manifest.cpp and drivers/nvidia/compat.cpp "
                "and drivers/nvidia/toolkit.cpp and image/archive_manifest.cpp"
            ],
        )

    def test_keeps_private_headers_from_the_command(self):
        self.assertEqual(
            self.include_problems("cli/a.cpp", '"base/file.hpp"'),
            ["cli/a.cpp:2: base/file.hpp: no file of the command's by its path from cli/"],
        )
        self.assertEqual(
            self.include_problems("cli/a.cpp", "<libudev.h>"),
            ["cli/a.cpp:2: cli/ may not include <libudev.h>"],
        )
        for include in ('"output/table.hpp"', "<gpucontainer/gpucontainer.hpp>", "<sys/mount.h>"):
            self.assertEqual(self.include_problems("cli/a.cpp", include), [])

    def test_keeps_the_runtime_of_the_command_from_its_commands(self):
        for include in ('"runtime/run.hpp"', '"commands/command.hpp"', '"output/table.hpp"'):
            self.assertEqual(self.include_problems("cli/commands/a.cpp", include), [])
        for folder in ("commands", "options", "settings"):
            self.assertEqual(
                self.include_problems("cli/runtime/a.cpp", f'"{folder}/a.hpp"'),
                [f"cli/runtime/a.cpp:2: runtime/ may not include {folder}/"],
            )

    def test_allows_what_is_shared_to_the_library_and_the_command(self):
        for path in ("libgpucontainer/base/a.cpp", "cli/output/a.cpp", "syscall/a.cpp"):
            self.assertEqual(self.include_problems(path, '"syscall/unique_fd.hpp"'), [])

    def test_keeps_the_library_and_the_command_from_what_they_share(self):
        for include in ('"base/result.hpp"', '"output/format.hpp"', "<fmt/format.h>",
                        "<gpucontainer/gpucontainer.hpp>"):
            self.assertEqual(
                self.include_problems("syscall/a.cpp", include),
                [f"syscall/a.cpp:2: syscall/ may not include {include[1:-1]}"],
            )

    def test_finds_an_unknown_folder_of_the_command(self):
        self.assertEqual(
            self.problems("cli/helpers/a.cpp", SPDX),
            ["cli/helpers/a.cpp:1: helpers/ is no folder of cli/; see CLI_LAYERS in "
             "check_layers.py"],
        )

    def test_keeps_everything_but_the_standard_from_public_headers(self):
        self.assertEqual(
            self.include_problems("include/gpucontainer/a.hpp", "<fmt/format.h>"),
            ["include/gpucontainer/a.hpp:2: a public header may not include fmt/format.h"],
        )
        self.assertEqual(self.include_problems("include/gpucontainer/a.h", "<stdint.h>"), [])

    def test_finds_a_file_without_its_licence(self):
        self.assertEqual(
            self.problems("tests/unit/a.cpp", "int a;\n"),
            ["tests/unit/a.cpp:1: the first line is not SPDX-License-Identifier: MIT"],
        )

    def test_finds_a_long_file(self):
        self.assertEqual(
            self.problems("cli/a.cpp", SPDX + "\n" * 500),
            ["cli/a.cpp:501: 501 lines; 500 at most"],
        )


if __name__ == "__main__":
    unittest.main()
