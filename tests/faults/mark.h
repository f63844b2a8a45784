/* SPDX-License-Identifier: MIT */
#ifndef FAULTS_MARK_H
#define FAULTS_MARK_H

#include <sys/prctl.h>

/* No prctl() of the kernel's. */
#define FAULT_MARK 0x67706366

/* Under `inject -m`, has the number-th system call from here on fail with the error,
 * in this thread or, with process 1, in the first process that it starts; number 0:
 * none. Returns how many that thread or process made since the mark before. */
static inline long fault_mark(unsigned long number, unsigned long error, unsigned long process)
{
    return prctl(FAULT_MARK, number, error, process, 0UL);
}

#endif
