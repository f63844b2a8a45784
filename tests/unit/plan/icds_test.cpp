// SPDX-License-Identifier: MIT
#include "unit/plan/plan_fixture.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* path = "/etc/OpenCL/vendors/acme.icd";

class OpenClTest : public PlanTest {
protected:
    OpenClTest()
    {
        driver_.files.push_back(
            test::make_library("libacme-opencl.so.1", model::Capability::compute, 20));
        driver_.files.back().registrations = {{model::Manner::loader},
                                              {model::Manner::opencl_icd, "acme.icd"}};
    }

    /// What the plan does about OpenCL, with the content.
    std::vector<std::string> about_opencl() const
    {
        std::vector<std::string> all;
        for (const Item& item : made().items)
            if (item.target.find("OpenCL") != std::string::npos)
                all.push_back(text(item) + ": " + content_of(item));
        return all;
    }
};

TEST_F(OpenClTest, IsToldOfTheDriverByAFile)
{
    EXPECT_THAT(about_opencl(), ElementsAre("directory created:  -> /etc/OpenCL: ",
                                            "directory created:  -> /etc/OpenCL/vendors: ",
                                            "file created:  -> /etc/OpenCL/vendors/acme.icd: "
                                            "libacme-opencl.so.1\n"));
}

TEST_F(OpenClTest, IsToldByAnOverlayWhereNothingIsWritten)
{
    request_.write = Write::never;
    root_.file("/etc/ld.so.cache");
    root_.directory("/etc/OpenCL/vendors");

    EXPECT_THAT(about_opencl(), ElementsAre("mount there: overlay -> /etc/OpenCL/vendors ro: ",
                                            "file overlay:  -> /etc/OpenCL/vendors/acme.icd: "
                                            "libacme-opencl.so.1\n"));
}

TEST_F(OpenClTest, IsToldNothingWithoutTheLibrary)
{
    request_.capabilities = "utility";
    EXPECT_THAT(about_opencl(), IsEmpty());

    request_.capabilities = "compute";
    request_.vendor_libs = VendorLibs::none;
    EXPECT_THAT(about_opencl(), IsEmpty());
}

TEST_F(OpenClTest, LeavesAFileThatSaysTheSame)
{
    const std::string identity = made().identity;
    root_.file(path, "libacme-opencl.so.1\n\n");

    EXPECT_THAT(about_opencl(), IsEmpty());
    EXPECT_EQ(made().identity, identity);
}

TEST_F(OpenClTest, CoversAFileThatSaysSomethingElse)
{
    root_.file(path, "/opt/stale/libacme-opencl.so.1");
    root_.file("/etc/OpenCL/vendors/pocl.icd", "libpocl.so.2\n");

    EXPECT_THAT(about_opencl(), ElementsAre("cover there:  -> /etc/OpenCL/vendors/acme.icd "
                                            "ro,nosuid,nodev: libacme-opencl.so.1\n"));
}

TEST_F(OpenClTest, GoesWithoutWhereSomethingElseIsInItsPlace)
{
    root_.directory(path);
    EXPECT_THAT(about_opencl(), IsEmpty());
    EXPECT_THAT(
        skipped("acme.icd"),
        ElementsAre("/etc/OpenCL/vendors/acme.icd: the image has something else in its place"));

    root_ = test::FakeView::distribution();
    root_.link("/etc/OpenCL/vendors", "/nowhere");
    EXPECT_THAT(about_opencl(), IsEmpty());
    EXPECT_THAT(skipped("acme.icd").size(), 1U);
}

TEST_F(OpenClTest, IsAnotherPlanWithAnotherLibrary)
{
    const std::string identity = made().identity;
    driver_.files.back().registrations = {{model::Manner::loader},
                                          {model::Manner::opencl_icd, "other.icd"}};

    EXPECT_NE(made().identity, identity);
}

