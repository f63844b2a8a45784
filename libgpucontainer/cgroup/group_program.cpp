// SPDX-License-Identifier: MIT
#include "cgroup/group_program.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <linux/bpf.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::cgroup {
namespace {

using base::UniqueFd;

/// Some kernels write more of it than they were given, so there is room.
struct Attributes {
    union bpf_attr known = {};
    std::array<char, 128> more = {};
};

constexpr std::size_t most_programs = 64; // of one group

struct Attached {
    std::array<std::uint32_t, most_programs> numbers = {};
    std::uint32_t count = 0;
    std::uint32_t flags = 0;
};

long call_bpf(int command, Attributes& attributes) noexcept
{
    return ::syscall(SYS_bpf, command, &attributes, sizeof(attributes.known));
}

Error failed(const Group& group, const char* what)
{
    return Error::from_errno(errno, base::format("{} of cgroup {}", what, group.path()),
                             errno == EPERM || errno == EACCES ? Errc::permission
                                                               : Errc::requirement)
        .with_object(group.path());
}

Error not_replaceable(const Group& group, const std::string& why)
{
    return Error(Errc::requirement,
                 base::format("the device rules of cgroup {} cannot be replaced: {}", group.path(),
                              why))
        .with_object(group.path());
}

std::uint64_t address_of(const void* pointer) noexcept
{
    return reinterpret_cast<std::uintptr_t>(pointer);
}

/// The kernel wants a directory that is open for reading.
Result<UniqueFd> open_for_programs(const Group& group)
{
    UniqueFd fd(::openat(group.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd)
        return failed(group, "the programs");
    return fd;
}

Result<Attached> attached_to(const Group& group, int fd)
{
    Attached found;
    Attributes attributes;
    attributes.known.query.target_fd = static_cast<std::uint32_t>(fd);
    attributes.known.query.attach_type = BPF_CGROUP_DEVICE;
    attributes.known.query.prog_ids = address_of(found.numbers.data());
    attributes.known.query.prog_cnt = most_programs;
    if (call_bpf(BPF_PROG_QUERY, attributes) != 0)
        return failed(group, "the programs");
    found.count = attributes.known.query.prog_cnt;
    found.flags = attributes.known.query.attach_flags;
    return found;
}

Result<UniqueFd> program_of(const Group& group, std::uint32_t number)
{
    Attributes attributes;
    attributes.known.prog_id = number;
    UniqueFd fd(static_cast<int>(call_bpf(BPF_PROG_GET_FD_BY_ID, attributes)));
    if (!fd)
        return failed(group, "the program");
    return fd;
}

Result<UniqueFd> load(const Group& group, std::span<const OrderedRule> rules)
{
    constexpr const char* licence = "MIT";
    const auto program = device_program(rules);
    Attributes attributes;
    attributes.known.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
    attributes.known.insns = address_of(program.data());
    attributes.known.insn_cnt = static_cast<std::uint32_t>(program.size());
    attributes.known.license = address_of(licence);
    UniqueFd fd(static_cast<int>(call_bpf(BPF_PROG_LOAD, attributes)));
    if (!fd && errno == E2BIG)
        return not_replaceable(
            group, base::format("they are {} rules, too many for this kernel", rules.size()));
    if (!fd)
        return failed(group, "load a program for the devices");
    return fd;
}

} // namespace

Result<bool> has_program(const Group& group)
{
    GPUCTR_TRY(const UniqueFd fd, open_for_programs(group));
    GPUCTR_TRY(const Attached found, attached_to(group, fd.get()));
    return found.count != 0;
}

Result<void> replace_program(const Group& group, std::span<const OrderedRule> rules)
{
    GPUCTR_TRY(const UniqueFd fd, open_for_programs(group));
    GPUCTR_TRY(const Attached found, attached_to(group, fd.get()));
    if (found.count != 1)
        return not_replaceable(group, base::format("{} programs decide about them", found.count));
    if ((found.flags & BPF_F_ALLOW_MULTI) == 0)
        return not_replaceable(group, "their owner attached its program for itself alone");
    GPUCTR_TRY(const UniqueFd old, program_of(group, found.numbers.front()));
    GPUCTR_TRY(const UniqueFd anew, load(group, rules));
    Attributes attributes;
    attributes.known.target_fd = static_cast<std::uint32_t>(fd.get());
    attributes.known.attach_bpf_fd = static_cast<std::uint32_t>(anew.get());
    attributes.known.attach_type = BPF_CGROUP_DEVICE;
    attributes.known.attach_flags = BPF_F_ALLOW_MULTI | BPF_F_REPLACE;
    attributes.known.replace_bpf_fd = static_cast<std::uint32_t>(old.get());
    if (call_bpf(BPF_PROG_ATTACH, attributes) == 0)
        return {};
    if (errno == ENOENT || errno == EINVAL)
        return not_replaceable(group, "it is attached by a link, or the kernel is older than "
                                      "Linux 5.6");
    return failed(group, "replace the device rules");
}

} // namespace gpucontainer::cgroup
