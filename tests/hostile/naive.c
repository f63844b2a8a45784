// SPDX-License-Identifier: MIT
// Does by path what gpuctr-setup does by descriptor, with a look before: it has to
// lose against an attacker that the same test runs against gpuctr-setup.
//
//   naive mount SOURCE DIR NAME VICTIM    binds a file to DIR/NAME
//   naive create DIR NAME VICTIM          makes the file DIR/NAME
//   naive source SOURCE TARGET            binds the file that SOURCE was at first
//   naive resolve ROOT PATH               opens PATH in ROOT, without trying again
//   naive map FILE                        maps FILE to read it
//
// Tries for at most SECONDS (the environment) and until it has lost WANTED times;
// prints how often it tried and how often it lost.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char path[4096];

static bool is_mounted_on(const char* file)
{
    struct statx status;
    return statx(AT_FDCWD, file, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &status) == 0
           && (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

static bool unmount_all(const char* file)
{
    bool found = false;
    while (umount2(file, MNT_DETACH) == 0)
        found = true;
    return found;
}

/// A mount of the file is somewhere.
static bool is_left(const char* file)
{
    static char line[8192];
    FILE* const table = fopen("/proc/self/mountinfo", "re");
    bool left = false;
    while (table != NULL && fgets(line, sizeof line, table) != NULL)
        left = left || strstr(line, strrchr(file, '/')) != NULL;
    if (table != NULL)
        (void)fclose(table);
    return left;
}

static bool is_directory(const char* file)
{
    struct stat status;
    return lstat(file, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool lose_mount(char** words)
{
    if (!is_directory(words[1]) || mount(words[0], path, NULL, MS_BIND, NULL) != 0)
        return false;
    const bool lost = is_mounted_on(words[3]);
    bool found = unmount_all(path);
    found = unmount_all(words[3]) || found;
    // The directory was exchanged since, and is back now and then.
    while (!found && is_left(words[0]))
        found = unmount_all(path);
    return lost;
}

static bool lose_create(char** words)
{
    if (!is_directory(words[0]))
        return false;
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0)
        return false;
    (void)close(file);
    const bool lost = unlink(words[2]) == 0;
    (void)unlink(path);
    return lost;
}

static bool lose_source(char** words)
{
    static struct stat wanted;
    struct stat status;
    if (stat(words[0], &status) != 0)
        return false;
    if (wanted.st_ino == 0)
        wanted = status;
    if (status.st_ino != wanted.st_ino || mount(words[0], words[1], NULL, MS_BIND, NULL) != 0)
        return false;
    const bool lost = stat(words[1], &status) == 0 && status.st_ino != wanted.st_ino;
    (void)unmount_all(words[1]);
    return lost;
}

static bool lose_resolve(char** words)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    const int root = open(words[0], O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int file = (int)syscall(SYS_openat2, root, words[1], &how, sizeof how);
    const bool lost = file < 0 && errno == EAGAIN;
    (void)close(file);
    (void)close(root);
    return lost;
}

static sigjmp_buf before_reading;

static void leave(int number) { siglongjmp(before_reading, number); }

static bool lose_map(char** words)
{
    struct stat status;
    const int file = open(words[0], O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0 || status.st_size == 0) {
        (void)close(file);
        return false;
    }
    const size_t size = (size_t)status.st_size;
    void* const mapped = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    (void)close(file);
    if (mapped == MAP_FAILED)
        return false;
    volatile bool lost = true;
    if (sigsetjmp(before_reading, 1) == 0) {
        for (size_t i = 0; i < size; ++i)
            (void)((const volatile char*)mapped)[i];
        lost = false;
    }
    (void)munmap(mapped, size);
    return lost;
}

static long variable(const char* name)
{
    const char* const text = getenv(name);
    return text != NULL ? strtol(text, NULL, 10) : 1;
}

typedef bool (*lose_t)(char**);

static lose_t way_of(const char* name, int words)
{
    static const struct {
        const char* name;
        int words;
        lose_t lose;
    } ways[] = {{"mount", 4, lose_mount},
                {"create", 3, lose_create},
                {"source", 2, lose_source},
                {"resolve", 2, lose_resolve},
                {"map", 1, lose_map}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i)
        if (ways[i].words == words && strcmp(ways[i].name, name) == 0)
            return ways[i].lose;
    return NULL;
}

int main(int argc, char** argv)
{
    const lose_t lose = argc > 1 ? way_of(argv[1], argc - 2) : NULL;
    if (lose == NULL)
        return 2;
    if (argc >= 5)
        (void)snprintf(path, sizeof path, "%s/%s", argv[argc - 3], argv[argc - 2]);

    (void)signal(SIGBUS, leave);
    const time_t end = time(NULL) + variable("SECONDS") + 1;
    const long wanted = variable("WANTED");
    long tries = 0;
    long lost = 0;
    for (; lost < wanted && time(NULL) < end; ++tries)
        lost += lose(argv + 2) ? 1 : 0;
    (void)printf("%ld %ld\n", tries, lost);
    return 0;
}
