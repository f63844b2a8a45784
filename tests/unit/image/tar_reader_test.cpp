// SPDX-License-Identifier: MIT
#include "image/tar_reader.hpp"

#include "image/file_system.hpp"
#include "unit/image/made_image.hpp"
#include "unit/image/made_tar.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <vector>

namespace gpucontainer::image {
namespace {

using rootfs::EntryType;
using test::TarImage;

struct ReadTar {
    std::vector<TarEntry> entries;
    std::optional<int> error;
};

ReadTar read_all(const std::string& bytes)
{
    const base::UniqueFd fd = test::file_of(bytes);
    FileWindow file(fd.get());
    TarReader reader(file, {0, bytes.size()});
    ReadTar all;
    for (;;) {
        TarEntry entry;
        const auto read = reader.next(entry);
        if (!read)
            all.error = os_error_of(read.error());
        if (!read || !*read)
            return all;
        EXPECT_LE(entry.content.offset + entry.content.size, bytes.size());
        all.entries.push_back(std::move(entry));
    }
}

/// The one entry of a tar that is whole.
TarEntry only(const TarImage& tar)
{
    ReadTar all = read_all(tar.bytes());
    EXPECT_FALSE(all.error);
    EXPECT_EQ(all.entries.size(), 1U);
    return all.entries.empty() ? TarEntry() : all.entries.front();
}

void expect_damaged(const std::string& bytes) { EXPECT_EQ(read_all(bytes).error, EBADMSG); }
void expect_damaged(const TarImage& tar) { expect_damaged(tar.bytes()); }

TEST(TarReaderTest, TellsWhatIsThere)
{
    TarImage tar;
    tar.directory("d/").file("d/f", "12345").link("l", "d/f").hard_link("h", "d/f");
    tar.add('3', "null").add('6', "fifo").add('7', "contiguous", "1").add('\0', "old", "22");
    tar.add('\0', "old-directory/");
    const std::string bytes = tar.bytes();
    const ReadTar all = read_all(bytes);
    ASSERT_FALSE(all.error);
    ASSERT_EQ(all.entries.size(), 9U);
    const std::vector<EntryType> types = {
        EntryType::directory, EntryType::regular,   EntryType::link,
        EntryType::none,      EntryType::character, EntryType::other,
        EntryType::regular,   EntryType::regular,   EntryType::directory};
    for (std::size_t i = 0; i < types.size(); ++i)
        EXPECT_EQ(all.entries[i].type, types[i]) << i;
    const TarEntry& file = all.entries[1];
    EXPECT_EQ(file.path, "d/f");
    EXPECT_EQ(file.size, 5U);
    EXPECT_EQ(file.mode, 0644U);
    EXPECT_EQ(file.mtime, 01234U);
    EXPECT_EQ(bytes.substr(file.content.offset, file.content.size), "12345");
    EXPECT_EQ(all.entries[2].target, "d/f");
    EXPECT_EQ(all.entries[3].target, "d/f");
}

TEST(TarReaderTest, ReadsLongNamesOfEachForm)
{
    const std::string directory(120, 'd');
    const std::string target(300, 't');
    std::string split = TarImage::header('0', "name", 0);
    split.replace(345, directory.size(), directory);
    EXPECT_EQ(only(TarImage().raw(split)).path, directory + "/name");
    std::string gnu = split;
    gnu.replace(257, 8, "ustar  ");
    EXPECT_EQ(only(TarImage().raw(gnu)).path, "name") << "other fields lie there";
    EXPECT_EQ(only(TarImage().add('L', "@", directory + std::string(1, '\0')).file("short")).path,
              directory);
    EXPECT_EQ(only(TarImage().add('K', "@", target).link("l", "short")).target, target);
    EXPECT_EQ(only(TarImage().records(TarImage::record("path", directory)).file("short")).path,
              directory);
    EXPECT_EQ(
        only(TarImage().records(TarImage::record("linkpath", target)).link("l", "short")).target,
        target);
    EXPECT_EQ(only(TarImage()
                       .add('L', "@", "gnu")
                       .records(TarImage::record("path", "\xc3\xa4"))
                       .file("short"))
                  .path,
              "\xc3\xa4");
}

TEST(TarReaderTest, TakesNothingFromGlobalRecords)
{
    EXPECT_EQ(only(TarImage().records(TarImage::record("path", "other"), 'g').file("f")).path, "f");
}

TEST(TarReaderTest, ReadsNumbersOfEachForm)
{
    std::string binary = TarImage::header('0', "f", 0);
    binary.replace(124, 12, std::string("\x80\0\0\0\0\0\0\0\0\0\0\3", 12));
    EXPECT_EQ(only(TarImage().raw(binary, "abc")).size, 3U);
    std::string blanks = TarImage::header('0', "f", 0);
    blanks.replace(124, 12, "         3  ");
    EXPECT_EQ(only(TarImage().raw(blanks, "abc")).size, 3U);
    EXPECT_EQ(only(TarImage()
                       .records(TarImage::record("size", "3"))
                       .raw(TarImage::header('0', "f", 0), "abc"))
                  .size,
              3U);
    std::string old = TarImage::header('0', "f", 0);
    old.replace(136, 12, std::string(12, '\xff'));
    EXPECT_EQ(only(TarImage().raw(old)).mtime, 0U) << "before 1970";
    EXPECT_EQ(only(TarImage().records(TarImage::record("mtime", "77.5")).file("f")).mtime, 77U);
}

TEST(TarReaderTest, PassesOverMapsOfSparseFiles)
{
    std::string header = TarImage::header('S', "sparse", 3);
    header[482] = 1;
    header.replace(483, 11, "00000010000");
    std::string map(TarImage::block, '\0');
    map[504] = 1;
    std::string last(TarImage::block, '\0');
    TarImage tar;
    tar.raw(header, map + last + "abc").file("next");
    const ReadTar all = read_all(tar.bytes());
    ASSERT_EQ(all.entries.size(), 2U);
    EXPECT_TRUE(all.entries[0].is_sparse);
    EXPECT_EQ(all.entries[0].size, 010000U);
    EXPECT_EQ(all.entries[1].path, "next");
    EXPECT_FALSE(all.entries[1].is_sparse);

    const TarEntry pax = only(TarImage()
                                  .records(TarImage::record("GNU.sparse.major", "1")
                                           + TarImage::record("GNU.sparse.name", "real")
                                           + TarImage::record("GNU.sparse.realsize", "4096"))
                                  .file("GNUSparseFile.0/real", "abc"));
    EXPECT_TRUE(pax.is_sparse);
    EXPECT_EQ(pax.path, "real");
    EXPECT_EQ(pax.size, 4096U);
}

TEST(TarReaderTest, EndsWhereThereIsNothingMore)
{
    EXPECT_EQ(read_all(TarImage().file("f").open_end()).entries.size(), 1U);
    EXPECT_FALSE(read_all(TarImage().file("f").open_end()).error);
    EXPECT_FALSE(read_all("").error);
    std::string unpadded = TarImage().file("f", "12345").open_end();
    unpadded.resize(TarImage::block + 5);
    EXPECT_FALSE(read_all(unpadded).error);
    EXPECT_EQ(read_all(TarImage().file("f").bytes() + TarImage().file("g").bytes()).entries.size(),
              1U);
}

TEST(TarReaderTest, SaysThatATarIsDamaged)
{
    const std::string good = TarImage().file("f", "12345").open_end();
    expect_damaged(good.substr(0, TarImage::block + 4));
    expect_damaged(good + "more");
    std::string changed = good;
    changed[0] = 'g';
    expect_damaged(changed);
    std::string huge = TarImage::header('0', "f", 0);
    huge.replace(124, 12, std::string("\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 12));
    expect_damaged(TarImage().raw(huge));
    huge.replace(124, 12, std::string("\x80\1\0\0\0\0\0\0\0\0\0\0", 12));
    expect_damaged(TarImage().raw(huge));
    huge.replace(124, 12, "77777777777 ");
    expect_damaged(TarImage().raw(huge));
    huge.replace(124, 12, "12z         ");
    expect_damaged(TarImage().raw(huge));
    expect_damaged(TarImage().add('?', "what"));
}

TEST(TarReaderTest, RefusesRecordsThatLie)
{
    using Tar = TarImage;
    for (const std::string& text :
         {std::string("x"), std::string("5"), std::string("1 a"), std::string("99 path=a\n"),
          std::string("9 path=ab"), std::string("8 pathab\n"), std::string("0 path=a\n"),
          std::string("18446744073709551615 path=a\n"), Tar::record("size", "-1"),
          Tar::record("size", "18446744073709551616"), Tar::record("size", "18446744073709551615"),
          Tar::record("size", "1x"), Tar::record("path", std::string("a\0b", 3)),
          Tar::record("path", std::string(5000, 'a')), Tar::record("GNU.sparse.size", "z")})
        expect_damaged(Tar().records(text).file("f"));
    expect_damaged(
        Tar().records(Tar::record("linkpath", std::string("a\0b", 3))).link("l", "target"));
    expect_damaged(Tar().add('L', "@", std::string((1U << 20U) + 1, 'a')).file("f"));
}

TEST(TarReaderTest, KnowsATarByItsHeader)
{
    const std::string tar = TarImage().file("f").bytes();
    EXPECT_TRUE(begins_like_tar(tar));
    EXPECT_FALSE(begins_like_tar(tar.substr(0, 511)));
    EXPECT_FALSE(begins_like_tar(std::string(1024, '\0')));
    EXPECT_FALSE(begins_like_tar(std::string(1024, 'x')));
}

} // namespace
} // namespace gpucontainer::image
