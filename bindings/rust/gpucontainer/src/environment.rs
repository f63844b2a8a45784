// SPDX-License-Identifier: MIT
use crate::call::{check, text, Texts};
use crate::error::Result;
use crate::root::fd_of;
use crate::values::findings;
use gpucontainer_sys as sys;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::io::AsFd;
use std::ptr;

/// The variables that an image or a runtime gives to a container.
pub struct ContainerEnvironment {
    raw: *mut sys::gpuctr_environment,
}

// SAFETY: different objects may be used from different threads.
unsafe impl Send for ContainerEnvironment {}

impl ContainerEnvironment {
    /// Reads them from an image, which is a directory or a file, from a text (an OCI configuration, a script of exports, or lines
    /// NAME=VALUE), and from the variables APPTAINERENV_* and SINGULARITYENV_* of an environment.
    /// Nothing is executed. Errors: Usage, Rootfs.
    pub fn read<F: AsFd>(
        root: Option<&F>,
        content: Option<&str>,
        environment: &[OsString],
    ) -> Result<ContainerEnvironment> {
        let mut texts = Texts::default();
        let content = texts.add("text", content.map(OsStr::new))?;
        let environment = texts.add_list("environment", environment)?;
        let mut raw = ptr::null_mut();
        // SAFETY: all that is passed outlives the call.
        unsafe {
            check(|error| {
                sys::gpuctr_environment_read(fd_of(root), content, environment, &mut raw, error)
            })?
        };
        Ok(ContainerEnvironment { raw })
    }

    /// NAME=VALUE each, sorted by name.
    pub fn variables(&self) -> impl ExactSizeIterator<Item = Cow<'_, str>> {
        let raw = self.raw;
        // SAFETY: the texts belong to the environment.
        unsafe {
            (0..sys::gpuctr_environment_count(raw))
                .map(move |i| text(sys::gpuctr_environment_at(raw, i)))
        }
    }

    findings! {
        /// What is not known, such as lines of a script.
        findings = gpuctr_environment_finding_count, gpuctr_environment_finding_at
    }
}

impl Drop for ContainerEnvironment {
    fn drop(&mut self) {
        // SAFETY: nothing borrows from it any more.
        unsafe { sys::gpuctr_environment_free(self.raw) }
    }
}
