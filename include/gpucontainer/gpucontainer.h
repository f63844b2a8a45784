/* SPDX-License-Identifier: MIT */
#ifndef GPUCONTAINER_GPUCONTAINER_H
#define GPUCONTAINER_GPUCONTAINER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GPUCTR_API __attribute__((visibility("default")))
#else
#define GPUCTR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @file
 * GPUs of the host in a container's root file system: stable C interface.
 *
 *     host  = gpuctr_host_open()       what this host has         reads only
 *     plan  = gpuctr_plan_create()     what a container needs     reads only
 *     gpuctr_plan_apply()              makes the changes          can be undone
 *
 * A runtime that sets up its container in a child process replaces the last call by:
 *
 *     prepared = gpuctr_plan_prepare()  in the parent, where the host's files are visible
 *     gpuctr_prepared_attach()          in the child, after unshare or setns
 *
 * Rules that hold for every function here:
 *
 * - It returns GPUCTR_OK or a negative gpuctr_status, unless it is a getter.
 * - Output parameters are named ret_* and are written only on success.
 * - ret_error may be NULL. If it is not NULL, it is written only on failure, and the caller
 *   frees the error with gpuctr_error_free(). If memory runs out, the error is NULL; every
 *   gpuctr_error_* function accepts that.
 * - *_free() accepts NULL.
 * - A string returned as const char* belongs to the object it came from, and lives as long
 *   as that object. It is "" if it does not apply. Only gpuctr_setting_mistake() may return
 *   NULL.
 * - *_at() returns NULL if the index is out of range.
 * - The caller's descriptors are borrowed. Descriptors that the library opens are
 *   close-on-exec.
 * - A host, a plan and a list of set-ups never change. Several threads may read them at
 *   once. A prepared object belongs to one thread at a time. Different objects may be used
 *   from different threads at the same time.
 * - The library is a guest in its caller's process. It changes no capability, signal
 *   handler, environment variable, umask or limit. It starts no thread, reads no environment
 *   variable, and writes nothing to standard output or error. Some functions start
 *   short-lived child processes; their descriptions say when. Only gpuctr_process_harden()
 *   changes its caller for good.
 * - It changes no credential, namespace, root directory or working directory. The exception
 *   is GPUCTR_*_IN_PROCESS in the options, which changes those of the calling thread until
 *   the call returns.
 * - A program that is setuid, setgid or has file capabilities (AT_SECURE of its auxiliary
 *   vector) gets GPUCTR_E_PERMISSION from every call that changes a container, unless the
 *   options say that the program is made for this (GPUCTR_*_SETUID).
 *
 * What stays: functions, their parameters, the order and meaning of fields, values of
 * constants, the words that functions return (kinds, codes, actions), and names and types in
 * the JSON documents of one schema number.
 *
 * What may change in any version: the text of messages, reasons, findings and hints; which
 * findings there are; new kinds, codes and words beside the old ones; new fields in JSON; the
 * order of items, files and nodes, unless it is stated; which files, links and variables a
 * plan has; the bytes of gpuctr_prepared_data(); the content of the state directory. Before
 * version 1.0 the rest may change too; the library then gets another soname.
 *
 * For languages that parse this header: numeric constants are enumerators or plain literals,
 * and each GPUCTR_*_INIT has a function that does the same.
 */

/** Outcome of a call. Values never change; negated they are exit codes. */
typedef int32_t gpuctr_status;
enum {
    GPUCTR_OK = 0,
    GPUCTR_E_INTERNAL = -1,    /**< A bug in the library, or out of memory. */
    GPUCTR_E_USAGE = -2,       /**< The caller broke a documented precondition. */
    GPUCTR_E_NO_DEVICE = -3,   /**< No such GPU, or its kernel driver is not loaded. */
    GPUCTR_E_DRIVER = -4,      /**< The driver's user space is missing or does not fit. */
    GPUCTR_E_ROOTFS = -5,      /**< The root file system cannot be used. */
    GPUCTR_E_PERMISSION = -6,  /**< A capability, namespace or permission is missing. */
    GPUCTR_E_REQUIREMENT = -7, /**< A stated requirement is not met. */
    GPUCTR_E_APPLY = -8,       /**< The commit failed; everything was rolled back. */
    GPUCTR_E_EXISTS = -10      /**< Another set-up is there and may not be replaced. */
};

typedef struct gpuctr_error gpuctr_error;
typedef struct gpuctr_config gpuctr_config;
typedef struct gpuctr_setting gpuctr_setting;
typedef struct gpuctr_host gpuctr_host;
typedef struct gpuctr_driver gpuctr_driver;
typedef struct gpuctr_gpu gpuctr_gpu;
typedef struct gpuctr_file gpuctr_file;
typedef struct gpuctr_node gpuctr_node;
typedef struct gpuctr_registration gpuctr_registration;
typedef struct gpuctr_version_need gpuctr_version_need;
typedef struct gpuctr_mask gpuctr_mask;
typedef struct gpuctr_shown gpuctr_shown;
typedef struct gpuctr_shared_path gpuctr_shared_path;
typedef struct gpuctr_finding gpuctr_finding;
typedef struct gpuctr_plan gpuctr_plan;
typedef struct gpuctr_item gpuctr_item;
typedef struct gpuctr_explanation gpuctr_explanation;
typedef struct gpuctr_answer gpuctr_answer;
typedef struct gpuctr_variable gpuctr_variable;
typedef struct gpuctr_prepared gpuctr_prepared;
typedef struct gpuctr_setup_list gpuctr_setup_list;
typedef struct gpuctr_setup gpuctr_setup;
typedef struct gpuctr_used_driver gpuctr_used_driver;
typedef struct gpuctr_cdi_list gpuctr_cdi_list;
typedef struct gpuctr_cdi_device gpuctr_cdi_device;
typedef struct gpuctr_check gpuctr_check;

/** Version of the library that is loaded, such as "0.1.0". @since 0.1 */
GPUCTR_API const char* gpuctr_version(void);

/** Free a string that the library returned through a char**. @since 0.1 */
GPUCTR_API void gpuctr_string_free(char* string);

/* -- Errors -------------------------------------------------------------- */

/** Class of the failure; GPUCTR_E_INTERNAL for NULL. @since 0.1 */
GPUCTR_API gpuctr_status gpuctr_error_status(const gpuctr_error* error);

/** The whole message in one line, outermost step first. @since 0.1 */
GPUCTR_API const char* gpuctr_error_message(const gpuctr_error* error);

/** The outermost step that failed, such as "prepare libcuda.so.1". @since 0.1 */
GPUCTR_API const char* gpuctr_error_step(const gpuctr_error* error);

/** What the failing operation worked on: a path, a GPU. @since 0.1 */
GPUCTR_API const char* gpuctr_error_object(const gpuctr_error* error);

/** The innermost reason, without the steps around it. @since 0.1 */
GPUCTR_API const char* gpuctr_error_cause(const gpuctr_error* error);

/** What can be done about it. @since 0.1 */
GPUCTR_API const char* gpuctr_error_hint(const gpuctr_error* error);

/**
 * Name of the argument that the failure is about: a field of the options or the request, such
 * as "staged_tree", or a parameter, such as "json". "" if it is about none. @since 0.1
 */
GPUCTR_API const char* gpuctr_error_argument(const gpuctr_error* error);

/** errno behind the failure, or 0. @since 0.1 */
GPUCTR_API int gpuctr_error_os_error(const gpuctr_error* error);

/** @since 0.1 */
GPUCTR_API void gpuctr_error_free(gpuctr_error* error);

/* -- Findings -------------------------------------------------------------- */

/** How much a finding matters; a higher number matters more. */
#define GPUCTR_SEVERITY_NOTE 0u    /**< Something was left out. */
#define GPUCTR_SEVERITY_NEED 1u    /**< The plan does not do it; the caller must. */
#define GPUCTR_SEVERITY_WARNING 2u /**< Something will not work, or is not known. */
#define GPUCTR_SEVERITY_ERROR 3u   /**< A set-up no longer works; programs will not work. */

/**
 * What kind of finding it is. Each has one severity, but in a gpuctr_check, where a finding has
 * that of the case:
 *
 * - notes: "not_installed", "file_unusable", "version_differs", "file_left_out",
 *   "gpu_unusable", "node_missing", "node_inaccessible", "node_left_out", "rule_ignored",
 *   "variable_ignored", "compat_decided", "c_library_decided", "toolkit_decided", "module_loaded",
 *   "node_made", "cdi_after_cache", "identity_replaced", "not_recorded"
 * - needs: "container_need"
 * - warnings: "driver_unusable", "vendor_left_out", "no_gpu", "compat_forced",
 *   "c_library_unfit", "toolkit_unfit", "search_differs", "files_left_out",
 *   "library_unloadable", "library_missing", "releases_differ", "compute_node_unusable",
 *   "node_forbidden", "variable_contradicted", "device_unknown", "node_left",
 *   "namespace_gone", "root_gone", "cdi_outdated",
 *   "cdi_left_out"
 * - errors: "part_missing", "driver_version", "driver_not_loaded", "earlier_boot",
 *   "interrupted", "partly_undone", "journal_damaged", "locked", "device_denied",
 *   "cdi_invalid", "cdi_conflict"
 * - of a gpuctr_check alone: "gpu_off_bus", "gpu_without_driver", "gpu_excluded",
 *   "access_denied", "request_refused", "namespaces_forbidden", "cdi_missing",
 *   "program_missing", "program_unstartable", "library_not_found", "version_not_found",
 *   "symbol_not_found", "library_shadowed", "service_not_running", "kernel_unready",
 *   "proc_missing", "driver_too_old", "gpus_hidden", "instance_incomplete", "code_missing",
 *   "feature_missing", "search_unfinished"
 *
 * docs/library.md says what each means. Later versions may add codes. @since 0.1
 */
GPUCTR_API const char* gpuctr_finding_code(const gpuctr_finding* finding);
/** GPUCTR_SEVERITY_* @since 0.1 */
GPUCTR_API uint32_t gpuctr_finding_severity(const gpuctr_finding* finding);
/** What it is about: a file, GPU, device node or path in the container. May be "". @since 0.1 */
GPUCTR_API const char* gpuctr_finding_object(const gpuctr_finding* finding);
/** What was found, in one line for people; to be shown as "OBJECT: TEXT". @since 0.1 */
GPUCTR_API const char* gpuctr_finding_text(const gpuctr_finding* finding);
/**
 * Where it was seen: a path on this host or, of what the image has, in the container. It is to
 * be shown, not to be opened. May be "". @since 0.1
 */
GPUCTR_API const char* gpuctr_finding_evidence(const gpuctr_finding* finding);
/** What can be done about it, in one line for people. May be "". @since 0.1 */
GPUCTR_API const char* gpuctr_finding_hint(const gpuctr_finding* finding);
/**
 * Programs that use this driver capability are concerned, such as "compute"; "none": all
 * programs. @since 0.2
 */
GPUCTR_API const char* gpuctr_finding_capability(const gpuctr_finding* finding);

/* -- This process ---------------------------------------------------------- */

/** Functions that a process still needs. docs/security.md lists their capabilities. */
#define GPUCTR_PHASE_LOOK 0x1u   /**< gpuctr_host_open(), gpuctr_plan_create() */
#define GPUCTR_PHASE_STATUS 0x2u /**< gpuctr_setup_list_open() */
/** gpuctr_plan_prepare(), gpuctr_plan_stage(), gpuctr_prepared_attach() */
#define GPUCTR_PHASE_MOUNT 0x4u
/** gpuctr_plan_apply(), gpuctr_rootfs_undo(), gpuctr_setup_undo() */
#define GPUCTR_PHASE_APPLY 0x8u
/** In addition: what GPUCTR_*_IN_PROCESS and opening /proc/PID/root need. */
#define GPUCTR_PHASE_IN_PROCESS 0x10u

/**
 * The thread will execute a program that is to have its capabilities. Only the effective ones
 * are dropped; permitted, inheritable and ambient ones stay for the program.
 */
#define GPUCTR_HARDEN_FOR_EXEC 0x1u
/** Do not set no_new_privs, so that the process can execute setuid programs. */
#define GPUCTR_HARDEN_NEW_PRIVILEGES 0x2u
/** Keep the process dumpable: processes of the same user may trace it. */
#define GPUCTR_HARDEN_DUMPABLE 0x4u

/** What a process needs from now on. Start from GPUCTR_HARDEN_OPTIONS_INIT. */
typedef struct gpuctr_harden_options {
    size_t struct_size;    /**< sizeof(gpuctr_harden_options) in the caller. */
    uint32_t phases;       /**< GPUCTR_PHASE_* */
    uint32_t flags;        /**< GPUCTR_HARDEN_* */
    uint64_t capabilities; /**< Kept for the caller's own work: bits 1 << CAP_... */
} gpuctr_harden_options;

/* clang-format off */
#define GPUCTR_HARDEN_OPTIONS_INIT { sizeof(gpuctr_harden_options), 0, 0, 0 }
/* clang-format on */

/**
 * Drop the privileges that the calling thread no longer needs.
 *
 * It drops capabilities, sets no_new_privs so that executing a program brings none back, and
 * makes the process not dumpable. It is meant for programs that do nothing but set up
 * containers, because it changes its caller for good.
 *
 * Capabilities and no_new_privs are those of the calling thread and of threads that it starts
 * later: call this before there are other threads. Another call can only drop more. Joining a
 * user namespace gives all capabilities in it: call this again then. A process that is not
 * dumpable cannot write its own /proc/self/uid_map as an ordinary user.
 *
 * @param options  NULL: nothing is needed any more
 * @return GPUCTR_E_USAGE for an unknown phase or flag
 * Privileges: none. @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_process_harden(const gpuctr_harden_options* options,
                                               gpuctr_error** ret_error);

/* -- Configuration -------------------------------------------------------- */

/**
 * Read a site's configuration file, as gpuctr-setup does with
 * /etc/gpucontainer/config.yaml. No other function reads it, and the caller decides what a
 * key means.
 *
 * The file is a YAML map of keys to values or lists of values. The file and the directories
 * above it must belong to root or to the caller. Neither their group nor others may write
 * them, except that a directory may be sticky. They must be on file systems whose file owners
 * can be trusted; docs/configuration.md lists these.
 *
 * The keys of a site's policy are "allowed-devices", "restricted", "restricted-user" and
 * "restricted-rootfs". A key that resembles one of these is a mistake, such as "Restricted",
 * "allowed_device" or any other that begins with "restrict".
 *
 * @param path        of the file. If it is missing, there are no settings. A link to a
 *                    missing file is GPUCTR_E_USAGE
 * @param ret_config  freed by the caller with gpuctr_config_free()
 * @return GPUCTR_E_USAGE for a mistake in the file: the message begins with
 *         "FILE:LINE: KEY: ", and the object of the error is the key. GPUCTR_E_USAGE if the
 *         file is not YAML, and GPUCTR_E_PERMISSION if it may not be read or is not
 *         trusted: the object is the file
 * Privileges: none. @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_config_open(const char* path, gpuctr_config** ret_config,
                                            gpuctr_error** ret_error);

/**
 * Read the file like gpuctr_config_open(), for a caller that can do without some of the keys.
 *
 * A mistake in a key becomes a setting with gpuctr_setting_mistake(). Such a key has no
 * value, not even from another line. Two things are still errors: a mistake anywhere in the
 * file that may concern the policy, and a file that is not YAML.
 *
 * The caller looks at all mistakes, and decides by gpuctr_setting_key() which of them it
 * cannot ignore. The key is as in the file: "State_Dir" may be meant for "state-dir".
 *
 * Parameters and errors are those of gpuctr_config_open().
 * Privileges: none. @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_config_open_with_mistakes(const char* path,
                                                          gpuctr_config** ret_config,
                                                          gpuctr_error** ret_error);

/** @since 0.1 */
GPUCTR_API void gpuctr_config_free(gpuctr_config* config);

/** Values in the order of the file. Each value of a list is a setting. @since 0.1 */
GPUCTR_API size_t gpuctr_config_setting_count(const gpuctr_config* config);
/** Belongs to the configuration. @since 0.1 */
GPUCTR_API const gpuctr_setting* gpuctr_config_setting_at(const gpuctr_config* config,
                                                          size_t index);
