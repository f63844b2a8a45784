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
 *     gpuctr_plan_apply()              make it so, with undo      in one call
 *
 * or, for a runtime that sets its container up in a child process:
 *
 *     prepared = gpuctr_plan_prepare()  in the parent, in the host's view
 *     gpuctr_prepared_attach()          in the child, after unshare or setns
 *
 * Rules that hold for every function here:
 *
 * - It returns GPUCTR_OK or a negative gpuctr_status, unless it is a getter.
 * - Output parameters are named ret_* and are written only on success.
 * - ret_error may be NULL. When it is not, it is written on failure only, and
 *   the caller frees it with gpuctr_error_free(). Out of memory leaves NULL in
 *   it, which every gpuctr_error_* function accepts.
 * - *_free() accepts NULL.
 * - Strings returned through const char* belong to the object they came from,
 *   live as long as it does and are never NULL; what does not apply is "".
 * - *_at() returns NULL when the index is out of range.
 * - Descriptors given by the caller are borrowed. Descriptors that the library
 *   opens are close-on-exec.
 * - A host, a plan and a list of set-ups never change. Several threads may read them at
 *   once. A prepared object belongs to one thread at a time. Different objects may be used
 *   from different threads at the same time.
 * - The library is a guest in its caller's process: it changes no capability,
 *   no signal handler, no environment variable, no umask and no limit, starts
 *   no thread, reads no environment variable, and writes nothing to standard
 *   output or error. gpuctr_plan_prepare(), and what works in a container that
 *   runs (GPUCTR_*_IN_PROCESS), may start one short-lived child process, where
 *   they say so. gpuctr_process_harden() is there to be asked.
 * - It changes no credential, no namespace and no root or working directory,
 *   unless the options ask for it (GPUCTR_*_IN_PROCESS): then those of the calling
 *   thread, until the call returns.
 * - What changes a container is refused with GPUCTR_E_PERMISSION in a program
 *   that is setuid, setgid or has file capabilities (AT_SECURE of its auxiliary
 *   vector), unless the options of the call say that it is made for it.
 *
 * What stays: functions, their parameters, the order and meaning of fields, values of
 * constants, the words that functions return (kinds, codes, actions), and names and types in
 * the JSON documents of one schema number.
 *
 * What may change in any version: the text of messages, reasons, findings and hints; which
 * findings there are; new kinds, codes and words beside the old ones; new fields in JSON; the
 * order of items, files and nodes where none is stated; which files, links and variables a
 * plan has; the bytes of gpuctr_prepared_data(), and what is in the state directory. Until
 * version 1.0 the rest may change too; the library then has another soname.
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
    GPUCTR_E_EXISTS = -10      /**< Another set-up is there, and was not to be replaced. */
};

typedef struct gpuctr_error gpuctr_error;
typedef struct gpuctr_config gpuctr_config;
typedef struct gpuctr_setting gpuctr_setting;
typedef struct gpuctr_host gpuctr_host;
typedef struct gpuctr_driver gpuctr_driver;
typedef struct gpuctr_gpu gpuctr_gpu;
typedef struct gpuctr_file gpuctr_file;
typedef struct gpuctr_node gpuctr_node;
typedef struct gpuctr_finding gpuctr_finding;
typedef struct gpuctr_plan gpuctr_plan;
typedef struct gpuctr_item gpuctr_item;
typedef struct gpuctr_variable gpuctr_variable;
typedef struct gpuctr_prepared gpuctr_prepared;
typedef struct gpuctr_setup_list gpuctr_setup_list;
typedef struct gpuctr_setup gpuctr_setup;
typedef struct gpuctr_used_driver gpuctr_used_driver;

/** Version of the library that is loaded, such as "0.1.0". @since 0.1 */
GPUCTR_API const char* gpuctr_version(void);

/** Free a string that the library handed over through a char**. @since 0.1 */
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

/** errno behind the failure, or 0. @since 0.1 */
GPUCTR_API int gpuctr_error_os_error(const gpuctr_error* error);

/** @since 0.1 */
GPUCTR_API void gpuctr_error_free(gpuctr_error* error);

/* -- Findings -------------------------------------------------------------- */

/** How much a finding matters; a higher number matters more. */
#define GPUCTR_SEVERITY_NOTE UINT32_C(0)    /**< Something was looked at and left out. */
#define GPUCTR_SEVERITY_NEED UINT32_C(1)    /**< The container must have it besides. */
#define GPUCTR_SEVERITY_WARNING UINT32_C(2) /**< Something will not work, or is not known. */
#define GPUCTR_SEVERITY_ERROR UINT32_C(3)   /**< A set-up does not work as it was made. */

/**
 * What kind of finding it is. Each has one severity:
 *
 * - notes: "not_installed", "file_unusable", "version_differs", "file_left_out",
 *   "gpu_unusable", "node_missing", "node_inaccessible", "node_left_out", "rule_ignored",
 *   "variable_ignored"
 * - needs: "container_need"
 * - warnings: "driver_unusable", "vendor_left_out", "no_gpu", "files_left_out",
 *   "library_unloadable", "library_missing", "releases_differ", "compute_node_unusable",
 *   "node_forbidden", "device_unknown", "node_left", "namespace_gone", "root_gone"
 * - errors: "part_missing", "driver_version", "driver_not_loaded", "earlier_boot",
 *   "interrupted", "partly_undone", "journal_damaged", "locked", "device_denied"
 *
 * docs/library.md says what each means. Later versions have more. @since 0.1
 */
GPUCTR_API const char* gpuctr_finding_code(const gpuctr_finding* finding);
/** GPUCTR_SEVERITY_* @since 0.1 */
GPUCTR_API uint32_t gpuctr_finding_severity(const gpuctr_finding* finding);
/** What it is about: a file, a GPU, a device node, a path in the container; maybe "". @since 0.1 */
GPUCTR_API const char* gpuctr_finding_object(const gpuctr_finding* finding);
/** What was found, in one line for people. It goes on after the object: "OBJECT: TEXT". @since 0.1
 */
GPUCTR_API const char* gpuctr_finding_text(const gpuctr_finding* finding);
/** Where it was seen: a path on this host; maybe "". @since 0.1 */
GPUCTR_API const char* gpuctr_finding_evidence(const gpuctr_finding* finding);
/** What can be done about it, in one line for people; maybe "". @since 0.1 */
GPUCTR_API const char* gpuctr_finding_hint(const gpuctr_finding* finding);

/* -- This process ---------------------------------------------------------- */

/** Functions that a process is still going to call; docs/security.md has the capabilities. */
#define GPUCTR_PHASE_LOOK (UINT32_C(1) << 0)   /**< gpuctr_host_open(), gpuctr_plan_create() */
#define GPUCTR_PHASE_STATUS (UINT32_C(1) << 1) /**< gpuctr_setup_list_open() */
/** gpuctr_plan_prepare(), gpuctr_plan_stage(), gpuctr_prepared_attach() */
#define GPUCTR_PHASE_MOUNT (UINT32_C(1) << 2)
/** gpuctr_plan_apply(), gpuctr_rootfs_undo(), gpuctr_setup_undo() */
#define GPUCTR_PHASE_APPLY (UINT32_C(1) << 3)
/** What GPUCTR_*_IN_PROCESS needs besides, and opening /proc/PID/root. */
#define GPUCTR_PHASE_IN_PROCESS (UINT32_C(1) << 4)

