# SPDX-License-Identifier: MIT
"""The faults as a table in Markdown, which the README has too."""

import combine
import healthy
import model

STATES = {"is": "{path} is `{value}`", "has": "{path} has `{value}`", "lacks": "{path} has no `{value}`",
          "absent": "{path} is not there", "refused": "{path} cannot be opened: {value}",
          "allowed": "{path} can be opened"}


def evidence(entry):
    path = f"`{entry.path}`" if entry.where == "host" else f"{entry.where}: `{entry.path}`"
    value = " ".join(entry.value.split())
    if entry.state == "is" and not value:
        return f"{path} is empty"
    return STATES[entry.state].format(path=path, value=value)


def row(fault):
    blocks = fault.blocks + (", mended" if fault.mended else "") + (
        "" if fault.certain else ", perhaps")
    cells = [f"`{fault.key}`", fault.cause, fault.message,
             "; ".join(evidence(entry) for entry in fault.evidence), fault.vendor,
             f"{fault.stage}, {blocks}", "yes" if fault.noticed else ""]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def lines():
    faults = sorted(model.FAULTS.values(), key=model.rank)
    return [f"{len(faults)} faults, {combine.COUNT} pairs of {len(combine.all_pairs())} possible "
            f"ones, {len(healthy.HEALTHY)} healthy cases.", "",
            "| fault | cause | what users see | evidence | vendor | stage, blocks | `plan` says it |",
            "| --- | --- | --- | --- | --- | --- | --- |", *map(row, faults)]
