/* SPDX-License-Identifier: MIT */
/* The child: between clone and exec, so async-signal-safe functions only. */
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

bool complain(const char* step, const char* object)
{
    const char* reason = errno != 0 ? strerrordesc_np(errno) : "the other side gave up";
    const char* const words[] = {"c-runtime: ", step, " ", object, ": ", reason, "\n"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
        if (write(STDERR_FILENO, words[i], strlen(words[i])) < 0)
            break;
    return false;
}

int bind_tree(const char* source, int directory, const char* target)
{
    const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
    const int tree = open_tree(AT_FDCWD, source, flags);
    if (tree >= 0 && move_mount(tree, "", directory, target, MOVE_MOUNT_F_EMPTY_PATH) == 0)
        return tree;
    complain("bind", source);
    if (tree >= 0)
        close(tree);
    return -1;
}

bool pass_fds(int socket, bool sending, int* fds, size_t count)
{
    enum { most = 253 }; /* the kernel's SCM_MAX_FD */
    if (count > most && !pass_fds(socket, sending, fds + most, count - most))
        return false;
    const size_t size = (count > most ? most : count) * sizeof(int);

    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(most * sizeof(int))];
    } control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    control.header.cmsg_len = CMSG_LEN(size);
    if (sending)
        memcpy(CMSG_DATA(&control.header), fds, size);
    struct msghdr message = {.msg_iov = &(struct iovec){.iov_base = &(char){0}, .iov_len = 1},
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(size)};
    const ssize_t passed = sending ? sendmsg(socket, &message, MSG_NOSIGNAL)
                                   : recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (!sending)
        memcpy(fds, CMSG_DATA(&control.header), size);
    return passed == 1 && control.header.cmsg_len == CMSG_LEN(size);
}

/** Receive what the parent prepared into static memory, and put it into the root. */
static bool attach(int socket, int root)
{
    static _Alignas(uint64_t) unsigned char data[max_size];
    static int fds[max_fds];
    uint64_t counts[2] = {0, 0}; /* bytes, descriptors */
    errno = 0;
    if (recv(socket, counts, sizeof counts, MSG_WAITALL) != sizeof counts || counts[0] > max_size
        || counts[1] > max_fds || recv(socket, data, counts[0], MSG_WAITALL) != (ssize_t)counts[0]
        || !pass_fds(socket, false, fds, counts[1]))
        return complain("receive", "the prepared plan");

    /* The name of the process tells the phase, in ps as in a trace. */
    gpuctr_attach_error error = {sizeof error, 0, 0, "adopt", "the prepared plan"};
    prctl(PR_SET_NAME, "attach begin");
    gpuctr_prepared* prepared = gpuctr_prepared_adopt(data, counts[0], fds, counts[1]);
    const bool attached =
        prepared != NULL && gpuctr_prepared_attach(prepared, root, &error) == GPUCTR_OK;
    prctl(PR_SET_NAME, "attach end");
    errno = error.os_error;
    return attached || complain(error.step, error.object);
}

/** Make `root` the root directory, and the old one unreachable. */
static bool enter(int root)
{
    return (fchdir(root) == 0 && syscall(SYS_pivot_root, ".", ".") == 0
            && umount2(".", MNT_DETACH) == 0 && chdir("/") == 0)
           || complain("enter", "the root file system");
}

int run_container(void* argument)
{
    const struct container* container = argument;
    close(container->sockets[0]); /* or the end of the parent would not be seen */

    /* The parent's binds are locked in here; pivot_root wants a mount of this namespace. */
    const int root = bind_tree(container->root, AT_FDCWD, container->root);
    if (root < 0 || !attach(container->sockets[1], root) || bind_tree("/proc", root, "proc") < 0
        || !enter(root))
        return not_set_up;

    execve(container->command[0], container->command, environ); /* closes all that is ours */
    const int status = errno == ENOENT ? 127 : 126;
    complain("execute", container->command[0]);
    return status;
}
