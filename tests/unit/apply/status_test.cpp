// SPDX-License-Identifier: MIT
#include "apply/status.hpp"

#include "support/temp_root.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::apply {
namespace {

constexpr journal::RootName root = {1, 2};
constexpr std::chrono::milliseconds soon(30);

TEST(Status, SaysOfALockedRootThatItIsAndGoesOn)
{
    test::TempRoot directory;
    const auto store = journal::JournalStore::create(directory.at("state"), -1);
    ASSERT_TRUE(store);
    const auto held = store->create_root(root);
    ASSERT_TRUE(held);
    directory.directory("state/3-4/stage");
    ::chmod(directory.at("state/3-4").c_str(), 0700);

    const auto found = look_at_all(directory.at("state"), soon);

    ASSERT_TRUE(found) << found.error().message();
    ASSERT_EQ(found->size(), 2U);
    const auto& first = found->at(0).root == root ? found->at(0) : found->at(1);
    const auto& second = found->at(0).root == root ? found->at(1) : found->at(0);
    EXPECT_EQ(first.findings.at(0).code, model::FindingCode::locked);
    EXPECT_NE(first.findings.at(0).text.find("process " + std::to_string(::getpid())),
              std::string::npos);
    EXPECT_EQ(second.findings.at(0).code, model::FindingCode::interrupted);
}

} // namespace
} // namespace gpucontainer::apply
