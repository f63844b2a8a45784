// SPDX-License-Identifier: MIT
#include "cgroup/group_program.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <linux/bpf.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace gpucontainer::cgroup {
namespace {

using base::UniqueFd;

/// Some kernels write more of it than they were given, so there is room.
struct Attributes {
    // The kernel refuses what is not zero behind a command's own fields, where an initializer of
    // the union need not write.
    Attributes() noexcept { std::memset(&known, 0, sizeof known); }

    union bpf_attr known;
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

/// Name, number and instructions.
void describe(std::uint32_t number, GroupProgram& program)
{
    bpf_prog_info info = {};
    Attributes attributes;
    attributes.known.info.bpf_fd = static_cast<std::uint32_t>(program.fd.get());
    attributes.known.info.info_len = sizeof info;
    attributes.known.info.info = address_of(&info);
    const bool known = call_bpf(BPF_OBJ_GET_INFO_BY_FD, attributes) == 0;
    info.name[sizeof(info.name) - 1] = '\0';
    program.name = base::format(
        "{} (number {})", known && info.name[0] != '\0' ? info.name : "without a name", number);
    constexpr std::size_t most_instructions = 1U << 16U;
    const std::size_t count = info.xlated_prog_len / sizeof(bpf_insn);
    if (!known || count == 0 || count > most_instructions)
        return;
    std::vector<bpf_insn> read(count);
    info = {};
    info.xlated_prog_len = static_cast<std::uint32_t>(count * sizeof(bpf_insn));
    info.xlated_prog_insns = address_of(read.data());
    attributes.known.info.info_len = sizeof info;
    // The kernel takes the address away if the caller may not see them.
    if (call_bpf(BPF_OBJ_GET_INFO_BY_FD, attributes) == 0 && info.xlated_prog_insns != 0
        && info.xlated_prog_len == count * sizeof(bpf_insn))
        program.instructions = std::move(read);
}

} // namespace

Error not_replaceable(const Group& group, const std::string& why)
{
    return Error(Errc::requirement,
                 base::format("the device rules of cgroup {} cannot be replaced: {}", group.path(),
                              why))
        .with_object(group.path());
}

Result<UniqueFd> load_program(const Group& group, std::span<const OrderedRule> rules)
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

Result<GroupPrograms> programs_of(const Group& group)
{
    GPUCTR_TRY(const UniqueFd fd, open_for_programs(group));
    GPUCTR_TRY(const Attached found, attached_to(group, fd.get()));
    GroupPrograms programs;
    programs.among_others = (found.flags & BPF_F_ALLOW_MULTI) != 0;
    for (std::uint32_t i = 0; i < found.count && i < most_programs; ++i) {
        GroupProgram program;
        GPUCTR_TRY(program.fd, program_of(group, found.numbers[i]));
        describe(found.numbers[i], program);
        programs.all.push_back(std::move(program));
    }
    return programs;
}

Result<void> replace_program(const Group& group, int other, const std::string& name, int anew)
{
    GPUCTR_TRY(const UniqueFd fd, open_for_programs(group));
    Attributes attributes;
    attributes.known.target_fd = static_cast<std::uint32_t>(fd.get());
    attributes.known.attach_bpf_fd = static_cast<std::uint32_t>(anew);
    attributes.known.attach_type = BPF_CGROUP_DEVICE;
    attributes.known.attach_flags = BPF_F_ALLOW_MULTI | BPF_F_REPLACE;
    attributes.known.replace_bpf_fd = static_cast<std::uint32_t>(other);
    if (call_bpf(BPF_PROG_ATTACH, attributes) == 0)
        return {};
    if (errno == ENOENT)
        return not_replaceable(group, base::format("program {} is attached by a link, which its "
                                                   "owner alone can change",
                                                   name));
    if (errno == EINVAL)
        return not_replaceable(group, "the kernel is older than Linux 5.6");
    return failed(group, "replace the device rules");
}

} // namespace gpucontainer::cgroup
