/* SPDX-License-Identifier: MIT */

/* usage: inject [-o REPORT] [-p PROCESS] [-c CALL -n N (-e ERRNO [-f] | -k | -K | -x SCRIPT)]
 *               CMD [ARG]...
 *        inject -m CMD [ARG]...
 *
 * Runs CMD and has the N-th system call of number CALL go wrong, counted from the
 * program's entry point on in each of its processes; PROCESS 0, the default, is CMD
 * itself, 1 the first that it makes. With -e the call is not made and fails with
 * ERRNO, with -f so does every later one of that number; with -k the process is
 * killed before the call, with -K behind it. With -x the shell runs SCRIPT before the
 * call, which is then made; a script that fails ends CMD. REPORT gets a line
 * "PROCESS CALL" for the call that went wrong, or for each when none is to. Exits as
 * CMD does.
 *
 * With -m CMD says itself which call is to go wrong: see mark.h. */

#include "mark.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_PROCESSES 64
#define ANY_CALL (-1L)

enum Fault { nothing, fail_once, fail_from_then, kill_before, kill_after, run_before };

static struct {
    enum Fault fault;
    long call;
    long number; /* which one, from 1 */
    long error;
    int process;
    const char* script;
    bool by_marks;
    FILE* report;
} wanted = {.call = ANY_CALL};

struct process {
    pid_t pid;
    long calls;  /* of those that are wanted */
    bool loose;  /* is no longer looked at */
    bool doomed; /* is killed at its next stop, behind the call that it is in */
};

static struct process processes[MOST_PROCESSES];
static int process_count;
static bool failing;      /* with fail_from_then: every call from here on */
static long last_counted; /* of the process whose call is to go wrong */

static void die(const char* what)
{
    perror(what);
    exit(3);
}

/* A process that was killed is no longer there to be asked. */
static void request(enum __ptrace_request what, pid_t pid, unsigned long address,
                    unsigned long data)
{
    if (ptrace(what, pid, address, data) != 0 && errno != ESRCH)
        die("ptrace");
}

static struct process* find(pid_t pid)
{
    for (int i = 0; i < process_count; ++i)
        if (processes[i].pid == pid)
            return &processes[i];
    if (process_count == MOST_PROCESSES)
        exit(3);
    processes[process_count] = (struct process){.pid = pid};
    return &processes[process_count++];
}

static unsigned long entry_point(pid_t pid)
{
    char path[64];
    Elf64_auxv_t entry;
    unsigned long address = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/auxv", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && read(fd, &entry, sizeof entry) == (ssize_t)sizeof entry)
        if (entry.a_type == AT_ENTRY)
            address = entry.a_un.a_val;
    if (fd >= 0)
        (void)close(fd);
    return address;
}

/* What the loader does before is none of the program's business. */
static void run_to_entry(pid_t pid)
{
    const unsigned long breakpoint = 0xcc;
    unsigned long address = entry_point(pid);
    errno = 0;
    unsigned long code = (unsigned long)ptrace(PTRACE_PEEKTEXT, pid, address, 0);
    if (errno != 0)
        die("entry point");
    request(PTRACE_POKETEXT, pid, address, (code & ~0xffUL) | breakpoint);
    int status = 0;
    do {
        request(PTRACE_CONT, pid, 0, 0);
        if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status)
            || WSTOPSIG(status) != SIGTRAP)
            die("run to the entry point");
    } while (status >> 16 == PTRACE_EVENT_SECCOMP);
    request(PTRACE_POKETEXT, pid, address, code);
    struct user_regs_struct registers;
    request(PTRACE_GETREGS, pid, 0, (unsigned long)&registers);
    registers.rip = address;
    request(PTRACE_SETREGS, pid, 0, (unsigned long)&registers);
}

/* Not to be made, with this outcome. */
static void skip_call(pid_t pid, long result)
{
    request(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, orig_rax), (unsigned long)-1L);
    request(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, rax), (unsigned long)result);
}

/* Made, with the outcome of another; false when it was the process's last. */
static bool make_call(pid_t pid)
{
    int status = 0;
    request(PTRACE_SYSCALL, pid, 0, 0);
    return waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status);
}

/* Those that no kernel fails, or not so that the C library took it for true: it
 * ends the program where futex() has an error that it does not know. */
static bool cannot_fail(long call)
{
    static const long calls[] = {SYS_exit,   SYS_exit_group, SYS_rt_sigreturn, SYS_futex,
                                 SYS_getpid, SYS_gettid,     SYS_getppid,      SYS_getuid,
                                 SYS_getgid, SYS_geteuid,    SYS_getegid,      SYS_umask};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i)
        if (calls[i] == call)
            return true;
    return false;
}

/* brk() gives the end of memory as it is, and no error. */
static void refuse_memory(pid_t pid)
{
    const unsigned long argument = offsetof(struct user_regs_struct, rdi);
    unsigned long end = (unsigned long)ptrace(PTRACE_PEEKUSER, pid, argument, 0);
    request(PTRACE_POKEUSER, pid, argument, 0);
    if (make_call(pid)) // which leaves its argument alone
        request(PTRACE_POKEUSER, pid, argument, end);
}

static void fail_call(pid_t pid, long call)
{
    if (cannot_fail(call))
        return;
    if (call == SYS_brk)
        refuse_memory(pid);
    else if (call != SYS_close)
        skip_call(pid, -wanted.error);
    else if (make_call(pid)) // Linux frees the descriptor whatever close() says
        request(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, rax),
                (unsigned long)-wanted.error);
}

