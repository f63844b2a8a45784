// SPDX-License-Identifier: MIT
// What calls are answered with.

int hsaKmtOpenKFD(void);

int hsaKmtOpenKFD(void) { return 0; }