/// With a library that several loaders find, and one of a graphics stack beside it.
class ManifestsTest : public PlanTest {
protected:
    ManifestsTest()
    {
        driver_.files.push_back(
            test::make_library("libEGL_acme.so.0", model::Capability::graphics, 20));
        set({{model::Manner::loader}, {model::Manner::egl_vendor, "10_acme.json"}});
        request_.capabilities = "compute,graphics";
    }

    void set(std::vector<model::Registration> registrations)
    {
        driver_.files.back().registrations = std::move(registrations);
    }

    /// Files that are made, and what they say, without white space.
    std::vector<std::string> told() const
    {
        std::vector<std::string> all;
        for (const Item& item : made().items)
            if (std::string content = content_of(item);
                !content.empty() && item.target.find("ld.so") == std::string::npos) {
                std::erase_if(content, [](char c) { return c == ' ' || c == '\n'; });
                all.push_back(base::format("{} {}: {} {}", plan::name(item.kind()),
                                           name(item.place), item.target, content));
            }
        return all;
    }
};

TEST_F(ManifestsTest, NameTheLibraryForEachLoader)
{
    set({{model::Manner::egl_vendor, "10_acme.json"},
         {model::Manner::egl_platform, "15_acme.json"},
         {model::Manner::vulkan_icd, "acme_icd.json", "{\"the\": \"host's\"}\n"},
         {model::Manner::vulkan_layer, "acme_layers.json"},
         {model::Manner::vulkansc_icd, "acme_icd_sc.json"}});

    EXPECT_THAT(told(),
                ElementsAre("file created: /etc/glvnd/egl_vendor.d/10_acme.json "
                            "{\"file_format_version\":\"1.0.0\",\"ICD\":{\"library_path\":"
                            "\"libEGL_acme.so.0\"}}",
                            "file created: /etc/egl/egl_external_platform.d/15_acme.json "
                            "{\"file_format_version\":\"1.0.0\",\"ICD\":{\"library_path\":"
                            "\"libEGL_acme.so.0\"}}",
                            "file created: /etc/vulkan/icd.d/acme_icd.json {\"the\":\"host's\"}",
                            "file created: /etc/vulkansc/icd.d/acme_icd_sc.json "
                            "{\"file_format_version\":\"1.0.0\",\"ICD\":{\"library_path\":"
                            "\"libEGL_acme.so.0\",\"api_version\":\"1.2.0\"}}"));
}

TEST_F(ManifestsTest, CostNoMountBesidesTheOneOverEtc)
{
    set({{model::Manner::egl_vendor, "10_acme.json"}, {model::Manner::vulkan_icd, "acme.json"}});
    request_.write = Write::never;
    root_.directory("/usr/share/vulkan/icd.d");
    root_.directory("/etc/vulkan");

    const std::vector<std::string> all = items({ItemKind::mount});
    EXPECT_EQ(std::ranges::count_if(all,
                                    [](const std::string& item) {
                                        return item.find("overlay -> /etc ro") != std::string::npos
                                               || item.find("/share") != std::string::npos;
                                    }),
              1);
    EXPECT_EQ(told().size(), 2U);
}

TEST_F(ManifestsTest, StayTheImagesWhereTheySayTheSame)
{
    const std::string content = made().items.empty() ? "" : [&] {
        for (const Item& item : made().items)
            if (item.target.ends_with("10_acme.json"))
                return content_of(item);
        return std::string();
    }();
    ASSERT_NE(content, "");
    root_.file("/usr/share/glvnd/egl_vendor.d/10_acme.json", " " + content + "\n");

    EXPECT_THAT(told(), IsEmpty());
}

TEST_F(ManifestsTest, AreCoveredWhereTheImageHasOthersOfTheirNames)
{
    for (const char* directory : {"/usr/share/glvnd/egl_vendor.d", "/etc/glvnd/egl_vendor.d"})
        root_.file(base::format("{}/10_acme.json", directory), "{}");

    EXPECT_THAT(told(), ElementsAre(::testing::HasSubstr("cover there: /etc/glvnd/egl_vendor.d/"),
                                    ::testing::HasSubstr("cover there: /usr/share/glvnd/")));
}

