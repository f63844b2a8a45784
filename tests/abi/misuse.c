/* SPDX-License-Identifier: MIT */
/* A caller's mistake that the header has an error for is answered with it. */
#include <gpucontainer/gpucontainer.h>

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int failures;

static void check(int line, const char* what, int holds)
{
    if (!holds) {
        printf("misuse.c:%d: does not hold: %s\n", line, what);
        ++failures;
    }
}
#define CHECK(condition) check(__LINE__, #condition, (condition))

/* The call failed as a usage error and told so; takes the error over. */
static void check_usage(int line, const char* call, gpuctr_status status, gpuctr_error** error)
{
    check(line, call, status == GPUCTR_E_USAGE);
    check(line, "an error was handed out", *error != NULL);
    check(line, "with the status returned", gpuctr_error_status(*error) == status);
    check(line, "with a message", gpuctr_error_message(*error)[0] != '\0');
    check(line, "with a cause", gpuctr_error_cause(*error)[0] != '\0');
    gpuctr_error_free(*error);
    *error = NULL;
}
#define USAGE(call) check_usage(__LINE__, #call, (call), &error)

static void no_error(void)
{
    CHECK(gpuctr_error_status(NULL) == GPUCTR_E_INTERNAL);
    CHECK(strcmp(gpuctr_error_message(NULL), "out of memory") == 0);
    CHECK(gpuctr_error_step(NULL) != NULL);
    CHECK(gpuctr_error_object(NULL) != NULL);
    CHECK(strcmp(gpuctr_error_argument(NULL), "") == 0);
    CHECK(gpuctr_error_cause(NULL) != NULL);
    CHECK(gpuctr_error_hint(NULL) != NULL);
    CHECK(gpuctr_error_os_error(NULL) == 0);
}

static void free_nothing(void)
{
    gpuctr_string_free(NULL);
    gpuctr_error_free(NULL);
    gpuctr_config_free(NULL);
    gpuctr_host_free(NULL);
    gpuctr_plan_free(NULL);
    gpuctr_prepared_free(NULL);
    gpuctr_setup_list_free(NULL);
}

