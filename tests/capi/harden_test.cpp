// SPDX-License-Identifier: MIT
#include "caller_facts.hpp"
#include "container_root.hpp"

#include <gpucontainer/gpucontainer.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <future>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace gpucontainer {
namespace {

using test::Facts;

constexpr unsigned dac_override = 1;
constexpr unsigned dac_read_search = 2;
constexpr unsigned net_raw = 13;
constexpr unsigned sys_admin = 21;
constexpr unsigned mknod = 27;
constexpr std::uint64_t bit(unsigned capability) { return std::uint64_t{1} << capability; }
/// Whether nodes that the host lacks can be made is asked while looking.
constexpr std::uint64_t look = bit(dac_override) | bit(dac_read_search) | bit(mknod);

std::uint64_t set_of(const char* name)
{
    Facts facts;
    test::read_status("/proc/thread-self/status", facts);
    constexpr int hexadecimal = 16;
    return std::stoull(facts[std::string("/proc/thread-self/status ") + name], nullptr,
                       hexadecimal);
}

gpuctr_status harden(std::uint32_t phases, std::uint32_t flags = 0, std::uint64_t capabilities = 0)
{
    gpuctr_harden_options options = GPUCTR_HARDEN_OPTIONS_INIT;
    options.phases = phases;
    options.flags = flags;
    options.capabilities = capabilities;
    return gpuctr_process_harden(&options, nullptr);
}

/// It cannot be undone, so each case has a process of its own.
class HardenTest : public testing::Test {
protected:
    void SetUp() override
    {
        if (!test::may_mount())
            GTEST_SKIP() << "capabilities are what root has";
    }

    static void in_a_process(const std::function<void()>& body)
    {
        const pid_t child = ::fork();
        if (child == 0) {
            body();
            (void)std::fflush(stdout);
            ::_exit(testing::Test::HasFailure() ? 1 : 0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0) << "see above";
    }
};

TEST_F(HardenTest, KeepsWhatThePhasesNeed)
{
    in_a_process([] {
        const std::uint64_t bounding = set_of("CapBnd");
        EXPECT_EQ(harden(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_MOUNT), GPUCTR_OK);
        EXPECT_EQ(set_of("CapEff") & (look | bit(sys_admin) | bit(net_raw)), look | bit(sys_admin));
        EXPECT_EQ(set_of("CapPrm"), set_of("CapEff"));
        EXPECT_EQ(set_of("CapInh") | set_of("CapAmb"), 0U);
        EXPECT_EQ(set_of("CapBnd"), bounding);
        EXPECT_EQ(::prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL), 1);
        EXPECT_EQ(::prctl(PR_GET_DUMPABLE), 0);

        EXPECT_EQ(harden(GPUCTR_PHASE_LOOK), GPUCTR_OK);
        EXPECT_EQ(set_of("CapEff"), look);
        EXPECT_EQ(gpuctr_process_harden(nullptr, nullptr), GPUCTR_OK);
        EXPECT_EQ(set_of("CapPrm"), 0U);
        EXPECT_EQ(harden(GPUCTR_PHASE_MOUNT), GPUCTR_OK);
        EXPECT_EQ(set_of("CapPrm"), 0U) << "nothing comes back";
    });
}

TEST_F(HardenTest, LeavesNothingForProgramsToInherit)
{
    in_a_process([] {
        __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
        std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets = {};
        ASSERT_EQ(::syscall(SYS_capget, &header, sets.data()), 0);
        sets[0].inheritable = sets[0].permitted;
        ASSERT_EQ(::syscall(SYS_capset, &header, sets.data()), 0);
        ASSERT_NE(set_of("CapInh") & bit(net_raw), 0U);

        EXPECT_EQ(harden(GPUCTR_PHASE_LOOK), GPUCTR_OK);
        EXPECT_EQ(set_of("CapInh"), 0U);
    });
}

TEST_F(HardenTest, KeepsWhatTheCallerNeedsBesides)
{
    in_a_process([] {
        EXPECT_EQ(harden(GPUCTR_PHASE_LOOK, 0, bit(net_raw)), GPUCTR_OK);
        EXPECT_EQ(set_of("CapEff"), look | bit(net_raw));
    });
}

TEST_F(HardenTest, KeepsForExecWhatTheProgramWouldHave)
{
    in_a_process([] {
        const std::uint64_t permitted = set_of("CapPrm");
        EXPECT_EQ(harden(GPUCTR_PHASE_LOOK, GPUCTR_HARDEN_FOR_EXEC | GPUCTR_HARDEN_NEW_PRIVILEGES
                                                | GPUCTR_HARDEN_DUMPABLE),
                  GPUCTR_OK);
        EXPECT_EQ(set_of("CapEff"), look);
        EXPECT_EQ(set_of("CapPrm"), permitted);
        EXPECT_EQ(::prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL), 0);
        EXPECT_EQ(::prctl(PR_GET_DUMPABLE), 1);
    });
}

