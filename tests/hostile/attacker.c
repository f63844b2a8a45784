// SPDX-License-Identifier: MIT
// Changes names of an image as fast as it can, until SIGTERM: then they are as before.
//
//   attacker CPU swap A B [A B]...     exchanges each pair in turn
//   attacker CPU rename A B [A B]...   moves A to B and back
//   attacker CPU replace A B [A B]...  moves A to B, has a directory, then a file at A
//   attacker CPU damage A B [A B]...   cuts the file A short, lets it grow, or changes
//                                      bytes of it, and has the content of B in it again
//
// Prints "ready", and how often it did so at the end.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static uint32_t random_state = 2463534242U;

static uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

/// Up to two microseconds.
static void pause_briefly(void)
{
    struct timespec begin;
    struct timespec now;
    const long wanted = (long)(next_random() % 2000);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < wanted);
}

static void swap(const char* a, const char* b)
{
    (void)renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
    pause_briefly();
    (void)renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

static void move(const char* a, const char* b)
{
    (void)rename(a, b);
    pause_briefly();
    (void)rename(b, a);
}

static void replace(const char* a, const char* b)
{
    if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_NOREPLACE) != 0)
        return;
    if (mkdir(a, 0755) == 0) {
        pause_briefly();
        (void)rmdir(a);
    }
    const int file = open(a, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (file >= 0) {
        (void)close(file);
        pause_briefly();
        (void)unlink(a);
    }
    if (renameat2(AT_FDCWD, b, AT_FDCWD, a, RENAME_NOREPLACE) == 0)
        return;
    // Somebody put something into the directory that was made: it goes aside.
    static unsigned number;
    char aside[4096];
    (void)snprintf(aside, sizeof aside, "%s.%u", b, number++);
    for (int tries = 0; tries < 1000; ++tries)
        if (renameat2(AT_FDCWD, b, AT_FDCWD, a, RENAME_EXCHANGE) == 0) {
            (void)rename(b, aside);
            return;
        }
}

static void damage(const char* a, const char* b)
{
    static char content[1 << 20];
    const int genuine = open(b, O_RDONLY | O_CLOEXEC);
    const ssize_t size = read(genuine, content, sizeof content);
    (void)close(genuine);
    const int file = open(a, O_RDWR | O_CLOEXEC);
    if (size <= 0 || file < 0)
        return;
    const uint32_t place = next_random() % (uint32_t)size;
    const uint32_t bytes[] = {next_random(), next_random()};
    switch (next_random() % 4) {
    case 0:
        (void)ftruncate(file, 0);
        break;
    case 1:
        (void)ftruncate(file, (off_t)size * 2);
        break;
    case 2:
        // Numbers of the header, and of the first entries, say where the rest is.
        (void)pwrite(file, bytes, 1 + next_random() % sizeof bytes, place % 128);
        (void)pwrite(file, bytes, 1 + next_random() % sizeof bytes, place);
        break;
    default:
        (void)ftruncate(file, place);
    }
    pause_briefly();
    (void)ftruncate(file, size);
    (void)pwrite(file, content, (size_t)size, 0);
    (void)close(file);
}

typedef void (*attack_t)(const char*, const char*);

static attack_t attack_of(const char* name)
{
    static const struct {
        const char* name;
        attack_t attack;
    } attacks[] = {{"swap", swap}, {"rename", move}, {"replace", replace}, {"damage", damage}};
    for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; ++i)
        if (strcmp(attacks[i].name, name) == 0)
            return attacks[i].attack;
    return NULL;
}

int main(int argc, char** argv)
{
    const attack_t attack = argc >= 5 && argc % 2 == 1 ? attack_of(argv[2]) : NULL;
    if (attack == NULL) {
        (void)fprintf(stderr, "usage: attacker CPU swap|rename|replace|damage A B [A B]...\n");
        return 2;
    }
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(strtoul(argv[1], NULL, 10), &cpus);
    (void)sched_setaffinity(0, sizeof cpus, &cpus);
    (void)signal(SIGTERM, stop);
    (void)puts("ready");
    (void)fflush(stdout);
    unsigned long count = 0;
    for (; !stopped; ++count)
        for (int i = 3; i < argc; i += 2) {
            attack(argv[i], argv[i + 1]);
            pause_briefly();
        }
    (void)printf("%lu\n", count);
    return 0;
}