TEST_F(ManifestsTest, GoWithoutWhereTheHostsOwnFileComes)
{
    model::DriverFile data;
    data.kind = model::FileKind::data;
    data.capability = model::Capability::graphics;
    data.name = "10_acme.json";
    data.path = "/drv/10_acme.json";
    data.registrations = {
        {model::Manner::fixed_path, "/usr/share/glvnd/egl_vendor.d/10_acme.json"}};
    data.id = {7, 50, 1, 1};
    driver_.files.push_back(data);

    EXPECT_THAT(told(), IsEmpty());
}

TEST_F(ManifestsTest, TellTheDriverWhichGpusWereChosen)
{
    set({{model::Manner::loader}, {model::Manner::gpu_mask, "/etc/acme/gpus", "is {gpus}."}});
    driver_.gpus[1].minor = 5;
    EXPECT_THAT(told(), IsEmpty());

    request_.devices = "1";
    EXPECT_THAT(told(), ElementsAre("file created: /etc/acme/gpus is0x20."));
    const std::string identity = made().identity;
    root_.file("/etc/acme/gpus", "is 0x1.");
    EXPECT_THAT(told(), ElementsAre("cover there: /etc/acme/gpus is0x20."));

    request_.devices = "0";
    EXPECT_NE(made().identity, identity);
    driver_.gpus[0].minor = 64;
    EXPECT_THAT(told(), IsEmpty());
    request_.devices = "1";
    request_.capabilities = "compute";
    EXPECT_THAT(told(), IsEmpty());
}

TEST_F(ManifestsTest, LeaveAModuleItsNameBesideTheLibraries)
{
    set({{model::Manner::loader}, {model::Manner::module_name, "gbm/acme_gbm.so"}});
    const std::string module = libraries_ + "/gbm/acme_gbm.so";

    EXPECT_THAT(items({ItemKind::symlink}),
                ::testing::Contains("symlink created: /usr/lib/gpuctr/lib64/libEGL_acme.so.580.1 "
                                    "-> "
                                    + module));
    request_.layout = Layout::merged;
    EXPECT_THAT(items({ItemKind::symlink}),
                ::testing::Contains("symlink created: " + libraries_ + "/libEGL_acme.so.580.1 -> "
                                    + module));
    root_.file(module, "another driver's");
    EXPECT_THAT(items({ItemKind::cover}),
                ElementsAre("cover there: /drv/lib/libEGL_acme.so.580.1 -> " + module
                            + " ro,nosuid,nodev"));
}

TEST_F(ManifestsTest, LeaveModulesOfTheXServerWhereTheImagesServerLooks)
{
    set({{model::Manner::module_directory, "xorg/modules/drivers"}});
    driver_.files.back().entry_names = {"libEGL_acme.so.0"};
    const auto contains = [](const std::string& directory) {
        return ::testing::Contains("symlink created: /usr/lib/gpuctr/lib64/libEGL_acme.so.0 -> "
                                   + directory + "/xorg/modules/drivers/libEGL_acme.so.0");
    };
    EXPECT_THAT(items({ItemKind::symlink}), contains("/usr/lib"));
    root_.directory("/usr/lib64/xorg/modules");
    EXPECT_THAT(items({ItemKind::symlink}), contains("/usr/lib64"));
}

TEST_F(ManifestsTest, ComeWithWhatTheirLibraryLoads)
{
    driver_.files.back().needed = {"libcuda.so.1", "libnowhere.so.1"};
    request_.capabilities = "graphics";

    EXPECT_THAT(items({ItemKind::bind}),
                ::testing::Contains("bind tree: /drv/lib/libcuda.so.580.1 -> "
                                    "/usr/lib/gpuctr/lib64/libcuda.so.580.1 ro,nosuid,nodev"));
    EXPECT_THAT(skipped("libcuda.so.580.1"), IsEmpty());
}

} // namespace
} // namespace gpucontainer::plan