/**
 * Lower-case letters and '-'. The key of a mistake may have any characters except control
 * characters, and is "" if it is not text. @since 0.1
 */
GPUCTR_API const char* gpuctr_setting_key(const gpuctr_setting* setting);
/** "" only for a mistake. @since 0.1 */
GPUCTR_API const char* gpuctr_setting_value(const gpuctr_setting* setting);
/** 1 if the value is in a list, even if it is the only one there. @since 0.1 */
GPUCTR_API int gpuctr_setting_in_list(const gpuctr_setting* setting);
/** Line of the key in the file, from 1. @since 0.1 */
GPUCTR_API uint32_t gpuctr_setting_line(const gpuctr_setting* setting);
/**
 * What is wrong with the key, in one line: "FILE:LINE: KEY: WHY". NULL if nothing is wrong,
 * and always after gpuctr_config_open(). Belongs to the configuration. @since 0.1
 */
GPUCTR_API const char* gpuctr_setting_mistake(const gpuctr_setting* setting);

/* -- Host ---------------------------------------------------------------- */

/** In a list of vendors: any other vendor that this host has, too. @since 0.1 */
#define GPUCTR_VENDOR_ANY "any"

/**
 * The files of a driver are enough: a vendor that was asked for and has no GPU here is no
 * error if its driver's files are there. The driver then has no GPUs; its version is that of
 * the files, or "". It can be listed and planned with. To prepare, apply or stage such a plan
 * is GPUCTR_E_NO_DEVICE. The driver's finding "no_gpu" has the reason. @since 0.1
 */
#define GPUCTR_HOST_FILES_ALONE 0x1u
/**
 * Also name GPUs that no kernel driver has, beside those that NVIDIA's driver has, in the
 * driver's findings ("gpu_unusable"). It takes reading a file for each PCI function of the host,
 * of which servers have hundreds. Without it, only those are named that certain drivers have,
 * such as nouveau or vfio-pci. @since 0.2
 */
#define GPUCTR_HOST_WHOLE_BUS 0x2u

/**
 * What to look for. Start from GPUCTR_HOST_OPTIONS_INIT.
 *
 * New fields of options structs are only ever appended. A library that is older than the
 * caller accepts fields that it does not know if they are zero. Otherwise it returns
 * GPUCTR_E_USAGE.
 */
typedef struct gpuctr_host_options {
    size_t struct_size; /**< sizeof(gpuctr_host_options) in the caller. */
    uint32_t flags;     /**< GPUCTR_HOST_* @since 0.1 */
    uint32_t reserved;  /**< Zero. */
    /**
     * NULL-terminated list of vendors that must have a GPU here. The names are those of
     * gpuctr_driver_vendor(): "nvidia", "amd", "intel", "habana" (Intel Gaudi), another vendor
     * that is built in, or one that a catalogue file describes. With GPUCTR_VENDOR_ANY in
     * the list, other vendors are looked for too. NULL or empty: GPUCTR_VENDOR_ANY alone. An
     * unknown name is GPUCTR_E_USAGE. @since 0.1
     */
    const char* const* vendors;
    const char* driver_root;    /**< Where the driver's files are: the root of a driver
                                     container, or an unpacked driver. Links in it never
                                     lead out of it. NULL: "/". */
    const char* driver_version; /**< Used instead of the kernel module's version, for a driver
                                     whose files must have that version (NVIDIA).
                                     GPUCTR_E_USAGE if only other vendors are asked for.
                                     NULL: ask the kernel. */
    /**
     * NULL-terminated list of catalogue files: further rules for which files belong to a
     * driver. Later files override earlier ones. A file named "nvliblist.conf" has Apptainer's
     * format. They must be trusted as in gpuctr_config_open(), or it is
     * GPUCTR_E_PERMISSION. NULL: none. @since 0.1
     */
    const char* const* catalogues;
    /**
     * Directory of catalogue files, "*.yaml" and "nvliblist.conf". They are read before those
     * of `catalogues`, in the order of their names, and must be trusted too. It may be missing.
     * NULL: none. @since 0.1
     */
    const char* catalogue_dir;
    const char* dev_root; /**< Directory whose dev/ has the driver's device nodes. NULL: "/".
                               @since 0.1 */
    /**
     * File with what `nvidia-smi -L` printed. It gives MIG instances their UUIDs and their names
     * in NVIDIA's order, "0:1", which no file of the kernel tells. It must be trusted as in
     * gpuctr_config_open(), and is not read without instances. If it does not fit the instances
     * of this host, it is not used, with the finding "map_unfit". NULL: none. @since 0.2
     */
    const char* mig_map;
} gpuctr_host_options;

/* clang-format off */
#define GPUCTR_HOST_OPTIONS_INIT { sizeof(gpuctr_host_options), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL }
/* clang-format on */

/**
 * Record the GPUs of this host and the files of their drivers.
 *
 * Reads sysfs, procfs, the driver root and the catalogues that the options name. Executes
 * nothing, loads nothing and opens no device node, so it wakes no GPU. A broken driver of a
 * vendor that was not asked for is no error; see gpuctr_host_finding_at().
 *
 * @param options    NULL for the defaults
 * @param ret_host   freed by the caller with gpuctr_host_free()
 * @return GPUCTR_E_NO_DEVICE if a vendor that was asked for has no GPU here (with
 *         GPUCTR_HOST_FILES_ALONE: and no driver files either),
 *         GPUCTR_E_DRIVER if its user space is missing, incomplete or of
 *         another version than the kernel module, GPUCTR_E_PERMISSION,
 *         GPUCTR_E_USAGE, with file and line for a mistake in a catalogue
 * Privileges: none. @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_host_open(const gpuctr_host_options* options,
                                          gpuctr_host** ret_host, gpuctr_error** ret_error);

/** Plans made from the host stay valid. @since 0.1 */
GPUCTR_API void gpuctr_host_free(gpuctr_host* host);

/**
 * The host as one JSON document, schema "gpucontainer/list/1". It has all
 * that a plan is made from; gpuctr_host_from_json() reads it.
 *
 * @param ret_json  freed by the caller with gpuctr_string_free()
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_host_to_json(const gpuctr_host* host, char** ret_json,
                                             gpuctr_error** ret_error);

/**
 * Read a record that gpuctr_host_to_json() wrote, in this or another process, on
 * this or another host.
 *
 * The document is not trusted. Each field is checked. Before a plan made from it is prepared,
 * applied or staged, this host is detected again as by gpuctr_host_open() with `options`. A
 * driver, file or device node that is not found again is GPUCTR_E_DRIVER. A plan that is only
 * shown needs the record alone.
 *
 * @param json      the document, UTF-8; need not be terminated
 * @param size      its length in bytes; 4 MiB at most
 * @param options   NULL for the defaults; the vendors that must be there must be in
 *                  the record
 * @param ret_host  freed by the caller with gpuctr_host_free()
 * @return GPUCTR_E_USAGE if it is not such a document; the message names the place in it,
 *         GPUCTR_E_NO_DEVICE if a vendor that was asked for is not in it
 * Privileges: none. @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_host_from_json(const char* json, size_t size,
                                               const gpuctr_host_options* options,
                                               gpuctr_host** ret_host, gpuctr_error** ret_error);

/**
 * 1 if the host is still as it was recorded. If it returns 0, open the host again.
 *
 * These must be the same: the boot, kernel modules and GPUs; the directories with the
 * drivers' files, the loader cache and the catalogues that the options named; the permissions
 * of the device nodes, and whether the caller may use them. It also returns 0 if the UUID of
 * a GPU is not known yet, if the record is of another host, and if one of these changed while
 * the host was recorded or a few milliseconds before.
 *
 * It takes some thirty system calls and two for each GPU, and opens no device node.
 * Privileges: none. @since 0.1
 */
GPUCTR_API int gpuctr_host_is_current(const gpuctr_host* host);

/**
 * Drivers, one for each vendor. Each has at least one GPU, except with
 * GPUCTR_HOST_FILES_ALONE. @since 0.1
 */
GPUCTR_API size_t gpuctr_host_driver_count(const gpuctr_host* host);
/** Belongs to the host. @since 0.1 */
GPUCTR_API const gpuctr_driver* gpuctr_host_driver_at(const gpuctr_host* host, size_t index);

/**
 * One for each vendor that was not asked for and whose driver is broken
 * ("driver_unusable"). @since 0.1
 */
GPUCTR_API size_t gpuctr_host_finding_count(const gpuctr_host* host);
/** Belongs to the host. @since 0.1 */
GPUCTR_API const gpuctr_finding* gpuctr_host_finding_at(const gpuctr_host* host, size_t index);

/**
 * What is known about a driver or one of its GPUs, by the names that requirements have for it.
 *
 * @param vendor     "nvidia"
 * @param gpu        index of a GPU of this driver, or -1 for what is about the driver alone
 * @param name       "driver", "cuda", "arch" or "brand"
 * @param ret_value  a version such as "13.0", which is the least if it may also be a later one;
 *                   or words with commas between them, all of which are right. "" if it is not
 *                   known. Freed by the caller with gpuctr_string_free()
 * @return GPUCTR_E_NO_DEVICE without such a driver or GPU, GPUCTR_E_USAGE if requirements have no
 *         such name
 * Privileges: none. @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_host_fact(const gpuctr_host* host, const char* vendor, int32_t gpu,
                                          const char* name, char** ret_value,
                                          gpuctr_error** ret_error);

/** "nvidia": the name that gpuctr_host_options.vendors takes. @since 0.1 */
GPUCTR_API const char* gpuctr_driver_vendor(const gpuctr_driver* driver);
/** "NVIDIA": the name for people. @since 0.1 */
GPUCTR_API const char* gpuctr_driver_vendor_name(const gpuctr_driver* driver);
/**
 * Version of the driver, such as "580.159.04". May be "" with GPUCTR_HOST_FILES_ALONE: without
 * a kernel module, some drivers have no version. @since 0.1
 */
GPUCTR_API const char* gpuctr_driver_version(const gpuctr_driver* driver);
/**
 * How the version is known: "module" from the loaded kernel module, "option" from the caller,
 * "files" from the driver's files, because no module is loaded. With "files", the driver can
 * be listed and planned with, but not applied. @since 0.1
 */
GPUCTR_API const char* gpuctr_driver_version_source(const gpuctr_driver* driver);
/** The driver root that was searched. @since 0.1 */
GPUCTR_API const char* gpuctr_driver_root(const gpuctr_driver* driver);

/**
 * What CDI calls the driver's devices, "nvidia.com/gpu". @since 0.2
 */
GPUCTR_API const char* gpuctr_driver_cdi_kind(const gpuctr_driver* driver);
/** Directory of the driver's main library on this host; "" if it has none. @since 0.2 */
GPUCTR_API const char* gpuctr_driver_library_directory(const gpuctr_driver* driver);
/**
 * The architecture that its libraries are for, as `uname -m` names it: "aarch64". If it is not
 * this machine's, the driver can be listed and planned with, but not applied. "" in records of
 * earlier versions, where it is this machine's. @since 0.2
 */
GPUCTR_API const char* gpuctr_driver_machine(const gpuctr_driver* driver);
/** 1 if an image may bring its own files instead: they fit any kernel module. @since 0.2 */
GPUCTR_API int gpuctr_driver_has_optional_files(const gpuctr_driver* driver);
/**
 * Path in a container that leads to the driver's files if the image has no such name; "" if
 * there is none. @since 0.2
 */
GPUCTR_API const char* gpuctr_driver_tree_link(const gpuctr_driver* driver);
/** What a container must have besides, one line for people each. @since 0.2 */
GPUCTR_API size_t gpuctr_driver_need_count(const gpuctr_driver* driver);
/** Belongs to the host. @since 0.2 */
GPUCTR_API const char* gpuctr_driver_need_at(const gpuctr_driver* driver, size_t index);
/**
 * Directories in an image, besides those of its loader, in which programs look for the driver
 * and an image may have its own copy. @since 0.2
 */
GPUCTR_API size_t gpuctr_driver_image_directory_count(const gpuctr_driver* driver);
/** Belongs to the host. @since 0.2 */
GPUCTR_API const char* gpuctr_driver_image_directory_at(const gpuctr_driver* driver, size_t index);

/** GPUs in the vendor's own order, as users count them. @since 0.1 */
GPUCTR_API size_t gpuctr_driver_gpu_count(const gpuctr_driver* driver);
/** Belongs to the host. @since 0.1 */
GPUCTR_API const gpuctr_gpu* gpuctr_driver_gpu_at(const gpuctr_driver* driver, size_t index);
/** Libraries, tools and data, sorted by kind and name. @since 0.1 */
GPUCTR_API size_t gpuctr_driver_file_count(const gpuctr_driver* driver);
/** Belongs to the host. @since 0.1 */
GPUCTR_API const gpuctr_file* gpuctr_driver_file_at(const gpuctr_driver* driver, size_t index);
/** Device nodes, control nodes first. @since 0.1 */
GPUCTR_API size_t gpuctr_driver_node_count(const gpuctr_driver* driver);
/** Belongs to the host. @since 0.1 */
GPUCTR_API const gpuctr_node* gpuctr_driver_node_at(const gpuctr_driver* driver, size_t index);
/** Device nodes that are required and not there; a finding says why. @since 0.2 */
GPUCTR_API size_t gpuctr_driver_missing_node_count(const gpuctr_driver* driver);
/** Belongs to the host. @since 0.2 */
GPUCTR_API const gpuctr_node* gpuctr_driver_missing_node_at(const gpuctr_driver* driver,
                                                            size_t index);
/** Files of the kernel that a container has to see with other content. @since 0.2 */
GPUCTR_API size_t gpuctr_driver_mask_count(const gpuctr_driver* driver);
/** Belongs to the host. @since 0.2 */
GPUCTR_API const gpuctr_mask* gpuctr_driver_mask_at(const gpuctr_driver* driver, size_t index);
/** Sockets, files and directories that a container shares with the host. @since 0.2 */
GPUCTR_API size_t gpuctr_driver_shared_path_count(const gpuctr_driver* driver);
/** Belongs to the host; NULL if out of range. @since 0.2 */
GPUCTR_API const gpuctr_shared_path* gpuctr_driver_shared_path_at(const gpuctr_driver* driver,
                                                                  size_t index);
/** What was looked at and left out, and what will not work. @since 0.1 */
GPUCTR_API size_t gpuctr_driver_finding_count(const gpuctr_driver* driver);
/** Belongs to the host. @since 0.1 */
GPUCTR_API const gpuctr_finding* gpuctr_driver_finding_at(const gpuctr_driver* driver,
                                                          size_t index);

/**
 * Position in the vendor's order, from 0. Instances (MIG) come after all GPUs, so that a GPU has
 * the number that the vendor's programs give it; choose an instance by its first name.
 * @since 0.1
 */
GPUCTR_API uint32_t gpuctr_gpu_index(const gpuctr_gpu* gpu);
/**
 * Permanent identifier in the vendor's form, "GPU-...". Partitions have that of their GPU.
 * "" if unknown. @since 0.1
 */
GPUCTR_API const char* gpuctr_gpu_uuid(const gpuctr_gpu* gpu);
/** PCI address, "0000:3b:00.0"; "" if the GPU is on no PCI bus. @since 0.1 */
GPUCTR_API const char* gpuctr_gpu_pci_address(const gpuctr_gpu* gpu);
/** Product name, "NVIDIA H200". @since 0.1 */
GPUCTR_API const char* gpuctr_gpu_model(const gpuctr_gpu* gpu);
/** "gfx942"; NVIDIA's compute capability, "9.0"; "" if it is not known. @since 0.1 */
GPUCTR_API const char* gpuctr_gpu_architecture(const gpuctr_gpu* gpu);
/** Number of its device node, which may differ from the index; -1: none. @since 0.1 */
GPUCTR_API int32_t gpuctr_gpu_minor(const gpuctr_gpu* gpu);
/** NUMA node that it is attached to; -1: unknown. @since 0.1 */
GPUCTR_API int32_t gpuctr_gpu_numa_node(const gpuctr_gpu* gpu);
/** Further words that choose it in gpuctr_request.devices, such as "0/3". @since 0.2 */
GPUCTR_API size_t gpuctr_gpu_name_count(const gpuctr_gpu* gpu);
/** Belongs to the object that the GPU is from. @since 0.2 */
GPUCTR_API const char* gpuctr_gpu_name_at(const gpuctr_gpu* gpu, size_t index);
/** How many parts (tiles) programs may count as GPUs; 1 if it has none. @since 0.2 */
GPUCTR_API uint32_t gpuctr_gpu_parts(const gpuctr_gpu* gpu);
/**
 * For an instance of a GPU (NVIDIA's MIG): the index of that GPU, whose device nodes it needs too.
 * A GPU that has instances cannot compute by itself. -1: it is no instance. @since 0.2
 */
