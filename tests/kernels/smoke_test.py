# SPDX-License-Identifier: MIT
"""The tests of tests/cli and tests/hostile that show most about a kernel in little time."""

import os
import unittest

import harness

OTHERS = (
    "apply_test.AutoDetached.test_a_program_is_given_the_hosts_driver",
    "apply_test.AutoDetached.test_mounts_have_the_planned_flags",
    "apply_test.AutoDetached.test_mounts_are_private",
    "apply_test.AutoDetached.test_the_tree_cannot_be_written",
    "apply_test.AutoDetached.test_undo_restores_everything",
    "apply_test.NeverDetached.test_a_program_is_given_the_hosts_driver",
    "apply_test.NeverDetached.test_the_root_itself_is_not_written",
    "apply_test.NeverDetached.test_undo_restores_everything",
    "apply_test.WithMountsBelow.test_undo_restores_everything",
    "undo_test.Meddled.test_a_foreign_mount_over_ours_is_reported_and_left",
    "undo_test.Meddled.test_mounts_that_somebody_unmounted_are_no_error",
    "undo_test.Meddled.test_a_journal_of_a_dead_namespace_takes_the_names_back",
    "undo_test.Replaced.test_from_written_to_never_written",
    "status_test.Status.test_parts_that_are_gone_or_covered_are_named",
    "submount_test.Submounts.test_a_mount_over_a_mount",
    "layered_test.OverlayOnOverlay.test_all_that_was_there_is_as_it_was",
    "layered_test.OverlayOnOverlay.test_what_is_mounted_below_stays_in_sight",
    "layered_test.OverlayOnOverlay.test_a_command",
    "run_test.AsRoot.test_gives_the_driver_to_programs",
    "run_test.AsRoot.test_shows_the_devices_and_no_others",
    "run_test.AsRoot.test_a_bind_is_seen_and_can_be_read_only",
    "run_test.AsRoot.test_the_drivers_files_cannot_be_written",
    "userns_test.WithOneId.test_a_root_of_the_users_own",
    "kernel_test.Proc",
    "forbidden_test.ByTheCaller.test_a_chroot_to_a_directory",
    "layouts_test.Links.test_the_directory_of_libraries_leads_out",
    "layouts_test.Links.test_the_loader_cache_is_a_link",
    "programs_test.AfterApplying.test_flags_really_are_set",
    "attacked_undo_test.Mounts.test_some_were_unmounted",
    "attacked_undo_test.Mounts.test_the_tree_was_mounted_over",
    "attacked_undo_test.Mounts.test_a_mount_was_moved_elsewhere",
)


class Kernel(harness.Case):
    version = tuple(int(number) for number in os.uname().release.split(".")[:2])

    def test_gets_the_backend_that_is_for_it(self):
        for backend, since in (("detached", (6, 15)), ("assembled", (5, 12)), ("legacy", (4, 18))):
            with self.subTest(backend):
                done = harness.setup("--nv", "--rootfs", self.root, "--backend", backend, "--",
                                     "true")
                self.assertEqual(done.returncode == 0, self.version >= since, done.stderr)

    def test_gives_the_driver_to_a_command_of_an_ordinary_user(self):
        with self.nothing_changes():
            done = harness.call(*harness.ORDINARY_USER, harness.SETUP, "--nv", "--rootfs",
                                self.root, "--", "/usr/bin/needs_driver")
        self.assertEqual(done.stdout.count("\n"), 2, done.stderr)


def load_tests(loader, own, _pattern):
    return unittest.TestSuite([own, loader.loadTestsFromNames(OTHERS)])
