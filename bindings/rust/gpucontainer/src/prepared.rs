// SPDX-License-Identifier: MIT
use crate::call::{initialised, text};
use crate::error::{Code, Error, ErrorDetails, Result};
use crate::root::fd_of;
use gpucontainer_sys as sys;
use std::io;
use std::os::unix::io::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};

/// A plan as detached mounts. If it is dropped without `attach()`, nothing was changed.
pub struct Prepared {
    raw: *mut sys::gpuctr_prepared,
    /// The library keeps the object in it.
    _buffer: Vec<u64>,
}

// SAFETY: it may be used from one thread at a time.
unsafe impl Send for Prepared {}

impl Prepared {
    /// # Safety
    /// The object is not owned by anybody.
    pub(crate) unsafe fn from_raw(raw: *mut sys::gpuctr_prepared) -> Self {
        Prepared { raw, _buffer: Vec::new() }
    }

    /// Makes it from the bytes and descriptors of another process. The bytes say what will be
    /// mounted and written: accept them only from a process that has the privileges of this one.
    /// None if they are not a prepared plan of this version of the library.
    pub fn adopt(data: &[u8], fds: Vec<OwnedFd>) -> Option<Prepared> {
        let mut buffer = vec![0u64; data.len() / 8 + 1];
        let numbers: Vec<_> = fds.iter().map(|fd| fd_of(Some(fd))).collect();
        // SAFETY: the buffer is aligned, holds the bytes, and lives as long as the object.
        let raw = unsafe {
            let bytes = buffer.as_mut_ptr().cast::<u8>();
            bytes.copy_from_nonoverlapping(data.as_ptr(), data.len());
            sys::gpuctr_prepared_adopt(bytes.cast(), data.len(), numbers.as_ptr(), numbers.len())
        };
        if raw.is_null() {
            return None;
        }
        for fd in fds {
            let _ = fd.into_raw_fd(); // the object's now
        }
        Some(Prepared { raw, _buffer: buffer })
    }

    /// Puts it into a root file system in the caller's mount namespace, all or nothing. Between
    /// clone and exec of a process with threads, call `gpuctr_prepared_attach()` with `as_ptr()`:
    /// that allocates nothing. Errors: Permission, Rootfs, Apply, Usage.
    pub fn attach<F: AsFd>(&mut self, root: &F) -> Result<()> {
        // SAFETY: the object is alive and not shared.
        check(|error| unsafe { sys::gpuctr_prepared_attach(self.raw, fd_of(Some(root)), error) })
    }

    /// Undoes `attach()` in the same process.
    pub fn undo<F: AsFd>(&mut self, root: &F) -> Result<()> {
        // SAFETY: the object is alive and not shared.
        check(|error| unsafe { sys::gpuctr_prepared_undo(self.raw, fd_of(Some(root)), error) })
    }

    /// Descriptors to pass on to another process, in this order.
    pub fn fds(&self) -> Vec<BorrowedFd<'_>> {
        // SAFETY: they belong to the object.
        unsafe {
            (0..sys::gpuctr_prepared_fd_count(self.raw))
                .map(|i| BorrowedFd::borrow_raw(sys::gpuctr_prepared_fd_at(self.raw, i)))
                .collect()
        }
    }

    /// Bytes to pass on together with the descriptors.
    pub fn data(&self) -> &[u8] {
        // SAFETY: they belong to the object.
        unsafe {
            let data = sys::gpuctr_prepared_data(self.raw).cast();
            std::slice::from_raw_parts(data, sys::gpuctr_prepared_size(self.raw))
        }
    }

    /// The object of the library, for calls of `gpucontainer-sys`.
    pub fn as_ptr(&mut self) -> *mut sys::gpuctr_prepared {
        self.raw
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: nothing borrows from it any more.
        unsafe { sys::gpuctr_prepared_free(self.raw) }
    }
}

fn check(call: impl FnOnce(*mut sys::gpuctr_attach_error) -> sys::gpuctr_status) -> Result<()> {
    // SAFETY: the function of this struct.
    let mut error = unsafe { initialised(sys::gpuctr_attach_error_init) };
    let status = call(&mut error);
    if status == sys::GPUCTR_OK {
        return Ok(());
    }
    // SAFETY: the library terminates both texts.
    let (step, object) = unsafe {
        (text(error.step.as_ptr()).into_owned(), text(error.object.as_ptr()).into_owned())
    };
    let cause = match error.os_error {
        0 => String::new(),
        number => io::Error::from_raw_os_error(number).to_string(),
    };
    let mut message = step.clone();
    for (separator, part) in [(" ", &object), (": ", &cause)] {
        if !part.is_empty() {
            message += separator;
            message += part;
        }
    }
    Err(Error::from(ErrorDetails {
        code: Code::from(status),
        message,
        step,
        object,
        argument: String::new(),
        cause,
        hint: String::new(),
        os_error: error.os_error,
    }))
}
