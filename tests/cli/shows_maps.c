/* SPDX-License-Identifier: MIT */
/* A program that uses as much as it can of the C library, loads a driver and calls it. Its
 * arguments are the driver's library, and others that are loaded too. It prints the files that
 * are mapped then: DEVICE INODE PATH. The path and the inode are those of /proc/self/maps; the
 * device there is not that of stat() on some file systems, so it is stat's of the path, which has
 * to lead to the same inode. */
#include <dlfcn.h>
#include <iconv.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

static void* count(void* counter)
{
    ++*(int*)counter;
    return NULL;
}

static int use_threads(void)
{
    pthread_t thread;
    int counter = 0;
    return pthread_create(&thread, NULL, count, &counter) == 0 && pthread_join(thread, NULL) == 0
           && counter == 1;
}

/* The C library has no module of these built in. */
static int use_character_sets(void)
{
    char in[] = "\xa4"; /* the Euro sign */
    char out[8] = "";
    char* from = in;
    char* to = out;
    size_t left = 1;
    size_t room = sizeof out - 1;
    const iconv_t converter = iconv_open("UTF-8", "ISO-8859-15");
    if (converter == (iconv_t)-1)
        return 0;
    const int converted = iconv(converter, &from, &left, &to, &room) == 0;
    (void)iconv_close(converter);
    return converted && strcmp(out, "\xe2\x82\xac") == 0;
}

/* Loads modules as /etc/nsswitch.conf says. */
static int use_names(void)
{
    struct addrinfo* found = NULL;
    if (getaddrinfo("localhost", NULL, NULL, &found) == 0)
        freeaddrinfo(found);
    const struct passwd* const user = getpwnam("root");
    return user != NULL && user->pw_uid == 0;
}

static int use_driver(const char* name)
{
    void* const driver = dlopen(name, RTLD_NOW);
    if (driver == NULL) {
        (void)fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    unsigned (*random)(void) = NULL;
    double (*power)(double, double) = NULL;
    *(void**)&random = dlsym(driver, "driver_random");
    *(void**)&power = dlsym(driver, "driver_power");
    if (random == NULL || power == NULL)
        return 0;
    (void)random();
    const double result = power(2.0, 10.0);
    return result > 1023.5 && result < 1024.5;
}

static int print_maps(void)
{
    FILE* const maps = fopen("/proc/self/maps", "r");
    if (maps == NULL)
        return 0;
    char line[4096];
    char path[4096];
    unsigned long inode = 0;
    int all_are_there = 1;
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%*s %*s %*s %*s %lu %4095s", &inode, path) != 2 || inode == 0)
            continue;
        struct stat status;
        if (stat(path, &status) != 0 || status.st_ino != inode)
            all_are_there = 0;
        (void)printf("%lu %lu %s\n", (unsigned long)status.st_dev, inode, path);
    }
    return fclose(maps) == 0 && all_are_there;
}

static int failed(const char* what)
{
    (void)fprintf(stderr, "%s: failed\n", what);
    return 1;
}

int main(int argc, char** argv)
{
    if (argc < 2 || !use_driver(argv[1]))
        return failed("driver");
    if (!use_threads())
        return failed("threads");
    if (!use_character_sets())
        return failed("character sets");
    if (!use_names())
        return failed("names");
    for (int i = 2; i < argc; ++i)
        if (dlopen(argv[i], RTLD_NOW) == NULL)
            return failed(dlerror());
    return print_maps() ? 0 : failed("maps");
}
