// SPDX-License-Identifier: MIT
#include "caller_facts.hpp"
#include "container_root.hpp"

#include <gpucontainer/gpucontainer.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <memory>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace gpucontainer {
namespace {

using test::Facts;

using test::differences;
using test::facts_of_process;
using test::read_links;
using test::read_status;

/// The library as a plug-in has it, which names no symbol of it when linked.
class Library {
public:
    Library() : handle_(::dlopen(GPUCTR_LIBRARY, RTLD_NOW | RTLD_LOCAL)) {}

    explicit operator bool() const noexcept { return handle_ != nullptr; }

    template <typename Function>
    Function* function(const char* name) const
    {
        return reinterpret_cast<Function*>(::dlsym(handle_, name));
    }

private:
    void* handle_;
};

/// Standard output and error in a file of memory while it lives.
class Captured {
public:
    Captured()
        : file_(::memfd_create("output", MFD_CLOEXEC)), out_(::fcntl(1, F_DUPFD_CLOEXEC, 0)),
          err_(::fcntl(2, F_DUPFD_CLOEXEC, 0))
    {
        ::dup2(file_, 1);
        ::dup2(file_, 2);
    }
    Captured(const Captured&) = delete;
    Captured& operator=(const Captured&) = delete;
    ~Captured()
    {
        ::dup2(out_, 1);
        ::dup2(err_, 2);
        for (const int fd : {file_, out_, err_})
            ::close(fd);
    }

    off_t size() const
    {
        struct stat status = {};
        (void)::fstat(file_, &status);
        return status.st_size;
    }

private:
    int file_;
    int out_;
    int err_;
};

std::atomic<int> signals = 0;

/// One caller's round trips on a root of its own.
class Caller {
public:
    Caller(const Library& library, std::string root, std::string state, std::uint32_t backend)
        : library_(library), root_(std::move(root)), state_(std::move(state)), backend_(backend)
    {
    }

    void run(int times)
    {
        const Facts before = facts_of_thread();
        for (int i = 0; i < times && problems.empty(); ++i)
            round_trip();
        for (const std::string& line : differences(before, facts_of_thread()))
            problems.push_back("thread: " + line);
    }

    std::vector<std::string> problems;

private:
    /// What other threads do not change while they work.
    static Facts facts_of_thread()
    {
        Facts facts;
        read_status("/proc/thread-self/status", facts);
        facts.erase("/proc/thread-self/status Threads");
        read_links("/proc/thread-self/ns", facts);
        facts["cwd"] = std::filesystem::current_path();
        return facts;
    }

    template <typename Function>
    Function* function(const char* name) const
    {
        return library_.function<Function>(name);
    }

    bool check(const char* what, gpuctr_status status, gpuctr_error* error)
    {
        if (status == GPUCTR_OK)
            return true;
        problems.push_back(
            fmt::format("{}: {}: {}", what, status,
                        function<decltype(gpuctr_error_message)>("gpuctr_error_message")(error)));
        function<decltype(gpuctr_error_free)>("gpuctr_error_free")(error);
        return false;
    }

    void round_trip()
    {
        gpuctr_error* error = nullptr;
        gpuctr_host* host = nullptr;
        if (!check("host_open",
                   function<decltype(gpuctr_host_open)>("gpuctr_host_open")(nullptr, &host, &error),
                   error))
            return;
        gpuctr_request request = GPUCTR_REQUEST_INIT;
        const int fd = ::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
        gpuctr_plan* plan = nullptr;
        if (check("plan_create",
                  function<decltype(gpuctr_plan_create)>("gpuctr_plan_create")(host, &request, fd,
                                                                               &plan, &error),
                  error))
            use(plan, fd);
        function<decltype(gpuctr_plan_free)>("gpuctr_plan_free")(plan);
        function<decltype(gpuctr_host_free)>("gpuctr_host_free")(host);
        ::close(fd);
    }

    void use(const gpuctr_plan* plan, int fd)
    {
        gpuctr_error* error = nullptr;
        gpuctr_prepared* prepared = nullptr;
        gpuctr_prepare_options how = GPUCTR_PREPARE_OPTIONS_INIT;
        how.backend = backend_;
        if (check("prepare",
                  function<decltype(gpuctr_plan_prepare)>("gpuctr_plan_prepare")(plan, &how,
                                                                                 &prepared, &error),
                  error))
            function<decltype(gpuctr_prepared_free)>("gpuctr_prepared_free")(prepared);
        gpuctr_apply_options options = GPUCTR_APPLY_OPTIONS_INIT;
        options.state_dir = state_.c_str();
        options.backend = backend_;
        if (!check("apply",
                   function<decltype(gpuctr_plan_apply)>("gpuctr_plan_apply")(plan, fd, &options,
                                                                              nullptr, &error),
                   error))
            return;
        gpuctr_undo_options undo = GPUCTR_UNDO_OPTIONS_INIT;
        undo.state_dir = state_.c_str();
        int found = 0;
        check(
            "undo",
            function<decltype(gpuctr_rootfs_undo)>("gpuctr_rootfs_undo")(fd, &undo, &found, &error),
            error);
        if (found != 1)
            problems.emplace_back("undo found nothing");
    }

