// SPDX-License-Identifier: MIT
// A library that calls another, which need not have all of it.

// NOLINTBEGIN(readability-identifier-naming): the names are ROCm's.
int hsaKmtOpenKFD(void);
int hsaKmtCreateQueueV2(void);
// NOLINTEND(readability-identifier-naming)
int use_calls(void);

int use_calls(void) { return hsaKmtOpenKFD() + hsaKmtCreateQueueV2(); }
