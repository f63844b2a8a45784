// SPDX-License-Identifier: MIT
#include "caller_facts.hpp"
#include "container_root.hpp"

#include <gpucontainer/gpucontainer.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <future>
#include <gmock/gmock.h>
#include <grp.h>
#include <latch>
#include <memory>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace gpucontainer {
namespace {

using test::Facts;

constexpr const char* directory = "/tmp/gpuctr-guest-calls";

/// Threads of the caller that have nothing to do with it.
class Bystanders {
public:
    Bystanders()
    {
        std::latch started(std::ssize(threads_));
        for (std::thread& thread : threads_)
            thread = std::thread([end = end_, &started] {
                started.count_down();
                end.wait();
            });
        started.wait();
    }
    Bystanders(const Bystanders&) = delete;
    Bystanders& operator=(const Bystanders&) = delete;
    ~Bystanders()
    {
        release_.set_value();
        for (std::thread& thread : threads_)
            thread.join();
    }

private:
    std::promise<void> release_;
    std::shared_future<void> end_{release_.get_future()};
    std::array<std::thread, 3> threads_;
};

Facts all_facts()
{
    Facts facts = test::facts_of_process();
    test::add_facts_of_threads(facts);
    // A mount that is attached gets another path, and stays the file that it was.
    const std::string descriptors = "/proc/self/fd/";
    for (auto& [name, value] : facts)
        if (struct stat status = {};
            name.starts_with(descriptors)
            && ::fstat(std::stoi(name.substr(descriptors.size())), &status) == 0)
            value = fmt::format("{}:{}", status.st_dev, status.st_ino);
    return facts;
}

/// A process with a root directory and mounts of its own; with a map for users and groups,
/// in a user namespace of its own.
class ContainerProcess {
public:
    explicit ContainerProcess(const std::string& root, const char* map = nullptr)
    {
        std::array<int, 2> ready = {};
        std::array<int, 2> mapped = {};
        EXPECT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
        EXPECT_EQ(::pipe2(mapped.data(), O_CLOEXEC), 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            char go = 'n';
            const bool alone = map == nullptr
                               || (::unshare(CLONE_NEWUSER) == 0 && ::write(ready[1], "u", 1) == 1
                                   && ::read(mapped[0], &go, 1) == 1);
            const bool made = alone && ::unshare(CLONE_NEWNS) == 0
                              && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
                              && ::chroot(root.c_str()) == 0 && ::chdir("/") == 0;
            (void)!::write(ready[1], made ? "y" : "n", 1);
            ::pause();
            ::_exit(0);
        }
        char made = 'n';
        if (map != nullptr) {
            EXPECT_EQ(::read(ready[0], &made, 1), 1);
            for (const char* const name : {"uid_map", "gid_map"})
                std::ofstream(fmt::format("/proc/{}/{}", pid_, name)) << map;
            EXPECT_EQ(::write(mapped[1], "m", 1), 1);
        }
        EXPECT_EQ(::read(ready[0], &made, 1), 1);
        EXPECT_EQ(made, 'y');
        ::close(mapped[0]);
        ::close(mapped[1]);
        ::close(ready[0]);
        ::close(ready[1]);
        root_fd =
            ::open(fmt::format("/proc/{}/root", pid_).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
        pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    }
    ContainerProcess(const ContainerProcess&) = delete;
    ContainerProcess& operator=(const ContainerProcess&) = delete;
    ~ContainerProcess()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        ::close(root_fd);
        ::close(pidfd);
    }

