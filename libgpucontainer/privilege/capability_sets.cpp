// SPDX-License-Identifier: MIT
#include "privilege/capability_sets.hpp"

#include <array>
#include <cerrno>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::privilege {
namespace {

constexpr unsigned word_bits = 32;
using Words = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

std::uint64_t join(std::uint32_t low, std::uint32_t high)
{
    return low | std::uint64_t{high} << word_bits;
}

} // namespace

Result<CapabilitySets> CapabilitySets::read()
{
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    Words words = {};
    if (::syscall(SYS_capget, &header, words.data()) != 0)
        return Error::from_errno(errno, "read this process's capabilities");
    return CapabilitySets{join(words[0].effective, words[1].effective),
                          join(words[0].permitted, words[1].permitted),
                          join(words[0].inheritable, words[1].inheritable)};
}

Result<void> CapabilitySets::write() const
{
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    Words words = {};
    for (unsigned i = 0; i < words.size(); ++i)
        words.at(i) = {static_cast<std::uint32_t>(effective >> i * word_bits),
                       static_cast<std::uint32_t>(permitted >> i * word_bits),
                       static_cast<std::uint32_t>(inheritable >> i * word_bits)};
    if (::syscall(SYS_capset, &header, words.data()) != 0)
        return Error::from_errno(errno, "drop capabilities");
    return {};
}

} // namespace gpucontainer::privilege