GPUCTR_API int32_t gpuctr_gpu_parent(const gpuctr_gpu* gpu);

/** "library", "tool", or "data" (a file or directory that libraries read). @since 0.1 */
GPUCTR_API const char* gpuctr_file_kind(const gpuctr_file* file);
/** Name of the real file, "libcuda.so.580.159.04". @since 0.1 */
GPUCTR_API const char* gpuctr_file_name(const gpuctr_file* file);
/** DT_SONAME of a library. @since 0.1 */
GPUCTR_API const char* gpuctr_file_soname(const gpuctr_file* file);
/** Path of the real file on this host. @since 0.1 */
GPUCTR_API const char* gpuctr_file_path(const gpuctr_file* file);
/** Capability it belongs to: "compute", "utility", "graphics" ... @since 0.1 */
GPUCTR_API const char* gpuctr_file_capability(const gpuctr_file* file);
/** A second capability that does not work without it; "none" if there is none. @since 0.2 */
GPUCTR_API const char* gpuctr_file_also(const gpuctr_file* file);
/** Why it belongs to the driver, in one line for people. @since 0.2 */
GPUCTR_API const char* gpuctr_file_reason(const gpuctr_file* file);
/** 1 if it is a directory with all that is in it; only "data" may be one. @since 0.2 */
GPUCTR_API int gpuctr_file_is_directory(const gpuctr_file* file);
/**
 * 1 for a library that only 32-bit programs load. A container gets it if "compat32" is asked for
 * besides the file's own capability. @since 0.2
 */
GPUCTR_API int gpuctr_file_is_compat32(const gpuctr_file* file);
/**
 * When a container gets it, if gpuctr_driver_has_optional_files(): "driver" (unless the image
 * has a runtime of this vendor), "runtime" (the same; an image with its soname has such a
 * runtime), "always", or "image" (if the image lacks its soname). @since 0.2
 */
GPUCTR_API const char* gpuctr_file_precedence(const gpuctr_file* file);
/** Further names in its directory that lead to it: "libcuda.so.1", "libcuda.so". @since 0.2 */
GPUCTR_API size_t gpuctr_file_link_count(const gpuctr_file* file);
/** Belongs to the host. @since 0.2 */
GPUCTR_API const char* gpuctr_file_link_at(const gpuctr_file* file, size_t index);
/** Its names that programs load without being linked to it. @since 0.2 */
GPUCTR_API size_t gpuctr_file_entry_name_count(const gpuctr_file* file);
/** Belongs to the host. @since 0.2 */
GPUCTR_API const char* gpuctr_file_entry_name_at(const gpuctr_file* file, size_t index);
/** Sonames that it cannot be loaded without: the driver's; if "image", of any. @since 0.2 */
GPUCTR_API size_t gpuctr_file_needed_count(const gpuctr_file* file);
/** Belongs to the host. @since 0.2 */
GPUCTR_API const char* gpuctr_file_needed_at(const gpuctr_file* file, size_t index);
/** Symbol versions that the image's libraries must have, the newest of each kind. @since 0.2 */
GPUCTR_API size_t gpuctr_file_version_need_count(const gpuctr_file* file);
/** Belongs to the host. @since 0.2 */
GPUCTR_API const gpuctr_version_need* gpuctr_file_version_need_at(const gpuctr_file* file,
                                                                  size_t index);
/** Soname of the library that must have it, "libc.so.6". @since 0.2 */
GPUCTR_API const char* gpuctr_version_need_library(const gpuctr_version_need* need);
/** "GLIBC_2.34" @since 0.2 */
GPUCTR_API const char* gpuctr_version_need_version(const gpuctr_version_need* need);
/** How programs of a container find it, each manner once at most. @since 0.2 */
GPUCTR_API size_t gpuctr_file_registration_count(const gpuctr_file* file);
/** Belongs to the host. @since 0.2 */
GPUCTR_API const gpuctr_registration* gpuctr_file_registration_at(const gpuctr_file* file,
                                                                  size_t index);
/**
 * "loader" (by its soname), "module_directory" (in a directory beside the libraries),
 * "module_name" (by this name there), "opencl_icd" (named in a file), "egl_vendor",
 * "egl_platform", "vulkan_icd", "vulkan_layer", "vulkansc_icd" (named in a JSON manifest),
 * "gpu_mask" (it reads in a file which GPUs it may show), "command" (in PATH), "script" (the
 * same, run by a program), "fixed_path" or "beside_libraries" (in a directory beside the driver's
 * libraries). @since 0.2
 */
GPUCTR_API const char* gpuctr_registration_manner(const gpuctr_registration* registration);
/** The directory, file, program or path of the manner; "" if it has none. @since 0.2 */
GPUCTR_API const char* gpuctr_registration_name(const gpuctr_registration* registration);
/**
 * What the file of the manner says, "" if the library's name tells it: the host's manifest,
 * fitted to containers. With "gpu_mask", "{gpus}" stands for a hexadecimal number with a bit for
 * the minor number of each chosen GPU. @since 0.2
 */
GPUCTR_API const char* gpuctr_registration_content(const gpuctr_registration* registration);

/**
 * Which file a path led to, as stat() reports it: to see whether it still is the same file.
 * The struct never changes.
 */
typedef struct gpuctr_file_id {
    uint64_t device;  /**< st_dev */
    uint64_t inode;   /**< st_ino */
    uint64_t size;    /**< st_size */
    int64_t mtime_ns; /**< st_mtim, in nanoseconds since 1970. */
} gpuctr_file_id;

/** The file as it was when the host was recorded. Belongs to the caller. @since 0.2 */
GPUCTR_API gpuctr_file_id gpuctr_file_identity(const gpuctr_file* file);

/** Where it is on this host: "/dev/nvidia0", or below the dev_root. @since 0.1 */
GPUCTR_API const char* gpuctr_node_path(const gpuctr_node* node);
/** @since 0.1 */
GPUCTR_API uint32_t gpuctr_node_major(const gpuctr_node* node);
/** @since 0.1 */
GPUCTR_API uint32_t gpuctr_node_minor(const gpuctr_node* node);
/** Index of the GPU that the node is for; -1: all of the vendor. @since 0.1 */
GPUCTR_API int32_t gpuctr_node_gpu(const gpuctr_node* node);
/** 1 if permissions, device cgroup and mount let the caller read and write it. @since 0.1 */
GPUCTR_API int gpuctr_node_accessible(const gpuctr_node* node);
/** Its path in a container: "/dev/nvidia0", also with a dev_root. @since 0.2 */
GPUCTR_API const char* gpuctr_node_container_path(const gpuctr_node* node);
/** Permission bits, 0666. @since 0.2 */
GPUCTR_API uint32_t gpuctr_node_mode(const gpuctr_node* node);
/** Numeric owner on the host. UINT32_MAX if the record is of a version before 0.2. @since 0.2 */
GPUCTR_API uint32_t gpuctr_node_uid(const gpuctr_node* node);
/** Numeric group on the host. @since 0.2 */
GPUCTR_API uint32_t gpuctr_node_gid(const gpuctr_node* node);
/** Capability that needs it: "compute", "graphics" ...; "none": each. @since 0.2 */
GPUCTR_API const char* gpuctr_node_capability(const gpuctr_node* node);
/** 1 if without it no GPU, or not the one that it is for, can be used. @since 0.2 */
GPUCTR_API int gpuctr_node_required(const gpuctr_node* node);
/** 1 if it is not accessible because the device cgroup forbids it. @since 0.2 */
GPUCTR_API int gpuctr_node_cgroup_forbids(const gpuctr_node* node);
/** Symbolic links to it in a container, such as "/dev/dri/by-path/...". @since 0.2 */
GPUCTR_API size_t gpuctr_node_link_count(const gpuctr_node* node);
/** Belongs to the host. @since 0.2 */
GPUCTR_API const char* gpuctr_node_link_at(const gpuctr_node* node, size_t index);

/**
 * The extra that it is part of, as in gpuctr_request.extras: "gds". A container gets it if that
 * is asked for, whatever the capabilities are. "": part of none. @since 0.2
 */
GPUCTR_API const char* gpuctr_node_extra(const gpuctr_node* node);
/**
 * For a missing node: 1 if its driver is loaded and lets it be made. A plan has it made on a
 * tmpfs of its own if the caller may make device nodes, and who started the program could use it
 * on the host, by its mode, owner and the device cgroup. @since 0.2
 */
GPUCTR_API int gpuctr_node_is_makeable(const gpuctr_node* node);
/** For a missing node: what is there in its place; "" if nothing is. @since 0.2 */
GPUCTR_API const char* gpuctr_node_problem(const gpuctr_node* node);

/** Path on the host and in a container: "/run/nvidia-persistenced/socket". @since 0.2 */
GPUCTR_API const char* gpuctr_shared_path_path(const gpuctr_shared_path* shared);
/** "socket", "file" or "directory". @since 0.2 */
GPUCTR_API const char* gpuctr_shared_path_kind(const gpuctr_shared_path* shared);
/** Capability that brings it, unless "no-" and its extra is asked for; or "none". @since 0.2 */
GPUCTR_API const char* gpuctr_shared_path_capability(const gpuctr_shared_path* shared);
/** Its name in gpuctr_request.extras: "mps". @since 0.2 */
GPUCTR_API const char* gpuctr_shared_path_extra(const gpuctr_shared_path* shared);
/** Numeric owner on the host. @since 0.2 */
GPUCTR_API uint32_t gpuctr_shared_path_uid(const gpuctr_shared_path* shared);
/** 1 if the caller may use it. @since 0.2 */
GPUCTR_API int gpuctr_shared_path_accessible(const gpuctr_shared_path* shared);
/** Why a container needs it, in one line for people. @since 0.2 */
GPUCTR_API const char* gpuctr_shared_path_reason(const gpuctr_shared_path* shared);

/** Path of a file or directory of the kernel, in a container. @since 0.2 */
GPUCTR_API const char* gpuctr_mask_path(const gpuctr_mask* mask);
/** What it has to have in a container; "" for a directory. @since 0.2 */
GPUCTR_API const char* gpuctr_mask_content(const gpuctr_mask* mask);
/** Why, in one line for people. @since 0.2 */
GPUCTR_API const char* gpuctr_mask_reason(const gpuctr_mask* mask);
/** 1 for a directory. @since 0.2 */
GPUCTR_API int gpuctr_mask_is_directory(const gpuctr_mask* mask);
/** 1 if it only keeps programs from making device nodes; 0 if it hides entries. @since 0.2 */
GPUCTR_API int gpuctr_mask_is_against_nodes(const gpuctr_mask* mask);
/** What a container still sees of a directory: the entries of its GPUs. @since 0.2 */
GPUCTR_API size_t gpuctr_mask_shown_count(const gpuctr_mask* mask);
/** Belongs to the host; NULL if out of range. @since 0.2 */
GPUCTR_API const gpuctr_shown* gpuctr_mask_shown_at(const gpuctr_mask* mask, size_t index);
/** Path below the directory of the mask: "0000:3b:00.0". @since 0.2 */
GPUCTR_API const char* gpuctr_shown_name(const gpuctr_shown* shown);
/** Index of the GPU that it is of; -1: all of the vendor. @since 0.2 */
GPUCTR_API int32_t gpuctr_shown_gpu(const gpuctr_shown* shown);
/** 1 for a directory, with all that is in it. @since 0.2 */
GPUCTR_API int gpuctr_shown_is_directory(const gpuctr_shown* shown);
/** The extra that shows it, as in gpuctr_request.extras: "mig-config"; "": none. @since 0.2 */
GPUCTR_API const char* gpuctr_shown_extra(const gpuctr_shown* shown);

/* -- Plan ---------------------------------------------------------------- */

/** May names be created in the root file system itself? */
#define GPUCTR_WRITE_AUTO 0u   /**< If it is writable, local and the caller's own. */
#define GPUCTR_WRITE_NEVER 1u  /**< No: names appear only through mounts. */
#define GPUCTR_WRITE_ALWAYS 2u /**< Yes; an error if it is not possible. */
/**
 * Yes where it is writable, for a container's own layer, which goes with the container: also if
 * that is another user's or on a network. Not in what else is mounted in it, such as volumes, but
 * for a tmpfs at /dev or /run. @since 0.2
 */
#define GPUCTR_WRITE_LAYER 3u

/** The driver's files have a directory of their own, which is one mount. */
#define GPUCTR_LAYOUT_TREE 0u
/** Each file has its own mount, among the image's own libraries and tools. */
#define GPUCTR_LAYOUT_MERGED 1u
/**
 * For images that are not known: each name that programs load has its own mount, in the
 * default directory of each family of distributions. There are no links and no loader cache.
 * Such a plan is made without a root file system, and is for gpuctr_plan_to_cdi() and
 * gpuctr_plan_to_oci().
 * GPUCTR_VENDOR_LIBS_AUTO leaves out files that an image may have of its own. @since 0.2
 */
#define GPUCTR_LAYOUT_BINDS 2u

/**
 * NVIDIA's driver files are put into the container, because they must match the kernel module.
 * Those of other vendors are left out if the image has its own or is too old for them, those
 * of a Jetson if the image is too old.
 */
#define GPUCTR_VENDOR_LIBS_AUTO 0u
/** The host's files, even if the image has its own. GPUCTR_E_REQUIREMENT if it is too old. */
#define GPUCTR_VENDOR_LIBS_HOST 1u
/** Device nodes only. */
#define GPUCTR_VENDOR_LIBS_NONE 2u

/**
 * The image's own user space of a newer driver, such as /usr/local/cuda/compat (CUDA forward
 * compatibility), is used if it works with the host's driver and the chosen GPUs. @since 0.2
 */
#define GPUCTR_COMPAT_AUTO 0u
/** It is not used. @since 0.2 */
#define GPUCTR_COMPAT_NEVER 1u
/** It is used even if it may fail, which is then a warning. @since 0.2 */
#define GPUCTR_COMPAT_ALWAYS 2u

/** Programs of a container use the C library of its image. @since 0.2 */
#define GPUCTR_GLIBC_NEVER 0u
/**
 * If the driver's files need a newer C library than the image has, programs use that of the driver
 * root: all files of its one build, mounted over the image's loader and libraries at their real
 * paths, and GCONV_PATH. Of libstdc++ and libgcc_s, the newer ones are used. Nothing is mixed: if
 * something speaks against it, such as a loader of Nix, Guix or conda, a static `program`, an image
 * that is not older, or files of several builds on the host, then the image keeps its own, and a
 * finding says why. It is for containers that do not run yet: programs that run have the image's
 * C library loaded. @since 0.2
 */
#define GPUCTR_GLIBC_AUTO 1u

/**
 * Nobody in the container can make our mounts writable, not even with CAP_SYS_ADMIN.
 * gpuctr_plan_prepare() then starts one more short-lived child process, and
 * gpuctr_prepared_attach() one for each overlay. Each makes a user namespace.
 */
#define GPUCTR_REQUEST_LOCK 0x1u
/** `devices` is the caller's choice, which `container_environment` does not change. @since 0.2 */
#define GPUCTR_REQUEST_NAMES_DEVICES 0x2u
/** The same about `driver_capabilities`. @since 0.2 */
#define GPUCTR_REQUEST_NAMES_CAPABILITIES 0x4u
/**
 * For gpuctr_plan_create_from_cdi() without a root file system: hooks of the specifications that
 * are not known stay in the configuration, so that the runtime runs them. @since 0.2
 */
#define GPUCTR_REQUEST_KEEP_UNKNOWN_HOOKS 0x8u
/** The same for all hooks: nothing is done in place of them. @since 0.2 */
#define GPUCTR_REQUEST_KEEP_ALL_HOOKS 0x10u