static void missing_arguments(int root)
{
    gpuctr_error* error = NULL;
    char* json = NULL;
    gpuctr_config* config = NULL;
    gpuctr_host* host = NULL;
    gpuctr_plan* plan = NULL;
    gpuctr_prepared* prepared = NULL;
    gpuctr_attach_error attach_error = GPUCTR_ATTACH_ERROR_INIT;
    int fd = -1;

    USAGE(gpuctr_config_open(NULL, &config, &error));
    USAGE(gpuctr_config_open("/", NULL, &error));
    USAGE(gpuctr_config_open("/", &config, &error));
    USAGE(gpuctr_config_open_with_mistakes(NULL, &config, &error));
    USAGE(gpuctr_config_open_with_mistakes("/x", NULL, &error));
    USAGE(gpuctr_config_open_with_mistakes("/", &config, &error));
    USAGE(gpuctr_host_open(NULL, NULL, &error));
    USAGE(gpuctr_host_from_json(NULL, 0, NULL, &host, &error));
    USAGE(gpuctr_host_from_json("{}", 2, NULL, NULL, &error));
    USAGE(gpuctr_host_from_json("{}", 2, NULL, &host, &error));
    USAGE(gpuctr_plan_allow_devices(NULL, 0, 0, NULL, &error));
    USAGE(gpuctr_host_fact(NULL, "nvidia", -1, "cuda", &json, &error));
    USAGE(gpuctr_host_to_json(NULL, &json, &error));
    USAGE(gpuctr_plan_create(NULL, NULL, root, &plan, &error));
    USAGE(gpuctr_plan_to_json(NULL, &json, &error));
    USAGE(gpuctr_plan_apply(NULL, root, NULL, NULL, &error));
    USAGE(gpuctr_plan_prepare(NULL, NULL, &prepared, &error));
    USAGE(gpuctr_rootfs_undo(-1, NULL, NULL, &error));
    USAGE(gpuctr_rootfs_open(-1, "/", 0, &fd, &error));
    USAGE(gpuctr_rootfs_open(root, NULL, 0, &fd, &error));
    USAGE(gpuctr_rootfs_open(root, "/", 0, NULL, &error));
    USAGE(gpuctr_rootfs_open(root, "/", O_CREAT, &fd, &error));
    CHECK(fd == -1);
    CHECK(json == NULL && config == NULL && host == NULL && plan == NULL && prepared == NULL);

    CHECK(gpuctr_prepared_attach(NULL, root, &attach_error) == GPUCTR_E_USAGE);
    CHECK(attach_error.status == GPUCTR_E_USAGE && attach_error.step[0] != '\0');
    CHECK(gpuctr_prepared_undo(NULL, root, &attach_error) == GPUCTR_E_USAGE);
    CHECK(gpuctr_prepared_attach(NULL, -1, NULL) == GPUCTR_E_USAGE);
    /* Of a caller that knows less of it, no more is written. */
    attach_error.struct_size = offsetof(gpuctr_attach_error, object);
    attach_error.object[0] = 'x';
    CHECK(gpuctr_prepared_attach(NULL, root, &attach_error) == GPUCTR_E_USAGE);
    CHECK(attach_error.object[0] == 'x' && attach_error.step[0] != '\0');

    /* An error that nobody wants is not kept. */
    CHECK(gpuctr_host_open(NULL, NULL, NULL) == GPUCTR_E_USAGE);
    CHECK(gpuctr_rootfs_undo(-1, NULL, NULL, NULL) == GPUCTR_E_USAGE);
    CHECK(gpuctr_setup_list_open(-1, NULL, NULL, NULL) == GPUCTR_E_USAGE);
    CHECK(gpuctr_setup_list_to_json(NULL, NULL, NULL) == GPUCTR_E_USAGE);
    CHECK(gpuctr_setup_undo(NULL, NULL, NULL, NULL) == GPUCTR_E_USAGE);
    CHECK(gpuctr_plan_to_cdi(NULL, NULL, NULL, NULL) == GPUCTR_E_USAGE);
    CHECK(gpuctr_plan_to_oci(NULL, NULL, NULL, NULL) == GPUCTR_E_USAGE);
    CHECK(gpuctr_plan_edit_oci(NULL, NULL, NULL, NULL, NULL) == GPUCTR_E_USAGE);
    CHECK(gpuctr_hook_state_read_config(NULL, 0, NULL, NULL) == GPUCTR_E_USAGE);
    CHECK(gpuctr_plan_install_cdi(NULL, NULL, NULL, NULL, NULL) == GPUCTR_E_USAGE);
    CHECK(gpuctr_cdi_list_open(NULL, NULL, NULL, NULL, NULL) == GPUCTR_E_USAGE);
    CHECK(gpuctr_cdi_list_to_json(NULL, NULL, NULL) == GPUCTR_E_USAGE);
    CHECK(gpuctr_plan_create_from_cdi(NULL, NULL, -1, NULL, NULL) == GPUCTR_E_USAGE);
}

