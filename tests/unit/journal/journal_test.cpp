// SPDX-License-Identifier: MIT
#include "journal/journal.hpp"

#include "base/file.hpp"
#include "program/builder.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gpucontainer::journal {
namespace {

using namespace std::string_literals;

Journal with_text(const std::string& text)
{
    Journal journal;
    journal.root_path = "/" + text;
    journal.tree_path = "/" + text;
    journal.identity = text;
    program::ProgramBuilder builder;
    builder.add(program::Step::make_link, "/usr/" + text, text);
    journal.program = std::move(builder).build();
    return journal;
}

std::string written(const Journal& journal)
{
    return to_text(journal, program::Program(journal.program.get()));
}

TEST(Journal, KeepsEachByteOfItsTexts)
{
    for (const std::string& text :
         {"plain"s, "\x01\x02\n\r\t\x1b\x7f"s, R"(quote" back\slash 'x')"s,
          "\u00fc\u2028\U0010ffff"s, "\xff\xfe"s, "half \xc3"s, "\x9b"s, "over\xc0\xaf"s,
          "\xed\xa0\x80"s, ""s}) {
        const Journal journal = with_text(text);
        const auto read = from_text("name", written(journal));
        ASSERT_TRUE(read) << read.error().message();
        EXPECT_EQ(read->root_path, journal.root_path);
        EXPECT_EQ(read->tree_path, journal.tree_path);
        EXPECT_EQ(read->identity, journal.identity);
        const program::Program program(read->program.get());
        const program::Operation& operation = program.operations().front();
        EXPECT_EQ(program.text(operation.path), "/usr/" + text);
        EXPECT_EQ(std::string(program.text(operation.data), operation.data_size), text);
    }
}

TEST(Journal, KeepsWhereItsNamesAre)
{
    Journal journal = with_text("plain");
    EXPECT_FALSE(from_text("name", written(journal))->ground);
    Ground ground;
    ground.id = {1, ~std::uint64_t{0}, -3, 4, false};
    ground.path = "/text";
    ground.is_layer = true;
    ground.shown_at = "/shown";
    ground.is_lasting = false;
    ground.file_system = ~std::uint64_t{0};
    ground.device = 5;
    ground.handle = "\xff bytes";
    journal.ground = ground;

    const auto read = from_text("name", written(journal));

    ASSERT_TRUE(read && read->ground);
    EXPECT_TRUE(read->ground->id.may_be(ground.id));
    EXPECT_EQ(read->ground->id.birth_ns, ground.id.birth_ns);
    EXPECT_EQ(read->ground->id.subvolume, ground.id.subvolume);
    EXPECT_EQ(read->ground->path, ground.path);
    EXPECT_TRUE(read->ground->is_layer);
    EXPECT_EQ(read->ground->shown_at, ground.shown_at);
    EXPECT_FALSE(read->ground->is_lasting);
    EXPECT_EQ(read->ground->file_system, ground.file_system);
    EXPECT_EQ(read->ground->device, ground.device);
    EXPECT_EQ(read->ground->handle, ground.handle);
}

TEST(Journal, IsDamagedWhereItsNamesAreAtNoPath)
{
    for (const std::string& path : {"relative"s, "/cut\0off"s}) {
        Journal journal = with_text("plain");
        journal.ground.emplace().path = path;
        EXPECT_FALSE(from_text("name", written(journal))) << path;
    }
}

TEST(Journal, IsDamagedWhereBytesAreNone)
{
    std::string text = written(with_text("\xff"));
    for (const char* const wrong : {"f", "fff", "xx", "-1"}) {
        std::string damaged = text;
        const auto at = damaged.find(R"("bytes":"ff")");
        ASSERT_NE(at, std::string::npos);
        damaged.replace(at, 12, R"("bytes":")"s + wrong + "\"");
        EXPECT_FALSE(from_text("name", damaged)) << wrong;
    }
}

TEST(Journal, KeepsWhatWasAllowedInADeviceCgroup)
{
    Journal journal = with_text("x");
    journal.grant = {"/docker/\xff", {27, 4294967299}, {{{195, 0}, 3}, {{4294967295, 1}, 1}}};

    const auto read = from_text("name", written(journal));

    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->grant, journal.grant);
}

TEST(Journal, OfEarlierReleasesHasAllowedNothing)
{
    std::string text = written(with_text("x"));
    const std::string nothing = "\"device_cgroup\":null,";
    const auto at = text.find(nothing);
    ASSERT_NE(at, std::string::npos);
    text.erase(at, nothing.size());

    const auto read = from_text("name", text);

    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->grant, Grant());
}

TEST(Journal, IsDamagedWhereItAllowsMoreThanReadingAndWriting)
{
    Journal journal = with_text("x");
    for (const cgroup::Access access : {4U, 7U, 8U}) {
        journal.grant = {"/x", {1, 2}, {{{195, 0}, access}}};
        EXPECT_FALSE(from_text("name", written(journal))) << access;
    }
}

/// As the builds wrote them that had another list of a GPU's fields.
TEST(Journal, IsReadThatAnEarlierBuildWrote)
{
    const auto text = base::read_file(std::string(GPUCTR_TEST_SOURCE_DIR)
                                      + "/unit/journal/data/without-fields-of-gpus.json");
    ASSERT_TRUE(text);
    const auto read = from_text("name", *text);

    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->root_path, "/srv/container");
    EXPECT_EQ(read->progress, Progress::complete);
    ASSERT_TRUE(read->ground);
    const auto operations = program::Program(read->program.get()).operations();
    EXPECT_EQ(operations.size(), 13U);
    EXPECT_NE(operations.front().parent_inode, 0U);
    ASSERT_EQ(read->drivers.size(), 1U);
    ASSERT_EQ(read->drivers.front().gpus.size(), 2U);
    const model::Gpu& gpu = read->drivers.front().gpus.back();
    EXPECT_EQ(gpu.uuid, "GPU-8e8f6868-c49e-7d73-9647-d6688d6dc77d");
    EXPECT_EQ(gpu.minor, 1);
    EXPECT_EQ(gpu.numa_node, -1);
    EXPECT_EQ(gpu.parts, 1U);
    EXPECT_EQ(gpu.architecture, "");
}

} // namespace
} // namespace gpucontainer::journal
