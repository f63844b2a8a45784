// SPDX-License-Identifier: MIT
#include "image/image_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <sys/resource.h>

namespace gpucontainer::image {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20U;
constexpr Reference top = 1'000'000;

/// A directory of files of one size, which counts what it is asked for.
class Counting final : public FileSystem {
public:
    Counting(std::size_t files, std::uint64_t size) : files_(files), size_(size) {}

    Result<Reference> root() override { return top; }
    Result<Inode> inode(Reference place) override
    {
        Inode inode;
        inode.type = place == top ? rootfs::EntryType::directory : rootfs::EntryType::regular;
        inode.size = size_;
        return inode;
    }
    Result<std::vector<Name>> list(Reference /*directory*/) override
    {
        std::vector<Name> names;
        for (std::size_t file = 0; file < files_; ++file)
            names.push_back({std::to_string(file), file, rootfs::EntryType::regular});
        std::ranges::sort(names, {}, &Name::name);
        return names;
    }
    Result<std::size_t> read(Reference file, std::uint64_t /*offset*/,
                             std::span<char> bytes) override
    {
        ++reads;
        std::memset(bytes.data(), static_cast<int>('a' + file % 26), bytes.size());
        return bytes.size();
    }

    std::size_t reads = 0;

private:
    std::size_t files_;
    std::uint64_t size_;
};

struct Made {
    std::shared_ptr<Counting> files;
    std::unique_ptr<ImageView> view;

    Made(std::size_t count, std::uint64_t size)
        : files(std::make_shared<Counting>(count, size)), view(*ImageView::open(files))
    {
    }

    /// Fetches a part of a file; an errno value, or 0.
    int fetch(std::size_t file, std::uint64_t offset, std::uint64_t size) const
    {
        const auto opened = view->open("/" + std::to_string(file));
        const auto fetched = opened->get().fetch(offset, size);
        return fetched ? 0 : fetched.error().os_error();
    }

    /// Reads a byte of a file; "" for none.
    std::string byte_of(std::size_t file, std::uint64_t offset) const
    {
        const auto opened = view->open("/" + std::to_string(file));
        std::string byte(1, '\0');
        return opened && opened->read(byte, offset) ? byte : "";
    }
};

std::size_t open_descriptors()
{
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(ImageViewTest, ReadsAPartOfAFileOnceHoweverOftenItIsOpened)
{
    const Made made(2, mib);
    EXPECT_EQ(made.byte_of(1, 0), "b");
    EXPECT_EQ(made.byte_of(1, mib - 1), "b");
    EXPECT_EQ(made.files->reads, 2U);

    EXPECT_EQ(made.byte_of(1, 0), "b");
    EXPECT_EQ(made.byte_of(1, mib - 1), "b");
    EXPECT_EQ(made.view->read("/1", mib)->size(), mib);
    EXPECT_EQ(made.files->reads, 16U) << "of 64 KiB";
}

TEST(ImageViewTest, ShowsTheSameWithTwoOpen)
{
    const Made made(1, mib);
    const auto one = made.view->open("/0");
    auto other = made.view->open("/0");
    std::string byte(1, '\0');
    EXPECT_EQ(*one->read(byte, 5), 1U);
    *other = base::OpenFile();
    EXPECT_EQ(*one->read(byte, 5), 1U);
    EXPECT_EQ(byte, "a");
    EXPECT_EQ(*one->size(), mib);
}

TEST(ImageViewTest, KeepsFilesThatOutliveIt)
{
    Made made(1, mib);
    const auto file = made.view->open("/0");
    made.view.reset();
    std::string byte(1, '\0');
    EXPECT_EQ(*file->read(byte, mib / 2), 1U);
    EXPECT_EQ(byte, "a");
}

TEST(ImageViewTest, KeepsFewDescriptors)
{
    constexpr std::size_t many = 100;
    rlimit before = {};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const std::size_t open = open_descriptors();
    const rlimit low = {many, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    const Made made(many, 1);
    for (std::size_t file = 0; file < many; ++file)
        EXPECT_NE(made.byte_of(file, 0), "");
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_LE(open_descriptors(), open + many / 4);
    EXPECT_EQ(made.files->reads, many);
}

TEST(ImageViewTest, KeepsFewBytes)
{
    constexpr std::size_t size = 32 * mib;
    constexpr std::size_t files = PartFiles::most_kept_bytes / size;
    const Made made(files + 1, size);
    for (std::size_t file = 0; file < files; ++file)
        EXPECT_EQ(made.fetch(file, 0, size), 0);
    const std::size_t reads = made.files->reads;
    EXPECT_EQ(made.byte_of(0, 0), "a");
    EXPECT_EQ(made.files->reads, reads);

    // One more is too much, and what there was is gone.
    EXPECT_EQ(made.byte_of(files, 0).size(), 1U);
    EXPECT_EQ(made.byte_of(0, 0), "a");
    EXPECT_EQ(made.files->reads, reads + 2);
}

TEST(ImageViewTest, ReadsNoMoreOfAFileThanTheLimit)
{
    const Made made(1, 2 * most_of_file);
    EXPECT_EQ(made.fetch(0, 0, most_of_file / 2), 0);
    EXPECT_EQ(made.fetch(0, most_of_file, most_of_file / 2), 0);
    EXPECT_EQ(made.fetch(0, most_of_file / 2, 1), EFBIG);
    EXPECT_EQ(made.fetch(0, 0, most_of_file / 2), 0) << "it is there";
}

TEST(ImageViewTest, ReadsNoMoreOfAllFilesThanTheLimit)
{
    constexpr std::size_t size = 64 * mib;
    constexpr std::size_t files = most_of_files / size;
    const Made made(files + 1, size);
    for (std::size_t file = 0; file < files; ++file)
        EXPECT_EQ(made.fetch(file, 0, size), 0);
    EXPECT_EQ(made.fetch(files, 0, 1), EFBIG);
}

} // namespace
} // namespace gpucontainer::image
