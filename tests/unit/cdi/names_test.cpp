// SPDX-License-Identifier: MIT
#include "cdi/names.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::cdi {
namespace {

TEST(CdiNamesTest, AcceptAVendorAndAClass)
{
    for (const char* kind : {"nvidia.com/gpu", "v/c", "a-b_c.d/Class-1", "vendor1/net.rdma"})
        EXPECT_EQ(fault_in_kind(kind), "") << kind;
}

TEST(CdiNamesTest, RefuseOtherKinds)
{
    for (const char* kind :
         {"", "/", "nvidia.com", "nvidia.com/", "/gpu", "1vendor/gpu", "vendor/1gpu", "vendor-/gpu",
          "vendor/gpu.", "ven dor/gpu", "vendor/gpu/more", "vendor/gpu=0", "v\u00e9/gpu", ".v/gpu"})
        EXPECT_NE(fault_in_kind(kind), "") << kind;
}

TEST(CdiNamesTest, SayWhatIsWrongWithAKind)
{
    EXPECT_EQ(fault_in_kind("nvidia.com"), "not VENDOR/CLASS");
    EXPECT_EQ(fault_in_kind("/gpu"), "the vendor is empty");
    EXPECT_EQ(fault_in_kind("nvidia.com/0"), "the class does not begin with a letter");
    EXPECT_EQ(fault_in_kind("nvidia.com-/gpu"), "the vendor does not end with a letter or digit");
    EXPECT_EQ(fault_in_kind("nvidia.com/g u"),
              "the class has a character that is no letter, no digit and none of _-.");
}

TEST(CdiNamesTest, AcceptWordsOfLettersAndDigitsAsDevices)
{
    for (const char* name : {"0", "all", "GPU-c95c73e3-f084", "0000:3b:00.0", "0:gi3:ci0", "a_b"})
        EXPECT_EQ(fault_in_device_name(name), "") << name;
    for (const char* name : {"", "2/5", "-0", "0-", ":0", "a b", "a=b", "0,1", "a\n"})
        EXPECT_NE(fault_in_device_name(name), "") << name;
}

TEST(CdiNamesTest, TakeNameAndValueAsAVariable)
{
    EXPECT_EQ(fault_in_variable("A="), "");
    EXPECT_EQ(fault_in_variable("A=b=c"), "");
    EXPECT_EQ(fault_in_variable("A"), "not NAME=VALUE");
    EXPECT_EQ(fault_in_variable("=b"), "it has no name");
}

TEST(CdiNamesTest, NameAFileAfterAKind) { EXPECT_EQ(file_name_of("a.com/gpu"), "a.com-gpu"); }

} // namespace
} // namespace gpucontainer::cdi
