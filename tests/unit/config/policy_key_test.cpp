// SPDX-License-Identifier: MIT
#include "config/policy_key.hpp"

#include <gtest/gtest.h>

namespace gpucontainer::config {
namespace {

TEST(PolicyKey, IsMeantByItself)
{
    for (const char* const key :
         {"restricted", "restricted-user", "restricted-rootfs", "allowed-devices"})
        EXPECT_EQ(meant_policy_key(key), key);
}

TEST(PolicyKey, IsMeantInAnyCaseAndWithOtherSigns)
{
    for (const char* const key : {"allowed_devices", "Allowed-Devices", "ALLOWED_DEVICES",
                                  "allowed devices", "allowedDevices", "--allowed-devices"})
        EXPECT_EQ(meant_policy_key(key), "allowed-devices") << key;
}

TEST(PolicyKey, IsMeantButForTwoLetters)
{
    for (const char* const key :
         {"restriced", "estricted", "resticed", "resrtitced", "restrixxed", "restrictedxx",
          "rëstrictëd", "\u200brestricted", "restricted\u00a0", "rеstriсted"}) // two are Cyrillic
        EXPECT_EQ(meant_policy_key(key), "restricted") << key;
    EXPECT_EQ(meant_policy_key("restricted-usr"), "restricted-user");
    EXPECT_EQ(meant_policy_key("restrict-rootfs"), "restricted-rootfs");
    EXPECT_EQ(meant_policy_key("alowed-device"), "allowed-devices");
}

TEST(PolicyKey, IsMeantByWhatBeginsLikeIt)
{
    for (const char* const key : {"restrict", "restrictions", "Restricted_groups", "restrict-to"})
        EXPECT_EQ(meant_policy_key(key), "restricted") << key;
}

TEST(PolicyKey, IsNotMeantByOthers)
{
    for (const char* const key :
         {"", "-", "device", "devices", "allow-setuid", "rootfs", "user", "strict", "restart",
          "rexxxicted", "all-devices", "state-dir", "föö", "unrestricted-use"})
        EXPECT_EQ(meant_policy_key(key), "") << key;
}

} // namespace
} // namespace gpucontainer::config
