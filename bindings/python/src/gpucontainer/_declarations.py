# SPDX-License-Identifier: MIT
"""What gpucontainer.h declares, for ctypes. Loads nothing.

tests/bindings/check_bindings.py of the source tree compares it with the header.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

STATUS = c_int32
REPORT = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)


class Struct(Structure):
    """Takes no number that its field cannot hold; ctypes would cut it off."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, int) and getattr(self, name) != value:
            raise OverflowError(f"{name} cannot be {value}")


class HardenOptions(Struct):
    _fields_ = [
        ("struct_size", c_size_t),
        ("phases", c_uint32),
        ("flags", c_uint32),
        ("capabilities", c_uint64),
    ]


class HostOptions(Struct):
    _fields_ = [
        ("struct_size", c_size_t),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("vendors", POINTER(c_char_p)),
        ("driver_root", c_char_p),
        ("driver_version", c_char_p),
        ("catalogues", POINTER(c_char_p)),
        ("catalogue_dir", c_char_p),
        ("dev_root", c_char_p),
        ("mig_map", c_char_p),
    ]


class FileId(Struct):
    _fields_ = [
        ("device", c_uint64),
        ("inode", c_uint64),
        ("size", c_uint64),
        ("mtime_ns", c_int64),
    ]


class Request(Struct):
    _fields_ = [
        ("struct_size", c_size_t),
        ("devices", c_char_p),
        ("driver_capabilities", c_char_p),
        ("environment", POINTER(c_char_p)),
        ("write", c_uint32),
        ("layout", c_uint32),
        ("vendor_libs", c_uint32),
        ("flags", c_uint32),
        ("allowed_devices", c_char_p),
        ("tree_path", c_char_p),
        ("mount_label", c_char_p),
        ("devices_name", c_char_p),
        ("requirements", POINTER(c_char_p)),
        ("extras", c_char_p),
        ("container_environment", POINTER(c_char_p)),
        ("compat", c_uint32),
        ("glibc", c_uint32),
        ("toolkit", c_char_p),
        ("program", c_char_p),
    ]


class CheckOptions(Struct):
    _fields_ = [
        ("struct_size", c_size_t),
        ("flags", c_uint32),
        ("pidfd", c_int32),
        ("host", POINTER(HostOptions)),
        ("record", c_void_p),
        ("request", POINTER(Request)),
        ("program", c_char_p),
    ]


class DeviceRule(Struct):
    _fields_ = [
        ("type", c_char),
        ("access", c_char * 4),
        ("major", c_uint32),
        ("minor", c_uint32),
    ]


class ApplyOptions(Struct):
    _fields_ = [
        ("struct_size", c_size_t),
        ("state_dir", c_char_p),
        ("flags", c_uint32),
        ("pidfd", c_int32),
        ("report", REPORT),
        ("report_data", c_void_p),
        ("staged_tree", c_char_p),
        ("backend", c_uint32),
        ("reserved", c_uint32),
    ]


class UndoOptions(Struct):
    _fields_ = [
        ("struct_size", c_size_t),
        ("state_dir", c_char_p),
        ("flags", c_uint32),
        ("pidfd", c_int32),
        ("report", REPORT),
        ("report_data", c_void_p),
    ]


class SetupListOptions(Struct):
    _fields_ = [
        ("struct_size", c_size_t),
        ("state_dir", c_char_p),
        ("flags", c_uint32),
        ("pidfd", c_int32),
    ]


class PrepareOptions(Struct):
    _fields_ = [
        ("struct_size", c_size_t),
        ("flags", c_uint32),
        ("backend", c_uint32),
        ("staged_tree", c_char_p),
    ]


class CdiOptions(Struct):
    _fields_ = [
        ("struct_size", c_size_t),
        ("version", c_char_p),
        ("files_dir", c_char_p),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("staged_tree", c_char_p),
        ("hook", POINTER(c_char_p)),
    ]


class StageOptions(Struct):
    _fields_ = [
        ("struct_size", c_size_t),
        ("flags", c_uint32),
        ("backend", c_uint32),
    ]


class LoadOptions(Struct):
    _fields_ = [
        ("struct_size", c_size_t),
        ("vendors", POINTER(c_char_p)),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("report", REPORT),
        ("report_data", c_void_p),
    ]


class AttachError(Struct):
    _fields_ = [
        ("struct_size", c_size_t),
        ("status", STATUS),
        ("os_error", c_int32),
        ("step", c_char * 64),
        ("object", c_char * 192),
    ]


