// SPDX-License-Identifier: MIT
#include <gpucontainer/gpucontainer.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace gpucontainer {
namespace {

using json = nlohmann::json;

class CdiTest : public ::testing::Test {
protected:
    CdiTest()
    {
        request_.layout = GPUCTR_LAYOUT_BINDS;
        request_.devices = "0";
        request_.driver_capabilities = "compute";
        options_.files_dir = path("files");
    }
    ~CdiTest() override { std::filesystem::remove_all(directory_); }

    Plan plan() const { return {host_, request_, -1}; }
    std::string path(const std::string& name) const { return directory_ + "/" + name; }

    template <typename Call>
    static gpuctr_status status_of(Call call)
    {
        try {
            call();
        } catch (const Error& error) {
            return error.status();
        }
        return GPUCTR_OK;
    }

    std::string directory_ = [] {
        std::string name = std::filesystem::temp_directory_path() / "gpuctr-cdi-XXXXXX";
        return std::string(::mkdtemp(name.data()));
    }();
    Host host_;
    Request request_;
    CdiOptions options_;
};

TEST_F(CdiTest, IsADocumentInEitherForm)
{
    const json document = json::parse(plan().to_cdi(options_));
    options_.yaml = true;

    EXPECT_EQ(document["kind"], "nvidia.com/gpu");
    EXPECT_EQ(document["devices"][0]["name"], "0");
    EXPECT_EQ(plan().to_cdi(options_).substr(0, 22), "cdiVersion: \"0.5.0\"\nki");
    EXPECT_EQ(plan().layout(), GPUCTR_LAYOUT_BINDS);
}

TEST_F(CdiTest, HasTheSameForTheConfigurationOfAnOciRuntime)
{
    const json edits = json::parse(plan().to_oci(path("files")));
    const json common = json::parse(plan().to_cdi(options_))["containerEdits"];

    EXPECT_EQ(edits["schema"], "gpucontainer/oci/1");
    ASSERT_EQ(edits["mounts"].size(), common["mounts"].size());
    for (std::size_t i = 0; i < common["mounts"].size(); ++i) {
        EXPECT_EQ(edits["mounts"][i]["source"], common["mounts"][i]["hostPath"]);
        EXPECT_EQ(edits["mounts"][i]["destination"], common["mounts"][i]["containerPath"]);
        EXPECT_EQ(edits["mounts"][i]["options"], common["mounts"][i]["options"]);
    }
    EXPECT_EQ(edits["files"][0]["content"], "libnvidia-opencl.so.1\n");
}

TEST_F(CdiTest, GivesAnOciRuntimeEachNodeWithARuleForIt)
{
    const json edits = json::parse(plan().to_oci());
    const json& devices = edits["linux"]["devices"];
    const json& rules = edits["linux"]["resources"]["devices"];

    ASSERT_EQ(devices.size(), rules.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
        EXPECT_EQ(devices[i]["major"], rules[i]["major"]);
        EXPECT_EQ(devices[i]["minor"], rules[i]["minor"]);
        EXPECT_EQ(devices[i]["fileMode"], 0666);
    }
    EXPECT_EQ(devices.back()["path"], "/dev/nvidia0");
}

TEST_F(CdiTest, RefusesOtherPlansAndOptions)
{
    options_.version = "0.4.0";
    EXPECT_EQ(status_of([&] { plan().to_cdi(options_); }), GPUCTR_E_USAGE);
    options_ = CdiOptions();
    options_.files_dir = "relative";
    EXPECT_EQ(status_of([&] { plan().to_cdi(options_); }), GPUCTR_E_USAGE);
    EXPECT_EQ(status_of([&] { plan().to_oci("relative"); }), GPUCTR_E_USAGE);
    request_.layout = GPUCTR_LAYOUT_TREE;
    EXPECT_EQ(status_of([&] { plan().to_cdi(); }), GPUCTR_E_USAGE);
    EXPECT_EQ(status_of([&] { plan().to_oci(); }), GPUCTR_E_USAGE);
}

TEST_F(CdiTest, HasTheHookOfTheCallerInsteadOfMounts)
{
    options_.hook = {"/bin/hook", "--by-nodes"};

    const json common = json::parse(plan().to_cdi(options_))["containerEdits"];

    EXPECT_EQ(common["hooks"][0]["hookName"], "createContainer");
    EXPECT_EQ(common["hooks"][0]["path"], "/bin/hook");
    EXPECT_EQ(common["hooks"][0]["args"], json::array({"/bin/hook", "--by-nodes"}));
    EXPECT_FALSE(common.contains("mounts"));
    EXPECT_TRUE(common.contains("deviceNodes"));
    options_.staged_tree = "/run/gpucontainer/tree";
    EXPECT_EQ(status_of([&] { plan().to_cdi(options_); }), GPUCTR_E_USAGE);
    options_.staged_tree.clear();
    options_.hook = {"hook"};
    EXPECT_EQ(status_of([&] { plan().to_cdi(options_); }), GPUCTR_E_USAGE);
}

TEST_F(CdiTest, NeedsTheStagedTreeThatItIsToMount)
{
    options_.staged_tree = path("nothing");
    EXPECT_EQ(status_of([&] { plan().to_cdi(options_); }), GPUCTR_E_USAGE);
    options_.staged_tree = "relative";
    EXPECT_EQ(status_of([&] { plan().to_cdi(options_); }), GPUCTR_E_USAGE);
}

TEST_F(CdiTest, IsInstalledOnceAndListed)
{
    const std::string file = path("cdi/nvidia.json");

    EXPECT_EQ(plan().install_cdi(file, options_), CdiInstalled::written);
    EXPECT_EQ(plan().install_cdi(file, options_), CdiInstalled::unchanged);

    const CdiList list({path("cdi")}, &host_, options_.files_dir);
    ASSERT_FALSE(list.devices().empty());
    EXPECT_EQ(list.devices()[0].name(), "nvidia.com/gpu=0");
    EXPECT_EQ(list.devices()[0].path(), file);
    EXPECT_EQ(list.devices()[0].state(), "usable");
    ASSERT_EQ(list.findings().size(), 1U);
    EXPECT_EQ((*list.findings().begin()).code(), "cdi_after_cache");
    EXPECT_EQ(json::parse(list.to_json())["devices"].size(), list.devices().size());
}

TEST_F(CdiTest, SaysWhatIsWrongWithAFile)
{
    std::ofstream(path("bad.json")) << "{}";

    const CdiList list({path("bad.json")});
    ASSERT_EQ(list.findings().size(), 3U);
    EXPECT_EQ(list.findings()[0].code(), "cdi_invalid");
    EXPECT_EQ(list.findings()[0].message(), path("bad.json") + ":1: cdiVersion is missing");
}

TEST_F(CdiTest, NamesAFileThatEnginesRead)
{
    EXPECT_EQ(status_of([&] { plan().install_cdi(path("cdi/nvidia.txt"), options_); }),
              GPUCTR_E_USAGE);
    EXPECT_EQ(status_of([&] { plan().install_cdi("nvidia.json", options_); }), GPUCTR_E_USAGE);
}

/// Devices of specifications that anybody wrote.
class FromCdiTest : public CdiTest {
protected:
    FromCdiTest()
    {
        std::ofstream(path("a.json")) << R"({"cdiVersion": "0.5.0", "kind": "v.com/c", "devices": [
            {"name": "x", "containerEdits": {"env": ["A=b"], "deviceNodes": [{"path": "/dev/null"}],
             "hooks": [{"hookName": "poststop", "path": "/h"}]}}]})";
        request_ = {};
        request_.devices = "v.com/c=x";
    }

    CdiList list() const { return CdiList({path("a.json")}); }
};