/** What a container asks for. Start from GPUCTR_REQUEST_INIT. */
typedef struct gpuctr_request {
    size_t struct_size; /**< sizeof(gpuctr_request) in the caller. */
    /**
     * "all", "none", "auto" (the GPUs that permissions, the device cgroup and the scheduler's
     * variables in `environment` grant), or a comma-separated list. Its elements are: an index,
     * a range of indexes, a UUID or an unambiguous prefix of at least eight characters ("GPU-"
     * and "0x" do not count), a PCI address, or another name that the vendor uses. With
     * several vendors, an index is ambiguous: write "nvidia.com/gpu=0". A vendor of which
     * nothing is named is then left out. NULL: "auto".
     */
    const char* devices;
    /**
     * Comma-separated: "compute", "utility", "graphics", "video", "display", "ngx", "all" of
     * these, "firmware", or "compat32" for 32-bit libraries of the others, which is part of
     * "all". NULL: "compute,utility".
     */
    const char* driver_capabilities;
    /**
     * NULL-terminated NAME=VALUE list, usually `environ`, in which "auto" looks for the
     * variables of the scheduler (SLURM_STEP_GPUS, SLURM_JOB_GPUS) and of the vendor
     * (CUDA_VISIBLE_DEVICES, NVIDIA_VISIBLE_DEVICES). They cannot grant what the device
     * cgroup forbids. NULL: none.
     */
    const char* const* environment;
    uint32_t write;       /**< GPUCTR_WRITE_* */
    uint32_t layout;      /**< GPUCTR_LAYOUT_* */
    uint32_t vendor_libs; /**< GPUCTR_VENDOR_LIBS_* */
    uint32_t flags;       /**< GPUCTR_REQUEST_* */
    /**
     * Policy: the GPUs that may be chosen, in the form of `devices` without "auto". "auto"
     * leaves out all others; to name another one is GPUCTR_E_PERMISSION. NULL: all may be
     * chosen. "" is GPUCTR_E_USAGE. @since 0.1
     */
    const char* allowed_devices;
    /**
     * Directory of the container for GPUCTR_LAYOUT_TREE: an absolute path of letters, digits
     * and "._+-@", not below /dev, /proc or /sys. It is created if it is missing, and must be
     * empty otherwise. It cannot be combined with another layout or with
     * GPUCTR_VENDOR_LIBS_NONE. NULL: "/usr/lib/gpuctr". @since 0.1
     */
    const char* tree_path;
    /**
     * SELinux label of the tmpfs and overlays that are made, such as
     * "system_u:object_r:container_file_t:s0:c1,c2". Files and nodes of the host keep their
     * own labels. Preparing is GPUCTR_E_REQUIREMENT if SELinux is not enabled. NULL: no label.
     * @since 0.1
     */
    const char* mount_label;
    /** Name of `devices` in messages, such as "--device". NULL: "device". @since 0.1 */
    const char* devices_name;
    /**
     * NULL-terminated list of requirements, as for gpuctr_plan_check_requirement(), such as the
     * values of an image's variables NVIDIA_REQUIRE_*. All of them have to be met. NULL: none.
     * @since 0.2
     */
    const char* const* requirements;
    /**
     * Comma-separated: what else a container gets, such as "gds", "gdrcopy", "mofed",
     * "nvswitch", "fabric-manager", "mig-config", "mig-monitor", "imex-channel:0" or
     * "imex-channel:all"; and what it does not get: "no-persistenced", "no-mps", and
     * "no-imex-channel" for the channels that its NVIDIA_IMEX_CHANNELS names. It is
     * GPUCTR_E_NO_DEVICE if the host does not have what is asked for. NULL: nothing. @since 0.2
     */
    const char* extras;
    /**
     * NULL-terminated NAME=VALUE list: the variables of the container, as its image, its runtime
     * and its user set them; of several values of a name, the last counts. They may be hostile.
     *
     * - NVIDIA_VISIBLE_DEVICES, AMD_VISIBLE_DEVICES or HABANA_VISIBLE_DEVICES narrows `devices`
     *   if that is "auto": "all", "none", or a list of the host's indexes, UUIDs and CDI names.
     *   It never adds a GPU. "void" is GPUCTR_E_NO_DEVICE, and so is a list of which nothing
     *   is left.
     * - NVIDIA_DRIVER_CAPABILITIES takes the place of `driver_capabilities`. Unknown words are
     *   left out.
     * - NVIDIA_REQUIRE_* are further `requirements`, unless NVIDIA_DISABLE_REQUIRE is true.
     *
     * gpuctr_environment_read() reads them from an image or a configuration. NULL: none.
     * @since 0.2
     */
    const char* const* container_environment;
    /**
     * GPUCTR_COMPAT_*. The order of the loader cache decides which libraries programs find. A
     * directory in LD_LIBRARY_PATH of `container_environment` in which they find others before
     * that is a warning. @since 0.2
     */
    uint32_t compat;
    uint32_t glibc; /**< GPUCTR_GLIBC_* @since 0.2 */
    /**
     * The host's toolkit for building programs, for a container whose image has nothing at
     * /usr/local/cuda: the absolute path of a CUDA toolkit, or "auto" for /usr/local/cuda or else
     * the newest /usr/local/cuda-VERSION of those that the driver supports. It is mounted there,
     * read-only. Whoever names a directory shows the container all that is in it. A directory that
     * is no toolkit is GPUCTR_E_USAGE, and one of a CUDA that the driver does not support
     * GPUCTR_E_REQUIREMENT. With "auto" these are left out, with a finding. NULL or "": none.
     * @since 0.2
     */
    const char* toolkit;
    /**
     * With GPUCTR_GLIBC_AUTO: the program that will be run, as a path in the container or a name
     * that is looked for in PATH of `container_environment`, else of `environment`. A program that
     * would not use the host's C library, such as a static one, speaks against it. NULL or "": it
     * is not known. @since 0.2
     */
    const char* program;
} gpuctr_request;

/* clang-format off */
#define GPUCTR_REQUEST_INIT \
    { sizeof(gpuctr_request), NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, \
      NULL }
/* clang-format on */

/** Variables of a container, and what of them is not known. @since 0.2 */
typedef struct gpuctr_environment gpuctr_environment;

/**
 * Which wishes of a container for GPUs count; flags. What an image and its user want looks the same
 * in a container's environment. This one: variables such as NVIDIA_VISIBLE_DEVICES. @since 0.2
 */
#define GPUCTR_WISH_ENVIRONMENT 0x1u
/** The same, of containers with CAP_SYS_ADMIN of the host. */
#define GPUCTR_WISH_PRIVILEGED 0x2u
/** Below /var/run/nvidia-container-devices; before variables. */
#define GPUCTR_WISH_MOUNTS 0x4u
/** Images with CUDA_VERSION and no NVIDIA_*: all GPUs, if their variables count. */
#define GPUCTR_WISH_LEGACY 0x8u

/** What an OCI runtime tells a hook about a container. @since 0.2 */
typedef struct gpuctr_hook_state gpuctr_hook_state;

/**
 * Read the state that an OCI runtime gives to a hook, and config.json of the bundle that it names.
 *
 * Both are treated as hostile: documents of bounded size and depth. Nothing is executed. Of the
 * configuration, which may have 64 MiB, only what counts here is kept. One that is not understood
 * is no error, as most containers have nothing to do with GPUs: see gpuctr_hook_state_fault().
 *
 * @param text       the JSON document that the hook gets on its standard input
 * @param accepted   GPUCTR_WISH_*: the wishes of the container that count; 0: none
 * @param ret_state  freed by the caller with gpuctr_hook_state_free()
 * @return GPUCTR_E_USAGE for a state that cannot be read, or that names no bundle, and for a
 *         bundle without a file config.json
 * Privileges: none. @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_hook_state_read(const char* text, uint32_t accepted,
                                                gpuctr_hook_state** ret_state,
                                                gpuctr_error** ret_error);
/**
 * The same from the configuration of the container alone (config.json), which an engine gives to a
 * hook at the stage precreate, before there is a bundle. It names no process, and its root
 * directory may be "" or relative.
 *
 * @return GPUCTR_E_USAGE for missing arguments and unknown flags
 * Privileges: none. @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_hook_state_read_config(const char* config, uint32_t accepted,
                                                       gpuctr_hook_state** ret_state,
                                                       gpuctr_error** ret_error);
/** @since 0.2 */
GPUCTR_API void gpuctr_hook_state_free(gpuctr_hook_state* state);
/**
 * Why the configuration of the container is not understood; "" if it is. Otherwise, what this
 * object has is of what was understood before that: nothing may be set up by it. If it names a
 * vendor, the container asked for GPUs and cannot get them; if not, it may start without.
 * @since 0.2
 */
GPUCTR_API const char* gpuctr_hook_state_fault(const gpuctr_hook_state* state);
/**
 * The container's process; 0 if the runtime names none. At the stage createContainer, it may be a
 * number of the container's PID namespace, which the hook is not in. @since 0.2
 */
GPUCTR_API int32_t gpuctr_hook_state_pid(const gpuctr_hook_state* state);
/** Absolute path of its root directory, as the runtime sees it. @since 0.2 */
GPUCTR_API const char* gpuctr_hook_state_rootfs(const gpuctr_hook_state* state);
/** Absolute path of the container's bundle; "" if the state was read from a configuration.
 * @since 0.2 */
GPUCTR_API const char* gpuctr_hook_state_bundle(const gpuctr_hook_state* state);
/**
 * 1 if GPUs are named one by one, or asked for by mounts: a user wants these. 0 if a variable asks
 * for all of them, which may be the image's wish and nobody's else. @since 0.2
 */
GPUCTR_API int gpuctr_hook_state_names_gpus(const gpuctr_hook_state* state);
/** How many wishes do not count, because they are not accepted. @since 0.2 */
GPUCTR_API size_t gpuctr_hook_state_refused_count(const gpuctr_hook_state* state);
/**
 * "NVIDIA_VISIBLE_DEVICES=all of its environment", for people; belongs to the state. NULL if out of
 * range. @since 0.2
 */
GPUCTR_API const char* gpuctr_hook_state_refused_at(const gpuctr_hook_state* state, size_t index);
/** How many variables its environment has that count for a plan. @since 0.2 */
GPUCTR_API size_t gpuctr_hook_state_variable_count(const gpuctr_hook_state* state);
/**
 * NAME=VALUE, sorted by name, for gpuctr_request.container_environment; belongs to the state. NULL
 * if out of range. @since 0.2
 */
GPUCTR_API const char* gpuctr_hook_state_variable_at(const gpuctr_hook_state* state, size_t index);
/**
 * Of how many vendors it asks for GPUs or files, by variables such as NVIDIA_VISIBLE_DEVICES or by
 * mounts. @since 0.2
 */
GPUCTR_API size_t gpuctr_hook_state_vendor_count(const gpuctr_hook_state* state);
/** "nvidia"; belongs to the state. NULL if out of range. @since 0.2 */
GPUCTR_API const char* gpuctr_hook_state_vendor_at(const gpuctr_hook_state* state, size_t index);

/**
 * Read the variables that an image or a runtime gives to a container.
 *
 * Nothing is executed. In the root file system, these are files of Apptainer's and Singularity's
 * images (/.singularity.d/env) and of Charliecloud's (/ch/environment). An archive of docker or OCI
 * has them in its configuration, which counts more. All that is treated as hostile: no link leads
 * out, and nothing but regular files of bounded size is read.
 *
 * @param rootfs_fd    descriptor of the root directory (O_PATH is enough), of a file with an image,
 *                     as for gpuctr_plan_create(), or -1 for no files
 * @param text         an OCI runtime configuration (config.json) or image configuration, a shell
 *                     script of exports, or lines NAME=VALUE; or NULL. Its variables come after
 *                     those of the files. Devices that a runtime configuration names by mounts of
 *                     /dev/null below /var/run/nvidia-container-devices are
 *                     NVIDIA_VISIBLE_DEVICES here
 * @param environment  NULL-terminated NAME=VALUE list, usually `environ`, of which SINGULARITYENV_*
 *                     and, after them, APPTAINERENV_* set variables of the container; or NULL
 * @param ret_environment  freed by the caller with gpuctr_environment_free()
 * @return GPUCTR_E_USAGE for a text that cannot be read,
 *         GPUCTR_E_ROOTFS for a file that is there and cannot be read
 * Privileges: none. @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_environment_read(int rootfs_fd, const char* text,
                                                 const char* const* environment,
                                                 gpuctr_environment** ret_environment,
                                                 gpuctr_error** ret_error);
/** @since 0.2 */
GPUCTR_API void gpuctr_environment_free(gpuctr_environment* environment);
/** How many variables there are. @since 0.2 */
GPUCTR_API size_t gpuctr_environment_count(const gpuctr_environment* environment);
/** NAME=VALUE, sorted by name; belongs to the environment. NULL if out of range. @since 0.2 */
GPUCTR_API const char* gpuctr_environment_at(const gpuctr_environment* environment, size_t index);
/** What is not known, such as lines of a script. @since 0.2 */
GPUCTR_API size_t gpuctr_environment_finding_count(const gpuctr_environment* environment);
/** Belongs to the environment. @since 0.2 */
GPUCTR_API const gpuctr_finding*
gpuctr_environment_finding_at(const gpuctr_environment* environment, size_t index);

#define GPUCTR_IMAGE_SIGNED 0x1u /**< It has a signature, which nothing here checks. */
/** It has changes for its root file system too, in a partition for an overlay. */
#define GPUCTR_IMAGE_OVERLAY 0x2u

/**
 * Find the root file system, which is squashfs, in a file with an image: for a program that mounts
 * it. The file is hostile; what is returned lies within it, and begins like squashfs.
 *
 * @param fd          a regular file that is open for reading: squashfs or SIF
 * @param ret_offset  where it begins in the file
 * @param ret_size    its size
 * @param ret_flags   of GPUCTR_IMAGE_*
 * @return GPUCTR_E_ROOTFS for something that is no image, or is damaged,
 *         GPUCTR_E_REQUIREMENT for an image that is encrypted, or is none of squashfs; the error's
 *         object is "archive" for an archive of docker or OCI, which has no such place, and which
 *         functions that only look at a root file system take all the same
 * Privileges: none. @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_image_find(int fd, uint64_t* ret_offset, uint64_t* ret_size,
                                           uint32_t* ret_flags, gpuctr_error** ret_error);
/**
 * Check that nobody but root and the caller can have written an image, or put another one into its
 * place, and that nobody can while it is mounted: the kernel does not expect that a file system
 * changes by itself. For a program that has the kernel mount it.
 *
 * @param fd    the image, open
 * @param path  that led to it: its directories and links count too
 * @return GPUCTR_E_PERMISSION if others can; GPUCTR_E_USAGE if the path leads elsewhere
 * Privileges: none. @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_image_check_trust(int fd, const char* path,
                                                  gpuctr_error** ret_error);

/**
 * Decide everything that will change in a container's root file system.
 *
 * Changes nothing. Reads the root file system through rootfs_fd and treats all
 * of it as hostile: symbolic links do not lead out of it, and nothing in it is executed.
 *
 * @param host       where GPUs and files come from; may be freed afterwards
 * @param request    NULL for the defaults
 * @param rootfs_fd  descriptor of the root directory (O_PATH is enough), or -1
 *                   for a plan that shows what is needed but cannot be prepared. Since 0.2
 *                   it may be a regular file with an image, open for reading: squashfs, SIF, or an
 *                   archive of docker or OCI whose layers are plain tars. The plan cannot be
 *                   prepared then either. libsquashfs.so.1 has to be installed, but for archives.
 *                   The image is read in a child process, which can do nothing else and is gone
 *                   when the function returns, with SIGCHLD as after any fork()
 * @param ret_plan   freed by the caller with gpuctr_plan_free()
 * @return GPUCTR_E_USAGE for an unknown or ambiguous device or capability, or an
 *         invalid tree_path, mount_label or requirement,
 *         GPUCTR_E_REQUIREMENT if a requirement is not met,
 *         GPUCTR_E_NO_DEVICE if "auto" finds no GPU that may be used,
 *         GPUCTR_E_ROOTFS if the root file system cannot take the driver,
 *         GPUCTR_E_PERMISSION, also for a GPU that is not allowed
 * Privileges: none. @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_plan_create(const gpuctr_host* host, const gpuctr_request* request,
                                            int rootfs_fd, gpuctr_plan** ret_plan,
                                            gpuctr_error** ret_error);

/** @since 0.1 */
GPUCTR_API void gpuctr_plan_free(gpuctr_plan* plan);