/**
 * The thread is going to execute a program that shall have the capabilities that
 * the thread has: only the effective ones are dropped, which count until then.
 */
#define GPUCTR_HARDEN_FOR_EXEC (UINT32_C(1) << 0)
/** Does not set no_new_privs: setuid programs that are executed work. */
#define GPUCTR_HARDEN_NEW_PRIVILEGES (UINT32_C(1) << 1)
/** Leaves it to others of the same user to trace the process, and to the kernel to dump it. */
#define GPUCTR_HARDEN_DUMPABLE (UINT32_C(1) << 2)

/** What a process needs from now on. Start from GPUCTR_HARDEN_OPTIONS_INIT. */
typedef struct gpuctr_harden_options {
    size_t struct_size;    /**< sizeof(gpuctr_harden_options) in the caller. */
    uint32_t phases;       /**< GPUCTR_PHASE_* */
    uint32_t flags;        /**< GPUCTR_HARDEN_* */
    uint64_t capabilities; /**< To keep for the caller's own work: 1 << CAP_..., each. */
} gpuctr_harden_options;

/* clang-format off */
#define GPUCTR_HARDEN_OPTIONS_INIT { sizeof(gpuctr_harden_options), 0, 0, 0 }
/* clang-format on */

/**
 * Drop what the calling thread does not need any more: capabilities, by
 * no_new_privs those that executing a program could bring, and being dumpable.
 *
 * The one function that changes its caller for good, for programs that do
 * nothing else. Capabilities and no_new_privs are those of the calling thread and
 * of threads that it starts later: call it before there are others. Nothing is
 * ever added; called again it can only drop more. Joining a user namespace gives
 * all capabilities there: call it again then. A process that is not dumpable
 * cannot write its own /proc/self/uid_map as an ordinary user.
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
 * /etc/gpucontainer/config.yaml. No other function reads one: what a key means
 * is up to the caller.
 *
 * The file is a YAML map of keys to values or lists of values. It and the directories
 * on the way to it have to belong to root or to the caller. Neither group nor others may
 * write them, but for sticky directories. They have to be on file systems whose owners
 * are true: docs/configuration.md names them.
 *
 * The keys of a site's policy are "allowed-devices", "restricted", "restricted-user" and
 * "restricted-rootfs". A key that may be meant for one of these is a mistake, such as
 * "Restricted", "allowed_device" or any other that begins with "restrict".
 *
 * @param path        of the file; when it is missing there are no settings. A link
 *                    that leads nowhere is GPUCTR_E_USAGE
 * @param ret_config  freed by the caller with gpuctr_config_free()
 * @return GPUCTR_E_USAGE for a mistake in it: the message begins with "FILE:LINE: KEY: ",
 *         and the object of the error is the key. GPUCTR_E_USAGE for a file that is no
 *         YAML, and GPUCTR_E_PERMISSION when it may not be read or trusted: the object is
 *         the file
 * Privileges: none. @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_config_open(const char* path, gpuctr_config** ret_config,
                                            gpuctr_error** ret_error);

/**
 * The same for a caller who can do without some of the keys. A mistake in a key is told by
 * gpuctr_setting_mistake() of a setting in its place, and such a key has no value: neither
 * one that could be read nor one of another line. A mistake that may concern the policy
 * stays an error, wherever in the file it is, and so does a file that is no YAML.
 *
 * A caller looks at all mistakes, and decides by gpuctr_setting_key() which of them it
 * cannot pass over. It is as in the file: "State_Dir" may be meant for "state-dir".
 *
 * Parameters and errors are those of gpuctr_config_open().
 * Privileges: none. @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_config_open_with_mistakes(const char* path,
                                                          gpuctr_config** ret_config,
                                                          gpuctr_error** ret_error);

/** @since 0.1 */
GPUCTR_API void gpuctr_config_free(gpuctr_config* config);

/** Values in the order of the file; a list is one setting a value. @since 0.1 */
GPUCTR_API size_t gpuctr_config_setting_count(const gpuctr_config* config);
/** Belongs to the configuration. @since 0.1 */
GPUCTR_API const gpuctr_setting* gpuctr_config_setting_at(const gpuctr_config* config,
                                                          size_t index);
/**
 * Lower-case letters and '-'; of a mistake anything without control characters, and "" for
 * a key that is no text. @since 0.1
 */
GPUCTR_API const char* gpuctr_setting_key(const gpuctr_setting* setting);
/** Not empty; "" of a mistake. @since 0.1 */
GPUCTR_API const char* gpuctr_setting_value(const gpuctr_setting* setting);
/** 1 if the value stands in a list, which may have no other. @since 0.1 */
GPUCTR_API int gpuctr_setting_in_list(const gpuctr_setting* setting);
/** Line of the key in the file, from 1. @since 0.1 */
GPUCTR_API uint32_t gpuctr_setting_line(const gpuctr_setting* setting);
/**
 * What is wrong with the key, in one line: "FILE:LINE: KEY: WHY". NULL where nothing is,
 * and after gpuctr_config_open(). Belongs to the configuration. @since 0.1
 */
GPUCTR_API const char* gpuctr_setting_mistake(const gpuctr_setting* setting);

/* -- Host ---------------------------------------------------------------- */

/** In a list of vendors: besides those that have to be there, any other that is. @since 0.1 */
#define GPUCTR_VENDOR_ANY "any"

/**
 * A vendor asked for that has no GPU here is no error if its driver's files are there: the
 * driver then has files and no GPUs, and its version is that of the files, or "". It can be
 * listed and planned with; preparing, applying or staging such a plan is
 * GPUCTR_E_NO_DEVICE. The finding "no_gpu" of the driver has the reason. @since 0.1
 */
#define GPUCTR_HOST_FILES_ALONE (UINT32_C(1) << 0)

/**
 * What to look for. Start from GPUCTR_HOST_OPTIONS_INIT.
 *
 * As in every options struct here, fields are only ever appended. A library
 * that is older than the caller accepts fields that it does not know as long as
 * they are zero, and answers GPUCTR_E_USAGE when they are not.
 */
typedef struct gpuctr_host_options {
    size_t struct_size; /**< sizeof(gpuctr_host_options) in the caller. */
    uint32_t flags;     /**< GPUCTR_HOST_* @since 0.1 */
    uint32_t reserved;  /**< Zero. */
    /**
     * NULL-terminated list of the vendors that must be there, each by its name, as
     * gpuctr_driver_vendor() has it: "nvidia", "amd", "intel", "habana" (Intel Gaudi), one
     * that is built in as a description, or one that a catalogue file describes. With
     * GPUCTR_VENDOR_ANY in it the others are looked for as well. NULL or empty: GPUCTR_VENDOR_ANY
     * alone. GPUCTR_E_USAGE for a name that nobody has. @since 0.1
     */
    const char* const* vendors;
    const char* driver_root;    /**< Where the driver's files are; NULL: "/". The root of a
                                     driver container, or an unpacked driver. Links in it
                                     never lead out of it. */
    const char* driver_version; /**< Taken as the kernel module's version, of a driver whose
                                     files have to be of that (NVIDIA); GPUCTR_E_USAGE where
                                     others alone are asked for. NULL: ask the kernel. */
    /**
     * NULL-terminated list of files with further rules for which files belong to
     * a driver, each over those before it; a file named "nvliblist.conf" is a
     * list in Apptainer's form. The rules of gpuctr_config_open() say who may write
     * them; one that others may is GPUCTR_E_PERMISSION. NULL: none. @since 0.1
     */
    const char* const* catalogues;
    /**
     * Directory whose "*.yaml" and "nvliblist.conf" are read before them, in the
     * order of their names, by the same rules. It may be missing. NULL: none.
     * @since 0.1
     */
    const char* catalogue_dir;
    const char* dev_root; /**< Directory whose dev/ has the driver's nodes; NULL: "/".
                               @since 0.1 */
} gpuctr_host_options;

