// SPDX-License-Identifier: MIT
use gpucontainer_sys as sys;
use std::fmt;

/// The outcome of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// Class of a failure. Negated, its number is the exit status of `gpuctr-setup`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// A bug in the library, or out of memory.
    Internal,
    /// The caller broke a documented precondition.
    Usage,
    /// No such GPU, or its kernel driver is not loaded.
    NoDevice,
    /// The driver's user space is missing or does not fit.
    Driver,
    /// The root file system cannot be used.
    Rootfs,
    /// A capability, namespace or permission is missing.
    Permission,
    /// A stated requirement is not met.
    Requirement,
    /// The commit failed; everything was rolled back.
    Apply,
    /// Another set-up is there and may not be replaced.
    Exists,
    /// One of a later version of the library.
    Other(i32),
}

impl From<i32> for Code {
    fn from(status: i32) -> Self {
        match status {
            sys::GPUCTR_E_INTERNAL => Code::Internal,
            sys::GPUCTR_E_USAGE => Code::Usage,
            sys::GPUCTR_E_NO_DEVICE => Code::NoDevice,
            sys::GPUCTR_E_DRIVER => Code::Driver,
            sys::GPUCTR_E_ROOTFS => Code::Rootfs,
            sys::GPUCTR_E_PERMISSION => Code::Permission,
            sys::GPUCTR_E_REQUIREMENT => Code::Requirement,
            sys::GPUCTR_E_APPLY => Code::Apply,
            sys::GPUCTR_E_EXISTS => Code::Exists,
            other => Code::Other(other),
        }
    }
}

/// A call failed. It displays as the message in one line, and dereferences to its details.
#[derive(Clone, Debug)]
pub struct Error(Box<ErrorDetails>);

/// What is known of a failure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ErrorDetails {
    /// Class of the failure.
    pub code: Code,
    /// The whole message, outermost step first.
    pub message: String,
    /// The outermost step that failed, such as "prepare libcuda.so.1".
    pub step: String,
    /// What the failing operation worked on: a path, a GPU; may be empty.
    pub object: String,
    /// The argument that the failure is about, such as "devices"; empty if it is about none.
    pub argument: String,
    /// The innermost reason.
    pub cause: String,
    /// What can be done about it; may be empty.
    pub hint: String,
    /// `errno` behind the failure, or 0.
    pub os_error: i32,
}

impl Error {
    pub(crate) fn usage(argument: &str, cause: &str) -> Self {
        Error::from(ErrorDetails {
            code: Code::Usage,
            message: format!("{argument}: {cause}"),
            step: String::new(),
            object: String::new(),
            argument: argument.to_owned(),
            cause: cause.to_owned(),
            hint: String::new(),
            os_error: 0,
        })
    }
}

impl From<ErrorDetails> for Error {
    fn from(details: ErrorDetails) -> Self {
        Error(Box::new(details))
    }
}

impl std::ops::Deref for Error {
    type Target = ErrorDetails;
    fn deref(&self) -> &ErrorDetails {
        &self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
