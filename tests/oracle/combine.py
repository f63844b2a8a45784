# SPDX-License-Identifier: MIT
"""Cases with two faults."""

import itertools
import random

import bases
import model

COUNT, SEED = 200, 21


def base_of(one, other):
    """The base that both can be made of; None if there is none."""
    vendors = {one.vendor, other.vendor} - {"any"} or {"any"}
    if len(vendors) != 1:
        return None
    usual = bases.USUAL[vendors.pop()]
    parts = []
    for mine, yours, default in zip(one.base, other.base, usual):
        if mine and yours and mine != yours:
            return None
        parts.append(mine or yours or default)
    return tuple(parts)


def excludes(one, other):
    return one.subject == other.subject or any(
        name in (other.key, other.subject, other.room, *other.tags) for name in one.not_with)


def compatible(one, other):
    return base_of(one, other) is not None and not any(
        excludes(*order) for order in itertools.permutations((one, other)))


def all_pairs():
    return [pair for pair in itertools.combinations(model.FAULTS.values(), 2) if compatible(*pair)]


def chosen_pairs():
    """The same ones each time, until a fault is added."""
    everything = all_pairs()
    picked = random.Random(SEED).sample(range(len(everything)), COUNT)
    return [everything[number] for number in sorted(picked)]


def case_of(*faults):
    base = faults[0].whole_base() if len(faults) == 1 else base_of(*faults)
    made = model.Case.made_of(base)
    # Those of requests come last: they count what is left.
    for fault in sorted(faults, key=lambda fault: fault.room.startswith("request")):
        fault.edit(made)
    return made
