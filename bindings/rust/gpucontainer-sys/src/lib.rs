// SPDX-License-Identifier: MIT
//! What `gpucontainer.h` declares. The header is the reference: it says what each function does,
//! needs and promises. The crate `gpucontainer` is a safe interface over this one.
//!
//! A test of the source tree compares these declarations with the header.
#![allow(non_camel_case_types)]

use std::marker::{PhantomData, PhantomPinned};
use std::os::raw::{c_char, c_int, c_void};

pub type gpuctr_status = i32;
pub type gpuctr_report =
    Option<unsafe extern "C" fn(report_data: *mut c_void, finding: *const gpuctr_finding)>;

pub const GPUCTR_OK: gpuctr_status = 0;
pub const GPUCTR_E_INTERNAL: gpuctr_status = -1;
pub const GPUCTR_E_USAGE: gpuctr_status = -2;
pub const GPUCTR_E_NO_DEVICE: gpuctr_status = -3;
pub const GPUCTR_E_DRIVER: gpuctr_status = -4;
pub const GPUCTR_E_ROOTFS: gpuctr_status = -5;
pub const GPUCTR_E_PERMISSION: gpuctr_status = -6;
pub const GPUCTR_E_REQUIREMENT: gpuctr_status = -7;
pub const GPUCTR_E_APPLY: gpuctr_status = -8;
pub const GPUCTR_E_EXISTS: gpuctr_status = -10;
pub const GPUCTR_SEVERITY_NOTE: u32 = 0;
pub const GPUCTR_SEVERITY_NEED: u32 = 1;
pub const GPUCTR_SEVERITY_WARNING: u32 = 2;
pub const GPUCTR_SEVERITY_ERROR: u32 = 3;
pub const GPUCTR_PHASE_LOOK: u32 = 0x1;
pub const GPUCTR_PHASE_STATUS: u32 = 0x2;
pub const GPUCTR_PHASE_MOUNT: u32 = 0x4;
pub const GPUCTR_PHASE_APPLY: u32 = 0x8;
pub const GPUCTR_PHASE_IN_PROCESS: u32 = 0x10;
pub const GPUCTR_HARDEN_FOR_EXEC: u32 = 0x1;
pub const GPUCTR_HARDEN_NEW_PRIVILEGES: u32 = 0x2;
pub const GPUCTR_HARDEN_DUMPABLE: u32 = 0x4;
pub const GPUCTR_VENDOR_ANY: &[u8; 4] = b"any\0";
pub const GPUCTR_HOST_FILES_ALONE: u32 = 0x1;
pub const GPUCTR_HOST_WHOLE_BUS: u32 = 0x2;
pub const GPUCTR_WRITE_AUTO: u32 = 0;
pub const GPUCTR_WRITE_NEVER: u32 = 1;
pub const GPUCTR_WRITE_ALWAYS: u32 = 2;
pub const GPUCTR_WRITE_LAYER: u32 = 3;
pub const GPUCTR_LAYOUT_TREE: u32 = 0;
pub const GPUCTR_LAYOUT_MERGED: u32 = 1;
pub const GPUCTR_LAYOUT_BINDS: u32 = 2;
pub const GPUCTR_CDI_YAML: u32 = 0x1;
pub const GPUCTR_CDI_GROUPS: u32 = 0x2;
pub const GPUCTR_CDI_WRITTEN: u32 = 0;
pub const GPUCTR_CDI_UNCHANGED: u32 = 1;
pub const GPUCTR_VENDOR_LIBS_AUTO: u32 = 0;
pub const GPUCTR_VENDOR_LIBS_HOST: u32 = 1;
pub const GPUCTR_VENDOR_LIBS_NONE: u32 = 2;
pub const GPUCTR_COMPAT_AUTO: u32 = 0;
pub const GPUCTR_COMPAT_NEVER: u32 = 1;
pub const GPUCTR_COMPAT_ALWAYS: u32 = 2;
pub const GPUCTR_GLIBC_NEVER: u32 = 0;
pub const GPUCTR_GLIBC_AUTO: u32 = 1;
pub const GPUCTR_REQUEST_LOCK: u32 = 0x1;
pub const GPUCTR_REQUEST_NAMES_DEVICES: u32 = 0x2;
pub const GPUCTR_REQUEST_NAMES_CAPABILITIES: u32 = 0x4;
pub const GPUCTR_REQUEST_KEEP_UNKNOWN_HOOKS: u32 = 0x8;
pub const GPUCTR_REQUEST_KEEP_ALL_HOOKS: u32 = 0x10;
pub const GPUCTR_IMAGE_SIGNED: u32 = 0x1;
pub const GPUCTR_IMAGE_OVERLAY: u32 = 0x2;
pub const GPUCTR_BACKEND_AUTO: u32 = 0;
pub const GPUCTR_BACKEND_DETACHED: u32 = 1;
pub const GPUCTR_BACKEND_ASSEMBLED: u32 = 2;
pub const GPUCTR_BACKEND_LEGACY: u32 = 3;
pub const GPUCTR_APPLY_IN_PROCESS: u32 = 0x1;
pub const GPUCTR_APPLY_SETUID: u32 = 0x2;
pub const GPUCTR_APPLY_WITHOUT_JOURNAL: u32 = 0x4;
pub const GPUCTR_APPLY_NO_REPLACE: u32 = 0x8;
pub const GPUCTR_APPLY_OVER_COPIES: u32 = 0x10;
pub const GPUCTR_APPLY_DRY_RUN: u32 = 0x20;
pub const GPUCTR_APPLIED: u32 = 0;
pub const GPUCTR_UNCHANGED: u32 = 1;
pub const GPUCTR_REPLACED: u32 = 2;
pub const GPUCTR_UNDO_IN_PROCESS: u32 = 0x1;
pub const GPUCTR_UNDO_SETUID: u32 = 0x2;
pub const GPUCTR_UNDO_DRY_RUN: u32 = 0x4;
pub const GPUCTR_CHECK_IN_PROCESS: u32 = 0x1;
pub const GPUCTR_SETUP_LIST_IN_PROCESS: u32 = 0x1;
pub const GPUCTR_UNDONE: u32 = 0;
pub const GPUCTR_FORGOTTEN: u32 = 1;
pub const GPUCTR_LEFT: u32 = 2;
pub const GPUCTR_PREPARE_SETUID: u32 = 0x1;
pub const GPUCTR_STAGE_SETUID: u32 = 0x1;
pub const GPUCTR_STAGED: u32 = 0;
pub const GPUCTR_STAGE_UNCHANGED: u32 = 1;
pub const GPUCTR_STAGE_REPLACED: u32 = 2;
pub const GPUCTR_LOAD_DISPLAY: u32 = 0x1;
pub const GPUCTR_CAPTURE_WITH_IDENTITIES: u32 = 0x1;
pub const GPUCTR_WISH_ENVIRONMENT: u32 = 0x1;
pub const GPUCTR_WISH_PRIVILEGED: u32 = 0x2;
pub const GPUCTR_WISH_MOUNTS: u32 = 0x4;
pub const GPUCTR_WISH_LEGACY: u32 = 0x8;

