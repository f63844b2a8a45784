// SPDX-License-Identifier: MIT
// What calls are answered with.

// NOLINTBEGIN(readability-identifier-naming): the names are ROCm's.
int hsaKmtOpenKFD(void);

int hsaKmtOpenKFD(void) { return 0; }
// NOLINTEND(readability-identifier-naming)
