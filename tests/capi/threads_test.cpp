// SPDX-License-Identifier: MIT
#include "container_root.hpp"

#include <gpucontainer/gpucontainer.h>

#include <atomic>
#include <fmt/format.h>
#include <functional>
#include <gmock/gmock.h>
#include <memory>
#include <string>
#include <string_view>
#include <sys/mount.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace gpucontainer {
namespace {

constexpr std::size_t thread_count = 8;
constexpr const char* directory = "/tmp/gpuctr-threads";

using Host = std::unique_ptr<gpuctr_host, decltype(&gpuctr_host_free)>;
using Plan = std::unique_ptr<gpuctr_plan, decltype(&gpuctr_plan_free)>;
using Prepared = std::unique_ptr<gpuctr_prepared, decltype(&gpuctr_prepared_free)>;
using SetupList = std::unique_ptr<gpuctr_setup_list, decltype(&gpuctr_setup_list_free)>;

/// What went wrong in one thread; assertions are for the test's own.
using Problems = std::vector<std::string>;

bool passed(gpuctr_status status, gpuctr_error*& error, const char* what, Problems& problems)
{
    if (status == GPUCTR_OK)
        return true;
    problems.push_back(fmt::format("{}: {}", what, gpuctr_error_message(error)));
    gpuctr_error_free(error);
    error = nullptr;
    return false;
}

Host open_host(Problems& problems)
{
    gpuctr_host* host = nullptr;
    gpuctr_error* error = nullptr;
    passed(gpuctr_host_open(nullptr, &host, &error), error, "host_open", problems);
    return {host, &gpuctr_host_free};
}

Plan make_plan(const gpuctr_host* host, int root, const char* devices, Problems& problems)
{
    gpuctr_request request = GPUCTR_REQUEST_INIT;
    request.devices = devices;
    gpuctr_plan* plan = nullptr;
    gpuctr_error* error = nullptr;
    passed(gpuctr_plan_create(host, &request, root, &plan, &error), error, "plan_create", problems);
    return {plan, &gpuctr_plan_free};
}

std::string text_of(char* json)
{
    std::string text = json != nullptr ? json : "";
    gpuctr_string_free(json);
    return text;
}

std::string to_json(const gpuctr_host* host, Problems& problems)
{
    char* json = nullptr;
    gpuctr_error* error = nullptr;
    passed(gpuctr_host_to_json(host, &json, &error), error, "host_to_json", problems);
    return text_of(json);
}

std::string to_json(const gpuctr_plan* plan, Problems& problems)
{
    char* json = nullptr;
    gpuctr_error* error = nullptr;
    passed(gpuctr_plan_to_json(plan, &json, &error), error, "plan_to_json", problems);
    return text_of(json);
}

/// Every getter of a driver's parts, so that a lazily made value would show.
std::size_t read_all(const gpuctr_host* host)
{
    std::size_t length = 0;
    const auto add = [&](const char* text) { length += std::string_view(text).size(); };
    for (std::size_t i = 0; i < gpuctr_host_driver_count(host); ++i) {
        const gpuctr_driver* driver = gpuctr_host_driver_at(host, i);
        add(gpuctr_driver_vendor_name(driver));
        add(gpuctr_driver_version(driver));
        add(gpuctr_driver_version_source(driver));
        add(gpuctr_driver_root(driver));
        for (std::size_t j = 0; j < gpuctr_driver_gpu_count(driver); ++j) {
            add(gpuctr_gpu_uuid(gpuctr_driver_gpu_at(driver, j)));
            add(gpuctr_gpu_model(gpuctr_driver_gpu_at(driver, j)));
        }
        for (std::size_t j = 0; j < gpuctr_driver_file_count(driver); ++j) {
            add(gpuctr_file_path(gpuctr_driver_file_at(driver, j)));
            add(gpuctr_file_capability(gpuctr_driver_file_at(driver, j)));
        }
        for (std::size_t j = 0; j < gpuctr_driver_node_count(driver); ++j)
            add(gpuctr_node_path(gpuctr_driver_node_at(driver, j)));
        for (std::size_t j = 0; j < gpuctr_driver_finding_count(driver); ++j)
            add(gpuctr_finding_text(gpuctr_driver_finding_at(driver, j)));
    }
    return length;
}

std::size_t read_all(const gpuctr_plan* plan)
{
    std::size_t length = 0;
    const auto add = [&](const char* text) { length += std::string_view(text).size(); };
    for (std::size_t i = 0; i < gpuctr_plan_item_count(plan); ++i) {
        const gpuctr_item* item = gpuctr_plan_item_at(plan, i);
        for (const auto getter : {gpuctr_item_kind, gpuctr_item_source, gpuctr_item_target,
                                  gpuctr_item_options, gpuctr_item_reason})
            add(getter(item));
    }
    for (std::size_t i = 0; i < gpuctr_plan_variable_count(plan); ++i)
        add(gpuctr_variable_value(gpuctr_plan_variable_at(plan, i)));
    for (std::size_t i = 0; i < gpuctr_plan_device_rule_count(plan); ++i)
        length += gpuctr_plan_device_rule_at(plan, i)->minor;
    for (std::size_t i = 0; i < gpuctr_plan_finding_count(plan); ++i)
        add(gpuctr_finding_object(gpuctr_plan_finding_at(plan, i)));
    return length;
}

/// The body in eight threads that begin together; what went wrong in any.
Problems in_threads(const std::function<void(std::size_t, Problems&)>& body)
{
    std::vector<Problems> problems(thread_count);
    std::vector<std::thread> threads;
    std::atomic<std::size_t> waiting = thread_count;
    for (std::size_t i = 0; i < thread_count; ++i)
        threads.emplace_back([&, i] {
            --waiting;
            while (waiting != 0)
                std::this_thread::yield();
            body(i, problems[i]);
        });
    Problems all;
    for (std::size_t i = 0; i < thread_count; ++i) {
        threads[i].join();
        all.insert(all.end(), problems[i].begin(), problems[i].end());
    }
    return all;
}

class ThreadsTest : public testing::Test {
protected:
    ThreadsTest() : host_(open_host(problems_)) {}

