// SPDX-License-Identifier: MIT
//! Constants, and options that several calls take.

use crate::call::{initialised, Texts};
use crate::error::Result;
use crate::values::Finding;
use gpucontainer_sys as sys;
use std::ffi::OsStr;
use std::os::raw::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;

/// Is called with each finding after the call, also if that fails.
pub type Report<'r> = &'r mut dyn FnMut(&Finding);

macro_rules! constants {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $member:ident = $value:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
        #[repr(u32)]
        pub enum $name { $($(#[$of])* $member = sys::$value,)* }
    };
}

constants! {
    /// May names be created in the root file system itself?
    Write {
        /// If it is writable, local and the caller's own.
        #[default]
        Auto = GPUCTR_WRITE_AUTO,
        /// No: names appear only through mounts.
        Never = GPUCTR_WRITE_NEVER,
        /// Yes; an error if it is not possible.
        Always = GPUCTR_WRITE_ALWAYS,
        /// Where it is writable, for a container's own layer, which goes with the container.
        Layer = GPUCTR_WRITE_LAYER,
    }
}
constants! {
    /// Where the driver's files are in the container.
    Layout {
        /// In a directory of their own, which is one mount.
        #[default]
        Tree = GPUCTR_LAYOUT_TREE,
        /// Among the image's own libraries and tools, each by its own mount.
        Merged = GPUCTR_LAYOUT_MERGED,
        /// Each name by a mount of its own, for images that are not known.
        Binds = GPUCTR_LAYOUT_BINDS,
    }
}
constants! {
    /// Whose driver files a container gets, if the image may have its own.
    VendorLibs {
        /// The host's, unless the image has its own or is too old for them.
        #[default]
        Auto = GPUCTR_VENDOR_LIBS_AUTO,
        /// The host's, even if the image has its own.
        Host = GPUCTR_VENDOR_LIBS_HOST,
        /// None: device nodes only.
        None = GPUCTR_VENDOR_LIBS_NONE,
    }
}
constants! {
    /// Whether programs use the image's own user space of a newer driver.
    Compat {
        /// If it works with the host's driver and the chosen GPUs.
        #[default]
        Auto = GPUCTR_COMPAT_AUTO,
        /// No.
        Never = GPUCTR_COMPAT_NEVER,
        /// Even if it may fail.
        Always = GPUCTR_COMPAT_ALWAYS,
    }
}
constants! {
    /// Do programs use the host's C library, if the driver needs a newer one than the image has?
    Glibc {
        /// No.
        #[default]
        Never = GPUCTR_GLIBC_NEVER,
        /// All of it, unless something speaks against it.
        Auto = GPUCTR_GLIBC_AUTO,
    }
}
constants! {
    /// How mounts are made; to choose one is for tests and for narrowing down a fault.
    Backend {
        /// The first of the others that the kernel supports.
        #[default]
        Auto = GPUCTR_BACKEND_AUTO,
        /// Linux 6.15: the tree is built detached.
        Detached = GPUCTR_BACKEND_DETACHED,
        /// Linux 5.12: a child builds the tree in a private namespace.
        Assembled = GPUCTR_BACKEND_ASSEMBLED,
        /// Linux 4.18: only for `Plan::apply()`.
        Legacy = GPUCTR_BACKEND_LEGACY,
    }
}

macro_rules! flags {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $member:ident = $value:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
        pub struct $name(u32);
        impl $name {
            $($(#[$of])* pub const $member: $name = $name(sys::$value);)*
        }
        impl std::ops::BitOr for $name {
            type Output = $name;
            fn bitor(self, other: $name) -> $name {
                $name(self.0 | other.0)
            }
        }
    };
}

flags! {
    /// Functions that a process still needs.
    Phases {
        /// `Host::open()`, `Plan::new()`
        LOOK = GPUCTR_PHASE_LOOK,
        /// `SetupList::open()`
        STATUS = GPUCTR_PHASE_STATUS,
        /// `Plan::prepare()`, `Plan::stage()`, `Prepared::attach()`
        MOUNT = GPUCTR_PHASE_MOUNT,
        /// `Plan::apply()`, `undo()`, `Setup::undo()`
        APPLY = GPUCTR_PHASE_APPLY,
        /// In addition: what a `pidfd` in the options needs.
        IN_PROCESS = GPUCTR_PHASE_IN_PROCESS,
    }
}
flags! {
    /// What `harden()` leaves alone.
    Harden {
        /// Only effective capabilities are dropped, for a program that will be executed.
        FOR_EXEC = GPUCTR_HARDEN_FOR_EXEC,
        /// `no_new_privs` is not set.
        NEW_PRIVILEGES = GPUCTR_HARDEN_NEW_PRIVILEGES,
        /// The process stays dumpable.
        DUMPABLE = GPUCTR_HARDEN_DUMPABLE,
    }
}

/// What a process needs from now on.
#[derive(Clone, Copy, Debug, Default)]
pub struct HardenOptions {
    /// Functions that it still needs.
    pub phases: Phases,
    /// What is left alone.
    pub flags: Harden,
    /// Kept for the caller's own work: bits `1 << CAP_...`.
    pub capabilities: u64,
}

impl HardenOptions {
    pub(crate) fn native(&self) -> sys::gpuctr_harden_options {
        // SAFETY: the function of this struct.
        let mut native = unsafe { initialised(sys::gpuctr_harden_options_init) };
        native.phases = self.phases.0;
        native.flags = self.flags.0;
        native.capabilities = self.capabilities;
        native
    }
}

/// How a specification of the Container Device Interface is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct CdiOptions<'a> {
    /// Version of the specification; none: the lowest that has it all.
    pub version: Option<&'a str>,
    /// Where files that are made for containers are kept; none: the usual place.
    pub files_dir: Option<&'a Path>,
    /// YAML instead of JSON; `Plan::install_cdi()` goes by the path.
    pub yaml: bool,
    /// Processes of containers get the groups of the device nodes.
    pub groups: bool,
    /// Where a tree is staged, which is bound instead of single libraries; none: single mounts.
    pub staged_tree: Option<&'a Path>,
    /// Path of a command that sets up everything but the nodes, and its arguments, the first of
    /// which is the path again; empty: no hook.
    pub hook: &'a [&'a str],
}

impl CdiOptions<'_> {
    /// The struct is valid as long as `texts`.
    pub(crate) fn native(&self, texts: &mut Texts) -> Result<sys::gpuctr_cdi_options> {
        // SAFETY: the function of this struct.
        let mut native = unsafe { initialised(sys::gpuctr_cdi_options_init) };
        native.version = texts.add("version", self.version.map(OsStr::new))?;
        native.files_dir = texts.add("files_dir", self.files_dir.map(Path::as_os_str))?;
        native.flags = (if self.yaml { sys::GPUCTR_CDI_YAML } else { 0 })
            | (if self.groups { sys::GPUCTR_CDI_GROUPS } else { 0 });
        native.staged_tree = texts.add("staged_tree", self.staged_tree.map(Path::as_os_str))?;
        if !self.hook.is_empty() {
            native.hook = texts.add_list("hook", self.hook)?;
        }
        Ok(native)
    }
}

