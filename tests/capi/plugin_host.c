/* SPDX-License-Identifier: MIT */
/* A C program that loads the library like a plug-in, uses it, unloads it and does
 * so again: nothing of it stays, and nothing of it is seen outside. */
#include <gpucontainer/gpucontainer.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void check(int line, const char* what, int holds)
{
    if (!holds) {
        printf("plugin_host.c:%d: does not hold: %s\n", line, what);
        ++failures;
    }
}
#define CHECK(condition) check(__LINE__, #condition, (condition))

/* In the way of dlsym(3): ISO C has no cast from an object pointer to a function pointer. */
static void get(void* library, const char* name, void* function)
{
    *(void**)function = dlsym(library, name);
    check(__LINE__, name, *(void**)function != NULL);
}
#define GET(library, name) get(library, "gpuctr_" #name, (void*)&(name))

static int is_mapped(void)
{
    FILE* maps = fopen("/proc/self/maps", "r");
    char line[4096];
    int found = 0;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        found = found || strstr(line, "libgpucontainer") != NULL;
    if (maps != NULL)
        (void)fclose(maps);
    return found;
}

static void use(void* library)
{
    gpuctr_status (*host_open)(const gpuctr_host_options*, gpuctr_host**, gpuctr_error**);
    gpuctr_status (*host_to_json)(const gpuctr_host*, char**, gpuctr_error**);
    gpuctr_status (*plan_create)(const gpuctr_host*, const gpuctr_request*, int, gpuctr_plan**,
                                 gpuctr_error**);
    const char* (*error_message)(const gpuctr_error*);
    void (*error_free)(gpuctr_error*);
    void (*string_free)(char*);
    void (*plan_free)(gpuctr_plan*);
    void (*host_free)(gpuctr_host*);
    gpuctr_request request = GPUCTR_REQUEST_INIT;
    gpuctr_host* host = NULL;
    gpuctr_plan* plan = NULL;
    gpuctr_error* error = NULL;
    char* json = NULL;

    GET(library, host_open);
    GET(library, host_to_json);
    GET(library, plan_create);
    GET(library, error_message);
    GET(library, error_free);
    GET(library, string_free);
    GET(library, plan_free);
    GET(library, host_free);

    CHECK(host_open(NULL, &host, NULL) == GPUCTR_OK);
    CHECK(host_to_json(host, &json, NULL) == GPUCTR_OK && json[0] == '{');
    CHECK(plan_create(host, NULL, -1, &plan, NULL) == GPUCTR_OK);
    plan_free(plan);
    plan = NULL;
    request.devices = "99";
    CHECK(plan_create(host, &request, -1, &plan, &error) == GPUCTR_E_USAGE && plan == NULL);
    CHECK(strcmp(error_message(error), "device 99: no such GPU") == 0);
    error_free(error);
    string_free(json);
    host_free(host);
}

int main(void)
{
    int i;
    for (i = 0; i < 2; ++i) {
        void* library = dlopen(GPUCTR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            printf("%s\n", dlerror());
            return 1;
        }
        CHECK(is_mapped());
        CHECK(dlsym(RTLD_DEFAULT, "gpuctr_version") == NULL);
        use(library);
        CHECK(dlclose(library) == 0);
        CHECK(!is_mapped());
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
