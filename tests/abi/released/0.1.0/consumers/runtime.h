/* SPDX-License-Identifier: MIT */
#ifndef C_RUNTIME_H
#define C_RUNTIME_H

#include <gpucontainer/gpucontainer.h>

#include <stdbool.h>

enum { not_set_up = 125, max_fds = 1024, max_size = 1 << 20 };

/** What the child needs to know; complete before it is cloned. */
struct container {
    const char* root;     /**< Path of the root file system, absolute. */
    char* const* command; /**< Path in the container, then arguments. */
    int sockets[2];       /**< The parent's end, the child's. */
};

/* All of these are async-signal-safe; the parent calls the first three too. */

/** Say on standard error what went wrong, with errno's text. Always false. */
bool complain(const char* step, const char* object);

/** Bind what is mounted at `source` over `target`, following no link there. The mount, or -1. */
int bind_tree(const char* source, int directory, const char* target);

/** Send descriptors, or receive as many, each message of them on one byte of the stream. */
bool pass_fds(int socket, bool sending, int* fds, size_t count);

/** The child: takes a struct container; returns an exit status when it cannot execute. */
int run_container(void* argument);

#endif /* C_RUNTIME_H */
