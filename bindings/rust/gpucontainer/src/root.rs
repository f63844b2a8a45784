// SPDX-License-Identifier: MIT
use crate::call::{check, initialised, Texts};
use crate::error::Result;
use crate::options::{Collected, Report, StageOptions};
use gpucontainer_sys as sys;
use std::ffi::OsStr;
use std::os::raw::c_int;
use std::os::unix::io::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

/// -1 for none.
pub(crate) fn fd_of<F: AsFd>(root: Option<&F>) -> RawFd {
    root.map_or(-1, |root| root.as_fd().as_raw_fd())
}

/// How to undo.
#[derive(Default)]
pub struct UndoOptions<'o> {
    /// Directory of the journals; none: "/var/lib/gpucontainer".
    pub state_dir: Option<&'o Path>,
    /// A process of the container, if the plan was applied in its mount namespace. The calling
    /// thread must then share its working directory with no other (`unshare(CLONE_FS)`).
    pub pidfd: Option<BorrowedFd<'o>>,
    /// The caller is a setuid program that has checked what its user may have.
    pub setuid: bool,
    /// Change nothing, and tell what would be done.
    pub dry_run: bool,
    /// Gets each finding about what was done.
    pub report: Option<Report<'o>>,
}

impl<'o> UndoOptions<'o> {
    /// Makes a call with these options, then reports.
    pub(crate) fn call(
        self,
        call: impl FnOnce(
            *const sys::gpuctr_undo_options,
            *mut *mut sys::gpuctr_error,
        ) -> sys::gpuctr_status,
    ) -> Result<()> {
        let mut texts = Texts::default();
        let mut findings = Collected::default();
        // SAFETY: the function of this struct.
        let mut native = unsafe { initialised(sys::gpuctr_undo_options_init) };
        native.state_dir = texts.add("state_dir", self.state_dir.map(Path::as_os_str))?;
        native.flags = if self.setuid { sys::GPUCTR_UNDO_SETUID } else { 0 };
        native.flags |= if self.dry_run { sys::GPUCTR_UNDO_DRY_RUN } else { 0 };
        if let Some(pidfd) = self.pidfd {
            native.flags |= sys::GPUCTR_UNDO_IN_PROCESS;
            native.pidfd = pidfd.as_raw_fd();
        }
        if self.report.is_some() {
            native.report = Some(Collected::collect);
            native.report_data = findings.data();
        }
        // SAFETY: the call passes its parameters on.
        let result = unsafe { check(|error| call(&native, error)) };
        findings.hand_over(self.report);
        result
    }
}

/// Undoes what `Plan::apply()` did in a root file system; false if there was nothing to undo.
/// Errors: Permission, Apply.
pub fn undo<F: AsFd>(root: &F, options: UndoOptions<'_>) -> Result<bool> {
    let mut found: c_int = 0;
    // SAFETY: all that is passed outlives the call.
    options.call(|native, error| unsafe {
        sys::gpuctr_rootfs_undo(fd_of(Some(root)), native, &mut found, error)
    })?;
    Ok(found != 0)
}

/// Opens a path in a root file system: symbolic links do not lead out of it. `flags` are those of
/// open(2), without O_CREAT and O_TMPFILE. Errors: Rootfs, Permission, Usage.
pub fn open_in_root<F: AsFd>(root: &F, path: &Path, flags: i32) -> Result<OwnedFd> {
    let mut texts = Texts::default();
    let path = texts.add("path", Some(OsStr::new(path)))?;
    let mut opened: c_int = -1;
    // SAFETY: all that is passed outlives the call; the descriptor is the caller's.
    unsafe {
        check(|error| sys::gpuctr_rootfs_open(fd_of(Some(root)), path, flags, &mut opened, error))?;
        Ok(OwnedFd::from_raw_fd(opened))
    }
}

/// What of this host to load and to make.
#[derive(Default)]
pub struct LoadOptions<'o> {
    /// Vendors whose GPUs need it; none: all.
    pub vendors: Vec<String>,
    /// Also what only mode setting needs.
    pub display: bool,
    /// Gets each kernel module that was loaded, and each node that was made.
    pub report: Option<Report<'o>>,
}

/// Changes this host: loads kernel modules that its GPUs lack, and makes device nodes that are
/// missing in /dev. Errors: Permission, NoDevice, Requirement, Usage.
pub fn load_kernel_modules(options: LoadOptions<'_>) -> Result<()> {
    let mut texts = Texts::default();
    let mut findings = Collected::default();
    // SAFETY: the function of this struct.
    let mut native = unsafe { initialised(sys::gpuctr_load_options_init) };
    native.vendors = texts.add_list("vendors", &options.vendors)?;
    native.flags = if options.display { sys::GPUCTR_LOAD_DISPLAY } else { 0 };
    if options.report.is_some() {
        native.report = Some(Collected::collect);
        native.report_data = findings.data();
    }
    // SAFETY: all that is passed outlives the call.
    let result = unsafe { check(|error| sys::gpuctr_host_load_kernel_modules(&native, error)) };
    findings.hand_over(options.report);
    result
}

/// Unmounts what `Plan::stage()` mounted in a directory; false if no such tree was there.
/// Errors: Permission, Usage.
pub fn unstage(directory: &Path, options: &StageOptions) -> Result<bool> {
    let mut texts = Texts::default();
    let native = options.native();
    let directory = texts.add("directory", Some(OsStr::new(directory)))?;
    let mut found: c_int = 0;
    // SAFETY: all that is passed outlives the call.
    unsafe { check(|error| sys::gpuctr_unstage(directory, &native, &mut found, error))? };
    Ok(found != 0)
}