/* clang-format off */
#define GPUCTR_HOST_OPTIONS_INIT { sizeof(gpuctr_host_options), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL }
/* clang-format on */

/**
 * Record the GPUs of this host and the files of their drivers.
 *
 * Reads sysfs, procfs, the driver root and the catalogues that the options name.
 * Executes nothing, loads nothing, opens no device node, and so wakes no GPU. A vendor
 * that was not asked for and whose driver is broken is no error; see
 * gpuctr_host_finding_at().
 *
 * @param options    NULL for the defaults
 * @param ret_host   freed by the caller with gpuctr_host_free()
 * @return GPUCTR_E_NO_DEVICE when a vendor asked for has no GPU here, and with
 *         GPUCTR_HOST_FILES_ALONE no files of its driver either,
 *         GPUCTR_E_DRIVER when its user space is missing, incomplete or of
 *         another version than the kernel module, GPUCTR_E_PERMISSION,
 *         GPUCTR_E_USAGE, with file and line for a mistake in a catalogue
 * Privileges: none. @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_host_open(const gpuctr_host_options* options,
                                          gpuctr_host** ret_host, gpuctr_error** ret_error);

/** Plans made from the host stay valid. @since 0.1 */
GPUCTR_API void gpuctr_host_free(gpuctr_host* host);

/**
 * The record as one JSON document, schema "gpucontainer/list/1". It holds all
 * that a plan is made from; gpuctr_host_from_json() reads it.
 *
 * @param ret_json  freed by the caller with gpuctr_string_free()
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_host_to_json(const gpuctr_host* host, char** ret_json,
                                             gpuctr_error** ret_error);

/**
 * Read a record that gpuctr_host_to_json() wrote, in this process or another, on
 * this host or another.
 *
 * The document is not trusted. Each field is checked, and what it says is only a
 * proposal: before a plan of it is prepared, applied or staged, this host is
 * looked at as by gpuctr_host_open() with `options`, and a driver, file or node
 * that this does not yield as well is refused with GPUCTR_E_DRIVER. Plans that
 * are only shown are made from the record alone.
 *
 * @param json      the document, UTF-8; need not be terminated
 * @param size      its length in bytes; 4 MiB at most
 * @param options   NULL for the defaults; a vendor that must be there must be in
 *                  the record
 * @param ret_host  freed by the caller with gpuctr_host_free()
 * @return GPUCTR_E_USAGE when it is no such document, naming the place in it,
 *         GPUCTR_E_NO_DEVICE when a vendor asked for is not in it
 * Privileges: none. @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_host_from_json(const char* json, size_t size,
                                               const gpuctr_host_options* options,
                                               gpuctr_host** ret_host, gpuctr_error** ret_error);

/**
 * 1 while the host is as it was when it was recorded: same boot, kernel modules
 * and GPUs, nothing changed in the directories with the drivers' files, in the
 * loader cache or in the catalogues that the options named, nodes with the same
 * permissions and as usable for the caller. Otherwise 0: open it again. Also 0
 * while the UUID of a GPU is not known, for a record of another host, and where
 * something of this changed while the host was recorded, or some milliseconds
 * before.
 *
 * Two system calls a GPU and some thirty besides; opens no device node.
 * Privileges: none. @since 0.1
 */
GPUCTR_API int gpuctr_host_is_current(const gpuctr_host* host);

/**
 * Drivers, one a vendor. Each has at least one GPU, but for those that
 * GPUCTR_HOST_FILES_ALONE lets be. @since 0.1
 */
GPUCTR_API size_t gpuctr_host_driver_count(const gpuctr_host* host);
/** Belongs to the host. @since 0.1 */
GPUCTR_API const gpuctr_driver* gpuctr_host_driver_at(const gpuctr_host* host, size_t index);

/**
 * Vendors that were not asked for and whose driver could not be recorded
 * ("driver_unusable"). @since 0.1
 */
GPUCTR_API size_t gpuctr_host_finding_count(const gpuctr_host* host);
/** Belongs to the host. @since 0.1 */
GPUCTR_API const gpuctr_finding* gpuctr_host_finding_at(const gpuctr_host* host, size_t index);

/** "nvidia": the name that gpuctr_host_options.vendors takes. @since 0.1 */
GPUCTR_API const char* gpuctr_driver_vendor(const gpuctr_driver* driver);
/** "NVIDIA": the same for people. @since 0.1 */
GPUCTR_API const char* gpuctr_driver_vendor_name(const gpuctr_driver* driver);
/**
 * Version that the files have, such as "580.159.04"; "" of files alone that are of no
 * kernel module's version. @since 0.1
 */
GPUCTR_API const char* gpuctr_driver_version(const gpuctr_driver* driver);
/**
 * How the version is known: "module" from the loaded kernel module, "option"
 * from the caller, "files" inferred from the user space because no module is
 * loaded; such a driver can be listed and planned with, not applied.
 * @since 0.1
 */
GPUCTR_API const char* gpuctr_driver_version_source(const gpuctr_driver* driver);
/** The driver root that was searched. @since 0.1 */
GPUCTR_API const char* gpuctr_driver_root(const gpuctr_driver* driver);

/** GPUs in the vendor's own order; the index that a user types. @since 0.1 */
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
/** What was looked at and left out, and what will not work. @since 0.1 */
GPUCTR_API size_t gpuctr_driver_finding_count(const gpuctr_driver* driver);
/** Belongs to the host. @since 0.1 */
GPUCTR_API const gpuctr_finding* gpuctr_driver_finding_at(const gpuctr_driver* driver,
                                                          size_t index);

/** Position in the vendor's order, from 0. @since 0.1 */
GPUCTR_API uint32_t gpuctr_gpu_index(const gpuctr_gpu* gpu);
/**
 * What identifies it for good, in the vendor's form: "GPU-...". Partitions have that
 * of their GPU. "" where nothing tells it. @since 0.1
 */
GPUCTR_API const char* gpuctr_gpu_uuid(const gpuctr_gpu* gpu);
/** PCI address, "0000:3b:00.0"; "" of a GPU that is on no bus. @since 0.1 */
GPUCTR_API const char* gpuctr_gpu_pci_address(const gpuctr_gpu* gpu);
/** Product name, "NVIDIA H200". @since 0.1 */
GPUCTR_API const char* gpuctr_gpu_model(const gpuctr_gpu* gpu);
/** "gfx942"; "" where the kernel does not tell it. @since 0.1 */
GPUCTR_API const char* gpuctr_gpu_architecture(const gpuctr_gpu* gpu);
/** Number of its device node, which may differ from the index; -1: none. @since 0.1 */
GPUCTR_API int32_t gpuctr_gpu_minor(const gpuctr_gpu* gpu);
/** NUMA node that it is attached to; -1: the firmware names none. @since 0.1 */
GPUCTR_API int32_t gpuctr_gpu_numa_node(const gpuctr_gpu* gpu);