    int root_fd = -1;
    int pidfd = -1;

private:
    pid_t pid_;
};

class GuestCallsTest : public testing::TestWithParam<std::uint32_t> {
protected:
    void SetUp() override
    {
        if (!test::may_mount())
            GTEST_SKIP() << "mounting is for root";
        (void)::mkdir(directory, 0755);
        ASSERT_EQ(::mount("test", directory, "tmpfs", 0, nullptr), 0);
        root_ = std::make_unique<test::ContainerRoot>(std::string(directory) + "/root");
        ASSERT_EQ(gpuctr_host_open(nullptr, &host_, nullptr), GPUCTR_OK);
        plan_ = make_plan(0);
        options_.state_dir = state_.c_str();
        options_.backend = GetParam();
        undo_.state_dir = state_.c_str();
        where_.state_dir = state_.c_str();
        prepare_.backend = GetParam();
        stage_.backend = GetParam();
        // A change of credentials takes it away.
        ASSERT_EQ(::prctl(PR_SET_PDEATHSIG, SIGURG, 0UL, 0UL, 0UL), 0);
    }

    void TearDown() override
    {
        (void)::prctl(PR_SET_PDEATHSIG, 0UL, 0UL, 0UL, 0UL);
        gpuctr_plan_free(plan_);
        gpuctr_host_free(host_);
        root_.reset();
        (void)::umount2(directory, MNT_DETACH);
        (void)::rmdir(directory);
    }

    gpuctr_plan* make_plan(std::uint32_t flags, const char* label = nullptr,
                           std::uint32_t write = GPUCTR_WRITE_AUTO)
    {
        gpuctr_request request = GPUCTR_REQUEST_INIT;
        request.flags = flags;
        request.mount_label = label;
        request.write = write;
        gpuctr_plan* plan = nullptr;
        EXPECT_EQ(gpuctr_plan_create(host_, &request, root_->fd(), &plan, nullptr), GPUCTR_OK);
        return plan;
    }

    /// Makes a call, which ends with that status and leaves everything as it was.
    static void expect(gpuctr_status status, const char* what,
                       const std::function<gpuctr_status()>& call)
    {
        const Facts before = all_facts();
        const gpuctr_status found = call();
        EXPECT_THAT(test::differences(before, all_facts()), testing::IsEmpty()) << what;
        EXPECT_EQ(found, status) << what;
        EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), -1) << what << ": a child is left";
    }

    std::unique_ptr<test::ContainerRoot> root_;
    gpuctr_host* host_ = nullptr;
    gpuctr_plan* plan_ = nullptr;
    std::string state_ = std::string(directory) + "/state";
    gpuctr_apply_options options_ = GPUCTR_APPLY_OPTIONS_INIT;
    gpuctr_undo_options undo_ = GPUCTR_UNDO_OPTIONS_INIT;
    gpuctr_setup_list_options where_ = GPUCTR_SETUP_LIST_OPTIONS_INIT;
    gpuctr_prepare_options prepare_ = GPUCTR_PREPARE_OPTIONS_INIT;
    gpuctr_stage_options stage_ = GPUCTR_STAGE_OPTIONS_INIT;
};

