/* SPDX-License-Identifier: MIT */
/* A library with nothing in it but its soname, to link against. */
extern const int gpuctr_test_driver_stub;
const int gpuctr_test_driver_stub = 0;
