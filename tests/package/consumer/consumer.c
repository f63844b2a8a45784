/* SPDX-License-Identifier: MIT */
#include <gpucontainer/gpucontainer.h>

#include <stdio.h>

int main(void) { return puts(gpuctr_version()) < 0; }
