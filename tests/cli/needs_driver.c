/* SPDX-License-Identifier: MIT */
/* A program that is linked to the driver; prints which files it was given. */
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_driver_library(struct dl_phdr_info* info, size_t size, void* unused)
{
    (void)size;
    (void)unused;
    if (strstr(info->dlpi_name, "libcuda") == NULL && strstr(info->dlpi_name, "libnvidia") == NULL)
        return 0;
    char* const path = realpath(info->dlpi_name, NULL);
    printf("%s\n", path != NULL ? path : info->dlpi_name);
    free(path);
    return 0;
}

int main(void) { return dl_iterate_phdr(print_driver_library, NULL); }
