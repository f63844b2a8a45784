// SPDX-License-Identifier: MIT
#include "cgroup/device_program.hpp"
#include "cgroup/evaluation.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace gpucontainer::cgroup {
namespace {

constexpr std::uint32_t block = BPF_DEVCG_DEV_BLOCK;
constexpr std::uint32_t character = BPF_DEVCG_DEV_CHAR;
constexpr std::uint32_t make = BPF_DEVCG_ACC_MKNOD;
constexpr std::uint32_t read = BPF_DEVCG_ACC_READ;
constexpr std::uint32_t write = BPF_DEVCG_ACC_WRITE;
constexpr Access all = may_use | may_make;

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
        evaluate(program, {asked.access << 16U | asked.type, asked.major, asked.minor});
    EXPECT_TRUE(answer);
    return answer.value_or(false);
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

/// The last rule that is about a way of access decides it.
bool decided_one_by_one(const std::vector<OrderedRule>& rules, const Asked& asked)
{
    const auto way_is_allowed = [&](std::uint32_t way, Access bit) {
        bool allowed = (asked.access & way) == 0;
        for (const OrderedRule& rule : rules)
            if ((asked.access & way) != 0 && (rule.access & bit) != 0
                && (rule.type == any || (rule.type == chars) == (asked.type == character))
                && rule.major.value_or(asked.major) == asked.major
                && rule.minor.value_or(asked.minor) == asked.minor)
                allowed = rule.allow;
        return allowed;
    };
    return way_is_allowed(read, may_read) && way_is_allowed(write, may_write)
           && way_is_allowed(make, may_make);
}

TEST(DeviceProgram, DecidesAsItsRulesDoOneByOne)
{
    std::mt19937 random; // the same ones each time
    const auto below = [&](std::uint32_t end) {
        return static_cast<std::uint32_t>(random() % end);
    };
    const auto number = [&] { return below(2) == 0 ? std::nullopt : std::optional(below(3)); };
    for (int round = 0; round < 300; ++round) {
        std::vector<OrderedRule> rules;
        for (std::uint32_t count = below(12); count > 0; --count)
            rules.push_back({below(3) != 0, static_cast<DeviceType>(below(3)), number(), number(),
                             below(all) + 1});
        for (std::uint32_t question = 0; question < 2 * 3 * 3 * 7; ++question) {
            const Asked asked = {question % 2 == 0 ? character : block, question / 2 % 3,
                                 question / 6 % 3, question / 18 + 1};
            ASSERT_EQ(allows(rules, asked), decided_one_by_one(rules, asked)) << question;
        }
    }
}

/// The kernel's check of a program goes through each way of it.
TEST(DeviceProgram, IsAsLongAsThereAreDevices)
{
    std::vector<OrderedRule> rules;
    const auto program_of = [&](std::uint32_t gpus) {
        while (rules.size() < gpus)
            rules.push_back({true, chars, 195, static_cast<std::uint32_t>(rules.size()), may_use});
        return device_program(rules).size();
    };
    const std::size_t one = program_of(1);
    EXPECT_EQ(program_of(1024), one + 1023);
    EXPECT_TRUE(allows(rules, {character, 195, 1023, read | write}));
    EXPECT_FALSE(allows(rules, {character, 195, 1023, make}));
    EXPECT_FALSE(allows(rules, {character, 195, 1024, read}));
    EXPECT_FALSE(allows(rules, {block, 195, 0, read}));
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

TEST(Evaluation, AnswersNothingAboutWhatItDoesNotKnow)
{
    const auto step = [](unsigned code, unsigned to, unsigned from, int off, int value) {
        return bpf_insn{static_cast<__u8>(code), static_cast<__u8>(to & 0xfU),
                        static_cast<__u8>(from & 0xfU), static_cast<__s16>(off), value};
    };
    const bpf_insn exit = step(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    const bpf_insn allow = step(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1);
    EXPECT_EQ(evaluate(std::vector{allow, exit}, {}), true);
    for (const bpf_insn& unknown :
         {step(BPF_JMP | BPF_CALL, 0, 0, 0, 5), step(BPF_LDX | BPF_MEM | BPF_DW, 2, 1, 0, 0),
          step(BPF_LDX | BPF_MEM | BPF_W, 2, 1, 12, 0),
          step(BPF_LDX | BPF_MEM | BPF_W, 2, 1, -4, 0),
          step(BPF_LDX | BPF_MEM | BPF_W, 2, 10, 0, 0),
          step(BPF_STX | BPF_MEM | BPF_W, 10, 1, -4, 0), step(BPF_ALU64 | BPF_ADD, 1, 0, 0, 1),
          step(BPF_ALU64 | BPF_DIV | BPF_K, 2, 0, 0, 3),
          step(BPF_ALU64 | BPF_MOV | BPF_X, 2, 3, 8, 0),
          step(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0, 0), step(BPF_JMP | BPF_JA, 0, 0, -1, 0),
          step(BPF_JMP | BPF_JA, 0, 0, 99, 0), step(BPF_ALU64 | BPF_MOV | BPF_K, 15, 0, 0, 0),
          step(BPF_ALU64 | BPF_MOV | BPF_X, 0, 15, 0, 0)})
        EXPECT_EQ(evaluate(std::vector{unknown, allow, exit}, {}), std::nullopt)
            << int{unknown.code};
    EXPECT_EQ(evaluate({}, {}), std::nullopt);
    EXPECT_EQ(evaluate(std::vector{step(BPF_ALU64 | BPF_MOV | BPF_X, 0, 1, 0, 0), exit}, {}),
              std::nullopt);
}

} // namespace
} // namespace gpucontainer::cgroup