    void SetUp() override { ASSERT_THAT(problems_, testing::IsEmpty()); }

    Problems problems_;
    Host host_;
};

TEST_F(ThreadsTest, ReadOneHost)
{
    const std::string expected = to_json(host_.get(), problems_);
    const std::size_t length = read_all(host_.get());

    EXPECT_THAT(in_threads([&](std::size_t, Problems& problems) {
                    for (int i = 0; i < 5; ++i) {
                        if (gpuctr_host_is_current(host_.get()) != 1)
                            problems.emplace_back("the host is not current");
                        if (to_json(host_.get(), problems) != expected
                            || read_all(host_.get()) != length)
                            problems.emplace_back("the host is another one");
                    }
                }),
                testing::IsEmpty());
}

TEST_F(ThreadsTest, OpenHostsOfTheirOwnAndReadRecords)
{
    const std::string record = to_json(host_.get(), problems_);

    EXPECT_THAT(
        in_threads([&](std::size_t, Problems& problems) {
            const Host own = open_host(problems);
            gpuctr_host* read = nullptr;
            gpuctr_error* error = nullptr;
            if (!passed(gpuctr_host_from_json(record.data(), record.size(), nullptr, &read, &error),
                        error, "host_from_json", problems))
                return;
            const Host copy(read, &gpuctr_host_free);
            if (to_json(copy.get(), problems) != record)
                problems.emplace_back("a record is not what was written");
            if (read_all(own.get()) != read_all(host_.get()))
                problems.emplace_back("one host is not like the other");
        }),
        testing::IsEmpty());
}

TEST_F(ThreadsTest, MakePlansFromOneHostAndReadOnePlan)
{
    const Plan shared = make_plan(host_.get(), -1, "all", problems_);
    const std::string expected = to_json(shared.get(), problems_);
    const std::size_t length = read_all(shared.get());

    EXPECT_THAT(in_threads([&](std::size_t number, Problems& problems) {
                    const std::string device = std::to_string(number);
                    for (int i = 0; i < 5; ++i) {
                        const Plan own = make_plan(host_.get(), -1, device.c_str(), problems);
                        if (own && gpuctr_plan_device_rule_count(own.get()) == 0)
                            problems.emplace_back("a plan is empty");
                        if (to_json(shared.get(), problems) != expected
                            || read_all(shared.get()) != length)
                            problems.emplace_back("the plan is another one");
                    }
                }),
                testing::IsEmpty());
}

TEST_F(ThreadsTest, HaveErrorsOfTheirOwn)
{
    EXPECT_THAT(in_threads([&](std::size_t number, Problems& problems) {
                    for (int i = 0; i < 20; ++i) {
                        const std::string word = fmt::format("{}", 100 + number);
                        gpuctr_request request = GPUCTR_REQUEST_INIT;
                        request.devices = word.c_str();
                        gpuctr_plan* plan = nullptr;
                        gpuctr_error* error = nullptr;
                        if (gpuctr_plan_create(host_.get(), &request, -1, &plan, &error)
                                != GPUCTR_E_USAGE
                            || word != gpuctr_error_object(error)
                            || std::string_view(gpuctr_error_message(error)).find(word)
                                   == std::string_view::npos)
                            problems.emplace_back("an error is that of another thread");
                        gpuctr_error_free(error);
                    }
                }),
                testing::IsEmpty());
}

/// For those that mount: one plan of one root, and a root for each thread.
class ThreadsThatMountTest : public ThreadsTest {
protected:
    void SetUp() override
    {
        if (!test::may_mount())
            GTEST_SKIP() << "mounting is for root";
        ThreadsTest::SetUp();
        (void)::mkdir(directory, 0755);
        ASSERT_EQ(::mount("test", directory, "tmpfs", 0, nullptr), 0);
        for (std::size_t i = 0; i < thread_count; ++i)
            roots_.push_back(
                std::make_unique<test::ContainerRoot>(fmt::format("{}/root{}", directory, i)));
    }

