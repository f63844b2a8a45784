// SPDX-License-Identifier: MIT
// A file system in user space that shows a directory of another one, and stops
// answering when it is told to. It speaks the protocol of /dev/fuse itself.
//
//   silent FUSE SOURCE TARGET
// FUSE is the device. Prints "ready" once SOURCE is seen at TARGET, and then does what
// standard input says, each line answered with "seen COUNT", the requests since the
// line before:
//
//   answer      all that comes
//   ignore N    from the N-th request on nothing is read; then it prints "silent"
//   take N      the same, but the N-th is read before
//
// What was not answered is answered after another line. Ends with its input.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

enum { most_nodes = 4096, largest_write = 65536, buffer_size = largest_write + 4096 };

static int device;
static _Alignas(8) char request[buffer_size];
static _Alignas(8) char answer[buffer_size];

/// The root is number FUSE_ROOT_ID.
static struct {
    uint64_t known; // how often the kernel was told of it; 0: free
    int fd;
    dev_t device;
    ino_t inode;
} nodes[most_nodes];
static uint64_t told; // the node that the answer tells of, or 0

struct fd_path {
    char text[32];
};

static struct fd_path path_of(int fd)
{
    struct fd_path path;
    (void)snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", fd);
    return path;
}

static const struct fuse_in_header* header(void) { return (const void*)request; }
static const void* argument(void) { return request + sizeof(struct fuse_in_header); }
static int node(void) { return nodes[header()->nodeid].fd; }

/// The name that follows an argument of some size, and the one behind it.
static const char* name_after(size_t size)
{
    return request + sizeof(struct fuse_in_header) + size;
}
static const char* next(const char* name) { return name + strlen(name) + 1; }

/// What a request comes to: an error, or how many bytes of the answer are there.
struct outcome {
    int error;
    size_t size;
};

static struct outcome bytes(size_t size) { return (struct outcome){0, size}; }
static struct outcome failed(int error) { return (struct outcome){error, 0}; }
static struct outcome done(int result) { return failed(result == 0 ? 0 : errno); }

static struct fuse_attr attributes(const struct stat* from)
{
    return (struct fuse_attr){
        .ino = from->st_ino,
        .size = (uint64_t)from->st_size,
        .blocks = (uint64_t)from->st_blocks,
        .atime = (uint64_t)from->st_atim.tv_sec,
        .mtime = (uint64_t)from->st_mtim.tv_sec,
        .ctime = (uint64_t)from->st_ctim.tv_sec,
        .atimensec = (uint32_t)from->st_atim.tv_nsec,
        .mtimensec = (uint32_t)from->st_mtim.tv_nsec,
        .ctimensec = (uint32_t)from->st_ctim.tv_nsec,
        .mode = from->st_mode,
        .nlink = (uint32_t)from->st_nlink,
        .uid = from->st_uid,
        .gid = from->st_gid,
        .rdev = (uint32_t)from->st_rdev,
        .blksize = (uint32_t)from->st_blksize,
    };
}

static struct outcome attributes_of(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return failed(errno);
    const struct fuse_attr_out out = {.attr = attributes(&status)};
    memcpy(answer, &out, sizeof out);
    return bytes(sizeof out);
}

static uint64_t number_of(int fd, const struct stat* status)
{
    uint64_t unused = 0;
    for (uint64_t number = FUSE_ROOT_ID; number < most_nodes; ++number) {
        if (nodes[number].known == 0) {
            unused = unused == 0 ? number : unused;
        } else if (nodes[number].inode == status->st_ino
                   && nodes[number].device == status->st_dev) {
            (void)close(fd);
            ++nodes[number].known;
            return number;
        }
    }
    if (unused == 0)
        abort();
    nodes[unused].known = 1;
    nodes[unused].fd = fd;
    nodes[unused].device = status->st_dev;
    nodes[unused].inode = status->st_ino;
    return unused;
}