/// How to stage and to unstage.
#[derive(Clone, Copy, Debug, Default)]
pub struct StageOptions {
    /// The caller is a setuid program that has checked what its user may have.
    pub setuid: bool,
    /// How mounts are made.
    pub backend: Backend,
}

impl StageOptions {
    pub(crate) fn native(&self) -> sys::gpuctr_stage_options {
        // SAFETY: the function of this struct.
        let mut native = unsafe { initialised(sys::gpuctr_stage_options_init) };
        native.flags = if self.setuid { sys::GPUCTR_STAGE_SETUID } else { 0 };
        native.backend = self.backend as u32;
        native
    }
}

/// Collects the findings of a call: no closure of the caller runs inside of the library.
#[derive(Default)]
pub(crate) struct Collected(Vec<Finding>);

impl Collected {
    pub(crate) fn data(&mut self) -> *mut c_void {
        (self as *mut Self).cast()
    }

    /// # Safety
    /// `data` is that of `data()`.
    pub(crate) unsafe extern "C" fn collect(
        data: *mut c_void,
        finding: *const sys::gpuctr_finding,
    ) {
        // A panic may not pass through the library.
        let _ = catch_unwind(AssertUnwindSafe(|| unsafe {
            (*data.cast::<Self>()).0.push(Finding::copy(finding));
        }));
    }

    pub(crate) fn hand_over(self, report: Option<Report<'_>>) {
        if let Some(report) = report {
            self.0.iter().for_each(report);
        }
    }
}
