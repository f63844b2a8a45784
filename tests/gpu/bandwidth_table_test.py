#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the table of copy bandwidths."""

import subprocess
import tempfile
import unittest
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "parts" / "bandwidth-table"


def lines_of(kind, **places):
    """Sample lines of one kind of copy."""
    return [f"{place} {kind} {value}" for place, values in places.items() for value in values]


class BandwidthTable(unittest.TestCase):
    def table(self, *lines):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("".join(line + "\n" for line in lines))
            file.flush()
            return subprocess.run(
                [TABLE, file.name], check=True, capture_output=True, text=True
            ).stdout.splitlines()

    def test_least_median_and_most_of_each_place(self):
        table = self.table(
            *lines_of("host-to-device 0>0", outside=[55.5, 9, 100], inside=[10, 30, 20, 40])
        )
        self.assertIn("| host-to-device 0>0 | outside | 3 | 9.00 | 55.50 | 100.00 |", table)
        self.assertIn("| host-to-device 0>0 | inside | 4 | 10.00 | 25.00 | 40.00 |", table)

    def test_same_within_one_percent(self):
        table = self.table(*lines_of("d 0>0", outside=[100], inside=[99.1], rootless=[100.9]))
        self.assertIn("same d 0>0, inside: -0.90 % of outside", table)
        self.assertIn("same d 0>0, rootless: +0.90 % of outside", table)

    def test_apart_beyond_one_percent_either_way(self):
        table = self.table(*lines_of("d 0>0", outside=[100], inside=[98], rootless=[102]))
        self.assertIn("apart d 0>0, inside: -2.00 % of outside", table)
        self.assertIn("apart d 0>0, rootless: +2.00 % of outside", table)

    def test_same_when_outside_varies_as_much(self):
        table = self.table(
            *lines_of("d 0>0", outside=[97, 100, 101], inside=[98], rootless=[100])
        )
        self.assertIn("same d 0>0, inside: -2.00 % of outside", table)

    def test_a_place_without_samples_is_no_success(self):
        table = self.table(*lines_of("d 0>0", outside=[100], inside=[100]))
        self.assertIn("apart d 0>0, rootless: no samples of it, or none outside", table)
        self.assertIn("apart: no samples", self.table("inside GPU 0 NVIDIA H200 GPU-0"))

    def test_each_pair_of_gpus_for_itself(self):
        table = self.table(
            *lines_of("peer-to-peer 0>1", outside=[300], inside=[300], rootless=[300]),
            *lines_of("peer-to-peer 1>0", outside=[200], inside=[100], rootless=[200]),
        )
        self.assertIn("same peer-to-peer 0>1, inside: +0.00 % of outside", table)
        self.assertIn("apart peer-to-peer 1>0, inside: -50.00 % of outside", table)


if __name__ == "__main__":
    unittest.main()
