// SPDX-License-Identifier: MIT
#include "container_root.hpp"

#include <gpucontainer/gpucontainer.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <memory>
#include <string>
#include <unistd.h>

namespace gpucontainer {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Error = std::unique_ptr<gpuctr_error, decltype(&gpuctr_error_free)>;

/// Calls something that hands over an error.
template <typename Call>
Error error_of(gpuctr_status expected, Call&& call)
{
    gpuctr_error* error = nullptr;
    EXPECT_EQ(call(&error), expected) << gpuctr_error_message(error);
    return {error, &gpuctr_error_free};
}

/// The caller's struct, of a later release with one field more.
template <typename Options>
struct Newer {
    Options known;
    std::uint64_t added;
};

class OptionsTest : public testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(gpuctr_host_open(nullptr, &host_, nullptr), GPUCTR_OK); }
    void TearDown() override { gpuctr_host_free(host_); }

    gpuctr_status plan(const gpuctr_request& request, gpuctr_error** error = nullptr) const
    {
        gpuctr_plan* plan = nullptr;
        const gpuctr_status status = gpuctr_plan_create(host_, &request, -1, &plan, error);
        EXPECT_EQ(plan != nullptr, status == GPUCTR_OK);
        gpuctr_plan_free(plan);
        return status;
    }

    gpuctr_host* host_ = nullptr;
};

/// What the function makes of memory that is full of something else.
template <typename Struct>
std::string bytes_of(void (*init)(Struct*, std::size_t))
{
    Newer<Struct> given;
    std::memset(&given, 0xa5, sizeof given);
    init(&given.known, sizeof given.known);
    return {reinterpret_cast<const char*>(&given.known), sizeof given.known};
}

template <typename Struct>
std::string bytes_of(const Struct& initialised)
{
    return {reinterpret_cast<const char*>(&initialised), sizeof initialised};
}

TEST_F(OptionsTest, AreInitialisedByAFunctionAsByAMacro)
{
    EXPECT_EQ(bytes_of(gpuctr_host_options_init),
              bytes_of(gpuctr_host_options GPUCTR_HOST_OPTIONS_INIT));
    EXPECT_EQ(bytes_of(gpuctr_request_init), bytes_of(gpuctr_request GPUCTR_REQUEST_INIT));
    EXPECT_EQ(bytes_of(gpuctr_apply_options_init),
              bytes_of(gpuctr_apply_options GPUCTR_APPLY_OPTIONS_INIT));
    EXPECT_EQ(bytes_of(gpuctr_undo_options_init),
              bytes_of(gpuctr_undo_options GPUCTR_UNDO_OPTIONS_INIT));
    EXPECT_EQ(bytes_of(gpuctr_setup_list_options_init),
              bytes_of(gpuctr_setup_list_options GPUCTR_SETUP_LIST_OPTIONS_INIT));
    EXPECT_EQ(bytes_of(gpuctr_cdi_options_init),
              bytes_of(gpuctr_cdi_options GPUCTR_CDI_OPTIONS_INIT));
    EXPECT_EQ(bytes_of(gpuctr_stage_options_init),
              bytes_of(gpuctr_stage_options GPUCTR_STAGE_OPTIONS_INIT));
    EXPECT_EQ(bytes_of(gpuctr_prepare_options_init),
              bytes_of(gpuctr_prepare_options GPUCTR_PREPARE_OPTIONS_INIT));
    EXPECT_EQ(bytes_of(gpuctr_harden_options_init),
              bytes_of(gpuctr_harden_options GPUCTR_HARDEN_OPTIONS_INIT));
    EXPECT_EQ(bytes_of(gpuctr_attach_error_init),
              bytes_of(gpuctr_attach_error GPUCTR_ATTACH_ERROR_INIT));
}

TEST_F(OptionsTest, AreInitialisedAsFarAsTheCallerHasThem)
{
    Newer<gpuctr_request> newer;
    std::memset(&newer, 0xa5, sizeof newer);
    gpuctr_request_init(&newer.known, sizeof newer);
    EXPECT_EQ(newer.known.struct_size, sizeof newer);
    EXPECT_EQ(newer.added, 0U);

    gpuctr_request older;
    std::memset(&older, 0xa5, sizeof older);
    gpuctr_request_init(&older, offsetof(gpuctr_request, devices_name));
    EXPECT_EQ(older.struct_size, offsetof(gpuctr_request, devices_name));
    EXPECT_NE(older.devices_name, nullptr);
}

