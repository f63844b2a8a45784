// SPDX-License-Identifier: MIT
#include "mount/kernel.hpp"

#include "syscall/process.hpp"

#include <array>
#include <cerrno>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace gpucontainer::mount {
std::string_view name(Backend backend)
{
    switch (backend) {
    case Backend::detached:
        return "detached";
    case Backend::assembled:
        return "assembled";
    case Backend::legacy:
        return "legacy";
    }
    return "";
}

bool is_kernel_at_least(unsigned major, unsigned minor) noexcept
{
    utsname system = {};
    std::array<unsigned, 2> found = {};
    if (::uname(&system) != 0)
        return false;
    const char* text = system.release;
    for (unsigned& number : found) {
        for (; *text >= '0' && *text <= '9'; ++text)
            number = number * 10 + static_cast<unsigned>(*text - '0');
        if (*text == '.')
            ++text;
    }
    return found[0] != major ? found[0] > major : found[1] >= minor;
}

Backend probe_backend()
{
    constexpr unsigned mount_api_major = 5;
    constexpr unsigned mount_api_minor = 2;
    if (!syscall::has_call(SYS_mount_setattr) || !syscall::has_call(SYS_open_tree)
        || !is_kernel_at_least(mount_api_major, mount_api_minor))
        return Backend::legacy;
    // The release that added this call also allows mounting on a detached mount.
    return syscall::has_call(open_tree_attr_number) ? Backend::detached : Backend::assembled;
}

Result<Backend> require_backend(Backend wanted)
{
    const Backend best = probe_backend();
    if (wanted == Backend::legacy || wanted == best || best == Backend::detached)
        return wanted;
    if (wanted == Backend::detached)
        return Error(Errc::requirement, "the detached backend needs Linux 6.15");
    return Error(Errc::requirement,
                 "the assembled backend needs Linux 5.12, without a seccomp filter "
                 "on mount_setattr and open_tree");
}

} // namespace gpucontainer::mount