/**
 * Check whether the chosen GPUs and their driver meet a requirement in the form of the variables
 * NVIDIA_REQUIRE_*, such as "cuda>=12.4 brand=tesla,driver>=535,driver<536".
 *
 * Blanks separate alternatives, one of which has to hold; commas join clauses, which all have to.
 * A clause compares one of four facts by =, !=, <, <=, > or >=: "cuda", the version that the driver
 * supports; "driver", its own version; "arch", the compute capability; "brand", such as "tesla",
 * by = and != only. Each chosen GPU has to meet it. Without a GPU, clauses about one hold. GPUs of
 * other vendors are not looked at. A clause about a fact that is not known is not met. An empty
 * text is always met.
 *
 * @param requirement  at most 32768 bytes of printable ASCII; may be an image's
 * @return GPUCTR_E_REQUIREMENT if it is not met: the error's message says which clause is not, and
 *         why, its object is the clause, and its hint says what would meet it;
 *         GPUCTR_E_USAGE for a malformed or unknown clause, which is the error's object
 * Privileges: none. @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_plan_check_requirement(const gpuctr_plan* plan,
                                                       const char* requirement,
                                                       gpuctr_error** ret_error);

/**
 * The plan as one JSON document, schema "gpucontainer/plan/1".
 *
 * @param ret_json  freed by the caller with gpuctr_string_free()
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_plan_to_json(const gpuctr_plan* plan, char** ret_json,
                                             gpuctr_error** ret_error);

/** The document is YAML, else JSON. */
#define GPUCTR_CDI_YAML 1u
/** Processes of containers get the groups of the device nodes. This needs version 0.7.0. */
#define GPUCTR_CDI_GROUPS 2u

/** How a specification is written. Start from GPUCTR_CDI_OPTIONS_INIT. */
typedef struct gpuctr_cdi_options {
    size_t struct_size;
    /** Version of the CDI specification, such as "0.5.0". NULL: the lowest that has it all. */
    const char* version;
    /**
     * Where this host keeps the small files that are made for containers, such as manifests of
     * OpenCL. NULL: "/var/lib/gpucontainer-cdi".
     */
    const char* files_dir;
    uint32_t flags; /**< GPUCTR_CDI_* */
    uint32_t reserved;
    /**
     * Directory of this host where gpuctr_stage() keeps the tree. Containers get the
     * libraries in it by a few mounts of its directory, where loaders search without a cache, and
     * not by one for each. What else they get stays a mount of its own. NULL or "": none.
     */
    const char* staged_tree;
    /**
     * Path of a command and its arguments, the first of which is the path again; ends with NULL.
     * It is the specification's hook "createContainer", and sets up everything but the device
     * nodes, so that there are no mounts. It cannot be combined with staged_tree. NULL: none.
     */
    const char* const* hook;
} gpuctr_cdi_options;
#define GPUCTR_CDI_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(gpuctr_cdi_options), NULL, NULL, 0, 0, NULL, NULL                                   \
    }

/**
 * The plan as a specification of the Container Device Interface, for engines such as podman,
 * containerd and Docker.
 *
 * It has a device for each name of the plan's GPUs (index, UUID, PCI address, other names) and
 * "all". It has no hook unless options name one, and no numbers of device nodes, some of which
 * differ after a reboot.
 * It does not have what depends on the GPUs of one container, because that may get several
 * devices: variables that name them, and masks of the kernel's directories.
 *
 * A specification may name files in files_dir, which have to be there before a container can
 * be started. gpuctr_plan_install_cdi() makes them; this call does not.
 *
 * @param plan          of one vendor, with GPUCTR_LAYOUT_BINDS
 * @param options       NULL for the defaults
 * @param ret_document  freed by the caller with gpuctr_string_free()
 * @return GPUCTR_E_USAGE for other plans, and if the version is unknown or too old for what
 *         the specification has, or the staged tree is missing or has nothing of the plan;
 *         GPUCTR_E_PERMISSION if others may write the staged tree; GPUCTR_E_NO_DEVICE if the plan
 *         has no GPU
 * Privileges: none. @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_plan_to_cdi(const gpuctr_plan* plan,
                                            const gpuctr_cdi_options* options, char** ret_document,
                                            gpuctr_error** ret_error);

/** Outcomes of gpuctr_plan_install_cdi(). */
#define GPUCTR_CDI_WRITTEN 0u   /**< The specification, or a file that it names, was written. */
#define GPUCTR_CDI_UNCHANGED 1u /**< All of it was there already. */

/**
 * Write the specification of gpuctr_plan_to_cdi() for engines to read, with the files that it
 * names, and a record in files_dir of what it was made from. Each file appears at once and
 * complete; directories that are missing are made.
 *
 * @param path         absolute path of the specification, which ends in ".json" or ".yaml"
 * @param options      NULL for the defaults
 * @param ret_outcome  GPUCTR_CDI_WRITTEN or GPUCTR_CDI_UNCHANGED; may be NULL
 * @return errors of gpuctr_plan_to_cdi(); GPUCTR_E_EXISTS if another specification in
 *         /etc/cdi, /var/run/cdi or the directory of path has one of the devices, or the
 *         file at path was not written by this function; GPUCTR_E_PERMISSION, also if somebody
 *         else than root and the caller can write one of the directories; GPUCTR_E_DRIVER if
 *         the plan is of a recorded host and not true of this one
 * Privileges: those to write the directories. @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_plan_install_cdi(const gpuctr_plan* plan, const char* path,
                                                 const gpuctr_cdi_options* options,
                                                 uint32_t* ret_outcome, gpuctr_error** ret_error);

/**
 * The plan as edits of an OCI runtime's configuration (config.json), for a caller that writes one:
 * one JSON document, schema "gpucontainer/oci/1".
 *
 * Its members process, mounts and linux are as in the configuration, to be added to it: variables,
 * groups, bind mounts, device nodes and rules of the device cgroup. "unset_env" names variables
 * to be taken away. "files" has the small files that have to be on the host before the container
 * is started, with their content; this call does not make them. No hook is needed. Nodes have the
 * numbers that they have now: some differ after a reboot.
 *
 * @param plan          with GPUCTR_LAYOUT_BINDS, of any number of vendors
 * @param files_dir     where this host keeps these small files, as in gpuctr_cdi_options; NULL:
 *                      "/var/lib/gpucontainer-cdi"
 * @param ret_document  freed by the caller with gpuctr_string_free()
 * @return GPUCTR_E_USAGE for other plans, and for a path that is not UTF-8
 * Privileges: none. @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_plan_to_oci(const gpuctr_plan* plan, const char* files_dir,
                                            char** ret_document, gpuctr_error** ret_error);

/**
 * An OCI runtime's configuration (config.json) with the edits of gpuctr_plan_to_oci(), or those of
 * devices of CDI (gpuctr_plan_create_from_cdi() without a root file system). Each takes
 * the place of what the configuration has under the same name: a variable, a mount of the same
 * destination, a device of the same path. A mount of one of the small files is left out unless
 * the host has the file already, with its content.
 *
 * @param config      may be hostile: a document of bounded size and depth
 * @param files_dir   as for gpuctr_plan_to_oci()
 * @param ret_config  freed by the caller with gpuctr_string_free()
 * @return errors of gpuctr_plan_to_oci(); GPUCTR_E_USAGE for a configuration that cannot be read
 * Privileges: none. @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_plan_edit_oci(const gpuctr_plan* plan, const char* config,
                                              const char* files_dir, char** ret_config,
                                              gpuctr_error** ret_error);

/** Drivers that it was made from, with the GPUs that were chosen. @since 0.2 */
GPUCTR_API size_t gpuctr_plan_driver_count(const gpuctr_plan* plan);
/** Belongs to the plan. @since 0.2 */
GPUCTR_API const gpuctr_used_driver* gpuctr_plan_driver_at(const gpuctr_plan* plan, size_t index);
/** GPUCTR_LAYOUT_* @since 0.2 */
GPUCTR_API uint32_t gpuctr_plan_layout(const gpuctr_plan* plan);
/** Directory of the container that has the driver's files; "" if there is none. @since 0.2 */
GPUCTR_API const char* gpuctr_plan_tree_path(const gpuctr_plan* plan);
/** 1 if names are created in the root file system itself. @since 0.2 */
GPUCTR_API int gpuctr_plan_writes_root(const gpuctr_plan* plan);
/** 1 with GPUCTR_REQUEST_LOCK. @since 0.2 */
GPUCTR_API int gpuctr_plan_is_locked(const gpuctr_plan* plan);
/** SELinux label of what is mounted; "" if there is none. @since 0.2 */
GPUCTR_API const char* gpuctr_plan_mount_label(const gpuctr_plan* plan);

/** What is put into the container, in this order. @since 0.1 */
GPUCTR_API size_t gpuctr_plan_item_count(const gpuctr_plan* plan);
/** Belongs to the plan. @since 0.1 */
GPUCTR_API const gpuctr_item* gpuctr_plan_item_at(const gpuctr_plan* plan, size_t index);

/**
 * "bind" (of the host: a file in the tree, a socket, or a part of a covered directory), "cover"
 * (over the image's own file), "device", "symlink", "directory", "file", "ldcache", or "mount"
 * (the tree, or an overlay of names). @since 0.1
 */
GPUCTR_API const char* gpuctr_item_kind(const gpuctr_item* item);
/**
 * Path on the host, or the target of a symbolic link. "" for a device node that is made with the
 * item's numbers and mode, as the host lacks it. @since 0.1
 */
GPUCTR_API const char* gpuctr_item_source(const gpuctr_item* item);
/** Path in the container. @since 0.1 */
GPUCTR_API const char* gpuctr_item_target(const gpuctr_item* item);
/** Mount options, comma-separated. @since 0.1 */
GPUCTR_API const char* gpuctr_item_options(const gpuctr_item* item);
/** Why it is there. @since 0.1 */
GPUCTR_API const char* gpuctr_item_reason(const gpuctr_item* item);
/** Vendor of the driver that it belongs to, "nvidia"; "" if it serves all. @since 0.1 */
GPUCTR_API const char* gpuctr_item_vendor(const gpuctr_item* item);
/** Index of the GPU that it is for (gpuctr_gpu_index()); -1: all of the vendor. @since 0.1 */
GPUCTR_API int32_t gpuctr_item_gpu(const gpuctr_item* item);

/**
 * How its name comes to be in the container: "there" (it exists; a mount covers it), "created"
 * (in its directory), "tree" (in the driver's tree, whose directories have no items of their
 * own), "overlay" (in an overlay that an earlier item mounts), "cover" (in a directory that an
 * earlier item covers another with). For a runtime that carries out the items itself. @since 0.2
 */
GPUCTR_API const char* gpuctr_item_place(const gpuctr_item* item);
/** 1 if a directory is made, bound or covered, not a file. @since 0.2 */
GPUCTR_API int gpuctr_item_is_directory(const gpuctr_item* item);
/**
 * Permission bits of a directory, file, loader cache or mount that is made. 0 for what is
 * mounted as it is on the host, and for symbolic links. @since 0.2
 */
GPUCTR_API uint32_t gpuctr_item_mode(const gpuctr_item* item);
/**
 * The bytes of a file, cover or loader cache that is generated. Not terminated. NULL if the
 * item has none, such as one with a source. Belongs to the plan. @since 0.2
 */
GPUCTR_API const void* gpuctr_item_content(const gpuctr_item* item);
/** Number of bytes at gpuctr_item_content(). @since 0.2 */
GPUCTR_API size_t gpuctr_item_content_size(const gpuctr_item* item);
/** Major number of a "device"; 0 for others. @since 0.2 */
GPUCTR_API uint32_t gpuctr_item_major(const gpuctr_item* item);
/** Minor number of a "device"; 0 for others. @since 0.2 */
GPUCTR_API uint32_t gpuctr_item_minor(const gpuctr_item* item);
/**
 * 1 for a "device" without which no GPU, or not the one that it is for, can be used; 0 for
 * others. @since 0.2
 */
GPUCTR_API int gpuctr_item_required(const gpuctr_item* item);
/**
 * Which file the source of a "bind" or "cover" was when the host was recorded. All zero for
 * others. @since 0.2
 */
GPUCTR_API gpuctr_file_id gpuctr_item_identity(const gpuctr_item* item);

/** Changes to the environment of a process in the container. @since 0.1 */
GPUCTR_API size_t gpuctr_plan_variable_count(const gpuctr_plan* plan);
/** Belongs to the plan. @since 0.1 */
GPUCTR_API const gpuctr_variable* gpuctr_plan_variable_at(const gpuctr_plan* plan, size_t index);
/** "set", "unset", "prepend" or "append"; the last two to a colon-separated list. @since 0.1 */
GPUCTR_API const char* gpuctr_variable_action(const gpuctr_variable* variable);
/** @since 0.1 */
GPUCTR_API const char* gpuctr_variable_name(const gpuctr_variable* variable);
/** @since 0.1 */
GPUCTR_API const char* gpuctr_variable_value(const gpuctr_variable* variable);
/** Vendor whose driver it is for; "" if it serves all. @since 0.2 */
GPUCTR_API const char* gpuctr_variable_vendor(const gpuctr_variable* variable);

/** A rule for the device cgroup of the container. */
typedef struct gpuctr_device_rule {
    char type;      /**< 'c' */
    char access[4]; /**< "rw", as in OCI's linux.resources.devices; terminated. */
    uint32_t major; /**< Major number. */
    uint32_t minor; /**< Minor number. */
} gpuctr_device_rule;

/** Devices that the container's device cgroup has to allow. @since 0.1 */
GPUCTR_API size_t gpuctr_plan_device_rule_count(const gpuctr_plan* plan);
/** Belongs to the plan. @since 0.1 */
GPUCTR_API const gpuctr_device_rule* gpuctr_plan_device_rule_at(const gpuctr_plan* plan,
                                                                size_t index);

/** Additional groups that a process needs to open the device nodes. @since 0.1 */
GPUCTR_API size_t gpuctr_plan_group_count(const gpuctr_plan* plan);
/** Numeric group of the host; UINT32_MAX out of range. @since 0.1 */
GPUCTR_API uint32_t gpuctr_plan_group_at(const gpuctr_plan* plan, size_t index);

/**
 * What was left out, what the caller must add to the container ("container_need"), and what
 * will not work although the plan can be applied. @since 0.1
 */
GPUCTR_API size_t gpuctr_plan_finding_count(const gpuctr_plan* plan);
/** Belongs to the plan. @since 0.1 */
GPUCTR_API const gpuctr_finding* gpuctr_plan_finding_at(const gpuctr_plan* plan, size_t index);

/* -- Why a container gets something, or does not --------------------------- */

/**
 * What a plan does with what a name stands for, and why: which file of the host the container gets
 * under which names, which other copies there are on the host and in the image, why they do not
 * count, and what would change that.
 *
 * A name is a library's soname, or the beginning of it up to ".so", the name or path of a library
 * or tool, a device node with or without "/dev/", a GPU in the words of gpuctr_request, or an
 * unambiguous beginning of a name. If several things have the name, such as libraries for 64-bit
 * and 32-bit programs, there are several answers.
 *
 * The host's files are looked at again, unless the plan is for a recorded host. Nothing is
 * changed, executed or opened but regular files.
 *
 * @param rootfs_fd        borrowed; the root that the plan was made for, or -1
 * @param ret_explanation  freed by the caller with gpuctr_explanation_free(); valid without the
 * plan
 * @return GPUCTR_E_USAGE if nothing has the name, or several things begin with it, with a hint that
 *         says what is similar; GPUCTR_E_ROOTFS if the root cannot be read
 * @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_plan_explain(const gpuctr_plan* plan, const char* name,
                                             int rootfs_fd, gpuctr_explanation** ret_explanation,
                                             gpuctr_error** ret_error);
/** NULL is allowed. @since 0.2 */
GPUCTR_API void gpuctr_explanation_free(gpuctr_explanation* explanation);
/**
 * The explanation as JSON, schema "gpucontainer/why/1".
 *
 * @param ret_json  freed by the caller with gpuctr_string_free()
 * @return GPUCTR_OK, or GPUCTR_E_INTERNAL
 * @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_explanation_to_json(const gpuctr_explanation* explanation,
                                                    char** ret_json, gpuctr_error** ret_error);
/** Things that have the name; at least one. @since 0.2 */
GPUCTR_API size_t gpuctr_explanation_answer_count(const gpuctr_explanation* explanation);
/** Belongs to the explanation. NULL out of range. @since 0.2 */
GPUCTR_API const gpuctr_answer* gpuctr_explanation_answer_at(const gpuctr_explanation* explanation,
                                                             size_t index);