static void wrong_options(int root)
{
    gpuctr_error* error = NULL;
    gpuctr_host* host = NULL;
    gpuctr_host_options host_options = GPUCTR_HOST_OPTIONS_INIT;
    const char* const unknown_vendors[] = {"nvidia", "nobody", NULL};
    gpuctr_apply_options apply_options = GPUCTR_APPLY_OPTIONS_INIT;
    gpuctr_harden_options harden_options = GPUCTR_HARDEN_OPTIONS_INIT;
    gpuctr_prepare_options prepare_options = GPUCTR_PREPARE_OPTIONS_INIT;
    gpuctr_stage_options stage_options = GPUCTR_STAGE_OPTIONS_INIT;
    gpuctr_undo_options undo_options = GPUCTR_UNDO_OPTIONS_INIT;
    gpuctr_load_options load_options = GPUCTR_LOAD_OPTIONS_INIT;
    gpuctr_setup_list_options list_options = GPUCTR_SETUP_LIST_OPTIONS_INIT;
    gpuctr_prepared* prepared = NULL;
    gpuctr_plan* plan = NULL;
    gpuctr_setup_list* list = NULL;

    host_options.struct_size = 0;
    USAGE(gpuctr_host_open(&host_options, &host, &error));
    host_options.struct_size = sizeof host_options;
    host_options.vendors = unknown_vendors;
    USAGE(gpuctr_host_open(&host_options, &host, &error));
    host_options.vendors = NULL;
    host_options.flags = GPUCTR_HOST_WHOLE_BUS << 1;
    USAGE(gpuctr_host_open(&host_options, &host, &error));
    host_options.flags = 0;
    host_options.driver_version = "not a version";
    USAGE(gpuctr_host_open(&host_options, &host, &error));
    CHECK(host == NULL);

    harden_options.flags = UINT32_C(1) << 31;
    USAGE(gpuctr_process_harden(&harden_options, &error));
    harden_options.flags = 0;
    harden_options.phases = UINT32_C(1) << 31;
    USAGE(gpuctr_process_harden(&harden_options, &error));
    load_options.flags = UINT32_C(1) << 31;
    USAGE(gpuctr_host_load_kernel_modules(&load_options, &error));
    load_options.flags = 0;
    load_options.reserved = 1;
    USAGE(gpuctr_host_load_kernel_modules(&load_options, &error));
    stage_options.flags = UINT32_C(1) << 31;
    USAGE(gpuctr_unstage("/nonexistent", &stage_options, NULL, &error));
    stage_options.flags = 0;
    stage_options.backend = GPUCTR_BACKEND_LEGACY;
    USAGE(gpuctr_unstage("/nonexistent", &stage_options, NULL, &error));
    if (gpuctr_host_open(NULL, &host, NULL) == GPUCTR_OK
        && gpuctr_plan_create(host, NULL, root, &plan, NULL) == GPUCTR_OK) {
        prepare_options.flags = UINT32_C(1) << 31;
        USAGE(gpuctr_plan_prepare(plan, &prepare_options, &prepared, &error));
        apply_options.flags = UINT32_C(1) << 31;
        USAGE(gpuctr_plan_apply(plan, root, &apply_options, NULL, &error));
        apply_options.flags = 0;
        apply_options.reserved = 1;
        USAGE(gpuctr_plan_apply(plan, root, &apply_options, NULL, &error));
        apply_options.reserved = 0;
        apply_options.flags = GPUCTR_APPLY_IN_PROCESS;
        USAGE(gpuctr_plan_apply(plan, root, &apply_options, NULL, &error));
    }
    gpuctr_plan_free(plan);
    gpuctr_host_free(host);

    undo_options.struct_size = 1;
    USAGE(gpuctr_rootfs_undo(root, &undo_options, NULL, &error));
    undo_options.struct_size = sizeof undo_options;
    undo_options.flags = UINT32_C(1) << 31;
    USAGE(gpuctr_rootfs_undo(root, &undo_options, NULL, &error));
    list_options.flags = UINT32_C(1) << 31;
    USAGE(gpuctr_setup_list_open(root, &list_options, &list, &error));
    undo_options.flags = GPUCTR_UNDO_IN_PROCESS;
    USAGE(gpuctr_rootfs_undo(root, &undo_options, NULL, &error));
    list_options.flags = GPUCTR_SETUP_LIST_IN_PROCESS;
    USAGE(gpuctr_setup_list_open(root, &list_options, &list, &error));
    list_options.pidfd = root; /* an open descriptor, and no pidfd */
    USAGE(gpuctr_setup_list_open(-1, &list_options, &list, &error));
    CHECK(gpuctr_setup_list_open(root, &list_options, &list, NULL) != GPUCTR_OK);
    CHECK(list == NULL);
}