TEST_F(OptionsTest, TakesAStructOfAnOlderCaller)
{
    gpuctr_request request = GPUCTR_REQUEST_INIT;
    request.struct_size = offsetof(gpuctr_request, driver_capabilities);
    request.devices = "0";
    request.driver_capabilities = "not a capability";

    EXPECT_EQ(plan(request), GPUCTR_OK);
}

TEST_F(OptionsTest, TakesAStructOfANewerCallerWhenTheRestIsZero)
{
    Newer<gpuctr_request> request = {GPUCTR_REQUEST_INIT, 0};
    request.known.struct_size = sizeof request;

    EXPECT_EQ(plan(request.known), GPUCTR_OK);
}

TEST_F(OptionsTest, RefusesAFieldThatItDoesNotKnow)
{
    Newer<gpuctr_request> request = {GPUCTR_REQUEST_INIT, 1};
    request.known.struct_size = sizeof request;

    const Error error =
        error_of(GPUCTR_E_USAGE, [&](gpuctr_error** e) { return plan(request.known, e); });

    EXPECT_STREQ(gpuctr_error_message(error.get()),
                 "options: a field is set that this library does not know");
}

TEST_F(OptionsTest, RefusesAStructWithoutItsSize)
{
    gpuctr_request request = {};

    EXPECT_EQ(plan(request), GPUCTR_E_USAGE);
    request.struct_size = SIZE_MAX;
    EXPECT_EQ(plan(request), GPUCTR_E_USAGE);
}

TEST_F(OptionsTest, RefusesValuesOutOfRange)
{
    gpuctr_request request = GPUCTR_REQUEST_INIT;
    request.write = GPUCTR_WRITE_LAYER + 1;
    EXPECT_EQ(plan(request), GPUCTR_E_USAGE);
    request = GPUCTR_REQUEST_INIT;
    request.layout = GPUCTR_LAYOUT_BINDS + 1;
    EXPECT_EQ(plan(request), GPUCTR_E_USAGE);
    request = GPUCTR_REQUEST_INIT;
    request.vendor_libs = GPUCTR_VENDOR_LIBS_NONE + 1;
    EXPECT_EQ(plan(request), GPUCTR_E_USAGE);
    request = GPUCTR_REQUEST_INIT;
    request.tree_path = "relative";
    EXPECT_EQ(plan(request), GPUCTR_E_USAGE);

    gpuctr_host_options options = GPUCTR_HOST_OPTIONS_INIT;
    const std::array<const char*, 3> unknown = {"nvidia", "nobody", nullptr};
    options.vendors = unknown.data();
    gpuctr_host* host = nullptr;
    EXPECT_EQ(gpuctr_host_open(&options, &host, nullptr), GPUCTR_E_USAGE);
    options = GPUCTR_HOST_OPTIONS_INIT;
    const std::array<const char*, 2> intel = {"intel", nullptr};
    options.vendors = intel.data(); // its files are of no kernel module's version
    options.driver_version = "580.159.04";
    EXPECT_EQ(gpuctr_host_open(&options, &host, nullptr), GPUCTR_E_USAGE);
    options = GPUCTR_HOST_OPTIONS_INIT;
    options.flags = GPUCTR_HOST_WHOLE_BUS << 1U;
    EXPECT_EQ(gpuctr_host_open(&options, &host, nullptr), GPUCTR_E_USAGE);
    EXPECT_EQ(host, nullptr);
}

