// SPDX-License-Identifier: MIT
#include "container_root.hpp"

#include <gpucontainer/gpucontainer.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <memory>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace gpucontainer {
namespace {

using testing::HasSubstr;
using Host = std::unique_ptr<gpuctr_host, decltype(&gpuctr_host_free)>;
using Plan = std::unique_ptr<gpuctr_plan, decltype(&gpuctr_plan_free)>;

constexpr const char* library = "/usr/local/nvidia/lib64/libcuda.so.580.159.04";

/// What changed before is not taken for a change during what follows.
void wait_for_a_tick()
{
    timespec now = {};
    timespec files = {};
    ASSERT_EQ(::clock_gettime(CLOCK_REALTIME, &now), 0);
    do {
        (void)::usleep(1000);
        ASSERT_EQ(::clock_gettime(CLOCK_REALTIME_COARSE, &files), 0);
    } while (std::tie(files.tv_sec, files.tv_nsec) <= std::tie(now.tv_sec, now.tv_nsec));
}

Host open_host(const gpuctr_host_options* options = nullptr)
{
    gpuctr_host* host = nullptr;
    EXPECT_EQ(gpuctr_host_open(options, &host, nullptr), GPUCTR_OK);
    return {host, &gpuctr_host_free};
}

std::string to_json(const gpuctr_host* host)
{
    char* json = nullptr;
    EXPECT_EQ(gpuctr_host_to_json(host, &json, nullptr), GPUCTR_OK);
    std::string text(json);
    gpuctr_string_free(json);
    return text;
}

Host read_host(const std::string& json, const gpuctr_host_options* options = nullptr)
{
    gpuctr_host* host = nullptr;
    gpuctr_error* error = nullptr;
    EXPECT_EQ(gpuctr_host_from_json(json.data(), json.size(), options, &host, &error), GPUCTR_OK)
        << gpuctr_error_message(error);
    gpuctr_error_free(error);
    return {host, &gpuctr_host_free};
}

Plan make_plan(const Host& host, int root)
{
    gpuctr_plan* plan = nullptr;
    gpuctr_error* error = nullptr;
    EXPECT_EQ(gpuctr_plan_create(host.get(), nullptr, root, &plan, &error), GPUCTR_OK)
        << gpuctr_error_message(error);
    gpuctr_error_free(error);
    return {plan, &gpuctr_plan_free};
}

std::string to_json(const Plan& plan)
{
    char* json = nullptr;
    EXPECT_EQ(gpuctr_plan_to_json(plan.get(), &json, nullptr), GPUCTR_OK);
    std::string text(json);
    gpuctr_string_free(json);
    return text;
}

/// The text with one thing in place of another, everywhere.
std::string with(std::string text, const std::string& from, const std::string& to)
{
    EXPECT_THAT(text, HasSubstr(from));
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

gpuctr_status apply(const Plan& plan, int root)
{
    const std::string state = "/tmp/gpuctr-record-state";
    gpuctr_apply_options options = GPUCTR_APPLY_OPTIONS_INIT;
    options.state_dir = state.c_str();
    const gpuctr_status status = gpuctr_plan_apply(plan.get(), root, &options, nullptr, nullptr);
    gpuctr_undo_options undo = GPUCTR_UNDO_OPTIONS_INIT;
    undo.state_dir = state.c_str();
    EXPECT_EQ(gpuctr_rootfs_undo(root, &undo, nullptr, nullptr), GPUCTR_OK);
    std::filesystem::remove_all(state);
    return status;
}

/// The text without what stands between two others.
std::string without(std::string text, const std::string& from, const std::string& to)
{
    const auto begin = text.find(from) + from.size();
    const auto end = text.find(to, begin);
    EXPECT_LT(end, text.size());
    return text.erase(begin, end - begin);
}

class HostRecordTest : public testing::Test {
protected:
    /// What preparing a plan of the record says; "" when it can be done.
    static std::string problem_with(const std::string& record,
                                    const gpuctr_host_options* options = nullptr)
    {
        const test::ContainerRoot root("/tmp/gpuctr-record");
        const Plan plan = make_plan(read_host(record, options), root.fd());
        gpuctr_prepared* prepared = nullptr;
        gpuctr_error* error = nullptr;
        const gpuctr_status status = gpuctr_plan_prepare(plan.get(), nullptr, &prepared, &error);
        gpuctr_prepared_free(prepared);
        std::string message = status == GPUCTR_OK ? "" : gpuctr_error_message(error);
        EXPECT_THAT(status, testing::AnyOf(GPUCTR_OK, GPUCTR_E_DRIVER)) << message;
        gpuctr_error_free(error);
        EXPECT_EQ(apply(plan, root.fd()), status);
        EXPECT_EQ(
            gpuctr_plan_stage(plan.get(), "/tmp/gpuctr-record-tree", nullptr, nullptr, nullptr),
            status);
        EXPECT_EQ(gpuctr_unstage("/tmp/gpuctr-record-tree", nullptr, nullptr, nullptr), GPUCTR_OK);
        (void)::rmdir("/tmp/gpuctr-record-tree");
        return message;
    }
};

TEST_F(HostRecordTest, ComesBackAsItWas)
{
    const Host host = open_host();
    const std::string json = to_json(host.get());

    const Host read = read_host(json);

    EXPECT_EQ(to_json(read.get()), json);
    EXPECT_EQ(to_json(make_plan(read, -1)), to_json(make_plan(host, -1)));
}

TEST_F(HostRecordTest, MayBeTerminatedButEndsThere)
{
    std::string json = to_json(open_host().get());
    json += '\0';
    EXPECT_NE(read_host(json), nullptr);

    json += "more";
    gpuctr_host* host = nullptr;
    EXPECT_EQ(gpuctr_host_from_json(json.data(), json.size(), nullptr, &host, nullptr),
              GPUCTR_E_USAGE);
    EXPECT_EQ(host, nullptr);
}

TEST_F(HostRecordTest, IsCurrentUntilTheHostChanges)
{
    wait_for_a_tick();
    const Host host = open_host();
    const Host read = read_host(to_json(host.get()));
    EXPECT_EQ(gpuctr_host_is_current(host.get()), 1);
    EXPECT_EQ(gpuctr_host_is_current(read.get()), 1);

    ASSERT_EQ(::chmod("/dev/nvidia3", 0640), 0);

    EXPECT_EQ(gpuctr_host_is_current(host.get()), 0);
    EXPECT_EQ(gpuctr_host_is_current(read.get()), 0);
    ASSERT_EQ(::chmod("/dev/nvidia3", 0666), 0);
    wait_for_a_tick();
    EXPECT_EQ(gpuctr_host_is_current(open_host().get()), 1);
}

TEST_F(HostRecordTest, IsCurrentUntilACatalogueChanges)
{
    const std::string path = "/tmp/gpuctr-record-site.yaml";
    const std::array<const char*, 2> files = {"/tmp/../tmp/gpuctr-record-site.yaml", nullptr};
    gpuctr_host_options options = GPUCTR_HOST_OPTIONS_INIT;
    options.catalogues = files.data();
    const auto write = [&](const char* capability) {
        std::ofstream(path) << "vendor: nvidia\nfiles:\n  - library: libnvidia-nvvm.so.4\n"
                            << "    capability: " << capability << "\n    reason: a test\n";
        wait_for_a_tick();
    };
    write("none");
    const Host host = open_host(&options);
    const Host read = read_host(to_json(host.get()), &options);
    EXPECT_EQ(gpuctr_host_is_current(host.get()), 1);
    EXPECT_EQ(gpuctr_host_is_current(read.get()), 1);

    write("compute");

    EXPECT_EQ(gpuctr_host_is_current(host.get()), 0);
    EXPECT_EQ(gpuctr_host_is_current(read.get()), 0);
    std::filesystem::remove(path);
}

TEST_F(HostRecordTest, MayServeAVendorThatIsAskedFor)
{
    gpuctr_host_options options = GPUCTR_HOST_OPTIONS_INIT;
    const std::array<const char*, 2> nvidia = {"nvidia", nullptr};
    options.vendors = nvidia.data();
    gpuctr_host* host = nullptr;
    const std::string none =
        R"({"schema": "gpucontainer/list/1", "drivers": [], "findings": [], "fingerprint": []})";

    EXPECT_EQ(gpuctr_host_driver_count(read_host(to_json(open_host().get()), &options).get()), 1U);
    EXPECT_EQ(gpuctr_host_from_json(none.data(), none.size(), &options, &host, nullptr),
              GPUCTR_E_NO_DEVICE);
    EXPECT_EQ(host, nullptr);
}

TEST_F(HostRecordTest, IsCarriedOutWhereItIsTrue)
{
    if (!test::may_mount())
        GTEST_SKIP() << "mounting is for root";

    EXPECT_EQ(problem_with(to_json(open_host().get())), "");
}

TEST_F(HostRecordTest, IsRefusedWhereItRestrictsLess)
{
    if (!test::may_mount())
        GTEST_SKIP() << "mounting is for root";
    const std::string record = to_json(open_host().get());
    ASSERT_THAT(record, HasSubstr("ModifyDeviceFiles"));

    EXPECT_EQ(problem_with(without(record, "\"masks\": [", "],\n      \"findings\"")),
              "nvidia masks: in the host record, but not found on this host");
}

TEST_F(HostRecordTest, IsRefusedWhereItNamesWhatThisHostDoesNotHave)
{
    if (!test::may_mount())
        GTEST_SKIP() << "mounting is for root";
    const std::string record = to_json(open_host().get());
    gpuctr_host_options elsewhere = GPUCTR_HOST_OPTIONS_INIT;
    elsewhere.driver_root = "/usr";

    EXPECT_EQ(problem_with(with(record, library, "/etc/shadow")),
              "/etc/shadow: in the host record, but not found on this host");
    EXPECT_THAT(problem_with(with(record, R"("minor": 3,)", R"("minor": 300,)")),
                HasSubstr("not found on this host"));
    EXPECT_THAT(problem_with(with(record, R"("path": "/dev/nvidia3")", R"("path": "/dev/kmsg")")),
                HasSubstr("/dev/kmsg"));
    EXPECT_THAT(problem_with(with(record, R"("libcuda.so.1")", R"("libc.so.6")")),
                HasSubstr(library));
    EXPECT_THAT(problem_with(with(record, "580.159.04", "580.159.05")),
                HasSubstr("not found on this host"));
    EXPECT_THAT(
        problem_with(with(record, R"("version": "580.159.04")", R"("version": "580.159.05")")),
        HasSubstr("nvidia driver 580.159.05"));
    EXPECT_THAT(problem_with(with(record, "CUDA_VISIBLE_DEVICES", "LD_PRELOAD")),
                HasSubstr("nvidia driver"));
    EXPECT_NE(problem_with(record, &elsewhere), "");
}

/// With which Slurm's variables would count less.
TEST_F(HostRecordTest, IsRefusedWhereItMakesUpADeviceCgroup)
{
    if (!test::may_mount())
        GTEST_SKIP() << "mounting is for root";
    const std::string record = to_json(open_host().get());
    const auto node = record.find(R"("host_path": "/dev/nvidia3")");
    ASSERT_NE(node, std::string::npos);
    const auto begin = record.rfind('{', node);
    const auto end = record.find('}', node);
    std::string changed =
        with(record.substr(begin, end - begin), R"("accessible": true)", R"("accessible": false)");
    changed = with(std::move(changed), R"("cgroup_forbids": false)", R"("cgroup_forbids": true)");

    EXPECT_EQ(problem_with(std::string(record).replace(begin, end - begin, changed)),
              "/dev/nvidia3: in the host record, but not found on this host");
}

TEST_F(HostRecordTest, IsRefusedWhereItGrantsANodeThatThisHostForbids)
{
    if (!test::may_mount())
        GTEST_SKIP() << "mounting is for root";
    constexpr const char* node = "/dev/nvidia3";
    const std::string record = to_json(open_host().get());
    ASSERT_EQ(::mount(node, node, nullptr, MS_BIND, nullptr), 0);
    ASSERT_EQ(::mount(nullptr, node, nullptr, MS_REMOUNT | MS_BIND | MS_NODEV, nullptr), 0);

    const std::string problem = problem_with(record);

    EXPECT_EQ(::umount2(node, MNT_DETACH), 0);
    EXPECT_EQ(problem, "/dev/nvidia3: in the host record, but not found on this host");
}

} // namespace
} // namespace gpucontainer
