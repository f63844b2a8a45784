/* SPDX-License-Identifier: MIT */
/* A driver's library that needs the C library of Debian 12, 2.36, or a later one. */
#include <math.h>
#include <stdlib.h>

/* Of libc, since 2.36. */
unsigned driver_random(void) { return arc4random(); }

/* Of libm. */
double driver_power(double base, double exponent) { return pow(base, exponent); }
