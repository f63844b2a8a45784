// SPDX-License-Identifier: MIT
#include "explain/copies.hpp"

#include "base/format.hpp"
#include "unit/drivers/driver_tree.hpp"
#include "unit/plan/driver_stack.hpp"

#include <gmock/gmock.h>

#include <string>
#include <sys/stat.h>
#include <vector>

namespace gpucontainer::explain {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class CopiesTest : public ::testing::Test {
protected:
    CopiesTest()
    {
        tree_.of_this_machine();
        driver_.vendor = "nvidia";
        driver_.version = "580.1";
        driver_.image_directories = {"/usr/local/cuda/lib64"};
        tree_.library("usr/lib64/libcuda.so.580.1", "libcuda.so.1");
        tree_.link("usr/lib64/libcuda.so.1", "libcuda.so.580.1");
        file_ = test::make_library("libcuda.so.1", model::Capability::compute, 1);
        file_.path = tree_.prefix() + "/usr/lib64/libcuda.so.580.1";
        struct stat status = {};
        EXPECT_EQ(::stat(file_.path.c_str(), &status), 0);
        file_.id = model::FileId::of(status);
        driver_.files = {file_};
    }

    /// "PATH: REASON" with ROOT for the temporary directory.
    std::vector<std::string> found()
    {
        const auto root = tree_.open_driver();
        std::vector<std::string> all;
        for (const model::Finding& one : copies_on_host(root, driver_, file_)) {
            std::string text = base::format("{}: {}", one.evidence, one.text);
            for (std::size_t at = 0; (at = text.find(tree_.prefix())) != std::string::npos;)
                text.replace(at, tree_.prefix().size(), "ROOT");
            all.push_back(text);
        }
        return all;
    }

    test::DriverTree tree_;
    model::DriverStack driver_;
    model::DriverFile file_;
};

TEST_F(CopiesTest, OtherNamesOfTheFileAreNoCopies)
{
    tree_.link("usr/lib64/libcuda.so", "libcuda.so.1");
    tree_.remember("libcuda.so.1", "/usr/lib64/libcuda.so.1");

    EXPECT_THAT(found(), IsEmpty());
}

TEST_F(CopiesTest, EachCopyHasAReason)
{
    tree_.library("usr/lib/libcuda.so.470.1", "libcuda.so.1");
    tree_.link("usr/lib/libcuda.so.1", "libcuda.so.470.1");
    tree_.library("usr/local/cuda/lib64/stubs/libcuda.so", "libcuda.so.1");
    tree_.library("usr/local/cuda/lib64/libcuda.so.1", "libother.so.1");
    tree_.file("lib64/libcuda.so.1", "no ELF file");
    tree_.link("lib/libcuda.so.1", "libcuda.so.390.1");
    tree_.library("opt/libcuda.so.1", "libcuda.so.1");
    tree_.remember("libcuda.so.1", "/opt/libcuda.so.1");
    tree_.remember("libcuda.so.1", "/gone/libcuda.so.1");

    EXPECT_THAT(found(),
                UnorderedElementsAre(
                    "ROOT/usr/lib/libcuda.so.1: is version 470.1; the driver's is 580.1",
                    "ROOT/usr/local/cuda/lib64/stubs/libcuda.so: is a stub to link against",
                    "ROOT/usr/local/cuda/lib64/libcuda.so.1: has the soname libother.so.1",
                    ::testing::StartsWith("ROOT/lib64/libcuda.so.1: not an ELF file"),
                    "ROOT/lib/libcuda.so.1: is a link to libcuda.so.390.1, which is not there",
                    "ROOT/opt/libcuda.so.1: ROOT/usr/lib64/libcuda.so.580.1 was found first",
                    "ROOT/gone/libcuda.so.1: is in the loader cache, but not there"));
}

TEST_F(CopiesTest, WhatDetectionSaidIsTheReason)
{
    tree_.library("usr/lib/libcuda.so.580.1", "libcuda.so.1");
    tree_.link("usr/lib/libcuda.so.1", "libcuda.so.580.1");
    driver_.findings = {{model::FindingCode::file_unusable, "libcuda.so.1", "was looked at",
                         tree_.prefix() + "/usr/lib/libcuda.so.1"}};

    EXPECT_THAT(found(), UnorderedElementsAre("ROOT/usr/lib/libcuda.so.1: was looked at"));
}

TEST_F(CopiesTest, TheNumberOfCopiesIsLimited)
{
    for (int i = 0; i < 200; ++i)
        tree_.remember("libcuda.so.1", base::format("/gone/{}/libcuda.so.1", i));

    EXPECT_LE(found().size(), 65U);
}

} // namespace
} // namespace gpucontainer::explain
