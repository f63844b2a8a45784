// SPDX-License-Identifier: MIT
use crate::call::{check, getters, text, Texts};
use crate::error::Result;
use gpucontainer_sys as sys;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::marker::PhantomData;
use std::path::Path;
use std::ptr;

/// One value of a configuration file.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    raw: *const sys::gpuctr_setting,
    config: PhantomData<&'a Config>,
}
impl<'a> Setting<'a> {
    getters! {
        /// Lower-case letters and '-'.
        text key = gpuctr_setting_key;
        /// Empty only for a mistake.
        text value = gpuctr_setting_value;
        /// Whether the value is in a list.
        flag in_list = gpuctr_setting_in_list;
        /// Line of the key in the file, from 1.
        number line = gpuctr_setting_line;
    }

    /// What is wrong with the key, which then has no value.
    pub fn mistake(&self) -> Option<Cow<'a, str>> {
        // SAFETY: the text belongs to the configuration.
        unsafe {
            let mistake = sys::gpuctr_setting_mistake(self.raw);
            (!mistake.is_null()).then(|| text(mistake))
        }
    }
}

/// A site's configuration file, such as `/etc/gpucontainer/config.yaml`.
pub struct Config {
    raw: *mut sys::gpuctr_config,
}

// SAFETY: different objects may be used from different threads.
unsafe impl Send for Config {}

type Open = unsafe extern "C" fn(
    *const std::os::raw::c_char,
    *mut *mut sys::gpuctr_config,
    *mut *mut sys::gpuctr_error,
) -> sys::gpuctr_status;

impl Config {
    /// Reads the file; without one there are no settings. Errors: Usage, Permission.
    pub fn open(path: &Path) -> Result<Config> {
        Self::open_by(sys::gpuctr_config_open, path)
    }

    /// The same, but mistakes that cannot concern the policy become settings.
    pub fn open_with_mistakes(path: &Path) -> Result<Config> {
        Self::open_by(sys::gpuctr_config_open_with_mistakes, path)
    }

    fn open_by(open: Open, path: &Path) -> Result<Config> {
        let mut texts = Texts::default();
        let path = texts.add("path", Some(OsStr::new(path)))?;
        let mut raw = ptr::null_mut();
        // SAFETY: all that is passed outlives the call.
        unsafe { check(|error| open(path, &mut raw, error))? };
        Ok(Config { raw })
    }

    /// Values in the order of the file. Each value of a list is a setting.
    pub fn settings(&self) -> impl ExactSizeIterator<Item = Setting<'_>> {
        let raw = self.raw;
        // SAFETY: they belong to the configuration.
        unsafe {
            (0..sys::gpuctr_config_setting_count(raw)).map(move |i| Setting {
                raw: sys::gpuctr_config_setting_at(raw, i),
                config: PhantomData,
            })
        }
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // SAFETY: nothing borrows from it any more.
        unsafe { sys::gpuctr_config_free(self.raw) }
    }
}
