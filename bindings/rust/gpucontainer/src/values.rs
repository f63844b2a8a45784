// SPDX-License-Identifier: MIT
//! What hosts, plans and set-ups consist of.

use crate::call::{getters, lists, text, text_lists, view};
use gpucontainer_sys as sys;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;

/// How much a finding matters; a later one matters more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Something was left out.
    Note,
    /// The plan does not do it; the caller must.
    Need,
    /// Something will not work, or is not known.
    Warning,
    /// A set-up no longer works as it was made.
    Error,
    /// One of a later version of the library.
    Other(u32),
}

impl From<u32> for Severity {
    fn from(severity: u32) -> Self {
        match severity {
            sys::GPUCTR_SEVERITY_NOTE => Severity::Note,
            sys::GPUCTR_SEVERITY_NEED => Severity::Need,
            sys::GPUCTR_SEVERITY_WARNING => Severity::Warning,
            sys::GPUCTR_SEVERITY_ERROR => Severity::Error,
            other => Severity::Other(other),
        }
    }
}

/// Something that was left out, is needed, or does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// "not_installed", "driver_version" ...
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about: a file, GPU, device node or path in the container; may be empty.
    pub object: String,
    /// What was found, in one line for people.
    pub text: String,
    /// Where it was seen; may be empty.
    pub evidence: String,
    /// What can be done about it; may be empty.
    pub hint: String,
    /// Programs that use this driver capability are concerned; "none": all programs.
    pub capability: String,
}

impl Finding {
    /// # Safety
    /// The finding is alive.
    pub(crate) unsafe fn copy(raw: *const sys::gpuctr_finding) -> Self {
        unsafe {
            Finding {
                code: text(sys::gpuctr_finding_code(raw)).into_owned(),
                severity: sys::gpuctr_finding_severity(raw).into(),
                object: text(sys::gpuctr_finding_object(raw)).into_owned(),
                text: text(sys::gpuctr_finding_text(raw)).into_owned(),
                evidence: text(sys::gpuctr_finding_evidence(raw)).into_owned(),
                hint: text(sys::gpuctr_finding_hint(raw)).into_owned(),
                capability: text(sys::gpuctr_finding_capability(raw)).into_owned(),
            }
        }
    }
}

/// "OBJECT: TEXT"
impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.object.is_empty() {
            write!(formatter, "{}: ", self.object)?;
        }
        formatter.write_str(&self.text)
    }
}

