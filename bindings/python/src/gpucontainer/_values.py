# SPDX-License-Identifier: MIT
"""What hosts, plans and set-ups consist of. All of it is read-only."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from . import _declarations as c
from ._errors import Words
from ._native import (
    Elements,
    Getter,
    Handle,
    View,
    decode,
    flag,
    library,
    number,
    number_or_none,
    text,
    texts,
)

V = TypeVar("V", bound=View)


class Severity(Words):
    """How much a finding matters; a higher one matters more."""

    NOTE = c.CONSTANTS["GPUCTR_SEVERITY_NOTE"]
    NEED = c.CONSTANTS["GPUCTR_SEVERITY_NEED"]
    WARNING = c.CONSTANTS["GPUCTR_SEVERITY_WARNING"]
    ERROR = c.CONSTANTS["GPUCTR_SEVERITY_ERROR"]


class Layout(Words):
    """Where the driver's files are in the container."""

    TREE = c.CONSTANTS["GPUCTR_LAYOUT_TREE"]
    MERGED = c.CONSTANTS["GPUCTR_LAYOUT_MERGED"]
    BINDS = c.CONSTANTS["GPUCTR_LAYOUT_BINDS"]


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that was left out, is needed, or does not work."""

    code: str
    severity: Severity
    object: str
    text: str
    evidence: str
    hint: str
    capability: str

    @classmethod
    def copy(cls, pointer: int) -> Finding:
        """A finding of the library may end before its copy."""
        return cls(
            decode(library.gpuctr_finding_code(pointer)),
            Severity(library.gpuctr_finding_severity(pointer)),
            decode(library.gpuctr_finding_object(pointer)),
            decode(library.gpuctr_finding_text(pointer)),
            decode(library.gpuctr_finding_evidence(pointer)),
            decode(library.gpuctr_finding_hint(pointer)),
            decode(library.gpuctr_finding_capability(pointer)),
        )

    def __str__(self) -> str:
        return f"{self.object}: {self.text}" if self.object else self.text


@dataclasses.dataclass(frozen=True)
class FileId:
    """Which file a path led to, as os.stat() reports it."""

    device: int
    inode: int
    size: int
    mtime_ns: int


def _id_or_none(native: int) -> int | None:
    return None if native == 0xFFFFFFFF else native


def _file_id(native: Any) -> FileId:
    return FileId(native.device, native.inode, native.size, native.mtime_ns)


def views(function: str, of: Callable[[Handle, int], V], doc: str) -> Elements[V]:
    return Elements(function, of, doc)


def findings(function: str, doc: str) -> Elements[Finding]:
    return Elements(function, lambda _handle, pointer: Finding.copy(pointer), doc)


class Gpu(View):
    """One GPU, or a partition of one that programs use as a GPU."""

    index = number("gpuctr_gpu_index", "Position in the vendor's order, from 0.")
    uuid = text("gpuctr_gpu_uuid", 'Permanent identifier, "GPU-..."; "" if unknown.')
    pci_address = text("gpuctr_gpu_pci_address", '"0000:3b:00.0"; "" if it has none.')
    model = text("gpuctr_gpu_model", 'Product name, "NVIDIA H200".')
    architecture = text("gpuctr_gpu_architecture", '"gfx942"; "" if unknown.')
    minor = number_or_none("gpuctr_gpu_minor", "Number of its device node.")
    numa_node = number_or_none("gpuctr_gpu_numa_node", "NUMA node; None if unknown.")
    names = texts("gpuctr_gpu_name", "Further words that choose it.")
    parts = number("gpuctr_gpu_parts", "How many parts programs may count as GPUs.")
    parent = number_or_none("gpuctr_gpu_parent", "Of an instance of a GPU: the index of that GPU.")


class VersionNeed(View):
    """A symbol version that a file needs of the image's libraries."""

    library = text("gpuctr_version_need_library", 'Soname, "libc.so.6".')
    version = text("gpuctr_version_need_version", '"GLIBC_2.34"')