TEST_F(OptionsTest, RefusesABackendThatThereIsNotAndAStagedTreeOfNoPlace)
{
    gpuctr_plan* plan = nullptr;
    ASSERT_EQ(gpuctr_plan_create(host_, nullptr, -1, &plan, nullptr), GPUCTR_OK);
    const int root = ::open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
    gpuctr_prepared* prepared = nullptr;
    const auto expect_refused = [&](std::uint32_t backend, const char* staged_tree) {
        gpuctr_apply_options apply = GPUCTR_APPLY_OPTIONS_INIT;
        gpuctr_prepare_options prepare = GPUCTR_PREPARE_OPTIONS_INIT;
        apply.backend = backend;
        apply.staged_tree = staged_tree;
        prepare.backend = backend;
        prepare.staged_tree = staged_tree;
        const char* const argument = staged_tree != nullptr ? "staged_tree" : "backend";
        const Error by_apply = error_of(GPUCTR_E_USAGE, [&](gpuctr_error** e) {
            return gpuctr_plan_apply(plan, root, &apply, nullptr, e);
        });
        EXPECT_STREQ(gpuctr_error_argument(by_apply.get()), argument);
        const Error by_prepare = error_of(GPUCTR_E_USAGE, [&](gpuctr_error** e) {
            return gpuctr_plan_prepare(plan, &prepare, &prepared, e);
        });
        EXPECT_STREQ(gpuctr_error_argument(by_prepare.get()), argument);
    };
    expect_refused(GPUCTR_BACKEND_LEGACY + 1, nullptr);
    for (const char* const path : {"relative/tree", "/run/../tree", "/run/tree/..", "/"}) {
        expect_refused(GPUCTR_BACKEND_AUTO, path);
        EXPECT_EQ(gpuctr_plan_stage(plan, path, nullptr, nullptr, nullptr), GPUCTR_E_USAGE);
        EXPECT_EQ(gpuctr_unstage(path, nullptr, nullptr, nullptr), GPUCTR_E_USAGE) << path;
    }
    EXPECT_EQ(gpuctr_plan_stage(plan, "", nullptr, nullptr, nullptr), GPUCTR_E_USAGE);
    gpuctr_stage_options stage = GPUCTR_STAGE_OPTIONS_INIT;
    stage.backend = GPUCTR_BACKEND_LEGACY + 1;
    EXPECT_EQ(gpuctr_plan_stage(plan, "/tmp/gpuctr-tree", &stage, nullptr, nullptr),
              GPUCTR_E_USAGE);
    ::close(root);
    gpuctr_plan_free(plan);
}

TEST_F(OptionsTest, RefusesMissingArguments)
{
    gpuctr_plan* plan = nullptr;
    EXPECT_EQ(gpuctr_host_open(nullptr, nullptr, nullptr), GPUCTR_E_USAGE);
    EXPECT_EQ(gpuctr_plan_create(nullptr, nullptr, -1, &plan, nullptr), GPUCTR_E_USAGE);
    EXPECT_EQ(gpuctr_plan_create(host_, nullptr, -1, nullptr, nullptr), GPUCTR_E_USAGE);
    EXPECT_EQ(gpuctr_plan_apply(nullptr, -1, nullptr, nullptr, nullptr), GPUCTR_E_USAGE);
    EXPECT_EQ(gpuctr_rootfs_undo(-1, nullptr, nullptr, nullptr), GPUCTR_E_USAGE);
    EXPECT_EQ(plan, nullptr);
}

TEST_F(OptionsTest, TakesNothingForNoRootButMinusOne)
{
    gpuctr_plan* plan = nullptr;
    const Error of_plan = error_of(GPUCTR_E_USAGE, [&](gpuctr_error** e) {
        return gpuctr_plan_create(host_, nullptr, AT_FDCWD, &plan, e);
    });
    EXPECT_STREQ(gpuctr_error_argument(of_plan.get()), "rootfs_fd");
    gpuctr_setup_list* list = nullptr;
    const Error of_list = error_of(GPUCTR_E_USAGE, [&](gpuctr_error** e) {
        return gpuctr_setup_list_open(AT_FDCWD, nullptr, &list, e);
    });
    EXPECT_STREQ(gpuctr_error_argument(of_list.get()), "rootfs_fd");
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(list, nullptr);
}

TEST_F(OptionsTest, RefusesToPrepareAPlanWithoutARoot)
{
    gpuctr_plan* plan = nullptr;
    ASSERT_EQ(gpuctr_plan_create(host_, nullptr, -1, &plan, nullptr), GPUCTR_OK);
    gpuctr_prepared* prepared = nullptr;

    const Error error = error_of(GPUCTR_E_USAGE, [&](gpuctr_error** e) {
        return gpuctr_plan_prepare(plan, nullptr, &prepared, e);
    });

    EXPECT_STREQ(gpuctr_error_message(error.get()), "the plan was made for no root directory");
    EXPECT_EQ(prepared, nullptr);
    gpuctr_plan_free(plan);
}

