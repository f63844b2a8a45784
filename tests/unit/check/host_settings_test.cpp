// SPDX-License-Identifier: MIT
#include "check/namespaces.hpp"
#include "check/policies.hpp"

#include "support/temp_root.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace gpucontainer::check {
namespace {

using model::Severity;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HostSettingsTest : public ::testing::Test {
protected:
    std::string root() const { return host_.at("").string(); }

    /// The evidence of what keeps a user from making user namespaces.
    std::vector<std::string> forbidden(const NamespaceUser& user)
    {
        model::Causes causes;
        EXPECT_TRUE(add_namespace_causes(root(), user, causes));
        std::vector<std::string> paths;
        for (const model::Cause& cause : causes) {
            EXPECT_EQ(cause.severity(), Severity::error);
            EXPECT_EQ(cause.stage, model::Stage::setup);
            paths.push_back(cause.finding.evidence);
        }
        return paths;
    }

    std::size_t denied_by_selinux()
    {
        model::DriverStack driver;
        driver.nodes.emplace_back().path = path_of_node_;
        model::Causes causes;
        EXPECT_TRUE(add_policy_causes(root(), std::vector{driver}, causes));
        for (const model::Cause& cause : causes)
            EXPECT_EQ(cause.severity(), Severity::warning); // a label may allow it
        return causes.size();
    }

    void enforce(const std::string& all, const std::string& dri)
    {
        host_.file("sys/fs/selinux/enforce", "1");
        host_.file("sys/fs/selinux/booleans/container_use_devices", all);
        if (!dri.empty())
            host_.file("sys/fs/selinux/booleans/container_use_dri_devices", dri);
    }

    test::TempRoot host_;
    std::string path_of_node_ = "/dev/nvidia0";
};

TEST_F(HostSettingsTest, AUserMayMakeNamespacesOnAKernelWithoutSettings)
{
    EXPECT_THAT(forbidden({}), IsEmpty());
}

TEST_F(HostSettingsTest, EachSettingCanForbidNamespaces)
{
    host_.file("proc/sys/user/max_user_namespaces", "0\n");
    host_.file("proc/sys/kernel/unprivileged_userns_clone", "0\n");
    host_.file("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");

    EXPECT_THAT(forbidden({false, "unconfined"}),
                ElementsAre("/proc/sys/user/max_user_namespaces",
                            "/proc/sys/kernel/unprivileged_userns_clone",
                            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"));
    EXPECT_THAT(forbidden({true, ""}), IsEmpty()) << "root needs none";
}

TEST_F(HostSettingsTest, UsualValuesForbidNothing)
{
    host_.file("proc/sys/user/max_user_namespaces", "127234\n");
    host_.file("proc/sys/kernel/unprivileged_userns_clone", "1\n");
    host_.file("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0\n");

    EXPECT_THAT(forbidden({false, "unconfined"}), IsEmpty());
}

TEST_F(HostSettingsTest, AProgramWithAProfileIsNotRestrictedByAppArmor)
{
    host_.file("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");

    EXPECT_THAT(forbidden({false, "gpuctr-setup"}), IsEmpty());
}

TEST_F(HostSettingsTest, SelinuxMayDenyDevices)
{
    enforce("0 0", "");

    EXPECT_EQ(denied_by_selinux(), 1U);
}

TEST_F(HostSettingsTest, SelinuxDeniesNothingIfItOnlyWarnsOrItsSwitchIsOn)
{
    EXPECT_EQ(denied_by_selinux(), 0U);
    enforce("1 1", "");
    EXPECT_EQ(denied_by_selinux(), 0U);
    enforce("0 0", "");
    host_.file("sys/fs/selinux/enforce", "0");
    EXPECT_EQ(denied_by_selinux(), 0U);
}

TEST_F(HostSettingsTest, SelinuxHasASwitchOfItsOwnForRenderNodes)
{
    enforce("0 0", "1 1");

    EXPECT_EQ(denied_by_selinux(), 1U);
    path_of_node_ = "/dev/dri/renderD128";
    EXPECT_EQ(denied_by_selinux(), 0U);
}

} // namespace
} // namespace gpucontainer::check