/** "library", "tool" or "data": a file or directory that libraries read. @since 0.1 */
GPUCTR_API const char* gpuctr_file_kind(const gpuctr_file* file);
/** Name of the real file, "libcuda.so.580.159.04". @since 0.1 */
GPUCTR_API const char* gpuctr_file_name(const gpuctr_file* file);
/** DT_SONAME of a library. @since 0.1 */
GPUCTR_API const char* gpuctr_file_soname(const gpuctr_file* file);
/** Path of the real file on this host. @since 0.1 */
GPUCTR_API const char* gpuctr_file_path(const gpuctr_file* file);
/** Capability it belongs to: "compute", "utility", "graphics" ... @since 0.1 */
GPUCTR_API const char* gpuctr_file_capability(const gpuctr_file* file);

/** Where it is on this host: "/dev/nvidia0", or below the dev_root. @since 0.1 */
GPUCTR_API const char* gpuctr_node_path(const gpuctr_node* node);
/** @since 0.1 */
GPUCTR_API uint32_t gpuctr_node_major(const gpuctr_node* node);
/** @since 0.1 */
GPUCTR_API uint32_t gpuctr_node_minor(const gpuctr_node* node);
/** Index of the GPU that the node is for; -1: all of the vendor's. @since 0.1 */
GPUCTR_API int32_t gpuctr_node_gpu(const gpuctr_node* node);
/** 1 when the caller may read and write it: permissions, device cgroup and mount. @since 0.1 */
GPUCTR_API int gpuctr_node_accessible(const gpuctr_node* node);

/* -- Plan ---------------------------------------------------------------- */

/** May names be created in the root file system itself? */
#define GPUCTR_WRITE_AUTO UINT32_C(0)   /**< Where it is local and the caller's own. */
#define GPUCTR_WRITE_NEVER UINT32_C(1)  /**< Names appear through mounts alone. */
#define GPUCTR_WRITE_ALWAYS UINT32_C(2) /**< Yes; an error where it is not possible. */

/**
 * How the driver's files lie in the container: in one directory of their own, by
 * one mount; or merged into the directories that the image's own libraries and
 * tools are in, each file by its own mount.
 */
#define GPUCTR_LAYOUT_TREE UINT32_C(0)
#define GPUCTR_LAYOUT_MERGED UINT32_C(1)

/**
 * Do the driver's files come along? As the vendor's driver wants it, which for
 * NVIDIA's is the same as the second, because kernel module and files have to be
 * of one version, and for others leaves them out where the image brings its own or
 * is too old for them; those of this host, and GPUCTR_E_REQUIREMENT where the image
 * is too old; or none, device nodes only.
 */
#define GPUCTR_VENDOR_LIBS_AUTO UINT32_C(0)
#define GPUCTR_VENDOR_LIBS_HOST UINT32_C(1)
#define GPUCTR_VENDOR_LIBS_NONE UINT32_C(2)

/**
 * Nobody in the container can take away what makes our mounts read-only, not even
 * with CAP_SYS_ADMIN. gpuctr_plan_prepare() starts one more short-lived child
 * process then, and gpuctr_prepared_attach() one for each overlay; both make a
 * user namespace.
 */
#define GPUCTR_REQUEST_LOCK (UINT32_C(1) << 0)

/** What a container asks for. Start from GPUCTR_REQUEST_INIT. */
typedef struct gpuctr_request {
    size_t struct_size; /**< sizeof(gpuctr_request) in the caller. */
    /**
     * Comma-separated: "auto" (the GPUs that permissions, the device cgroup and
     * the scheduler's variables in `environment` grant), "all", "none", an
     * index or a range of them, a UUID or an unambiguous prefix of it of eight
     * characters or more ("GPU-" and "0x" not counted), a PCI address, or another
     * name that the vendor gives them. With drivers of several vendors, in the form
     * "nvidia.com/gpu=0" where it says otherwise not whose it is; a driver of which
     * none is named is left out then. NULL: "auto".
     */
    const char* devices;
    /** Comma-separated: "compute", "utility", "video", "all". NULL: "compute,utility". */
    const char* driver_capabilities;
    /**
     * NULL-terminated NAME=VALUE list in which "auto" looks for the variables of the
     * scheduler (SLURM_STEP_GPUS, SLURM_JOB_GPUS) and of the vendor
     * (CUDA_VISIBLE_DEVICES, NVIDIA_VISIBLE_DEVICES), usually `environ`. None of them
     * grants what the device cgroup forbids. NULL: none.
     */
    const char* const* environment;
    uint32_t write;       /**< GPUCTR_WRITE_* */
    uint32_t layout;      /**< GPUCTR_LAYOUT_* */
    uint32_t vendor_libs; /**< GPUCTR_VENDOR_LIBS_* */
    uint32_t flags;       /**< GPUCTR_REQUEST_* */
    /**
     * Policy: the GPUs that may be chosen, in the words of `devices` without
     * "auto". What "auto" would take besides is left out; a choice outside of it
     * is GPUCTR_E_PERMISSION. NULL: all. @since 0.1
     */
    const char* allowed_devices;
    /**
     * Directory of the container for GPUCTR_LAYOUT_TREE, created where it is
     * missing: absolute, of letters, digits and "._+-@", not below /dev, /proc or
     * /sys, empty where it is there already. NULL: "/usr/lib/gpuctr". It goes with
     * no other layout and not with GPUCTR_VENDOR_LIBS_NONE. @since 0.1
     */
    const char* tree_path;
    /**
     * SELinux label of the tmpfs and overlays that are made, such as
     * "system_u:object_r:container_file_t:s0:c1,c2". Files and nodes of the host
     * keep their own. Preparing is GPUCTR_E_REQUIREMENT where SELinux is not
     * enabled. NULL: none. @since 0.1
     */
    const char* mount_label;
    /** What messages call `devices`, such as "--device". NULL: "device". @since 0.1 */
    const char* devices_name;
} gpuctr_request;

/* clang-format off */
#define GPUCTR_REQUEST_INIT \
    { sizeof(gpuctr_request), NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL }
/* clang-format on */

/**
 * Decide everything that will change in a container root.
 *
 * Changes nothing. Reads the root file system through rootfs_fd, treating all
 * of it as hostile: its links are followed inside it only, and nothing of it is
 * executed.
 *
 * @param host       where GPUs and files come from; may be freed afterwards
 * @param request    NULL for the defaults
 * @param rootfs_fd  descriptor of the root directory (O_PATH is enough), or -1
 *                   for a plan that shows what is needed but cannot be prepared
 * @param ret_plan   freed by the caller with gpuctr_plan_free()
 * @return GPUCTR_E_USAGE for an unknown or ambiguous device or capability, or a
 *         tree_path or mount_label that cannot be one,
 *         GPUCTR_E_NO_DEVICE when nothing is left of "auto",
 *         GPUCTR_E_ROOTFS when the root file system cannot take the driver,
 *         GPUCTR_E_PERMISSION, also for a GPU that is not allowed
 * Privileges: none. @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_plan_create(const gpuctr_host* host, const gpuctr_request* request,
                                            int rootfs_fd, gpuctr_plan** ret_plan,
                                            gpuctr_error** ret_error);

/** @since 0.1 */
GPUCTR_API void gpuctr_plan_free(gpuctr_plan* plan);