TEST_F(OptionsTest, ErrorsSayWhatFailedOnWhatAndWhy)
{
    gpuctr_request request = GPUCTR_REQUEST_INIT;
    request.devices = "0,GPU-nowhere-at-all";

    const Error error =
        error_of(GPUCTR_E_USAGE, [&](gpuctr_error** e) { return plan(request, e); });

    EXPECT_EQ(gpuctr_error_status(error.get()), GPUCTR_E_USAGE);
    EXPECT_STREQ(gpuctr_error_message(error.get()), "device GPU-nowhere-at-all: no such GPU");
    EXPECT_STREQ(gpuctr_error_object(error.get()), "GPU-nowhere-at-all");
    EXPECT_THAT(gpuctr_error_hint(error.get()), StartsWith("there are 8 GPUs: 0 to 7"));
    EXPECT_EQ(gpuctr_error_os_error(error.get()), 0);
    EXPECT_THAT(gpuctr_error_message(error.get()), HasSubstr(gpuctr_error_cause(error.get())));
}

TEST_F(OptionsTest, ErrorsNameTheFieldThatTheyAreAbout)
{
    using Request = gpuctr_request;
    const auto about = [&](auto Request::*field, auto value) {
        gpuctr_request request = GPUCTR_REQUEST_INIT;
        request.*field = value;
        gpuctr_error* error = nullptr;
        EXPECT_EQ(plan(request, &error), GPUCTR_E_USAGE);
        const Error owner(error, &gpuctr_error_free);
        return std::string(gpuctr_error_argument(error));
    };
    EXPECT_EQ(about(&Request::devices, "9"), "devices");
    EXPECT_EQ(about(&Request::driver_capabilities, "magic"), "driver_capabilities");
    EXPECT_EQ(about(&Request::allowed_devices, "9"), "allowed_devices");
    EXPECT_EQ(about(&Request::allowed_devices, ""), "allowed_devices");
    EXPECT_EQ(about(&Request::tree_path, "relative"), "tree_path");
    EXPECT_EQ(about(&Request::mount_label, "x"), "mount_label");
    EXPECT_EQ(about(&Request::write, GPUCTR_WRITE_LAYER + 1), "write");
    EXPECT_EQ(about(&Request::layout, GPUCTR_LAYOUT_BINDS + 1), "layout");
    EXPECT_EQ(about(&Request::vendor_libs, GPUCTR_VENDOR_LIBS_NONE + 1), "vendor_libs");
    EXPECT_EQ(about(&Request::flags, UINT32_MAX), "flags");
    EXPECT_EQ(about(&Request::struct_size, std::size_t{1}), "");
}

TEST_F(OptionsTest, ErrorsNameTheFieldOfTheHostThatTheyAreAbout)
{
    using Options = gpuctr_host_options;
    const std::array<const char*, 2> nobody = {"nobody", nullptr};
    const std::array<const char*, 2> nowhere = {"/nowhere.yaml", nullptr};
    const auto about = [&](auto Options::*field, auto value) {
        gpuctr_host_options options = GPUCTR_HOST_OPTIONS_INIT;
        options.*field = value;
        gpuctr_error* error = nullptr;
        gpuctr_host* host = nullptr;
        EXPECT_NE(gpuctr_host_open(&options, &host, &error), GPUCTR_OK);
        const Error owner(error, &gpuctr_error_free);
        return std::string(gpuctr_error_argument(error));
    };
    EXPECT_EQ(about(&Options::vendors, nobody.data()), "vendors");
    EXPECT_EQ(about(&Options::driver_root, "/nowhere"), "driver_root");
    EXPECT_EQ(about(&Options::driver_version, "x"), "driver_version");
    EXPECT_EQ(about(&Options::catalogues, nowhere.data()), "catalogues");
    EXPECT_EQ(about(&Options::catalogue_dir, "/dev/null"), "catalogue_dir");
    EXPECT_EQ(about(&Options::dev_root, "/nowhere"), "dev_root");

    gpuctr_host* host = nullptr;
    const Error error = error_of(GPUCTR_E_USAGE, [&](gpuctr_error** e) {
        return gpuctr_host_from_json("{}", 2, nullptr, &host, e);
    });
    EXPECT_STREQ(gpuctr_error_argument(error.get()), "json");
}

