# SPDX-License-Identifier: MIT
"""Why a container gets something of the host, or does not."""

from __future__ import annotations

from ._native import Owner, View, flag, take_json, text, texts
from ._values import Item, findings, views


class Answer(View):
    """What a plan does with one thing that has the name."""

    kind = text("gpuctr_answer_kind", '"library", "tool", "data", "node", "gpu" or "shared".')
    name = text("gpuctr_answer_name", '"libexample.so.1", "/dev/example0", the label of a GPU.')
    vendor = text("gpuctr_answer_vendor", "Vendor whose driver has it.")
    is_given = flag("gpuctr_answer_is_given", "The container gets it.")
    path = text("gpuctr_answer_path", "On the host; a GPU's PCI address or UUID; or empty.")
    reason = text("gpuctr_answer_reason", "Why it is given, or why it is not, for people.")
    capability = text("gpuctr_answer_capability", 'Capability it is a part of; "none": all.')
    items = views("gpuctr_answer_item", Item, "The plan's items by which the container gets it.")
    findings = findings("gpuctr_answer_finding", "Others of this name, and why they do not count.")
    remedies = texts("gpuctr_answer_remedy", "What would change it; options of gpuctr-setup.")


class Explanation(Owner):
    """What a plan does with what a name stands for, and why; Plan.explain() makes it."""

    answers = views("gpuctr_explanation_answer", Answer, "Of each thing that has the name.")

    def to_json(self) -> str:
        """The explanation as a document of the schema "gpucontainer/why/1"."""
        handle = self._handle
        return take_json("gpuctr_explanation_to_json", handle.pointer)