/// Findings of a view: `NAME = COUNT, AT;`.
macro_rules! findings {
    ($(#[$doc:meta])* $name:ident = $count:ident, $at:ident) => {
        $(#[$doc])*
        pub fn $name(&self) -> Vec<$crate::Finding> {
            // SAFETY: the findings live as long as the object.
            unsafe {
                (0..sys::$count(self.raw))
                    .map(|i| $crate::Finding::copy(sys::$at(self.raw, i)))
                    .collect()
            }
        }
    };
}
pub(crate) use findings;

/// Which file a path led to, as `stat()` reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    /// `st_dev`
    pub device: u64,
    /// `st_ino`
    pub inode: u64,
    /// `st_size`
    pub size: u64,
    /// `st_mtim`, in nanoseconds since 1970.
    pub mtime_ns: i64,
}

impl From<sys::gpuctr_file_id> for FileId {
    fn from(id: sys::gpuctr_file_id) -> Self {
        FileId { device: id.device, inode: id.inode, size: id.size, mtime_ns: id.mtime_ns }
    }
}

view! {
    /// One GPU, or a partition of one that programs use as a GPU.
    Gpu of gpuctr_gpu
}
impl<'a> Gpu<'a> {
    getters! {
        /// Position in the vendor's order, from 0.
        number index = gpuctr_gpu_index;
        /// Permanent identifier, "GPU-..."; empty if unknown.
        text uuid = gpuctr_gpu_uuid;
        /// "0000:3b:00.0"; empty if the GPU is on no PCI bus.
        text pci_address = gpuctr_gpu_pci_address;
        /// Product name, "NVIDIA H200".
        text model = gpuctr_gpu_model;
        /// "gfx942"; empty if the kernel does not report it.
        text architecture = gpuctr_gpu_architecture;
        /// Number of its device node, which may differ from the index.
        option minor = gpuctr_gpu_minor;
        /// NUMA node that it is attached to, if known.
        option numa_node = gpuctr_gpu_numa_node;
        /// How many parts (tiles) programs may count as GPUs.
        number parts = gpuctr_gpu_parts;
        /// Of an instance of a GPU (MIG): the index of that GPU.
        option parent = gpuctr_gpu_parent;
    }
    text_lists! {
        /// Further words that choose it.
        text names = gpuctr_gpu_name_count, gpuctr_gpu_name_at;
    }
}

view! {
    /// A symbol version that a file needs of the image's libraries.
    VersionNeed of gpuctr_version_need
}
impl<'a> VersionNeed<'a> {
    getters! {
        /// Soname of the library that must have it, "libc.so.6".
        text library = gpuctr_version_need_library;
        /// "GLIBC_2.34"
        text version = gpuctr_version_need_version;
    }
}

view! {
    /// One way in which programs of a container find a file.
    Registration of gpuctr_registration
}
impl<'a> Registration<'a> {
    getters! {
        /// "loader", "command" ...
        text manner = gpuctr_registration_manner;
        /// The directory, file, program or path of the manner; empty if it has none.
        text name = gpuctr_registration_name;
        /// Of the file that is made for it; may be empty.
        text content = gpuctr_registration_content;
    }
}

view! {
    /// A library, tool or set of data of a driver.
    File of gpuctr_file
}
impl<'a> File<'a> {
    getters! {
        /// "library", "tool" or "data".
        text kind = gpuctr_file_kind;
        /// Name of the real file, "libcuda.so.580.159.04".
        path name = gpuctr_file_name;
        /// DT_SONAME of a library.
        text soname = gpuctr_file_soname;
        /// Path of the real file on this host.
        path path = gpuctr_file_path;
        /// Capability it belongs to: "compute", "utility" ...
        text capability = gpuctr_file_capability;
        /// A second capability that does not work without it, or "none".
        text also = gpuctr_file_also;
        /// Why it belongs to the driver.
        text reason = gpuctr_file_reason;
        /// Whether it is a directory with all that is in it.
        flag is_directory = gpuctr_file_is_directory;
        /// Whether only 32-bit programs load it.
        flag is_compat32 = gpuctr_file_is_compat32;
        /// When a container gets it: "driver", "runtime", "always" or "image".
        text precedence = gpuctr_file_precedence;
    }
    text_lists! {
        /// Further names in its directory that lead to it.
        path links = gpuctr_file_link_count, gpuctr_file_link_at;
        /// Its names that programs load without being linked to it.
        path entry_names = gpuctr_file_entry_name_count, gpuctr_file_entry_name_at;
        /// Sonames that it cannot be loaded without.
        text needed = gpuctr_file_needed_count, gpuctr_file_needed_at;
    }
    lists! {
        /// Symbol versions that the image's libraries must have.
        version_needs: VersionNeed = gpuctr_file_version_need_count, gpuctr_file_version_need_at;
        /// How programs of a container find it.
        registrations: Registration = gpuctr_file_registration_count, gpuctr_file_registration_at;
    }
    /// The file as it was when the host was recorded.
    pub fn identity(&self) -> FileId {
        // SAFETY: the object is alive.
        unsafe { sys::gpuctr_file_identity(self.raw) }.into()
    }
}

view! {
    /// A device node of a driver.
    Node of gpuctr_node
}
impl<'a> Node<'a> {
    getters! {
        /// Where it is on this host.
        path path = gpuctr_node_path;
        /// Its path in a container.
        path container_path = gpuctr_node_container_path;
        /// Major number.
        number major = gpuctr_node_major;
        /// Minor number.
        number minor = gpuctr_node_minor;
        /// Permission bits.
        number mode = gpuctr_node_mode;
        /// Numeric group on the host.
        number gid = gpuctr_node_gid;
        /// Index of the GPU that it is for; none: all of the vendor.
        option gpu = gpuctr_node_gpu;
        /// Whether the caller may read and write it.
        flag accessible = gpuctr_node_accessible;
        /// Capability that needs it; "none": each.
        text capability = gpuctr_node_capability;
        /// Whether no GPU, or not the one that it is for, can be used without it.
        flag required = gpuctr_node_required;
        /// Whether it is not accessible because the device cgroup forbids it.
        flag cgroup_forbids = gpuctr_node_cgroup_forbids;
        /// The extra that it is part of, "gds"; empty: none.
        text extra = gpuctr_node_extra;
        /// For a missing node: whether its driver is loaded and lets it be made.
        flag is_makeable = gpuctr_node_is_makeable;
        /// For a missing node: what is there in its place; maybe empty.
        text problem = gpuctr_node_problem;
    }
    /// Numeric owner on the host, if known.
    pub fn uid(&self) -> Option<u32> {
        // SAFETY: the object is alive.
        Some(unsafe { sys::gpuctr_node_uid(self.raw) }).filter(|uid| *uid != u32::MAX)
    }
    text_lists! {
        /// Symbolic links to it in a container.
        path links = gpuctr_node_link_count, gpuctr_node_link_at;
    }
}

view! {
    /// A socket, file or directory that a container shares with the host.
    SharedPath of gpuctr_shared_path
}
impl<'a> SharedPath<'a> {
    getters! {
        /// Path on the host and in a container.
        path path = gpuctr_shared_path_path;
        /// "socket", "file" or "directory".
        text kind = gpuctr_shared_path_kind;
        /// Capability that brings it; "none": only its extra does.
        text capability = gpuctr_shared_path_capability;
        /// Its name in [`crate::Request::extras`].
        text extra = gpuctr_shared_path_extra;
        /// Numeric owner on the host.
        number uid = gpuctr_shared_path_uid;
        /// Whether the caller may use it.
        flag accessible = gpuctr_shared_path_accessible;
        /// Why a container needs it, for people.
        text reason = gpuctr_shared_path_reason;
    }
}

view! {
    /// A file of the kernel that a container has to see with other content.
    Mask of gpuctr_mask
}
impl<'a> Mask<'a> {
    getters! {
        /// Path in a container.
        path path = gpuctr_mask_path;
        /// What it has to have; empty for a directory.
        text content = gpuctr_mask_content;
        /// Why, for people.
        text reason = gpuctr_mask_reason;
        /// Whether it is a directory, of which a container sees only what is `shown`.
        flag is_directory = gpuctr_mask_is_directory;
        /// Whether it only keeps programs from making device nodes.
        flag is_against_nodes = gpuctr_mask_is_against_nodes;
    }
    lists! {
        /// What a container still sees of a directory.
        shown: Shown = gpuctr_mask_shown_count, gpuctr_mask_shown_at;
    }
}

view! {
    /// An entry of a masked directory that a container with its GPU sees.
    Shown of gpuctr_shown
}
impl<'a> Shown<'a> {
    getters! {
        /// Path below the directory.
        path name = gpuctr_shown_name;
        /// Index of the GPU that it is of; none: all of the vendor.
        option gpu = gpuctr_shown_gpu;
        /// Whether it is a directory, with all that is in it.
        flag is_directory = gpuctr_shown_is_directory;
        /// The extra that shows it, as in [`crate::Request::extras`]; empty: none.
        text extra = gpuctr_shown_extra;
    }
}

view! {
    /// The driver of one vendor.
    Driver of gpuctr_driver
}
impl<'a> Driver<'a> {
    getters! {
        /// "nvidia"
        text vendor = gpuctr_driver_vendor;
        /// "NVIDIA", for people.
        text vendor_name = gpuctr_driver_vendor_name;
        /// "580.159.04"; may be empty.
        text version = gpuctr_driver_version;
        /// "module", "option" or "files".
        text version_source = gpuctr_driver_version_source;
        /// The driver root that was searched.
        path root = gpuctr_driver_root;
        /// What CDI calls its devices, "nvidia.com/gpu".
        text cdi_kind = gpuctr_driver_cdi_kind;
        /// Directory of the driver's main library; empty if it has none.
        path library_directory = gpuctr_driver_library_directory;
        /// The architecture that its libraries are for, "aarch64".
        text machine = gpuctr_driver_machine;
        /// Whether an image may bring its own files instead.
        flag has_optional_files = gpuctr_driver_has_optional_files;
        /// Path in a container that leads to the files if the image has no such name.
        path tree_link = gpuctr_driver_tree_link;
    }
    text_lists! {
        /// What a container must have besides.
        text needs = gpuctr_driver_need_count, gpuctr_driver_need_at;
        /// Directories in an image that may have a copy of the driver.
        path image_directories = gpuctr_driver_image_directory_count, gpuctr_driver_image_directory_at;
    }
    lists! {
        /// GPUs in the vendor's own order.
        gpus: Gpu = gpuctr_driver_gpu_count, gpuctr_driver_gpu_at;
        /// Libraries, tools and data.
        files: File = gpuctr_driver_file_count, gpuctr_driver_file_at;
        /// Device nodes, control nodes first.
        nodes: Node = gpuctr_driver_node_count, gpuctr_driver_node_at;
        /// Device nodes that are required and not there.
        missing_nodes: Node = gpuctr_driver_missing_node_count, gpuctr_driver_missing_node_at;
        /// Sockets, files and directories that a container shares with the host.
        shared_paths: SharedPath = gpuctr_driver_shared_path_count, gpuctr_driver_shared_path_at;
        /// Files of the kernel that a container has to see with other content.
        masks: Mask = gpuctr_driver_mask_count, gpuctr_driver_mask_at;
    }
    findings! {
        /// What was left out, and what will not work.
        findings = gpuctr_driver_finding_count, gpuctr_driver_finding_at
    }
}

view! {
    /// A driver that a plan or set-up was made from, and the GPUs that were chosen.
    UsedDriver of gpuctr_used_driver
}
impl<'a> UsedDriver<'a> {
    getters! {
        /// "nvidia"
        text vendor = gpuctr_used_driver_vendor;
        /// Version of the driver at that time.
        text version = gpuctr_used_driver_version;
        /// As that of a driver; empty for a set-up.
        text version_source = gpuctr_used_driver_version_source;
    }
    lists! {
        /// The chosen GPUs.
        gpus: Gpu = gpuctr_used_driver_gpu_count, gpuctr_used_driver_gpu_at;
    }
}
