/* SPDX-License-Identifier: MIT */
/* A container runtime of two processes; this is the parent. */
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void print_error(gpuctr_error* error)
{
    fprintf(stderr, "c-runtime: %s\n", gpuctr_error_message(error));
    if (gpuctr_error_hint(error)[0] != '\0')
        fprintf(stderr, "hint: %s\n", gpuctr_error_hint(error));
    gpuctr_error_free(error);
}

static bool write_proc(pid_t process, const char* name, const char* content)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)process, name);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool written = fd >= 0 && write(fd, content, strlen(content)) >= 0;
    close(fd);
    return written || complain("write", path);
}

/** In the user namespace of the child this user is this user, and all others are nobody. */
static bool map_ids(pid_t child)
{
    char user[32];
    char group[32];
    snprintf(user, sizeof user, "%u %u 1", geteuid(), geteuid());
    snprintf(group, sizeof group, "%u %u 1", getegid(), getegid());
    return write_proc(child, "setgroups", "deny") && write_proc(child, "uid_map", user)
           && write_proc(child, "gid_map", group);
}

/** Cover the image's /dev, where there is one, with a tmpfs that holds the usual nodes. */
static bool make_dev(int root)
{
    int dev = openat(root, "dev", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dev < 0)
        return errno == ENOENT || complain("open", "dev of the root file system");
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", dev);
    bool made = mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755") == 0
                || complain("mount", "a tmpfs on dev");
    close(dev);
    dev = openat(root, "dev", O_PATH | O_DIRECTORY | O_CLOEXEC); /* the tmpfs */

    const char* const nodes[] = {"null", "zero", "random", "urandom"};
    for (size_t i = 0; made && i < sizeof nodes / sizeof nodes[0]; ++i) {
        snprintf(path, sizeof path, "/dev/%s", nodes[i]);
        const int file = openat(dev, nodes[i], O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
        const int node = file >= 0 ? bind_tree(path, dev, nodes[i]) : -1;
        made = node >= 0 || complain("make", path);
        close(node);
        close(file);
    }
    close(dev);
    return made;
}

static gpuctr_plan* make_plan(int root)
{
    gpuctr_request request = GPUCTR_REQUEST_INIT;
    request.environment = (const char* const*)environ;
    request.write = GPUCTR_WRITE_NEVER; /* the child may not be allowed to */
    gpuctr_error* error = NULL;
    gpuctr_host* host = NULL;
    gpuctr_plan* plan = NULL;
    if (gpuctr_host_open(NULL, &host, &error) != GPUCTR_OK
        || gpuctr_plan_create(host, &request, root, &plan, &error) != GPUCTR_OK)
        print_error(error);
    gpuctr_host_free(host);
    return plan;
}

static bool change_variable(const gpuctr_variable* variable)
{
    const char* action = gpuctr_variable_action(variable);
    const char* name = gpuctr_variable_name(variable);
    const char* value = gpuctr_variable_value(variable);
    const char* old = getenv(name);
    if (strcmp(action, "unset") == 0)
        return unsetenv(name) == 0;
    if (strcmp(action, "set") == 0 || old == NULL || *old == '\0')
        return setenv(name, value, 1) == 0;
    const bool first = strcmp(action, "prepend") == 0;
    char* both = NULL;
    if (asprintf(&both, "%s:%s", first ? value : old, first ? old : value) < 0)
        return false;
    const bool changed = setenv(name, both, 1) == 0;
    free(both);
    return changed;
}

/** Prepare in this process's view of the host, and send the result to the child. */
static bool hand_over(const gpuctr_plan* plan, int socket)
{
    gpuctr_error* error = NULL;
    gpuctr_prepared* prepared = NULL;
    if (gpuctr_plan_prepare(plan, NULL, &prepared, &error) != GPUCTR_OK) {
        print_error(error);
        return false;
    }
    const uint64_t counts[] = {gpuctr_prepared_size(prepared), gpuctr_prepared_fd_count(prepared)};
    int fds[max_fds];
    for (size_t i = 0; i < counts[1] && i < max_fds; ++i)
        fds[i] = gpuctr_prepared_fd_at(prepared, i);
    const bool sent = send(socket, counts, sizeof counts, MSG_NOSIGNAL) == sizeof counts
                      && send(socket, gpuctr_prepared_data(prepared), counts[0], MSG_NOSIGNAL)
                             == (ssize_t)counts[0]
                      && counts[1] <= max_fds && pass_fds(socket, true, fds, counts[1]);
    gpuctr_prepared_free(prepared);
    return sent || complain("send", "the prepared plan");
}

static int run(struct container* container, const gpuctr_plan* plan)
{
    static _Alignas(16) char stack[64 * 1024];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, container->sockets) != 0)
        return not_set_up;
    const pid_t child = clone(run_container, stack + sizeof stack,
                              CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD, container);
    if (child < 0)
        complain("start", "the container");
    close(container->sockets[1]);
    const bool ready = child > 0 && map_ids(child) && hand_over(plan, container->sockets[0]);
    close(container->sockets[0]); /* a child that still waits gives up */

    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!ready)
        return not_set_up;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char** argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: c-runtime ROOTFS COMMAND [ARGUMENT]...\n");
        return 2;
    }
    char* path = realpath(argv[1], NULL);
    if (path == NULL) {
        complain("open", argv[1]);
        return not_set_up;
    }
    /* The container is arranged in a mount namespace of ours; nothing of it reaches the host. */
    int root = -1;
    if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0)
        root = bind_tree(path, AT_FDCWD, path);
    else
        complain("make", "a mount namespace");
    gpuctr_plan* plan = root >= 0 && make_dev(root) ? make_plan(root) : NULL;
    bool changed = plan != NULL;
    for (size_t i = 0; changed && i < gpuctr_plan_variable_count(plan); ++i)
        changed = change_variable(gpuctr_plan_variable_at(plan, i));

    struct container container = {.root = path, .command = argv + 2};
    const int status = changed ? run(&container, plan) : not_set_up;
    gpuctr_plan_free(plan);
    close(root);
    free(path);
    return status;
}
