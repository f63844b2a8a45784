// SPDX-License-Identifier: MIT
#include "cgroup/device_program.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

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
    both_numbers = BPF_REG_7,
};

constexpr std::uint32_t largest_major = (1U << 12U) - 1; // of the kernel
constexpr unsigned bits_of_minor = 20;
constexpr std::uint32_t largest_minor = (1U << bits_of_minor) - 1;
constexpr std::array types = {DeviceType::character, DeviceType::block};

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

bpf_insn combine(unsigned operation, std::uint8_t to, std::uint8_t with)
{
    return instruction(BPF_ALU64 | operation | BPF_X, to, with, 0, 0);
}

/// Where it leads is filled in when that is there.
bpf_insn jump(unsigned condition, std::uint8_t of, std::uint32_t value)
{
    return instruction(BPF_JMP | condition | BPF_K, of, 0, 0, static_cast<int>(value));
}

/// Has the jump at an index lead to what comes next.
void lead_here(std::vector<bpf_insn>& program, std::size_t from)
{
    program[from].off = static_cast<std::int16_t>(program.size() - from - 1);
}

int bits_of(Access access)
{
    return ((access & may_read) != 0 ? BPF_DEVCG_ACC_READ : 0)
           | ((access & may_write) != 0 ? BPF_DEVCG_ACC_WRITE : 0)
           | ((access & may_make) != 0 ? BPF_DEVCG_ACC_MKNOD : 0);
}

std::uint32_t number_of(DeviceType type)
{
    return type == DeviceType::block ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR;
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
        unless(BPF_JNE, type_of_device, number_of(rule.type));
    if (rule.major)
        unless(BPF_JNE, major_number, *rule.major);
    if (rule.minor)
        unless(BPF_JNE, minor_number, *rule.minor);
    if (rule.allow) {
        program.push_back(calculate(BPF_AND, wanted, ~bits_of(rule.access)));
        unless(BPF_JNE, wanted, 0);
    } else {
        program.push_back(combine(BPF_MOV, shared, wanted));
        program.push_back(calculate(BPF_AND, shared, bits_of(rule.access)));
        unless(BPF_JEQ, shared, 0);
    }
    end(program, rule.allow);
    for (const std::size_t at : jumps)
        lead_here(program, at);
}

/// A device that a rule names by both numbers, and what all rules together allow of it.
struct KnownDevice {
    DeviceType type = DeviceType::any;
    std::uint32_t numbers = 0; ///< Both in one word.
    Access allowed = 0;

    bool is(const OrderedRule& rule) const noexcept
    {
        return (rule.type == DeviceType::any || rule.type == type)
               && rule.major.value_or(numbers >> bits_of_minor) == numbers >> bits_of_minor
               && rule.minor.value_or(numbers & largest_minor) == (numbers & largest_minor);
    }
    void take(const OrderedRule& rule) noexcept
    {
        allowed = rule.allow ? allowed | rule.access : allowed & ~rule.access;
    }
    auto order() const noexcept { return std::pair(numbers, type); }
};

bool is_of_one_device(const OrderedRule& rule) { return rule.major && rule.minor; }

/// The part of them, in their order, that the rule can be about.
std::span<KnownDevice> concerned(const OrderedRule& rule, std::vector<KnownDevice>& devices)
{
    if (!is_of_one_device(rule))
        return devices;
    // clang 14 does not compile what ranges::equal_range() and ranges::unique() return.
    const std::uint32_t numbers = *rule.major << bits_of_minor | *rule.minor;
    return {std::ranges::lower_bound(devices, numbers, {}, &KnownDevice::numbers),
            std::ranges::upper_bound(devices, numbers, {}, &KnownDevice::numbers)};
}

/// In the order of their numbers.
std::vector<KnownDevice> devices_of(std::span<const OrderedRule> rules)
{
    std::vector<KnownDevice> devices;
    for (const OrderedRule& rule : rules)
        for (const DeviceType type : types)
            if (is_of_one_device(rule) && (rule.type == DeviceType::any || rule.type == type))
                devices.push_back({type, *rule.major << bits_of_minor | *rule.minor, 0});
    std::ranges::sort(devices, {}, &KnownDevice::order);
    const auto is_same = [](const KnownDevice& one, const KnownDevice& other) {
        return one.order() == other.order();
    };
    devices.erase(std::unique(devices.begin(), devices.end(), is_same), devices.end());
    for (const OrderedRule& rule : rules)
        for (KnownDevice& device : concerned(rule, devices))
            if (device.is(rule))
                device.take(rule);
    return devices;
}

/// One comparison for each device. The kernel's check of a program goes through all ways, so they
/// lead to ends that devices with the same rights have in common.
class Comparisons {
public:
    void add(std::span<const KnownDevice> devices, std::vector<bpf_insn>& program)
    {
        for (const DeviceType type : types) {
            const std::size_t start = program.size();
            program.push_back(jump(BPF_JNE, type_of_device, number_of(type)));
            for (const KnownDevice& device : devices)
                if (device.type == type) {
                    jumps_.at(device.allowed).push_back(program.size());
                    program.push_back(instruction(BPF_JMP32 | BPF_JEQ | BPF_K, both_numbers, 0, 0,
                                                  static_cast<int>(device.numbers)));
                }
            if (program.size() > start + 1)
                lead_here(program, start);
            else
                program.pop_back();
        }
    }

    void add_ends(std::vector<bpf_insn>& program) const
    {
        for (Access allowed = 0; allowed < jumps_.size(); ++allowed) {
            if (jumps_[allowed].empty())
                continue;
            for (const std::size_t at : jumps_[allowed])
                lead_here(program, at);
            program.push_back(calculate(BPF_AND, wanted, ~bits_of(allowed)));
            const std::size_t forbidden = program.size();
            program.push_back(jump(BPF_JNE, wanted, 0));
            end(program, true);
            lead_here(program, forbidden);
            end(program, false);
        }
    }

private:
    std::array<std::vector<std::size_t>, (may_use | may_make) + 1> jumps_; ///< By rights.
};

} // namespace

std::vector<bpf_insn> device_program(std::span<const OrderedRule> given)
{
    constexpr int bits_of_type = 16;
    constexpr int all_of_type = (1 << bits_of_type) - 1;
    std::vector<OrderedRule> rules(given.begin(), given.end());
    std::erase_if(rules, is_about_nothing);
    std::vector<bpf_insn> program = {
        load(type_of_device, offsetof(bpf_cgroup_dev_ctx, access_type)),
        load(wanted, offsetof(bpf_cgroup_dev_ctx, access_type)),
        load(major_number, offsetof(bpf_cgroup_dev_ctx, major)),
        load(minor_number, offsetof(bpf_cgroup_dev_ctx, minor)),
        calculate(BPF_AND, type_of_device, all_of_type),
        calculate(BPF_RSH, wanted, bits_of_type),
        combine(BPF_MOV, both_numbers, major_number),
        calculate(BPF_LSH, both_numbers, bits_of_minor),
        combine(BPF_OR, both_numbers, minor_number),
    };
    Comparisons comparisons;
    comparisons.add(devices_of(rules), program);
    for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule)
        if (!is_of_one_device(*rule))
            add(*rule, program);
    end(program, false);
    comparisons.add_ends(program);
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