STRUCTS: dict[str, type[Structure]] = {
    "gpuctr_harden_options": HardenOptions,
    "gpuctr_host_options": HostOptions,
    "gpuctr_file_id": FileId,
    "gpuctr_request": Request,
    "gpuctr_check_options": CheckOptions,
    "gpuctr_device_rule": DeviceRule,
    "gpuctr_apply_options": ApplyOptions,
    "gpuctr_undo_options": UndoOptions,
    "gpuctr_setup_list_options": SetupListOptions,
    "gpuctr_prepare_options": PrepareOptions,
    "gpuctr_cdi_options": CdiOptions,
    "gpuctr_stage_options": StageOptions,
    "gpuctr_load_options": LoadOptions,
    "gpuctr_attach_error": AttachError,
}

CONSTANTS: dict[str, int | str] = {
    "GPUCTR_OK": 0,
    "GPUCTR_E_INTERNAL": -1,
    "GPUCTR_E_USAGE": -2,
    "GPUCTR_E_NO_DEVICE": -3,
    "GPUCTR_E_DRIVER": -4,
    "GPUCTR_E_ROOTFS": -5,
    "GPUCTR_E_PERMISSION": -6,
    "GPUCTR_E_REQUIREMENT": -7,
    "GPUCTR_E_APPLY": -8,
    "GPUCTR_E_EXISTS": -10,
    "GPUCTR_SEVERITY_NOTE": 0,
    "GPUCTR_SEVERITY_NEED": 1,
    "GPUCTR_SEVERITY_WARNING": 2,
    "GPUCTR_SEVERITY_ERROR": 3,
    "GPUCTR_PHASE_LOOK": 0x1,
    "GPUCTR_PHASE_STATUS": 0x2,
    "GPUCTR_PHASE_MOUNT": 0x4,
    "GPUCTR_PHASE_APPLY": 0x8,
    "GPUCTR_PHASE_IN_PROCESS": 0x10,
    "GPUCTR_HARDEN_FOR_EXEC": 0x1,
    "GPUCTR_HARDEN_NEW_PRIVILEGES": 0x2,
    "GPUCTR_HARDEN_DUMPABLE": 0x4,
    "GPUCTR_VENDOR_ANY": "any",
    "GPUCTR_HOST_FILES_ALONE": 0x1,
    "GPUCTR_HOST_WHOLE_BUS": 0x2,
    "GPUCTR_WRITE_AUTO": 0,
    "GPUCTR_WRITE_NEVER": 1,
    "GPUCTR_WRITE_ALWAYS": 2,
    "GPUCTR_WRITE_LAYER": 3,
    "GPUCTR_LAYOUT_TREE": 0,
    "GPUCTR_LAYOUT_MERGED": 1,
    "GPUCTR_LAYOUT_BINDS": 2,
    "GPUCTR_CDI_YAML": 0x1,
    "GPUCTR_CDI_GROUPS": 0x2,
    "GPUCTR_CDI_WRITTEN": 0,
    "GPUCTR_CDI_UNCHANGED": 1,
    "GPUCTR_COMPAT_AUTO": 0,
    "GPUCTR_COMPAT_NEVER": 1,
    "GPUCTR_COMPAT_ALWAYS": 2,
    "GPUCTR_GLIBC_NEVER": 0,
    "GPUCTR_GLIBC_AUTO": 1,
    "GPUCTR_VENDOR_LIBS_AUTO": 0,
    "GPUCTR_VENDOR_LIBS_HOST": 1,
    "GPUCTR_VENDOR_LIBS_NONE": 2,
    "GPUCTR_REQUEST_LOCK": 0x1,
    "GPUCTR_REQUEST_NAMES_DEVICES": 0x2,
    "GPUCTR_REQUEST_NAMES_CAPABILITIES": 0x4,
    "GPUCTR_REQUEST_KEEP_UNKNOWN_HOOKS": 0x8,
    "GPUCTR_REQUEST_KEEP_ALL_HOOKS": 0x10,
    "GPUCTR_IMAGE_SIGNED": 0x1,
    "GPUCTR_IMAGE_OVERLAY": 0x2,
    "GPUCTR_BACKEND_AUTO": 0,
    "GPUCTR_BACKEND_DETACHED": 1,
    "GPUCTR_BACKEND_ASSEMBLED": 2,
    "GPUCTR_BACKEND_LEGACY": 3,
    "GPUCTR_APPLY_IN_PROCESS": 0x1,
    "GPUCTR_APPLY_SETUID": 0x2,
    "GPUCTR_APPLY_WITHOUT_JOURNAL": 0x4,
    "GPUCTR_APPLY_NO_REPLACE": 0x8,
    "GPUCTR_APPLY_OVER_COPIES": 0x10,
    "GPUCTR_APPLY_DRY_RUN": 0x20,
    "GPUCTR_APPLIED": 0,
    "GPUCTR_UNCHANGED": 1,
    "GPUCTR_REPLACED": 2,
    "GPUCTR_UNDO_IN_PROCESS": 0x1,
    "GPUCTR_UNDO_SETUID": 0x2,
    "GPUCTR_UNDO_DRY_RUN": 0x4,
    "GPUCTR_CHECK_IN_PROCESS": 0x1,
    "GPUCTR_SETUP_LIST_IN_PROCESS": 0x1,
    "GPUCTR_UNDONE": 0,
    "GPUCTR_FORGOTTEN": 1,
    "GPUCTR_LEFT": 2,
    "GPUCTR_PREPARE_SETUID": 0x1,
    "GPUCTR_STAGE_SETUID": 0x1,
    "GPUCTR_STAGED": 0,
    "GPUCTR_STAGE_UNCHANGED": 1,
    "GPUCTR_STAGE_REPLACED": 2,
    "GPUCTR_LOAD_DISPLAY": 0x1,
    "GPUCTR_CAPTURE_WITH_IDENTITIES": 0x1,
    "GPUCTR_WISH_ENVIRONMENT": 0x1,
    "GPUCTR_WISH_PRIVILEGED": 0x2,
    "GPUCTR_WISH_MOUNTS": 0x4,
    "GPUCTR_WISH_LEGACY": 0x8,
}

