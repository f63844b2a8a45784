// SPDX-License-Identifier: MIT
//! What all calls of the library have in common.

use crate::error::{Code, Error, ErrorDetails, Result};
use gpucontainer_sys as sys;
use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr};
use std::mem::MaybeUninit;
use std::os::raw::c_char;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// A text of the library.
///
/// # Safety
/// The text is NULL or terminated, and lives for `'a`.
pub unsafe fn text<'a>(text: *const c_char) -> Cow<'a, str> {
    String::from_utf8_lossy(unsafe { bytes(text) })
}

/// # Safety
/// As `text()`.
pub unsafe fn path<'a>(text: *const c_char) -> &'a Path {
    Path::new(OsStr::from_bytes(unsafe { bytes(text) }))
}

unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    unsafe { CStr::from_ptr(text) }.to_bytes()
}

/// Runs a call whose last parameter is the error.
///
/// # Safety
/// The call passes its parameter on to the library as `ret_error`.
pub unsafe fn check(
    call: impl FnOnce(*mut *mut sys::gpuctr_error) -> sys::gpuctr_status,
) -> Result<()> {
    let mut error = ptr::null_mut();
    let status = call(&mut error);
    if status == sys::GPUCTR_OK {
        return Ok(());
    }
    // SAFETY: an error that was handed out, or NULL, which these functions accept.
    unsafe {
        let failure = ErrorDetails {
            code: Code::from(sys::gpuctr_error_status(error)),
            message: text(sys::gpuctr_error_message(error)).into_owned(),
            step: text(sys::gpuctr_error_step(error)).into_owned(),
            object: text(sys::gpuctr_error_object(error)).into_owned(),
            argument: text(sys::gpuctr_error_argument(error)).into_owned(),
            cause: text(sys::gpuctr_error_cause(error)).into_owned(),
            hint: text(sys::gpuctr_error_hint(error)).into_owned(),
            os_error: sys::gpuctr_error_os_error(error),
        };
        sys::gpuctr_error_free(error);
        Err(failure.into())
    }
}

/// Runs a call that writes a document.
///
/// # Safety
/// As `check()`; the first parameter is for `ret_json`.
pub unsafe fn json(
    call: impl FnOnce(*mut *mut c_char, *mut *mut sys::gpuctr_error) -> sys::gpuctr_status,
) -> Result<String> {
    let mut document = ptr::null_mut();
    unsafe {
        check(|error| call(&mut document, error))?;
        let copy = text(document).into_owned();
        sys::gpuctr_string_free(document);
        Ok(copy)
    }
}

/// A struct as the library initialises it.
///
/// # Safety
/// `init` is the function of the library for this struct.
pub unsafe fn initialised<T>(init: unsafe extern "C" fn(*mut T, usize)) -> T {
    let mut value = MaybeUninit::zeroed();
    unsafe {
        init(value.as_mut_ptr(), std::mem::size_of::<T>());
        value.assume_init()
    }
}

/// Texts that a call of the library borrows.
#[derive(Default)]
pub struct Texts {
    texts: Vec<CString>,
    lists: Vec<Vec<*const c_char>>,
}

impl Texts {
    /// NULL for none. The pointer is valid as long as this object.
    pub fn add(&mut self, argument: &str, text: Option<&OsStr>) -> Result<*const c_char> {
        let text = match text {
            Some(text) => text,
            None => return Ok(ptr::null()),
        };
        let text =
            CString::new(text.as_bytes()).map_err(|_| Error::usage(argument, "a NUL in it"))?;
        let pointer = text.as_ptr();
        self.texts.push(text);
        Ok(pointer)
    }

    /// A NULL-terminated list, which is valid as long as this object.
    pub fn add_list<T: AsRef<OsStr>>(
        &mut self,
        argument: &str,
        texts: &[T],
    ) -> Result<*const *const c_char> {
        let mut list = Vec::with_capacity(texts.len() + 1);
        for text in texts {
            list.push(self.add(argument, Some(text.as_ref()))?);
        }
        list.push(ptr::null());
        let pointer = list.as_ptr();
        self.lists.push(list);
        Ok(pointer)
    }
}