    void TearDown() override
    {
        roots_.clear();
        (void)::umount2(directory, MNT_DETACH);
        (void)::rmdir(directory);
    }

    std::vector<std::unique_ptr<test::ContainerRoot>> roots_;
};

TEST_F(ThreadsThatMountTest, PrepareOnePlan)
{
    const Plan shared = make_plan(host_.get(), roots_[0]->fd(), "all", problems_);
    ASSERT_TRUE(shared);

    EXPECT_THAT(in_threads([&](std::size_t, Problems& problems) {
                    for (int i = 0; i < 3; ++i) {
                        gpuctr_prepared* prepared = nullptr;
                        gpuctr_error* error = nullptr;
                        passed(gpuctr_plan_prepare(shared.get(), nullptr, &prepared, &error), error,
                               "prepare", problems);
                        const Prepared owner(prepared, &gpuctr_prepared_free);
                        if (prepared != nullptr && gpuctr_prepared_fd_count(prepared) == 0)
                            problems.emplace_back("nothing was prepared");
                    }
                }),
                testing::IsEmpty());
}

TEST_F(ThreadsThatMountTest, SetUpRootsOfTheirOwnInOneStateDirectory)
{
    const std::string state_directory = fmt::format("{}/state", directory);

    const auto set_up = [&](std::size_t number, Problems& problems) {
        const int root = roots_[number]->fd();
        gpuctr_apply_options options = GPUCTR_APPLY_OPTIONS_INIT;
        options.state_dir = state_directory.c_str();
        gpuctr_error* error = nullptr;
        const Plan plan = make_plan(host_.get(), root, "all", problems);
        if (!plan
            || !passed(gpuctr_plan_apply(plan.get(), root, &options, nullptr, &error), error,
                       "apply", problems))
            return;
        gpuctr_setup_list_options where = GPUCTR_SETUP_LIST_OPTIONS_INIT;
        where.state_dir = state_directory.c_str();
        gpuctr_setup_list* found = nullptr;
        passed(gpuctr_setup_list_open(root, &where, &found, &error), error, "setup_list_open",
               problems);
        const SetupList list(found, &gpuctr_setup_list_free);
        if (found == nullptr || gpuctr_setup_list_count(found) != 1
            || gpuctr_setup_finding_count(gpuctr_setup_list_at(found, 0)) != 0)
            problems.emplace_back("the set-up is not as it was left");
        int undone = 0;
        gpuctr_undo_options how = GPUCTR_UNDO_OPTIONS_INIT;
        how.state_dir = state_directory.c_str();
        passed(gpuctr_rootfs_undo(root, &how, &undone, &error), error, "undo", problems);
        if (undone != 1)
            problems.emplace_back("undo found nothing");
    };

    EXPECT_THAT(in_threads([&](std::size_t number, Problems& problems) {
                    for (int i = 0; i < 3 && problems.empty(); ++i)
                        set_up(number, problems);
                }),
                testing::IsEmpty());
}

} // namespace
} // namespace gpucontainer