Signature = tuple[Any, tuple[Any, ...]]
_ERROR = POINTER(c_void_p)  # gpuctr_error**
_OUT = POINTER(c_void_p)  # a handle or a string that the caller frees

FUNCTIONS: dict[str, Signature] = {
    "gpuctr_version": (c_char_p, ()),
    "gpuctr_string_free": (None, (c_void_p,)),
    "gpuctr_error_free": (None, (c_void_p,)),
    "gpuctr_process_harden": (STATUS, (POINTER(HardenOptions), _ERROR)),
    "gpuctr_config_open": (STATUS, (c_char_p, _OUT, _ERROR)),
    "gpuctr_config_open_with_mistakes": (STATUS, (c_char_p, _OUT, _ERROR)),
    "gpuctr_config_free": (None, (c_void_p,)),
    "gpuctr_host_open": (STATUS, (POINTER(HostOptions), _OUT, _ERROR)),
    "gpuctr_host_free": (None, (c_void_p,)),
    "gpuctr_host_fact": (STATUS, (c_void_p, c_char_p, c_int32, c_char_p, _OUT, _ERROR)),
    "gpuctr_host_to_json": (STATUS, (c_void_p, _OUT, _ERROR)),
    "gpuctr_host_from_json": (
        STATUS,
        (c_char_p, c_size_t, POINTER(HostOptions), _OUT, _ERROR),
    ),
    "gpuctr_environment_read": (
        STATUS,
        (c_int, c_char_p, POINTER(c_char_p), _OUT, _ERROR),
    ),
    "gpuctr_environment_free": (None, (c_void_p,)),
    "gpuctr_image_find": (
        STATUS,
        (c_int, POINTER(c_uint64), POINTER(c_uint64), POINTER(c_uint32), _ERROR),
    ),
    "gpuctr_hook_state_read": (STATUS, (c_char_p, c_uint32, _OUT, _ERROR)),
    "gpuctr_hook_state_read_config": (STATUS, (c_char_p, c_uint32, _OUT, _ERROR)),
    "gpuctr_hook_state_free": (None, (c_void_p,)),
    "gpuctr_file_identity": (FileId, (c_void_p,)),
    "gpuctr_item_identity": (FileId, (c_void_p,)),
    "gpuctr_item_content": (c_void_p, (c_void_p,)),
    "gpuctr_item_content_size": (c_size_t, (c_void_p,)),
    "gpuctr_plan_create": (STATUS, (c_void_p, POINTER(Request), c_int, _OUT, _ERROR)),
    "gpuctr_plan_free": (None, (c_void_p,)),
    "gpuctr_plan_allow_devices": (STATUS, (c_void_p, c_int32, c_int32, c_char_p, _ERROR)),
    "gpuctr_plan_check_requirement": (STATUS, (c_void_p, c_char_p, _ERROR)),
    "gpuctr_plan_explain": (STATUS, (c_void_p, c_char_p, c_int, _OUT, _ERROR)),
    "gpuctr_explanation_free": (None, (c_void_p,)),
    "gpuctr_explanation_to_json": (STATUS, (c_void_p, _OUT, _ERROR)),
    "gpuctr_host_capture": (
        STATUS,
        (POINTER(HostOptions), POINTER(c_char_p), c_uint32, c_int, REPORT, c_void_p, _ERROR),
    ),
    "gpuctr_plan_to_json": (STATUS, (c_void_p, _OUT, _ERROR)),
    "gpuctr_plan_to_cdi": (STATUS, (c_void_p, POINTER(CdiOptions), _OUT, _ERROR)),
    "gpuctr_plan_create_from_cdi": (
        STATUS,
        (c_void_p, POINTER(Request), c_int, _OUT, _ERROR),
    ),
    "gpuctr_plan_edit_oci": (STATUS, (c_void_p, c_char_p, c_char_p, _OUT, _ERROR)),
    "gpuctr_plan_to_oci": (STATUS, (c_void_p, c_char_p, _OUT, _ERROR)),
    "gpuctr_plan_install_cdi": (
        STATUS,
        (c_void_p, c_char_p, POINTER(CdiOptions), POINTER(c_uint32), _ERROR),
    ),
    "gpuctr_cdi_list_open": (
        STATUS,
        (POINTER(c_char_p), c_void_p, c_char_p, _OUT, _ERROR),
    ),
    "gpuctr_cdi_list_free": (None, (c_void_p,)),
    "gpuctr_cdi_list_to_json": (STATUS, (c_void_p, _OUT, _ERROR)),
    "gpuctr_plan_device_rule_count": (c_size_t, (c_void_p,)),
    "gpuctr_plan_device_rule_at": (POINTER(DeviceRule), (c_void_p, c_size_t)),
    "gpuctr_plan_group_count": (c_size_t, (c_void_p,)),
    "gpuctr_plan_group_at": (c_uint32, (c_void_p, c_size_t)),
    "gpuctr_plan_apply": (
        STATUS,
        (c_void_p, c_int, POINTER(ApplyOptions), POINTER(c_uint32), _ERROR),
    ),
    "gpuctr_rootfs_undo": (STATUS, (c_int, POINTER(UndoOptions), POINTER(c_int), _ERROR)),
    "gpuctr_rootfs_open": (STATUS, (c_int, c_char_p, c_int, POINTER(c_int), _ERROR)),
    "gpuctr_check_create": (STATUS, (POINTER(CheckOptions), c_int, _OUT, _ERROR)),
    "gpuctr_check_free": (None, (c_void_p,)),
    "gpuctr_check_to_json": (STATUS, (c_void_p, _OUT, _ERROR)),
    "gpuctr_setup_list_open": (STATUS, (c_int, POINTER(SetupListOptions), _OUT, _ERROR)),
    "gpuctr_setup_list_free": (None, (c_void_p,)),
    "gpuctr_setup_list_to_json": (STATUS, (c_void_p, _OUT, _ERROR)),
    "gpuctr_setup_list_count": (c_size_t, (c_void_p,)),
    "gpuctr_setup_list_at": (c_void_p, (c_void_p, c_size_t)),
    "gpuctr_setup_undo": (
        STATUS,
        (c_void_p, POINTER(UndoOptions), POINTER(c_uint32), _ERROR),
    ),
    "gpuctr_plan_prepare": (STATUS, (c_void_p, POINTER(PrepareOptions), _OUT, _ERROR)),
    "gpuctr_plan_stage": (
        STATUS,
        (c_void_p, c_char_p, POINTER(StageOptions), POINTER(c_uint32), _ERROR),
    ),
    "gpuctr_unstage": (STATUS, (c_char_p, POINTER(StageOptions), POINTER(c_int), _ERROR)),
    "gpuctr_prepared_free": (None, (c_void_p,)),
    "gpuctr_prepared_fd_count": (c_size_t, (c_void_p,)),
    "gpuctr_prepared_fd_at": (c_int, (c_void_p, c_size_t)),
    "gpuctr_prepared_data": (c_void_p, (c_void_p,)),
    "gpuctr_prepared_size": (c_size_t, (c_void_p,)),
    "gpuctr_prepared_adopt": (c_void_p, (c_void_p, c_size_t, POINTER(c_int), c_size_t)),
    "gpuctr_prepared_attach": (STATUS, (c_void_p, c_int, POINTER(AttachError))),
    "gpuctr_prepared_undo": (STATUS, (c_void_p, c_int, POINTER(AttachError))),
    "gpuctr_host_load_kernel_modules": (STATUS, (POINTER(LoadOptions), _ERROR)),
    "gpuctr_load_options_init": (None, (POINTER(LoadOptions), c_size_t)),
    "gpuctr_host_options_init": (None, (POINTER(HostOptions), c_size_t)),
    "gpuctr_request_init": (None, (POINTER(Request), c_size_t)),
    "gpuctr_apply_options_init": (None, (POINTER(ApplyOptions), c_size_t)),
    "gpuctr_undo_options_init": (None, (POINTER(UndoOptions), c_size_t)),
    "gpuctr_check_options_init": (None, (POINTER(CheckOptions), c_size_t)),
    "gpuctr_setup_list_options_init": (None, (POINTER(SetupListOptions), c_size_t)),
    "gpuctr_cdi_options_init": (None, (POINTER(CdiOptions), c_size_t)),
    "gpuctr_stage_options_init": (None, (POINTER(StageOptions), c_size_t)),
    "gpuctr_prepare_options_init": (None, (POINTER(PrepareOptions), c_size_t)),
    "gpuctr_harden_options_init": (None, (POINTER(HardenOptions), c_size_t)),
    "gpuctr_attach_error_init": (None, (POINTER(AttachError), c_size_t)),
}