TEST_P(GuestCallsTest, LookingChangesNothing)
{
    const Bystanders bystanders;
    gpuctr_error* error = nullptr;
    expect(GPUCTR_OK, "config_open", [&] {
        gpuctr_config* config = nullptr;
        const auto status = gpuctr_config_open("/nonexistent", &config, nullptr);
        gpuctr_config_free(config);
        return status;
    });
    expect(GPUCTR_E_USAGE, "config_open of a directory", [&] {
        gpuctr_config* config = nullptr;
        return gpuctr_config_open("/", &config, nullptr);
    });
    gpuctr_host* host = nullptr;
    expect(GPUCTR_OK, "host_open", [&] { return gpuctr_host_open(nullptr, &host, nullptr); });
    EXPECT_EQ(gpuctr_host_is_current(host), gpuctr_host_is_current(host_));
    gpuctr_host_options elsewhere = GPUCTR_HOST_OPTIONS_INIT;
    const std::array<const char*, 2> nvidia = {"nvidia", nullptr};
    elsewhere.vendors = nvidia.data();
    elsewhere.driver_root = "/nonexistent";
    expect(GPUCTR_E_DRIVER, "host_open elsewhere", [&] {
        gpuctr_host* none = nullptr;
        const auto status = gpuctr_host_open(&elsewhere, &none, &error);
        gpuctr_error_free(error);
        return status;
    });
    char* json = nullptr;
    expect(GPUCTR_OK, "host_to_json", [&] { return gpuctr_host_to_json(host, &json, nullptr); });
    gpuctr_host* read = nullptr;
    expect(GPUCTR_OK, "host_from_json", [&] {
        return gpuctr_host_from_json(json, std::string(json).size(), nullptr, &read, nullptr);
    });
    expect(GPUCTR_OK, "is_current",
           [&] { return gpuctr_host_is_current(read) < 0 ? GPUCTR_E_INTERNAL : GPUCTR_OK; });
    expect(GPUCTR_E_USAGE, "host_from_json of something else",
           [&] { return gpuctr_host_from_json("[1", 2, nullptr, &read, nullptr); });
    gpuctr_string_free(json);
    gpuctr_plan* plan = nullptr;
    expect(GPUCTR_OK, "plan_create",
           [&] { return gpuctr_plan_create(read, nullptr, root_->fd(), &plan, nullptr); });
    gpuctr_request request = GPUCTR_REQUEST_INIT;
    request.devices = "99";
    expect(GPUCTR_E_USAGE, "plan_create for no such GPU", [&] {
        gpuctr_plan* none = nullptr;
        return gpuctr_plan_create(host, &request, root_->fd(), &none, nullptr);
    });
    expect(GPUCTR_OK, "plan_to_json", [&] { return gpuctr_plan_to_json(plan, &json, nullptr); });
    gpuctr_string_free(json);
    gpuctr_plan_free(plan);
    gpuctr_host_free(read);
    gpuctr_host_free(host);
}

TEST_P(GuestCallsTest, SettingUpChangesNothingOfTheCaller)
{
    const Bystanders bystanders;
    const auto apply = [&](const gpuctr_plan* plan) {
        return gpuctr_plan_apply(plan, root_->fd(), &options_, nullptr, nullptr);
    };
    const auto undo = [&] { return gpuctr_rootfs_undo(root_->fd(), &undo_, nullptr, nullptr); };
    expect(GPUCTR_OK, "apply", [&] { return apply(plan_); });
    expect(GPUCTR_OK, "apply again", [&] { return apply(plan_); });
    gpuctr_plan* labelled = make_plan(0, "system_u:object_r:container_file_t:s0");
    gpuctr_plan* locked = make_plan(GPUCTR_REQUEST_LOCK);
    expect(GPUCTR_OK, "replace", [&] { return apply(locked); });
    gpuctr_setup_list* list = nullptr;
    expect(GPUCTR_OK, "setup_list_open",
           [&] { return gpuctr_setup_list_open(-1, &where_, &list, nullptr); });
    ASSERT_EQ(gpuctr_setup_list_count(list), 1U);
    expect(GPUCTR_OK, "setup_list_to_json", [&] {
        char* json = nullptr;
        const auto status = gpuctr_setup_list_to_json(list, &json, nullptr);
        gpuctr_string_free(json);
        return status;
    });
    expect(GPUCTR_OK, "setup_undo", [&] {
        return gpuctr_setup_undo(gpuctr_setup_list_at(list, 0), &undo_, nullptr, nullptr);
    });
    gpuctr_setup_list_free(list);
    expect(GPUCTR_OK, "undo of nothing", undo);
    gpuctr_plan* never = make_plan(GPUCTR_REQUEST_LOCK, nullptr, GPUCTR_WRITE_NEVER);
    expect(GPUCTR_OK, "apply with overlays", [&] { return apply(never); });
    expect(GPUCTR_OK, "undo", undo);
    expect(GPUCTR_E_REQUIREMENT, "apply with a label", [&] { return apply(labelled); });
    ASSERT_EQ(::mkdir((root_->path() + "/usr/lib/gpuctr").c_str(), 0755), 0);
    ASSERT_EQ(::mkdir((root_->path() + "/usr/lib/gpuctr/x").c_str(), 0755), 0);
    expect(GPUCTR_E_APPLY, "apply that fails half way", [&] {
        const auto status = apply(plan_);
        return status == GPUCTR_E_ROOTFS ? gpuctr_status{GPUCTR_E_APPLY} : status;
    });
    options_.flags = GPUCTR_APPLY_IN_PROCESS;
    options_.pidfd = root_->fd();
    expect(GPUCTR_E_USAGE, "apply in what is no process", [&] { return apply(plan_); });
    for (gpuctr_plan* plan : {locked, never, labelled})
        gpuctr_plan_free(plan);
}

