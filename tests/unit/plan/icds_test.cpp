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

} // namespace
} // namespace gpucontainer::plan
