/* SPDX-License-Identifier: MIT */
/* A program that calls everything that changes something, once as it is and once
 * saying that it is made for raised privileges; prints what came of each.
 *
 *     raised_caller ROOT DIRECTORY [load]
 */
#include <gpucontainer/gpucontainer.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv)
{
    const int root = open(argc > 2 ? argv[1] : "", O_PATH | O_DIRECTORY | O_CLOEXEC);
    gpuctr_host* host = NULL;
    gpuctr_plan* plan = NULL;
    gpuctr_request request = GPUCTR_REQUEST_INIT;
    gpuctr_error* error = NULL;

    request.environment = (const char* const*)environ;
    if (root < 0 || setuid(0) != 0 || gpuctr_host_open(NULL, &host, NULL) != GPUCTR_OK
        || gpuctr_plan_create(host, &request, root, &plan, NULL) != GPUCTR_OK)
        return 1;
    for (size_t i = 0; i < gpuctr_plan_item_count(plan); ++i) {
        const gpuctr_item* item = gpuctr_plan_item_at(plan, i);
        if (strcmp(gpuctr_item_target(item), "/tmp/nvidia-mps") == 0)
            printf("mps %s\n", gpuctr_item_source(item));
    }
    for (int made_for_it = 0; made_for_it < 2; ++made_for_it) {
        gpuctr_apply_options apply = GPUCTR_APPLY_OPTIONS_INIT;
        gpuctr_undo_options undo = GPUCTR_UNDO_OPTIONS_INIT;
        gpuctr_prepare_options prepare = GPUCTR_PREPARE_OPTIONS_INIT;
        gpuctr_stage_options stage = GPUCTR_STAGE_OPTIONS_INIT;
        gpuctr_prepared* prepared = NULL;
        gpuctr_setup_list* list = NULL;
        gpuctr_attach_error attach_error = GPUCTR_ATTACH_ERROR_INIT;
        gpuctr_load_options load = GPUCTR_LOAD_OPTIONS_INIT;

        if (made_for_it) {
            apply.flags = GPUCTR_APPLY_SETUID;
            undo.flags = GPUCTR_UNDO_SETUID;
            stage.flags = GPUCTR_STAGE_SETUID;
            prepare.flags = GPUCTR_PREPARE_SETUID;
        }
        printf("apply %d\n", gpuctr_plan_apply(plan, root, &apply, NULL, &error));
        if (error != NULL)
            printf("%s; %s\n", gpuctr_error_message(error), gpuctr_error_hint(error));
        gpuctr_error_free(error);
        error = NULL;
        if (gpuctr_setup_list_open(-1, NULL, &list, NULL) == GPUCTR_OK
            && gpuctr_setup_list_count(list))
            printf("setup_undo %d\n",
                   gpuctr_setup_undo(gpuctr_setup_list_at(list, 0), &undo, NULL, NULL));
        gpuctr_setup_list_free(list);
        printf("rootfs_undo %d\n", gpuctr_rootfs_undo(root, &undo, NULL, NULL));
        printf("stage %d\n", gpuctr_plan_stage(plan, argv[2], &stage, NULL, NULL));
        printf("unstage %d\n", gpuctr_unstage(argv[2], &stage, NULL, NULL));
        printf("prepare %d\n", gpuctr_plan_prepare(plan, &prepare, &prepared, NULL));
        if (prepared != NULL) {
            printf("attach %d\n", gpuctr_prepared_attach(prepared, root, &attach_error));
            printf("undo %d\n", gpuctr_prepared_undo(prepared, root, &attach_error));
        }
        gpuctr_prepared_free(prepared);
        if (argc > 3) /* which changes the host */
            printf("load %d\n", gpuctr_host_load_kernel_modules(&load, NULL));
    }
    gpuctr_plan_free(plan);
    gpuctr_host_free(host);
    return 0;
}