    const Library& library_;
    std::string root_;
    std::string state_;
    std::uint32_t backend_;
};

class GuestTest : public testing::TestWithParam<std::uint32_t> {
protected:
    void SetUp() override
    {
        if (!test::may_mount())
            GTEST_SKIP() << "mounting is for root";
        (void)::umask(0137);
        (void)::mkdir("/tmp/gpuctr-guest", 0755);
        ASSERT_EQ(::mount("test", "/tmp/gpuctr-guest", "tmpfs", 0, nullptr), 0);
        struct sigaction action = {};
        action.sa_handler = [](int) { ++signals; };
        ASSERT_EQ(::sigaction(SIGCHLD, &action, nullptr), 0);
        signals = 0;
    }

    void TearDown() override
    {
        (void)::umount2("/tmp/gpuctr-guest", MNT_DETACH);
        (void)::rmdir("/tmp/gpuctr-guest");
        (void)::umask(022);
    }
};

TEST_P(GuestTest, ChangesNothingOfItsCallersProcess)
{
    constexpr std::size_t callers = 4;
    (void)::umask(022);
    std::vector<std::unique_ptr<test::ContainerRoot>> roots;
    for (std::size_t i = 0; i < callers; ++i)
        roots.push_back(
            std::make_unique<test::ContainerRoot>(fmt::format("/tmp/gpuctr-guest/root{}", i)));
    (void)::umask(0137);
    std::vector<std::vector<std::string>> listings;
    for (const auto& root : roots)
        listings.push_back(root->listing());
    std::thread([] {}).join(); // the C library handles a signal of its own from the first on
    (void)facts_of_process();
    const Facts before = facts_of_process();

    const Library library;
    ASSERT_TRUE(library) << ::dlerror();
    EXPECT_THAT(differences(before, facts_of_process()), testing::IsEmpty()) << "on loading it";
    std::vector<Caller> work;
    for (std::size_t i = 0; i < callers; ++i)
        work.emplace_back(library, roots[i]->path(), fmt::format("/tmp/gpuctr-guest/state{}", i),
                          GetParam());
    off_t printed = 0;
    {
        const Captured output;
        std::vector<std::thread> threads;
        threads.reserve(callers);
        for (Caller& caller : work)
            threads.emplace_back([&] { caller.run(10); });
        for (std::thread& thread : threads)
            thread.join();
        printed = output.size();
    }

    for (const Caller& caller : work)
        EXPECT_THAT(caller.problems, testing::IsEmpty());
    EXPECT_THAT(differences(before, facts_of_process()), testing::IsEmpty());
    EXPECT_EQ(printed, 0);
    EXPECT_EQ(signals, 0);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), -1) << "a child is left";
    for (std::size_t i = 0; i < callers; ++i)
        EXPECT_EQ(roots[i]->listing(), listings[i]);
}

TEST_P(GuestTest, ReadsNoEnvironmentVariableByItself)
{
    (void)::umask(022);
    const test::ContainerRoot root("/tmp/gpuctr-guest/root");
    ::setenv("CUDA_VISIBLE_DEVICES", "3", 1);
    ::setenv("NVIDIA_VISIBLE_DEVICES", "none", 1);
    const Library library;
    gpuctr_host* host = nullptr;
    gpuctr_plan* plan = nullptr;

    ASSERT_EQ(
        library.function<decltype(gpuctr_host_open)>("gpuctr_host_open")(nullptr, &host, nullptr),
        GPUCTR_OK);
    ASSERT_EQ(library.function<decltype(gpuctr_plan_create)>("gpuctr_plan_create")(
                  host, nullptr, root.fd(), &plan, nullptr),
              GPUCTR_OK);

    EXPECT_EQ(
        library.function<decltype(gpuctr_plan_variable_count)>("gpuctr_plan_variable_count")(plan),
        0U);
    EXPECT_EQ(library.function<decltype(gpuctr_plan_device_rule_count)>(
                  "gpuctr_plan_device_rule_count")(plan),
              11U);
    library.function<decltype(gpuctr_plan_free)>("gpuctr_plan_free")(plan);
    library.function<decltype(gpuctr_host_free)>("gpuctr_host_free")(host);
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    ::unsetenv("NVIDIA_VISIBLE_DEVICES");
}

INSTANTIATE_TEST_SUITE_P(, GuestTest,
                         testing::Values(GPUCTR_BACKEND_DETACHED, GPUCTR_BACKEND_ASSEMBLED),
                         [](const auto& test) {
                             return test.param == GPUCTR_BACKEND_DETACHED ? "Detached"
                                                                          : "Assembled";
                         });

} // namespace
} // namespace gpucontainer