/** "library", "tool", "data", "node", "gpu", or "shared" for a socket and the like. @since 0.2 */
GPUCTR_API const char* gpuctr_answer_kind(const gpuctr_answer* answer);
/** "libexample.so.1", "/dev/example0", the label of a GPU. @since 0.2 */
GPUCTR_API const char* gpuctr_answer_name(const gpuctr_answer* answer);
/** Vendor whose driver has it. @since 0.2 */
GPUCTR_API const char* gpuctr_answer_vendor(const gpuctr_answer* answer);
/** 1 if the container gets it. @since 0.2 */
GPUCTR_API int gpuctr_answer_is_given(const gpuctr_answer* answer);
/** On the host; a GPU's PCI address or UUID. "" if the host does not have it. @since 0.2 */
GPUCTR_API const char* gpuctr_answer_path(const gpuctr_answer* answer);
/** Why it is given, or why it is not, in one line for people. @since 0.2 */
GPUCTR_API const char* gpuctr_answer_reason(const gpuctr_answer* answer);
/** Driver capability that it is a part of, such as "compute"; "none": all. @since 0.2 */
GPUCTR_API const char* gpuctr_answer_capability(const gpuctr_answer* answer);
/** The plan's items by which the container gets it. @since 0.2 */
GPUCTR_API size_t gpuctr_answer_item_count(const gpuctr_answer* answer);
/** Belongs to the explanation. NULL out of range. @since 0.2 */
GPUCTR_API const gpuctr_item* gpuctr_answer_item_at(const gpuctr_answer* answer, size_t index);
/**
 * Others of this name, on the host and in the image, and why they do not count; of a node or GPU,
 * what stands in its way. Each has its path as evidence. @since 0.2
 */
GPUCTR_API size_t gpuctr_answer_finding_count(const gpuctr_answer* answer);
/** Belongs to the explanation. NULL out of range. @since 0.2 */
GPUCTR_API const gpuctr_finding* gpuctr_answer_finding_at(const gpuctr_answer* answer,
                                                          size_t index);
/** What would change it, each in one line for people. Options are those of gpuctr-setup.
 * @since 0.2 */
GPUCTR_API size_t gpuctr_answer_remedy_count(const gpuctr_answer* answer);
/** NULL out of range. @since 0.2 */
GPUCTR_API const char* gpuctr_answer_remedy_at(const gpuctr_answer* answer, size_t index);

/* -- Apply and undo ------------------------------------------------------- */

/**
 * How mounts are made. GPUCTR_BACKEND_AUTO takes the first of the others that the kernel
 * supports. To choose one is for tests and for narrowing down a fault. If the kernel does not
 * support it, it is GPUCTR_E_REQUIREMENT.
 */
#define GPUCTR_BACKEND_AUTO 0u
#define GPUCTR_BACKEND_DETACHED 1u /**< Linux 6.15: the tree is built detached. */
/** Linux 5.12: a short-lived child builds the tree in a private namespace; it is cloned. */
#define GPUCTR_BACKEND_ASSEMBLED 2u
/**
 * From Linux 4.18, also if a seccomp filter forbids the system calls of the others. There are no
 * detached mounts: they are first made on a private tmpfs below the state directory, then
 * moved. Only gpuctr_plan_apply() works, and only in the caller's mount namespace. @since 0.1
 */
#define GPUCTR_BACKEND_LEGACY 3u

/** Work in the mount namespace of the process that `pidfd` refers to. */
#define GPUCTR_APPLY_IN_PROCESS 0x1u
/**
 * The caller is a program that is setuid, setgid or has file capabilities, and it has checked
 * that its user may have what is asked for.
 */
#define GPUCTR_APPLY_SETUID 0x2u
/**
 * Keep no journal. The set-up lasts until the caller's mount namespace ends; it cannot be
 * undone before. It works like prepare and attach, but on every kernel. The mount of the root
 * directory must not be shared, and the root must not be the caller's own. Names that the
 * plan creates in the root file system stay, and the loader cache that it replaces is lost. So plan
 * with GPUCTR_WRITE_NEVER, unless the root is a layer that goes with the container. Applied to such
 * a layer again, it changes nothing in it. It cannot be combined with GPUCTR_APPLY_IN_PROCESS.
 *
 * Nothing is replaced: another set-up of the root in this mount namespace, or one with a journal,
 * is GPUCTR_E_EXISTS. If just this plan is set up there, that is GPUCTR_UNCHANGED.
 * Set-ups with a journal are found in `state_dir`, if that can be used. Others are found by
 * their mounts, which may also be copies of those of another mount namespace. If another
 * operation with the same `state_dir` works on the root for more than two seconds, it is
 * GPUCTR_E_APPLY. @since 0.1
 */
#define GPUCTR_APPLY_WITHOUT_JOURNAL 0x4u
/**
 * Do not replace another set-up of the same root that may be in use: GPUCTR_E_EXISTS. A set-up
 * may be in use if it was completed, nobody began to undo it, and its mounts are in this mount
 * namespace, even if a part of it is missing. A set-up that already is what the plan wants is
 * not another one. @since 0.1
 */
#define GPUCTR_APPLY_NO_REPLACE 0x8u
/**
 * The mount namespace was made for this call, so set-ups in it are copies that nobody else
 * uses. They are no error; the new set-up is mounted over them. Only with
 * GPUCTR_APPLY_WITHOUT_JOURNAL. @since 0.1
 */
#define GPUCTR_APPLY_OVER_COPIES 0x10u
/**
 * Change nothing: only tell what gpuctr_plan_apply() would do. The outcome and the errors are
 * those of the call without this flag, as far as they are known without changing anything. What
 * the kernel says to a mount is not. With GPUCTR_REPLACED, the set-ups that would be undone first
 * are those of gpuctr_setup_list_open() with the origin "here", "namespace_gone" or
 * "earlier_boot". @since 0.2
 */
#define GPUCTR_APPLY_DRY_RUN 0x20u

/**
 * Called once for each finding about what was done that a person should know. It is called on
 * the calling thread as the last step of a call, even if the call fails. The finding is valid
 * until the function returns. The function must return and must not throw. A finding may
 * contain names from the container. @since 0.1
 */
typedef void (*gpuctr_report)(void* report_data, const gpuctr_finding* finding);

/** How to apply. Start from GPUCTR_APPLY_OPTIONS_INIT. */
typedef struct gpuctr_apply_options {
    size_t struct_size; /**< sizeof(gpuctr_apply_options) in the caller. */
    /**
     * Directory of the journals, created if it is missing. A relative path begins at the
     * working directory. It must be trusted as in gpuctr_config_open(), or it is
     * GPUCTR_E_PERMISSION. Its path must not lead through the root directory, by any link or
     * mount, or it is GPUCTR_E_USAGE. NULL: "/var/lib/gpucontainer".
     */
    const char* state_dir;
    uint32_t flags; /**< GPUCTR_APPLY_* */
    /**
     * With GPUCTR_APPLY_IN_PROCESS: a process of the container. rootfs_fd is then its root
     * directory, opened through /proc/PID/root. The mount of that directory must not be
     * shared. Linux 5.8.
     *
     * The thread: the host's files are taken from the caller's mount namespace. For the rest
     * of the call, the calling thread is in the mount namespace of the process; it keeps its
     * own root and working directory, and returns at the end. It must share its working
     * directory with no other thread (unshare(CLONE_FS)), so make the call on a thread of its
     * own, unless the process has only one. The thread cannot return if it lost CAP_SYS_ADMIN
     * or CAP_SYS_CHROOT meanwhile, or if a security module forbids it. It is then left in
     * the namespace of the process, and the call returns GPUCTR_E_APPLY or its earlier error.
     * What was set up stays for gpuctr_rootfs_undo().
     *
     * Ids: apply and undo work in the root as root (id 0) of the process's user namespace,
     * with its file system ids, without supplementary groups and without capabilities over
     * files. New names belong to that root. If it is not the caller, this needs CAP_SETUID,
     * CAP_SETGID, and CAP_SYS_PTRACE to read /proc/PID. The thread's ids, groups and
     * capabilities are restored. If the caller's user namespace has no id for that root, it is
     * GPUCTR_E_ROOTFS. Without GPUCTR_APPLY_IN_PROCESS, new names belong to the caller's file
     * system ids.
     *
     * Device cgroups: gpuctr_plan_apply() asks those of the process whether they allow the
     * plan's nodes, and gpuctr_setup_list_open() whether they still do. If the caller is in
     * other cgroups, a short-lived child process in those of the process asks the kernel,
     * without opening a node. It costs as much as a fork of the caller, raises no SIGCHLD, and
     * is ended after a second. If a node is forbidden that all GPUs or one of them need, it is
     * GPUCTR_E_PERMISSION before anything is changed. In cgroup version 1, missing rules are
     * added if the caller has CAP_SYS_ADMIN in the initial user namespace; undo removes them.
     * What cannot be found out is reported.
     */
    int32_t pidfd;
    gpuctr_report report; /**< NULL: findings are not reported. */
    void* report_data;    /**< Passed to `report`. */
    /**
     * Directory of the host in which gpuctr_plan_stage() may have staged a tree, an absolute
     * path without "..". The tree is cloned if it has exactly the plan's files; otherwise it
     * is not used. NULL or "": none.
     */
    const char* staged_tree;
    uint32_t backend;  /**< GPUCTR_BACKEND_* */
    uint32_t reserved; /**< Must be zero. */
} gpuctr_apply_options;

/* clang-format off */
#define GPUCTR_APPLY_OPTIONS_INIT                                                                  \
    { sizeof(gpuctr_apply_options), NULL, 0, -1, NULL, NULL, NULL, 0, 0 }
/* clang-format on */

#define GPUCTR_APPLIED 0u   /**< The plan was applied. */
#define GPUCTR_UNCHANGED 1u /**< All of it was there already; nothing was changed. */
#define GPUCTR_REPLACED 2u  /**< An older set-up was undone first. */

/**
 * Apply a plan to a root file system in the caller's mount namespace. It prepares and
 * attaches in one call, and keeps a journal for gpuctr_rootfs_undo().
 *
 * All or nothing: on failure nothing of the plan is left. If the root directory is not a mount
 * point, or its mount is shared, it is first bind mounted on itself with private propagation,
 * so that nothing shows outside. To see the mounts, open the directory by its path again. For
 * this function, gpuctr_rootfs_undo() and gpuctr_setup_list_open(), a descriptor from before
 * still refers to the same root. If an older set-up is replaced, or went away since the plan
 * was made, the plan is made again for the root as it then is.
 *
 * @param plan         made for this root file system
 * @param rootfs_fd    descriptor of the root directory
 * @param options      NULL for the defaults
 * @param ret_outcome  may be NULL; GPUCTR_APPLIED, GPUCTR_UNCHANGED or
 *                     GPUCTR_REPLACED
 * @return GPUCTR_E_PERMISSION without CAP_SYS_ADMIN in the user namespace that
 *         owns the mount namespace, GPUCTR_E_ROOTFS if a target is not what
 *         was planned or another directory is mounted over the root,
 *         GPUCTR_E_NO_DEVICE if no kernel driver is loaded, GPUCTR_E_APPLY,
 *         GPUCTR_E_EXISTS for another set-up, with GPUCTR_APPLY_NO_REPLACE or
 *         GPUCTR_APPLY_WITHOUT_JOURNAL
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_plan_apply(const gpuctr_plan* plan, int rootfs_fd,
                                           const gpuctr_apply_options* options,
                                           uint32_t* ret_outcome, gpuctr_error** ret_error);

/**
 * Let a container use the plan's device nodes, by the device cgroups of a process of it.
 *
 * For a hook, after which the container starts: gpuctr_plan_apply() with GPUCTR_APPLY_IN_PROCESS
 * does this for a running one. With version 1 of cgroups, rules are added. With version 2, each
 * program that forbids a node is replaced by one that has all rules, at once: the runtime's, as the
 * bundle says them, and those for the plan. That concerns the group and a scope of systemd which
 * holds this group alone. A group that is the caller's own is left alone. After an error all is as
 * it was; otherwise nothing is undone, and the rules go with the group.
 *
 * @param rootfs_fd  descriptor of the container's root directory
 * @param pidfd      a process of the container
 * @param bundle     absolute path of the directory with the OCI runtime's config.json, which is
 *                   treated as hostile; NULL: none is known
 * @return GPUCTR_E_PERMISSION, without CAP_SYS_ADMIN in the initial user namespace, if a group
 *         above forbids a device, or if others than root and the caller could have written the
 *         configuration; GPUCTR_E_REQUIREMENT if a program's rules are not known or it cannot be
 *         replaced; GPUCTR_E_USAGE if the bundle is that of another root directory, lies within
 *         that, or cannot be read; GPUCTR_E_ROOTFS if the process has ended
 * @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_plan_allow_devices(const gpuctr_plan* plan, int rootfs_fd,
                                                   int pidfd, const char* bundle,
                                                   gpuctr_error** ret_error);

/** Like GPUCTR_APPLY_IN_PROCESS. */
#define GPUCTR_UNDO_IN_PROCESS 0x1u
/** Like GPUCTR_APPLY_SETUID. */
#define GPUCTR_UNDO_SETUID 0x2u
/**
 * Change nothing: only tell what gpuctr_rootfs_undo() or gpuctr_setup_undo() would do, as
 * GPUCTR_APPLY_DRY_RUN does. What would be taken away is in gpuctr_setup_item_at(). @since 0.2
 */
#define GPUCTR_UNDO_DRY_RUN 0x4u

/** How to undo. Start from GPUCTR_UNDO_OPTIONS_INIT. Fields are as in gpuctr_apply_options. */
typedef struct gpuctr_undo_options {
    size_t struct_size;    /**< sizeof(gpuctr_undo_options) in the caller. */
    const char* state_dir; /**< Directory of the journals. NULL: "/var/lib/gpucontainer". */
    uint32_t flags;        /**< GPUCTR_UNDO_* */
    int32_t pidfd;         /**< With GPUCTR_UNDO_IN_PROCESS: a process of the container. */
    gpuctr_report report;  /**< NULL: findings are not reported. */
    void* report_data;     /**< Passed to `report`. */
} gpuctr_undo_options;

/* clang-format off */
#define GPUCTR_UNDO_OPTIONS_INIT { sizeof(gpuctr_undo_options), NULL, 0, -1, NULL, NULL }
/* clang-format on */

/**
 * Undo what gpuctr_plan_apply() did in a root file system, and only that.
 *
 * Mounts, files and links that are not ours, or are no longer as we left them, stay. It is no
 * error if a reboot or somebody else removed ours already.
 *
 * @param rootfs_fd  descriptor of the root directory
 * @param options    NULL for the defaults
 * @param ret_found  may be NULL; 1 if there was something to undo, else 0
 * @return GPUCTR_E_PERMISSION, GPUCTR_E_APPLY if something of ours could not be removed, or
 *         another mount covers all of it; it stays in the journal for the next attempt
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_rootfs_undo(int rootfs_fd, const gpuctr_undo_options* options,
                                            int* ret_found, gpuctr_error** ret_error);

/**
 * Open a path in a root file system as this library does: an absolute symbolic link begins
 * at the root directory, and nothing leads out of it. It uses openat2(). If the kernel lacks
 * that or a seccomp filter forbids it, it walks the path with the same result.
 *
 * @param rootfs_fd  descriptor of the root directory
 * @param path       begins at that directory, whether absolute or relative
 * @param flags      of open(2), without O_CREAT and O_TMPFILE; O_CLOEXEC is added
 * @param ret_fd     the descriptor; the caller closes it
 * @return GPUCTR_E_ROOTFS if it cannot be opened, with errno as the reason,
 *         GPUCTR_E_PERMISSION, GPUCTR_E_USAGE
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_rootfs_open(int rootfs_fd, const char* path, int flags, int* ret_fd,
                                            gpuctr_error** ret_error);

/* -- Check: whether GPU programs will work ---------------------------------- */

