// SPDX-License-Identifier: MIT
#include "journal/store.hpp"

#include "program/builder.hpp"
#include "support/temp_root.hpp"

#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::journal {
namespace {

constexpr RootName root = {1, 2};
constexpr std::chrono::milliseconds soon(30);

JournalStore open_store(const test::TempRoot& directory)
{
    auto store = JournalStore::create(directory.at("state"), -1);
    EXPECT_TRUE(store);
    return *std::move(store);
}

TEST(JournalStore, NamesTheProcessThatKeepsARootLocked)
{
    const test::TempRoot directory;
    const JournalStore store = open_store(directory);
    const auto first = store.create_root(root);
    ASSERT_TRUE(first);

    const auto second = store.open_root(root, JournalStore::Lock::exclusive, soon);

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), Errc::apply);
    EXPECT_NE(second.error().message().find("process " + std::to_string(::getpid())),
              std::string::npos)
        << second.error().message();
    EXPECT_FALSE(second.error().hint().empty());
}

TEST(JournalStore, LetsThoseWhoOnlyLookLookTogether)
{
    const test::TempRoot directory;
    const JournalStore store = open_store(directory);
    {
        const auto made = store.create_root(root);
        ASSERT_TRUE(made);
        const auto first = store.open_root(root, JournalStore::Lock::shared, soon);
        EXPECT_FALSE(first);
    }
    const auto first = store.open_root(root, JournalStore::Lock::shared, soon);
    const auto second = store.open_root(root, JournalStore::Lock::shared, soon);

    EXPECT_TRUE(first);
    EXPECT_TRUE(second);
}

TEST(JournalStore, ChangesNothingForThoseWhoOnlyLook)
{
    const test::TempRoot directory;
    const JournalStore store = open_store(directory);
    ASSERT_EQ(::mkdir(directory.at("state/1-2").c_str(), 0700), 0);
    {
        const auto journals = store.open_root(root, JournalStore::Lock::shared, soon);
        ASSERT_TRUE(journals);
        EXPECT_TRUE(*journals);
    }
    EXPECT_TRUE(std::filesystem::is_empty(directory.at("state/1-2")));
}

TEST(JournalStore, ForeseesThatItCannotBeMade)
{
    test::TempRoot directory;
    EXPECT_FALSE(*JournalStore::foresee(directory.at("state"), -1));
    const JournalStore store = open_store(directory);
    EXPECT_TRUE(*JournalStore::foresee(directory.at("state"), -1));

    directory.directory("everybodys");
    ::chmod(directory.at("everybodys").c_str(), 0777);
    const auto foreseen = JournalStore::foresee(directory.at("everybodys/state"), -1);
    ASSERT_FALSE(foreseen);
    EXPECT_EQ(foreseen.error().message(),
              JournalStore::create(directory.at("everybodys/state"), -1).error().message());
    EXPECT_TRUE(std::filesystem::is_empty(directory.at("everybodys")));
}

TEST(JournalStore, DoesNotKeepOtherRootsWaiting)
{
    const test::TempRoot directory;
    const JournalStore store = open_store(directory);
    const auto first = store.create_root(root);

    const auto other = store.create_root({1, 3});

    EXPECT_TRUE(first);
    EXPECT_TRUE(other);
}

TEST(JournalStore, FollowsNoLinkToTheJournalsOfARoot)
{
    test::TempRoot directory;
    const JournalStore store = open_store(directory);
    directory.directory("elsewhere");
    ::chmod(directory.at("elsewhere").c_str(), 0700);
    directory.link("state/1-2", directory.at("elsewhere").string());

    EXPECT_FALSE(store.open_root(root, JournalStore::Lock::none));
    EXPECT_FALSE(store.create_root(root));
    EXPECT_TRUE(std::filesystem::is_empty(directory.at("elsewhere")));
}

/// What a journal says of the names of one root would be done to another.
TEST(JournalStore, ReadsAJournalWhereItWasWrittenAlone)
{
    const test::TempRoot directory;
    const JournalStore store = open_store(directory);
    auto journals = store.create_root(root);
    auto others = store.create_root({1, 3});
    ASSERT_TRUE(journals && others);
    Journal journal;
    journal.root.device = root.first;
    journal.root.inode = root.second;
    journal.key = {{4, "5"}, 6, 0};
    const program::Block block = program::ProgramBuilder().build();
    ASSERT_TRUE(journals->write(journal, program::Program(block.get())));
    SetUpKey other = journal.key;
    other.mount_id = 7;
    const auto written = directory.at("state/1-2") / file_name(journal.key);
    std::filesystem::copy(written, directory.at("state/1-2") / file_name(other));
    std::filesystem::copy(written, directory.at("state/1-3") / file_name(journal.key));

    EXPECT_TRUE(journals->read(journal.key));
    for (const auto& read : {journals->read(other), others->read(journal.key)}) {
        ASSERT_FALSE(read);
        EXPECT_NE(read.error().message().find("it is that of another set-up"), std::string::npos);
    }
}

} // namespace
} // namespace gpucontainer::journal