macro_rules! opaque {
    ($($name:ident)*) => { $(
        /// An object that only pointers to it are known of.
        #[repr(C)]
        pub struct $name {
            _data: [u8; 0],
            _marker: PhantomData<(*mut u8, PhantomPinned)>,
        }
    )* };
}

opaque! {
    gpuctr_error
    gpuctr_config
    gpuctr_environment
    gpuctr_hook_state
    gpuctr_setting
    gpuctr_host
    gpuctr_driver
    gpuctr_gpu
    gpuctr_file
    gpuctr_node
    gpuctr_registration
    gpuctr_version_need
    gpuctr_mask
    gpuctr_shown
    gpuctr_shared_path
    gpuctr_finding
    gpuctr_plan
    gpuctr_item
    gpuctr_variable
    gpuctr_prepared
    gpuctr_setup_list
    gpuctr_setup
    gpuctr_used_driver
    gpuctr_cdi_list
    gpuctr_cdi_device
    gpuctr_check
    gpuctr_explanation
    gpuctr_answer
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpuctr_harden_options {
    pub struct_size: usize,
    pub phases: u32,
    pub flags: u32,
    pub capabilities: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpuctr_host_options {
    pub struct_size: usize,
    pub flags: u32,
    pub reserved: u32,
    pub vendors: *const *const c_char,
    pub driver_root: *const c_char,
    pub driver_version: *const c_char,
    pub catalogues: *const *const c_char,
    pub catalogue_dir: *const c_char,
    pub dev_root: *const c_char,
    pub mig_map: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpuctr_file_id {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    pub mtime_ns: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpuctr_request {
    pub struct_size: usize,
    pub devices: *const c_char,
    pub driver_capabilities: *const c_char,
    pub environment: *const *const c_char,
    pub write: u32,
    pub layout: u32,
    pub vendor_libs: u32,
    pub flags: u32,
    pub allowed_devices: *const c_char,
    pub tree_path: *const c_char,
    pub mount_label: *const c_char,
    pub devices_name: *const c_char,
    pub requirements: *const *const c_char,
    pub extras: *const c_char,
    pub container_environment: *const *const c_char,
    pub compat: u32,
    pub glibc: u32,
    pub toolkit: *const c_char,
    pub program: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpuctr_check_options {
    pub struct_size: usize,
    pub flags: u32,
    pub pidfd: i32,
    pub host: *const gpuctr_host_options,
    pub record: *const gpuctr_host,
    pub request: *const gpuctr_request,
    pub program: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpuctr_device_rule {
    pub r#type: c_char,
    pub access: [c_char; 4],
    pub major: u32,
    pub minor: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpuctr_apply_options {
    pub struct_size: usize,
    pub state_dir: *const c_char,
    pub flags: u32,
    pub pidfd: i32,
    pub report: gpuctr_report,
    pub report_data: *mut c_void,
    pub staged_tree: *const c_char,
    pub backend: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpuctr_undo_options {
    pub struct_size: usize,
    pub state_dir: *const c_char,
    pub flags: u32,
    pub pidfd: i32,
    pub report: gpuctr_report,
    pub report_data: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpuctr_setup_list_options {
    pub struct_size: usize,
    pub state_dir: *const c_char,
    pub flags: u32,
    pub pidfd: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpuctr_prepare_options {
    pub struct_size: usize,
    pub flags: u32,
    pub backend: u32,
    pub staged_tree: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpuctr_cdi_options {
    pub struct_size: usize,
    pub version: *const c_char,
    pub files_dir: *const c_char,
    pub flags: u32,
    pub reserved: u32,
    pub staged_tree: *const c_char,
    pub hook: *const *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpuctr_stage_options {
    pub struct_size: usize,
    pub flags: u32,
    pub backend: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpuctr_load_options {
    pub struct_size: usize,
    pub vendors: *const *const c_char,
    pub flags: u32,
    pub reserved: u32,
    pub report: gpuctr_report,
    pub report_data: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpuctr_attach_error {
    pub struct_size: usize,
    pub status: gpuctr_status,
    pub os_error: i32,
    pub step: [c_char; 64],
    pub object: [c_char; 192],
}

extern "C" {
    pub fn gpuctr_version() -> *const c_char;
    pub fn gpuctr_string_free(string: *mut c_char);
    pub fn gpuctr_error_status(error: *const gpuctr_error) -> gpuctr_status;
    pub fn gpuctr_error_message(error: *const gpuctr_error) -> *const c_char;
    pub fn gpuctr_error_step(error: *const gpuctr_error) -> *const c_char;
    pub fn gpuctr_error_object(error: *const gpuctr_error) -> *const c_char;
    pub fn gpuctr_error_cause(error: *const gpuctr_error) -> *const c_char;
    pub fn gpuctr_error_hint(error: *const gpuctr_error) -> *const c_char;
    pub fn gpuctr_error_argument(error: *const gpuctr_error) -> *const c_char;
    pub fn gpuctr_error_os_error(error: *const gpuctr_error) -> c_int;
    pub fn gpuctr_error_free(error: *mut gpuctr_error);
    pub fn gpuctr_finding_code(finding: *const gpuctr_finding) -> *const c_char;
    pub fn gpuctr_finding_severity(finding: *const gpuctr_finding) -> u32;
    pub fn gpuctr_finding_object(finding: *const gpuctr_finding) -> *const c_char;
    pub fn gpuctr_finding_text(finding: *const gpuctr_finding) -> *const c_char;
    pub fn gpuctr_finding_evidence(finding: *const gpuctr_finding) -> *const c_char;
    pub fn gpuctr_finding_hint(finding: *const gpuctr_finding) -> *const c_char;
    pub fn gpuctr_finding_capability(finding: *const gpuctr_finding) -> *const c_char;
    pub fn gpuctr_process_harden(
        options: *const gpuctr_harden_options,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_config_open(
        path: *const c_char,
        ret_config: *mut *mut gpuctr_config,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_config_open_with_mistakes(
        path: *const c_char,
        ret_config: *mut *mut gpuctr_config,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_config_free(config: *mut gpuctr_config);
    pub fn gpuctr_config_setting_count(config: *const gpuctr_config) -> usize;
    pub fn gpuctr_config_setting_at(
        config: *const gpuctr_config,
        index: usize,
    ) -> *const gpuctr_setting;
    pub fn gpuctr_setting_key(setting: *const gpuctr_setting) -> *const c_char;
    pub fn gpuctr_setting_value(setting: *const gpuctr_setting) -> *const c_char;
    pub fn gpuctr_setting_in_list(setting: *const gpuctr_setting) -> c_int;
    pub fn gpuctr_setting_line(setting: *const gpuctr_setting) -> u32;
    pub fn gpuctr_setting_mistake(setting: *const gpuctr_setting) -> *const c_char;
    pub fn gpuctr_host_open(
        options: *const gpuctr_host_options,
        ret_host: *mut *mut gpuctr_host,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_host_free(host: *mut gpuctr_host);
    pub fn gpuctr_host_to_json(
        host: *const gpuctr_host,
        ret_json: *mut *mut c_char,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_host_from_json(
        json: *const c_char,
        size: usize,
        options: *const gpuctr_host_options,
        ret_host: *mut *mut gpuctr_host,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_host_is_current(host: *const gpuctr_host) -> c_int;
    pub fn gpuctr_host_driver_count(host: *const gpuctr_host) -> usize;
    pub fn gpuctr_host_driver_at(host: *const gpuctr_host, index: usize) -> *const gpuctr_driver;
    pub fn gpuctr_host_finding_count(host: *const gpuctr_host) -> usize;
    pub fn gpuctr_host_finding_at(host: *const gpuctr_host, index: usize) -> *const gpuctr_finding;
    pub fn gpuctr_host_fact(
        host: *const gpuctr_host,
        vendor: *const c_char,
        gpu: i32,
        name: *const c_char,
        ret_value: *mut *mut c_char,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_driver_vendor(driver: *const gpuctr_driver) -> *const c_char;
    pub fn gpuctr_driver_vendor_name(driver: *const gpuctr_driver) -> *const c_char;
    pub fn gpuctr_driver_version(driver: *const gpuctr_driver) -> *const c_char;
    pub fn gpuctr_driver_version_source(driver: *const gpuctr_driver) -> *const c_char;
    pub fn gpuctr_driver_root(driver: *const gpuctr_driver) -> *const c_char;
    pub fn gpuctr_driver_cdi_kind(driver: *const gpuctr_driver) -> *const c_char;
    pub fn gpuctr_driver_library_directory(driver: *const gpuctr_driver) -> *const c_char;
    pub fn gpuctr_driver_machine(driver: *const gpuctr_driver) -> *const c_char;
    pub fn gpuctr_driver_has_optional_files(driver: *const gpuctr_driver) -> c_int;
    pub fn gpuctr_driver_tree_link(driver: *const gpuctr_driver) -> *const c_char;
    pub fn gpuctr_driver_need_count(driver: *const gpuctr_driver) -> usize;
    pub fn gpuctr_driver_need_at(driver: *const gpuctr_driver, index: usize) -> *const c_char;
    pub fn gpuctr_driver_image_directory_count(driver: *const gpuctr_driver) -> usize;
    pub fn gpuctr_driver_image_directory_at(
        driver: *const gpuctr_driver,
        index: usize,
    ) -> *const c_char;
    pub fn gpuctr_driver_gpu_count(driver: *const gpuctr_driver) -> usize;
    pub fn gpuctr_driver_gpu_at(driver: *const gpuctr_driver, index: usize) -> *const gpuctr_gpu;
    pub fn gpuctr_driver_file_count(driver: *const gpuctr_driver) -> usize;
    pub fn gpuctr_driver_file_at(driver: *const gpuctr_driver, index: usize) -> *const gpuctr_file;
    pub fn gpuctr_driver_node_count(driver: *const gpuctr_driver) -> usize;
    pub fn gpuctr_driver_node_at(driver: *const gpuctr_driver, index: usize) -> *const gpuctr_node;
    pub fn gpuctr_driver_missing_node_count(driver: *const gpuctr_driver) -> usize;
    pub fn gpuctr_driver_missing_node_at(
        driver: *const gpuctr_driver,
        index: usize,
    ) -> *const gpuctr_node;
    pub fn gpuctr_driver_mask_count(driver: *const gpuctr_driver) -> usize;
    pub fn gpuctr_driver_mask_at(driver: *const gpuctr_driver, index: usize) -> *const gpuctr_mask;
    pub fn gpuctr_driver_finding_count(driver: *const gpuctr_driver) -> usize;
    pub fn gpuctr_driver_finding_at(
        driver: *const gpuctr_driver,
        index: usize,
    ) -> *const gpuctr_finding;
    pub fn gpuctr_gpu_index(gpu: *const gpuctr_gpu) -> u32;
    pub fn gpuctr_gpu_uuid(gpu: *const gpuctr_gpu) -> *const c_char;
    pub fn gpuctr_gpu_pci_address(gpu: *const gpuctr_gpu) -> *const c_char;
    pub fn gpuctr_gpu_model(gpu: *const gpuctr_gpu) -> *const c_char;
    pub fn gpuctr_gpu_architecture(gpu: *const gpuctr_gpu) -> *const c_char;
    pub fn gpuctr_gpu_minor(gpu: *const gpuctr_gpu) -> i32;
    pub fn gpuctr_gpu_numa_node(gpu: *const gpuctr_gpu) -> i32;
    pub fn gpuctr_gpu_name_count(gpu: *const gpuctr_gpu) -> usize;
    pub fn gpuctr_gpu_name_at(gpu: *const gpuctr_gpu, index: usize) -> *const c_char;
    pub fn gpuctr_gpu_parts(gpu: *const gpuctr_gpu) -> u32;
    pub fn gpuctr_gpu_parent(gpu: *const gpuctr_gpu) -> i32;
    pub fn gpuctr_file_kind(file: *const gpuctr_file) -> *const c_char;
    pub fn gpuctr_file_name(file: *const gpuctr_file) -> *const c_char;
    pub fn gpuctr_file_soname(file: *const gpuctr_file) -> *const c_char;
    pub fn gpuctr_file_path(file: *const gpuctr_file) -> *const c_char;
    pub fn gpuctr_file_capability(file: *const gpuctr_file) -> *const c_char;
    pub fn gpuctr_file_also(file: *const gpuctr_file) -> *const c_char;
    pub fn gpuctr_file_reason(file: *const gpuctr_file) -> *const c_char;
    pub fn gpuctr_file_is_directory(file: *const gpuctr_file) -> c_int;
    pub fn gpuctr_file_is_compat32(file: *const gpuctr_file) -> c_int;
    pub fn gpuctr_file_precedence(file: *const gpuctr_file) -> *const c_char;
    pub fn gpuctr_file_link_count(file: *const gpuctr_file) -> usize;
    pub fn gpuctr_file_link_at(file: *const gpuctr_file, index: usize) -> *const c_char;
    pub fn gpuctr_file_entry_name_count(file: *const gpuctr_file) -> usize;
    pub fn gpuctr_file_entry_name_at(file: *const gpuctr_file, index: usize) -> *const c_char;
    pub fn gpuctr_file_needed_count(file: *const gpuctr_file) -> usize;
    pub fn gpuctr_file_needed_at(file: *const gpuctr_file, index: usize) -> *const c_char;
    pub fn gpuctr_file_version_need_count(file: *const gpuctr_file) -> usize;
    pub fn gpuctr_file_version_need_at(
        file: *const gpuctr_file,
        index: usize,
    ) -> *const gpuctr_version_need;
    pub fn gpuctr_version_need_library(need: *const gpuctr_version_need) -> *const c_char;
    pub fn gpuctr_version_need_version(need: *const gpuctr_version_need) -> *const c_char;
    pub fn gpuctr_file_registration_count(file: *const gpuctr_file) -> usize;
    pub fn gpuctr_file_registration_at(
        file: *const gpuctr_file,
        index: usize,
    ) -> *const gpuctr_registration;
    pub fn gpuctr_registration_manner(registration: *const gpuctr_registration) -> *const c_char;
    pub fn gpuctr_registration_name(registration: *const gpuctr_registration) -> *const c_char;
    pub fn gpuctr_registration_content(registration: *const gpuctr_registration) -> *const c_char;
    pub fn gpuctr_file_identity(file: *const gpuctr_file) -> gpuctr_file_id;
    pub fn gpuctr_node_path(node: *const gpuctr_node) -> *const c_char;
    pub fn gpuctr_node_major(node: *const gpuctr_node) -> u32;
    pub fn gpuctr_node_minor(node: *const gpuctr_node) -> u32;
    pub fn gpuctr_node_gpu(node: *const gpuctr_node) -> i32;
    pub fn gpuctr_node_accessible(node: *const gpuctr_node) -> c_int;
    pub fn gpuctr_node_container_path(node: *const gpuctr_node) -> *const c_char;
    pub fn gpuctr_node_mode(node: *const gpuctr_node) -> u32;
    pub fn gpuctr_node_uid(node: *const gpuctr_node) -> u32;
    pub fn gpuctr_node_gid(node: *const gpuctr_node) -> u32;
    pub fn gpuctr_node_capability(node: *const gpuctr_node) -> *const c_char;
    pub fn gpuctr_node_required(node: *const gpuctr_node) -> c_int;
    pub fn gpuctr_node_cgroup_forbids(node: *const gpuctr_node) -> c_int;
    pub fn gpuctr_node_link_count(node: *const gpuctr_node) -> usize;
    pub fn gpuctr_node_link_at(node: *const gpuctr_node, index: usize) -> *const c_char;
    pub fn gpuctr_node_extra(node: *const gpuctr_node) -> *const c_char;
    pub fn gpuctr_node_is_makeable(node: *const gpuctr_node) -> c_int;
    pub fn gpuctr_node_problem(node: *const gpuctr_node) -> *const c_char;
    pub fn gpuctr_driver_shared_path_count(driver: *const gpuctr_driver) -> usize;
    pub fn gpuctr_driver_shared_path_at(
        driver: *const gpuctr_driver,
        index: usize,
    ) -> *const gpuctr_shared_path;
    pub fn gpuctr_shared_path_path(shared: *const gpuctr_shared_path) -> *const c_char;
    pub fn gpuctr_shared_path_kind(shared: *const gpuctr_shared_path) -> *const c_char;
    pub fn gpuctr_shared_path_capability(shared: *const gpuctr_shared_path) -> *const c_char;
    pub fn gpuctr_shared_path_extra(shared: *const gpuctr_shared_path) -> *const c_char;
    pub fn gpuctr_shared_path_uid(shared: *const gpuctr_shared_path) -> u32;
    pub fn gpuctr_shared_path_accessible(shared: *const gpuctr_shared_path) -> c_int;
    pub fn gpuctr_shared_path_reason(shared: *const gpuctr_shared_path) -> *const c_char;
    pub fn gpuctr_mask_path(mask: *const gpuctr_mask) -> *const c_char;
    pub fn gpuctr_mask_content(mask: *const gpuctr_mask) -> *const c_char;
    pub fn gpuctr_mask_reason(mask: *const gpuctr_mask) -> *const c_char;
    pub fn gpuctr_mask_is_directory(mask: *const gpuctr_mask) -> c_int;
    pub fn gpuctr_mask_is_against_nodes(mask: *const gpuctr_mask) -> c_int;
    pub fn gpuctr_mask_shown_count(mask: *const gpuctr_mask) -> usize;
    pub fn gpuctr_mask_shown_at(mask: *const gpuctr_mask, index: usize) -> *const gpuctr_shown;
    pub fn gpuctr_shown_name(shown: *const gpuctr_shown) -> *const c_char;
    pub fn gpuctr_shown_gpu(shown: *const gpuctr_shown) -> i32;
    pub fn gpuctr_shown_is_directory(shown: *const gpuctr_shown) -> c_int;
    pub fn gpuctr_shown_extra(shown: *const gpuctr_shown) -> *const c_char;
    pub fn gpuctr_environment_read(
        rootfs_fd: c_int,
        text: *const c_char,
        environment: *const *const c_char,
        ret_environment: *mut *mut gpuctr_environment,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_environment_free(environment: *mut gpuctr_environment);
    pub fn gpuctr_environment_count(environment: *const gpuctr_environment) -> usize;
    pub fn gpuctr_environment_at(
        environment: *const gpuctr_environment,
        index: usize,
    ) -> *const c_char;
    pub fn gpuctr_environment_finding_count(environment: *const gpuctr_environment) -> usize;
    pub fn gpuctr_environment_finding_at(
        environment: *const gpuctr_environment,
        index: usize,
    ) -> *const gpuctr_finding;
    pub fn gpuctr_image_find(
        fd: c_int,
        ret_offset: *mut u64,
        ret_size: *mut u64,
        ret_flags: *mut u32,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_hook_state_read_config(
        config: *const c_char,
        accepted: u32,
        ret_state: *mut *mut gpuctr_hook_state,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_hook_state_read(
        text: *const c_char,
        accepted: u32,
        ret_state: *mut *mut gpuctr_hook_state,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_hook_state_fault(state: *const gpuctr_hook_state) -> *const c_char;
    pub fn gpuctr_hook_state_free(state: *mut gpuctr_hook_state);
    pub fn gpuctr_hook_state_pid(state: *const gpuctr_hook_state) -> i32;
    pub fn gpuctr_hook_state_bundle(state: *const gpuctr_hook_state) -> *const c_char;
    pub fn gpuctr_hook_state_names_gpus(state: *const gpuctr_hook_state) -> c_int;
    pub fn gpuctr_hook_state_refused_count(state: *const gpuctr_hook_state) -> usize;
    pub fn gpuctr_hook_state_refused_at(
        state: *const gpuctr_hook_state,
        index: usize,
    ) -> *const c_char;
    pub fn gpuctr_hook_state_rootfs(state: *const gpuctr_hook_state) -> *const c_char;
    pub fn gpuctr_hook_state_variable_count(state: *const gpuctr_hook_state) -> usize;
    pub fn gpuctr_hook_state_variable_at(
        state: *const gpuctr_hook_state,
        index: usize,
    ) -> *const c_char;
    pub fn gpuctr_hook_state_vendor_count(state: *const gpuctr_hook_state) -> usize;
    pub fn gpuctr_hook_state_vendor_at(
        state: *const gpuctr_hook_state,
        index: usize,
    ) -> *const c_char;
    pub fn gpuctr_plan_create(
        host: *const gpuctr_host,
        request: *const gpuctr_request,
        rootfs_fd: c_int,
        ret_plan: *mut *mut gpuctr_plan,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_plan_create_from_cdi(
        list: *const gpuctr_cdi_list,
        request: *const gpuctr_request,
        rootfs_fd: c_int,
        ret_plan: *mut *mut gpuctr_plan,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_plan_free(plan: *mut gpuctr_plan);
    pub fn gpuctr_plan_allow_devices(
        plan: *const gpuctr_plan,
        rootfs_fd: c_int,
        pidfd: c_int,
        bundle: *const c_char,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_plan_check_requirement(
        plan: *const gpuctr_plan,
        requirement: *const c_char,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_plan_explain(
        plan: *const gpuctr_plan,
        name: *const c_char,
        rootfs_fd: c_int,
        ret_explanation: *mut *mut gpuctr_explanation,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_explanation_free(explanation: *mut gpuctr_explanation);
    pub fn gpuctr_explanation_to_json(
        explanation: *const gpuctr_explanation,
        ret_json: *mut *mut c_char,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_explanation_answer_count(explanation: *const gpuctr_explanation) -> usize;
    pub fn gpuctr_explanation_answer_at(
        explanation: *const gpuctr_explanation,
        index: usize,
    ) -> *const gpuctr_answer;
    pub fn gpuctr_answer_kind(answer: *const gpuctr_answer) -> *const c_char;
    pub fn gpuctr_answer_name(answer: *const gpuctr_answer) -> *const c_char;
    pub fn gpuctr_answer_vendor(answer: *const gpuctr_answer) -> *const c_char;
    pub fn gpuctr_answer_path(answer: *const gpuctr_answer) -> *const c_char;
    pub fn gpuctr_answer_reason(answer: *const gpuctr_answer) -> *const c_char;
    pub fn gpuctr_answer_capability(answer: *const gpuctr_answer) -> *const c_char;
    pub fn gpuctr_answer_is_given(answer: *const gpuctr_answer) -> c_int;
    pub fn gpuctr_answer_item_count(answer: *const gpuctr_answer) -> usize;
    pub fn gpuctr_answer_item_at(answer: *const gpuctr_answer, index: usize) -> *const gpuctr_item;
    pub fn gpuctr_answer_finding_count(answer: *const gpuctr_answer) -> usize;
    pub fn gpuctr_answer_finding_at(
        answer: *const gpuctr_answer,
        index: usize,
    ) -> *const gpuctr_finding;
    pub fn gpuctr_answer_remedy_count(answer: *const gpuctr_answer) -> usize;
    pub fn gpuctr_answer_remedy_at(answer: *const gpuctr_answer, index: usize) -> *const c_char;
    pub fn gpuctr_host_capture(
        options: *const gpuctr_host_options,
        environment: *const *const c_char,
        flags: u32,
        fd: c_int,
        report: gpuctr_report,
        report_data: *mut c_void,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_plan_to_json(
        plan: *const gpuctr_plan,
        ret_json: *mut *mut c_char,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_plan_to_cdi(
        plan: *const gpuctr_plan,
        options: *const gpuctr_cdi_options,
        ret_document: *mut *mut c_char,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_plan_edit_oci(
        plan: *const gpuctr_plan,
        config: *const c_char,
        files_dir: *const c_char,
        ret_config: *mut *mut c_char,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_plan_to_oci(
        plan: *const gpuctr_plan,
        files_dir: *const c_char,
        ret_document: *mut *mut c_char,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_plan_install_cdi(
        plan: *const gpuctr_plan,
        path: *const c_char,
        options: *const gpuctr_cdi_options,
        ret_outcome: *mut u32,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_cdi_list_open(
        paths: *const *const c_char,
        host: *const gpuctr_host,
        files_dir: *const c_char,
        ret_list: *mut *mut gpuctr_cdi_list,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_cdi_list_free(list: *mut gpuctr_cdi_list);
    pub fn gpuctr_cdi_list_to_json(
        list: *const gpuctr_cdi_list,
        ret_json: *mut *mut c_char,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_cdi_list_device_count(list: *const gpuctr_cdi_list) -> usize;
    pub fn gpuctr_cdi_list_device_at(
        list: *const gpuctr_cdi_list,
        index: usize,
    ) -> *const gpuctr_cdi_device;
    pub fn gpuctr_cdi_list_finding_count(list: *const gpuctr_cdi_list) -> usize;
    pub fn gpuctr_cdi_list_finding_at(
        list: *const gpuctr_cdi_list,
        index: usize,
    ) -> *const gpuctr_finding;
    pub fn gpuctr_cdi_device_name(device: *const gpuctr_cdi_device) -> *const c_char;
    pub fn gpuctr_cdi_device_path(device: *const gpuctr_cdi_device) -> *const c_char;
    pub fn gpuctr_cdi_device_state(device: *const gpuctr_cdi_device) -> *const c_char;
    pub fn gpuctr_plan_driver_count(plan: *const gpuctr_plan) -> usize;
    pub fn gpuctr_plan_driver_at(
        plan: *const gpuctr_plan,
        index: usize,
    ) -> *const gpuctr_used_driver;
    pub fn gpuctr_plan_layout(plan: *const gpuctr_plan) -> u32;
    pub fn gpuctr_plan_tree_path(plan: *const gpuctr_plan) -> *const c_char;
    pub fn gpuctr_plan_writes_root(plan: *const gpuctr_plan) -> c_int;
    pub fn gpuctr_plan_is_locked(plan: *const gpuctr_plan) -> c_int;
    pub fn gpuctr_plan_mount_label(plan: *const gpuctr_plan) -> *const c_char;
    pub fn gpuctr_plan_item_count(plan: *const gpuctr_plan) -> usize;
    pub fn gpuctr_plan_item_at(plan: *const gpuctr_plan, index: usize) -> *const gpuctr_item;
    pub fn gpuctr_item_kind(item: *const gpuctr_item) -> *const c_char;
    pub fn gpuctr_item_source(item: *const gpuctr_item) -> *const c_char;
    pub fn gpuctr_item_target(item: *const gpuctr_item) -> *const c_char;
    pub fn gpuctr_item_options(item: *const gpuctr_item) -> *const c_char;
    pub fn gpuctr_item_reason(item: *const gpuctr_item) -> *const c_char;
    pub fn gpuctr_item_vendor(item: *const gpuctr_item) -> *const c_char;
    pub fn gpuctr_item_gpu(item: *const gpuctr_item) -> i32;
    pub fn gpuctr_item_place(item: *const gpuctr_item) -> *const c_char;
    pub fn gpuctr_item_is_directory(item: *const gpuctr_item) -> c_int;
    pub fn gpuctr_item_mode(item: *const gpuctr_item) -> u32;
    pub fn gpuctr_item_content(item: *const gpuctr_item) -> *const c_void;
    pub fn gpuctr_item_content_size(item: *const gpuctr_item) -> usize;
    pub fn gpuctr_item_major(item: *const gpuctr_item) -> u32;
    pub fn gpuctr_item_minor(item: *const gpuctr_item) -> u32;
    pub fn gpuctr_item_required(item: *const gpuctr_item) -> c_int;
    pub fn gpuctr_item_identity(item: *const gpuctr_item) -> gpuctr_file_id;
    pub fn gpuctr_plan_variable_count(plan: *const gpuctr_plan) -> usize;
    pub fn gpuctr_plan_variable_at(
        plan: *const gpuctr_plan,
        index: usize,
    ) -> *const gpuctr_variable;
    pub fn gpuctr_variable_action(variable: *const gpuctr_variable) -> *const c_char;
    pub fn gpuctr_variable_name(variable: *const gpuctr_variable) -> *const c_char;
    pub fn gpuctr_variable_value(variable: *const gpuctr_variable) -> *const c_char;
    pub fn gpuctr_variable_vendor(variable: *const gpuctr_variable) -> *const c_char;
    pub fn gpuctr_plan_device_rule_count(plan: *const gpuctr_plan) -> usize;
    pub fn gpuctr_plan_device_rule_at(
        plan: *const gpuctr_plan,
        index: usize,
    ) -> *const gpuctr_device_rule;
    pub fn gpuctr_plan_group_count(plan: *const gpuctr_plan) -> usize;
    pub fn gpuctr_plan_group_at(plan: *const gpuctr_plan, index: usize) -> u32;
    pub fn gpuctr_plan_finding_count(plan: *const gpuctr_plan) -> usize;
    pub fn gpuctr_plan_finding_at(plan: *const gpuctr_plan, index: usize) -> *const gpuctr_finding;
    pub fn gpuctr_plan_apply(
        plan: *const gpuctr_plan,
        rootfs_fd: c_int,
        options: *const gpuctr_apply_options,
        ret_outcome: *mut u32,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_rootfs_undo(
        rootfs_fd: c_int,
        options: *const gpuctr_undo_options,
        ret_found: *mut c_int,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_rootfs_open(
        rootfs_fd: c_int,
        path: *const c_char,
        flags: c_int,
        ret_fd: *mut c_int,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_check_create(
        options: *const gpuctr_check_options,
        rootfs_fd: c_int,
        ret_check: *mut *mut gpuctr_check,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_check_free(check: *mut gpuctr_check);
    pub fn gpuctr_check_to_json(
        check: *const gpuctr_check,
        ret_json: *mut *mut c_char,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_check_finding_count(check: *const gpuctr_check) -> usize;
    pub fn gpuctr_check_finding_at(
        check: *const gpuctr_check,
        index: usize,
    ) -> *const gpuctr_finding;
    pub fn gpuctr_setup_list_open(
        rootfs_fd: c_int,
        options: *const gpuctr_setup_list_options,
        ret_list: *mut *mut gpuctr_setup_list,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_setup_list_free(list: *mut gpuctr_setup_list);
    pub fn gpuctr_setup_list_to_json(
        list: *const gpuctr_setup_list,
        ret_json: *mut *mut c_char,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_setup_list_count(list: *const gpuctr_setup_list) -> usize;
    pub fn gpuctr_setup_list_at(
        list: *const gpuctr_setup_list,
        index: usize,
    ) -> *const gpuctr_setup;
    pub fn gpuctr_setup_root(setup: *const gpuctr_setup) -> *const c_char;
    pub fn gpuctr_setup_origin(setup: *const gpuctr_setup) -> *const c_char;
    pub fn gpuctr_setup_mount_namespace(setup: *const gpuctr_setup) -> u64;
    pub fn gpuctr_setup_process(setup: *const gpuctr_setup) -> i32;
    pub fn gpuctr_setup_driver_count(setup: *const gpuctr_setup) -> usize;
    pub fn gpuctr_setup_driver_at(
        setup: *const gpuctr_setup,
        index: usize,
    ) -> *const gpuctr_used_driver;
    pub fn gpuctr_used_driver_vendor(driver: *const gpuctr_used_driver) -> *const c_char;
    pub fn gpuctr_used_driver_version(driver: *const gpuctr_used_driver) -> *const c_char;
    pub fn gpuctr_used_driver_gpu_count(driver: *const gpuctr_used_driver) -> usize;
    pub fn gpuctr_used_driver_gpu_at(
        driver: *const gpuctr_used_driver,
        index: usize,
    ) -> *const gpuctr_gpu;
    pub fn gpuctr_used_driver_version_source(driver: *const gpuctr_used_driver) -> *const c_char;
    pub fn gpuctr_setup_tree_path(setup: *const gpuctr_setup) -> *const c_char;
    pub fn gpuctr_setup_since(setup: *const gpuctr_setup) -> i64;
    pub fn gpuctr_setup_writes_root(setup: *const gpuctr_setup) -> c_int;
    pub fn gpuctr_setup_item_count(setup: *const gpuctr_setup) -> usize;
    pub fn gpuctr_setup_item_at(setup: *const gpuctr_setup, index: usize) -> *const gpuctr_item;
    pub fn gpuctr_setup_finding_count(setup: *const gpuctr_setup) -> usize;
    pub fn gpuctr_setup_finding_at(
        setup: *const gpuctr_setup,
        index: usize,
    ) -> *const gpuctr_finding;
    pub fn gpuctr_setup_undo(
        setup: *const gpuctr_setup,
        options: *const gpuctr_undo_options,
        ret_outcome: *mut u32,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_plan_prepare(
        plan: *const gpuctr_plan,
        options: *const gpuctr_prepare_options,
        ret_prepared: *mut *mut gpuctr_prepared,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_plan_stage(
        plan: *const gpuctr_plan,
        directory: *const c_char,
        options: *const gpuctr_stage_options,
        ret_outcome: *mut u32,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_host_load_kernel_modules(
        options: *const gpuctr_load_options,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_unstage(
        directory: *const c_char,
        options: *const gpuctr_stage_options,
        ret_found: *mut c_int,
        ret_error: *mut *mut gpuctr_error,
    ) -> gpuctr_status;
    pub fn gpuctr_prepared_free(prepared: *mut gpuctr_prepared);
    pub fn gpuctr_prepared_fd_count(prepared: *const gpuctr_prepared) -> usize;
    pub fn gpuctr_prepared_fd_at(prepared: *const gpuctr_prepared, index: usize) -> c_int;
    pub fn gpuctr_prepared_data(prepared: *const gpuctr_prepared) -> *const c_void;
    pub fn gpuctr_prepared_size(prepared: *const gpuctr_prepared) -> usize;
    pub fn gpuctr_prepared_adopt(
        buffer: *mut c_void,
        size: usize,
        fds: *const c_int,
        fd_count: usize,
    ) -> *mut gpuctr_prepared;
    pub fn gpuctr_prepared_attach(
        prepared: *mut gpuctr_prepared,
        rootfs_fd: c_int,
        ret_error: *mut gpuctr_attach_error,
    ) -> gpuctr_status;
    pub fn gpuctr_prepared_undo(
        prepared: *mut gpuctr_prepared,
        rootfs_fd: c_int,
        ret_error: *mut gpuctr_attach_error,
    ) -> gpuctr_status;
    pub fn gpuctr_host_options_init(options: *mut gpuctr_host_options, size: usize);
    pub fn gpuctr_request_init(request: *mut gpuctr_request, size: usize);
    pub fn gpuctr_apply_options_init(options: *mut gpuctr_apply_options, size: usize);
    pub fn gpuctr_undo_options_init(options: *mut gpuctr_undo_options, size: usize);
    pub fn gpuctr_check_options_init(options: *mut gpuctr_check_options, size: usize);
    pub fn gpuctr_setup_list_options_init(options: *mut gpuctr_setup_list_options, size: usize);
    pub fn gpuctr_stage_options_init(options: *mut gpuctr_stage_options, size: usize);
    pub fn gpuctr_cdi_options_init(options: *mut gpuctr_cdi_options, size: usize);
    pub fn gpuctr_prepare_options_init(options: *mut gpuctr_prepare_options, size: usize);
    pub fn gpuctr_load_options_init(options: *mut gpuctr_load_options, size: usize);
    pub fn gpuctr_harden_options_init(options: *mut gpuctr_harden_options, size: usize);
    pub fn gpuctr_attach_error_init(error: *mut gpuctr_attach_error, size: usize);
}