/**
 * The container of `pidfd` is looked at as it is, whoever set it up, and whether its device cgroups
 * allow the GPUs. Without this flag, it is looked at as gpuctr_plan_apply() would leave it. The
 * calling thread joins no namespace. @since 0.2
 */
#define GPUCTR_CHECK_IN_PROCESS 0x1u

/** What a diagnosis is about. Start from GPUCTR_CHECK_OPTIONS_INIT. @since 0.2 */
typedef struct gpuctr_check_options {
    size_t struct_size; /**< sizeof(gpuctr_check_options) in the caller. */
    uint32_t flags;     /**< GPUCTR_CHECK_* */
    int32_t pidfd;      /**< With GPUCTR_CHECK_IN_PROCESS: a process whose root is `rootfs_fd`. */
    /** How to look at this host. A vendor that is asked for and cannot be used is a finding, not
        an error. NULL: the defaults. */
    const gpuctr_host_options* host;
    /** A host of gpuctr_host_from_json(), in place of this one. Of it, only the record is known.
        NULL: this host. */
    const gpuctr_host* record;
    /** As for a plan. Its `container_environment` is the environment of the program. What cannot be
        granted is a finding. NULL: the defaults. */
    const gpuctr_request* request;
    /** The program that will run in the root file system: a path there, or a name that is looked
        for in the directories of its PATH. NULL or "": none is known. */
    const char* program;
} gpuctr_check_options;

/* clang-format off */
#define GPUCTR_CHECK_OPTIONS_INIT { sizeof(gpuctr_check_options), 0, -1, NULL, NULL, NULL, NULL }
/* clang-format on */

/**
 * Find out whether GPU programs will work, and why not.
 *
 * Reads what gpuctr_host_open() and gpuctr_plan_create() read, and headers of the program and its
 * libraries. Changes nothing, executes nothing and opens no device node, so it wakes no GPU.
 *
 * @param options    NULL for the defaults
 * @param rootfs_fd  descriptor of the container's root directory, set up or not, or of a file with
 *                   an image, as for gpuctr_plan_create(); -1: the host
 *                   alone
 * @param ret_check  freed by the caller with gpuctr_check_free()
 * @return GPUCTR_E_USAGE for a request that has no meaning, GPUCTR_E_ROOTFS if the root cannot be
 *         read. What keeps programs from working is no error of this function: it is a finding.
 * Privileges: none; what the caller may not use is a finding too. @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_check_create(const gpuctr_check_options* options, int rootfs_fd,
                                             gpuctr_check** ret_check, gpuctr_error** ret_error);

/** @since 0.2 */
GPUCTR_API void gpuctr_check_free(gpuctr_check* check);

/**
 * The diagnosis as one JSON document, schema "gpucontainer/check/1".
 *
 * @param ret_json  freed by the caller with gpuctr_string_free()
 * @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_check_to_json(const gpuctr_check* check, char** ret_json,
                                              gpuctr_error** ret_error);

/**
 * The reasons why programs will not work, or may not, in the order in which a person should deal
 * with them: what stops all programs first. An error stops the program, or all if none is named; a
 * warning may stop it, or stops others or takes some of the GPUs; a note is settled by setting up.
 * @since 0.2
 */
GPUCTR_API size_t gpuctr_check_finding_count(const gpuctr_check* check);
/** Belongs to the check. @since 0.2 */
GPUCTR_API const gpuctr_finding* gpuctr_check_finding_at(const gpuctr_check* check, size_t index);

/* -- Status: what is set up ----------------------------------------------- */

/** Like GPUCTR_APPLY_IN_PROCESS. */
#define GPUCTR_SETUP_LIST_IN_PROCESS 0x1u

/** Where to look. Start from GPUCTR_SETUP_LIST_OPTIONS_INIT. */
typedef struct gpuctr_setup_list_options {
    size_t struct_size;    /**< sizeof(gpuctr_setup_list_options) in the caller. */
    const char* state_dir; /**< Directory of the journals. NULL: "/var/lib/gpucontainer". */
    uint32_t flags;        /**< GPUCTR_SETUP_LIST_* */
    int32_t pidfd;         /**< As in gpuctr_apply_options. */
} gpuctr_setup_list_options;

/* clang-format off */
#define GPUCTR_SETUP_LIST_OPTIONS_INIT { sizeof(gpuctr_setup_list_options), NULL, 0, -1 }
/* clang-format on */

/**
 * List the set-ups that gpuctr_plan_apply() made, and check whether they still fit.
 *
 * Reads the journals and compares each with the root file system, the mounts of this mount
 * namespace, the boot and the loaded kernel module. Changes nothing. Waits while an apply or
 * undo of the same root is under way. With rootfs_fd -1 it waits at most half a minute for
 * each root; the set-ups of a root that stays locked have the finding "locked".
 *
 * @param rootfs_fd   descriptor of a root directory, for its set-ups in all mount
 *                    namespaces; -1: all set-ups in the journal directory
 * @param options     NULL for the defaults
 * @param ret_list    sorted by path and age; freed by the caller with
 *                    gpuctr_setup_list_free()
 * @return GPUCTR_E_PERMISSION if the journals may not be read, GPUCTR_E_USAGE
 * Privileges: those to read the journals; CAP_SYS_ADMIN and CAP_SYS_CHROOT with
 * GPUCTR_SETUP_LIST_IN_PROCESS. @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_setup_list_open(int rootfs_fd,
                                                const gpuctr_setup_list_options* options,
                                                gpuctr_setup_list** ret_list,
                                                gpuctr_error** ret_error);

/** @since 0.1 */
GPUCTR_API void gpuctr_setup_list_free(gpuctr_setup_list* list);

/**
 * The set-ups as one JSON document, schema "gpucontainer/status/1".
 *
 * @param ret_json  freed by the caller with gpuctr_string_free()
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_setup_list_to_json(const gpuctr_setup_list* list, char** ret_json,
                                                   gpuctr_error** ret_error);

/** @since 0.1 */
GPUCTR_API size_t gpuctr_setup_list_count(const gpuctr_setup_list* list);
/** Belongs to the list. @since 0.1 */
GPUCTR_API const gpuctr_setup* gpuctr_setup_list_at(const gpuctr_setup_list* list, size_t index);

/**
 * Path that the root had when it was set up. "" if it is the root of a process; when the mount
 * namespace of that is gone, the path at which the root is still visible. @since 0.1
 */
GPUCTR_API const char* gpuctr_setup_root(const gpuctr_setup* setup);
/**
 * Where it was made: "here" (the caller's mount namespace), "another_mount" (there too, but on
 * another mount of the same directory), "another_namespace", "namespace_gone" or
 * "earlier_boot". @since 0.1
 */
GPUCTR_API const char* gpuctr_setup_origin(const gpuctr_setup* setup);
/** Inode number of its mount namespace, as in /proc/PID/ns/mnt. @since 0.1 */
GPUCTR_API uint64_t gpuctr_setup_mount_namespace(const gpuctr_setup* setup);
/**
 * If it is in another mount namespace: the pid of a process there, the lowest that the caller
 * may inspect, in the caller's pid namespace. 0: none is known. @since 0.1
 */
GPUCTR_API int32_t gpuctr_setup_process(const gpuctr_setup* setup);
/** Drivers that it was made from; none if the journal is damaged. @since 0.1 */
GPUCTR_API size_t gpuctr_setup_driver_count(const gpuctr_setup* setup);
/** Belongs to the list. @since 0.1 */
GPUCTR_API const gpuctr_used_driver* gpuctr_setup_driver_at(const gpuctr_setup* setup,
                                                            size_t index);
/**
 * "nvidia". Of gpuctr_plan_create_from_cdi(): the kind of the devices, "nvidia.com/gpu"; it has no
 * version, and the UUIDs of its GPUs are the names of the devices. @since 0.1
 */
GPUCTR_API const char* gpuctr_used_driver_vendor(const gpuctr_used_driver* driver);
/** Version of the driver when the plan or set-up was made. @since 0.1 */
GPUCTR_API const char* gpuctr_used_driver_version(const gpuctr_used_driver* driver);
/** Its GPUs that the plan or set-up has, as they were then. @since 0.1 */
GPUCTR_API size_t gpuctr_used_driver_gpu_count(const gpuctr_used_driver* driver);
/** Belongs to the plan or list. @since 0.1 */
GPUCTR_API const gpuctr_gpu* gpuctr_used_driver_gpu_at(const gpuctr_used_driver* driver,
                                                       size_t index);
/**
 * As gpuctr_driver_version_source(). "" for a driver of a set-up, whose journal does not have
 * it. @since 0.2
 */
GPUCTR_API const char* gpuctr_used_driver_version_source(const gpuctr_used_driver* driver);
/** Path of the driver's files in the container; "" if there are none. @since 0.1 */
GPUCTR_API const char* gpuctr_setup_tree_path(const gpuctr_setup* setup);
/** When it was made, in seconds since 1970. @since 0.1 */
GPUCTR_API int64_t gpuctr_setup_since(const gpuctr_setup* setup);
/** 1 if names were created in the root file system itself. @since 0.1 */
GPUCTR_API int gpuctr_setup_writes_root(const gpuctr_setup* setup);

/**
 * Mounts and names that undo takes away, in the order in which they were made; none if the journal
 * is damaged, or in use by another process. What a finding "part_missing" is about is not among
 * them: undo leaves it, or cannot reach it. Mounts of an ended namespace or an earlier boot are
 * gone already, and not among them.
 *
 * A journal has less than a plan. What it lacks is "", NULL, 0 or -1: the source of the mount of a
 * file or device node; the bytes of a loader cache or cover, and whether a cover is a directory;
 * the mode of an overlay; the number of a device, and whether it is required; reasons, vendors and
 * GPUs. @since 0.2
 */
GPUCTR_API size_t gpuctr_setup_item_count(const gpuctr_setup* setup);
/** Belongs to the list. @since 0.2 */
GPUCTR_API const gpuctr_item* gpuctr_setup_item_at(const gpuctr_setup* setup, size_t index);

/** What no longer fits; 0 if the set-up is as it was made. @since 0.1 */
GPUCTR_API size_t gpuctr_setup_finding_count(const gpuctr_setup* setup);
/** Belongs to the list. @since 0.1 */
GPUCTR_API const gpuctr_finding* gpuctr_setup_finding_at(const gpuctr_setup* setup, size_t index);

#define GPUCTR_UNDONE 0u    /**< Nothing of it is left. */
#define GPUCTR_FORGOTTEN 1u /**< Its root is gone; the journal was removed. */
#define GPUCTR_LEFT 2u      /**< In use elsewhere, or out of reach from here. */

/**
 * Undo one set-up at the path in its journal. That path must still lead to the same directory;
 * otherwise the directory is looked for at its place in the same file system. If the file
 * system says that the directory is gone, nothing is left of the set-up and its journal is
 * removed.
 *
 * @param options      NULL for the defaults; GPUCTR_UNDO_IN_PROCESS is GPUCTR_E_USAGE
 * @param ret_outcome  may be NULL; GPUCTR_UNDONE, GPUCTR_FORGOTTEN or GPUCTR_LEFT
 * @return as gpuctr_rootfs_undo()
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_setup_undo(const gpuctr_setup* setup,
                                           const gpuctr_undo_options* options,
                                           uint32_t* ret_outcome, gpuctr_error** ret_error);

/* -- Prepare and attach ---------------------------------------------------- */

/**
 * Like GPUCTR_APPLY_SETUID. The prepared object keeps it, because the caller of
 * gpuctr_prepared_attach() may be such a program too.
 */
#define GPUCTR_PREPARE_SETUID 0x1u

/** How to prepare. Start from GPUCTR_PREPARE_OPTIONS_INIT. */
typedef struct gpuctr_prepare_options {
    size_t struct_size;      /**< sizeof(gpuctr_prepare_options) in the caller. */
    uint32_t flags;          /**< GPUCTR_PREPARE_* */
    uint32_t backend;        /**< GPUCTR_BACKEND_* */
    const char* staged_tree; /**< As in gpuctr_apply_options. NULL or "": none. */
} gpuctr_prepare_options;

/* clang-format off */
#define GPUCTR_PREPARE_OPTIONS_INIT { sizeof(gpuctr_prepare_options), 0, 0, NULL }
/* clang-format on */

/**
 * Turn a plan into detached mounts of the host's files as the caller sees them.
 *
 * Nothing changes yet; to roll back, free the object. On Linux 5.12 to 6.14
 * (GPUCTR_BACKEND_ASSEMBLED) it starts one short-lived child process and waits for it. The
 * child raises no SIGCHLD.
 *
 * @param plan          made with a rootfs_fd
 * @param options       NULL for the defaults
 * @param ret_prepared  freed by the caller with gpuctr_prepared_free()
 * @return GPUCTR_E_PERMISSION without CAP_SYS_ADMIN in the user namespace that
 *         owns the mount namespace, GPUCTR_E_DRIVER if a file is no longer
 *         the one that was planned, GPUCTR_E_NO_DEVICE if no kernel driver is
 *         loaded, GPUCTR_E_REQUIREMENT if there are no detached mounts
 *         (GPUCTR_BACKEND_LEGACY): use gpuctr_plan_apply() instead
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_plan_prepare(const gpuctr_plan* plan,
                                             const gpuctr_prepare_options* options,
                                             gpuctr_prepared** ret_prepared,
                                             gpuctr_error** ret_error);

/** Like GPUCTR_APPLY_SETUID. */
#define GPUCTR_STAGE_SETUID 0x1u

/** How to stage and to unstage. Start from GPUCTR_STAGE_OPTIONS_INIT. */
typedef struct gpuctr_stage_options {
    size_t struct_size; /**< sizeof(gpuctr_stage_options) in the caller. */
    uint32_t flags;     /**< GPUCTR_STAGE_* */
    uint32_t backend;   /**< GPUCTR_BACKEND_*; GPUCTR_BACKEND_AUTO to unstage. */
} gpuctr_stage_options;

/* clang-format off */
#define GPUCTR_STAGE_OPTIONS_INIT { sizeof(gpuctr_stage_options), 0, 0 }
/* clang-format on */

#define GPUCTR_STAGED 0u          /**< The tree was mounted. */
#define GPUCTR_STAGE_UNCHANGED 1u /**< It was there already. */
#define GPUCTR_STAGE_REPLACED 2u  /**< A tree of other files was unmounted first. */

/**
 * Mount a plan's driver tree once, in a directory of the host: at boot, or in a scheduler's
 * prolog. Apply and prepare then name the directory as `staged_tree`, and clone the tree with
 * one system call instead of building it. A plan uses the tree only if it has exactly the
 * plan's files: not after a driver update, and not for other capabilities.
 *
 * The tree is read-only. It is mounted in the caller's mount namespace, and propagates to
 * others as any mount there does. Containers keep their clones if the tree is replaced or
 * unmounted.
 *
 * @param plan         any plan with driver files; its root file system does not
 *                     matter
 * @param directory    absolute path without ".."; created with mode 0755 if it is missing. It
 *                     must belong to root or to the user of later set-ups
 * @param options      NULL for the defaults
 * @param ret_outcome  may be NULL; GPUCTR_STAGED, GPUCTR_STAGE_UNCHANGED or
 *                     GPUCTR_STAGE_REPLACED
 * @return GPUCTR_E_PERMISSION without CAP_SYS_ADMIN in the user namespace that
 *         owns the mount namespace, GPUCTR_E_DRIVER if a file is no longer the
 *         one that was planned, GPUCTR_E_USAGE
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_plan_stage(const gpuctr_plan* plan, const char* directory,
                                           const gpuctr_stage_options* options,
                                           uint32_t* ret_outcome, gpuctr_error** ret_error);

/**
 * Unmount the tree that gpuctr_plan_stage() mounted in a directory. Remove the directory and
 * those above it, if gpuctr_plan_stage() created them and they are empty.
 *
 * @param directory  absolute path without ".."
 * @param options    NULL for the defaults
 * @param ret_found  may be NULL; 0 if no such tree was there
 * @return GPUCTR_E_PERMISSION without CAP_SYS_ADMIN in the user namespace that
 *         owns the mount namespace, GPUCTR_E_USAGE
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_unstage(const char* directory, const gpuctr_stage_options* options,
                                        int* ret_found, gpuctr_error** ret_error);

/** Close its descriptors; what was attached stays. @since 0.1 */
GPUCTR_API void gpuctr_prepared_free(gpuctr_prepared* prepared);

