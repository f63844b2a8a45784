// SPDX-License-Identifier: MIT
use crate::call::{check, Texts};
use crate::error::Result;
use crate::host::HostOptions;
use crate::options::{Collected, Report};
use crate::root::fd_of;
use gpucontainer_sys as sys;
use std::ffi::OsString;
use std::os::raw::c_void;
use std::os::unix::io::AsFd;
use std::ptr;

/// What a report has.
#[derive(Default)]
pub struct CaptureOptions<'o> {
    /// How to look at this host. A vendor that is not there is no error.
    pub host: HostOptions,
    /// NAME=VALUE each; those that choose GPUs are recorded.
    pub environment: Vec<OsString>,
    /// Serial numbers, UUIDs and names are not replaced.
    pub with_identities: bool,
    /// Gets what was replaced or not recorded.
    pub report: Option<Report<'o>>,
}

/// Writes a report of what this host shows of its GPUs, for those who look for the cause of a
/// problem elsewhere: a tar archive that gpuctr-simhost simulates. Nothing is executed, and no
/// device is opened. Errors: Usage, Permission, Requirement, Internal.
pub fn capture<F: AsFd>(file: &F, options: CaptureOptions<'_>) -> Result<()> {
    let mut texts = Texts::default();
    let mut findings = Collected::default();
    let native = options.host.native(&mut texts)?;
    let environment = texts.add_list("environment", &options.environment)?;
    let flags = if options.with_identities { sys::GPUCTR_CAPTURE_WITH_IDENTITIES } else { 0 };
    let mut collect: sys::gpuctr_report = None;
    let mut data: *mut c_void = ptr::null_mut();
    if options.report.is_some() {
        collect = Some(Collected::collect);
        data = findings.data();
    }
    // SAFETY: all that is passed outlives the call.
    let result = unsafe {
        check(|error| {
            let fd = fd_of(Some(file));
            sys::gpuctr_host_capture(&native, environment, flags, fd, collect, data, error)
        })
    };
    findings.hand_over(options.report);
    result
}
