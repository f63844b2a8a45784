// SPDX-License-Identifier: MIT
#include "unit/plan/plan_fixture.hpp"

#include <algorithm>
#include <gmock/gmock.h>

namespace gpucontainer::plan {
namespace {

using model::Capability;
using model::DriverFile;
using model::Manner;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

/// Plans for images that are not known.
class BindsTest : public PlanTest {
protected:
    BindsTest() { request_.layout = Layout::binds; }

    Result<Plan> planned() const { return create_plan({&driver_, 1}, request_, nullptr); }

    std::vector<Item> items_of() const
    {
        auto plan = planned();
        EXPECT_TRUE(plan) << plan.error().message();
        return plan ? std::move((*plan).items) : std::vector<Item>();
    }

    /// Targets of the items of a kind.
    std::vector<std::string> targets(ItemKind kind) const
    {
        std::vector<std::string> all;
        for (const Item& item : items_of())
            if (item.kind() == kind)
                all.push_back(item.target);
        return all;
    }

    /// Of libraries in the directory of either family.
    std::vector<std::string> in_both(std::initializer_list<const char*> names) const
    {
        std::vector<std::string> all;
        for (const char* name : names)
            for (const std::string& directory : {libraries_, std::string("/usr/lib64")})
                all.push_back(directory + "/" + name);
        return all;
    }
};

TEST_F(BindsTest, MountEachNameInTheDirectoriesOfBothFamilies)
{
    auto expected = in_both({"libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1"});
    expected.emplace_back("/usr/bin/nvidia-smi");

    EXPECT_THAT(targets(ItemKind::bind), UnorderedElementsAreArray(expected));
    for (const Item& item : items_of())
        if (item.target.ends_with("/libcuda.so.1")) {
            EXPECT_EQ(item.source(), "/drv/lib/libcuda.so.580.1");
            EXPECT_EQ(item.as<Bind>()->id, driver_.files.front().id);
        }
}

TEST_F(BindsTest, NeedNoLinkNoCacheAndNoTree)
{
    driver_.nodes[2].links = {"/dev/by-path/0"};

    for (const ItemKind kind :
         {ItemKind::symlink, ItemKind::ldcache, ItemKind::mount, ItemKind::cover})
        EXPECT_THAT(targets(kind), IsEmpty());
    EXPECT_EQ((*planned()).tree_path, "");
}

TEST_F(BindsTest, DoNotDependOnWhetherARootMayBeWritten)
{
    const auto usual = targets(ItemKind::bind);
    request_.write = Write::never;

    EXPECT_EQ(targets(ItemKind::bind), usual);
    EXPECT_THAT(targets(ItemKind::mount), IsEmpty());
}

TEST_F(BindsTest, NameALibraryWithoutSonameByItsFile)
{
    driver_.files[1].soname = "";

    EXPECT_THAT(targets(ItemKind::bind), Contains("/usr/lib64/libnvidia-ml.so.580.1"));
}

TEST_F(BindsTest, PutModulesWhereTheirLoadersLook)
{
    driver_.files[1].registrations.push_back({Manner::module_name, "gbm/nvidia-drm_gbm.so"});
    driver_.files[0].registrations.push_back({Manner::module_directory, "xorg/modules/drivers"});

    const auto found = targets(ItemKind::bind);
    EXPECT_THAT(found, Contains(libraries_ + "/gbm/nvidia-drm_gbm.so"));
    EXPECT_THAT(found, Contains("/usr/lib64/gbm/nvidia-drm_gbm.so"));
    EXPECT_THAT(found, Contains("/usr/lib/xorg/modules/drivers/libcuda.so.1"));
    EXPECT_THAT(found, Contains("/usr/lib64/xorg/modules/drivers/libcuda.so.1"));
}

TEST_F(BindsTest, MakeManifestsButNotThoseOfChosenGpus)
{
    driver_.files[0].registrations = {{Manner::opencl_icd, "nvidia.icd"},
                                      {Manner::gpu_mask, "/etc/mask.conf", "{gpus}"}};
    request_.devices = "1";

    EXPECT_THAT(targets(ItemKind::file), ElementsAre("/etc/OpenCL/vendors/nvidia.icd"));
}

TEST_F(BindsTest, LeaveOutFilesThatAnImageMayHaveOfItsOwn)
{
    driver_.optional_files = true;

    EXPECT_THAT(targets(ItemKind::bind), IsEmpty());
    EXPECT_THAT(targets(ItemKind::device), Contains("/dev/nvidia0"));
}

TEST_F(BindsTest, GiveSuchFilesIfThatIsAskedFor)
{
    driver_.optional_files = true;
    driver_.files[0].needed = {"libz.so.1"};
    DriverFile neutral = test::make_library("libz.so.1", Capability::compute, 30);
    neutral.precedence = model::Precedence::image;
    driver_.files.push_back(neutral);
    request_.vendor_libs = VendorLibs::host;

    const auto found = targets(ItemKind::bind);
    EXPECT_THAT(found, Contains("/usr/lib64/libcuda.so.1"));
    EXPECT_THAT(found, Not(Contains(HasSubstr("libz")))) << "it would cover the image's own";
    const auto plan = planned();
    EXPECT_EQ(std::ranges::count((*plan).findings, "libz.so.1 of its own", &model::Finding::text),
              1);
}

TEST_F(BindsTest, AreNotForARootThatIsKnown)
{
    EXPECT_THAT(problem(), AllOf(HasSubstr("2 layout binds"), HasSubstr("not known")));
}

} // namespace
} // namespace gpucontainer::plan