/* Processes are numbered anew from each mark on, which the one that makes it begins. */
static void take_mark(pid_t pid, const struct __ptrace_syscall_info* info)
{
    process_count = 0;
    (void)find(pid);
    wanted.number = (long)info->seccomp.args[1];
    wanted.fault = wanted.number != 0 ? fail_once : nothing;
    wanted.error = (long)info->seccomp.args[2];
    wanted.process = (int)info->seccomp.args[3];
    skip_call(pid, last_counted);
    last_counted = 0;
}

static void run_script(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl("/bin/sh", "sh", "-ec", wanted.script, (char*)NULL);
        _exit(127);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        (void)fprintf(stderr, "inject: the script failed\n");
        exit(3);
    }
}

static void go_wrong(struct process* process, long call)
{
    switch (wanted.fault) {
    case nothing:
        return;
    case kill_after: // the call may wait for another process, which is to go on
        process->doomed = true;
        return;
    case kill_before:
        (void)kill(process->pid, SIGKILL);
        return;
    case run_before:
        run_script();
        return;
    case fail_once:
    case fail_from_then:
        fail_call(process->pid, call);
    }
}

static void at_call(struct process* process)
{
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, process->pid, sizeof info, &info) <= 0
        || info.op != PTRACE_SYSCALL_INFO_SECCOMP)
        return; // killed meanwhile
    long call = (long)info.seccomp.nr;
    if (wanted.by_marks && call == SYS_prctl && info.seccomp.args[0] == FAULT_MARK) {
        take_mark(process->pid, &info);
        return;
    }
    bool chosen = process - processes == wanted.process;
    ++process->calls;
    last_counted = chosen ? process->calls : last_counted;
    bool hit = wanted.fault != nothing && chosen && process->calls == wanted.number;
    if (wanted.report != NULL && (hit || wanted.fault == nothing))
        (void)fprintf(wanted.report, "%d %ld\n", (int)(process - processes), call);
    if (hit || failing)
        go_wrong(process, call);
    failing = failing || (hit && wanted.fault == fail_from_then);
}

/* Returns the signal to go on with. */
static int at_stop(struct process* process, int status, bool begins)
{
    int event = status >> 16;
    if (process->doomed) {
        (void)kill(process->pid, SIGKILL);
        return 0;
    }
    if (event == PTRACE_EVENT_EXEC)
        process->loose = true; // another program, which is not what is tried
    if (event == PTRACE_EVENT_SECCOMP && !process->loose)
        at_call(process);
    return event != 0 || (begins && WSTOPSIG(status) == SIGSTOP) ? 0 : WSTOPSIG(status);
}

static int trace(pid_t first)
{
    int result = 3;
    int status = 0;
    (void)find(first);
    request(PTRACE_CONT, first, 0, 0);
    for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0;) {
        if (!WIFSTOPPED(status)) {
            if (pid == first)
                result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int before = process_count;
        struct process* process = find(pid);
        int number = at_stop(process, status, before != process_count);
        request(process->doomed ? PTRACE_SYSCALL : PTRACE_CONT, pid, 0, (unsigned long)number);
    }
    return result;
}

static void ask_for_calls(void)
{
    bool any = wanted.call == ANY_CALL;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | (any ? BPF_JGE : BPF_JEQ) | BPF_K, any ? 0 : (unsigned)wanted.call, 0,
                 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        die("seccomp filter");
}

static pid_t start(char** words)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)ptrace(PTRACE_TRACEME, 0, 0, 0);
        (void)raise(SIGSTOP);
        ask_for_calls();
        (void)execvp(words[0], words);
        die(words[0]);
    }
    const unsigned long options = PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC
                                  | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, __WALL) != pid)
        die("start");
    request(PTRACE_SETOPTIONS, pid, 0, options);
    do {
        request(PTRACE_CONT, pid, 0, 0);
        if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
            exit(3);
    } while (status >> 16 != PTRACE_EVENT_EXEC);
    return pid;
}

static long number(const char* text)
{
    char* end = NULL;
    const long value = strtol(text, &end, 10);
    if (end == text || *end != '\0')
        exit(2);
    return value;
}

int main(int argc, char** argv)
{
    for (int option; (option = getopt(argc, argv, "+o:p:c:n:e:fkKx:m")) != -1;)
        switch (option) {
        case 'o':
            wanted.report = fopen(optarg, "we");
            break;
        case 'p':
            wanted.process = (int)number(optarg);
            break;
        case 'c':
            wanted.call = number(optarg);
            break;
        case 'n':
            wanted.number = number(optarg);
            break;
        case 'e':
            wanted.error = number(optarg);
            wanted.fault = wanted.fault == nothing ? fail_once : wanted.fault;
            break;
        case 'f':
            wanted.fault = fail_from_then;
            break;
        case 'k':
            wanted.fault = kill_before;
            break;
        case 'K':
            wanted.fault = kill_after;
            break;
        case 'x':
            wanted.fault = run_before;
            wanted.script = optarg;
            break;
        case 'm':
            wanted.by_marks = true;
            break;
        default:
            return 2;
        }
    if (optind == argc)
        return 2;
    pid_t pid = start(argv + optind);
    if (!wanted.by_marks)
        run_to_entry(pid);
    int result = trace(pid);
    if (wanted.report != NULL && fclose(wanted.report) != 0)
        die("report");
    return result;
}
