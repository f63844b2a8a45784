// SPDX-License-Identifier: MIT
#include "check/cdi_specifications.hpp"

#include "base/format.hpp"
#include "support/temp_root.hpp"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <vector>

namespace gpucontainer::check {
namespace {

using model::Cause;
using model::FindingCode;
using model::Stage;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr CdiVendor vendor = {"v.com/gpu", "V_VISIBLE_DEVICES"};

class CdiSpecificationsTest : public ::testing::Test {
protected:
    void write(const std::string& kind, const std::string& edits)
    {
        root_.file("cdi/v.yaml",
                   base::format("cdiVersion: 0.6.0\nkind: {}\ndevices:\n- name: \"0\"\n"
                                "  containerEdits: {{{}}}\n",
                                kind, edits));
    }

    cdi::Listing listing() const
    {
        return cdi::read_paths(std::vector<std::string>{root_.at("cdi").string()});
    }

    model::Causes causes() const
    {
        model::Causes found;
        add_cdi_causes(listing(), std::vector{vendor}, found);
        return found;
    }

    model::Causes missing(const std::string& value) const
    {
        model::Causes found;
        add_missing_devices(listing(), std::vector{vendor}, {{"V_VISIBLE_DEVICES", value}}, found);
        return found;
    }

    test::TempRoot root_;
};

TEST_F(CdiSpecificationsTest, OneThatIsTrueOfThisHostIsNoCause)
{
    root_.file("lib/libv.so", "driver");
    write("v.com/gpu", base::format("mounts: [{{hostPath: {}, containerPath: /l}}]",
                                    root_.at("lib/libv.so").string()));

    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(CdiSpecificationsTest, FilesThatAreGoneAreOneCauseOfTheFile)
{
    write("v.com/gpu", "mounts: [{hostPath: /gone/libv.so.1, containerPath: /l}, "
                       "{hostPath: /gone/libv.so.2, containerPath: /m}]");

    ASSERT_THAT(causes(), SizeIs(1));
    const Cause cause = causes().front();
    EXPECT_EQ(cause.finding.evidence, root_.at("cdi/v.yaml"));
    EXPECT_THAT(cause.finding.text, HasSubstr("/gone/libv.so.1: No such file"));
    EXPECT_THAT(cause.finding.text, HasSubstr("(and 1 more)"));
    EXPECT_EQ(cause.stage, Stage::setup);
    EXPECT_EQ(cause.severity(), model::Severity::warning);
}

TEST_F(CdiSpecificationsTest, ANumberOfAnEarlierStartIsACauseOfItsOwn)
{
    write("v.com/gpu", "mounts: [{hostPath: /gone/libv.so.1, containerPath: /l}], "
                       "deviceNodes: [{path: /dev/null, type: c, major: 511, minor: 3}]");

    ASSERT_THAT(causes(), SizeIs(2));
    EXPECT_EQ(causes()[1].stage, Stage::init);
    EXPECT_EQ(causes()[1].finding.evidence, root_.at("cdi/v.yaml"));
    EXPECT_THAT(causes()[1].finding.text, HasSubstr("511:3"));
}

TEST_F(CdiSpecificationsTest, ThoseOfOtherVendorsAreNotLookedAt)
{
    write("other.com/net", "mounts: [{hostPath: /gone/libv.so.1, containerPath: /l}]");

    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(CdiSpecificationsTest, OneThatNoEngineTakesIsACause)
{
    root_.file("cdi/v.yaml", "cdiVersion: 0.6.0\nkind: v.com/gpu\ndevices: 7\n");

    ASSERT_THAT(causes(), SizeIs(1));
    EXPECT_EQ(causes().front().finding.code, FindingCode::cdi_invalid);
}

TEST_F(CdiSpecificationsTest, ADeviceThatNoSpecificationHasIsMissing)
{
    write("v.com/gpu", "env: [A=b]");

    EXPECT_THAT(missing("v.com/gpu=0"), IsEmpty());
    EXPECT_THAT(missing("0,all"), IsEmpty());
    EXPECT_THAT(missing("other.com/net=0"), IsEmpty());
    ASSERT_THAT(missing("v.com/gpu=0,v.com/gpu=7\n"), SizeIs(1));
    EXPECT_EQ(missing("v.com/gpu=7").front().finding.evidence, "V_VISIBLE_DEVICES");
}

} // namespace
} // namespace gpucontainer::check
