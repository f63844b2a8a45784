// SPDX-License-Identifier: MIT
#include "image/confined.hpp"

#include "image/messages.hpp"
#include "unit/image/made_image.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gpucontainer::image {
namespace {

/// Code that a hostile image got to run: it says which error it met.
class TakenOver final : public FileSystem {
public:
    explicit TakenOver(std::function<int()> deed) : deed_(std::move(deed)) {}

    Result<Reference> root() override { return Reference{0}; }
    Result<Inode> inode(Reference /*place*/) override
    {
        Inode inode;
        inode.type = rootfs::EntryType::regular;
        inode.size = static_cast<std::uint64_t>(deed_());
        return inode;
    }
    Result<std::vector<Name>> list(Reference /*directory*/) override { return names; }
    Result<std::size_t> read(Reference /*file*/, std::uint64_t /*offset*/,
                             std::span<char> bytes) override
    {
        return bytes.size();
    }

    std::vector<Name> names;

private:
    std::function<int()> deed_;
};

class ConfinedTest : public ::testing::Test {
protected:
    Result<Inode> do_confined(const std::function<int()>& deed)
    {
        auto files = open_confined(
            image_.get(),
            [&](int) { return std::unique_ptr<FileSystem>(std::make_unique<TakenOver>(deed)); },
            {std::size_t{64} << 20U, 1});
        EXPECT_TRUE(files) << files.error().message();
        return (*files)->inode(0);
    }

    /// errno of the deed in the process, or 0.
    int error_of_deed(const std::function<int()>& deed)
    {
        const auto done = do_confined(deed);
        EXPECT_TRUE(done) << done.error().message();
        return done ? static_cast<int>(done->size) : -1;
    }

    base::UniqueFd image_ = test::file_of("content");
    test::TempRoot tree_;
};

int error_if(bool failed) { return failed ? errno : 0; }

TEST_F(ConfinedTest, CanDoNothingButReadTheImage)
{
    tree_.file("secret", "secret");
    const base::UniqueFd secret(::open(tree_.at("secret").c_str(), O_RDWR | O_CLOEXEC));
    const std::string path = tree_.at("secret");
    char byte = 0;
    const pid_t caller = ::getpid();
    EXPECT_EQ(error_of_deed([&] { return error_if(::pread(1, &byte, 1, 0) != 1); }), 0);
    EXPECT_EQ(error_of_deed([&] { return error_if(::open(path.c_str(), O_RDONLY) < 0); }), EPERM);
    EXPECT_EQ(error_of_deed([&] { return error_if(::unlink(path.c_str()) != 0); }), EPERM);
    EXPECT_EQ(error_of_deed([&] { return error_if(::pread(secret.get(), &byte, 1, 0) < 0); }),
              EPERM);
    EXPECT_EQ(error_of_deed([&] { return error_if(::write(1, &byte, 1) < 0); }), EPERM);
    EXPECT_EQ(error_of_deed([&] { return error_if(::write(2, "x", 1) < 0); }), EPERM);
    EXPECT_EQ(error_of_deed([&] { return error_if(::kill(caller, 0) != 0); }), EPERM);
    EXPECT_EQ(error_of_deed([&] { return error_if(::fork() < 0); }), EPERM);
    EXPECT_EQ(error_of_deed([&] { return error_if(::socket(AF_INET, SOCK_STREAM, 0) < 0); }),
              EPERM);
    EXPECT_EQ(error_of_deed([&] {
                  return error_if(::mmap(nullptr, 4096, PROT_READ | PROT_EXEC,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                  == MAP_FAILED);
              }),
              EPERM);
    // The caller's descriptor can write.
    EXPECT_EQ(error_of_deed([&] {
                  return error_if(::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, 1, 0)
                                  == MAP_FAILED);
              }),
              EPERM);
    EXPECT_EQ(error_of_deed([&] {
                  alignas(4096) static std::array<char, 4096> page;
                  return error_if(::mprotect(page.data(), page.size(), PROT_READ | PROT_EXEC) != 0);
              }),
              EPERM);
}

TEST_F(ConfinedTest, GetsLittleMemory)
{
    EXPECT_EQ(error_of_deed([] {
                  return error_if(::mmap(nullptr, std::size_t{128} << 20U, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                  == MAP_FAILED);
              }),
              ENOMEM);
}

TEST_F(ConfinedTest, IsAnErrorWhenItFails)
{
    for (const std::function<int()>& deed :
         {std::function<int()>([]() -> int { ::_exit(0); }),
          std::function<int()>([]() -> int { __builtin_trap(); }),
          std::function<int()>([]() -> int {
              const volatile bool goes_on = true;
              while (goes_on)
                  continue;
              return 0;
          })}) {
        const auto done = do_confined(deed);
        ASSERT_FALSE(done);
        EXPECT_EQ(os_error_of(done.error()), EBADMSG);
    }
}

TEST_F(ConfinedTest, IsNotWaitedForWithoutEnd)
{
    // Who sleeps uses no processor time.
    auto files =
        open_confined(image_.get(),
                      [](int) {
                          return std::unique_ptr<FileSystem>(std::make_unique<TakenOver>([] {
                              char byte = 0;
                              return static_cast<int>(::read(channel_number, &byte, 1));
                          }));
                      },
                      {std::size_t{64} << 20U, 10, 1});
    ASSERT_TRUE(files);
    const auto done = (*files)->inode(0);
    ASSERT_FALSE(done);
    EXPECT_EQ(os_error_of(done.error()), EBADMSG);
}

TEST_F(ConfinedTest, IsNotBelievedWhatCannotBe)
{
    using rootfs::EntryType;
    const std::vector<std::vector<Name>> lists = {
        {{"a/b", 1, EntryType::regular}},
        {{"..", 1, EntryType::directory}},
        {{"", 1, EntryType::regular}},
        {{std::string("a\0b", 3), 1, EntryType::regular}},
        {{std::string(257, 'a'), 1, EntryType::regular}},
        {{"b", 1, EntryType::regular}, {"a", 2, EntryType::regular}},
        {{"a", 1, EntryType::regular}, {"a", 2, EntryType::regular}},
        {{"a", 1, EntryType::none}},
        {{"a", 1, static_cast<EntryType>(77)}},
    };
    for (const auto& names : lists) {
        auto files = open_confined(image_.get(), [&](int) {
            auto files = std::make_unique<TakenOver>([] { return 0; });
            files->names = names;
            return std::unique_ptr<FileSystem>(std::move(files));
        });
        ASSERT_TRUE(files);
        EXPECT_FALSE((*files)->list(0));
    }
}

TEST(MessagesTest, TakesNoVariablesThatCannotBe)
{
    EXPECT_THAT(*read_variables(to_text(std::vector<std::string>{"A=b", "C="})),
                ::testing::ElementsAre("A=b", "C="));
    std::string many;
    for (std::size_t i = 0; i <= most_image_variables; ++i)
        many += std::string("A=\0", 3);
    for (const std::string& text :
         {std::string("A=b"), std::string("=b\0", 3), std::string("A\0", 2), std::string("\0", 1),
          std::string("A\0B=\0", 5), many})
        EXPECT_FALSE(read_variables(text)) << text.size();
}

TEST_F(ConfinedTest, SaysWhyItCannotBeOpened)
{
    const auto files = open_confined(image_.get(), [](int) -> Result<std::unique_ptr<FileSystem>> {
        return error_of(EOPNOTSUPP);
    });
    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().code(), Errc::requirement);
}

} // namespace
} // namespace gpucontainer::image
