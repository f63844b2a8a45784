// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <gpucontainer/gpucontainer.hpp>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace gpucontainer {
namespace {

/// As much of squashfs as tells where it is.
std::string header_of_squashfs(std::uint64_t size)
{
    constexpr std::size_t whole = 4096;
    constexpr std::size_t version_at = 28;
    constexpr std::size_t size_at = 40;
    std::string bytes = "hsqs";
    bytes.resize(whole);
    bytes[version_at] = 4;
    std::memcpy(bytes.data() + size_at, &size, sizeof size);
    return bytes;
}

class ImageTest : public ::testing::Test {
protected:
    ~ImageTest() override { (void)::close(fd_); }

    int file(const std::string& content) const
    {
        EXPECT_EQ(::ftruncate(fd_, 0), 0);
        EXPECT_EQ(::pwrite(fd_, content.data(), content.size(), 0),
                  static_cast<ssize_t>(content.size()));
        return fd_;
    }

    int fd_ = ::memfd_create("image", MFD_CLOEXEC);
};

TEST_F(ImageTest, IsFoundInAFile)
{
    const ImagePlace place = find_image(file(header_of_squashfs(4096)));
    EXPECT_EQ(place.offset, 0U);
    EXPECT_EQ(place.size, 4096U);
    EXPECT_FALSE(place.is_signed);
    EXPECT_FALSE(place.has_overlay);
}

TEST_F(ImageTest, IsRefusedWithTheReason)
{
    for (const std::string& content :
         {std::string(), std::string(4096, 'x'), header_of_squashfs(1U << 20U)}) {
        try {
            (void)find_image(file(content));
            ADD_FAILURE();
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), GPUCTR_E_ROOTFS);
            EXPECT_FALSE(error.hint().empty());
        }
    }
}

TEST_F(ImageTest, NeedsItsParameters)
{
    std::uint64_t number = 0;
    std::uint32_t flags = 0;
    EXPECT_EQ(gpuctr_image_find(fd_, nullptr, &number, &flags, nullptr), GPUCTR_E_USAGE);
    EXPECT_EQ(gpuctr_image_find(fd_, &number, nullptr, &flags, nullptr), GPUCTR_E_USAGE);
    EXPECT_EQ(gpuctr_image_find(fd_, &number, &number, nullptr, nullptr), GPUCTR_E_USAGE);
    EXPECT_EQ(gpuctr_image_find(-1, &number, &number, &flags, nullptr), GPUCTR_E_USAGE);
    EXPECT_EQ(number, 0U);
}

TEST_F(ImageTest, ThatIsDamagedIsAnErrorOfEachFunctionThatReadsOne)
{
    const int image = file(header_of_squashfs(4096));
    gpuctr_environment* environment = nullptr;
    EXPECT_EQ(gpuctr_environment_read(image, nullptr, nullptr, &environment, nullptr),
              GPUCTR_E_ROOTFS);
    gpuctr_check* check = nullptr;
    EXPECT_EQ(gpuctr_check_create(nullptr, image, &check, nullptr), GPUCTR_E_ROOTFS);
}

} // namespace
} // namespace gpucontainer