TEST_F(HardenTest, IsForTheThreadAndThoseThatItStarts)
{
    in_a_process([] {
        std::promise<void> hardened;
        std::thread earlier([wait = hardened.get_future()] {
            wait.wait();
            EXPECT_NE(set_of("CapEff"), look);
        });
        EXPECT_EQ(harden(GPUCTR_PHASE_LOOK), GPUCTR_OK);
        hardened.set_value();
        earlier.join();
        std::thread([] { EXPECT_EQ(set_of("CapEff"), look); }).join();
    });
}

TEST_F(HardenTest, IsEnoughForTheCallsOfThePhases)
{
    const test::ContainerRoot root("/tmp/gpuctr-harden");
    in_a_process([&] {
        gpuctr_host* host = nullptr;
        gpuctr_plan* plan = nullptr;
        gpuctr_apply_options options = GPUCTR_APPLY_OPTIONS_INIT;
        gpuctr_undo_options undo = GPUCTR_UNDO_OPTIONS_INIT;
        gpuctr_setup_list_options where = GPUCTR_SETUP_LIST_OPTIONS_INIT;
        gpuctr_setup_list* list = nullptr;
        gpuctr_prepared* prepared = nullptr;
        options.state_dir = "/tmp/gpuctr-harden-state";
        undo.state_dir = options.state_dir;
        where.state_dir = options.state_dir;
        EXPECT_EQ(harden(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_APPLY), GPUCTR_OK);
        EXPECT_EQ(gpuctr_host_open(nullptr, &host, nullptr), GPUCTR_OK);
        EXPECT_EQ(gpuctr_plan_create(host, nullptr, root.fd(), &plan, nullptr), GPUCTR_OK);
        EXPECT_EQ(gpuctr_plan_apply(plan, root.fd(), &options, nullptr, nullptr), GPUCTR_OK);
        EXPECT_EQ(gpuctr_rootfs_undo(root.fd(), &undo, nullptr, nullptr), GPUCTR_OK);
        EXPECT_EQ(harden(GPUCTR_PHASE_MOUNT), GPUCTR_OK);
        EXPECT_EQ(gpuctr_plan_prepare(plan, nullptr, &prepared, nullptr), GPUCTR_OK);
        EXPECT_EQ(gpuctr_prepared_attach(prepared, root.fd(), nullptr), GPUCTR_OK);
        EXPECT_EQ(gpuctr_prepared_undo(prepared, root.fd(), nullptr), GPUCTR_OK);
        gpuctr_prepared_free(prepared);
        EXPECT_EQ(harden(GPUCTR_PHASE_STATUS), GPUCTR_OK);
        EXPECT_EQ(gpuctr_setup_list_open(-1, &where, &list, nullptr), GPUCTR_OK);
        gpuctr_setup_list_free(list);
        EXPECT_EQ(harden(GPUCTR_PHASE_LOOK), GPUCTR_OK);
        EXPECT_EQ(gpuctr_plan_prepare(plan, nullptr, &prepared, nullptr), GPUCTR_E_PERMISSION);
        gpuctr_plan_free(plan);
        gpuctr_host_free(host);
    });
    std::filesystem::remove_all("/tmp/gpuctr-harden-state");
}

} // namespace
} // namespace gpucontainer
