// SPDX-License-Identifier: MIT
// A library as an old image has it, by its name the driver's: whoever loads it
// finds none of the driver's functions.
extern const int gpuctr_test_stale_driver;
const int gpuctr_test_stale_driver = 0;