TEST_P(GuestCallsTest, StagingAndAttachingChangeNothingOfTheCaller)
{
    const Bystanders bystanders;
    const std::string tree = std::string(directory) + "/tree";
    expect(GPUCTR_OK, "stage",
           [&] { return gpuctr_plan_stage(plan_, tree.c_str(), &stage_, nullptr, nullptr); });
    expect(GPUCTR_OK, "stage again",
           [&] { return gpuctr_plan_stage(plan_, tree.c_str(), &stage_, nullptr, nullptr); });
    expect(GPUCTR_OK, "unstage",
           [&] { return gpuctr_unstage(tree.c_str(), nullptr, nullptr, nullptr); });
    expect(GPUCTR_OK, "unstage of nothing",
           [&] { return gpuctr_unstage(tree.c_str(), nullptr, nullptr, nullptr); });

    gpuctr_plan* locked = make_plan(GPUCTR_REQUEST_LOCK, nullptr, GPUCTR_WRITE_NEVER);
    const std::array<const gpuctr_plan*, 2> plans = {plan_, locked};
    for (const gpuctr_plan* plan : plans) {
        // A prepared plan is descriptors, and nothing else that shows.
        const Facts before = all_facts();
        gpuctr_prepared* prepared = nullptr;
        ASSERT_EQ(gpuctr_plan_prepare(plan, &prepare_, &prepared, nullptr), GPUCTR_OK);
        expect(GPUCTR_E_ROOTFS, "attach elsewhere", [&] {
            const int none = ::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
            const auto status = gpuctr_prepared_attach(prepared, none, nullptr);
            ::close(none);
            return status == GPUCTR_E_PERMISSION ? gpuctr_status{GPUCTR_E_ROOTFS} : status;
        });
        gpuctr_prepared_free(prepared);
        ASSERT_EQ(gpuctr_plan_prepare(plan, &prepare_, &prepared, nullptr), GPUCTR_OK);
        expect(GPUCTR_OK, "attach",
               [&] { return gpuctr_prepared_attach(prepared, root_->fd(), nullptr); });
        expect(GPUCTR_E_USAGE, "attach again",
               [&] { return gpuctr_prepared_attach(prepared, root_->fd(), nullptr); });
        expect(GPUCTR_OK, "undo",
               [&] { return gpuctr_prepared_undo(prepared, root_->fd(), nullptr); });
        gpuctr_prepared_free(prepared);
        EXPECT_THAT(test::differences(before, all_facts()), testing::IsEmpty());
    }
    gpuctr_plan_free(locked);
}

TEST_P(GuestCallsTest, WorkingAsRootOfAContainerGivesTheThreadBack)
{
    constexpr uid_t user = 1000;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_->path()))
        ASSERT_EQ(::lchown(entry.path().c_str(), user, user), 0);
    ASSERT_EQ(::lchown(root_->path().c_str(), user, user), 0);
    const ContainerProcess container(root_->path(), "0 1000 1");
    options_.flags = GPUCTR_APPLY_IN_PROCESS;
    options_.pidfd = container.pidfd;
    undo_.flags = GPUCTR_UNDO_IN_PROCESS;
    undo_.pidfd = container.pidfd;
    gpuctr_plan* always = make_plan(0, nullptr, GPUCTR_WRITE_ALWAYS);
    ASSERT_EQ(::unshare(CLONE_FS), 0);
    ASSERT_EQ(::prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
    const std::array<gid_t, 2> groups = {0, 4711};
    ASSERT_EQ(::setgroups(groups.size(), groups.data()), 0);

    const Facts before = all_facts();
    EXPECT_EQ(gpuctr_plan_apply(always, container.root_fd, &options_, nullptr, nullptr), GPUCTR_OK);
    EXPECT_THAT(test::differences(before, all_facts()), testing::IsEmpty());
    struct stat made = {};
    ASSERT_EQ(::fstatat(container.root_fd, "usr/lib/gpuctr", &made, AT_SYMLINK_NOFOLLOW), 0);
    ASSERT_EQ(::fstatat(container.root_fd, "etc/ld.so.cache", &made, AT_SYMLINK_NOFOLLOW), 0);
    EXPECT_EQ(made.st_uid, user);
    EXPECT_EQ(made.st_gid, user);
    EXPECT_EQ(gpuctr_rootfs_undo(container.root_fd, &undo_, nullptr, nullptr), GPUCTR_OK);
    EXPECT_THAT(test::differences(before, all_facts()), testing::IsEmpty());
    gpuctr_plan_free(always);
    ASSERT_EQ(::prctl(PR_SET_PDEATHSIG, 0), 0);
}

