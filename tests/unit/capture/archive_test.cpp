// SPDX-License-Identifier: MIT
#include "capture/archive.hpp"

#include "archive.hpp"
#include "base/file.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace gpucontainer::capture {
namespace {

class ArchiveTest : public ::testing::Test {
protected:
    base::UniqueFd file_{::memfd_create("archive", MFD_CLOEXEC)};
    Archive archive_{file_.get()};
};

TEST_F(ArchiveTest, AReaderGetsWhatWasWritten)
{
    const std::string deep(100, 'd');
    const std::string long_name = "proc/driver/" + deep + "/" + std::string(90, 'n');
    const std::string all_bytes = std::string(511, 'x') + std::string("\0\xff\n", 3);
    for (const auto& [name, content] : simhost::Members{{"files.tsv", "#path\n"},
                                                        {"dev.txt", ""},
                                                        {"ld.so.cache", all_bytes},
                                                        {long_name, std::string(512, 'y')}}) {
        ASSERT_TRUE(Archive::has_room_for(name));
        ASSERT_TRUE(archive_.add(name, content)) << name;
    }
    ASSERT_TRUE(archive_.finish());

    const auto bytes = base::read_all(file_.get(), simhost::max_archive);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(bytes->size() % 512, 0U);
    const auto read = simhost::read_archive(*bytes);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->size(), 4U);
    EXPECT_EQ(read->at("ld.so.cache"), all_bytes);
    EXPECT_EQ(read->at(long_name), std::string(512, 'y'));
}

TEST_F(ArchiveTest, SaysForWhichNamesItHasNoRoom)
{
    for (const std::string& name : {std::string(101, 'n'), std::string(160, 'd') + "/n",
                                    std::string("d/") + std::string(101, 'n'), std::string()}) {
        EXPECT_FALSE(Archive::has_room_for(name)) << name;
    }
}

TEST_F(ArchiveTest, IsNotLargerThanItsReaderTakes)
{
    const std::string large(60U << 20U, 'x');
    ASSERT_TRUE(archive_.add("files.tsv", large));

    const auto added = archive_.add("ld.so.cache", large);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code(), Errc::requirement);
    EXPECT_EQ(added.error().message(), "the archive would have more than 64 MiB");
}

TEST(ArchiveWritingTest, AnErrorOfWritingIsOne)
{
    const base::UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    Archive archive(full.get());

    const auto added = archive.add("files.tsv", "x");
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().message(), "write the archive: No space left on device");
}

} // namespace
} // namespace gpucontainer::capture