TEST_F(OptionsTest, ErrorsOfTheSystemKeepTheirNumber)
{
    gpuctr_host_options options = GPUCTR_HOST_OPTIONS_INIT;
    options.driver_root = "/nowhere";
    gpuctr_host* host = nullptr;

    const Error error = error_of(
        GPUCTR_E_DRIVER, [&](gpuctr_error** e) { return gpuctr_host_open(&options, &host, e); });

    EXPECT_EQ(gpuctr_error_os_error(error.get()), ENOENT);
    EXPECT_THAT(gpuctr_error_message(error.get()), HasSubstr("/nowhere"));
    EXPECT_STREQ(gpuctr_error_object(error.get()), "/nowhere");
}

TEST_F(OptionsTest, ErrorsOfNothingCanBeAsked)
{
    EXPECT_EQ(gpuctr_error_status(nullptr), GPUCTR_E_INTERNAL);
    for (auto* const getter : {gpuctr_error_message, gpuctr_error_step, gpuctr_error_object,
                               gpuctr_error_argument, gpuctr_error_cause, gpuctr_error_hint})
        EXPECT_NE(getter(nullptr), nullptr);
    EXPECT_EQ(gpuctr_error_os_error(nullptr), 0);
    gpuctr_error_free(nullptr);
    gpuctr_host_free(nullptr);
    gpuctr_plan_free(nullptr);
    gpuctr_prepared_free(nullptr);
    gpuctr_string_free(nullptr);
}

TEST_F(OptionsTest, RequirementsOfARequestHaveToBeMet)
{
    gpuctr_request request = GPUCTR_REQUEST_INIT;
    std::array<const char*, 3> requirements = {"cuda>=12.4 arch>=99", "driver>=580,arch>=9.0",
                                               nullptr};
    request.requirements = requirements.data();
    EXPECT_EQ(plan(request), GPUCTR_OK);

    requirements[1] = "arch>=99";
    const Error unmet =
        error_of(GPUCTR_E_REQUIREMENT, [&](gpuctr_error** e) { return plan(request, e); });
    EXPECT_STREQ(gpuctr_error_object(unmet.get()), "arch>=99");
    EXPECT_STREQ(gpuctr_error_argument(unmet.get()), "requirements");
    EXPECT_STREQ(gpuctr_error_hint(unmet.get()), "it needs a GPU with arch>=99");

    requirements[1] = "arch>=x";
    const Error malformed =
        error_of(GPUCTR_E_USAGE, [&](gpuctr_error** e) { return plan(request, e); });
    EXPECT_STREQ(gpuctr_error_argument(malformed.get()), "requirements");

    // A caller of an earlier release has no such field.
    request.struct_size = offsetof(gpuctr_request, requirements);
    EXPECT_EQ(plan(request), GPUCTR_OK);
}

TEST_F(OptionsTest, RequirementsOfAPlanAreChecked)
{
    gpuctr_plan* plan = nullptr;
    ASSERT_EQ(gpuctr_plan_create(host_, nullptr, -1, &plan, nullptr), GPUCTR_OK);

    EXPECT_EQ(gpuctr_plan_check_requirement(plan, "cuda>=13.0,brand=nvidia", nullptr), GPUCTR_OK);
    EXPECT_EQ(gpuctr_plan_check_requirement(plan, "", nullptr), GPUCTR_OK);
    const Error unmet = error_of(GPUCTR_E_REQUIREMENT, [&](gpuctr_error** e) {
        return gpuctr_plan_check_requirement(plan, "driver>=590 arch<9.0", e);
    });
    EXPECT_THAT(gpuctr_error_message(unmet.get()),
                StartsWith("requirement driver>=590: not met: the driver is 580.159.04; nor is "));
    EXPECT_STREQ(gpuctr_error_object(unmet.get()), "driver>=590");
    EXPECT_STREQ(gpuctr_error_argument(unmet.get()), "requirement");
    const Error malformed = error_of(GPUCTR_E_USAGE, [&](gpuctr_error** e) {
        return gpuctr_plan_check_requirement(plan, "cuda > 12", e);
    });
    EXPECT_STREQ(gpuctr_error_object(malformed.get()), "cuda");
    EXPECT_EQ(gpuctr_plan_check_requirement(nullptr, "cuda>1", nullptr), GPUCTR_E_USAGE);
    EXPECT_EQ(gpuctr_plan_check_requirement(plan, nullptr, nullptr), GPUCTR_E_USAGE);
    gpuctr_plan_free(plan);
}

