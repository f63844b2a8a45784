// SPDX-License-Identifier: MIT
#include "mount/kernel.hpp"

#include "support/forbidden.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace gpucontainer::mount {
namespace {

constexpr unsigned open_tree_attr = 467;

/// What `body` says in a process that may not make these calls.
std::string without(const std::vector<unsigned>& calls, int error,
                    const std::function<std::string()>& body)
{
    std::array<int, 2> ends = {};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return "no pipe";
    const pid_t child = ::fork();
    if (child == 0) {
        const std::string said = test::forbid(calls, error) ? body() : "no seccomp filter";
        const bool written = ::write(ends[1], said.data(), said.size()) >= 0;
        ::_exit(written ? 0 : 1);
    }
    (void)::close(ends[1]);
    std::array<char, 512> said = {};
    const ssize_t length = ::read(ends[0], said.data(), said.size());
    (void)::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return {said.data(), static_cast<std::size_t>(length > 0 ? length : 0)};
}

std::string probed() { return std::string(name(probe_backend())); }

TEST(Backend, HasAName)
{
    EXPECT_EQ(name(Backend::detached), "detached");
    EXPECT_EQ(name(Backend::assembled), "assembled");
    EXPECT_EQ(name(Backend::legacy), "legacy");
}

TEST(Backend, IsAssembledWhereDetachedMountsCannotBeMountedOnto)
{
    EXPECT_EQ(without({open_tree_attr}, ENOSYS, probed), "assembled");
    EXPECT_EQ(without({open_tree_attr}, EPERM, probed), "assembled");
}

TEST(Backend, IsLegacyWhereTheCallsOfTheMountInterfaceAreMissing)
{
    for (const int error : {ENOSYS, EPERM})
        for (const int call : {SYS_mount_setattr, SYS_open_tree})
            EXPECT_EQ(without({static_cast<unsigned>(call)}, error, probed), "legacy");
}

TEST(Backend, IsRefusedWhereTheKernelLacksIt)
{
    const auto required = [](Backend wanted) {
        return [wanted] {
            const auto backend = require_backend(wanted);
            return backend ? std::string(name(*backend)) : backend.error().message();
        };
    };

    EXPECT_EQ(without({open_tree_attr}, ENOSYS, required(Backend::detached)),
              "the detached backend needs Linux 6.15");
    EXPECT_EQ(without({open_tree_attr}, ENOSYS, required(Backend::assembled)), "assembled");
    EXPECT_EQ(
        without({SYS_mount_setattr}, EPERM, required(Backend::assembled)),
        "the assembled backend needs Linux 5.12, without a seccomp filter on mount_setattr and "
        "open_tree");
    EXPECT_EQ(without({SYS_mount_setattr}, EPERM, required(Backend::legacy)), "legacy");
    EXPECT_EQ(without({}, 0, required(Backend::legacy)), "legacy");
}

TEST(Kernel, KnowsItsVersion)
{
    EXPECT_TRUE(is_kernel_at_least(4, 18));
    EXPECT_TRUE(is_kernel_at_least(2, 6));
    EXPECT_FALSE(is_kernel_at_least(99, 0));
}

} // namespace
} // namespace gpucontainer::mount
