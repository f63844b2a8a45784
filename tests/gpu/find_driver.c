// SPDX-License-Identifier: MIT
// Looks for libcuda in the ways in which frameworks do, and prints what each of them finds.

#include <dlfcn.h>
#include <err.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool report(const char* way, const char* path)
{
    char resolved[PATH_MAX] = "";
    const bool found = path != NULL && realpath(path, resolved) != NULL;
    printf("%s: %s\n", way, found ? resolved : "not found");
    return found;
}

/// PyTorch, JAX and CuPy load the first name, Julia and numba the second one.
static bool by_loader(const char* name)
{
    char way[64];
    const struct link_map* map = NULL;
    void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    (void)snprintf(way, sizeof way, "dlopen %s", name);
    if (library == NULL || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
        return report(way, NULL);
    const bool found = report(way, map->l_name);
    dlclose(library);
    return found;
}

/// A compiler's `-lcuda` looks for the development name in the system's directories.
static bool by_linker(void)
{
    static const char* const directories[] = {"/usr/local/lib/x86_64-linux-gnu",
                                              "/usr/lib/x86_64-linux-gnu",
                                              "/usr/local/lib64",
                                              "/usr/lib64",
                                              "/usr/local/lib",
                                              "/usr/lib"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; ++i) {
        (void)snprintf(path, sizeof path, "%s/libcuda.so", directories[i]);
        if (access(path, R_OK) == 0)
            return report("-lcuda", path);
    }
    return report("-lcuda", NULL);
}

/// Triton takes the directories of the lines with libcuda.so.1 in the loader's cache, and links its
/// programs with the library that is there.
static bool by_cache(void)
{
    char line[PATH_MAX + 64];
    char path[PATH_MAX] = "";
    FILE* list = popen("/sbin/ldconfig -p", "r"); // NOLINT(cert-env33-c): as Triton does
    if (list == NULL)
        err(1, "start ldconfig");
    while (fgets(line, sizeof line, list) != NULL) {
        const char* arrow = strstr(line, " => ");
        if (path[0] != '\0' || arrow == NULL || strstr(line, "libcuda.so.1 ") == NULL)
            continue;
        (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(arrow + 4, "\n"), arrow + 4);
    }
    pclose(list);
    return report("ldconfig -p", path[0] != '\0' ? path : NULL);
}

int main(void)
{
    int missing = 0;
    missing += !by_loader("libcuda.so.1");
    missing += !by_loader("libcuda.so");
    missing += !by_linker();
    missing += !by_cache();
    return missing == 0 ? 0 : 1;
}
