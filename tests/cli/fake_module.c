/* SPDX-License-Identifier: MIT */
/* What libkmod and depmod take for a kernel module. The kernel does not. */
__attribute__((section(".modinfo"), used)) static const char license[] = "license=MIT";
