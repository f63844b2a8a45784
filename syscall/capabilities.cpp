// SPDX-License-Identifier: MIT
#include "syscall/capabilities.hpp"

#include <array>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::syscall {
namespace {

constexpr unsigned word_bits = 32;
using Words = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

std::uint64_t join(std::uint32_t low, std::uint32_t high)
{
    return low | std::uint64_t{high} << word_bits;
}

__user_cap_data_struct word_of(const Capabilities& sets, unsigned shift)
{
    return {static_cast<std::uint32_t>(sets.effective >> shift),
            static_cast<std::uint32_t>(sets.permitted >> shift),
            static_cast<std::uint32_t>(sets.inheritable >> shift)};
}

} // namespace

std::optional<Capabilities> read_capabilities() noexcept
{
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    Words words = {};
    if (::syscall(SYS_capget, &header, words.data()) != 0)
        return std::nullopt;
    return Capabilities{join(words[0].effective, words[1].effective),
                        join(words[0].permitted, words[1].permitted),
                        join(words[0].inheritable, words[1].inheritable)};
}

bool write_capabilities(const Capabilities& sets) noexcept
{
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    const Words words = {word_of(sets, 0), word_of(sets, word_bits)};
    return ::syscall(SYS_capset, &header, words.data()) == 0;
}

} // namespace gpucontainer::syscall