static void forget(uint64_t number, uint64_t times)
{
    if (number >= most_nodes || nodes[number].known < times)
        abort();
    nodes[number].known -= times;
    if (nodes[number].known == 0)
        (void)close(nodes[number].fd);
}

static void forget_all(void)
{
    const struct fuse_batch_forget_in* const in = argument();
    const struct fuse_forget_one* const ones = (const void*)(in + 1);
    for (uint32_t i = 0; i < in->count; ++i)
        forget(ones[i].nodeid, ones[i].nlookup);
}

static struct outcome look_up(const char* name)
{
    struct stat status;
    const int fd = openat(node(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        return failed(errno);
    told = number_of(fd, &status);
    const struct fuse_entry_out out = {
        .nodeid = told,
        .attr = attributes(&status),
    };
    memcpy(answer, &out, sizeof out);
    return bytes(sizeof out);
}

/// The entry of a name that was made, for whoever asked for it.
static struct outcome made(int result, const char* name)
{
    if (result != 0)
        return failed(errno);
    (void)fchownat(node(), name, header()->uid, header()->gid, AT_SYMLINK_NOFOLLOW);
    return look_up(name);
}

static struct outcome make_node(void)
{
    const struct fuse_mknod_in* const in = argument();
    const char* const name = name_after(sizeof *in);
    return made(mknodat(node(), name, in->mode, in->rdev), name);
}

static struct outcome make_directory(void)
{
    const struct fuse_mkdir_in* const in = argument();
    const char* const name = name_after(sizeof *in);
    return made(mkdirat(node(), name, in->mode), name);
}

static struct outcome make_link(void)
{
    const char* const name = name_after(0);
    return made(symlinkat(next(name), node(), name), name);
}

static struct outcome rename_to(uint64_t directory, unsigned flags, const char* name)
{
    return done(renameat2(node(), name, nodes[directory].fd, next(name), flags));
}

static struct timespec time_of(uint32_t valid, uint32_t given, uint32_t now, uint64_t seconds,
                               uint32_t nanoseconds)
{
    const long other = (valid & now) != 0 ? UTIME_NOW : UTIME_OMIT;
    const bool known = (valid & given) != 0 && (valid & now) == 0;
    return (struct timespec){(time_t)seconds, known ? (long)nanoseconds : other};
}

static struct outcome set_attributes(void)
{
    const struct fuse_setattr_in* const in = argument();
    const struct fd_path path = path_of(node());
    const struct timespec times[] = {
        time_of(in->valid, FATTR_ATIME, FATTR_ATIME_NOW, in->atime, in->atimensec),
        time_of(in->valid, FATTR_MTIME, FATTR_MTIME_NOW, in->mtime, in->mtimensec),
    };
    const uid_t user = (in->valid & FATTR_UID) != 0 ? in->uid : (uid_t)-1;
    const gid_t group = (in->valid & FATTR_GID) != 0 ? in->gid : (gid_t)-1;
    if (fchownat(node(), "", user, group, AT_EMPTY_PATH) != 0
        || ((in->valid & FATTR_MODE) != 0 && chmod(path.text, in->mode) != 0)
        || ((in->valid & FATTR_SIZE) != 0 && truncate(path.text, (off_t)in->size) != 0)
        || utimensat(AT_FDCWD, path.text, times, 0) != 0)
        return failed(errno);
    return attributes_of(node());
}

static struct outcome read_link(void)
{
    const ssize_t size = readlinkat(node(), "", answer, sizeof answer);
    return size < 0 ? failed(errno) : bytes((size_t)size);
}

static struct outcome open_node(void)
{
    memset(answer, 0, sizeof(struct fuse_open_out));
    return bytes(sizeof(struct fuse_open_out));
}

static struct outcome read_node(void)
{
    const struct fuse_read_in* const in = argument();
    const size_t wanted = in->size < largest_write ? in->size : largest_write;
    const int file = open(path_of(node()).text, O_RDONLY | O_CLOEXEC);
    const ssize_t size = pread(file, answer, wanted, (off_t)in->offset);
    const struct outcome outcome = size < 0 ? failed(errno) : bytes((size_t)size);
    (void)close(file);
    return outcome;
}

static struct outcome write_node(void)
{
    const struct fuse_write_in* const in = argument();
    const int file = open(path_of(node()).text, O_WRONLY | O_CLOEXEC);
    const ssize_t size = pwrite(file, name_after(sizeof *in), in->size, (off_t)in->offset);
    const struct fuse_write_out out = {.size = size < 0 ? 0 : (uint32_t)size};
    const struct outcome outcome = size < 0 ? failed(errno) : bytes(sizeof out);
    memcpy(answer, &out, sizeof out);
    (void)close(file);
    return outcome;
}

static struct outcome read_directory(void)
{
    const struct fuse_read_in* const in = argument();
    DIR* const directory = fdopendir(open(path_of(node()).text, O_RDONLY | O_CLOEXEC));
    if (directory == NULL)
        return failed(errno);
    const size_t limit = in->size < largest_write ? in->size : largest_write;
    size_t size = 0;
    uint64_t number = 0;
    for (const struct dirent* entry; (entry = readdir(directory)) != NULL;) {
        if (++number <= in->offset)
            continue;
        const struct fuse_dirent out = {
            .ino = entry->d_ino,
            .off = number,
            .namelen = (uint32_t)strlen(entry->d_name),
            .type = entry->d_type,
        };
        const size_t whole = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + out.namelen);
        if (size + whole > limit)
            break;
        memset(answer + size, 0, whole);
        memcpy(answer + size, &out, FUSE_NAME_OFFSET);
        memcpy(answer + size + FUSE_NAME_OFFSET, entry->d_name, out.namelen);
        size += whole;
    }
    (void)closedir(directory);
    return bytes(size);
}

static struct outcome describe_file_system(void)
{
    struct statfs status;
    if (fstatfs(node(), &status) != 0)
        return failed(errno);
    const struct fuse_statfs_out out = {
        .st = {.bsize = (uint32_t)status.f_bsize,
               .frsize = (uint32_t)status.f_frsize,
               .namelen = (uint32_t)status.f_namelen},
    };
    memcpy(answer, &out, sizeof out);
    return bytes(sizeof out);
}

static struct outcome begin(void)
{
    const struct fuse_init_in* const in = argument();
    const struct fuse_init_out out = {
        .major = FUSE_KERNEL_VERSION,
        .minor = in->minor < FUSE_KERNEL_MINOR_VERSION ? in->minor : FUSE_KERNEL_MINOR_VERSION,
        .flags = FUSE_BIG_WRITES,
        .max_write = largest_write,
        .time_gran = 1,
    };
    memcpy(answer, &out, sizeof out);
    return bytes(sizeof out);
}

static struct outcome serve(void)
{
    switch (header()->opcode) {
    case FUSE_INIT:
        return begin();
    case FUSE_LOOKUP:
        return look_up(name_after(0));
    case FUSE_GETATTR:
        return attributes_of(node());
    case FUSE_SETATTR:
        return set_attributes();
    case FUSE_READLINK:
        return read_link();
    case FUSE_SYMLINK:
        return make_link();
    case FUSE_MKNOD:
        return make_node();
    case FUSE_MKDIR:
        return make_directory();
    case FUSE_UNLINK:
        return done(unlinkat(node(), name_after(0), 0));
    case FUSE_RMDIR:
        return done(unlinkat(node(), name_after(0), AT_REMOVEDIR));
    case FUSE_RENAME: {
        const struct fuse_rename_in* const in = argument();
        return rename_to(in->newdir, 0, name_after(sizeof *in));
    }
    case FUSE_RENAME2: {
        const struct fuse_rename2_in* const in = argument();
        return rename_to(in->newdir, in->flags, name_after(sizeof *in));
    }
    case FUSE_OPEN:
    case FUSE_OPENDIR:
        return open_node();
    case FUSE_READ:
        return read_node();
    case FUSE_WRITE:
        return write_node();
    case FUSE_READDIR:
        return read_directory();
    case FUSE_STATFS:
        return describe_file_system();
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
        return bytes(0);
    default:
        return failed(ENOSYS);
    }
}

static bool take(void)
{
    return read(device, request, sizeof request) >= (ssize_t)sizeof(struct fuse_in_header);
}

/// What is not to be answered is done.
static bool is_done(void)
{
    switch (header()->opcode) {
    case FUSE_FORGET: {
        const struct fuse_forget_in* const in = argument();
        forget(header()->nodeid, in->nlookup);
        return true;
    }
    case FUSE_BATCH_FORGET:
        forget_all();
        return true;
    default:
        return header()->opcode == FUSE_INTERRUPT;
    }
}

static void serve_taken(void)
{
    if (is_done())
        return;
    told = 0;
    const struct outcome outcome = serve();
    const struct fuse_out_header out = {
        .len = (uint32_t)(sizeof out + outcome.size),
        .error = -outcome.error,
        .unique = header()->unique,
    };
    const struct iovec parts[] = {{(void*)&out, sizeof out}, {answer, outcome.size}};
    // Whoever asked may be gone by now.
    if (writev(device, parts, outcome.size != 0 ? 2 : 1) < 0 && told != 0)
        forget(told, 1);
}

static void say(const char* text)
{
    (void)puts(text);
    (void)fflush(stdout);
}

static struct {
    unsigned long seen;
    unsigned long limit; // from this request on there is silence; 0: none
    bool takes;
    bool taken; // one that is still to be answered
    bool silent;
} state;

/// False at the end of the input.
static bool obey(void)
{
    char line[64];
    if (fgets(line, sizeof line, stdin) == NULL)
        return false;
    if (state.taken)
        serve_taken();
    state.taken = state.silent = false;
    state.takes = line[0] == 't';
    state.limit = line[0] == 'a' ? 0 : strtoul(line + strcspn(line, " "), NULL, 10);
    (void)snprintf(line, sizeof line, "seen %lu", state.seen);
    state.seen = 0;
    say(line);
    return true;
}

/// False once somebody unmounted it.
static bool look_at_device(void)
{
    if (state.limit != 0 && state.seen + 1 >= state.limit) {
        state.taken = state.takes && take();
        state.silent = true;
        say("silent");
        return true;
    }
    if (!take())
        return errno != ENODEV;
    ++state.seen;
    serve_taken();
    return true;
}

static void run(void)
{
    while (true) {
        struct pollfd events[] = {{STDIN_FILENO, POLLIN, 0},
                                  {state.silent ? -1 : device, POLLIN, 0}};
        if (poll(events, 2, -1) < 0)
            continue;
        if (events[0].revents != 0 ? !obey() : !look_at_device())
            return;
    }
}

int main(int argc, char** argv)
{
    if (argc != 4) {
        (void)fprintf(stderr, "usage: silent FUSE SOURCE TARGET\n");
        return 2;
    }
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    (void)umask(0);
    (void)setvbuf(stdin, NULL, _IONBF, 0);
    struct stat status;
    const int source = open(argv[2], O_PATH | O_DIRECTORY | O_CLOEXEC);
    device = open(argv[1], O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (source < 0 || device < 0 || fstat(source, &status) != 0) {
        perror(device < 0 ? argv[1] : argv[2]);
        return 1;
    }
    (void)number_of(source, &status);
    char options[128];
    (void)snprintf(options, sizeof options,
                   "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other,default_permissions",
                   device, (unsigned)geteuid(), (unsigned)getegid());
    if (mount("silent", argv[3], "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
        perror(argv[3]);
        return 1;
    }
    say("ready");
    run();
    (void)umount2(argv[3], MNT_DETACH);
    return 0;
}