/**
 * The plan as one JSON document, schema "gpucontainer/plan/1".
 *
 * @param ret_json  freed by the caller with gpuctr_string_free()
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_plan_to_json(const gpuctr_plan* plan, char** ret_json,
                                             gpuctr_error** ret_error);

/** What is put into the container, in the order of doing it. @since 0.1 */
GPUCTR_API size_t gpuctr_plan_item_count(const gpuctr_plan* plan);
/** Belongs to the plan. @since 0.1 */
GPUCTR_API const gpuctr_item* gpuctr_plan_item_at(const gpuctr_plan* plan, size_t index);

/**
 * "bind" a host file in the tree, "cover" an image's own file, "device",
 * "symlink", "directory", "file", "ldcache", "mount" the tree or an overlay of
 * names. @since 0.1
 */
GPUCTR_API const char* gpuctr_item_kind(const gpuctr_item* item);
/** Path on the host, or the target of a symbolic link. @since 0.1 */
GPUCTR_API const char* gpuctr_item_source(const gpuctr_item* item);
/** Path in the container. @since 0.1 */
GPUCTR_API const char* gpuctr_item_target(const gpuctr_item* item);
/** Mount options, comma-separated. @since 0.1 */
GPUCTR_API const char* gpuctr_item_options(const gpuctr_item* item);
/** Why it is there. @since 0.1 */
GPUCTR_API const char* gpuctr_item_reason(const gpuctr_item* item);
/** The driver that it is a part of: "nvidia"; "" of what serves all. @since 0.1 */
GPUCTR_API const char* gpuctr_item_vendor(const gpuctr_item* item);
/** Index of the GPU that it is for (gpuctr_gpu_index()); -1: all of the vendor's. @since 0.1 */
GPUCTR_API int32_t gpuctr_item_gpu(const gpuctr_item* item);

/** Changes to the environment of a process in the container. @since 0.1 */
GPUCTR_API size_t gpuctr_plan_variable_count(const gpuctr_plan* plan);
/** Belongs to the plan. @since 0.1 */
GPUCTR_API const gpuctr_variable* gpuctr_plan_variable_at(const gpuctr_plan* plan, size_t index);
/**
 * "set", "unset", or "prepend" and "append" to a list that is separated by
 * colons. @since 0.1
 */
GPUCTR_API const char* gpuctr_variable_action(const gpuctr_variable* variable);
/** @since 0.1 */
GPUCTR_API const char* gpuctr_variable_name(const gpuctr_variable* variable);
/** @since 0.1 */
GPUCTR_API const char* gpuctr_variable_value(const gpuctr_variable* variable);

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

/** Additional groups without which the nodes cannot be opened. @since 0.1 */
GPUCTR_API size_t gpuctr_plan_group_count(const gpuctr_plan* plan);
/** Numeric group of the host; UINT32_MAX out of range. @since 0.1 */
GPUCTR_API uint32_t gpuctr_plan_group_at(const gpuctr_plan* plan, size_t index);

/**
 * What was left out, what the container must have besides ("container_need"), and what
 * was asked for and will not work, though the plan can be applied. @since 0.1
 */
GPUCTR_API size_t gpuctr_plan_finding_count(const gpuctr_plan* plan);
/** Belongs to the plan. @since 0.1 */
GPUCTR_API const gpuctr_finding* gpuctr_plan_finding_at(const gpuctr_plan* plan, size_t index);

/* -- Apply and undo ------------------------------------------------------- */

/**
 * How mounts are made. Leave it at GPUCTR_BACKEND_AUTO, which takes the first of the others
 * that the kernel has. To force one is for tests, and to narrow down a fault.
 * GPUCTR_E_REQUIREMENT if the kernel lacks it.
 */
#define GPUCTR_BACKEND_AUTO UINT32_C(0)
#define GPUCTR_BACKEND_DETACHED UINT32_C(1) /**< Linux 6.15: the tree is built detached. */
/** Linux 5.12: put together in a private namespace by a short-lived child, then cloned. */
#define GPUCTR_BACKEND_ASSEMBLED UINT32_C(2)
/**
 * Every kernel from 4.18, also if a seccomp filter forbids the calls of the others. Mounts
 * cannot be detached: gpuctr_plan_apply() alone works, in the caller's mount namespace. They
 * are made on a private tmpfs below the state directory first. @since 0.1
 */
#define GPUCTR_BACKEND_LEGACY UINT32_C(3)

/** Work in the mount namespace of the process behind `pidfd`. */
#define GPUCTR_APPLY_IN_PROCESS (UINT32_C(1) << 0)
/**
 * The caller is a setuid or setgid program, or one with file capabilities, and
 * has made sure that its user may have what is asked for.
 */
#define GPUCTR_APPLY_SETUID (UINT32_C(1) << 1)
/**
 * Not with GPUCTR_APPLY_IN_PROCESS. No journal is kept, and there is no undo but the end of
 * the mount namespace, which is the caller's own. It works as prepare and attach do, on every
 * kernel. The mount that the root directory is on must not be shared, and the root must not
 * be the caller's own. Names that the plan creates in the root file system itself stay: plan
 * with GPUCTR_WRITE_NEVER.
 *
 * Nothing is replaced: any set-up of the root in this mount namespace is GPUCTR_E_EXISTS.
 * Set-ups with a journal are found in `state_dir`, if that can be used. Others are found by
 * their mounts, which may also be copies of those of another mount namespace. If somebody is
 * at work on the root with the same `state_dir` for more than two seconds, it is
 * GPUCTR_E_APPLY. @since 0.1
 */
#define GPUCTR_APPLY_WITHOUT_JOURNAL (UINT32_C(1) << 2)
/**
 * Another set-up of the same root that may be in use is GPUCTR_E_EXISTS, and stays. It may be
 * in use if it was completed, nobody began to undo it, and its mounts are in this mount
 * namespace; also if a part of it is missing. One that is already what the plan wants is no
 * other. @since 0.1
 */
#define GPUCTR_APPLY_NO_REPLACE (UINT32_C(1) << 3)
/**
 * With GPUCTR_APPLY_WITHOUT_JOURNAL only: the mount namespace was made for this call, so that
 * what is set up in the root are copies which nobody else uses. They are no error; the new
 * set-up lies over them. @since 0.1
 */
#define GPUCTR_APPLY_OVER_COPIES (UINT32_C(1) << 4)

/**
 * Told what a person should know of what was done, once for each finding, on the calling
 * thread, as the last step of a call, also if the call fails. The finding lives until the
 * function returns. It must return, and throw nothing. Findings may quote names of the
 * container. @since 0.1
 */
typedef void (*gpuctr_report)(void* report_data, const gpuctr_finding* finding);