def _getters(result: Any, names: str) -> None:
    """Functions that take an object and return one of its values."""
    for name in names.split():
        FUNCTIONS["gpuctr_" + name] = (result, (c_void_p,))


def _lists(element: Any, names: str) -> None:
    """Pairs of functions, one for the length of a list and one for its elements."""
    for name in names.split():
        FUNCTIONS[f"gpuctr_{name}_count"] = (c_size_t, (c_void_p,))
        FUNCTIONS[f"gpuctr_{name}_at"] = (element, (c_void_p, c_size_t))


_getters(STATUS, "error_status")
_getters(
    c_char_p,
    """
    error_message error_step error_object error_cause error_hint error_argument
    finding_code finding_object finding_text finding_evidence finding_hint finding_capability
    setting_key setting_value setting_mistake
    driver_vendor driver_vendor_name driver_version driver_version_source driver_root
    driver_cdi_kind driver_library_directory driver_tree_link driver_machine
    gpu_uuid gpu_pci_address gpu_model gpu_architecture
    file_kind file_name file_soname file_path file_capability file_also file_reason
    file_precedence version_need_library version_need_version
    registration_manner registration_name registration_content
    node_path node_container_path node_capability mask_path mask_content mask_reason
    shown_name shown_extra node_extra node_problem shared_path_path shared_path_kind
    shared_path_capability shared_path_extra shared_path_reason
    plan_tree_path plan_mount_label
    item_kind item_source item_target item_options item_reason item_vendor item_place
    variable_action variable_name variable_value variable_vendor
    setup_root setup_origin setup_tree_path
    cdi_device_name cdi_device_path cdi_device_state
    answer_kind answer_name answer_vendor answer_path answer_reason answer_capability
    used_driver_vendor used_driver_version used_driver_version_source
    hook_state_rootfs hook_state_bundle hook_state_fault
    """,
)
_getters(
    c_int,
    """
    error_os_error setting_in_list host_is_current driver_has_optional_files
    file_is_directory file_is_compat32 node_accessible node_required node_cgroup_forbids mask_is_directory
    mask_is_against_nodes shown_is_directory
    node_is_makeable shared_path_accessible
    plan_writes_root plan_is_locked item_is_directory item_required setup_writes_root
    answer_is_given hook_state_names_gpus
    """,
)
_getters(
    c_uint32,
    """
    finding_severity setting_line gpu_index gpu_parts node_major node_minor node_mode
    node_uid node_gid plan_layout item_mode item_major item_minor
    shared_path_uid
    """,
)
_getters(
    c_int32, "gpu_minor gpu_numa_node gpu_parent node_gpu item_gpu setup_process shown_gpu hook_state_pid"
)
_getters(c_int64, "setup_since")
_getters(c_uint64, "setup_mount_namespace")
_lists(
    c_void_p,
    """
    config_setting host_driver host_finding driver_gpu driver_file driver_node
    driver_missing_node driver_mask mask_shown driver_finding
    driver_shared_path file_version_need file_registration
    plan_driver plan_item plan_variable plan_finding check_finding setup_driver setup_item
    setup_finding environment_finding cdi_list_device cdi_list_finding
    explanation_answer answer_item answer_finding
    used_driver_gpu
    """,
)
_lists(
    c_char_p,
    """
    driver_need driver_image_directory gpu_name file_link file_entry_name file_needed
    node_link environment hook_state_variable hook_state_vendor hook_state_refused answer_remedy
    """,
)
