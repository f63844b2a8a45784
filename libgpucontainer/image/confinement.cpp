// SPDX-License-Identifier: MIT
#include "image/confinement.hpp"

#include "syscall/proc.hpp"
#include "syscall/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string_view>
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

/// For each call: its number, and the one value that an argument may have.
struct Allowed {
    unsigned call;
    int argument = -1; ///< Which one; negative: they may have any.
    int value = 0;
};
constexpr std::array allowed = {
    Allowed{SYS_pread64, 0, image_number},
    Allowed{SYS_read, 0, channel_number},
    Allowed{SYS_write, 0, channel_number},
    // As allocators give memory back. Other advice reaches files, and pages of other processes.
    Allowed{SYS_madvise, 2, MADV_DONTNEED},
    Allowed{SYS_madvise, 2, MADV_FREE},
    Allowed{SYS_munmap},
    Allowed{SYS_mremap},
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
        add(load_argument(one.argument < 0 ? 0U : static_cast<unsigned>(one.argument)));
        if (one.argument >= 0)
            add(unless_equal(static_cast<unsigned>(one.value), 1));
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

/// Reads the lines of /proc/self/maps, without allocating. It ends with the first error.
class Maps {
public:
    struct Mapping {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        bool shared = false;
    };

    /// 0, or errno.
    int open() noexcept
    {
        const syscall::UniqueFd proc(syscall::open_proc());
        if (proc)
            file_ = syscall::open_in_proc(proc.get(), "self/maps", O_RDONLY);
        return file_ ? 0 : errno;
    }

    /// False at the end, and with error().
    bool next(Mapping& mapping) noexcept
    {
        char byte = 0;
        if (!get(byte))
            return false;
        mapping.begin = number(byte);
        const bool has_end = byte == '-' && get(byte);
        mapping.end = has_end ? number(byte) : 0;
        // "rwxs": the fourth is 'p' of a private one.
        for (int i = 0; i < 4 && error_ == 0; ++i)
            (void)get(byte);
        if (error_ == 0 && (mapping.end <= mapping.begin || (byte != 's' && byte != 'p')))
            error_ = EBADMSG;
        mapping.shared = byte == 's';
        while (error_ == 0 && byte != '\n')
            if (!get(byte) && error_ == 0)
                error_ = EBADMSG;
        return error_ == 0;
    }

    int error() const noexcept { return error_; }

private:
    /// The hexadecimal number that begins with `byte`, which becomes what follows it.
    std::uintptr_t number(char& byte) noexcept
    {
        constexpr std::string_view digits = "0123456789abcdef";
        std::uintptr_t value = 0;
        for (std::size_t digit = 0; (digit = digits.find(byte)) != std::string_view::npos;) {
            value = value * digits.size() + digit;
            if (!get(byte))
                return 0;
        }
        return value;
    }

    bool get(char& byte) noexcept
    {
        if (at_ == filled_) {
            const ssize_t got = ::read(file_.get(), buffer_.data(), buffer_.size());
            if (got < 0)
                error_ = errno;
            if (got <= 0)
                return false;
            at_ = 0;
            filled_ = static_cast<std::size_t>(got);
        }
        byte = buffer_[at_++];
        return true;
    }

    syscall::UniqueFd file_;
    int error_ = 0;
    std::size_t at_ = 0;
    std::size_t filled_ = 0;
    std::array<char, 4096> buffer_ = {};
};

/// Takes away all memory that this process shares with others, since it is a fork: what is written
/// there, they would read. Also memory that is mapped to be read, which a process can empty by
/// madvise(). 0, or errno. `used` is the address space that is left, in bytes.
int leave_shared_memory(unsigned long long& used) noexcept
{
    Maps maps;
    if (const int error = maps.open(); error != 0)
        return error;
    used = 0;
    for (Maps::Mapping mapping; maps.next(mapping);) {
        const std::size_t size = mapping.end - mapping.begin;
        void* const begin = reinterpret_cast<void*>(mapping.begin); // NOLINT(*-no-int-to-ptr)
        if (!mapping.shared)
            used += size;
        else if (::munmap(begin, size) != 0)
            return errno;
    }
    return used != 0 ? maps.error() : EBADMSG;
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
    if (!move_descriptors(channel, image))
        return errno;
    unsigned long long used = 0;
    if (const int error = leave_shared_memory(used); error != 0)
        return error;
    if (!limit(RLIMIT_CORE, 0) || !limit(RLIMIT_CPU, limits.seconds)
        || !limit(RLIMIT_AS, used + limits.memory))
        return errno;
    auto program = filter();
    const sock_fprog whole = {static_cast<unsigned short>(program.size()), program.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
        || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole, 0, 0) != 0)
        return errno;
    return 0;
}

} // namespace gpucontainer::image
