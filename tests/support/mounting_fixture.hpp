// SPDX-License-Identifier: MIT
#pragma once

#include "base/unique_fd.hpp"
#include "mount/bench.hpp"
#include "mount/facts.hpp"
#include "support/temp_root.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>

namespace gpucontainer::test {

/// In a mount namespace of its own.
class MountingTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            GTEST_SKIP() << "no mount namespace can be made here";
        if (mount::probe_backend() == mount::Backend::legacy)
            GTEST_SKIP() << "no detached mounts";
        ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
        bench_.backend = mount::probe_backend();
    }

    base::UniqueFd open(const char* path) const
    {
        return base::UniqueFd(::open(root_.at(path).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    }

    bool is_mounted(const char* path) const { return mount::is_mount_root(open(path).get()); }

    test::TempRoot root_;
    mount::Bench bench_;
};

} // namespace gpucontainer::test