/** Descriptors to pass on with SCM_RIGHTS, in this order. @since 0.1 */
GPUCTR_API size_t gpuctr_prepared_fd_count(const gpuctr_prepared* prepared);
/** Still belongs to the object; -1 if out of range. @since 0.1 */
GPUCTR_API int gpuctr_prepared_fd_at(const gpuctr_prepared* prepared, size_t index);
/** Bytes to pass on together with the descriptors; valid until the next boot. @since 0.1 */
GPUCTR_API const void* gpuctr_prepared_data(const gpuctr_prepared* prepared);
/** Number of bytes at gpuctr_prepared_data(). @since 0.1 */
GPUCTR_API size_t gpuctr_prepared_size(const gpuctr_prepared* prepared);

/**
 * Make a prepared object from the bytes of gpuctr_prepared_data() and the descriptors of
 * gpuctr_prepared_fd_at().
 *
 * Allocates nothing: the object is in the buffer, which must outlive it. Safe between clone
 * and exec of a threaded process.
 *
 * The bytes say what will be mounted and written in the root. Accept them only from a
 * process that has the privileges of this one.
 *
 * @param buffer    the bytes, aligned for uint64_t; taken over until
 *                  gpuctr_prepared_free()
 * @param fds       the descriptors in the same order; taken over on success
 * @return the object, or NULL if the bytes are not a prepared plan of this version of the
 *         library
 * @since 0.1
 */
GPUCTR_API gpuctr_prepared* gpuctr_prepared_adopt(void* buffer, size_t size, const int* fds,
                                                  size_t fd_count);

/** Why attaching failed; filled without allocating. Start from GPUCTR_ATTACH_ERROR_INIT. */
typedef struct gpuctr_attach_error {
    size_t struct_size;   /**< sizeof(gpuctr_attach_error) in the caller: no more is written. */
    gpuctr_status status; /**< The value that was returned. */
    int32_t os_error;     /**< errno behind it, or 0. */
    char step[64];        /**< What failed, such as "attach mount". */
    char object[192];     /**< On what: a path in the container. A long one loses its start. */
} gpuctr_attach_error;

/* clang-format off */
#define GPUCTR_ATTACH_ERROR_INIT { sizeof(gpuctr_attach_error), 0, 0, "", "" }
/* clang-format on */

/**
 * Put a prepared plan into a container's root file system in the caller's mount namespace:
 * after unshare or setns, before pivot_root. All or nothing.
 *
 * It allocates no memory, takes no lock and opens no path of the host, so it is safe between
 * clone and exec of a threaded parent. If names appear through overlays (GPUCTR_WRITE_NEVER),
 * /proc must be mounted, because layers are named by their descriptors there. If the kernel
 * refuses an overlay, a short-lived child process makes a replacement for it.
 *
 * @param prepared   not attached yet
 * @param rootfs_fd  descriptor of the root directory, opened in this mount namespace. Its
 *                   mount must not be shared. If names appear through overlays, it must be
 *                   below the thread's root directory, because the kernel shows no other
 *                   mounts
 * @param ret_error  may be NULL; initialised by the caller, written only on failure
 * @return GPUCTR_E_PERMISSION, GPUCTR_E_ROOTFS if the root file system is not
 *         as planned or its mount is shared, GPUCTR_E_APPLY, GPUCTR_E_USAGE
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_prepared_attach(gpuctr_prepared* prepared, int rootfs_fd,
                                                gpuctr_attach_error* ret_error);

/**
 * Undo gpuctr_prepared_attach() in the same process. It allocates nothing either, and needs
 * a mounted /proc to unmount by descriptor. To call it again, or without an attach, does
 * nothing.
 *
 * @param rootfs_fd  the descriptor that the plan was attached with
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_prepared_undo(gpuctr_prepared* prepared, int rootfs_fd,
                                              gpuctr_attach_error* ret_error);

/* -- Kernel modules and device nodes of this host ------------------------- */

/** Also what only mode setting needs, for "graphics" and "display". @since 0.2 */
#define GPUCTR_LOAD_DISPLAY 0x1u

/** What to load. Start from GPUCTR_LOAD_OPTIONS_INIT. @since 0.2 */
typedef struct gpuctr_load_options {
    size_t struct_size; /**< sizeof(gpuctr_load_options) in the caller. */
    /**
     * NULL-terminated list of vendors. NULL, empty or with GPUCTR_VENDOR_ANY: all. There is
     * something to load for "nvidia" only; others are passed over, because the kernel loads their
     * modules and makes their nodes by itself.
     */
    const char* const* vendors;
    uint32_t flags;       /**< GPUCTR_LOAD_* */
    uint32_t reserved;    /**< Zero. */
    gpuctr_report report; /**< Gets "module_loaded" and "node_made". NULL: nobody does. */
    void* report_data;    /**< Passed to `report`. */
} gpuctr_load_options;

/* clang-format off */
#define GPUCTR_LOAD_OPTIONS_INIT { sizeof(gpuctr_load_options), NULL, 0, 0, NULL, NULL }
/* clang-format on */

/**
 * Load the kernel modules that the GPUs of this host need and that are not loaded, and make their
 * device nodes that are missing in /dev. This is the only function that changes the host, and no
 * other function calls it. It is for an administrator's program that wants this, and is called
 * before gpuctr_host_open().
 *
 * Modules have the names and options of modprobe's configuration. No process is started: an
 * install command there is followed if it only calls modprobe, as Debian's for NVIDIA's modules do;
 * any other is GPUCTR_E_PERMISSION. Nodes get the numbers of /proc/devices, and the mode and
 * owner that the driver says, if it lets nodes be made. What is there stays, also if it is another
 * device. If nothing is missing, or the host has no such GPU, nothing is done and no privilege is
 * needed.
 *
 * libkmod is loaded into the process for this call (dlopen).
 *
 * @param options  NULL for the defaults
 * @return GPUCTR_E_PERMISSION in a program that is setuid, setgid or has file capabilities,
 *         whatever it says that it is made for; without CAP_SYS_MODULE or CAP_MKNOD in the
 *         initial user namespace, if it is needed; if the configuration forbids it.
 *         GPUCTR_E_NO_DEVICE if a module is not installed, or the kernel does not take it.
 *         GPUCTR_E_REQUIREMENT if there is no libkmod. GPUCTR_E_USAGE. What was loaded or made
 *         before an error stays, and is reported
 * @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_host_load_kernel_modules(const gpuctr_load_options* options,
                                                         gpuctr_error** ret_error);

/* -- A report of this host -------------------------------------------------- */

/** Serial numbers, UUIDs, MAC addresses, ids of containers, and names of the host and of users
 * stay.
 * @since 0.2 */
#define GPUCTR_CAPTURE_WITH_IDENTITIES 0x1u

/**
 * Write a report of what this host shows of its GPUs, for those who look for the cause of a
 * problem elsewhere: what the kernel says of devices and modules, device nodes with their owners,
 * the files of drivers without their content, the loader's cache, CDI specifications, variables
 * that choose GPUs, and the host and a plan as JSON. It is a tar archive of a recorded host, which
 * the program gpuctr-simhost simulates.
 *
 * What identifies the machine or a person is replaced by made-up values, the same ones throughout,
 * unless GPUCTR_CAPTURE_WITH_IDENTITIES is set. What not everybody may read is left out, even if
 * this process may, and so are the values of variables in specifications. Of other files the
 * content comes along only if they lie in the directory in which they were looked for, or if
 * links that nobody but root can have made lead from a driver's places to them.
 * Nothing is executed, and no device is opened or woken.
 *
 * @param options      as for gpuctr_host_open(); a vendor that is not there is no error
 * @param environment  NULL-terminated list of NAME=VALUE, of which those that choose GPUs are
 *                     recorded, by their whole names, and those that begin with "GPUCTR_"; NULL:
 *                     none
 * @param flags        GPUCTR_CAPTURE_*
 * @param fd           borrowed; written from where it is
 * @param report       gets "identity_replaced" and "not_recorded" before the call returns. NULL:
 *                     nobody does
 * @param report_data  passed to `report`
 * @return GPUCTR_E_USAGE; GPUCTR_E_PERMISSION in a program that is setuid, setgid or has file
 *         capabilities; GPUCTR_E_REQUIREMENT if the report would be too large; GPUCTR_E_INTERNAL
 *         with errno if it cannot be written
 * @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_host_capture(const gpuctr_host_options* options,
                                             const char* const* environment, uint32_t flags, int fd,
                                             gpuctr_report report, void* report_data,
                                             gpuctr_error** ret_error);

/* -- CDI specifications ---------------------------------------------------- */

/**
 * Read specifications of the Container Device Interface as engines do, whoever wrote them.
 *
 * Its findings say what is against the rules ("cdi_invalid", with file and line), which devices
 * two files have ("cdi_conflict"), what is not true of this host ("cdi_outdated"), and that
 * libraries of a specification without hooks come after those in an image's loader cache
 * ("cdi_after_cache"). They are no error of this call.
 *
 * @param paths      directories, later ones of a higher priority, and files. A missing directory
 *                   has no specification; a missing file is a finding. Ends with NULL.
 *                   NULL: "/etc/cdi" and "/var/run/cdi"
 * @param host       what specifications of gpuctr_plan_install_cdi() are compared with; NULL:
 *                   only files are compared. It is not needed afterwards
 * @param files_dir  as in gpuctr_cdi_options
 * @param ret_list   freed by the caller with gpuctr_cdi_list_free()
 * Privileges: those to read the files. @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_cdi_list_open(const char* const* paths, const gpuctr_host* host,
                                              const char* files_dir, gpuctr_cdi_list** ret_list,
                                              gpuctr_error** ret_error);

/** @since 0.2 */
GPUCTR_API void gpuctr_cdi_list_free(gpuctr_cdi_list* list);

/**
 * The list as one JSON document, schema "gpucontainer/cdi/1".
 *
 * @param ret_json  freed by the caller with gpuctr_string_free()
 * @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_cdi_list_to_json(const gpuctr_cdi_list* list, char** ret_json,
                                                 gpuctr_error** ret_error);

/** Devices of the specifications that are valid, in the order of the files. @since 0.2 */
GPUCTR_API size_t gpuctr_cdi_list_device_count(const gpuctr_cdi_list* list);
/** Belongs to the list. @since 0.2 */
GPUCTR_API const gpuctr_cdi_device* gpuctr_cdi_list_device_at(const gpuctr_cdi_list* list,
                                                              size_t index);
/** What is wrong with the specifications. @since 0.2 */
GPUCTR_API size_t gpuctr_cdi_list_finding_count(const gpuctr_cdi_list* list);
/** Belongs to the list. @since 0.2 */
GPUCTR_API const gpuctr_finding* gpuctr_cdi_list_finding_at(const gpuctr_cdi_list* list,
                                                            size_t index);

/** Its name with its kind: "nvidia.com/gpu=0". @since 0.2 */
GPUCTR_API const char* gpuctr_cdi_device_name(const gpuctr_cdi_device* device);
/** File of its specification. @since 0.2 */
GPUCTR_API const char* gpuctr_cdi_device_path(const gpuctr_cdi_device* device);
/**
 * "usable"; "overridden", if a directory of higher priority has it too; "conflict", if another
 * file of the same priority has it, so that no engine takes either. @since 0.2
 */
GPUCTR_API const char* gpuctr_cdi_device_state(const gpuctr_cdi_device* device);

/**
 * Decide what devices of specifications change in a container, whoever wrote these.
 *
 * With a root file system, the plan is for gpuctr_plan_apply() and the like. Its names and mounts
 * are those of the specifications, which are merged as engines do. Hooks of nvidia-ctk are known by
 * their arguments, and what they are for is done without running them: links, the loader cache,
 * CUDA of the image, masks. Mounts are nosuid, nodev and private in any case. Variables, groups and
 * what a root file system cannot have are in the plan, or are findings ("cdi_left_out").
 *
 * With -1, the plan is for gpuctr_plan_edit_oci() alone, and has no items. What links and a loader
 * cache are for is done by further mounts.
 *
 * @param list       whose directories and conflicts decide which file has a device
 * @param request    `devices` are full names, "nvidia.com/gpu=0,amd.com/gpu=1". Of the other fields
 *                   `write`, `mount_label`, `compat`, `devices_name`, GPUCTR_REQUEST_LOCK and
 *                   GPUCTR_REQUEST_KEEP_* count; the rest must not be set
 * @param rootfs_fd  as for gpuctr_plan_create()
 * @param ret_plan   freed by the caller with gpuctr_plan_free()
 * @return GPUCTR_E_USAGE for a device that no file has, or two files have; for a hook that is not
 *         known; and for what a root file system cannot be given, such as a mount of another type:
 *         the message begins with "FILE:LINE: ".
 *         GPUCTR_E_PERMISSION if somebody else than root and the caller can write a file of these
 *         devices, or the directories that it is in.
 *         GPUCTR_E_DRIVER if a file or device node is missing on this host, or has another number.
 *         GPUCTR_E_ROOTFS
 * Privileges: none. @since 0.2
 */
GPUCTR_API gpuctr_status gpuctr_plan_create_from_cdi(const gpuctr_cdi_list* list,
                                                     const gpuctr_request* request, int rootfs_fd,
                                                     gpuctr_plan** ret_plan,
                                                     gpuctr_error** ret_error);

/* -- Initialising structs ------------------------------------------------ */

/*
 * The macros as functions, for languages without macros. `size` is sizeof the struct in the
 * caller. All of it is written; fields that the library does not know become zero.
 */
/** GPUCTR_HOST_OPTIONS_INIT. @since 0.1 */
GPUCTR_API void gpuctr_host_options_init(gpuctr_host_options* options, size_t size);
/** GPUCTR_REQUEST_INIT. @since 0.1 */
GPUCTR_API void gpuctr_request_init(gpuctr_request* request, size_t size);
/** GPUCTR_APPLY_OPTIONS_INIT. @since 0.1 */
GPUCTR_API void gpuctr_apply_options_init(gpuctr_apply_options* options, size_t size);
/** GPUCTR_UNDO_OPTIONS_INIT. @since 0.1 */
GPUCTR_API void gpuctr_undo_options_init(gpuctr_undo_options* options, size_t size);
/** As GPUCTR_CHECK_OPTIONS_INIT. @since 0.2 */
GPUCTR_API void gpuctr_check_options_init(gpuctr_check_options* options, size_t size);
/** GPUCTR_SETUP_LIST_OPTIONS_INIT. @since 0.1 */
GPUCTR_API void gpuctr_setup_list_options_init(gpuctr_setup_list_options* options, size_t size);
/** GPUCTR_STAGE_OPTIONS_INIT. @since 0.1 */
GPUCTR_API void gpuctr_stage_options_init(gpuctr_stage_options* options, size_t size);
/** GPUCTR_CDI_OPTIONS_INIT. @since 0.2 */
GPUCTR_API void gpuctr_cdi_options_init(gpuctr_cdi_options* options, size_t size);
/** GPUCTR_PREPARE_OPTIONS_INIT. @since 0.1 */
GPUCTR_API void gpuctr_prepare_options_init(gpuctr_prepare_options* options, size_t size);
/** GPUCTR_HARDEN_OPTIONS_INIT. @since 0.1 */
GPUCTR_API void gpuctr_harden_options_init(gpuctr_harden_options* options, size_t size);
/** GPUCTR_LOAD_OPTIONS_INIT. @since 0.2 */
GPUCTR_API void gpuctr_load_options_init(gpuctr_load_options* options, size_t size);
/** GPUCTR_ATTACH_ERROR_INIT. @since 0.1 */
GPUCTR_API void gpuctr_attach_error_init(gpuctr_attach_error* error, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* GPUCONTAINER_GPUCONTAINER_H */
