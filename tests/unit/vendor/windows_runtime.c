// SPDX-License-Identifier: MIT
// A library that calls another, which need not have all of it.

int hsaKmtOpenKFD(void);
int hsaKmtCreateQueueV2(void);
int use_calls(void);

int use_calls(void) { return hsaKmtOpenKFD() + hsaKmtCreateQueueV2(); }