/** How to apply. Start from GPUCTR_APPLY_OPTIONS_INIT. */
typedef struct gpuctr_apply_options {
    size_t struct_size; /**< sizeof(gpuctr_apply_options) in the caller. */
    /**
     * Directory of the journals, created if it is missing. A relative path begins at the
     * working directory. NULL: "/var/lib/gpucontainer". The rules of gpuctr_config_open() say
     * who may write it; one that others may write is GPUCTR_E_PERMISSION. One whose path leads
     * through the root directory, by any link or mount, is GPUCTR_E_USAGE.
     */
    const char* state_dir;
    uint32_t flags; /**< GPUCTR_APPLY_* */
    /**
     * With GPUCTR_APPLY_IN_PROCESS: a process of the container, whose root
     * directory rootfs_fd then is, opened through /proc/PID/root. Sources are
     * taken from the caller's mount namespace; for the rest of the call the
     * calling thread is in that of the process, with its own root and working
     * directory, and afterwards back. The thread must share its working
     * directory with no other (unshare(CLONE_FS)), so dedicate one to the call;
     * a process with a single thread needs nothing. The mount that the root is
     * on must not be shared. Linux 5.8.
     *
     * A thread that cannot come back, because it lost CAP_SYS_ADMIN or
     * CAP_SYS_CHROOT meanwhile or a security module forbids it, may be left in
     * the namespace of the process: GPUCTR_E_APPLY says so, or the earlier error
     * of the call. What was set up then stays for gpuctr_rootfs_undo().
     *
     * What is done in the root, by apply and by undo, is done as root (id 0) of the
     * user namespace of the process: with its file system ids, without further groups and
     * without capabilities about files. Names belong to it. If that root is not the
     * caller, this needs CAP_SETUID, CAP_SETGID, and CAP_SYS_PTRACE to read /proc/PID; ids,
     * groups and capabilities of the thread are restored. A user namespace without an
     * id 0 that the caller's knows is GPUCTR_E_ROOTFS.
     *
     * gpuctr_plan_apply() asks the process's device cgroups whether they allow the plan's
     * nodes, and gpuctr_setup_list_open() whether they still do. If these are not the
     * caller's own, a short-lived child process is started in them, which asks the kernel
     * without opening a node; it costs as a fork of the caller does, raises no SIGCHLD,
     * and is ended after a second. A node that is forbidden, and without which no GPU or
     * that one works, is GPUCTR_E_PERMISSION before anything is changed. What the list of
     * cgroup version 1 lacks is added, if the caller has CAP_SYS_ADMIN in the initial user
     * namespace, and taken back by undo. What is not known is reported.
     *
     * Without GPUCTR_APPLY_IN_PROCESS names belong to the caller, by its file system ids.
     */
    int32_t pidfd;
    gpuctr_report report; /**< NULL: nobody is told. */
    void* report_data;    /**< Handed to `report`. */
    /**
     * Directory of the host at which gpuctr_plan_stage() may have left a tree to
     * clone, an absolute path without "..". One that does not hold just the plan's files is
     * not used. NULL or "": none.
     */
    const char* staged_tree;
    uint32_t backend;  /**< GPUCTR_BACKEND_* */
    uint32_t reserved; /**< Must be zero. */
} gpuctr_apply_options;

/* clang-format off */
#define GPUCTR_APPLY_OPTIONS_INIT                                                                  \
    { sizeof(gpuctr_apply_options), NULL, 0, -1, NULL, NULL, NULL, 0, 0 }
/* clang-format on */

#define GPUCTR_APPLIED UINT32_C(0)   /**< The plan was made true. */
#define GPUCTR_UNCHANGED UINT32_C(1) /**< It was true already; nothing was touched. */
#define GPUCTR_REPLACED UINT32_C(2)  /**< An older set-up was undone first. */

/**
 * Make a plan true below a container root in the caller's mount namespace:
 * prepare and attach in one, with a journal for gpuctr_rootfs_undo().
 *
 * All or nothing: on failure nothing of the plan is left. A directory that is
 * not a mount point, or sits on a shared mount, is bound privately on itself
 * first, so that nothing shows outside it; open it by its path again to see the
 * mounts. For this function, gpuctr_rootfs_undo() and gpuctr_setup_list_open() a
 * descriptor from before names the same root. Where an older set-up goes first, or went
 * since the plan was made, the same is planned anew for the root as it is then.
 *
 * @param plan         made for this root file system
 * @param rootfs_fd    descriptor of the root directory
 * @param options      NULL for the defaults
 * @param ret_outcome  may be NULL; GPUCTR_APPLIED, GPUCTR_UNCHANGED or
 *                     GPUCTR_REPLACED
 * @return GPUCTR_E_PERMISSION without CAP_SYS_ADMIN in the user namespace that
 *         owns the mount namespace, GPUCTR_E_ROOTFS when a target is not what
 *         was planned or another directory is mounted over the root,
 *         GPUCTR_E_NO_DEVICE when no kernel driver is loaded, GPUCTR_E_APPLY,
 *         GPUCTR_E_EXISTS with GPUCTR_APPLY_NO_REPLACE or GPUCTR_APPLY_WITHOUT_JOURNAL
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_plan_apply(const gpuctr_plan* plan, int rootfs_fd,
                                           const gpuctr_apply_options* options,
                                           uint32_t* ret_outcome, gpuctr_error** ret_error);

/** GPUCTR_APPLY_IN_PROCESS, for an undo. */
#define GPUCTR_UNDO_IN_PROCESS (UINT32_C(1) << 0)
/** GPUCTR_APPLY_SETUID, for an undo. */
#define GPUCTR_UNDO_SETUID (UINT32_C(1) << 1)

/** How to undo. Start from GPUCTR_UNDO_OPTIONS_INIT. Fields are as in gpuctr_apply_options. */
typedef struct gpuctr_undo_options {
    size_t struct_size;    /**< sizeof(gpuctr_undo_options) in the caller. */
    const char* state_dir; /**< Directory of the journals. NULL: "/var/lib/gpucontainer". */
    uint32_t flags;        /**< GPUCTR_UNDO_* */
    int32_t pidfd;         /**< With GPUCTR_UNDO_IN_PROCESS: a process of the container. */
    gpuctr_report report;  /**< NULL: nobody is told. */
    void* report_data;     /**< Handed to `report`. */
} gpuctr_undo_options;

/* clang-format off */
#define GPUCTR_UNDO_OPTIONS_INIT { sizeof(gpuctr_undo_options), NULL, 0, -1, NULL, NULL }
/* clang-format on */

/**
 * Take away what gpuctr_plan_apply() did in a root file system, and only that.
 *
 * Mounts, files and links that are not ours, or are no longer as we left them,
 * stay. What a reboot or somebody else took away already is no error.
 *
 * @param rootfs_fd  descriptor of the root directory
 * @param options    NULL for the defaults
 * @param ret_found  may be NULL; 1 when there was something to undo, else 0
 * @return GPUCTR_E_PERMISSION, GPUCTR_E_APPLY when something of ours could not
 *         be removed, also as another mount lies over all of it; the journal then keeps it
 *         for the next attempt
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_rootfs_undo(int rootfs_fd, const gpuctr_undo_options* options,
                                            int* ret_found, gpuctr_error** ret_error);

/**
 * Open a path in a root file system as this library does: a link is followed
 * inside of it, an absolute one from its root, and nothing leads out of it. By
 * openat2() or, where that is missing or a seccomp filter forbids it, by a walk
 * with the same outcome.
 *
 * @param rootfs_fd  descriptor of the root directory
 * @param path       absolute or relative, from that directory either way
 * @param flags      of open(2), without O_CREAT and O_TMPFILE; O_CLOEXEC is added
 * @param ret_fd     the descriptor; the caller closes it
 * @return GPUCTR_E_ROOTFS when it is not there, with errno's reason,
 *         GPUCTR_E_PERMISSION, GPUCTR_E_USAGE
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_rootfs_open(int rootfs_fd, const char* path, int flags, int* ret_fd,
                                            gpuctr_error** ret_error);

/* -- Status: what is set up ----------------------------------------------- */