TEST_F(OptionsTest, ListsEndWithNull)
{
    const gpuctr_driver* const driver = gpuctr_host_driver_at(host_, 0);
    ASSERT_NE(driver, nullptr);
    gpuctr_plan* plan = nullptr;
    ASSERT_EQ(gpuctr_plan_create(host_, nullptr, -1, &plan, nullptr), GPUCTR_OK);

    EXPECT_EQ(gpuctr_host_driver_at(host_, gpuctr_host_driver_count(host_)), nullptr);
    EXPECT_STREQ(gpuctr_driver_vendor(driver), "nvidia");
    EXPECT_STREQ(gpuctr_driver_vendor_name(driver), "NVIDIA");
    EXPECT_EQ(gpuctr_driver_gpu_at(driver, gpuctr_driver_gpu_count(driver)), nullptr);
    EXPECT_EQ(gpuctr_driver_file_at(driver, gpuctr_driver_file_count(driver)), nullptr);
    EXPECT_EQ(gpuctr_driver_node_at(driver, gpuctr_driver_node_count(driver)), nullptr);
    EXPECT_EQ(gpuctr_driver_finding_at(driver, gpuctr_driver_finding_count(driver)), nullptr);
    EXPECT_EQ(gpuctr_plan_item_at(plan, gpuctr_plan_item_count(plan)), nullptr);
    EXPECT_EQ(gpuctr_plan_variable_at(plan, gpuctr_plan_variable_count(plan)), nullptr);
    EXPECT_EQ(gpuctr_plan_device_rule_at(plan, gpuctr_plan_device_rule_count(plan)), nullptr);
    EXPECT_EQ(gpuctr_plan_group_at(plan, gpuctr_plan_group_count(plan)), UINT32_MAX);
    EXPECT_EQ(gpuctr_plan_finding_at(plan, gpuctr_plan_finding_count(plan)), nullptr);
    gpuctr_plan_free(plan);
}

TEST_F(OptionsTest, RefusesTheCallersOwnRootForAPlanOfAnother)
{
    if (!test::may_mount())
        GTEST_SKIP() << "mounting is for root";
    const test::ContainerRoot root("/tmp/gpuctr-options");
    gpuctr_plan* plan = nullptr;
    ASSERT_EQ(gpuctr_plan_create(host_, nullptr, root.fd(), &plan, nullptr), GPUCTR_OK);
    const int own = ::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    gpuctr_apply_options options = GPUCTR_APPLY_OPTIONS_INIT;
    options.state_dir = "/tmp/gpuctr-options-state";

    EXPECT_EQ(gpuctr_plan_apply(plan, own, &options, nullptr, nullptr), GPUCTR_E_ROOTFS);

    EXPECT_NE(::access("/usr/lib/gpuctr", F_OK), 0);
    gpuctr_plan_free(plan);
    (void)::close(own);
}

TEST_F(OptionsTest, APlanOutlivesItsHost)
{
    gpuctr_plan* plan = nullptr;
    ASSERT_EQ(gpuctr_plan_create(host_, nullptr, -1, &plan, nullptr), GPUCTR_OK);
    gpuctr_host_free(host_);
    host_ = nullptr;
    char* json = nullptr;

    EXPECT_EQ(gpuctr_plan_to_json(plan, &json, nullptr), GPUCTR_OK);

    EXPECT_THAT(json, HasSubstr("\"gpucontainer/plan/1\""));
    gpuctr_string_free(json);
    gpuctr_plan_free(plan);
}

} // namespace
} // namespace gpucontainer