/// Getters of a view, which holds the object as `self.raw`.
macro_rules! getters {
    ($($(#[$doc:meta])* $kind:ident $name:ident = $function:ident;)*) => { $(
        getters!(@ $kind $(#[$doc])* $name $function);
    )* };
    (@ text $(#[$doc:meta])* $name:ident $function:ident) => {
        $(#[$doc])*
        pub fn $name(&self) -> Cow<'a, str> {
            // SAFETY: the text lives as long as the object that this is a view of.
            unsafe { $crate::call::text(sys::$function(self.raw)) }
        }
    };
    (@ path $(#[$doc:meta])* $name:ident $function:ident) => {
        $(#[$doc])*
        pub fn $name(&self) -> &'a Path {
            // SAFETY: as for texts.
            unsafe { $crate::call::path(sys::$function(self.raw)) }
        }
    };
    (@ number $(#[$doc:meta])* $name:ident $function:ident) => {
        $(#[$doc])*
        pub fn $name(&self) -> u32 {
            // SAFETY: the object is alive.
            unsafe { sys::$function(self.raw) }
        }
    };
    (@ option $(#[$doc:meta])* $name:ident $function:ident) => {
        $(#[$doc])*
        pub fn $name(&self) -> Option<u32> {
            // SAFETY: the object is alive.
            u32::try_from(unsafe { sys::$function(self.raw) }).ok()
        }
    };
    (@ flag $(#[$doc:meta])* $name:ident $function:ident) => {
        $(#[$doc])*
        pub fn $name(&self) -> bool {
            // SAFETY: the object is alive.
            unsafe { sys::$function(self.raw) != 0 }
        }
    };
}
pub(crate) use getters;

/// Lists of a view: `NAME: TYPE = COUNT, AT;`.
macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident: $element:ident = $count:ident, $at:ident;)*) => { $(
        $(#[$doc])*
        pub fn $name(&self) -> impl ExactSizeIterator<Item = $element<'a>> + 'a {
            let raw = self.raw;
            // SAFETY: the elements live as long as the object that this is a view of.
            unsafe { (0..sys::$count(raw)).map(move |i| $element::new(sys::$at(raw, i))) }
        }
    )* };
}
pub(crate) use lists;

/// The same of texts or paths: `text NAME = COUNT, AT;`.
macro_rules! text_lists {
    ($($(#[$doc:meta])* $kind:ident $name:ident = $count:ident, $at:ident;)*) => { $(
        text_lists!(@ $kind $(#[$doc])* $name $count $at);
    )* };
    (@ text $(#[$doc:meta])* $name:ident $count:ident $at:ident) => {
        text_lists!(@@ text $(#[$doc])* $name $count $at Cow<'a, str>);
    };
    (@ path $(#[$doc:meta])* $name:ident $count:ident $at:ident) => {
        text_lists!(@@ path $(#[$doc])* $name $count $at &'a Path);
    };
    (@@ $kind:ident $(#[$doc:meta])* $name:ident $count:ident $at:ident $element:ty) => {
        $(#[$doc])*
        pub fn $name(&self) -> impl ExactSizeIterator<Item = $element> + 'a {
            let raw = self.raw;
            // SAFETY: the texts live as long as the object that this is a view of.
            unsafe { (0..sys::$count(raw)).map(move |i| $crate::call::$kind(sys::$at(raw, i))) }
        }
    };
}
pub(crate) use text_lists;

/// A view of a part of an object of the library.
macro_rules! view {
    ($(#[$doc:meta])* $name:ident of $raw:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name<'a> {
            pub(crate) raw: *const sys::$raw,
            pub(crate) owner: std::marker::PhantomData<&'a ()>,
        }
        // SAFETY: several threads may read hosts, plans and lists of set-ups at once.
        unsafe impl Send for $name<'_> {}
        unsafe impl Sync for $name<'_> {}
        impl<'a> $name<'a> {
            /// The object belongs to one that lives for `'a`.
            pub(crate) unsafe fn new(raw: *const sys::$raw) -> Self {
                Self { raw, owner: std::marker::PhantomData }
            }
        }
    };
}
pub(crate) use view;
