// SPDX-License-Identifier: MIT
#include "cgroup/device_program.hpp"

#include <array>
#include <cstdint>

namespace gpucontainer::cgroup {
namespace {

/// What the program keeps in which register.
enum Register : std::uint8_t {
    verdict = BPF_REG_0,
    context = BPF_REG_1,
    type_of_device = BPF_REG_2,
    wanted = BPF_REG_3, ///< Ways of access that no rule has decided yet.
    major_number = BPF_REG_4,
    minor_number = BPF_REG_5,
    shared = BPF_REG_6,
};

constexpr std::uint32_t largest_major = (1U << 12U) - 1; // of the kernel
constexpr std::uint32_t largest_minor = (1U << 20U) - 1;

bpf_insn instruction(unsigned code, std::uint8_t to, std::uint8_t from, int offset, int value)
{
    bpf_insn made = {};
    made.code = static_cast<std::uint8_t>(code);
    made.dst_reg = to & 0xfU;
    made.src_reg = from & 0xfU;
    made.off = static_cast<std::int16_t>(offset);
    made.imm = value;
    return made;
}

bpf_insn load(std::uint8_t to, std::size_t offset)
{
    return instruction(BPF_LDX | BPF_MEM | BPF_W, to, context, static_cast<int>(offset), 0);
}

bpf_insn calculate(unsigned operation, std::uint8_t to, int value)
{
    return instruction(BPF_ALU64 | operation | BPF_K, to, 0, 0, value);
}

/// Where it leads is filled in at the end of a rule.
bpf_insn jump(unsigned condition, std::uint8_t of, std::uint32_t value)
{
    return instruction(BPF_JMP | condition | BPF_K, of, 0, 0, static_cast<int>(value));
}

int bits_of(Access access)
{
    return ((access & may_read) != 0 ? BPF_DEVCG_ACC_READ : 0)
           | ((access & may_write) != 0 ? BPF_DEVCG_ACC_WRITE : 0)
           | ((access & may_make) != 0 ? BPF_DEVCG_ACC_MKNOD : 0);
}

/// The kernel has no such device, so nothing is about it.
bool is_about_nothing(const OrderedRule& rule)
{
    return rule.access == 0 || rule.major.value_or(0) > largest_major
           || rule.minor.value_or(0) > largest_minor;
}

void end(std::vector<bpf_insn>& program, bool allow)
{
    program.push_back(calculate(BPF_MOV, verdict, allow ? 1 : 0));
    program.push_back(instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
}

void add(const OrderedRule& rule, std::vector<bpf_insn>& program)
{
    std::vector<std::size_t> jumps; // to the next rule
    const auto unless = [&](unsigned condition, std::uint8_t of, std::uint32_t value) {
        jumps.push_back(program.size());
        program.push_back(jump(condition, of, value));
    };
    if (rule.type != DeviceType::any)
        unless(BPF_JNE, type_of_device,
               rule.type == DeviceType::block ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR);
    if (rule.major)
        unless(BPF_JNE, major_number, *rule.major);
    if (rule.minor)
        unless(BPF_JNE, minor_number, *rule.minor);
    if (rule.allow) {
        program.push_back(calculate(BPF_AND, wanted, ~bits_of(rule.access)));
        unless(BPF_JNE, wanted, 0);
    } else {
        program.push_back(instruction(BPF_ALU64 | BPF_MOV | BPF_X, shared, wanted, 0, 0));
        program.push_back(calculate(BPF_AND, shared, bits_of(rule.access)));
        unless(BPF_JEQ, shared, 0);
    }
    end(program, rule.allow);
    for (const std::size_t at : jumps)
        program[at].off = static_cast<std::int16_t>(program.size() - at - 1);
}

} // namespace

std::vector<bpf_insn> device_program(std::span<const OrderedRule> rules)
{
    constexpr int bits_of_type = 16;
    constexpr int all_of_type = (1 << bits_of_type) - 1;
    std::vector<bpf_insn> program = {
        load(type_of_device, offsetof(bpf_cgroup_dev_ctx, access_type)),
        load(wanted, offsetof(bpf_cgroup_dev_ctx, access_type)),
        load(major_number, offsetof(bpf_cgroup_dev_ctx, major)),
        load(minor_number, offsetof(bpf_cgroup_dev_ctx, minor)),
        calculate(BPF_AND, type_of_device, all_of_type),
        calculate(BPF_RSH, wanted, bits_of_type),
    };
    for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule)
        if (!is_about_nothing(*rule))
            add(*rule, program);
    end(program, false);
    return program;
}

// Without 5:1, the host's console, which some runtimes allow and runc does not: a container's own
// one is a terminal.
std::span<const OrderedRule> rules_of_every_container()
{
    constexpr Access all = may_use | may_make;
    constexpr auto character = DeviceType::character;
    static constexpr std::array rules = {
        OrderedRule{true, character, {}, {}, may_make},
        OrderedRule{true, DeviceType::block, {}, {}, may_make},
        OrderedRule{true, character, 1, 3, all},    // null
        OrderedRule{true, character, 1, 5, all},    // zero
        OrderedRule{true, character, 1, 7, all},    // full
        OrderedRule{true, character, 1, 8, all},    // random
        OrderedRule{true, character, 1, 9, all},    // urandom
        OrderedRule{true, character, 5, 0, all},    // tty
        OrderedRule{true, character, 5, 2, all},    // ptmx
        OrderedRule{true, character, 136, {}, all}, // pts
    };
    return rules;
}

} // namespace gpucontainer::cgroup
