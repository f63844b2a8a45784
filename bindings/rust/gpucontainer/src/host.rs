// SPDX-License-Identifier: MIT
use crate::call::{check, initialised, json, lists, Texts};
use crate::error::Result;
use crate::values::{findings, Driver};
use gpucontainer_sys as sys;
use std::path::PathBuf;
use std::ptr;

/// What to look for on a host.
#[derive(Clone, Debug, Default)]
pub struct HostOptions {
    /// Vendors that must have a GPU here. With `VENDOR_ANY`, or if empty: others too.
    pub vendors: Vec<String>,
    /// Where the driver's files are; none: "/".
    pub driver_root: Option<PathBuf>,
    /// Used instead of the kernel module's version.
    pub driver_version: Option<String>,
    /// Files with further rules for which files belong to a driver.
    pub catalogues: Vec<PathBuf>,
    /// Directory of such files.
    pub catalogue_dir: Option<PathBuf>,
    /// Directory whose `dev/` has the driver's device nodes; none: "/".
    pub dev_root: Option<PathBuf>,
    /// File with what `nvidia-smi -L` printed.
    pub mig_map: Option<PathBuf>,
    /// A vendor needs no GPU: the files of its driver are enough.
    pub files_alone: bool,
    /// Findings name GPUs that no kernel driver has, beside those of NVIDIA's driver.
    pub whole_bus: bool,
}

impl HostOptions {
    /// The texts have to outlive the options.
    pub(crate) fn native(&self, texts: &mut Texts) -> Result<sys::gpuctr_host_options> {
        // SAFETY: the function of this struct.
        let mut native = unsafe { initialised(sys::gpuctr_host_options_init) };
        native.vendors = texts.add_list("vendors", &self.vendors)?;
        native.driver_root =
            texts.add("driver_root", self.driver_root.as_deref().map(AsRef::as_ref))?;
        native.driver_version =
            texts.add("driver_version", self.driver_version.as_deref().map(AsRef::as_ref))?;
        native.catalogues = texts.add_list("catalogues", &self.catalogues)?;
        native.catalogue_dir =
            texts.add("catalogue_dir", self.catalogue_dir.as_deref().map(AsRef::as_ref))?;
        native.dev_root = texts.add("dev_root", self.dev_root.as_deref().map(AsRef::as_ref))?;
        native.mig_map = texts.add("mig_map", self.mig_map.as_deref().map(AsRef::as_ref))?;
        if self.files_alone {
            native.flags |= sys::GPUCTR_HOST_FILES_ALONE;
        }
        if self.whole_bus {
            native.flags |= sys::GPUCTR_HOST_WHOLE_BUS;
        }
        Ok(native)
    }
}

/// The GPUs of this host and the files of their drivers, as they were when it was opened.
pub struct Host {
    raw: *mut sys::gpuctr_host,
}

// SAFETY: a host never changes, and several threads may read it at once.
unsafe impl Send for Host {}
unsafe impl Sync for Host {}

impl Host {
    /// Looks at this host; opens no device node. Errors: NoDevice, Driver, Permission, Usage.
    pub fn open(options: &HostOptions) -> Result<Host> {
        let mut texts = Texts::default();
        let native = options.native(&mut texts)?;
        let mut raw = ptr::null_mut();
        // SAFETY: the options and their texts outlive the call.
        unsafe { check(|error| sys::gpuctr_host_open(&native, &mut raw, error))? };
        Ok(Host { raw })
    }

    /// Reads a record that `to_json()` wrote. It is not trusted: before a plan made from it is
    /// applied, this host is looked at again. Errors: Usage, NoDevice.
    pub fn from_json(json: &[u8], options: &HostOptions) -> Result<Host> {
        let mut texts = Texts::default();
        let native = options.native(&mut texts)?;
        let mut raw = ptr::null_mut();
        // SAFETY: all that is passed outlives the call.
        unsafe {
            check(|error| {
                let text = json.as_ptr().cast();
                sys::gpuctr_host_from_json(text, json.len(), &native, &mut raw, error)
            })?;
        }
        Ok(Host { raw })
    }

    /// Whether the host still is as it was recorded.
    pub fn is_current(&self) -> bool {
        // SAFETY: the object is alive.
        unsafe { sys::gpuctr_host_is_current(self.raw) != 0 }
    }

    /// The host as a document of the schema "gpucontainer/list/1".
    pub fn to_json(&self) -> Result<String> {
        // SAFETY: the object is alive.
        unsafe { json(|text, error| sys::gpuctr_host_to_json(self.raw, text, error)) }
    }

    /// Drivers, one for each vendor.
    pub fn drivers(&self) -> impl ExactSizeIterator<Item = Driver<'_>> {
        HostView { raw: self.raw, owner: std::marker::PhantomData }.drivers()
    }

    findings! {
        /// One for each vendor that was not asked for and whose driver is broken.
        findings = gpuctr_host_finding_count, gpuctr_host_finding_at
    }

    /// The object of the library, for calls of `gpucontainer-sys`.
    pub fn as_ptr(&self) -> *const sys::gpuctr_host {
        self.raw
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // SAFETY: nothing borrows from it any more.
        unsafe { sys::gpuctr_host_free(self.raw) }
    }
}

struct HostView<'a> {
    raw: *const sys::gpuctr_host,
    owner: std::marker::PhantomData<&'a ()>,
}
impl<'a> HostView<'a> {
    lists! {
        /// Drivers, one for each vendor.
        drivers: Driver = gpuctr_host_driver_count, gpuctr_host_driver_at;
    }
}
