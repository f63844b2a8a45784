/* SPDX-License-Identifier: MIT */
/* The structs that callers allocate keep their layout: fields are only appended,
 * and nothing that stands here changes. */
#include <gpucontainer/gpucontainer.h>

#include <stddef.h>
#include <stdint.h>

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), "size of " #type)
#define AT(type, field, offset)                                                                    \
    _Static_assert(offsetof(type, field) == (offset), "place of " #type "." #field)

#if UINTPTR_MAX == UINT64_MAX

/* since 0.1 */
SIZE(gpuctr_host_options, 72);
AT(gpuctr_host_options, struct_size, 0);
AT(gpuctr_host_options, flags, 8);
AT(gpuctr_host_options, reserved, 12);
AT(gpuctr_host_options, vendors, 16);
AT(gpuctr_host_options, driver_root, 24);
AT(gpuctr_host_options, driver_version, 32);
AT(gpuctr_host_options, catalogues, 40);
AT(gpuctr_host_options, catalogue_dir, 48);
AT(gpuctr_host_options, dev_root, 56);
AT(gpuctr_host_options, mig_map, 64);

SIZE(gpuctr_request, 128);
AT(gpuctr_request, struct_size, 0);
AT(gpuctr_request, devices, 8);
AT(gpuctr_request, driver_capabilities, 16);
AT(gpuctr_request, environment, 24);
AT(gpuctr_request, write, 32);
AT(gpuctr_request, layout, 36);
AT(gpuctr_request, vendor_libs, 40);
AT(gpuctr_request, flags, 44);
AT(gpuctr_request, allowed_devices, 48);
AT(gpuctr_request, tree_path, 56);
AT(gpuctr_request, mount_label, 64);
AT(gpuctr_request, devices_name, 72);
AT(gpuctr_request, requirements, 80);
AT(gpuctr_request, extras, 88);
AT(gpuctr_request, container_environment, 96);
AT(gpuctr_request, compat, 104);
AT(gpuctr_request, glibc, 108);
AT(gpuctr_request, toolkit, 112);
AT(gpuctr_request, program, 120);

SIZE(gpuctr_apply_options, 56);
AT(gpuctr_apply_options, struct_size, 0);
AT(gpuctr_apply_options, state_dir, 8);
AT(gpuctr_apply_options, flags, 16);
AT(gpuctr_apply_options, pidfd, 20);
AT(gpuctr_apply_options, report, 24);
AT(gpuctr_apply_options, report_data, 32);
AT(gpuctr_apply_options, staged_tree, 40);
AT(gpuctr_apply_options, backend, 48);
AT(gpuctr_apply_options, reserved, 52);

SIZE(gpuctr_undo_options, 40);
AT(gpuctr_undo_options, struct_size, 0);
AT(gpuctr_undo_options, state_dir, 8);
AT(gpuctr_undo_options, flags, 16);
AT(gpuctr_undo_options, pidfd, 20);
AT(gpuctr_undo_options, report, 24);
AT(gpuctr_undo_options, report_data, 32);

SIZE(gpuctr_setup_list_options, 24);
AT(gpuctr_setup_list_options, struct_size, 0);
AT(gpuctr_setup_list_options, state_dir, 8);
AT(gpuctr_setup_list_options, flags, 16);
AT(gpuctr_setup_list_options, pidfd, 20);

SIZE(gpuctr_harden_options, 24);
AT(gpuctr_harden_options, struct_size, 0);
AT(gpuctr_harden_options, phases, 8);
AT(gpuctr_harden_options, flags, 12);
AT(gpuctr_harden_options, capabilities, 16);

SIZE(gpuctr_prepare_options, 24);
AT(gpuctr_prepare_options, struct_size, 0);
AT(gpuctr_prepare_options, flags, 8);
AT(gpuctr_prepare_options, backend, 12);
AT(gpuctr_prepare_options, staged_tree, 16);

SIZE(gpuctr_stage_options, 16);
AT(gpuctr_stage_options, struct_size, 0);
AT(gpuctr_stage_options, flags, 8);
AT(gpuctr_stage_options, backend, 12);

SIZE(gpuctr_cdi_options, 48);
AT(gpuctr_cdi_options, struct_size, 0);
AT(gpuctr_cdi_options, version, 8);
AT(gpuctr_cdi_options, files_dir, 16);
AT(gpuctr_cdi_options, flags, 24);
AT(gpuctr_cdi_options, reserved, 28);
AT(gpuctr_cdi_options, staged_tree, 32);
AT(gpuctr_cdi_options, hook, 40);

#endif

/* The same wherever integers have the sizes of <stdint.h>; since 0.1. */
SIZE(gpuctr_device_rule, 16);
AT(gpuctr_device_rule, type, 0);
AT(gpuctr_device_rule, access, 1);
AT(gpuctr_device_rule, major, 8);
AT(gpuctr_device_rule, minor, 12);

/* since 0.2 */
SIZE(gpuctr_file_id, 32);
AT(gpuctr_file_id, device, 0);
AT(gpuctr_file_id, inode, 8);
AT(gpuctr_file_id, size, 16);
AT(gpuctr_file_id, mtime_ns, 24);

/* since 0.2 */
SIZE(gpuctr_load_options, 40);
AT(gpuctr_load_options, struct_size, 0);
AT(gpuctr_load_options, vendors, 8);
AT(gpuctr_load_options, flags, 16);
AT(gpuctr_load_options, reserved, 20);
AT(gpuctr_load_options, report, 24);
AT(gpuctr_load_options, report_data, 32);

/* since 0.1 */
SIZE(gpuctr_attach_error, 272);
AT(gpuctr_attach_error, struct_size, 0);
AT(gpuctr_attach_error, status, 8);
AT(gpuctr_attach_error, os_error, 12);
AT(gpuctr_attach_error, step, 16);
AT(gpuctr_attach_error, object, 80);

SIZE(gpuctr_status, 4);

_Static_assert(GPUCTR_OK == 0 && GPUCTR_E_INTERNAL == -1 && GPUCTR_E_USAGE == -2
                   && GPUCTR_E_NO_DEVICE == -3 && GPUCTR_E_DRIVER == -4 && GPUCTR_E_ROOTFS == -5
                   && GPUCTR_E_PERMISSION == -6 && GPUCTR_E_REQUIREMENT == -7
                   && GPUCTR_E_APPLY == -8 && GPUCTR_E_EXISTS == -10,
               "values of gpuctr_status");
_Static_assert(sizeof GPUCTR_VENDOR_ANY == sizeof "any", "values of vendors");
_Static_assert(GPUCTR_HOST_FILES_ALONE == 1 && GPUCTR_HOST_WHOLE_BUS == 2,
               "values of gpuctr_host_options.flags");
_Static_assert(GPUCTR_WRITE_AUTO == 0 && GPUCTR_WRITE_NEVER == 1 && GPUCTR_WRITE_ALWAYS == 2
                   && GPUCTR_WRITE_LAYER == 3,
               "values of gpuctr_request.write");
_Static_assert(GPUCTR_BACKEND_AUTO == 0 && GPUCTR_BACKEND_DETACHED == 1
                   && GPUCTR_BACKEND_ASSEMBLED == 2 && GPUCTR_BACKEND_LEGACY == 3,
               "values of backend");
_Static_assert(GPUCTR_LAYOUT_TREE == 0 && GPUCTR_LAYOUT_MERGED == 1 && GPUCTR_LAYOUT_BINDS == 2,
               "values of gpuctr_request.layout");
_Static_assert(GPUCTR_VENDOR_LIBS_AUTO == 0 && GPUCTR_VENDOR_LIBS_HOST == 1
                   && GPUCTR_VENDOR_LIBS_NONE == 2,
               "values of gpuctr_request.vendor_libs");
_Static_assert(GPUCTR_COMPAT_AUTO == 0 && GPUCTR_COMPAT_NEVER == 1 && GPUCTR_COMPAT_ALWAYS == 2,
               "values of gpuctr_request.compat");
_Static_assert(GPUCTR_GLIBC_NEVER == 0 && GPUCTR_GLIBC_AUTO == 1, "values of gpuctr_request.glibc");
_Static_assert(GPUCTR_REQUEST_LOCK == 1 && GPUCTR_REQUEST_NAMES_DEVICES == 2
                   && GPUCTR_REQUEST_NAMES_CAPABILITIES == 4,
               "values of gpuctr_request.flags");
_Static_assert(GPUCTR_APPLIED == 0 && GPUCTR_UNCHANGED == 1 && GPUCTR_REPLACED == 2,
               "values of an outcome");
_Static_assert(GPUCTR_APPLY_IN_PROCESS == 1 && GPUCTR_APPLY_SETUID == 2
                   && GPUCTR_APPLY_WITHOUT_JOURNAL == 4 && GPUCTR_APPLY_NO_REPLACE == 8
                   && GPUCTR_APPLY_OVER_COPIES == 16,
               "values of gpuctr_apply_options.flags");
_Static_assert(GPUCTR_UNDO_IN_PROCESS == 1 && GPUCTR_UNDO_SETUID == 2,
               "values of gpuctr_undo_options.flags");
_Static_assert(GPUCTR_SETUP_LIST_IN_PROCESS == 1, "values of gpuctr_setup_list_options.flags");
_Static_assert(GPUCTR_PREPARE_SETUID == 1, "values of gpuctr_prepare_options.flags");
_Static_assert(GPUCTR_CDI_YAML == 1 && GPUCTR_CDI_GROUPS == 2,
               "values of gpuctr_cdi_options.flags");
_Static_assert(GPUCTR_CDI_WRITTEN == 0 && GPUCTR_CDI_UNCHANGED == 1, "values of an outcome");
_Static_assert(GPUCTR_STAGE_SETUID == 1, "values of gpuctr_stage_options.flags");
_Static_assert(GPUCTR_LOAD_DISPLAY == 1, "values of gpuctr_load_options.flags");
_Static_assert(GPUCTR_SEVERITY_NOTE == 0 && GPUCTR_SEVERITY_NEED == 1
                   && GPUCTR_SEVERITY_WARNING == 2 && GPUCTR_SEVERITY_ERROR == 3,
               "values of gpuctr_finding_severity()");
_Static_assert(GPUCTR_PHASE_LOOK == 1 && GPUCTR_PHASE_STATUS == 2 && GPUCTR_PHASE_MOUNT == 4
                   && GPUCTR_PHASE_APPLY == 8 && GPUCTR_PHASE_IN_PROCESS == 16,
               "values of gpuctr_harden_options.phases");
_Static_assert(GPUCTR_HARDEN_FOR_EXEC == 1 && GPUCTR_HARDEN_NEW_PRIVILEGES == 2
                   && GPUCTR_HARDEN_DUMPABLE == 4,
               "values of gpuctr_harden_options.flags");
_Static_assert(GPUCTR_UNDONE == 0 && GPUCTR_FORGOTTEN == 1 && GPUCTR_LEFT == 2,
               "values of what became of a set-up");
