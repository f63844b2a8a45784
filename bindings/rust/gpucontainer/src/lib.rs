// SPDX-License-Identifier: MIT
//! GPUs of the host in a container's root file system: Rust over libgpucontainer.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let root = std::fs::File::open("/srv/image")?;
//! let host = gpucontainer::Host::open(&Default::default())?;
//! let request = gpucontainer::Request { devices: Some("0".into()), ..Default::default() };
//! let plan = gpucontainer::Plan::new(&host, &request, Some(&root))?;
//! plan.apply(&root, gpucontainer::ApplyOptions::default())?;
//! gpucontainer::undo(&root, gpucontainer::UndoOptions::default())?;
//! # Ok(())
//! # }
//! ```
//!
//! `gpucontainer.h` is the reference: it says what each call does, needs and promises. Here, `-1`
//! for "none" is `None`, a failed call is an [`Error`], and owners free their objects when they are
//! dropped. Texts are `Cow<str>`, because names in a file system need not be UTF-8; paths are
//! [`Path`](std::path::Path)s.
#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

mod call;
mod capture;
mod check;
mod config;
mod environment;
mod error;
mod explanation;
mod host;
mod image;
mod options;
mod plan;
mod prepared;
mod root;
mod setup;
mod values;

pub use capture::{capture, CaptureOptions};
pub use check::{Check, CheckOptions};
pub use config::{Config, Setting};
pub use environment::ContainerEnvironment;
pub use error::{Code, Error, ErrorDetails, Result};
pub use explanation::{Answer, Explanation};
pub use host::{Host, HostOptions};
pub use image::{check_image_trust, find_image, ImagePlace};
pub use options::{
    Backend, CdiOptions, Compat, Glibc, Harden, HardenOptions, Layout, Phases, Report,
    StageOptions, VendorLibs, Write,
};
pub use plan::{
    ApplyOptions, CdiInstalled, DeviceRule, Item, Outcome, Plan, PrepareOptions, Request, Staged,
    Variable,
};
pub use prepared::Prepared;
pub use root::{load_kernel_modules, open_in_root, undo, unstage, LoadOptions, UndoOptions};
pub use setup::{Setup, SetupList, SetupListOptions, Undone};
pub use values::{
    Driver, File, FileId, Finding, Gpu, Mask, Node, Registration, Severity, UsedDriver, VersionNeed,
};

/// In a list of vendors: any other vendor that this host has, too.
pub const VENDOR_ANY: &str = "any";

/// Version of the library that is loaded.
pub fn version() -> std::borrow::Cow<'static, str> {
    // SAFETY: the text is a constant of the library.
    unsafe { call::text(gpucontainer_sys::gpuctr_version()) }
}

/// Drops the privileges that the calling thread no longer needs, for good. For programs that do
/// nothing but set up containers; to be called before there are other threads.
pub fn harden(options: &HardenOptions) -> Result<()> {
    let native = options.native();
    // SAFETY: the options outlive the call.
    unsafe { call::check(|error| gpucontainer_sys::gpuctr_process_harden(&native, error)) }
}
