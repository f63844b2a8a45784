// SPDX-License-Identifier: MIT
#include <unistd.h>

/// Says that it runs, as whom, and whether it may do what only the machine's root may.
__attribute__((constructor)) static void run(void)
{
    static const char as_root[] = "CODE OF THE REPORT RAN AS ROOT OF THE MACHINE\n";
    static const char ran[] = "CODE OF THE REPORT RAN\n";
    if (access("/etc/shadow", R_OK) == 0)
        (void)!write(1, as_root, sizeof as_root - 1);
    else
        (void)!write(1, ran, sizeof ran - 1);
}