/* Where nothing was ever set up, nothing is; and looking leaves nothing. */
static void no_state(int root)
{
    gpuctr_setup_list_options options = GPUCTR_SETUP_LIST_OPTIONS_INIT;
    gpuctr_error* error = NULL;
    gpuctr_setup_list* list = NULL;
    char* json = NULL;

    options.state_dir = "/nonexistent/gpucontainer";
    CHECK(gpuctr_setup_list_open(root, &options, &list, &error) == GPUCTR_OK);
    CHECK(gpuctr_setup_list_count(list) == 0 && gpuctr_setup_list_at(list, 0) == NULL);
    CHECK(gpuctr_setup_list_to_json(list, &json, &error) == GPUCTR_OK);
    CHECK(strstr(json, "gpucontainer/status/1") != NULL);
    USAGE(gpuctr_setup_list_to_json(list, NULL, &error));
    gpuctr_string_free(json);
    gpuctr_setup_list_free(list);
    CHECK(access("/nonexistent", F_OK) != 0);
}

/* A caller that was built with a later header. */
static void options_of_a_later_version(void)
{
    struct {
        gpuctr_host_options known;
        uint64_t later;
    } options = {GPUCTR_HOST_OPTIONS_INIT, 0};
    gpuctr_error* error = NULL;
    gpuctr_host* host = NULL;

    options.known.struct_size = sizeof options;
    options.later = 1;
    USAGE(gpuctr_host_open(&options.known, &host, &error));
    options.later = 0;
    CHECK(gpuctr_host_open(&options.known, &host, &error) != GPUCTR_E_USAGE);
    gpuctr_host_free(host);
    gpuctr_error_free(error);
}

static void bytes_of_somebody_else(void)
{
    uint64_t bytes[64];
    const int fds[1] = {-1};

    memset(bytes, 0xa5, sizeof bytes);
    CHECK(gpuctr_prepared_adopt(NULL, 0, NULL, 0) == NULL);
    CHECK(gpuctr_prepared_adopt(bytes, 0, NULL, 0) == NULL);
    CHECK(gpuctr_prepared_adopt(bytes, sizeof bytes, NULL, 0) == NULL);
    CHECK(gpuctr_prepared_adopt(bytes, sizeof bytes, fds, 1) == NULL);
}

/* What a host without GPUs answers; one with GPUs has more to say. */
static void no_driver(int root)
{
    gpuctr_host_options options = GPUCTR_HOST_OPTIONS_INIT;
    const char* const nvidia[] = {"nvidia", NULL};
    gpuctr_error* error = NULL;
    gpuctr_host* host = NULL;
    gpuctr_plan* plan = NULL;
    gpuctr_status status;

    if (gpuctr_host_open(NULL, &host, NULL) != GPUCTR_OK)
        return;
    CHECK(gpuctr_host_driver_at(host, gpuctr_host_driver_count(host)) == NULL);
    CHECK(gpuctr_host_driver_at(host, SIZE_MAX) == NULL);
    CHECK(gpuctr_host_finding_at(host, gpuctr_host_finding_count(host)) == NULL);
    USAGE(gpuctr_host_to_json(host, NULL, &error));
    USAGE(gpuctr_plan_create(host, NULL, root, NULL, &error));
    if (gpuctr_host_driver_count(host) == 0) {
        status = gpuctr_plan_create(host, NULL, root, &plan, &error);
        CHECK(status == GPUCTR_E_NO_DEVICE && gpuctr_error_status(error) == status);
        gpuctr_error_free(error);
        error = NULL;
        CHECK(plan == NULL);
        options.vendors = nvidia;
        status = gpuctr_host_open(&options, &host, &error);
        CHECK(status == GPUCTR_E_NO_DEVICE);
        CHECK(gpuctr_error_hint(error)[0] != '\0');
        gpuctr_error_free(error);
    }
    gpuctr_host_free(host);
}

int main(void)
{
    const int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    CHECK(gpuctr_version()[0] != '\0');
    no_error();
    free_nothing();
    missing_arguments(root);
    wrong_options(root);
    no_state(root);
    options_of_a_later_version();
    bytes_of_somebody_else();
    no_driver(root);
    close(root);
    printf("%d failures\n", failures);
    return failures != 0;
}
