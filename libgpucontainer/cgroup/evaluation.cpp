// SPDX-License-Identifier: MIT
#include "cgroup/evaluation.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpucontainer::cgroup {
namespace {

constexpr std::size_t most_steps = 1U << 16U; // of a program with loops

/// A number, or the address of the question.
struct Value {
    std::uint64_t number = 0;
    bool is_address = false;
};

using Number = std::optional<std::uint64_t>;

std::uint64_t shifted_with_sign(std::uint64_t value, std::uint64_t by, bool wide)
{
    return wide ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >> by)
                : static_cast<std::uint32_t>(static_cast<std::int32_t>(value) >> by);
}

/// Of 64 bits, of which an operation on 32 takes the lower half.
Number calculated(unsigned operation, std::uint64_t left, std::uint64_t right, bool wide)
{
    const std::uint64_t shift = right & (wide ? 63U : 31U);
    switch (operation) {
    case BPF_MOV:
        return right;
    case BPF_ADD:
        return left + right;
    case BPF_SUB:
        return left - right;
    case BPF_AND:
        return left & right;
    case BPF_OR:
        return left | right;
    case BPF_XOR:
        return left ^ right;
    case BPF_LSH:
        return left << shift;
    case BPF_RSH:
        return (wide ? left : static_cast<std::uint32_t>(left)) >> shift;
    case BPF_ARSH:
        return shifted_with_sign(left, shift, wide);
    default:
        return std::nullopt;
    }
}

template <typename Signed>
std::optional<bool> compared_with_sign(unsigned condition, Signed left, Signed right)
{
    switch (condition) {
    case BPF_JSGT:
        return left > right;
    case BPF_JSGE:
        return left >= right;
    case BPF_JSLT:
        return left < right;
    case BPF_JSLE:
        return left <= right;
    default:
        return std::nullopt;
    }
}

std::optional<bool> compared(unsigned condition, std::uint64_t left, std::uint64_t right, bool wide)
{
    if (!wide) {
        left = static_cast<std::uint32_t>(left);
        right = static_cast<std::uint32_t>(right);
    }
    switch (condition) {
    case BPF_JEQ:
        return left == right;
    case BPF_JNE:
        return left != right;
    case BPF_JGT:
        return left > right;
    case BPF_JGE:
        return left >= right;
    case BPF_JLT:
        return left < right;
    case BPF_JLE:
        return left <= right;
    case BPF_JSET:
        return (left & right) != 0;
    default:
        return wide ? compared_with_sign(condition, static_cast<std::int64_t>(left),
                                         static_cast<std::int64_t>(right))
                    : compared_with_sign(condition, static_cast<std::int32_t>(left),
                                         static_cast<std::int32_t>(right));
    }
}

class Machine {
public:
    Machine(std::span<const bpf_insn> program, const bpf_cgroup_dev_ctx& asked)
        : program_(program), asked_(asked)
    {
        registers_[BPF_REG_1].is_address = true;
    }

    std::optional<bool> run()
    {
        for (std::size_t steps = 0; steps < most_steps && at_ < program_.size(); ++steps) {
            const bpf_insn& step = program_[at_++];
            if (step.code == (BPF_JMP | BPF_EXIT))
                return answer();
            if (!carry_out(step))
                break;
        }
        return std::nullopt;
    }

private:
    std::optional<bool> answer() const
    {
        const Value& value = registers_[BPF_REG_0];
        return value.is_address ? std::nullopt
                                : std::optional(static_cast<std::uint32_t>(value.number) != 0);
    }

    bool carry_out(const bpf_insn& step)
    {
        if (step.dst_reg >= registers_.size() || step.src_reg >= registers_.size())
            return false;
        switch (BPF_CLASS(step.code)) {
        case BPF_ALU:
        case BPF_ALU64:
            return calculate(step);
        case BPF_JMP:
        case BPF_JMP32:
            return jump(step);
        case BPF_LDX:
            return load(step);
        default:
            return false;
        }
    }

    Value operand(const bpf_insn& step) const
    {
        return BPF_SRC(step.code) == BPF_X
                   ? registers_[step.src_reg]
                   : Value{static_cast<std::uint64_t>(std::int64_t{step.imm}), false};
    }

    bool calculate(const bpf_insn& step)
    {
        const bool wide = BPF_CLASS(step.code) == BPF_ALU64;
        const bool moves = BPF_OP(step.code) == BPF_MOV;
        const Value right = operand(step);
        Value& to = registers_[step.dst_reg];
        if (wide && moves && right.is_address) {
            to = right;
            return true;
        }
        if (step.off != 0 || right.is_address || (!moves && to.is_address))
            return false;
        const Number value = calculated(BPF_OP(step.code), to.number, right.number, wide);
        if (value)
            to = {wide ? *value : static_cast<std::uint32_t>(*value), false};
        return value.has_value();
    }

    bool jump(const bpf_insn& step)
    {
        const bool wide = BPF_CLASS(step.code) == BPF_JMP;
        const Value left = registers_[step.dst_reg];
        const Value right = operand(step);
        std::optional<bool> taken;
        if (step.code == (BPF_JMP | BPF_JA))
            taken = true;
        else if (!left.is_address && !right.is_address)
            taken = compared(BPF_OP(step.code), left.number, right.number, wide);
        if (taken && *taken)
            at_ += static_cast<std::size_t>(std::ptrdiff_t{step.off}); // may lead back
        return taken.has_value();
    }

    /// Of the question alone.
    bool load(const bpf_insn& step)
    {
        const std::size_t size = BPF_SIZE(step.code) == BPF_W   ? 4
                                 : BPF_SIZE(step.code) == BPF_H ? 2
                                 : BPF_SIZE(step.code) == BPF_B ? 1
                                                                : 0;
        if (BPF_MODE(step.code) != BPF_MEM || !registers_[step.src_reg].is_address || size == 0
            || step.off < 0 || static_cast<std::size_t>(step.off) + size > sizeof asked_)
            return false;
        const auto* const from = reinterpret_cast<const std::byte*>(&asked_) + step.off;
        std::uint32_t word = 0;
        std::uint16_t half = 0;
        std::uint8_t byte = 0;
        if (size == sizeof word)
            std::memcpy(&word, from, size);
        else if (size == sizeof half)
            std::memcpy(&half, from, size);
        else
            std::memcpy(&byte, from, size);
        registers_[step.dst_reg] = {std::uint64_t{word} | half | byte, false};
        return true;
    }

    std::span<const bpf_insn> program_;
    const bpf_cgroup_dev_ctx& asked_;
    std::size_t at_ = 0;
    /// The twelfth is of the kernel's own: it hides constants with it (net.core.bpf_jit_harden).
    std::array<Value, 12> registers_;
};

} // namespace

std::optional<bool> evaluate(std::span<const bpf_insn> program, const bpf_cgroup_dev_ctx& asked)
{
    return Machine(program, asked).run();
}

} // namespace gpucontainer::cgroup
