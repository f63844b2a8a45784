// SPDX-License-Identifier: MIT
use crate::call::{getters, json, lists, text_lists, view};
use crate::error::Result;
use crate::plan::Item;
use crate::values::findings;
use gpucontainer_sys as sys;
use std::borrow::Cow;
use std::path::Path;

view! {
    /// What a plan does with one thing that has the name.
    Answer of gpuctr_answer
}
impl<'a> Answer<'a> {
    getters! {
        /// "library", "tool", "data", "node", "gpu" or "shared".
        text kind = gpuctr_answer_kind;
        /// "libexample.so.1", "/dev/example0", the label of a GPU.
        text name = gpuctr_answer_name;
        /// Vendor whose driver has it.
        text vendor = gpuctr_answer_vendor;
        /// Whether the container gets it.
        flag is_given = gpuctr_answer_is_given;
        /// Path on the host; a GPU's PCI address or UUID; empty if the host does not have it.
        path path = gpuctr_answer_path;
        /// Why it is given, or why it is not.
        text reason = gpuctr_answer_reason;
        /// Capability that it is a part of; "none": all.
        text capability = gpuctr_answer_capability;
    }
    lists! {
        /// The plan's items by which the container gets it.
        items: Item = gpuctr_answer_item_count, gpuctr_answer_item_at;
    }
    findings! {
        /// Others of this name, and why they do not count.
        findings = gpuctr_answer_finding_count, gpuctr_answer_finding_at
    }
    text_lists! {
        /// What would change it; options are those of gpuctr-setup.
        text remedies = gpuctr_answer_remedy_count, gpuctr_answer_remedy_at;
    }
}

/// What a plan does with what a name stands for, and why. It never changes.
pub struct Explanation {
    raw: *mut sys::gpuctr_explanation,
}

// SAFETY: an explanation never changes, and several threads may read it at once.
unsafe impl Send for Explanation {}
unsafe impl Sync for Explanation {}

impl Explanation {
    /// # Safety
    /// The object is not owned by anybody.
    pub(crate) unsafe fn from_raw(raw: *mut sys::gpuctr_explanation) -> Self {
        Explanation { raw }
    }

    /// One for each thing that has the name.
    pub fn answers(&self) -> impl ExactSizeIterator<Item = Answer<'_>> {
        let raw = self.raw;
        // SAFETY: they belong to the explanation.
        unsafe {
            (0..sys::gpuctr_explanation_answer_count(raw))
                .map(move |i| Answer::new(sys::gpuctr_explanation_answer_at(raw, i)))
        }
    }

    /// The explanation as a document of the schema "gpucontainer/why/1".
    pub fn to_json(&self) -> Result<String> {
        // SAFETY: the object is alive.
        unsafe { json(|text, error| sys::gpuctr_explanation_to_json(self.raw, text, error)) }
    }
}

impl Drop for Explanation {
    fn drop(&mut self) {
        // SAFETY: nothing borrows from it any more.
        unsafe { sys::gpuctr_explanation_free(self.raw) }
    }
}