class Registration(View):
    """One way in which programs of a container find a file."""

    manner = text("gpuctr_registration_manner", '"loader", "command" ...')
    name = text("gpuctr_registration_name", 'Directory, file, program or path; or "".')
    content = text("gpuctr_registration_content", 'Of the file that is made for it; or "".')


class File(View):
    """A library, tool or set of data of a driver."""

    kind = text("gpuctr_file_kind", '"library", "tool" or "data".')
    name = text("gpuctr_file_name", "Name of the real file.")
    soname = text("gpuctr_file_soname", "DT_SONAME of a library.")
    path = text("gpuctr_file_path", "Path of the real file on this host.")
    capability = text("gpuctr_file_capability", 'Capability it belongs to: "compute" ...')
    also = text("gpuctr_file_also", 'A second capability that needs it, or "none".')
    reason = text("gpuctr_file_reason", "Why it belongs to the driver.")
    is_directory = flag("gpuctr_file_is_directory", "Data may be a whole directory.")
    is_compat32 = flag("gpuctr_file_is_compat32", "Only 32-bit programs load it.")
    precedence = text("gpuctr_file_precedence", "When a container gets it.")
    links = texts("gpuctr_file_link", "Further names in its directory that lead to it.")
    entry_names = texts("gpuctr_file_entry_name", "Names that programs load unlinked.")
    needed = texts("gpuctr_file_needed", "Sonames that it cannot be loaded without.")
    version_needs = views("gpuctr_file_version_need", VersionNeed, "What images must have.")
    registrations = views("gpuctr_file_registration", Registration, "How it is found.")
    identity = Getter("gpuctr_file_identity", _file_id, "The file as it was recorded.")


class Node(View):
    """A device node of a driver."""

    path = text("gpuctr_node_path", "Where it is on this host.")
    container_path = text("gpuctr_node_container_path", "Its path in a container.")
    major = number("gpuctr_node_major", "Major number.")
    minor = number("gpuctr_node_minor", "Minor number.")
    mode = number("gpuctr_node_mode", "Permission bits.")
    uid = Getter("gpuctr_node_uid", _id_or_none, "Numeric owner on the host, if known.")
    gid = number("gpuctr_node_gid", "Numeric group on the host.")
    gpu = number_or_none("gpuctr_node_gpu", "Index of its GPU; None: all of the vendor.")
    accessible = flag("gpuctr_node_accessible", "The caller may read and write it.")
    capability = text("gpuctr_node_capability", 'Capability that needs it; "none": each.')
    required = flag("gpuctr_node_required", "Without it no GPU, or not its own, works.")
    cgroup_forbids = flag("gpuctr_node_cgroup_forbids", "The device cgroup forbids it.")
    links = texts("gpuctr_node_link", "Symbolic links to it in a container.")
    extra = text("gpuctr_node_extra", 'The extra that it is part of, "gds"; "": none.')
    is_makeable = flag("gpuctr_node_is_makeable", "If missing: its driver lets it be made.")
    problem = text("gpuctr_node_problem", "If missing: what is there in its place.")


class SharedPath(View):
    """A socket, file or directory that a container shares with the host."""

    path = text("gpuctr_shared_path_path", "Path on the host and in a container.")
    kind = text("gpuctr_shared_path_kind", '"socket", "file" or "directory".')
    capability = text("gpuctr_shared_path_capability", 'What brings it; "none": only its extra.')
    extra = text("gpuctr_shared_path_extra", "Its name in the extras of a plan.")
    uid = number("gpuctr_shared_path_uid", "Numeric owner on the host.")
    accessible = flag("gpuctr_shared_path_accessible", "The caller may use it.")
    reason = text("gpuctr_shared_path_reason", "Why, for people.")


class Shown(View):
    """An entry of a masked directory that a container with its GPU sees."""

    name = text("gpuctr_shown_name", "Path below the directory.")
    gpu = number_or_none("gpuctr_shown_gpu", "Index of its GPU; None: all of the vendor.")
    is_directory = flag("gpuctr_shown_is_directory", "With all that is in it.")
    extra = text("gpuctr_shown_extra", "The extra that shows it; empty: none.")


