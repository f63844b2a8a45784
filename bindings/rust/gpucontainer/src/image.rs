// SPDX-License-Identifier: MIT
use crate::call::{check, Texts};
use crate::error::Result;
use crate::root::fd_of;
use gpucontainer_sys as sys;
use std::ffi::OsStr;
use std::os::unix::io::AsFd;
use std::path::Path;

/// Where a file with an image has its root file system, which is squashfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImagePlace {
    /// Where it begins in the file.
    pub offset: u64,
    /// Its size.
    pub size: u64,
    /// The image has a signature, which nothing here checks.
    pub is_signed: bool,
    /// The image has changes for it too, in a partition for an overlay.
    pub has_overlay: bool,
}

/// Finds the root file system in a file with an image, squashfs or SIF, for a program that mounts
/// it. Errors: Rootfs, Requirement.
pub fn find_image<F: AsFd>(file: &F) -> Result<ImagePlace> {
    let (mut offset, mut size, mut flags) = (0, 0, 0);
    // SAFETY: all that is passed outlives the call.
    unsafe {
        check(|error| {
            sys::gpuctr_image_find(fd_of(Some(file)), &mut offset, &mut size, &mut flags, error)
        })?;
    }
    Ok(ImagePlace {
        offset,
        size,
        is_signed: flags & sys::GPUCTR_IMAGE_SIGNED != 0,
        has_overlay: flags & sys::GPUCTR_IMAGE_OVERLAY != 0,
    })
}

/// Checks that nobody but root and the caller can have written an image, or put another one into
/// its place: for a program that has the kernel mount it. `path` is what led to the file. Errors:
/// Permission, Usage.
pub fn check_image_trust<F: AsFd>(file: &F, path: &Path) -> Result<()> {
    let mut texts = Texts::default();
    let path = texts.add("path", Some(OsStr::new(path)))?;
    // SAFETY: all that is passed outlives the call.
    unsafe { check(|error| sys::gpuctr_image_check_trust(fd_of(Some(file)), path, error)) }
}