/** GPUCTR_APPLY_IN_PROCESS, for a look at its set-ups. */
#define GPUCTR_SETUP_LIST_IN_PROCESS (UINT32_C(1) << 0)

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
 * Look at set-ups that gpuctr_plan_apply() made, and whether they still fit.
 *
 * Reads the journals and compares each with the root file system, the mounts of
 * this mount namespace, the boot and the loaded kernel module. Changes nothing;
 * waits while an apply or undo of the same root is under way, with -1 for half a minute
 * each: what is known of such a root then has the finding "locked".
 *
 * @param rootfs_fd   descriptor of a root directory, for all set-ups of it that
 *                    any mount namespace has; -1: for all of the journal directory
 * @param options     NULL for the defaults
 * @param ret_list    freed by the caller with gpuctr_setup_list_free(); by path and age
 * @return GPUCTR_E_PERMISSION when the journals may not be read, GPUCTR_E_USAGE
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
 * Path that the root had when it was set up. For the root of a process "", or once its
 * mount namespace is gone the path at which it is still seen. @since 0.1
 */
GPUCTR_API const char* gpuctr_setup_root(const gpuctr_setup* setup);
/**
 * Where it was made, as seen from here: "here" in the caller's mount namespace,
 * "another_mount" in it, where the directory is seen a second time,
 * "another_namespace", "namespace_gone", "earlier_boot". @since 0.1
 */
GPUCTR_API const char* gpuctr_setup_origin(const gpuctr_setup* setup);
/** Identity of its mount namespace, as /proc/PID/ns/mnt has it. @since 0.1 */
GPUCTR_API uint64_t gpuctr_setup_mount_namespace(const gpuctr_setup* setup);
/**
 * Of one in another mount namespace a process that was in it, by its number in the caller's
 * pid namespace: the lowest of those that the caller may ask. 0: none is known. @since 0.1
 */
GPUCTR_API int32_t gpuctr_setup_process(const gpuctr_setup* setup);
/** Drivers that it has a part of; none when the journal is damaged. @since 0.1 */
GPUCTR_API size_t gpuctr_setup_driver_count(const gpuctr_setup* setup);
/** Belongs to the list. @since 0.1 */
GPUCTR_API const gpuctr_used_driver* gpuctr_setup_driver_at(const gpuctr_setup* setup,
                                                            size_t index);
/** "nvidia". @since 0.1 */
GPUCTR_API const char* gpuctr_used_driver_vendor(const gpuctr_used_driver* driver);
/** Version of the driver then. @since 0.1 */
GPUCTR_API const char* gpuctr_used_driver_version(const gpuctr_used_driver* driver);
/** GPUs of it that the set-up was given, as they were then. @since 0.1 */
GPUCTR_API size_t gpuctr_used_driver_gpu_count(const gpuctr_used_driver* driver);
/** Belongs to the list. @since 0.1 */
GPUCTR_API const gpuctr_gpu* gpuctr_used_driver_gpu_at(const gpuctr_used_driver* driver,
                                                       size_t index);
/** Path of the driver's files in the container; "" without any. @since 0.1 */
GPUCTR_API const char* gpuctr_setup_tree_path(const gpuctr_setup* setup);
/** When it was made, in seconds since 1970. @since 0.1 */
GPUCTR_API int64_t gpuctr_setup_since(const gpuctr_setup* setup);
/** 1 when names were created in the root file system itself. @since 0.1 */
GPUCTR_API int gpuctr_setup_writes_root(const gpuctr_setup* setup);

/** What does not fit any more; 0 for a set-up that is as it was made. @since 0.1 */
GPUCTR_API size_t gpuctr_setup_finding_count(const gpuctr_setup* setup);
/** Belongs to the list. @since 0.1 */
GPUCTR_API const gpuctr_finding* gpuctr_setup_finding_at(const gpuctr_setup* setup, size_t index);

#define GPUCTR_UNDONE UINT32_C(0)    /**< Nothing of it is left. */
#define GPUCTR_FORGOTTEN UINT32_C(1) /**< Its root is gone; the journal was removed. */
#define GPUCTR_LEFT UINT32_C(2)      /**< In use elsewhere, or not to be reached from here. */

/**
 * Undo one set-up at the path that its journal names, which is believed only as
 * far as it leads to the same directory, or where its file system has that now. It is
 * forgotten when nothing is left of it: the file system says that the directory of its
 * names is gone.
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
 * As GPUCTR_APPLY_SETUID. It goes along with the prepared object, as the caller of
 * gpuctr_prepared_attach() may be such a program too.
 */
#define GPUCTR_PREPARE_SETUID (UINT32_C(1) << 0)

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
 * Turn a plan into detached mounts, in the caller's view of the host.
 *
 * Nothing changes anywhere; freeing the object is the rollback. From Linux 5.12
 * to 6.14 (GPUCTR_BACKEND_ASSEMBLED) one short-lived child process is started and
 * waited for; it does not raise SIGCHLD.
 *
 * @param plan          made with a rootfs_fd
 * @param options       NULL for the defaults
 * @param ret_prepared  freed by the caller with gpuctr_prepared_free()
 * @return GPUCTR_E_PERMISSION without CAP_SYS_ADMIN in the user namespace that
 *         owns the mount namespace, GPUCTR_E_DRIVER when a file is no longer
 *         the one that was planned, GPUCTR_E_NO_DEVICE when no kernel driver is
 *         loaded, GPUCTR_E_REQUIREMENT where there are no detached mounts
 *         (GPUCTR_BACKEND_LEGACY): gpuctr_plan_apply() works there
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_plan_prepare(const gpuctr_plan* plan,
                                             const gpuctr_prepare_options* options,
                                             gpuctr_prepared** ret_prepared,
                                             gpuctr_error** ret_error);

/** GPUCTR_APPLY_SETUID, for staging. */
#define GPUCTR_STAGE_SETUID (UINT32_C(1) << 0)

/** How to stage and to unstage. Start from GPUCTR_STAGE_OPTIONS_INIT. */
typedef struct gpuctr_stage_options {
    size_t struct_size; /**< sizeof(gpuctr_stage_options) in the caller. */
    uint32_t flags;     /**< GPUCTR_STAGE_* */
    uint32_t backend;   /**< GPUCTR_BACKEND_*; GPUCTR_BACKEND_AUTO to unstage. */
} gpuctr_stage_options;

/* clang-format off */
#define GPUCTR_STAGE_OPTIONS_INIT { sizeof(gpuctr_stage_options), 0, 0 }
/* clang-format on */

#define GPUCTR_STAGED UINT32_C(0)          /**< The tree was mounted. */
#define GPUCTR_STAGE_UNCHANGED UINT32_C(1) /**< It was there already. */
#define GPUCTR_STAGE_REPLACED UINT32_C(2)  /**< One of other files was unmounted first. */