class Mask(View):
    """A file of the kernel that a container has to see with other content."""

    path = text("gpuctr_mask_path", "Path in a container.")
    content = text("gpuctr_mask_content", 'What it has to have; "" for a directory.')
    reason = text("gpuctr_mask_reason", "Why, for people.")
    is_directory = flag("gpuctr_mask_is_directory", "It is a directory.")
    is_against_nodes = flag("gpuctr_mask_is_against_nodes", "It only prevents new device nodes.")
    shown = views("gpuctr_mask_shown", Shown, "What a container still sees of a directory.")


class Driver(View):
    """The driver of one vendor."""

    vendor = text("gpuctr_driver_vendor", '"nvidia"')
    vendor_name = text("gpuctr_driver_vendor_name", '"NVIDIA", for people.')
    version = text("gpuctr_driver_version", '"580.159.04"; may be "".')
    version_source = text("gpuctr_driver_version_source", '"module", "option" or "files".')
    root = text("gpuctr_driver_root", "The driver root that was searched.")
    cdi_kind = text("gpuctr_driver_cdi_kind", '"nvidia.com/gpu"')
    library_directory = text("gpuctr_driver_library_directory", "Of the main library.")
    machine = text("gpuctr_driver_machine", 'What its libraries are for: "aarch64".')
    has_optional_files = flag("gpuctr_driver_has_optional_files", "Images may have their own.")
    tree_link = text("gpuctr_driver_tree_link", "A path that leads to the files, if missing.")
    needs = texts("gpuctr_driver_need", "What a container must have besides.")
    image_directories = texts("gpuctr_driver_image_directory", "Where images may have copies.")
    gpus = views("gpuctr_driver_gpu", Gpu, "GPUs in the vendor's own order.")
    files = views("gpuctr_driver_file", File, "Libraries, tools and data.")
    nodes = views("gpuctr_driver_node", Node, "Device nodes, control nodes first.")
    missing_nodes = views("gpuctr_driver_missing_node", Node, "Required, and not there.")
    shared_paths = views("gpuctr_driver_shared_path", SharedPath, "What is shared with the host.")
    masks = views("gpuctr_driver_mask", Mask, "Files of the kernel to be covered.")
    findings = findings("gpuctr_driver_finding", "What was left out, what will not work.")


class UsedDriver(View):
    """A driver that a plan or set-up was made from, and the GPUs that were chosen."""

    vendor = text("gpuctr_used_driver_vendor", '"nvidia"')
    version = text("gpuctr_used_driver_version", "Version at that time.")
    version_source = text("gpuctr_used_driver_version_source", '"" for that of a set-up.')
    gpus = views("gpuctr_used_driver_gpu", Gpu, "The chosen GPUs.")


class Item(View):
    """One thing that a plan puts into the container."""

    kind = text("gpuctr_item_kind", '"bind", "device", "symlink" ...')
    source = text("gpuctr_item_source", "Path on the host, or the target of a link.")
    target = text("gpuctr_item_target", "Path in the container.")
    options = text("gpuctr_item_options", "Mount options, comma-separated.")
    reason = text("gpuctr_item_reason", "Why it is there.")
    vendor = text("gpuctr_item_vendor", '"nvidia"; "" if it serves all.')
    gpu = number_or_none("gpuctr_item_gpu", "Index of its GPU; None: all of the vendor.")
    place = text("gpuctr_item_place", '"there", "created", "tree", "overlay" or "cover".')
    is_directory = flag("gpuctr_item_is_directory", "It is a directory, not a file.")
    mode = number("gpuctr_item_mode", "Permission bits of what is made; else 0.")
    major = number("gpuctr_item_major", 'Major number of a "device"; else 0.')
    minor = number("gpuctr_item_minor", 'Minor number of a "device"; else 0.')
    required = flag("gpuctr_item_required", 'Without this "device", no GPU or not its own works.')
    identity = Getter("gpuctr_item_identity", _file_id, "Which file the source was.")

    @property
    def content(self) -> bytes | None:
        """The bytes of what is generated; None for all else."""
        data = library.gpuctr_item_content(self._pointer)
        if data is None:
            return None
        return ctypes.string_at(data, library.gpuctr_item_content_size(self._pointer))
