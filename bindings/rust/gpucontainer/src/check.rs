// SPDX-License-Identifier: MIT
use crate::call::{check, initialised, json, Texts};
use crate::error::Result;
use crate::host::{Host, HostOptions};
use crate::plan::Request;
use crate::root::fd_of;
use crate::values::findings;
use gpucontainer_sys as sys;
use std::os::unix::io::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;
use std::ptr;

/// What a diagnosis is about.
#[derive(Clone, Default)]
pub struct CheckOptions<'o> {
    /// How to look at this host. A vendor that is asked for and cannot be used is a finding.
    pub host: HostOptions,
    /// A host of `Host::from_json()`, in place of this one.
    pub record: Option<&'o Host>,
    /// As for a plan. What cannot be granted is a finding.
    pub request: Request,
    /// What will run in the root: a path there, or a name that is looked for in its PATH.
    pub program: Option<&'o Path>,
    /// A process whose root it is. The container is looked at as it is, whoever set it up, and
    /// whether its device cgroups allow the GPUs. None: as `Plan::apply()` would leave it.
    pub pidfd: Option<BorrowedFd<'o>>,
}

/// A diagnosis: whether GPU programs will work, and why not. It never changes.
pub struct Check {
    raw: *mut sys::gpuctr_check,
}

// SAFETY: a diagnosis never changes, and several threads may read it at once.
unsafe impl Send for Check {}
unsafe impl Sync for Check {}

impl Check {
    /// Finds out whether GPU programs will work in a root, which is a directory, set up or not, or
    /// a file with an image. Without a root, it is about the host alone. Nothing is changed or
    /// executed, and no device node is opened. What keeps programs from working is no error, but a
    /// finding. Errors: Usage, Rootfs.
    pub fn new<F: AsFd>(root: Option<&F>, options: &CheckOptions<'_>) -> Result<Check> {
        let mut texts = Texts::default();
        let host = options.host.native(&mut texts)?;
        let request = options.request.native(&mut texts)?;
        // SAFETY: the function of this struct.
        let mut native = unsafe { initialised(sys::gpuctr_check_options_init) };
        native.host = &host;
        native.record = options.record.map_or(ptr::null(), Host::as_ptr);
        native.request = &request;
        native.program = texts.add("program", options.program.map(Path::as_os_str))?;
        if let Some(pidfd) = options.pidfd {
            native.flags |= sys::GPUCTR_CHECK_IN_PROCESS;
            native.pidfd = pidfd.as_raw_fd();
        }
        let mut raw = ptr::null_mut();
        // SAFETY: all that is passed outlives the call.
        unsafe { check(|error| sys::gpuctr_check_create(&native, fd_of(root), &mut raw, error))? };
        Ok(Check { raw })
    }

    findings! {
        /// Why programs will not work, or may not, what stops all of them first. An error stops
        /// the program, or all if none is named; a warning may stop it, or stops others; a note is
        /// settled by setting up.
        findings = gpuctr_check_finding_count, gpuctr_check_finding_at
    }

    /// The diagnosis as a document of the schema "gpucontainer/check/1".
    pub fn to_json(&self) -> Result<String> {
        // SAFETY: the object is alive.
        unsafe { json(|text, error| sys::gpuctr_check_to_json(self.raw, text, error)) }
    }
}

impl Drop for Check {
    fn drop(&mut self) {
        // SAFETY: nothing borrows from it any more.
        unsafe { sys::gpuctr_check_free(self.raw) }
    }
}
