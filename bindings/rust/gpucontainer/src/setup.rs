// SPDX-License-Identifier: MIT
use crate::call::{check, getters, initialised, json, lists, view, Texts};
use crate::error::Result;
use crate::plan::Item;
use crate::root::{fd_of, UndoOptions};
use crate::values::{findings, UsedDriver};
use gpucontainer_sys as sys;
use std::borrow::Cow;
use std::os::unix::io::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;
use std::ptr;
use std::time::{Duration, SystemTime};

/// Where to look for set-ups.
#[derive(Clone, Copy, Debug, Default)]
pub struct SetupListOptions<'o> {
    /// Directory of the journals; none: "/var/lib/gpucontainer".
    pub state_dir: Option<&'o Path>,
    /// A process of the container, as in `ApplyOptions`.
    pub pidfd: Option<BorrowedFd<'o>>,
}

/// What `Setup::undo()` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undone {
    /// Nothing of it is left.
    Undone,
    /// Its root is gone; the journal was removed.
    Forgotten,
    /// It is in use elsewhere, or out of reach from here.
    Left,
    /// One of a later version of the library.
    Other(u32),
}

impl From<u32> for Undone {
    fn from(outcome: u32) -> Self {
        match outcome {
            sys::GPUCTR_UNDONE => Undone::Undone,
            sys::GPUCTR_FORGOTTEN => Undone::Forgotten,
            sys::GPUCTR_LEFT => Undone::Left,
            other => Undone::Other(other),
        }
    }
}

view! {
    /// One set-up that `Plan::apply()` made.
    Setup of gpuctr_setup
}
impl<'a> Setup<'a> {
    getters! {
        /// Path that the root had; empty if it is the root of a process.
        path root = gpuctr_setup_root;
        /// "here", "another_mount", "another_namespace", "namespace_gone" or "earlier_boot".
        text origin = gpuctr_setup_origin;
        /// Path of the driver's files in the container; empty if there are none.
        path tree_path = gpuctr_setup_tree_path;
        /// Whether names were created in the root file system itself.
        flag writes_root = gpuctr_setup_writes_root;
    }
    lists! {
        /// Drivers that it was made from; none if the journal is damaged.
        drivers: UsedDriver = gpuctr_setup_driver_count, gpuctr_setup_driver_at;
        /// What undo takes away; none if the journal is damaged or in use.
        items: Item = gpuctr_setup_item_count, gpuctr_setup_item_at;
    }
    findings! {
        /// What no longer fits; none if the set-up is as it was made.
        findings = gpuctr_setup_finding_count, gpuctr_setup_finding_at
    }

    /// Inode number of its mount namespace.
    pub fn mount_namespace(&self) -> u64 {
        // SAFETY: the object is alive.
        unsafe { sys::gpuctr_setup_mount_namespace(self.raw) }
    }

    /// Pid of a process in its mount namespace, if that is another one and a process is known.
    pub fn process(&self) -> Option<u32> {
        // SAFETY: the object is alive.
        u32::try_from(unsafe { sys::gpuctr_setup_process(self.raw) }).ok().filter(|pid| *pid != 0)
    }

    /// When it was made, if that is known.
    pub fn since(&self) -> Option<SystemTime> {
        // SAFETY: the object is alive.
        let seconds = u64::try_from(unsafe { sys::gpuctr_setup_since(self.raw) }).ok()?;
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
    }

    /// Undoes it at the path in its journal. Errors: Permission, Apply, Usage.
    pub fn undo(&self, options: UndoOptions<'_>) -> Result<Undone> {
        let mut outcome = sys::GPUCTR_UNDONE;
        // SAFETY: all that is passed outlives the call.
        options.call(|native, error| unsafe {
            sys::gpuctr_setup_undo(self.raw, native, &mut outcome, error)
        })?;
        Ok(outcome.into())
    }
}

/// The set-ups, and whether they still fit the host. It never changes.
pub struct SetupList {
    raw: *mut sys::gpuctr_setup_list,
}

// SAFETY: a list never changes, and several threads may read it at once.
unsafe impl Send for SetupList {}
unsafe impl Sync for SetupList {}

impl SetupList {
    /// The set-ups of one root; without a root, all in the state directory.
    /// Errors: Permission, Usage.
    pub fn open<F: AsFd>(root: Option<&F>, options: &SetupListOptions<'_>) -> Result<SetupList> {
        let mut texts = Texts::default();
        // SAFETY: the function of this struct.
        let mut native = unsafe { initialised(sys::gpuctr_setup_list_options_init) };
        native.state_dir = texts.add("state_dir", options.state_dir.map(Path::as_os_str))?;
        if let Some(pidfd) = options.pidfd {
            native.flags |= sys::GPUCTR_SETUP_LIST_IN_PROCESS;
            native.pidfd = pidfd.as_raw_fd();
        }
        let mut raw = ptr::null_mut();
        // SAFETY: all that is passed outlives the call.
        unsafe {
            check(|error| sys::gpuctr_setup_list_open(fd_of(root), &native, &mut raw, error))?;
        }
        Ok(SetupList { raw })
    }

    /// The set-ups, sorted by path and age.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Setup<'_>> {
        let raw = self.raw;
        // SAFETY: they belong to the list.
        unsafe {
            (0..sys::gpuctr_setup_list_count(raw))
                .map(move |i| Setup::new(sys::gpuctr_setup_list_at(raw, i)))
        }
    }

    /// The set-ups as a document of the schema "gpucontainer/status/1".
    pub fn to_json(&self) -> Result<String> {
        // SAFETY: the object is alive.
        unsafe { json(|text, error| sys::gpuctr_setup_list_to_json(self.raw, text, error)) }
    }
}

impl Drop for SetupList {
    fn drop(&mut self) {
        // SAFETY: nothing borrows from it any more.
        unsafe { sys::gpuctr_setup_list_free(self.raw) }
    }
}
