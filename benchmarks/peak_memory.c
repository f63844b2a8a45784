/* SPDX-License-Identifier: MIT */
/* Prints the most memory that a program had, in KiB: a shell or an interpreter in
 * its place would count its own, which a process has until it executes another. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv)
{
    struct rusage usage = {0};
    int status = 0;
    pid_t child = argc > 1 ? fork() : -1;

    if (child == 0) {
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) {
        (void)fprintf(stderr, "peak_memory: %s failed\n", argc > 1 ? argv[1] : "no PROGRAM");
        return 1;
    }
    printf("%ld\n", usage.ru_maxrss);
    return 0;
}
