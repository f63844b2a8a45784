/* SPDX-License-Identifier: MIT */
/* A program that loads the driver by name, as CUDA's runtime does; prints which
 * file each of its arguments turned out to be. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

static int print(const char* name)
{
    struct link_map* map = NULL;
    void* const library = dlopen(name, RTLD_NOW);
    if (library == NULL || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) {
        (void)fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    char* const path = realpath(map->l_name, NULL);
    printf("%s\n", path != NULL ? path : map->l_name);
    free(path);
    return 0;
}

int main(int argc, char** argv)
{
    int failed = 0;
    for (int i = 1; i < argc; ++i)
        failed |= print(argv[i]);
    return failed;
}
