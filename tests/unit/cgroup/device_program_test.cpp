// SPDX-License-Identifier: MIT
#include "cgroup/device_program.hpp"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <vector>

namespace gpucontainer::cgroup {
namespace {

constexpr std::uint32_t block = BPF_DEVCG_DEV_BLOCK;
constexpr std::uint32_t character = BPF_DEVCG_DEV_CHAR;
constexpr std::uint32_t make = BPF_DEVCG_ACC_MKNOD;
constexpr std::uint32_t read = BPF_DEVCG_ACC_READ;
constexpr std::uint32_t write = BPF_DEVCG_ACC_WRITE;
constexpr Access all = may_use | may_make;

/// Carries out the instructions that such programs have, as the kernel does.
class Machine {
public:
    explicit Machine(const std::vector<bpf_insn>& program) : program_(program) {}

    /// What the program answers; none if it is not one that the kernel would accept.
    std::optional<std::uint64_t> run(const bpf_cgroup_dev_ctx& context)
    {
        const std::array words = {context.access_type, context.major, context.minor};
        for (std::size_t at = 0; at < program_.size(); ++at) {
            const bpf_insn& step = program_[at];
            std::uint64_t& to = registers_.at(step.dst_reg);
            const auto value = static_cast<std::uint64_t>(std::int64_t{step.imm});
            switch (step.code) {
            case BPF_LDX | BPF_MEM | BPF_W:
                to = words.at(static_cast<std::size_t>(step.off) / sizeof(words[0]));
                break;
            case BPF_ALU64 | BPF_MOV | BPF_K:
                to = value;
                break;
            case BPF_ALU64 | BPF_MOV | BPF_X:
                to = registers_.at(step.src_reg);
                break;
            case BPF_ALU64 | BPF_AND | BPF_K:
                to &= value;
                break;
            case BPF_ALU64 | BPF_RSH | BPF_K:
                to >>= value;
                break;
            case BPF_JMP | BPF_JNE | BPF_K:
                at += to != value ? static_cast<std::size_t>(step.off) : 0;
                break;
            case BPF_JMP | BPF_JEQ | BPF_K:
                at += to == value ? static_cast<std::size_t>(step.off) : 0;
                break;
            case BPF_JMP | BPF_EXIT:
                return registers_[0];
            default:
                return std::nullopt;
            }
        }
        return std::nullopt;
    }

private:
    const std::vector<bpf_insn>& program_;
    std::array<std::uint64_t, 11> registers_ = {};
};

struct Asked {
    std::uint32_t type;
    std::uint32_t major;
    std::uint32_t minor;
    std::uint32_t access;
};

bool allows(const std::vector<OrderedRule>& rules, const Asked& asked)
{
    const auto program = device_program(rules);
    const auto answer =
        Machine(program).run({asked.access << 16U | asked.type, asked.major, asked.minor});
    EXPECT_TRUE(answer && *answer <= 1);
    return answer == 1U;
}

constexpr auto any = DeviceType::any;
constexpr auto chars = DeviceType::character;

TEST(DeviceProgram, ForbidsWhatNoRuleIsAbout)
{
    EXPECT_FALSE(allows({}, {character, 195, 0, read}));
    EXPECT_FALSE(allows({{true, chars, 195, 1, all}}, {character, 195, 0, read}));
    EXPECT_FALSE(allows({{true, chars, 195, 0, all}}, {character, 196, 0, read}));
    EXPECT_FALSE(allows({{true, chars, 195, 0, all}}, {block, 195, 0, read}));
}

TEST(DeviceProgram, AllowsWhatARuleAllows)
{
    EXPECT_TRUE(allows({{true, chars, 195, 0, may_use}}, {character, 195, 0, read | write}));
    EXPECT_FALSE(allows({{true, chars, 195, 0, may_use}}, {character, 195, 0, make}));
    EXPECT_FALSE(allows({{true, chars, 195, 0, may_use}}, {character, 195, 0, read | make}));
    EXPECT_TRUE(allows({{true, chars, 195, {}, may_use}}, {character, 195, 254, write}));
    EXPECT_TRUE(allows({{true, any, {}, {}, all}}, {block, 8, 1, read | write | make}));
    EXPECT_TRUE(allows({{true, DeviceType::block, 8, {}, all}}, {block, 8, 1, read}));
}

TEST(DeviceProgram, TheLastRuleAboutAnAccessDecides)
{
    const std::vector<OrderedRule> rules = {{true, any, {}, {}, all},
                                            {false, chars, 195, {}, may_write | may_make},
                                            {true, chars, 195, 0, may_write}};
    EXPECT_TRUE(allows(rules, {character, 195, 0, read | write}));
    EXPECT_FALSE(allows(rules, {character, 195, 0, make}));
    EXPECT_FALSE(allows(rules, {character, 195, 1, write}));
    EXPECT_TRUE(allows(rules, {character, 195, 1, read}));
    EXPECT_FALSE(
        allows({{true, any, {}, {}, all}, {false, any, {}, {}, all}}, {character, 1, 3, read}));
}

TEST(DeviceProgram, TwoRulesMayAllowPartsOfAnAccess)
{
    const std::vector<OrderedRule> rules = {{true, chars, 195, 0, may_read},
                                            {true, chars, 195, {}, may_write}};
    EXPECT_TRUE(allows(rules, {character, 195, 0, read | write}));
    EXPECT_FALSE(allows(rules, {character, 195, 1, read | write}));
}

TEST(DeviceProgram, NumbersThatNoDeviceHasAreOfNone)
{
    constexpr std::uint32_t large = 1U << 31U;
    EXPECT_FALSE(allows({{true, chars, large, 0, all}}, {character, 0, 0, read}));
    EXPECT_FALSE(allows({{true, chars, 195, large, all}}, {character, 195, 0, read}));
    EXPECT_FALSE(allows({{true, chars, 195, 0, 0}}, {character, 195, 0, read}));
}

TEST(DeviceProgram, EveryContainerMayUseTheNodesThatEachHas)
{
    const auto every = rules_of_every_container();
    const std::vector<OrderedRule> rules(every.begin(), every.end());
    EXPECT_TRUE(allows(rules, {character, 1, 3, read | write}));
    EXPECT_TRUE(allows(rules, {character, 136, 7, read | write}));
    EXPECT_TRUE(allows(rules, {block, 8, 0, make}));
    EXPECT_FALSE(allows(rules, {block, 8, 0, read}));
    EXPECT_FALSE(allows(rules, {character, 1, 1, read}));
    EXPECT_FALSE(allows(rules, {character, 5, 1, read})); // the host's console
    EXPECT_FALSE(allows(rules, {character, 195, 255, read}));
}

} // namespace
} // namespace gpucontainer::cgroup
