// SPDX-License-Identifier: MIT
#include "image/confinement.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::image {
namespace {

#if defined(__x86_64__)
constexpr unsigned own_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned own_architecture = AUDIT_ARCH_AARCH64;
#elif defined(__riscv) && __riscv_xlen == 64
constexpr unsigned own_architecture = AUDIT_ARCH_RISCV64;
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
constexpr unsigned own_architecture = AUDIT_ARCH_PPC64LE;
#elif defined(__s390x__)
constexpr unsigned own_architecture = AUDIT_ARCH_S390X;
#elif defined(__loongarch64)
constexpr unsigned own_architecture = AUDIT_ARCH_LOONGARCH64;
#else
constexpr unsigned own_architecture = 0; // not known here
#endif
#ifdef SYS_mmap
constexpr unsigned map_call = SYS_mmap;
#else
constexpr unsigned map_call = SYS_mmap2;
#endif

constexpr bool is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

sock_filter load(std::size_t offset)
{
    return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset));
}
/// The lower half of an argument; none of those that are asked for is larger.
sock_filter load_argument(unsigned index)
{
    return load(offsetof(seccomp_data, args) + sizeof(__u64) * index + (is_little ? 0 : 4));
}
/// Goes on if the value is that, and else skips.
sock_filter unless_equal(unsigned value, unsigned char skipped)
{
    return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped);
}
sock_filter answer(unsigned action) { return BPF_STMT(BPF_RET | BPF_K, action); }

/// A failed call is an error of the library that reads; a killed process would say less.
constexpr unsigned refused = SECCOMP_RET_ERRNO | EPERM;

/// For each call: its number, and if it is about a descriptor, its number.
struct Allowed {
    unsigned call;
    int descriptor = -1;
};
constexpr std::array allowed = {
    Allowed{SYS_pread64, image_number},
    Allowed{SYS_read, channel_number},
    Allowed{SYS_write, channel_number},
    Allowed{SYS_munmap},
    Allowed{SYS_mremap},
    Allowed{SYS_madvise},
    Allowed{SYS_brk},
    Allowed{SYS_futex},
    Allowed{SYS_exit_group},
    Allowed{SYS_sched_yield},
};

constexpr std::size_t filter_size = 4 + allowed.size() * 5 + 7 + 1;

std::array<sock_filter, filter_size> filter() noexcept
{
    std::array<sock_filter, filter_size> program = {};
    std::size_t at = 0;
    const auto add = [&](sock_filter step) { program[at++] = step; };
    add(load(offsetof(seccomp_data, arch)));
    add(unless_equal(own_architecture, 1));
    add(BPF_STMT(BPF_JMP | BPF_JA, 1));
    add(answer(refused));
    for (const Allowed& one : allowed) {
        add(load(offsetof(seccomp_data, nr)));
        add(unless_equal(one.call, 3));
        add(load_argument(0));
        if (one.descriptor >= 0)
            add(unless_equal(static_cast<unsigned>(one.descriptor), 1));
        else
            add(BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0));
        add(answer(SECCOMP_RET_ALLOW));
    }
    // Memory, but none to be executed, and none of the image, which the caller may be able to
    // write.
    add(load(offsetof(seccomp_data, nr)));
    add(unless_equal(map_call, 5));
    add(load_argument(2));
    add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 3, 0));
    add(load_argument(3));
    add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1));
    add(answer(SECCOMP_RET_ALLOW));
    add(answer(refused));
    return program;
}

/// Address space of this process, in bytes; 0 if it cannot be read.
unsigned long long used_memory() noexcept
{
    const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    std::array<char, 32> text = {};
    const ssize_t got = file >= 0 ? ::read(file, text.data(), text.size() - 1) : -1;
    (void)::close(file);
    return got > 0 ? std::strtoull(text.data(), nullptr, 10)
                         * static_cast<unsigned long long>(::sysconf(_SC_PAGESIZE))
                   : 0;
}

bool limit(decltype(RLIMIT_CPU) what, unsigned long long most) noexcept
{
    const auto value = static_cast<rlim_t>(most);
    rlimit now = {};
    if (::getrlimit(what, &now) == 0 && now.rlim_max < value)
        return true;
    const rlimit both = {value, value};
    return ::setrlimit(what, &both) == 0;
}

bool move_descriptors(int channel, int image) noexcept
{
    constexpr int above = 2;
    const int own_channel = ::fcntl(channel, F_DUPFD, above);
    const int own_image = ::fcntl(image, F_DUPFD, above);
    if (own_channel < 0 || own_image < 0 || ::dup2(own_channel, channel_number) < 0
        || ::dup2(own_image, image_number) < 0)
        return false;
    // The filter keeps it from the others; but others wait for the end of a pipe of the caller's.
    if (::syscall(SYS_close_range, above, ~0U, 0U) == 0)
        return true;
    rlimit most = {};
    (void)::getrlimit(RLIMIT_NOFILE, &most);
    constexpr rlim_t many = 4096;
    for (rlim_t fd = above; fd < most.rlim_cur && fd < many; ++fd)
        (void)::close(static_cast<int>(fd));
    return true;
}

} // namespace

int confine_process(int channel, int image, const Limits& limits) noexcept
{
    if (own_architecture == 0)
        return ENOSYS;
    // Whatever happens ends this process: what handlers the caller has are not for it.
    sigset_t all = {};
    (void)::sigfillset(&all);
    (void)::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    const unsigned long long used = used_memory();
    if (!move_descriptors(channel, image) || !limit(RLIMIT_CORE, 0)
        || !limit(RLIMIT_CPU, limits.seconds)
        || (used != 0 && !limit(RLIMIT_AS, used + limits.memory)))
        return errno;
    auto program = filter();
    const sock_fprog whole = {static_cast<unsigned short>(program.size()), program.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
        || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole, 0, 0) != 0)
        return errno;
    return 0;
}

} // namespace gpucontainer::image