/**
 * Mount a plan's driver tree once, at a directory of the host, so that each later
 * set-up with the same driver files clones it with one call instead of building
 * it: at boot, or in a scheduler's prolog. Apply and prepare name the directory as
 * `staged_tree` then. A tree that does not hold just the files of a plan, because the driver
 * was updated or other capabilities are asked for, is not used by it.
 *
 * The tree is read-only. It is mounted in the caller's mount namespace and shows
 * in others as any mount there does. Containers keep what they cloned when the
 * tree is replaced or unmounted.
 *
 * @param plan         any plan with driver files; its root file system does not
 *                     matter
 * @param directory    absolute path without ".."; made where it is missing, with mode 0755.
 *                     Nobody but root or the user of later set-ups may own it
 * @param options      NULL for the defaults
 * @param ret_outcome  may be NULL; GPUCTR_STAGED, GPUCTR_STAGE_UNCHANGED or
 *                     GPUCTR_STAGE_REPLACED
 * @return GPUCTR_E_PERMISSION without CAP_SYS_ADMIN in the user namespace that
 *         owns the mount namespace, GPUCTR_E_DRIVER when a file is no longer the
 *         one that was planned, GPUCTR_E_USAGE
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_plan_stage(const gpuctr_plan* plan, const char* directory,
                                           const gpuctr_stage_options* options,
                                           uint32_t* ret_outcome, gpuctr_error** ret_error);

/**
 * Unmount what gpuctr_plan_stage() mounted at a directory, and remove what it made of that
 * and of the directories above, as far as these are empty.
 *
 * @param directory  absolute path without ".."
 * @param options    NULL for the defaults
 * @param ret_found  may be NULL; 0 when no such tree was there
 * @return GPUCTR_E_PERMISSION without CAP_SYS_ADMIN in the user namespace that
 *         owns the mount namespace, GPUCTR_E_USAGE
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_unstage(const char* directory, const gpuctr_stage_options* options,
                                        int* ret_found, gpuctr_error** ret_error);

/** Closes its descriptors; what was attached stays. @since 0.1 */
GPUCTR_API void gpuctr_prepared_free(gpuctr_prepared* prepared);

/** Descriptors to pass on with SCM_RIGHTS, in this order. @since 0.1 */
GPUCTR_API size_t gpuctr_prepared_fd_count(const gpuctr_prepared* prepared);
/** Stays the object's own; -1 out of range. @since 0.1 */
GPUCTR_API int gpuctr_prepared_fd_at(const gpuctr_prepared* prepared, size_t index);
/** Bytes to pass on along with the descriptors; valid in the same boot. @since 0.1 */
GPUCTR_API const void* gpuctr_prepared_data(const gpuctr_prepared* prepared);
/** Number of bytes at gpuctr_prepared_data(). @since 0.1 */
GPUCTR_API size_t gpuctr_prepared_size(const gpuctr_prepared* prepared);

/**
 * The receiving side of gpuctr_prepared_data() and gpuctr_prepared_fd_at().
 *
 * Allocates nothing: the object lives in the buffer, which has to outlive it.
 * Safe between clone and exec of a threaded process.
 *
 * What is adopted is what will be mounted and written below the root that it is
 * attached to: take it only from a process that has the privileges of this one.
 *
 * @param buffer    the bytes, aligned for uint64_t; taken over until
 *                  gpuctr_prepared_free()
 * @param fds       the descriptors in the same order; taken over on success
 * @return the object, or NULL when the bytes are not those of a prepared plan
 *         of this version of the library
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
    char object[192];     /**< On what: a path in the container, shortened at its front. */
} gpuctr_attach_error;

/* clang-format off */
#define GPUCTR_ATTACH_ERROR_INIT { sizeof(gpuctr_attach_error), 0, 0, "", "" }
/* clang-format on */

/**
 * Put a prepared plan into a container root of the caller's mount namespace:
 * after unshare or setns, before pivot_root.
 *
 * System calls only: no memory is allocated, no lock taken, no path of the host
 * opened, so that it is safe between clone and exec of a threaded parent. All or
 * nothing. Where names appear through overlays (GPUCTR_WRITE_NEVER), /proc has to
 * be mounted: layers are named by their descriptors there. If the kernel refuses an
 * overlay, a short-lived child process makes what takes its place.
 *
 * @param prepared   not attached yet
 * @param rootfs_fd  descriptor of the root directory, opened in this mount
 *                   namespace; the mount that it is on must not be shared, and
 *                   lies below the thread's root directory where names appear
 *                   through overlays: the kernel tells nothing of others
 * @param ret_error  may be NULL; initialised, and written on failure only
 * @return GPUCTR_E_PERMISSION, GPUCTR_E_ROOTFS when the root file system is not
 *         as planned or its mount is shared, GPUCTR_E_APPLY, GPUCTR_E_USAGE
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_prepared_attach(gpuctr_prepared* prepared, int rootfs_fd,
                                                gpuctr_attach_error* ret_error);

/**
 * The inverse of gpuctr_prepared_attach() in the same process: as free of
 * allocation, and needs a mounted /proc to unmount by descriptor. Calling it
 * again, or without an attach, does nothing.
 *
 * @param rootfs_fd  the descriptor that the plan was attached with
 * @since 0.1
 */
GPUCTR_API gpuctr_status gpuctr_prepared_undo(gpuctr_prepared* prepared, int rootfs_fd,
                                              gpuctr_attach_error* ret_error);

/* -- Initialising structs ------------------------------------------------ */

/*
 * The macros as functions, for bindings, which have no macros. `size` is sizeof the struct
 * in the caller; all of it is written, and fields that the library does not know are zero.
 */
/** GPUCTR_HOST_OPTIONS_INIT. @since 0.1 */
GPUCTR_API void gpuctr_host_options_init(gpuctr_host_options* options, size_t size);
/** GPUCTR_REQUEST_INIT. @since 0.1 */
GPUCTR_API void gpuctr_request_init(gpuctr_request* request, size_t size);
/** GPUCTR_APPLY_OPTIONS_INIT. @since 0.1 */
GPUCTR_API void gpuctr_apply_options_init(gpuctr_apply_options* options, size_t size);
/** GPUCTR_UNDO_OPTIONS_INIT. @since 0.1 */
GPUCTR_API void gpuctr_undo_options_init(gpuctr_undo_options* options, size_t size);
/** GPUCTR_SETUP_LIST_OPTIONS_INIT. @since 0.1 */
GPUCTR_API void gpuctr_setup_list_options_init(gpuctr_setup_list_options* options, size_t size);
/** GPUCTR_STAGE_OPTIONS_INIT. @since 0.1 */
GPUCTR_API void gpuctr_stage_options_init(gpuctr_stage_options* options, size_t size);
/** GPUCTR_PREPARE_OPTIONS_INIT. @since 0.1 */
GPUCTR_API void gpuctr_prepare_options_init(gpuctr_prepare_options* options, size_t size);
/** GPUCTR_HARDEN_OPTIONS_INIT. @since 0.1 */
GPUCTR_API void gpuctr_harden_options_init(gpuctr_harden_options* options, size_t size);
/** GPUCTR_ATTACH_ERROR_INIT. @since 0.1 */
GPUCTR_API void gpuctr_attach_error_init(gpuctr_attach_error* error, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* GPUCONTAINER_GPUCONTAINER_H */