TEST_F(FromCdiTest, EditsAConfiguration)
{
    request_.kept_hooks = GPUCTR_REQUEST_KEEP_UNKNOWN_HOOKS;
    const Plan plan(list(), request_, -1);
    const json config = json::parse(plan.edit_oci("{}"));

    EXPECT_EQ(config["process"]["env"], json({"A=b"}));
    EXPECT_EQ(config["linux"]["devices"][0]["minor"], 3);
    EXPECT_EQ(config["hooks"]["poststop"][0]["path"], "/h");
    EXPECT_TRUE(plan.items().empty());
    EXPECT_EQ(status_of([&] { (void)plan.to_oci(); }), GPUCTR_E_USAGE);
    EXPECT_EQ(status_of([&] { (void)plan.to_cdi(options_); }), GPUCTR_E_USAGE);
}

TEST_F(FromCdiTest, AHookThatNobodyRunsIsRefused)
{
    EXPECT_EQ(status_of([&] { Plan(list(), request_, -1); }), GPUCTR_E_USAGE);
    request_.kept_hooks = GPUCTR_REQUEST_KEEP_ALL_HOOKS;
    EXPECT_EQ(status_of([&] { Plan(list(), request_, 0); }), GPUCTR_E_USAGE);
}

TEST_F(FromCdiTest, WhatTheSpecificationDecidesIsAskedOfNobody)
{
    const CdiList all = list();
    gpuctr_request request = GPUCTR_REQUEST_INIT;
    request.devices = "v.com/c=x";
    request.extras = "gds";
    gpuctr_plan* plan = nullptr;
    EXPECT_EQ(gpuctr_plan_create_from_cdi(all.get(), &request, -1, &plan, nullptr), GPUCTR_E_USAGE);
    request.extras = nullptr;
    request.flags = GPUCTR_REQUEST_KEEP_ALL_HOOKS;
    EXPECT_EQ(gpuctr_plan_create_from_cdi(all.get(), &request, -1, &plan, nullptr), GPUCTR_OK);
    gpuctr_plan_free(plan);
    request.flags = 0x80;
    EXPECT_EQ(gpuctr_plan_create_from_cdi(all.get(), &request, -1, &plan, nullptr), GPUCTR_E_USAGE);
}

TEST_F(FromCdiTest, AFileThatOthersCanWriteIsRefused)
{
    namespace fs = std::filesystem;
    request_.kept_hooks = GPUCTR_REQUEST_KEEP_ALL_HOOKS;
    fs::permissions(path("a.json"), fs::perms::others_write, fs::perm_options::add);
    EXPECT_EQ(status_of([&] { Plan(list(), request_, -1); }), GPUCTR_E_PERMISSION);
}

} // namespace
} // namespace gpucontainer
