# SPDX-License-Identifier: MIT
"""What a case and a fault are. The faults themselves are in the other files."""

import copy
import dataclasses
import json
import typing

import bases
import host_dir

# What stops the program comes before what stops others or takes one GPU of several away, and what setting up mends by itself comes last. Among these, what a run meets first comes first.
STAGES = {
    "bus": "the kernel does not reach the GPU: whatever else is right has nothing to drive",
    "module": "no driver in the kernel has the GPU: setting up ends here",
    "node": "there is no device node that works: setting up ends here",
    "access": "the nodes are there and closed to this user: setting up ends here",
    "files": "the host has no driver files that fit: setting up ends here",
    "choice": "the request names GPUs or parts that there are not: setting up ends here or gives none",
    "setup": "the container cannot be made, or is made with old facts",
    "start": "the kernel or the loader ends the program before its first instruction",
    "load": "the program starts and then loads the wrong driver library, or none",
    "init": "the right driver library is loaded and cannot initialise",
    "visible": "the driver works and shows this program no GPU",
    "code": "the program sees the GPU and has no code for it",
    "feature": "one feature is missing, and the rest works",
}
# Three things of the host that setting up needs, and in no order: each ends it.
SAME_PLACE = {"access": "node", "files": "node"}


@dataclasses.dataclass(frozen=True)
class Evidence:
    """One thing that a case shows. With `before`, the healthy case shows it too, and it counts only
    beside the others."""

    where: str  # host, image or request
    path: str
    state: str  # is, has, lacks, absent; of a node also refused (value: the error) and allowed
    value: str = ""
    before: bool = False

    def document(self):
        return {"where": self.where, "path": self.path, "state": self.state, "value": self.value,
                "before": self.before}


def host(path, state, value="", before=False):
    return Evidence("host", path, state, value, before)


def image(path, state, value="", before=False):
    return Evidence("image", path, state, value, before)


def request(path, state, value="", before=False):
    return Evidence("request", path, state, value, before)


@dataclasses.dataclass
class Case:
    """A host, an image and a request, each of its own."""

    host: host_dir.Host
    image: typing.Any
    request: dict

    @classmethod
    def made_of(cls, base):
        """A healthy one, by the names of its parts."""
        host_name, image_name, request_name = base
        return cls(bases.host(host_name).copy(), bases.image(image_name).copy(),
                   copy.deepcopy(bases.request(request_name)))

    def write(self, directory, document):
        directory.mkdir(parents=True)
        host_dir.write_tree(self.host.files(), directory / "host")
        self.image.write(directory / "image")
        for name, content in (("request", self.request), ("expected", document)):
            (directory / f"{name}.json").write_text(
                json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


@dataclasses.dataclass(frozen=True)
class Fault:
    key: str
    cause: str       # in one sentence
    message: str     # what users see
    vendor: str      # whom it concerns, or "any"
    stage: str
    blocks: str      # "all": the program cannot run; "some": the rest works
    edit: typing.Callable
    evidence: tuple
    base: tuple      # host, image and request that it is made of; None: any of this vendor
    room: str        # the file that it is in
    not_with: tuple  # keys, subjects, rooms or tags of faults that hide it or that it hides
    subject: str     # of several faults of one subject a case can have one
    certain: bool    # False: the evidence shows that it can happen, not that it does
    noticed: str     # what `gpuctr-setup plan` says of it; "" if nothing yet
    tags: tuple      # further names for `not_with` of others
    mended: bool     # setting up mends it: it blocks only what others have set up

    def whole_base(self):
        return tuple(own or usual for own, usual in zip(self.base, bases.USUAL[self.vendor]))

    def document(self):
        return {"key": self.key, "cause": self.cause, "vendor": self.vendor, "stage": self.stage,
                "blocks": self.blocks, "certain": self.certain, "mended": self.mended,
                "evidence": [entry.document() for entry in self.evidence]}


FAULTS = {}


class Room:
    """The faults of one file: room.fault(...) is the decorator of the function that edits."""

    def __init__(self, name, vendor, base=(None, None, None)):
        self.name, self.vendor, self.base = name, vendor, base

    def fault(self, key, *, cause, message, stage, evidence, blocks="all", vendor="", base=None,
              not_with=(), subject="", certain=True, noticed="", mended=False, tags=()):
        if key in FAULTS or stage not in STAGES or blocks not in ("all", "some"):
            raise ValueError(key)

        def add(edit):
            FAULTS[key] = Fault(key, cause, message, vendor or self.vendor, stage, blocks, edit,
                                tuple(evidence), base or self.base, self.name, tuple(not_with),
                                subject or key, certain, noticed,
                                tuple(tags), mended)
            return edit

        return add


def rank(fault):
    """Faults in the order in which they block."""
    place = list(STAGES).index(SAME_PLACE.get(fault.stage, fault.stage))
    return fault.mended, fault.blocks != "all", place, list(FAULTS).index(fault.key)


def expected(faults):
    """The document for a case with these faults; in `first`, any of several is right."""
    ordered = sorted(faults, key=rank)
    return {"healthy": not faults, "faults": [fault.document() for fault in ordered],
            "first": [fault.key for fault in ordered if rank(fault)[:3] == rank(ordered[0])[:3]]}