TEST_P(GuestCallsTest, AProcessWithoutARootThatIsKnownIsRefused)
{
    ASSERT_EQ(::unshare(CLONE_FS), 0);
    for (const char* const map : {"1 1000 1", "5 0 1"}) {
        const ContainerProcess container(root_->path(), map);
        options_.flags = GPUCTR_APPLY_IN_PROCESS;
        options_.pidfd = container.pidfd;
        undo_.flags = GPUCTR_UNDO_IN_PROCESS;
        undo_.pidfd = container.pidfd;
        const auto before = root_->listing();
        gpuctr_error* error = nullptr;

        EXPECT_EQ(gpuctr_plan_apply(plan_, container.root_fd, &options_, nullptr, &error),
                  GPUCTR_E_ROOTFS);
        EXPECT_STREQ(gpuctr_error_message(error),
                     "the process's user namespace has no root that is known here");
        gpuctr_error_free(error);
        EXPECT_EQ(gpuctr_rootfs_undo(container.root_fd, &undo_, nullptr, nullptr), GPUCTR_E_ROOTFS);
        EXPECT_EQ(root_->listing(), before);
    }
}

TEST_P(GuestCallsTest, WorkingInAContainerGivesTheThreadBack)
{
    const Bystanders bystanders;
    const ContainerProcess container(root_->path());
    options_.flags = GPUCTR_APPLY_IN_PROCESS;
    options_.pidfd = container.pidfd;
    undo_.flags = GPUCTR_UNDO_IN_PROCESS;
    undo_.pidfd = container.pidfd;
    const auto apply = [&] {
        return gpuctr_plan_apply(plan_, container.root_fd, &options_, nullptr, nullptr);
    };
    const Facts before = all_facts();
    // This one shares its working directory with the others.
    EXPECT_EQ(apply(), GPUCTR_E_USAGE);
    EXPECT_THAT(test::differences(before, all_facts()), testing::IsEmpty());
    // Signals are blocked while a thread is made.
    std::promise<void> made;
    std::thread thread([&, wait = made.get_future()] {
        wait.wait();
        ASSERT_EQ(::unshare(CLONE_FS), 0);
        const Facts mine = all_facts();
        EXPECT_EQ(apply(), GPUCTR_OK);
        EXPECT_THAT(test::differences(mine, all_facts()), testing::IsEmpty());
        EXPECT_EQ(gpuctr_rootfs_undo(container.root_fd, &undo_, nullptr, nullptr), GPUCTR_OK);
        EXPECT_THAT(test::differences(mine, all_facts()), testing::IsEmpty());
    });
    made.set_value();
    thread.join();
    EXPECT_THAT(test::differences(before, all_facts()), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(, GuestCallsTest,
                         testing::Values(GPUCTR_BACKEND_DETACHED, GPUCTR_BACKEND_ASSEMBLED),
                         [](const auto& test) {
                             return test.param == GPUCTR_BACKEND_DETACHED ? "Detached"
                                                                          : "Assembled";
                         });

} // namespace
} // namespace gpucontainer
